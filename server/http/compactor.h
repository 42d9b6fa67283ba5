/* Compaction of usage on servers: maintenance steps on the writer's thread, which runs them while it is idle and for a
 * share of its time under load (writer_hooks.maintain). It is no periodic task: only the writer knows when a step may
 * run and how long it may delay others. */
#ifndef TOLLBOOK_SERVER_HTTP_COMPACTOR_H
#define TOLLBOOK_SERVER_HTTP_COMPACTOR_H

#include "tollbook/usageservers.h"

#include <stdatomic.h>

#define COMPACTOR_ROWS     1000000            /* uncompacted rows of a month from which on it is compacted */
#define COMPACTOR_GRACE_US INT64_C(600000000) /* longer than any answer takes */
#define COMPACTOR_ROWS_FIRST 100000           /* of the first step */

/* All zero at first, but for rows_min. */
typedef struct compactor {
    tb_compaction of; /* of the writer's thread, as are the next two fields */
    int64_t again_us, pause_us;
    atomic_uint_fast64_t waiting, leaving, due, folded, expired, failures; /* for /metrics */
    atomic_uint_fast64_t longest_us; /* likewise: the longest step */
} compactor;

/* The most rows of the next step, after a step of `rows` rows, at most `most`, took took_us: as many as would have
 * taken half a second, or a quarter more if it took less than half of that. Between TB_COMPACTION_ROWS_LEAST and _MOST:
 * each statement has a fixed cost on the server, which fewer rows do not reduce. */
uint64_t compactor_rows(uint64_t rows, int64_t took_us, uint64_t most);
/* Runs one step. true: there is more to do at once. A failure is logged, unless a server is away, and tried again after
 * a pause that doubles. */
bool compactor_step(compactor *c, tb_store *store);

#endif
