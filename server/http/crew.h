/* A crew: a few threads for work that would hold up a worker: answers that take seconds (the desk),
 * bodies whose lines are to be parsed (intake), what waits on other computers (errands). A worker hands
 * the request over, as it does to the writer, and goes on with its other connections.
 *
 * Accounts take turns: a free thread takes the job of the account that has fewest at work, the oldest of
 * these. One account has its share of the threads and of the places to wait. A job beyond the places is
 * refused at once, one that has waited too long when its turn comes. */
#ifndef TOLLBOOK_SERVER_HTTP_CREW_H
#define TOLLBOOK_SERVER_HTTP_CREW_H

#include "http/writer.h"

typedef struct crew_options {
    const char *what;                /* that wait already, for people: "look-ups" */
    unsigned threads, threads_share; /* the share is one account's */
    unsigned jobs, jobs_share;       /* most jobs that wait */
    int64_t job_us;                  /* how long a job may run, as crew_time_left says; 0: any time */
    tb_store *const *stores;         /* a reader for each thread; NULL: they have none */
    bool behind;                     /* its threads give way: behind.h */
} crew_options;

typedef struct crew crew;

crew *crew_start(const crew_options *options); /* NULL: no threads */
/* TB_OK: job->run, with the thread's store, then job->done will be called on a thread of these.
 * TB_E_BUSY: too many wait, in all or of the account, or they are stopping. */
TB_MUST_USE tb_code crew_submit(crew *c, int64_t account, write_job *job, tb_error *err);
bool crew_idle(crew *c); /* nothing waits and nothing runs */
unsigned crew_queued(crew *c);
unsigned crew_unfinished(crew *c); /* those that are at work, too */
bool crew_stopping(const crew *c);
/* Whether the job at work may go on: its time is not over and nobody has asked the crew to stop. */
bool crew_time_left(const crew *c, const write_job *job);
/* A descriptor that is readable once it is to stop. */
int crew_stop_fd(const crew *c);
/* Jobs at work are told to end, those that wait are refused; then the threads end. */
void crew_stop(crew *c);
void crew_free(crew *c); /* after crew_stop; NULL is fine */

#endif
