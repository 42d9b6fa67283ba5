/* How usage is written. Base is the tables chunk and country_day (write_buffer.h); a row of it lies where its owner is.
 * There are two ways into the file:
 *
 *   1. day -> memtable -> sorted run       a small batch over many owners: each row of base would cost a page
 *                  (compaction into base moves the run's entries to their rows later: compact.c, lsm/lsm.h)
 *   2. day -> write buffer -> base         a bulk load: many rows change, and lie side by side
 *
 * A batch is one call of tb_store_add_usage or tb_store_add_packed. Its path is memtable.path, and all of its days and
 * countries take it: tb__batch_add_* asks nothing else. Each batch begins on the first path. move_to_base (batch.c) takes
 * it to the second one for good, with what the memtable has of it, for one of two reasons:
 *   - it is large: the memtable has 1 MiB of it (is_large);
 *   - its counters may pass 2^63 - 1 together with what is pending (tb__usage_reserve). An overflow is found, and named,
 *     where a row is merged; so nothing that was acknowledged can fail in a compaction later.
 *
 * What is not a batch writes to base: compaction into base, and a zone with usage that finds its account (usage.c).
 *
 * Group commit: where the caller says so (tb_store_group_batches), batches that have ended stay in the memtable, and the COMMIT
 * writes them as one run of each kind. Before a batch reads what an owner holds, the memtable is flushed.
 *
 * A pack (packed.h) is a small batch that was summed and encoded by another thread. Its entries take the same two paths. */
#ifndef TOLLBOOK_STORE_BATCH_H
#define TOLLBOOK_STORE_BATCH_H

#include "store/core/plane.h"
#include "store/lsm/compact.h"
#include "store/usage/entry.h"
#include "store/usage/write_buffer.h"

typedef enum tb__write_path {
    TB__NO_BATCH, /* no batch is running: writes go to base */
    TB__TO_RUN,
    TB__TO_BASE, /* rows may be written by the thread that the caller lent */
} tb__write_path;

/* In the order in which they were added. */
typedef struct tb__memtable_entry {
    tb__lsm_key key;
    uint32_t at, len; /* in bytes */
} tb__memtable_entry;

/* What came since the last maintenance: batches, their newest hour with usage, the runs and entries that they became. */
typedef struct tb__maintenance_due {
    unsigned batches, runs[TB__LSM_KINDS];
    size_t entries;
    int64_t newest;
} tb__maintenance_due;

/* Of each list the entries up to `written` are in the file, and are kept in case that is undone; those up to `ended` are
 * of batches that have ended; the others are the running batch's. */
typedef struct tb__memtable_state {
    size_t n[TB__LSM_KINDS], ended[TB__LSM_KINDS], written[TB__LSM_KINDS];
    size_t len, ended_len; /* of their bytes */
    int64_t added;         /* no counter grew by more in the batches that have ended and are not written */
    tb__maintenance_due due;
} tb__memtable_state;

typedef struct tb__memtable {
    struct {
        tb__memtable_entry *list;
        size_t cap;
    } of[TB__LSM_KINDS];
    uint8_t *bytes;
    size_t cap;
    tb__memtable_state now, marked; /* marked: as it was at the last mark */
    tb__write_path path;            /* of the running batch */
    bool grouped;                   /* group commit */
} tb__memtable;

/* Scope, owner, edge, id. */
typedef struct tb__series_row {
    int64_t value[4];
} tb__series_row;

/* A connection's part in usage. */
struct tb__usage {
    tb__lsm lsm;
    tb__write_buffer *buffer; /* NULL: a reader's */
    bool rows_changed; /* this transaction changed rows of chunk, or deleted runs that were compacted into them */
    /* Of a writer: the owners that it met (owners.h); the largest counter ever written to base (tb__usage_reserve), good
     * while usage is added. */
    tb__memtable memtable;
    struct tb__owners *owners;
    struct tb__meter_cache *meters; /* likewise: meters.c */
    tb__series_row *new_series; /* those that this transaction begins: owners.h */
    size_t n_new, cap_new;
    size_t copies_most, copied; /* tb_store_bound_work */
    bool copies_alone;
    const struct tb__owner *copies_first; /* who copied first */
    int64_t placed[3]; /* scope, owner and edge of the series that was moved to its place last; 0: begin anew */
    size_t marked, written; /* how many there were at the mark; how many of them are in the file by now */
    int64_t cell_max;
    int64_t series_before, series_id; /* as meta has them; good while tb_store.next_series is known */
    /* Set by tests; 0: the figure that serves best. */
    struct {
        bool no_runs;       /* every batch goes to base */
        size_t step_rows;   /* of a step of compaction into base */
        size_t buffer_rows; /* of half of the write buffer */
        int64_t days;       /* that close before a compaction into base begins */
        bool apart;         /* no account shares the series of a pull zone */
        size_t part;        /* series that are moved at once, and a quarter of those that are pending (owners.c) */
    } test;
};

/* --- the running batch --- */

void tb__batch_begin(tb_store *store);
/* Each adds on the batch's path; without a batch, to base. Counters of a series' day; countries of a zone's day; either, as
 * an entry. */
TB_MUST_USE tb_code tb__batch_add_day(tb_store *store, int64_t series, int64_t day, const tb_grid *hours, tb_error *err);
TB_MUST_USE tb_code tb__batch_add_countries(tb_store *store, int64_t zone, int64_t day, const tb__country *list, size_t n,
                                            tb_error *err);
TB_MUST_USE tb_code tb__batch_add_entry(tb_store *store, tb__lsm_kind kind, const tb__lsm_entry *entry, tb_error *err);
/* All of it is in the memtable or in base. added: no counter grew by more; newest: its newest hour with usage. */
TB_MUST_USE tb_code tb__batch_end(tb_store *store, int64_t added, int64_t newest, tb_error *err);
/* Forgets the running batch's entries that are not written yet; after tb__batch_end there are none. */
void tb__batch_drop(tb_store *store);

/* Part of a series: the entries of counters from `since` on that the running batch added to the memtable, and the rows of
 * days from first_day on. */
typedef struct tb__series_part {
    int64_t series, first_day;
    size_t since;
} tb__series_part;
/* Calls fn once for each day of a series, ascending: its row, its pending entries and the memtable's together. fn may add. */
TB_MUST_USE tb_code tb__series_days(tb_store *store, tb__series_part part, tb__day_fn fn, void *ctx, tb_error *err);

/* --- the memtable --- */

/* Writes the batches that have ended as one run of each kind. */
TB_MUST_USE tb_code tb__memtable_flush(tb_store *store, tb_error *err);
/* Whether it is to be flushed when a batch ends: there is no group commit, or it is full. */
bool tb__memtable_is_due(const tb_store *store);
/* Sets a mark: later entries may be rolled back to it. */
void tb__memtable_mark(tb_store *store);
/* The transaction was undone, or its part since the mark. */
void tb__memtable_undo(tb_store *store, bool whole);

/* --- compact.c --- */

/* The share of the work of what came: compacts levels that are full, begins a compaction into base when eight days have
 * closed, and moves some rows of it. */
TB_MUST_USE tb_code tb__usage_maintain(tb_store *store, const tb__maintenance_due *due, tb_error *err);
/* Compacts all that is pending into base. TB_E_OVERFLOW names the counter. */
TB_MUST_USE tb_code tb__usage_compact_all(tb_store *store, tb_error *err);
/* One step of it; through: of each kind, 0 at first (tb__lsm_compact_part). */
TB_MUST_USE tb_code tb__usage_compact_part(tb_store *store, int64_t through[TB__LSM_KINDS], bool *ret_more, tb_error *err);
/* Whether the largest counter ever written to base, all pending entries and `added` stay below TB_COUNTER_MAX together, so that
 * no compaction can overflow. *ret_fits false: all pending entries were compacted, and the batch must go to base. */
TB_MUST_USE tb_code tb__usage_reserve(tb_store *store, int64_t added, bool *ret_fits, tb_error *err);

#endif
