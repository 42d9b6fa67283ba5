/* A list under a mutex. The lane's mutex is held where that one is taken (next_step), never the other way round. */
#include "http/jobs/waiting.h"

#include <pthread.h>
#include <stdlib.h>

#include "http/clock.h"

struct waiting {
    job_pool *pool;
    pthread_mutex_t lock;
    struct {
        write_job *first;
        size_t n;
        int64_t reached;
    } kinds[WAIT_KINDS];
    bool woken;      /* a number was reached since all were last looked at */
    bool ended;
    int64_t next_us; /* when the first of them is over; monotonic */
    write_job release; /* the lane's only job */
};

/* Takes those out of the lists whose wait is over, or all. With the lock held. */
static write_job *take_over(waiting *w, bool all)
{
    const int64_t now_us = clock_mono_us();
    write_job *over = NULL;
    w->woken = false;
    w->next_us = INT64_MAX;
    for (int kind = 0; kind < WAIT_KINDS; kind++)
        for (write_job **at = &w->kinds[kind].first, *job; (job = *at);) {
            const bool reached = w->kinds[kind].reached >= job->number;
            const int64_t end_us = job->since_us + job->wait_us;
            if (!reached && !all && end_us > now_us) {
                if (end_us < w->next_us) w->next_us = end_us;
                at = &job->next;
                continue;
            }
            *at = job->next;
            w->kinds[kind].n--;
            job->code = reached ? TB_OK : TB_E_STOPPED;
            job->next = over;
            over = job;
        }
    return over;
}

static void release(waiting *w, bool all)
{
    pthread_mutex_lock(&w->lock);
    write_job *over = take_over(w, all);
    pthread_mutex_unlock(&w->lock);
    for (write_job *next; over; over = next) {
        next = over->next;
        over->done(over);
    }
}

static tb_code run_release(write_job *job, tb_store *store, tb_error *err)
{
    (void)store, (void)err;
    release(job->owner, false);
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
    const int64_t left_us = w->next_us - clock_mono_us();
    const bool due = w->woken || left_us <= 0, none = w->next_us == INT64_MAX;
    pthread_mutex_unlock(&w->lock);
    if (!due) {
        *wait_us = none ? INT64_MAX : left_us;
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
    w->next_us = INT64_MAX;
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

int64_t waiting_reached(waiting *w, wait_kind kind)
{
    pthread_mutex_lock(&w->lock);
    const int64_t reached = w->kinds[kind].reached;
    pthread_mutex_unlock(&w->lock);
    return reached;
}

size_t waiting_count(waiting *w, wait_kind kind)
{
    pthread_mutex_lock(&w->lock);
    const size_t n = w->kinds[kind].n;
    pthread_mutex_unlock(&w->lock);
    return n;
}

void waiting_add(waiting *w, wait_kind kind, int64_t number, write_job *job)
{
    job->number = number;
    job->since_us = clock_mono_us();
    const int64_t end_us = job->since_us + job->wait_us;
    pthread_mutex_lock(&w->lock);
    const bool reached = w->kinds[kind].reached >= number, over = w->ended || reached;
    const bool next = !over && end_us < w->next_us;
    job->code = reached ? TB_OK : TB_E_STOPPED;
    if (next) w->next_us = end_us;
    if (!over) {
        job->next = w->kinds[kind].first;
        w->kinds[kind].first = job;
        w->kinds[kind].n++;
    }
    pthread_mutex_unlock(&w->lock);
    if (over) job->done(job);
    else if (next) job_pool_wake(w->pool, LANE_WAIT);
}

/* With the lock held; ends it. */
static void reach(waiting *w, wait_kind kind, int64_t number)
{
    const bool wake = w->kinds[kind].first && number > w->kinds[kind].reached;
    w->kinds[kind].reached = number;
    w->woken |= wake;
    pthread_mutex_unlock(&w->lock);
    if (wake) job_pool_wake(w->pool, LANE_WAIT);
}

void waiting_reach(waiting *w, wait_kind kind, int64_t number)
{
    pthread_mutex_lock(&w->lock);
    reach(w, kind, number);
}

void waiting_commit(waiting *w)
{
    pthread_mutex_lock(&w->lock);
    reach(w, WAIT_COMMIT, w->kinds[WAIT_COMMIT].reached + 1);
}

void waiting_release(waiting *w)
{
    release(w, true);
}

void waiting_end(waiting *w)
{
    pthread_mutex_lock(&w->lock);
    w->ended = true;
    pthread_mutex_unlock(&w->lock);
    release(w, true);
}
