/* Checks an input against bill.h. The store makes inputs from validated data, and simulations change
 * them: an error here is a fault of the caller, but money is checked anyway. A negative sum of usage is
 * different: the stored data is wrong. */
#include "billing/draft.h"
#include "tollbook/calendar.h"

#include <inttypes.h>
#include <string.h>

static tb_code refuse_entry(tb__draft *d, const char *field, size_t at, const char *what)
{
    return tb_fail(d->err, TB_E_VALIDATION, field, "Entry %zu of the input: %s.", at, what);
}

static tb_code refuse_negative(tb__draft *d, tb_line_kind kind, int64_t id, const char *unit)
{
    char resource[TB_BILL_RESOURCE_MAX];
    tb__resource_put(resource, kind, id);
    return tb_fail(d->err, TB_E_DIFFERENT, resource,
                   "A sum of %ss is negative, so nothing is billed: run verify.", unit);
}

/* --- the month and its parts --- */

static tb_code check_currency(tb__draft *d)
{
    const char *currency = d->in->currency;
    for (int i = 0; i < 3; i++)
        if (currency[i] < 'A' || currency[i] > 'Z')
            return tb_fail(d->err, TB_E_VALIDATION, "currency",
                           "It must be three capital letters.");
    if (currency[3]) return tb_fail(d->err, TB_E_VALIDATION, "currency", "It has three letters.");
    return TB_OK;
}

static tb_code check_book(tb__draft *d, const tb_book *book)
{
    if (memcmp(book->currency, d->in->currency, 3) != 0)
        return tb_fail(d->err, TB_E_BOOK, "currency",
                       "Book %s is in %s, but account %" PRId64 " pays in %s.", book->id,
                       book->currency, d->in->account, d->in->currency);
    d->bill.minor_digits = book->minor_digits;
    d->bill.rounding = book->rounding;
    return TB_OK;
}

tb_code tb__bill_check_books(tb__draft *d)
{
    bool booked = false;
    for (size_t i = 0; i < d->in->n_parts; i++) {
        const tb_book *book = d->in->parts[i].book;
        tb_code code = book ? check_book(d, book) : TB_OK;
        if (code) return code;
        booked = booked || book;
    }
    if (!booked) d->bill.minor_digits = tb_currency_minor_digits(d->in->currency);
    return TB_OK;
}

/* Months of the years that dates can have. */
#define MONTH_FIRST (-(INT64_C(1970) - 1) * 12)
#define MONTH_LAST  ((INT64_C(9999) - 1970) * 12 + 11)

static tb_code check_parts(tb__draft *d)
{
    const tb_bill_input *in = d->in;
    if (in->month < MONTH_FIRST || in->month > MONTH_LAST)
        return tb_fail(d->err, TB_E_VALIDATION, "month", "The year must be within 1..9999.");
    int64_t at = tb_month_first_day(in->month) * TB_US_PER_DAY;
    int64_t end = tb_month_first_day(in->month + 1) * TB_US_PER_DAY;
    d->month_seconds = (end - at) / TB_US_PER_S;
    for (size_t i = 0; i < in->n_parts; at = in->parts[i++].to_us) {
        const tb_bill_part *part = &in->parts[i];
        if (part->from_us != at || part->to_us <= at || (part->to_us - at) % TB_US_PER_S)
            return refuse_entry(d, "parts", i, "parts touch and last whole seconds");
    }
    if (at != end)
        return tb_fail(d->err, TB_E_VALIDATION, "parts", "The parts must cover the month.");
    return TB_OK;
}

/* --- entries --- */

/* Entries ascend by (id, part). */
static bool in_order(int64_t before_id, uint32_t before_part, int64_t id, uint32_t part)
{
    return before_id < id || (before_id == id && before_part <= part);
}

static tb_code check_bytes(tb__draft *d, size_t at)
{
    const tb_bill_bytes *e = &d->in->bytes[at];
    if (e->part >= d->in->n_parts) return refuse_entry(d, "bytes", at, "no such part");
    if (at > 0 && !in_order(e[-1].zone, e[-1].part, e->zone, e->part))
        return refuse_entry(d, "bytes", at, "not ascending by zone and part");
    if ((unsigned)e->charge > TB_CHARGE_OVERRIDE)
        return refuse_entry(d, "bytes", at, "no such charge");
    if (e->priced && (unsigned)e->region >= TB_BILLING_REGION_COUNT)
        return refuse_entry(d, "bytes", at, "no such region");
    if (e->charge == TB_CHARGE_PREMIUM && (e->discount < 0 || e->discount > 100))
        return refuse_entry(d, "bytes", at, "a discount is 0 to 100 percent");
    if (e->charge == TB_CHARGE_OVERRIDE && tb_decimal_sign(e->override_price) <= 0)
        return refuse_entry(d, "bytes", at, "a price that overrides is above zero");
    if (e->bytes < 0) return refuse_negative(d, TB_LINE_BANDWIDTH, e->zone, "byte");
    return TB_OK;
}

static bool seconds_fit(const tb__draft *d, uint32_t part, int64_t seconds)
{
    return seconds >= 0 && seconds <= tb__part_seconds(&d->in->parts[part]);
}

static tb_code check_optimizer(tb__draft *d, size_t at)
{
    const tb_bill_optimizer *e = &d->in->optimizers[at];
    if (e->part >= d->in->n_parts) return refuse_entry(d, "optimizers", at, "no such part");
    if (at > 0 && !in_order(e[-1].zone, e[-1].part, e->zone, e->part))
        return refuse_entry(d, "optimizers", at, "not ascending by zone and part");
    if (!seconds_fit(d, e->part, e->seconds))
        return refuse_entry(d, "optimizers", at, "more seconds than its part has");
    if (e->own_price && tb_decimal_sign(e->monthly) < 0)
        return refuse_entry(d, "optimizers", at, "a price is not negative");
    return TB_OK;
}

static tb_code check_balancer(tb__draft *d, size_t at)
{
    const tb_bill_balancer *e = &d->in->balancers[at];
    if (e->part >= d->in->n_parts) return refuse_entry(d, "balancers", at, "no such part");
    if (at > 0 && !in_order(e[-1].balancer, e[-1].part, e->balancer, e->part))
        return refuse_entry(d, "balancers", at, "not ascending by balancer and part");
    if (!seconds_fit(d, e->part, e->seconds))
        return refuse_entry(d, "balancers", at, "more seconds than its part has");
    if (e->requests < 0)
        return refuse_negative(d, TB_LINE_BALANCER_REQUESTS, e->balancer, "request");
    return TB_OK;
}

static tb_code check_fee(tb__draft *d, size_t at)
{
    const tb_bill_fee *e = &d->in->fees[at];
    if (e->part >= d->in->n_parts) return refuse_entry(d, "fees", at, "no such part");
    if (at > 0 && (e[-1].owner_id > e->owner_id || (e[-1].owner_id == e->owner_id && e[-1].owner > e->owner)))
        return refuse_entry(d, "fees", at, "not ascending by owner");
    if (e->whole <= 0 || e->seconds < 0 || e->seconds > e->whole)
        return refuse_entry(d, "fees", at, "more seconds than its period has");
    if (e->quantity < 1 || e->quantity > TB_FEE_QUANTITY_MAX)
        return refuse_entry(d, "fees", at, "a quantity is 1 to 1000000");
    return TB_OK;
}

static tb_code check_meter(tb__draft *d, size_t at)
{
    const tb_meter *m = &d->in->meters[at];
    if (at > 0 && strcmp(m[-1].id, m->id) >= 0) return refuse_entry(d, "meters", at, "not ascending by id");
    if (m->display_per < 1) return refuse_entry(d, "meters", at, "a display unit is at least one unit");
    return TB_OK;
}

/* Entries ascend by (meter, resource, dimensions). */
static int compare_series(const char *resource, const char *const *dimension, const char *other_resource,
                          const char *const *other_dimension)
{
    int order = strcmp(resource, other_resource);
    for (int i = 0; i < TB_METER_DIMENSIONS && !order; i++)
        order = strcmp(dimension[i], other_dimension[i]);
    return order;
}

static tb_code check_usage(tb__draft *d, size_t at)
{
    const tb_bill_usage *e = &d->in->usage[at], *before = e - 1;
    if (e->part >= d->in->n_parts) return refuse_entry(d, "usage", at, "no such part");
    if (e->meter >= d->in->n_meters || d->in->meters[e->meter].kind == TB_METER_SAMPLE)
        return refuse_entry(d, "usage", at, "no such counter or gauge");
    if (at > 0 && before->meter >= e->meter) {
        const int order = compare_series(before->resource, before->dimension, e->resource, e->dimension);
        if (before->meter > e->meter || order > 0 || (order == 0 && before->part > e->part))
            return refuse_entry(d, "usage", at, "not ascending by meter, resource, dimensions and part");
    }
    if (e->quantity >= 0) return TB_OK;
    return tb_fail(d->err, TB_E_DIFFERENT, "meter",
                   "Meter %s, resource %s: A sum of usage is negative, so nothing is billed: run verify.",
                   d->in->meters[e->meter].id, e->resource);
}

static bool intervals_fit(const tb__draft *d, const tb_bill_samples *e)
{
    return e->interval > 0 && e->n > 0 && e->n <= (size_t)(d->month_seconds / e->interval);
}

static tb_code check_samples(tb__draft *d, size_t at)
{
    const tb_bill_samples *e = &d->in->samples[at], *before = e - 1;
    if (e->meter >= d->in->n_meters || d->in->meters[e->meter].kind != TB_METER_SAMPLE)
        return refuse_entry(d, "samples", at, "no such meter of samples");
    if (at > 0 && before->meter >= e->meter &&
        (before->meter > e->meter ||
         compare_series(before->resource, before->dimension, e->resource, e->dimension) >= 0))
        return refuse_entry(d, "samples", at, "not ascending by meter, resource and dimensions");
    if (e->interval != d->in->meters[e->meter].interval || !intervals_fit(d, e))
        return refuse_entry(d, "samples", at, "not the meter's intervals of the month");
    if (at > 0 && before->meter == e->meter && before->n != e->n)
        return refuse_entry(d, "samples", at, "series of one meter have as many intervals");
    return TB_OK;
}

static tb_code check_bandwidth(tb__draft *d)
{
    if (!d->in->percentile || d->in->bandwidth.present == 0 || intervals_fit(d, &d->in->bandwidth)) return TB_OK;
    return tb_fail(d->err, TB_E_VALIDATION, "bandwidth", "Its intervals must be of the month.");
}

static tb_code check_tax(tb__draft *d)
{
    if (d->in->n_tax > TB_BILL_TAXES_MAX)
        return tb_fail(d->err, TB_E_VALIDATION, "tax", "At most %d rates.", TB_BILL_TAXES_MAX);
    for (size_t i = 0; i < d->in->n_tax; i++)
        if (tb_decimal_sign(d->in->tax[i].percent) < 0)
            return refuse_entry(d, "tax", i, "a rate is not negative");
    return TB_OK;
}

static tb_code check_contract(tb__draft *d)
{
    const tb_contract *c = &d->in->contract;
    if (tb_decimal_sign(c->discount) < 0 || c->discount.scale > TB_CONTRACT_PERCENT_SCALE ||
        tb_decimal_compare(c->discount, tb_decimal_from_int(100)) > 0)
        return tb_fail(d->err, TB_E_VALIDATION, "contract",
                       "Its discount is 0 to 100 percent, with %d digits after the point.",
                       TB_CONTRACT_PERCENT_SCALE);
    bool negative = tb_decimal_sign(c->minimum) < 0 || tb_decimal_sign(c->cap) < 0;
    for (size_t i = 0; i < c->n_commits; i++)
        negative |= tb_decimal_sign(c->commits[i].amount) < 0;
    if (negative) return tb_fail(d->err, TB_E_VALIDATION, "contract", "Its amounts are not negative.");
    int64_t months[TB_BILL_EARLIER_MAX];
    const size_t n = d->in->running ? 0 : tb_bill_earlier_months(c, d->in->month, months);
    bool same = d->in->n_earlier == n;
    for (size_t i = 0; same && i < n; i++)
        same = d->in->earlier[i].month == months[i];
    if (!same)
        return tb_fail(d->err, TB_E_VALIDATION, "earlier", "They are not the months that the month's commit counts.");
    return TB_OK;
}

static tb_code each(tb__draft *d, size_t n, tb_code (*check)(tb__draft *, size_t))
{
    for (size_t i = 0; i < n; i++) {
        tb_code code = check(d, i);
        if (code) return code;
    }
    return TB_OK;
}

tb_code tb__bill_check(tb__draft *d)
{
    tb_code code = check_currency(d);
    if (!code) code = check_parts(d);
    if (!code) code = tb__bill_check_books(d);
    if (!code) code = each(d, d->in->n_bytes, check_bytes);
    if (!code) code = each(d, d->in->n_optimizers, check_optimizer);
    if (!code) code = each(d, d->in->n_balancers, check_balancer);
    if (!code) code = each(d, d->in->n_fees, check_fee);
    if (!code) code = each(d, d->in->n_meters, check_meter);
    if (!code) code = each(d, d->in->n_usage, check_usage);
    if (!code) code = each(d, d->in->n_samples, check_samples);
    if (!code) code = check_bandwidth(d);
    if (!code) code = check_tax(d);
    if (!code) code = check_contract(d);
    return code;
}
