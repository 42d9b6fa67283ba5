/* All of this runs on the lane's one thread, except write_found, which that thread waits for. */
#include "http/jobs/periodic.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "http/clock.h"
#include "http/message.h"

#define AGAIN_US INT64_C(1000000) /* after the writer's queue was full */

typedef struct task {
    periodic_task row;
    periodic *all;
    write_job job;
    int64_t next_us;           /* when its next step is due, monotonic */
    int64_t reported_us;           /* when a failure was last reported */
    tb_error reported;             /* that failure */
    bool again;                /* its next step is not the first of a round */
    bool found, more, written; /* of the running step */
} task;

struct periodic {
    int64_t fixed_now_us;
    writer *writer;
    job_pool *pool;
    atomic_bool rests;
    size_t n;
    task tasks[PERIODIC_TASKS_MAX];
};

static int64_t now_of(const task *t)
{
    return clock_now_us(t->all->fixed_now_us);
}

static tb_code write_found(write_job *job, tb_store *store, tb_error *err)
{
    task *t = job->owner;
    t->written = true;
    return t->row.write(t->row.ctx, store, t->again, now_of(t), &t->more, err);
}

static void finish_round(task *t, tb_code code, const tb_error *err)
{
    const int64_t now_us = clock_mono_us();
    if (code &&
        (strcmp(t->reported.message, err->message) != 0 || now_us - t->reported_us >= PERIODIC_MOST_US)) {
        message_say(MESSAGE_ERROR, "%s: %s", t->row.name, err->message);
        t->reported_us = now_us;
        t->reported = *err;
    }
    if (t->row.over) t->row.over(t->row.ctx, now_of(t), code != TB_OK);
    int64_t wait_us = t->row.wait_us ? t->row.wait_us(t->row.ctx, now_of(t)) : PERIODIC_MOST_US;
    if (wait_us > PERIODIC_MOST_US) wait_us = PERIODIC_MOST_US;
    t->next_us = now_us + wait_us;
    message_say(MESSAGE_DEBUG, "%s: %s; again in %" PRId64 " s", t->row.name, code ? "failed" : "done", wait_us / 1000000);
    t->again = false;
}

/* If the writer's queue is full, the same is written a second later: what was read is kept. */
static tb_code run_step(write_job *job, tb_store *reader, tb_error *err)
{
    task *t = job->owner;
    periodic *p = t->all;
    const write_job write = {.run = write_found, .owner = t, .alone = true};
    tb_code code = TB_OK;
    if (!t->found) {
        t->more = t->written = false;
        t->found = !t->row.read;
        if (t->row.read) code = tb_store_read_begin(reader, err);
        if (t->row.read && !code) {
            code = t->row.read(t->row.ctx, reader, t->again, now_of(t), &t->found, &t->more, err);
            tb_store_read_end(reader);
        }
    }
    if (!code && t->found) code = writer_run(p->writer, &write, err);
    if (code == TB_E_BUSY && t->found && !t->written) {
        t->next_us = clock_mono_us() + AGAIN_US;
        return TB_OK;
    }
    t->found = false;
    t->again = true;
    t->next_us = clock_mono_us();
    if ((code || !t->more) && !job_pool_stopping(p->pool, LANE_PERIODIC))
        finish_round(t, code, err);
    return TB_OK;
}

static void step_done(write_job *job)
{
    (void)job;
}

/* The task whose step has been due longest. */
static write_job *next_step(void *ctx, unsigned thread, tb_store *reader, int64_t *wait_us)
{
    periodic *p = ctx;
    task *first = NULL;
    (void)thread;
    (void)reader;
    const bool rests = atomic_load(&p->rests);
    for (size_t i = 0; i < p->n; i++)
        if ((!rests || p->tasks[i].row.on_copies) && (!first || p->tasks[i].next_us < first->next_us)) first = &p->tasks[i];
    const int64_t left_us = first ? first->next_us - clock_mono_us() : INT64_MAX;
    if (left_us > 0) *wait_us = left_us;
    if (left_us > 0) return NULL;
    first->job = (write_job){.run = run_step, .done = step_done, .owner = first};
    return &first->job;
}

periodic *periodic_new(const periodic_task tasks[], size_t n, int64_t fixed_now_us, writer *to,
                       job_pool *pool)
{
    periodic *p = calloc(1, sizeof *p);
    if (!p) return NULL;
    p->fixed_now_us = fixed_now_us;
    p->writer = to;
    p->pool = pool;
    for (; p->n < n; p->n++)
        p->tasks[p->n] = (task){.row = tasks[p->n], .all = p};
    job_pool_set_source(pool, LANE_PERIODIC, next_step, p);
    return p;
}

void periodic_rest(periodic *p, bool rests)
{
    atomic_store(&p->rests, rests);
    job_pool_wake(p->pool, LANE_PERIODIC);
}

void periodic_free(periodic *p)
{
    free(p);
}
