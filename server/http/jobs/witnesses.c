/* Thread i of the lane asks witness i. `due_us` is its own. */
#include "http/jobs/witnesses.h"

#include <stdlib.h>

#include "http/clock.h"

typedef struct asking {
    witnesses *all;
    unsigned witness;
    int64_t due_us; /* monotonic */
    write_job job;
} asking;

struct witnesses {
    witness_work work;
    job_pool *pool;
    writer *writer;
    asking threads[WITNESSES_MAX];
};

static tb_code ask_witness(write_job *job, tb_store *reader, tb_error *err)
{
    asking *a = job->owner;
    witnesses *w = a->all;
    (void)err;
    a->due_us = clock_mono_us() + w->work.ask(w->work.ctx, a->witness, w->pool, w->writer, reader);
    return TB_OK;
}

static void asked(write_job *job)
{
    (void)job;
}

static write_job *next_asking(void *ctx, unsigned thread, tb_store *reader, int64_t *wait_us)
{
    asking *a = &((witnesses *)ctx)->threads[thread];
    const int64_t left_us = a->due_us - clock_mono_us();
    (void)reader;
    if (left_us > 0) *wait_us = left_us;
    if (left_us > 0) return NULL;
    a->job = (write_job){.run = ask_witness, .done = asked, .owner = a};
    return &a->job;
}

witnesses *witnesses_new(const witness_work *work, writer *to, job_pool *pool)
{
    witnesses *w = calloc(1, sizeof *w);
    if (!w) return NULL;
    *w = (witnesses){.work = *work, .pool = pool, .writer = to};
    for (unsigned i = 0; i < WITNESSES_MAX; i++)
        w->threads[i] = (asking){.all = w, .witness = i, .due_us = INT64_MIN / 2};
    job_pool_set_source(pool, LANE_WITNESS, next_asking, w);
    return w;
}

void witnesses_free(witnesses *w)
{
    if (!w) return;
    if (w->work.end) w->work.end(w->work.ctx);
    free(w);
}
