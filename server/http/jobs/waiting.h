/* Requests that wait for the next commit. Each is a suspended connection, so that it holds no thread: the one thread of
 * LANE_WAIT ends the waits, of all requests after a commit and of each at its time.
 *
 * A request that is to wait reads waiting_turn first, then looks into the store, and then waits with that turn: a commit
 * in between ends its wait at once. */
#ifndef TOLLBOOK_SERVER_HTTP_JOBS_WAITING_H
#define TOLLBOOK_SERVER_HTTP_JOBS_WAITING_H

#include "http/jobs/pool.h"

typedef struct waiting waiting;

/* Becomes the source of LANE_WAIT. NULL when out of memory. */
waiting *waiting_new(job_pool *pool);
void waiting_free(waiting *w); /* after the lane was joined; NULL is fine */

/* Any thread. */
uint64_t waiting_turn(waiting *w);
/* Calls job->done after the next commit, or after job->wait_us; its code is TB_OK. Never before the job was added. */
void waiting_add(waiting *w, write_job *job, uint64_t turn);
/* There was a commit. */
void waiting_commit(waiting *w);
/* Ends all waits, and every later one at once; after the lane was joined. */
void waiting_end(waiting *w);

#endif
