#include "http/copy.h"

#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "http/clock.h"
#include "http/jobs/background.h"
#include "http/message.h"
#include "http/replicas.h"
#include "http/server.h"
#include "standby/seed.h"

#define VERIFY_FIRST 240 /* bytes of the first difference */

struct copy_server {
    server *server;
    copy_options options;
    standby *standby;
    tb_store *reader; /* of the standby's thread */
    bool started;
    pthread_mutex_t promoting; /* one at a time */
    bool force;                /* of the promotion that runs */
    /* The verification: */
    pthread_t verifier;
    bool verifies;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    bool stopping;
    atomic_bool stop_verify;
    _Atomic uint64_t differences;
    atomic_bool unverified; /* it has not been verified since it was fetched */
};

/* It ends soon; copy_stop waits for it. */
static void stop_verifier(copy_server *c)
{
    pthread_mutex_lock(&c->lock);
    c->stopping = true;
    atomic_store(&c->stop_verify, true);
    pthread_cond_signal(&c->wake);
    pthread_mutex_unlock(&c->lock);
}

/* --- following --- */

typedef struct arrived {
    const tb_piece *pieces;
    size_t n;
} arrived;

static tb_code run_apply(write_job *job, tb_store *store, tb_error *err)
{
    const arrived *a = job->owner;
    const tb_code code = tb_store_apply_pieces(store, a->pieces, a->n, err);
    job->changed_keys = !code && tb_store_applied_keys(store);
    return code;
}

static tb_code apply(void *ctx, const tb_piece *pieces, size_t n, tb_error *err)
{
    copy_server *c = ctx;
    arrived a = {pieces, n};
    write_job job = {.run = run_apply, .owner = &a, .alone = true, .bare = true};
    for (size_t i = 0; i < n; i++)
        job.bytes += pieces[i].len;
    return writer_run(c->server->writer, &job, err);
}

static const char all_the_same[] = "--force (\"force\":true) promotes it all the same.";

/* Why it should not become the primary, unless it is told to all the same. */
static tb_code check_promotion(const copy_server *c, tb_error *err)
{
    const int64_t lag_us = copy_lag_us(c);
    if (c->force) return TB_OK;
    if (!c->options.link.promotable)
        return tb_fail(err, TB_E_REPLICA_NOT_PROMOTED, NULL, "It runs without --promotable, so its primary waited for no answer of it: "
                       "what the primary acknowledged last may be lost. %s", all_the_same);
    if (standby_ended(c->standby) || copy_differences(c))
        return tb_fail(err, TB_E_REPLICA_NOT_PROMOTED, NULL, "This copy follows no longer, or does not agree with itself, as the server's "
                       "log says: what the primary wrote since then would be lost. %s", all_the_same);
    if (atomic_load(&c->unverified))
        return tb_fail(err, TB_E_REPLICA_NOT_PROMOTED, NULL, "This copy has not been verified since it was made, which the server does now: "
                       "wait until /readyz no longer says so. %s", all_the_same);
    if (copy_follows(c) && standby_lacks(c->standby) && lag_us >= c->options.max_lag_us)
        return tb_fail(err, TB_E_REPLICA_NOT_PROMOTED, NULL, "Its primary %.100s answers and has more: this copy is up to %" PRId64 " ms "
                       "behind, and that would be lost. Wait, or stop the primary. %s", copy_primary(c), lag_us / 1000, all_the_same);
    return TB_OK;
}

/* Of a standby that its primary has not listed yet, no answer was waited for. A file that has taken no piece since its own
 * promotion may be the last primary's own, which no list names: the first server of two starts so, and one that starts again. On
 * the standby's thread. */
static tb_code check_listed(const copy_server *c, tb_error *err)
{
    tb_standby list[TB_STANDBYS_MAX];
    tb_replication now;
    size_t n, at = 0;
    if (c->force || tb_store_schema_of(c->reader) < tb_store_schema()) return TB_OK;
    tb_code code = tb_store_read_begin(c->reader, err);
    if (!code) code = tb_store_standbys(c->reader, list, &n, err);
    if (!code) code = tb_store_replication(c->reader, &now, err);
    tb_store_read_end(c->reader);
    if (code || !now.copied) return code;
    while (at < n && strcmp(list[at].name, c->options.link.name) != 0)
        at++;
    return at < n ? TB_OK : tb_fail(err, TB_E_REPLICA_NOT_PROMOTED, NULL, "This copy does not hold the piece that lists it as a standby (%s): "
                                    "what its primary acknowledged may be lost. %s", c->options.link.name, all_the_same);
}

static tb_code take_over(void *ctx, int64_t *ret_epoch, tb_error *err)
{
    copy_server *c = ctx;
    tb_code code = check_promotion(c, err); /* again, as it may have ended meanwhile */
    if (!code) code = check_listed(c, err);
    if (!code) code = replicas_take_over(c->server, c->options.link.name, ret_epoch, err);
    if (!code) stop_verifier(c);
    return code;
}

tb_code copy_promote(copy_server *c, bool force, int64_t *ret_epoch, tb_error *err)
{
    pthread_mutex_lock(&c->promoting);
    c->force = force;
    tb_code code = replicas_copy(c->server) ? check_promotion(c, err) : replicas_not_standby(c->server, err);
    if (!code) code = standby_promote(c->standby, ret_epoch, err);
    pthread_mutex_unlock(&c->promoting);
    return code;
}

static tb_code oldest(void *ctx, tb_piece *ret, tb_error *err)
{
    copy_server *c = ctx;
    tb_replication now;
    tb_code code = tb_store_read_begin(c->reader, err);
    if (!code) code = tb_store_replication(c->reader, &now, err);
    if (!code) code = tb_store_piece_head(c->reader, now.first, ret, err);
    tb_store_read_end(c->reader);
    return code;
}

static void restart(void *ctx)
{
    const copy_server *c = ctx;
    atomic_store(&c->server->restarts, true);
    kill(getpid(), SIGTERM);
}

static tb_code look(void *ctx, tb_piece *ret, char ret_digest[STANDBY_DIGEST], tb_error *err)
{
    copy_server *c = ctx;
    tb_replication now;
    tb_code code = tb_store_read_begin(c->reader, err);
    if (!code) code = tb_store_replication(c->reader, &now, err);
    tb_store_read_end(c->reader);
    if (code) return code;
    *ret = now.last;
    for (int i = 0; i < TB_PIECE_CHAIN; i++)
        snprintf(ret_digest + 2 * (size_t)i, 3, "%02x", now.last.chain[i]);
    return TB_OK;
}

void copy_name(const server *s, char out[LINK_NAME_MAX + 1])
{
    char host[48] = "";
    if (gethostname(host, sizeof host - 1) != 0 || !host[0]) snprintf(host, sizeof host, "standby");
    snprintf(out, LINK_NAME_MAX + 1, "%.48s-%u", host, s->port);
    for (char *at = out; *at; at++)
        if (!strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-", *at)) *at = '-';
}

/* Where this server is reached, as far as it knows: an address of all networks does not say. */
static void name_address(const server *s, char out[TB_STANDBY_URL + 1])
{
    char where[LISTEN_TEXT_MAX];
    listen_text(front_listener(s->front), 0, where);
    const bool all = strncmp(where, "0.0.0.0:", 8) == 0 || strncmp(where, "[::]:", 5) == 0;
    out[0] = 0;
    if (s->options.copy.own_url) snprintf(out, TB_STANDBY_URL + 1, "%s", s->options.copy.own_url);
    else if (!all) snprintf(out, TB_STANDBY_URL + 1, "http%s://%.150s", s->options.tls ? "s" : "", where);
}

tb_code copy_open(server *s, copy_server **ret, tb_error *err)
{
    if (!s->options.copy.link.url) return TB_OK;
    copy_server *c = calloc(1, sizeof *c);
    if (!c) return tb_no_memory(err);
    c->server = s;
    c->options = s->options.copy;
    atomic_init(&c->unverified, seed_is_unverified(s->options.db));
    pthread_mutex_init(&c->lock, NULL);
    pthread_mutex_init(&c->promoting, NULL);
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&c->wake, &attr);
    pthread_condattr_destroy(&attr);
    copy_name(s, c->options.link.name);
    name_address(s, c->options.link.own_url);
    c->options.link.schema = tb_store_schema();
    const standby_options o = {.link = c->options.link, .db = s->options.db, .apply = apply, .look = look, .take_over = take_over, .oldest = oldest, .restart = restart,
                               .ctx = c,
                               .note = message_note, .warn = message_error};
    tb_code code = tb_store_open(s->options.db, &(tb_store_options){.copy = true}, &c->reader, err);
    if (!code) code = standby_new(&o, &c->standby, err);
    if (code) copy_free(c);
    else *ret = c;
    return code;
}

/* --- verifying --- */

static int stops_verifying(void *ctx)
{
    return atomic_load(&((copy_server *)ctx)->stop_verify);
}

static void keep_first(void *ctx, const char *sentence)
{
    char *first = ctx;
    if (!first[0] && strncmp(sentence, TB_NOTE, sizeof TB_NOTE - 1) != 0) snprintf(first, VERIFY_FIRST, "%s", sentence);
}

/* Returns whether it could be done. */
static bool verify(copy_server *c)
{
    tb_store *store;
    tb_error err;
    char first[VERIFY_FIRST] = "";
    uint64_t differences = 0;
    tb_code code = tb_store_open(c->server->options.db, &(tb_store_options){.copy = true}, &store, &err);
    if (!code && tb_store_schema_of(store) < tb_store_schema()) { /* it cannot be verified before the primary's upgrade */
        tb_store_close(store);
        atomic_store(&c->unverified, false);
        return true;
    }
    if (!code) {
        tb_store_watch(store, stops_verifying, c);
        code = c->options.check(store, keep_first, first, &differences, &err);
        tb_store_close(store);
    }
    if (atomic_load(&c->stop_verify)) return false;
    if (code) {
        message_error("the copy cannot be verified: %s", err.message);
        return false;
    }
    atomic_store(&c->differences, differences);
    if (differences) {
        message_error("%s does not agree with itself: %s (%" PRIu64 " differences). Stop this server, remove the file and start it "
                    "again: a new copy is made. If that has the same, so has the primary's file: verify that.",
                    c->server->options.db, first, differences);
        return true;
    }
    atomic_store(&c->unverified, false);
    if (!seed_is_unverified(c->server->options.db)) return true;
    seed_verified(c->server->options.db);
    message_note("%s is verified", c->server->options.db);
    return true;
}

static void *run_verifier(void *arg)
{
    copy_server *c = arg;
    run_in_background();
    pthread_mutex_lock(&c->lock);
    while (!c->stopping) {
        pthread_mutex_unlock(&c->lock);
        const int64_t wait_us = verify(c) ? COPY_VERIFY_US : COPY_RETRY_US;
        struct timespec until;
        clock_gettime(CLOCK_MONOTONIC, &until);
        until.tv_sec += wait_us / 1000000;
        pthread_mutex_lock(&c->lock);
        while (!c->stopping && pthread_cond_timedwait(&c->wake, &c->lock, &until) == 0)
            continue;
    }
    pthread_mutex_unlock(&c->lock);
    return NULL;
}

/* --- start and stop --- */

tb_code copy_start(copy_server *c, tb_error *err)
{
    tb_code code = standby_start(c->standby, err);
    c->started = !code;
    if (code) return code;
    c->verifies = pthread_create(&c->verifier, NULL, run_verifier, c) == 0;
    return c->verifies ? TB_OK : tb_fail(err, TB_E_IO, NULL, "The thread that verifies the copy does not start.");
}

void copy_stop(copy_server *c)
{
    if (!c) return;
    standby_stop(c->standby);
    stop_verifier(c);
    if (c->verifies) pthread_join(c->verifier, NULL);
    c->verifies = false;
}

void copy_free(copy_server *c)
{
    if (!c) return;
    standby_free(c->standby);
    tb_store_close(c->reader);
    pthread_cond_destroy(&c->wake);
    pthread_mutex_destroy(&c->promoting);
    pthread_mutex_destroy(&c->lock);
    free(c);
}

/* --- what others ask --- */

void copy_use_key(copy_server *c, const char *key)
{
    standby_use_key(c->standby, key);
}

int64_t copy_lag_us(const copy_server *c)
{
    return standby_lag_us(c->standby);
}

bool copy_follows(const copy_server *c)
{
    return standby_is_connected(c->standby);
}

uint64_t copy_differences(const copy_server *c)
{
    return atomic_load(&c->differences);
}

const char *copy_primary(const copy_server *c)
{
    return standby_primary(c->standby);
}

/* Anyone may read these sentences: they name no data. */
tb_code copy_ready(const copy_server *c, tb_error *err)
{
    static const char log[] = "The server's log says more, and what to do.";
    const int64_t lag_us = copy_lag_us(c);
    if (standby_ended(c->standby))
        return tb_fail(err, TB_E_BUSY, NULL, "This copy follows its primary no longer. %s", log);
    if (copy_differences(c)) return tb_fail(err, TB_E_BUSY, NULL, "This copy does not agree with itself. %s", log);
    if (atomic_load(&c->unverified)) return tb_fail(err, TB_E_BUSY, NULL, "This copy is new, and is being verified.");
    if (lag_us < c->options.max_lag_us) return TB_OK;
    return tb_fail(err, TB_E_BUSY, NULL, "This copy is up to %" PRId64 " ms behind its primary, and --max-lag allows %" PRId64
                   " ms.", lag_us / 1000, c->options.max_lag_us / 1000);
}
