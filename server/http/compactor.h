/* Compaction of usage on servers: maintenance steps on the writer's thread, which calls them while it has nothing else to do and for
 * a share of its time under load (writer_hooks.tend). It is no periodic task: when a step may run and how long it may hold up others
 * depends on what the writer has to do, which only the writer knows. */
#ifndef TOLLBOOK_SERVER_HTTP_COMPACTOR_H
#define TOLLBOOK_SERVER_HTTP_COMPACTOR_H

#include "tollbook/usageservers.h"

#include <stdatomic.h>

#define COMPACTOR_ROWS     1000000            /* uncompacted rows of a month from which on it is compacted */
#define COMPACTOR_GRACE_US INT64_C(600000000) /* longer than any answer takes */
#define COMPACTOR_ROWS_FIRST 100000           /* of the first step */

/* All zero at first, but for rows_min. */
typedef struct compactor {
    tb_compaction of; /* the writer's thread alone, as the next two fields */
    int64_t again_us, pause_us;
    atomic_uint_fast64_t waiting, leaving, due, folded, let_go, failures; /* for /metrics */
    atomic_uint_fast64_t longest_us; /* likewise: the longest step */
} compactor;

/* How many rows the next step may have, after one with `rows` of at most `most` rows took took_us: as few as would have taken half a
 * second, or a quarter more where it took less than half of that. Between TB_COMPACTION_ROWS_LEAST and _MOST: each statement has a
 * fixed cost on the server, for which fewer rows are no remedy. */
uint64_t compactor_rows(uint64_t rows, int64_t took_us, uint64_t most);
/* One step. True: there is more to do at once. A failure is logged, unless a server is away, and tried again after a pause
 * that doubles. */
bool compactor_step(compactor *c, tb_store *store);

#endif
