/* Start and stop. A graceful stop has this order: no new connections; idle connections are closed and running requests
 * get their answer with "Connection: close"; then slow, outbound and remote jobs end and the writer finishes its queue,
 * which resumes every suspended connection (the library aborts the process if one is left); then the event loops end;
 * then the file is checkpointed. */
#include "http/server_parts.h"

#include <signal.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "http/clock.h"
#include "http/handler.h"
#include "http/message.h"
#include "http/replicas.h"
#include "http/upgrade.h"
#include "tollbook/logstore.h"
#include "tollbook/eventids.h"

/* Seed, "Limits": requests for a pull zone's logs. */
#define LOG_REQUESTS     30
#define LOG_SECONDS      10
#define SIGN_INS         10 /* failed ones, of one address */
#define SIGN_IN_SECONDS  60

void server_defaults(server_options *o)
{
    *o = (server_options){
        .listen = {"127.0.0.1:8080"},
        .n_listen = 1,
        .threads = 1,
        .cache_bytes = (size_t)64 << 20,
        .deploy_us = 300000000,
        .purge_us = 30000000,
        .registry_us = 10000000,
        .fixed_now_us = INT64_MIN,
        .limits = {.most = 512,
                   .per_ip = 64,
                   .head_us = 5000000,
                   .body_us = 30000000,
                   .idle_us = 15000000,
                   .bytes_per_s = 128 << 10},
        .pending_most = 4096,
        .body_max = (size_t)64 << 20,
        .plain_max = (size_t)256 << 20,
        .bodies_max = (size_t)512 << 20,
        .stop_us = 10000000,
    };
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    if (cores > 1) o->threads = cores > SERVER_WORKERS_MAX ? SERVER_WORKERS_MAX : (unsigned)cores;
}

/* --- opening --- */

/* On the writer's thread: the new servers are checked before they are used. */
static void on_moved(void *ctx)
{
    server *s = ctx;
    s->usage.checked = false;
    s->usage.next_us = 0;
}

static tb_code open_writing(server *s, tb_error *err)
{
    if (s->options.usage) s->mover = mover_new(s->options.db, s->options.usage, on_moved, s);
    if (s->options.usage && !s->mover) return tb_no_memory(err);
    char owner[96];
    char where[LISTEN_TEXT_MAX];
    listen_text(front_listener(s->front), 0, where);
    snprintf(owner, sizeof owner, "serve %s%s", s->options.tls ? "https://" : "", where);
    tb_store_options options = {
        .write = true, .owner = owner, .now_us = clock_now_us(s->options.fixed_now_us),
        .clock = s->options.clock, .copy = s->options.copy.link.url != NULL,
        .usage = usage_servers_client(s->options.usage)};
    upgrade_watch watch;
    upgrade_watch_begin(&watch, s->options.db, &options);
    tb_code code = tb_store_open(s->options.db, &options, &s->store, err);
    options.copy = s->options.idle; /* the console shows also what may not be written */
    if (options.copy && (code == TB_E_REPLICA_READ_ONLY || code == TB_E_REPLICA_SUPERSEDED))
        code = tb_store_open(s->options.db, &options, &s->store, err);
    if (code == TB_OK && s->mover) mover_opened(s->mover, s->store);
    uint64_t version = 0;
    uint8_t random[TB_EVENT_SECRET];
    randombytes_buf(random, sizeof random);
    if (code == TB_OK) code = tb_store_event_secret(s->store, random, s->event_secret, err);
    randombytes_buf(random, sizeof random);
    if (code == TB_OK) code = tb_store_event_id_secret(s->store, random, s->event_id_secret, err);
    if (code == TB_OK) code = tb_store_version(s->store, &version, err);
    atomic_init(&s->version, version);
    return code ? code : replicas_open(s, err);
}

tb_code server_use_tls(server *s, struct tls_pair *pair, tb_error *err)
{
    return front_use_tls(s->front, pair, err);
}

static bool hand_over(void *ctx, unsigned index, int fd, const struct sockaddr *peer, socklen_t len)
{
    return MHD_add_connection(((server *)ctx)->workers[index].daemon, fd, peer, len) == MHD_YES;
}

static tb_code open_front(server *s, tb_error *err)
{
    const server_options *o = &s->options;
    const front_options options = {.listen = o->listen,
                                   .n_listen = o->n_listen,
                                   .logging_listen = o->logging_listen,
                                   .tls = o->tls,
                                   .limits = o->limits,
                                   .pending_most = o->pending_most,
                                   .workers = o->threads,
                                   .hand_over = hand_over,
                                   .received = handler_received,
                                   .ctx = s};
    tb_code code = front_open(&options, &s->front, err);
    if (!code) s->port = listen_port(front_listener(s->front), 0);
    return code;
}

/* The lanes of the job pool; open_parts turns off those that a server does not need. */
static const lane_options all_lanes[LANES] = {
    [LANE_SLOW] = {.jobs_name = "computations",
                   .threads = SERVER_SLOW_THREADS,
                   .threads_share = SERVER_SLOW_THREADS,
                   .jobs = 32,
                   .jobs_share = 8, /* one account may wait for many documents */
                   .job_us = SERVER_SLOW_US,
                   .readers = SERVER_SLOW_THREADS},
    [LANE_OUTBOUND] = {.jobs_name = "look-ups",
                       .threads = 4,
                       .threads_share = 3, /* the other side may hang */
                       .jobs = 32,
                       .jobs_share = 16},
    [LANE_REMOTE] = {.jobs_name = "questions to usage servers",
                     .threads = SERVER_REMOTE_THREADS,
                     .threads_share = SERVER_REMOTE_SHARE,
                     .jobs = 1024,
                     .jobs_share = 512,
                     .readers = SERVER_REMOTE_THREADS},
    [LANE_OUTBOX] = {.threads = OUTBOX_THREADS, .readers = 1},
    [LANE_DEPLOY] = {.threads = DEPLOY_THREADS, .readers = 1},
    [LANE_PERIODIC] = {.threads = 1, .readers = 1},
    [LANE_WAIT] = {.threads = 1},
    [LANE_BASE] = {.jobs_name = "bases of replicas",
                   .threads = 1,
                   .threads_share = 1,
                   .jobs = 16,
                   .jobs_share = 16,
                   .readers = 1,
                   .background = true},
    [LANE_MOVE] = {.threads = 1, .readers = 1, .background = true},
    [LANE_WITNESS] = {.background = true}, /* as many threads as witnesses */
    [LANE_PARSE] = {.jobs_name = "bodies", .jobs = 256, .jobs_share = 192, .background = true},
};

static tb_code open_parts(server *s, tb_error *err)
{
    const server_options *o = &s->options;
    lane_options lanes[LANES], *parse = &lanes[LANE_PARSE];
    memcpy(lanes, all_lanes, sizeof lanes);
    parse->threads = parse->threads_share = parse->readers = o->threads;
    lanes[LANE_WITNESS].threads = lanes[LANE_WITNESS].readers = o->witness.n;
    if (!o->usage) lanes[LANE_REMOTE] = (lane_options){0};
    if (!o->usage || o->idle || s->copy) lanes[LANE_MOVE] = (lane_options){0};
    if (!o->outbox.send) lanes[LANE_OUTBOX] = (lane_options){0};
    if (o->idle) lanes[LANE_DEPLOY] = (lane_options){0};
    if (!s->replicated) lanes[LANE_WAIT] = lanes[LANE_BASE] = (lane_options){0};
    if (!o->n_tasks && !replicas_copy(s)) lanes[LANE_PERIODIC] = (lane_options){0};
    s->pool = job_pool_new(lanes);
    if (s->pool && s->replicated && !replicas_start(s)) return tb_no_memory(err);
    s->cache = cache_new(o->cache_bytes);
    if (o->rate_limit) s->limit = limit_new(o->rate_limit);
    s->failure_limit = limit_new(5);
    s->log_window = window_new(LOG_REQUESTS, LOG_SECONDS);
    s->sign_ins = window_new(SIGN_INS, SIGN_IN_SECONDS);
    s->sessions = sessions_new();
    s->stream_slots = stream_slots_new();
    if (!server_publish_begin(s) || !s->log_window || !s->sign_ins || !s->sessions || !s->stream_slots || !s->cache || !s->pool ||
        !s->failure_limit || (o->rate_limit && !s->limit))
        return tb_no_memory(err);
    if (o->access_log) return accesslog_open(o->access_log, o->threads, &s->log, err);
    return TB_OK;
}

#define START_AGAIN_US 50000

static bool is_told_to_stop(void)
{
    sigset_t pending;
    sigemptyset(&pending);
    sigpending(&pending); /* they are blocked until the server serves */
    return sigismember(&pending, SIGTERM) == 1 || sigismember(&pending, SIGINT) == 1;
}

/* The sentence that says what is held by whom, without the remedy behind it. */
static void say_waiting(const server *s, const char *held)
{
    const char *end = strstr(held, ". ");
    const size_t len = end ? (size_t)(end - held) : strlen(held) - 1;
    message_note("%.*s: waiting %d s at most for it to end", (int)len, held, (int)(s->options.start_us / 1000000));
}

/* What a process that is ending has, an address or the lock of the database, is tried again until start_us have passed since
 * the start. */
static tb_code open_in_time(server *s, tb_code (*open)(server *s, tb_error *err), tb_error *err)
{
    const int64_t until_us = s->start_us + s->options.start_us;
    tb_code code = open(s, err);
    bool said = false;
    while ((code == TB_E_LOCKED || code == TB_E_BUSY) && !s->store && clock_mono_us() < until_us && !is_told_to_stop()) {
        if (!said) say_waiting(s, err->message);
        said = true;
        usleep(START_AGAIN_US);
        code = open(s, err);
    }
    return code;
}

tb_code server_open(const server_options *options, const route *routes, size_t n_routes,
                    server **ret_server, tb_error *err)
{
    if (sodium_init() < 0) return tb_fail(err, TB_E_INTERNAL, NULL, "libsodium does not start.");
    server *s = calloc(1, sizeof *s);
    if (!s) return tb_no_memory(err);
    s->options = *options;
    s->routes = routes;
    s->n_routes = n_routes;
    s->start_us = clock_mono_us();
    pthread_mutex_init(&s->role_lock, NULL);
    atomic_init(&s->committed_us, INT64_MIN);
    randombytes_buf(&s->id_seed, sizeof s->id_seed);
    tb_code code = open_in_time(s, open_front, err);
    if (code == TB_OK) code = open_in_time(s, open_writing, err);
    if (code == TB_OK) code = copy_open(s, &s->copy, err);
    if (s->copy) atomic_store(&s->role, ROLE_STANDBY);
    if (code == TB_OK) code = open_parts(s, err);
    if (code == TB_OK) code = server_publish_keys(s, s->store, err);
    if (code == TB_OK) code = server_publish_directory(s, s->store, err);
    if (code == TB_OK) code = workers_open(s, err);
    if (code == TB_OK)
        *ret_server = s;
    else
        server_free(s);
    return code;
}

void server_leave_sign_in(server *s, int64_t account, void (*used)(void), char out[SESSION_TEXT + 1])
{
    uint8_t random[SESSION_RANDOM];
    const session once = {.account = account,
                          .roles = UINT32_C(1) << (account ? TB_ROLE_USER : TB_ROLE_OPERATOR)};
    randombytes_buf(random, sizeof random);
    s->sign_in_used = used; /* written before sessions_redeem sees the sign-in: the table's lock orders them */
    sessions_put_one_time(s->sessions, &once, random, out);
    sodium_memzero(random, sizeof random);
}

/* --- starting --- */

static tb_code want_messages(tb_store *store, void *ctx, tb_error *err)
{
    const server_options *o = ctx;
    return o->outbox.want(o->outbox.ctx, store, clock_now_us(o->fixed_now_us), err);
}

tb_code server_start(server *s, tb_error *err)
{
    const bool sends = s->options.outbox.send != NULL;
    const bool primary = replicas_role(s) == ROLE_PRIMARY;
    tb_code code = sends && primary ? tb_store_write(s->store, want_messages, &s->options, err) : TB_OK;
    if (code) return code;
    bool on = false;
    if (!sends && primary && tb_store_outbox_on(s->store, &on, NULL) == TB_OK && on) /* the outbox would grow unnoticed */
        message_say(MESSAGE_WARNING, "messages are put into the outbox and wait for a server with --alert-url. `alerts --off` ends that.");
    s->writer = server_start_writer(s);
    const server_options *o = &s->options;
    const deployments_options deploys = {o->deploy_hook, o->deploy_us, o->fixed_now_us};
    s->deployments = deployments_new(&deploys, s->writer, s->pool);
    s->outbox = outbox_sender_new(&o->outbox, s->alert_secret, o->fixed_now_us, s->writer, s->pool);
    s->witnesses = witnesses_new(&o->witness, s->writer, s->pool);
    s->periodic = periodic_new(o->tasks, o->n_tasks, o->fixed_now_us, s->writer, s->pool);
    if (s->mover) mover_start(s->mover, s->writer, s->pool);
    bool ok = s->writer && s->deployments && s->outbox && s->witnesses && s->periodic;
    if (ok) replicas_settle(s);
    ok = ok && job_pool_start(s->pool);
    for (unsigned i = 0; ok && i < s->options.threads; i++) {
        s->workers[i].daemon = handler_start(&s->workers[i]);
        ok = s->workers[i].daemon != NULL;
    }
    ok = ok && front_start(s->front);
    if (ok && s->copy) return copy_start(s->copy, err);
    return ok ? TB_OK : tb_fail(err, TB_E_IO, NULL, "The server's threads do not start.");
}

/* --- stopping --- */

#define GIVE_UP_US INT64_C(5000000) /* time for a running ingest to abort */

/* Waits until every connection is closed, or nothing was written for the time of a stop. A writer at work gets three
 * times that, is then told to abort its input, and is not waited for if it does not. */
static bool wait_for_clients(server *s)
{
    const int64_t stop_us = s->options.stop_us, start_us = clock_mono_us();
    int64_t busy_us = start_us;
    while (front_connections(s->front) > 0) {
        int64_t now_us = clock_mono_us();
        if (!writer_idle(s->writer) || job_pool_unfinished(s->pool, LANE_PARSE)) busy_us = now_us;
        if (now_us - busy_us > stop_us) return true;
        if (busy_us - start_us > stop_us * 3) atomic_store(&s->abort_writes, true);
        if (busy_us - start_us > stop_us * 3 + GIVE_UP_US) return false;
        usleep(5000);
    }
    return true;
}

bool server_stop(server *s)
{
    atomic_store(&s->stopping, true);
    front_drain(s->front);
    copy_stop(s->copy);
    for (job_lane lane = 0; lane < LANE_PARSE; lane++)
        job_pool_halt(s->pool, lane);
    job_pool_join(s->pool, LANE_WAIT);
    if (s->waiting) waiting_end(s->waiting);
    for (job_lane lane = 0; lane <= LANE_REMOTE; lane++)
        job_pool_join(s->pool, lane);
    if (!wait_for_clients(s)) return false;
    front_stop(s->front);
    job_pool_halt(s->pool, LANE_PARSE);
    for (job_lane lane = 0; lane < LANES; lane++)
        job_pool_join(s->pool, lane);
    writer_stop(s->writer);
    for (unsigned i = 0; i < s->options.threads; i++) {
        MHD_stop_daemon(s->workers[i].daemon);
        s->workers[i].daemon = NULL;
    }
    writer_free(s->writer);
    s->writer = NULL;
    deployments_free(s->deployments);
    s->deployments = NULL;
    outbox_sender_free(s->outbox);
    s->outbox = NULL;
    witnesses_free(s->witnesses);
    s->witnesses = NULL;
    periodic_free(s->periodic);
    s->periodic = NULL;
    return true;
}

static void drop_request(request *r)
{
    tb_buf_release(&r->text);
    free(r);
}

void server_free(server *s)
{
    if (!s) return;
    accesslog_close(s->log);
    workers_close(s);
    job_pool_free(s->pool); /* closes the readers of the remote workers, too */
    mover_free(s->mover);
    front_free(s->front, drop_request);
    replicas_free(s);
    cache_free(s->cache);
    server_publish_end(s);
    limit_free(s->limit);
    limit_free(s->failure_limit);
    window_free(s->log_window);
    window_free(s->sign_ins);
    sessions_free(s->sessions);
    stream_slots_free(s->stream_slots);
    copy_free(s->copy);
    if (s->store) tb_store_checkpoint(s->store, true);
    tb_store_close(s->store);
    pthread_mutex_destroy(&s->role_lock);
    free(s);
}
