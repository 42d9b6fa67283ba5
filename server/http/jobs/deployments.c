/* Each thread has a slot with the application that it deploys, so that no other thread takes it. One that was requested
 * again meanwhile is found when the thread looks for its next job. */
#include "http/jobs/deployments.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "http/clock.h"
#include "http/jobs/hook.h"
#include "http/message.h"
#include "tollbook/containerstore.h"

#define AGAIN_US INT64_C(1000000) /* after a failure of the store */

typedef struct deploying {
    deployments *all;
    bool busy;
    tb_deployment at;
    tb_deployment_end end;
    tb_buf output; /* of the hook, while busy */
    write_job job;
} deploying;

struct deployments {
    pthread_mutex_t lock; /* of `busy` and `output` of the threads */
    deployments_options options;
    writer *writer;
    job_pool *pool;
    deploying threads[DEPLOY_THREADS];
};

/* --- one deployment --- */

_Static_assert(HOOK_REASON == TB_DEPLOYMENT_REASON_MAX + 1, "a reason goes into the store whole");

static void log_line(const tb_deployment *at, message_level level, const char *text)
{
    message_say(level, "deploying %s of account %" PRId64 ": %s", at->app, at->account, text);
}

/* Takes a line of output, for the log and for clients that ask. Output beyond the maximum is left out by whole
 * lines. */
static void take_line(void *ctx, const char *text)
{
    deploying *t = ctx;
    log_line(&t->at, MESSAGE_INFO, text);
    pthread_mutex_lock(&t->all->lock);
    const size_t len = strlen(text);
    if (t->output.len + len < t->output.max) {
        tb_buf_add(&t->output, text, len);
        tb_buf_add(&t->output, "\n", 1);
    }
    pthread_mutex_unlock(&t->all->lock);
}

static hook_end run_hook(deploying *t)
{
    const deployments *d = t->all;
    char account[24], app_is[128], account_is[64], name_is[300], line[256];
    char *reason = t->end.reason;
    snprintf(account, sizeof account, "%" PRId64, t->at.account);
    snprintf(app_is, sizeof app_is, "TOLLBOOK_APP_ID=%s", t->at.app);
    snprintf(account_is, sizeof account_is, "TOLLBOOK_APP_ACCOUNT=%s", account);
    snprintf(name_is, sizeof name_is, "TOLLBOOK_APP_NAME=%s", t->at.name);
    char *program = (char *)(uintptr_t)d->options.hook;
    char *const arguments[] = {program, t->at.app, account, NULL};
    char *const environment[] = {app_is, account_is, name_is, NULL};
    const hook_call call = {.arguments = arguments,
                            .environment = environment,
                            .limit_us = d->options.limit_us,
                            .stop_fd = job_pool_stop_fd(d->pool, LANE_DEPLOY),
                            .line = take_line,
                            .ctx = t,
                            .ret_status = &t->end.exit_status};
    hook_end end = hook_run(&call, reason);
    snprintf(line, sizeof line, end == HOOK_FAILED ? "failed: the hook: %s" : "done", reason);
    if (end != HOOK_STOPPED) log_line(&t->at, end == HOOK_FAILED ? MESSAGE_ERROR : MESSAGE_INFO, line);
    return end;
}

static tb_code note_end(write_job *job, tb_store *store, tb_error *err)
{
    const deploying *t = job->owner;
    return tb_store_deployed(store, &t->at, &t->end, (tb_text){t->output.data, t->output.len},
                             clock_now_us(t->all->options.fixed_now_us), err);
}

static tb_code deploy(write_job *job, tb_store *reader, tb_error *err)
{
    deploying *t = job->owner;
    const deployments *d = t->all;
    (void)reader;
    (void)err;
    const hook_end end = d->options.hook ? run_hook(t) : HOOK_DONE;
    if (end == HOOK_STOPPED) return TB_OK;
    t->end.succeeded = end == HOOK_DONE;
    /* Tried until it is stored: a full disk must not cause a second deployment. */
    job_pool_write(d->pool, LANE_DEPLOY, d->writer, &(write_job){.run = note_end, .owner = t},
                   AGAIN_US);
    return TB_OK;
}

static void deployment_done(write_job *job)
{
    deploying *t = job->owner;
    pthread_mutex_lock(&t->all->lock);
    t->busy = false;
    tb_buf_release(&t->output);
    pthread_mutex_unlock(&t->all->lock);
}

/* --- the next deployment --- */

/* The first queued deployment whose application is not being deployed. One more is read than there are other
 * threads. */
static write_job *next_deployment(void *ctx, unsigned thread, tb_store *reader, int64_t *wait_us)
{
    deployments *d = ctx;
    deploying *t = &d->threads[thread];
    tb_deployment waiting[DEPLOY_THREADS];
    size_t n = 0;
    if (tb_store_deployments(reader, waiting, DEPLOY_THREADS, &n, NULL) != TB_OK) {
        *wait_us = AGAIN_US; /* there may be some all the same */
        return NULL;
    }
    pthread_mutex_lock(&d->lock);
    for (size_t i = 0; i < n && !t->busy; i++) {
        const tb_deployment *one = &waiting[i];
        bool running = false;
        for (int k = 0; k < DEPLOY_THREADS; k++)
            running |= d->threads[k].busy && d->threads[k].at.account == one->account &&
                       strcmp(d->threads[k].at.app, one->app) == 0;
        if (running) continue;
        t->at = *one;
        t->end = (tb_deployment_end){.exit_status = -1};
        tb_buf_init(&t->output, TB_DEPLOYMENT_OUTPUT_MAX, NULL);
        t->job = (write_job){.run = deploy, .done = deployment_done, .owner = t};
        t->busy = true;
    }
    pthread_mutex_unlock(&d->lock);
    return t->busy ? &t->job : NULL;
}

deployments *deployments_new(const deployments_options *options, writer *to, job_pool *pool)
{
    deployments *d = calloc(1, sizeof *d);
    if (!d) return NULL;
    pthread_mutex_init(&d->lock, NULL);
    d->options = *options;
    d->writer = to;
    d->pool = pool;
    for (int i = 0; i < DEPLOY_THREADS; i++)
        d->threads[i].all = d;
    job_pool_set_source(pool, LANE_DEPLOY, next_deployment, d);
    return d;
}

bool deployments_runs(deployments *d, int64_t account, tb_text app, tb_buf *out)
{
    bool runs = false;
    if (!d) return false;
    pthread_mutex_lock(&d->lock);
    for (int i = 0; !runs && i < DEPLOY_THREADS; i++) {
        const deploying *t = &d->threads[i];
        runs = t->busy && t->at.account == account && strlen(t->at.app) == app.len &&
               memcmp(t->at.app, app.data, app.len) == 0;
        if (runs && t->output.len) tb_buf_add(out, t->output.data, t->output.len);
    }
    pthread_mutex_unlock(&d->lock);
    return runs;
}

void deployments_free(deployments *d)
{
    if (!d) return;
    pthread_mutex_destroy(&d->lock);
    free(d);
}
