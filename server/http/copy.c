#include "http/copy.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "http/clock.h"
#include "http/jobs/background.h"
#include "http/message.h"
#include "http/server.h"

#define VERIFY_FIRST 240 /* bytes of the first difference */

struct copy_server {
    server *server;
    copy_options options;
    standby *standby;
    tb_store *reader; /* of the standby's thread */
    bool started;
    /* The verification: */
    pthread_t verifier;
    bool verifies;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    bool stopping;
    atomic_bool stop_verify;
    _Atomic uint64_t differences;
};

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

/* "HOST-PORT", of the letters that such a name may have. */
static void name_server(const server *s, char out[LINK_NAME_MAX + 1])
{
    char host[48] = "";
    if (gethostname(host, sizeof host - 1) != 0 || !host[0]) snprintf(host, sizeof host, "standby");
    snprintf(out, LINK_NAME_MAX + 1, "%.48s-%u", host, s->port);
    for (char *at = out; *at; at++)
        if (!strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-", *at)) *at = '-';
}

tb_code copy_open(server *s, copy_server **ret, tb_error *err)
{
    if (!s->options.copy.link.url) return TB_OK;
    copy_server *c = calloc(1, sizeof *c);
    if (!c) return tb_no_memory(err);
    c->server = s;
    c->options = s->options.copy;
    pthread_mutex_init(&c->lock, NULL);
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&c->wake, &attr);
    pthread_condattr_destroy(&attr);
    name_server(s, c->options.link.name);
    const standby_options o = {.link = c->options.link, .db = s->options.db, .apply = apply, .look = look, .ctx = c,
                               .note = message_note, .warn = message_error};
    tb_code code = tb_store_open(s->options.db, NULL, &c->reader, err);
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

static void verify(copy_server *c)
{
    tb_store *store;
    tb_error err;
    char first[VERIFY_FIRST] = "";
    uint64_t differences = 0;
    tb_code code = tb_store_open(c->server->options.db, NULL, &store, &err);
    if (!code) {
        tb_store_watch(store, stops_verifying, c);
        code = c->options.check(store, keep_first, first, &differences, &err);
        tb_store_close(store);
    }
    if (atomic_load(&c->stop_verify)) return;
    if (code) {
        message_error("the copy cannot be verified: %s", err.message);
        return;
    }
    atomic_store(&c->differences, differences);
    if (differences)
        message_error("%s does not agree with itself: %s (%" PRIu64 " differences). Stop this server, remove the file and start it "
                    "again: a new copy is made.",
                    c->server->options.db, first, differences);
}

static void *run_verifier(void *arg)
{
    copy_server *c = arg;
    run_in_background();
    pthread_mutex_lock(&c->lock);
    while (!c->stopping) {
        pthread_mutex_unlock(&c->lock);
        verify(c);
        struct timespec until;
        clock_gettime(CLOCK_MONOTONIC, &until);
        until.tv_sec += COPY_VERIFY_US / 1000000;
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
    pthread_mutex_lock(&c->lock);
    c->stopping = true;
    atomic_store(&c->stop_verify, true);
    pthread_cond_signal(&c->wake);
    pthread_mutex_unlock(&c->lock);
    if (c->verifies) pthread_join(c->verifier, NULL);
    c->verifies = false;
}

void copy_free(copy_server *c)
{
    if (!c) return;
    standby_free(c->standby);
    tb_store_close(c->reader);
    pthread_cond_destroy(&c->wake);
    pthread_mutex_destroy(&c->lock);
    free(c);
}

/* --- what others ask --- */

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
    return c->options.link.url;
}

/* Anyone may read these sentences: they name no data. */
tb_code copy_ready(const copy_server *c, tb_error *err)
{
    static const char log[] = "The server's log says more, and what to do.";
    const int64_t lag_us = copy_lag_us(c);
    if (standby_ended(c->standby))
        return tb_fail(err, TB_E_BUSY, NULL, "This copy follows its primary no longer. %s", log);
    if (copy_differences(c)) return tb_fail(err, TB_E_BUSY, NULL, "This copy does not agree with itself. %s", log);
    if (lag_us < c->options.max_lag_us) return TB_OK;
    return tb_fail(err, TB_E_BUSY, NULL, "This copy is known to have all that is older than %" PRId64 " ms, and may be %" PRId64
                   " ms behind.", lag_us / 1000, c->options.max_lag_us / 1000);
}

void copy_refuse(tb_error *err, const copy_server *c)
{
    (void)!tb_fail(err, TB_E_REPLICA_READ_ONLY, NULL, "This server is a copy and only read. Send it to its primary, %.200s.",
                   copy_primary(c));
}
