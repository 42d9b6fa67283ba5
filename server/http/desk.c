/* A short list under a mutex, and one thread. Each job has a snapshot of its own. */
#include "http/desk.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "http/clock.h"

struct desk {
    pthread_mutex_t lock;
    pthread_cond_t wake;
    pthread_t thread;
    tb_store *store;
    write_job *first, **last;
    unsigned queued;
    _Atomic bool stop;
    int64_t until_us; /* of the job at work; the desk's thread alone */
};

static void fail_job(write_job *job, tb_code code, const char *message)
{
    job->code = tb_fail(&job->err, code, NULL, "%s", message);
    job->done(job);
}

static void run_job(desk *d, write_job *job)
{
    if (atomic_load(&d->stop)) {
        fail_job(job, TB_E_BUSY, "The server is stopping; send the same again later.");
        return;
    }
    d->until_us = clock_mono_us() + DESK_JOB_US;
    job->code = job->run(job, d->store, &job->err);
    job->done(job);
}

/* The next job, waiting for it; NULL: there is none and the desk is to stop. */
static write_job *take(desk *d)
{
    pthread_mutex_lock(&d->lock);
    while (!d->first && !atomic_load(&d->stop))
        pthread_cond_wait(&d->wake, &d->lock);
    write_job *job = d->first;
    if (job) {
        d->first = job->next;
        if (!d->first) d->last = &d->first;
        job->next = NULL;
        d->queued--;
    }
    pthread_mutex_unlock(&d->lock);
    return job;
}

static void *run_desk(void *arg)
{
    desk *d = arg;
    for (write_job *job; (job = take(d));)
        run_job(d, job);
    return NULL;
}

desk *desk_start(tb_store *store)
{
    desk *d = calloc(1, sizeof *d);
    if (!d) return NULL;
    pthread_mutex_init(&d->lock, NULL);
    pthread_cond_init(&d->wake, NULL);
    d->store = store;
    d->last = &d->first;
    if (pthread_create(&d->thread, NULL, run_desk, d) == 0) return d;
    free(d);
    return NULL;
}

tb_code desk_submit(desk *d, write_job *job, tb_error *err)
{
    bool taken = false;
    job->code = TB_OK;
    job->next = NULL;
    pthread_mutex_lock(&d->lock);
    if (!atomic_load(&d->stop) && d->queued < DESK_JOBS_MAX) {
        *d->last = job;
        d->last = &job->next;
        d->queued++;
        taken = true;
        pthread_cond_signal(&d->wake);
    }
    pthread_mutex_unlock(&d->lock);
    if (taken) return TB_OK;
    return tb_fail(err, TB_E_BUSY, NULL, "%d computations wait already, try again later.",
                   DESK_JOBS_MAX);
}

bool desk_time_left(desk *d)
{
    return !atomic_load_explicit(&d->stop, memory_order_relaxed) && clock_mono_us() < d->until_us;
}

void desk_stop(desk *d)
{
    pthread_mutex_lock(&d->lock);
    atomic_store(&d->stop, true);
    pthread_cond_signal(&d->wake);
    pthread_mutex_unlock(&d->lock);
    pthread_join(d->thread, NULL);
}

void desk_free(desk *d)
{
    if (!d) return;
    pthread_cond_destroy(&d->wake);
    pthread_mutex_destroy(&d->lock);
    free(d);
}
