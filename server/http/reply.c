/* From a noted reply to libmicrohttpd's response object: the body, perhaps its gzip form, and the
 * headers. Bodies are never copied: the library borrows them and gives them back through a
 * callback when the last byte is sent. */
#include "http/reply.h"

#include <microhttpd.h>
#include <stdio.h>
#include <string.h>

#include "http/query.h"
#include "http/server.h"

typedef struct body {
    const char *bytes;
    size_t len;
    answer *owner; /* NULL: the request or the process owns the bytes */
    bool zipped;
} body;

static void release(void *owner)
{
    answer_drop(owner);
}

static body plain_body(request *r)
{
    switch (r->reply.kind) {
    case REPLY_TEXT: return (body){r->text.data, r->text.len, NULL, false};
    case REPLY_STATIC: return (body){r->reply.bytes, r->reply.len, NULL, false};
    case REPLY_NOT_MODIFIED: return (body){"", r->reply.len, NULL, false};
    case REPLY_ANSWER: {
        const tb_buf *b = answer_body(r->reply.what);
        return (body){b->data, b->len, r->reply.what, false};
    }
    default: return (body){"", 0, NULL, false};
    }
}

/* An answer keeps its gzip form; of other bodies it is made for this once. Where it cannot be made
 * the body goes out plain. */
static body zip(request *r, body plain)
{
    worker *w = r->worker;
    if (plain.owner) {
        const tb_buf *z = answer_gzip(plain.owner, w->gzip);
        return z ? (body){z->data, z->len, plain.owner, true} : plain;
    }
    answer *once = answer_new(w->server->pool);
    if (!once) return plain;
    tb_buf *z = answer_body(once);
    if (gzip_encode(w->gzip, plain.bytes, plain.len, z, NULL) != TB_OK) {
        answer_drop(once);
        return plain;
    }
    return (body){z->data, z->len, once, true};
}

static body choose_body(request *r)
{
    body b = plain_body(r);
    if (!r->reply.compressible || r->reply.kind == REPLY_NOT_MODIFIED || b.len < REPLY_GZIP_MIN ||
        !query_accepts_gzip(request_header(r, GUARD_ACCEPT_ENCODING)))
        return b;
    return zip(r, b);
}

static struct MHD_Response *make_response(const body *b)
{
    /* The library's interface wants bytes that it could write to, and never does. */
    void *bytes = (void *)(uintptr_t)b->bytes;
    if (!b->owner)
        return MHD_create_response_from_buffer(b->len, bytes, MHD_RESPMEM_PERSISTENT);
    return MHD_create_response_from_buffer_with_free_callback_cls(b->len, bytes, release,
                                                                  b->owner);
}

static void put_hex(char *out, uint64_t value)
{
    static const char digits[] = "0123456789abcdef";
    for (int i = 15; i >= 0; i--, value >>= 4)
        out[i] = digits[value & 15];
}

static void make_tag(request *r, const body *b)
{
    char *t = r->tag;
    *t++ = '"';
    put_hex(t, r->tag_hash.high);
    put_hex(t + 16, r->tag_hash.low);
    snprintf(t + 32, sizeof r->tag - 33, "-%zx%s\"", b->len, b->zipped ? "g" : "");
}

/* Headers that only some answers carry. */
static bool add_special(request *r, struct MHD_Response *m)
{
    char text[ROUTER_ALLOW_MAX];
    bool ok = true;
    if (r->reply.status == 405) {
        router_allow(r->allow, text);
        ok &= MHD_add_response_header(m, "Allow", text) == MHD_YES;
    }
    if (r->reply.status == 401)
        ok &= MHD_add_response_header(m, "WWW-Authenticate", "AccessKey realm=\"tollbook\"") ==
              MHD_YES;
    if (r->reply.retry_after) {
        snprintf(text, sizeof text, "%u", r->reply.retry_after);
        ok &= MHD_add_response_header(m, "Retry-After", text) == MHD_YES;
    }
    return ok;
}

static bool add_headers(request *r, struct MHD_Response *m, const body *b)
{
    char id[17] = {0};
    put_hex(id, r->number);
    bool ok = true;
#define ADD(name, value) ok &= MHD_add_response_header(m, name, value) == MHD_YES
    if (r->reply.content_type) ADD("Content-Type", r->reply.content_type);
    ADD("X-Content-Type-Options", "nosniff");
    ADD("Cache-Control", r->reply.tagged ? "private, no-cache" : "no-store");
    ADD("X-Request-Id", id);
    if (r->reply.tagged) ADD("ETag", r->tag);
    if (r->reply.compressible) ADD("Vary", "Accept-Encoding");
    if (b->zipped) ADD("Content-Encoding", "gzip");
    if (r->reply.close) ADD("Connection", "close");
#undef ADD
    return ok && (r->reply.status < 400 || add_special(r, m));
}

bool reply_send(request *r)
{
    server *s = r->worker->server;
    if (r->reply.kind == REPLY_NONE) request_fail(r, TB_E_INTERNAL, NULL, NULL);
    if (atomic_load_explicit(&s->stopping, memory_order_relaxed)) r->reply.close = true;
    body b = choose_body(r);
    struct MHD_Response *m = make_response(&b);
    if (!m) {
        answer_drop(b.owner);
        return false;
    }
    if (r->reply.tagged && r->reply.kind != REPLY_NOT_MODIFIED) make_tag(r, &b);
    bool bodiless = r->method == HTTP_HEAD || r->reply.kind == REPLY_NOT_MODIFIED;
    r->sent = bodiless ? 0 : b.len;
    bool ok = add_headers(r, m, &b);
    conns_phase(s->conns, r->conn, CONN_SEND, r->sent);
    ok = ok && MHD_queue_response(r->mhd, r->reply.status, m) == MHD_YES;
    MHD_destroy_response(m);
    return ok;
}
