#include "http/jobs/outbox_sender.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "http/clock.h"

#define POLL_US INT64_C(200000) /* between two checks for due messages */

/* The message that a thread of the lane sends. `at` changes only with the lane's mutex held, so other
 * threads may read it under the mutex. */
typedef struct sending {
    outbox_sender *all;
    unsigned thread;
    atomic_bool busy;
    tb_message at;
    published_view secret;
    tb_delivery result;
    char error[TB_MESSAGE_ERROR_MAX + 1];
    write_job job;
} sending;

struct outbox_sender {
    outbox_work work;
    job_pool *pool;
    writer *writer;
    published *secret;
    int64_t fixed_now_us, start_us;
    _Atomic uint64_t delivered, failed;
    sending threads[OUTBOX_THREADS];
};

/* A fixed clock advances here, because queued messages must become due. */
static int64_t outbox_now(const outbox_sender *o)
{
    return o->fixed_now_us == INT64_MIN ? clock_wall_us()
                                        : o->fixed_now_us + clock_mono_us() - o->start_us;
}

static tb_code note_try(write_job *job, tb_store *store, tb_error *err)
{
    const sending *s = job->owner;
    return tb_store_outbox_tried(store, &s->at, &s->result, outbox_now(s->all), s->all->work.pause_us,
                                 err);
}

static tb_code send_message(write_job *job, tb_store *reader, tb_error *err)
{
    sending *s = job->owner;
    outbox_sender *o = s->all;
    (void)reader;
    (void)err;
    s->error[0] = 0;
    s->result = o->work.send(o->work.ctx, s->thread, o->pool, &s->at,
                           published_get(o->secret, &s->secret), clock_wall_us(), s->error);
    const bool taken = s->result.status >= 200 && s->result.status < 300;
    if (!taken && job_pool_stopping(o->pool, LANE_OUTBOX))
        return TB_OK; /* one that a stop interrupted does not count as a try */
    atomic_fetch_add(taken ? &o->delivered : &o->failed, 1);
    /* Tried until it is stored: a full disk should not cause a second delivery. */
    job_pool_write(o->pool, LANE_OUTBOX, o->writer, &(write_job){.run = note_try, .owner = s},
                   POLL_US);
    return TB_OK;
}

static void message_done(write_job *job)
{
    sending *s = job->owner;
    free(s->at.body);
    atomic_store(&s->busy, false);
}

/* The next message that is due and that no other thread sends. NULL also if the store could not be read. */
static write_job *next_message(void *ctx, unsigned thread, tb_store *reader, int64_t *wait_us)
{
    outbox_sender *o = ctx;
    sending *s = &o->threads[thread];
    int64_t but[OUTBOX_THREADS];
    size_t n = 0;
    bool there = false;
    for (unsigned i = 0; i < OUTBOX_THREADS; i++)
        if (atomic_load(&o->threads[i].busy)) but[n++] = o->threads[i].at.number;
    *wait_us = POLL_US;
    if (tb_store_outbox_due(reader, outbox_now(o), but, n, &s->at, &there, NULL) || !there)
        return NULL;
    atomic_store(&s->busy, true);
    s->job = (write_job){.run = send_message, .done = message_done, .owner = s};
    return &s->job;
}

outbox_sender *outbox_sender_new(const outbox_work *work, published *secret, int64_t fixed_now_us,
                                 writer *to, job_pool *pool)
{
    outbox_sender *o = calloc(1, sizeof *o);
    if (!o) return NULL;
    o->work = *work;
    o->secret = secret;
    o->fixed_now_us = fixed_now_us;
    o->start_us = clock_mono_us();
    o->writer = to;
    o->pool = pool;
    for (unsigned i = 0; i < OUTBOX_THREADS; i++) {
        o->threads[i].all = o;
        o->threads[i].thread = i;
    }
    job_pool_set_source(pool, LANE_OUTBOX, next_message, o);
    return o;
}

outbox_sender_figures outbox_sender_read(const outbox_sender *o)
{
    return (outbox_sender_figures){atomic_load(&o->delivered), atomic_load(&o->failed)};
}

void outbox_sender_free(outbox_sender *o)
{
    if (!o) return;
    if (o->work.end) o->work.end(o->work.ctx);
    for (unsigned i = 0; i < OUTBOX_THREADS; i++)
        published_release(&o->threads[i].secret);
    free(o);
}
