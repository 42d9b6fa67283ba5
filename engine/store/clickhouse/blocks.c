/* Blocks of a zone: listed by time and position, and fetched in groups that grow with the blocks read so far. */
#include "store/clickhouse/lines.h"

#include <inttypes.h>
#include <stdlib.h>

#define ROOM_FIRST ((size_t)128 << 10)
#define ROOM_MAX   ((size_t)4 << 20)
#define AT_ONCE    ((size_t)256)

static tb_code take_listed(tb__ch_blocks *b, tb_error *err)
{
    tb__ch_reader r = tb__ch_reader_of(tb__ch_of(b->store));
    while (r.at < r.end && !r.cut) {
        tb_code code = tb__grow(&b->list, b->n, &b->cap, sizeof *b->list, err);
        if (code) return code;
        tb__ch_block *at = &b->list[b->n++];
        at->batch = (int64_t)tb__ch_column(&r, 8);
        at->listed.id = (int64_t)tb__ch_column(&r, 8);
        at->listed.first_ms = (int64_t)tb__ch_column(&r, 8);
        at->listed.last_ms = (int64_t)tb__ch_column(&r, 8);
        at->seal = (int64_t)tb__ch_column(&r, 8);
        at->lines = (uint32_t)tb__ch_column(&r, 4);
        at->len = (size_t)tb__ch_column(&r, 4);
        at->day = (uint16_t)tb__ch_column(&r, 2);
    }
    return tb__ch_check_read(&r, err);
}

tb_code tb__ch_blocks_list(tb__ch_blocks *b, tb_store *store, int64_t zone, int64_t first_ms, int64_t last_ms,
                           bool descending, tb_error *err)
{
    *b = (tb__ch_blocks){.store = store, .zone = zone, .room = ROOM_FIRST};
    tb_buf_init(&b->bytes, TB__CH_ANSWER_MAX, NULL);
    tb_buf *sql = tb__ch_start(store);
    tb_buf_fmt(sql,
               "SELECT batch,at,first_ms,last_ms,seal,lines,bytes,day FROM %s.log WHERE day>=toDate(%u) AND first_ms<=%" PRId64
               " AND last_ms>=%" PRId64,
               tb__ch_of(store)->client->database, tb__ch_day_near(first_ms / TB_EVENT_MS_PER_DAY), last_ms, first_ms);
    tb_code code = tb__ch_put_counting(store, sql, TB__CH_LOGS, zone, err);
    tb_buf_str(sql, " LIMIT 1 BY batch FORMAT RowBinary");
    if (!code) code = tb__ch_query(store, tb__ch_shard(store, TB__SCOPE_ZONE, zone), err);
    if (!code) code = take_listed(b, err);
    if (!code && b->n) qsort(b->list, b->n, sizeof *b->list, tb__log_order_of(descending));
    for (size_t i = 0; i < b->n; i++)
        b->list[i].listed.entry = i;
    return code;
}

/* --- their bytes --- */

/* The span of time and days of the blocks to fetch, for the table's order and its partitions. */
static void put_group(tb__ch_blocks *b)
{
    tb_buf *sql = tb__ch_start(b->store);
    int64_t first = INT64_MAX, last = INT64_MIN;
    unsigned first_day = UINT16_MAX, last_day = 0;
    for (size_t i = b->from; i < b->to; i++) {
        const tb__ch_block *at = &b->list[i];
        if (at->listed.first_ms < first) first = at->listed.first_ms;
        if (at->listed.first_ms > last) last = at->listed.first_ms;
        if (at->day < first_day) first_day = at->day;
        if (at->day > last_day) last_day = at->day;
    }
    tb_buf_fmt(sql, "SELECT batch,data FROM %s.log WHERE zone=%" PRId64 " AND first_ms>=%" PRId64 " AND first_ms<=%" PRId64
                    " AND day>=toDate(%u) AND day<=toDate(%u) AND batch IN(",
               tb__ch_of(b->store)->client->database, b->zone, first, last, first_day, last_day);
    for (size_t i = b->from; i < b->to; i++)
        tb_buf_fmt(sql, "%s%" PRId64, i > b->from ? "," : "", b->list[i].batch);
    tb_buf_str(sql, ")LIMIT 1 BY batch FORMAT RowBinary");
}

static void choose_group(tb__ch_blocks *b, size_t i)
{
    size_t bytes = b->list[i].len;
    b->from = i;
    b->to = i + 1;
    while (b->to < b->n && b->to - i < AT_ONCE && bytes + b->list[b->to].len <= b->room)
        bytes += b->list[b->to++].len;
    if (b->room < ROOM_MAX) b->room *= 2;
}

static tb_code take_bytes(tb__ch_blocks *b, tb_error *err)
{
    tb__ch_reader r = {b->bytes.data, b->bytes.data + b->bytes.len, false};
    for (size_t i = b->from; i < b->to; i++)
        b->text[i - b->from] = (tb_text){NULL, 0};
    while (r.at < r.end && !r.cut) {
        const int64_t batch = (int64_t)tb__ch_column(&r, 8);
        const tb_text text = tb__ch_text(&r);
        for (size_t i = b->from; i < b->to && !r.cut; i++)
            if (b->list[i].batch == batch) b->text[i - b->from] = text;
    }
    return tb__ch_check_read(&r, err);
}

static tb_code fetch_group(tb__ch_blocks *b, size_t i, tb_error *err)
{
    struct tb__clickhouse *ch = tb__ch_of(b->store);
    if (!b->text) b->text = calloc(AT_ONCE, sizeof *b->text);
    if (!b->text) return tb_no_memory(err);
    choose_group(b, i);
    put_group(b);
    tb_code code = tb__ch_query(b->store, tb__ch_shard(b->store, TB__SCOPE_ZONE, b->zone), err);
    const tb_buf answer = ch->answer; /* both have one bound */
    ch->answer = b->bytes;
    b->bytes = answer;
    if (!code) code = take_bytes(b, err);
    if (code) b->from = b->to = 0;
    return code;
}

tb_code tb__ch_blocks_get(tb__ch_blocks *b, size_t i, tb_text *ret, tb_error *err)
{
    tb_code code = i >= b->from && i < b->to ? TB_OK : fetch_group(b, i, err);
    if (code) return code;
    *ret = b->text[i - b->from];
    if (ret->data) return TB_OK;
    return tb_fail(err, TB_E_AWAY, "usage", "Request logs went while they were being read. Ask again.");
}

void tb__ch_blocks_release(tb__ch_blocks *b)
{
    free(b->list);
    free(b->text);
    tb_buf_release(&b->bytes);
}
