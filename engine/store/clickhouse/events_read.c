/* Reading shield events, page by page: a page is one statement over a span of time that begins where the last one ended. A
 * span in which there is little is followed by a longer one, so that a page costs what it shows and an empty zone a few
 * statements. Rows become blocks as the file has them. */
#include "store/clickhouse/lines.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define WIDTH_MS  INT64_C(600000)
#define WIDER     16
#define WIDEST_MS (20 * TB_EVENT_MS_PER_DAY) /* a longer span is all that is left */
#define ROWS      ((size_t)128)
#define ROWS_MAX  ((size_t)1024)

typedef struct reading {
    tb_store *store;
    int64_t zone;
    bool down, behind; /* behind: the key itself was read */
    tb_event_key at;
    int64_t width_ms;
    size_t rows;
    tb_event_block_fn fn;
    void *ctx;
    tb_text *records; /* of the page */
    size_t n, cap;
    tb_buf block;
    bool over;
} reading;

/* The span's other end; false: it has none. */
static bool other_end(const reading *r, int64_t *ret_ms)
{
    const int64_t at = tb_event_key_time(&r->at);
    if (r->width_ms > WIDEST_MS || (r->down && at < r->width_ms)) return false;
    *ret_ms = r->down ? at - r->width_ms : at + r->width_ms;
    return true;
}

static void put_bound(tb_buf *sql, const char *compare, const tb_event_key *key)
{
    tb_buf_str(sql, compare);
    tb__ch_quote(sql, (tb_text){(const char *)key->bytes, key->len});
}

static tb_code ask_page(reading *r, tb_error *err)
{
    tb_buf *sql = tb__ch_start(r->store);
    tb_event_key end;
    int64_t end_ms = 0;
    tb_buf_fmt(sql, "SELECT key,record FROM %s.event WHERE day%stoDate(%u)",
               tb__ch_of(r->store)->client->database, r->down ? "<=" : ">=", tb__ch_day_near(tb_event_key_time(&r->at) / TB_EVENT_MS_PER_DAY));
    put_bound(sql, r->down ? r->behind ? " AND key<" : " AND key<=" : r->behind ? " AND key>" : " AND key>=", &r->at);
    if (other_end(r, &end_ms)) {
        tb_event_key_set(&end, end_ms, NULL, 0);
        tb_buf_fmt(sql, " AND day%stoDate(%u)", r->down ? ">=" : "<=", tb__ch_day_near(end_ms / TB_EVENT_MS_PER_DAY));
        put_bound(sql, r->down ? " AND key>=" : " AND key<", &end);
    }
    tb_code code = tb__ch_put_counting(r->store, sql, TB__CH_EVENTS, r->zone, err);
    tb_buf_fmt(sql, " ORDER BY key%s LIMIT 1 BY key LIMIT %zu FORMAT RowBinary", r->down ? " DESC" : "", r->rows);
    return code ? code : tb__ch_query(r->store, tb__ch_shard(r->store, TB__SCOPE_ZONE, r->zone), err);
}

static tb_code misplaced(const reading *r, tb_error *err)
{
    return tb_fail(err, TB_E_CORRUPT, "event", "An event of shield zone %lld is not what its key says.",
                   (long long)r->zone);
}

static tb_code take_page(reading *r, tb_event_key *last, tb_error *err)
{
    tb__ch_reader reader = tb__ch_reader_of(tb__ch_of(r->store));
    tb_code code = TB_OK;
    r->n = 0;
    while (!code && reader.at < reader.end && !reader.cut) {
        const tb_text key = tb__ch_text(&reader), record = tb__ch_text(&reader);
        tb_event_record read;
        size_t at = 0;
        if (reader.cut) break;
        if (!tb_event_next(record.data, record.len, &at, &read) || at != record.len || read.made) return misplaced(r, err);
        tb_event_record_key(&read, last);
        if (key.len != last->len || memcmp(key.data, last->bytes, key.len) != 0) return misplaced(r, err);
        code = tb__grow(&r->records, r->n, &r->cap, sizeof *r->records, err);
        if (!code) r->records[r->n++] = record;
    }
    return code ? code : tb__ch_check_read(&reader, err);
}

/* Records i to end as a block, ascending. */
static tb_code give_block(reading *r, size_t i, size_t end, tb_error *err)
{
    r->block.len = 0;
    for (size_t k = i; k < end; k++) {
        const tb_text record = r->records[r->down ? end - 1 - (k - i) : k];
        tb_buf_add(&r->block, record.data, record.len);
    }
    tb_code code = tb_buf_check(&r->block, err);
    if (!code) r->over = !r->fn(r->ctx, r->block.data, r->block.len);
    return code;
}

static tb_code give_page(reading *r, tb_error *err)
{
    tb_code code = TB_OK;
    for (size_t i = 0, end; !code && !r->over && i < r->n; i = end) {
        size_t len = 0;
        for (end = i; end < r->n && (end == i || len + r->records[end].len <= TB_EVENT_BLOCK); end++)
            len += r->records[end].len;
        code = give_block(r, i, end, err);
    }
    return code;
}

/* Where the next page begins, and how long its span is. */
static void move_on(reading *r, const tb_event_key *last)
{
    const int64_t from_ms = tb_event_key_time(&r->at);
    int64_t end_ms = 0;
    if (r->n == r->rows) {
        const int64_t last_ms = tb_event_key_time(last), span_ms = last_ms > from_ms ? last_ms - from_ms : from_ms - last_ms;
        r->at = *last;
        r->behind = true;
        r->width_ms = 4 * (span_ms < WIDEST_MS ? span_ms : WIDEST_MS) + 1000; /* from the end of time it is a long way */
    } else if (other_end(r, &end_ms)) {
        tb_event_key_set(&r->at, end_ms, NULL, 0);
        r->behind = r->down;
        r->width_ms *= WIDER;
    } else {
        r->over = true;
    }
    if (r->n == r->rows && r->rows < ROWS_MAX) r->rows *= 2;
}

static tb_code read_pages(reading *r, tb_error *err)
{
    tb_event_key last = {.len = 0};
    tb_code code = tb__ch_settle(r->store, err);
    while (!code && !r->over) {
        code = ask_page(r, err);
        if (!code) code = take_page(r, &last, err);
        if (!code) code = give_page(r, err);
        if (!code && !r->over) move_on(r, &last);
    }
    free(r->records);
    tb_buf_release(&r->block);
    return code;
}

tb_code tb__ch_events_up(tb_store *store, int64_t zone, const tb_event_key *from, tb_event_block_fn fn, void *ctx,
                         tb_error *err)
{
    reading r = {.store = store, .zone = zone, .at = *from, .width_ms = WIDTH_MS, .rows = ROWS_MAX, .fn = fn, .ctx = ctx};
    tb_buf_init(&r.block, TB__CH_ANSWER_MAX, NULL);
    return read_pages(&r, err);
}

tb_code tb__ch_events_down(tb_store *store, int64_t zone, const tb_event_key *to, tb_event_block_fn fn, void *ctx,
                           tb_error *err)
{
    reading r = {.store = store, .zone = zone, .at = *to, .down = true, .width_ms = WIDTH_MS, .rows = ROWS, .fn = fn,
                 .ctx = ctx};
    tb_buf_init(&r.block, TB__CH_ANSWER_MAX, NULL);
    return read_pages(&r, err);
}
