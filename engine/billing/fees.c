/* What costs by the month: optimizers, load balancers, and the minimum of an account. Rows are
 * seconds at a monthly price, prorated. */
#include "billing/draft.h"

static tb_code close(tb__draft *d)
{
    tb_code code = tb__line_place(d);
    if (!code && d->rows[d->n_rows - 1].to > d->month_seconds)
        return tb_fail(d->err, TB_E_VALIDATION, d->line->resource,
                       "It is charged for more seconds than the month has.");
    if (!code) code = tb__prorate(d->rows, d->n_rows, d->month_seconds, d->err);
    if (code) return code;
    const tb_bill_part *parts = d->in->parts;
    d->line->evidence.from_us = parts[d->rows[0].part].from_us;
    d->line->evidence.to_us = parts[d->rows[d->n_rows - 1].part].to_us;
    return tb__line_close(d);
}

/* --- optimizers --- */

static bool charged(const tb__draft *d, const tb_bill_optimizer *e)
{
    return e->seconds > 0 && tb__optimizer_gap(d, e) == TB__PRICED;
}

static tb_code optimizer_line(tb__draft *d, const tb_bill_optimizer *e, size_t n)
{
    size_t rows = 0;
    for (size_t i = 0; i < n; i++)
        rows += charged(d, &e[i]);
    if (rows == 0) return TB_OK;
    tb_code code = tb__line_open(d, TB_LINE_OPTIMIZER, e->zone, NULL, rows);
    for (size_t i = 0; i < n && !code; i++) {
        if (!charged(d, &e[i])) continue;
        tb_decimal price =
            e[i].own_price ? e[i].monthly : tb__book(d, e[i].part)->optimizer_monthly;
        code = tb__line_units(d, e[i].part, e[i].seconds, price, price);
    }
    return code ? code : close(d);
}

tb_code tb__bill_optimizers(tb__draft *d)
{
    const tb_bill_optimizer *e = d->in->optimizers;
    for (size_t first = 0, end; first < d->in->n_optimizers; first = end) {
        for (end = first + 1; end < d->in->n_optimizers && e[end].zone == e[first].zone;)
            end++;
        tb_code code = optimizer_line(d, &e[first], end - first);
        if (code) return code;
    }
    return TB_OK;
}

/* --- load balancers --- */

static tb_code balancer_line(tb__draft *d, const tb_bill_balancer *e, size_t n)
{
    size_t rows = 0;
    for (size_t i = 0; i < n; i++)
        rows += e[i].seconds > 0 && tb__balancer_gap(d, &e[i]) == TB__PRICED;
    if (rows == 0) return TB_OK;
    tb_code code = tb__line_open(d, TB_LINE_BALANCER_FEE, e->balancer, NULL, rows);
    for (size_t i = 0; i < n && !code; i++) {
        if (e[i].seconds == 0 || tb__balancer_gap(d, &e[i]) != TB__PRICED) continue;
        tb_decimal price = tb__book(d, e[i].part)->balancer_fee;
        code = tb__line_units(d, e[i].part, e[i].seconds, price, price);
    }
    return code ? code : close(d);
}

tb_code tb__bill_balancer_fees(tb__draft *d)
{
    const tb_bill_balancer *e = d->in->balancers;
    for (size_t first = 0, end; first < d->in->n_balancers; first = end) {
        for (end = first + 1; end < d->in->n_balancers && e[end].balancer == e[first].balancer;)
            end++;
        tb_code code = balancer_line(d, &e[first], end - first);
        if (code) return code;
    }
    return TB_OK;
}

/* --- the minimum --- */

static tb_code sum_rounded(const tb__draft *d, tb_decimal *ret)
{
    tb_decimal sum = d->sum;
    for (size_t i = 0; i < d->bill.n_lines; i++) {
        tb_code code = tb_decimal_add(sum, d->bill.lines[i].amount, &sum, d->err);
        if (code) return code;
    }
    *ret = sum;
    return TB_OK;
}

/* The month's minimum into rows, a row per part. */
static tb_code add_minimums(tb__draft *d)
{
    for (uint32_t i = 0; i < d->in->n_parts; i++) {
        const tb_book *book = tb__book(d, i);
        if (!book) continue;
        tb_code code = tb__line_units(d, i, tb__part_seconds(&d->in->parts[i]),
                                      book->minimum_monthly, book->minimum_monthly);
        if (code) return code;
    }
    return TB_OK;
}

/* Takes off what the month's lines come to, as a row. */
static tb_code take_off(tb__draft *d, tb_decimal lines)
{
    const tb_bill_tier *last = &d->rows[d->n_rows - 1];
    tb_bill_tier row = {.part = last->part, .from = last->to, .to = last->to};
    row.amount = (tb_decimal){-lines.mantissa, lines.scale};
    return tb__line_row(d, &row);
}

/* Whether the lines come to the largest minimum in force, so that the line's amount, if there is
 * one, is 0.00: what is rounded at 18 digits cannot lift it. */
static bool is_reached(const tb__draft *d, tb_decimal lines)
{
    for (uint32_t i = 0; i < d->in->n_parts; i++)
        if (tb__book(d, i) && tb_decimal_compare(tb__book(d, i)->minimum_monthly, lines) > 0)
            return false;
    return true;
}

static tb_code minimum_line(tb__draft *d, tb_decimal lines)
{
    tb_code code = tb__line_open(d, TB_LINE_MINIMUM, d->in->account, NULL, d->in->n_parts + 1);
    if (!code) code = add_minimums(d);
    if (code || d->n_rows == 0) return code;
    if (!code) code = tb__line_place(d);
    if (!code) code = tb__prorate(d->rows, d->n_rows, d->month_seconds, d->err);
    if (!code) code = take_off(d, lines);
    if (!code) code = tb__line_close(d);
    if (code) return code;
    d->line->quantity = 1;
    d->line->evidence.from_us = d->in->parts[0].from_us;
    d->line->evidence.to_us = d->in->parts[d->in->n_parts - 1].to_us;
    if (tb_decimal_sign(d->line->exact) <= 0) tb__line_drop(d);
    return TB_OK;
}

/* Lines so large that a minimum's 18 digits do not fit beside them have reached it. */
tb_code tb__bill_minimum(tb__draft *d)
{
    tb_decimal lines;
    tb_error *err = d->err;
    if (d->in->running || !d->in->active_zone) return TB_OK;
    tb_code code = sum_rounded(d, &lines);
    if (code) return code;
    bool reached = is_reached(d, lines);
    if (d->bare && reached) return TB_OK;
    if (reached) d->err = NULL;
    code = minimum_line(d, lines);
    d->err = err;
    return code == TB_E_OVERFLOW && reached ? TB_OK : code;
}
