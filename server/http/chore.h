/* A chore: work of the operator's that repeats while the server runs, in small writes among those of
 * clients. A round begins at the start and then every CHORE_EVERY_S, or sooner where it says so; each of its steps is a transaction of
 * its own at the end of the writer's queue, so nobody waits for more than one. What fails is said, and
 * tried again in the next round. */
#ifndef TOLLBOOK_SERVER_HTTP_CHORE_H
#define TOLLBOOK_SERVER_HTTP_CHORE_H

#include "http/writer.h"

#define CHORE_EVERY_S 3600

typedef struct chore_work {
    /* In a transaction, on the writer's thread. again: not the first step of its round. *ret_more: the
     * round goes on. NULL: there is no chore. */
    tb_code (*step)(void *ctx, tb_store *store, int64_t now_us, bool again, bool *ret_more,
                    tb_error *err);
    void *ctx;
    const char *name; /* for messages */
    /* After the last step of a round is committed, or one has failed, on a thread of its own. NULL: nothing
     * is done. */
    void (*over)(void *ctx, int64_t now_us, bool failed);
    /* Seconds until its next round, which is no later than CHORE_EVERY_S; NULL: that. */
    int (*wait_s)(void *ctx, int64_t now_us);
} chore_work;

typedef struct chore chore;

/* fixed_now_us: INT64_MIN: the clock's. NULL: no thread. */
chore *chore_start(const chore_work *work, int64_t fixed_now_us, writer *to);
/* No further step begins. chore_join then waits for the last one, which the writer must still do, and gives
 * all back. NULL is fine for both. */
void chore_halt(chore *c);
void chore_join(chore *c);

#endif
