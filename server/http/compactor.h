/* Compaction of usage on servers, in steps on the writer's thread while it has nothing else to do. */
#ifndef TOLLBOOK_SERVER_HTTP_COMPACTOR_H
#define TOLLBOOK_SERVER_HTTP_COMPACTOR_H

#include "tollbook/compaction.h"

#include <stdatomic.h>

#define COMPACTOR_ROWS     1000000            /* of a month, that wait: it is folded */
#define COMPACTOR_GRACE_US INT64_C(600000000) /* longer than any answer takes */

/* All zero at first, but for rows_min. */
typedef struct compactor {
    tb_compaction of; /* the writer's thread alone, as the next two */
    int64_t again_us, pause_us;
    atomic_uint_fast64_t waiting, leaving, due, folded, let_go, failures; /* for who measures */
} compactor;

/* One step. True: there is more to do at once. What fails is said, but for a server that is away, and tried again after a
 * pause that doubles. */
bool compactor_step(compactor *c, tb_store *store);

#endif
