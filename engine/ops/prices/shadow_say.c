/* Sums and sentences over what shadow.c notes beside an invoice run. */
#include "tollbook/issue.h"

#include "base/counted.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *tb_shadow_money(tb_decimal amount, const char *currency,
                            char out[TB_DECIMAL_TEXT_MAX + 1])
{
    *tb_decimal_put_fixed(out, amount, tb_currency_minor_digits(currency)) = 0;
    return out;
}

typedef struct tally {
    size_t bills, up, down;
    tb_decimal billed, would;
    const tb_shadow_bill *largest; /* increase */
    tb_decimal increase;
    uint64_t unpriced;
} tally;

static tb_code add_bill(tally *t, const tb_shadow_bill *b, tb_error *err)
{
    tb_decimal change;
    tb_code code = tb_decimal_add(t->billed, b->billed, &t->billed, err);
    if (!code) code = tb_decimal_add(t->would, b->would, &t->would, err);
    if (!code) code = tb_decimal_sub(b->would, b->billed, &change, err);
    if (code) return code;
    t->bills++;
    t->up += tb_decimal_sign(change) > 0;
    t->down += tb_decimal_sign(change) < 0;
    t->unpriced += b->unpriced;
    if (tb_decimal_compare(change, t->increase) > 0) {
        t->increase = change;
        t->largest = b;
    }
    return TB_OK;
}

static void say_tally(int64_t of, const tb_book *book, const tally *t, tb_buf *lines)
{
    char month[8], percent[TB_DECIMAL_TEXT_MAX + 2], most[128] = "";
    char billed[TB_DECIMAL_TEXT_MAX + 1], would[TB_DECIMAL_TEXT_MAX + 1];
    char increase[TB_DECIMAL_TEXT_MAX + 1];
    tb_month_format(of, month);
    tb_shadow_percent(t->billed, t->would, percent);
    if (t->largest)
        snprintf(most, sizeof most, "; most for account %" PRId64 ", +%s", t->largest->account,
                 tb_shadow_money(t->increase, book->currency, increase));
    tb_buf_fmt(lines,
               "shadow book %s: %s would have come to %s %s instead of %s (%s%s) for %s:"
               " %zu more, %zu less%s.\n",
               book->id, month, tb_shadow_money(t->would, book->currency, would), book->currency,
               tb_shadow_money(t->billed, book->currency, billed), percent,
               strcmp(percent, "new") == 0 ? "" : " %", TB__COUNTED(t->bills, "account"),
               t->up, t->down, most);
    if (t->unpriced)
        tb_buf_fmt(lines, "shadow book %s: it has no price for %s of the month.\n", book->id,
                   TB__COUNTED(t->unpriced, "charge"));
}

/* Where an account's month was issued twice (the first is void), the later bill counts. */
static bool is_later_there(const tb_shadow_bill *bills, size_t n, size_t i)
{
    return i + 1 < n && bills[i + 1].shadow == bills[i].shadow &&
           bills[i + 1].account == bills[i].account;
}

tb_code tb_shadow_say(tb_store *store, int64_t month, const tb_shadow_books *books, tb_buf *lines,
                      tb_error *err)
{
    tb_shadow_bill *bills = NULL;
    size_t n = 0;
    if (books->n == 0) return TB_OK;
    tb_code code = tb_store_shadow_bills(store, month, &bills, &n, err);
    for (size_t s = 0; !code && s < books->n; s++) {
        tally t = {.billed = TB_DECIMAL_ZERO};
        for (size_t i = 0; !code && i < n; i++)
            if (bills[i].shadow == books->list[s].id && !is_later_there(bills, n, i))
                code = add_bill(&t, &bills[i], err);
        if (!code && t.bills) say_tally(month, &books->list[s].book, &t, lines);
    }
    free(bills);
    return code ? code : tb_buf_check(lines, err);
}
