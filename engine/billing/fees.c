/* Fees: of optimizers and load balancers, by month, and recurring ones. Rows are seconds at the price of a month or a year,
 * prorated. */
#include "billing/draft.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

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

/* --- recurring fees --- */

void tb__fee_resource(const tb_bill_fee *e, char out[TB_BILL_RESOURCE_MAX])
{
    static const char *const owner[] = {
        [TB_FEE_OF_ACCOUNT] = "account", [TB_FEE_OF_ZONE] = "zone", [TB_FEE_OF_BALANCER] = "load_balancer"};
    snprintf(out, TB_BILL_RESOURCE_MAX, "%s:%" PRId64, owner[e->owner], e->owner_id);
}

static bool of_one_line(const tb_bill_fee *a, const tb_bill_fee *b)
{
    return a->owner == b->owner && a->owner_id == b->owner_id && a->period_us == b->period_us &&
           a->credit == b->credit && strcmp(a->id, b->id) == 0;
}

/* With texts of its own: the bill may outlive its books. */
static const tb_bill_item *fee_item(tb__draft *d, const tb_fee *from)
{
    tb_bill_item *item = tb__arena_take(&d->arena, sizeof *item);
    tb_fee *fee = tb__arena_take(&d->arena, sizeof *fee);
    if (!item || !fee) return NULL;
    *fee = *from;
    *item = (tb_bill_item){.id = fee->id, .name = fee->name, .unit = "second", .charge = fee->charge, .ledger_code = "",
                           .unece = "", .per_unit = fee->yearly ? "year" : "month",
                           .from_us = d->line->evidence.from_us, .to_us = d->line->evidence.to_us};
    return item;
}

/* The newest price names the line. */
static tb_code recurring_line(tb__draft *d, const tb_bill_fee *e, size_t n)
{
    const tb_fee *named = NULL;
    tb_decimal price;
    for (size_t i = 0; i < n; i++) {
        const tb_fee *fee = tb_book_fee(e[i].book, e[i].id);
        if (fee) named = fee;
    }
    if (!named) return TB_OK;
    tb_code code = tb__line_open(d, TB_LINE_FEE, e->owner_id, NULL, n);
    if (code) return code;
    if (!d->bare) tb__fee_resource(e, d->line->resource);
    for (size_t i = 0; i < n && !code; i++) {
        const tb_fee *fee = tb_book_fee(e[i].book, e[i].id);
        if (!fee) continue;
        code = tb_decimal_mul_int(fee->amount, e[i].quantity, &price, d->err);
        if (!code)
            code = tb__line_units(d, e[i].part, e[i].credit ? -e[i].seconds : e[i].seconds, price, fee->amount);
        if (d->bare || code) continue;
        tb_evidence *service = &d->line->evidence;
        if (service->to_us == 0 || e[i].from_us < service->from_us) service->from_us = e[i].from_us;
        if (e[i].to_us > service->to_us) service->to_us = e[i].to_us;
    }
    if (!code) code = tb__line_place(d);
    if (!code) code = tb__prorate(d->rows, d->n_rows, e->whole, d->err);
    if (!code) code = tb__line_close(d);
    if (!code && e->credit) code = tb_decimal_add(d->credits, d->line->amount, &d->credits, d->err);
    if (code || d->bare) return code;
    d->line->item = fee_item(d, named);
    return d->line->item ? TB_OK : tb_no_memory(d->err);
}

tb_code tb__bill_recurring(tb__draft *d)
{
    const tb_bill_fee *e = d->in->fees;
    for (size_t first = 0, end; first < d->in->n_fees; first = end) {
        for (end = first + 1; end < d->in->n_fees && of_one_line(&e[first], &e[end]);)
            end++;
        tb_code code = recurring_line(d, &e[first], end - first);
        if (code) return code;
    }
    return TB_OK;
}
