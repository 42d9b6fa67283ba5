/* Forecasts of the running month: usage and money, as a mean and as quantiles.
 *
 * Method. Each product and region (premium EU, volume, requests of load balancers...) is a series of daily
 * sums. It is decomposed into days of the month that are always unusual, outliers, a step to a new level, the
 * weekly season, and a rest. Some thirty models ("laws") follow the rest: levels that move slowly or fast,
 * straight and damped trends, levels that return to their mean, each of the days and of their logarithms (so
 * that growth may multiply), and a repetition of last week. From origins all through the history each law
 * forecasts sums of the following days; laws with small errors weigh most. Then `paths` possible rests of the
 * month are drawn: each draws a law by its weight and blocks of 7 consecutive errors of that law, at the same
 * positions for all series, so that correlated series stay correlated; an error moves the level as in the law,
 * so that paths spread with time. At last a path's sum is stretched away from the median of all, by as much as
 * past outcomes deviated more from the average than expected, at spans of one and two weeks and of the days
 * ahead: so intervals of usage and of money have their stated coverage. Usage so far is a fact; only the rest
 * of the month is drawn. Each path's month is rated by tb_bill_rate, so the interval is right where tiers end.
 *
 * Events without precedent in the history are not forecast: a first step, the turn of a season not seen yet.
 *
 * Figures stay within bounds: no day is negative; an outlier counts up to ten levels, or to four
 * times the third largest.
 *
 * Short histories use a plainer method; each series states its method and the reason.
 *
 * Guarantee: the same input, seed and paths give the same forecast with any compiler and optimisation, for one
 * version of tollbook, of GSL and of the C library. Days are rounded to whole units before they are summed or rated.
 *
 * Rated like the invoice, with three differences: bytes of zones that are billed alike are one line; zones with
 * prices of their own share the mean of them; and the rounding difference of the previous month's lines is applied
 * again. Fees run to the month's end as they are now.
 *
 * Meters and recurring fees are the same on each path: what the month's input has of them is billed as it is, and the
 * caller has put into it what is to come. */
#ifndef TOLLBOOK_FORECAST_H
#define TOLLBOOK_FORECAST_H

#include "tollbook/buf.h"
#include "tollbook/decimal.h"
#include "tollbook/error.h"
#include "tollbook/bill.h"

TB_API_BEGIN

/* Advice: forecasts and solvers, on top of what is billed and never part of it.
 *
 * Only this module uses doubles and the GNU Scientific Library. Amounts come from the functions that write invoices,
 * and nothing in billing, invoice or store includes this module (tests/arch/test_layers.py).
 *
 * GSL has one error handler for the whole process, and the default one aborts. This module checks the status of every
 * call instead, so the program turns the handler off, once. Swapping the handler around each call would race with
 * other threads. */

/* Turns GSL's error handler off (gsl_set_error_handler_off) for the process, permanently. Call it once, before other
 * threads start. */
void tb_advice_start(void);

/* TB_E_INTERNAL where tb_advice_start was not called. Every function of this module that uses GSL checks it first, so
 * that a missing call is an error and never an abort. */
TB_MUST_USE tb_code tb_advice_ready(tb_error *err);

#define TB_FORECAST_GENERATOR "mt19937" /* gsl_rng_mt19937 */
#define TB_FORECAST_DAYS      182       /* of history: 26 weeks */
#define TB_FORECAST_PATHS     10000
#define TB_FORECAST_PATHS_MAX 100000
#define TB_FORECAST_SEED      1
#define TB_FORECAST_AHEAD_MAX 38 /* days: a month and a week without new usage */
#define TB_FORECAST_DAY_MAX   INT64_C(100000000000000000) /* 10^17 units a day of a series */
#define TB_FORECAST_LIMITS    32
#define TB_FORECAST_LINES     256 /* with more lines there are fewer paths, at least 500 */

/* From the most to the least capable. X(NAME, text, days of history, reason) */
#define TB_FORECAST_METHODS(X)                                                                     \
    X(TREND, "trend_and_season", 56, "")                                                           \
    X(SEASON, "season", 28, "Fewer than 56 days of history: no line is fitted to them.")           \
    X(PLAIN, "plain_days", 1,                                                                      \
      "Fewer than 28 days of history: each day to come is drawn from the days there are.")         \
    X(ENDED, "ended", 28, "No usage in the last 28 days: none is expected.")                       \
    X(SO_FAR, "so_far", 0, "No complete day of history: the month stays as it is so far.")
typedef enum tb_forecast_method {
#define TB_X(name, text, days, reason) TB_FORECAST_##name,
    TB_FORECAST_METHODS(TB_X)
#undef TB_X
        TB_FORECAST_METHOD_COUNT
} tb_forecast_method;
const char *tb_forecast_method_name(tb_forecast_method method);
const char *tb_forecast_method_reason(tb_forecast_method method);

/* The funds left on each path, as mantissas with the currency's digits, and the day, since January 1970, on which they
 * reach 0; INT64_MAX: not within the forecast. A month subtracts its total; the next month continues from there: its
 * generator is seeded alike, so its paths are the same. */
typedef struct tb_forecast_funds {
    tb_i128 so_far; /* the month's total by now with tax, which is not subtracted again */
    tb_i128 *left;  /* both arrays have `paths` elements */
    int64_t *empty;
    uint32_t n; /* elements used: fewer where a path has many lines */
} tb_forecast_funds;

/* How paths are drawn. The same simulation of the same input gives the same forecast. */
typedef struct tb_simulation {
    uint64_t seed;  /* below 2^32 */
    uint32_t paths; /* 1..TB_FORECAST_PATHS_MAX */
} tb_simulation;

typedef struct tb_forecast_input {
    const tb_bill_input *month;      /* the whole month, not running; usage before from_us alone */
    const tb_usage_history *history; /* complete days; the last ends where from_us's day begins */
    int64_t from_us;                 /* on an hour, within a week before the month or in it */
    tb_decimal rounding;             /* lines' rounded less exact amounts, in the month before */
    uint64_t seed;                   /* below 2^32 */
    uint32_t paths;                  /* 1..TB_FORECAST_PATHS_MAX */
    bool singles;                    /* forecast by single models too */
    bool by_day;                     /* forecast bytes by each day's end too */
    const tb_decimal *limits; /* amounts, with tax, of which to forecast the probability that the month exceeds them */
    size_t n_limits;          /* at most TB_FORECAST_LIMITS */
    tb_forecast_funds *funds;        /* NULL: not requested */
} tb_forecast_input;

/* Quantiles are nearest rank: of n paths in ascending order the ceil(p n / 100)-th. The mean is
 * rounded half up. */
typedef struct tb_forecast_spread {
    tb_i128 mean, p5, p50, p95;
} tb_forecast_spread;

/* Bytes from the month's first moment to a day's end. */
typedef struct tb_forecast_day {
    int64_t day; /* since January 1970 */
    tb_forecast_spread bytes;
} tb_forecast_day;

typedef struct tb_forecast_usage {
    bool used; /* false: no usage at all, the rest is zero */
    tb_forecast_method method;
    size_t days;    /* of history that the method used */
    size_t bounded; /* of these, days that were cut to the bound of outliers */
    tb_i128 so_far;
    tb_forecast_spread month; /* so_far included */
} tb_forecast_usage;

/* Single models with textbook intervals, for comparison. X(NAME, text) */
#define TB_FORECAST_SINGLES(X)                                                                     \
    X(NAIVE, "seasonal_naive")                                                                     \
    X(DAMPED, "damped_ets")                                                                        \
    X(REGRESSION, "robust_regression")
typedef enum tb_forecast_single {
#define TB_X(name, text) TB_FORECAST_##name,
    TB_FORECAST_SINGLES(TB_X)
#undef TB_X
        TB_FORECAST_SINGLE_COUNT
} tb_forecast_single;
const char *tb_forecast_single_name(tb_forecast_single single);
#define TB_FORECAST_SINGLE_DAYS 28 /* days of history that they need */

/* A meter at the month's end. No paths are drawn: see forecast_meters.c. */
typedef struct tb_forecast_meter {
    char meter[TB_METER_ID_MAX + 1];
    char name[TB_METER_NAME_MAX + 1]; /* as invoices print it */
    char unit[TB_METER_UNIT_MAX + 8]; /* of the quantities */
    tb_i128 so_far, month;            /* of samples: the interval that is billed, over the intervals so far */
    tb_i128 net;                      /* mantissa with minor_digits, its minimum included */
} tb_forecast_meter;

#define TB_FORECAST_UNPRICED_MAX 8

typedef struct tb_forecast {
    int64_t account, month, from_us;
    char currency[4], book[65]; /* book in force at the month's end, "": none */
    int minor_digits;
    uint64_t seed;
    uint32_t paths;
    tb_forecast_method method; /* the least capable one among series with usage to come */
    tb_forecast_usage usage[TB_USAGE_COLUMNS];
    tb_i128 bytes_so_far;
    tb_forecast_spread bytes;
    /* On request: the days of the month from from_us's own on. The last one's bytes are `bytes`. */
    tb_forecast_day days[TB_FORECAST_AHEAD_MAX];
    size_t n_days;
    bool has_single; /* requested, and the history is long enough */
    tb_forecast_spread single[TB_FORECAST_SINGLE_COUNT]; /* all bytes, so far and to come */
    /* Mantissas with minor_digits: net of tax, and with it. */
    tb_forecast_spread net, gross;
    tb_decimal limits[TB_FORECAST_LIMITS]; /* as given */
    size_t n_limits;
    uint32_t over[TB_FORECAST_LIMITS]; /* number of paths that exceed each of them */
    tb_forecast_meter meters[TB_METERS_MAX]; /* those with a price */
    size_t n_meters;
    bool complete; /* false: some usage has no price and is not in the money */
    tb_unpriced unpriced[TB_FORECAST_UNPRICED_MAX]; /* of the usage so far */
    size_t n_unpriced;
    /* Of a prepaid account: the day on which the funds are used up, p5 the earliest; INT64_MAX: not within the
     * forecast. */
    bool has_lasts;
    int64_t lasts_p5, lasts_p50, lasts_p95;
} tb_forecast;

/* Errors: those of tb_bill_rate; VALIDATION where the input is not as written above; OVERFLOW where
 * a day is past TB_FORECAST_DAY_MAX; INTERNAL without tb_advice_start; NOMEM. Memory: 16 bytes for
 * each path and series, as much for each path and day where days are wanted, and two megabytes. */
TB_MUST_USE tb_code tb_forecast_make(const tb_forecast_input *input, const tb_alloc *alloc,
                                     tb_forecast *ret_forecast, tb_error *err);

#define TB_FORECAST_PROBABILITY_SCALE 6
/* How likely the month, with tax, exceeds the i-th limit: the share of paths that do, rounded half up. */
TB_MUST_USE tb_code tb_forecast_probability(const tb_forecast *forecast, size_t i, tb_decimal *ret, tb_error *err);

/* Amounts and quantities are decimal text. One object, no line end. */
TB_MUST_USE tb_code tb_forecast_json(const tb_forecast *forecast, tb_buf *out, tb_error *err);
/* The members of it that matter in a list of accounts, each with a comma in front: currency, method, reason, money,
 * bytes, complete. */
void tb_forecast_figures_json(const tb_forecast *forecast, tb_buf *out);
/* "premium", "volume", "override", "unpriced", "load_balancer". */
const char *tb_usage_product_name(int column);
/* The billing region's name, "" where it does not apply. */
const char *tb_usage_region_name(int column);

/* 95/5 and other percentile billing: a month of byte sums, the largest few discarded, the next one billed as a rate.
 *
 * Exact selection on integers: of n buckets the floor((100 - P)/100 x n) largest are discarded and the largest of
 * the rest counts. No interpolation: the quantiles of statistics packages differ, and contracts do not use them. An
 * empty bucket counts as zero and is reported as missing.
 *
 * A running month has two answers. `so_far` uses the complete buckets. `least` uses the whole month with zeros for
 * the rest: the month can no longer end below it. Distances to a commit are those of the whole month. Pure: no
 * memory is kept, any thread. */

#define TB_PERCENTILE_BUCKETS_MAX 8928 /* 31 days of 5 minutes */
#define TB_PERCENTILE_DIGITS      6    /* of a rate in Mbit/s: single bits a second; half_up */
#define TB_PERCENTILE_SCALE_MAX   3    /* digits after the point of P */

typedef struct tb_percentile_ask {
    const uint64_t *bytes;    /* of each bucket of the month, in order; yet to come: 0 */
    const uint64_t *requests; /* the same; a bucket of neither bytes nor requests is missing */
    uint32_t buckets;         /* of the whole month: 1 to TB_PERCENTILE_BUCKETS_MAX */
    uint32_t over;            /* how many of them are over */
    uint32_t seconds;         /* a bucket's width */
    tb_decimal percentile;    /* P: above 0, at most 100 */
    bool has_commit;
    tb_decimal commit; /* Mbit/s; not negative */
} tb_percentile_ask;

/* One selection. */
typedef struct tb_percentile_pick {
    uint32_t buckets, discarded;
    uint32_t at; /* the first bucket of this many bytes; of none of them: 0 */
    uint64_t bytes;
    tb_decimal mbit; /* bytes x 8 / seconds / 10^6, TB_PERCENTILE_DIGITS digits, half_up */
} tb_percentile_pick;

typedef struct tb_percentile {
    uint32_t missing;          /* of the buckets that are over */
    tb_percentile_pick so_far; /* of them: of a month that is over, the answer */
    tb_percentile_pick least;  /* of the whole month */
    tb_percentile_pick peak;   /* the largest bucket, nothing discarded */
    uint32_t above;            /* buckets above the commit, compared exactly */
    uint32_t more;             /* so many more may come before the percentile passes the commit */
    bool passed;               /* the percentile of the whole month is above the commit already */
} tb_percentile;

/* TB_E_VALIDATION, naming the field: P out of its range, no buckets or too many, more of them over
 * than there are; TB_E_NOMEM. */
TB_MUST_USE tb_code tb_percentile_find(const tb_percentile_ask *ask, const tb_alloc *alloc,
                                       tb_percentile *ret, tb_error *err);

/* The origin of the figures, for the outputs below. */
typedef struct tb_percentile_of {
    char resource[40]; /* "zone:101", "account:1" */
    char month[8];     /* "2026-10" */
    int64_t from_us;   /* the month's first moment */
    bool running;
} tb_percentile_of;

/* Canonical JSON: sorted keys, one line; rates, bytes and P as text, counts as numbers. */
void tb_percentile_json(const tb_percentile_of *of, const tb_percentile_ask *ask,
                        const tb_percentile *found, tb_buf *out);
/* The same as text. */
void tb_percentile_table(const tb_percentile_of *of, const tb_percentile_ask *ask,
                         const tb_percentile *found, tb_buf *out);

TB_API_END

#endif
