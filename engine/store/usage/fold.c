/* Runs grow and go: a batch's is written at level 0, FAN of a level become one of the next, and when
 * FOLD_DAYS days have closed all that wait then are folded into their places. A series has pages of its
 * own there, so eight of its days side by side cost little more than one.
 *
 * What a merge keeps true: an entry of the new run is the sum of the old ones' entries of its key, and
 * the old ones go in the same transaction. A fold goes by owners, ascending, over the runs up to
 * meta.fold_run_K; meta.fold_owner_K is how far it came. Runs that come meanwhile are not touched by
 * it, and those it works on are not merged. At its end they are deleted. */
#include "store/usage/batch.h"

#include "store/usage/overflow.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

#define FAN         8
#define LEVELS      16
#define PAGE_BYTES  8000       /* a page of a small run: one of the file's */
#define FOLD_DAYS   8
#define SLICE_ROWS  2048       /* folded with a batch */
#define PART_ROWS   8192       /* folded by themselves */
#define WAIT_MANY   1000000    /* entries; past that twice what a batch brings is folded with it */
#define WAIT_MAX    2000000    /* entries that may wait, whatever the day */
#define PAGES_EVEN  128        /* so many pages of a run are of one size; then it doubles */
#define STRAGGLERS  2          /* hours after midnight until a day has closed */
#define NOT_FOLDING INT64_MIN  /* meta.fold_owner_K */

/* --- writing a run --- */

typedef struct writing {
    tb_store *store;
    int64_t id, entries;
    size_t target; /* bytes of a page */
    tb__run_page page;
    tb__run_key *first;
    size_t pages, cap;
} writing;

static tb_code put_usage_page(writing *w, tb_error *err)
{
    int64_t id = tb__run_page_id(w->id, w->pages - 1);
    sqlite3_stmt *s;
    tb_code code = tb__run_page_end(&w->page, id, err);
    if (!code) code = tb__sql_ints(w->store, TB__SQL_USAGE_PAGE_INSERT, &id, 1, &s, err);
    if (code) return code;
    int rc = sqlite3_bind_blob64(s, 2, w->page.data, w->page.len, SQLITE_STATIC);
    if (rc != SQLITE_OK) return tb__sqlite_fail(w->store->db, rc, w->store->path, err);
    w->page.len = 0;
    return tb__run(w->store, s, err);
}

/* A run that turns out longer than was said has larger pages, not too many. */
static bool page_is_full(const writing *w, const tb__run_entry *entry)
{
    const size_t target = w->target << (w->pages / PAGES_EVEN);
    return w->page.len && w->page.len + entry->len > target && w->pages < TB__RUN_PAGES;
}

static tb_code write_entry(writing *w, const tb__run_entry *entry, tb_error *err)
{
    tb_code code = page_is_full(w, entry) ? put_usage_page(w, err) : TB_OK;
    if (!code && !w->page.len) {
        code = tb__grow(&w->first, w->pages, &w->cap, sizeof *w->first, err);
        if (code) return code;
        w->first[w->pages++] = (tb__run_key){(int64_t)htole64((uint64_t)entry->key.owner),
                                             (int64_t)htole64((uint64_t)entry->key.index)};
    }
    if (!code) code = tb__run_page_add(&w->page, entry, err);
    w->entries++;
    return code;
}

static tb_code put_run(const writing *w, tb__run_kind kind, int64_t level, int64_t sum,
                       tb_error *err)
{
    const size_t len = w->pages * sizeof *w->first;
    const int64_t row[6] = {
        w->id, kind, level, w->entries, sum,
        tb__seal_run(w->id, kind, level, w->entries, sum, w->first, len)};
    sqlite3_stmt *s;
    tb_code code = tb__sql_ints(w->store, TB__SQL_USAGE_RUN_INSERT, row, 6, &s, err);
    if (code) return code;
    sqlite3_bind_blob(s, 7, w->first, (int)len, SQLITE_STATIC);
    return tb__run(w->store, s, err);
}

tb_code tb__run_write(tb_store *store, tb__run_kind kind, int64_t level, int64_t sum, size_t bytes,
                      tb__run_next next, void *ctx, tb_error *err)
{
    const size_t share = bytes / (TB__RUN_PAGES / 2);
    writing w = {.store = store, .target = share > PAGE_BYTES ? share : PAGE_BYTES};
    tb__run_entry entry;
    bool more = true;
    tb_code code = tb__int_of(store, TB__SQL_USAGE_RUN_NEXT, NULL, 0, 1, &w.id, err);
    while (!code && !(code = next(ctx, &entry, &more, err)) && more)
        code = write_entry(&w, &entry, err);
    if (!code && w.page.len) code = put_usage_page(&w, err);
    if (!code && w.entries) code = put_run(&w, kind, level, sum, err);
    tb__runs_forget(&store->usage->runs);
    free(w.page.data);
    free(w.first);
    return code;
}

/* Pages of counters are given back as they are: nobody's words are in them, and to overwrite them, as
 * the store does with whatever else it deletes, would write each once more. */
static tb_code delete_runs(tb_store *store, const tb__usage_run *runs, size_t n, tb_error *err)
{
    tb_code code = tb__exec(store->db, store->path, "PRAGMA secure_delete=OFF", err);
    for (size_t i = 0; !code && i < n; i++) {
        const int64_t id = runs[i].id, pages[2] = {tb__run_page_id(id, 0),
                                                   tb__run_page_id(id, TB__RUN_PAGES - 1)};
        code = tb__run_ints(store, TB__SQL_USAGE_PAGES_DELETE, pages, 2, err);
        if (!code) code = tb__run_ints(store, TB__SQL_USAGE_RUN_DELETE, &id, 1, err);
    }
    tb_code on = tb__exec(store->db, store->path, "PRAGMA secure_delete=ON", code ? NULL : err);
    return code ? code : on;
}

/* --- merging a level --- */

static tb_code union_next(void *ctx, tb__run_entry *ret_entry, bool *ret_more, tb_error *err)
{
    return tb__run_union_next(ctx, ret_entry, ret_more, err);
}

static int64_t add_capped(int64_t a, int64_t b)
{
    return a > (int64_t)TB_COUNTER_MAX - b ? (int64_t)TB_COUNTER_MAX : a + b;
}

/* runs: FAN of one level, copied from the list. */
static tb_code merge_runs(tb_store *store, tb__run_kind kind, const tb__usage_run *runs, tb_error *err)
{
    int64_t sum = 0, bytes = 0, level = runs[0].level;
    tb_code code = TB_OK;
    for (int i = 0; !code && i < FAN; i++) {
        const int64_t pages[2] = {tb__run_page_id(runs[i].id, 0),
                                  tb__run_page_id(runs[i].id, TB__RUN_PAGES - 1)};
        int64_t size = 0;
        code = tb__int_of(store, TB__SQL_USAGE_PAGES_SIZE, pages, 2, 0, &size, err);
        sum = add_capped(sum, runs[i].sum);
        bytes += size;
    }
    if (code) return code;
    tb__run_union *u = calloc(1, sizeof *u);
    if (!u) return tb_no_memory(err);
    code = tb__run_union_begin(u, &store->usage->runs, kind, runs, FAN, INT64_MIN, err);
    if (!code) code = tb__run_write(store, kind, level + 1, sum, (size_t)bytes, union_next, u, err);
    tb__run_union_release(u);
    free(u);
    if (!code) code = delete_runs(store, runs, FAN, err);
    tb__runs_forget(&store->usage->runs);
    return code;
}

/* The oldest FAN runs of the lowest level that has so many; false: no level has. */
static bool full_level(const tb__runs *runs, tb__run_kind kind, int64_t folding, tb__usage_run out[FAN])
{
    for (int64_t level = 0; level < LEVELS; level++) {
        int n = 0;
        for (size_t i = 0; n < FAN && i < runs->of[kind].n; i++) {
            const tb__usage_run *run = &runs->of[kind].run[i];
            if (run->id > folding && run->level == level) out[n++] = *run;
        }
        if (n == FAN) return true;
    }
    return false;
}

/* One a batch: a level fills eight times as slowly as the one below it, so there is a turn for each. */
static tb_code merge_level(tb_store *store, tb__run_kind kind, int64_t folding, tb_error *err)
{
    tb__usage_run eight[FAN];
    tb_code code = tb__runs_load(&store->usage->runs, kind, err);
    if (code || !full_level(&store->usage->runs, kind, folding, eight)) return code;
    code = merge_runs(store, kind, eight, err);
    return code ? code : tb__runs_load(&store->usage->runs, kind, err);
}

/* --- folding --- */

/* Folds entries of the runs up to `through` until `rows` of them are done and an owner ends.
 * *ret_owner: the next one; NOT_FOLDING: none is left. */
static tb_code fold_entries(tb_store *store, tb__run_kind kind, size_t n, size_t rows,
                            int64_t *ret_owner, tb_error *err)
{
    tb__run_entry entry;
    int64_t owner = INT64_MIN;
    bool more = true;
    tb__placing placing = {.store = store};
    tb__run_union *u = calloc(1, sizeof *u);
    if (!u) return tb_no_memory(err);
    tb_code code =
        tb__run_union_begin(u, &store->usage->runs, kind, store->usage->runs.of[kind].run, n, INT64_MIN, err);
    *ret_owner = NOT_FOLDING;
    for (size_t done = 0; !code; done++) {
        code = tb__run_union_next(u, &entry, &more, err);
        if (code || !more) break;
        if (done >= rows && entry.key.owner != owner) {
            *ret_owner = entry.key.owner;
            break;
        }
        owner = entry.key.owner;
        code = tb__run_place(&placing, kind, &entry, err);
    }
    if (!code) code = tb__place_end(&placing, err);
    tb__run_union_release(u);
    free(u);
    return code;
}

static tb_code end_fold(tb_store *store, tb__run_kind kind, size_t n, tb_error *err)
{
    store->usage->rows_changed = true; /* of either kind: ids may be given again */
    tb_code code = delete_runs(store, store->usage->runs.of[kind].run, n, err);
    if (!code) code = tb__meta_set(store, tb__fold_run_name[kind], 0, err);
    return code ? code : tb__meta_set(store, tb__fold_owner_name[kind], NOT_FOLDING, err);
}

/* A part of the fold that is under way. */
static tb_code fold_slice(tb_store *store, tb__run_kind kind, int64_t through, size_t rows,
                          tb_error *err)
{
    int64_t owner = 0;
    size_t n = 0;
    tb_code code = tb__runs_load(&store->usage->runs, kind, err);
    if (code) return code;
    while (n < store->usage->runs.of[kind].n && store->usage->runs.of[kind].run[n].id <= through)
        n++;
    code = fold_entries(store, kind, n, rows, &owner, err);
    if (!code) code = owner == NOT_FOLDING
                          ? end_fold(store, kind, n, err)
                          : tb__meta_set(store, tb__fold_owner_name[kind], owner, err);
    tb__runs_forget(&store->usage->runs);
    return code;
}

static tb_code begin_fold(tb_store *store, tb__run_kind kind, int64_t *ret_through, tb_error *err)
{
    tb_code code = tb__runs_load(&store->usage->runs, kind, err);
    size_t n = store->usage->runs.of[kind].n;
    *ret_through = code || !n ? 0 : store->usage->runs.of[kind].run[n - 1].id;
    if (!code && n) code = tb__meta_set(store, tb__fold_run_name[kind], *ret_through, err);
    tb__runs_forget(&store->usage->runs);
    return code;
}

static int64_t waiting_entries(const tb__runs *runs, tb__run_kind kind)
{
    int64_t n = 0;
    for (size_t i = 0; i < runs->of[kind].n; i++)
        n += runs->of[kind].run[i].entries;
    return n;
}

/* Many entries wait where batches are large or share few keys: then what is folded exceeds what comes. */
static size_t slice_rows(const tb_store *store, int64_t waiting, size_t brought)
{
    if (store->usage->batch.slice) return store->usage->batch.slice;
    return waiting > WAIT_MANY && brought * 2 > SLICE_ROWS ? brought * 2 : SLICE_ROWS;
}

static tb_code tend_kind(tb_store *store, tb__run_kind kind, bool begin, size_t brought,
                         tb_error *err)
{
    int64_t through = 0;
    tb_code code = tb__meta_get(store, tb__fold_run_name[kind], &through, err);
    if (!code) code = merge_level(store, kind, through, err);
    if (!code) code = tb__runs_load(&store->usage->runs, kind, err);
    if (code) return code;
    const int64_t waiting = waiting_entries(&store->usage->runs, kind);
    if (!through && (begin || waiting > WAIT_MAX)) code = begin_fold(store, kind, &through, err);
    return code || !through
               ? code
               : fold_slice(store, kind, through, slice_rows(store, waiting, brought), err);
}

/* Whether a fold is under way, of either kind. */
static tb_code is_folding(tb_store *store, bool *ret_folding, tb_error *err)
{
    tb_code code = TB_OK;
    *ret_folding = false;
    for (int kind = 0; !code && kind < TB__RUN_KINDS; kind++) {
        int64_t through = 0;
        code = tb__meta_get(store, tb__fold_run_name[kind], &through, err);
        *ret_folding |= through != 0;
    }
    return code;
}

/* Whether so many days have closed since the last fold began that the next one may: while another one is
 * under way it waits. */
static tb_code days_closed(tb_store *store, int64_t newest, bool *ret_closed, tb_error *err)
{
    *ret_closed = false;
    if (newest < STRAGGLERS) return TB_OK; /* the batch had no usage */
    const int64_t days = store->usage->batch.days ? store->usage->batch.days : FOLD_DAYS;
    int64_t before = 0, day = tb__floor_div(newest - STRAGGLERS, 24);
    bool folding = false;
    tb_code code = tb__meta_get(store, "fold_day", &before, err);
    if (!code) code = is_folding(store, &folding, err);
    const bool first = before <= 0, enough = day - before >= days;
    *ret_closed = !code && enough && !first && !folding;
    return code || folding || !(first || enough) ? code : tb__meta_set(store, "fold_day", day, err);
}

tb_code tb__runs_tend(tb_store *store, int64_t newest, size_t brought, tb_error *err)
{
    bool closed = false;
    tb_code code = days_closed(store, newest, &closed, err);
    for (int kind = 0; !code && kind < TB__RUN_KINDS; kind++)
        code = tend_kind(store, (tb__run_kind)kind, closed, brought, err);
    return code;
}

tb_code tb__runs_fold_all(tb_store *store, tb_error *err)
{
    tb_code code = TB_OK;
    for (int kind = 0; !code && kind < TB__RUN_KINDS; kind++) {
        int64_t through = 0;
        code = tb__meta_get(store, tb__fold_run_name[kind], &through, err);
        if (!code && through) code = fold_slice(store, (tb__run_kind)kind, through, SIZE_MAX, err);
        if (!code) code = begin_fold(store, (tb__run_kind)kind, &through, err);
        if (!code && through) code = fold_slice(store, (tb__run_kind)kind, through, SIZE_MAX, err);
    }
    return code;
}

static tb_code fold_kind_part(tb_store *store, tb__run_kind kind, bool *begun, bool *ret_more, tb_error *err)
{
    const size_t slice = store->usage->batch.slice;
    int64_t through = 0;
    tb_code code = tb__meta_get(store, tb__fold_run_name[kind], &through, err);
    if (!code && !through && !*begun) {
        *begun = true;
        code = begin_fold(store, kind, &through, err);
    }
    *ret_more = !code && through;
    return *ret_more ? fold_slice(store, kind, through, slice ? slice : PART_ROWS, err) : code;
}

tb_code tb__runs_fold_part(tb_store *store, bool begun[TB__RUN_KINDS], bool *ret_more, tb_error *err)
{
    *ret_more = false;
    tb_code code = tb__meta_get(store, "cell_max", &store->usage->cell_max, err);
    for (int kind = 0; !code && !*ret_more && kind < TB__RUN_KINDS; kind++)
        code = fold_kind_part(store, (tb__run_kind)kind, &begun[kind], ret_more, err);
    store->dirty |= *ret_more;
    return code || !*ret_more ? code : tb__meta_set(store, "cell_max", store->usage->cell_max, err);
}

tb_code tb__runs_promise(tb_store *store, int64_t added, bool *ret_kept, tb_error *err)
{
    int64_t most = add_capped(store->usage->cell_max, added);
    tb_code code = tb__runs_load(&store->usage->runs, TB__RUN_CHUNKS, err);
    for (size_t i = 0; !code && i < store->usage->runs.of[TB__RUN_CHUNKS].n; i++)
        most = add_capped(most, store->usage->runs.of[TB__RUN_CHUNKS].run[i].sum);
    *ret_kept = most < (int64_t)TB_COUNTER_MAX;
    return code || *ret_kept ? code : tb__runs_fold_all(store, err);
}
