/* A log-structured merge tree (LSM). Its base is ordinary tables of the same SQLite file.
 *
 * Rows of base are ordered by owner, so a small batch over many owners would rewrite a page for each of them.
 * Such a batch is stored as one sorted run instead: its entries, ascending by key, in a few pages side by side.
 * Compaction of a level turns eight runs into one of the next level. Compaction into base moves the entries of the
 * oldest runs to their rows, owner by owner, a bounded step with each batch.
 *
 * What holds at every commit:
 * - A reader sees base and the pending entries of all runs in one snapshot. The content of a key is its row in base plus its
 *   pending entries, in any order. An entry is pending until compaction into base has passed its owner (tb__lsm_position).
 * - A run never changes, so its pages may be cached. Its id is given again only after compaction into base deleted the run;
 *   that raises meta.rows_version, and a reader drops what it cached under another version.
 * - Runs, base and position change in one transaction. A crash leaves the last commit and nothing to repair. A transaction
 *   that is undone takes its runs and its position with it; whoever changes or undoes them calls tb__lsm_forget.
 * - Only compaction deletes runs, and retention those of request logs that are too old. Compaction of a level deletes its
 *   eight inputs when it writes the new run; compaction into base deletes its inputs, or marks them as obsolete, in its last
 *   step. A run takes part in one compaction at a time.
 * - Bounds: a run has at most 1,024 pages, an entry at most 16 KiB; a connection caches 4 MiB of pages; a step of
 *   compaction into base moves a given number of entries and finishes the owner that it is at.
 *
 * Clients. Counters and countries are kinds of run in the tables usage_run and usage_page. They share all of this; a
 * tb__lsm_client says how entries of a kind are summed. Runs of request logs (logs/log_run.h) share the position and
 * compaction into base (compact.h). Their storage stays apart, for these reasons:
 * - Lines are not summed and keep the order in which they came. Merging the runs of a level would compress each line once more
 *   and save a reader nothing.
 * - A run of lines is one compressed block, which is looked up by time and by a directory of its pull zones, not by key.
 * - Lines hold addresses. Their pages are overwritten when they are deleted, which costs as much as writing them, so
 *   obsolete runs go a few with each batch. Pages of counters are given back as they are.
 *
 * The rows of meta that hold positions have names from before: fold_run_K and fold_owner_K.
 *
 * This header and read.c, merged.c and page.c work on any connection: the virtual tables need them too. Writing and
 * compaction: compact.h. */
#ifndef TOLLBOOK_STORE_LSM_H
#define TOLLBOOK_STORE_LSM_H

#include "base/quick.h"
#include "store/core/connection.h"
#include "tollbook/error.h"

/* As usage_run.kind has them. */
typedef enum tb__lsm_kind { TB__LSM_COUNTERS, TB__LSM_COUNTRIES, TB__LSM_KINDS } tb__lsm_kind;

/* Of counters: a series' id and a day. Of countries: a pull zone and a day. Owners are 1 or more. */
typedef struct tb__lsm_key {
    int64_t owner, index;
} tb__lsm_key;

#define TB__LSM_INDEX_MAX ((INT64_C(1) << 17) - 1)
#define TB__LSM_ENTRY_MAX 16384 /* bytes of an entry */

static inline int tb__lsm_compare(tb__lsm_key a, tb__lsm_key b)
{
    if (a.owner != b.owner) return a.owner < b.owner ? -1 : 1;
    return a.index < b.index ? -1 : a.index > b.index;
}

typedef struct tb__lsm_entry {
    tb__lsm_key key;
    const uint8_t *data;
    size_t len;
} tb__lsm_entry;

/* How far compaction into base came. */
typedef struct tb__lsm_position {
    int64_t through; /* the newest run that takes part; 0: no compaction is under way */
    int64_t owner;   /* entries of those runs with an owner below it are in base */
} tb__lsm_position;

/* The first owner with pending entries in a run. */
static inline int64_t tb__lsm_pending_from(tb__lsm_position at, int64_t run)
{
    return run <= at.through ? at.owner : INT64_MIN;
}

/* What a kind brings. */
typedef struct tb__lsm_client {
    const char *through_row, *owner_row; /* of meta: the position */
    /* Sums n entries of one key, one at least, into out (TB__LSM_ENTRY_MAX). */
    tb_code (*sum)(const tb__lsm_entry *list, size_t n, uint8_t *out, size_t *ret_len, tb_error *err);
} tb__lsm_client;

/* --- pages (page.c): entries side by side, each with its length, so that an entry is found by stepping over those
 * before it --- */

/* A run's directory has the first key of each page. */
#define TB__LSM_PAGE_BITS 10
#define TB__LSM_PAGES     (1 << TB__LSM_PAGE_BITS) /* of a run, at most */
#define TB__LSM_RUN_END   (INT64_C(1) << (63 - TB__LSM_PAGE_BITS)) /* ids of runs are below it */

static inline int64_t tb__lsm_page_id(int64_t run, size_t page)
{
    return run << TB__LSM_PAGE_BITS | (int64_t)page;
}

typedef struct tb__lsm_page {
    uint8_t *data;
    size_t len, cap;
    tb__lsm_key last;
} tb__lsm_page;

/* Appends an entry; keys ascend. */
TB_MUST_USE tb_code tb__lsm_page_add(tb__lsm_page *page, const tb__lsm_entry *entry, tb_error *err);
/* Closes the page with its checksum. id: of its row in usage_page. */
TB_MUST_USE tb_code tb__lsm_page_end(tb__lsm_page *page, int64_t id, tb_error *err);

/* Walks the entries of a page. */
typedef struct tb__lsm_page_cursor {
    const uint8_t *at, *end;
    tb__lsm_key last;
    bool begun;
    bool bad; /* the bytes are not what tb__lsm_page_add wrote */
} tb__lsm_page_cursor;

/* false: the page is damaged, or another row's. */
bool tb__lsm_page_open(tb__lsm_page_cursor *cursor, const uint8_t *data, size_t len, int64_t id);
/* false: the end, or damage (cursor->bad). */
bool tb__lsm_page_next(tb__lsm_page_cursor *cursor, tb__lsm_entry *ret_entry);

/* --- the list of runs, and the entries of a span (read.c) --- */

/* The position of a cursor before the entry with this key. */
typedef struct tb__lsm_mark {
    tb__lsm_key key;
    tb__lsm_page_cursor cursor;
} tb__lsm_mark;

/* A page that was read and found sound, with a mark at every sixteenth entry. A reader of many series comes back to
 * it. */
typedef struct tb__lsm_cached_page {
    uint8_t *data; /* NULL: it is not cached */
    tb__lsm_mark *marks;
    size_t n_marks, cap_marks;
} tb__lsm_cached_page;

typedef struct tb__lsm_run {
    int64_t id, level, entries, sum, seal;
    int64_t from;       /* entries of owners below it are not pending */
    tb__lsm_key *first; /* of each page */
    size_t pages;
    tb__lsm_cached_page *cached; /* of each page; NULL: none is cached */
    size_t cached_bytes;
} tb__lsm_run;

/* SQLite's error as ours. */
typedef tb_code (*tb__lsm_fail)(sqlite3 *db, int rc, const char *path, tb_error *err);

/* A connection's view of all kinds. */
typedef struct tb__lsm {
    sqlite3 *db;
    const char *path; /* for messages */
    tb__lsm_fail fail;
    const tb__lsm_client *client; /* of each kind */
    sqlite3_stmt *list, *page;
    size_t cached_bytes; /* of all cached pages */
    struct tb__lsm_list {
        tb__lsm_run *run; /* those with pending entries, ascending by id */
        size_t n, cap;
        uint32_t version;     /* of the file, when the list was read */
        int64_t rows_version; /* meta.rows_version then */
        bool known;
    } of[TB__LSM_KINDS];
} tb__lsm;

void tb__lsm_init(tb__lsm *lsm, sqlite3 *db, const char *path, tb__lsm_fail fail,
                  const tb__lsm_client client[TB__LSM_KINDS]);
void tb__lsm_release(tb__lsm *lsm);
/* The lists are read again before they are used. */
void tb__lsm_forget(tb__lsm *lsm);
/* Reads the list of a kind in the connection's snapshot, lsm->of[kind]. */
TB_MUST_USE tb_code tb__lsm_load(tb__lsm *lsm, tb__lsm_kind kind, tb_error *err);

/* Both ends are included. */
typedef struct tb__lsm_span {
    tb__lsm_key first, last;
} tb__lsm_span;

typedef tb_code (*tb__lsm_fn)(void *ctx, const tb__lsm_entry *entry, tb_error *err);
/* Calls fn for each pending entry of the span: run by run, ascending within a run. */
TB_MUST_USE tb_code tb__lsm_each(tb__lsm *lsm, tb__lsm_kind kind, tb__lsm_span span, tb__lsm_fn fn, void *ctx,
                                 tb_error *err);

/* A page's bytes, which live until lsm->page is used again; the caller resets it. */
TB_MUST_USE tb_code tb__lsm_fetch_page(tb__lsm *lsm, const tb__lsm_run *run, size_t page, const uint8_t **ret_data,
                                       size_t *ret_len, tb_error *err);
/* The page that has the key, if any page of the run has. */
size_t tb__lsm_page_of(const tb__lsm_run *run, tb__lsm_key key);
tb_code tb__lsm_damaged(const tb__lsm *lsm, int64_t run, tb_error *err);
/* The seal of a run's row. directory: two little-endian integers a page. */
int64_t tb__lsm_seal(int64_t id, tb__lsm_kind kind, int64_t level, int64_t entries, int64_t sum, const void *directory,
                     size_t len);

/* --- cursors (merged.c) --- */

/* Walks the pending entries of one run from an owner on. */
typedef struct tb__lsm_cursor {
    tb__lsm *lsm;
    const tb__lsm_run *run;
    int64_t from; /* the first owner */
    size_t page;  /* the next one */
    uint8_t *data;
    size_t cap;
    tb__lsm_page_cursor in_page;
    tb__lsm_entry entry;
    bool over;
} tb__lsm_cursor;

TB_MUST_USE tb_code tb__lsm_cursor_begin(tb__lsm_cursor *cursor, tb__lsm *lsm, const tb__lsm_run *run, int64_t owner,
                                         tb_error *err);
TB_MUST_USE tb_code tb__lsm_cursor_next(tb__lsm_cursor *cursor, tb_error *err);
void tb__lsm_cursor_release(tb__lsm_cursor *cursor);

/* The pending entries of several runs as one ascending sequence; those of one key are summed. */
typedef struct tb__lsm_merged {
    const tb__lsm_client *client;
    tb__lsm_cursor *cursor;
    tb__u128 *key;        /* the current key of each cursor, as one number; the greatest: at its end */
    size_t *lowest;       /* the cursors of the last returned entry */
    tb__lsm_entry *entry; /* their entries */
    size_t n, n_lowest;
    uint8_t summed[TB__LSM_ENTRY_MAX];
} tb__lsm_merged;

/* Merges the first n runs of the list, from an owner on (INT64_MIN: from the beginning). The list must not change. */
TB_MUST_USE tb_code tb__lsm_merged_begin(tb__lsm_merged *merged, tb__lsm *lsm, tb__lsm_kind kind, const tb__lsm_run *list,
                                         size_t n, int64_t owner, tb_error *err);
/* *ret_more false: the end. The entry lives until the next call. */
TB_MUST_USE tb_code tb__lsm_merged_next(tb__lsm_merged *merged, tb__lsm_entry *ret_entry, bool *ret_more, tb_error *err);
/* Also valid for one that is all zero. */
void tb__lsm_merged_release(tb__lsm_merged *merged);

#endif
