/* Requests that wait: a follower's for the next commit, an answer to a write for a piece that the standbys have. Each is a
 * suspended connection, so that it holds no thread: the one thread of LANE_WAIT ends the waits, all at once that a number
 * was reached for, and each at its time.
 *
 * A request that is to wait for a commit reads waiting_reached first, then looks into the store, and then waits for the
 * number after it: a commit in between ends its wait at once. */
#ifndef TOLLBOOK_SERVER_HTTP_JOBS_WAITING_H
#define TOLLBOOK_SERVER_HTTP_JOBS_WAITING_H

#include "http/jobs/pool.h"

typedef struct waiting waiting;

typedef enum wait_kind {
    WAIT_COMMIT, /* the number of commits so far */
    WAIT_PIECE,  /* the newest piece that all standbys have which count (acknowledge.h) */
    WAIT_KINDS,
} wait_kind;

/* Becomes the source of LANE_WAIT. NULL when out of memory. */
waiting *waiting_new(job_pool *pool);
void waiting_free(waiting *w); /* after the lane was joined; NULL is fine */

/* --- any thread --- */

int64_t waiting_reached(waiting *w, wait_kind kind);
size_t waiting_count(waiting *w, wait_kind kind); /* that wait now */
/* Calls job->done once the number is at least `number`, or after job->wait_us; its code is TB_OK in the first case, else
 * TB_E_STOPPED. Never before the job was added. */
void waiting_add(waiting *w, wait_kind kind, int64_t number, write_job *job);
/* The number is now this one; it may be smaller than before. */
void waiting_reach(waiting *w, wait_kind kind, int64_t number);
/* There was a commit. */
void waiting_commit(waiting *w);
/* Ends all waits. */
void waiting_release(waiting *w);
/* Ends all waits, and every later one at once; after the lane was joined. */
void waiting_end(waiting *w);

#endif
