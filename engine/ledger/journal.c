/* Lines of double entry (journal.h). */
#include "tollbook/entry.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "invoice/csv.h"
#include "invoice/text.h"
#include "tollbook/calendar.h"

/* --- what was sold --- */

static int compare_codes(const tb_product_code *p, tb_line_kind kind, const char *code)
{
    return p->kind != kind ? (p->kind < kind ? -1 : 1) : strcmp(p->code, code);
}

tb_code tb_products_add_amount(tb_products *products, tb_line_kind kind, const char *code, tb_decimal amount,
                               tb_error *err)
{
    size_t at = 0;
    kind = tb_line_kind_of(kind)->product;
    if (!code || !code[0]) return tb_decimal_add(products->sum[kind], amount, &products->sum[kind], err);
    while (at < products->n_own && compare_codes(&products->own[at], kind, code) < 0)
        at++;
    tb_product_code *own = &products->own[at];
    if (at == products->n_own || compare_codes(own, kind, code) != 0) {
        if (products->n_own == TB_PRODUCT_CODES_MAX)
            return tb_fail(err, TB_E_TOO_LARGE, "ledger_code", "The meters of one account's month have more than %d "
                           "ledger codes of their own: let some share one.", TB_PRODUCT_CODES_MAX);
        memmove(own + 1, own, (products->n_own++ - at) * sizeof *own);
        *own = (tb_product_code){.kind = kind};
        snprintf(own->code, sizeof own->code, "%s", code);
    }
    return tb_decimal_add(own->sum, amount, &own->sum, err);
}

tb_code tb_products_join(tb_products *products, const tb_products *more, int sign, tb_error *err)
{
    tb_code code = TB_OK;
    for (int k = 0; !code && k < TB_LINE_KIND_COUNT; k++) {
        const tb_decimal amount = {sign * more->sum[k].mantissa, more->sum[k].scale};
        code = tb_products_add_amount(products, (tb_line_kind)k, NULL, amount, err);
    }
    for (size_t i = 0; !code && i < more->n_own; i++) {
        const tb_product_code *own = &more->own[i];
        const tb_decimal amount = {sign * own->sum.mantissa, own->sum.scale};
        code = tb_products_add_amount(products, own->kind, own->code, amount, err);
    }
    return code;
}

bool tb_products_any(const tb_products *products)
{
    bool any = false;
    for (int k = 0; k < TB_LINE_KIND_COUNT; k++)
        any |= tb_decimal_sign(products->sum[k]) != 0;
    for (size_t i = 0; i < products->n_own; i++)
        any |= tb_decimal_sign(products->own[i].sum) != 0;
    return any;
}

tb_code tb_products_add_line(tb_products *products, const tb_statement *s, size_t line, tb_error *err)
{
    const tb_bill_line *l = &s->bill->lines[line];
    return tb_products_add_amount(products, tb__line_origin(s, line), l->item ? l->item->ledger_code : NULL, l->amount, err);
}

tb_code tb_products_add(tb_products *products, const tb_statement *s, tb_error *err)
{
    tb_code code = TB_OK;
    for (size_t i = 0; !code && i < s->bill->n_lines; i++)
        code = tb_products_add_line(products, s, i, err);
    return code;
}

tb_code tb_products_total(const tb_products *products, tb_decimal *ret_total, tb_error *err)
{
    tb_decimal total = TB_DECIMAL_ZERO;
    tb_code code = TB_OK;
    for (int k = 0; !code && k < TB_LINE_KIND_COUNT; k++)
        code = tb_decimal_add(total, products->sum[k], &total, err);
    for (size_t i = 0; !code && i < products->n_own; i++)
        code = tb_decimal_add(total, products->own[i].sum, &total, err);
    if (!code) *ret_total = total;
    return code;
}

/* --- lines --- */

void tb_journal_codes_of(const tb_book *book, tb_journal_codes *ret_codes)
{
    for (int a = 0; a < TB_BOOK_ACCOUNT_COUNT; a++) {
        const bool own = book && book->ledger_code[a][0];
        snprintf(ret_codes->code[a], TB_LEDGER_CODE_ROOM, "%s",
                 own ? book->ledger_code[a] : tb_book_account_code((tb_book_account)a));
    }
}

void tb_journal_head(tb_buf *out)
{
    tb__csv_head(out, "date,entry,account_code,account_name,account,document,description,debit,credit,"
                      "currency");
}

static void put_amount(tb_buf *out, tb_decimal amount, const char *currency)
{
    const tb_decimal plain = tb_decimal_normal(amount);
    const int digits = tb_currency_minor_digits(currency);
    tb__csv_money(out, plain, plain.scale > digits ? plain.scale : digits);
}

static void put_journal_line(tb_buf *out, const tb_journal_entry *e, tb_book_account account, const char *account_code,
                             tb_decimal amount, const char *description)
{
    char day[21];
    const int sign = tb_decimal_sign(amount);
    if (!sign) return;
    if (sign < 0) amount.mantissa = -amount.mantissa;
    tb_time_format(e->day * TB_US_PER_DAY, day);
    day[10] = 0;
    tb__csv_plain(out, day);
    tb__csv_plain(out, e->id);
    tb__csv_plain(out, account_code);
    tb__csv_plain(out, tb_book_account_name(account));
    tb__csv_number(out, e->account);
    tb__csv_text(out, e->document);
    tb__csv_text(out, description);
    if (sign > 0) put_amount(out, amount, e->currency);
    else tb__csv_plain(out, "");
    if (sign < 0) put_amount(out, amount, e->currency);
    else tb__csv_plain(out, "");
    tb__csv_plain(out, e->currency);
    tb__csv_end(out);
}

void tb_journal_line(tb_buf *out, const tb_journal_entry *e, tb_book_account account,
                     tb_decimal amount, const char *description)
{
    put_journal_line(out, e, account, e->codes->code[account], amount, description);
}

tb_code tb_journal_products(tb_buf *out, const tb_journal_entry *entry, const tb_products *products,
                            int sign, const char *what, tb_error *err)
{
    char description[96];
    tb_decimal amount;
    tb_code code = TB_OK;
    for (int k = 0; !code && k < TB_LINE_KIND_COUNT; k++) {
        code = tb_decimal_mul_int(products->sum[k], sign, &amount, err);
        if (code) return code;
        snprintf(description, sizeof description, "%s%s%s", tb_line_kind_name((tb_line_kind)k),
                 *what ? " " : "", what);
        tb_journal_line(out, entry, TB_ACCOUNT_REVENUE, amount, description);
    }
    for (size_t i = 0; !code && i < products->n_own; i++) {
        const tb_product_code *own = &products->own[i];
        code = tb_decimal_mul_int(own->sum, sign, &amount, err);
        if (code) return code;
        snprintf(description, sizeof description, "%s%s%s", tb_line_kind_name(own->kind), *what ? " " : "", what);
        put_journal_line(out, entry, TB_ACCOUNT_REVENUE, own->code, amount, description);
    }
    return code;
}
