/* GET /v2/pullzones/{id}/logs: request logs as JSON, filtered and paged. All parameters are checked before the answer,
 * so that a client gets all errors at once. */
#include <arpa/inet.h>
#include <string.h>
#include <strings.h>

#include "api/handlers.h"
#include "api/logs.h"
#include "http/query.h"
#include "tollbook/json.h"

#define MS_PER_DAY INT64_C(86400000)
/* Tolerance for a client that computed "three days ago" a moment ago. */
#define LATE_MS INT64_C(300000)

typedef struct params {
    tb_text from, to, status, cache, country, edge, ip, url, agent, referer, search, shield, limit,
        offset, order, id;
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
    f->from_ms = f->to_ms - MS_PER_DAY;
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

void api_logs_v2(request *r)
{
    int64_t zone;
    params p = {0};
    tb_error err;
    log_details wrong = {0};
    const tb_text query = request_query(r);
    if (!router_id(r->id, &zone)) zone = 0; /* answered like a zone that does not exist */
    if (query_parse(query.data, query.len, specs, sizeof specs / sizeof *specs, &p, r->scratch,
                    &err) != TB_OK) {
        request_fail_as(r, &err);
        return;
    }
    log_answer *a = logs_begin(r, zone);
    if (!a) return;
    const int64_t now_ms = request_now_us(r) / 1000;
    read_window(a, &p, now_ms, &wrong);
    read_filter(a, &p, &wrong);
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
