/* What the parts of a forecast hand to one another. */
#ifndef TOLLBOOK_ADVICE_MODEL_H
#define TOLLBOOK_ADVICE_MODEL_H

#include "advice/random.h"
#include "advice/series.h"
#include "base/arena.h"
#include "tollbook/forecast.h"

#define TB__BLOCK       7
#define TB__BLOCKS_NEXT ((TB_FORECAST_AHEAD_MAX + TB__BLOCK - 1) / TB__BLOCK)

#define TB__FROM_BITS   8

/* The days to come: day d is day `first_day + d`, of which `share` microseconds are still to come.
 */
typedef struct tb__ahead {
    int64_t first_day;
    size_t n;
    int64_t share_us[TB_FORECAST_AHEAD_MAX]; /* within the month */
} tb__ahead;

/* One series, ready for paths. */
typedef struct tb__outlook {
    tb_forecast_method method;
    size_t n;       /* days of history */
    size_t bounded; /* of them */
    bool nothing;   /* nothing to come: the rest is not set */
    /* TREND, SEASON: the laws that are averaged, each drawn where a number of 0 to 1 is below its
     * own; and how sums are stretched, away from their median. */
    const tb__series *series; /* NULL for PLAIN */
    const tb__follower *law[TB__LAWS_MAX];
    double below[TB__LAWS_MAX];
    uint8_t from[1 << TB__FROM_BITS]; /* the law of the least number that begins with these bits */
    size_t n_laws;
    double middle, up, down;
    int64_t *noise; /* PLAIN: whole days */
} tb__outlook;

/* Chooses the method and prepares it. days: n_days up to the one before ahead->first_day. Memory is
 * the arena's. */
TB_MUST_USE tb_code tb__outlook_make(const uint64_t *days, size_t n_days, const tb__ahead *ahead,
                                     tb__arena *arena, tb__outlook *ret, tb_error *err);

/* One path's draws, shared by all series: numbers below 2^TB__RANDOM_BITS. */
typedef struct tb__draw {
    uint32_t law, level, next[TB__BLOCKS_NEXT], day[TB_FORECAST_AHEAD_MAX];
} tb__draw;
void tb__draw_path(tb__random *random, tb__draw *draw);

/* The days to come on one path; values are not negative. */
void tb__outlook_path(const tb__outlook *outlook, const tb__ahead *ahead, const tb__draw *draw,
                      int64_t ret_days[TB_FORECAST_AHEAD_MAX]);

/* --- rating paths --- */

typedef struct tb__rater tb__rater;
/* Prepares the month of the input: all values that do not depend on the path. Lives in the arena;
 * tb__rater_release frees its other memory.
 * outlook: usage that neither is there nor comes is left out. Sets unpriced, complete and minor_digits of *forecast. */
TB_MUST_USE tb_code tb__rater_new(const tb_forecast_input *input, const tb__outlook outlook[TB_USAGE_COLUMNS],
                                  tb__arena *arena, tb__rater **ret, tb_forecast *forecast, tb_error *err);
void tb__rater_release(tb__rater *rater); /* NULL is allowed */
size_t tb__rater_lines(const tb__rater *rater);
/* more: usage to come by part and column: more[part * TB_USAGE_COLUMNS + column]. */
TB_MUST_USE tb_code tb__rater_rate(tb__rater *rater, const tb_i128 *more, tb_i128 *ret_net,
                                   tb_i128 *ret_gross, tb_error *err);
/* The same of a month that is not over: without the minimum. */
TB_MUST_USE tb_code tb__rater_running(tb__rater *rater, const tb_i128 *more, tb_i128 *ret_gross,
                                      tb_error *err);

/* Puts values into another order. n > 0. */
tb_forecast_spread tb__spread(tb_i128 *values, size_t n);

#endif
