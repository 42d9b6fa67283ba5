/* One series: the method that its history allows, and its usage on a path.
 *
 * A path's draws are shared by all series. A number below 2^30 becomes a place among those that a
 * series has, in proportion, so that series of the same length take the same days and others days
 * of about the same age. */
#include "advice/model.h"
#include "base/list.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PLAIN_DAYS TB__FIT_DAYS /* fewer than so many */
#define PLAIN_MOST 8            /* a plain day counts up to so many times the median */
#define SQRT_3     1.7320508    /* half the width of an even spread of deviation 1 */
#define TRIES      300
#define SKEW_USUAL 1.2
#define SKEW_MOST  2
#define SKEW_POWER 0.6

static size_t place(uint32_t random, size_t n)
{
    return (size_t)(((uint64_t)random * n) >> TB__RANDOM_BITS);
}

static double unit_part(uint32_t random)
{
    return (double)random / (double)(1u << TB__RANDOM_BITS);
}

static size_t law_of(const tb__outlook *o, uint32_t random)
{
    double at = unit_part(random);
    size_t k = o->from[random >> (TB__RANDOM_BITS - TB__FROM_BITS)];
    while (k + 1 < o->n_laws && o->below[k] <= at)
        k++;
    return k;
}

/* Where the block for the day d to come begins; on the same weekday where weekdays are very unlike.
 */
static size_t block_of(const tb__series *s, size_t d, uint32_t random)
{
    size_t starts = s->n - TB__WARM_UP - TB__BLOCK + 1;
    if (!s->deep) return TB__WARM_UP + place(random, starts);
    size_t first = (s->n + d - TB__WARM_UP) % 7;
    return TB__WARM_UP + first + 7 * place(random, (starts - 1 - first) / 7 + 1);
}

/* --- plain days --- */

/* The median of days with usage; n has at least one. */
static int64_t median_used(const int64_t *day, size_t n)
{
    int64_t used[PLAIN_DAYS] = {0};
    size_t count = 0;
    for (size_t i = 0; i < n; i++)
        if (day[i] > 0) used[count++] = day[i];
    qsort(used, count, sizeof *used, tb__by_int64);
    return used[(count - 1) / 2];
}

static void plain(tb__outlook *o, int64_t *day, size_t n)
{
    int64_t most = median_used(day, n);
    most = most > TB_FORECAST_DAY_MAX / PLAIN_MOST ? TB_FORECAST_DAY_MAX : most * PLAIN_MOST;
    o->bounded = 0;
    for (size_t i = 0; i < n; i++) {
        if (day[i] <= most) continue;
        day[i] = most;
        o->bounded++;
    }
    o->method = TB_FORECAST_PLAIN;
    o->noise = day;
    o->n = n;
}

/* --- averaged ones --- */

/* The factor to a new level, spread evenly about its estimate; 1: the old one. */
static double new_level(const tb__series *s, double at)
{
    if (at >= s->new_share) return 1;
    double factor = s->new_level * (1 + SQRT_3 * s->new_doubt * (2 * at / s->new_share - 1));
    return factor > 0 ? factor : 0;
}

/* A path in units, not stretched; returns its sum. */
static double raw_path(const tb__outlook *o, size_t ahead, const tb__draw *draw, double *ret)
{
    const tb__series *s = o->series;
    const tb__follower *f = o->law[law_of(o, draw->law)];
    tb__state state = f->end;
    double sum = 0, factor = new_level(s, unit_part(draw->level));
    int weekday = tb__weekday(s, s->n);
    for (size_t d = 0; d < ahead; d += TB__BLOCK) {
        size_t from = block_of(s, d, draw->next[d / TB__BLOCK]);
        size_t other = place(draw->next[d / TB__BLOCK], s->n - TB__BLOCK + 1);
        for (size_t i = d; i < ahead && i < d + TB__BLOCK; i++) {
            size_t at = from + i - d;
            double value = tb__law_day(s, f, &state, weekday, f->error[at]);
            weekday = weekday == 6 ? 0 : weekday + 1;
            value += s->excess[other + i - d] + s->monthly[s->n + i];
            ret[i] = value > 0 ? value * factor : 0;
            sum += ret[i];
        }
    }
    return sum;
}

static uint32_t next_random(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(*state >> (64 - TB__RANDOM_BITS));
}

/* The range of sums of paths, estimated with a few paths of a separate generator: stretching is about their median.
 * Where they reach further up than down, unseen values do too. */
static void find_stretch(tb__outlook *o, size_t ahead, double wider)
{
    double sum[TRIES], days[TB_FORECAST_AHEAD_MAX];
    uint64_t random = 1;
    for (size_t i = 0; i < TRIES; i++) {
        tb__draw draw;
        draw.law = (uint32_t)(((2 * (uint64_t)i + 1) << (TB__RANDOM_BITS - 1)) / TRIES);
        draw.level = next_random(&random);
        for (size_t b = 0; b < TB__BLOCKS_NEXT; b++)
            draw.next[b] = next_random(&random);
        sum[i] = raw_path(o, ahead, &draw, days);
    }
    tb__sort_doubles(sum, TRIES);
    o->middle = sum[TRIES / 2];
    double up = sum[TRIES * 95 / 100] - o->middle, down = o->middle - sum[TRIES * 5 / 100];
    double skew = down > 0 ? up / down / SKEW_USUAL : 1;
    skew = skew < 1 ? 1 : skew > SKEW_MOST ? SKEW_MOST : skew;
    o->down = wider;
    o->up = wider * pow(skew, SKEW_POWER);
}

static void keep_used(tb__outlook *o, const tb__following *all)
{
    double sum = 0;
    for (size_t k = 0; k < all->n; k++) {
        if (all->law[k].weight <= 0) continue;
        o->law[o->n_laws] = &all->law[k];
        sum += all->law[k].weight;
        o->below[o->n_laws++] = sum;
    }
    for (uint32_t i = 0; i < 1u << TB__FROM_BITS; i++) {
        const double at = unit_part(i << (TB__RANDOM_BITS - TB__FROM_BITS));
        size_t k = i ? o->from[i - 1] : 0;
        while (k + 1 < o->n_laws && o->below[k] <= at)
            k++;
        o->from[i] = (uint8_t)k;
    }
}

static tb_code average(tb__outlook *o, const int64_t *day, size_t n, const tb__ahead *ahead,
                       tb__arena *arena, tb_error *err)
{
    tb__series *series = tb__arena_take(arena, sizeof *series);
    tb__following *all = tb__arena_take(arena, sizeof *all);
    if (!series || !all) return tb_no_memory(err);
    o->method = n >= TB__TREND_DAYS ? TB_FORECAST_TREND : TB_FORECAST_SEASON;
    o->series = series;
    tb__series_make(day, n, ahead->first_day - (int64_t)n, series);
    o->bounded = series->bounded;
    tb_code code = tb__follow(series, ahead->n, arena->alloc, all, err);
    if (code) return code;
    keep_used(o, all);
    find_stretch(o, ahead->n, all->wider);
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
    if (!day) return tb_no_memory(err);
    for (size_t i = 0; i < n; i++) {
        if (days[i] > (uint64_t)TB_FORECAST_DAY_MAX)
            return tb_fail(err, TB_E_OVERFLOW, "history",
                           "A day of more than 10^17 units cannot be used for a forecast.");
        day[i] = (int64_t)days[i];
    }
    if (n >= TB__FIT_DAYS) return average(ret, day, n, ahead, arena, err);
    plain(ret, day, n);
    return TB_OK;
}

/* --- paths --- */

void tb__draw_path(tb__random *random, tb__draw *draw)
{
    uint32_t numbers[2 + TB__BLOCKS_NEXT + TB_FORECAST_AHEAD_MAX];
    _Static_assert(sizeof numbers == sizeof *draw, "numbers alone");
    tb__random_fill(random, numbers, sizeof numbers / sizeof *numbers);
    memcpy(draw, numbers, sizeof numbers);
}

/* Of a value that is not negative. */
static int64_t whole(double value)
{
    return value < (double)TB_FORECAST_DAY_MAX ? (int64_t)(value + 0.5) : TB_FORECAST_DAY_MAX;
}

/* All days by one factor: money follows usage wherever in the month it falls. */
static void stretch(const tb__outlook *o, size_t ahead, double sum, double *days)
{
    double wanted = o->middle + (sum > o->middle ? o->up : o->down) * (sum - o->middle);
    if (wanted < 0) wanted = 0;
    for (size_t d = 0; d < ahead && sum > 0; d++)
        days[d] *= wanted / sum;
}

void tb__outlook_path(const tb__outlook *o, const tb__ahead *ahead, const tb__draw *draw,
                      int64_t ret_days[TB_FORECAST_AHEAD_MAX])
{
    double days[TB_FORECAST_AHEAD_MAX];
    if (!o->series) {
        for (size_t d = 0; d < ahead->n; d++)
            ret_days[d] = o->nothing ? 0 : o->noise[place(draw->day[d], o->n)];
        return;
    }
    stretch(o, ahead->n, raw_path(o, ahead->n, draw, days), days);
    for (size_t d = 0; d < ahead->n; d++)
        ret_days[d] = whole(days[d] * o->series->unit);
}
