/* Decomposes a series, so that lasting parts can be followed and the rest can be drawn.
 *
 * Days of the month that were unusual every time become terms of their own. Other days far from the
 * running median are brought to it, and the difference is kept as excess: it occurs again on paths, but a
 * single largest one counts at most ten levels, or a few times the third largest. The newest unusual days
 * may be a burst or a new level: paths take either. A permanent change of level is undone: the days before
 * it are brought to the new level. The weekly season is the mean of days against the week around them,
 * shrunk towards none as far as chance would explain it. */
#include "advice/series.h"
#include "base/list.h"

#include "tollbook/calendar.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MEDIAN_DAYS   15
#define SEASON_DAYS   84
#define MAD_TO_SIGMA  1.4826 /* of a normal distribution */
#define OUTLIER       5      /* robust deviations */
#define OUTLIER_LEAST 0.15   /* of the level */
#define OUTLIERS_MOST 0.3    /* of all days: more are no outliers */
#define MONTHLY       3      /* robust deviations, each time */
#define MONTHLY_LEAST 0.1
#define MONTHLY_LIKE  3   /* the largest is at most so many times the smallest */
#define EXCESS_THIRD  4   /* times the third largest */
#define EXCESS_SECOND 1.5 /* times the second, of two */
#define EXCESS_USUAL  8   /* robust deviations */
#define BURST_USUAL   10  /* levels that even a lone burst counts up to */
#define BURST_ABSURD  50  /* levels: such a day is taken for a fault, and not expected again */
#define STEP_DAYS     7   /* on either side */
#define STEP_KNOWN    28  /* days on either side that say how large it was */
#define STEP_AFTER    6   /* at least */
#define STEP_LEAST    0.05
#define STEP_LONE     2   /* times any other change */
#define RUN_MOST      7   /* days at the end that may be a new level; more are a step */
#define RUN_LEAST     0.1 /* of the level */
#define RUN_HIGH      5   /* times the level before: bursts are higher, levels seldom */
#define RUN_AT_ONCE   0.6 /* of how far its first day lies off came in one day */
#define SMALLEST_PART 0.02

/* Sorts v. */
static double median(double *v, size_t n)
{
    tb__sort_doubles(v, n);
    return n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

static double mean(const double *v, size_t from, size_t to)
{
    double sum = 0;
    for (size_t t = from; t < to; t++)
        sum += v[t];
    return sum / (double)(to - from);
}

static void find_local(tb__series *s)
{
    for (size_t t = 0; t < s->n; t++) {
        double near[MEDIAN_DAYS] = {0};
        size_t from = t > MEDIAN_DAYS / 2 ? t - MEDIAN_DAYS / 2 : 0;
        if (from + MEDIAN_DAYS > s->n) from = s->n - MEDIAN_DAYS;
        memcpy(near, s->day + from, sizeof near);
        s->local[t] = median(near, MEDIAN_DAYS);
    }
}

/* --- outliers --- */

typedef struct cleaning {
    tb__series *s;
    double usual[7];              /* a weekday against the running median, by median */
    double off[TB_FORECAST_DAYS]; /* from that, in parts of the running median */
    bool out[TB_FORECAST_DAYS];
} cleaning;

static void find_usual(cleaning *c)
{
    const tb__series *s = c->s;
    double part[SEASON_DAYS] = {0};
    for (int w = 0; w < 7; w++) {
        size_t n = 0;
        for (size_t t = s->n > SEASON_DAYS ? s->n - SEASON_DAYS : 0; t < s->n; t++)
            if (tb__weekday(s, t) == w && s->local[t] > 0) part[n++] = s->day[t] / s->local[t];
        c->usual[w] = n ? median(part, n) : 1;
    }
}

static void find_off(cleaning *c)
{
    const tb__series *s = c->s;
    for (size_t t = 0; t < s->n; t++)
        c->off[t] = s->local[t] > 0 ? s->day[t] / s->local[t] - c->usual[tb__weekday(s, t)] : 0;
}

static void find_deviation(cleaning *c)
{
    double size[TB_FORECAST_DAYS] = {0};
    for (size_t t = 0; t < c->s->n; t++)
        size[t] = fabs(c->off[t]);
    c->s->deviation = MAD_TO_SIGMA * median(size, c->s->n);
}

static size_t days_without_level(const tb__series *s)
{
    size_t without = 0;
    for (size_t t = 0; t < s->n; t++)
        without += s->local[t] <= 0;
    return without;
}

/* A day of a run of so many is out of the usual: the longer the run the less it takes. */
static double run_limit(const cleaning *c, size_t run)
{
    double times = run == 1 ? OUTLIER : run == 2 ? 3 : 2.5;
    return fmax(times * c->s->deviation, run == 1 ? OUTLIER_LEAST : RUN_LEAST);
}

/* Whether the newest days are all out of the usual on that side, and began at once. */
static bool is_run(const cleaning *c, size_t run, double sign)
{
    double before[3] = {0}, days[RUN_MOST] = {0}, limit = run_limit(c, run);
    size_t first = c->s->n - run;
    for (size_t i = 0; i < run; i++) {
        days[i] = sign * c->off[first + i];
        if (days[i] < limit) return false;
    }
    for (size_t i = 0; i < 3; i++)
        before[i] = sign * c->off[first - 1 - i];
    double middle = median(days, run);
    return middle - median(before, 3) > RUN_AT_ONCE * middle;
}

/* Runs before that lasted as long and ended. */
static size_t runs_like(const cleaning *c, size_t length, double sign)
{
    size_t run = 0, runs = 0;
    double limit = run_limit(c, length);
    for (size_t t = 0; t < c->s->n - length; t++) {
        run = sign * c->off[t] > limit ? run + 1 : 0;
        runs += run == length;
    }
    return runs;
}

static double level_of_run(const cleaning *c, size_t run)
{
    const tb__series *s = c->s;
    double level[RUN_MOST] = {0};
    size_t n = 0;
    for (size_t t = s->n - run; t < s->n; t++) {
        double usual = s->local[t] * c->usual[tb__weekday(s, t)];
        if (usual > SMALLEST_PART) level[n++] = s->day[t] / usual;
    }
    double factor = n ? mean(level, 0, n) : 1;
    return factor < SMALLEST_PART ? SMALLEST_PART : factor > RUN_HIGH ? RUN_HIGH : factor;
}

/* The newest days may be a burst that ends or a new level: the likelier that the longer they have
 * lasted, the less the more often such days have passed. Without a run, days at the end that are
 * out of the usual got there bit by bit, and are no outliers. */
static void doubt_newest(cleaning *c)
{
    tb__series *s = c->s;
    double sign = c->off[s->n - 1] > 0 ? 1 : -1;
    size_t run = RUN_MOST;
    while (run > 0 && !is_run(c, run, sign))
        run--;
    for (size_t t = s->n; run == 0 && t-- > 0 && c->out[t];)
        c->out[t] = false;
    if (run == 0) return;
    for (size_t i = 0; i < run; i++)
        c->out[s->n - 1 - i] = true;
    s->new_level = level_of_run(c, run);
    s->new_share = ((double)run - 0.5) / (double)(run + 1 + 4 * runs_like(c, run, sign));
    s->new_days = run;
    s->new_doubt = s->deviation / sqrt((double)run);
}

static void find_outliers(cleaning *c)
{
    size_t n = c->s->n, count = 0;
    double limit = fmax(OUTLIER * c->s->deviation, OUTLIER_LEAST);
    for (size_t t = 0; t < n; t++)
        count += c->out[t] = fabs(c->off[t]) > limit;
    if ((double)count > OUTLIERS_MOST * (double)n)
        memset(c->out, 0, sizeof c->out);
    else
        doubt_newest(c);
}

static void take_outliers(cleaning *c)
{
    tb__series *s = c->s;
    for (size_t t = 0; t < s->n; t++) {
        if (!c->out[t]) continue;
        s->base[t] = s->local[t] * c->usual[tb__weekday(s, t)];
        if (t + s->new_days < s->n) s->excess[t] = s->day[t] - s->base[t];
    }
}

static void bound_excess(tb__series *s)
{
    double above[TB_FORECAST_DAYS] = {0};
    size_t n = 0;
    double level = s->recent[s->n - 1], limit = EXCESS_USUAL * s->deviation * level;
    for (size_t t = 0; t < s->n; t++)
        if (s->excess[t] > 0) above[n++] = s->excess[t];
    tb__sort_doubles(above, n);
    if (n > 0 && above[n - 1] < BURST_ABSURD * level)
        limit = fmax(limit, fmin(above[n - 1], BURST_USUAL * level));
    if (n == 2) limit = fmax(limit, EXCESS_SECOND * above[0]);
    if (n >= 3) limit = fmax(limit, EXCESS_THIRD * above[n - 3]);
    for (size_t t = 0; t < s->n; t++) {
        if (s->excess[t] <= limit) continue;
        s->excess[t] = limit;
        s->bounded++;
    }
}

/* --- days of the month --- */

#define MONTH_CLASSES 34 /* the 1st to the 31st, and the last three */

typedef struct month_place {
    int day, left; /* 0-based; days left after it */
} month_place;

typedef struct regular {
    cleaning *c;
    double sign, limit;
    month_place place[TB__DAYS_ALL];
    bool taken[TB_FORECAST_DAYS];
    bool is[MONTH_CLASSES];
    double term[MONTH_CLASSES];
    size_t days; /* that belong to regular ones */
} regular;

static void find_places(regular *r)
{
    for (size_t t = 0; t < TB__DAYS_ALL; t++) {
        tb_date date = tb_date_from_day(r->c->s->first_day + (int64_t)t);
        int length = tb_days_in_month(date.year, date.month);
        r->place[t] = (month_place){date.day - 1, length - date.day};
    }
}

static bool in_class(const regular *r, size_t t, int k)
{
    return k < 31 ? r->place[t].day == k : r->place[t].left == k - 31;
}

/* Whether the class was out of the usual each time, at least twice, by about as much. */
static void try_class(regular *r, int k)
{
    size_t n = 0;
    double low = 0, high = 0, sum = 0;
    for (size_t t = 0; t < r->c->s->n; t++) {
        if (!in_class(r, t, k)) continue;
        double off = r->sign * r->c->off[t];
        if (r->taken[t] || off < r->limit) return;
        low = n == 0 || off < low ? off : low;
        high = off > high ? off : high;
        sum += off;
        n++;
    }
    if (n < 2 || high > MONTHLY_LIKE * low) return;
    r->is[k] = true;
    r->term[k] = r->sign * sum / (double)n;
    for (size_t t = 0; t < r->c->s->n; t++)
        if (in_class(r, t, k)) r->taken[t] = true;
    r->days += n;
}

/* Terms are in parts of the level: each day's own in the past, the newest to come. */
static void take_class(regular *r, int k)
{
    tb__series *s = r->c->s;
    for (size_t t = 0; t < TB__DAYS_ALL; t++) {
        if (!in_class(r, t, k) || s->monthly[t] != 0) continue;
        s->monthly[t] = r->term[k] * s->local[t < s->n ? t : s->n - 1];
        if (t < s->n) s->day[t] -= s->monthly[t];
    }
}

/* They must be most of the days out of the usual on that side: else chance put them there. */
static void take_regular(cleaning *c, double sign)
{
    regular r = {.c = c, .sign = sign, .limit = fmax(MONTHLY * c->s->deviation, MONTHLY_LEAST)};
    size_t all = 0;
    find_places(&r);
    for (size_t t = 0; t < c->s->n; t++)
        all += sign * c->off[t] > r.limit;
    for (int k = 0; k < MONTH_CLASSES; k++)
        try_class(&r, k);
    if (r.days == 0 || r.days * 10 < all * 6) return;
    for (int k = 0; k < MONTH_CLASSES; k++)
        if (r.is[k]) take_class(&r, k);
}

/* --- a step --- */

/* Base without the season; where a weekday has next to nothing, the day before. */
static void level_days(const cleaning *c, double *ret)
{
    const tb__series *s = c->s;
    for (size_t t = 0; t < s->n; t++) {
        double usual = c->usual[tb__weekday(s, t)];
        ret[t] = usual > 0.3 ? s->base[t] / usual : t ? ret[t - 1] : s->base[t];
    }
}

static double after(const double *level, size_t n, size_t t)
{
    return mean(level, t, t + STEP_DAYS < n ? t + STEP_DAYS : n);
}

/* The change at each day, between -1 and 1; returns where it is largest, 0: nowhere. */
static size_t find_change(const double *level, size_t n, double *change)
{
    size_t at = 0;
    memset(change, 0, n * sizeof *change);
    for (size_t t = STEP_DAYS; t + 3 <= n; t++) {
        double a = after(level, n, t), b = mean(level, t - STEP_DAYS, t);
        if (a + b > 0) change[t] = (a - b) / (a + b);
        if (t + STEP_AFTER <= n && fabs(change[t]) > (at ? fabs(change[at]) : STEP_LEAST)) at = t;
    }
    return at;
}

/* Whether no other change is like it: near it only those on its own side are its own. */
static bool is_lone(const double *change, size_t n, size_t at)
{
    size_t others = 0;
    for (size_t t = STEP_DAYS; t + 3 <= n; t++) {
        bool own = t <= at + STEP_DAYS && t + STEP_DAYS >= at;
        if (own && (change[t] > 0) == (change[at] > 0)) continue;
        if (fabs(change[at]) < STEP_LONE * fabs(change[t])) return false;
        others++;
    }
    return others >= 14;
}

static bool undo_step(cleaning *c)
{
    tb__series *s = c->s;
    double level[TB_FORECAST_DAYS], change[TB_FORECAST_DAYS];
    level_days(c, level);
    size_t at = find_change(level, s->n, change);
    if (!at || !is_lone(change, s->n, at)) return false;
    double a = after(level, s->n, at), b = mean(level, at - STEP_DAYS, at);
    if (a <= 0 || b <= 0 || fabs(level[at] - level[at - 1]) < fabs(a - b) / 2) return false;
    size_t to = at + STEP_KNOWN < s->n ? at + STEP_KNOWN : s->n;
    a = mean(level, at, to);
    b = mean(level, at > STEP_KNOWN ? at - STEP_KNOWN : 0, at);
    if (to == s->n && s->new_days == 0) {
        s->new_share = s->new_level = 1;
        s->new_doubt = s->deviation / sqrt((double)(s->n - at));
    }
    for (size_t t = 0; t < at; t++) {
        s->base[t] *= a / b;
        s->excess[t] *= a / b;
        s->day[t] *= a / b;
    }
    return true;
}

/* --- the season --- */

typedef struct weekdays {
    double sum[7], square[7];
    size_t n[7];
} weekdays;

static void sum_weekdays(const tb__series *s, weekdays *w)
{
    *w = (weekdays){.sum = {0}};
    for (size_t t = s->n > SEASON_DAYS + 3 ? s->n - SEASON_DAYS : 3; t + 3 < s->n; t++) {
        double around = mean(s->base, t - 3, t + 4);
        if (around <= 0) continue;
        double part = s->base[t] / around;
        w->sum[tb__weekday(s, t)] += part;
        w->square[tb__weekday(s, t)] += part * part;
        w->n[tb__weekday(s, t)]++;
    }
}

/* How much of the differences between weekdays is more than chance: 0 to 1. */
static double beyond_chance(const weekdays *w, const double *part, double middle)
{
    double within = 0, between = 0;
    size_t n = 0;
    for (int i = 0; i < 7; i++) {
        within += w->square[i] - w->sum[i] * part[i];
        between += (part[i] - middle) * (part[i] - middle) / 6;
        n += w->n[i];
    }
    if (between <= 0 || n <= 7) return 0;
    double chance = within / (double)(n - 7) * 7 / (double)n;
    return chance < between ? 1 - chance / between : 0;
}

static void set_season(tb__series *s, double keep, const double *part, double middle)
{
    s->season_square = 0;
    s->deep = false;
    for (int i = 0; i < 7; i++) {
        double factor = middle > 0 ? 1 + keep * (part[i] / middle - 1) : 1;
        s->season[i] = factor > 0 ? factor : 0;
        s->season_square += s->season[i] * s->season[i] / 7;
        if (factor < 0.6) s->deep = true;
    }
}

static void find_season(tb__series *s)
{
    weekdays w;
    double part[7], sum = 0;
    bool all = true;
    sum_weekdays(s, &w);
    for (int i = 0; i < 7; i++) {
        all = all && w.n[i] > 0;
        part[i] = w.n[i] ? w.sum[i] / (double)w.n[i] : 1;
        sum += part[i];
    }
    set_season(s, all ? beyond_chance(&w, part, sum / 7) : 0, part, sum / 7);
}

/* --- the whole --- */

static void find_recent(tb__series *s)
{
    for (size_t t = 0; t < s->n; t++)
        s->recent[t] = mean(s->base, t + 1 > 28 ? t + 1 - 28 : 0, t + 1);
    double least = SMALLEST_PART * s->recent[s->n - 1];
    for (size_t t = 0; t < s->n; t++)
        s->recent[t] = fmax(s->recent[t], least > 0 ? least : SMALLEST_PART);
}

static bool takes_logs(const tb__series *s)
{
    for (size_t t = 0; t < s->n; t++) {
        double season = s->season[tb__weekday(s, t)];
        if (season < SMALLEST_PART || s->base[t] <= SMALLEST_PART * season * s->recent[t])
            return false;
    }
    return true;
}

static void take_apart(tb__series *s)
{
    cleaning c = {.s = s};
    find_local(s);
    find_usual(&c);
    size_t without = days_without_level(s);
    s->sparse = without > s->n / 2;
    if (without > s->n / 10) return; /* there is nothing to be far from */
    find_off(&c);
    find_deviation(&c);
    take_regular(&c, 1);
    take_regular(&c, -1);
    memcpy(s->base, s->day, s->n * sizeof *s->base);
    find_off(&c);
    find_outliers(&c);
    take_outliers(&c);
    if (undo_step(&c)) undo_step(&c);
}

void tb__series_make(const int64_t *days, size_t n, int64_t first_day, tb__series *ret)
{
    double sum = 0;
    *ret = (tb__series){.n = n, .first_day = first_day};
    for (size_t t = 0; t < n; t++)
        sum += (double)days[t];
    ret->unit = sum / (double)n;
    for (size_t t = 0; t < n; t++)
        ret->base[t] = ret->day[t] = (double)days[t] / ret->unit;
    take_apart(ret);
    find_recent(ret);
    bound_excess(ret);
    find_season(ret);
    ret->logs = takes_logs(ret);
}
