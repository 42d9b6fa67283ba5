/* One series of days in doubles: taken apart (clean.c), and followed by laws (laws.c). */
#ifndef TOLLBOOK_ADVICE_SERIES_H
#define TOLLBOOK_ADVICE_SERIES_H

#include "tollbook/forecast.h"

#include <math.h>

#define TB__DAYS_ALL   (TB_FORECAST_DAYS + TB_FORECAST_AHEAD_MAX)
#define TB__FIT_DAYS   28 /* of history: with fewer nothing is followed */
#define TB__TREND_DAYS 56 /* with fewer no line is fitted to them */
#define TB__WARM_UP    14 /* days by which laws have settled: errors count from there on */

/* Days are in units of their mean. base + excess + monthly terms are the days, those before a step
 * brought to the level after it. */
typedef struct tb__series {
    size_t n;
    int64_t first_day;
    double unit;
    double day[TB_FORECAST_DAYS], base[TB_FORECAST_DAYS], excess[TB_FORECAST_DAYS];
    double local[TB_FORECAST_DAYS];  /* running median of the days */
    double recent[TB_FORECAST_DAYS]; /* mean of base in the four weeks up to each day; not 0 */
    double season[7];                /* factors by weekday, of mean 1 */
    double season_square;            /* the mean of their squares */
    double monthly[TB__DAYS_ALL];    /* added on days of the month that are always so */
    double deviation;                /* of a day from its level, in parts of that */
    bool deep;                       /* weekdays differ so much that errors do too */
    bool logs;                       /* logarithms can be taken of base */
    bool sparse;                     /* usage on fewer days than not */
    /* With probability new_share the days to come are at about new_level times the level, as the newest new_days
     * were. new_doubt: the factor's deviation. */
    double new_level, new_share, new_doubt;
    size_t new_days;
    size_t bounded; /* days cut to the bound of outliers */
} tb__series;

/* Weekday of the day t of the series: 0..6. 1970 began on a Thursday. */
static inline int tb__weekday(const tb__series *s, size_t t)
{
    return (int)((s->first_day + (int64_t)t + 3) % 7);
}

/* n: at least TB__FIT_DAYS, some day is not 0. */
void tb__series_make(const int64_t *days, size_t n, int64_t first_day, tb__series *ret);

/* --- laws --- */

#define TB__LAWS_MAX 40

/* How a level continues: each day it is moved by alpha of the day's error, a slope damped by phi by beta of it; rho
 * below 1 draws the level to the mean of all days. Until alpha and beta are reached all days weigh the same, as in a
 * mean, or in a line for laws with a trend. logs: of the logarithm. naive: a day equals the one a week before. */
typedef struct tb__law {
    double alpha, beta, phi, rho;
    bool trend, logs, naive;
} tb__law;

typedef struct tb__state {
    double level, slope, mean;
    double week[7];
} tb__state;

/* A law after the last day. */
typedef struct tb__follower {
    tb__law law;
    tb__state end;
    double alpha, beta;             /* as they are now */
    double error[TB_FORECAST_DAYS]; /* of one day, from TB__WARM_UP on; bounded, about 0 */
    double variance;                /* of them */
    double weight;                  /* the sum of all weights is 1; 0: not used */
} tb__follower;

typedef struct tb__following {
    tb__follower law[TB__LAWS_MAX];
    size_t n;
    double wider; /* factor that widens the interval of the next days */
} tb__following;

/* Fits all laws to the series, weighs them by how well each forecast sums of days from origins in the series, and
 * compares the deviation of outcomes with the expected one. ahead: days to come. */
TB_MUST_USE tb_code tb__follow(const tb__series *s, size_t ahead, const tb_alloc *alloc,
                               tb__following *ret, tb_error *err);

/* --- a law's days to come; inlined, as most of a forecast's time is spent here --- */

#define TB__LOG_MOST 40

static inline double tb__law_level(const tb__law *law, const tb__state *state)
{
    if (law->rho < 1) return state->mean + law->rho * (state->level - state->mean);
    return state->level + law->phi * state->slope;
}

static inline void tb__law_move(const tb__law *law, double alpha, double beta, tb__state *state, double error)
{
    state->level = tb__law_level(law, state) + alpha * error;
    state->slope = law->phi * state->slope + beta * error;
    if (!law->logs && state->level < 0) state->level = 0;
}

/* The day to come with such an error, monthly terms left out; *state moves on by a day. */
static inline double tb__law_day(const tb__series *s, const tb__follower *f, tb__state *state, int weekday,
                                 double error)
{
    const double season = s->season[weekday];
    if (f->law.naive) {
        double *day = &state->week[weekday];
        *day += error;
        if (*day < 0) *day = 0;
        return *day;
    }
    const double level = tb__law_level(&f->law, state), sum = level + error;
    const double value = f->law.logs ? season * exp(sum < TB__LOG_MOST ? sum : TB__LOG_MOST)
                                     : (level > 0 ? level : 0) * season + error;
    tb__law_move(&f->law, f->alpha, f->beta, state, f->law.logs ? error : error * season / s->season_square);
    return value;
}

#endif
