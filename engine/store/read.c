/* Reading: a view (account, zone, region) resolves to one series, a range to its chunks, and the
 * chunks unpack straight into the caller's columns. Every statement binds the account. */
#include "store/internal.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

tb_code tb_store_version(tb_store *store, uint64_t *ret_version, tb_error *err)
{
    int64_t value = 0;
    tb_code code = tb__meta_get(store, "data_version", &value, err);
    if (!code) *ret_version = (uint64_t)value;
    return code;
}

tb_code tb_store_account_exists(tb_store *store, int64_t account, bool *ret_exists, tb_error *err)
{
    int64_t found = 0;
    tb_code code = tb__int_of(store, TB__SQL_ACCOUNT_EXISTS, &account, 1, 0, &found, err);
    if (!code) *ret_exists = found != 0;
    return code;
}

tb_code tb_store_view_check(tb_store *store, const tb_view *view, tb_error *err)
{
    if (view->zone == TB_ALL) return TB_OK;
    const int64_t values[2] = {view->account, view->zone};
    int64_t found = 0;
    tb_code code = tb__int_of(store, TB__SQL_ZONE_OF_ACCOUNT, values, 2, 0, &found, err);
    return code || found ? code : tb_fail(err, TB_E_ZONE_NOT_FOUND, "PullZone", NULL);
}

/* The series of a view; 0 where nothing was ever counted for it. */
static tb_code view_series(tb_store *store, const tb_view *view, int64_t *ret_series, tb_error *err)
{
    const int64_t values[3] = {view->account, view->zone, view->region};
    static const tb__statement by[2][2] = {
        {TB__SQL_ACCOUNT_SERIES_ALL, TB__SQL_ACCOUNT_SERIES_REGION},
        {TB__SQL_ZONE_SERIES_ALL, TB__SQL_ZONE_SERIES_REGION},
    };
    bool zone = view->zone != TB_ALL, region = view->region != TB_ALL;
    return tb__int_of(store, by[zone][region], values, region ? 3 : zone ? 2 : 1, 0, ret_series,
                      err);
}

/* Unpacks one chunk's part of the range. `start` is the chunk's first bucket, `slots` its length. */
static tb_code unpack(sqlite3_stmt *s, int64_t key, uint32_t metrics, int64_t start, int64_t slots,
                      tb_series *series, tb_error *err)
{
    int64_t end = series->range.first + series->range.count;
    int64_t from = start > series->range.first ? start : series->range.first;
    int64_t to = start + slots < end ? start + slots : end;
    if (from >= to) return TB_OK;
    return tb__chunk_columns(sqlite3_column_blob(s, 1), (size_t)sqlite3_column_bytes(s, 1), key,
                             metrics, (unsigned)(from - start), (unsigned)(to - from),
                             series->value, (size_t)(from - series->range.first), err);
}

static int64_t floor_div(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

/* Ranges before 1970 or past the key's bits hold nothing: the span is cut to what can be stored. */
static bool chunk_span(const tb_range *range, int64_t *first, int64_t *last)
{
    int64_t end = range->first + range->count - 1;
    *first = range->hourly ? floor_div(range->first, 24) : tb_month_from_day(range->first);
    *last = range->hourly ? floor_div(end, 24) : tb_month_from_day(end);
    if (*first < 0) *first = 0;
    if (*last > TB__INDEX_MAX) *last = TB__INDEX_MAX;
    return *first <= *last;
}

static tb_code read_chunks(tb_store *store, int64_t id, tb_series *series, tb_error *err)
{
    int64_t first, last;
    if (!id || !chunk_span(&series->range, &first, &last)) return TB_OK;
    uint32_t metrics = 0;
    for (int m = 0; m < TB_METRIC_COUNT; m++)
        if (series->value[m]) metrics |= TB_METRIC_BIT(m);
    bool hourly = series->range.hourly;
    int grain = hourly ? TB__GRAIN_HOURS : TB__GRAIN_DAYS;
    const int64_t span[2] = {tb__chunk_key(id, grain, first), tb__chunk_key(id, grain, last)};
    sqlite3_stmt *s;
    bool row = true;
    tb_code code = tb__sql_ints(store, TB__SQL_CHUNK_SPAN, span, 2, &s, err);
    while (!code && !(code = tb__step(store, s, &row, err)) && row) {
        int64_t key = sqlite3_column_int64(s, 0), index = tb__key_index(key);
        int64_t start = hourly ? index * 24 : tb_month_first_day(index);
        int64_t slots = hourly ? 24 : tb_month_first_day(index + 1) - start;
        code = unpack(s, key, metrics, start, slots, series, err);
        if (code) sqlite3_reset(s);
    }
    return code;
}

tb_code tb_store_read_series(tb_store *store, const tb_view *view, tb_series *series, tb_error *err)
{
    int64_t id = 0;
    tb_code code = view_series(store, view, &id, err);
    return code ? code : read_chunks(store, id, series, err);
}

/* --- bytes per region --- */

static tb_code bytes_in(tb_store *store, int64_t id, tb_range range, tb_u128 *sum, tb_error *err)
{
    tb_series series;
    if (range.count == 0) return TB_OK;
    tb_code code = tb_series_init(&series, range, TB_METRIC_BIT(TB_M_BYTES), NULL, err);
    if (code) return code;
    code = read_chunks(store, id, &series, err);
    *sum += tb_series_total(&series, TB_M_BYTES);
    tb_series_release(&series);
    return code;
}

/* Whole days of an hourly range are read from the days' chunks: a twentieth of the rows. */
static tb_code bytes_over(tb_store *store, int64_t id, tb_range range, tb_u128 *sum, tb_error *err)
{
    int64_t end = range.first + range.count;
    int64_t day = floor_div(range.first + 23, 24), last = floor_div(end, 24);
    if (!range.hourly || day >= last) return bytes_in(store, id, range, sum, err);
    tb_range before = {range.first, (uint32_t)(day * 24 - range.first), true};
    tb_range days = {day, (uint32_t)(last - day), false};
    tb_range after = {last * 24, (uint32_t)(end - last * 24), true};
    tb_code code = bytes_in(store, id, before, sum, err);
    if (!code) code = bytes_in(store, id, days, sum, err);
    return code ? code : bytes_in(store, id, after, sum, err);
}

typedef struct location {
    int64_t series;
    char name[TB_REGION_NAME_MAX];
    tb_u128 bytes;
} location;

/* The view's locations, ascending by name. */
static tb_code list_locations(tb_store *store, const tb_view *view, location **ret, size_t *ret_n,
                              tb_error *err)
{
    const int64_t values[3] = {view->account, view->zone, view->region};
    sqlite3_stmt *s;
    bool row = true;
    size_t cap = 0;
    tb_code code = tb__sql_ints(
        store, view->zone == TB_ALL ? TB__SQL_ACCOUNT_LOCATIONS : TB__SQL_ZONE_LOCATIONS, values, 3,
        &s, err);
    while (!code && !(code = tb__step(store, s, &row, err)) && row) {
        if (*ret_n == cap) {
            cap = cap ? cap * 2 : 64;
            location *more = realloc(*ret, cap * sizeof *more);
            if (!more) {
                sqlite3_reset(s);
                return tb_fail(err, TB_E_NOMEM, NULL, NULL);
            }
            *ret = more;
        }
        location *l = &(*ret)[(*ret_n)++];
        memset(l, 0, sizeof *l);
        l->series = sqlite3_column_int64(s, 0);
        const char *name = (const char *)sqlite3_column_text(s, 1);
        memcpy(l->name, name ? name : "",
               name ? strnlen(name, sizeof l->name - 1) : 0);
    }
    return code;
}

/* One block: the array, then the names. Locations of one region are added up. */
static tb_code pack_geo(const location *list, size_t n, tb_geo **ret_geo, size_t *ret_n,
                        tb_error *err)
{
    tb_geo *geo = calloc(n + 1, sizeof *geo + TB_REGION_NAME_MAX);
    if (!geo) return tb_fail(err, TB_E_NOMEM, NULL, NULL);
    char *names = (char *)(geo + n);
    size_t out = 0;
    for (size_t i = 0; i < n; i++) {
        if (out && strcmp(geo[out - 1].name, list[i].name) == 0) {
            geo[out - 1].bytes += list[i].bytes;
            continue;
        }
        char *name = names + out * TB_REGION_NAME_MAX;
        memcpy(name, list[i].name, TB_REGION_NAME_MAX);
        geo[out++] = (tb_geo){name, list[i].bytes};
    }
    *ret_geo = geo;
    *ret_n = out;
    return TB_OK;
}

tb_code tb_store_read_geo(tb_store *store, const tb_view *view, tb_range range, tb_geo **ret_geo,
                          size_t *ret_n, tb_error *err)
{
    location *list = NULL;
    size_t n = 0;
    tb_code code = list_locations(store, view, &list, &n, err);
    for (size_t i = 0; !code && i < n; i++)
        code = bytes_over(store, list[i].series, range, &list[i].bytes, err);
    if (!code) code = pack_geo(list, n, ret_geo, ret_n, err);
    free(list);
    return code;
}

/* --- operator's figures --- */

static uint64_t size_of(const char *path, const char *suffix)
{
    char name[4096];
    struct stat st;
    size_t len = strlen(path), tail = strlen(suffix);
    if (len + tail >= sizeof name) return 0;
    memcpy(name, path, len);
    memcpy(name + len, suffix, tail + 1);
    return stat(name, &st) == 0 ? (uint64_t)st.st_size : 0;
}

tb_code tb_store_read_figures(tb_store *store, tb_store_figures *ret_figures, tb_error *err)
{
    tb_store_figures f = {.file_bytes = size_of(store->path, ""),
                          .wal_bytes = size_of(store->path, "-wal")};
    int64_t newest = 0, zones = 0, unassigned = 0, unpriced = 0;
    sqlite3_stmt *s;
    bool row;
    tb_code code = tb__meta_get(store, "newest_hour", &newest, err);
    if (!code) code = tb__int_of(store, TB__SQL_FIGURES_ZONES, NULL, 0, 0, &zones, err);
    if (!code) code = tb__int_of(store, TB__SQL_FIGURES_UNASSIGNED, NULL, 0, 0, &unassigned, err);
    if (!code) code = tb__int_of(store, TB__SQL_FIGURES_UNPRICED, NULL, 0, 0, &unpriced, err);
    if (!code) code = tb__sql(store, TB__SQL_FIGURES_SEGMENTS, &s, err);
    if (!code) code = tb__step(store, s, &row, err);
    if (code) return code;
    f.segments = (uint64_t)sqlite3_column_int64(s, 0);
    f.accepted = (uint64_t)sqlite3_column_int64(s, 1);
    f.rejected = (uint64_t)sqlite3_column_int64(s, 2);
    sqlite3_reset(s);
    f.newest_hour = newest < INT64_MIN / 2 ? INT64_MIN : newest;
    f.zones = (uint64_t)zones;
    f.unassigned_zones = (uint64_t)unassigned;
    f.unpriced_locations = (uint64_t)unpriced;
    *ret_figures = f;
    return TB_OK;
}
