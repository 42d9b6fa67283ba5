/* Batches in memory. Entries lie in the order in which they were put; they are sorted when they are
 * written, and those of one key are joined then. More than BATCH_BYTES of a batch go to their places
 * at once, as does all that follows: of many changes, rows lie side by side anyway.
 *
 * Where batches are gathered, those that have ended wait until somebody has to see them in the file: at the
 * COMMIT, or before what reads there. What keeps the undoing of one of them exact: entries never move, and what was
 * written stays in memory until the next mark; so going back to a mark is taking back the numbers of tb__memtable_state. */
#include "store/usage/batch.h"

#include "store/usage/overflow.h"
#include "store/usage/owners.h"
#include "tollbook/calendar.h"

#include <stdlib.h>
#include <string.h>

#define BATCH_BYTES  (1u << 20)
#define GATHER_BYTES (4u << 20) /* of several */
#define ADDENDS      16         /* that are joined at once */

tb_code tb__usage_open(tb_store *store, tb_error *err)
{
    store->usage = calloc(1, sizeof *store->usage);
    if (!store->usage) return tb_no_memory(err);
    tb__lsm_init(&store->usage->lsm, store->db, store->path, tb__sqlite_fail, tb__usage_kinds);
    return store->write ? tb__landing_open(store, &store->usage->landing, err) : TB_OK;
}

void tb__usage_forget(tb_store *store, bool whole)
{
    store->plane.counters->abandon(store, whole);
    tb__series_undo(store, whole);
    tb__owners_forget(store);
}

void tb__usage_close(tb_store *store)
{
    if (!store->usage) return;
    tb__batch *b = &store->usage->batch;
    tb__lsm_release(&store->usage->lsm);
    tb__landing_free(store->usage->landing);
    free(store->usage->new_series);
    tb__owners_forget(store);
    for (int kind = 0; kind < TB__LSM_KINDS; kind++)
        free(b->of[kind].list);
    free(b->bytes);
    free(store->usage);
    store->usage = NULL;
}

static bool is_written(const tb__memtable_state *now)
{
    for (int kind = 0; kind < TB__LSM_KINDS; kind++)
        if (now->written[kind] < now->n[kind]) return false;
    return now->due.batches == 0;
}

void tb__batch_begin(tb_store *store)
{
    tb__batch *b = &store->usage->batch;
    if (!b->gathers && is_written(&b->now)) b->now = (tb__memtable_state){0};
    b->begun = true;
    b->open = !b->at_once;
}

void tb__batch_drop(tb_store *store)
{
    tb__batch *b = &store->usage->batch;
    memcpy(b->now.n, b->now.own, sizeof b->now.n);
    b->now.len = b->now.own_len;
    b->begun = b->open = false;
}

void tb__batches_mark(tb_store *store)
{
    tb__batch *b = &store->usage->batch;
    if (is_written(&b->now)) b->now = (tb__memtable_state){0};
    b->marked = b->now;
}

void tb__batches_undo(tb_store *store, bool whole)
{
    tb__batch *b = &store->usage->batch;
    b->begun = b->open = false;
    if (whole) {
        b->marked = (tb__memtable_state){0};
        b->gathers = false;
    }
    b->now = b->marked;
}

bool tb__batches_full(const tb_store *store)
{
    const tb__batch *b = &store->usage->batch;
    return !b->gathers || b->now.len >= GATHER_BYTES;
}

/* --- gathering --- */

static tb_code room(tb__batch *b, size_t more, tb_error *err)
{
    if (b->now.len + more <= b->cap) return TB_OK;
    size_t cap = b->cap ? b->cap : 1u << 16;
    while (cap < b->now.len + more)
        cap *= 2;
    uint8_t *bytes = cap > UINT32_MAX ? NULL : realloc(b->bytes, cap); /* tb__batch_entry.at */
    if (!bytes) return tb_no_memory(err);
    b->bytes = bytes;
    b->cap = cap;
    return TB_OK;
}

static tb_code gather(tb__batch *b, tb__lsm_kind kind, tb__lsm_key key, size_t len,
                      tb_error *err)
{
    size_t *n = &b->now.n[kind];
    tb_code code = tb__grow(&b->of[kind].list, *n, &b->of[kind].cap, sizeof *b->of[kind].list, err);
    if (code) return code;
    b->of[kind].list[(*n)++] = (tb__batch_entry){key, (uint32_t)b->now.len, (uint32_t)len};
    b->now.len += len;
    return TB_OK;
}

/* Where the next entry's bytes go. */
static uint8_t *behind_all(const tb__batch *b)
{
    return b->bytes + b->now.len;
}

static bool is_large(const tb__batch *b)
{
    return !b->held && b->now.len - b->now.own_len >= BATCH_BYTES;
}

/* --- to their places --- */

static tb_code batch_damaged(tb_error *err)
{
    return tb_fail(err, TB_E_CORRUPT, "usage_run", "An entry of the batch is damaged.");
}

static tb_code country_at_once(tb_store *store, int64_t zone, int64_t day, const tb__country *list,
                               size_t n, tb_error *err)
{
    const int64_t id[2] = {zone, day};
    tb__country stored[TB__COUNTRY_MAX], merged[TB__COUNTRY_MAX];
    size_t n_stored = 0, n_merged = 0;
    sqlite3_stmt *s;
    bool row;
    tb_code code = tb__sql_ints(store, TB__SQL_COUNTRY_GET, id, 2, &s, err);
    if (!code) code = tb__step(store, s, &row, err);
    if (code) return code;
    if (row) {
        code = tb__country_decode(sqlite3_column_blob(s, 0), (size_t)sqlite3_column_bytes(s, 0),
                                  tb__country_seed(zone, day), stored, &n_stored, err);
        sqlite3_reset(s);
    }
    if (!code) code = tb__country_merge(stored, n_stored, list, n, merged, &n_merged, err);
    if (code) return code;
    uint8_t bytes[TB__COUNTRY_ROW_MAX];
    size_t len = tb__country_encode(merged, n_merged, tb__country_seed(zone, day), bytes);
    code = tb__sql_ints(store, TB__SQL_COUNTRY_PUT, id, 2, &s, err);
    if (!code) sqlite3_bind_blob(s, 3, bytes, (int)len, SQLITE_STATIC);
    return code ? code : tb__run(store, s, err);
}

tb_code tb__place_end(tb__placing *p, tb_error *err)
{
    if (!p->series) return TB_OK;
    int64_t key = tb__chunk_key(p->series, TB__GRAIN_DAYS, p->month);
    p->series = 0;
    return tb__chunk_put(p->store, key, &p->days, err);
}

static void begin_month(tb__placing *p, int64_t series, int64_t day)
{
    tb_grid_clear(&p->days);
    p->series = series;
    if (day >= p->first_day && day < p->end_day) return;
    p->month = tb_month_from_day(day);
    p->first_day = tb_month_first_day(p->month);
    p->end_day = tb_month_first_day(p->month + 1);
}

tb_code tb__place_day(tb__placing *p, int64_t series, int64_t day, const tb_grid *hours,
                      tb_error *err)
{
    const int64_t key = tb__chunk_key(series, TB__GRAIN_HOURS, day);
    tb_code code = TB_OK;
    if (p->series != series || day < p->first_day || day >= p->end_day) {
        code = tb__place_end(p, err);
        begin_month(p, series, day);
    }
    if (!code) code = tb__chunk_put(p->store, key, hours, err);
    if (code) return code;
    code = tb_grid_fold(&p->days, (unsigned)(day - p->first_day), hours, err);
    return tb__full_chunk(p->store, code, key, NULL, err);
}

tb_code tb__entry_place(tb__placing *p, tb__lsm_kind kind, const tb__lsm_entry *entry, tb_error *err)
{
    if (kind == TB__LSM_COUNTERS) {
        tb_grid hours;
        if (entry->key.owner > TB__SERIES_MAX) return batch_damaged(err);
        if (!tb__entry_get_grid(entry->data, entry->len, &hours)) return batch_damaged(err);
        return tb__place_day(p, entry->key.owner, entry->key.index, &hours, err);
    }
    tb__country list[TB__COUNTRY_MAX];
    size_t n;
    if (!tb__entry_get_list(entry->data, entry->len, list, &n)) return batch_damaged(err);
    return country_at_once(p->store, entry->key.owner, entry->key.index, list, n, err);
}

/* A byte of a key, from the least one on: sixteen, the owner's above the index's. Negative numbers come first. */
static unsigned key_byte(tb__lsm_key key, int byte)
{
    const uint64_t sign = UINT64_C(1) << 63;
    return (((uint64_t)(byte < 8 ? key.index : key.owner) ^ sign) >> (byte % 8 * 8)) & 0xff;
}

/* Which bytes are not the same in all keys. */
static unsigned bytes_that_differ(const tb__batch_entry *list, size_t n)
{
    uint64_t owner = 0, index = 0;
    unsigned bytes = 0;
    for (size_t i = 1; i < n; i++) {
        owner |= (uint64_t)(list[i].key.owner ^ list[0].key.owner);
        index |= (uint64_t)(list[i].key.index ^ list[0].key.index);
    }
    for (int byte = 0; byte < 16; byte++)
        if ((byte < 8 ? index : owner) >> (byte % 8 * 8) & 0xff) bytes |= 1u << byte;
    return bytes;
}

/* Sorts by key: least byte first, eight bits a pass, the passes left out in which all are the same: series are counted
 * from 1, so most are. list: 2 * n entries, the second half to work in; returns which half is sorted. */
static tb__batch_entry *sort_entries(tb__batch_entry *list, size_t n)
{
    tb__batch_entry *from = list, *to = list + n;
    const unsigned bytes = bytes_that_differ(list, n);
    for (int byte = 0; byte < 16; byte++) {
        size_t start[257] = {0};
        if (!(bytes >> byte & 1)) continue;
        for (size_t i = 0; i < n; i++)
            start[key_byte(from[i].key, byte) + 1]++;
        for (int i = 0; i < 256; i++)
            start[i + 1] += start[i];
        for (size_t i = 0; i < n; i++)
            to[start[key_byte(from[i].key, byte)]++] = from[i];
        tb__batch_entry *swap = from;
        from = to;
        to = swap;
    }
    return from;
}

static tb__lsm_entry entry_of(const tb__batch *b, const tb__batch_entry *e)
{
    return (tb__lsm_entry){e->key, b->bytes + e->at, e->len};
}

/* Entries as they are taken: ascending by key, those of one key as one. */
typedef struct sorted {
    const tb__batch *batch;
    tb__lsm_kind kind;
    tb__batch_entry *list; /* of 2 * n */
    const tb__batch_entry *at, *end;
    uint8_t *joined; /* two entries */
} sorted;

static void release_sorted(sorted *s)
{
    free(s->list);
    free(s->joined);
}

/* Of the entries [from, to) of a kind. What is released is all zero at first. */
static tb_code sort_part(sorted *s, const tb__batch *b, tb__lsm_kind kind, size_t from, size_t to, tb_error *err)
{
    const size_t n = to - from;
    *s = (sorted){.batch = b, .kind = kind};
    s->list = malloc((2 * n + 1) * sizeof *s->list);
    s->joined = malloc((size_t)2 * TB__ENTRY_MAX);
    if (!s->list || !s->joined) return tb_no_memory(err);
    if (n) memcpy(s->list, b->of[kind].list + from, n * sizeof *s->list);
    s->at = sort_entries(s->list, n);
    s->end = s->at + n;
    return TB_OK;
}

static tb_code sorted_next(void *ctx, tb__lsm_entry *ret_entry, bool *ret_more, tb_error *err)
{
    sorted *s = ctx;
    tb_code code = TB_OK;
    *ret_more = s->at < s->end;
    if (!*ret_more) return TB_OK;
    tb__lsm_entry e[ADDENDS] = {entry_of(s->batch, s->at++)};
    for (int into = 0; !code && s->at < s->end && tb__lsm_compare(s->at->key, e[0].key) == 0; into ^= 1) {
        uint8_t *joined = s->joined + into * TB__ENTRY_MAX;
        size_t n = 1;
        while (n < ADDENDS && s->at < s->end && tb__lsm_compare(s->at->key, e[0].key) == 0)
            e[n++] = entry_of(s->batch, s->at++);
        code = tb__entry_sum(s->kind, e, n, joined, &e[0].len, err);
        e[0].data = joined;
    }
    *ret_entry = e[0];
    return code;
}

/* One by one: a place says which of them it has no room for. */
static tb_code place_sorted(tb__placing *placing, sorted *s, tb_error *err)
{
    tb_code code = TB_OK;
    for (; !code && s->at < s->end; s->at++) {
        const tb__lsm_entry e = entry_of(s->batch, s->at);
        code = tb__entry_place(placing, s->kind, &e, err);
    }
    return code;
}

/* What the running batch gathered goes to its places, and nothing of it is gathered any more. */
static tb_code spill(tb_store *store, tb_error *err)
{
    tb__batch *b = &store->usage->batch;
    tb__placing placing = {.store = store};
    tb_code code = tb__landing_wait(store, err); /* the helper may be at the series */
    b->open = false;
    for (int kind = 0; !code && kind < TB__LSM_KINDS; kind++) {
        sorted s = {0};
        if (b->now.own[kind] == b->now.n[kind]) continue;
        code = sort_part(&s, b, (tb__lsm_kind)kind, b->now.own[kind], b->now.n[kind], err);
        if (!code) code = place_sorted(&placing, &s, err);
        release_sorted(&s);
        b->now.n[kind] = b->now.own[kind];
    }
    b->now.len = b->now.own_len;
    return code ? code : tb__place_end(&placing, err);
}

tb_code tb__usage_put(tb__placing *placing, int64_t series, int64_t day, const tb_grid *hours,
                      tb_error *err)
{
    tb__batch *b = &placing->store->usage->batch;
    if (!b->open) return tb__place_day(placing, series, day, hours, err);
    tb_code code = room(b, TB__ENTRY_MAX, err);
    if (code) return code;
    size_t len = tb__entry_put_grid(hours, behind_all(b));
    code = gather(b, TB__LSM_COUNTERS, (tb__lsm_key){series, day}, len, err);
    return code || !is_large(b) ? code : spill(placing->store, err);
}

tb_code tb__country_put(tb_store *store, int64_t zone, int64_t day, const tb__country *list,
                        size_t n, tb_error *err)
{
    tb__batch *b = &store->usage->batch;
    if (!b->begun) return country_at_once(store, zone, day, list, n, err);
    tb_code code = room(b, TB__ENTRY_MAX, err);
    if (code) return code;
    size_t len = tb__entry_put_list(list, n, behind_all(b));
    code = gather(b, TB__LSM_COUNTRIES, (tb__lsm_key){zone, day}, len, err);
    return code || !is_large(b) ? code : spill(store, err);
}

tb_code tb__entry_put(tb__placing *placing, tb__lsm_kind kind, const tb__lsm_entry *entry, tb_error *err)
{
    tb__batch *b = &placing->store->usage->batch;
    if (kind == TB__LSM_COUNTERS ? !b->open : !b->begun) return tb__entry_place(placing, kind, entry, err);
    tb_code code = room(b, entry->len, err);
    if (code) return code;
    memcpy(behind_all(b), entry->data, entry->len);
    code = gather(b, kind, entry->key, entry->len, err);
    return code || !is_large(b) ? code : spill(placing->store, err);
}

/* --- all that a series holds --- */

static tb_code each_gathered(const tb__batch *b, int64_t series, size_t since, tb__pending *waiting,
                             tb_error *err)
{
    tb_code code = TB_OK;
    const size_t written = b->now.written[TB__LSM_COUNTERS];
    for (size_t i = since > written ? since : written; !code && i < b->now.n[TB__LSM_COUNTERS]; i++) {
        const tb__batch_entry *put = &b->of[TB__LSM_COUNTERS].list[i];
        const tb__lsm_entry entry = entry_of(b, put);
        if (put->key.owner == series) code = tb__pending_add(waiting, &entry, err);
    }
    return code;
}

/* A row of the series, with what waits of its day. */
static tb_code each_row(sqlite3_stmt *s, tb__pending *waiting, tb__day_fn fn, void *ctx,
                        tb_error *err)
{
    int64_t key = sqlite3_column_int64(s, 0);
    tb_grid grid, *more = tb__pending_find(waiting, tb__key_index(key));
    tb_code code = tb__chunk_decode(sqlite3_column_blob(s, 1), (size_t)sqlite3_column_bytes(s, 1),
                                    key, &grid, err);
    if (!code && more) code = tb_grid_merge(&grid, more, err);
    if (code) return code;
    if (more) tb_grid_clear(more);
    return fn(ctx, tb__key_index(key), &grid, err);
}

/* The statement is this call's own: fn may end up here again. */
static tb_code each_of_rows(tb_store *store, tb__series_part part, tb__pending *waiting, tb__day_fn fn,
                            void *ctx, tb_error *err)
{
    sqlite3_stmt *s;
    bool row = true;
    int rc = sqlite3_prepare_v2(store->db,
                                "SELECT key,data FROM chunk WHERE key BETWEEN ?1 AND ?2 ORDER BY 1",
                                -1, &s, NULL);
    if (rc != SQLITE_OK) return tb__sqlite_fail(store->db, rc, store->path, err);
    sqlite3_bind_int64(s, 1, tb__chunk_key(part.series, TB__GRAIN_HOURS, part.first_day));
    sqlite3_bind_int64(s, 2, tb__chunk_key(part.series, TB__GRAIN_HOURS, TB__INDEX_MAX));
    tb_code code = TB_OK;
    while (!code && !(code = tb__step(store, s, &row, err)) && row)
        code = each_row(s, waiting, fn, ctx, err);
    sqlite3_finalize(s);
    return code;
}

tb_code tb__usage_each(tb_store *store, tb__series_part part, tb__day_fn fn, void *ctx, tb_error *err)
{
    tb__pending waiting = {0};
    /* What waits is read first: were it spilled meanwhile, the rows would have it once more. */
    store->usage->batch.held++;
    tb_code code = tb__landing_hold(store, err);
    if (!code)
        code = tb__pending_read(&waiting, &store->usage->lsm,
                                tb__chunk_key(part.series, TB__GRAIN_HOURS, 0),
                                tb__chunk_key(part.series, TB__GRAIN_HOURS, TB__INDEX_MAX), err);
    if (!code) code = each_gathered(&store->usage->batch, part.series, part.since, &waiting, err);
    if (!code) code = each_of_rows(store, part, &waiting, fn, ctx, err);
    for (size_t i = 0; !code && i < waiting.n; i++)
        if (waiting.list[i].grid->slots)
            code = fn(ctx, waiting.list[i].index, waiting.list[i].grid, err);
    tb__landing_let_go(store);
    store->usage->batch.held--;
    tb__pending_release(&waiting);
    return code;
}

/* --- writing them --- */

static size_t bytes_of(const tb__batch_entry *list, size_t n)
{
    size_t bytes = 0;
    for (size_t i = 0; i < n; i++)
        bytes += list[i].len;
    return bytes;
}

/* Those of batches that have ended. */
static tb_code write_kind(tb_store *store, tb__lsm_kind kind, tb_error *err)
{
    tb__batch *b = &store->usage->batch;
    tb__memtable_state *now = &b->now;
    const size_t from = now->written[kind], to = now->own[kind];
    sorted s = {0};
    if (from == to) return TB_OK;
    const tb__lsm_header header = {
        .kind = kind, .sum = now->added, .bytes = bytes_of(b->of[kind].list + from, to - from)};
    tb_code code = sort_part(&s, b, kind, from, to, err);
    if (!code) code = tb__lsm_write(store, &store->usage->lsm, &header, sorted_next, &s, &now->due.entries, err);
    if (!code) now->written[kind] = to;
    now->due.runs[kind]++;
    release_sorted(&s);
    return code;
}

tb_code tb__batches_write(tb_store *store, tb_error *err)
{
    tb_code code = TB_OK;
    for (int kind = 0; !code && kind < TB__LSM_KINDS; kind++)
        code = write_kind(store, (tb__lsm_kind)kind, err);
    if (!code) store->usage->batch.now.added = 0;
    return code;
}

tb_code tb__batch_end(tb_store *store, int64_t added, int64_t newest, tb_error *err)
{
    tb__batch *b = &store->usage->batch;
    bool kept = false;
    tb_code code = tb__usage_reserve(store, b->open ? added : 0, &kept, err);
    if (!code && !(b->open && kept)) code = spill(store, err);
    if (code) return code;
    if (b->open) b->now.added = tb__add_capped(b->now.added, added);
    tb__maintenance_due *due = &b->now.due;
    if (newest > due->newest || !due->batches) due->newest = newest;
    due->batches++;
    memcpy(b->now.own, b->now.n, sizeof b->now.own);
    b->now.own_len = b->now.len;
    b->begun = b->open = false;
    return TB_OK;
}
