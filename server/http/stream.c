/* libmicrohttpd asks for bytes when the socket has room; when the last piece is used up the source makes the next one.
 * So each connection has at most one piece, and its gzip form, in memory, and a slow client slows its own source only.
 *
 * The first piece is made before the head is sent: a source that fails at once is answered with an error. A later
 * failure cuts the answer off in a way that the client can detect: the chunk that ends a body is not sent, and without
 * chunks (HTTP/1.0) the connection is reset. */
#include "http/stream.h"

#include <microhttpd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "http/clock.h"
#include "http/server.h"
#include "usage/servers.h"

#define BLOCK ((size_t)128 << 10) /* libmicrohttpd's block, bytes */

typedef struct stream {
    stream_source source;
    request *r;
    gzip *gz; /* NULL: plain */
    tb_buf plain, zipped;
    const tb_buf *piece; /* the one that is being sent */
    size_t at;
    int64_t paused_us; /* since when it waits for a turn or for the job pool; 0: it does not */
    bool done;
} stream;

tb_code stream_fill(stream *s, tb_error *err)
{
    s->at = 0;
    s->plain.len = s->zipped.len = 0;
    tb_code code = s->source.fill(s->source.ctx, &s->plain, &s->done, err);
    if (!code) code = tb_buf_check(&s->plain, err);
    if (!code && s->gz)
        code = gzip_more(s->gz, s->plain.data, s->plain.len, s->done, &s->zipped, err);
    return code;
}

/* Ends the answer. The end of a body without chunks is the connection's end, which must not look like success:
 * connecting a socket to AF_UNSPEC makes Linux reset it. */
static ssize_t fail_stream(const stream *s, const tb_error *err)
{
    const struct sockaddr unspecified = {.sa_family = AF_UNSPEC};
    const request *r = s->r;
    request_log_failure(r, err);
    if (!r->head.http11 && r->conn->fd >= 0) (void)!connect(r->conn->fd, &unspecified, sizeof unspecified);
    return MHD_CONTENT_READER_END_WITH_ERROR;
}

static void note_piece(const stream *s, int64_t began_us)
{
    conn_piece(s->r->conn, s->piece->len, began_us, clock_mono_us());
}

/* *ret_asks: the piece needs a usage server, so the job pool makes it. */
static tb_code make_piece(stream *s, bool *ret_asks, tb_error *err)
{
    const server *own = s->r->worker->server;
    size_t shard = 0;
    *ret_asks = false;
    if (!s->source.asks || !own->options.usage) return stream_fill(s, err);
    usage_refuse();
    tb_code code = stream_fill(s, err);
    *ret_asks = usage_refused(&shard) && code;
    if (!*ret_asks) return code;
    s->plain.len = s->zipped.len = 0;
    s->paused_us = clock_mono_us();
    conn_set_phase(s->r->conn, CONN_WORK, 0, s->paused_us);
    request_submit_piece(s->r, shard);
    return TB_OK;
}

static ssize_t on_read(void *cls, uint64_t position, char *out, size_t room)
{
    stream *s = cls;
    int64_t began_us = s->paused_us;
    (void)position;
    s->paused_us = 0;
    if (s->r->waiting) { /* the job pool has made the piece */
        s->r->waiting = false;
        if (s->r->job.code) return fail_stream(s, &s->r->job.err);
        note_piece(s, began_us);
    }
    for (int made = 0; s->at == s->piece->len; made++) {
        tb_error err;
        bool asks = false;
        if (s->done) return MHD_CONTENT_READER_END_OF_STREAM;
        if (made > 0) { /* an empty piece took its time: other connections have a turn before the next one */
            s->paused_us = clock_mono_us();
            MHD_suspend_connection(s->r->mhd);
            MHD_resume_connection(s->r->mhd);
            return 0;
        }
        if (!began_us) began_us = clock_mono_us();
        if (make_piece(s, &asks, &err)) return fail_stream(s, &err);
        if (asks) return 0;
        note_piece(s, began_us);
    }
    size_t n = s->piece->len - s->at < room ? s->piece->len - s->at : room;
    memcpy(out, s->piece->data + s->at, n);
    s->at += n;
    s->r->sent += n;
    return (ssize_t)n;
}

static void on_end(void *cls)
{
    stream *s = cls;
    if (s->source.release) s->source.release(s->source.ctx);
    gzip_free(s->gz);
    tb_buf_release(&s->plain);
    tb_buf_release(&s->zipped);
    free(s);
}

tb_code stream_response(request *r, bool zipped, struct MHD_Response **ret_response, tb_error *err)
{
    stream_source source = r->reply.source;
    r->reply.source = (stream_source){0};
    stream *s = calloc(1, sizeof *s);
    if (!s) {
        if (source.release) source.release(source.ctx);
        return tb_no_memory(err);
    }
    *s = (stream){.source = source, .r = r};
    r->stream = s;
    tb_buf_init(&s->plain, source.most ? source.most : STREAM_BUF_MAX, NULL);
    tb_buf_init(&s->zipped, STREAM_BUF_MAX, NULL);
    s->piece = zipped ? &s->zipped : &s->plain;
    struct MHD_Response *m = NULL;
    tb_code code = zipped && !(s->gz = gzip_new()) ? tb_no_memory(err) : stream_fill(s, err);
    if (!code) m = MHD_create_response_from_callback(source.len && !zipped ? source.len : MHD_SIZE_UNKNOWN, BLOCK, on_read, s, on_end);
    if (!code && !m) code = tb_no_memory(err);
    if (code) {
        on_end(s);
        return code;
    }
    const int64_t now_us = clock_mono_us();
    conn_set_phase(r->conn, CONN_SEND, 0, now_us);
    conn_piece(r->conn, s->piece->len, now_us, now_us);
    *ret_response = m;
    return TB_OK;
}
