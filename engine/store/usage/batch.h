/* The memtable of the LSM (store/lsm/lsm.h): what a call of tb_store_add_usage adds is gathered in memory and becomes one
 * run of each kind, and so does what several calls of a transaction add, where the caller says so (tb_store_gather; batch.c).
 * Runs are compacted a little with every batch (compact.c), so that a batch pays for itself and none waits for the
 * work of others. */
#ifndef TOLLBOOK_STORE_BATCH_H
#define TOLLBOOK_STORE_BATCH_H

#include "store/core/plane.h"
#include "store/lsm/compact.h"
#include "store/usage/entry.h"
#include "store/usage/landing.h"

/* What a batch changes, in the order in which it came. */
typedef struct tb__batch_entry {
    tb__lsm_key key;
    uint32_t at, len; /* in bytes */
} tb__batch_entry;

/* What came since the last maintenance: batches, their newest hour with usage, the runs and entries that they became. */
typedef struct tb__maintenance_due {
    unsigned batches, runs[TB__LSM_KINDS];
    size_t entries;
    int64_t newest;
} tb__maintenance_due;

/* How far it is: of each list those up to `written` are in the file, and are kept for the case that this is
 * undone; those up to `own` are of batches that have ended; behind them are the running batch's. */
typedef struct tb__memtable_state {
    size_t n[TB__LSM_KINDS], own[TB__LSM_KINDS], written[TB__LSM_KINDS];
    size_t len, own_len; /* of their bytes */
    int64_t added;       /* no counter grew by more with what waits of batches that have ended */
    tb__maintenance_due due;
} tb__memtable_state;

typedef struct tb__batch {
    struct {
        tb__batch_entry *list;
        size_t cap;
    } of[TB__LSM_KINDS];
    uint8_t *bytes;
    size_t cap;
    tb__memtable_state now, marked; /* marked: as it was at the last mark */
    bool gathers; /* a batch that ends waits for others, or for the COMMIT: tb_store_gather */
    bool begun;   /* countries are gathered */
    bool open;    /* days of series are gathered too; else they go to their places at once */
    int held;     /* calls of tb__usage_each: what was gathered stays where it is */
    bool at_once; /* for tests: no batch is ever gathered */
    size_t slice; /* for tests: rows compacted with a batch; 0: as many as is good */
    size_t load;  /* for tests: rows of a load (landing.c); 0: many */
    int64_t days; /* for tests: days that close before a compaction into base begins; 0: as many as is good */
    bool apart;   /* for tests: no account shares the series of a pull zone */
    size_t part;  /* for tests: series that are moved at once, and a quarter of those that wait (owners.c); 0: many */
} tb__batch;

/* Scope, owner, edge, id. */
typedef struct tb__series_row {
    int64_t value[4];
} tb__series_row;

/* A connection's part in usage. */
struct tb__usage {
    tb__lsm lsm;
    tb__landing *landing; /* NULL: a reader's */
    bool rows_changed; /* this transaction changed rows of chunk, or deleted runs that were compacted into them */
    /* Of a writer: what the running call adds; the owners that it met (owners.h); the largest counter
     * ever written to its place (tb__usage_reserve), good while usage is added. */
    tb__batch batch;
    struct tb__owners *owners;
    tb__series_row *new_series; /* those that this transaction begins: owners.h */
    size_t n_new, cap_new;
    size_t copies_most, copied; /* tb_store_bound_work */
    bool copies_alone;
    const struct tb__owner *copies_first; /* who copied first */
    int64_t placed[3]; /* scope, owner and edge of the series that was moved to its place last; 0: begin anew */
    size_t marked, written; /* how many there were at the mark; how many of them are in the file by now */
    int64_t cell_max;
    int64_t series_before, series_id; /* as meta has them; good while tb_store.next_series is known */
};

/* Days on the way to their places: of each the hours are merged into their row, and the days of a month
 * gathered for theirs, as long as they come side by side. */
typedef struct tb__placing {
    tb_store *store;
    int64_t series; /* of the gathered days, 0: there are none */
    int64_t month, first_day, end_day; /* of a month: the first day, and the one behind its last */
    tb_grid days;
} tb__placing;

TB_MUST_USE tb_code tb__place_day(tb__placing *placing, int64_t series, int64_t day,
                                  const tb_grid *hours, tb_error *err);
/* Merges the gathered days into their row. */
TB_MUST_USE tb_code tb__place_end(tb__placing *placing, tb_error *err);

/* Until tb__batch_end, or until there is too much of it to be worth gathering, what is put waits. */
void tb__batch_begin(tb_store *store);
/* A day of a series joins what it holds, a list the countries of a zone's day. Both are gathered: days
 * while a batch is open, countries until its end; else they go to their places at once. */
TB_MUST_USE tb_code tb__usage_put(tb__placing *placing, int64_t series, int64_t day,
                                  const tb_grid *hours, tb_error *err);
TB_MUST_USE tb_code tb__country_put(tb_store *store, int64_t zone, int64_t day,
                                    const tb__country *list, size_t n, tb_error *err);
/* The same of either, as the entry that it becomes. */
TB_MUST_USE tb_code tb__entry_put(tb__placing *placing, tb__lsm_kind kind, const tb__lsm_entry *entry,
                                  tb_error *err);
/* Which part of a series: what the open batch gathered since it had `since` entries of chunks, and the
 * rows of days from first_day on. */
typedef struct tb__series_part {
    int64_t series, first_day;
    size_t since;
} tb__series_part;
/* Calls fn once for each day of a series, in no order: with its row, what waits of it in runs, and what
 * was gathered of it. fn may put. */
TB_MUST_USE tb_code tb__usage_each(tb_store *store, tb__series_part part, tb__day_fn fn, void *ctx,
                                   tb_error *err);
/* The running batch joins those that wait. added: no counter grew by more; newest: its newest hour with usage. */
TB_MUST_USE tb_code tb__batch_end(tb_store *store, int64_t added, int64_t newest, tb_error *err);
/* After a failure: forgets what the running batch gathered. */
void tb__batch_drop(tb_store *store);
/* Writes what the batches that ended gathered, as one run of each kind. */
TB_MUST_USE tb_code tb__batches_write(tb_store *store, tb_error *err);
/* So much waits that no more is to be gathered, or nothing is. */
bool tb__batches_full(const tb_store *store);
/* What comes from here on may be undone alone; it was undone, or all that was gathered. */
void tb__batches_mark(tb_store *store);
void tb__batches_undo(tb_store *store, bool whole);

/* Merges an entry into its row of base. */
TB_MUST_USE tb_code tb__entry_place(tb__placing *placing, tb__lsm_kind kind,
                                  const tb__lsm_entry *entry, tb_error *err);

/* --- compact.c --- */

/* The share of the work of what came: compacts levels that are full, begins a compaction into base when eight days have
 * closed, and moves some rows of it. */
TB_MUST_USE tb_code tb__usage_maintain(tb_store *store, const tb__maintenance_due *due, tb_error *err);
/* Compacts all that is pending into base. TB_E_OVERFLOW names the counter. */
TB_MUST_USE tb_code tb__usage_compact_all(tb_store *store, tb_error *err);
/* One step of it; through: of each kind, 0 at first (tb__lsm_compact_part). */
TB_MUST_USE tb_code tb__usage_compact_part(tb_store *store, int64_t through[TB__LSM_KINDS], bool *ret_more, tb_error *err);
/* Nothing acknowledged fails later: the largest counter ever written to base, all pending entries and `added` together stay
 * below TB_COUNTER_MAX, so no compaction can overflow. Where that would not hold (*ret_kept false), all that is
 * pending was compacted, and what is added must go to base, where an overflow is named. */
TB_MUST_USE tb_code tb__usage_reserve(tb_store *store, int64_t added, bool *ret_kept, tb_error *err);

#endif
