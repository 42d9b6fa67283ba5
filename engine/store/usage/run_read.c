/* Reading runs. The list of those that wait is short (some twenty), and is remembered with their
 * directories for as long as the file does not change; from there an entry is one row away.
 *
 * A run never changes, so its directory and the pages of it that were read outlast a commit. Its id is given
 * again only behind a fold that deleted it, and every fold raises meta.rows_version: where that is another one,
 * nothing is kept. */
#include "store/usage/run.h"

#include "base/list.h"
#include "store/core/seal.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

/* Bound: the kind, and the names of its two rows in meta. Where no run waits, a row with the version alone. */
static const char list_sql[] =
    "SELECT r.id,r.level,r.entries,r.sum,r.seal,r.directory,iif(r.id<=(SELECT value FROM meta WHERE name=?2),"
    "(SELECT value FROM meta WHERE name=?3),-9223372036854775808),v.version"
    " FROM (SELECT coalesce(max(value),0) AS version FROM meta WHERE name='rows_version') v"
    " LEFT JOIN usage_run r ON r.kind=?1 ORDER BY r.id";
static const char page_sql[] = "SELECT data FROM usage_page WHERE id=?1";
const char *const tb__fold_run_name[TB__RUN_KINDS] = {"fold_run_chunks", "fold_run_countries"};
const char *const tb__fold_owner_name[TB__RUN_KINDS] = {"fold_owner_chunks", "fold_owner_countries"};

void tb__runs_init(tb__runs *runs, sqlite3 *db, const char *path, tb__runs_fail fail)
{
    memset(runs, 0, sizeof *runs);
    runs->db = db;
    runs->path = path;
    runs->fail = fail;
}

#define KEPT_MAX (4u << 20) /* bytes of pages that a connection keeps */

static void drop_kept(tb__runs *runs, tb__usage_run *run)
{
    for (size_t i = 0; run->kept && i < run->pages; i++) {
        free(run->kept[i].data);
        free(run->kept[i].marks);
    }
    free(run->kept);
    run->kept = NULL;
    runs->kept_bytes -= run->kept_bytes;
    run->kept_bytes = 0;
}

static void drop_runs(tb__runs *runs, tb__usage_run *list, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        drop_kept(runs, &list[i]);
        free(list[i].first);
    }
}

static void clear_list(tb__runs *runs, tb__run_kind kind)
{
    drop_runs(runs, runs->of[kind].run, runs->of[kind].n);
    runs->of[kind].n = 0;
    runs->of[kind].known = false;
}

void tb__runs_forget(tb__runs *runs)
{
    for (int kind = 0; kind < TB__RUN_KINDS; kind++)
        clear_list(runs, (tb__run_kind)kind);
}

void tb__runs_release(tb__runs *runs)
{
    tb__runs_forget(runs);
    for (int kind = 0; kind < TB__RUN_KINDS; kind++)
        free(runs->of[kind].run);
    sqlite3_finalize(runs->list);
    sqlite3_finalize(runs->page);
}

static tb_code run_damaged(const tb__runs *runs, int64_t id, tb_error *err)
{
    return tb_fail(err, TB_E_CORRUPT, "usage_run",
                   "%s: run %lld of waiting usage is damaged; restore a backup and ingest again.",
                   runs->path, (long long)id);
}

int64_t tb__seal_run(int64_t id, tb__run_kind kind, int64_t level, int64_t entries, int64_t sum,
                     const void *directory, size_t len)
{
    const int64_t row[5] = {id, kind, level, entries, sum};
    return tb__seal(directory, len, tb__seal(row, sizeof row, 0));
}

/* Two integers a page, the lowest byte first. */
static tb_code read_directory(const uint8_t *bytes, size_t len, tb__usage_run *run, tb_error *err)
{
    run->pages = len / sizeof(tb__run_key);
    run->first = malloc(len + 1);
    if (!run->first) return tb_no_memory(err);
    memcpy(run->first, bytes, len);
    for (size_t i = 0; i < run->pages; i++)
        run->first[i] = (tb__run_key){(int64_t)le64toh((uint64_t)run->first[i].owner),
                                      (int64_t)le64toh((uint64_t)run->first[i].index)};
    return TB_OK;
}

/* The run as the list had it before, which has it no more. */
static bool take_again(struct tb__run_list *before, tb__usage_run *run)
{
    for (size_t i = 0; i < before->n; i++) {
        tb__usage_run *was = &before->run[i];
        if (was->id != run->id || was->seal != run->seal || was->from != run->from) continue;
        *run = *was;
        *was = (tb__usage_run){0};
        return true;
    }
    return false;
}

static tb_code add_run(tb__runs *runs, tb__run_kind kind, struct tb__run_list *before, sqlite3_stmt *s, tb_error *err)
{
    struct tb__run_list *list = &runs->of[kind];
    tb__usage_run run = {.id = sqlite3_column_int64(s, 0),
                   .level = sqlite3_column_int64(s, 1),
                   .entries = sqlite3_column_int64(s, 2),
                   .sum = sqlite3_column_int64(s, 3),
                   .seal = sqlite3_column_int64(s, 4),
                   .from = sqlite3_column_int64(s, 6)};
    const uint8_t *directory = sqlite3_column_blob(s, 5);
    size_t len = (size_t)sqlite3_column_bytes(s, 5);
    list->rows_version = sqlite3_column_int64(s, 7);
    if (sqlite3_column_type(s, 0) == SQLITE_NULL) return TB_OK;
    if (run.id < 1 || run.id >= TB__RUN_END || !directory || len % sizeof(tb__run_key) || len > TB__RUN_PAGES * sizeof(tb__run_key) ||
        run.seal != tb__seal_run(run.id, kind, run.level, run.entries, run.sum, directory, len))
        return run_damaged(runs, run.id, err);
    tb_code code = tb__grow(&list->run, list->n, &list->cap, sizeof run, err);
    if (code) return code;
    const bool kept = list->rows_version == before->rows_version && take_again(before, &run);
    if (!kept) code = read_directory(directory, len, &run, err);
    if (!code) list->run[list->n++] = run;
    return code;
}

static tb_code prepare(tb__runs *runs, const char *sql, sqlite3_stmt **ret, tb_error *err)
{
    if (*ret) {
        sqlite3_reset(*ret);
        return TB_OK;
    }
    int rc = sqlite3_prepare_v3(runs->db, sql, -1, SQLITE_PREPARE_PERSISTENT, ret, NULL);
    return rc == SQLITE_OK ? TB_OK : runs->fail(runs->db, rc, runs->path, err);
}

static tb_code runs_step(tb__runs *runs, sqlite3_stmt *s, bool *ret_row, tb_error *err)
{
    int rc = sqlite3_step(s);
    *ret_row = rc == SQLITE_ROW;
    if (*ret_row) return TB_OK;
    tb_code code = rc == SQLITE_DONE ? TB_OK : runs->fail(runs->db, rc, runs->path, err);
    sqlite3_reset(s);
    return code;
}

/* Within a transaction (there are no temporary tables), or of another one of the same version. What changes the runs, and what undoes
 * it, forgets the list (fold.c, tb_store_rollback, tb_store_back_to_mark). */
static bool still_good(const tb__runs *runs, tb__run_kind kind, uint32_t version)
{
    return runs->of[kind].known && runs->of[kind].version == version &&
           sqlite3_txn_state(runs->db, NULL) != SQLITE_TXN_NONE;
}

static tb_code read_list(tb__runs *runs, tb__run_kind kind, struct tb__run_list *before, tb_error *err)
{
    bool row = true;
    tb_code code = prepare(runs, list_sql, &runs->list, err);
    if (code) return code;
    sqlite3_bind_int(runs->list, 1, kind);
    sqlite3_bind_text(runs->list, 2, tb__fold_run_name[kind], -1, SQLITE_STATIC);
    sqlite3_bind_text(runs->list, 3, tb__fold_owner_name[kind], -1, SQLITE_STATIC);
    while (!code && !(code = runs_step(runs, runs->list, &row, err)) && row) {
        code = add_run(runs, kind, before, runs->list, err);
        if (code) sqlite3_reset(runs->list);
    }
    return code;
}

tb_code tb__runs_load(tb__runs *runs, tb__run_kind kind, tb_error *err)
{
    struct tb__run_list *list = &runs->of[kind], before = *list;
    uint32_t version = 0;
    sqlite3_file_control(runs->db, NULL, SQLITE_FCNTL_DATA_VERSION, &version);
    if (still_good(runs, kind, version)) return TB_OK;
    *list = (struct tb__run_list){.rows_version = before.rows_version};
    tb_code code = read_list(runs, kind, &before, err);
    drop_runs(runs, before.run, before.n);
    free(before.run);
    /* Now there is a snapshot, and its version is known. */
    sqlite3_file_control(runs->db, NULL, SQLITE_FCNTL_DATA_VERSION, &version);
    list->version = version;
    list->known = !code && sqlite3_txn_state(runs->db, NULL) != SQLITE_TXN_NONE;
    return code;
}

/* The last page that begins at or before the key, or the first one. */
static size_t page_of(const tb__usage_run *run, tb__run_key key)
{
    size_t lo = 0, hi = run->pages;
    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        if (tb__run_compare(run->first[mid], key) <= 0) lo = mid + 1;
        else hi = mid;
    }
    return lo ? lo - 1 : 0;
}

/* *ret_data lives until the statement is used again. */
static tb_code page_get(tb__runs *runs, const tb__usage_run *run, size_t page, const uint8_t **ret_data,
                        size_t *ret_len, tb_error *err)
{
    bool row;
    tb_code code = prepare(runs, page_sql, &runs->page, err);
    if (code) return code;
    sqlite3_bind_int64(runs->page, 1, tb__run_page_id(run->id, page));
    code = runs_step(runs, runs->page, &row, err);
    if (code) return code;
    if (!row) return run_damaged(runs, run->id, err);
    *ret_data = sqlite3_column_blob(runs->page, 0);
    *ret_len = (size_t)sqlite3_column_bytes(runs->page, 0);
    return TB_OK;
}

/* Marks every sixteenth entry of a page. */
static tb_code mark_page(tb__runs *runs, const tb__usage_run *run, tb__run_kept *kept,
                         tb__run_walk walk, tb_error *err)
{
    tb__run_walk before = walk;
    tb__run_entry e;
    tb_code code = TB_OK;
    for (size_t n = 0; !code && tb__run_walk_next(&walk, &e); n++) {
        if (n % 16 == 0) {
            code = tb__grow(&kept->marks, kept->n_marks, &kept->cap_marks, sizeof *kept->marks, err);
            if (!code) kept->marks[kept->n_marks++] = (tb__run_mark){e.key, before};
        }
        before = walk;
    }
    return !code && (walk.bad || !kept->n_marks) ? run_damaged(runs, run->id, err) : code;
}

/* Where too much is kept, all of it goes: what is asked for next comes back. */
static tb_code kept_room(tb__runs *runs, tb__usage_run *run, tb_error *err)
{
    if (runs->kept_bytes > KEPT_MAX) {
        for (int kind = 0; kind < TB__RUN_KINDS; kind++)
            for (size_t i = 0; i < runs->of[kind].n; i++)
                drop_kept(runs, &runs->of[kind].run[i]);
    }
    if (!run->kept) run->kept = calloc(run->pages, sizeof *run->kept);
    return run->kept ? TB_OK : tb_no_memory(err);
}

/* Reads a page, checks and marks it. */
static tb_code fill_kept(tb__runs *runs, tb__usage_run *run, size_t page, tb__run_kept *kept,
                         tb_error *err)
{
    const uint8_t *data = NULL;
    size_t len = 0, bytes;
    tb__run_walk walk;
    tb_code code = page_get(runs, run, page, &data, &len, err);
    if (code) return code;
    kept->data = malloc(len + 1);
    if (kept->data && data) memcpy(kept->data, data, len);
    sqlite3_reset(runs->page);
    if (!kept->data) return tb_no_memory(err);
    if (!tb__run_walk_begin(&walk, kept->data, len, tb__run_page_id(run->id, page)))
        return run_damaged(runs, run->id, err);
    code = mark_page(runs, run, kept, walk, err);
    if (code) return code;
    bytes = len + kept->cap_marks * sizeof *kept->marks;
    run->kept_bytes += bytes;
    runs->kept_bytes += bytes;
    return TB_OK;
}

static tb_code keep_usage_page(tb__runs *runs, tb__usage_run *run, size_t page,
                               const tb__run_kept **ret, tb_error *err)
{
    if (!run->kept || !run->kept[page].data) {
        tb_code code = kept_room(runs, run, err);
        if (code) return code;
        tb__run_kept fresh = {0};
        code = fill_kept(runs, run, page, &fresh, err);
        if (code) {
            free(fresh.data);
            free(fresh.marks);
            return code;
        }
        run->kept[page] = fresh;
    }
    *ret = &run->kept[page];
    return TB_OK;
}

/* From the last mark at or before the key. */
static tb__run_walk walk_from(const tb__run_kept *kept, tb__run_key key)
{
    size_t lo = 0, hi = kept->n_marks;
    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        if (tb__run_compare(kept->marks[mid].key, key) <= 0) lo = mid + 1;
        else hi = mid;
    }
    return kept->marks[lo ? lo - 1 : 0].walk;
}

/* --- the entries of a span --- */

typedef struct asking {
    tb__run_span span;
    tb__run_fn fn;
    void *ctx;
} asking;

/* *ret_past: an entry behind the span was met. */
static tb_code each_of_page(tb__runs *runs, tb__usage_run *run, size_t page, const asking *a,
                            bool *ret_past, tb_error *err)
{
    const tb__run_kept *kept = NULL;
    tb__run_entry e;
    tb_code code = keep_usage_page(runs, run, page, &kept, err);
    if (code) return code;
    tb__run_walk walk = walk_from(kept, a->span.first);
    while (!code && !*ret_past && tb__run_walk_next(&walk, &e)) {
        *ret_past = tb__run_compare(e.key, a->span.last) > 0;
        if (*ret_past || tb__run_compare(e.key, a->span.first) < 0 || e.key.owner < run->from)
            continue;
        code = a->fn(a->ctx, &e, err);
    }
    return code;
}

static tb_code each_of_run(tb__runs *runs, tb__usage_run *run, const asking *a, tb_error *err)
{
    bool past = a->span.last.owner < run->from;
    tb_code code = TB_OK;
    for (size_t page = page_of(run, a->span.first); !code && !past && page < run->pages; page++) {
        if (tb__run_compare(run->first[page], a->span.last) > 0) break;
        code = each_of_page(runs, run, page, a, &past, err);
    }
    return code;
}

tb_code tb__runs_each(tb__runs *runs, tb__run_kind kind, tb__run_span span, tb__run_fn fn,
                      void *ctx, tb_error *err)
{
    const asking a = {span, fn, ctx};
    tb_code code = tb__runs_load(runs, kind, err);
    for (size_t i = 0; !code && i < runs->of[kind].n; i++)
        code = each_of_run(runs, &runs->of[kind].run[i], &a, err);
    return code;
}

/* --- a walk over a whole run --- */

static tb_code cursor_page(tb__run_cursor *c, tb_error *err)
{
    const uint8_t *data = NULL;
    size_t len = 0;
    tb_code code = page_get(c->runs, c->run, c->page, &data, &len, err);
    if (code) return code;
    if (len > c->cap) {
        uint8_t *copy = realloc(c->data, len);
        if (copy) c->data = copy, c->cap = len;
        else code = tb_no_memory(err);
    }
    if (!code && data) memcpy(c->data, data, len);
    sqlite3_reset(c->runs->page);
    if (!code && (!data || !tb__run_walk_begin(&c->walk, c->data, len,
                                               tb__run_page_id(c->run->id, c->page))))
        code = run_damaged(c->runs, c->run->id, err);
    c->page++;
    return code;
}

tb_code tb__run_cursor_next(tb__run_cursor *c, tb_error *err)
{
    for (;;) {
        if (tb__run_walk_next(&c->walk, &c->entry)) {
            if (c->entry.key.owner >= c->from) return TB_OK;
            continue;
        }
        if (c->walk.bad) return run_damaged(c->runs, c->run->id, err);
        if (c->page >= c->run->pages) {
            c->over = true;
            return TB_OK;
        }
        tb_code code = cursor_page(c, err);
        if (code) return code;
    }
}

tb_code tb__run_cursor_begin(tb__run_cursor *c, tb__runs *runs, const tb__usage_run *run, int64_t owner,
                             tb_error *err)
{
    *c = (tb__run_cursor){.runs = runs, .run = run, .from = owner > run->from ? owner : run->from};
    c->page = page_of(run, (tb__run_key){c->from, INT64_MIN});
    return tb__run_cursor_next(c, err);
}

void tb__run_cursor_release(tb__run_cursor *c)
{
    free(c->data);
}

/* --- several runs as one --- */

static void note_key(tb__run_union *u, size_t i)
{
    const tb__run_cursor *c = &u->cursor[i];
    u->key[i] = c->over ? ~(tb__u128)0 : (tb__u128)(uint64_t)c->entry.key.owner << 64 | (uint64_t)c->entry.key.index;
}

tb_code tb__run_union_begin(tb__run_union *u, tb__runs *runs, tb__run_kind kind,
                            const tb__usage_run *list, size_t n, int64_t owner, tb_error *err)
{
    u->kind = kind;
    u->n = u->n_lowest = 0;
    u->cursor = calloc(n + 1, sizeof *u->cursor);
    u->key = calloc(n + 1, sizeof *u->key);
    u->lowest = calloc(n + 1, sizeof *u->lowest);
    u->entry = calloc(n + 1, sizeof *u->entry);
    if (!u->cursor || !u->key || !u->lowest || !u->entry) return tb_no_memory(err);
    tb_code code = TB_OK;
    for (; !code && u->n < n; u->n++) {
        code = tb__run_cursor_begin(&u->cursor[u->n], runs, &list[u->n], owner, err);
        note_key(u, u->n);
    }
    return code;
}

/* Finds the cursors that stand at the lowest key, in the order of runs; none: all are over. Which they are cannot
 * be guessed, so nothing branches on it. */
static void find_lowest(tb__run_union *u)
{
    tb__u128 lowest = ~(tb__u128)0;
    for (size_t i = 0; i < u->n; i++)
        lowest = u->key[i] < lowest ? u->key[i] : lowest;
    u->n_lowest = 0;
    for (size_t i = 0; i < u->n; i++) {
        u->lowest[u->n_lowest] = i;
        u->n_lowest += u->key[i] == lowest;
    }
    if (lowest == ~(tb__u128)0) u->n_lowest = 0;
}

/* Entries that are joined lie in u->joined, an entry of one run in its cursor's page: what the call
 * before gave is stepped over now. */
tb_code tb__run_union_next(tb__run_union *u, tb__run_entry *ret_entry, bool *ret_more,
                           tb_error *err)
{
    tb_code code = TB_OK;
    for (size_t i = 0; !code && i < u->n_lowest; i++) {
        code = tb__run_cursor_next(&u->cursor[u->lowest[i]], err);
        note_key(u, u->lowest[i]);
    }
    if (code) return code;
    find_lowest(u);
    *ret_more = u->n_lowest > 0;
    for (size_t i = 0; i < u->n_lowest; i++)
        u->entry[i] = u->cursor[u->lowest[i]].entry;
    *ret_entry = u->entry[0];
    if (u->n_lowest < 2) return TB_OK;
    ret_entry->data = u->joined;
    return tb__run_join(u->kind, u->entry, u->n_lowest, u->joined, &ret_entry->len, err);
}

void tb__run_union_release(tb__run_union *u)
{
    for (size_t i = 0; u->cursor && i < u->n; i++)
        tb__run_cursor_release(&u->cursor[i]);
    free(u->cursor);
    free(u->key);
    free(u->lowest);
    free(u->entry);
    u->cursor = NULL;
}
