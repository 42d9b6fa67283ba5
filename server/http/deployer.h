/* The deployer: threads that take deployments which wait in the store, longest first, run the
 * operator's hook for each, and note how it ended. The store is the queue: what was asked for before
 * a restart is done after it, and so is what a stop cuts off, from its beginning. Of one application
 * there is one at a time. Without a hook there is nothing to do, and every one succeeds. */
#ifndef TOLLBOOK_SERVER_HTTP_DEPLOYER_H
#define TOLLBOOK_SERVER_HTTP_DEPLOYER_H

#include "http/writer.h"
#include "tollbook/buf.h"

#define DEPLOYER_THREADS 4

typedef struct deployer_options {
    const char *hook; /* path of a program, or NULL */
    int64_t limit_us; /* how long one may take */
    int64_t fixed_now_us; /* INT64_MIN: the clock's */
} deployer_options;

typedef struct deployer deployer;

/* The store, a reader, stays the caller's, who must not touch it until deployer_join. NULL: no
 * threads. */
deployer *deployer_start(const deployer_options *options, tb_store *store, writer *to);
/* There may be something to do. */
void deployer_wake(deployer *d);
/* Whether one of the application runs; appends to `out` what it printed so far. */
bool deployer_runs(deployer *d, int64_t account, tb_text app, tb_buf *out);
/* Hooks that run are ended, none is started; then, while the writer still runs, the threads end. */
void deployer_halt(deployer *d);
void deployer_join(deployer *d);
void deployer_free(deployer *d); /* after deployer_join; NULL is fine */

#endif
