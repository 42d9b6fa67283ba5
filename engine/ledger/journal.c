/* Lines of double entry (journal.h). */
#include "tollbook/entry.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "invoice/csv.h"
#include "tollbook/calendar.h"

/* --- what was sold --- */

tb_code tb_products_add_line(tb_products *products, const tb_statement *s, size_t line, tb_error *err)
{
    const tb_bill_line *l = &s->bill->lines[line];
    const bool corrects = l->kind == TB_LINE_CORRECTION && s->corrections;
    tb_decimal *sum = &products->sum[corrects ? s->corrections[line].kind : l->kind];
    return tb_decimal_add(*sum, l->amount, sum, err);
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

void tb_journal_line(tb_buf *out, const tb_journal_entry *e, tb_book_account account,
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
    tb__csv_plain(out, e->codes->code[account]);
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
    return code;
}
