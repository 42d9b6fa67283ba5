/* Start and stop. A graceful stop has this order: no new connections; idle connections are closed and running requests
 * get their answer with "Connection: close"; then slow, outbound and remote jobs end and the writer finishes its queue,
 * which resumes every suspended connection (the library aborts the process if one is left); then the event loops end;
 * then the file is checkpointed. */
#include "http/server.h"

#include <malloc.h>
#include <signal.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "http/acknowledge.h"
#include "http/clock.h"
#include "http/handler.h"
#include "http/message.h"
#include "http/replicas.h"
#include "http/upgrade.h"
#include "tollbook/logstore.h"
#include "tollbook/eventids.h"

#define STREAM_CACHE_KIB 2048 /* of a reader of long answers, which reads each page once */
/* Seed, "Limits": requests for a pull zone's logs. */
#define LOG_REQUESTS     30
#define LOG_SECONDS      10
#define SIGN_INS         10 /* failed ones, of one address */
#define SIGN_IN_SECONDS  60
#define READER_CACHE_KIB 32768   /* of each reader: the pages of a few thousand daily answers */

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

static tb_code publish_keys(server *s, tb_store *store, tb_error *err)
{
    key_table *table;
    tb_code code = key_table_load(store, &table, err);
    return code ? code : published_set(s->keys, table, err);
}

static void drop_table(void *table)
{
    key_table_free(table);
}

static void drop_directory(void *directory)
{
    tb_directory_release(directory);
}

/* Lines that were parsed with an older directory find the change when they are stored (feed_take). */
static tb_code publish_directory(server *s, tb_store *store, tb_error *err)
{
    const tb_directory *d;
    tb_code code = tb_store_directory(store, true, &d, err);
    if (code || d == s->directory_seen) return code;
    code = published_set(s->directory, (void *)(uintptr_t)tb_directory_retain(d), err);
    if (!code) s->directory_seen = d;
    return code;
}

/* --- secrets of the operator --- */

static void drop_token_key(void *key)
{
    token_key_free(key);
}

static void drop_secret(void *secret)
{
    sodium_memzero(secret, TB_KEY_SECRET);
    free(secret);
}

tb_code server_use_token_key(server *s, token_key *key, tb_error *err)
{
    return published_set(s->token, key, err);
}

tb_code server_use_secret(server *s, const uint8_t secret[TB_KEY_SECRET], tb_error *err)
{
    uint8_t *own = malloc(TB_KEY_SECRET);
    if (!own) return tb_no_memory(err);
    memcpy(own, secret, TB_KEY_SECRET);
    return published_set(s->secret, own, err);
}

/* The size lies before the secret. */
static void drop_alert_secret(void *secret)
{
    size_t *size = (size_t *)secret - 1;
    sodium_memzero(secret, *size);
    free(size);
}

tb_code server_use_alert_secret(server *s, const void *secret, size_t size, tb_error *err)
{
    size_t *own = malloc(sizeof *own + size);
    if (!own) return tb_no_memory(err);
    *own = size;
    memcpy(own + 1, secret, size);
    return published_set(s->alert_secret, own + 1, err);
}

tb_code server_use_tls(server *s, struct tls_pair *pair, tb_error *err)
{
    return front_use_tls(s->front, pair, err);
}

const token_key *worker_token_key(worker *w)
{
    return published_get(w->server->token, &w->token);
}

const uint8_t *worker_secret(worker *w)
{
    return published_get(w->server->secret, &w->secret);
}

const tb_directory *worker_directory(worker *w)
{
    return published_get(w->server->directory, &w->directory);
}

worker *server_remote_worker(server *s, const tb_store *store)
{
    unsigned i = 0;
    while (s->remote_workers[i].store != store)
        i++;
    return &s->remote_workers[i];
}

size_t server_metrics(const server *s, const metrics **ret_blocks)
{
    size_t n = 0;
    for (unsigned i = 0; i < s->options.threads; i++)
        ret_blocks[n++] = &s->workers[i].metrics;
    for (unsigned i = 0; s->options.usage && i < SERVER_REMOTE_THREADS; i++)
        ret_blocks[n++] = &s->remote_workers[i].metrics;
    return n;
}

static tb_code open_workers(server *s, tb_error *err)
{
    tb_store_options options = {
        .write = false, .now_us = clock_wall_us(), .cache_kib = READER_CACHE_KIB, .copy = s->copy != NULL,
        .usage = usage_servers_client(s->options.usage)};
    for (unsigned i = 0; i < s->options.threads; i++) {
        worker *w = &s->workers[i];
        w->server = s;
        w->index = i;
        w->gzip = gzip_new();
        tb_buf_init(&w->scratch, ANSWER_MAX, NULL);
        if (!w->gzip) return tb_no_memory(err);
        tb_code code = tb_store_open(s->options.db, &options, &w->store, err);
        if (code != TB_OK) return code;
    }
    tb_code code = job_pool_open(s->pool, s->options.db, &options, err);
    for (unsigned i = 0; !code && s->options.usage && i < SERVER_REMOTE_THREADS; i++) {
        s->remote_workers[i] = (worker){.server = s, .store = job_pool_reader(s->pool, LANE_REMOTE, i)};
        tb_buf_init(&s->remote_workers[i].scratch, ANSWER_MAX, NULL);
    }
    return code;
}

tb_code worker_take_reader(worker *w, int64_t account, tb_store **ret_store, tb_error *err)
{
    server *s = w->server;
    const tb_store_options options = {
        .now_us = clock_wall_us(), .cache_kib = STREAM_CACHE_KIB, .copy = s->copy != NULL, .usage = usage_servers_client(s->options.usage)};
    tb_code code = stream_slots_take(s->stream_slots, account, err);
    *ret_store = NULL;
    if (code) return code;
    for (int i = 0; i < WORKER_IDLE_READERS && !*ret_store; i++) {
        *ret_store = w->idle_reader[i];
        w->idle_reader[i] = NULL;
    }
    if (!*ret_store) code = tb_store_open(s->options.db, &options, ret_store, err);
    if (code) stream_slots_release(s->stream_slots, account, 0);
    return code;
}

void worker_return_reader(worker *w, int64_t account, size_t bytes, tb_store *store)
{
    stream_slots_release(w->server->stream_slots, account, bytes);
    tb_store_read_end(store);
    for (int i = 0; i < WORKER_IDLE_READERS; i++) {
        if (w->idle_reader[i]) continue;
        w->idle_reader[i] = store;
        return;
    }
    tb_store_close(store);
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
    s->keys = published_new(drop_table);
    s->token = published_new(drop_token_key);
    s->secret = published_new(drop_secret);
    s->alert_secret = published_new(drop_alert_secret);
    s->directory = published_new(drop_directory);
    if (o->rate_limit) s->limit = limit_new(o->rate_limit);
    s->failure_limit = limit_new(5);
    s->log_window = window_new(LOG_REQUESTS, LOG_SECONDS);
    s->sign_ins = window_new(SIGN_INS, SIGN_IN_SECONDS);
    s->sessions = sessions_new();
    s->stream_slots = stream_slots_new();
    if (!s->log_window || !s->sign_ins || !s->sessions || !s->stream_slots || !s->cache || !s->keys || !s->token ||
        !s->secret || !s->alert_secret || !s->directory || !s->pool || !s->failure_limit || (o->rate_limit && !s->limit))
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
    if (code == TB_OK) code = publish_keys(s, s->store, err);
    if (code == TB_OK) code = publish_directory(s, s->store, err);
    if (code == TB_OK) code = open_workers(s, err);
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

/* --- is the database still there --- */

void server_lost(server *s, const tb_error *err)
{
    if (atomic_exchange(&s->gone, true)) return;
    message_say(MESSAGE_ERROR, "%s: %s", tb_code_key(err->code), err->message);
}

static void note_links(server *s, unsigned links)
{
    if (links < 2 || atomic_exchange(&s->linked, true)) return;
    message_say(MESSAGE_WARNING, "%s has %u names (hard links) now. A hard link is no backup, and the next "
                "start is refused until the others are removed: `backup` makes a copy.", s->options.db, links);
}

bool server_check_database(server *s)
{
    tb_error err;
    unsigned links = 0;
    if (tb_store_still_there(s->store, &links, &err) != TB_OK) {
        server_lost(s, &err);
        return false;
    }
    if (atomic_load_explicit(&s->gone, memory_order_relaxed) && atomic_exchange(&s->gone, false))
        message_say(MESSAGE_WARNING, "%s is back where it was; it is written again.",
                s->options.db);
    note_links(s, links);
    return true;
}

/* --- starting --- */

/* On the writer's thread, before any client is told of the commit: a client that has its answer and asks again must not
 * get a cached answer from before. */
static bool on_committed(void *ctx, tb_store *store, bool changed_keys)
{
    server *s = ctx;
    uint64_t version;
    /* If the version cannot be read, one is taken that no cached answer has yet: answers are computed and cached under
     * the version that they really have. */
    if (tb_store_version(store, &version, NULL) != TB_OK) version = atomic_load(&s->version) + 1;
    if (atomic_exchange_explicit(&s->version, version, memory_order_release) != version)
        atomic_store_explicit(&s->committed_us, clock_mono_us(), memory_order_relaxed);
    note_links(s, tb_store_links(store));
    if (s->replicated) {
        acknowledge_take_list(s->acknowledge, store);
        waiting_commit(s->waiting);
    }
    (void)!publish_directory(s, store, NULL); /* tried again at the next commit */
    return !changed_keys || publish_keys(s, store, NULL) == TB_OK;
}

#define IDLE_BLOCKS 512 /* blocks of logs, and of events, deleted in one commit of an idle server */
#define IDLE_TEXTS  16384
#define IDLE_SEGMENTS 512

/* Retention at a time. */
typedef struct retention {
    int64_t now_us;
    bool more; /* expired data is left */
} retention;

/* Deletes expired data and moves a part of the new series to its place, in small steps: a request that comes now waits
 * for one. */
static tb_code expire_data(tb_store *store, void *ctx, tb_error *err)
{
    retention *a = ctx;
    tb_ageing room = {IDLE_BLOCKS, IDLE_BLOCKS, IDLE_TEXTS, IDLE_SEGMENTS};
    tb_code code = tb_store_drop_aged(store, a->now_us, &room, err);
    a->more = !room.log_blocks || !room.event_blocks || !room.texts || !room.segments;
    bool waits = false;
    if (!code) code = tb_store_place_series(store, &waits, err);
    a->more |= waits;
    return code;
}

/* Deletes request logs, shield events and the text of refused lines that have expired, also if nothing new comes in. A
 * failure is tried again the next time. */
static bool on_idle(void *ctx, tb_store *store)
{
    server *s = ctx;
    retention old = {.now_us = clock_now_us(s->options.fixed_now_us)};
    tb_error err;
    malloc_trim(0);
    if (!server_check_database(s)) {
        tb_store_checkpoint(store, true);
        return false;
    }
    if (s->options.idle || replicas_role(s) != ROLE_PRIMARY) {
        tb_store_checkpoint(store, false);
        return false;
    }
    tb_code code = tb_store_write(store, expire_data, &old, &err);
    if (code == TB_OK) on_committed(s, store, false);
    tb_store_checkpoint(store, false);
    if (code == TB_OK && old.more) return true;
    if (code == TB_E_GONE)
        server_lost(s, &err);
    else
        tb_store_scrub(store);
    return false;
}

#define USAGE_LOOK_US  INT64_C(500000)
#define USAGE_SOLE_US INT64_C(5000000)

static void on_lost(void *ctx, const tb_error *err)
{
    server_lost(ctx, err);
}

/* writer_hooks.ready. Servers that were away at the start are checked once they are back, before they are used. */
static bool usage_ready(void *ctx, tb_error *err)
{
    server *s = ctx;
    if (!usage_servers_up(s->options.usage, err)) return false;
    if (s->usage.checked) return true;
    if (clock_mono_us() < s->usage.next_us) {
        (void)!tb_fail(err, TB_E_AWAY, "usage", NULL);
        return false;
    }
    const tb_code code = tb_store_usage_look(s->store, err);
    s->usage.checked = !code;
    s->usage.next_us = clock_mono_us() + USAGE_LOOK_US;
    if (code && code != TB_E_AWAY && code != s->usage.reported) message_say(MESSAGE_ERROR, "%s", err->message);
    s->usage.reported = code;
    if (code) err->code = TB_E_AWAY; /* clients try again until it is mended */
    return !code;
}

static bool on_maintain(void *ctx, tb_store *store)
{
    server *s = ctx;
    tb_error err;
    if (!usage_ready(s, &err)) return false;
    /* Now and then it is checked whether another process writes there; if so the store refuses everything. */
    if (clock_mono_us() >= s->usage.sole_us) {
        const tb_code code = tb_store_usage_look(s->store, &err);
        s->usage.sole_us = clock_mono_us() + USAGE_SOLE_US;
        if (code == TB_E_USAGE) message_say(MESSAGE_ERROR, "%s", err.message);
        if (code) return false;
    }
    if (s->options.idle || replicas_role(s) != ROLE_PRIMARY || mover_works(s->mover)) return false;
    const uint64_t folded = s->compactor.of.folded;
    s->compactor.of.rows_min = s->options.compact_rows;
    const bool more = compactor_step(&s->compactor, store);
    if (s->compactor.of.folded > folded) on_committed(s, store, false);
    return more;
}

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
    const bool more_idle = on_idle(s, s->store); /* before the first request, as it may wait for usage servers */
    s->writer = writer_start(s->store, (writer_hooks){.committed = on_committed,
                                                      .ctx = s,
                                                      .idle = on_idle,
                                                      .more_idle = more_idle,
                                                      .maintain = s->options.usage ? on_maintain : NULL,
                                                      .lost = on_lost,
                                                      .gather_us = s->options.usage ? s->options.gather_us : 0,
                                                      .ready = s->options.usage ? usage_ready : NULL});
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

static void drop_worker(worker *w)
{
    for (int k = 0; k < WORKER_IDLE_READERS; k++)
        tb_store_close(w->idle_reader[k]);
    gzip_free(w->gzip);
    tb_buf_release(&w->scratch);
    published_release(&w->keys);
    published_release(&w->token);
    published_release(&w->secret);
    published_release(&w->directory);
}

void server_free(server *s)
{
    if (!s) return;
    accesslog_close(s->log);
    for (unsigned i = 0; i < SERVER_WORKERS_MAX; i++) {
        tb_store_close(s->workers[i].store);
        drop_worker(&s->workers[i]);
    }
    for (unsigned i = 0; i < SERVER_REMOTE_THREADS; i++)
        drop_worker(&s->remote_workers[i]);
    job_pool_free(s->pool); /* closes the readers of the remote workers, too */
    mover_free(s->mover);
    front_free(s->front, drop_request);
    replicas_free(s);
    cache_free(s->cache);
    published_free(s->keys);
    published_free(s->token);
    published_free(s->secret);
    published_free(s->alert_secret);
    published_free(s->directory);
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
