/* A short list under a mutex, in the order of arrival. A thread takes the first job of an account that
 * is not at its share of the threads yet, so that one whose registry hangs leaves the others some. */
#include "http/errands.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

typedef struct waiting {
    write_job *job;
    int64_t account;
} waiting;

struct errands {
    pthread_mutex_t lock;
    pthread_cond_t wake;
    pthread_t thread[ERRANDS_THREADS];
    unsigned started, queued, running;
    waiting queue[ERRANDS_JOBS_MAX];
    int64_t at_work[ERRANDS_THREADS]; /* accounts of the jobs that run, in no order */
    _Atomic bool stop;
    int stop_fd;
};

static void run_job(errands *e, write_job *job)
{
    if (errands_stopping(e))
        job->code = tb_fail(&job->err, TB_E_BUSY, NULL,
                            "The server is stopping; send the same again later.");
    else job->code = job->run(job, NULL, &job->err);
    job->done(job);
}

static unsigned count_running(const errands *e, int64_t account)
{
    unsigned n = 0;
    for (unsigned i = 0; i < e->running; i++)
        n += e->at_work[i] == account;
    return n;
}

static unsigned count_queued(const errands *e, int64_t account)
{
    unsigned n = 0;
    for (unsigned i = 0; i < e->queued; i++)
        n += e->queue[i].account == account;
    return n;
}

/* The place of the next job to run; while stopping any, for it is refused. */
static bool find_next(const errands *e, unsigned *ret_at)
{
    for (unsigned i = 0; i < e->queued; i++) {
        *ret_at = i;
        if (errands_stopping(e) || count_running(e, e->queue[i].account) < ERRANDS_THREADS_SHARE)
            return true;
    }
    return false;
}

/* The next job, waiting for it; false: there is none and the thread is to end. */
static bool take(errands *e, waiting *ret)
{
    unsigned at = 0;
    pthread_mutex_lock(&e->lock);
    while (!find_next(e, &at) && !errands_stopping(e))
        pthread_cond_wait(&e->wake, &e->lock);
    const bool found = e->queued > 0;
    if (found) {
        *ret = e->queue[at];
        memmove(e->queue + at, e->queue + at + 1, (--e->queued - at) * sizeof *e->queue);
        e->at_work[e->running++] = ret->account;
    }
    pthread_mutex_unlock(&e->lock);
    return found;
}

static void leave_account(errands *e, int64_t account)
{
    unsigned i = 0;
    pthread_mutex_lock(&e->lock);
    while (e->at_work[i] != account)
        i++;
    e->at_work[i] = e->at_work[--e->running];
    pthread_cond_broadcast(&e->wake); /* one of its account may have waited for that */
    pthread_mutex_unlock(&e->lock);
}

static void *errands_work(void *arg)
{
    errands *e = arg;
    for (waiting one; take(e, &one);) {
        run_job(e, one.job);
        leave_account(e, one.account);
    }
    return NULL;
}

errands *errands_start(void)
{
    errands *e = calloc(1, sizeof *e);
    if (!e) return NULL;
    e->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (e->stop_fd < 0) {
        free(e);
        return NULL;
    }
    pthread_mutex_init(&e->lock, NULL);
    pthread_cond_init(&e->wake, NULL);
    while (e->started < ERRANDS_THREADS &&
           pthread_create(&e->thread[e->started], NULL, errands_work, e) == 0)
        e->started++;
    if (e->started == ERRANDS_THREADS) return e;
    errands_stop(e);
    errands_free(e);
    return NULL;
}

tb_code errands_submit(errands *e, int64_t account, write_job *job, tb_error *err)
{
    job->code = TB_OK;
    pthread_mutex_lock(&e->lock);
    const bool full = errands_stopping(e) || e->queued == ERRANDS_JOBS_MAX;
    const bool taken = !full && count_queued(e, account) < ERRANDS_JOBS_SHARE;
    if (taken) {
        e->queue[e->queued++] = (waiting){job, account};
        pthread_cond_broadcast(&e->wake);
    }
    pthread_mutex_unlock(&e->lock);
    if (taken) return TB_OK;
    return tb_fail(err, TB_E_BUSY, NULL, "%d look-ups %swait already, try again later.",
                   full ? ERRANDS_JOBS_MAX : ERRANDS_JOBS_SHARE, full ? "" : "of this account ");
}

bool errands_stopping(const errands *e)
{
    return atomic_load_explicit(&e->stop, memory_order_relaxed);
}

int errands_stop_fd(const errands *e)
{
    return e->stop_fd;
}

void errands_stop(errands *e)
{
    eventfd_write(e->stop_fd, 1);
    pthread_mutex_lock(&e->lock);
    atomic_store(&e->stop, true);
    pthread_cond_broadcast(&e->wake);
    pthread_mutex_unlock(&e->lock);
    for (unsigned i = 0; i < e->started; i++)
        pthread_join(e->thread[i], NULL);
}

void errands_free(errands *e)
{
    if (!e) return;
    close(e->stop_fd);
    pthread_cond_destroy(&e->wake);
    pthread_mutex_destroy(&e->lock);
    free(e);
}
