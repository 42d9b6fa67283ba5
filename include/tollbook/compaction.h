/* Usage that lies on usage servers (tollbook/usageclient.h) has a row for each batch, place and hour. Compaction makes one
 * of them, a month at a time, and every answer stays what it is. What was let go of (tollbook/retain.h) goes with it: a month
 * that is due for that is compacted whatever its rows. */
#ifndef TOLLBOOK_COMPACTION_H
#define TOLLBOOK_COMPACTION_H

#include "tollbook/store.h"

TB_API_BEGIN

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
