/* Ids of usage events: an event whose id is here was counted, and changes nothing when it is sent again.
 *
 * An id is a hash of the event's source and id under a secret of the store, so ids are spread evenly and no sender chooses
 * their places. The new ids of a batch are one sorted run. Four runs of a level and month become one run of the next level,
 * which has at most RUN_MOST ids. A run has 2^bits pages of some 300 ids, a row each; the first bits of an id are the
 * number of its page, so a look reads one row. The writer keeps a filter of each run in memory, which answers nearly all
 * looks: FILTER_BITS of memory for each id, FILTERS_MOST in all; a run without one is read.
 *
 * A run belongs to the month of its events. A month's runs go 35 days after its end, once all accounts with events in it are
 * billed; from then on its events are refused. Table event_id_month: the accounts with events in a month; account 0: its ids
 * are gone. Runs change with the transaction; a filter is found again by its run's id and digest, so one of a run that was
 * rolled back is never used for another. */
#include "store/logs/event_ids.h"

#include "base/hash.h"
#include "tollbook/calendar.h"
#include "tollbook/retain.h"

#include <endian.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#define FAN          4
#define RUN_MOST     (INT64_C(1) << 20)
#define PAGE_IDS     384 /* of a page at most, on average */
#define FILTER_BITS  12
#define FILTER_LINE  8 /* words: a look touches one cache line */
#define FILTERS_MOST ((size_t)256 << 20)
#define FILTER_LARGE (INT64_C(1) << 16) /* one filter of more ids is made from a run in one call */
#define CHECKSUM     8

struct tb__event_ids {
    tb__id_run *run;
    size_t n;
    size_t filters; /* bytes */
    tb__id_page page;
};

static tb_code damaged(const tb_store *store, int64_t run, tb_error *err)
{
    return tb_fail(err, TB_E_CORRUPT, "event_id_run",
                   "%s: run %lld of event ids is damaged; restore a backup and send the events again.", store->path,
                   (long long)run);
}

/* --- filters --- */

static size_t filter_lines(const tb__id_run *run)
{
    return (size_t)run->ids * FILTER_BITS / (64 * FILTER_LINE) + 1;
}

static size_t filter_bytes(const tb__id_run *run)
{
    return filter_lines(run) * FILTER_LINE * sizeof *run->filter;
}

static uint64_t *filter_line(const tb__id_run *run, tb_hash128 id)
{
    return run->filter + (size_t)((tb_u128)id.high * filter_lines(run) >> 64) * FILTER_LINE;
}

static void filter_add(const tb__id_run *run, tb_hash128 id)
{
    uint64_t *line = filter_line(run, id);
    for (unsigned i = 0; i < 54; i += 9)
        line[id.low >> (i + 6) & 7] |= UINT64_C(1) << (id.low >> i & 63);
}

static bool filter_has(const tb__id_run *run, tb_hash128 id)
{
    const uint64_t *line = filter_line(run, id);
    for (unsigned i = 0; i < 54; i += 9)
        if (!(line[id.low >> (i + 6) & 7] >> (id.low >> i & 63) & 1)) return false;
    return true;
}

/* Without memory for it there is none. */
static void filter_begin(struct tb__event_ids *all, tb__id_run *run)
{
    const size_t bytes = filter_bytes(run);
    if (all->filters + bytes > FILTERS_MOST) return;
    run->filter = aligned_alloc(64, bytes);
    if (!run->filter) return;
    memset(run->filter, 0, bytes);
    all->filters += bytes;
}

static void filter_drop(struct tb__event_ids *all, tb__id_run *run)
{
    if (run->filter) all->filters -= filter_bytes(run);
    free(run->filter);
    run->filter = NULL;
}

void tb__event_ids_free(struct tb__event_ids *all)
{
    if (!all) return;
    for (size_t i = 0; i < all->n; i++)
        free(all->run[i].filter);
    free(all->run);
    free(all->page.list);
    free(all);
}

/* --- reading --- */

static tb_code run_from(sqlite3_stmt *s, void *item, tb_error *err)
{
    tb__id_run *run = item;
    *run = (tb__id_run){.id = sqlite3_column_int64(s, 0),
                        .month = sqlite3_column_int64(s, 1),
                        .level = sqlite3_column_int64(s, 2),
                        .ids = sqlite3_column_int64(s, 3),
                        .bits = sqlite3_column_int64(s, 4),
                        .digest = sqlite3_column_int64(s, 5)};
    if (run->id > 0 && run->id < INT64_MAX >> TB__ID_PAGE_BITS && run->bits >= 0 && run->bits <= TB__ID_PAGE_BITS &&
        run->ids > 0 && run->ids <= RUN_MOST)
        return TB_OK;
    return tb_fail(err, TB_E_CORRUPT, "event_id_run", "Run %lld of event ids is damaged; restore a backup.",
                   (long long)run->id);
}

tb_code tb__id_runs(tb_store *store, tb__id_run **ret_list, size_t *ret_n, tb_error *err)
{
    static const tb__rows rows = {sizeof(tb__id_run), run_from, NULL};
    return tb__collect_ints(store, TB__SQL_EVENT_ID_RUNS, NULL, 0, &rows, ret_list, ret_n, err);
}

/* Reads the list of runs, which keep their filters. */
static tb_code load(tb_store *store, struct tb__event_ids **ret, tb_error *err)
{
    if (!store->event_ids) store->event_ids = calloc(1, sizeof *store->event_ids);
    struct tb__event_ids *all = store->event_ids;
    tb__id_run *list = NULL;
    size_t n = 0;
    if (!all) return tb_no_memory(err);
    tb_code code = tb__id_runs(store, &list, &n, err);
    if (code) return code;
    for (size_t i = 0, k = 0; i < all->n; i++) {
        while (k < n && list[k].id < all->run[i].id)
            k++;
        if (k < n && list[k].id == all->run[i].id && list[k].digest == all->run[i].digest)
            list[k].filter = all->run[i].filter;
        else filter_drop(all, &all->run[i]);
    }
    free(all->run);
    all->run = list;
    all->n = n;
    *ret = all;
    return TB_OK;
}

tb_code tb__id_page_read(tb_store *store, const tb__id_run *run, int64_t page, tb__id_page *ret, tb_error *err)
{
    const int64_t row = tb__id_page_row(run->id, page);
    sqlite3_stmt *s;
    uint64_t sum = 0;
    bool there = false;
    tb_code code = tb__sql_ints(store, TB__SQL_EVENT_ID_PAGE, &row, 1, &s, err);
    if (!code) code = tb__step(store, s, &there, err);
    if (code) return code;
    const uint8_t *data = there ? sqlite3_column_blob(s, 0) : NULL;
    const size_t len = there ? (size_t)sqlite3_column_bytes(s, 0) : 0;
    bool sound = data && len >= CHECKSUM && (len - CHECKSUM) % sizeof *ret->list == 0;
    if (sound) memcpy(&sum, data + len - CHECKSUM, CHECKSUM);
    sound = sound && le64toh(sum) == XXH3_64bits_withSeed(data, len - CHECKSUM, (uint64_t)row);
    ret->n = sound ? (len - CHECKSUM) / sizeof *ret->list : 0;
    if (ret->n > ret->cap) {
        free(ret->list);
        ret->list = malloc(ret->n * sizeof *ret->list);
        ret->cap = ret->list ? ret->n : 0;
        if (!ret->list) code = tb_no_memory(err);
    }
    if (!code && ret->n) memcpy(ret->list, data, ret->n * sizeof *ret->list);
    if (there) sqlite3_reset(s);
    if (code || !sound) return code ? code : damaged(store, run->id, err);
    for (size_t i = 0; i < ret->n; i++) {
        ret->list[i] = (tb_hash128){le64toh(ret->list[i].high), le64toh(ret->list[i].low)};
        if (tb__id_page_of(run->bits, ret->list[i]) != page || (i && tb__id_compare(ret->list[i - 1], ret->list[i]) >= 0))
            return damaged(store, run->id, err);
    }
    return TB_OK;
}

static tb_code make_filter(tb_store *store, struct tb__event_ids *all, tb__id_run *run, tb_error *err)
{
    tb_code code = TB_OK;
    filter_begin(all, run);
    for (int64_t page = 0; !code && run->filter && page < INT64_C(1) << run->bits; page++) {
        code = tb__id_page_read(store, run, page, &all->page, err);
        for (size_t i = 0; !code && i < all->page.n; i++)
            filter_add(run, all->page.list[i]);
    }
    if (code) filter_drop(all, run);
    return code;
}

/* --- looking up --- */

static int by_hash(const void *a, const void *b)
{
    const tb_event_id *x = a, *y = b;
    const int order = tb__id_compare(x->hash, y->hash);
    return order ? order : (x->index > y->index) - (x->index < y->index);
}

static int by_id(const void *a, const void *b)
{
    return tb__id_compare(*(const tb_hash128 *)a, *(const tb_hash128 *)b);
}

static tb_code look_in_run(tb_store *store, tb__id_page *page, const tb__id_run *run, tb_event_id *ids, size_t n, tb_error *err)
{
    int64_t read = -1;
    for (size_t i = 0; i < n; i++) {
        if (ids[i].known || (run->filter && !filter_has(run, ids[i].hash))) continue;
        const int64_t of = tb__id_page_of(run->bits, ids[i].hash);
        tb_code code = of == read ? TB_OK : tb__id_page_read(store, run, of, page, err);
        if (code) return code;
        read = of;
        ids[i].known = page->n && bsearch(&ids[i].hash, page->list, page->n, sizeof *page->list, by_id);
    }
    return TB_OK;
}

tb_code tb_store_look_up_event_ids(tb_store *store, tb_event_id *ids, size_t n, tb_error *err)
{
    struct tb__event_ids *all = NULL;
    bool large = false;
    if (n) qsort(ids, n, sizeof *ids, by_hash);
    for (size_t i = 0; i < n; i++)
        ids[i].known = i && tb__id_compare(ids[i - 1].hash, ids[i].hash) == 0;
    tb_code code = load(store, &all, err);
    for (size_t i = 0; !code && i < all->n; i++) {
        tb__id_run *run = &all->run[i];
        if (store->write && !run->filter && !(large && run->ids > FILTER_LARGE)) {
            large |= run->ids > FILTER_LARGE;
            code = make_filter(store, all, run, err);
        }
        if (!code) code = look_in_run(store, &all->page, run, ids, n, err);
    }
    return code;
}

tb_code tb_store_event_ids_gone(tb_store *store, int64_t month, bool *ret_gone, tb_error *err)
{
    int64_t found = 0;
    tb_code code = tb__int_of(store, TB__SQL_EVENT_IDS_GONE, &month, 1, 0, &found, err);
    *ret_gone = found != 0;
    return code;
}

/* --- writing --- */

typedef struct writing {
    tb_store *store;
    tb__id_run run;
    int64_t page; /* the current one */
    tb_hash128 *list;
    size_t n, cap;
} writing;

static tb_code write_page(writing *w, tb_error *err)
{
    const int64_t row = tb__id_page_row(w->run.id, w->page++);
    sqlite3_stmt *s;
    tb_code code = tb__grow(&w->list, w->n, &w->cap, sizeof *w->list, err); /* for the checksum */
    if (!code) code = tb__sql_ints(w->store, TB__SQL_EVENT_ID_PAGE_ADD, &row, 1, &s, err);
    if (code) return code;
    const size_t len = w->n * sizeof *w->list;
    const uint64_t sum = htole64(XXH3_64bits_withSeed(w->list, len, (uint64_t)row));
    memcpy(w->list + w->n, &sum, CHECKSUM);
    w->n = 0;
    sqlite3_bind_blob(s, 2, w->list, (int)(len + CHECKSUM), SQLITE_STATIC);
    return tb__run(w->store, s, err);
}

static tb_code write_id(writing *w, tb_hash128 id, tb_error *err)
{
    const int64_t page = tb__id_page_of(w->run.bits, id);
    tb_code code = TB_OK;
    while (!code && w->page < page)
        code = write_page(w, err);
    if (!code) code = tb__grow(&w->list, w->n, &w->cap, sizeof *w->list, err);
    if (code) return code;
    w->list[w->n++] = (tb_hash128){htole64(id.high), htole64(id.low)};
    w->run.digest = (int64_t)(((uint64_t)w->run.digest + id.low) & INT64_MAX);
    if (w->run.filter) filter_add(&w->run, id);
    return TB_OK;
}

static tb_code write_begin(writing *w, tb_store *store, int64_t month, int64_t level, int64_t ids, tb_error *err)
{
    *w = (writing){.store = store, .run = {.month = month, .level = level, .ids = ids}};
    while (ids > (int64_t)PAGE_IDS << w->run.bits)
        w->run.bits++;
    filter_begin(store->event_ids, &w->run);
    return tb__next_id(store, TB__SQL_EVENT_ID_RUN_NEXT, "event_id_run", &w->run.id, err);
}

/* After the last id, or after `code`. The run joins the list. */
static tb_code write_end(writing *w, tb_code code, tb_error *err)
{
    struct tb__event_ids *all = w->store->event_ids;
    size_t cap = all->n;
    while (!code && w->page < INT64_C(1) << w->run.bits)
        code = write_page(w, err);
    const int64_t row[6] = {w->run.id, w->run.month, w->run.level, w->run.ids, w->run.bits, w->run.digest};
    if (!code) code = tb__run_ints(w->store, TB__SQL_EVENT_ID_RUN_ADD, row, 6, err);
    if (!code) code = tb__grow(&all->run, all->n, &cap, sizeof *all->run, err);
    if (code) filter_drop(all, &w->run);
    else all->run[all->n++] = w->run;
    free(w->list);
    return code;
}

/* Ids tell nothing about anybody: their pages are given back as they are. */
static tb_code delete_runs(tb_store *store, const tb__id_run *const *runs, size_t n, tb_error *err)
{
    tb_code code = tb__exec(store->db, store->path, "PRAGMA secure_delete=OFF", err);
    for (size_t i = 0; !code && i < n; i++) {
        const int64_t pages[2] = {tb__id_page_row(runs[i]->id, 0), tb__id_page_row(runs[i]->id + 1, 0) - 1};
        code = tb__run_ints(store, TB__SQL_EVENT_ID_PAGES_DELETE, pages, 2, err);
        if (!code) code = tb__run_ints(store, TB__SQL_EVENT_ID_RUN_DELETE, &runs[i]->id, 1, err);
    }
    tb_code on = tb__exec(store->db, store->path, "PRAGMA secure_delete=ON", code ? NULL : err);
    return code ? code : on;
}

/* --- compaction of a level --- */

typedef struct cursor {
    const tb__id_run *run;
    int64_t next; /* page */
    tb__id_page page;
    size_t at;
    bool over;
} cursor;

static tb_code cursor_fill(tb_store *store, cursor *c, tb_error *err)
{
    while (c->at == c->page.n && !c->over) {
        c->over = c->next == INT64_C(1) << c->run->bits;
        c->at = c->page.n = 0;
        tb_code code = c->over ? TB_OK : tb__id_page_read(store, c->run, c->next++, &c->page, err);
        if (code) return code;
    }
    return TB_OK;
}

static tb_code merge(tb_store *store, const tb__id_run *const runs[FAN], int64_t ids, tb_error *err)
{
    cursor c[FAN] = {0};
    writing w;
    tb_code code = write_begin(&w, store, runs[0]->month, runs[0]->level + 1, ids, err);
    for (int i = 0; i < FAN; i++) {
        c[i].run = runs[i];
        if (!code) code = cursor_fill(store, &c[i], err);
    }
    while (!code) {
        cursor *least = NULL;
        for (int i = 0; i < FAN; i++)
            if (!c[i].over && (!least || tb__id_compare(c[i].page.list[c[i].at], least->page.list[least->at]) < 0)) least = &c[i];
        if (!least) break;
        code = write_id(&w, least->page.list[least->at++], err);
        if (!code) code = cursor_fill(store, least, err);
    }
    for (int i = 0; i < FAN; i++)
        free(c[i].page.list);
    if (!code) code = delete_runs(store, runs, FAN, err);
    return write_end(&w, code, err);
}

/* Compacts the oldest four runs of the month's lowest level that is full, if any is. */
static tb_code compact(tb_store *store, int64_t month, tb_error *err)
{
    const struct tb__event_ids *all = store->event_ids;
    for (int64_t level = 0; level < 64; level++) {
        const tb__id_run *full[FAN];
        int64_t ids = 0;
        int n = 0;
        for (size_t i = 0; n < FAN && i < all->n; i++) {
            const tb__id_run *run = &all->run[i];
            if (run->month != month || run->level != level || run->ids > RUN_MOST / FAN) continue;
            ids += run->ids;
            full[n++] = run;
        }
        if (n == FAN) return merge(store, full, ids, err);
    }
    return TB_OK;
}

/* --- adding --- */

typedef struct owner {
    int64_t month, account;
} owner;

static int by_owner(const void *a, const void *b)
{
    const owner *x = a, *y = b;
    if (x->month != y->month) return x->month < y->month ? -1 : 1;
    return (x->account > y->account) - (x->account < y->account);
}

static tb_code add_ids_of_month(tb_store *store, int64_t month, const tb_event_id *ids, size_t n, int64_t of_month, tb_error *err)
{
    writing w;
    tb_code code = write_begin(&w, store, month, 0, of_month, err);
    for (size_t i = 0; !code && i < n; i++)
        if (!ids[i].known && ids[i].month == month) code = write_id(&w, ids[i].hash, err);
    code = write_end(&w, code, err);
    return code ? code : compact(store, month, err);
}

tb_code tb_store_add_event_ids(tb_store *store, const tb_event_id *ids, size_t n, tb_error *err)
{
    struct tb__event_ids *all = NULL;
    size_t fresh = 0;
    owner *of = malloc((n + 1) * sizeof *of);
    tb_code code = of ? load(store, &all, err) : tb_no_memory(err);
    for (size_t i = 0; !code && i < n; i++)
        if (!ids[i].known) of[fresh++] = (owner){ids[i].month, ids[i].account};
    if (!code && fresh) qsort(of, fresh, sizeof *of, by_owner);
    for (size_t i = 0, from = 0; !code && i < fresh; i++) {
        const bool last = i + 1 == fresh || of[i + 1].month != of[i].month;
        const int64_t row[2] = {of[i].month, of[i].account};
        if (last || of[i + 1].account != of[i].account) code = tb__run_ints(store, TB__SQL_EVENT_ID_MONTH_ADD, row, 2, err);
        if (!code && last) code = add_ids_of_month(store, of[i].month, ids, n, (int64_t)(i + 1 - from), err);
        if (last) from = i + 1;
    }
    free(of);
    return code;
}

/* --- retention --- */

/* Whether all accounts with events in the month are billed. */
static tb_code all_settled(tb_store *store, int64_t month, bool *ret, tb_error *err)
{
    int64_t *accounts = NULL;
    size_t n = 0;
    tb_code code = tb__list_ints(store, TB__SQL_EVENT_ID_ACCOUNTS, &month, 1, &accounts, &n, err);
    *ret = true;
    for (size_t i = 0; !code && *ret && i < n; i++)
        code = tb_store_month_settled(store, accounts[i], month, ret, err);
    free(accounts);
    return code;
}

tb_code tb_store_expire_event_ids(tb_store *store, int64_t now_us, bool *ret_more, tb_error *err)
{
    const int64_t before = tb_month_from_us(now_us - TB_EVENT_IDS_KEPT_US);
    struct tb__event_ids *all = NULL;
    int64_t *months = NULL;
    size_t n = 0, gone = 0;
    *ret_more = false;
    tb_code code = tb__list_ints(store, TB__SQL_EVENT_ID_MONTHS, &before, 1, &months, &n, err);
    for (size_t i = 0; !code && i < n; i++) {
        bool settled = false;
        code = all_settled(store, months[i], &settled, err);
        if (!code && settled) code = tb__run_ints(store, TB__SQL_EVENT_ID_MONTH_END, &months[i], 1, err);
        if (!code && settled) code = tb__run_ints(store, TB__SQL_EVENT_ID_MONTH_GONE, &months[i], 1, err);
        if (!code && settled) store->dirty = true;
    }
    free(months);
    months = NULL;
    if (!code) code = tb__list_ints(store, TB__SQL_EVENT_ID_GONE_MONTHS, NULL, 0, &months, &gone, err);
    if (!code && gone) code = load(store, &all, err);
    for (size_t i = 0; !code && gone && i < all->n && !*ret_more; i++) {
        const tb__id_run *run = &all->run[i];
        if (!bsearch(&run->month, months, gone, sizeof *months, tb__by_int64)) continue;
        code = delete_runs(store, &run, 1, err);
        *ret_more = !code;
    }
    free(months);
    return code;
}

/* --- the secret --- */

tb_hash128 tb_event_id_hash(const uint8_t secret[TB_EVENT_SECRET], int64_t sender, tb_text source, tb_text id)
{
    crypto_generichash_state state;
    const uint64_t lengths[2] = {htole64((uint64_t)sender), htole64(source.len)};
    uint8_t out[16];
    tb_hash128 hash;
    crypto_generichash_init(&state, secret, TB_EVENT_SECRET, sizeof out);
    crypto_generichash_update(&state, (const uint8_t *)lengths, sizeof lengths);
    crypto_generichash_update(&state, (const uint8_t *)source.data, source.len);
    crypto_generichash_update(&state, (const uint8_t *)id.data, id.len);
    crypto_generichash_final(&state, out, sizeof out);
    memcpy(&hash, out, sizeof hash);
    return (tb_hash128){le64toh(hash.high), le64toh(hash.low)};
}
