/* Writing runs, and deleting them. What comes ascending is put into pages side by side, and behind the last page
 * the run's row says what they are. A run may also be packed before it is known under which id it will be
 * written, by another thread: its pages then wait in memory without their checksums. */
#include "store/usage/batch.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

#define PAGE_BYTES 8000 /* a page of a small run: one of the file's */
#define PAGES_EVEN 128  /* so many pages of a run are of one size; then it doubles */

typedef struct writing {
    tb_store *store; /* NULL: pages are kept */
    int64_t id;
    size_t target; /* bytes of a page */
    tb__run_page page;
    tb__run_packed *to;
} writing;

static tb_code insert_page(tb_store *store, tb__run_page *page, int64_t id, tb_error *err)
{
    sqlite3_stmt *s;
    tb_code code = tb__run_page_end(page, id, err);
    if (!code) code = tb__sql_ints(store, TB__SQL_USAGE_PAGE_INSERT, &id, 1, &s, err);
    if (code) return code;
    int rc = sqlite3_bind_blob64(s, 2, page->data, page->len, SQLITE_STATIC);
    if (rc != SQLITE_OK) return tb__sqlite_fail(store->db, rc, store->path, err);
    return tb__run(store, s, err);
}

static tb_code put_usage_page(writing *w, tb_error *err)
{
    tb__run_packed *to = w->to;
    if (!w->store) {
        tb_code code = tb__grow(&to->kept, to->n_kept, &to->cap_kept, sizeof *to->kept, err);
        if (code) return code;
        to->kept[to->n_kept++] = w->page;
        w->page = (tb__run_page){0};
        return TB_OK;
    }
    tb_code code = insert_page(w->store, &w->page, tb__run_page_id(w->id, to->pages - 1), err);
    w->page.len = 0;
    return code;
}

/* A run that turns out longer than was said has larger pages, not too many. */
static bool page_is_full(const writing *w, const tb__run_entry *entry)
{
    const size_t target = w->target << (w->to->pages / PAGES_EVEN);
    return w->page.len && w->page.len + entry->len > target && w->to->pages < TB__RUN_PAGES;
}

static tb_code write_entry(writing *w, const tb__run_entry *entry, tb_error *err)
{
    tb__run_packed *to = w->to;
    tb_code code = page_is_full(w, entry) ? put_usage_page(w, err) : TB_OK;
    if (!code && !w->page.len) {
        code = tb__grow(&to->first, to->pages, &to->cap, sizeof *to->first, err);
        if (code) return code;
        to->first[to->pages++] = (tb__run_key){(int64_t)htole64((uint64_t)entry->key.owner),
                                               (int64_t)htole64((uint64_t)entry->key.index)};
    }
    if (!code) code = tb__run_page_add(&w->page, entry, err);
    to->entries++;
    return code;
}

static tb_code write_entries(writing *w, tb__run_next next, void *ctx, tb_error *err)
{
    tb__run_entry entry;
    bool more = true;
    tb_code code = TB_OK;
    while (!code && !(code = next(ctx, &entry, &more, err)) && more)
        code = write_entry(w, &entry, err);
    if (!code && w->page.len) code = put_usage_page(w, err);
    free(w->page.data);
    return code;
}

static size_t page_target(size_t bytes)
{
    const size_t share = bytes / (TB__RUN_PAGES / 2);
    return share > PAGE_BYTES ? share : PAGE_BYTES;
}

static tb_code put_run(tb_store *store, int64_t id, const tb__run_what *what, const tb__run_packed *packed,
                       tb_error *err)
{
    const size_t len = packed->pages * sizeof *packed->first;
    const int64_t row[6] = {
        id, what->kind, what->level, packed->entries, what->sum,
        tb__seal_run(id, what->kind, what->level, packed->entries, what->sum, packed->first, len)};
    sqlite3_stmt *s;
    tb_code code = tb__sql_ints(store, TB__SQL_USAGE_RUN_INSERT, row, 6, &s, err);
    if (code) return code;
    sqlite3_bind_blob(s, 7, packed->first, (int)len, SQLITE_STATIC);
    return tb__run(store, s, err);
}

static tb_code next_id(tb_store *store, int64_t *ret_id, tb_error *err)
{
    return tb__next_id(store, TB__SQL_USAGE_RUN_NEXT, "usage_run", ret_id, err);
}

tb_code tb__run_write(tb_store *store, const tb__run_what *what, size_t bytes, tb__run_next next, void *ctx,
                      size_t *entries, tb_error *err)
{
    tb__run_packed written = {0};
    writing w = {.store = store, .target = page_target(bytes), .to = &written};
    tb_code code = next_id(store, &w.id, err);
    if (!code) code = write_entries(&w, next, ctx, err);
    if (!code && written.entries) code = put_run(store, w.id, what, &written, err);
    *entries += (size_t)written.entries;
    tb__runs_forget(&store->usage->runs);
    tb__run_packed_release(&written);
    return code;
}

tb_code tb__run_pack(tb__run_packed *packed, size_t bytes, tb__run_next next, void *ctx, tb_error *err)
{
    writing w = {.target = page_target(bytes), .to = packed};
    return write_entries(&w, next, ctx, err);
}

tb_code tb__run_put(tb_store *store, const tb__run_what *what, tb__run_packed *packed, tb_error *err)
{
    int64_t id = 0;
    tb_code code = next_id(store, &id, err);
    for (size_t i = 0; !code && i < packed->n_kept; i++)
        code = insert_page(store, &packed->kept[i], tb__run_page_id(id, i), err);
    if (!code) code = put_run(store, id, what, packed, err);
    tb__runs_forget(&store->usage->runs);
    return code;
}

void tb__run_packed_release(tb__run_packed *packed)
{
    for (size_t i = 0; i < packed->n_kept; i++)
        free(packed->kept[i].data);
    free(packed->kept);
    free(packed->first);
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
