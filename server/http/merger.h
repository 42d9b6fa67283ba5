/* The merger: one thread that merges runs of usage ahead of the writer (tollbook/merging.h), so that with a batch
 * only what came of it is written. It keeps nothing: what it did not come to, the next round or the writer does. */
#ifndef TOLLBOOK_SERVER_HTTP_MERGER_H
#define TOLLBOOK_SERVER_HTTP_MERGER_H

#include "tollbook/merging.h"

typedef struct merger merger;

/* The reader is the thread's until merger_stop. NULL: no thread. */
merger *merger_start(tb_store *reader);
tb_merges *merger_merges(merger *m);
/* After a commit, on the writer's thread. NULL is fine. */
void merger_wake(merger *m);
/* The writer has ended. NULL is fine. */
void merger_stop(merger *m);

#endif
