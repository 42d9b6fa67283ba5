/* Reading request logs, page by page (pages.h). A page's lines are packed into a block as the file has them, and the
 * block is asked which of them pass: so a line is filtered and shown by the same code wherever it lies. Rows that were
 * sent twice come side by side, and the second is passed over. */
#include "store/clickhouse/lines.h"
#include "store/clickhouse/pages.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define PAGE_MAX ((size_t)64 << 20)

const struct tb__ch_log_text tb__ch_log_texts[TB__CH_LOG_TEXTS] = {
    {"status", offsetof(tb_logline, status)},   {"cache", offsetof(tb_logline, cache)},
    {"ip", offsetof(tb_logline, ip)},           {"country", offsetof(tb_logline, country)},
    {"edge", offsetof(tb_logline, edge)},       {"origin", offsetof(tb_logline, origin)},
    {"path", offsetof(tb_logline, path)},       {"referer", offsetof(tb_logline, referer)},
    {"agent", offsetof(tb_logline, agent)},     {"id", offsetof(tb_logline, id)},
    {"byte_range", offsetof(tb_logline, range)}, {"authorization", offsetof(tb_logline, authorization)},
};

/* A row of a page. */
typedef struct row {
    int64_t ts;
    uint64_t batch;
    uint32_t number;
    const char *rest; /* its other columns */
} row;

typedef struct cursor {
    tb_log_cursor head;
    tb_store *store;
    const tb_log_filter *filter;
    int64_t zone;
    bool descending, stands, behind; /* behind: the next page begins behind `last` */
    tb__ch_pages pages;
    tb_buf where, answer, packed;
    tb__ch_reader left; /* of the page */
    row last;           /* read last */
    bool any;           /* `last` is one */
    tb_logpack *pack;
    tb_logblock *block;
    size_t n_rows, n, at; /* rows of the block; those that pass, and how many of them were passed */
    row rows[TB_LOGBLOCK_LINES];
    int64_t times[TB_LOGBLOCK_LINES];
    uint16_t passing[TB_LOGBLOCK_LINES];
} cursor;

void tb__ch_log_free(tb_log_cursor *of)
{
    cursor *c = (cursor *)of;
    tb_logpack_free(c->pack);
    tb_logblock_free(c->block);
    tb_buf_release(&c->where);
    tb_buf_release(&c->answer);
    tb_buf_release(&c->packed);
    free(c);
}

size_t tb__ch_log_bytes(const tb_log_cursor *of)
{
    const cursor *c = (const cursor *)of;
    return c->answer.len + (c->n_rows ? tb_logblock_plain(c->block) : 0);
}

/* Lines that were withdrawn are named in a table of their own. */
static tb_code put_where(cursor *c, tb_error *err)
{
    const char *database = tb__ch_of(c->store)->client->database;
    int64_t taken = 0;
    tb_code code = tb__ch_put_seen(c->store, &c->where, TB__CH_LOGS, c->zone, err);
    if (!code) code = tb__ch_meta(c->store, "log_taken", 0, &taken, err);
    if (!code && taken) {
        tb_buf_fmt(&c->where, " AND(batch,row) NOT IN(SELECT of_batch,of_row FROM %s.log_gone WHERE zone=%" PRId64,
                   database, c->zone);
        code = tb__ch_put_visible(c->store, &c->where, err);
        tb_buf_str(&c->where, ")");
    }
    tb__ch_put_filter(&c->where, c->filter);
    tb_buf_add(&c->where, "", 1);
    return code ? code : tb_buf_check(&c->where, err);
}

/* Times that are no day of ClickHouse's hold nothing. */
static int64_t clamp_ms(int64_t ms)
{
    const int64_t end = (UINT16_MAX + INT64_C(1)) * TB_EVENT_MS_PER_DAY;
    return ms < 0 ? 0 : ms > end ? end : ms;
}

tb_code tb__ch_log_search(tb_store *store, int64_t zone, const tb_log_filter *filter, bool descending,
                          tb_log_cursor **ret_cursor, tb_error *err)
{
    cursor *c = calloc(1, sizeof *c);
    if (!c) return tb_no_memory(err);
    c->head.of = &tb__clickhouse_logs;
    c->store = store;
    c->filter = filter;
    c->zone = zone;
    c->descending = descending;
    c->pack = tb_logpack_new();
    c->block = tb_logblock_new();
    tb_buf_init(&c->where, (size_t)1 << 19, NULL);
    tb_buf_init(&c->answer, PAGE_MAX, NULL);
    tb_buf_init(&c->packed, TB_LOGBLOCK_MAX, NULL);
    tb__ch_pages_init(&c->pages, clamp_ms(filter->from_ms), clamp_ms(filter->to_ms), descending);
    tb_code code = c->pack && c->block ? tb__ch_settle(store, err) : tb_no_memory(err);
    if (!code) code = put_where(c, err);
    if (code) tb__ch_log_free(&c->head);
    else *ret_cursor = &c->head;
    return code;
}

/* --- a page --- */

static void put_page(cursor *c, tb_buf *sql)
{
    const char *way = c->descending ? " DESC" : "", *behind = c->descending ? "<" : ">";
    int64_t from_ms, to_ms;
    tb__ch_pages_slice(&c->pages, &from_ms, &to_ms);
    tb_buf_str(sql, "SELECT ts,batch,row,bytes,body_bytes");
    for (size_t i = 0; i < TB__CH_LOG_TEXTS; i++)
        tb_buf_fmt(sql, ",%s", tb__ch_log_texts[i].name);
    tb_buf_fmt(sql, " FROM %s.log WHERE zone=%" PRId64 " AND day>=toDate(%" PRId64 ") AND day<=toDate(%" PRId64
                    ") AND ts>=%" PRId64 " AND ts<%" PRId64, tb__ch_of(c->store)->client->database, c->zone,
               from_ms / TB_EVENT_MS_PER_DAY, (to_ms - 1) / TB_EVENT_MS_PER_DAY, from_ms, to_ms);
    if (c->behind)
        tb_buf_fmt(sql, " AND(ts!=%" PRId64 " OR batch%s%" PRIu64 " OR batch=%" PRIu64 " AND row%s%" PRIu32 ")",
                   c->last.ts, behind, c->last.batch, c->last.batch, behind, c->last.number);
    tb_buf_str(sql, c->where.data);
    tb_buf_fmt(sql, " ORDER BY ts%s,batch%s,row%s LIMIT %zu FORMAT RowBinary", way, way, way, c->pages.limit);
}

static row read_row(tb__ch_reader *r)
{
    row out;
    out.ts = (int64_t)tb__ch_column(r, 8);
    out.batch = tb__ch_column(r, 8);
    out.number = (uint32_t)tb__ch_column(r, 4);
    out.rest = r->at;
    tb__ch_column(r, 8);
    tb__ch_column(r, 8);
    for (size_t i = 0; i < TB__CH_LOG_TEXTS; i++)
        tb__ch_text(r);
    return out;
}

static tb_code ask_page(cursor *c, tb_error *err)
{
    const tb_usage_client *client = tb__ch_of(c->store)->client;
    const size_t shard = tb__ch_shard(c->store, TB__SCOPE_ZONE, c->zone);
    tb_code code;
    do {
        tb_buf *sql = tb__ch_start(c->store);
        put_page(c, sql);
        tb_buf_add(sql, "", 1);
        code = tb_buf_check(sql, err);
        c->answer.len = 0;
        c->answer.failed = false;
        if (!code) code = client->ask(client->ctx, shard, sql->data, NULL, 0, &c->answer, err);
    } while (code && c->answer.failed && tb__ch_pages_smaller(&c->pages));
    return code;
}

static tb_code fetch(cursor *c, tb_error *err)
{
    row first = {0}, last = {0};
    size_t n = 0;
    tb_code code = ask_page(c, err);
    if (code) return code;
    c->left = (tb__ch_reader){c->answer.data, c->answer.data + c->answer.len, false};
    for (tb__ch_reader r = c->left; r.at < r.end; n++) {
        last = read_row(&r);
        if (!n) first = last;
        code = tb__ch_check_read(&r, err);
        if (code) return code;
    }
    c->behind = tb__ch_pages_took(&c->pages, n, c->answer.len, first.ts, last.ts);
    return TB_OK;
}

/* --- a block of a page's lines --- */

static void line_of(void *ctx, size_t i, tb_logline *ret_line)
{
    cursor *c = ctx;
    tb__ch_reader r = {c->rows[i].rest, c->left.end, false};
    memset(ret_line, 0, offsetof(tb_logline, made));
    ret_line->time_ms = c->rows[i].ts;
    ret_line->bytes = tb__ch_column(&r, 8);
    ret_line->body_bytes = tb__ch_column(&r, 8);
    for (size_t k = 0; k < TB__CH_LOG_TEXTS; k++) {
        const tb_text text = tb__ch_text(&r);
        memcpy((char *)ret_line + tb__ch_log_texts[k].at, &text, sizeof text);
    }
}

/* As many rows as a block takes, ascending. */
static void take_rows(cursor *c)
{
    const char *begin = c->left.at;
    size_t n = 0;
    while (c->left.at < c->left.end && n < TB_LOGBLOCK_LINES &&
           (size_t)(c->left.at - begin) < TB_LOGBLOCK_TEXT) {
        const row next = read_row(&c->left);
        const bool again = c->any && next.ts == c->last.ts && next.batch == c->last.batch &&
                           next.number == c->last.number;
        c->last = next;
        c->any = true;
        if (!again) c->rows[n++] = next;
    }
    for (size_t i = 0; c->descending && i < n / 2; i++) {
        const row swap = c->rows[i];
        c->rows[i] = c->rows[n - 1 - i];
        c->rows[n - 1 - i] = swap;
    }
    for (size_t i = 0; i < n; i++)
        c->times[i] = c->rows[i].ts;
    c->n_rows = n;
}

static tb_code pack_rows(cursor *c, tb_error *err)
{
    tb_loginfo info;
    take_rows(c);
    c->n = c->at = 0;
    if (!c->n_rows) return TB_OK;
    c->packed.len = 0;
    tb_code code = tb_logpack_block(c->pack, c->zone, c->times, c->n_rows, line_of, c, &c->packed, &info, err);
    if (!code) code = tb_logblock_open(c->block, c->packed.data, c->packed.len, c->zone, err);
    return code ? code : tb_logblock_select(c->block, c->filter, c->passing, &c->n, err);
}

static size_t stands_on(const cursor *c)
{
    return c->passing[c->descending ? c->n - 1 - c->at : c->at];
}

tb_code tb__ch_log_next(tb_log_cursor *of, tb_log_step *ret_step, tb_error *err)
{
    cursor *c = (cursor *)of;
    tb_code code = TB_OK;
    if (c->stands) c->at++;
    c->stands = c->at < c->n;
    const bool left = c->left.at < c->left.end;
    if (!c->stands && !left && tb__ch_pages_over(&c->pages)) {
        *ret_step = TB_LOG_END;
        return TB_OK;
    }
    if (!c->stands && !left) code = fetch(c, err);
    if (!code && !c->stands) code = pack_rows(c, err);
    if (code) return code;
    c->stands = c->at < c->n;
    *ret_step = c->stands ? TB_LOG_LINE : TB_LOG_PAUSE;
    return TB_OK;
}

tb_code tb__ch_log_line(tb_log_cursor *of, tb_logrow *ret_row, tb_error *err)
{
    cursor *c = (cursor *)of;
    return tb_logblock_row(c->block, stands_on(c), ret_row, err);
}

void tb__ch_log_place(const tb_log_cursor *of, uint64_t *ret_batch, uint32_t *ret_row)
{
    const cursor *c = (const cursor *)of;
    *ret_batch = c->rows[stands_on(c)].batch;
    *ret_row = c->rows[stands_on(c)].number;
}
