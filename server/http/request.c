/* The answering calls only set the reply; reply.c sends it. An ETag is
 *     "<32 hex digits of a hash>-<length in hex>[g]"
 * with g for the gzip form. The hash covers the account, the question and the version of the store, as well as that
 * length and form. So a tag can be checked before any work, and a 304 can carry the Content-Length that the 200 would
 * have had, as RFC 9110, 8.6 wants. */
#include "http/request.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <xxhash.h>

#include "http/clock.h"
#include "http/query.h"
#include "http/replicas.h"
#include "http/reply.h"
#include "http/server.h"
#include "http/message.h"
#include "tollbook/json.h"

tb_text request_path(const request *r)
{
    return r->path;
}

tb_text request_query(const request *r)
{
    if (r->path_len == r->head.target.len) return (tb_text){0};
    return (tb_text){r->target + r->path_len + 1, r->head.target.len - r->path_len - 1};
}

tb_text request_part(const request *r, unsigned n)
{
    return router_part(r->route, r->path, n);
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

bool request_answer_zipped(request *r, const zipped_text *text, const char *content_type)
{
    tb_error err;
    if (query_accepts_gzip(request_header(r, HEADER_ACCEPT_ENCODING))) {
        request_answer_static(r, text->bytes, text->len, content_type);
        r->reply.zipped = true;
    } else if (gzip_decode(text->bytes, text->len, text->plain_len, request_text(r), &err) == TB_OK) {
        request_answer_text(r, 200, content_type);
    } else {
        request_fail_as(r, &err);
        return false;
    }
    return true;
}

void request_answer_empty(request *r, unsigned status)
{
    r->reply = (reply){.kind = REPLY_EMPTY, .status = status};
}

void request_answer(request *r, answer *a, bool again)
{
    r->reply = (reply){.kind = REPLY_ANSWER, .status = 200, .content_type = REPLY_JSON,
                       .answer = a, .compressible = true, .tagged = true,
                       .again = again};
}

void request_answer_stream(request *r, stream_source source, const char *content_type)
{
    r->reply = (reply){.kind = REPLY_STREAM, .status = 200, .content_type = content_type,
                       .source = source, .compressible = true};
}

void request_log_failure(const request *r, const tb_error *err)
{
    char id[REQUEST_ID_TEXT];
    unsigned wait_s;
    request_id_text(r, id);
    if (limit_take(r->worker->server->failure_limit, err->code, clock_mono_us(), &wait_s))
        message_say(MESSAGE_ERROR, "request %.16s: %s: %s", id, tb_code_key(err->code),
                err->message);
}

/* For the error bodies that say where it happened; id has room for REQUEST_ID_TEXT bytes. */
static error_place error_place_of(const request *r, char *id)
{
    request_id_text(r, id);
    return (error_place){.path = {r->target, r->path_len}, .id = {id, REQUEST_ID_TEXT}};
}

void request_put_problem(const request *r, const tb_error *err, tb_buf *out)
{
    char id[REQUEST_ID_TEXT];
    errors_put_problem(err, error_place_of(r, id), out);
}

static void set_failure(request *r, const tb_error *err, bool named)
{
    tb_buf *text = request_text(r);
    tb_error shown = *err;
    const bool own = tb_code_exit(err->code) == 3 && err->code != TB_E_BUSY;
    const bool quiet = err->code == TB_E_GONE || (named && !r->key); /* reported when it was found; probes ask often */
    if (!quiet && (own || tb_code_http(err->code) == 500)) request_log_failure(r, err);
    if (own && !named) /* its message may name files: it is for the operator, not for the client */
        snprintf(shown.message, sizeof shown.message, "%s", tb_code_text(err->code));
    /* A request without a route has the error family of its path. */
    const server *s = r->worker->server;
    const route *row = r->route;
    if (!row) row = router_match_path(s->routes, s->n_routes, (tb_text){r->target, strcspn(r->target, "?")});
    if (row && r->conn->logging && !row->logging) row = NULL;
    char id[REQUEST_ID_TEXT];
    error_place place = error_place_of(r, id);
    if (err->code == TB_E_REPLICA_READ_ONLY || err->code == TB_E_REPLICA_SUPERSEDED) place.primary = replicas_primary(s);
    errors_put(row ? row->errors : ERRORS_CORE, &shown, place, text);
    bool close = r->reply.close;
    r->err = *err;
    r->reply = (reply){.kind = text->failed ? REPLY_EMPTY : REPLY_TEXT,
                       .status = (unsigned)tb_code_http(err->code),
                       .content_type = REPLY_JSON,
                       .close = close};
    if (r->reply.status == 503 || r->reply.status == 429)
        r->reply.retry_after = err->code == TB_E_DISK_FULL || err->code == TB_E_GONE ? 30
                               : err->code == TB_E_AWAY                               ? 3 /* it is noticed within two */
                                                                                      : 1;
}

void request_fail_as(request *r, const tb_error *err)
{
    set_failure(r, err, err->code == TB_E_AWAY && r->key && r->account == 0); /* the operator's servers */
}

void request_fail_verbatim(request *r, const tb_error *err)
{
    set_failure(r, err, true);
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

/* Reads the last address of "client, proxy": the one that the nearest proxy saw. */
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

/* Whether the tag, without its quotes, is the one that a 200 to this request would carry. */
static bool is_current_tag(request *r, tb_text tag, tb_hash128 hash, size_t *ret_len)
{
    const bool zipped = tag.len > 0 && tag.data[tag.len - 1] == 'g';
    const size_t end = tag.len - zipped;
    *ret_len = 0; /* from the up to 8 digits after its '-' */
    if (end < 34 || end > 33 + 8 || tag.data[32] != '-') return false;
    for (size_t i = 33; i < end; i++) {
        const char c = tag.data[i];
        if ((c < '0' || c > '9') && (c < 'a' || c > 'f')) return false;
        *ret_len = *ret_len << 4 | (unsigned)(c <= '9' ? c - '0' : c - 'a' + 10);
    }
    const size_t n = request_tag_text(hash, *ret_len, zipped, r->tag);
    if (n != tag.len + 2 || memcmp(r->tag + 1, tag.data, tag.len) != 0) return false;
    /* A client that takes gzip has a tag without 'g' only for an answer too small to be compressed. */
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
        if (star || !is_current_tag(r, tag, hash, &len)) continue;
        r->reply = (reply){.kind = REPLY_NOT_MODIFIED, .status = 304, .len = len,
                           .compressible = true, .tagged = true};
        metrics_add(&r->worker->metrics.not_modified, 1);
        return true;
    }
    return false;
}
