/* Usage of a meter by windows of time, grouped by resource and dimensions: what is there now, late usage included. */
#include "base/rank.h"
#include "store/money/billing.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One query in the making. */
typedef struct windows {
    tb_store *store;
    const tb_meter_query *q;
    tb__meter_list list;
    int64_t *bound; /* seconds since 1970 at which the n windows begin, and the last one's end */
    size_t n;
    tb_i128 *value;    /* of the group's windows */
    tb_i128 *interval; /* samples by months: of the group's intervals; NULL: sums are asked for */
    size_t n_intervals;
    size_t at; /* a gauge's window */
    tb_meter_window *out;
    size_t n_out, cap_out;
} windows;

/* --- what is asked for --- */

static bool is_aligned(const tb_meter_query *q, int64_t us)
{
    const int64_t unit = q->window == TB_WINDOW_HOUR ? TB_US_PER_HOUR : TB_US_PER_DAY;
    if (us % unit) return false;
    return q->window != TB_WINDOW_MONTH || us == tb_month_start_us(tb_month_from_us(us));
}

static tb_code check(const tb_meter_query *q, tb_error *err)
{
    static const char *const begins[] = {"a full hour", "midnight, UTC", "the beginning of a month, UTC", "midnight, UTC"};
    for (int end = 0; end < 2; end++)
        if (!is_aligned(q, end ? q->to_us : q->from_us))
            return tb_fail(err, TB_E_VALIDATION, end ? "to" : "from", "Must be %s: windows begin and end there.", begins[q->window]);
    if (q->from_us < 0 || q->from_us >= q->to_us)
        return tb_fail(err, TB_E_VALIDATION, "to", "Must be later than from, and from not before 1970.");
    if (q->to_us - q->from_us <= TB_METER_DAYS_MAX * TB_US_PER_DAY) return TB_OK;
    return tb_fail(err, TB_E_VALIDATION, "from", "Must be at most %d days before to.", TB_METER_DAYS_MAX);
}

/* Intervals of samples need the hours of a month, as windows of hours do. */
static tb_code check_stored(const windows *w, tb_error *err)
{
    const int64_t month = tb_month_from_us(w->q->from_us);
    tb_kept kept;
    tb_code code = tb_store_kept(w->store, w->q->account ? w->q->account : TB_ALL, &kept, err);
    const bool hours = w->interval || (w->q->window == TB_WINDOW_HOUR && w->q->meter->kind != TB_METER_GAUGE);
    if (code || month >= (hours ? kept.hours : kept.days)) return code;
    return tb_fail(err, TB_E_NOT_KEPT, "from", "The %s of that month are no longer kept. Ask for later months.",
                   hours ? "hours" : "days");
}

static tb_code make_bounds(windows *w, tb_error *err)
{
    const tb_meter_query *q = w->q;
    const bool months = q->window == TB_WINDOW_MONTH;
    const int64_t unit = q->window == TB_WINDOW_HOUR ? 3600 : 86400, first = tb_month_from_us(q->from_us);
    w->n = (size_t)(months ? tb_month_from_us(q->to_us) - first : (q->to_us - q->from_us) / TB_US_PER_S / unit);
    if (q->window == TB_WINDOW_WHOLE) w->n = 1;
    w->bound = malloc((w->n + 1) * sizeof *w->bound);
    w->value = calloc(w->n, sizeof *w->value);
    if (months && q->meter->kind == TB_METER_SAMPLE) {
        w->n_intervals = (size_t)((q->to_us - q->from_us) / TB_US_PER_S / q->meter->interval);
        w->interval = calloc(w->n_intervals, sizeof *w->interval);
        if (!w->interval) return tb_no_memory(err);
    }
    if (!w->bound || !w->value) return tb_no_memory(err);
    for (size_t i = 0; i <= w->n; i++)
        w->bound[i] = months ? tb_month_start_us(first + (int64_t)i) / TB_US_PER_S : q->from_us / TB_US_PER_S + (int64_t)i * unit;
    w->bound[w->n] = q->to_us / TB_US_PER_S;
    return TB_OK;
}

static tb_code list_series(windows *w, tb_error *err)
{
    const tb_meter_query *q = w->q;
    sqlite3_stmt *s;
    tb_code code = tb__sql(w->store, q->account ? TB__SQL_METER_SERIES_ASKED : TB__SQL_METER_SERIES_ALL, &s, err);
    if (code) return code;
    sqlite3_bind_int64(s, 1, q->meter->number);
    sqlite3_bind_int64(s, 2, q->account);
    sqlite3_bind_text(s, 3, q->resource, -1, SQLITE_STATIC);
    sqlite3_bind_int(s, 4, q->by_resource);
    sqlite3_bind_int(s, 5, q->by_dimension[0]);
    sqlite3_bind_int(s, 6, q->by_dimension[1]);
    return tb__meter_list_read(w->store, s, &w->list, err);
}

/* --- one series --- */

static tb_code add_held(void *ctx, const tb__held *held, tb_error *err)
{
    windows *w = ctx;
    (void)err;
    for (int64_t at = held->from_s, to; at < held->to_s; at = to) {
        while (at >= w->bound[w->at + 1])
            w->at++;
        to = tb__earlier(held->to_s, w->bound[w->at + 1]);
        w->value[w->at] += (tb_i128)held->value * (to - at);
    }
    return TB_OK;
}

static tb_code add_gauge(windows *w, const tb__meter_series *own, tb_error *err)
{
    const tb_meter_query *q = w->q;
    const tb__gauge gauge = {.series = own->id, .from_us = q->from_us, .to_us = tb__earlier(q->to_us, q->now_us),
                             .known = w->store->back ? w->store->back : INT64_MAX, .round_up = q->meter->round_up};
    w->at = 0;
    return tb__gauge_each(w->store, &gauge, add_held, w, err);
}

static tb_code add_intervals(windows *w, const tb__meter_series *own, tb_error *err)
{
    const tb__slots slots = {own->series, w->q->from_us / TB_US_PER_HOUR,
                             (uint32_t)((w->q->to_us - w->q->from_us) / TB_US_PER_HOUR), TB__METER_COLUMN,
                             tb__meter_columns(w->q->meter)};
    uint64_t *value = calloc(w->n_intervals, sizeof *value);
    tb_code code = value ? tb__slots_add(w->store, &slots, value, err) : tb_no_memory(err);
    for (size_t i = 0; !code && i < w->n_intervals; i++)
        w->interval[i] += (tb_i128)value[i];
    free(value);
    return code;
}

/* Sums of counters and of samples, from hours or from days. */
static tb_code add_sums(windows *w, const tb__meter_series *own, tb_error *err)
{
    const bool hourly = w->q->window == TB_WINDOW_HOUR;
    const int64_t unit = hourly ? TB_US_PER_HOUR : TB_US_PER_DAY;
    const int columns = tb__meter_columns(w->q->meter);
    const tb_range range = {w->q->from_us / unit, (uint32_t)((w->q->to_us - w->q->from_us) / unit), hourly};
    tb_series series;
    if (!own->series) return TB_OK;
    tb_code code = tb_series_init(&series, range, ((UINT32_C(1) << columns) - 1) << TB__METER_COLUMN, NULL, err);
    if (code) return code;
    code = w->store->plane.counters->series(w->store, own->series, &series, err);
    for (uint32_t i = 0, at = 0; !code && i < range.count; i++) {
        while ((range.first + i) * unit >= w->bound[at + 1] * TB_US_PER_S)
            at++;
        for (int k = 0; k < columns; k++)
            w->value[at] += (tb_i128)series.value[TB__METER_COLUMN + k][i];
    }
    tb_series_release(&series);
    return code;
}

/* --- one group --- */

/* Of a month's intervals that are over, floor((1 - p) n) are discarded and the next largest counts. */
static void pick_percentiles(windows *w)
{
    const int64_t interval = w->q->meter->interval, now = w->q->now_us / TB_US_PER_S;
    for (size_t i = 0; i < w->n; i++) {
        const int64_t n = (tb__earlier(w->bound[i + 1], now) - w->bound[i]) / interval;
        tb_i128 *first = w->interval + (w->bound[i] - w->bound[0]) / interval;
        if (n <= 0) continue;
        w->value[i] = tb__put_rank(first, (size_t)n, (size_t)n - 1 - tb__discarded(w->q->percentile, (size_t)n));
    }
}

static tb_code put_windows(windows *w, size_t first, tb_error *err)
{
    const char *dimension[TB_METER_DIMENSIONS];
    const char *resource = tb__meter_texts(&w->list, first, dimension);
    tb_code code = TB_OK;
    if (w->interval) pick_percentiles(w);
    for (size_t i = 0; !code && i < w->n; i++) {
        if (!w->value[i]) continue;
        if (w->n_out == TB_METER_WINDOWS_MAX && !w->q->unbounded)
            return tb_fail(err, TB_E_VALIDATION, "from", "The answer has more than %d windows. Ask for a shorter time, longer windows, or less.",
                           TB_METER_WINDOWS_MAX);
        code = tb__grow(&w->out, w->n_out, &w->cap_out, sizeof *w->out, err);
        if (code) return code;
        tb_meter_window *to = &w->out[w->n_out++];
        *to = (tb_meter_window){w->bound[i] * TB_US_PER_S, w->bound[i + 1] * TB_US_PER_S, w->value[i], "", {"", ""}};
        if (w->q->by_resource) memcpy(to->resource, resource, strlen(resource));
        for (int k = 0; k < TB_METER_DIMENSIONS; k++)
            if (w->q->by_dimension[k]) memcpy(to->dimension[k], dimension[k], strlen(dimension[k]));
    }
    memset(w->value, 0, w->n * sizeof *w->value);
    if (w->interval) memset(w->interval, 0, w->n_intervals * sizeof *w->interval);
    return code;
}

static bool same_group(const windows *w, size_t a, size_t b)
{
    const char *of_a[TB_METER_DIMENSIONS], *of_b[TB_METER_DIMENSIONS];
    const char *x = tb__meter_texts(&w->list, a, of_a), *y = tb__meter_texts(&w->list, b, of_b);
    bool same = !w->q->by_resource || strcmp(x, y) == 0;
    for (int k = 0; k < TB_METER_DIMENSIONS; k++)
        same = same && (!w->q->by_dimension[k] || strcmp(of_a[k], of_b[k]) == 0);
    return same;
}

static tb_code make_windows(windows *w, tb_error *err)
{
    const tb_meter_kind kind = w->q->meter->kind;
    tb_code code = make_bounds(w, err);
    if (!code) code = check_stored(w, err);
    if (!code) code = list_series(w, err);
    for (size_t i = 0, first = 0; !code && i < w->list.n_series; i++) {
        code = (kind == TB_METER_GAUGE ? add_gauge : w->interval ? add_intervals : add_sums)(w, &w->list.series[i], err);
        if (code || (i + 1 < w->list.n_series && same_group(w, first, i + 1))) continue;
        code = put_windows(w, first, err);
        first = i + 1;
    }
    return code;
}

tb_code tb_store_meter_windows(tb_store *store, const tb_meter_query *query, tb_meter_window **ret_windows,
                               size_t *ret_n, tb_error *err)
{
    windows w = {.store = store, .q = query};
    tb_code code = check(query, err);
    const bool own = !code && sqlite3_get_autocommit(store->db);
    if (own) code = tb_store_read_begin(store, err);
    if (!code) code = make_windows(&w, err);
    if (own) tb_store_read_end(store);
    tb__meter_list_release(&w.list);
    free(w.bound);
    free(w.value);
    free(w.interval);
    if (code) {
        free(w.out);
        return code;
    }
    *ret_windows = w.out;
    *ret_n = w.n_out;
    return TB_OK;
}

tb_code tb_store_meters_used(tb_store *store, int64_t account, int64_t **ret_meters, size_t *ret_n, tb_error *err)
{
    return tb__list_ints(store, TB__SQL_METERS_USED, &account, 1, ret_meters, ret_n, err);
}

tb_code tb_store_bandwidth_samples(tb_store *store, int64_t account, int64_t zone, int64_t month, uint64_t *value, tb_error *err)
{
    tb__slots slots = {0, tb_month_first_day(month) * 24,
                       (uint32_t)(tb_month_first_day(month + 1) - tb_month_first_day(month)) * 24, TB__METER_COLUMN, TB_METER_SLOTS};
    tb__meter_list list = {.series = NULL};
    char name[24] = "";
    sqlite3_stmt *s;
    if (zone != TB_ALL) snprintf(name, sizeof name, "%" PRId64, zone);
    tb_code code = tb__sql_ints(store, TB__SQL_BANDWIDTH_SERIES, &account, 1, &s, err);
    if (code) return code;
    sqlite3_bind_text(s, 2, name, -1, SQLITE_STATIC);
    code = tb__meter_list_read(store, s, &list, err);
    for (size_t i = 0; !code && i < list.n_series; i++) {
        slots.series = list.series[i].series;
        code = tb__slots_add(store, &slots, value, err);
    }
    tb__meter_list_release(&list);
    return code;
}
