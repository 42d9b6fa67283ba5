/* Moving usage to usage servers: out of a file, or from other servers. */
#ifndef TOLLBOOK_USAGESERVERS_H
#define TOLLBOOK_USAGESERVERS_H

#include "tollbook/store.h"
#include "tollbook/usageclient.h"

TB_API_BEGIN

typedef struct tb_usage_move {
    const tb_usage_client *client; /* borrowed */
    /* Zones, accounts and balancers that were sent, of all with usage, or rows of the first servers, of some 200 bytes; NULL: nobody asks. */
    void (*progress)(void *ctx, uint64_t done, uint64_t all);
    void *ctx;
    /* Of this call: rows of cells that came out of the file, or all rows of the first servers; whether an earlier call had sent a
     * part. */
    uint64_t rows;
    bool resumed;
} tb_usage_move;

/* Sends the counters of a writer's store to its shards, compares what they then hold, and makes them the place of
 * the file's usage, in one transaction that takes the counters out of the file. Until that the file answers as
 * before. What was cut off goes on where it was; where usage changed in between it begins again. Request logs and
 * shield events follow in a transaction of their own; where that fails, a writer that opens the store with the client
 * does it.
 * Of a store that was opened with a client, the rows of its servers are copied and compared, and the file says at the end how many
 * shards there are now. The first servers are only read, and keep what they have. What was cut off goes on where it was, as long as
 * nothing else has opened the file for writing since; the new servers are empty at the beginning.
 * At its end the store must be closed, and opened with the client.
 * TB_E_USAGE: the file, or the address, cannot take part. TB_E_OVERFLOW: counters together pass 2^63 - 1.
 * TB_E_DIFFERENT: the shards hold something else. TB_E_AWAY. */
TB_MUST_USE tb_code tb_store_move_usage(tb_store *store, tb_usage_move *move, tb_error *err);

/* Usage that lies on usage servers (tollbook/usageclient.h) has a row for each batch, place and hour. Compaction makes one
 * of them, a month at a time, and every answer stays what it is. What was let go of (tollbook/retain.h) goes with it: a month
 * that is due for that is compacted whatever its rows. */

/* Rows that a step folds. More at once took a server more memory than it has; fewer cost more statements than they are worth. */
#define TB_COMPACTION_ROWS_MOST  200000
#define TB_COMPACTION_ROWS_LEAST 50000

/* Kept by who calls, from zero on. */
typedef struct tb_compaction {
    /* Set before each call: */
    uint64_t rows_min; /* not folded yet, of a month that is worth it; 0: any is, at once */
    int64_t now_us;    /* of a clock that only goes forward */
    int64_t grace_us;  /* so long what was folded stays, for those who read an older snapshot */
    uint64_t rows_most; /* that a step folds, unless one hour of an owner has more; 0: TB_COMPACTION_ROWS_MOST */
    /* Set by it: */
    uint64_t rows;    /* that this step folded, before they are compared; 0: it did something else */
    uint64_t waiting; /* rows that are not folded, at the last look */
    uint64_t leaving; /* likewise: rows that were, and are still there */
    uint64_t due;     /* likewise: months of which something is to go */
    uint64_t folded;  /* months, added up */
    uint64_t let_go;  /* of these, months of which something went: answers are others since */
    bool working;     /* a month is being folded: there is more to do at once */
} tb_compaction;

/* One step, by the writer outside of a transaction: a look, or a statement of a fold. Nothing where
 * usage is in the file. TB_E_AWAY, TB_E_CORRUPT (what was folded is not what it was made of) and others: the fold is given
 * up, nothing of it counts, a later call begins anew. */
TB_MUST_USE tb_code tb_store_compact(tb_store *store, tb_compaction *compaction, tb_error *err);

TB_API_END

#endif
