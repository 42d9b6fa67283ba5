/* Threads over one reader under one lock. What each is at is listed, so that nobody else takes it;
 * what was asked for again meanwhile is found by the same look that finds the next. */
#include "http/deployer.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "http/clock.h"
#include "http/hook.h"
#include "http/process.h"
#include "tollbook/containerstore.h"

#define AGAIN_S 1 /* after a failure of the store's */

typedef struct deployer_thread {
    deployer *all;
    pthread_t thread;
    bool busy;
    tb_deployment at;
    write_job job;
    tb_deployment_end end;
    tb_buf output; /* what it printed, while it is busy */
    bool noted;
} deployer_thread;

struct deployer {
    pthread_mutex_t lock;
    pthread_cond_t wake;
    deployer_options options;
    tb_store *store;
    writer *writer;
    bool stop;
    int stop_fd;
    uint64_t woken; /* counts calls, so that none is missed while threads look */
    unsigned running;
    deployer_thread threads[DEPLOYER_THREADS];
};

/* --- one deployment --- */

_Static_assert(HOOK_REASON == TB_DEPLOYMENT_REASON_MAX + 1, "a reason goes into the store whole");

static void log_line(const tb_deployment *at, const char *text)
{
    process_say("deploying %s of account %" PRId64 ": %s", at->app,
            at->account, text);
}

/* Of what it prints: for the log, and for who asks. What is too much is left out, not cut. */
static void take_line(void *ctx, const char *text)
{
    deployer_thread *t = ctx;
    log_line(&t->at, text);
    pthread_mutex_lock(&t->all->lock);
    const size_t len = strlen(text);
    if (t->output.len + len < t->output.max) {
        tb_buf_add(&t->output, text, len);
        tb_buf_add(&t->output, "\n", 1);
    }
    pthread_mutex_unlock(&t->all->lock);
}

static hook_end run_hook(deployer_thread *t)
{
    const deployer *d = t->all;
    char account[24], app_is[128], account_is[64], name_is[300], line[256];
    char *reason = t->end.reason;
    snprintf(account, sizeof account, "%" PRId64, t->at.account);
    snprintf(app_is, sizeof app_is, "TOLLBOOK_APP_ID=%s", t->at.app);
    snprintf(account_is, sizeof account_is, "TOLLBOOK_APP_ACCOUNT=%s", account);
    snprintf(name_is, sizeof name_is, "TOLLBOOK_APP_NAME=%s", t->at.name);
    char *program = (char *)(uintptr_t)d->options.hook;
    char *const arguments[] = {program, t->at.app, account, NULL};
    char *const environment[] = {app_is, account_is, name_is, NULL};
    const hook_call call = {.arguments = arguments, .environment = environment,
                            .limit_us = d->options.limit_us, .stop_fd = d->stop_fd,
                            .line = take_line, .ctx = t,
                            .ret_status = &t->end.exit_status};
    hook_end end = hook_run(&call, reason);
    snprintf(line, sizeof line, end == HOOK_FAILED ? "failed: the hook: %s" : "done", reason);
    if (end != HOOK_STOPPED) log_line(&t->at, line);
    return end;
}

/* --- noting its end --- */

static tb_code note(write_job *job, tb_store *store, tb_error *err)
{
    const deployer_thread *t = job->owner;
    const int64_t fixed_us = t->all->options.fixed_now_us;
    return tb_store_deployed(store, &t->at, &t->end, (tb_text){t->output.data, t->output.len},
                             fixed_us == INT64_MIN ? clock_wall_us() : fixed_us, err);
}

static void noted(write_job *job)
{
    deployer_thread *t = job->owner;
    pthread_mutex_lock(&t->all->lock);
    t->noted = true;
    pthread_cond_broadcast(&t->all->wake);
    pthread_mutex_unlock(&t->all->lock);
}

static void wait_a_while(deployer *d)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += AGAIN_S;
    pthread_cond_timedwait(&d->wake, &d->lock, &until);
}

/* Until it is durable: what was deployed must not be deployed again because a disk was full. The
 * lock is held, but not while the writer is at it. */
static void note_end(deployer_thread *t)
{
    deployer *d = t->all;
    tb_error err;
    for (;;) {
        t->noted = false;
        t->job = (write_job){.run = note, .done = noted, .owner = t};
        pthread_mutex_unlock(&d->lock);
        tb_code code = writer_submit(d->writer, &t->job, &err);
        pthread_mutex_lock(&d->lock);
        while (!code && !t->noted)
            pthread_cond_wait(&d->wake, &d->lock);
        if (!code) code = t->job.code;
        if (!code || d->stop) return;
        wait_a_while(d);
    }
}

/* --- the threads --- */

static bool is_taken(const deployer *d, const tb_deployment *one)
{
    for (int i = 0; i < DEPLOYER_THREADS; i++)
        if (d->threads[i].busy && d->threads[i].at.account == one->account &&
            strcmp(d->threads[i].at.app, one->app) == 0)
            return true;
    return false;
}

/* The first that waits and nobody is at. One more is read than there are threads at work. *ret_failed:
 * the store could not be read, so that some may wait all the same. */
static bool take_next(deployer_thread *t, bool *ret_failed)
{
    deployer *d = t->all;
    tb_deployment waiting[DEPLOYER_THREADS];
    size_t n = 0;
    *ret_failed = tb_store_deployments(d->store, waiting, DEPLOYER_THREADS, &n, NULL) != TB_OK;
    if (*ret_failed) return false;
    for (size_t i = 0; i < n; i++) {
        if (is_taken(d, &waiting[i])) continue;
        t->at = waiting[i];
        t->end = (tb_deployment_end){.exit_status = -1};
        tb_buf_init(&t->output, TB_DEPLOYMENT_OUTPUT_MAX, NULL);
        t->busy = true;
        return true;
    }
    return false;
}

static void work(deployer_thread *t)
{
    deployer *d = t->all;
    pthread_mutex_unlock(&d->lock);
    const hook_end end = d->options.hook ? run_hook(t) : HOOK_DONE;
    pthread_mutex_lock(&d->lock);
    t->end.succeeded = end == HOOK_DONE;
    if (end != HOOK_STOPPED) note_end(t);
    t->busy = false;
    tb_buf_release(&t->output);
}

static void *deployer_work(void *arg)
{
    deployer_thread *t = arg;
    deployer *d = t->all;
    pthread_mutex_lock(&d->lock);
    while (!d->stop) {
        const uint64_t seen = d->woken;
        bool failed;
        if (take_next(t, &failed)) work(t);
        else if (failed) wait_a_while(d);
        else
            while (!d->stop && d->woken == seen)
                pthread_cond_wait(&d->wake, &d->lock);
    }
    pthread_mutex_unlock(&d->lock);
    return NULL;
}

deployer *deployer_start(const deployer_options *options, tb_store *store, writer *to)
{
    deployer *d = calloc(1, sizeof *d);
    if (!d) return NULL;
    pthread_condattr_t attr;
    pthread_mutex_init(&d->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&d->wake, &attr);
    pthread_condattr_destroy(&attr);
    d->options = *options;
    d->store = store;
    d->writer = to;
    d->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    bool ok = d->stop_fd >= 0;
    for (int i = 0; ok && i < DEPLOYER_THREADS; i++) {
        d->threads[i].all = d;
        ok = pthread_create(&d->threads[i].thread, NULL, deployer_work, &d->threads[i]) == 0;
        d->running += ok;
    }
    if (ok) return d;
    deployer_halt(d);
    deployer_join(d);
    deployer_free(d);
    return NULL;
}

void deployer_wake(deployer *d)
{
    if (!d) return;
    pthread_mutex_lock(&d->lock);
    d->woken++;
    pthread_cond_broadcast(&d->wake);
    pthread_mutex_unlock(&d->lock);
}

bool deployer_runs(deployer *d, int64_t account, tb_text app, tb_buf *out)
{
    bool runs = false;
    if (!d) return false;
    pthread_mutex_lock(&d->lock);
    for (int i = 0; !runs && i < DEPLOYER_THREADS; i++) {
        const deployer_thread *t = &d->threads[i];
        runs = t->busy && t->at.account == account && strlen(t->at.app) == app.len &&
               memcmp(t->at.app, app.data, app.len) == 0;
        if (runs && t->output.len) tb_buf_add(out, t->output.data, t->output.len);
    }
    pthread_mutex_unlock(&d->lock);
    return runs;
}

void deployer_halt(deployer *d)
{
    const uint64_t one = 1;
    if (!d) return;
    pthread_mutex_lock(&d->lock);
    d->stop = true;
    pthread_cond_broadcast(&d->wake);
    pthread_mutex_unlock(&d->lock);
    if (d->stop_fd >= 0 && write(d->stop_fd, &one, sizeof one) < 0)
        return; /* cannot be: the counter is far from full */
}

void deployer_join(deployer *d)
{
    for (unsigned i = 0; d && i < d->running; i++)
        pthread_join(d->threads[i].thread, NULL);
}

void deployer_free(deployer *d)
{
    if (!d) return;
    if (d->stop_fd >= 0) close(d->stop_fd);
    pthread_cond_destroy(&d->wake);
    pthread_mutex_destroy(&d->lock);
    free(d);
}
