/* Deployments: takes those that wait in the store, longest first, runs the operator's hook for
 * each, and has the writer note how it ended, on LANE_DEPLOY. The store is the queue: what was
 * asked for before a restart is done after it, and so is what a stop cuts off, from its beginning.
 * Of one application there is one at a time. Without a hook there is nothing to do, and every one
 * succeeds. */
#ifndef TOLLBOOK_SERVER_HTTP_JOBS_DEPLOYMENTS_H
#define TOLLBOOK_SERVER_HTTP_JOBS_DEPLOYMENTS_H

#include "http/jobs/pool.h"
#include "tollbook/buf.h"

#define DEPLOY_THREADS 4

typedef struct deployments_options {
    const char *hook;     /* path of a program, or NULL */
    int64_t limit_us;     /* how long one may take */
    int64_t fixed_now_us; /* INT64_MIN: the clock's */
} deployments_options;

typedef struct deployments deployments;

/* Becomes the source of LANE_DEPLOY, whose first thread has a reader. When a deployment was put,
 * wake the lane. NULL when out of memory. */
deployments *deployments_new(const deployments_options *options, writer *to, job_pool *pool);
/* Whether one of the application runs; appends to `out` what it printed so far. NULL: none does. */
bool deployments_runs(deployments *d, int64_t account, tb_text app, tb_buf *out);
void deployments_free(deployments *d); /* after the lane was joined; NULL is fine */

#endif
