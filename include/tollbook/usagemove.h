/* Moving usage to usage servers: out of a file, or from other servers. */
#ifndef TOLLBOOK_USAGEMOVE_H
#define TOLLBOOK_USAGEMOVE_H

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

TB_API_END

#endif
