/* Reading a series: a range resolves to its chunks, and the chunks unpack straight into the caller's
 * columns. Also a few figures for the operator. */
#include "store/core/held.h"
#include "store/core/internal.h"
#include "store/usage/batch.h"
#include "store/usage/file.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

tb_code tb_store_version(tb_store *store, uint64_t *ret_version, tb_error *err)
{
    const bool snapshot = !store->write && !sqlite3_get_autocommit(store->db); /* the value cannot change within it */
    int64_t value = (int64_t)store->read_version;
    tb_code code = TB_OK;
    if (!snapshot || !store->read_version_known) code = tb__meta_get(store, "data_version", &value, err);
    if (code) return code;
    *ret_version = store->read_version = (uint64_t)value;
    store->read_version_known = snapshot;
    return TB_OK;
}

tb_code tb_store_account_exists(tb_store *store, int64_t account, bool *ret_exists, tb_error *err)
{
    int64_t found = 0;
    tb_code code = tb__int_of(store, TB__SQL_ACCOUNT_EXISTS, &account, 1, 0, &found, err);
    if (!code) *ret_exists = found != 0;
    return code;
}

tb_code tb__no_account(const char *field, int64_t account, tb_error *err)
{
    return tb_fail(err, TB_E_NOT_FOUND, field, "There is no account %" PRId64 ".", account);
}

tb_code tb_store_need_account(tb_store *store, int64_t account, tb_error *err)
{
    bool exists;
    tb_code code = tb_store_account_exists(store, account, &exists, err);
    if (code || exists) return code;
    return tb_fail(err, TB_E_NOT_FOUND, "account",
                   "There is no account %" PRId64 ". Declare it first with: tollbook apply CATALOG.json",
                   account);
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

int64_t tb__floor_div(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

/* Ranges before 1970 or past the key's bits hold nothing: the span is cut to what can be stored. */
static bool chunk_span(const tb_range *range, int64_t *first, int64_t *last)
{
    int64_t end = range->first + range->count - 1;
    *first = range->hourly ? tb__floor_div(range->first, 24) : tb_month_from_day(range->first);
    *last = range->hourly ? tb__floor_div(end, 24) : tb_month_from_day(end);
    if (*first < 0) *first = 0;
    if (*last > TB__INDEX_MAX) *last = TB__INDEX_MAX;
    return *first <= *last;
}

/* Adds the pending entries to the rows of base; no sum can pass the limit (tb__usage_reserve). */
static tb_code add_pending(void *ctx, const tb__lsm_entry *entry, tb_error *err)
{
    tb_series *series = ctx;
    const tb_range *r = &series->range;
    const tb__entry_buckets to = {series->value, entry->key.index * (r->hourly ? 24 : 1) - r->first, r->count, r->hourly};
    return tb__entry_add_grid(entry->data, entry->len, &to) ? TB_OK : tb__entry_damaged(err);
}

static tb_code read_pending(tb_store *store, int64_t id, tb_series *series, tb_error *err)
{
    const tb_range *r = &series->range;
    const int64_t end = r->first + r->count - 1, unit = r->hourly ? 24 : 1;
    const tb__lsm_span span = {{id, tb__floor_div(r->first, unit)}, {id, tb__floor_div(end, unit)}};
    return tb__lsm_each(&store->usage->lsm, TB__LSM_COUNTERS, span, add_pending, series, err);
}

tb_code tb__read_chunks(tb_store *store, int64_t id, tb_series *series, tb_error *err)
{
    tb_code code = tb__read_rows(store, id, series, err);
    return code || !id ? code : read_pending(store, id, series, err);
}

tb_code tb__chunks_view(tb_store *store, const tb__asked *asked, tb_series *series, tb_error *err)
{
    return tb__read_chunks(store, asked->whole, series, err);
}

tb_code tb__read_rows(tb_store *store, int64_t id, tb_series *series, tb_error *err)
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

static int64_t moment_or_never(sqlite3_stmt *s, int column)
{
    return sqlite3_column_type(s, column) == SQLITE_NULL ? INT64_MIN
                                                         : sqlite3_column_int64(s, column);
}

tb_code tb_store_unpriced_locations(tb_store *store, int64_t most, tb_code_fn each, void *ctx,
                                    tb_error *err)
{
    sqlite3_stmt *s;
    bool row = false;
    tb_code code = tb__sql_ints(store, TB__SQL_UNPRICED_LOCATIONS, &most, 1, &s, err);
    while (!code && !(code = tb__step(store, s, &row, err)) && row)
        each(ctx, (const char *)sqlite3_column_text(s, 0));
    return code;
}

tb_code tb_store_read_figures(tb_store *store, tb_store_figures *ret_figures, tb_error *err)
{
    tb_store_figures f = {.file_bytes = size_of(tb__held_path(store->held), ""),
                          .wal_bytes = size_of(tb__held_path(store->held), "-wal")};
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
    f.newest_log_us = moment_or_never(s, 3);
    f.newest_buckets_us = moment_or_never(s, 4);
    sqlite3_reset(s);
    f.newest_hour = newest < INT64_MIN / 2 ? INT64_MIN : newest;
    f.zones = (uint64_t)zones;
    f.unassigned_zones = (uint64_t)unassigned;
    f.unpriced_locations = (uint64_t)unpriced;
    *ret_figures = f;
    return TB_OK;
}
