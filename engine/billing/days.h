/* A month's usage summed by days, as bills evidence it: of counters, of what gauges held, of intervals. The store and whoever checks
 * a bill sum by these. */
#ifndef TOLLBOOK_BILLING_DAYS_H
#define TOLLBOOK_BILLING_DAYS_H

#include "tollbook/bill.h"

#define TB__MONTH_DAYS 31

typedef struct tb__day_sums {
    tb_i128 day[TB__MONTH_DAYS];
} tb__day_sums;

/* Hours [from, to) of one month of one series. */
typedef struct tb__day_span {
    int64_t month, from_hour, to_hour;
} tb__day_span;

/* The whole sum, and its evidence. */
tb_i128 tb__days_total(const tb__day_sums *sums, tb__day_span span, tb_evidence *ret_evidence);

/* --- gauges --- */

/* A value and the time for which it held, in whole seconds since 1970. The value is rounded up. */
typedef struct tb__held {
    int64_t from_s, to_s;
    uint64_t value;
} tb__held;
typedef tb_code (*tb__held_fn)(void *ctx, const tb__held *held, tb_error *err);

/* Walks through a gauge's values, ascending, and calls fn for each that held for a second or more. */
typedef struct tb__gauge_walk {
    int64_t round_up; /* values are raised to a multiple; 0: not */
    int64_t from_us;  /* nothing before it counts */
    tb__held_fn fn;
    void *ctx;
    tb__held held;   /* the newest value */
    int64_t again_s; /* the account was deleted until then */
} tb__gauge_walk;
void tb__gauge_begin(tb__gauge_walk *walk);
/* A value from a moment on. */
TB_MUST_USE tb_code tb__gauge_value(tb__gauge_walk *walk, int64_t at_us, uint64_t value, tb_error *err);
/* The account was deleted from then to until_us. */
TB_MUST_USE tb_code tb__gauge_gap(tb__gauge_walk *walk, int64_t at_us, int64_t until_us, tb_error *err);
/* The last value holds until to_us. */
TB_MUST_USE tb_code tb__gauge_end(tb__gauge_walk *walk, int64_t to_us, tb_error *err);

typedef tb_code (*tb__part_fn)(void *ctx, uint32_t part, tb_i128 quantity, const tb_evidence *evidence, tb_error *err);

/* What a gauge held in a month, by its parts: calls fn for each part, whatever it comes to. */
typedef struct tb__gauge_month {
    const tb_bill_part *parts;
    size_t n_parts;
    int64_t month, end_us; /* it holds until then */
    tb__part_fn fn;
    void *ctx;
    uint32_t part; /* from here on: zeros at the beginning */
    tb__day_sums sums;
    uint64_t values;
} tb__gauge_month;
/* A tb__held_fn: adds what held to its days and parts. ctx: the tb__gauge_month. */
TB_MUST_USE tb_code tb__gauge_month_add(void *ctx, const tb__held *held, tb_error *err);
TB_MUST_USE tb_code tb__gauge_month_end(tb__gauge_month *m, tb_error *err);

/* --- intervals --- */

/* Keeps the intervals of the month that are over by end_us: sets all of *ret but meter and texts. value outlives it. */
void tb__intervals_end(const uint64_t *value, int64_t month, int64_t end_us, int interval, tb_bill_samples *ret);
/* An account's bytes by 5 minutes, n of them, and behind those by hours: keeps the finest that is known of the whole month in
 * `value`, and returns its interval in seconds. */
int tb__bandwidth_finest(uint64_t *value, size_t n, size_t n_hours);

/* The first hour that starts at this moment or later; INT64_MIN and INT64_MAX stay as they are. */
static inline int64_t tb__hour_after(int64_t us)
{
    const int64_t hour = INT64_C(3600000000);
    if (us == INT64_MIN || us == INT64_MAX) return us;
    return (us - 1) / hour - ((us - 1) % hour < 0) + 1;
}

static inline int64_t tb__later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static inline int64_t tb__earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

#endif
