/* Writing runs, and deleting them. Ascending entries go into pages side by side; the run's row with the directory of
 * its pages comes last. */
#include "store/lsm/compact.h"

#include <endian.h>
#include <stdlib.h>

#define PAGE_BYTES 8000 /* a page of a small run: one of the file's */
#define PAGES_EVEN 128  /* so many pages of a run are of one size; then it doubles */

typedef struct writing {
    tb_store *store;
    int64_t id, entries;
    size_t target;      /* bytes of a page */
    tb__lsm_page page;  /* the last one */
    tb__lsm_key *first; /* of each page, little-endian */
    size_t pages, cap;
} writing;

static tb_code append_page(writing *w, tb_error *err)
{
    const int64_t id = tb__lsm_page_id(w->id, w->pages - 1);
    sqlite3_stmt *s;
    tb_code code = tb__lsm_page_end(&w->page, id, err);
    if (!code) code = tb__sql_ints(w->store, TB__SQL_USAGE_PAGE_INSERT, &id, 1, &s, err);
    if (code) return code;
    int rc = sqlite3_bind_blob64(s, 2, w->page.data, w->page.len, SQLITE_STATIC);
    if (rc != SQLITE_OK) return tb__sqlite_fail(w->store->db, rc, w->store->path, err);
    code = tb__run(w->store, s, err);
    w->page.len = 0;
    return code;
}

/* A run that becomes longer than its header expected has larger pages, not more of them. */
static tb_code append_entry(writing *w, const tb__lsm_entry *entry, tb_error *err)
{
    const size_t target = w->target << (w->pages / PAGES_EVEN);
    const bool full = w->page.len && w->page.len + entry->len > target && w->pages < TB__LSM_PAGES;
    tb_code code = full ? append_page(w, err) : TB_OK;
    if (!code && !w->page.len) {
        code = tb__grow(&w->first, w->pages, &w->cap, sizeof *w->first, err);
        if (code) return code;
        w->first[w->pages++] = (tb__lsm_key){(int64_t)htole64((uint64_t)entry->key.owner),
                                             (int64_t)htole64((uint64_t)entry->key.index)};
    }
    if (!code) code = tb__lsm_page_add(&w->page, entry, err);
    w->entries++;
    return code;
}

static tb_code insert_run(writing *w, const tb__lsm_header *of, tb_error *err)
{
    const size_t len = w->pages * sizeof *w->first;
    const int64_t seal = tb__lsm_seal(w->id, of->kind, of->level, w->entries, of->sum, w->first, len);
    const int64_t row[6] = {w->id, of->kind, of->level, w->entries, of->sum, seal};
    sqlite3_stmt *s;
    tb_code code = tb__sql_ints(w->store, TB__SQL_USAGE_RUN_INSERT, row, 6, &s, err);
    if (code) return code;
    sqlite3_bind_blob(s, 7, w->first, (int)len, SQLITE_STATIC);
    return tb__run(w->store, s, err);
}

tb_code tb__lsm_write(tb_store *store, tb__lsm *lsm, const tb__lsm_header *header, tb__lsm_source next, void *ctx,
                      size_t *entries, tb_error *err)
{
    const size_t share = header->bytes / (TB__LSM_PAGES / 2);
    writing w = {.store = store, .target = share > PAGE_BYTES ? share : PAGE_BYTES};
    tb__lsm_entry entry;
    bool more = true;
    tb_code code = tb__next_id(store, TB__SQL_USAGE_RUN_NEXT, "usage_run", &w.id, err);
    while (!code && !(code = next(ctx, &entry, &more, err)) && more)
        code = append_entry(&w, &entry, err);
    if (!code && w.page.len) code = append_page(&w, err);
    if (!code && w.entries) code = insert_run(&w, header, err);
    *entries += (size_t)w.entries;
    tb__lsm_forget(lsm);
    free(w.page.data);
    free(w.first);
    return code;
}

/* Pages of counters hold no personal data. They are given back as they are: overwriting them, as the store does with
 * all else that it deletes, would write each once more. */
tb_code tb__lsm_delete(tb_store *store, const tb__lsm_run *runs, size_t n, tb_error *err)
{
    tb_code code = tb__exec(store->db, store->path, "PRAGMA secure_delete=OFF", err);
    for (size_t i = 0; !code && i < n; i++) {
        const int64_t id = runs[i].id;
        const int64_t pages[2] = {tb__lsm_page_id(id, 0), tb__lsm_page_id(id, TB__LSM_PAGES - 1)};
        code = tb__run_ints(store, TB__SQL_USAGE_PAGES_DELETE, pages, 2, err);
        if (!code) code = tb__run_ints(store, TB__SQL_USAGE_RUN_DELETE, &id, 1, err);
    }
    tb_code on = tb__exec(store->db, store->path, "PRAGMA secure_delete=ON", code ? NULL : err);
    return code ? code : on;
}

int64_t tb__add_capped(int64_t a, int64_t b)
{
    return a > (int64_t)TB_COUNTER_MAX - b ? (int64_t)TB_COUNTER_MAX : a + b;
}
