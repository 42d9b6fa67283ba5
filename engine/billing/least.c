/* The least amounts of a month: of a meter, the contract's commit, and the minimum. Each is a line over the amount by which
 * lines before it fall short of it: those of the meter, or all of them, so that each counts against the ones after it. A
 * commit by quarter, by year or with rollover counts earlier months too (tb_bill_input.earlier). */
#include "billing/draft.h"
#include "tollbook/calendar.h"

typedef struct least_amount {
    tb_line_kind kind;
    tb_decimal (*of)(const tb__draft *d, const struct least_amount *least, uint32_t part); /* for a month under this part's book */
    tb_decimal lines;
    const tb_meter *meter; /* NULL: not of a meter */
} least_amount;

static tb_decimal commit_of(const tb__draft *d, const least_amount *least, uint32_t part)
{
    (void)least, (void)part;
    tb_commit_period p;
    return tb_contract_period(&d->in->contract, d->in->month, &p) ? p.commit->amount : TB_DECIMAL_ZERO;
}

static tb_decimal minimum_of(const tb__draft *d, const least_amount *least, uint32_t part)
{
    const tb_contract *c = &d->in->contract;
    (void)least;
    return c->own_minimum ? c->minimum : tb__book(d, part)->minimum_monthly;
}

static tb_decimal meter_minimum_of(const tb__draft *d, const least_amount *least, uint32_t part)
{
    const tb_meter_rate *rate = tb__book_meter(tb__book(d, part), least->meter->id);
    return rate && rate->has_minimum ? rate->minimum : TB_DECIMAL_ZERO;
}

/* The month's amount into rows, a row per part and price. */
static tb_code add_rows(tb__draft *d, const least_amount *least)
{
    for (uint32_t i = 0; i < d->in->n_parts; i++) {
        if (!tb__book(d, i)) continue;
        const tb_decimal price = least->of(d, least, i);
        tb_code code = tb__line_units(d, i, tb__part_seconds(&d->in->parts[i]), price, price);
        if (code) return code;
    }
    return TB_OK;
}

/* Subtracts the sum of the lines, as a row. */
static tb_code take_off(tb__draft *d, tb_decimal lines)
{
    const tb_bill_tier *last = &d->rows[d->n_rows - 1];
    tb_bill_tier row = {.part = last->part, .from = last->to, .to = last->to};
    row.amount = (tb_decimal){-lines.mantissa, lines.scale};
    return tb__line_row(d, &row);
}

/* Whether the lines reach the largest amount in force, so that the line's amount, if there is one, is 0.00: rounding
 * at 18 digits cannot raise it. */
static bool is_reached(const tb__draft *d, const least_amount *least)
{
    for (uint32_t i = 0; i < d->in->n_parts; i++)
        if (tb__book(d, i) && tb_decimal_compare(least->of(d, least, i), least->lines) > 0) return false;
    return true;
}

static tb_code least_line(tb__draft *d, const least_amount *least)
{
    const tb__metered of = {.meter = least->meter ? (uint32_t)(least->meter - d->in->meters) : 0,
                            .noun = "meter",
                            .name = least->meter ? least->meter->id : NULL,
                            .value = ""};
    const size_t rows = d->in->n_parts + 1;
    tb_code code = least->meter ? tb__line_open_meter(d, least->kind, &of, rows)
                                : tb__line_open(d, least->kind, d->in->account, NULL, rows);
    if (!code && least->meter) code = tb__line_meter(d, least->meter, &of, NULL, 0);
    if (!code) code = add_rows(d, least);
    if (code || d->n_rows == 0) return code;
    code = tb__prorate(d, d->month_seconds);
    if (!code) code = take_off(d, least->lines);
    if (!code) code = tb__line_close(d);
    if (code) return code;
    d->line->quantity = 1;
    d->line->evidence.from_us = d->in->parts[0].from_us;
    d->line->evidence.to_us = d->in->parts[d->in->n_parts - 1].to_us;
    if (tb_decimal_sign(d->line->exact) <= 0) {
        tb__line_drop(d);
        return TB_OK;
    }
    return least->meter ? tb_decimal_add(d->undiscounted, d->line->amount, &d->undiscounted, d->err) : TB_OK;
}

/* Lines so large that an amount's 18 digits do not fit beside them have reached it. */
static tb_code lift_to(tb__draft *d, const least_amount *least)
{
    tb_error *err = d->err;
    bool reached = is_reached(d, least);
    if ((d->bare || least->meter) && reached) return TB_OK;
    if (reached) d->err = NULL;
    tb_code code = least_line(d, least);
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

static tb_code period_line(tb__draft *d, const tb_commit_period *p, tb_decimal lines)
{
    const tb_bill_input *in = d->in;
    tb_decimal owed = p->commit->amount, used = lines;
    tb_code code = TB_OK;
    if (!tb__book(d, (uint32_t)in->n_parts - 1)) return TB_OK;
    for (size_t i = 0; !code && i < in->n_earlier; i++)
        code = tb_decimal_add(used, in->earlier[i].amount, &used, d->err);
    if (!code && p->last + 1 - p->first < p->commit->months) {
        code = tb_decimal_divide(owed, p->last + 1 - p->first, p->commit->months, TB_PRORATE_SCALE, TB_HALF_UP, &owed, d->err);
        owed = tb_decimal_normal(owed);
    }
    if (code || tb_decimal_compare(used, owed) >= 0) return code;
    return add_period(d, p, owed, lines);
}

static tb_code commit_line(tb__draft *d, tb_line_kind kind, tb_decimal lines)
{
    const least_amount least = {.kind = kind, .of = commit_of, .lines = lines};
    tb_commit_period p;
    if (!tb__is_committed(d->in) || !tb_contract_period(&d->in->contract, d->in->month, &p)) return TB_OK;
    return p.commit->months != 1 || p.commit->rollover || p.carries ? period_line(d, &p, lines) : lift_to(d, &least);
}

tb_code tb__bill_commit(tb__draft *d, tb_line_kind kind)
{
    tb_decimal before;
    tb_code code = tb__sum_counted(d, &before);
    if (!code) code = commit_line(d, kind, before);
    if (!code) code = tb__sum_counted(d, &d->bill.counted);
    return code ? code : tb_decimal_sub(d->bill.counted, before, &d->bill.commit, d->err);
}

tb_code tb__bill_minimum(tb__draft *d, tb_line_kind kind)
{
    least_amount least = {.kind = kind, .of = minimum_of};
    if (d->in->running || !d->in->active_zone) return TB_OK;
    tb_code code = tb__sum_counted(d, &least.lines);
    return code ? code : lift_to(d, &least);
}

tb_code tb__bill_meter_minima(tb__draft *d, tb_line_kind kind)
{
    tb_code code = TB_OK;
    for (size_t i = 0; !d->in->running && d->n_metered && i < d->in->n_meters && !code; i++) {
        const least_amount least = {kind, meter_minimum_of, d->meter_sums[i].billed, &d->in->meters[i]};
        if (d->meter_sums[i].used) code = lift_to(d, &least);
    }
    return code;
}
