/* The least amounts of a month: the contract's commit, and the minimum. Each is a line over the amount by which the
 * lines before it fall short of it, so that the first line counts against the second. */
#include "billing/draft.h"

/* The least amount for a month under this part's book. */
typedef tb_decimal (*least_fn)(const tb__draft *d, uint32_t part);

static tb_decimal commit_of(const tb__draft *d, uint32_t part)
{
    (void)part;
    return d->in->contract.commit;
}

static tb_decimal minimum_of(const tb__draft *d, uint32_t part)
{
    const tb_contract *c = &d->in->contract;
    return c->own_minimum ? c->minimum : tb__book(d, part)->minimum_monthly;
}

/* The month's amount into rows, a row per part and price. */
static tb_code add_rows(tb__draft *d, least_fn least)
{
    for (uint32_t i = 0; i < d->in->n_parts; i++) {
        if (!tb__book(d, i)) continue;
        const tb_decimal price = least(d, i);
        tb_code code = tb__line_units(d, i, tb__part_seconds(&d->in->parts[i]), price, price);
        if (code) return code;
    }
    return TB_OK;
}

/* Subtracts the sum of the month's lines, as a row. */
static tb_code take_off(tb__draft *d, tb_decimal lines)
{
    const tb_bill_tier *last = &d->rows[d->n_rows - 1];
    tb_bill_tier row = {.part = last->part, .from = last->to, .to = last->to};
    row.amount = (tb_decimal){-lines.mantissa, lines.scale};
    return tb__line_row(d, &row);
}

/* Whether the lines reach the largest amount in force, so that the line's amount, if there is one, is 0.00: rounding
 * at 18 digits cannot raise it. */
static bool is_reached(const tb__draft *d, least_fn least, tb_decimal lines)
{
    for (uint32_t i = 0; i < d->in->n_parts; i++)
        if (tb__book(d, i) && tb_decimal_compare(least(d, i), lines) > 0) return false;
    return true;
}

static tb_code least_line(tb__draft *d, tb_line_kind kind, least_fn least, tb_decimal lines)
{
    tb_code code = tb__line_open(d, kind, d->in->account, NULL, d->in->n_parts + 1);
    if (!code) code = add_rows(d, least);
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

/* Lines so large that an amount's 18 digits do not fit beside them have reached it. */
static tb_code lift_to(tb__draft *d, tb_line_kind kind, least_fn least)
{
    tb_decimal lines;
    tb_error *err = d->err;
    tb_code code = tb__sum_counted(d, &lines);
    if (code) return code;
    bool reached = is_reached(d, least, lines);
    if (d->bare && reached) return TB_OK;
    if (reached) d->err = NULL;
    code = least_line(d, kind, least, lines);
    d->err = err;
    return code == TB_E_OVERFLOW && reached ? TB_OK : code;
}

bool tb__is_committed(const tb_bill_input *in)
{
    const tb_contract *c = &in->contract;
    return c->committed && !in->running && c->commit_from <= in->month && in->month <= c->commit_to;
}

tb_code tb__bill_commit(tb__draft *d)
{
    return tb__is_committed(d->in) ? lift_to(d, TB_LINE_COMMIT, commit_of) : TB_OK;
}

tb_code tb__bill_minimum(tb__draft *d)
{
    if (d->in->running || !d->in->active_zone) return TB_OK;
    return lift_to(d, TB_LINE_MINIMUM, minimum_of);
}
