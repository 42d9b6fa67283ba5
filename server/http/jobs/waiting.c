/* A list under a mutex. The lane's mutex is held where that one is taken (next_step), never the other way round. */
#include "http/jobs/waiting.h"

#include <pthread.h>
#include <stdlib.h>

#include "http/clock.h"

struct waiting {
    job_pool *pool;
    pthread_mutex_t lock;
    write_job *first;
    uint64_t turn; /* commits so far */
    bool woken;    /* one of them since all were last released */
    bool ended;
    write_job release; /* the lane's only job */
};

static int64_t left_us(const write_job *job)
{
    const int64_t left = job->since_us + job->wait_us - clock_mono_us();
    return left > 0 ? left : 0;
}

/* Takes those out of the list whose wait is over. With the lock held. */
static write_job *take_over(waiting *w)
{
    write_job *over = NULL;
    for (write_job **at = &w->first, *job; (job = *at);) {
        if (!w->woken && !w->ended && left_us(job) > 0) {
            at = &job->next;
            continue;
        }
        *at = job->next;
        job->next = over;
        over = job;
    }
    w->woken = false;
    return over;
}

static void release_over(waiting *w)
{
    pthread_mutex_lock(&w->lock);
    write_job *over = take_over(w);
    pthread_mutex_unlock(&w->lock);
    for (write_job *next; over; over = next) {
        next = over->next;
        over->done(over);
    }
}

static tb_code run_release(write_job *job, tb_store *store, tb_error *err)
{
    (void)store, (void)err;
    release_over(job->owner);
    return TB_OK;
}

static void release_done(write_job *job)
{
    (void)job;
}

static write_job *next_release(void *ctx, unsigned thread, tb_store *reader, int64_t *wait_us)
{
    waiting *w = ctx;
    (void)thread, (void)reader;
    pthread_mutex_lock(&w->lock);
    int64_t soonest_us = w->woken ? 0 : INT64_MAX;
    for (const write_job *job = w->first; job && soonest_us > 0; job = job->next)
        if (left_us(job) < soonest_us) soonest_us = left_us(job);
    pthread_mutex_unlock(&w->lock);
    if (soonest_us > 0) {
        *wait_us = soonest_us;
        return NULL;
    }
    w->release = (write_job){.run = run_release, .done = release_done, .owner = w};
    return &w->release;
}

waiting *waiting_new(job_pool *pool)
{
    waiting *w = calloc(1, sizeof *w);
    if (!w) return NULL;
    w->pool = pool;
    pthread_mutex_init(&w->lock, NULL);
    job_pool_set_source(pool, LANE_WAIT, next_release, w);
    return w;
}

void waiting_free(waiting *w)
{
    if (!w) return;
    pthread_mutex_destroy(&w->lock);
    free(w);
}

uint64_t waiting_turn(waiting *w)
{
    pthread_mutex_lock(&w->lock);
    const uint64_t turn = w->turn;
    pthread_mutex_unlock(&w->lock);
    return turn;
}

void waiting_add(waiting *w, write_job *job, uint64_t turn)
{
    job->code = TB_OK;
    job->since_us = clock_mono_us();
    pthread_mutex_lock(&w->lock);
    const bool over = w->ended || w->turn != turn;
    if (!over) {
        job->next = w->first;
        w->first = job;
    }
    pthread_mutex_unlock(&w->lock);
    if (over) job->done(job);
    else job_pool_wake(w->pool, LANE_WAIT); /* its time may be the next one */
}

void waiting_commit(waiting *w)
{
    pthread_mutex_lock(&w->lock);
    w->turn++;
    w->woken = w->first != NULL;
    const bool wake = w->woken;
    pthread_mutex_unlock(&w->lock);
    if (wake) job_pool_wake(w->pool, LANE_WAIT);
}

void waiting_end(waiting *w)
{
    pthread_mutex_lock(&w->lock);
    w->ended = true;
    pthread_mutex_unlock(&w->lock);
    release_over(w);
}
