/* Periodic tasks: work that repeats while the server runs, one table for all of it, on the one
 * thread of LANE_PERIODIC. A row has the task's name, when its next round begins, and the step of a
 * round.
 *
 * The first round of each task begins at the start. A step reads, in a snapshot of the thread's
 * reader, and then writes what it found, in a transaction of its own at the end of the writer's
 * queue: no client waits for more than one step. Tasks that are due take turns step by step, so a
 * long round of one delays the others by one step at a time. A failure ends the round and is
 * reported, the same one once an hour at most. */
#ifndef TOLLBOOK_SERVER_HTTP_JOBS_PERIODIC_H
#define TOLLBOOK_SERVER_HTTP_JOBS_PERIODIC_H

#include "http/jobs/pool.h"

/* The longest pause between two rounds, as the wall clock may be set. */
#define PERIODIC_MOST_US   INT64_C(3600000000)
#define PERIODIC_TASKS_MAX 8

typedef struct periodic_task {
    const char *name; /* for messages */
    /* The first half of a step. again: not the first step of its round. *ret_found: there is
     * something to write. *ret_more: another step follows. NULL: a step only writes. */
    tb_code (*read)(void *ctx, tb_store *reader, bool again, int64_t now_us, bool *ret_found,
                    bool *ret_more, tb_error *err);
    /* The second half, on the writer's thread. *ret_more: as `read` has set it, or false. */
    tb_code (*write)(void *ctx, tb_store *store, bool again, int64_t now_us, bool *ret_more,
                     tb_error *err);
    /* After the last step of a round is committed, or one has failed. NULL: nothing is done. */
    void (*over)(void *ctx, int64_t now_us, bool failed);
    /* Microseconds until the next round; NULL: PERIODIC_MOST_US. */
    int64_t (*wait_us)(void *ctx, int64_t now_us);
    void *ctx;
    bool on_copies; /* it runs while the others rest, too */
} periodic_task;

typedef struct periodic periodic;

/* Becomes the source of LANE_PERIODIC, whose thread has a reader if a task reads. fixed_now_us:
 * INT64_MIN: the clock's. NULL when out of memory. */
periodic *periodic_new(const periodic_task tasks[], size_t n, int64_t fixed_now_us, writer *to,
                       job_pool *pool);
/* Tasks rest: no step of theirs begins. Any thread. */
void periodic_rest(periodic *p, bool rests);
void periodic_free(periodic *p); /* after the lane was joined; NULL is fine */

#endif
