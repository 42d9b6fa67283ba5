/* Errands: a few threads for work that waits on other computers. A worker hands the request over,
 * as it does to the writer, and goes on with its other connections. Only a few may wait; a later
 * request is refused at once. One account has its share of the threads and of the places to wait. A
 * job ends by itself, and soon once errands_stopping is true. */
#ifndef TOLLBOOK_SERVER_HTTP_ERRANDS_H
#define TOLLBOOK_SERVER_HTTP_ERRANDS_H

#include "http/writer.h"

#define ERRANDS_THREADS       4
#define ERRANDS_THREADS_SHARE 3 /* of them, at one account's */
#define ERRANDS_JOBS_MAX      32 /* most jobs that wait */
#define ERRANDS_JOBS_SHARE    16 /* of them, one account's */

typedef struct errands errands;

errands *errands_start(void); /* NULL: no threads */
/* TB_OK: job->run, with store NULL, then job->done will be called on a thread of these. TB_E_BUSY:
 * too many wait, in all or of the account, or they are stopping. */
TB_MUST_USE tb_code errands_submit(errands *e, int64_t account, write_job *job, tb_error *err);
bool errands_stopping(const errands *e);
/* A descriptor that is readable from then on. */
int errands_stop_fd(const errands *e);
/* Jobs at work are told to end, those that wait are refused; then the threads end. */
void errands_stop(errands *e);
void errands_free(errands *e); /* after errands_stop; NULL is fine */

#endif
