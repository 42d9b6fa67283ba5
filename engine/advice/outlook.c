/* One series: which method its history allows, and what a path makes of it.
 *
 * A path's draws are shared by all series. A number below 2^30 becomes a place among those that a
 * series has, in proportion, so that series of the same length take the same days and others days
 * of about the same age. */
#include "advice/model.h"

#include <stdlib.h>
#include <string.h>

#define FIT_DAYS   28
#define TREND_DAYS 56
#define LEVEL_DAYS 14 /* that must fit the level */
#define PLAIN_DAYS 28 /* as many at most */
#define PLAIN_MOST 8  /* a plain day counts up to so many times the median */

static size_t place(uint32_t random, size_t n)
{
    return (size_t)(((uint64_t)random * n) >> TB__RANDOM_BITS);
}

/* --- plain days --- */

static int by_value(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

/* The median of days with usage; n has at least one. */
static int64_t median_used(const int64_t *day, size_t n)
{
    int64_t used[PLAIN_DAYS] = {0};
    size_t count = 0;
    for (size_t i = 0; i < n; i++)
        if (day[i] > 0) used[count++] = day[i];
    qsort(used, count, sizeof *used, by_value);
    return used[(count - 1) / 2];
}

static void plain(tb__outlook *o, int64_t *day, size_t n, tb_forecast_method method)
{
    if (n > PLAIN_DAYS) {
        memmove(day, day + n - PLAIN_DAYS, PLAIN_DAYS * sizeof *day);
        n = PLAIN_DAYS;
    }
    int64_t most = median_used(day, n);
    most = most > TB_FORECAST_DAY_MAX / PLAIN_MOST ? TB_FORECAST_DAY_MAX : most * PLAIN_MOST;
    o->bounded = 0;
    for (size_t i = 0; i < n; i++) {
        if (day[i] <= most) continue;
        day[i] = most;
        o->bounded++;
    }
    o->method = method;
    o->noise = day;
    o->n = n;
}

/* --- fitted ones --- */

/* What a block of residuals from each place, put at each of the past's blocks, would have moved the
 * days to come by. Residuals are taken about their mean: the fit has that in it. */
static tb_code make_drift(tb__outlook *o, const double *pull, tb__arena *arena, tb_error *err)
{
    double mean = 0;
    o->blocks = o->n / TB__BLOCK;
    o->starts = o->n - TB__BLOCK + 1;
    o->drift = tb__arena_take(arena, o->blocks * o->starts * sizeof *o->drift);
    if (!o->drift) return tb_fail(err, TB_E_NOMEM, NULL, NULL);
    for (size_t t = 0; t < o->n; t++)
        mean += (double)o->noise[t];
    mean /= (double)o->n;
    for (size_t j = 0; j < o->blocks; j++) {
        const double *at = pull + o->n - (o->blocks - j) * TB__BLOCK;
        for (size_t s = 0; s < o->starts; s++) {
            double sum = 0;
            for (size_t i = 0; i < TB__BLOCK; i++)
                sum += at[i] * ((double)o->noise[s + i] - mean);
            double limit = (double)TB_FORECAST_DAY_MAX;
            sum = sum > limit ? limit : sum < -limit ? -limit : sum;
            o->drift[j * o->starts + s] = (int64_t)(sum < 0 ? sum - 0.5 : sum + 0.5);
        }
    }
    return TB_OK;
}

/* A fit of the last n days. Its memory is room for all of them. */
static tb_code fit_window(tb__outlook *o, const int64_t *day, size_t n, const tb__ahead *ahead,
                          double *pull, bool *ret_settled, tb_error *err)
{
    tb__fit in = {.day = day,
                  .n = n,
                  .first_weekday =
                      (int)((ahead->first_day - (int64_t)n + 3) % 7), /* 1970 began on a Thursday */
                  .trend = n >= TREND_DAYS,
                  .ahead = ahead};
    o->method = in.trend ? TB_FORECAST_TREND : TB_FORECAST_SEASON;
    o->n = n;
    return tb__fit_robust(&in, o->fitted, o->noise, pull, &o->bounded, ret_settled, err);
}

/* Whether the newest days lie where the fit says: their median is off it by no more than residuals
 * usually change from one day to the next. (Their size would not do: a step makes all of them
 * large.) What has changed its level for good fails this until the old level is forgotten. */
static bool still_holds(const tb__outlook *o)
{
    int64_t change[TB_FORECAST_DAYS] = {0}, last[LEVEL_DAYS];
    for (size_t t = 1; t < o->n; t++) {
        int64_t by = o->noise[t] - o->noise[t - 1];
        change[t - 1] = by < 0 ? -by : by;
    }
    memcpy(last, o->noise + o->n - LEVEL_DAYS, sizeof last);
    qsort(change, o->n - 1, sizeof *change, by_value);
    qsort(last, LEVEL_DAYS, sizeof *last, by_value);
    int64_t middle = last[LEVEL_DAYS / 2], usual = change[o->n * 68 / 100];
    return (middle < 0 ? -middle : middle) <= usual;
}

static tb_code fit(tb__outlook *o, int64_t *day, size_t n, const tb__ahead *ahead, tb__arena *arena,
                   tb_error *err)
{
    static const size_t windows[] = {TB_FORECAST_DAYS, 84, FIT_DAYS};
    bool settled = false;
    double pull[TB_FORECAST_DAYS];
    o->noise = tb__arena_take(arena, n * sizeof *o->noise);
    if (!o->noise) return tb_fail(err, TB_E_NOMEM, NULL, NULL);
    for (size_t i = 0; i < sizeof windows / sizeof *windows; i++) {
        size_t w = n < windows[i] ? n : windows[i];
        tb_code code = fit_window(o, day + n - w, w, ahead, pull, &settled, err);
        if (code) return code;
        if (settled && still_holds(o)) break;
    }
    if (settled) return make_drift(o, pull, arena, err);
    plain(o, day, n, TB_FORECAST_UNFIT);
    return TB_OK;
}

/* --- the choice --- */

static size_t quiet_days(const uint64_t *days, size_t n)
{
    size_t quiet = 0;
    while (quiet < n && days[n - 1 - quiet] == 0)
        quiet++;
    return quiet;
}

tb_code tb__outlook_make(const uint64_t *days, size_t n_days, const tb__ahead *ahead,
                         tb__arena *arena, tb__outlook *ret, tb_error *err)
{
    size_t n = n_days < TB_FORECAST_DAYS ? n_days : TB_FORECAST_DAYS;
    days += n_days - n;
    while (n > 0 && *days == 0)
        days++, n--;
    *ret = (tb__outlook){.method = TB_FORECAST_SO_FAR, .nothing = true};
    if (n == 0) return TB_OK;
    ret->n = n;
    ret->method = TB_FORECAST_ENDED;
    if (quiet_days(days, n) >= TB_HISTORY_RECENT) return TB_OK;
    ret->nothing = false;
    int64_t *day = tb__arena_take(arena, n * sizeof *day);
    if (!day) return tb_fail(err, TB_E_NOMEM, NULL, NULL);
    for (size_t i = 0; i < n; i++) {
        if (days[i] > (uint64_t)TB_FORECAST_DAY_MAX)
            return tb_fail(err, TB_E_OVERFLOW, "history",
                           "A day of more than 10^17 units cannot be forecast from.");
        day[i] = (int64_t)days[i];
    }
    if (n >= FIT_DAYS) return fit(ret, day, n, ahead, arena, err);
    plain(ret, day, n, TB_FORECAST_PLAIN);
    return TB_OK;
}

/* --- paths --- */

void tb__outlook_path(const tb__outlook *o, const tb__ahead *ahead, const tb__draw *draw,
                      int64_t ret_days[TB_FORECAST_AHEAD_MAX])
{
    int64_t drift = 0;
    if (!o->drift) {
        for (size_t d = 0; d < ahead->n; d++)
            ret_days[d] = o->nothing ? 0 : o->noise[place(draw->day[d], o->n)];
        return;
    }
    for (size_t j = 0; j < o->blocks; j++)
        drift += o->drift[j * o->starts + place(draw->past[j], o->starts)];
    for (size_t d = 0; d < ahead->n; d += TB__BLOCK) {
        const int64_t *noise = o->noise + place(draw->next[d / TB__BLOCK], o->starts);
        for (size_t i = d; i < ahead->n && i < d + TB__BLOCK; i++) {
            int64_t value = o->fitted[i] + drift + noise[i - d];
            ret_days[i] = value > 0 ? value : 0;
        }
    }
}
