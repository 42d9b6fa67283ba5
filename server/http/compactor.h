/* Compaction of usage on servers, in steps on the writer's thread while it has nothing else to do. */
#ifndef TOLLBOOK_SERVER_HTTP_COMPACTOR_H
#define TOLLBOOK_SERVER_HTTP_COMPACTOR_H

#include "tollbook/usageservers.h"

#include <stdatomic.h>

#define COMPACTOR_ROWS     1000000            /* of a month, that wait: it is folded */
#define COMPACTOR_GRACE_US INT64_C(600000000) /* longer than any answer takes */
#define COMPACTOR_ROWS_FIRST 100000           /* that the first step of a fold has */

/* All zero at first, but for rows_min. */
typedef struct compactor {
    tb_compaction of; /* the writer's thread alone, as the next two */
    int64_t again_us, pause_us;
    atomic_uint_fast64_t waiting, leaving, due, folded, let_go, failures; /* for who measures */
    atomic_uint_fast64_t longest_us; /* likewise: the step for which everybody waited longest */
} compactor;

/* How many rows the next step of a fold may have, where one of so many, of at most `most`, took so long: at once so few as would have
 * taken half a second, and a quarter more after one that took less than half of that. Between TB_COMPACTION_ROWS_LEAST and _MOST: a
 * statement costs a server something of its own, and where that is what takes long fewer rows do not help. */
uint64_t compactor_rows(uint64_t rows, int64_t took_us, uint64_t most);
/* One step. True: there is more to do at once. What fails is said, but for a server that is away, and tried again after a
 * pause that doubles. */
bool compactor_step(compactor *c, tb_store *store);

#endif
