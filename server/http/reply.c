/* Turns the reply into libmicrohttpd's response object: the body, perhaps its gzip form, and the headers. Bodies are
 * never copied: the library borrows them until the last byte is sent.
 *
 * A response object costs two dozen allocations, most of them for headers that are the same each time. So a cached
 * answer keeps one for each worker and form; of its headers only the request id and the date change, and they are
 * overwritten in place, as their length is fixed. That is safe because the library copies the headers out when the
 * handler returns, on the same thread. The library would add a date itself, but formats it for each answer. */
#include "http/reply.h"

#include <inttypes.h>
#include <microhttpd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "http/clock.h"
#include "http/query.h"
#include "http/replicas.h"
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

/* An answer keeps its gzip form; other bodies are compressed into an answer of their own. If that fails the body is
 * sent plain. */
static body choose_body(request *r)
{
    worker *w = r->worker;
    body plain = {"", 0, false};
    if (r->reply.kind == REPLY_TEXT) plain = (body){r->text.data, r->text.len, false};
    if (r->reply.kind == REPLY_STATIC) plain = (body){r->reply.bytes, r->reply.len, r->reply.zipped};
    if (r->reply.kind == REPLY_NOT_MODIFIED) plain.len = r->reply.len;
    if (r->reply.kind == REPLY_ANSWER) {
        const tb_buf *b = answer_body(r->reply.answer);
        plain = (body){b->data, b->len, false};
    }
    if (!r->reply.compressible || plain.zipped || r->reply.kind == REPLY_NOT_MODIFIED || plain.len < REPLY_GZIP_MIN ||
        !query_accepts_gzip(request_header(r, HEADER_ACCEPT_ENCODING)))
        return plain;
    if (r->reply.answer) {
        const tb_buf *z = answer_gzip(r->reply.answer, w->gzip);
        return z ? (body){z->data, z->len, true} : plain;
    }
    answer *once = answer_new();
    if (!once) return plain;
    tb_buf *z = answer_body(once);
    if (gzip_encode(w->gzip, plain.bytes, plain.len, z, NULL) != TB_OK) {
        answer_drop(once);
        return plain;
    }
    r->reply.answer = once;
    return (body){z->data, z->len, true};
}

/* --- the head --- */

/* Headers that only some answers carry. */
static bool add_special(request *r, struct MHD_Response *m)
{
    char text[ROUTER_ALLOW_MAX];
    bool ok = true;
    if (r->reply.status == 405) {
        router_allow(r->allow, text);
        ok &= MHD_add_response_header(m, "Allow", text) == MHD_YES;
    }
    if (r->reply.status == 401) {
        const bool bearer = worker_token_key(r->worker) || (r->route && (r->route->keyed || r->route->bearer_key));
        const char *challenge = bearer ? "AccessKey realm=\"tollbook\", Bearer realm=\"tollbook\""
                                       : "AccessKey realm=\"tollbook\"";
        ok &= MHD_add_response_header(m, "WWW-Authenticate", challenge) == MHD_YES;
    }
    if (r->reply.retry_after) {
        snprintf(text, sizeof text, "%u", r->reply.retry_after);
        ok &= MHD_add_response_header(m, "Retry-After", text) == MHD_YES;
    }
    return ok;
}

/* Everything under the console's addresses, refusals too, and the root, which redirects there. */
static bool is_console(const request *r)
{
    static const char path[] = "/console";
    const size_t n = sizeof path - 1;
    if (r->target[0] == '/' && (r->target[1] == 0 || r->target[1] == '?')) return true;
    return strncasecmp(r->target, path, n) == 0 && strchr("/?", r->target[n]); /* or its end */
}

/* The console's page runs its own scripts and styles, sends requests to its own server, frames only its documents, and
 * may not be framed. */
static const char *const console_headers[] = {
    "Content-Security-Policy",
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; "
    "frame-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "Referrer-Policy", "no-referrer",
    "Cross-Origin-Opener-Policy", "same-origin",
    "Cross-Origin-Resource-Policy", "same-origin",
    NULL,
};

/* Invoices and what-if pages: documents with styles of their own and no scripts. A browser that is signed in to the
 * console opens them under the server's address, so they must not act in its name. */
static const char *const document_headers[] = {
    "Content-Security-Policy",
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'self'; sandbox",
    NULL,
};

static const char *const *security_headers(const request *r)
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
    const char *caching = r->reply.tagged ? "private, no-cache" : "no-store";
    ADD("Cache-Control", r->reply.cache ? r->reply.cache : caching);
    ADD(ID, id);
    if (r->reply.tagged) ADD("ETag", r->tag);
    if (cors_vary(r)) ADD("Vary", cors_vary(r));
    if (b->zipped) ADD("Content-Encoding", "gzip");
    if (r->reply.disposition) ADD("Content-Disposition", r->reply.disposition);
    if (r->reply.cookie) ADD("Set-Cookie", r->reply.cookie);
    if (r->reply.location) ADD("Location", r->reply.location);
    char lag[24];
    const copy_server *c = replicas_copy(r->worker->server);
    if (c) {
        snprintf(lag, sizeof lag, "%" PRId64, copy_lag_us(c) / 1000);
        ADD("Tollbook-Replica-Lag-Ms", lag);
    }
    for (const char *const *h = r->reply.headers; h && *h; h += 2)
        ADD(h[0], h[1]);
    for (const char *const *h = security_headers(r); *h; h += 2)
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

/* The response that an answer keeps for one worker and form. */
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

/* Writes the date of RFC 9110, 5.6.7, in English; strftime's names are the locale's. */
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

/* The response that the answer keeps for this worker and form, made at its first use. */
static struct MHD_Response *kept_response(request *r, const body *b)
{
    worker *w = r->worker;
    void **slot = answer_slot(r->reply.answer, w->index * 2 + b->zipped,
                                w->server->options.threads * 2, drop_kept);
    if (!slot || (!*slot && !(*slot = make_kept(r, b)))) return NULL;
    kept *k = *slot;
    request_id_text(r, k->id);
    const int64_t second = clock_wall_coarse_s();
    if (second == k->second) return k->response;
    if (second != w->date_second) write_date(w->date_second = second, w->date);
    memcpy(k->date, w->date, DATE_TEXT);
    k->second = second;
    return k->response;
}

static bool queue(request *r, struct MHD_Response *m)
{
    return m && MHD_queue_response(r->mhd, r->reply.status, m) == MHD_YES;
}

/* false: there is nothing to stream, and the reply is an error. *ret_sent is written where true. */
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
    bool no_body = r->method == HTTP_HEAD || r->reply.kind == REPLY_NOT_MODIFIED;
    r->sent = no_body ? 0 : b.len;
    conn_set_phase(r->conn, CONN_SEND, r->sent, clock_coarse_us());
    if (r->reply.again && !r->reply.close && !replicas_copy(s) && !cors_allowed(r)) return queue(r, kept_response(r, &b));
    struct MHD_Response *m = make_response(r, &b);
    bool ok = queue(r, m);
    MHD_destroy_response(m);
    return ok;
}
