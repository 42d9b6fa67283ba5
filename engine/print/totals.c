/* The foot of a bill: sums, taxes in words, the amount due, and payment. */
#include "print/maker.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "invoice/text.h"
#include "tollbook/calendar.h"

/* --- taxes --- */

typedef struct category {
    const char *code;
    tb__word word;
} category;

static const category category_table[] = {
    {"E", TB__WORD_EXEMPT}, {"AE", TB__WORD_REVERSE_CHARGE}, {"K", TB__WORD_INTRA_UNION},
    {"G", TB__WORD_EXPORT}, {"O", TB__WORD_NOT_SUBJECT},
};

/* A tax's name as its law has it. Settings call the common one "VATRate". */
static void add_tax_name(tb__maker *m, const char *name)
{
    size_t len = strlen(name);
    if (len > 4 && strcmp(name + len - 4, "Rate") == 0) len -= 4;
    if (len == 0 || (len == 3 && strncasecmp(name, "VAT", 3) == 0))
        tb__add_word(&m->out, m->language, TB__WORD_VAT);
    else
        tb_buf_add(&m->out, name, len);
}

/* "Reverse charge"; "Reverse charge, 310.00" beside other taxes. NULL: the tax is charged. */
static const char *untaxed_text(tb__maker *m, const tb_bill_taxed *tax)
{
    const char *code = tb_tax_category(&tax->rate);
    size_t i = 0;
    while (i < sizeof category_table / sizeof *category_table && strcmp(category_table[i].code, code) != 0)
        i++;
    if (i == sizeof category_table / sizeof *category_table) return NULL;
    const char *word = tb__maker_word(m, category_table[i].word);
    if (m->s->bill->n_tax == 1) return word;
    tb_buf_fmt(&m->out, "%s, ", word);
    tb__add_amount(&m->out, m->language, tax->base, m->s->bill->minor_digits);
    return tb__maker_text(m);
}

/* "VAT 19 % on 100.00", "Reverse charge" */
static const char *rate_text(tb__maker *m, const tb_bill_taxed *tax)
{
    const char *untaxed = untaxed_text(m, tax);
    if (untaxed) return untaxed;
    const char *base = tb__maker_amount(m, tax->base);
    tb__add_figure(&m->out, m->language, tax->rate.percent);
    const char *percent = tb__maker_text(m);
    add_tax_name(m, tax->rate.name);
    tb_buf_str(&m->out, " ");
    tb__add_filled(&m->out, m->language, TB__WORD_TAX_ON, (const char *const[]){percent, base});
    if (strcmp(tb_tax_category(&tax->rate), "Z") == 0) {
        tb_buf_str(&m->out, ", ");
        tb__add_word(&m->out, m->language, TB__WORD_ZERO_RATED);
    }
    return tb__maker_text(m);
}

/* "VAT 19 % on 5.00, January 2026" */
static const char *tax_text(tb__maker *m, const tb_bill_taxed *tax)
{
    const char *rate = rate_text(m, tax);
    if (!tax->late || tax->month == m->s->month) return rate;
    tb_buf_fmt(&m->out, "%s, ", rate);
    tb__add_month(&m->out, m->language, tax->month);
    return tb__maker_text(m);
}

/* Whether a row before gave it already. */
static bool is_new_reason(const tb_bill *bill, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (bill->tax[k].reason && strcmp(bill->tax[k].reason, bill->tax[i].reason) == 0) return false;
    return true;
}

static void put_taxes(tb__maker *m)
{
    const tb_bill *bill = m->s->bill;
    for (size_t i = 0; i < bill->n_tax; i++)
        tb__maker_pair(m, TB__ROW, tax_text(m, &bill->tax[i]), tb__maker_amount(m, bill->tax[i].amount));
    for (size_t i = 0; i < bill->n_tax; i++)
        if (tb_tax_untaxed(&bill->tax[i].rate) && bill->tax[i].reason && is_new_reason(bill, i))
            tb__maker_pair(m, TB__SOFT, tb__maker_copy(m, bill->tax[i].reason), NULL);
}

/* The tax in the currency that the seller reports it in. */
static void put_tax_currency(tb__maker *m)
{
    const char *currency = tb_party_text(m->s->seller, TB_PARTY_TAX_CURRENCY);
    const char *text = tb_party_text(m->s->seller, TB_PARTY_TAX_RATE);
    tb_decimal rate, amount = TB_DECIMAL_ZERO;
    if (strlen(currency) != 3 || strcmp(currency, m->s->currency) == 0 || !m->s->bill->n_tax ||
        tb_decimal_parse(text, strlen(text), TB_DECIMAL_SCALE_MAX, &rate, NULL) != TB_OK)
        return;
    const int digits = tb_currency_minor_digits(currency);
    tb__maker_keep(m, tb__exchange_tax(m->s, rate, digits, &amount, m->err));
    tb__add_figure(&m->out, m->language, rate);
    const char *shown = tb__maker_text(m);
    tb__add_filled(&m->out, m->language, TB__WORD_TAX_IN,
                   (const char *const[]){currency, m->s->currency, shown, currency});
    const char *name = tb__maker_text(m);
    tb__add_amount(&m->out, m->language, amount, digits);
    tb__maker_pair(m, TB__SOFT, name, tb__maker_text(m));
}

/* --- sums --- */

static bool asks_for_money(const tb_statement *s)
{
    return !tb__is_credit(s) && !tb__is_draft(s) && !tb__is_void(s);
}

static void put_sum(tb__maker *m, tb__row_kind kind, tb__word name, tb_decimal value)
{
    const char *text = kind == TB__STRONG ? tb__maker_money(m, value) : tb__maker_amount(m, value);
    tb__maker_pair(m, kind, tb__maker_word(m, name), text);
}

static tb_decimal payable_of(tb__maker *m)
{
    tb_decimal payable = TB_DECIMAL_ZERO;
    tb__maker_keep(m, tb_decimal_sub(m->s->bill->total, m->s->paid, &payable, m->err));
    return payable;
}

static void put_sums(tb__maker *m)
{
    const tb_bill *bill = m->s->bill;
    const bool asks = asks_for_money(m->s);
    tb__maker_block(m, TB__TOTALS, NULL);
    put_sum(m, TB__ROW, TB__WORD_SUBTOTAL, bill->subtotal);
    put_taxes(m);
    put_sum(m, asks ? TB__ROW : TB__STRONG,
            tb__is_credit(m->s) ? TB__WORD_TOTAL_CREDIT : TB__WORD_TOTAL, bill->total);
    if (tb_decimal_sign(m->s->paid)) {
        tb_decimal paid = m->s->paid;
        paid.mantissa = -paid.mantissa;
        put_sum(m, TB__ROW, TB__WORD_PAID, paid);
    }
    if (asks) put_sum(m, TB__STRONG, TB__WORD_AMOUNT_DUE, payable_of(m));
    put_tax_currency(m);
}

/* --- payment --- */

/* "14 days" between two dates; NULL where there is no such span. */
static const char *days_between(tb__maker *m, const char *from, const char *to)
{
    int64_t a = 0, b = 0;
    if (!*from || !*to || tb_date_parse(from, strlen(from), &a, NULL) != TB_OK ||
        tb_date_parse(to, strlen(to), &b, NULL) != TB_OK || b <= a)
        return NULL;
    const int64_t days = tb_day_from_us(b) - tb_day_from_us(a);
    tb__add_figure(&m->out, m->language, tb_decimal_from_int(days));
    tb_buf_str(&m->out, " ");
    tb__add_word(&m->out, m->language, days == 1 ? TB__WORD_DAY : TB__WORD_DAYS_WITHIN);
    return tb__maker_text(m);
}

static void put_sentence(tb__maker *m, const char *text)
{
    tb__maker_row(m, TB__ROW)->cell[0] = text;
}

static void put_terms(tb__maker *m, tb_decimal payable)
{
    const char *with[2] = {tb__maker_money(m, payable), NULL};
    const char *days = days_between(m, m->s->issued, m->s->due);
    if (m->s->due[0]) {
        tb__add_date(&m->out, m->language, m->s->due);
        with[1] = tb__maker_text(m);
    }
    tb__add_filled(&m->out, m->language, with[1] ? TB__WORD_PAY_BY : TB__WORD_PAY, with);
    tb_buf_str(&m->out, days ? " " : "");
    if (days) tb__add_filled(&m->out, m->language, TB__WORD_TERMS, &days);
    put_sentence(m, tb__maker_text(m));
}

/* "DE89 3704 0044 0532 0130 00" */
static const char *iban_text(tb__maker *m, const char *iban)
{
    size_t n = 0;
    for (; *iban; iban++) {
        if (isspace((unsigned char)*iban)) continue;
        if (n && n % 4 == 0) tb_buf_str(&m->out, " ");
        tb_buf_add(&m->out, iban, 1);
        n++;
    }
    return tb__maker_text(m);
}

static void put_fact(tb__maker *m, tb__word name, const char *value)
{
    if (*value) tb__maker_pair(m, TB__ROW, tb__maker_word(m, name), value);
}

static void put_bank(tb__maker *m)
{
    const tb_party *seller = m->s->seller;
    const char *iban = iban_text(m, tb_party_text(seller, TB_PARTY_PAYMENT_IBAN));
    const char *bic = tb__maker_copy(m, tb_party_text(seller, TB_PARTY_PAYMENT_BIC));
    const char *holder = tb__maker_copy(m, tb_party_text(seller, TB_PARTY_PAYMENT_ACCOUNT_NAME));
    if (!*iban && !*bic && !*holder) return;
    tb__maker_block(m, TB__FACTS, NULL);
    put_fact(m, TB__WORD_IBAN, iban);
    put_fact(m, TB__WORD_BIC, bic);
    put_fact(m, TB__WORD_PAY_REFERENCE, tb__maker_copy(m, m->s->number));
    if (strcmp(holder, tb_party_text(seller, TB_PARTY_NAME)) != 0)
        put_fact(m, TB__WORD_ACCOUNT_NAME, holder);
}

static void put_payment(tb__maker *m)
{
    const tb_decimal payable = payable_of(m);
    if (!m->s->seller || tb__is_draft(m->s) || tb__is_void(m->s)) return;
    tb__maker_block(m, TB__NOTES, tb__maker_word(m, TB__WORD_PAYMENT));
    if (tb__is_credit(m->s)) {
        put_sentence(m, tb__maker_word(m, TB__WORD_CREDIT_TEXT));
    } else if (tb_decimal_sign(payable) <= 0) {
        put_sentence(m, tb__maker_word(m, TB__WORD_PAY_NOTHING));
    } else {
        put_terms(m, payable);
        put_bank(m);
    }
}

/* What the seller wants to be said, line by line. */
static void put_lines(tb__maker *m, const char *text)
{
    while (*text) {
        const size_t len = strcspn(text, "\r\n");
        tb_buf_add(&m->out, text, len);
        if (len) put_sentence(m, tb__maker_text(m));
        text += len + (text[len] != '\0');
    }
}

static void put_notes(tb__maker *m)
{
    const char *note = tb_party_text(m->s->seller, TB_PARTY_NOTE);
    const char *legal = tb_party_text(m->s->seller, TB_PARTY_LEGAL_INFO);
    if (!*note && !*legal) return;
    tb__maker_block(m, TB__NOTES, NULL);
    put_lines(m, note);
    put_lines(m, legal);
}

/* --- usage without a price --- */

static void put_unpriced(tb__maker *m)
{
    const tb_bill *bill = m->s->bill;
    if (bill->n_unpriced == 0) return;
    tb__maker_block(m, TB__ALERT, tb__maker_word(m, TB__WORD_UNPRICED_TITLE));
    put_sentence(m, tb__maker_word(m, TB__WORD_UNPRICED_TEXT));
    for (size_t i = 0; i < bill->n_unpriced; i++) {
        const tb_unpriced *u = &bill->unpriced[i];
        tb__add_resource(&m->out, u->resource);
        tb_buf_fmt(&m->out, ", %s: ", u->what);
        tb__add_figure(&m->out, m->language, tb_decimal_from_int(u->quantity));
        tb_buf_fmt(&m->out, " %s%s. %s", u->unit, u->quantity == 1 ? "" : "s", u->reason);
        put_sentence(m, tb__maker_text(m));
    }
}

void tb__make_totals(tb__maker *m)
{
    put_sums(m);
    put_unpriced(m);
    put_payment(m);
    put_notes(m);
}
