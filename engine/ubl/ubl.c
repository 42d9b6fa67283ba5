/* The document from its head to its totals. A document that gives back more than it charges is a credit note, with all
 * amounts in the other sign. Totals are sums of the displayed lines and charges, so that they agree to the cent. */
#include "tollbook/ubl.h"

#include <string.h>

#include "invoice/late_tax.h"
#include "invoice/text.h"
#include "tollbook/book.h"
#include "tollbook/calendar.h"
#include "tollbook/invoice.h"
#include "ubl/draft.h"
#include "ubl/rows.h"

#define NORM "urn:cen.eu:en16931:2017#compliant#"

static const struct {
    tb_norm norm;
    const char *customization;
} profiles[] = {
    [TB_UBL_PEPPOL] = {TB_NORM_PEPPOL, NORM "urn:fdc:peppol.eu:2017:poacc:billing:3.0"},
    [TB_UBL_XRECHNUNG] = {TB_NORM_XRECHNUNG, NORM "urn:xeinkauf.de:kosit:xrechnung_3.0"},
};

#define PROCESS "urn:fdc:peppol.eu:2017:poacc:billing:01:1.0"

#define UBL_NAMESPACE "urn:oasis:names:specification:ubl:schema:xsd:"

/* --- refusals --- */

static tb_code refuse_document(const tb_statement *s, const tb_missing_field *field, size_t more,
                               tb_error *err)
{
    const char *why = field->why ? field->why : "It is not declared.";
    const char *open = *field->term ? " (" : "", *close = *field->term ? ")" : "";
    if (more == 0)
        return tb_fail(err, TB_E_VALIDATION, field->path, "Account %lld lacks %s%s%s%s. %s",
                       (long long)s->account, field->path, open, field->term, close, why);
    return tb_fail(err, TB_E_VALIDATION, field->path, "Account %lld lacks %s%s%s%s and %zu more. %s",
                   (long long)s->account, field->path, open, field->term, close, more, why);
}

static tb_code check_document(const tb_statement *s, tb_ubl_profile profile, tb_error *err)
{
    tb_missing_field fields[TB_MISSING_FIELDS_MAX];
    if (strcmp(s->state, "final") != 0 || !s->number[0])
        return tb_fail(
            err, TB_E_VALIDATION, "state",
            "Account %lld: only a final document has an electronic form, this one is %s.",
            (long long)s->account, s->state);
    const size_t n = tb_statement_missing_fields(s, profiles[profile].norm, fields);
    return n ? refuse_document(s, &fields[0], n - 1, err) : TB_OK;
}

/* --- head --- */

static tb_decimal turned_amount(const tb__ubl *u, tb_decimal value)
{
    return (tb_decimal){u->sign * value.mantissa, value.scale};
}

/* The months of all lines, from the first to the last. */
static void find_months(const tb_statement *s, int64_t *ret_first, int64_t *ret_last)
{
    *ret_first = *ret_last = s->bill->n_lines ? tb__ubl_month(s, 0) : s->month;
    for (size_t i = 0; i < s->bill->n_lines; i++) {
        const int64_t month = tb__ubl_month(s, i);
        if (month < *ret_first) *ret_first = month;
        if (month > *ret_last) *ret_last = month;
    }
}

static void open_document(tb__ubl *u)
{
    tb__xml *x = &u->xml;
    tb__xml_open(x, u->credit ? "CreditNote" : "Invoice");
    tb__xml_attribute(x, "xmlns",
                      u->credit ? UBL_NAMESPACE "CreditNote-2" : UBL_NAMESPACE "Invoice-2");
    tb__xml_attribute(x, "xmlns:cac", UBL_NAMESPACE "CommonAggregateComponents-2");
    tb__xml_attribute(x, "xmlns:cbc", UBL_NAMESPACE "CommonBasicComponents-2");
}

static void put_reference(tb__ubl *u, const char *number)
{
    tb__xml_open(&u->xml, "cac:BillingReference");
    tb__xml_open(&u->xml, "cac:InvoiceDocumentReference");
    tb__xml_text(&u->xml, "cbc:ID", number);
    tb__xml_close(&u->xml);
    tb__xml_close(&u->xml);
}

static bool is_first_reference(const tb_statement *s, size_t line)
{
    const char *number = tb__correction_of(s, line)->invoice;
    if (strcmp(number, s->corrects) == 0 || strcmp(number, s->replaces) == 0) return false;
    for (size_t i = line; i-- > 0;) { /* those of one invoice stand together */
        const tb_correction *c = tb__correction_of(s, i);
        if (c && strcmp(c->invoice, number) == 0) return false;
    }
    return true;
}

/* The invoice that a credit note credits, the one that it replaces, and those that its lines correct: each once. */
static void put_references(tb__ubl *u)
{
    const tb_statement *s = u->s;
    if (s->corrects[0]) put_reference(u, s->corrects);
    if (s->replaces[0]) put_reference(u, s->replaces);
    for (size_t i = 0; i < s->bill->n_lines; i++) {
        const tb_correction *c = tb__correction_of(s, i);
        if (c && c->invoice[0] && is_first_reference(s, i)) put_reference(u, c->invoice);
    }
}

/* The currency that the tax is shown in too; NULL: none, or the invoice's own. */
static const char *tax_currency(const tb_statement *s)
{
    const char *currency = tb_party_text(s->seller, TB_PARTY_TAX_CURRENCY);
    return tb__xml_is_blank(currency) || strcmp(currency, s->currency) == 0 ? NULL : currency;
}

/* Peppol takes one note (BT-22): the seller's, and where the entry in the log of documents is. */
static void put_note(tb__ubl *u)
{
    const char *note = tb_party_text(u->s->seller, TB_PARTY_NOTE);
    const tb_invoice_proof *proof = u->names ? u->names->proof : NULL;
    tb_buf_str(&u->words, note);
    if (!proof) return;
    if (!tb__xml_is_blank(note)) tb_buf_str(&u->words, " ");
    tb_buf_fmt(&u->words, "Log of documents %s, entry %lld, checkpoint %s", proof->log, (long long)proof->index, proof->root);
    if (proof->address) tb_buf_fmt(&u->words, ". Proof: %s", proof->address);
}

static void put_ubl_head(tb__ubl *u)
{
    const tb_statement *s = u->s;
    tb__xml *x = &u->xml;
    tb__xml_text(x, "cbc:CustomizationID", profiles[u->profile].customization);
    tb__xml_text(x, "cbc:ProfileID", PROCESS);
    tb__xml_text(x, "cbc:ID", s->number);
    tb__xml_text(x, "cbc:IssueDate", s->issued);
    if (!u->credit) tb__xml_text(x, "cbc:DueDate", s->due);
    tb__xml_text(x, u->credit ? "cbc:CreditNoteTypeCode" : "cbc:InvoiceTypeCode",
                 u->credit ? "381" : "380");
    put_note(u);
    tb__xml_text(x, "cbc:Note", tb__ubl_words(u));
    tb__xml_text(x, "cbc:DocumentCurrencyCode", s->currency);
    if (tax_currency(s)) tb__xml_text(x, "cbc:TaxCurrencyCode", tax_currency(s));
    tb__xml_text(x, "cbc:BuyerReference", tb_party_text(s->buyer, TB_PARTY_REFERENCE));
    tb__ubl_period(u, u->first, u->last);
    put_references(u);
}

/* --- tax --- */

/* BT-111 */
static tb_code put_other_tax(tb__ubl *u, tb_error *err)
{
    const char *currency = tax_currency(u->s);
    const char *text = tb_party_text(u->s->seller, TB_PARTY_TAX_RATE);
    tb_decimal rate, amount = TB_DECIMAL_ZERO;
    if (!currency) return TB_OK;
    const int digits = tb_currency_minor_digits(currency);
    tb_code code = tb_decimal_parse(text, strlen(text), TB_DECIMAL_SCALE_MAX, &rate, err);
    if (!code) code = tb__exchange_tax(u->s, rate, digits, &amount, err);
    if (code) return tb_fail(err, code, "seller.tax_rate", "The tax in %s has no value.", currency);
    tb__xml_open(&u->xml, "cac:TaxTotal");
    tb__add_money(&u->words, turned_amount(u, amount), digits);
    tb__ubl_amount(u, "cbc:TaxAmount", currency);
    tb__xml_close(&u->xml);
    return TB_OK;
}

/* A group of the norm (BG-23) is a category and rate, of whatever months. */
static bool is_first_of_group(const tb_bill *bill, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (tb__same_group(&bill->tax[k].rate, &bill->tax[i].rate)) return false;
    return true;
}

static tb_code put_ubl_group(tb__ubl *u, const tb_bill_taxed *tax, tb_error *err)
{
    const tb_bill *bill = u->s->bill;
    tb_decimal base = TB_DECIMAL_ZERO, amount = TB_DECIMAL_ZERO;
    tb_code code = TB_OK;
    for (size_t i = 0; !code && i < bill->n_tax; i++) {
        if (!tb__same_group(&bill->tax[i].rate, &tax->rate)) continue;
        code = tb_decimal_add(base, bill->tax[i].base, &base, err);
        if (!code) code = tb_decimal_add(amount, bill->tax[i].amount, &amount, err);
    }
    if (code) return code;
    tb__xml_open(&u->xml, "cac:TaxSubtotal");
    tb__ubl_money(u, "cbc:TaxableAmount", turned_amount(u, base));
    tb__ubl_money(u, "cbc:TaxAmount", turned_amount(u, amount));
    tb__ubl_category(u, "cac:TaxCategory", tax, true);
    tb__xml_close(&u->xml);
    return TB_OK;
}

static tb_code put_ubl_tax(tb__ubl *u, tb_error *err)
{
    const tb_bill *bill = u->s->bill;
    tb_decimal sum;
    tb_code code = tb_decimal_sub(bill->total, bill->subtotal, &sum, err);
    if (code) return code;
    tb__xml_open(&u->xml, "cac:TaxTotal");
    tb__ubl_money(u, "cbc:TaxAmount", turned_amount(u, sum));
    for (size_t i = 0; !code && i < bill->n_tax; i++)
        if (is_first_of_group(bill, i)) code = put_ubl_group(u, &bill->tax[i], err);
    tb__xml_close(&u->xml);
    return code ? code : put_other_tax(u, err);
}

/* --- charges and totals --- */

static tb_code add_ubl_row(void *arg, const tb__ubl_row *row, tb_error *err)
{
    tb__ubl *u = arg;
    return tb_decimal_add(u->lines, row->amount, &u->lines, err);
}

/* What is charged on the document as a whole; an allowance where it gives back. */
static tb_code add_charges(tb__ubl *u, tb_error *err)
{
    tb_code code = TB_OK;
    for (size_t i = 0; !code && i < u->s->bill->n_lines; i++) {
        const tb_decimal amount = turned_amount(u, u->s->bill->lines[i].amount);
        if (!tb__ubl_is_charge(u->s, i)) continue;
        if (tb_decimal_sign(amount) > 0)
            code = tb_decimal_add(u->charges, amount, &u->charges, err);
        if (tb_decimal_sign(amount) < 0)
            code = tb_decimal_sub(u->allowances, amount, &u->allowances, err);
        u->is_charged |= tb_decimal_sign(amount) > 0;
        u->is_allowed |= tb_decimal_sign(amount) < 0;
    }
    return code;
}

/* Whether an amount is base x percent / 100 as programs check it, which allow 0.02. */
static bool is_percent_of(const tb_bill_line *line)
{
    const tb_decimal most = {19, 3};
    tb_decimal apart;
    if (line->kind != TB_LINE_DISCOUNT || line->n_tiers != 1 ||
        tb_decimal_sub(line->amount, line->exact, &apart, NULL))
        return false;
    if (tb_decimal_sign(apart) < 0) apart.mantissa = -apart.mantissa;
    return tb_decimal_compare(apart, most) <= 0;
}

/* sign: of the displayed amount. An allowance may state its percentage and base. */
static void put_ubl_charge(tb__ubl *u, size_t i, tb_decimal amount, int sign)
{
    const tb_bill_line *line = &u->s->bill->lines[i];
    const bool discount = line->kind == TB_LINE_DISCOUNT && sign < 0;
    const bool percent = discount && is_percent_of(line);
    tb__xml *x = &u->xml;
    tb__xml_open(x, "cac:AllowanceCharge");
    tb__xml_text(x, "cbc:ChargeIndicator", sign > 0 ? "true" : "false");
    if (discount) tb__xml_text(x, "cbc:AllowanceChargeReasonCode", "95"); /* UNTDID 5189: discount */
    tb_buf_fmt(&u->words, "%s%s", tb__line_title(u->s, i), line->item ? ", minimum" : "");
    tb__xml_text(x, "cbc:AllowanceChargeReason", tb__ubl_words(u));
    if (percent) tb__ubl_decimal(u, "cbc:MultiplierFactorNumeric", line->tiers[0].price);
    tb__ubl_money(u, "cbc:Amount", (tb_decimal){sign * amount.mantissa, amount.scale});
    if (percent)
        tb__ubl_money(u, "cbc:BaseAmount",
                      (tb_decimal){line->tiers[0].to < 0 ? -line->tiers[0].to : line->tiers[0].to, u->s->bill->minor_digits});
    tb__ubl_category(u, "cac:TaxCategory", tb__tax_of(u->s, i), false);
    tb__xml_close(x);
}

static void put_ubl_charges(tb__ubl *u)
{
    for (size_t i = 0; i < u->s->bill->n_lines; i++) {
        const tb_decimal amount = turned_amount(u, u->s->bill->lines[i].amount);
        const int sign = tb_decimal_sign(amount);
        if (tb__ubl_is_charge(u->s, i) && sign != 0) put_ubl_charge(u, i, amount, sign);
    }
}

static tb_code put_ubl_totals(tb__ubl *u, tb_error *err)
{
    const tb_bill *bill = u->s->bill;
    tb_decimal payable;
    tb_code code = tb_decimal_sub(bill->total, u->s->paid, &payable, err);
    if (code) return code;
    tb__xml_open(&u->xml, "cac:LegalMonetaryTotal");
    tb__ubl_money(u, "cbc:LineExtensionAmount", u->lines);
    tb__ubl_money(u, "cbc:TaxExclusiveAmount", turned_amount(u, bill->subtotal));
    tb__ubl_money(u, "cbc:TaxInclusiveAmount", turned_amount(u, bill->total));
    if (u->is_allowed) tb__ubl_money(u, "cbc:AllowanceTotalAmount", u->allowances);
    if (u->is_charged) tb__ubl_money(u, "cbc:ChargeTotalAmount", u->charges);
    if (tb_decimal_sign(u->s->paid))
        tb__ubl_money(u, "cbc:PrepaidAmount", turned_amount(u, u->s->paid));
    tb__ubl_money(u, "cbc:PayableAmount", turned_amount(u, payable));
    tb__xml_close(&u->xml);
    return TB_OK;
}

/* --- the whole --- */

static tb_code put_document(tb__ubl *u, tb_error *err)
{
    open_document(u);
    put_ubl_head(u);
    tb__ubl_parties(u);
    tb__ubl_delivery(u);
    tb__ubl_payment(u);
    put_ubl_charges(u);
    tb_code code = put_ubl_tax(u, err);
    if (!code) code = put_ubl_totals(u, err);
    if (!code) code = tb__ubl_lines(u, err);
    return code;
}

tb_code tb_ubl_write(const tb_statement *statement, const tb_invoice_names *names,
                     tb_ubl_profile profile, tb_buf *out, tb_error *err)
{
    const size_t begin = out->len;
    tb__ubl u = {.s = statement, .names = names, .profile = profile};
    tb_code code = check_document(statement, profile, err);
    if (code) return code;
    u.sign = tb__ubl_sign(statement);
    u.credit = u.sign < 0;
    find_months(statement, &u.first, &u.last);
    u.lines = u.allowances = u.charges = (tb_decimal){0, statement->bill->minor_digits};
    code = tb__ubl_rows(statement, add_ubl_row, &u, err);
    if (!code) code = add_charges(&u, err);
    if (!code) code = tb__xml_begin(&u.xml, out, err);
    if (code) return code;
    tb_buf_init(&u.words, TB_UBL_TEXT_MAX, out->alloc);
    code = put_document(&u, err);
    const tb_code ended = tb__xml_end(&u.xml, code ? NULL : err);
    if (!code) code = ended;
    if (!code) code = tb_buf_check(&u.words, err);
    if (!code) code = tb_buf_check(out, err);
    tb_buf_release(&u.words);
    if (code) out->len = begin;
    return code;
}
