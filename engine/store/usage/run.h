/* Runs: what batches added and what has not been folded into its place yet.
 *
 * A chunk's row lies where its series is, so a small batch over many series would touch a page for
 * each of them. Instead a batch leaves one run: its changes, sorted, side by side in a few pages.
 * Eight runs of a level are merged into one of the next, and once eight days have closed all that waits
 * is folded into the rows of chunk and country_day, some series at a time.
 *
 * What holds at every commit: a chunk's content is its row merged with the entries of its key in
 * all runs, in any order, since sums and maxima do not mind it. An entry that is folded no longer
 * counts: of the runs up to meta.fold_run_K, entries of owners below meta.fold_owner_K (K: the
 * kind). Everything that reads usage reads both, in one snapshot.
 *
 * An entry has a key (owner, index). Of chunks: the series' id and the day, with the day's hours; the
 * chunks of days are sums of these, and are made of them where they are read or folded. Of countries:
 * the zone and the day. */
#ifndef TOLLBOOK_STORE_RUN_H
#define TOLLBOOK_STORE_RUN_H

#include "base/quick.h"
#include "store/usage/chunk.h"
#include "store/usage/connection.h"
#include "store/usage/country.h"
#include "tollbook/error.h"
#include "tollbook/rollup.h"

typedef enum tb__run_kind { TB__RUN_CHUNKS, TB__RUN_COUNTRIES, TB__RUN_KINDS } tb__run_kind;

typedef struct tb__run_key {
    int64_t owner, index;
} tb__run_key;

static inline tb__run_key tb__run_key_of(int64_t chunk_key)
{
    return (tb__run_key){chunk_key >> TB__SERIES_SHIFT,
                         chunk_key & ((INT64_C(1) << TB__SERIES_SHIFT) - 1)};
}

static inline int64_t tb__run_chunk_key(tb__run_key key)
{
    return key.owner << TB__SERIES_SHIFT | key.index;
}

static inline int tb__run_compare(tb__run_key a, tb__run_key b)
{
    if (a.owner != b.owner) return a.owner < b.owner ? -1 : 1;
    return a.index < b.index ? -1 : a.index > b.index;
}

/* --- what an entry says (run_entry.c): the counters that are not zero, as LEB128 --- */

#define TB__RUN_GRID_MAX (10 + TB_METRIC_COUNT * TB_GRID_SLOTS * 9)
#define TB__RUN_LIST_MAX (TB__COUNTRY_MAX * (2 + 9 + 9))
#define TB__RUN_ENTRY_MAX                                                                          \
    (TB__RUN_GRID_MAX > TB__RUN_LIST_MAX ? TB__RUN_GRID_MAX : TB__RUN_LIST_MAX)

/* Each returns the bytes written. */
size_t tb__run_put_grid(const tb_grid *grid, uint8_t *out);
size_t tb__run_put_list(const tb__country *list, size_t n, uint8_t *out);
/* false: not what put wrote. */
bool tb__run_get_grid(const uint8_t *data, size_t len, tb_grid *ret_grid);
/* Buckets that a grid's hours go to: those of hour 0 are at `first`, which may be outside of them, as may others. */
typedef struct tb__run_buckets {
    uint64_t *const *value; /* by metric; NULL: it is not wanted */
    int64_t first, count;
    bool hourly; /* else all hours go to `first` */
} tb__run_buckets;
/* Adds the values where they belong, by what the metric is, a sum or the largest. */
bool tb__run_add_grid(const uint8_t *data, size_t len, const tb__run_buckets *to);
/* Adds the values of some metrics and slots; of metrics that are summed. */
bool tb__run_sum_grid(const uint8_t *data, size_t len, uint32_t metrics, uint32_t slots,
                      uint64_t sum[TB_METRIC_COUNT]);
bool tb__run_get_list(const uint8_t *data, size_t len, tb__country *list, size_t *ret_n);
tb_code tb__entry_damaged(tb_error *err); /* what to say of such a one */
/* Merges n entries of one kind, one at least, into out (TB__RUN_ENTRY_MAX). Their keys are not looked at. */
typedef struct tb__run_entry {
    tb__run_key key;
    const uint8_t *data;
    size_t len;
} tb__run_entry;
TB_MUST_USE tb_code tb__run_join(tb__run_kind kind, const tb__run_entry *list, size_t n, uint8_t *out,
                                 size_t *ret_len, tb_error *err);

/* --- pages (run_page.c): entries side by side, each with its length, so that one is found by
 * stepping over those before it --- */

/* A run's directory has the first key of each page. */
#define TB__RUN_PAGE_BITS 10
#define TB__RUN_PAGES     (1 << TB__RUN_PAGE_BITS) /* of a run, at most */
#define TB__RUN_END       (INT64_C(1) << (63 - TB__RUN_PAGE_BITS)) /* ids of runs are below it */

static inline int64_t tb__run_page_id(int64_t run, size_t page)
{
    return run << TB__RUN_PAGE_BITS | (int64_t)page;
}

typedef struct tb__run_page {
    uint8_t *data;
    size_t len, cap;
    tb__run_key last;
} tb__run_page;

/* Appends an entry; keys ascend. */
TB_MUST_USE tb_code tb__run_page_add(tb__run_page *page, const tb__run_entry *entry, tb_error *err);
/* Closes the page with its checksum. id: the row's. */
TB_MUST_USE tb_code tb__run_page_end(tb__run_page *page, int64_t id, tb_error *err);

/* Walks a page. */
typedef struct tb__run_walk {
    const uint8_t *at, *end;
    tb__run_key last;
    bool begun;
    bool bad; /* it is not what add wrote */
} tb__run_walk;

/* false: damaged, or another row's. */
bool tb__run_walk_begin(tb__run_walk *walk, const uint8_t *data, size_t len, int64_t id);
/* false: the end, or damage (walk->bad). */
bool tb__run_walk_next(tb__run_walk *walk, tb__run_entry *ret_entry);

/* A place in a page: the entry with this key is the next one. */
typedef struct tb__run_mark {
    tb__run_key key;
    tb__run_walk walk;
} tb__run_mark;

/* --- reading (run_read.c): works on any connection, for the virtual tables need it too --- */

/* A page that was read and found sound, and where every sixteenth of its entries begins. Who asks for
 * many series comes back to it. */
typedef struct tb__run_kept {
    uint8_t *data; /* NULL: it is not kept */
    tb__run_mark *marks;
    size_t n_marks, cap_marks;
} tb__run_kept;

/* One run that waits. */
typedef struct tb__usage_run {
    int64_t id, level, entries, sum, seal;
    int64_t from; /* entries of owners below it are folded */
    tb__run_key *first; /* of each page */
    size_t pages;
    tb__run_kept *kept; /* of each page; NULL: none is kept */
    size_t kept_bytes;
} tb__usage_run;

/* SQLite's error as ours. */
typedef tb_code (*tb__runs_fail)(sqlite3 *db, int rc, const char *path, tb_error *err);

typedef struct tb__runs {
    sqlite3 *db;
    const char *path; /* for messages */
    tb__runs_fail fail;
    sqlite3_stmt *list, *page;
    size_t kept_bytes; /* of all kept pages */
    struct tb__run_list {
        tb__usage_run *run; /* ascending by id */
        size_t n, cap;
        uint32_t version; /* of the file, when they were read */
        int64_t rows_version; /* meta.rows_version then */
        bool known;
    } of[TB__RUN_KINDS];
} tb__runs;

void tb__runs_init(tb__runs *runs, sqlite3 *db, const char *path, tb__runs_fail fail);
void tb__runs_release(tb__runs *runs);
/* The list of runs is read again before it is used: for a writer, which changes it. */
void tb__runs_forget(tb__runs *runs);
/* The waiting runs of a kind in the connection's snapshot, runs->of[kind]. */
TB_MUST_USE tb_code tb__runs_load(tb__runs *runs, tb__run_kind kind, tb_error *err);

/* first and last of one owner, or of all between two. */
typedef struct tb__run_span {
    tb__run_key first, last;
} tb__run_span;

typedef tb_code (*tb__run_fn)(void *ctx, const tb__run_entry *entry, tb_error *err);
/* Calls fn for each entry of the span that counts: run by run, ascending within one. */
TB_MUST_USE tb_code tb__runs_each(tb__runs *runs, tb__run_kind kind, tb__run_span span,
                                  tb__run_fn fn, void *ctx, tb_error *err);

/* Rows of meta, by kind: up to which run is being folded (0: nothing is), and from which owner on. */
extern const char *const tb__fold_run_name[TB__RUN_KINDS];
extern const char *const tb__fold_owner_name[TB__RUN_KINDS];
/* The seal of a run's row. directory: two little-endian integers a page. */
int64_t tb__seal_run(int64_t id, tb__run_kind kind, int64_t level, int64_t entries, int64_t sum,
                     const void *directory, size_t len);

/* A walk over a whole run from an owner on, which keeps its page. */
typedef struct tb__run_cursor {
    tb__runs *runs;
    const tb__usage_run *run;
    int64_t from; /* the first owner */
    size_t page;  /* the next one */
    uint8_t *data;
    size_t cap;
    tb__run_walk walk;
    tb__run_entry entry;
    bool over;
} tb__run_cursor;

TB_MUST_USE tb_code tb__run_cursor_begin(tb__run_cursor *cursor, tb__runs *runs,
                                         const tb__usage_run *run, int64_t owner, tb_error *err);
TB_MUST_USE tb_code tb__run_cursor_next(tb__run_cursor *cursor, tb_error *err);
void tb__run_cursor_release(tb__run_cursor *cursor);

/* The entries of several runs as one ascending sequence; those of one key are joined. */
typedef struct tb__run_union {
    tb__run_kind kind;
    tb__run_cursor *cursor;
    tb__u128 *key;   /* at which each cursor stands, as one number; the greatest: it is over */
    size_t *lowest; /* the cursors of the entry that was given last */
    tb__run_entry *entry; /* theirs */
    size_t n, n_lowest;
    uint8_t joined[TB__RUN_ENTRY_MAX];
} tb__run_union;

/* Takes the n runs of the list, from an owner on (INT64_MIN: from the beginning). They stay where
 * they are. */
TB_MUST_USE tb_code tb__run_union_begin(tb__run_union *u, tb__runs *runs, tb__run_kind kind,
                                        const tb__usage_run *list, size_t n, int64_t owner,
                                        tb_error *err);
/* *ret_more false: the end. The entry lives until the next call. */
TB_MUST_USE tb_code tb__run_union_next(tb__run_union *u, tb__run_entry *ret_entry, bool *ret_more,
                                       tb_error *err);
void tb__run_union_release(tb__run_union *u);

/* --- what waits of one owner, merged (pending.c) --- */

typedef struct tb__pending {
    size_t next; /* behind the one that was asked for last */
    struct tb__pending_day {
        int64_t index;
        tb_grid *grid;
    } *list; /* ascending by index */
    size_t n, cap; /* list[n..cap) may have spare grids */
} tb__pending;

/* The grid of an index, made and cleared where there is none. */
TB_MUST_USE tb_code tb__pending_at(tb__pending *p, int64_t index, tb_grid **ret_grid,
                                   tb_error *err);
tb_grid *tb__pending_find(const tb__pending *p, int64_t index); /* NULL: there is none */
/* Merges an entry of chunks into it: a tb__run_fn. */
TB_MUST_USE tb_code tb__pending_add(void *pending, const tb__run_entry *entry, tb_error *err);
void tb__pending_clear(tb__pending *p);
void tb__pending_release(tb__pending *p);
/* Merges what waits of one chunk, of hours or of days, into a grid. */
TB_MUST_USE tb_code tb__pending_merge(tb__runs *runs, int64_t key, tb_grid *into, tb_error *err);
/* Chunks of hours of one series between two keys, both included: replaces what p holds; indexes are
 * days. */
TB_MUST_USE tb_code tb__pending_read(tb__pending *p, tb__runs *runs, int64_t first_key,
                                     int64_t last_key, tb_error *err);

#endif
