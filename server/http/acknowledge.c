#include "http/acknowledge.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "http/clock.h"
#include "http/message.h"
#include "http/replicas.h"

#define UNKNOWN   (-1)
#define MOMENT_US INT64_C(5000000) /* several questions of a standby that has nothing to do */

typedef struct listed_standby {
    tb_standby is;
    int64_t piece;    /* it has all up to this one; UNKNOWN: it has not asked since the start */
    int64_t newest;   /* of the file, when it asked last */
    int64_t asked_us; /* monotonic */
    bool absent;      /* nobody waits for it */
} listed_standby;

struct acknowledge {
    server *server;
    pthread_mutex_t lock; /* taken before the lock of waits */
    size_t n;
    listed_standby list[TB_STANDBYS_MAX]; /* ascending by name */
    bool unprotected;
};

acknowledge *acknowledge_new(server *s)
{
    acknowledge *a = calloc(1, sizeof *a);
    if (!a) return NULL;
    a->server = s;
    pthread_mutex_init(&a->lock, NULL);
    return a;
}

void acknowledge_free(acknowledge *a)
{
    if (!a) return;
    pthread_mutex_destroy(&a->lock);
    free(a);
}

/* --- the list; with the lock held --- */

static listed_standby *find_listed(acknowledge *a, const char *name)
{
    for (size_t i = 0; i < a->n; i++)
        if (strcmp(a->list[i].is.name, name) == 0) return &a->list[i];
    return NULL;
}

static void say_unprotected(const acknowledge *a)
{
    if (!a->unprotected)
        message_note("answers to writes wait for all listed standbys again.");
    else if (!a->n)
        message_error("no standby is listed: answers to writes wait for none (--standby-absent continue). What this machine holds "
                      "alone is lost with it.");
    else
        message_error("a standby has not taken a piece within %" PRId64 " s: answers to writes do not wait for it until it has caught "
                      "up (--standby-absent continue). `replica status` says which.",
                      a->server->options.standby_wait_us / 1000000);
}

/* After any change: which piece all have that count. */
static void weigh(acknowledge *a)
{
    const server_options *o = &a->server->options;
    int64_t least = a->n || o->standby_absent ? INT64_MAX : UNKNOWN;
    bool unprotected = o->standby_absent && !a->n;
    for (size_t i = 0; i < a->n; i++) {
        if (!a->list[i].absent && a->list[i].piece < least) least = a->list[i].piece;
        unprotected |= a->list[i].absent;
    }
    waiting_reach(a->server->waiting, WAIT_PIECE, least);
    if (!o->acknowledge_standby || unprotected == a->unprotected || replicas_role(a->server) != ROLE_PRIMARY) return;
    a->unprotected = unprotected;
    say_unprotected(a);
}

/* --- any thread --- */

void acknowledge_take_list(acknowledge *a, tb_store *store)
{
    tb_standby now[TB_STANDBYS_MAX];
    listed_standby list[TB_STANDBYS_MAX];
    size_t n;
    if (tb_store_standbys(store, now, &n, NULL)) return; /* tried again at the next commit */
    pthread_mutex_lock(&a->lock);
    for (size_t i = 0; i < n; i++) {
        const listed_standby *before = find_listed(a, now[i].name);
        list[i] = before ? *before : (listed_standby){.piece = UNKNOWN};
        list[i].is = now[i];
    }
    memcpy(a->list, list, n * sizeof *list);
    a->n = n;
    weigh(a);
    pthread_mutex_unlock(&a->lock);
}

bool acknowledge_lists(acknowledge *a, const tb_standby *one)
{
    pthread_mutex_lock(&a->lock);
    const listed_standby *listed = find_listed(a, one->name);
    const bool same = listed && strcmp(listed->is.url, one->url) == 0 && listed->is.schema == one->schema;
    pthread_mutex_unlock(&a->lock);
    return same;
}

bool acknowledge_is_taken(acknowledge *a, const tb_standby *one)
{
    pthread_mutex_lock(&a->lock);
    const listed_standby *listed = find_listed(a, one->name);
    const bool taken = listed && listed->is.url[0] && strcmp(listed->is.url, one->url) != 0 && listed->piece != UNKNOWN &&
                       clock_mono_us() - listed->asked_us < MOMENT_US;
    pthread_mutex_unlock(&a->lock);
    return taken;
}

/* It has caught up once it has what was the newest piece when it asked before, a short time ago: with writes all the time it
 * may never have the newest. */
void acknowledge_note(acknowledge *a, const char *name, int64_t piece, int64_t newest)
{
    const int64_t now_us = clock_mono_us();
    pthread_mutex_lock(&a->lock);
    listed_standby *one = find_listed(a, name);
    if (one) {
        const bool soon = now_us - one->asked_us < a->server->options.standby_wait_us;
        if (piece >= newest || (soon && piece >= one->newest)) one->absent = false;
        one->piece = piece;
        one->newest = newest;
        one->asked_us = now_us;
        weigh(a);
    }
    pthread_mutex_unlock(&a->lock);
}

void acknowledge_new_role(acknowledge *a)
{
    pthread_mutex_lock(&a->lock);
    weigh(a);
    pthread_mutex_unlock(&a->lock);
    waiting_release(a->server->waiting);
}

size_t acknowledge_add_listed(acknowledge *a, tb_follower *list, size_t n)
{
    const size_t asked = n;
    pthread_mutex_lock(&a->lock);
    for (size_t i = 0; i < a->n; i++) {
        const listed_standby *one = &a->list[i];
        size_t at = 0;
        while (at < asked && strcmp(list[at].name, one->is.name) != 0)
            at++;
        if (at < asked) continue;
        list[n] = (tb_follower){.promotable = true, .piece = one->piece > 0 ? one->piece : 0};
        memcpy(list[n++].name, one->is.name, sizeof one->is.name);
    }
    pthread_mutex_unlock(&a->lock);
    return n;
}

size_t acknowledge_silent(acknowledge *a, tb_standby ret[TB_STANDBYS_MAX])
{
    size_t n = 0;
    pthread_mutex_lock(&a->lock);
    for (size_t i = 0; i < a->n; i++) {
        const bool silent = a->list[i].piece == UNKNOWN || clock_mono_us() - a->list[i].asked_us > MOMENT_US;
        if (silent && a->list[i].is.url[0]) ret[n++] = a->list[i].is;
    }
    pthread_mutex_unlock(&a->lock);
    return n;
}

int64_t acknowledge_newest(acknowledge *a)
{
    int64_t newest = waiting_reached(a->server->waiting, WAIT_PIECE);
    pthread_mutex_lock(&a->lock);
    for (size_t i = 0; i < a->n; i++)
        if (a->list[i].piece > newest) newest = a->list[i].piece;
    pthread_mutex_unlock(&a->lock);
    return newest;
}

bool acknowledge_unprotected(acknowledge *a)
{
    pthread_mutex_lock(&a->lock);
    const bool unprotected = a->unprotected && replicas_role(a->server) == ROLE_PRIMARY;
    pthread_mutex_unlock(&a->lock);
    return unprotected;
}

static void count_absent(acknowledge *a, int64_t piece)
{
    pthread_mutex_lock(&a->lock);
    for (size_t i = 0; i < a->n; i++)
        a->list[i].absent |= a->list[i].piece < piece;
    weigh(a);
    pthread_mutex_unlock(&a->lock);
}

/* --- an answer --- */

static bool has_written(const request *r)
{
    const bool writes = r->writes || (r->route && !r->route->reads && r->method != HTTP_GET && r->method != HTTP_HEAD);
    return writes && !r->refused && r->reply.status >= 200 && r->reply.status < 300;
}

/* The piece is read anew, and not taken from the writer: what the answer was made of may have been read between a commit and
 * the writer's word of it. */
tb_code acknowledge_begin(request *r, tb_error *err)
{
    server *s = r->worker->server;
    tb_replication now;
    if (!s->options.acknowledge_standby || !has_written(r)) return TB_OK;
    tb_code code = tb_store_read_begin(r->worker->store, err);
    if (!code) code = tb_store_replication(r->worker->store, &now, err);
    tb_store_read_end(r->worker->store);
    if (code || waiting_reached(s->waiting, WAIT_PIECE) >= now.last.number) return code;
    request_hold(r, now.last.number, s->options.standby_wait_us);
    /* A role that ended before the request was in the list has not released it. */
    if (replicas_role(s) != ROLE_PRIMARY) waiting_release(s->waiting);
    return TB_OK;
}

tb_code acknowledge_end(request *r, tb_error *err)
{
    const server *s = r->worker->server;
    const write_job *job = &r->job;
    if (!job->code) return TB_OK;
    /* The new primary may have it, so this is not TB_E_REPLICA_SUPERSEDED, after which anything is sent there again. */
    const bool ended = replicas_role(s) != ROLE_PRIMARY;
    const bool waited = clock_mono_us() - job->since_us >= job->wait_us;
    if (!ended && s->options.standby_absent && waited && !atomic_load(&s->stopping)) {
        count_absent(s->acknowledge, job->number);
        return TB_OK;
    }
    return tb_fail(err, TB_E_REPLICA_UNACKNOWLEDGED, NULL, "It may be stored here, but not every standby has it yet%s. %s",
                   ended    ? ", and another server has taken this one's place"
                   : waited ? ""
                            : ", and the server is stopping",
                   r->reply.secret ? "Nobody is shown the key that was made: revoke it and make another."
                                   : "Send the same again: with its Idempotency-Key, batch, reference or content it counts once.");
}
