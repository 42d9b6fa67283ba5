/* The answering calls only note what the answer is; reply.c sends it. An ETag is
 *     "<32 hex digits of the hash>-<length in hex>[g]"
 * with g for the gzip form. The hash stands for who asks what at which version of the store, so it
 * can be compared before any work; the length travels with it so that a 304 can carry the
 * Content-Length that the 200 would have had, as RFC 9110 8.6 wants, also before any work. */
#include "http/request.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "http/clock.h"
#include "http/query.h"
#include "http/reply.h"
#include "http/server.h"

tb_text request_path(const request *r)
{
    return (tb_text){r->target, r->path_len};
}

tb_text request_query(const request *r)
{
    if (r->path_len == r->target_len) return (tb_text){0};
    return (tb_text){r->target + r->path_len + 1, r->target_len - r->path_len - 1};
}

tb_text request_header(const request *r, guard_name name)
{
    return r->guard.value[name];
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

void request_fail_as(request *r, const tb_error *err)
{
    tb_buf *text = request_text(r);
    tb_answer_error(err, text);
    bool close = r->reply.close;
    r->err = *err;
    r->reply = (reply){.kind = text->failed ? REPLY_EMPTY : REPLY_TEXT,
                       .status = (unsigned)tb_code_http(err->code),
                       .content_type = REPLY_JSON,
                       .close = close};
    if (r->reply.status == 503 || r->reply.status == 429)
        r->reply.retry_after = err->code == TB_E_DISK_FULL ? 30 : 1;
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

static bool hex_number(const char *text, size_t len, uint64_t *ret_value)
{
    uint64_t n = 0;
    if (len == 0 || len > 16) return false;
    for (size_t i = 0; i < len; i++) {
        char c = text[i];
        unsigned digit = c >= '0' && c <= '9'   ? (unsigned)(c - '0')
                         : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a' + 10)
                                                : 16;
        if (digit == 16) return false;
        n = n << 4 | digit;
    }
    *ret_value = n;
    return true;
}

/* Whether the tag is the one that a 200 to this request would carry; then its length. */
static bool tag_stands(const request *r, tb_text tag, tb_hash128 hash, size_t *ret_len)
{
    uint64_t high, low, len;
    if (tag.len < 34 || tag.len > 32 + 1 + 8 + 1 || tag.data[32] != '-') return false;
    bool zipped = tag.data[tag.len - 1] == 'g';
    if (!hex_number(tag.data, 16, &high) || !hex_number(tag.data + 16, 16, &low) ||
        !hex_number(tag.data + 33, tag.len - 33 - zipped, &len))
        return false;
    if (high != hash.high || low != hash.low) return false;
    bool takes = query_accepts_gzip(request_header(r, GUARD_ACCEPT_ENCODING));
    /* Without 'g' to a client that takes gzip: only where the answer was too small for it. */
    if (zipped != takes && (zipped || len >= REPLY_GZIP_MIN)) return false;
    *ret_len = len;
    return true;
}

bool request_not_modified(request *r, tb_hash128 hash)
{
    tb_text tags = request_header(r, GUARD_IF_NONE_MATCH), tag;
    size_t at = 0, len = 0;
    bool star;
    r->tag_hash = hash;
    while (tags.data && query_next_tag(tags, &at, &tag, &star)) {
        if (star || !tag_stands(r, tag, hash, &len)) continue;
        snprintf(r->tag, sizeof r->tag, "\"%.*s\"", (int)tag.len, tag.data);
        r->reply = (reply){.kind = REPLY_NOT_MODIFIED, .status = 304, .len = len,
                           .compressible = true, .tagged = true};
        metrics_add(&r->worker->metrics.not_modified, 1);
        return true;
    }
    return false;
}
