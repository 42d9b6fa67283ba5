/* POST /shield/event-logs/{shieldZoneId}/export: the events of a window that pass the filters, as CSV, oldest first. It
 * is streamed: each piece is made from a few blocks, in a snapshot of its own, and begins after the key of the last
 * one. An event that is stored all the time is sent exactly once, whatever arrives meanwhile. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "api/handlers.h"
#include "api/shield.h"
#include "http/stream.h"

#define BLOCKS_AT_ONCE 64                  /* most blocks in a piece */
#define WORK_AT_ONCE   (UINT64_C(16) << 20) /* bytes that filters compare in a piece */

typedef struct export {
    tb_store *store;
    tb_event_query *query;
    int64_t zone;
    tb_event_key next; /* the next piece begins here, or after it */
    bool begun, after;
    tb_event_minute minute;
    /* Of the piece being made: */
    tb_buf *out;
    int blocks;
    uint64_t work; /* of the query, when the piece began */
    bool caught_up, ended, stopped;
    tb_code code;
} export;

static void release(void *ctx)
{
    export *e = ctx;
    tb_event_query_free(e->query);
    free(e);
}

/* Whether the record was in an earlier piece, or lies before the window. */
static bool is_before(export *e, const tb_event_record *record)
{
    tb_event_key key;
    if (e->caught_up) return false;
    tb_event_record_key(record, &key);
    const int order = tb_event_key_compare(&key, &e->next);
    e->caught_up = order > 0 || (order == 0 && !e->after);
    return !e->caught_up;
}

/* The next piece begins after this record. */
static void note_place(export *e, const tb_event_record *record)
{
    tb_event_record_key(record, &e->next);
    e->after = true;
}

static bool put_block(void *ctx, const void *block, size_t len)
{
    export *e = ctx;
    tb_event_record record = {.size = 0};
    const int64_t to_ms = tb_event_query_to(e->query);
    const bool all = tb_event_query_all(e->query);
    bool fits = true;
    for (size_t at = 0; at < len;) {
        if (!tb_event_next(block, len, &at, &record)) {
            e->code = TB_E_CORRUPT;
            return false;
        }
        if (record.time_ms >= to_ms) {
            e->ended = true;
            return false;
        }
        if (is_before(e, &record)) continue;
        if (all || tb_event_query_match(e->query, &record, &fits))
            tb_event_csv(&record, &e->minute, e->out);
        if (!fits) e->code = TB_E_NOMEM;
        e->stopped = !fits || tb_event_query_work(e->query) - e->work > WORK_AT_ONCE;
        if (!e->stopped) continue;
        note_place(e, &record);
        return false;
    }
    if (e->caught_up) note_place(e, &record);
    e->stopped = e->out->len >= STREAM_PIECE || ++e->blocks == BLOCKS_AT_ONCE;
    return !e->stopped;
}

static tb_code write_rows(void *ctx, tb_buf *out, bool *ret_done, tb_error *err)
{
    export *e = ctx;
    tb_code code = tb_store_read_begin(e->store, err);
    if (code) return code;
    e->out = out;
    e->blocks = 0;
    e->work = tb_event_query_work(e->query);
    e->caught_up = e->stopped = false;
    if (!e->begun) tb_event_csv_head(out);
    e->begun = true;
    code = tb_store_events_up(e->store, e->zone, &e->next, put_block, e, err);
    tb_store_read_end(e->store);
    if (!code && e->code) code = tb_fail(err, e->code, NULL, NULL);
    *ret_done = e->ended || !e->stopped;
    return code;
}

static tb_code prepare(request *r, export *e, tb_error *err)
{
    const int64_t now_ms = request_now_us(r) / 1000;
    tb_code code = tb_store_read_begin(r->worker->store, err);
    if (code) return code;
    code = shield_zone(r, &e->zone, err);
    tb_store_read_end(r->worker->store);
    if (!code)
        code = tb_event_query_parse(r->body ? r->body : "", r->body_len, now_ms, &e->query, err);
    if (code) return code;
    /* A window that begins before the kept events is answered from the first kept day on. */
    const int64_t kept = tb_event_first_day(now_ms) * TB_EVENT_MS_PER_DAY;
    const int64_t from = tb_event_query_from(e->query);
    tb_event_key_set(&e->next, from > kept ? from : kept, NULL, 0);
    return code;
}

void api_shield_export(request *r)
{
    tb_error err;
    export *e = calloc(1, sizeof *e);
    if (!e) {
        request_fail(r, TB_E_NOMEM, NULL, NULL);
        return;
    }
    e->store = r->worker->store;
    if (prepare(r, e, &err) != TB_OK) {
        request_fail_at(r, &err);
        release(e);
        return;
    }
    snprintf(r->scratch, sizeof r->scratch, "attachment; filename=\"event-logs-%" PRId64 ".csv\"",
             e->zone);
    request_answer_stream(r, (stream_source){.fill = write_rows, .release = release, .ctx = e},
                          "text/csv; charset=utf-8");
    r->reply.disposition = r->scratch;
    // cppcheck-suppress memleak ; the stream frees it
}
