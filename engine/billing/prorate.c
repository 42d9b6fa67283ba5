/* Monthly prices by the second: price x seconds / seconds of the whole month or year, half_up at 18 digits.
 *
 * Rounding each row would make rows that cover a month miss its price by a few 10^-18. So all
 * seconds at one price are one whole, rounded once; its rows are rounded likewise but for the last,
 * which takes the rest. Cutting a row in two changes no whole, and a month at one price costs that
 * price. */
#include "billing/draft.h"

static tb_code part_of(tb_decimal price, tb_i128 seconds, int64_t whole, tb_decimal *ret,
                       tb_error *err)
{
    return tb_decimal_divide(price, seconds, whole, TB_PRORATE_SCALE, TB_HALF_UP, ret, err);
}

/* Rows at the price of `first` from there on: how many seconds, and which is the last. */
static tb_i128 gather(const tb_bill_tier *rows, size_t n, size_t first, size_t *ret_last)
{
    tb_i128 seconds = 0;
    for (size_t i = first; i < n; i++) {
        if (tb_decimal_compare(rows[i].price, rows[first].price) != 0) continue;
        seconds += rows[i].units;
        *ret_last = i;
    }
    return seconds;
}

static bool priced_before(const tb_bill_tier *rows, size_t row)
{
    for (size_t i = 0; i < row; i++)
        if (tb_decimal_compare(rows[i].price, rows[row].price) == 0) return true;
    return false;
}

static tb_code share_whole(tb_bill_tier *rows, size_t n, size_t first, int64_t whole,
                           tb_error *err)
{
    size_t last = first;
    tb_decimal price = rows[first].price, rest;
    tb_i128 seconds = gather(rows, n, first, &last);
    tb_code code = part_of(price, seconds, whole, &rest, err);
    for (size_t i = first; i < last && !code; i++) {
        if (tb_decimal_compare(rows[i].price, price) != 0) continue;
        code = part_of(price, rows[i].units, whole, &rows[i].amount, err);
        if (!code) code = tb_decimal_sub(rest, rows[i].amount, &rest, err);
    }
    if (!code) rows[last].amount = rest;
    return code;
}

tb_code tb__prorate(tb__draft *d, int64_t whole)
{
    tb_code code = tb__line_place(d);
    for (size_t i = 0; i < d->n_rows && !code; i++)
        if (!priced_before(d->rows, i)) code = share_whole(d->rows, d->n_rows, i, whole, d->err);
    return code;
}
