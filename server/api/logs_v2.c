/* GET /v2/pullzones/{id}/logs: request logs as JSON, filtered and paged; and /logs/summary: their totals, points over time
 * and most frequent values. All parameters are checked before the answer, so that a client gets all errors at once. */
#include <arpa/inet.h>
#include <inttypes.h>
#include <string.h>
#include <strings.h>
#include <xxhash.h>

#include "api/cached.h"
#include "api/handlers.h"
#include "api/logs.h"
#include "http/query.h"
#include "tollbook/json.h"

/* Tolerance for a client that computed "three days ago" a moment ago. */
#define LATE_MS INT64_C(300000)

#define TOP_DEFAULT 10

typedef struct params {
    tb_text from, to, status, cache, country, edge, ip, url, agent, referer, search, shield, id;
    tb_text limit, offset, order; /* of pages */
    tb_text values, top;          /* of summaries */
} params;

#define SPEC(name_, field)                                                                         \
    {                                                                                              \
        .name = name_, .kind = QUERY_TEXT, .offset = offsetof(params, field)                       \
    }
static const query_spec specs[] = {
    SPEC("from", from),
    SPEC("to", to),
    SPEC("status", status),
    SPEC("cacheStatus", cache),
    SPEC("country", country),
    SPEC("edgeLocation", edge),
    SPEC("remoteIp", ip),
    SPEC("urlContains", url),
    SPEC("userAgentContains", agent),
    SPEC("refererContains", referer),
    SPEC("search", search),
    SPEC("includeOriginShield", shield),
    SPEC("limit", limit),
    SPEC("offset", offset),
    SPEC("order", order),
    SPEC("requestId", id),
    SPEC("values", values),
    SPEC("top", top),
};

/* --- the window of time --- */

/* Lines have whole milliseconds, so times are rounded up: a client that continues a microsecond after a line does not
 * get it again. */
static bool read_time(tb_text text, int64_t *ret_us, int64_t *ret_ms)
{
    tb_error err;
    if (tb_date_parse(text.data, text.len, ret_us, &err) != TB_OK) return false;
    *ret_ms = *ret_us / 1000 + (*ret_us % 1000 > 0);
    return true;
}

static void read_window(log_answer *a, const params *p, int64_t now_ms, log_details *d)
{
    tb_log_filter *f = &a->filter;
    const int64_t oldest_ms = now_ms - TB_LOG_KEPT_MS;
    f->to_ms = now_ms;
    a->to_us = now_ms * 1000;
    if (p->to.len && !read_time(p->to, &a->to_us, &f->to_ms)) {
        logs_wrong(d, "to must be an ISO 8601 time.");
        return;
    }
    f->from_ms = f->to_ms - LOG_MS_PER_DAY;
    if (f->from_ms < oldest_ms && f->to_ms > oldest_ms) f->from_ms = oldest_ms;
    a->from_us = f->from_ms * 1000;
    if (p->from.len && !read_time(p->from, &a->from_us, &f->from_ms)) {
        logs_wrong(d, "from must be an ISO 8601 time.");
        return;
    }
    if (a->to_us <= a->from_us) logs_wrong(d, "to must be after from.");
    else if (f->to_ms - f->from_ms > TB_LOG_KEPT_MS + LATE_MS)
        logs_wrong(d, "Time range cannot exceed 3 days (log retention window).");
    else if (f->from_ms < oldest_ms - LATE_MS)
        logs_wrong(d, "from must be within the last 3 days (log retention window).");
    if (f->from_ms < oldest_ms) f->from_ms = oldest_ms;
}

/* --- lists --- */

static bool is_letter(char c)
{
    return (unsigned char)((c | 32) - 'a') < 26;
}

/* Items are kept in lower case. */
static bool read_list(log_answer *a, tb_text list, size_t least, size_t most, bool letters,
                      tb_log_list *out)
{
    tb_text item;
    bool ok = true;
    for (tb_text rest = list.len ? list : (tb_text){0}; logs_next_item(&rest, &item);) {
        ok &= item.len >= least && item.len <= most && out->n < TB_LOG_LIST_MAX;
        for (size_t i = 0; ok && letters && i < item.len; i++)
            ok &= is_letter(item.data[i]);
        if (!ok) return false;
        out->item[out->n++] = logs_keep(a, item, true);
    }
    return true;
}

/* --- texts --- */

/* Counts characters, not bytes: continuation bytes of UTF-8 do not count. */
static size_t count_characters(tb_text text)
{
    size_t n = 0;
    for (size_t i = 0; i < text.len; i++)
        n += ((unsigned char)text.data[i] & 0xC0) != 0x80;
    return n;
}

static void read_search(log_answer *a, tb_text text, log_details *d)
{
    tb_log_list *tokens = &a->filter.tokens;
    bool ok = true;
    for (size_t i = 0; i < text.len && ok;) {
        size_t from = i;
        while (i < text.len && text.data[i] != ' ')
            i++;
        const tb_text token = {text.data + from, i - from};
        i++;
        if (!token.len) continue;
        ok = tokens->n < TB_LOG_TOKENS && count_characters(token) <= TB_LOG_TOKEN_MAX;
        if (ok) tokens->item[tokens->n++] = logs_keep(a, token, true);
    }
    if (!ok) logs_wrong(d, "search must be at most 16 words of at most 128 characters.");
}

/* Compares only the part of addresses that this zone shows, or nothing if it shows none. */
static void read_ip(log_answer *a, tb_text text, log_details *d)
{
    tb_log_filter *f = &a->filter;
    char copy[INET6_ADDRSTRLEN] = "";
    if (!text.len || a->how.privacy == TB_LOG_IP_NONE) return;
    if (text.len < sizeof copy) memcpy(copy, text.data, text.len);
    unsigned family = inet_pton(AF_INET, copy, f->ip) == 1 ? 4 : 6;
    if (family == 6 && inet_pton(AF_INET6, copy, f->ip) != 1) {
        logs_wrong(d, "remoteIp must be an IPv4 or IPv6 address.");
        return;
    }
    f->by_ip = true;
    f->ip_bits = tb_log_ip_bits(a->how.privacy, f->ip, &family);
    f->ip_is_v4 = family == 4;
}

static bool is(tb_text text, const char *word)
{
    return text.len == strlen(word) && strncasecmp(text.data, word, text.len) == 0;
}

static void read_page(log_answer *a, const params *p, log_details *d)
{
    int64_t most = 100, offset = 0;
    if (p->limit.len && (!query_int(p->limit.data, p->limit.len, &most) || most < 1 ||
                         most > 10000))
        logs_wrong(d, "limit must be between 1 and 10000.");
    if (p->offset.len && (!query_int(p->offset.data, p->offset.len, &offset) || offset < 0))
        logs_wrong(d, "offset must be 0 or more.");
    a->limit = a->left = (uint64_t)most;
    a->offset = a->skip = (uint64_t)offset;
    a->descending = !is(p->order, "asc");
    if (p->order.len && a->descending && !is(p->order, "desc"))
        logs_wrong(d, "order must be asc or desc.");
}

static void read_filter(log_answer *a, const params *p, log_details *d)
{
    tb_log_filter *f = &a->filter;
    bool shield;
    tb_text item;
    bool ok = true;
    for (tb_text rest = p->status.len ? p->status : (tb_text){0}; logs_next_item(&rest, &item);)
        ok &= logs_status(f, item);
    if (!ok) logs_wrong(d, "status must be codes from 100 to 599 or classes such as 4xx.");
    if (!read_list(a, p->cache, 1, 32, false, &f->cache))
        logs_wrong(d, "cacheStatus must be values such as HIT, at most 64 of them.");
    if (!read_list(a, p->country, 2, 2, true, &f->country))
        logs_wrong(d, "country must be two-letter codes, at most 64 of them.");
    f->edge = logs_keep(a, p->edge, false);
    f->url = logs_keep(a, p->url, true);
    f->agent = logs_keep(a, p->agent, true);
    f->referer = logs_keep(a, p->referer, true);
    read_search(a, p->search, d);
    read_ip(a, p->ip, d);
    f->by_id = p->id.len > 0 && tb_log_id_parse(p->id, f->id);
    if (p->id.len && !f->by_id) logs_wrong(d, "requestId must be a UUID, with or without hyphens.");
    if (p->shield.len && !query_bool(p->shield.data, p->shield.len, &shield))
        logs_wrong(d, "includeOriginShield must be true or false.");
}

/* --- the answer --- */

static log_verdict put_line(log_answer *a, tb_logrow *row, tb_buf *out)
{
    if (a->left == 0) {
        a->more = true;
        return LOG_ENOUGH;
    }
    if (a->returned) tb_buf_str(out, ",");
    tb_logrow_json(row, a->zone, a->how.extended, out);
    a->returned++;
    a->left--;
    return LOG_TAKE;
}

static void put_number(tb_buf *out, const char *name, uint64_t value)
{
    char digits[TB_U64_TEXT_MAX];
    tb_buf_str(out, name);
    tb_buf_add(out, digits, (size_t)(tb_put_u64(digits, value) - digits));
}

static void put_end(log_answer *a, tb_buf *out)
{
    char from[20], to[20];
    tb_time_format(a->from_us, from);
    tb_time_format(a->to_us, to);
    put_number(out, "],\"pagination\":{\"offset\":", a->offset);
    put_number(out, ",\"limit\":", a->limit);
    put_number(out, ",\"returned\":", a->returned);
    tb_buf_str(out, a->more ? ",\"hasMore\":true}" : ",\"hasMore\":false}");
    put_number(out, ",\"query\":{\"pullZoneId\":", (uint64_t)a->zone);
    tb_buf_fmt(out, ",\"from\":\"%.20s\",\"to\":\"%.20s\",\"order\":\"%s\"}}", from, to,
               a->descending ? "desc" : "asc");
}

/* Reads the parameters that pages and summaries share. NULL: the request was answered with the reason. */
static log_answer *begin(request *r, params *p, log_details *wrong)
{
    int64_t zone;
    tb_error err;
    const tb_text query = request_query(r);
    if (!router_id(r->id, &zone)) zone = 0; /* answered like a zone that does not exist */
    if (query_parse(query.data, query.len, specs, sizeof specs / sizeof *specs, p, r->scratch, &err) != TB_OK) {
        request_fail_as(r, &err);
        return NULL;
    }
    log_answer *a = logs_begin(r, zone);
    if (!a) return NULL;
    read_window(a, p, request_now_us(r) / 1000, wrong);
    read_filter(a, p, wrong);
    return a;
}

void api_logs_v2(request *r)
{
    params p = {0};
    log_details wrong = {0};
    log_answer *a = begin(r, &p, &wrong);
    if (!a) return;
    read_page(a, &p, &wrong);
    if (logs_refused(r, &wrong)) {
        logs_free(a);
        return;
    }
    a->line = put_line;
    a->end = put_end;
    a->content_type = "application/json";
    tb_buf_str(&a->first, "{\"data\":[");
    logs_answer(r, a);
}

/* --- the summary --- */

/* Lies in r->work. */
typedef struct question {
    cached_question cached;
    request *request;
    log_answer *answer;
    tb_logsum_ask ask;
} question;
_Static_assert(sizeof(question) <= sizeof((request *)0)->work, "it fits request.work");

/* The times are resolved, and the other parameters are the target's. */
static cache_key summary_key(const void *asked, uint64_t version)
{
    const question *q = asked;
    const tb_text query = request_query(q->request);
    const int64_t place[] = {q->answer->zone, q->ask.from_ms, q->ask.to_ms};
    const XXH128_hash_t hash = XXH3_128bits_withSeed(query.data, query.len, XXH3_64bits(place, sizeof place));
    return (cache_key){{version, (uint64_t)q->answer->account, hash.high64, hash.low64, UINT64_C(0x6c6f6773756d), 0}};
}

/* Between blocks: the lane's deadline, and a client that has left. */
static tb_code check_going_on(const request *r, tb_error *err)
{
    if (request_client_left(r) || atomic_load(&r->worker->server->stopping)) return tb_fail(err, TB_E_BUSY, NULL, NULL);
    if (job_pool_time_left(r->worker->server->pool, LANE_SLOW, &r->job)) return TB_OK;
    return tb_fail(err, TB_E_TOO_MUCH, NULL, "It took longer than %d seconds. Ask for a shorter time.",
                   (int)(SERVER_SLOW_US / 1000000));
}

static tb_code fill_summary(tb_store *store, void *asked, tb_buf *out, tb_error *err)
{
    const question *q = asked;
    const log_answer *a = q->answer;
    tb_log_cursor *cursor = NULL;
    char from[20], to[20];
    bool end = false;
    tb_logsum *sum = tb_logsum_new(&q->ask);
    tb_code code = sum ? tb_store_logs(store, a->zone, &a->filter, false, &cursor, err) : tb_no_memory(err);
    while (!code && !end) {
        code = check_going_on(q->request, err);
        if (!code) code = tb_log_sum(cursor, sum, &end, err);
    }
    if (!code) {
        tb_time_format(a->from_us, from);
        tb_time_format(a->to_us, to);
        tb_buf_fmt(out, "{\"pullZoneId\":%" PRId64 ",\"from\":\"%.20s\",\"to\":\"%.20s\",", a->zone, from, to);
        tb_logsum_json(sum, out);
        tb_buf_str(out, "}");
        code = tb_buf_check(out, err);
    }
    tb_log_cursor_free(cursor);
    tb_logsum_free(sum);
    return code;
}

static void read_values(tb_text list, uint32_t *ret, log_details *d)
{
    tb_text item;
    bool ok = true;
    *ret = list.len ? 0 : (UINT32_C(1) << TB_LOG_VALUE_COUNT) - 1;
    for (tb_text rest = list.len ? list : (tb_text){0}; logs_next_item(&rest, &item);) {
        int v = 0;
        while (v < TB_LOG_VALUE_COUNT && !is(item, tb_log_value_name((tb_log_value)v)))
            v++;
        if (v < TB_LOG_VALUE_COUNT) *ret |= UINT32_C(1) << v;
        else ok = false;
    }
    if (!ok) logs_wrong(d, "values must be some of url, status, country, cacheStatus, userAgent, host, edgeLocation.");
}

static void release_answer(void *kept)
{
    logs_free(kept);
}

/* A block takes some milliseconds, and there may be many: always on the slow-query lane. */
void api_logs_summary(request *r)
{
    static const cached_kind kind = {summary_key, fill_summary};
    question *q = (question *)(void *)r->work;
    params p = {0};
    log_details wrong = {0};
    int64_t top = TOP_DEFAULT;
    log_answer *a = begin(r, &p, &wrong);
    if (!a) return;
    r->kept = a;
    r->release_kept = release_answer;
    *q = (question){.request = r, .answer = a, .ask.from_ms = a->filter.from_ms, .ask.to_ms = a->filter.to_ms};
    read_values(p.values, &q->ask.values, &wrong);
    if (p.top.len && (!query_int(p.top.data, p.top.len, &top) || top < 1 || top > TB_LOG_TOP_MAX))
        logs_wrong(&wrong, "top must be between 1 and 100.");
    _Static_assert(TB_LOG_TOP_MAX == 100, "as the sentence says");
    q->ask.top = (unsigned)top;
    if (!logs_refused(r, &wrong)) cached_answer_slow(r, &kind);
}
