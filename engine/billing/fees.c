/* Fees: of optimizers and load balancers, by month, and recurring ones. Rows are seconds at the price of a month or a year,
 * prorated. */
#include "billing/draft.h"

#include <string.h>

/* Adds the run's entries to the newest line as rows of seconds at the price of `whole` of them, and closes it. */
static tb_code close(tb__draft *d, const tb__run *run, int64_t whole)
{
    tb_evidence *time = &d->line->evidence;
    tb_decimal price;
    tb__entry e;
    tb_code code = TB_OK;
    for (size_t i = run->first; i < run->end && run->entry(d, i, &e) && !code; i++) {
        if (!e.charged) continue;
        const bool first = d->n_rows == 0;
        if (first || e.from_us < time->from_us) time->from_us = e.from_us;
        if (first || e.to_us > time->to_us) time->to_us = e.to_us;
        price = e.price;
        if (e.times != 1) code = tb_decimal_mul_int(e.price, e.times, &price, d->err);
        if (!code) code = tb__line_units(d, e.part, e.units, price, e.price);
    }
    if (!code) code = tb__prorate(d, whole);
    return code ? code : tb__line_close(d);
}

/* --- by month --- */

static tb_code time_line(tb__draft *d, const tb__run *run)
{
    tb_code code = tb__line_open(d, run->kind, run->id, NULL, run->n_charged);
    if (!code) code = close(d, run, d->month_seconds);
    if (code || d->rows[d->n_rows - 1].to <= d->month_seconds) return code;
    return tb_fail(d->err, TB_E_VALIDATION, d->line->resource, "It is charged for more seconds than the month has.");
}

tb_code tb__bill_time(tb__draft *d, tb_line_kind kind)
{
    tb__run run = {.kind = kind, .entry = tb__ratings[kind].entry};
    tb_code code = TB_OK;
    while (!code && tb__next_run(d, &run))
        if (run.n_charged) code = time_line(d, &run);
    return code;
}

/* --- recurring fees --- */

tb_line_kind tb__fee_owner(const tb_bill_fee *e)
{
    return e->owner == TB_FEE_OF_ZONE ? TB_LINE_BANDWIDTH : e->owner == TB_FEE_OF_BALANCER ? TB_LINE_BALANCER_FEE : TB_LINE_MINIMUM;
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

static bool fee_entry(const tb__draft *d, size_t at, tb__entry *ret)
{
    if (at == d->in->n_fees) return false;
    const tb_bill_fee *e = &d->in->fees[at];
    const tb_fee *fee = tb_book_fee(e->book, e->id);
    *ret = (tb__entry){.id = e->owner_id,
                       .part = e->part,
                       .charged = fee,
                       .units = e->credit ? -e->seconds : e->seconds,
                       .price = fee ? fee->amount : TB_DECIMAL_ZERO,
                       .times = e->quantity,
                       .from_us = e->from_us,
                       .to_us = e->to_us};
    return true;
}

/* The newest price names the line. */
static tb_code recurring_line(tb__draft *d, const tb__run *run)
{
    const tb_bill_fee *e = &d->in->fees[run->first];
    const tb_fee *named = NULL;
    for (size_t i = run->end; i-- > run->first && !named;)
        named = tb_book_fee(d->in->fees[i].book, d->in->fees[i].id);
    if (!named) return TB_OK;
    tb_code code = tb__line_open(d, run->kind, run->id, NULL, run->end - run->first);
    if (!code && !d->bare) tb__resource_put(d->line->resource, tb__fee_owner(e), e->owner_id);
    if (!code) code = close(d, run, e->whole);
    if (!code && e->credit) code = tb_decimal_add(d->credits, d->line->amount, &d->credits, d->err);
    if (code || d->bare) return code;
    d->line->item = fee_item(d, named);
    return d->line->item ? TB_OK : tb_no_memory(d->err);
}

tb_code tb__bill_recurring(tb__draft *d, tb_line_kind kind)
{
    const tb_bill_fee *e = d->in->fees;
    tb__run run = {.kind = kind, .entry = fee_entry};
    tb_code code = TB_OK;
    while (!code && run.end < d->in->n_fees) {
        run.first = run.end++;
        run.id = e[run.first].owner_id;
        while (run.end < d->in->n_fees && of_one_line(&e[run.first], &e[run.end]))
            run.end++;
        code = recurring_line(d, &run);
    }
    return code;
}
