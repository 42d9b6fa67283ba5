/* What lines, parties and the document itself are written with. */
#include <string.h>

#include "invoice/late_tax.h"
#include "invoice/text.h"
#include "tollbook/calendar.h"
#include "tollbook/invoice.h"
#include "ubl/draft.h"

const char *tb__ubl_words(tb__ubl *u)
{
    tb_buf_add(&u->words, "", 1);
    u->words.len = 0;
    return u->words.failed ? "" : u->words.data;
}

void tb__ubl_amount(tb__ubl *u, const char *name, const char *currency)
{
    tb__xml_open(&u->xml, name);
    tb__xml_attribute(&u->xml, "currencyID", currency);
    tb__xml_words(&u->xml, tb__ubl_words(u));
    tb__xml_close(&u->xml);
}

void tb__ubl_money(tb__ubl *u, const char *name, tb_decimal amount)
{
    tb__add_money(&u->words, amount, u->s->bill->minor_digits);
    tb__ubl_amount(u, name, u->s->currency);
}

void tb__ubl_price(tb__ubl *u, const char *name, tb_decimal price)
{
    tb__add_decimal(&u->words, price);
    tb__ubl_amount(u, name, u->s->currency);
}

void tb__ubl_decimal(tb__ubl *u, const char *name, tb_decimal value)
{
    tb__add_decimal(&u->words, value);
    tb__xml_text(&u->xml, name, tb__ubl_words(u));
}

void tb__ubl_day(tb__ubl *u, const char *name, int64_t day)
{
    const tb_date date = tb_date_from_day(day);
    tb_buf_fmt(&u->words, "%04d-%02d-%02d", date.year, date.month, date.day);
    tb__xml_text(&u->xml, name, tb__ubl_words(u));
}

void tb__ubl_period(tb__ubl *u, int64_t first, int64_t last)
{
    tb__xml_open(&u->xml, "cac:InvoicePeriod");
    tb__ubl_day(u, "cbc:StartDate", tb_month_first_day(first));
    tb__ubl_day(u, "cbc:EndDate", tb_month_first_day(last + 1) - 1);
    tb__xml_close(&u->xml);
}

/* The norm's own codes, where the seller has declared no reason. */
static const char *reason_code(const tb_bill_taxed *tax, const char *category)
{
    static const char *const codes[][2] = {
        {"AE", "VATEX-EU-AE"}, {"K", "VATEX-EU-IC"}, {"G", "VATEX-EU-G"}, {"O", "VATEX-EU-O"}};
    if (tax->reason || tax->reason_code) return tax->reason_code ? tax->reason_code : "";
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
        if (strcmp(category, codes[i][0]) == 0) return codes[i][1];
    return "";
}

/* A group has one reason (BT-120) and one code (BT-121), and may cover several months: each month's reason is
 * written once, and a code only if all have it. */
static void put_reasons(tb__ubl *u, const tb_bill_taxed *group)
{
    const tb_bill *bill = u->s->bill;
    const char *category = tb_tax_category(&group->rate), *code = reason_code(group, category);
    for (size_t i = 0; i < bill->n_tax; i++) {
        const tb_bill_taxed *tax = &bill->tax[i];
        bool is_new = tax->reason != NULL;
        if (!tb__same_group(&tax->rate, &group->rate)) continue;
        if (strcmp(reason_code(tax, category), code) != 0) code = "";
        for (size_t k = 0; k < i && is_new; k++)
            is_new = !tb__same_group(&bill->tax[k].rate, &group->rate) || !bill->tax[k].reason ||
                     strcmp(bill->tax[k].reason, tax->reason) != 0;
        if (is_new) tb_buf_fmt(&u->words, "%s%s", u->words.len ? "; " : "", tax->reason);
    }
    if (!u->words.len && !*code) code = reason_code(group, category);
    tb__xml_text(&u->xml, "cbc:TaxExemptionReasonCode", code);
    tb__xml_text(&u->xml, "cbc:TaxExemptionReason", tb__ubl_words(u));
}

/* A line that is not subject to VAT has no rate; the breakdown has 0, as German rules ask. */
void tb__ubl_category(tb__ubl *u, const char *element, const tb_bill_taxed *tax, bool reasons)
{
    const char *category = tb_tax_category(&tax->rate);
    tb__xml *x = &u->xml;
    tb__xml_open(x, element);
    tb__xml_text(x, "cbc:ID", category);
    if (reasons || strcmp(category, "O") != 0) tb__ubl_decimal(u, "cbc:Percent", tax->rate.percent);
    if (reasons && tb_tax_untaxed(&tax->rate)) put_reasons(u, tax);
    tb__xml_open(x, "cac:TaxScheme");
    tb__xml_text(x, "cbc:ID", "VAT");
    tb__xml_close(x);
    tb__xml_close(x);
}
