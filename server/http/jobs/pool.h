/* The job pool: the threads for work that would hold up a worker.
 *
 * DESIGN
 *
 * A worker runs an event loop for many connections, so it must not compute for seconds, wait for
 * another computer or parse a large body. It submits such work as a job, suspends the connection
 * and goes on; when the job is done the connection is resumed. Writes are jobs of the writer
 * (writer.h); the pool has everything else.
 *
 *     lane       jobs come from      jobs
 *     slow       its queue           answers that take seconds
 *     outbound   its queue           look-ups in registries, hooks for purges
 *     remote     its queue           handlers and pieces of streams that need usage servers
 *     parse      its queue           bodies of lines
 *     outbox     the store           messages (jobs/outbox_sender.h)
 *     deploy     the store           deployments (jobs/deployments.h)
 *     periodic   a table of tasks    one step of a task (jobs/periodic.h)
 *     wait       waiting requests    ends waits for the next commit (jobs/waiting.h)
 *     base       its queue           a copy that a replica begins with (bases.h)
 *     move       a file              moves usage to other servers (jobs/mover.h)
 *     witness    the store           the newest checkpoint of the log of documents (jobs/witnesses.h)
 *
 * Each lane has threads of its own: a registry that hangs delays other look-ups and no computation,
 * and a deployment may run for minutes.
 *
 * A queue is bounded: a job beyond it is refused at once (TB_E_BUSY). Accounts take turns: a free
 * thread takes the oldest job of the account that has the fewest jobs at work, and one account has
 * at most its share of the threads and of the queue. On the remote lane usage servers take turns
 * instead of accounts, so that one which hangs leaves threads to the others.
 *
 * The other lanes have a source, a function that returns the next job. A free thread calls it, and
 * calls it again when the lane is woken or after the time that the source names. Work that is queued
 * in the store survives a stop and a crash.
 *
 * A job that waited longer than its wait_us is not run. A running job has a deadline: it asks
 * job_pool_time_left whether it may go on, and its statements to usage servers end by themselves.
 * A thread may have a reader, a read-only store of its own. The threads of a background lane have
 * a lower priority than those that answer.
 *
 * STOP
 *
 * job_pool_halt tells running jobs to end (job_pool_stopping, or a descriptor for those that poll),
 * and the threads refuse what is queued. job_pool_join waits for the threads. A lane whose jobs
 * write must be joined before the writer ends, and every lane before the event loops end: each
 * suspended connection has to be resumed.
 *
 * LOCKS
 *
 * One mutex a lane, held while a job is queued or taken, never while one runs. */
#ifndef TOLLBOOK_SERVER_HTTP_JOBS_POOL_H
#define TOLLBOOK_SERVER_HTTP_JOBS_POOL_H

#include "http/writer.h"

typedef enum job_lane {
    LANE_SLOW,     /* slow queries: answers that take seconds */
    LANE_OUTBOUND, /* requests that wait for another computer or for a hook */
    LANE_REMOTE,   /* queries and pieces of streams that need usage servers */
    LANE_OUTBOX,   /* messages: jobs/outbox_sender.h */
    LANE_DEPLOY,   /* deployments: jobs/deployments.h */
    LANE_PERIODIC, /* steps of the periodic tasks: jobs/periodic.h */
    LANE_WAIT,     /* ends the waits for a commit: jobs/waiting.h */
    LANE_BASE,     /* bases of replicas: bases.h */
    LANE_MOVE,     /* moves usage to other servers: jobs/mover.h */
    LANE_WITNESS,  /* has checkpoints signed: jobs/witnesses.h */
    LANE_PARSE,    /* bodies of lines */
    LANES,
} job_lane;

typedef struct lane_options {
    const char *jobs_name;           /* for messages: "look-ups" */
    unsigned threads, threads_share; /* the share is one account's; 0 threads: the lane is off */
    unsigned jobs, jobs_share;       /* the queue's length */
    int64_t job_us;                  /* how long a job may run; 0: no limit */
    unsigned readers;                /* how many of its threads have a store (job_pool_open) */
    bool background;                 /* its threads have a lower priority: background.h */
} lane_options;

typedef struct job_pool job_pool;

/* Takes a copy of the options. NULL when out of memory. */
job_pool *job_pool_new(const lane_options options[LANES]);
/* Opens the readers. They are closed by job_pool_free. */
TB_MUST_USE tb_code job_pool_open(job_pool *p, const char *db, const tb_store_options *options,
                                  tb_error *err);
/* The reader of a thread; the thread's own once the lane is started. */
tb_store *job_pool_reader(job_pool *p, job_lane lane, unsigned thread);
/* Sets where the jobs of a lane come from in place of its queue; before the start. `next` returns
 * the next job, or NULL: it is called again once the lane is woken, or after *wait_us if it sets
 * that. It is called on the thread that will run the job, with the lane's mutex held, so by one
 * thread at a time; reader is that of the lane's first thread, which may be used here alone. */
void job_pool_set_source(job_pool *p, job_lane lane,
                         write_job *(*next)(void *ctx, unsigned thread, tb_store *reader,
                                            int64_t *wait_us),
                         void *ctx);
/* Starts the threads of all lanes. false: not all of them start. */
bool job_pool_start(job_pool *p);

/* TB_OK: job->run, with the thread's reader, then job->done will be called on a thread of the lane.
 * They are called for job->account in its turn. TB_E_BUSY: the queue is full, or the account's
 * share of it, or the lane is stopping. */
TB_MUST_USE tb_code job_pool_submit(job_pool *p, job_lane lane, write_job *job, tb_error *err);
unsigned job_pool_queued(job_pool *p, job_lane lane);
unsigned job_pool_unfinished(job_pool *p, job_lane lane); /* queued or running */

bool job_pool_stopping(const job_pool *p, job_lane lane);
/* Whether the running job may go on: its time is not over and the lane is not stopping. */
bool job_pool_time_left(const job_pool *p, job_lane lane, const write_job *job);
/* A descriptor that is readable once the lane is stopping. */
int job_pool_stop_fd(const job_pool *p, job_lane lane);

/* Tells the lane that its source may have a job now. */
void job_pool_wake(job_pool *p, job_lane lane);
/* A lane that rests asks its source for no job, until it no longer rests. What runs, ends. Any thread. */
void job_pool_rest(job_pool *p, job_lane lane, bool rests);
/* For a running job: submits `job` to the writer and waits for it, again every again_us until it is
 * committed, the lane is stopping, or the file takes no writes any more, as another took its place. */
void job_pool_write(job_pool *p, job_lane lane, writer *to, const write_job *job, int64_t again_us);

void job_pool_halt(job_pool *p, job_lane lane); /* at once */
void job_pool_join(job_pool *p, job_lane lane); /* after job_pool_halt; once more is fine */
void job_pool_free(job_pool *p);                /* after job_pool_join of all; NULL is fine */

#endif
