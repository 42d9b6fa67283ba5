/* Deployments, on LANE_DEPLOY: takes those queued in the store, the oldest first, runs the operator's hook for each,
 * and has the writer note the result. The store is the queue: deployments that were requested before a restart run
 * after it, and those that a stop interrupted run again. One runs at a time for each application. Without a hook every
 * deployment succeeds at once. */
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

/* Becomes the source of LANE_DEPLOY, whose first thread has a reader. Wake the lane after a deployment was requested.
 * NULL when out of memory. */
deployments *deployments_new(const deployments_options *options, writer *to, job_pool *pool);
/* Whether a deployment of the application runs; appends its output so far to `out`. d NULL: none runs. */
bool deployments_runs(deployments *d, int64_t account, tb_text app, tb_buf *out);
void deployments_free(deployments *d); /* after the lane was joined; NULL is fine */

#endif
