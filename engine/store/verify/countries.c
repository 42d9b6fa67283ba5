/* Verifying countries: the days of a zone, in their rows and pending, against the zone's hours. */
#include "store/usage/batch.h"
#include "store/verify/verify.h"

#include <stdlib.h>
#include <string.h>

/* What waits of one zone's day. */
typedef struct waiting_day {
    int64_t day;
    size_t n;
    tb__country *list;
} waiting_day;

typedef struct waiting_days {
    waiting_day *list; /* ascending by day */
    size_t n, cap;
    bool damaged;
} waiting_days;

static void release_days(waiting_days *w)
{
    for (size_t i = 0; i < w->n; i++)
        free(w->list[i].list);
    free(w->list);
}

/* The day's place, made if there is none. */
static tb_code day_at(waiting_days *w, int64_t day, waiting_day **ret, tb_error *err)
{
    size_t at = 0;
    while (at < w->n && w->list[at].day < day)
        at++;
    if (at == w->n || w->list[at].day != day) {
        tb_code code = tb__grow(&w->list, w->n, &w->cap, sizeof *w->list, err);
        if (code) return code;
        memmove(w->list + at + 1, w->list + at, (w->n - at) * sizeof *w->list);
        w->list[at] = (waiting_day){.day = day};
        w->n++;
    }
    *ret = &w->list[at];
    return TB_OK;
}

static tb_code add_list(waiting_day *d, const tb__country *more, size_t n, tb_error *err)
{
    tb__country sum[TB__COUNTRY_MAX];
    size_t n_sum = 0;
    tb_code code = tb__country_merge(d->list, d->n, more, n, sum, &n_sum, err);
    if (code) return code;
    tb__country *list = realloc(d->list, (n_sum + 1) * sizeof *list);
    if (!list) return tb_no_memory(err);
    memcpy(list, sum, n_sum * sizeof *list);
    d->list = list;
    d->n = n_sum;
    return TB_OK;
}

static tb_code add_waiting(void *ctx, const tb__lsm_entry *entry, tb_error *err)
{
    waiting_days *w = ctx;
    waiting_day *d = NULL;
    tb__country list[TB__COUNTRY_MAX];
    size_t n = 0;
    if (!tb__entry_get_list(entry->data, entry->len, list, &n)) {
        w->damaged = true;
        return TB_OK;
    }
    tb_code code = day_at(w, entry->key.index, &d, err);
    return code ? code : add_list(d, list, n, err);
}

static tb_code read_waiting(tb__verify *v, int64_t zone, int64_t first, int64_t last,
                            waiting_days *ret, tb_error *err)
{
    const tb__lsm_span span = {{zone, first}, {zone, last}};
    return tb__lsm_each(&v->store->usage->lsm, TB__LSM_COUNTRIES, span, add_waiting, ret, err);
}

static tb_u128 hours_of(const tb_grid *hours, unsigned metric)
{
    tb_u128 sum = 0;
    for (unsigned h = 0; (hours->metrics & TB_METRIC_BIT(metric)) && h < 24; h++)
        sum += hours->v[metric][h];
    return sum;
}

static void compare_day(tb__verify *v, int64_t zone, const waiting_day *d, const tb_grid *hours)
{
    tb_u128 sums[2] = {0, 0};
    char when[20];
    for (size_t i = 0; i < d->n; i++) {
        sums[0] += d->list[i].requests;
        sums[1] += d->list[i].bytes;
    }
    v->country_requests += sums[0];
    v->country_bytes += sums[1];
    tb_time_format(d->day * TB_US_PER_DAY, when);
    when[10] = 0;
    for (int i = 0; hours && i < 2; i++)
        if (sums[i] > hours_of(hours, i ? TB_M_BYTES : TB_M_REQUESTS))
            tb__differs(v, "Pull zone %lld, %s: its countries have more %s than the day.",
                        (long long)zone, when, i ? "bytes" : "requests");
}

static void damaged_day(tb__verify *v, int64_t zone, int64_t day)
{
    char when[20];
    tb_time_format(day * TB_US_PER_DAY, when);
    when[10] = 0;
    tb__differs(v, "Pull zone %lld, %s: its countries are damaged.", (long long)zone, when);
    v->countries_damaged = true;
}

/* Adds a row to the pending days. *ret_sane false: the rows are out of order. */
static tb_code add_row(tb__verify *v, int64_t zone, const int64_t days[2], sqlite3_stmt *s,
                       waiting_days *w, bool *ret_sane, tb_error *err)
{
    tb__country list[TB__COUNTRY_MAX];
    size_t n = 0;
    waiting_day *d = NULL;
    int64_t day = sqlite3_column_int64(s, 0);
    *ret_sane = day >= days[0] && day <= days[1];
    if (!*ret_sane) return TB_OK;
    if (tb__country_decode(sqlite3_column_blob(s, 1), (size_t)sqlite3_column_bytes(s, 1),
                           tb__country_seed(zone, day), list, &n, NULL)) {
        damaged_day(v, zone, day);
        return TB_OK;
    }
    tb_code code = day_at(w, day, &d, err);
    return code ? code : add_list(d, list, n, err);
}

static tb_code add_rows(tb__verify *v, int64_t zone, const int64_t days[2], waiting_days *w,
                        tb_error *err)
{
    const int64_t values[3] = {zone, days[0], days[1]};
    sqlite3_stmt *s;
    bool row = true, sane = true;
    tb_code code = tb__verify_sql(v, TB__V_COUNTRIES, values, 3, &s, err);
    while (!code && sane && !(code = tb__step(v->store, s, &row, err)) && row) {
        code = add_row(v, zone, days, s, w, &sane, err);
        if (code || !sane) sqlite3_reset(s);
    }
    if (!sane) {
        tb__differs(v, "Pull zone %lld: its countries' days are out of order.", (long long)zone);
        v->countries_damaged = true;
    }
    return code;
}

tb_code tb__verify_country_month(tb__verify *v, int64_t zone, int64_t month, const tb_grid *hours,
                                 uint32_t unsure, tb_error *err)
{
    const int64_t days[2] = {tb_month_first_day(month), tb_month_first_day(month + 1) - 1};
    waiting_days w = {0};
    tb_code code = read_waiting(v, zone, days[0], days[1], &w, err);
    if (w.damaged) damaged_day(v, zone, days[0]);
    if (!code) code = add_rows(v, zone, days, &w, err);
    for (size_t i = 0; !code && i < w.n; i++) {
        int64_t at = w.list[i].day - days[0];
        compare_day(v, zone, &w.list[i], unsure >> at & 1 ? NULL : &hours[at]);
    }
    release_days(&w);
    return code;
}

static tb_code widen_by_entry(void *ctx, const tb__lsm_entry *entry, tb_error *err)
{
    int64_t *span = ctx;
    (void)err;
    if (entry->key.index < span[0]) span[0] = entry->key.index;
    if (entry->key.index > span[1]) span[1] = entry->key.index;
    return TB_OK;
}

tb_code tb__verify_country_days(tb__verify *v, int64_t zone, int64_t ret_days[2], tb_error *err)
{
    const tb__lsm_span all = {{zone, INT64_MIN}, {zone, INT64_MAX}};
    sqlite3_stmt *s;
    bool row;
    ret_days[0] = INT64_MAX;
    ret_days[1] = INT64_MIN;
    tb_code code = tb__verify_sql(v, TB__V_COUNTRY_RANGE, &zone, 1, &s, err);
    if (!code) code = tb__step(v->store, s, &row, err);
    if (code) return code;
    if (sqlite3_column_type(s, 0) != SQLITE_NULL) {
        ret_days[0] = sqlite3_column_int64(s, 0);
        ret_days[1] = sqlite3_column_int64(s, 1);
    }
    sqlite3_reset(s);
    return tb__lsm_each(&v->store->usage->lsm, TB__LSM_COUNTRIES, all, widen_by_entry, ret_days,
                         err);
}
