/* Writing runs, and deleting them. What comes ascending is put into pages side by side, and behind the last page
 * the run's row says what they are. */
#include "store/usage/batch.h"

#include <endian.h>
#include <stdlib.h>

#define PAGE_BYTES 8000 /* a page of a small run: one of the file's */
#define PAGES_EVEN 128  /* so many pages of a run are of one size; then it doubles */

typedef struct writing {
    tb_store *store;
    int64_t id, entries;
    size_t target;      /* bytes of a page */
    tb__run_page page;  /* the last one */
    tb__run_key *first; /* of each page, little-endian */
    size_t pages, cap;
} writing;

static tb_code append_page(writing *w, tb_error *err)
{
    const int64_t id = tb__run_page_id(w->id, w->pages - 1);
    sqlite3_stmt *s;
    tb_code code = tb__run_page_end(&w->page, id, err);
    if (!code) code = tb__sql_ints(w->store, TB__SQL_USAGE_PAGE_INSERT, &id, 1, &s, err);
    if (code) return code;
    int rc = sqlite3_bind_blob64(s, 2, w->page.data, w->page.len, SQLITE_STATIC);
    if (rc != SQLITE_OK) return tb__sqlite_fail(w->store->db, rc, w->store->path, err);
    code = tb__run(w->store, s, err);
    w->page.len = 0;
    return code;
}

/* A run that turns out longer than was said has larger pages, not too many. */
static bool page_is_full(const writing *w, const tb__run_entry *entry)
{
    const size_t target = w->target << (w->pages / PAGES_EVEN);
    return w->page.len && w->page.len + entry->len > target && w->pages < TB__RUN_PAGES;
}

static tb_code append_entry(writing *w, const tb__run_entry *entry, tb_error *err)
{
    tb_code code = page_is_full(w, entry) ? append_page(w, err) : TB_OK;
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

static tb_code insert_run(writing *w, const tb__run_what *what, tb_error *err)
{
    const size_t len = w->pages * sizeof *w->first;
    const int64_t row[6] = {w->id,      what->kind, what->level,
                            w->entries, what->sum,  tb__seal_run(w->id, what->kind, what->level, w->entries, what->sum, w->first, len)};
    sqlite3_stmt *s;
    tb_code code = tb__sql_ints(w->store, TB__SQL_USAGE_RUN_INSERT, row, 6, &s, err);
    if (code) return code;
    sqlite3_bind_blob(s, 7, w->first, (int)len, SQLITE_STATIC);
    return tb__run(w->store, s, err);
}

tb_code tb__run_write(tb_store *store, const tb__run_what *what, size_t bytes, tb__run_next next, void *ctx,
                      size_t *entries, tb_error *err)
{
    const size_t share = bytes / (TB__RUN_PAGES / 2);
    writing w = {.store = store, .target = share > PAGE_BYTES ? share : PAGE_BYTES};
    tb__run_entry entry;
    bool more = true;
    tb_code code = tb__next_id(store, TB__SQL_USAGE_RUN_NEXT, "usage_run", &w.id, err);
    while (!code && !(code = next(ctx, &entry, &more, err)) && more)
        code = append_entry(&w, &entry, err);
    if (!code && w.page.len) code = append_page(&w, err);
    if (!code && w.entries) code = insert_run(&w, what, err);
    *entries += (size_t)w.entries;
    tb__runs_forget(&store->usage->runs);
    free(w.page.data);
    free(w.first);
    return code;
}

/* Pages of counters are given back as they are: nobody's words are in them, and to overwrite them, as
 * the store does with whatever else it deletes, would write each once more. */
tb_code tb__runs_delete(tb_store *store, const tb__usage_run *runs, size_t n, tb_error *err)
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
