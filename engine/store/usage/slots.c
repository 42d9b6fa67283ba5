/* One counter of a chunk's slots: the row, and what waits of it. And which accounts and months there is
 * usage of. */
#include "store/usage/batch.h"
#include "store/usage/file.h"
#include "tollbook/buf.h"
#include "tollbook/calendar.h"

#include <inttypes.h>
#include <string.h>

/* What waits of the chunk. */
static tb_code add_waiting(tb_store *store, int64_t key, tb_metric metric, uint64_t *out,
                           tb_error *err)
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
    return code ? code : add_waiting(store, key, metric, out, err);
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

/* --- accounts of a month --- */

typedef struct series_list {
    int64_t first, end; /* days of the month */
    int64_t last;       /* the series that was added last */
    tb_buf json;
} series_list;

static tb_code add_waiting_series(void *ctx, const tb__lsm_entry *entry, tb_error *err)
{
    series_list *l = ctx;
    (void)err;
    if (entry->key.index < l->first || entry->key.index >= l->end || entry->key.owner == l->last)
        return TB_OK;
    tb_buf_fmt(&l->json, "%s%" PRId64, l->json.len > 1 ? "," : "", entry->key.owner);
    l->last = entry->key.owner;
    return TB_OK;
}

/* The series of which something of the month waits, as a JSON array. */
static tb_code waiting_series(tb_store *store, int64_t month, tb_buf *out, tb_error *err)
{
    const tb__lsm_span all = {{INT64_MIN, INT64_MIN}, {INT64_MAX, INT64_MAX}};
    series_list l = {tb_month_first_day(month), tb_month_first_day(month + 1), 0, *out};
    tb_buf_str(&l.json, "[");
    tb_code code = tb__lsm_each(&store->usage->lsm, TB__LSM_COUNTERS, all, add_waiting_series, &l,
                                 err);
    tb_buf_str(&l.json, "]");
    *out = l.json;
    return code ? code : tb_buf_check(out, err);
}

tb_code tb__accounts_billed(tb_store *store, int64_t month, const tb_buf *waiting,
                            int64_t **ret_accounts, size_t *ret_n, tb_error *err)
{
    const int64_t values[3] = {tb_month_start_us(month), tb_month_start_us(month + 1), month};
    sqlite3_stmt *s;
    tb_code code = tb__sql_ints(store, TB__SQL_BILLED_ACCOUNTS, values, 3, &s, err);
    if (code) return code;
    sqlite3_bind_text(s, 4, waiting->data, (int)waiting->len, SQLITE_STATIC);
    return tb__collect(store, s, &tb__int_rows, ret_accounts, ret_n, err);
}

tb_code tb__chunks_billed(tb_store *store, int64_t month, int64_t **ret_accounts, size_t *ret_n,
                          tb_error *err)
{
    tb_buf waiting;
    tb_buf_init(&waiting, 256 << 20, NULL);
    tb_code code = waiting_series(store, month, &waiting, err);
    if (!code) code = tb__accounts_billed(store, month, &waiting, ret_accounts, ret_n, err);
    tb_buf_release(&waiting);
    return code;
}

tb_code tb__chunks_first_month(tb_store *store, int64_t account, int64_t *ret_month, tb_error *err)
{
    return tb__int_of(store, TB__SQL_RETAIN_FIRST, &account, 1, -1, ret_month, err);
}
