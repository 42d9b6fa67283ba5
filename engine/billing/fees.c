/* Monthly fees: optimizers and load balancers. Rows are seconds at a monthly price, prorated. */
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
