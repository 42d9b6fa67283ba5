/* GET /replica/base: a copy of the database to begin with. It is made on a thread of its own and sent from a file without
 * a name. A download that was cut off goes on with Range and If-Range while that file is kept; any other Range is
 * ignored, as RFC 9110 (14.2) allows. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/handlers.h"
#include "http/acknowledge.h"
#include "http/query.h"
#include "http/stream.h"

#define HEADERS 10

/* An answer, and its headers. Released with the request, after the stream. */
typedef struct sending {
    bases *of;
    base *base;
    uint64_t at;
    char piece[24], range[80];
    const char *headers[HEADERS + 1];
} sending;

static void release_sending(void *thing)
{
    sending *s = thing;
    if (s->base) bases_drop(s->of, s->base);
    free(s);
}

static tb_code read_more(void *ctx, tb_buf *out, bool *ret_done, tb_error *err)
{
    sending *s = ctx;
    char *to = tb_buf_room(out, STREAM_PIECE);
    if (!to) return tb_buf_check(out, err);
    const ssize_t n = pread(s->base->fd, to, STREAM_PIECE, (off_t)s->at);
    if (n <= 0) return tb_fail(err, TB_E_IO, NULL, "A base cannot be read: %s.", n < 0 ? strerror(errno) : "it is too short");
    out->len += (size_t)n;
    s->at += (uint64_t)n;
    *ret_done = s->at == s->base->size;
    return TB_OK;
}

static void answer_base(request *r, sending *s, uint64_t from)
{
    const base *b = s->base;
    const char **h = s->headers;
    s->at = from;
    snprintf(s->piece, sizeof s->piece, "%" PRId64, b->piece);
    snprintf(s->range, sizeof s->range, "bytes %" PRIu64 "-%" PRIu64 "/%" PRIu64, from, b->size - 1, b->size);
    *h++ = "ETag", *h++ = b->tag;
    *h++ = "Tollbook-Piece", *h++ = s->piece;
    *h++ = "Tollbook-Hash", *h++ = b->hash;
    *h++ = "Accept-Ranges", *h++ = "bytes";
    if (from) *h++ = "Content-Range", *h++ = s->range;
    request_answer_stream(r, (stream_source){.fill = read_more, .ctx = s, .len = b->size - from}, "application/octet-stream");
    r->reply.compressible = false;
    r->reply.headers = s->headers;
    if (from) r->reply.status = 206;
}

/* "bytes=N-". 0: it is another range, or none. */
static uint64_t range_from(tb_text range)
{
    static const char unit[] = "bytes=";
    const size_t n = sizeof unit - 1;
    int64_t from;
    if (range.len < n + 2 || memcmp(range.data, unit, n) != 0 || range.data[range.len - 1] != '-') return 0;
    return query_int(range.data + n, range.len - n - 1, &from) && from > 0 ? (uint64_t)from : 0;
}

/* The base that a cut off download goes on with; NULL: there is none. */
static base *kept_base(const request *r, uint64_t *ret_from)
{
    bases *of = r->worker->server->bases;
    *ret_from = range_from(request_header(r, HEADER_RANGE));
    const tb_text tag = request_header(r, HEADER_IF_RANGE);
    base *one = *ret_from && tag.len ? bases_take(of, tag) : NULL;
    if (!one || *ret_from < one->size) return one;
    bases_drop(of, one);
    return NULL;
}

static bool is_over(void *ctx)
{
    request *r = ctx;
    return !job_pool_time_left(r->worker->server->pool, LANE_BASE, &r->job) || request_client_left(r);
}

/* A standby whose copy was lost may be promoted before it has taken any piece: its base has all that was acknowledged, and what
 * is acknowledged while it comes, as the standby had that before. */
static tb_code make_base(write_job *job, tb_store *store, tb_error *err)
{
    request *r = job->owner;
    sending *s = r->kept;
    const server *own = r->worker->server;
    const int64_t least = own->options.acknowledge_standby ? acknowledge_newest(own->acknowledge) : 0;
    return bases_make(s->of, store, least, is_over, r, &s->base, err);
}

void api_replica_base(request *r)
{
    if (api_replica_meets(r)) return;
    server *own = r->worker->server;
    uint64_t from;
    tb_error err;
    if (api_replica_check_role(r, &err)) {
        request_fail_as(r, &err);
        return;
    }
    if (!own->replicated) {
        request_fail(r, TB_E_REPLICA_OFF, NULL, NULL);
        return;
    }
    sending *s = calloc(1, sizeof *s);
    if (!s) {
        request_fail(r, TB_E_NOMEM, NULL, NULL);
        return;
    }
    s->of = own->bases;
    s->base = kept_base(r, &from);
    r->kept = s;
    r->release_kept = release_sending;
    if (s->base) {
        answer_base(r, s, from);
        return;
    }
    r->job.run = make_base;
    r->job.bytes = 0;
    request_submit_base(r);
}

void api_replica_base_done(request *r)
{
    if (api_replica_met(r)) return;
    if (r->job.code) request_fail_as(r, &r->job.err);
    else answer_base(r, r->kept, 0);
}
