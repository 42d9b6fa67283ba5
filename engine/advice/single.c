/* Seasonal naive (the last week again), damped exponential smoothing with a weekly season, and the
 * robust regression: of an account's bytes, all in one series. Intervals are of a normal
 * distribution, as Hyndman and Athanasopoulos have them; smoothing takes the parameters of a grid
 * that leave the least squares of one day. */
#include "advice/single.h"

#include <math.h>

#define NORMAL_95 1.6448536269514722

static const char *const names[] = {
#define TB_X(name, text) text,
    TB_FORECAST_SINGLES(TB_X)
#undef TB_X
};

const char *tb_forecast_single_name(tb_forecast_single single)
{
    return names[single];
}

/* --- seasonal naive --- */

/* An error of k weeks is that of k steps of a week. */
static void naive(const tb__known *k, size_t ahead, double *ret_sum, double *ret_deviation)
{
    double squares = 0, weights = 0;
    *ret_sum = 0;
    for (size_t t = 7; t < k->n; t++)
        squares += (k->day[t] - k->day[t - 7]) * (k->day[t] - k->day[t - 7]);
    for (size_t d = 0; d < 7 && d < ahead; d++) {
        double weeks = (double)((ahead - d + 6) / 7);
        *ret_sum += weeks * k->day[k->n - 7 + d];
        weights += weeks * (weeks + 1) * (2 * weeks + 1) / 6;
    }
    *ret_deviation = sqrt(squares / (double)(k->n - 7) * weights);
}

/* --- damped smoothing --- */

typedef struct smoothing {
    double alpha, beta, gamma, phi;
    double level, slope, season[7];
    double squares; /* of errors after two weeks */
} smoothing;

static void smooth(const tb__known *k, smoothing *s)
{
    double first = 0, second = 0;
    for (size_t i = 0; i < 7; i++) {
        first += k->day[i] / 7;
        second += k->day[i + 7] / 7;
    }
    s->level = (first + second) / 2;
    s->slope = (second - first) / 7;
    for (size_t i = 0; i < 7; i++)
        s->season[i] = (k->day[i] + k->day[i + 7]) / 2 - s->level;
    s->squares = 0;
    for (size_t t = 0; t < k->n; t++) {
        s->slope *= s->phi;
        double error = k->day[t] - s->level - s->slope - s->season[t % 7];
        s->level += s->slope + s->alpha * error;
        s->slope += s->beta * error;
        s->season[t % 7] += s->gamma * error;
        if (t >= 14) s->squares += error * error;
    }
}

static smoothing best_smoothing(const tb__known *k)
{
    static const double alphas[] = {0.02, 0.1, 0.25, 0.5, 0.9}, betas[] = {0, 0.05, 0.2},
                        gammas[] = {0.02, 0.15}, phis[] = {0.9, 0.98};
    smoothing best = {.squares = -1};
    for (size_t i = 0; i < 5 * 3 * 2 * 2; i++) {
        double alpha = alphas[i % 5], beta = betas[i / 5 % 3];
        smoothing s = {.alpha = alpha,
                       .beta = alpha * beta,
                       .gamma = (1 - alpha) * gammas[i / 15 % 2],
                       .phi = phis[i / 30]};
        smooth(k, &s);
        if (best.squares < 0 || s.squares < best.squares) best = s;
    }
    return best;
}

static void damped(const tb__known *k, size_t ahead, double *ret_sum, double *ret_deviation)
{
    smoothing s = best_smoothing(k);
    double damp = 0, power = 1, moved = 0, weights = 0;
    *ret_sum = 0;
    for (size_t h = 0; h < ahead;
         h++) { /* an error with h days after it moves the sum by 1 + moved */
        weights += (1 + moved) * (1 + moved);
        power *= s.phi;
        damp += power;
        *ret_sum += s.level + s.slope * damp + s.season[(k->n + h) % 7];
        moved += s.alpha + s.beta * damp + ((h + 1) % 7 == 0 ? s.gamma : 0);
    }
    double freedom = k->n > 21 ? (double)(k->n - 20) : 1;
    *ret_deviation = sqrt(s.squares / freedom * weights);
}

/* --- all of them --- */

static tb_i128 whole(double value)
{
    const double most = 1e30;
    return value < most ? (tb_i128)floor(value + 0.5) : (tb_i128)most;
}

static tb_forecast_spread spread(double sum, double deviation, tb_i128 so_far)
{
    double low = sum - NORMAL_95 * deviation, high = sum + NORMAL_95 * deviation;
    tb_i128 middle = so_far + whole(fmax(sum, 0));
    return (tb_forecast_spread){.mean = middle,
                                .p5 = so_far + whole(fmax(low, 0)),
                                .p50 = middle,
                                .p95 = so_far + whole(fmax(high, 0))};
}

/* Bytes of all columns, from the first day with any; returns how many days. */
static size_t all_bytes(const tb_usage_history *h, double day[TB_FORECAST_DAYS])
{
    size_t n = 0, from = h->n_days > TB_FORECAST_DAYS ? h->n_days - TB_FORECAST_DAYS : 0;
    for (size_t t = from; t < h->n_days; t++) {
        double sum = 0;
        for (int c = 0; c < TB_USAGE_COLUMNS; c++)
            if (c != TB_USAGE_REQUESTS) sum += (double)h->column[c][t];
        if (n > 0 || sum > 0) day[n++] = sum;
    }
    return n;
}

tb_code tb__singles(const tb_usage_history *history, size_t ahead, tb_i128 so_far,
                    tb_forecast *forecast, tb_error *err)
{
    double day[TB_FORECAST_DAYS], sum[TB_FORECAST_SINGLE_COUNT],
        deviation[TB_FORECAST_SINGLE_COUNT];
    tb__known known = {.day = day, .n = all_bytes(history, day)};
    forecast->has_single = known.n >= TB_FORECAST_SINGLE_DAYS;
    if (!forecast->has_single) return TB_OK;
    int64_t end = history->first_day + (int64_t)history->n_days;
    known.first_weekday = (int)((end - (int64_t)known.n + 3) % 7);
    naive(&known, ahead, &sum[TB_FORECAST_NAIVE], &deviation[TB_FORECAST_NAIVE]);
    damped(&known, ahead, &sum[TB_FORECAST_DAMPED], &deviation[TB_FORECAST_DAMPED]);
    tb_code code = tb__fit_robust(&known, ahead, &sum[TB_FORECAST_REGRESSION],
                                  &deviation[TB_FORECAST_REGRESSION], err);
    if (!isfinite(sum[TB_FORECAST_REGRESSION]) || !isfinite(deviation[TB_FORECAST_REGRESSION])) {
        sum[TB_FORECAST_REGRESSION] = sum[TB_FORECAST_NAIVE]; /* days that leave nothing to fit */
        deviation[TB_FORECAST_REGRESSION] = deviation[TB_FORECAST_NAIVE];
    }
    for (int i = 0; !code && i < TB_FORECAST_SINGLE_COUNT; i++)
        forecast->single[i] = spread(sum[i], deviation[i], so_far);
    return code;
}
