/* The least amounts of a month: the contract's commit, and the minimum. Each is a line over the amount by which the
 * lines before it fall short of it, so that the first line counts against the second. A commit by quarter, by year or
 * with rollover counts earlier months too (tb_bill_input.earlier). */
#include "billing/draft.h"
#include "tollbook/calendar.h"

/* The least amount for a month under this part's book. */
typedef tb_decimal (*least_fn)(const tb__draft *d, uint32_t part);

static tb_decimal commit_of(const tb__draft *d, uint32_t part)
{
    (void)part;
    tb_commit_period p;
    return tb_contract_period(&d->in->contract, d->in->month, &p) ? p.commit->amount : TB_DECIMAL_ZERO;
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
    tb_code code = tb__sum_rounded(d, &lines);
    if (code) return code;
    bool reached = is_reached(d, least, lines);
    if (d->bare && reached) return TB_OK;
    if (reached) d->err = NULL;
    code = least_line(d, kind, least, lines);
    d->err = err;
    return code == TB_E_OVERFLOW && reached ? TB_OK : code;
}

/* --- the commit --- */

bool tb__is_committed(const tb_bill_input *in)
{
    tb_commit_period p;
    return !in->running && tb_contract_period(&in->contract, in->month, &p) && in->month == p.last;
}

size_t tb_bill_earlier_months(const tb_contract *contract, int64_t month, int64_t ret_months[TB_BILL_EARLIER_MAX])
{
    tb_commit_period p;
    size_t n = 0;
    if (!tb_contract_period(contract, month, &p) || month != p.last) return 0;
    for (int64_t at = p.first - p.carries; at < month; at++)
        ret_months[n++] = at;
    return n;
}

tb_code tb_bill_counted(const tb_bill *bill, tb_decimal *ret_sum, tb_decimal *ret_commit, tb_error *err)
{
    tb_decimal sum = {0, bill->minor_digits}, commit = sum;
    for (size_t i = 0; i < bill->n_lines && bill->lines[i].kind <= TB_LINE_COMMIT; i++) {
        tb_code code = tb_decimal_add(sum, bill->lines[i].amount, &sum, err);
        if (code) return code;
        if (bill->lines[i].kind == TB_LINE_COMMIT) commit = bill->lines[i].amount;
    }
    *ret_sum = sum;
    *ret_commit = commit;
    return TB_OK;
}

static tb_code take_off_month(tb__draft *d, int64_t month, tb_decimal amount)
{
    const tb_bill_tier row = {.part = (uint32_t)d->in->n_parts - 1,
                              .from = month,
                              .to = month,
                              .amount = {-amount.mantissa, amount.scale}};
    return tb__line_row(d, &row);
}

/* A row for the period, and one for each month that counts. */
static tb_code add_period(tb__draft *d, const tb_commit_period *p, tb_decimal owed, tb_decimal lines)
{
    const tb_bill_input *in = d->in;
    const tb_bill_tier row = {.part = (uint32_t)in->n_parts - 1,
                              .from = p->first,
                              .to = p->last + 1,
                              .units = p->last + 1 - p->first,
                              .price = p->commit->amount,
                              .shown = p->commit->amount,
                              .amount = owed};
    tb_code code = tb__line_open(d, TB_LINE_COMMIT, in->account, NULL, in->n_earlier + 2);
    if (!code) code = tb__line_row(d, &row);
    for (size_t i = 0; !code && i < in->n_earlier; i++)
        code = take_off_month(d, in->earlier[i].month, in->earlier[i].amount);
    if (!code) code = take_off_month(d, in->month, lines);
    if (!code) code = tb__line_close(d);
    if (code) return code;
    d->line->quantity = row.units;
    d->line->evidence.from_us = tb_month_start_us(p->first);
    d->line->evidence.to_us = in->parts[in->n_parts - 1].to_us;
    return TB_OK;
}

static tb_code period_line(tb__draft *d, const tb_commit_period *p)
{
    const tb_bill_input *in = d->in;
    tb_decimal owed = p->commit->amount, lines, used;
    if (!tb__book(d, (uint32_t)in->n_parts - 1)) return TB_OK;
    tb_code code = tb__sum_rounded(d, &lines);
    used = lines;
    for (size_t i = 0; !code && i < in->n_earlier; i++)
        code = tb_decimal_add(used, in->earlier[i].amount, &used, d->err);
    if (!code && p->last + 1 - p->first < p->commit->months) {
        code = tb_decimal_divide(owed, p->last + 1 - p->first, p->commit->months, TB_PRORATE_SCALE, TB_HALF_UP, &owed, d->err);
        owed = tb_decimal_normal(owed);
    }
    if (code || tb_decimal_compare(used, owed) >= 0) return code;
    return add_period(d, p, owed, lines);
}

tb_code tb__bill_commit(tb__draft *d)
{
    tb_commit_period p;
    if (!tb__is_committed(d->in) || !tb_contract_period(&d->in->contract, d->in->month, &p)) return TB_OK;
    const bool plain = p.commit->months == 1 && !p.commit->rollover && !p.carries;
    return plain ? lift_to(d, TB_LINE_COMMIT, commit_of) : period_line(d, &p);
}

tb_code tb__bill_minimum(tb__draft *d)
{
    if (d->in->running || !d->in->active_zone) return TB_OK;
    return lift_to(d, TB_LINE_MINIMUM, minimum_of);
}
