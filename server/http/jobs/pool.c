/* A queue is a list in the order of arrival. A lane has few threads and queued jobs, so the jobs of an account are
 * counted when needed. */
#include "http/jobs/pool.h"

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "http/jobs/background.h"
#include "http/clock.h"
#include "usage/servers.h"

typedef struct lane lane;

typedef struct job_thread {
    lane *lane;
    pthread_t thread;
    tb_store *reader;
    bool busy;
    int64_t account; /* of the job, while it is busy */
} job_thread;

struct lane {
    lane_options options;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    job_thread *threads;
    unsigned started, queued;
    write_job *first, **last;
    write_job *(*next)(void *ctx, unsigned thread, tb_store *reader,
                       int64_t *wait_us); /* NULL: the queue */
    void *ctx;
    bool rests;
    _Atomic bool stop;
    int stop_fd;
};

struct job_pool {
    lane lanes[LANES];
};

static bool lane_stopping(const lane *l)
{
    return atomic_load_explicit(&l->stop, memory_order_relaxed);
}

/* --- running --- */

static bool has_time_left(const lane *l, const write_job *job)
{
    const int64_t most_us = l->options.job_us;
    return !lane_stopping(l) && (!most_us || clock_mono_us() - job->begun_us < most_us);
}

typedef struct running_job {
    const lane *lane;
    const write_job *job;
} running_job;

static bool is_job_over(void *ctx)
{
    const running_job *r = ctx;
    return !has_time_left(r->lane, r->job) || (r->job->abandoned && r->job->abandoned(r->job));
}

static void run_job(const lane *l, write_job *job, tb_store *reader)
{
    if (lane_stopping(l)) {
        job->code = tb_fail(&job->err, TB_E_BUSY, NULL,
                            "The server is stopping; send the same again later.");
    } else if (!write_job_over(job)) {
        running_job r = {l, job};
        job->begun_us = clock_mono_us();
        usage_wait_for(is_job_over, &r);
        job->code = job->run(job, reader, &job->err);
        usage_wait_for(NULL, NULL);
    }
    job->done(job);
}

/* Takes the oldest job of the account with the fewest running jobs, unless that has its share; while stopping, any job,
 * to refuse it. */
static write_job *take_queued(lane *l)
{
    write_job **found = NULL;
    unsigned fewest = l->options.threads_share;
    for (write_job **at = &l->first; *at; at = &(*at)->next) {
        unsigned n = 0; /* running jobs of the account */
        for (unsigned i = 0; !lane_stopping(l) && i < l->options.threads; i++)
            n += l->threads[i].busy && l->threads[i].account == (*at)->account;
        if (n >= fewest) continue;
        fewest = n;
        found = at;
    }
    if (!found) return NULL;
    write_job *job = *found;
    *found = job->next;
    if (!*found) l->last = found;
    l->queued--;
    return job;
}

/* Waits for the next job. NULL: the thread is to end. */
static write_job *next_job(job_thread *t)
{
    lane *l = t->lane;
    write_job *job;
    pthread_mutex_lock(&l->lock);
    t->busy = false;
    for (;;) {
        int64_t wait_us = INT64_MAX;
        if (!l->next) job = take_queued(l);
        else job = lane_stopping(l) || l->rests ? NULL : l->next(l->ctx, (unsigned)(t - l->threads), l->threads->reader, &wait_us);
        if (job || lane_stopping(l)) break;
        if (wait_us == INT64_MAX) {
            pthread_cond_wait(&l->wake, &l->lock);
            continue;
        }
        struct timespec until;
        clock_gettime(CLOCK_MONOTONIC, &until);
        wait_us += until.tv_nsec / 1000;
        until.tv_sec += wait_us / 1000000;
        until.tv_nsec = wait_us % 1000000 * 1000;
        pthread_cond_clockwait(&l->wake, &l->lock, CLOCK_MONOTONIC, &until);
    }
    t->busy = job != NULL;
    if (job) t->account = job->account;
    pthread_mutex_unlock(&l->lock);
    return job;
}

static void *run_thread(void *arg)
{
    job_thread *t = arg;
    if (t->lane->options.background) run_in_background();
    for (write_job *job; (job = next_job(t));)
        run_job(t->lane, job, t->reader);
    return NULL;
}

/* --- submitting --- */

tb_code job_pool_submit(job_pool *p, job_lane which, write_job *job, tb_error *err)
{
    lane *l = &p->lanes[which];
    const lane_options *o = &l->options;
    job->code = TB_OK;
    job->since_us = clock_mono_us();
    job->next = NULL;
    pthread_mutex_lock(&l->lock);
    const bool full = lane_stopping(l) || l->queued == o->jobs;
    unsigned own = 0;
    for (const write_job *other = l->first; other; other = other->next)
        own += other->account == job->account;
    const bool taken = !full && own < o->jobs_share;
    if (taken) {
        *l->last = job;
        l->last = &job->next;
        l->queued++;
    }
    pthread_mutex_unlock(&l->lock);
    /* One more thread can work. A job beyond its account's share is taken by the thread that ends
     * another job of that account. */
    if (taken) pthread_cond_signal(&l->wake);
    if (taken) return TB_OK;
    return tb_fail(err, TB_E_BUSY, NULL, "%u %s %swait already, try again later.",
                   full ? o->jobs : o->jobs_share, o->jobs_name, full ? "" : "of this account ");
}

unsigned job_pool_queued(job_pool *p, job_lane which)
{
    lane *l = &p->lanes[which];
    pthread_mutex_lock(&l->lock);
    const unsigned n = l->queued;
    pthread_mutex_unlock(&l->lock);
    return n;
}

unsigned job_pool_unfinished(job_pool *p, job_lane which)
{
    lane *l = &p->lanes[which];
    pthread_mutex_lock(&l->lock);
    unsigned n = l->queued;
    for (unsigned i = 0; i < l->options.threads; i++)
        n += l->threads[i].busy;
    pthread_mutex_unlock(&l->lock);
    return n;
}

bool job_pool_stopping(const job_pool *p, job_lane which)
{
    return lane_stopping(&p->lanes[which]);
}

bool job_pool_time_left(const job_pool *p, job_lane which, const write_job *job)
{
    return has_time_left(&p->lanes[which], job);
}

int job_pool_stop_fd(const job_pool *p, job_lane which)
{
    return p->lanes[which].stop_fd;
}

void job_pool_wake(job_pool *p, job_lane which)
{
    lane *l = &p->lanes[which];
    pthread_mutex_lock(&l->lock);
    pthread_cond_broadcast(&l->wake);
    pthread_mutex_unlock(&l->lock);
}

void job_pool_rest(job_pool *p, job_lane which, bool rests)
{
    lane *l = &p->lanes[which];
    pthread_mutex_lock(&l->lock);
    l->rests = rests;
    pthread_cond_broadcast(&l->wake);
    pthread_mutex_unlock(&l->lock);
}

void job_pool_write(job_pool *p, job_lane which, writer *to, const write_job *job, int64_t again_us)
{
    tb_code code;
    struct pollfd stop = {.fd = p->lanes[which].stop_fd, .events = POLLIN};
    while ((code = writer_run(to, job, NULL)) && code != TB_E_REPLICA_SUPERSEDED && !lane_stopping(&p->lanes[which]))
        poll(&stop, 1, (int)(again_us / 1000));
}

/* --- start and stop --- */

job_pool *job_pool_new(const lane_options options[LANES])
{
    job_pool *p = calloc(1, sizeof *p);
    bool ok = p != NULL;
    for (int i = 0; p && i < LANES; i++) {
        lane *l = &p->lanes[i];
        l->options = options[i];
        l->last = &l->first;
        pthread_mutex_init(&l->lock, NULL);
        pthread_cond_init(&l->wake, NULL);
        l->threads = calloc(options[i].threads + 1, sizeof *l->threads);
        l->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        for (unsigned t = 0; l->threads && t < options[i].threads; t++)
            l->threads[t].lane = l;
        ok &= l->threads && l->stop_fd >= 0;
    }
    if (ok) return p;
    job_pool_free(p);
    return NULL;
}

tb_code job_pool_open(job_pool *p, const char *db, const tb_store_options *options, tb_error *err)
{
    tb_code code = TB_OK;
    for (int i = 0; i < LANES; i++) {
        lane *l = &p->lanes[i];
        for (unsigned t = 0; !code && t < l->options.readers; t++)
            code = tb_store_open(db, options, &l->threads[t].reader, err);
    }
    return code;
}

tb_store *job_pool_reader(job_pool *p, job_lane which, unsigned thread)
{
    return p->lanes[which].threads[thread].reader;
}

void job_pool_set_source(job_pool *p, job_lane which,
                         write_job *(*next)(void *ctx, unsigned thread, tb_store *reader,
                                            int64_t *wait_us),
                         void *ctx)
{
    p->lanes[which].next = next;
    p->lanes[which].ctx = ctx;
}

bool job_pool_start(job_pool *p)
{
    for (int i = 0; i < LANES; i++)
        for (lane *l = &p->lanes[i]; l->started < l->options.threads; l->started++) {
            job_thread *t = &l->threads[l->started];
            if (pthread_create(&t->thread, NULL, run_thread, t) != 0) return false;
        }
    return true;
}

void job_pool_halt(job_pool *p, job_lane which)
{
    lane *l = &p->lanes[which];
    eventfd_write(l->stop_fd, 1);
    pthread_mutex_lock(&l->lock);
    atomic_store(&l->stop, true);
    pthread_cond_broadcast(&l->wake);
    pthread_mutex_unlock(&l->lock);
}

void job_pool_join(job_pool *p, job_lane which)
{
    lane *l = &p->lanes[which];
    while (l->started > 0)
        pthread_join(l->threads[--l->started].thread, NULL);
}

void job_pool_free(job_pool *p)
{
    if (!p) return;
    for (int i = 0; i < LANES; i++) {
        lane *l = &p->lanes[i];
        for (unsigned t = 0; l->threads && t < l->options.threads; t++)
            tb_store_close(l->threads[t].reader);
        if (l->stop_fd >= 0) close(l->stop_fd);
        pthread_cond_destroy(&l->wake);
        pthread_mutex_destroy(&l->lock);
        free(l->threads);
    }
    free(p);
}
