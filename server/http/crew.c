/* A short list under a mutex, in the order of arrival. */
#include "http/crew.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "http/behind.h"
#include "http/clock.h"
#include "usage/servers.h"

typedef struct waiting {
    write_job *job;
    int64_t account;
} waiting;

struct crew {
    crew_options options;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    pthread_t *thread;
    unsigned started, numbered, queued, running;
    waiting *queue;
    int64_t *at_work; /* accounts of the jobs that run, in no order */
    _Atomic bool stop;
    int stop_fd;
};

typedef struct at_work {
    const crew *c;
    const write_job *job;
} at_work;

static bool job_is_over(void *ctx)
{
    const at_work *at = ctx;
    return !crew_time_left(at->c, at->job) || (at->job->left && at->job->left(at->job));
}

static void run_job(const crew *c, const waiting *one, tb_store *store)
{
    write_job *job = one->job;
    if (crew_stopping(c))
        job->code = tb_fail(&job->err, TB_E_BUSY, NULL,
                            "The server is stopping; send the same again later.");
    else if (!write_job_over(job)) {
        at_work at = {c, job};
        job->begun_us = clock_mono_us();
        usage_wait_for(job_is_over, &at);
        job->code = job->run(job, store, &job->err);
        usage_wait_for(NULL, NULL);
    }
    job->done(job);
}

static unsigned count_running(const crew *c, int64_t account)
{
    unsigned n = 0;
    for (unsigned i = 0; i < c->running; i++)
        n += c->at_work[i] == account;
    return n;
}

static unsigned count_queued(const crew *c, int64_t account)
{
    unsigned n = 0;
    for (unsigned i = 0; i < c->queued; i++)
        n += c->queue[i].account == account;
    return n;
}

/* The place of the next job to run; while stopping any, for it is refused. */
static bool find_next(const crew *c, unsigned *ret_at)
{
    unsigned fewest = c->options.threads_share;
    bool found = false;
    for (unsigned i = 0; i < c->queued; i++) {
        const unsigned n = crew_stopping(c) ? 0 : count_running(c, c->queue[i].account);
        if (n >= fewest) continue;
        fewest = n;
        *ret_at = i;
        found = true;
    }
    return found;
}

/* The next job, waiting for it; false: there is none and the thread is to end. */
static bool take(crew *c, waiting *ret)
{
    unsigned at = 0;
    pthread_mutex_lock(&c->lock);
    while (!find_next(c, &at) && !crew_stopping(c))
        pthread_cond_wait(&c->wake, &c->lock);
    const bool found = c->queued > 0;
    if (found) {
        *ret = c->queue[at];
        memmove(c->queue + at, c->queue + at + 1, (--c->queued - at) * sizeof *c->queue);
        c->at_work[c->running++] = ret->account;
    }
    pthread_mutex_unlock(&c->lock);
    return found;
}

static void leave_account(crew *c, int64_t account)
{
    unsigned i = 0;
    pthread_mutex_lock(&c->lock);
    while (c->at_work[i] != account)
        i++;
    c->at_work[i] = c->at_work[--c->running];
    pthread_mutex_unlock(&c->lock);
}

static void *crew_work(void *arg)
{
    crew *c = arg;
    pthread_mutex_lock(&c->lock);
    const unsigned number = c->numbered++;
    pthread_mutex_unlock(&c->lock);
    if (c->options.behind) behind_others();
    tb_store *store = c->options.stores ? c->options.stores[number] : NULL;
    for (waiting one; take(c, &one);) {
        run_job(c, &one, store);
        leave_account(c, one.account);
    }
    return NULL;
}

crew *crew_start(const crew_options *options)
{
    crew *c = calloc(1, sizeof *c);
    if (!c) return NULL;
    c->options = *options;
    pthread_mutex_init(&c->lock, NULL);
    pthread_cond_init(&c->wake, NULL);
    c->thread = calloc(options->threads, sizeof *c->thread);
    c->at_work = calloc(options->threads, sizeof *c->at_work);
    c->queue = calloc(options->jobs, sizeof *c->queue);
    c->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    const bool room = c->thread && c->at_work && c->queue && c->stop_fd >= 0;
    while (room && c->started < options->threads &&
           pthread_create(&c->thread[c->started], NULL, crew_work, c) == 0)
        c->started++;
    if (c->started == options->threads) return c;
    crew_stop(c);
    crew_free(c);
    return NULL;
}

tb_code crew_submit(crew *c, int64_t account, write_job *job, tb_error *err)
{
    const crew_options *o = &c->options;
    job->code = TB_OK;
    job->since_us = clock_mono_us();
    pthread_mutex_lock(&c->lock);
    const bool full = crew_stopping(c) || c->queued == o->jobs;
    const bool taken = !full && count_queued(c, account) < o->jobs_share;
    if (taken) c->queue[c->queued++] = (waiting){job, account};
    pthread_mutex_unlock(&c->lock);
    /* One more can be at work; what waits for an account's share goes to who gives a place back. Who wakes finds the lock
     * free. */
    if (taken) pthread_cond_signal(&c->wake);
    if (taken) return TB_OK;
    return tb_fail(err, TB_E_BUSY, NULL, "%u %s %swait already, try again later.",
                   full ? o->jobs : o->jobs_share, o->what, full ? "" : "of this account ");
}

bool crew_idle(crew *c)
{
    pthread_mutex_lock(&c->lock);
    const bool idle = c->queued == 0 && c->running == 0;
    pthread_mutex_unlock(&c->lock);
    return idle;
}

unsigned crew_queued(crew *c)
{
    pthread_mutex_lock(&c->lock);
    const unsigned n = c->queued;
    pthread_mutex_unlock(&c->lock);
    return n;
}

unsigned crew_unfinished(crew *c)
{
    pthread_mutex_lock(&c->lock);
    const unsigned n = c->queued + c->running;
    pthread_mutex_unlock(&c->lock);
    return n;
}

bool crew_stopping(const crew *c)
{
    return atomic_load_explicit(&c->stop, memory_order_relaxed);
}

bool crew_time_left(const crew *c, const write_job *job)
{
    const int64_t most_us = c->options.job_us;
    return !crew_stopping(c) && (!most_us || clock_mono_us() - job->begun_us < most_us);
}

int crew_stop_fd(const crew *c)
{
    return c->stop_fd;
}

void crew_stop(crew *c)
{
    if (c->stop_fd >= 0) eventfd_write(c->stop_fd, 1);
    pthread_mutex_lock(&c->lock);
    atomic_store(&c->stop, true);
    pthread_cond_broadcast(&c->wake);
    pthread_mutex_unlock(&c->lock);
    for (unsigned i = 0; i < c->started; i++)
        pthread_join(c->thread[i], NULL);
}

void crew_free(crew *c)
{
    if (!c) return;
    if (c->stop_fd >= 0) close(c->stop_fd);
    pthread_cond_destroy(&c->wake);
    pthread_mutex_destroy(&c->lock);
    free(c->thread);
    free(c->at_work);
    free(c->queue);
    free(c);
}
