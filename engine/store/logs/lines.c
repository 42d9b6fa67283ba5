/* Request logs, wherever the usage plane (core/plane.h) keeps them. */
#include "store/core/internal.h"
#include "store/logs/segment.h"
#include "tollbook/retain.h"
#include "tollbook/withdraw.h"

tb_code tb_store_log_zone(tb_store *store, int64_t account, int64_t zone, tb_log_zone *ret_zone,
                          tb_error *err)
{
    const int64_t values[2] = {account, zone};
    sqlite3_stmt *s;
    bool row = false;
    tb_code code = tb__sql_ints(store, TB__SQL_LOG_ZONE, values, 2, &s, err);
    if (!code) code = tb__step(store, s, &row, err);
    if (code) return code;
    if (!row) return tb_fail(err, TB_E_ZONE_NOT_FOUND, "PullZone", NULL);
    *ret_zone = (tb_log_zone){.logging = sqlite3_column_int(s, 0) != 0,
                              .active = sqlite3_column_int(s, 1) != 0,
                              .extended = sqlite3_column_int(s, 2) != 0,
                              .privacy = tb__log_privacy(sqlite3_column_int(s, 3) != 0,
                                                         sqlite3_column_int(s, 4) != 0)};
    sqlite3_reset(s);
    return TB_OK;
}

tb_code tb_store_add_logs(tb_store *store, const tb_loginfo *info, const void *bytes, size_t len,
                          tb_error *err)
{
    return store->plane.logs->add(store, info, bytes, len, err);
}

tb_code tb_store_mix_logs(tb_store *store, const tb_logmixed *mixed, tb_error *err)
{
    return store->plane.logs->mix(store, mixed, err);
}

bool tb_store_mixes_logs(const tb_store *store)
{
    return store->plane.logs->mix != NULL;
}

tb_code tb_store_withdraw_logs(tb_store *store, const tb_loginfo *info, const void *bytes,
                               size_t len, uint64_t *removed, tb_error *err)
{
    return store->plane.logs->subtract(store, info, bytes, len, removed, err);
}

tb_code tb_store_drop_logs(tb_store *store, int64_t now_ms, uint64_t *ret_dropped, tb_error *err)
{
    int64_t before_ms;
    size_t room = SIZE_MAX;
    if (__builtin_sub_overflow(now_ms, TB_LOG_KEPT_MS, &before_ms)) before_ms = INT64_MIN;
    return tb_store_drop_some_logs(store, before_ms, &room, ret_dropped, err);
}

tb_code tb_store_drop_some_logs(tb_store *store, int64_t before_ms, size_t *room, uint64_t *ret_dropped,
                                tb_error *err)
{
    return store->plane.logs->drop(store, before_ms, room, ret_dropped, err);
}

tb_code tb_store_logs_before(tb_store *store, int64_t before_ms, uint64_t *ret_blocks,
                             uint64_t *ret_bytes, tb_error *err)
{
    return store->plane.logs->older(store, before_ms, ret_blocks, ret_bytes, err);
}

tb_code tb_store_forget_logs(tb_store *store, int64_t account, size_t *room, tb_error *err)
{
    return store->plane.logs->forget(store, account, room, err);
}

/* --- reading --- */

tb_code tb_store_logs(tb_store *store, int64_t zone, const tb_log_filter *filter, bool descending,
                      tb_log_cursor **ret_cursor, tb_error *err)
{
    return store->plane.logs->search(store, zone, filter, descending, ret_cursor, err);
}

size_t tb_log_cursor_bytes(const tb_log_cursor *cursor)
{
    return cursor->of->bytes(cursor);
}

void tb_log_cursor_free(tb_log_cursor *cursor)
{
    if (cursor) cursor->of->free(cursor);
}

tb_code tb_log_next(tb_log_cursor *cursor, tb_log_step *ret_step, tb_error *err)
{
    return cursor->of->next(cursor, ret_step, err);
}

tb_code tb_log_line(tb_log_cursor *cursor, tb_logrow *ret_row, tb_error *err)
{
    return cursor->of->line(cursor, ret_row, err);
}

tb_code tb_log_sum(tb_log_cursor *cursor, tb_logsum *sum, bool *ret_end, tb_error *err)
{
    return cursor->of->sum(cursor, sum, ret_end, err);
}
