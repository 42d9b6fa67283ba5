/* Daily usage for forecasts: one row read for each series and month, as bills do, but kept by day
 * and sorted by the settings of one moment. Regions are those declared now. */
#include "store/money/billing.h"

#include <stdlib.h>
#include <string.h>

typedef struct filling {
    tb_store *store;
    struct tb__billing *b;
    tb_usage_history *h;
    int64_t month, at_hour;
    int64_t from_day, to_day, recent_day;
} filling;

static size_t padded(size_t size)
{
    return (size + 15) / 16 * 16;
}

/* One block holds columns and balancers. */
static tb_code history_room(filling *f, tb_error *err)
{
    tb_usage_history *h = f->h;
    size_t column = padded(h->n_days * sizeof(uint64_t) + 1);
    size_t n = f->b->n_balancers;
    char *at = calloc(1, TB_USAGE_COLUMNS * column + (n + 1) * sizeof *h->balancers);
    if (!at) return tb_no_memory(err);
    h->memory = at;
    h->balancers = (tb_balancer_recent *)(void *)(at + TB_USAGE_COLUMNS * column);
    h->n_balancers = n;
    for (size_t i = 0; i < n; i++)
        h->balancers[i].balancer = f->b->balancers[i].id;
    for (int c = 0; c < TB_USAGE_COLUMNS; c++)
        h->column[c] = (uint64_t *)(void *)(at + (size_t)c * column);
    return TB_OK;
}

static tb_code add(filling *f, int column, int64_t day, uint64_t value, tb_error *err)
{
    uint64_t *to = &f->h->column[column][day - f->from_day];
    if (__builtin_add_overflow(*to, value, to))
        return tb_fail(err, TB_E_OVERFLOW, "history", "A day's sum passes 2^64 - 1.");
    return TB_OK;
}

/* The requested days of the month that is being read. */
static int64_t first_of(const filling *f)
{
    return tb__later(tb_month_first_day(f->month), f->from_day);
}

static int64_t end_of(const filling *f)
{
    return tb__earlier(tb_month_first_day(f->month + 1), f->to_day);
}

/* What recent bytes are billed by. */
static tb_code mix(filling *f, const tb__rate *r, tb_billing_region region, tb_i128 bytes,
                   tb_error *err)
{
    tb_usage_history *h = f->h;
    tb_decimal cost;
    if (r->charge == TB_CHARGE_PREMIUM) h->premium[region][r->discount[region]] += bytes;
    if (r->charge != TB_CHARGE_OVERRIDE || bytes == 0) return TB_OK;
    h->override_bytes[region] += bytes;
    tb_code code = tb_decimal_mul_int(r->override_price, bytes, &cost, err);
    return code ? code
                : tb_decimal_add(h->override_cost[region], cost, &h->override_cost[region], err);
}

static tb_code add_series(filling *f, const tb__rate *r, const tb__placed *at, tb_error *err)
{
    uint64_t days[32];
    tb_i128 recent = 0;
    const tb__billed_place *place = tb__place_of(f->b, at->edge, err);
    if (!place) return TB_E_CORRUPT;
    int column = place->priced ? tb_usage_column(r->charge, place->region) : TB_USAGE_UNPRICED;
    int64_t base = tb_month_first_day(f->month);
    tb_code code = f->store->plane.counters->days(f->store, at->series, TB_M_BYTES, f->month, days, err);
    for (int64_t day = first_of(f); !code && day < end_of(f); day++) {
        if (r->fault && days[day - base]) return tb__fail_by(f->b, r->fault, err);
        code = add(f, column, day, days[day - base], err);
        if (day >= f->recent_day) recent += (tb_i128)days[day - base];
    }
    return code || !place->priced ? code : mix(f, r, place->region, recent, err);
}

static tb_code add_zones(filling *f, tb_error *err)
{
    tb_code code = TB_OK;
    for (size_t i = 0; !code && i < f->b->n_zones; i++) {
        const tb__billed_zone *zone = &f->b->zones[i];
        const tb__rate rate = tb__rate_at(f->b, zone, f->at_hour);
        for (size_t s = 0; !code && s < zone->series.n; s++)
            code = add_series(f, &rate, &f->b->series[zone->series.first + s], err);
    }
    return code;
}

static tb_code add_balancers(filling *f, tb_error *err)
{
    int64_t base = tb_month_first_day(f->month);
    tb__day_span span = {f->month, first_of(f) * 24, end_of(f) * 24};
    tb_code code = TB_OK;
    for (size_t i = 0; !code && i < f->b->n_balancers; i++) {
        tb__day_sums sums = {{0}};
        code = tb__requests_of(f->store, &f->b->balancers[i], span, &sums, err);
        for (int64_t day = first_of(f); !code && day < end_of(f); day++) {
            tb_i128 requests = sums.day[day - base];
            if (requests > (tb_i128)INT64_MAX) requests = INT64_MAX; /* the sum is checked */
            code = add(f, TB_USAGE_REQUESTS, day, (uint64_t)requests, err);
            if (day >= f->recent_day) f->h->balancers[i].requests += requests;
        }
    }
    return code;
}

static tb_code fill(filling *f, int64_t account, tb_error *err)
{
    int64_t last = tb_month_from_day(f->to_day - 1);
    tb_code code = tb__billed_load(f->store, account, INT64_MAX, TB__ALL_ZONES, &f->b, err);
    if (code) return code;
    if (f->b->n_account_terms == 0) return tb__no_account("Account", account, err);
    f->b->n_late = 0;
    code = tb__places_load(f->store, f->b->known, f->b->known, err);
    if (!code) code = history_room(f, err);
    for (f->month = tb_month_from_day(f->from_day); !code && f->month <= last; f->month++) {
        code = add_zones(f, err);
        if (!code) code = add_balancers(f, err);
    }
    return code;
}

tb_code tb_store_usage_history(tb_store *store, int64_t account, int64_t from_day, int64_t to_day,
                               int64_t at_us, tb_usage_history *ret_history, tb_error *err)
{
    tb_usage_history h = {.first_day = from_day, .n_days = (size_t)(to_day - from_day)};
    filling f = {.store = store,
                 .h = &h,
                 .at_hour = tb_hour_from_us(at_us),
                 .from_day = from_day,
                 .to_day = to_day,
                 .recent_day = to_day - TB_HISTORY_RECENT};
    if (from_day < 0 || to_day <= from_day || to_day - from_day > TB_HISTORY_MAX)
        return tb_fail(err, TB_E_VALIDATION, "history", "Days from 1970 on, at most %d of them.",
                       TB_HISTORY_MAX);
    bool own_snapshot = sqlite3_get_autocommit(store->db);
    tb_code code = own_snapshot ? tb_store_read_begin(store, err) : TB_OK;
    if (!code) code = fill(&f, account, err);
    if (own_snapshot) tb_store_read_end(store);
    if (code)
        free(h.memory);
    else
        *ret_history = h;
    return code;
}

void tb_usage_history_release(tb_usage_history *history)
{
    free(history->memory);
    *history = (tb_usage_history){.n_days = 0};
}

tb_code tb_store_newest_hour(tb_store *store, int64_t *ret_hour, tb_error *err)
{
    int64_t newest = 0;
    tb_code code = tb__meta_get(store, "newest_hour", &newest, err);
    if (!code) *ret_hour = newest < INT64_MIN / 2 ? INT64_MIN : newest;
    return code;
}
