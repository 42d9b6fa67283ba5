/* A short list under a mutex, and threads that take from its head. */
#include "http/errands.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

struct errands {
    pthread_mutex_t lock;
    pthread_cond_t wake;
    pthread_t thread[ERRANDS_THREADS];
    unsigned running, queued;
    write_job *first, **last;
    _Atomic bool stop;
};

static void run_job(errands *e, write_job *job)
{
    if (errands_stopping(e))
        job->code = tb_fail(&job->err, TB_E_BUSY, NULL,
                            "The server is stopping; send the same again later.");
    else job->code = job->run(job, NULL, &job->err);
    job->done(job);
}

/* The next job, waiting for it; NULL: there is none and the thread is to end. */
static write_job *take(errands *e)
{
    pthread_mutex_lock(&e->lock);
    while (!e->first && !errands_stopping(e))
        pthread_cond_wait(&e->wake, &e->lock);
    write_job *job = e->first;
    if (job) {
        e->first = job->next;
        if (!e->first) e->last = &e->first;
        job->next = NULL;
        e->queued--;
    }
    pthread_mutex_unlock(&e->lock);
    return job;
}

static void *run(void *arg)
{
    errands *e = arg;
    for (write_job *job; (job = take(e));)
        run_job(e, job);
    return NULL;
}

errands *errands_start(void)
{
    errands *e = calloc(1, sizeof *e);
    if (!e) return NULL;
    pthread_mutex_init(&e->lock, NULL);
    pthread_cond_init(&e->wake, NULL);
    e->last = &e->first;
    while (e->running < ERRANDS_THREADS &&
           pthread_create(&e->thread[e->running], NULL, run, e) == 0)
        e->running++;
    if (e->running == ERRANDS_THREADS) return e;
    errands_stop(e);
    errands_free(e);
    return NULL;
}

tb_code errands_submit(errands *e, write_job *job, tb_error *err)
{
    bool taken = false;
    job->code = TB_OK;
    job->next = NULL;
    pthread_mutex_lock(&e->lock);
    if (!errands_stopping(e) && e->queued < ERRANDS_JOBS_MAX) {
        *e->last = job;
        e->last = &job->next;
        e->queued++;
        taken = true;
        pthread_cond_signal(&e->wake);
    }
    pthread_mutex_unlock(&e->lock);
    if (taken) return TB_OK;
    return tb_fail(err, TB_E_BUSY, NULL, "%d look-ups wait already, try again later.",
                   ERRANDS_JOBS_MAX);
}

bool errands_stopping(const errands *e)
{
    return atomic_load_explicit(&e->stop, memory_order_relaxed);
}

void errands_stop(errands *e)
{
    pthread_mutex_lock(&e->lock);
    atomic_store(&e->stop, true);
    pthread_cond_broadcast(&e->wake);
    pthread_mutex_unlock(&e->lock);
    for (unsigned i = 0; i < e->running; i++)
        pthread_join(e->thread[i], NULL);
}

void errands_free(errands *e)
{
    if (!e) return;
    pthread_cond_destroy(&e->wake);
    pthread_mutex_destroy(&e->lock);
    free(e);
}
