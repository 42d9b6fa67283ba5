/* Answers of the file's usage plane beside whole series (read.c) and sums of many (totals.c): one counter of a month or
 * a day, the bytes of a view's locations, and which accounts and months there is usage of. Each is the rows of base with their
 * pending entries. */
#include "store/usage/file.h"

#include "store/usage/batch.h"
#include "tollbook/buf.h"
#include "tollbook/calendar.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* --- one counter of a chunk --- */

static tb_code add_pending_slots(tb_store *store, int64_t key, tb_metric metric, uint64_t *out, tb_error *err)
{
    tb__lsm *lsm = &store->usage->lsm;
    tb_grid more;
    tb_code code = tb__lsm_load(lsm, TB__LSM_COUNTERS, err);
    if (code || !lsm->of[TB__LSM_COUNTERS].n) return code;
    tb_grid_clear(&more);
    code = tb__pending_merge(lsm, key, &more, err);
    if (code || !(more.metrics & TB_METRIC_BIT(metric))) return code;
    for (uint32_t left = more.slots; left; left &= left - 1)
        out[__builtin_ctz(left)] += more.v[metric][__builtin_ctz(left)];
    return TB_OK;
}

/* Reads the slots of one counter of one chunk into out, which stays zero if there is no row. */
static tb_code read_slots(tb_store *store, int64_t key, tb_metric metric, unsigned count,
                          uint64_t *out, tb_error *err)
{
    uint64_t *column[TB_METRIC_COUNT] = {NULL};
    sqlite3_stmt *s;
    bool there = false;
    column[metric] = out;
    tb_code code = tb__sql_ints(store, TB__SQL_CHUNK_GET, &key, 1, &s, err);
    if (!code) code = tb__step(store, s, &there, err);
    if (!code && there) {
        code = tb__chunk_columns(sqlite3_column_blob(s, 0), (size_t)sqlite3_column_bytes(s, 0), key,
                                 TB_METRIC_BIT(metric), 0, count, column, 0, err);
        sqlite3_reset(s);
    }
    return code ? code : add_pending_slots(store, key, metric, out, err);
}

tb_code tb__chunks_days(tb_store *store, int64_t series, tb_metric metric, int64_t month,
                        uint64_t days[32], tb_error *err)
{
    memset(days, 0, 32 * sizeof *days);
    if (!series || month < 0 || month > TB__INDEX_MAX) return TB_OK;
    int64_t count = tb_month_first_day(month + 1) - tb_month_first_day(month);
    return read_slots(store, tb__chunk_key(series, TB__GRAIN_DAYS, month), metric, (unsigned)count,
                      days, err);
}

tb_code tb__chunks_hours(tb_store *store, int64_t series, tb_metric metric, int64_t day,
                         uint64_t hours[32], tb_error *err)
{
    memset(hours, 0, 32 * sizeof *hours);
    return read_slots(store, tb__chunk_key(series, TB__GRAIN_HOURS, day), metric, 24, hours, err);
}

/* --- the bytes of locations --- */

static tb_code bytes_in(tb_store *store, int64_t id, tb_range range, tb_u128 *sum, tb_error *err)
{
    tb_series series;
    if (range.count == 0) return TB_OK;
    tb_code code = tb_series_init(&series, range, TB_METRIC_BIT(TB_M_BYTES), NULL, err);
    if (code) return code;
    code = tb__read_rows(store, id, &series, err);
    *sum += tb_series_total(&series, TB_M_BYTES);
    tb_series_release(&series);
    return code;
}

/* Whole days of an hourly range are read from the days' chunks: a twentieth of the rows. */
static tb_code bytes_over(tb_store *store, int64_t id, tb_range range, tb_u128 *sum, tb_error *err)
{
    int64_t end = range.first + range.count;
    int64_t day = tb__floor_div(range.first + 23, 24), last = tb__floor_div(end, 24);
    if (!range.hourly || day >= last) return bytes_in(store, id, range, sum, err);
    tb_range before = {range.first, (uint32_t)(day * 24 - range.first), true};
    tb_range days = {day, (uint32_t)(last - day), false};
    tb_range after = {last * 24, (uint32_t)(end - last * 24), true};
    tb_code code = bytes_in(store, id, before, sum, err);
    if (!code) code = bytes_in(store, id, days, sum, err);
    return code ? code : bytes_in(store, id, after, sum, err);
}

static int by_series(const void *a, const void *b)
{
    int64_t x = ((const tb__located *)a)->series, y = ((const tb__located *)b)->series;
    return x < y ? -1 : x > y;
}

/* Adds pending entries of a range to the locations. */
typedef struct pending_geo {
    tb__located *list; /* ascending by series */
    size_t n;
    size_t from, at; /* in the list: the first series of the span, and where the last entry was looked for */
    tb_range range;
} pending_geo;

/* The slots of an entry's day that are in the range. */
static uint32_t slots_within(tb_range range, int64_t day)
{
    const int64_t end = range.first + range.count;
    uint32_t slots = 0;
    if (!range.hourly) return day >= range.first && day < end ? UINT32_MAX : 0;
    if (day * 24 >= range.first && day * 24 + 24 <= end) return UINT32_MAX;
    for (int64_t slot = 0; slot < 24; slot++)
        if (day * 24 + slot >= range.first && day * 24 + slot < end) slots |= UINT32_C(1) << slot;
    return slots;
}

static tb_code add_pending_bytes(void *ctx, const tb__lsm_entry *entry, tb_error *err)
{
    pending_geo *w = ctx;
    const int64_t series = entry->key.owner;
    /* Entries ascend within a run, so each search starts after the last match; the next run starts from the beginning. */
    if (w->at == w->n || w->list[w->at].series > series) w->at = w->from;
    while (w->at < w->n && w->list[w->at].series < series)
        w->at++;
    if (w->at == w->n || w->list[w->at].series != series) return TB_OK;
    const uint32_t slots = slots_within(w->range, entry->key.index);
    uint64_t sum[TB_METRIC_COUNT] = {0};
    if (!slots) return TB_OK;
    if (!tb__entry_sum_grid(entry->data, entry->len, TB_METRIC_BIT(TB_M_BYTES), slots, sum)) return tb__entry_damaged(err);
    w->list[w->at].bytes += sum[TB_M_BYTES];
    return TB_OK;
}

/* An owner's series are adjacent, so each block of them is queried once. */
static tb_code pending_over(tb_store *store, pending_geo *w, tb_error *err)
{
    const int64_t unit = w->range.hourly ? 24 : 1;
    const int64_t end = w->range.first + w->range.count - 1;
    const int64_t first = tb__floor_div(w->range.first, unit), last = tb__floor_div(end, unit);
    tb_code code = TB_OK;
    qsort(w->list, w->n, sizeof *w->list, by_series);
    for (size_t i = 0, n; !code && i < w->n; i += n) {
        const int64_t block = w->list[i].series / TB__SERIES_BLOCK;
        for (n = 1; i + n < w->n && w->list[i + n].series / TB__SERIES_BLOCK == block;)
            n++;
        w->from = w->at = i;
        const tb__lsm_span span = {{w->list[i].series, first}, {w->list[i + n - 1].series, last}};
        code = tb__lsm_each(&store->usage->lsm, TB__LSM_COUNTERS, span, add_pending_bytes, w, err);
    }
    return code;
}

tb_code tb__chunks_located(tb_store *store, const tb__asked *asked, tb_range range, tb_error *err)
{
    (void)asked;
    tb__located *list = store->located;
    pending_geo pending = {.list = list, .n = store->n_located, .range = range};
    tb_code code = TB_OK;
    for (size_t i = 0; !code && i < store->n_located; i++)
        code = bytes_over(store, list[i].series, range, &list[i].bytes, err);
    return code || !store->n_located || !range.count ? code : pending_over(store, &pending, err);
}

/* --- accounts of a month --- */

/* The series with pending entries of a month, as a JSON array. */
typedef struct series_list {
    int64_t first, end; /* days of the month */
    int64_t last;       /* the series that was added last */
    tb_buf json;
} series_list;

static tb_code add_pending_series(void *ctx, const tb__lsm_entry *entry, tb_error *err)
{
    series_list *l = ctx;
    (void)err;
    if (entry->key.index < l->first || entry->key.index >= l->end || entry->key.owner == l->last)
        return TB_OK;
    tb_buf_fmt(&l->json, "%s%" PRId64, l->json.len > 1 ? "," : "", entry->key.owner);
    l->last = entry->key.owner;
    return TB_OK;
}

tb_code tb__accounts_billed(tb_store *store, int64_t month, const tb_buf *pending,
                            int64_t **ret_accounts, size_t *ret_n, tb_error *err)
{
    const int64_t values[3] = {tb_month_start_us(month), tb_month_start_us(month + 1), month};
    sqlite3_stmt *s;
    tb_code code = tb__sql_ints(store, TB__SQL_BILLED_ACCOUNTS, values, 3, &s, err);
    if (code) return code;
    sqlite3_bind_text(s, 4, pending->data, (int)pending->len, SQLITE_STATIC);
    return tb__collect(store, s, &tb__int_rows, ret_accounts, ret_n, err);
}

tb_code tb__chunks_billed(tb_store *store, int64_t month, int64_t **ret_accounts, size_t *ret_n,
                          tb_error *err)
{
    const tb__lsm_span all = {{INT64_MIN, INT64_MIN}, {INT64_MAX, INT64_MAX}};
    series_list l = {.first = tb_month_first_day(month), .end = tb_month_first_day(month + 1)};
    tb_buf_init(&l.json, 256 << 20, NULL);
    tb_buf_str(&l.json, "[");
    tb_code code = tb__lsm_each(&store->usage->lsm, TB__LSM_COUNTERS, all, add_pending_series, &l, err);
    tb_buf_str(&l.json, "]");
    if (!code) code = tb_buf_check(&l.json, err);
    if (!code) code = tb__accounts_billed(store, month, &l.json, ret_accounts, ret_n, err);
    tb_buf_release(&l.json);
    return code;
}

tb_code tb__chunks_first_month(tb_store *store, int64_t account, int64_t *ret_month, tb_error *err)
{
    return tb__int_of(store, TB__SQL_RETAIN_FIRST, &account, 1, -1, ret_month, err);
}
