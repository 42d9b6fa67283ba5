/* Sums that are remembered: those of rows of chunk, and beside them those of the runs that wait, by
 * level.
 *
 * What keeps them true, in the snapshot of the list of runs (tb__runs_load):
 * - Sums of rows are good while meta.rows_version is the same: each commit that changes a row of
 * chunk raises it. In between there is none: small batches leave runs, and merging moves nothing
 * but runs.
 * - A run never changes. Runs are deleted where they are merged, into one with a higher id, or by a
 * fold, which raises rows_version: until it does, an id is one run's, and the highest names the
 * list. So the sums of a level are good where all of its runs are still there, and those that came
 * are added; else the level is added up anew from its runs. None of it is of a connection, so that
 * all of a process may share it, whatever their snapshots. Who writes sees what nobody else does:
 * within its transaction nothing is remembered. */
#ifndef TOLLBOOK_STORE_RECALL_PART_H
#define TOLLBOOK_STORE_RECALL_PART_H

#include "store/core/internal.h"
#include "store/usage/run.h"
#include "tollbook/series.h"

#define TB__PART_LEVELS 5 /* the last one stands for all above it */

typedef struct tb__part {
    size_t cells;
    bool known;
    int64_t rows_version;
    int64_t newest; /* run; 0: none */
    tb_u128 *rows;  /* and the levels' sums, in one block */
    struct tb__part_level {
        int64_t *run; /* whose entries are in the sums */
        size_t n, cap;
        uint64_t *sum; /* no overflow: tb__runs_promise */
    } level[TB__PART_LEVELS];
} tb__part;

/* How many entries of runs a refresh would read, at most; INT64_MAX: rows too. The list of runs is
 * loaded. */
int64_t tb__part_behind(const tb__part *part, const tb__runs *runs);
/* Within a snapshot that is not the writer's own, of counters that are summed. */
bool tb__may_recall(const tb_store *store, uint32_t metrics);

/* Where the sums come from. */
typedef struct tb__part_of {
    /* Adds to zeros. */
    tb_code (*rows)(void *ctx, tb_u128 *sum, tb_error *err);
    tb_code (*run)(void *ctx, tb__usage_run *run, uint64_t *sum, tb_error *err);
    void *ctx;
} tb__part_of;

size_t tb__part_bytes(size_t cells);
TB_MUST_USE tb_code tb__part_init(tb__part *part, size_t cells, tb_error *err);
void tb__part_release(tb__part *part);
/* Reads what changed. */
TB_MUST_USE tb_code tb__part_refresh(tb__part *part, tb__runs *runs, const tb__part_of *of,
                                     tb_error *err);

/* What a range has in runs, of series from one to another. */
tb__run_span tb__days_of(int64_t first, int64_t last, tb_range range);
/* The slots of an entry's day that are in the range. */
uint32_t tb__slots_within(tb_range range, int64_t day);

static inline tb_u128 tb__part_at(const tb__part *part, size_t cell)
{
    tb_u128 sum = part->rows[cell];
    for (int i = 0; i < TB__PART_LEVELS; i++)
        if (part->level[i].n) sum += part->level[i].sum[cell];
    return sum;
}

#endif
