/* Writing request logs, taking them back, dropping them. */
#include "store/clickhouse/lines.h"
#include "store/logs/blocks.h"

#include <inttypes.h>
#include <stdlib.h>

tb_code tb__ch_log_tables(tb_store *store, size_t shard, tb_error *err)
{
    const char *name = tb__ch_of(store)->client->database;
    tb_buf *sql = tb__ch_start(store);
    tb_buf_fmt(sql, "CREATE TABLE IF NOT EXISTS %s.log(day Date,zone Int64,ts Int64,batch UInt64,row UInt32,"
                    "bytes UInt64,body_bytes UInt64", name);
    for (size_t i = 0; i < TB__CH_LOG_TEXTS; i++)
        tb_buf_fmt(sql, ",%s String", tb__ch_log_texts[i].name);
    tb_buf_str(sql, ",time DateTime ALIAS toDateTime(intDiv(ts,1000),'UTC'))ENGINE=ReplacingMergeTree"
                    " PARTITION BY day ORDER BY(zone,ts,batch,row)");
    tb_code code = tb__ch_ask(store, shard, err);
    sql = tb__ch_start(store);
    tb_buf_fmt(sql, "CREATE TABLE IF NOT EXISTS %s.log_gone(day Date,zone Int64,of_batch UInt64,of_row UInt32,"
                    "batch UInt64)ENGINE=ReplacingMergeTree PARTITION BY day ORDER BY(zone,of_batch,of_row,batch)",
               name);
    return code ? code : tb__ch_ask(store, shard, err);
}

static tb_code put_line(tb_buf *rows, int64_t zone, uint64_t batch, uint32_t number, const tb_logline *line,
                        tb_error *err)
{
    uint16_t day = 0;
    tb_code code = tb__ch_day(line->time_ms, &day, err);
    if (code) return code;
    tb__ch_put_u16(rows, day);
    tb__ch_put_u64(rows, (uint64_t)zone);
    tb__ch_put_u64(rows, (uint64_t)line->time_ms);
    tb__ch_put_u64(rows, batch);
    tb__ch_put_u32(rows, number);
    tb__ch_put_u64(rows, line->bytes);
    tb__ch_put_u64(rows, line->body_bytes);
    for (size_t i = 0; i < TB__CH_LOG_TEXTS; i++)
        tb__ch_put_text(rows, *(const tb_text *)(const void *)((const char *)line + tb__ch_log_texts[i].at));
    return TB_OK;
}

static tb_code add_block(tb_store *store, const tb_loginfo *info, const void *bytes, size_t len, tb_error *err)
{
    struct tb__clickhouse *ch = tb__ch_of(store);
    tb_logrow row;
    tb_logblock *block = tb_logblock_new();
    tb_code code = block ? tb__ch_begin(store, err) : tb_no_memory(err);
    if (!code) code = tb_logblock_open(block, bytes, len, info->zone, err);
    if (!code) {
        tb_buf *rows = &ch->rows[TB__CH_LOG][tb__ch_shard(store, TB__SCOPE_ZONE, info->zone)];
        const uint64_t id = (uint64_t)ch->next++;
        for (uint32_t i = 0; !code && i < info->lines; i++) {
            code = tb_logblock_row(block, i, &row, err);
            if (!code) code = put_line(rows, info->zone, id, i, &row.line, err);
        }
        if (!code) code = tb__ch_relieve(store, rows, err);
        store->dirty = true;
    }
    tb_logblock_free(block);
    return code;
}

/* --- withdrawal --- */

static int by_number(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Lines to find, ascending; one that was found is followed by a mark. */
typedef struct wanted {
    uint64_t *hash;
    bool *found;
    size_t n, left;
} wanted;

static bool take_wanted(wanted *w, uint64_t hash)
{
    size_t low = 0, high = w->n;
    while (low < high) {
        const size_t middle = (low + high) / 2;
        if (w->hash[middle] < hash) low = middle + 1;
        else high = middle;
    }
    while (low < w->n && w->hash[low] == hash && w->found[low])
        low++;
    if (low == w->n || w->hash[low] != hash) return false;
    w->left--;
    return w->found[low] = true;
}

static tb_code want(wanted *w, const tb_loginfo *info, const void *bytes, size_t len, tb_error *err)
{
    tb_logrow row;
    tb_logblock *block = tb_logblock_new();
    w->hash = calloc((size_t)info->lines + 1, sizeof *w->hash);
    w->found = calloc((size_t)info->lines + 1, sizeof *w->found);
    tb_code code = block && w->hash && w->found ? TB_OK : tb_no_memory(err);
    if (!code) code = tb_logblock_open(block, bytes, len, info->zone, err);
    for (; !code && w->n < info->lines; w->n++) {
        code = tb_logblock_row(block, w->n, &row, err);
        if (!code) w->hash[w->n] = tb__log_line_hash(&row.line);
    }
    w->left = w->n;
    if (!code) qsort(w->hash, w->n, sizeof *w->hash, by_number);
    tb_logblock_free(block);
    return code;
}

static tb_code put_gone(tb_store *store, int64_t zone, const tb_log_cursor *at, int64_t ms, uint64_t id,
                        tb_error *err)
{
    tb_buf *rows = &tb__ch_of(store)->rows[TB__CH_LOG_GONE][tb__ch_shard(store, TB__SCOPE_ZONE, zone)];
    uint64_t batch;
    uint32_t number;
    uint16_t day = 0;
    tb_code code = tb__ch_day(ms, &day, err);
    if (code) return code;
    tb__ch_log_place(at, &batch, &number);
    tb__ch_put_u16(rows, day);
    tb__ch_put_u64(rows, (uint64_t)zone);
    tb__ch_put_u64(rows, batch);
    tb__ch_put_u32(rows, number);
    tb__ch_put_u64(rows, id);
    return tb_buf_check(rows, err);
}

static tb_code find_wanted(tb_store *store, const tb_loginfo *info, wanted *w, uint64_t id, tb_error *err)
{
    const tb_log_filter all = {.from_ms = info->first_ms, .to_ms = info->last_ms + 1};
    tb_log_cursor *cursor = NULL;
    tb_log_step step = TB_LOG_PAUSE;
    tb_logrow row;
    tb_code code = tb__ch_log_search(store, info->zone, &all, true, &cursor, err);
    while (!code && w->left && step != TB_LOG_END) {
        code = tb__ch_log_next(cursor, &step, err);
        if (code || step != TB_LOG_LINE) continue;
        code = tb__ch_log_line(cursor, &row, err);
        if (!code && take_wanted(w, tb__log_line_hash(&row.line)))
            code = put_gone(store, info->zone, cursor, row.line.time_ms, id, err);
    }
    tb_log_cursor_free(cursor);
    return code;
}

static tb_code take_back(tb_store *store, const tb_loginfo *info, const void *bytes, size_t len,
                         uint64_t *removed, tb_error *err)
{
    wanted w = {.n = 0};
    tb_code code = want(&w, info, bytes, len, err);
    if (!code) code = tb__ch_begin(store, err);
    if (!code) code = find_wanted(store, info, &w, (uint64_t)tb__ch_of(store)->next++, err);
    if (!code && w.left < w.n) code = tb__ch_meta_put(store, "log_taken", 1, err);
    if (!code) *removed += w.n - w.left;
    store->dirty = true;
    free(w.hash);
    free(w.found);
    return code;
}

/* --- days --- */

/* A stream that began while its lines could be asked for goes on for a while. */
#define STREAM_MS INT64_C(3600000)

static int64_t first_kept(int64_t before_ms)
{
    return before_ms < STREAM_MS ? 0 : (before_ms - STREAM_MS) / TB_EVENT_MS_PER_DAY;
}

static tb_code older(tb_store *store, int64_t before_ms, uint64_t *ret_blocks, uint64_t *ret_bytes, tb_error *err)
{
    return tb__ch_older(store, TB__CH_LOGS, first_kept(before_ms), ret_blocks, ret_bytes, err);
}

static tb_code drop(tb_store *store, int64_t before_ms, uint64_t *ret_dropped, tb_error *err)
{
    return tb__ch_drop(store, TB__CH_LOGS, before_ms, first_kept(before_ms), ret_dropped, err);
}

static tb_code count(tb_store *store, int64_t account, uint64_t *ret_blocks, tb_error *err)
{
    return tb__ch_count(store, TB__CH_LOGS, account, ret_blocks, err);
}

static tb_code forget(tb_store *store, int64_t account, size_t *room, tb_error *err)
{
    return tb__ch_forget(store, TB__CH_LOGS, account, room, err);
}

const tb__log_lines tb__clickhouse_logs = {
    .add = add_block,
    .take_back = take_back,
    .drop = drop,
    .older = older,
    .count = count,
    .forget = forget,
    .search = tb__ch_log_search,
    .next = tb__ch_log_next,
    .line = tb__ch_log_line,
    .bytes = tb__ch_log_bytes,
    .free = tb__ch_log_free,
};
