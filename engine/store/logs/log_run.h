/* Sorted runs of request logs: a batch of few lines of many pull zones is stored as one block with a directory of
 * its zones (logs/directory.h), until compaction moves the lines into their zones' blocks. A client of compaction
 * into base (store/lsm/compact.h); store/lsm/lsm.h explains why its runs are stored separately.
 *
 * Invariants at every commit:
 * - A zone's lines are those of its blocks and its pending lines: of the runs after meta.log_run_spent, except those that
 *   compaction has passed (meta.log_fold_run and log_fold_zone).
 * - Lines of one time are read in the order in which they were added: lines in blocks are older than pending lines, and a run
 *   is older than one with a greater id. So only compaction adds lines to blocks while a run is pending.
 * - Runs up to meta.log_run_spent are obsolete. Each batch deletes a few of them, and its own run reuses their pages. Ids are
 *   not reused. */
#ifndef TOLLBOOK_STORE_LOG_RUN_H
#define TOLLBOOK_STORE_LOG_RUN_H

#include "logs/directory.h"
#include "store/lsm/compact.h"

typedef struct tb__log_run {
    int64_t id, lines, first_ms, last_ms, seal;
} tb__log_run;

typedef struct tb__log_runs {
    int64_t obsolete; /* runs up to it are */
    tb__lsm_position at;
    tb__log_run *run; /* ascending by id */
    size_t n;
} tb__log_runs;

/* The first pull zone with pending lines in a run. */
static inline int64_t tb__log_pending_from(const tb__log_runs *runs, int64_t run)
{
    return run <= runs->obsolete ? INT64_MAX : tb__lsm_pending_from(runs->at, run);
}

/* Those with pending lines, or with `obsolete` all that there are. free(runs->run). */
TB_MUST_USE tb_code tb__log_runs_list(tb_store *store, bool obsolete, tb__log_runs *ret_runs,
                                      tb_error *err);
/* A run's directory and block, read from the current row of *ret_row, which the caller resets. ret_block NULL: the
 * directory only. */
TB_MUST_USE tb_code tb__log_run_read(tb_store *store, const tb__log_run *run, sqlite3_stmt **ret_row,
                                     tb__log_directory *ret_directory, tb_text *ret_block,
                                     tb_error *err);
TB_MUST_USE tb_code tb__log_run_delete(tb_store *store, const tb__log_run *run, tb_error *err);
int64_t tb__seal_log_run(const tb__log_run *run, tb_text zones, tb_text data);

/* The entry `mix` of the table tb__file_logs. */
TB_MUST_USE tb_code tb__log_append_mixed(tb_store *store, const tb_logmixed *mixed, tb_error *err);
/* Adds a zone's block as a run while runs are pending; *ret_pending false: none is, and the caller adds it to the
 * zone's blocks. */
TB_MUST_USE tb_code tb__log_append_block(tb_store *store, const tb_loginfo *info, tb_text block,
                                         bool *ret_pending, tb_error *err);
/* Drops runs with a last line before before_ms, at most *room, and subtracts their number from *room; *ret_dropped: the
 * number of pending ones. */
TB_MUST_USE tb_code tb__log_runs_drop(tb_store *store, int64_t before_ms, size_t *room,
                                      uint64_t *ret_dropped, tb_error *err);
/* Deletes some obsolete runs, with so many lines. */
TB_MUST_USE tb_code tb__log_runs_delete_obsolete(tb_store *store, int64_t lines, tb_error *err);
/* The lines of an account's zones in runs. */
typedef struct tb__log_held {
    uint64_t blocks; /* the most blocks that its pending lines can make */
    int64_t last;    /* the newest run with any of them, pending or obsolete; 0: none */
} tb__log_held;
TB_MUST_USE tb_code tb__log_runs_held(tb_store *store, int64_t account, tb__log_held *ret_held,
                                      tb_error *err);

/* --- log_compact.c --- */

/* A run that was appended. */
typedef struct tb__log_appended {
    int64_t run, lines;
    bool begin; /* a compaction begins now, if none is under way */
} tb__log_appended;

/* The share of the work of that run. */
TB_MUST_USE tb_code tb__log_maintain(tb_store *store, tb__log_appended appended, tb_error *err);
/* Compacts all pending lines and deletes the runs. */
TB_MUST_USE tb_code tb__log_compact_all(tb_store *store, tb_error *err);
/* One step of it, obsolete runs too: see tb__lsm_compact_part. */
TB_MUST_USE tb_code tb__log_compact_part(tb_store *store, int64_t *through, bool *ret_more, tb_error *err);

/* A connection's part in it. */
struct tb__log_compaction {
    struct tb__log_inputs *inputs; /* the runs that are being compacted, read; NULL: none are */
    tb__log_runs runs;             /* the list, during a call */
    /* For tests. */
    bool at_once;   /* nothing is pending beyond its batch */
    int64_t weight; /* a compaction begins at it; 0: when it is good */
    int64_t slice;  /* lines of a step; 0: as many as is good */
    size_t bytes;   /* of runs that may be in memory; 0: as many as is good */
};
/* NULL: out of memory. */
struct tb__log_compaction *tb__log_compaction_of(tb_store *store);

#endif
