/* The writer's side of the LSM (lsm.h): writing runs, compaction of a level, compaction into base. All of it
 * runs in the writer's transaction. */
#ifndef TOLLBOOK_STORE_LSM_COMPACT_H
#define TOLLBOOK_STORE_LSM_COMPACT_H

#include "store/core/internal.h"
#include "store/lsm/lsm.h"

/* --- runs (write.c) --- */

/* The properties of a run that are known before it is written. */
typedef struct tb__lsm_header {
    tb__lsm_kind kind;
    int64_t level, sum; /* sum: no counter of it is larger */
    size_t bytes;       /* of its entries, about */
} tb__lsm_header;

typedef tb_code (*tb__lsm_source)(void *ctx, tb__lsm_entry *ret_entry, bool *ret_more, tb_error *err);
/* Writes a run of the entries that `next` gives, ascending. *entries grows by their number. */
TB_MUST_USE tb_code tb__lsm_write(tb_store *store, tb__lsm *lsm, const tb__lsm_header *header, tb__lsm_source next,
                                  void *ctx, size_t *entries, tb_error *err);
TB_MUST_USE tb_code tb__lsm_delete(tb_store *store, const tb__lsm_run *runs, size_t n, tb_error *err);
/* a + b, at most TB_COUNTER_MAX. */
int64_t tb__add_capped(int64_t a, int64_t b);

/* --- compaction of a level (level.c) --- */

/* Compacts the oldest eight runs of the lowest level that is full, if any is. Runs up to `through` take part in a
 * compaction into base and stay. */
TB_MUST_USE tb_code tb__lsm_compact_level(tb_store *store, tb__lsm *lsm, tb__lsm_kind kind, int64_t through,
                                          tb_error *err);

/* --- compaction into base (base.c): for every client, whatever its runs look like --- */

/* The runs of a client that have pending entries, and the position. */
typedef struct tb__lsm_pending {
    tb__lsm_position at;
    size_t n;
    int64_t oldest, newest; /* ids, where n > 0 */
    void *list;             /* the client's */
} tb__lsm_pending;

typedef struct tb__lsm_base tb__lsm_base;
struct tb__lsm_base {
    const char *through_row, *owner_row; /* of meta: the position */
    int64_t first_owner;                 /* owner_row has it while no compaction is under way; no owner is below it */
    int kind;                            /* the client's own */
    tb_code (*list)(tb_store *store, const tb__lsm_base *base, tb__lsm_pending *ret_pending, tb_error *err);
    void (*drop)(tb__lsm_pending *pending); /* what list made; NULL: nothing */
    /* Lowers at.through where the runs up to it are too many for one compaction. NULL: they never are. */
    tb_code (*choose)(tb_store *store, tb__lsm_pending *pending, tb_error *err);
    /* Moves entries of the runs up to at.through into base, from at.owner on: `rows` of them at least, and whole owners.
     * *ret_owner: the next owner; *ret_over: none is left. */
    tb_code (*place)(tb_store *store, const tb__lsm_base *base, const tb__lsm_pending *pending, int64_t rows,
                     int64_t *ret_owner, bool *ret_over, tb_error *err);
    /* All entries of the runs up to at.through are in base: deletes the runs, or marks them as obsolete. */
    tb_code (*retire)(tb_store *store, const tb__lsm_base *base, const tb__lsm_pending *pending, tb_error *err);
};

/* With a batch: a step of the compaction that is under way, or of one that begins, where `due`: of all pending runs, or
 * of the oldest that `choose` leaves. `list` made *pending, which is used up. */
TB_MUST_USE tb_code tb__lsm_advance(tb_store *store, const tb__lsm_base *base, tb__lsm_pending *pending, bool due,
                                    int64_t rows, tb_error *err);
/* Compacts all that is pending. */
TB_MUST_USE tb_code tb__lsm_compact_all(tb_store *store, const tb__lsm_base *base, tb_error *err);
/* One step, for callers that make a transaction of each. *through: the newest run that is meant. Where it is 0 all
 * runs are: it becomes the newest one once the compaction that is under way, if any, is over. A beginning is a step.
 * *ret_more false: none of them was left. */
TB_MUST_USE tb_code tb__lsm_compact_part(tb_store *store, const tb__lsm_base *base, int64_t rows, int64_t *through,
                                         bool *ret_more, tb_error *err);

#endif
