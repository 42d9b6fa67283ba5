/* The desk: one thread with a reader of its own for answers that take seconds. A worker hands the
 * request over, as it does to the writer, and goes on with its other connections; the desk works on
 * one after the other. Only a few may wait; a later request is refused at once.
 *
 * A job ends by itself: desk_time_left says how long it may still run. */
#ifndef TOLLBOOK_SERVER_HTTP_DESK_H
#define TOLLBOOK_SERVER_HTTP_DESK_H

#include "http/writer.h"

#define DESK_JOBS_MAX 8                 /* most jobs that wait */
#define DESK_JOB_US   INT64_C(20000000) /* longest that one may take */

typedef struct desk desk;

/* The store stays the caller's, who must not touch it until desk_stop. NULL: no thread. */
desk *desk_start(tb_store *store);
/* TB_OK: job->run, outside any transaction, then job->done will be called on the desk's thread.
 * TB_E_BUSY: too many wait, or it is stopping. */
TB_MUST_USE tb_code desk_submit(desk *d, write_job *job, tb_error *err);
/* Whether the job at work may go on: its time is not over and nobody has asked the desk to stop.
 * On the desk's thread. */
bool desk_time_left(desk *d);
/* The job at work is told to end, those that wait are refused; then the thread ends. */
void desk_stop(desk *d);
void desk_free(desk *d); /* after desk_stop; NULL is fine */

#endif
