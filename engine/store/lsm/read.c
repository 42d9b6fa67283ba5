/* Reading runs. The list of a kind's runs is short (some twenty). A connection remembers it, with the runs' directories
 * and the pages that it read, for as long as the file does not change; from there an entry is one row away.
 *
 * Directories and pages outlast a commit where the run is still there: same id, seal and position, and
 * meta.rows_version, which grows when an id may be given again (lsm.h). */
#include "store/lsm/lsm.h"

#include "base/list.h"
#include "store/core/seal.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

#define CACHE_MAX  (4u << 20) /* bytes of pages that a connection caches */
#define MARK_EVERY 16         /* entries of a cached page */

/* Parameters: the kind, and the two rows of meta with its position. If no run is pending: one row with only the
 * version. */
static const char list_sql[] =
    "SELECT r.id,r.level,r.entries,r.sum,r.seal,r.directory,(SELECT value FROM meta WHERE name=?2),"
    "(SELECT value FROM meta WHERE name=?3),v.version"
    " FROM (SELECT coalesce(max(value),0) AS version FROM meta WHERE name='rows_version') v"
    " LEFT JOIN usage_run r ON r.kind=?1 ORDER BY r.id";
static const char page_sql[] = "SELECT data FROM usage_page WHERE id=?1";

void tb__lsm_init(tb__lsm *lsm, sqlite3 *db, const char *path, tb__lsm_fail fail,
                  const tb__lsm_client client[TB__LSM_KINDS])
{
    *lsm = (tb__lsm){.db = db, .path = path, .fail = fail, .client = client};
}

static void drop_pages(tb__lsm *lsm, tb__lsm_run *run)
{
    for (size_t i = 0; run->cached && i < run->pages; i++) {
        free(run->cached[i].data);
        free(run->cached[i].marks);
    }
    free(run->cached);
    run->cached = NULL;
    lsm->cached_bytes -= run->cached_bytes;
    run->cached_bytes = 0;
}

static void drop_runs(tb__lsm *lsm, tb__lsm_run *list, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        drop_pages(lsm, &list[i]);
        free(list[i].first);
    }
}

void tb__lsm_forget(tb__lsm *lsm)
{
    for (int kind = 0; kind < TB__LSM_KINDS; kind++) {
        drop_runs(lsm, lsm->of[kind].run, lsm->of[kind].n);
        lsm->of[kind].n = 0;
        lsm->of[kind].known = false;
    }
}

void tb__lsm_release(tb__lsm *lsm)
{
    tb__lsm_forget(lsm);
    for (int kind = 0; kind < TB__LSM_KINDS; kind++)
        free(lsm->of[kind].run);
    sqlite3_finalize(lsm->list);
    sqlite3_finalize(lsm->page);
}

tb_code tb__lsm_damaged(const tb__lsm *lsm, int64_t run, tb_error *err)
{
    return tb_fail(err, TB_E_CORRUPT, "usage_run",
                   "%s: run %lld of pending usage is damaged; restore a backup and ingest again.",
                   lsm->path, (long long)run);
}

int64_t tb__lsm_seal(int64_t id, tb__lsm_kind kind, int64_t level, int64_t entries, int64_t sum, const void *directory,
                     size_t len)
{
    const int64_t row[5] = {id, kind, level, entries, sum};
    return tb__seal(directory, len, tb__seal(row, sizeof row, 0));
}

static tb_code prepare(tb__lsm *lsm, const char *sql, sqlite3_stmt **ret, tb_error *err)
{
    if (*ret) {
        sqlite3_reset(*ret);
        return TB_OK;
    }
    int rc = sqlite3_prepare_v3(lsm->db, sql, -1, SQLITE_PREPARE_PERSISTENT, ret, NULL);
    return rc == SQLITE_OK ? TB_OK : lsm->fail(lsm->db, rc, lsm->path, err);
}

static tb_code step_row(tb__lsm *lsm, sqlite3_stmt *s, bool *ret_row, tb_error *err)
{
    int rc = sqlite3_step(s);
    *ret_row = rc == SQLITE_ROW;
    if (*ret_row) return TB_OK;
    tb_code code = rc == SQLITE_DONE ? TB_OK : lsm->fail(lsm->db, rc, lsm->path, err);
    sqlite3_reset(s);
    return code;
}

/* --- the list --- */

/* Moves the cached pages of the run from the list before. */
static bool take_over(struct tb__lsm_list *before, tb__lsm_run *run)
{
    for (size_t i = 0; i < before->n; i++) {
        tb__lsm_run *was = &before->run[i];
        if (was->id != run->id || was->seal != run->seal || was->from != run->from) continue;
        *run = *was;
        *was = (tb__lsm_run){0};
        return true;
    }
    return false;
}

/* Two integers a page, the lowest byte first. */
static tb_code read_directory(tb__lsm_run *run, const uint8_t *bytes, size_t len, tb_error *err)
{
    run->pages = len / sizeof *run->first;
    run->first = malloc(len + 1);
    if (!run->first) return tb_no_memory(err);
    memcpy(run->first, bytes, len);
    for (size_t i = 0; i < run->pages; i++)
        run->first[i] = (tb__lsm_key){(int64_t)le64toh((uint64_t)run->first[i].owner),
                                      (int64_t)le64toh((uint64_t)run->first[i].index)};
    return TB_OK;
}

/* A row of list_sql. */
static tb_code add_run(tb__lsm *lsm, tb__lsm_kind kind, struct tb__lsm_list *before, tb_error *err)
{
    struct tb__lsm_list *list = &lsm->of[kind];
    sqlite3_stmt *s = lsm->list;
    const tb__lsm_position at = {sqlite3_column_int64(s, 6), sqlite3_column_int64(s, 7)};
    tb__lsm_run run = {.id = sqlite3_column_int64(s, 0),
                       .level = sqlite3_column_int64(s, 1),
                       .entries = sqlite3_column_int64(s, 2),
                       .sum = sqlite3_column_int64(s, 3),
                       .seal = sqlite3_column_int64(s, 4)};
    const uint8_t *directory = sqlite3_column_blob(s, 5);
    const size_t len = (size_t)sqlite3_column_bytes(s, 5);
    list->rows_version = sqlite3_column_int64(s, 8);
    if (sqlite3_column_type(s, 0) == SQLITE_NULL) return TB_OK;
    run.from = tb__lsm_pending_from(at, run.id);
    const bool possible = run.id >= 1 && run.id < TB__LSM_RUN_END && directory && len % sizeof *run.first == 0 &&
                          len <= TB__LSM_PAGES * sizeof *run.first;
    if (!possible || run.seal != tb__lsm_seal(run.id, kind, run.level, run.entries, run.sum, directory, len))
        return tb__lsm_damaged(lsm, run.id, err);
    tb_code code = tb__grow(&list->run, list->n, &list->cap, sizeof run, err);
    if (code) return code;
    if (list->rows_version != before->rows_version || !take_over(before, &run))
        code = read_directory(&run, directory, len, err);
    if (!code) list->run[list->n++] = run;
    return code;
}

static tb_code read_list(tb__lsm *lsm, tb__lsm_kind kind, struct tb__lsm_list *before, tb_error *err)
{
    bool row = true;
    tb_code code = prepare(lsm, list_sql, &lsm->list, err);
    if (code) return code;
    sqlite3_bind_int(lsm->list, 1, kind);
    sqlite3_bind_text(lsm->list, 2, lsm->client[kind].through_row, -1, SQLITE_STATIC);
    sqlite3_bind_text(lsm->list, 3, lsm->client[kind].owner_row, -1, SQLITE_STATIC);
    while (!code && !(code = step_row(lsm, lsm->list, &row, err)) && row) {
        code = add_run(lsm, kind, before, err);
        if (code) sqlite3_reset(lsm->list);
    }
    return code;
}

/* A list is good within its transaction (there are no temporary tables), and in another one of the same version. What
 * changes runs, and what undoes it, forgets the list. */
tb_code tb__lsm_load(tb__lsm *lsm, tb__lsm_kind kind, tb_error *err)
{
    struct tb__lsm_list *list = &lsm->of[kind], before = *list;
    uint32_t version = 0;
    sqlite3_file_control(lsm->db, NULL, SQLITE_FCNTL_DATA_VERSION, &version);
    if (list->known && list->version == version && sqlite3_txn_state(lsm->db, NULL) != SQLITE_TXN_NONE) return TB_OK;
    *list = (struct tb__lsm_list){.rows_version = before.rows_version};
    tb_code code = read_list(lsm, kind, &before, err);
    drop_runs(lsm, before.run, before.n);
    free(before.run);
    /* Now there is a snapshot, and its version is known. */
    sqlite3_file_control(lsm->db, NULL, SQLITE_FCNTL_DATA_VERSION, &version);
    list->version = version;
    list->known = !code && sqlite3_txn_state(lsm->db, NULL) != SQLITE_TXN_NONE;
    return code;
}

/* --- pages --- */

tb_code tb__lsm_fetch_page(tb__lsm *lsm, const tb__lsm_run *run, size_t page, const uint8_t **ret_data, size_t *ret_len,
                           tb_error *err)
{
    bool row;
    tb_code code = prepare(lsm, page_sql, &lsm->page, err);
    if (code) return code;
    sqlite3_bind_int64(lsm->page, 1, tb__lsm_page_id(run->id, page));
    code = step_row(lsm, lsm->page, &row, err);
    if (code) return code;
    if (!row) return tb__lsm_damaged(lsm, run->id, err);
    *ret_data = sqlite3_column_blob(lsm->page, 0);
    *ret_len = (size_t)sqlite3_column_bytes(lsm->page, 0);
    return TB_OK;
}

/* The last page that begins at or before the key, or the first one. */
size_t tb__lsm_page_of(const tb__lsm_run *run, tb__lsm_key key)
{
    size_t lo = 0, hi = run->pages;
    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        if (tb__lsm_compare(run->first[mid], key) <= 0) lo = mid + 1;
        else hi = mid;
    }
    return lo ? lo - 1 : 0;
}

static tb_code mark_entries(const tb__lsm *lsm, const tb__lsm_run *run, tb__lsm_cached_page *cached,
                            tb__lsm_page_cursor cursor, tb_error *err)
{
    tb__lsm_page_cursor before = cursor;
    tb__lsm_entry e;
    tb_code code = TB_OK;
    for (size_t n = 0; !code && tb__lsm_page_next(&cursor, &e); n++) {
        if (n % MARK_EVERY == 0) {
            code = tb__grow(&cached->marks, cached->n_marks, &cached->cap_marks, sizeof *cached->marks, err);
            if (!code) cached->marks[cached->n_marks++] = (tb__lsm_mark){e.key, before};
        }
        before = cursor;
    }
    return !code && (cursor.bad || !cached->n_marks) ? tb__lsm_damaged(lsm, run->id, err) : code;
}

/* Reads a page, checks and marks it. */
static tb_code check_page(tb__lsm *lsm, tb__lsm_run *run, size_t page, tb__lsm_cached_page *cached, tb_error *err)
{
    const uint8_t *data = NULL;
    size_t len = 0;
    tb__lsm_page_cursor cursor;
    tb_code code = tb__lsm_fetch_page(lsm, run, page, &data, &len, err);
    if (code) return code;
    cached->data = malloc(len + 1);
    if (cached->data && data) memcpy(cached->data, data, len);
    sqlite3_reset(lsm->page);
    if (!cached->data) return tb_no_memory(err);
    if (!tb__lsm_page_open(&cursor, cached->data, len, tb__lsm_page_id(run->id, page)))
        return tb__lsm_damaged(lsm, run->id, err);
    code = mark_entries(lsm, run, cached, cursor, err);
    if (code) return code;
    const size_t bytes = len + cached->cap_marks * sizeof *cached->marks;
    run->cached_bytes += bytes;
    lsm->cached_bytes += bytes;
    return TB_OK;
}

/* When the cache is full it is emptied: pages in use are read again. */
static tb_code cached_page(tb__lsm *lsm, tb__lsm_run *run, size_t page, const tb__lsm_cached_page **ret, tb_error *err)
{
    if (!run->cached || !run->cached[page].data) {
        tb__lsm_cached_page fresh = {0};
        for (int kind = 0; lsm->cached_bytes > CACHE_MAX && kind < TB__LSM_KINDS; kind++)
            for (size_t i = 0; i < lsm->of[kind].n; i++)
                drop_pages(lsm, &lsm->of[kind].run[i]);
        if (!run->cached) run->cached = calloc(run->pages, sizeof *run->cached);
        if (!run->cached) return tb_no_memory(err);
        tb_code code = check_page(lsm, run, page, &fresh, err);
        if (code) {
            free(fresh.data);
            free(fresh.marks);
            return code;
        }
        run->cached[page] = fresh;
    }
    *ret = &run->cached[page];
    return TB_OK;
}

/* --- the entries of a span --- */

/* From the last mark at or before the key. */
static tb__lsm_page_cursor cursor_from(const tb__lsm_cached_page *cached, tb__lsm_key key)
{
    size_t lo = 0, hi = cached->n_marks;
    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        if (tb__lsm_compare(cached->marks[mid].key, key) <= 0) lo = mid + 1;
        else hi = mid;
    }
    return cached->marks[lo ? lo - 1 : 0].cursor;
}

typedef struct visit {
    tb__lsm_span span;
    tb__lsm_fn fn;
    void *ctx;
} visit;

static tb_code each_of_run(tb__lsm *lsm, tb__lsm_run *run, const visit *v, tb_error *err)
{
    bool past = v->span.last.owner < run->from;
    tb_code code = TB_OK;
    for (size_t page = tb__lsm_page_of(run, v->span.first); !code && !past && page < run->pages; page++) {
        const tb__lsm_cached_page *cached = NULL;
        tb__lsm_entry e;
        if (tb__lsm_compare(run->first[page], v->span.last) > 0) break;
        code = cached_page(lsm, run, page, &cached, err);
        if (code) break;
        tb__lsm_page_cursor cursor = cursor_from(cached, v->span.first);
        while (!code && !past && tb__lsm_page_next(&cursor, &e)) {
            past = tb__lsm_compare(e.key, v->span.last) > 0;
            if (past || tb__lsm_compare(e.key, v->span.first) < 0 || e.key.owner < run->from) continue;
            code = v->fn(v->ctx, &e, err);
        }
    }
    return code;
}

tb_code tb__lsm_each(tb__lsm *lsm, tb__lsm_kind kind, tb__lsm_span span, tb__lsm_fn fn, void *ctx, tb_error *err)
{
    const visit v = {span, fn, ctx};
    tb_code code = tb__lsm_load(lsm, kind, err);
    for (size_t i = 0; !code && i < lsm->of[kind].n; i++)
        code = each_of_run(lsm, &lsm->of[kind].run[i], &v, err);
    return code;
}
