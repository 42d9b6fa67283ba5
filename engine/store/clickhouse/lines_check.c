/* Checks request logs and shield events: each block's seal, that it can be decoded and agrees with its row; that each event
 * agrees with its key; and the sums of all seals, which show lost rows. */
#include "store/clickhouse/lines.h"

#include <stdarg.h>
#include <stdlib.h>

typedef struct checking {
    tb_store *store;
    tb__differ_fn differ;
    void *ctx;
    uint64_t sum;
    int64_t zone;
    tb_logblock *block;
    tb_event_key last;
} checking;

static void say_so(const checking *c, const char *format, ...)
{
    char sentence[200];
    va_list args;
    va_start(args, format);
    sqlite3_vsnprintf(sizeof sentence, sentence, format, args);
    va_end(args);
    c->differ(c->ctx, sentence);
}

/* Zones with rows of any kind that count. */
static tb_code list_zones(const checking *c, size_t shard, tb__ch_kind kind, int64_t **ret_zones, size_t *ret_n,
                          tb_error *err)
{
    tb_buf *sql = tb__ch_start(c->store);
    size_t cap = 0;
    *ret_zones = NULL;
    *ret_n = 0;
    tb_buf_fmt(sql, "SELECT DISTINCT zone FROM %s.%s WHERE 1", tb__ch_of(c->store)->client->database,
               tb__ch_table_of(kind));
    tb_code code = tb__ch_put_counting(c->store, sql, kind, 0, err);
    tb_buf_str(sql, " FORMAT RowBinary");
    if (!code) code = tb__ch_query(c->store, shard, err);
    tb__ch_reader r = tb__ch_reader_of(tb__ch_of(c->store));
    while (!code && r.at < r.end && !r.cut) {
        code = tb__grow(ret_zones, *ret_n, &cap, sizeof **ret_zones, err);
        if (!code) (*ret_zones)[(*ret_n)++] = (int64_t)tb__ch_column(&r, 8);
    }
    return code ? code : tb__ch_check_read(&r, err);
}

typedef tb_code zone_fn(checking *c, tb_error *err);

static tb_code each_zone(checking *c, tb__ch_kind kind, zone_fn *fn, tb_error *err)
{
    tb_code code = tb__ch_settle(c->store, err);
    for (size_t shard = 0; !code && shard < tb__ch_of(c->store)->client->shards; shard++) {
        int64_t *zones = NULL;
        size_t n = 0;
        code = list_zones(c, shard, kind, &zones, &n, err);
        for (size_t i = 0; !code && i < n; i++) {
            c->zone = zones[i];
            code = fn(c, err);
        }
        free(zones);
    }
    return code;
}

static tb_code compare_seals(const checking *c, const char *name, const char *what, tb_error *err)
{
    int64_t noted = 0;
    tb_code code = tb__meta_get(c->store, name, &noted, err);
    if (!code && (int64_t)(c->sum & INT64_MAX) != noted)
        say_so(c, "The %s on usage servers are not all those that were written.", what);
    return code;
}

/* --- request logs --- */

static tb_code read_lines(const checking *c, tb_text bytes, tb_loginfo *ret_info, tb_error *err)
{
    tb_logrow row;
    tb_code code = tb_logblock_open(c->block, bytes.data, bytes.len, c->zone, err);
    if (code) return code;
    tb_logblock_info(c->block, ret_info);
    for (size_t i = 0; !code && i < ret_info->lines; i++)
        code = tb_logblock_row(c->block, i, &row, err);
    return code;
}

static tb_code check_block(checking *c, const tb__ch_block *b, tb_text bytes, tb_error *err)
{
    const long long id = b->batch, zone = c->zone;
    const tb__log_listed *l = &b->listed;
    tb_loginfo info = {0};
    c->sum += (uint64_t)b->seal;
    if (b->seal != tb__seal_log(b->batch, c->zone, l->first_ms, l->last_ms, b->lines, bytes.data, bytes.len))
        say_so(c, "Block %lld of request logs of pull zone %lld is not as it was sealed.", id, zone);
    tb_code code = read_lines(c, bytes, &info, err);
    if (code == TB_E_CORRUPT) say_so(c, "Block %lld of request logs of pull zone %lld cannot be read.", id, zone);
    else if (code) return code;
    else if (info.first_ms != l->first_ms || info.last_ms != l->last_ms || info.lines != b->lines)
        say_so(c, "Block %lld of request logs of pull zone %lld is not what its row says.", id, zone);
    return TB_OK;
}

static tb_code check_logs(checking *c, tb_error *err)
{
    tb__ch_blocks blocks;
    tb_code code = tb__ch_blocks_list(&blocks, c->store, c->zone, 0, INT64_MAX, false, err);
    for (size_t i = 0; !code && i < blocks.n; i++) {
        tb_text bytes;
        code = tb__ch_blocks_get(&blocks, i, &bytes, err);
        if (!code) code = check_block(c, &blocks.list[i], bytes, err);
    }
    tb__ch_blocks_release(&blocks);
    return code;
}

tb_code tb__ch_verify_logs(tb_store *store, tb__differ_fn differ, void *ctx, tb_error *err)
{
    checking c = {.store = store, .differ = differ, .ctx = ctx, .block = tb_logblock_new()};
    tb_code code = c.block ? each_zone(&c, TB__CH_LOGS, check_logs, err) : tb_no_memory(err);
    if (!code) code = compare_seals(&c, "log_seals", "blocks of request logs", err);
    tb_logblock_free(c.block);
    return code;
}

/* --- shield events --- */

static bool add_events(void *ctx, const void *block, size_t len)
{
    checking *c = ctx;
    tb_event_record record;
    for (size_t at = 0; at < len && tb_event_next(block, len, &at, &record);)
        c->sum += (uint64_t)tb__ch_seal_event(c->zone, record.bytes, record.size);
    return true;
}

static tb_code check_events(checking *c, tb_error *err)
{
    tb_event_key first;
    tb_event_key_set(&first, 0, NULL, 0);
    return tb__ch_events_up(c->store, c->zone, &first, add_events, c, err);
}

tb_code tb__ch_verify_events(tb_store *store, tb__differ_fn differ, void *ctx, tb_error *err)
{
    checking c = {.store = store, .differ = differ, .ctx = ctx};
    tb_code code = each_zone(&c, TB__CH_EVENTS, check_events, err);
    return code ? code : compare_seals(&c, "event_seals", "shield events", err);
}
