/* The answering calls only note what the answer is; reply.c sends it. An ETag is
 *     "<32 hex digits of a hash>-<length in hex>[g]"
 * with g for the gzip form. The hash covers who asks what at which version of the store, and that
 * length and form; so a tag can be checked before any work, and a 304 can carry the Content-Length
 * that the 200 would have had, as RFC 9110 8.6 wants, also before any work. */
#include "http/request.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <xxhash.h>

#include "http/clock.h"
#include "http/query.h"
#include "http/reply.h"
#include "http/server.h"
#include "http/process.h"
#include "tollbook/json.h"

tb_text request_path(const request *r)
{
    return (tb_text){r->target, r->path_len};
}

tb_text request_query(const request *r)
{
    if (r->path_len == r->head.target.len) return (tb_text){0};
    return (tb_text){r->target + r->path_len + 1, r->head.target.len - r->path_len - 1};
}

tb_text request_part(const request *r, unsigned n)
{
    return router_part(r->route, r->target, r->path_len, n);
}

tb_text request_header(const request *r, header_name name)
{
    return r->head.value[name];
}

int64_t request_now_us(const request *r)
{
    int64_t fixed = r->worker->server->options.fixed_now_us;
    return fixed == INT64_MIN ? clock_wall_us() : fixed;
}

tb_buf *request_text(request *r)
{
    r->text.len = 0;
    r->text.failed = false;
    return &r->text;
}

void request_answer_text(request *r, unsigned status, const char *content_type)
{
    if (r->text.failed) {
        request_fail(r, TB_E_NOMEM, NULL, NULL);
        return;
    }
    r->reply = (reply){.kind = REPLY_TEXT, .status = status, .content_type = content_type,
                       .compressible = status == 200};
}

void request_answer_static(request *r, const char *bytes, size_t len, const char *content_type)
{
    r->reply = (reply){.kind = REPLY_STATIC, .status = 200, .content_type = content_type,
                       .bytes = bytes, .len = len, .compressible = true};
}

void request_answer_empty(request *r, unsigned status)
{
    r->reply = (reply){.kind = REPLY_EMPTY, .status = status};
}

void request_answer(request *r, answer *what, bool again)
{
    r->reply = (reply){.kind = REPLY_ANSWER, .status = 200, .content_type = REPLY_JSON,
                       .what = what, .compressible = true, .tagged = true,
                       .again = again};
}

void request_answer_stream(request *r, stream_source source, const char *content_type)
{
    r->reply = (reply){.kind = REPLY_STREAM, .status = 200, .content_type = content_type,
                       .source = source, .compressible = true};
}

void request_complain(const request *r, const tb_error *err)
{
    char id[REQUEST_ID_TEXT];
    unsigned wait_s;
    request_id_text(r, id);
    if (limit_take(r->worker->server->complaints, err->code, clock_mono_us(), &wait_s))
        process_say("request %.16s: %s: %s", id, tb_code_key(err->code),
                err->message);
}

/* Where it was asked, for the shapes that say so; id holds REQUEST_ID_TEXT bytes. */
static error_place place_of(const request *r, char *id)
{
    request_id_text(r, id);
    return (error_place){request_path(r), {id, REQUEST_ID_TEXT}};
}

void request_put_problem(const request *r, const tb_error *err, tb_buf *out)
{
    char id[REQUEST_ID_TEXT];
    errors_put_problem(err, place_of(r, id), out);
}

/* That of the route; before there is one, because the request is malformed or its method another, of
 * the path's. */
static error_family family_of(const request *r)
{
    const server *s = r->worker->server;
    const route *row = r->route;
    if (!row) row = router_near(s->routes, s->n_routes, r->target, strcspn(r->target, "?"));
    if (!row || (r->conn->logging && !row->logging)) return ERRORS_CORE;
    return row->errors;
}

/* Seconds. A usage server that is back is noticed within two. */
static unsigned retry_after(tb_code code)
{
    if (code == TB_E_DISK_FULL || code == TB_E_GONE) return 30;
    return code == TB_E_AWAY ? 3 : 1;
}

static void fail_with(request *r, const tb_error *err, bool named)
{
    tb_buf *text = request_text(r);
    tb_error shown = *err;
    const bool own = tb_code_exit(err->code) == 3 && err->code != TB_E_BUSY;
    const bool said = err->code == TB_E_GONE || (named && !r->key); /* when it was met; a prober asks often */
    if (!said && (own || tb_code_http(err->code) == 500)) request_complain(r, err);
    if (own && !named) { /* its sentence, which may name files, is for the operator, not for the client */
        snprintf(shown.message, sizeof shown.message, "%s", tb_code_text(err->code));
    }
    char id[REQUEST_ID_TEXT];
    errors_put(family_of(r), &shown, place_of(r, id), text);
    bool close = r->reply.close;
    r->err = *err;
    r->reply = (reply){.kind = text->failed ? REPLY_EMPTY : REPLY_TEXT,
                       .status = (unsigned)tb_code_http(err->code),
                       .content_type = REPLY_JSON,
                       .close = close};
    if (r->reply.status == 503 || r->reply.status == 429)
        r->reply.retry_after = retry_after(err->code);
}

void request_fail_as(request *r, const tb_error *err)
{
    fail_with(r, err, err->code == TB_E_AWAY && r->key && r->account == 0); /* the operator's servers */
}

void request_fail_named(request *r, const tb_error *err)
{
    fail_with(r, err, true);
}

void request_fail(request *r, tb_code code, const char *field, const char *fmt, ...)
{
    tb_error err;
    tb_fail(&err, code, field, NULL);
    if (fmt) {
        va_list args;
        va_start(args, fmt);
        vsnprintf(err.message, sizeof err.message, fmt, args);
        va_end(args);
    }
    request_fail_as(r, &err);
}

void request_fail_at(request *r, const tb_error *err)
{
    tb_error placed = *err;
    char where[64] = "";
    if (err->line && err->byte)
        snprintf(where, sizeof where, "Line %" PRIu64 ", byte %" PRIu64 ": ", err->line, err->byte);
    else if (err->line) snprintf(where, sizeof where, "Line %" PRIu64 ": ", err->line);
    else if (err->byte) snprintf(where, sizeof where, "Byte %" PRIu64 ": ", err->byte);
    snprintf(placed.message, sizeof placed.message, "%s%.*s", where,
             (int)(sizeof placed.message - sizeof where), err->message);
    request_fail_as(r, &placed);
}

static char *put_hex(char *out, uint64_t value, int digits)
{
    for (int i = digits - 1; i >= 0; i--, value >>= 4)
        out[i] = "0123456789abcdef"[value & 15];
    return out + digits;
}

void request_id_text(const request *r, char out[REQUEST_ID_TEXT])
{
    put_hex(out, r->number, REQUEST_ID_TEXT);
}

void request_peer_text(const request *r, char out[REQUEST_PEER_TEXT])
{
    const struct in6_addr *a = &r->conn->peer;
    out[0] = 0;
    if (IN6_IS_ADDR_V4MAPPED(a)) inet_ntop(AF_INET, a->s6_addr + 12, out, REQUEST_PEER_TEXT);
    else inet_ntop(AF_INET6, a, out, REQUEST_PEER_TEXT);
}

/* "client, proxy": the last one is whom the nearest proxy saw. */
static bool read_forwarded(tb_text list, struct in6_addr *ret)
{
    char text[INET6_ADDRSTRLEN];
    struct in_addr four;
    size_t from = list.len;
    while (from > 0 && list.data[from - 1] != ',' && list.data[from - 1] != ' ')
        from--;
    if (list.len - from >= sizeof text) return false;
    memcpy(text, list.data + from, list.len - from);
    text[list.len - from] = 0;
    if (inet_pton(AF_INET6, text, ret) == 1) return true;
    if (inet_pton(AF_INET, text, &four) != 1) return false;
    *ret = (struct in6_addr){.s6_addr = {[10] = 0xff, [11] = 0xff}};
    memcpy(ret->s6_addr + 12, &four, sizeof four);
    return true;
}

int64_t request_visitor(const request *r)
{
    struct in6_addr a = r->conn->peer;
    const tb_text forwarded = request_header(r, HEADER_FORWARDED_FOR);
    if (conns_loopback(&a) && forwarded.len && !read_forwarded(forwarded, &a)) a = r->conn->peer;
    const size_t counted = IN6_IS_ADDR_V4MAPPED(&a) || conns_loopback(&a) ? sizeof a : 8;
    const uint64_t hash = XXH3_64bits(&a, counted);
    return (int64_t)(hash | 1);
}

size_t request_tag_text(tb_hash128 hash, size_t len, bool zipped, char out[REQUEST_TAG_MAX])
{
    XXH128_hash_t h = XXH3_128bits_withSeed(&hash, sizeof hash, (uint64_t)len << 1 | zipped);
    int digits = 1;
    while (digits < 16 && len >> (4 * digits))
        digits++;
    char *t = out;
    *t++ = '"';
    t = put_hex(t, h.high64, 16);
    t = put_hex(t, h.low64, 16);
    *t++ = '-';
    t = put_hex(t, len, digits);
    if (zipped) *t++ = 'g';
    *t++ = '"';
    *t = 0;
    return (size_t)(t - out);
}

/* The length that a tag claims: behind its '-', up to 8 digits. */
static bool claimed_length(tb_text tag, bool zipped, size_t *ret_len)
{
    size_t len = 0, end = tag.len - zipped;
    if (end < 34 || end > 33 + 8 || tag.data[32] != '-') return false;
    for (size_t i = 33; i < end; i++) {
        char c = tag.data[i];
        if ((c < '0' || c > '9') && (c < 'a' || c > 'f')) return false;
        len = len << 4 | (unsigned)(c <= '9' ? c - '0' : c - 'a' + 10);
    }
    *ret_len = len;
    return true;
}

/* Whether the tag, without its quotes, is the one that a 200 to this request would carry. */
static bool tag_stands(request *r, tb_text tag, tb_hash128 hash, size_t *ret_len)
{
    bool zipped = tag.len > 0 && tag.data[tag.len - 1] == 'g';
    if (!claimed_length(tag, zipped, ret_len)) return false;
    size_t n = request_tag_text(hash, *ret_len, zipped, r->tag);
    if (n != tag.len + 2 || memcmp(r->tag + 1, tag.data, tag.len) != 0) return false;
    /* Without 'g' to a client that takes gzip: only where the answer was too small for it. */
    bool takes = query_accepts_gzip(request_header(r, HEADER_ACCEPT_ENCODING));
    return zipped == takes || (takes && *ret_len < REPLY_GZIP_MIN);
}

bool request_not_modified(request *r, tb_hash128 hash)
{
    tb_text tags = request_header(r, HEADER_IF_NONE_MATCH), tag;
    size_t at = 0, len = 0;
    bool star;
    r->tag_hash = hash;
    while (tags.data && query_next_tag(tags, &at, &tag, &star)) {
        if (star || !tag_stands(r, tag, hash, &len)) continue;
        r->reply = (reply){.kind = REPLY_NOT_MODIFIED, .status = 304, .len = len,
                           .compressible = true, .tagged = true};
        metrics_add(&r->worker->metrics.not_modified, 1);
        return true;
    }
    return false;
}
