/* The one function that rates. It checks the input, lists usage without a price, makes the lines
 * kind by kind in the table's order, and sums them. Input comes sorted by zone, balancer or meter, so
 * every kind is one walk over it; only meters may have to be sorted, by their books' scopes. All memory is
 * one arena. */
#include "billing/draft.h"

#include <string.h>

/* Enough lines for every entry to make its own. */
static tb_code make_room(tb__draft *d)
{
    const tb_bill_input *in = d->in;
    size_t max = in->n_bytes + in->n_optimizers + 2 * in->n_balancers + d->n_meter_lines + in->n_meters +
                 in->n_fees + 6;
    d->bill.lines = tb__arena_take(&d->arena, max * sizeof *d->bill.lines);
    d->bill.tax = tb__arena_take(&d->arena, d->in->n_tax * sizeof *d->bill.tax);
    return d->bill.lines && d->bill.tax ? TB_OK : tb_no_memory(d->err);
}

const tb__rating tb__ratings[TB_LINE_KIND_COUNT] = {
    [TB_LINE_BANDWIDTH] = {tb__bill_bandwidth, NULL},
    [TB_LINE_VOLUME] = {tb__bill_volume, NULL},
    [TB_LINE_OVERRIDE] = {tb__bill_bandwidth, NULL},
    [TB_LINE_PERCENTILE] = {tb__bill_percentile, NULL},
    [TB_LINE_OPTIMIZER] = {tb__bill_time, tb__optimizer_entry},
    [TB_LINE_BALANCER_FEE] = {tb__bill_time, tb__balancer_entry},
    [TB_LINE_BALANCER_REQUESTS] = {tb__bill_tiers, tb__request_entry},
    [TB_LINE_METER] = {tb__bill_meters, NULL},
    [TB_LINE_METER_MINIMUM] = {tb__bill_meter_minima, NULL},
    [TB_LINE_FEE] = {tb__bill_recurring, NULL},
    [TB_LINE_DISCOUNT] = {tb__bill_discount, NULL},
    [TB_LINE_COMMIT] = {tb__bill_commit, NULL},
    [TB_LINE_MINIMUM] = {tb__bill_minimum, NULL},
    [TB_LINE_CAP] = {tb__bill_cap, NULL},
};

tb_code tb__bill_lines(tb__draft *d)
{
    tb_code code = TB_OK;
    for (int k = 0; k < TB_LINE_KIND_COUNT && !code; k++)
        if (tb__ratings[k].lines) code = tb__ratings[k].lines(d, (tb_line_kind)k);
    return code;
}

static tb_code rate(tb__draft *d)
{
    tb_code code = tb__bill_check(d);
    if (!code) code = tb__bill_gaps(d);
    if (!code) code = make_room(d);
    if (!code) code = tb__name_line(d->line, tb__bill_lines(d), d->err);
    if (!code) code = tb_bill_sum(&d->bill, d->in, d->err);
    return code;
}

/* The arena goes along in its own memory. */
static tb_code keep_arena(tb__draft *d)
{
    tb__arena *arena = tb__arena_take(&d->arena, sizeof *arena);
    if (!arena) return tb_no_memory(d->err);
    *arena = d->arena;
    d->bill.memory = arena;
    return TB_OK;
}

tb_code tb_bill_rate(const tb_bill_input *input, const tb_alloc *alloc, tb_bill *ret_bill,
                     tb_error *err)
{
    tb__draft d = {.in = input, .err = err, .bill.alloc = alloc};
    tb__arena_init(&d.arena, alloc);
    tb_code code = rate(&d);
    if (!code) code = keep_arena(&d);
    if (code)
        tb__arena_release(&d.arena);
    else
        *ret_bill = d.bill;
    return code;
}

void tb_bill_release(tb_bill *bill)
{
    if (bill->memory) {
        tb__arena arena = *(tb__arena *)bill->memory;
        tb__arena_release(&arena);
    }
    *bill = (tb_bill){.alloc = NULL};
}

/* --- the charges of one zone --- */

/* The first line of this kind with an id not below `id`; lines of a kind are adjacent. */
static size_t find_line(const tb_bill *bill, tb_line_kind kind, int64_t id)
{
    size_t low = 0, high = bill->n_lines;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const tb_bill_line *line = &bill->lines[middle];
        if (line->kind < kind || (line->kind == kind && line->id < id))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Lines of a kind stand by the id of their owner, which is not always a zone. */
static tb_code add_own(const tb_bill *bill, tb_line_kind kind, int64_t zone, tb_sum *sum, tb_error *err)
{
    tb_code code = TB_OK;
    for (size_t i = find_line(bill, kind, zone); !code && i < bill->n_lines; i++) {
        const tb_bill_line *line = &bill->lines[i];
        if (line->kind != kind || line->id != zone) break;
        if (strncmp(line->resource, "zone:", 5) == 0) code = tb__name_line(line, tb_sum_add(sum, line->exact, err), err);
    }
    return code;
}

static tb_code add_share(const tb_bill *bill, int64_t zone, tb_sum *sum, tb_error *err)
{
    size_t at = find_line(bill, TB_LINE_VOLUME, INT64_MIN);
    if (at == bill->n_lines || bill->lines[at].kind != TB_LINE_VOLUME) return TB_OK;
    const tb_bill_share *shares = bill->lines[at].shares;
    size_t low = 0, high = bill->lines[at].n_shares;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (shares[middle].zone < zone)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == bill->lines[at].n_shares || shares[low].zone != zone) return TB_OK;
    return tb__name_line(&bill->lines[at], tb_sum_add(sum, shares[low].exact, err), err);
}

tb_code tb_bill_zone_charges(const tb_bill *bill, int64_t zone, tb_sum *ret, tb_error *err)
{
    tb_sum sum = TB_SUM_ZERO;
    tb_code code = add_share(bill, zone, &sum, err);
    for (int k = 0; k < TB_LINE_KIND_COUNT && !code; k++)
        if (tb__ratings[k].lines) code = add_own(bill, (tb_line_kind)k, zone, &sum, err);
    if (code) return code;
    *ret = sum;
    return TB_OK;
}
