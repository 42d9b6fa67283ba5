/* Threads over one reader under one lock, as the deployer's. The looker has a reader of its own, for what
 * it reads takes longer. */
#include "http/courier.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "http/clock.h"
#include "http/process.h"

#define POLL_NS  200000000 /* between two looks for what is due, or for a commit */
#define ALL_US   INT64_C(3600000000)

/* A write, and its end. */
typedef struct noting {
    write_job job;
    bool done;
} noting;

typedef struct sender {
    courier *all;
    pthread_t thread;
    unsigned number;
    bool busy;
    tb_message at;
    latest_view secret;
    noting note;
    tb_delivery came;
    char error[TB_MESSAGE_ERROR_MAX + 1];
} sender;

struct courier {
    pthread_mutex_t lock;
    pthread_cond_t wake;
    courier_work work;
    tb_store *outbox, *alerts; /* readers */
    writer *writer;
    latest *secret;
    int64_t fixed_now_us, start_us;
    atomic_bool stop;
    _Atomic uint64_t delivered, failed;
    sender senders[COURIER_THREADS];
    unsigned running;
    pthread_t looker;
    bool looking; /* its thread runs */
    noting note;  /* the looker's */
    bool moved;
};

bool courier_stopping(const courier *c)
{
    return atomic_load(&c->stop);
}

/* A fixed clock goes on here: what waits must become due. */
static int64_t courier_now(const courier *c)
{
    return c->fixed_now_us == INT64_MIN ? clock_wall_us()
                                        : c->fixed_now_us + clock_mono_us() - c->start_us;
}

/* The lock is held. */
static void wait_a_while(courier *c)
{
    struct timespec until;
    if (courier_stopping(c)) return;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += POLL_NS;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    pthread_cond_timedwait(&c->wake, &c->lock, &until);
}

/* --- writing --- */

static void finish_note(courier *c, noting *n)
{
    pthread_mutex_lock(&c->lock);
    n->done = true;
    pthread_cond_broadcast(&c->wake);
    pthread_mutex_unlock(&c->lock);
}

/* The lock is held, but not while the writer is at it. */
static tb_code write_note(courier *c, noting *n, tb_error *err)
{
    n->done = false;
    pthread_mutex_unlock(&c->lock);
    tb_code code = writer_submit(c->writer, &n->job, err);
    pthread_mutex_lock(&c->lock);
    while (!code && !n->done)
        pthread_cond_wait(&c->wake, &c->lock);
    if (!code && n->job.code) {
        code = n->job.code;
        *err = n->job.err;
    }
    return code;
}

/* --- sending --- */

static tb_code run_tried(write_job *job, tb_store *store, tb_error *err)
{
    const sender *s = job->owner;
    return tb_store_outbox_tried(store, &s->at, &s->came, courier_now(s->all), s->all->work.pause_us, err);
}

static void tried_done(write_job *job)
{
    sender *s = job->owner;
    finish_note(s->all, &s->note);
}

/* Until it is durable: what was delivered should not be sent again because a disk was full. The lock is
 * held. */
static void note_try(sender *s)
{
    courier *c = s->all;
    tb_error err;
    for (;;) {
        s->note.job = (write_job){.run = run_tried, .done = tried_done, .owner = s};
        if (write_note(c, &s->note, &err) == TB_OK || courier_stopping(c)) return;
        wait_a_while(c);
    }
}

/* The lock is held. false: nothing is due, or the store could not be read. */
static bool take_next(sender *s)
{
    courier *c = s->all;
    int64_t but[COURIER_THREADS];
    size_t n = 0;
    bool there = false;
    for (unsigned i = 0; i < COURIER_THREADS; i++)
        if (c->senders[i].busy) but[n++] = c->senders[i].at.number;
    if (tb_store_outbox_due(c->outbox, courier_now(c), but, n, &s->at, &there, NULL) || !there)
        return false;
    s->busy = true;
    return true;
}

/* The lock is held, but not while it is on its way. */
static void send_message(sender *s)
{
    courier *c = s->all;
    s->error[0] = 0;
    pthread_mutex_unlock(&c->lock);
    s->came = c->work.send(c->work.ctx, s->number, c, &s->at, latest_look(c->secret, &s->secret),
                           clock_wall_us(), s->error);
    pthread_mutex_lock(&c->lock);
    const bool taken = s->came.status >= 200 && s->came.status < 300;
    if (taken || !courier_stopping(c)) { /* one that a stop cut off was no try */
        atomic_fetch_add(taken ? &c->delivered : &c->failed, 1);
        note_try(s);
    }
    free(s->at.body);
    s->busy = false;
}

static void *run_sender(void *arg)
{
    sender *s = arg;
    courier *c = s->all;
    pthread_mutex_lock(&c->lock);
    while (!courier_stopping(c))
        if (take_next(s)) send_message(s);
        else wait_a_while(c);
    pthread_mutex_unlock(&c->lock);
    return NULL;
}

/* --- looking --- */

static tb_code run_note(write_job *job, tb_store *store, tb_error *err)
{
    courier *c = job->owner;
    return c->work.note(c->work.ctx, store, courier_now(c), &c->moved, err);
}

static void note_done(write_job *job)
{
    courier *c = job->owner;
    finish_note(c, &c->note);
}

/* The lock is not held. */
static tb_code look_at_some(courier *c, bool begin, bool all, bool *ret_found, bool *ret_over,
                            uint64_t *ret_version, tb_error *err)
{
    tb_code code = tb_store_read_begin(c->alerts, err);
    if (code) return code;
    code = begin ? tb_store_version(c->alerts, ret_version, err) : TB_OK;
    if (!code)
        code = c->work.look(c->work.ctx, c->alerts, begin, all, courier_now(c), ret_found, ret_over, err);
    tb_store_read_end(c->alerts);
    return code;
}

/* The lock is held. *ret_version: of the store, when the round began. */
static tb_code go_round(courier *c, bool all, uint64_t *ret_version, tb_error *err)
{
    bool over = false, begin = true, found = false;
    tb_code code = TB_OK;
    c->moved = false;
    while (!code && !over && !courier_stopping(c)) {
        pthread_mutex_unlock(&c->lock);
        code = look_at_some(c, begin, all, &found, &over, ret_version, err);
        pthread_mutex_lock(&c->lock);
        begin = false;
        if (code || !found) continue;
        c->note.job = (write_job){.run = run_note, .done = note_done, .owner = c};
        code = write_note(c, &c->note, err);
    }
    return code;
}

const courier_rounds courier_no_round = {.next_us = INT64_MIN, .last_all_us = INT64_MIN / 2};

bool courier_round_due(const courier_rounds *r, int64_t now_us, uint64_t version, bool *ret_all)
{
    *ret_all = r->again || now_us - r->last_all_us >= ALL_US;
    return now_us >= r->next_us && (*ret_all || version != r->version);
}

void courier_round_over(courier_rounds *r, bool all, bool moved, tb_code code, int64_t began_us, int64_t ended_us)
{
    const int64_t share_us = 9 * (ended_us - began_us);
    const int64_t pause_us = share_us < ROUND_PAUSE_US ? ROUND_PAUSE_US : share_us;
    r->again = code || moved;
    /* What changes after a round over all need not wait. */
    if (!all || code) r->next_us = ended_us + (pause_us < ROUND_PAUSE_MOST_US ? pause_us : ROUND_PAUSE_MOST_US);
    if (all) r->last_all_us = began_us;
}

static void say_failed(courier_rounds *r, tb_code code, const tb_error *err)
{
    if (code && !r->said) process_say("alerts: %s", err->message);
    r->said = code != TB_OK;
}

static void *run_looker(void *arg)
{
    courier *c = arg;
    courier_rounds r = courier_no_round;
    bool all;
    pthread_mutex_lock(&c->lock);
    while (!courier_stopping(c)) {
        const int64_t began_us = clock_mono_us();
        uint64_t version = 0;
        if (tb_store_version(c->alerts, &version, NULL)) version = r.version;
        if (!courier_round_due(&r, began_us, version, &all)) {
            wait_a_while(c);
            continue;
        }
        tb_error err;
        const tb_code code = go_round(c, all, &r.version, &err);
        say_failed(&r, code, &err);
        courier_round_over(&r, all, c->moved, code, began_us, clock_mono_us());
    }
    pthread_mutex_unlock(&c->lock);
    return NULL;
}

/* --- all --- */

static void init_courier(courier *c)
{
    pthread_condattr_t attr;
    pthread_mutex_init(&c->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&c->wake, &attr);
    pthread_condattr_destroy(&attr);
}

static bool start_threads(courier *c)
{
    bool ok = true;
    for (unsigned i = 0; ok && i < COURIER_THREADS; i++) {
        c->senders[i].all = c;
        c->senders[i].number = i;
        ok = pthread_create(&c->senders[i].thread, NULL, run_sender, &c->senders[i]) == 0;
        c->running += ok;
    }
    c->looking = ok && pthread_create(&c->looker, NULL, run_looker, c) == 0;
    return c->looking;
}

courier *courier_start(const courier_work *work, tb_store *const stores[2], latest *secret,
                       int64_t fixed_now_us, writer *to)
{
    courier *c = calloc(1, sizeof *c);
    if (!c) return NULL;
    init_courier(c);
    c->work = *work;
    c->outbox = stores[0];
    c->alerts = stores[1];
    c->secret = secret;
    c->writer = to;
    c->fixed_now_us = fixed_now_us;
    c->start_us = clock_mono_us();
    if (start_threads(c)) return c;
    courier_halt(c);
    courier_join(c);
    courier_free(c);
    return NULL;
}

void courier_read_figures(const courier *c, courier_figures *ret)
{
    *ret = (courier_figures){0};
    if (!c) return;
    ret->delivered = atomic_load(&c->delivered);
    ret->failed = atomic_load(&c->failed);
    if (c->work.unpriced) ret->unpriced = atomic_load(c->work.unpriced);
}

void courier_halt(courier *c)
{
    if (!c) return;
    pthread_mutex_lock(&c->lock);
    atomic_store(&c->stop, true);
    pthread_cond_broadcast(&c->wake);
    pthread_mutex_unlock(&c->lock);
}

void courier_join(courier *c)
{
    if (!c) return;
    for (unsigned i = 0; i < c->running; i++)
        pthread_join(c->senders[i].thread, NULL);
    if (c->looking) pthread_join(c->looker, NULL);
    c->running = 0;
    c->looking = false;
}

void courier_free(courier *c)
{
    if (!c) return;
    if (c->work.end) c->work.end(c->work.ctx);
    for (unsigned i = 0; i < COURIER_THREADS; i++)
        latest_release(&c->senders[i].secret);
    pthread_cond_destroy(&c->wake);
    pthread_mutex_destroy(&c->lock);
    free(c);
}
