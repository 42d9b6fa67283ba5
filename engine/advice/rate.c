/* What a path's usage costs: tb_bill_subtotal, tb_bill_rate's own functions, on the month's usage,
 * with all bytes that are billed alike in one entry, and one entry for each load balancer and part.
 *
 * What does not depend on the path is rated once, with every line on its own: fees, meters, traffic at a
 * percentile, and the minimum. The bill of a path is then the lines of its usage, the fees and the rounding of the
 * month before, raised to the minimum; taxes are tb_bill_sum's on that sum. */
#include "advice/model.h"
#include "billing/amounts.h"

#include <string.h>

/* An entry's usage so far plus its share of the forecast. */
typedef struct share {
    tb_i128 there;
    int column;       /* of the forecast */
    tb_i128 from, to; /* from/whole to to/whole of it are this entry's */
    tb_i128 whole;    /* 0: nothing comes here */
    uint32_t part;
} share;

struct tb__rater {
    tb_bill_input input;
    tb_bill_bytes *bytes;
    share *byte_shares, *balancer_shares;
    tb_bill_balancer *balancers;
    tb_decimal fixed, minimum;
    tb_bill_rater *amounts;
    bool is_checked; /* the first path's bill was, and the others differ in usage alone */
    size_t lines;    /* of bytes: one for each of volume's regions, and one for each other entry */
    int minor_digits;
    tb_rounding rounding;
    const tb_alloc *alloc;
    const tb_bill_input *month;
    tb_forecast *forecast;
};

/* --- usage so far, by how it is billed --- */

/* A month's part: bytes by discount, region, and price of their own. */
typedef struct part_sums {
    tb_i128 premium[TB_BILLING_REGION_COUNT][101];
    tb_i128 volume[TB_BILLING_REGION_COUNT];
    tb_i128 own[TB_BILLING_REGION_COUNT];
    tb_decimal own_cost[TB_BILLING_REGION_COUNT];
} part_sums;

static tb_code sum_entry(part_sums *sums, const tb_bill_bytes *e, tb_error *err)
{
    tb_decimal cost;
    if (!e->priced) return TB_OK;
    if (e->charge == TB_CHARGE_PREMIUM) sums->premium[e->region][e->discount] += e->bytes;
    if (e->charge == TB_CHARGE_VOLUME) sums->volume[e->region] += e->bytes;
    if (e->charge != TB_CHARGE_OVERRIDE || e->bytes == 0) return TB_OK;
    sums->own[e->region] += e->bytes;
    tb_code code = tb_decimal_mul_int(e->override_price, e->bytes, &cost, err);
    return code ? code
                : tb_decimal_add(sums->own_cost[e->region], cost, &sums->own_cost[e->region], err);
}

/* --- entries --- */

typedef struct building {
    tb__rater *r;
    const tb_forecast_input *in;
    const tb__outlook *outlook; /* by column */
    uint32_t part;
    int64_t end_us; /* of the part: nothing is forecast for parts that are over */
    tb_error *err;
} building;

static bool is_needed(const building *b, tb_charge charge, int region, tb_i128 there)
{
    return there || !b->outlook[tb_usage_column(charge, (tb_billing_region)region)].nothing;
}

static void entry(building *b, tb_charge charge, int region, tb_i128 there)
{
    size_t i = b->r->input.n_bytes++;
    b->r->lines += charge != TB_CHARGE_VOLUME;
    b->r->bytes[i] = (tb_bill_bytes){.zone = 1,
                                     .part = b->part,
                                     .charge = charge,
                                     .priced = true,
                                     .region = (tb_billing_region)region};
    b->r->byte_shares[i] = (share){.there = there,
                                   .column = tb_usage_column(charge, (tb_billing_region)region),
                                   .part = b->part};
}

static bool to_come(const building *b)
{
    return b->end_us > b->in->from_us;
}

static void premium(building *b, const part_sums *sums, int region)
{
    const tb_i128 *recent = b->in->history->premium[region];
    tb_i128 whole = 0, at = 0;
    for (int d = 0; d <= 100; d++)
        whole += to_come(b) ? recent[d] : 0;
    for (int d = 0; d <= 100; d++) {
        tb_i128 mine = to_come(b) ? recent[d] : 0;
        if (!sums->premium[region][d] && !mine) continue;
        entry(b, TB_CHARGE_PREMIUM, region, sums->premium[region][d]);
        size_t i = b->r->input.n_bytes - 1;
        b->r->bytes[i].discount = d;
        b->r->byte_shares[i].from = at;
        b->r->byte_shares[i].to = at += mine;
        b->r->byte_shares[i].whole = whole;
    }
}

static void all_of_it(building *b)
{
    share *s = &b->r->byte_shares[b->r->input.n_bytes - 1];
    s->from = 0;
    s->to = s->whole = 1;
}

#define OWN_SCALE 24 /* digits of a mean price: 10^18 bytes are within a millionth */

static tb_code own(building *b, tb_decimal cost, tb_i128 bytes, tb_i128 there, int region)
{
    if (bytes == 0) return TB_OK;
    tb_decimal price;
    tb_code code = tb_decimal_divide(cost, 1, bytes, OWN_SCALE, TB_HALF_UP, &price, b->err);
    if (code) return code;
    entry(b, TB_CHARGE_OVERRIDE, region, there);
    price = tb_decimal_normal(price);
    b->r->bytes[b->r->input.n_bytes - 1].override_price = price;
    return TB_OK;
}

static tb_code part_entries(building *b, const part_sums *sums)
{
    const tb_usage_history *h = b->in->history;
    tb_code code = TB_OK;
    for (int region = 0; region < TB_BILLING_REGION_COUNT; region++)
        premium(b, sums, region);
    for (int region = 0; region < TB_BILLING_REGION_COUNT; region++) {
        b->r->lines++;
        if (!is_needed(b, TB_CHARGE_VOLUME, region, sums->volume[region])) continue;
        entry(b, TB_CHARGE_VOLUME, region, sums->volume[region]);
        if (to_come(b)) all_of_it(b);
    }
    for (int region = 0; !code && region < TB_BILLING_REGION_COUNT; region++) {
        code = own(b, sums->own_cost[region], sums->own[region], sums->own[region], region);
        if (code || !to_come(b) || h->override_bytes[region] == 0) continue;
        code = own(b, h->override_cost[region], h->override_bytes[region], 0, region);
        if (!code) all_of_it(b);
    }
    return code;
}

static tb_code make_bytes(tb__rater *r, const tb_forecast_input *in, const tb__outlook *outlook,
                          tb__arena *arena, tb_error *err)
{
    const tb_bill_input *month = in->month;
    size_t most = month->n_parts * TB_BILLING_REGION_COUNT * (101 + 1 + 2);
    part_sums *sums = tb__arena_take(arena, month->n_parts * sizeof *sums);
    r->bytes = tb__arena_take(arena, most * sizeof *r->bytes);
    r->byte_shares = tb__arena_take(arena, most * sizeof *r->byte_shares);
    if (!sums || !r->bytes || !r->byte_shares) return tb_no_memory(err);
    memset(sums, 0, month->n_parts * sizeof *sums);
    tb_code code = TB_OK;
    for (size_t i = 0; !code && i < month->n_bytes; i++)
        code = sum_entry(&sums[month->bytes[i].part], &month->bytes[i], err);
    building b = {.r = r, .in = in, .outlook = outlook, .err = err};
    for (; !code && b.part < month->n_parts; b.part++) {
        b.end_us = month->parts[b.part].to_us;
        code = part_entries(&b, &sums[b.part]);
    }
    r->input.bytes = r->bytes;
    return code;
}

/* --- load balancers --- */

static tb_i128 recent_requests(const tb_usage_history *h, int64_t balancer)
{
    size_t low = 0, high = h->n_balancers;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (h->balancers[middle].balancer < balancer)
            low = middle + 1;
        else
            high = middle;
    }
    return low < h->n_balancers && h->balancers[low].balancer == balancer
               ? h->balancers[low].requests
               : 0;
}

/* Shares are of the balancers that exist in the part. */
static void share_out(tb__rater *r, const tb_forecast_input *in, uint32_t part)
{
    tb_i128 at = 0;
    if (in->month->parts[part].to_us <= in->from_us) return;
    for (size_t i = 0; i < in->month->n_balancers; i++) {
        const tb_bill_balancer *e = &in->month->balancers[i];
        if (e->part != part || e->seconds == 0) continue;
        r->balancer_shares[i].from = at;
        at += recent_requests(in->history, e->balancer);
        r->balancer_shares[i].to = at;
    }
    for (size_t i = 0; i < in->month->n_balancers; i++)
        if (r->balancer_shares[i].part == part) r->balancer_shares[i].whole = at;
}

static tb_code make_balancers(tb__rater *r, const tb_forecast_input *in, tb__arena *arena,
                              tb_error *err)
{
    const tb_bill_input *month = in->month;
    size_t n = month->n_balancers;
    r->balancers = tb__arena_take(arena, (n + 1) * sizeof *r->balancers);
    r->balancer_shares = tb__arena_take(arena, (n + 1) * sizeof *r->balancer_shares);
    if (!r->balancers || !r->balancer_shares) return tb_no_memory(err);
    for (size_t i = 0; i < n; i++) {
        const tb_bill_balancer *e = &month->balancers[i];
        r->balancers[i] = (tb_bill_balancer){.balancer = e->balancer, .part = e->part};
        r->balancer_shares[i] =
            (share){.there = e->requests, .column = TB_USAGE_REQUESTS, .part = e->part};
    }
    for (uint32_t part = 0; part < month->n_parts; part++)
        share_out(r, in, part);
    r->input.balancers = r->balancers;
    r->input.n_balancers = n;
    return TB_OK;
}

/* --- what does not depend on the path --- */

/* Lines ascend by meter. A meter's minimum comes after all meters' lines. */
static tb_code keep_meter(const tb_bill_line *line, tb_forecast *f, tb_error *err)
{
    size_t at = 0;
    while (at < f->n_meters && strcmp(f->meters[at].meter, line->item->id) != 0)
        at++;
    if (at == TB_METERS_MAX) return tb_fail(err, TB_E_INTERNAL, NULL, "A bill has more meters than a catalogue.");
    tb_forecast_meter *m = &f->meters[at];
    if (at == f->n_meters) {
        *m = (tb_forecast_meter){.meter = ""};
        memccpy(m->meter, line->item->id, '\0', sizeof m->meter - 1);
        memccpy(m->name, line->item->name, '\0', sizeof m->name - 1);
        memccpy(m->unit, line->item->unit, '\0', sizeof m->unit - 1);
        f->n_meters++;
    }
    if (line->kind == TB_LINE_METER) m->month += line->quantity;
    m->net += line->amount.mantissa;
    return TB_OK;
}

/* Whether a line is the same on all paths: all but bandwidth and requests, and but what follows from the month's sum. */
static bool is_fixed(const tb_line_kind_info *of)
{
    return of->basis == TB_BASIS_TIME || of->basis == TB_BASIS_PEAK || of->product == TB_LINE_METER;
}

/* Fees, and meters, line by line, with the contract's discount on what it applies to of these: all but a meter's minimum. */
static tb_code fees(const tb_bill_input *in, const tb_bill *bill, tb_forecast *f, tb_decimal *sum, tb_error *err)
{
    tb_decimal discounted = {0, bill->minor_digits}, off, rest;
    tb_code code = TB_OK;
    for (size_t i = 0; !code && i < bill->n_lines; i++) {
        const tb_bill_line *line = &bill->lines[i];
        const tb_line_kind_info *of = tb_line_kind_of(line->kind);
        tb_decimal *to = of->basis == TB_BASIS_AGREED ? sum : &discounted;
        if (of->product == TB_LINE_METER) code = keep_meter(line, f, err);
        if (!code && is_fixed(of)) code = tb_decimal_add(*to, line->amount, to, err);
    }
    if (!code) code = tb_decimal_mul(discounted, in->contract.discount, &off, err);
    if (!code) code = tb_decimal_shift(off, 2, &off, err);
    if (!code) code = tb_decimal_round(off, bill->minor_digits, bill->rounding, &off, err);
    if (!code) code = tb_decimal_sub(discounted, off, &rest, err);
    return code ? code : tb_decimal_add(*sum, rest, sum, err);
}

static void keep_unpriced(const tb_bill *bill, tb_forecast *forecast)
{
    forecast->complete = bill->n_unpriced == 0;
    for (size_t i = 0; i < bill->n_unpriced && i < TB_FORECAST_UNPRICED_MAX; i++)
        forecast->unpriced[forecast->n_unpriced++] = bill->unpriced[i];
}

static tb_code rate_fixed(tb__rater *r, const tb_forecast_input *in, tb_error *err)
{
    tb_bill bill;
    tb_code code = tb_bill_rate(in->month, r->alloc, &bill, err);
    if (code) return code;
    keep_unpriced(&bill, r->forecast);
    r->forecast->minor_digits = r->minor_digits = bill.minor_digits;
    r->rounding = bill.rounding;
    r->fixed = (tb_decimal){0, bill.minor_digits};
    code = fees(in->month, &bill, r->forecast, &r->fixed, err);
    if (!code) code = tb_decimal_add(r->fixed, in->rounding, &r->fixed, err);
    tb_bill_release(&bill);
    return code;
}

/* What the month costs where nothing is used. */
static tb_code rate_minimum(tb__rater *r, const tb_forecast_input *in, tb_error *err)
{
    tb_bill bill;
    tb_bill_input empty = *in->month;
    empty.n_bytes = empty.n_optimizers = empty.n_balancers = empty.n_fees = 0;
    empty.n_usage = empty.n_samples = 0;
    empty.percentile = false;
    tb_code code = tb_bill_rate(&empty, r->alloc, &bill, err);
    if (code) return code;
    r->minimum = bill.subtotal;
    tb_bill_release(&bill);
    return TB_OK;
}

tb_code tb__rater_new(const tb_forecast_input *input, const tb__outlook outlook[TB_USAGE_COLUMNS],
                      tb__arena *arena, tb__rater **ret, tb_forecast *forecast, tb_error *err)
{
    tb__rater *r = tb__arena_take(arena, sizeof *r);
    if (!r) return tb_no_memory(err);
    *r = (tb__rater){
        .input = *input->month, .month = input->month, .alloc = arena->alloc, .forecast = forecast};
    r->input.n_bytes = r->input.n_optimizers = r->input.n_balancers = 0;
    r->input.n_usage = r->input.n_samples = r->input.n_fees = 0;
    r->input.percentile = false;
    r->input.running = true; /* the minimum is ours */
    r->input.n_earlier = 0;
    r->input.cap.reached = false; /* and the cap is on the whole */
    r->input.n_tax = 0;      /* and tax is on the whole */
    tb_code code = rate_fixed(r, input, err);
    if (!code) code = rate_minimum(r, input, err);
    if (!code && !input->month->percentile) code = make_bytes(r, input, outlook, arena, err);
    if (!code) code = make_balancers(r, input, arena, err);
    if (!code) code = tb_bill_rater_new(arena->alloc, &r->amounts, err);
    if (!code) *ret = r;
    return code;
}

void tb__rater_release(tb__rater *rater)
{
    if (rater) tb_bill_rater_free(rater->amounts);
}

size_t tb__rater_lines(const tb__rater *rater)
{
    return rater->lines + rater->input.n_balancers;
}

/* --- a path --- */

static tb_i128 usage_of(const share *s, const tb_i128 *more)
{
    if (s->whole == 0) return s->there;
    tb_i128 come = more[(size_t)s->part * TB_USAGE_COLUMNS + (size_t)s->column];
    return s->there + come * s->to / s->whole - come * s->from / s->whole;
}

/* Taxes on the whole, as on an invoice of one line. */
static tb_code sum_up(const tb__rater *r, tb_decimal usage, bool minimum, tb_i128 *ret_net,
                      tb_i128 *ret_gross, tb_error *err)
{
    tb_decimal net;
    tb_code code = tb_decimal_add(usage, r->fixed, &net, err);
    if (code) return code;
    if (minimum && tb_decimal_compare(net, r->minimum) < 0) net = r->minimum;
    code = tb__bill_capped(r->month, net, &net, err);
    if (code) return code;
    *ret_net = *ret_gross = net.mantissa;
    if (!r->month->n_tax) return TB_OK;
    tb_bill_line line = {.amount = net, .exact = net};
    tb_bill_taxed tax[TB_BILL_TAXES_MAX];
    tb_bill whole = {.lines = &line,
                     .n_lines = 1,
                     .tax = tax,
                     .minor_digits = r->minor_digits,
                     .rounding = r->rounding};
    code = tb_bill_sum(&whole, r->month, err);
    if (code) return code;
    *ret_net = whole.subtotal.mantissa;
    *ret_gross = whole.total.mantissa;
    return TB_OK;
}

static tb_code rate_path(tb__rater *r, const tb_i128 *more, bool minimum, tb_i128 *ret_net,
                         tb_i128 *ret_gross, tb_error *err)
{
    tb_decimal usage;
    bool unpriced = false;
    for (size_t i = 0; i < r->input.n_bytes; i++)
        r->bytes[i].bytes = usage_of(&r->byte_shares[i], more);
    for (size_t i = 0; i < r->input.n_balancers; i++)
        r->balancers[i].requests = usage_of(&r->balancer_shares[i], more);
    tb_code code = r->is_checked ? tb__bill_subtotal_again(r->amounts, &r->input, &usage, &unpriced, err)
                                 : tb_bill_subtotal(r->amounts, &r->input, &usage, &unpriced, err);
    if (code) return code;
    r->is_checked = true;
    if (unpriced) r->forecast->complete = false;
    return sum_up(r, usage, minimum, ret_net, ret_gross, err);
}

tb_code tb__rater_rate(tb__rater *r, const tb_i128 *more, tb_i128 *ret_net, tb_i128 *ret_gross,
                       tb_error *err)
{
    return rate_path(r, more, true, ret_net, ret_gross, err);
}

tb_code tb__rater_running(tb__rater *r, const tb_i128 *more, tb_i128 *ret_gross, tb_error *err)
{
    tb_i128 net;
    return rate_path(r, more, false, &net, ret_gross, err);
}
