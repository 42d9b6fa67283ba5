/* Runs of request logs: what a batch of few lines of many zones adds waits as one block (logs/directory.h)
 * until it is folded into its zones' blocks.
 *
 * What is true at every commit: a zone's lines are those of its blocks and of the runs behind
 * meta.log_run_spent, of these without the runs up to meta.log_fold_run where the zone is below
 * meta.log_fold_zone. What lies in blocks came before what waits, and a run before one with a greater
 * id: while a run waits nothing goes to its place but through a fold. So lines of one time come back in
 * the order in which they came. Spent runs go with the batches that come after, whose runs take their
 * pages. */
#ifndef TOLLBOOK_STORE_LOG_RUN_H
#define TOLLBOOK_STORE_LOG_RUN_H

#include "logs/directory.h"
#include "store/core/internal.h"

typedef struct tb__log_run {
    int64_t id, lines, first_ms, last_ms, seal;
} tb__log_run;

typedef struct tb__log_runs {
    int64_t spent, fold_run, fold_zone; /* the rows of meta */
    tb__log_run *run; /* ascending by id */
    size_t n;
} tb__log_runs;

/* Those that wait, or with `spent` all that there are. free(runs->run). */
TB_MUST_USE tb_code tb__log_runs_list(tb_store *store, bool spent, tb__log_runs *ret_runs,
                                      tb_error *err);
/* A run's directory and block, read from the row that *ret_row stands on: whoever asked resets it. */
TB_MUST_USE tb_code tb__log_run_read(tb_store *store, const tb__log_run *run, sqlite3_stmt **ret_row,
                                     tb__log_directory *ret_directory, tb_text *ret_block,
                                     tb_error *err);
TB_MUST_USE tb_code tb__log_run_delete(tb_store *store, const tb__log_run *run, tb_error *err);
int64_t tb__seal_log_run(const tb__log_run *run, tb_text zones, tb_text data);

/* The entry `mix` of the table tb__file_logs. */
TB_MUST_USE tb_code tb__log_mix(tb_store *store, const tb_logmixed *mixed, tb_error *err);
/* A zone's block, while runs wait, becomes one; *ret_waits false: none wait, it goes to its place. */
TB_MUST_USE tb_code tb__log_join_wait(tb_store *store, const tb_loginfo *info, tb_text block,
                                      bool *ret_waits, tb_error *err);
/* Drops the runs whose last line is before that, *room at most, and lessens it by them; *ret_dropped: how
 * many of them waited. */
TB_MUST_USE tb_code tb__log_runs_drop(tb_store *store, int64_t before_ms, size_t *room,
                                      uint64_t *ret_dropped, tb_error *err);
/* Some of the spent ones go, of so many lines. */
TB_MUST_USE tb_code tb__log_runs_drop_spent(tb_store *store, int64_t lines, tb_error *err);
/* What runs have of an account's zones. */
typedef struct tb__log_held {
    uint64_t blocks; /* that what waits comes to, at most */
    int64_t last;    /* the newest run with any of it, waiting or spent; 0: none has */
} tb__log_held;
TB_MUST_USE tb_code tb__log_runs_held(tb_store *store, int64_t account, tb__log_held *ret_held,
                                      tb_error *err);

/* --- log_fold.c --- */

/* A run that was added. */
typedef struct tb__log_came {
    int64_t run, lines;
    bool begin; /* a fold begins now, if none is under way */
} tb__log_came;

/* Folds a part of what waits, as much as fits beside that run. */
TB_MUST_USE tb_code tb__log_fold_tend(tb_store *store, tb__log_came came, tb_error *err);
/* Folds all that waits and drops the runs. */
TB_MUST_USE tb_code tb__log_fold_all(tb_store *store, tb_error *err);
/* A part of it: of the runs up to *through, or, where that is 0, up to the newest one, which it then is. *ret_more
 * false: none of them was left. */
TB_MUST_USE tb_code tb__log_fold_part(tb_store *store, int64_t *through, bool *ret_more, tb_error *err);

/* A connection's part in it. */
struct tb__log_folding {
    struct tb__log_opened *opened; /* the runs that are being folded, read; NULL: none are */
    /* For tests. */
    bool at_once;   /* nothing waits beyond its batch */
    int64_t weight; /* a fold begins at it; 0: when it is good */
    int64_t slice;  /* lines folded with a run, or as a part; 0: as many as is good */
    size_t bytes;   /* of runs that may be in memory; 0: as many as is good */
};
/* NULL: out of memory. */
struct tb__log_folding *tb__log_folding_of(tb_store *store);

#endif
