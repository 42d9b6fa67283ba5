/* What the parts of a forecast hand to one another. */
#ifndef TOLLBOOK_ADVICE_MODEL_H
#define TOLLBOOK_ADVICE_MODEL_H

#include "base/arena.h"
#include "tollbook/forecast.h"

#define TB__BLOCK       7
#define TB__BLOCKS_PAST (TB_FORECAST_DAYS / TB__BLOCK)
#define TB__BLOCKS_NEXT ((TB_FORECAST_AHEAD_MAX + TB__BLOCK - 1) / TB__BLOCK)
#define TB__RANDOM_BITS 30

/* The days to come: day d is day `first_day + d`, of which `share` microseconds are still to come.
 */
typedef struct tb__ahead {
    int64_t first_day;
    size_t n;
    int64_t share_us[TB_FORECAST_AHEAD_MAX]; /* within the month */
} tb__ahead;

/* One series, fitted. Everything is whole units. */
typedef struct tb__outlook {
    tb_forecast_method method;
    size_t n;       /* days of history */
    size_t bounded; /* of them */
    bool nothing;   /* nothing to come: the rest is not set */
    /* TREND, SEASON: fitted days to come, n residuals, and by how much a block of residuals from
     * day s, put at the past's block j, moves every day to come: drift[j * starts + s]. */
    int64_t fitted[TB_FORECAST_AHEAD_MAX];
    int64_t *noise;
    size_t starts, blocks;
    int64_t *drift;
    /* PLAIN, UNFIT: noise holds whole days. */
} tb__outlook;

/* Chooses the method and prepares it. days: n_days up to the one before ahead->first_day. Memory is
 * the arena's. */
TB_MUST_USE tb_code tb__outlook_make(const uint64_t *days, size_t n_days, const tb__ahead *ahead,
                                     tb__arena *arena, tb__outlook *ret, tb_error *err);

/* A robust fit of n days to its level, weekly season and, where wanted, trend. first_weekday: 0..6.
 * ret_fitted: of the n_ahead days after. ret_noise: residuals, bounded. ret_pull: n weights: what a
 * unit more on that day adds to each day to come, on average. False where it does not settle. */
typedef struct tb__fit {
    const int64_t *day;
    size_t n;
    int first_weekday;
    bool trend;
    const tb__ahead *ahead;
} tb__fit;
TB_MUST_USE tb_code tb__fit_robust(const tb__fit *fit, int64_t *ret_fitted, int64_t *ret_noise,
                                   double *ret_pull, size_t *ret_bounded, bool *ret_settled,
                                   tb_error *err);

/* One path's draws, shared by all series: numbers below 2^TB__RANDOM_BITS. */
typedef struct tb__draw {
    uint32_t past[TB__BLOCKS_PAST], next[TB__BLOCKS_NEXT], day[TB_FORECAST_AHEAD_MAX];
} tb__draw;

/* The days to come on one path; values are not negative. */
void tb__outlook_path(const tb__outlook *outlook, const tb__ahead *ahead, const tb__draw *draw,
                      int64_t ret_days[TB_FORECAST_AHEAD_MAX]);

/* --- rating paths --- */

typedef struct tb__rater tb__rater;
/* The month of the input with all that does not depend on the path worked out. Lives in the arena;
 * tb__rater_release frees what is its own besides.
 * unpriced and complete of *forecast are set, and minor_digits. */
TB_MUST_USE tb_code tb__rater_new(const tb_forecast_input *input, tb__arena *arena,
                                  const tb_alloc *alloc, tb__rater **ret, tb_forecast *forecast,
                                  tb_error *err);
void tb__rater_release(tb__rater *rater); /* NULL is allowed */
size_t tb__rater_lines(const tb__rater *rater);
/* more: usage to come by part and column: more[part * TB_USAGE_COLUMNS + column]. */
TB_MUST_USE tb_code tb__rater_rate(tb__rater *rater, const tb_i128 *more, tb_i128 *ret_net,
                                   tb_i128 *ret_gross, tb_error *err);

/* Sorts values in place. n > 0. */
tb_forecast_spread tb__spread(tb_i128 *values, size_t n);

#endif
