/* The callbacks of libmicrohttpd 0.9.75. For one request the library calls:
 *
 *   log_uri     request line read: the raw target is kept, before the library decodes it
 *   on_request  first call, head complete: checks route, key, and the body's length and type
 *   on_request  once for each piece of a body, or twice for a large one: before it and after it
 *   on_request  last call: the handler answers, or suspends the connection for a job of the writer or the pool
 *   on_request  after that job: the route's finish answers
 *   on_completed in any case
 *
 * Before all of this the head was validated and written in canonical form (front/head.h).
 *
 * An answer queued in the first call makes the library close the connection, so a refusal waits for
 * the last call, unless the request is malformed or a body follows that is not wanted. */
#include "http/handler.h"

#include <arpa/inet.h>
#include <assert.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "http/access.h"
#include "http/acknowledge.h"
#include "http/front/body.h"
#include "http/clock.h"
#include "http/media.h"
#include "http/replicas.h"
#include "http/reply.h"
#include "http/stream.h"

#define READ_US   10000              /* a worker that answered a GET so recently may do so again */
#define TEXT_MAX  ((size_t)64 << 20) /* longest answer that is not streamed, bytes */
#define TEXT_KEPT ((size_t)64 << 10) /* of that, kept for a connection's next answer */
#define IGNORED_MAX                                                                                \
    ((size_t)64 << 10) /* of a body on a route that takes none: read and ignored */

/* --- the request line --- */

static void *log_uri(void *cls, const char *uri, struct MHD_Connection *mhd)
{
    worker *w = cls;
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    conn *k = info ? info->socket_context : NULL;
    if (!k || !uri) return NULL;
    if (!k->request) {
        k->request = calloc(1, sizeof *k->request);
        if (!k->request) return NULL;
        tb_buf_init(&k->request->text, TEXT_MAX, NULL);
    }
    request *r = k->request;
    memset(r, 0, offsetof(request, last));
    r->conn = k;
    r->worker = w;
    r->mhd = mhd;
    r->head.target = (tb_text){r->target, strnlen(uri, HEAD_TARGET_MAX)};
    memcpy(r->target, uri, r->head.target.len);
    r->target[r->head.target.len] = 0;
    /* Ends the query at its beginning, in the library's own copy of the line: else it would decode every parameter into
     * its pool for nothing, and give no answer if there are a thousand. It has found the '?' already and goes on after
     * it. */
    char *mark = strchr((char *)(uintptr_t)uri, '?');
    if (mark) mark[1] = 0;
    conn_begin(k, clock_coarse_us());
    return r;
}

/* --- checking a head --- */

static void refuse_request(request *r, tb_code code, const char *field, const char *why)
{
    request_fail(r, code, field, why ? "%s" : NULL, why);
    r->refused = true;
}

static bool find_route(request *r)
{
    const server *s = r->worker->server;
    if (r->method == HTTP_UNKNOWN) {
        refuse_request(r, TB_E_NOT_IMPLEMENTED, NULL, NULL);
        return false;
    }
    const routed found = router_match(s->routes, s->n_routes, r->method, (tb_text){r->target, r->path_len});
    r->route = found.row;
    r->path = found.path;
    r->id = found.id;
    r->allow = found.allow;
    if (r->route && r->conn->logging && !r->route->logging) r->route = NULL;
    if (r->route) return true;
    if (r->allow && cors_is_preflight(r)) {
        request_answer_empty(r, 204);
        r->refused = true;
        return false;
    }
    refuse_request(r, r->allow ? TB_E_METHOD : TB_E_NOT_FOUND, NULL, NULL);
    return false;
}

static bool takes_body(const request *r)
{
    return r->route->body != ROUTE_NO_BODY;
}

static size_t body_max(const request *r)
{
    if (!takes_body(r)) return IGNORED_MAX;
    const size_t any = r->worker->server->options.body_max, own = r->route->body_max;
    return own && own < any ? own : any;
}

static const char no_body[] = "This request takes no body; more than 64 KiB came.";

static void accept_body(request *r)
{
    if (!head_has_body(&r->head)) return;
    if (r->head.content_length > body_max(r)) {
        refuse_request(r, TB_E_TOO_LARGE, NULL, takes_body(r) ? NULL : no_body);
        return;
    }
    if (!takes_body(r)) return;
    media_coding coding = media_coding_parse(request_header(r, HEADER_CONTENT_ENCODING));
    if (coding == MEDIA_UNKNOWN || (r->route->body == ROUTE_JSON && coding > MEDIA_IDENTITY))
        refuse_request(r, TB_E_MEDIA_TYPE, "Content-Encoding", NULL);
    else if (!media_type_fits(r->route->body, request_header(r, HEADER_CONTENT_TYPE)))
        refuse_request(r, TB_E_MEDIA_TYPE, "Content-Type", NULL);
}

static void check_request(request *r, const char *method, const char *version)
{
    worker *w = r->worker;
    server *s = w->server;
    const char *why = NULL;
    unsigned wait_s = 0;
    r->begun = true;
    r->start_us = clock_mono_us();
    r->method = http_method_parse(method);
    uint64_t x = s->id_seed + ((uint64_t)w->index << 56) + ++w->requests; /* mixed as by splitmix64 */
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    r->number = x ^ (x >> 31);

    conn_head(r->conn, r->mhd, version, &r->head);
    if (r->head.code) {
        refuse_request(r, r->head.code, NULL, r->head.why);
        r->reply.close = true;
        return;
    }
    r->path_len = strcspn(r->target, "?");
    if (!find_route(r)) return;
    const tb_code code = access_check(r, &why);
    if (code) {
        refuse_request(r, code, NULL, why);
        return;
    }
    tb_error err;
    if (r->method != HTTP_GET && r->method != HTTP_HEAD && !r->route->reads && replicas_check_write(s, &err)) {
        request_fail_as(r, &err);
        r->refused = true;
        return;
    }
    if (s->limit && r->key && !limit_take(s->limit, r->account, r->start_us, &wait_s)) {
        refuse_request(r, TB_E_RATE_LIMITED, NULL, NULL);
        r->reply.retry_after = wait_s;
        return;
    }
    /* A file that replaced the database may be an old state, or another one: no data of it is sent. The writer, /readyz
     * and the idle server find that out; here it is only checked whether the database is back. */
    if (atomic_load_explicit(&s->gone, memory_order_relaxed) && r->route->access != TB_ACCESS_NONE &&
        !server_check_database(s)) {
        refuse_request(r, TB_E_GONE, NULL, NULL);
        return;
    }
    accept_body(r);
}

/* --- the body --- */

/* Discards the rest of the body, up to a bound, so that the client can be told why. */
static void give_up_body(request *r, tb_code code)
{
    refuse_request(r, code, NULL, code == TB_E_TOO_LARGE && !takes_body(r) ? no_body : NULL);
    r->reply.close = true;
    r->over = true;
    body_drop(r);
}

static enum MHD_Result body_call(request *r, const char *data, size_t *size)
{
    const size_t n = *size;
    *size = 0;
    metrics_add(&r->worker->metrics.received_bytes, n);
    if (!r->over && n > body_max(r) - r->body_len - (size_t)r->discarded)
        give_up_body(r, TB_E_TOO_LARGE);
    if (!r->over && takes_body(r) && !body_make_room(r, n)) give_up_body(r, TB_E_BUSY);
    const bool kept = !r->over && takes_body(r);
    if (kept) memcpy(r->body + r->body_len, data, n);
    return body_count(r, n, kept) ? MHD_YES : MHD_NO;
}

static void count_received(request *r)
{
    metrics_add(&r->worker->metrics.received_bytes, r->received_bytes);
    r->received_bytes = 0;
}

/* Called for each byte of a large body's placeholder. Between the two the body receiver has the request. */
static enum MHD_Result large_body_call(request *r, size_t *size)
{
    *size = 0;
    if (r->received) {
        count_received(r);
        if (r->over) give_up_body(r, TB_E_BUSY);
        return MHD_YES;
    }
    r->received = true;
    MHD_suspend_connection(r->mhd); /* first: the body may be complete before the call returns */
    if (front_receive_body(r->worker->server->front, r)) return MHD_YES;
    r->over = true;
    r->conn->large_body = LARGE_BODY_OVER;
    MHD_resume_connection(r->mhd);
    return MHD_YES;
}

/* --- the answer --- */

/* On the thread that ran the job. Submits a body that the pool parsed to the writer; otherwise resumes the
 * connection. */
static void job_done(write_job *job)
{
    request *r = job->owner;
    if (r->write_next && !job->code) {
        r->write_next = false; /* before: once it is submitted the request is the writer's */
        if (!writer_submit(r->worker->server->writer, job, &job->err)) return;
        job->code = job->err.code;
    }
    MHD_resume_connection(r->mhd);
}

/* Suspends the connection before the job is submitted, because it may be done before that returns. */
static void suspend_for_job(request *r)
{
    assert(!r->waiting); /* a handler on the remote lane submits no job */
    r->waiting = true;
    r->job.owner = r;
    r->job.done = job_done;
    MHD_suspend_connection(r->mhd);
}

static void resume_with_error(request *r, const tb_error *err)
{
    r->job.code = err->code;
    r->job.err = *err;
    MHD_resume_connection(r->mhd);
}

#define WRITE_WAIT_US INT64_C(10000000) /* less than the usual timeouts of clients */

bool request_client_left(const request *r)
{
    return conn_client_left(r->conn);
}

static bool client_left(const write_job *job)
{
    return request_client_left(job->owner);
}

static void limit_wait(request *r)
{
    r->job.wait_us = WRITE_WAIT_US;
    r->job.abandoned = client_left;
}

/* account: the one that the job counts for. */
static void submit_to_pool(request *r, job_lane lane, int64_t account)
{
    tb_error err;
    r->job.account = account;
    suspend_for_job(r);
    if (job_pool_submit(r->worker->server->pool, lane, &r->job, &err)) resume_with_error(r, &err);
}

void request_submit(request *r)
{
    tb_error err;
    limit_wait(r);
    r->job.account = r->account;
    suspend_for_job(r);
    if (writer_submit(r->worker->server->writer, &r->job, &err)) resume_with_error(r, &err);
}

void request_submit_slow(request *r)
{
    if (r->worker->server->options.usage) r->job.abandoned = client_left;
    submit_to_pool(r, LANE_SLOW, r->account);
}

void request_submit_outbound(request *r)
{
    submit_to_pool(r, LANE_OUTBOUND, r->account);
}

void request_submit_base(request *r)
{
    r->job.abandoned = client_left;
    submit_to_pool(r, LANE_BASE, r->account);
}

static void wait_for(request *r, wait_kind kind, int64_t number, int64_t wait_us)
{
    r->job.wait_us = wait_us;
    suspend_for_job(r);
    waiting_add(r->worker->server->waiting, kind, number, &r->job);
}

void request_wait(request *r, int64_t commits, int64_t wait_us)
{
    wait_for(r, WAIT_COMMIT, commits + 1, wait_us);
}

void request_hold(request *r, int64_t piece, int64_t wait_us)
{
    r->held = true;
    wait_for(r, WAIT_PIECE, piece, wait_us);
}

void request_submit_parse(request *r)
{
    limit_wait(r);
    submit_to_pool(r, LANE_PARSE, r->account);
}

/* --- usage servers --- */

/* Runs the handler as a remote worker: with its reader, views and counters. */
static tb_code run_handler(write_job *job, tb_store *store, tb_error *err)
{
    request *r = job->owner;
    worker *own = r->worker;
    (void)err;
    r->worker = server_remote_worker(own->server, store);
    r->route->handle(r);
    r->worker = own;
    return TB_OK;
}

/* Resets the reply and the handler's state, as before the handler ran. */
static void drop_answer(request *r)
{
    if (r->reply.secret && r->text.data) sodium_memzero(r->text.data, r->text.cap);
    answer_drop(r->reply.answer);
    if (r->reply.source.release) r->reply.source.release(r->reply.source.ctx);
    r->reply = (reply){.close = r->reply.close};
    if (r->release_kept) r->release_kept(r->kept);
    else free(r->kept);
    r->kept = NULL;
    r->release_kept = NULL;
}

/* Requests that ask usage servers take turns by server. */
static void submit_remote(request *r, size_t shard, tb_code (*run)(write_job *job, tb_store *store, tb_error *err))
{
    r->job.run = run;
    r->job.bytes = 0;
    limit_wait(r);
    submit_to_pool(r, LANE_REMOTE, (int64_t)shard);
}

static tb_code run_piece(write_job *job, tb_store *store, tb_error *err)
{
    request *r = job->owner;
    worker *own = r->worker;
    r->worker = server_remote_worker(own->server, store);
    const tb_code code = stream_fill(r->stream, err);
    r->worker = own;
    return code;
}

void request_submit_piece(request *r, size_t shard)
{
    submit_remote(r, shard, run_piece);
}

/* The answer has waited for the standbys. */
static enum MHD_Result send_held(request *r)
{
    tb_error err;
    r->waiting = r->held = false;
    if (acknowledge_end(r, &err)) {
        drop_answer(r);
        request_fail_verbatim(r, &err);
    }
    return reply_send(r) ? MHD_YES : MHD_NO;
}

static enum MHD_Result last_call(request *r)
{
    if (r->held) return send_held(r);
    if (r->waiting) {
        r->waiting = false;
        if (!r->retried) {
            r->route->finish(r);
        } else if (r->job.code) {
            request_fail_as(r, &r->job.err);
        } else if (r->reply.kind == REPLY_STREAM && !r->reply.source.asks) {
            drop_answer(r); /* the pieces of this stream are made with the worker's own reader */
            r->route->handle(r);
        }
        r->retried = false;
        if (r->waiting) return MHD_YES; /* for a second job: the writer writes what a slow query read */
    } else if (!r->refused && !r->handled) {
        r->handled = true;
        conn_set_phase(r->conn, CONN_WORK, 0, r->start_us);
        /* Most answers need no usage server, and it is not known beforehand which do: so the worker begins, and if it
         * would have to wait for one, with all its other connections, the handler runs again on the job pool. */
        size_t shard = 0;
        if (r->worker->server->options.usage) usage_refuse();
        r->route->handle(r);
        if (usage_refused(&shard) && !r->waiting) {
            drop_answer(r);
            r->retried = true;
            submit_remote(r, shard, run_handler);
        }
        if (r->waiting) return MHD_YES;
    }
    body_drop(r);
    tb_error err;
    if (acknowledge_begin(r, &err)) {
        drop_answer(r);
        request_fail_verbatim(r, &err);
    }
    if (r->held) return MHD_YES;
    return reply_send(r) ? MHD_YES : MHD_NO;
}

static enum MHD_Result on_request(void *cls, struct MHD_Connection *mhd, const char *url,
                                  const char *method, const char *version, const char *data,
                                  size_t *size, void **con_cls)
{
    (void)cls;
    (void)mhd;
    (void)url;
    request *r = *con_cls;
    if (!r) return MHD_NO;
    if (!r->begun) {
        check_request(r, method, version);
        if (r->refused && (r->reply.close || head_has_body(&r->head))) {
            r->reply.close = true;
            return reply_send(r) ? MHD_YES : MHD_NO;
        }
        if (head_has_body(&r->head)) conn_set_phase(r->conn, CONN_BODY, 0, r->start_us);
        return MHD_YES;
    }
    if (*size > 0) return r->head.large ? large_body_call(r, size) : body_call(r, data, size);
    return last_call(r);
}

/* --- the end of a request --- */

static void on_completed(void *cls, struct MHD_Connection *mhd, void **con_cls,
                         enum MHD_RequestTerminationCode how)
{
    (void)cls;
    (void)mhd;
    request *r = *con_cls;
    if (!r) return;
    worker *w = r->worker;
    const server *s = w->server;
    int64_t now_us = clock_mono_us();
    if (r->begun) {
        bool answered = how == MHD_REQUEST_TERMINATED_COMPLETED_OK;
        unsigned status = answered || r->sent ? r->reply.status : 0;
        uint64_t took = (uint64_t)(now_us - r->start_us);
        size_t index = r->route ? (size_t)(r->route - s->routes) : s->n_routes;
        metrics_count(&w->metrics, (unsigned)index, status, took);
        if (answered) metrics_add(&w->metrics.sent_bytes, r->sent);
        if (r->method == HTTP_GET) atomic_store_explicit(&w->read_us, now_us, memory_order_relaxed);
        if (s->log) {
            char id[REQUEST_ID_TEXT + 1] = {0}, peer[REQUEST_PEER_TEXT];
            request_id_text(r, id);
            request_peer_text(r, peer);
            const accesslog_line line = {
                .method = http_method_name(r->method),
                .path = r->target,
                .path_len = r->path_len ? r->path_len : strcspn(r->target, "?"),
                .id = id,
                .peer = peer,
                .status = status,
                .bytes = r->sent,
                .duration_us = took,
                .wall_us = clock_wall_us(),
                .account = r->account,
                .key = r->key,
            };
            accesslog_write(s->log, w->index, &line);
        }
    }
    count_received(r);
    body_drop(r);
    drop_answer(r);
    if (r->text.cap > TEXT_KEPT) tb_buf_release(&r->text);
    conn_set_phase(r->conn, CONN_IDLE, 0, now_us);
    if (how == MHD_REQUEST_TERMINATED_COMPLETED_OK) conn_answered(r->conn);
}

unsigned workers_read_from(server *s)
{
    const int64_t since_us = clock_mono_us() - READ_US;
    unsigned n = 0;
    for (unsigned i = 0; i < s->options.threads; i++)
        n += atomic_load_explicit(&s->workers[i].read_us, memory_order_relaxed) > since_us;
    return n;
}

static void on_connection(void *cls, struct MHD_Connection *mhd, void **socket_context,
                          enum MHD_ConnectionNotificationCode what)
{
    worker *w = cls;
    if (what == MHD_CONNECTION_NOTIFY_STARTED) {
        const union MHD_ConnectionInfo *info =
            MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_CONNECTION_FD);
        *socket_context = info ? front_opened(w->server->front, info->connect_fd) : NULL;
    } else if (*socket_context) {
        request *r = ((conn *)*socket_context)->request;
        if (r) sodium_memzero(&r->last, sizeof r->last);
        conn_closed(*socket_context);
        *socket_context = NULL;
    }
}

/* The library's messages quote client input, so they are counted and not logged. */
static void on_message(void *cls, const char *format, va_list args)
{
    (void)format;
    (void)args;
    worker *w = cls;
    atomic_fetch_add_explicit(&w->metrics.library_messages, 1, memory_order_relaxed);
}

void handler_received(request *r)
{
    MHD_resume_connection(r->mhd);
}

struct MHD_Daemon *handler_start(worker *w)
{
    const server_options *o = &w->server->options;
    /* The library's inactivity timeout is off: the sweeper's deadlines cover every phase, and the library would take a
     * lock and read the clock for each piece read or sent. Its strict mode is off, too: head_read refuses the same
     * requests, with an answer that says why. */
    return MHD_start_daemon(MHD_USE_EPOLL_INTERNAL_THREAD | MHD_USE_NO_LISTEN_SOCKET | MHD_USE_ITC |
                                MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG,
                            0, NULL, NULL, on_request, w, MHD_OPTION_EXTERNAL_LOGGER, on_message, w,
                            MHD_OPTION_CONNECTION_LIMIT, o->limits.most + 64,
                            MHD_OPTION_CONNECTION_TIMEOUT, 0u, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
                            (size_t)FRAMING_POOL, MHD_OPTION_CONNECTION_MEMORY_INCREMENT,
                            (size_t)4096, MHD_OPTION_NOTIFY_CONNECTION, on_connection, w,
                            MHD_OPTION_NOTIFY_COMPLETED, on_completed, w,
                            MHD_OPTION_URI_LOG_CALLBACK, log_uri, w, MHD_OPTION_END);
}
