/* The models ("laws") that a series may follow. No series follows a single one. Each law goes through the
 * days once; at origins on the way it forecasts sums of the next days. A law's weight falls with its mean
 * error at several horizons, each counted by how many spans of that length the history has. Origins see
 * weekdays, outliers and weights of the whole history, so the average looks a little better on the past
 * than it is: the factor that widens the interval is never below WIDER_LEAST. */
#include "advice/series.h"
#include "base/list.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define HORIZONS      4
#define ORIGINS_LEAST 4
#define LEVELS        6
#define LEVELS_SLOW   4
#define LINES         4
#define DAMPED        3
#define RETURNING     3
#define MAD_TO_SIGMA  1.4826 /* of a normal distribution */
#define ERROR_USUAL   6      /* robust deviations that an error counts up to */
#define ERROR_THIRD   1.5    /* times the third largest, where that is more */
#define WEIGHT_LEAST  0.02   /* of the best law's */
#define ERROR_LEAST   1e-4   /* of the level: no law is better than that */
#define WIDER_KNOWN   15 /* weight of the prior, in spans */
#define WIDER_BEFORE  24
#define WIDER_LEAST   1.05
#define WIDER_MOST    2.5
#define FAR           6 /* deviations that an outcome counts up to */

/* --- a law --- */

static const tb__law levels[LEVELS] = {
    {0, 0, 0, 1, false, false, false},    {0.03, 0, 0, 1, false, false, false},
    {0.08, 0, 0, 1, false, false, false}, {0.2, 0, 0, 1, false, false, false},
    {0.45, 0, 0, 1, false, false, false}, {0.9, 0, 0, 1, false, false, false}};
static const tb__law lines[LINES] = {{0, 0, 1, 1, true, false, false},
                                     {0.06, 0.001, 1, 1, true, false, false},
                                     {0.16, 0.007, 1, 1, true, false, false},
                                     {0.36, 0.03, 1, 1, true, false, false}};
static const tb__law damped[DAMPED] = {{0.2, 0.02, 0.97, 1, true, false, false},
                                       {0.5, 0.05, 0.95, 1, true, false, false},
                                       {0.9, 0.1, 0.9, 1, true, false, false}};
static const tb__law returning[RETURNING] = {{0.9, 0, 0, 0.9, false, false, false},
                                             {0.5, 0, 0, 0.93, false, false, false},
                                             {0.3, 0, 0, 0.8, false, false, false}};

static void add_laws(tb__following *f, const tb__law *laws, size_t n, bool logs)
{
    for (size_t i = 0; i < n; i++) {
        tb__follower *to = &f->law[f->n++];
        to->law = laws[i];
        to->law.logs = logs;
    }
}

static void add_lasting(const tb__series *s, tb__following *f, bool logs)
{
    add_laws(f, levels, LEVELS, logs);
    add_laws(f, returning, RETURNING, logs);
    if (s->n < TB__TREND_DAYS) return;
    add_laws(f, lines, LINES, logs);
    add_laws(f, damped, DAMPED, logs);
}

/* Few days with usage show how much there is, and not where it goes. */
static void list_laws(const tb__series *s, tb__following *f)
{
    static const tb__law naive = {.naive = true};
    if (s->sparse) {
        add_laws(f, levels, LEVELS_SLOW, false);
        return;
    }
    add_lasting(s, f, false);
    if (s->logs) add_lasting(s, f, true);
    add_laws(f, &naive, 1, false);
}

/* --- the past --- */

/* Gains after t + 1 days: those of a mean, or of a line by least squares, until the law's own are
 * more. */
static void set_gains(tb__follower *f, size_t t)
{
    double n = (double)t + 1, alpha = 0, beta = 0;
    if (f->law.trend) {
        alpha = 2 * (2 * n - 1) / (n * (n + 1));
        beta = t ? 6 / (n * (n + 1)) : 0;
    } else if (f->law.rho >= 1) {
        alpha = 1 / n;
    }
    f->alpha = t == 0 ? 1 : fmax(f->law.alpha, alpha);
    f->beta = fmax(f->law.beta, beta);
}

static double learn_naive(const tb__series *s, tb__state *state, size_t t)
{
    double *day = &state->week[tb__weekday(s, t)];
    double error = s->base[t] - *day;
    *day = s->base[t];
    return error;
}

/* Takes a day in; returns its error. */
static double learn(const tb__series *s, tb__follower *f, size_t t)
{
    tb__state *state = &f->end;
    double season = s->season[tb__weekday(s, t)], n = (double)t + 1;
    if (f->law.naive) return learn_naive(s, state, t);
    set_gains(f, t);
    double level = tb__law_level(&f->law, state);
    if (f->law.logs) {
        double value = log(s->base[t] / season);
        if (f->law.rho < 1) state->mean += (value - state->mean) / n;
        tb__law_move(&f->law, f->alpha, f->beta, state, value - level);
        return value - level;
    }
    double error = s->base[t] - level * season;
    if (f->law.rho < 1) state->mean += (s->base[t] - state->mean) / n;
    tb__law_move(&f->law, f->alpha, f->beta, state,
                 t ? error * season / s->season_square : s->base[t] / fmax(season, 0.2));
    return error;
}

/* --- its forecasts --- */

typedef struct rolling {
    const tb__series *s;
    tb__following *f;
    size_t horizon[HORIZONS];
    size_t origins[HORIZONS];                                  /* how many */
    double foretold[TB__LAWS_MAX][HORIZONS][TB_FORECAST_DAYS]; /* sums, by origin */
    double outcome[HORIZONS][TB_FORECAST_DAYS];
    double loss[TB__LAWS_MAX];
} rolling;

/* Origin t: after day t. Longer horizons are tried from every second day. */
static bool is_origin(const rolling *r, int i, size_t t)
{
    return t + 1 >= TB__WARM_UP && t + r->horizon[i] < r->s->n && (i == 0 || t % 2 == 0);
}

static void foretell(rolling *r, size_t k, size_t t)
{
    const tb__follower *f = &r->f->law[k];
    tb__state state = f->end;
    double sum = 0;
    int i = 0;
    for (size_t h = 1; i < HORIZONS; h++) {
        sum += tb__law_day(r->s, f, &state, tb__weekday(r->s, t + h), 0);
        for (; i < HORIZONS && r->horizon[i] == h; i++)
            r->foretold[k][i][t] = sum;
        if (i < HORIZONS && !is_origin(r, i, t)) return;
    }
}

static void find_outcomes(rolling *r)
{
    for (int i = 0; i < HORIZONS; i++)
        for (size_t t = 0; t < r->s->n; t++) {
            if (!is_origin(r, i, t)) continue;
            r->origins[i]++;
            for (size_t h = 1; h <= r->horizon[i]; h++)
                r->outcome[i][t] += r->s->base[t + h];
        }
}

static void follow_all(rolling *r)
{
    for (size_t k = 0; k < r->f->n; k++) {
        tb__follower *f = &r->f->law[k];
        for (size_t t = 0; t < r->s->n; t++) {
            f->error[t] = learn(r->s, f, t);
            if (is_origin(r, 0, t)) foretell(r, k, t);
        }
    }
}

/* --- weights --- */

static double mean_error(const rolling *r, size_t k, int i)
{
    double sum = 0;
    for (size_t t = 0; t < r->s->n; t++)
        if (is_origin(r, i, t))
            sum += fabs(r->outcome[i][t] - r->foretold[k][i][t]) / r->s->recent[t];
    return sum / ((double)r->origins[i] * (double)r->horizon[i]) + ERROR_LEAST;
}

/* As a Laplace distribution's likelihood, of spans that do not overlap; spans of a day say little
 * about a month, so they count for less. */
static void weigh(rolling *r)
{
    static const double share[HORIZONS] = {0.1, 0.4, 0.4, 0.7};
    double best = 0, sum = 0;
    for (size_t k = 0; k < r->f->n; k++) {
        for (int i = 0; i < HORIZONS; i++) {
            if (r->origins[i] < ORIGINS_LEAST) continue;
            double spans =
                (double)(r->s->n - TB__WARM_UP - r->horizon[i] + 1) / (double)r->horizon[i];
            r->loss[k] += share[i] * spans * log(mean_error(r, k, i));
        }
        if (k == 0 || r->loss[k] < best) best = r->loss[k];
    }
    for (size_t k = 0; k < r->f->n; k++) {
        double weight = exp(best - r->loss[k]);
        sum += r->f->law[k].weight = weight < WEIGHT_LEAST ? 0 : weight;
    }
    for (size_t k = 0; k < r->f->n; k++)
        r->f->law[k].weight /= sum;
}

/* --- errors --- */

static double bound_of(const double *error, size_t n)
{
    double size[TB_FORECAST_DAYS] = {0};
    for (size_t t = 0; t < n; t++)
        size[t] = fabs(error[t]);
    tb__sort_doubles(size, n);
    double bound = fmax(ERROR_USUAL * MAD_TO_SIGMA * size[n / 2], size[n * 95 / 100]);
    return fmax(bound, ERROR_THIRD * size[n - 3]);
}

/* Errors of logarithms stay as they are: their mean makes the days' mean. */
static void prepare_errors(tb__follower *f, size_t n)
{
    double *error = f->error + TB__WARM_UP, mean = 0;
    n -= TB__WARM_UP;
    for (size_t t = 0; t < n; t++)
        mean += error[t] / (double)n;
    for (size_t t = 0; t < n && !f->law.logs; t++)
        error[t] -= mean;
    double bound = bound_of(error, n);
    f->variance = 0;
    for (size_t t = 0; t < n; t++) {
        error[t] = error[t] > bound ? bound : error[t] < -bound ? -bound : error[t];
        f->variance += error[t] * error[t] / (double)n;
    }
}

/* --- how far outcomes lay --- */

/* What errors of variance 1 on each of h days make of their sum's variance. */
static double sum_variance(const tb__follower *f, size_t h)
{
    double moved = 0, damp = 0, power = 1, sum = 0;
    for (size_t j = 0; j < h; j++) { /* an error with j days after it */
        sum += (1 + moved) * (1 + moved);
        if (f->law.naive) {
            moved += (j + 1) % 7 == 0;
            continue;
        }
        power *= f->law.rho < 1 ? f->law.rho : f->law.phi;
        damp += power;
        moved += f->law.rho < 1 ? f->alpha * power : f->alpha + f->beta * damp;
    }
    return sum;
}

typedef struct expected {
    double variance[TB__LAWS_MAX]; /* of a sum at this horizon, by law */
} expected;

/* Outcome less average, squared, in parts of the variance that was expected. */
static double squared_miss(const rolling *r, const expected *e, int i, size_t t)
{
    const tb__series *s = r->s;
    double middle = 0, variance = 1e-9;
    for (size_t k = 0; k < r->f->n; k++)
        middle += r->f->law[k].weight * r->foretold[k][i][t];
    for (size_t k = 0; k < r->f->n; k++) {
        const tb__follower *f = &r->f->law[k];
        double foretold = r->foretold[k][i][t], off = foretold - middle;
        double scale =
            f->law.logs ? foretold / (double)r->horizon[i] : s->recent[t] / s->recent[s->n - 1];
        variance += f->weight * (off * off + e->variance[k] * scale * scale);
    }
    double miss = r->outcome[i][t] - middle;
    return fmin(miss * miss / variance, FAR * FAR);
}

/* Spans of a week and more from the fourth week on. */
static double find_wider(const rolling *r)
{
    double known = WIDER_KNOWN, sum = WIDER_KNOWN * (1 + WIDER_BEFORE / (double)r->s->n);
    for (int i = 1; i < HORIZONS; i++) {
        expected e;
        for (size_t k = 0; k < r->f->n; k++)
            e.variance[k] = r->f->law[k].variance * sum_variance(&r->f->law[k], r->horizon[i]);
        for (size_t t = 2 * TB__WARM_UP - 1; t < r->s->n; t++) {
            if (!is_origin(r, i, t)) continue;
            sum += squared_miss(r, &e, i, t) * 2 / (double)r->horizon[i];
            known += 2 / (double)r->horizon[i];
        }
    }
    return fmin(fmax(sqrt(sum / known), WIDER_LEAST), WIDER_MOST);
}

/* --- the whole --- */

static void set_horizons(rolling *r, size_t ahead)
{
    size_t most = r->s->n - TB__WARM_UP - 8;
    const size_t wanted[HORIZONS] = {1, 7, 14, ahead > 14 ? ahead : 14};
    for (int i = 0; i < HORIZONS; i++)
        r->horizon[i] = wanted[i] < most ? wanted[i] : most;
}

tb_code tb__follow(const tb__series *s, size_t ahead, const tb_alloc *alloc, tb__following *ret,
                   tb_error *err)
{
    rolling *r = tb_alloc_zero(alloc, 1, sizeof *r);
    if (!r) return tb_no_memory(err);
    *ret = (tb__following){.n = 0};
    r->s = s;
    r->f = ret;
    list_laws(s, ret);
    set_horizons(r, ahead);
    find_outcomes(r);
    follow_all(r);
    weigh(r);
    for (size_t k = 0; k < ret->n; k++)
        prepare_errors(&ret->law[k], s->n);
    ret->wider = find_wider(r);
    tb_alloc_free(alloc, r, sizeof *r);
    return TB_OK;
}
