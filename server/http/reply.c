/* From a noted reply to libmicrohttpd's response object: the body, perhaps its gzip form, and the
 * headers. Bodies are never copied: the library borrows them until the last byte is sent.
 *
 * Making a response object costs two dozen allocations, most of them for headers that are the same
 * each time. So a cached answer keeps one for each worker and form; of its headers only the request
 * id and the date are new, and they are written over the old ones, which have the same length. That
 * is sound because the library copies the headers out when the handler returns, on the same thread.
 * The library adds a date itself where none is given; it works it out anew for each answer. */
#include "http/reply.h"

#include <microhttpd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "http/clock.h"
#include "http/query.h"
#include "http/server.h"
#include "http/stream.h"

#define ID        "X-Request-Id"
#define DATE      "Date"
#define DATE_TEXT 29 /* "Sun, 06 Nov 1994 08:49:37 GMT" */

typedef struct body {
    const char *bytes;
    size_t len;
    bool zipped;
} body;

/* --- the body --- */

static body plain_body(request *r)
{
    switch (r->reply.kind) {
    case REPLY_TEXT: return (body){r->text.data, r->text.len, false};
    case REPLY_STATIC: return (body){r->reply.bytes, r->reply.len, r->reply.zipped};
    case REPLY_NOT_MODIFIED: return (body){"", r->reply.len, false};
    case REPLY_ANSWER: {
        const tb_buf *b = answer_body(r->reply.what);
        return (body){b->data, b->len, false};
    }
    default: return (body){"", 0, false};
    }
}

/* An answer keeps its gzip form; of other bodies it is made into an answer for this once. Where it
 * cannot be made the body goes out plain. */
static body zip(request *r, body plain)
{
    worker *w = r->worker;
    if (r->reply.what) {
        const tb_buf *z = answer_gzip(r->reply.what, w->gzip);
        return z ? (body){z->data, z->len, true} : plain;
    }
    answer *once = answer_new();
    if (!once) return plain;
    tb_buf *z = answer_body(once);
    if (gzip_encode(w->gzip, plain.bytes, plain.len, z, NULL) != TB_OK) {
        answer_drop(once);
        return plain;
    }
    r->reply.what = once;
    return (body){z->data, z->len, true};
}

static body choose_body(request *r)
{
    body b = plain_body(r);
    if (!r->reply.compressible || b.zipped || r->reply.kind == REPLY_NOT_MODIFIED || b.len < REPLY_GZIP_MIN ||
        !query_accepts_gzip(request_header(r, HEADER_ACCEPT_ENCODING)))
        return b;
    return zip(r, b);
}

/* --- the head --- */

/* What may be sent to be let in. */
static const char *challenge(const request *r)
{
    return worker_token_key(r->worker) || (r->route && r->route->keyed)
               ? "AccessKey realm=\"tollbook\", Bearer realm=\"tollbook\""
               : "AccessKey realm=\"tollbook\"";
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
        ok &= MHD_add_response_header(m, "WWW-Authenticate", challenge(r)) == MHD_YES;
    if (r->reply.retry_after) {
        snprintf(text, sizeof text, "%u", r->reply.retry_after);
        ok &= MHD_add_response_header(m, "Retry-After", text) == MHD_YES;
    }
    return ok;
}

static const char *caching(const request *r)
{
    if (r->reply.cache) return r->reply.cache;
    return r->reply.tagged ? "private, no-cache" : "no-store";
}

/* Whatever is answered under the console's addresses, refusals too, and at the door that leads there. */
static bool is_console(const request *r)
{
    static const char room[] = "/console";
    const size_t n = sizeof room - 1;
    if (r->target[0] == '/' && (r->target[1] == 0 || r->target[1] == '?')) return true;
    return strncasecmp(r->target, room, n) == 0 && strchr("/?", r->target[n]); /* or its end */
}

/* The console's page runs its own scripts and styles, asks its own server, frames only its documents, and stands
 * in no frame. */
static const char *const console_headers[] = {
    "Content-Security-Policy",
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; "
    "frame-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "Referrer-Policy", "no-referrer",
    "Cross-Origin-Opener-Policy", "same-origin",
    "Cross-Origin-Resource-Policy", "same-origin",
    NULL,
};

/* Invoices and what-if pages: documents with styles of their own, and nothing that runs. A browser that is signed
 * in to the console opens them under the server's address, so they may not act in its name. */
static const char *const document_headers[] = {
    "Content-Security-Policy",
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'self'; sandbox",
    NULL,
};

static const char *const *guarding(const request *r)
{
    static const char html[] = "text/html";
    static const char *const none[] = {NULL};
    if (is_console(r)) return console_headers;
    return r->reply.content_type && strncmp(r->reply.content_type, html, sizeof html - 1) == 0
               ? document_headers
               : none;
}

static bool add_headers(request *r, struct MHD_Response *m, const body *b)
{
    char id[REQUEST_ID_TEXT + 1] = {0};
    request_id_text(r, id);
    bool ok = true;
#define ADD(name, value) ok &= MHD_add_response_header(m, name, value) == MHD_YES
    if (r->reply.content_type) ADD("Content-Type", r->reply.content_type);
    ADD("X-Content-Type-Options", "nosniff");
    ADD("Cache-Control", caching(r));
    ADD(ID, id);
    if (r->reply.tagged) ADD("ETag", r->tag);
    if (cors_vary(r)) ADD("Vary", cors_vary(r));
    if (b->zipped) ADD("Content-Encoding", "gzip");
    if (r->reply.disposition) ADD("Content-Disposition", r->reply.disposition);
    if (r->reply.cookie) ADD("Set-Cookie", r->reply.cookie);
    if (r->reply.location) ADD("Location", r->reply.location);
    for (const char *const *h = guarding(r); *h; h += 2)
        ADD(h[0], h[1]);
    if (r->reply.close) ADD("Connection", "close");
#undef ADD
    return ok && cors_add(r, m) && (r->reply.status < 400 || add_special(r, m));
}

/* --- the response object --- */

static struct MHD_Response *make_response(request *r, const body *b)
{
    /* The library's interface wants bytes that it could write to, and never does. */
    void *bytes = (void *)(uintptr_t)b->bytes;
    struct MHD_Response *m = MHD_create_response_from_buffer(b->len, bytes, MHD_RESPMEM_PERSISTENT);
    if (!m) return NULL;
    if (r->reply.tagged && r->reply.kind != REPLY_NOT_MODIFIED)
        request_tag_text(r->tag_hash, b->len, b->zipped, r->tag);
    if (add_headers(r, m, b)) return m;
    MHD_destroy_response(m);
    return NULL;
}

/* What an answer keeps for one worker and form. */
typedef struct kept {
    struct MHD_Response *response;
    char *id, *date; /* the values of its headers */
    int64_t second;  /* that date says, since 1970 */
} kept;

static void drop_kept(void *thing)
{
    kept *k = thing;
    MHD_destroy_response(k->response);
    free(k);
}

/* RFC 9110 5.6.7, which wants English names; strftime's are the locale's. */
static void write_date(int64_t second, char out[DATE_TEXT + 1])
{
    static const char days[][4] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
    static const char months[][4] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                     "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    struct tm t;
    const time_t at = (time_t)second;
    gmtime_r(&at, &t);
    snprintf(out, DATE_TEXT + 1, "%s, %02d %s %04d %02d:%02d:%02d GMT", days[t.tm_wday % 7],
             t.tm_mday % 32, months[t.tm_mon % 12], (t.tm_year + 1900) % 10000, t.tm_hour % 24,
             t.tm_min % 60, t.tm_sec % 61);
}

static void renew_date(kept *k, worker *w)
{
    const int64_t second = clock_wall_coarse_s();
    if (second == k->second) return;
    if (second != w->date_second) write_date(w->date_second = second, w->date);
    memcpy(k->date, w->date, DATE_TEXT);
    k->second = second;
}

static kept *make_kept(request *r, const body *b)
{
    kept *k = calloc(1, sizeof *k);
    struct MHD_Response *m = k ? make_response(r, b) : NULL;
    char blank[DATE_TEXT + 1] = {0};
    memset(blank, ' ', DATE_TEXT);
    if (m && MHD_add_response_header(m, DATE, blank) == MHD_YES) {
        k->response = m;
        k->id = (char *)(uintptr_t)MHD_get_response_header(m, ID);
        k->date = (char *)(uintptr_t)MHD_get_response_header(m, DATE);
        k->second = INT64_MIN;
        return k;
    }
    if (m) MHD_destroy_response(m);
    free(k);
    return NULL;
}

/* The one that the answer keeps for this worker and form, made where it is not there yet. */
static struct MHD_Response *kept_response(request *r, const body *b)
{
    worker *w = r->worker;
    void **place = answer_place(r->reply.what, w->index * 2 + b->zipped,
                                w->server->options.threads * 2, drop_kept);
    if (!place || (!*place && !(*place = make_kept(r, b)))) return NULL;
    kept *k = *place;
    request_id_text(r, k->id);
    renew_date(k, w);
    return k->response;
}

static bool queue(request *r, struct MHD_Response *m)
{
    return m && MHD_queue_response(r->mhd, r->reply.status, m) == MHD_YES;
}

/* false: there is nothing to stream, and the reply says why. *ret_sent is written where true. */
static bool send_stream(request *r, bool *ret_sent)
{
    body b = {.zipped = r->reply.compressible &&
                        query_accepts_gzip(request_header(r, HEADER_ACCEPT_ENCODING))};
    struct MHD_Response *m;
    tb_error err;
    if (stream_response(r, b.zipped, &m, &err)) {
        request_fail_as(r, &err);
        return false;
    }
    *ret_sent = add_headers(r, m, &b) && queue(r, m);
    MHD_destroy_response(m);
    return true;
}

bool reply_send(request *r)
{
    server *s = r->worker->server;
    if (r->reply.kind == REPLY_NONE) request_fail(r, TB_E_INTERNAL, NULL, NULL);
    if (atomic_load_explicit(&s->stopping, memory_order_relaxed)) r->reply.close = true;
    if (r->reply.kind == REPLY_STREAM && !r->head.http11) r->reply.close = true; /* its end is the connection's */
    if (r->reply.close) conn_set_last(r->conn);
    bool sent = false;
    if (r->reply.kind == REPLY_STREAM && send_stream(r, &sent)) return sent;
    body b = choose_body(r);
    bool bodiless = r->method == HTTP_HEAD || r->reply.kind == REPLY_NOT_MODIFIED;
    r->sent = bodiless ? 0 : b.len;
    conn_set_phase(r->conn, CONN_SEND, r->sent, clock_coarse_us());
    if (r->reply.again && !r->reply.close && !cors_allowed(r)) return queue(r, kept_response(r, &b));
    struct MHD_Response *m = make_response(r, &b);
    bool ok = queue(r, m);
    MHD_destroy_response(m);
    return ok;
}
