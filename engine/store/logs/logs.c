/* Blocks of request logs in the file: their rows, and dropping them. */
#include "store/core/seal.h"
#include "store/core/trees.h"
#include "store/logs/blocks.h"
#include "store/logs/log_run.h"
#include "store/logs/segment.h"
#include "tollbook/retain.h"
#include "tollbook/intake.h"
#include "tollbook/logstore.h"

#include <stdlib.h>
#include <string.h>

#define HOUR_MS INT64_C(3600000)
#define FOLD    INT64_C(0x7fffffff)

tb_log_privacy tb__log_privacy(bool hides, bool drops)
{
    return !hides ? TB_LOG_IP_WHOLE : drops ? TB_LOG_IP_NONE : TB_LOG_IP_SHORT;
}

/* --- rows --- */

int64_t tb__log_tree_zone(int64_t zone)
{
    return zone % FOLD;
}

int64_t tb__seal_log(int64_t id, int64_t zone, int64_t first_ms, int64_t last_ms, int64_t lines,
                     const void *data, size_t len)
{
    const int64_t numbers[] = {id, zone, first_ms, last_ms, lines, (int64_t)len};
    return tb__seal(data, len, tb__seal(numbers, sizeof numbers, 0));
}

static int64_t hour_of(int64_t ms)
{
    return tb__floor_div(ms, HOUR_MS);
}

/* rtree_i32 wraps what does not fit, silently. */
static tb_code insert_span(tb_store *store, int64_t id, const tb_loginfo *info, tb_error *err)
{
    const int64_t values[] = {id, tb__log_tree_zone(info->zone), hour_of(info->first_ms),
                              hour_of(info->last_ms)};
    for (int i = 1; i < 4; i++)
        if (values[i] < 0 || values[i] > INT32_MAX)
            return tb_fail(err, TB_E_INTERNAL, NULL, "A block of request logs lies out of time.");
    return tb__run_ints(store, TB__SQL_LOG_SPAN_INSERT, values, 4, err);
}

tb_code tb__log_insert(tb_store *store, int64_t id, const tb_loginfo *info, const void *bytes,
                       size_t len, tb_error *err)
{
    sqlite3_stmt *s;
    const int64_t seal = tb__seal_log(id, info->zone, info->first_ms, info->last_ms, info->lines,
                                      bytes, len);
    tb_code code = tb__sql(store, TB__SQL_LOG_INSERT, &s, err);
    if (code) return code;
    sqlite3_bind_int64(s, 1, id);
    sqlite3_bind_int64(s, 2, info->zone);
    sqlite3_bind_int64(s, 3, info->first_ms);
    sqlite3_bind_int64(s, 4, info->last_ms);
    sqlite3_bind_int64(s, 5, info->lines);
    sqlite3_bind_int64(s, 6, seal);
    sqlite3_bind_blob64(s, 7, bytes, len, SQLITE_STATIC);
    code = tb__run(store, s, err);
    if (!code) code = insert_span(store, id, info, err);
    tb__seal_come(&store->seal_sums, TB__SUM_LOGS, seal);
    store->dirty = true;
    return code;
}

tb_code tb__log_delete(tb_store *store, int64_t id, int64_t seal, tb_error *err)
{
    tb__tree_path path;
    tb_code code = tb__run_ints(store, TB__SQL_LOG_DELETE, &id, 1, err);
    if (!code) code = tb__log_tree_path(store, id, &path, err);
    if (!code) code = tb__run_ints(store, TB__SQL_LOG_SPAN_DELETE, &id, 1, err);
    if (!code) code = tb__log_tree_wipe(store, &path, err);
    tb__seal_gone(&store->seal_sums, TB__SUM_LOGS, seal);
    store->dirty = true;
    return code;
}

tb_code tb__log_open(tb_store *store, int64_t id, tb_logblock *block, int64_t *ret_seal,
                     tb_error *err)
{
    sqlite3_stmt *s;
    bool row;
    tb_code code = tb__sql_ints(store, TB__SQL_LOG_GET, &id, 1, &s, err);
    if (!code) code = tb__step(store, s, &row, err);
    if (code) return code;
    if (!row) return tb_fail(err, TB_E_CORRUPT, "log_block", "A block of request logs is gone.");
    *ret_seal = sqlite3_column_int64(s, 1);
    const void *data = sqlite3_column_blob(s, 2);
    const int len = sqlite3_column_bytes(s, 2);
    code = data ? tb_logblock_open(block, data, (size_t)len, sqlite3_column_int64(s, 0), err)
                : tb_no_memory(err);
    sqlite3_reset(s);
    return code;
}

/* While runs are pending a block is one of them, so that its lines do not overtake theirs. */
static tb_code add_block(tb_store *store, const tb_loginfo *info, const void *bytes, size_t len,
                         tb_error *err)
{
    const tb_text block = {bytes, len};
    bool pending = false;
    tb_code code = tb__log_append_block(store, info, block, &pending, err);
    return code || pending ? code : tb__log_place_block(store, info, block, err);
}

/* --- dropping --- */

#define DROP_AT_ONCE 256

/* Some of the old ones; a statement that is being read is not deleted from. */
static tb_code list_old(tb_store *store, int64_t before_ms, int64_t (*list)[2], size_t most, size_t *ret_n,
                        tb_error *err)
{
    sqlite3_stmt *s;
    bool row = true;
    size_t n = 0;
    tb_code code = tb__sql_ints(store, TB__SQL_LOG_OLD, &before_ms, 1, &s, err);
    while (!code && n < most && !(code = tb__step(store, s, &row, err)) && row) {
        list[n][0] = sqlite3_column_int64(s, 0);
        list[n++][1] = sqlite3_column_int64(s, 1);
    }
    if (!code) sqlite3_reset(s);
    *ret_n = n;
    return code;
}

static tb_code add_older(tb_store *store, tb__statement which, int64_t before_ms,
                         uint64_t *ret_blocks, uint64_t *ret_bytes, tb_error *err)
{
    sqlite3_stmt *s;
    bool row;
    tb_code code = tb__sql_ints(store, which, &before_ms, 1, &s, err);
    if (!code) code = tb__step(store, s, &row, err);
    if (code) return code;
    *ret_blocks += (uint64_t)sqlite3_column_int64(s, 0);
    *ret_bytes += (uint64_t)sqlite3_column_int64(s, 1);
    sqlite3_reset(s);
    return TB_OK;
}

static tb_code older_blocks(tb_store *store, int64_t before_ms, uint64_t *ret_blocks,
                            uint64_t *ret_bytes, tb_error *err)
{
    *ret_blocks = *ret_bytes = 0;
    tb_code code = add_older(store, TB__SQL_LOG_OLD_SIZE, before_ms, ret_blocks, ret_bytes, err);
    return code ? code
                : add_older(store, TB__SQL_LOG_RUN_OLD_SIZE, before_ms, ret_blocks, ret_bytes, err);
}

static tb_code drop_blocks(tb_store *store, int64_t before_ms, size_t *room, uint64_t *ret_dropped,
                           tb_error *err)
{
    int64_t list[DROP_AT_ONCE][2];
    size_t n = DROP_AT_ONCE;
    uint64_t dropped = 0;
    tb_code code = tb__log_runs_drop(store, before_ms, room, &dropped, err);
    while (!code && n == DROP_AT_ONCE) {
        code = list_old(store, before_ms, list, *room < DROP_AT_ONCE ? *room : DROP_AT_ONCE, &n, err);
        for (size_t i = 0; !code && i < n; i++)
            code = tb__log_delete(store, list[i][0], list[i][1], err);
        dropped += n;
        *room -= n;
    }
    if (dropped) store->scrub = true;
    if (!code && ret_dropped) *ret_dropped = dropped;
    return code;
}

static tb_code count_blocks(tb_store *store, int64_t account, uint64_t *ret_blocks, tb_error *err)
{
    int64_t blocks = 0;
    tb__log_held held = {0, 0};
    tb_code code = tb__int_of(store, TB__SQL_FORGET_LOGS_COUNT, &account, 1, 0, &blocks, err);
    if (!code) code = tb__log_runs_held(store, account, &held, err);
    *ret_blocks = (uint64_t)blocks + held.blocks;
    return code;
}

tb_code tb__forget_blocks(tb_store *store, tb__statement which, int64_t account, size_t *room,
                          tb__block_fn *fn, tb_error *err)
{
    const size_t most = *room < TB_FORGET_AT_ONCE ? *room : TB_FORGET_AT_ONCE;
    const int64_t values[2] = {account, (int64_t)most};
    int64_t block[TB_FORGET_AT_ONCE][2];
    size_t n = 0;
    sqlite3_stmt *s;
    bool row = true;
    tb_code code = tb__sql_ints(store, which, values, 2, &s, err);
    while (!code && !(code = tb__step(store, s, &row, err)) && row) {
        block[n][0] = sqlite3_column_int64(s, 0);
        block[n++][1] = sqlite3_column_int64(s, 1);
    }
    for (size_t i = 0; !code && i < n; i++)
        code = fn(store, block[i][0], block[i][1], err);
    store->scrub |= n > 0;
    *room -= n;
    return code;
}

/* Pending lines of it, or obsolete runs that are not overwritten, take all room of a call. */
static tb_code forget_blocks(tb_store *store, int64_t account, size_t *room, tb_error *err)
{
    tb__log_held held;
    bool more;
    tb_code code = tb__log_runs_held(store, account, &held, err);
    if (!code && !held.last)
        return tb__forget_blocks(store, TB__SQL_FORGET_LOGS, account, room, tb__log_delete, err);
    *room = 0;
    store->scrub = true;
    return code ? code : tb__log_compact_part(store, &held.last, &more, err);
}

const tb__log_lines tb__file_logs = {
    .add = add_block,
    .mix = tb__log_append_mixed,
    .compact = tb__log_compact_part,
    .subtract = tb__log_rows_subtract,
    .drop = drop_blocks,
    .older = older_blocks,
    .count = count_blocks,
    .forget = forget_blocks,
    .search = tb__log_search,
    .next = tb__log_next,
    .line = tb__log_line,
    .sum = tb__log_sum,
    .bytes = tb__log_bytes,
    .free = tb__log_free,
};
