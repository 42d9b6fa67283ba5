/* One thread that submits a step, waits for its end, and submits the next. */
#include "http/chore.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "http/clock.h"
#include "http/process.h"

#define AGAIN_S 1 /* after the writer's queue was full */

struct chore {
    pthread_mutex_t lock;
    pthread_cond_t wake;
    pthread_t thread;
    chore_work work;
    int64_t fixed_now_us;
    writer *writer;
    write_job job;
    bool stop, done; /* done: the job's */
    bool again, more;
};

static int64_t now_of(const chore *c)
{
    return c->fixed_now_us == INT64_MIN ? clock_wall_us() : c->fixed_now_us;
}

static tb_code run_step(write_job *job, tb_store *store, tb_error *err)
{
    chore *c = job->owner;
    return c->work.step(c->work.ctx, store, now_of(c), c->again, &c->more, err);
}

/* The clock of the wall may be set, so no wait is a long one. */
static int wait_of(const chore *c)
{
    const int wait_s = c->work.wait_s ? c->work.wait_s(c->work.ctx, now_of(c)) : CHORE_EVERY_S;
    return wait_s < CHORE_EVERY_S ? wait_s : CHORE_EVERY_S;
}

static void step_done(write_job *job)
{
    chore *c = job->owner;
    pthread_mutex_lock(&c->lock);
    c->done = true;
    pthread_cond_signal(&c->wake);
    pthread_mutex_unlock(&c->lock);
}

/* The lock is held. Until it is woken, or so many seconds later. */
static void wait_seconds(chore *c, int seconds)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += seconds;
    while (!c->stop && pthread_cond_clockwait(&c->wake, &c->lock, CLOCK_MONOTONIC, &until) == 0)
        continue;
}

/* The lock is held. false: the round is over; *ret_failed: not well. */
static bool take_step(chore *c, bool *ret_failed)
{
    tb_error err;
    c->job = (write_job){.run = run_step, .done = step_done, .owner = c, .alone = true};
    c->done = c->more = false;
    if (writer_submit(c->writer, &c->job, &err) != TB_OK) {
        wait_seconds(c, AGAIN_S);
        return err.code == TB_E_BUSY;
    }
    while (!c->done)
        pthread_cond_wait(&c->wake, &c->lock);
    c->again = true;
    if (c->job.code == TB_OK) return c->more;
    *ret_failed = true;
    process_say("%s: %s", c->work.name, c->job.err.message);
    return false;
}

/* The lock is held. */
static void take_round(chore *c)
{
    bool failed = false;
    c->again = false;
    while (take_step(c, &failed))
        if (c->stop) return;
    if (c->work.over) c->work.over(c->work.ctx, now_of(c), failed);
}

static void *run_chore(void *arg)
{
    chore *c = arg;
    pthread_mutex_lock(&c->lock);
    while (!c->stop) {
        take_round(c);
        wait_seconds(c, wait_of(c));
    }
    pthread_mutex_unlock(&c->lock);
    return NULL;
}

chore *chore_start(const chore_work *work, int64_t fixed_now_us, writer *to)
{
    chore *c = calloc(1, sizeof *c);
    if (!c) return NULL;
    pthread_mutex_init(&c->lock, NULL);
    pthread_cond_init(&c->wake, NULL);
    c->work = *work;
    c->fixed_now_us = fixed_now_us;
    c->writer = to;
    if (pthread_create(&c->thread, NULL, run_chore, c) == 0) return c;
    free(c);
    return NULL;
}

void chore_halt(chore *c)
{
    if (!c) return;
    pthread_mutex_lock(&c->lock);
    c->stop = true;
    pthread_cond_signal(&c->wake);
    pthread_mutex_unlock(&c->lock);
}

void chore_join(chore *c)
{
    if (!c) return;
    pthread_join(c->thread, NULL);
    pthread_cond_destroy(&c->wake);
    pthread_mutex_destroy(&c->lock);
    free(c);
}
