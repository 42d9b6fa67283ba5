/* Witnesses of the log of documents, on LANE_WITNESS: a thread for each, so that one that hangs delays no other. Each has the newest
 * checkpoint signed; how is server/api/witness.h's. The stored checkpoint is the queue: nothing is lost by a stop or a crash. */
#ifndef TOLLBOOK_SERVER_HTTP_JOBS_WITNESSES_H
#define TOLLBOOK_SERVER_HTTP_JOBS_WITNESSES_H

#include "http/jobs/pool.h"

#define WITNESSES_MAX 8

typedef struct witness_work {
    unsigned n; /* witnesses; 0: there are none */
    /* Looks whether a witness has to be asked, and asks it: one call at a time for each. Ends early if LANE_WITNESS of the pool is
     * stopping. Returns the microseconds until it is called again. */
    int64_t (*ask)(void *ctx, unsigned witness, const job_pool *pool, writer *to, tb_store *reader);
    void (*end)(void *ctx); /* after all threads have ended */
    void *ctx;
} witness_work;

typedef struct witnesses witnesses;

/* Becomes the source of LANE_WITNESS, whose threads have readers. NULL when out of memory. */
witnesses *witnesses_new(const witness_work *work, writer *to, job_pool *pool);
void witnesses_free(witnesses *w); /* after the lane was joined; NULL is fine */

#endif
