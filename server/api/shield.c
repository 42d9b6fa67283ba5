/* GET /shield/event-logs/{shieldZoneId}/{date}[/{continuationToken}]: a day's events,
 * newest first, 100 a page. A page begins at a key, not at a number, so new events neither move nor repeat
 * others. Its errors have the members of a page and of a problem, for readers of either. */
#include "api/shield.h"

#include <string.h>

#include "api/handlers.h"
#include "tollbook/calendar.h"
#include "tollbook/json.h"

#define PAGE_BYTES ((size_t)8 << 20) /* a longer page ends early */

/* --- parameters --- */

tb_code shield_zone(request *r, int64_t *ret_zone, tb_error *err)
{
    int64_t zone;
    if (!router_id(request_part(r, 0), &zone) || zone > TB_SHIELD_ZONE_MAX)
        return tb_fail(err, TB_E_SHIELD_NOT_FOUND, "ShieldZone", NULL);
    tb_code code = tb_store_shield_check(r->worker->store, r->account, zone, err);
    if (!code) *ret_zone = zone;
    return code;
}

/* Reads n digits. */
static bool read_digits(const char *text, int n, int32_t *ret)
{
    *ret = 0;
    for (int i = 0; i < n; i++) {
        if (text[i] < '0' || text[i] > '9') return false;
        *ret = *ret * 10 + (text[i] - '0');
    }
    return true;
}

bool api_read_day(tb_text text, int64_t *ret_day)
{
    tb_date d;
    if (text.len != 10 || text.data[2] != '-' || text.data[5] != '-' ||
        !read_digits(text.data, 2, &d.month) || !read_digits(text.data + 3, 2, &d.day) ||
        !read_digits(text.data + 6, 4, &d.year))
        return false;
    if (d.year < 1 || d.month < 1 || d.month > 12 || d.day < 1 ||
        d.day > tb_days_in_month(d.year, d.month))
        return false;
    *ret_day = tb_day_from_date(d);
    return true;
}

static tb_code read_day(request *r, int64_t *ret_day, tb_error *err)
{
    const int64_t now_ms = request_now_us(r) / 1000;
    const int64_t first = tb_event_first_day(now_ms);
    if (!api_read_day(request_part(r, 1), ret_day))
        return tb_fail(err, TB_E_EVENT_DATE, "date", NULL);
    if (*ret_day < first || *ret_day > first + TB_EVENT_DAYS - 1)
        return tb_fail(err, TB_E_EVENT_WINDOW, "date", NULL);
    return TB_OK;
}

/* Where the page begins: at the day's end, or at the token's place. */
static tb_code read_place(request *r, const tb_event_scope *scope, tb_event_place *ret,
                          tb_error *err)
{
    char highest[TB_EVENT_ID_MAX];
    const tb_text token = request_part(r, 2);
    if (!token.data || (token.len == 1 && (*token.data == '0' || *token.data == '-'))) {
        memset(highest, 0xff, sizeof highest);
        ret->after = false;
        tb_event_key_set(&ret->key, (scope->day + 1) * TB_EVENT_MS_PER_DAY - 1, highest,
                         sizeof highest);
        return TB_OK;
    }
    if (tb_event_token_read(r->worker->server->event_secret, scope, token, ret)) return TB_OK;
    return tb_fail(err, TB_E_EVENT_TOKEN, "continuationToken", NULL);
}

static tb_code read_path(request *r, tb_event_scope *scope, tb_event_place *place, tb_error *err)
{
    scope->account = r->account;
    tb_code code = shield_zone(r, &scope->zone, err);
    if (!code) code = read_day(r, &scope->day, err);
    return code ? code : read_place(r, scope, place, err);
}

/* --- the page --- */

typedef struct page {
    const tb_event_place *place;
    int64_t from_ms;
    tb_buf *out;
    size_t begin; /* of out, where the page began */
    int n;
    bool more, damaged;
    tb_event_key first, last;
    uint32_t at[TB_EVENT_BLOCK / 16]; /* a record has at least that many bytes */
} page;

/* Puts one event. false: the page is full, or the day is over. */
static bool put_event(page *p, const tb_event_record *record)
{
    tb_event_key key;
    tb_event_record_key(record, &key);
    if (record->time_ms < p->from_ms) return false;
    const int order = tb_event_key_compare(&key, &p->place->key);
    if (order > 0 || (order == 0 && p->place->after)) return true; /* before the page's place */
    if (p->n == TB_EVENT_PAGE || (p->n && p->out->len - p->begin > PAGE_BYTES)) {
        p->more = true;
        return false;
    }
    if (p->n++) tb_buf_str(p->out, ",");
    else p->first = key;
    p->last = key;
    tb_event_json(record, p->out);
    return true;
}

static bool put_block(void *ctx, const void *block, size_t len)
{
    page *p = ctx;
    tb_event_record record;
    size_t n = 0, at = 0;
    while (at < len && n < sizeof p->at / sizeof *p->at) {
        p->at[n++] = (uint32_t)at;
        if (!tb_event_next(block, len, &at, &record)) p->damaged = true;
        if (p->damaged) return false;
    }
    while (n-- > 0) {
        at = p->at[n];
        if (!tb_event_next(block, len, &at, &record) || !put_event(p, &record)) return false;
    }
    return true;
}

static void put_token(const request *r, const char *name, const tb_event_scope *scope, bool there,
                      bool after, const tb_event_key *key, tb_buf *out)
{
    char text[TB_EVENT_TOKEN_MAX];
    const tb_event_place place = {.after = after, .key = *key};
    if (there) tb_event_token(r->worker->server->event_secret, scope, &place, text);
    tb_buf_fmt(out, ",\"%s\":%s%s%s", name, there ? "\"" : "", there ? text : "null",
               there ? "\"" : "");
}

static tb_code put_page(request *r, tb_error *err)
{
    tb_event_scope scope;
    tb_event_place place;
    tb_code code = read_path(r, &scope, &place, err);
    if (code) return code;
    tb_buf *out = request_text(r);
    tb_buf_str(out, "{\"logs\":[");
    page p = {.place = &place, .from_ms = scope.day * TB_EVENT_MS_PER_DAY, .out = out,
              .begin = out->len};
    code = tb_store_events_down(r->worker->store, scope.zone, &place.key, put_block, &p, err);
    if (!code && p.damaged)
        code = tb_fail(err, TB_E_CORRUPT, NULL, "A block of shield events cannot be read.");
    if (code) return code;
    tb_buf_fmt(out, "],\"hasMoreData\":%s", p.more ? "true" : "false");
    put_token(r, "continuationToken", &scope, p.more, true, &p.last, out);
    put_token(r, "startToken", &scope, p.n > 0, false, &p.first, out);
    tb_buf_str(out, ",\"errorResponse\":null}");
    return tb_buf_check(out, err);
}

static void fail_page(request *r, const tb_error *err)
{
    const unsigned status = (unsigned)tb_code_http(err->code);
    if (status != 400 && status != 404) {
        request_fail_as(r, err);
        return;
    }
    tb_buf *out = request_text(r);
    tb_buf_fmt(out,
               "{\"logs\":[],\"hasMoreData\":false,\"continuationToken\":null,"
               "\"startToken\":null,\"errorResponse\":{\"statusCode\":%u,\"success\":false,"
               "\"message\":",
               status);
    tb_json_string(out, err->message, strlen(err->message));
    tb_buf_fmt(out, ",\"errorKey\":\"%s\"},", tb_code_key(err->code));
    request_put_problem(r, err, out);
    tb_buf_str(out, "}");
    request_answer_text(r, status, "application/json");
}

void api_shield_events(request *r)
{
    tb_error err;
    tb_code code = tb_store_read_begin(r->worker->store, &err);
    if (!code) {
        code = put_page(r, &err);
        tb_store_read_end(r->worker->store);
    }
    if (code)
        fail_page(r, &err);
    else
        request_answer_text(r, 200, "application/json");
}
