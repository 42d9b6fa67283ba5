/* Moving usage to usage servers: out of a file, or from other servers. */
#ifndef TOLLBOOK_USAGESERVERS_H
#define TOLLBOOK_USAGESERVERS_H

#include "tollbook/store.h"
#include "tollbook/usageclient.h"

TB_API_BEGIN

typedef struct tb_usage_move {
    const tb_usage_client *client; /* borrowed */
    /* Progress: zones, accounts and balancers sent, of all with usage; or rows of the first servers, in units of some 200
     * bytes; may be NULL. */
    void (*progress)(void *ctx, uint64_t done, uint64_t all);
    void *ctx;
    /* Results of this call: rows of cells moved out of the file, or all rows of the first servers; whether an earlier call
     * had sent a part. */
    uint64_t rows;
    bool resumed;
    /* Of a move from servers to servers, between its calls: whether the store has deleted nothing from its servers since it was
     * opened; the number of the new database; the newest batch that was copied; whether an earlier call began it. */
    bool since_open, again;
    int64_t number, through;
} tb_usage_move;

/* Sends the counters of a writer's store to its shards, compares what the shards then hold, and switches the file to
 * them in one transaction that deletes the counters from the file. Until then the file answers as before. An
 * interrupted move continues; if usage has changed in between, it begins again. Request logs and shield events follow
 * in a transaction of their own; if that fails, a writer that opens the store with the client completes it.
 * If the store was opened with a client, the rows of its servers are copied and compared, and the file then records the
 * new number of shards. The first servers are only read, and keep their rows. An interrupted copy continues as long as
 * no other process has opened the file for writing since; the new servers must be empty at the beginning.
 * Afterwards the store must be closed, and opened with the client.
 * TB_E_USAGE: the file, or the address, cannot be used. TB_E_OVERFLOW: counters together exceed 2^63 - 1.
 * TB_E_DIFFERENT: the shards hold other rows. TB_E_AWAY. */
TB_MUST_USE tb_code tb_store_move_usage(tb_store *store, tb_usage_move *move, tb_error *err);

/* The same from servers to servers while the store's file is written and read, in steps. Between the first and the last no usage
 * may be compacted (tb_store_compact), which also deletes rows. Errors are those of tb_store_move_usage; after one of them the
 * steps are done again from the first.
 * 1. By the writer, outside of a transaction: makes the tables, and notes in the file that the copy began. */
TB_MUST_USE tb_code tb_store_begin_usage_move(tb_store *store, tb_usage_move *move, tb_error *err);
/* 2. By a reader, outside of a snapshot, any number of times: copies and compares the rows of batches that were committed since
 * the call before. */
TB_MUST_USE tb_code tb_store_copy_usage(tb_store *store, tb_usage_move *move, tb_error *err);
/* 3. By the writer, outside of a transaction: the same for the rest, and then the switch, which is one transaction. The store
 * uses the new servers at once if they are its client's `next`, and other stores of the process from their next snapshot on. */
TB_MUST_USE tb_code tb_store_switch_usage(tb_store *store, tb_usage_move *move, tb_error *err);
/* The servers that the store uses now; NULL: none. */
const tb_usage_client *tb_store_usage_client(const tb_store *store);

/* Usage on usage servers (usageclient.h) has a row for each batch, place and hour. Compaction merges these into one, a
 * month at a time, without changing any answer. Expired usage (retain.h) is deleted with it: a month with usage to
 * delete is compacted regardless of its number of rows. */

/* Rows that one step merges. More at once exceeded a server's memory; fewer need too many statements. */
#define TB_COMPACTION_ROWS_MOST  200000
#define TB_COMPACTION_ROWS_LEAST 50000

/* Kept by the caller between calls; begins as zeros. */
typedef struct tb_compaction {
    /* In, for each call: */
    uint64_t rows_min; /* unmerged rows from which a month is compacted; 0: any number, at once */
    int64_t now_us;    /* of a monotonic clock */
    int64_t grace_us;  /* how long merged rows stay for readers of an older snapshot */
    uint64_t rows_most; /* that one step merges, unless one hour of an owner has more; 0: TB_COMPACTION_ROWS_MOST */
    /* Out: */
    uint64_t rows;    /* that this step merged, before they are compared; 0: it did something else */
    uint64_t waiting; /* rows not merged yet, at the last look */
    uint64_t leaving; /* likewise: merged rows that are not deleted yet */
    uint64_t due;     /* likewise: months with expired usage */
    uint64_t folded;  /* months compacted, summed over calls */
    uint64_t expired; /* of these, months that lost expired usage: their answers change */
    bool working;     /* a month is being compacted: call again at once */
} tb_compaction;

/* One step, by the writer outside of a transaction: looks for work, or runs one statement of a compaction. Does nothing
 * if usage is in the file. TB_E_AWAY, TB_E_CORRUPT (the merged rows differ from their sources) and others: the
 * compaction is discarded, and a later call begins it anew. */
TB_MUST_USE tb_code tb_store_compact(tb_store *store, tb_compaction *compaction, tb_error *err);

TB_API_END

#endif
