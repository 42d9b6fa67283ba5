/* The memtable, and the path of a batch (batch.h). Entries lie in the order in which they were added. They are sorted, and
 * those of one key summed, when they are written as a run.
 *
 * Undoing one batch of several is exact, since entries never move, and those that were written stay in memory until the
 * next mark: going back to a mark is taking back the numbers of tb__memtable_state. */
#include "store/usage/batch.h"

#include "store/usage/meters.h"
#include "store/usage/owners.h"

#include <stdlib.h>
#include <string.h>

#define LARGE_BYTES  (1u << 20) /* a larger batch goes to base */
#define FULL_BYTES   (4u << 20) /* of several batches */
#define ADDENDS      16         /* entries that are summed at once */
#define DAYS_AT_ONCE 1024       /* rows of a series that are read before they are used: 6 MiB */

tb_code tb__usage_open(tb_store *store, tb_error *err)
{
    store->usage = calloc(1, sizeof *store->usage);
    if (!store->usage) return tb_no_memory(err);
    tb__lsm_init(&store->usage->lsm, store->db, store->path, tb__sqlite_fail, tb__usage_kinds);
    return store->write ? tb__write_buffer_open(store, &store->usage->buffer, err) : TB_OK;
}

void tb__usage_forget(tb_store *store, bool whole)
{
    store->plane.counters->abandon(store, whole);
    tb__series_undo(store, whole);
    tb__owners_forget(store);
    tb__meters_forget(store);
}

void tb__usage_close(tb_store *store)
{
    if (!store->usage) return;
    tb__memtable *m = &store->usage->memtable;
    tb__lsm_release(&store->usage->lsm);
    tb__write_buffer_free(store->usage->buffer);
    free(store->usage->new_series);
    tb__owners_forget(store);
    tb__meters_forget(store);
    for (int kind = 0; kind < TB__LSM_KINDS; kind++)
        free(m->of[kind].list);
    free(m->bytes);
    free(store->usage);
    store->usage = NULL;
}

/* --- its state --- */

static bool is_written(const tb__memtable_state *now)
{
    for (int kind = 0; kind < TB__LSM_KINDS; kind++)
        if (now->written[kind] < now->n[kind]) return false;
    return now->due.batches == 0;
}

void tb__memtable_mark(tb_store *store)
{
    tb__memtable *m = &store->usage->memtable;
    if (is_written(&m->now)) m->now = (tb__memtable_state){0};
    m->marked = m->now;
}

void tb__memtable_undo(tb_store *store, bool whole)
{
    tb__memtable *m = &store->usage->memtable;
    m->path = TB__NO_BATCH;
    if (whole) {
        m->marked = (tb__memtable_state){0};
        m->grouped = false;
    }
    m->now = m->marked;
}

bool tb__memtable_is_due(const tb_store *store)
{
    const tb__memtable *m = &store->usage->memtable;
    return !m->grouped || m->now.len >= FULL_BYTES;
}

/* Forgets the entries of the running batch. */
static void forget_batch(tb__memtable *m)
{
    memcpy(m->now.n, m->now.ended, sizeof m->now.n);
    m->now.len = m->now.ended_len;
}

void tb__batch_drop(tb_store *store)
{
    tb__write_buffer_drop(store);
    forget_batch(&store->usage->memtable);
    store->usage->memtable.path = TB__NO_BATCH;
}

/* --- sorted entries --- */

/* A byte of a key, from the least one on: sixteen, the owner's above the index's. Negative numbers come first. */
static unsigned key_byte(tb__lsm_key key, int byte)
{
    const uint64_t sign = UINT64_C(1) << 63;
    return (((uint64_t)(byte < 8 ? key.index : key.owner) ^ sign) >> (byte % 8 * 8)) & 0xff;
}

/* Sorts by key: least byte first, eight bits a pass, without the passes in which all are the same: series are counted
 * from 1, so most are. list: 2 * n entries, the second half to work in; returns which half is sorted. */
static tb__memtable_entry *sort_entries(tb__memtable_entry *list, size_t n)
{
    tb__memtable_entry *from = list, *to = list + n;
    uint64_t differs[2] = {0}; /* in which bits of index and owner not all are the same */
    for (size_t i = 1; i < n; i++) {
        differs[0] |= (uint64_t)(list[i].key.index ^ list[0].key.index);
        differs[1] |= (uint64_t)(list[i].key.owner ^ list[0].key.owner);
    }
    for (int byte = 0; byte < 16; byte++) {
        size_t start[257] = {0};
        if (!(differs[byte / 8] >> (byte % 8 * 8) & 0xff)) continue;
        for (size_t i = 0; i < n; i++)
            start[key_byte(from[i].key, byte) + 1]++;
        for (int i = 0; i < 256; i++)
            start[i + 1] += start[i];
        for (size_t i = 0; i < n; i++)
            to[start[key_byte(from[i].key, byte)]++] = from[i];
        tb__memtable_entry *swap = from;
        from = to;
        to = swap;
    }
    return from;
}

static tb__lsm_entry entry_of(const tb__memtable *m, const tb__memtable_entry *e)
{
    return (tb__lsm_entry){e->key, m->bytes + e->at, e->len};
}

/* Entries of one kind, ascending by key; sorted_next gives those of one key as one. */
typedef struct sorted {
    const tb__memtable *memtable;
    tb__lsm_kind kind;
    tb__memtable_entry *list; /* of 2 * n */
    const tb__memtable_entry *at, *end;
    uint8_t *summed; /* room for two entries */
} sorted;

static void release_sorted(sorted *s)
{
    free(s->list);
    free(s->summed);
}

/* The entries [from, to) of a kind. All zero may be released. */
static tb_code sort_range(sorted *s, const tb__memtable *m, tb__lsm_kind kind, size_t from, size_t to, tb_error *err)
{
    const size_t n = to - from;
    *s = (sorted){.memtable = m, .kind = kind};
    s->list = malloc((2 * n + 1) * sizeof *s->list);
    s->summed = malloc((size_t)2 * TB__ENTRY_MAX);
    if (!s->list || !s->summed) return tb_no_memory(err);
    if (n) memcpy(s->list, m->of[kind].list + from, n * sizeof *s->list);
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
    tb__lsm_entry e[ADDENDS] = {entry_of(s->memtable, s->at++)};
    for (int into = 0; !code && s->at < s->end && tb__lsm_compare(s->at->key, e[0].key) == 0; into ^= 1) {
        uint8_t *summed = s->summed + into * TB__ENTRY_MAX;
        size_t n = 1;
        while (n < ADDENDS && s->at < s->end && tb__lsm_compare(s->at->key, e[0].key) == 0)
            e[n++] = entry_of(s->memtable, s->at++);
        code = tb__entry_sum(s->kind, e, n, summed, &e[0].len, err);
        e[0].data = summed;
    }
    *ret_entry = e[0];
    return code;
}

/* --- the two paths --- */

static bool is_large(const tb__memtable *m)
{
    return m->now.len - m->now.ended_len >= LARGE_BYTES;
}

/* The running batch is on the second path from here on. Its entries go one by one: a row names the counter that it has no
 * room for. */
static tb_code move_to_base(tb_store *store, tb_error *err)
{
    tb__memtable *m = &store->usage->memtable;
    tb_code code = TB_OK;
    if (m->path == TB__TO_RUN) m->path = TB__TO_BASE;
    for (int kind = 0; !code && kind < TB__LSM_KINDS; kind++) {
        sorted s = {0};
        if (m->now.ended[kind] == m->now.n[kind]) continue;
        code = sort_range(&s, m, (tb__lsm_kind)kind, m->now.ended[kind], m->now.n[kind], err);
        for (; !code && s.at < s.end; s.at++) {
            const tb__lsm_entry e = entry_of(m, s.at);
            code = tb__base_add_entry(store, s.kind, &e, err);
        }
        release_sorted(&s);
    }
    forget_batch(m);
    return code;
}

/* On the first path. */
static tb_code add_to_memtable(tb_store *store, tb__lsm_kind kind, const tb__lsm_entry *entry, tb_error *err)
{
    tb__memtable *m = &store->usage->memtable;
    size_t *n = &m->now.n[kind];
    if (m->now.len + entry->len > m->cap) {
        size_t cap = m->cap ? m->cap * 2 : 1u << 16;
        uint8_t *bytes = cap > UINT32_MAX ? NULL : realloc(m->bytes, cap); /* tb__memtable_entry.at */
        if (!bytes) return tb_no_memory(err);
        m->bytes = bytes;
        m->cap = cap;
    }
    tb_code code = tb__grow(&m->of[kind].list, *n, &m->of[kind].cap, sizeof *m->of[kind].list, err);
    if (code) return code;
    m->of[kind].list[(*n)++] = (tb__memtable_entry){entry->key, (uint32_t)m->now.len, (uint32_t)entry->len};
    memcpy(m->bytes + m->now.len, entry->data, entry->len);
    m->now.len += entry->len;
    return is_large(m) ? move_to_base(store, err) : TB_OK;
}

tb_code tb__batch_add_entry(tb_store *store, tb__lsm_kind kind, const tb__lsm_entry *entry, tb_error *err)
{
    return store->usage->memtable.path == TB__TO_RUN ? add_to_memtable(store, kind, entry, err)
                                                     : tb__base_add_entry(store, kind, entry, err);
}

tb_code tb__batch_add_day(tb_store *store, int64_t series, int64_t day, const tb_grid *hours, tb_error *err)
{
    uint8_t bytes[TB__ENTRY_GRID_MAX];
    if (store->usage->memtable.path != TB__TO_RUN) return tb__base_add_day(store, series, day, hours, err);
    const tb__lsm_entry entry = {{series, day}, bytes, tb__entry_put_grid(hours, bytes)};
    return add_to_memtable(store, TB__LSM_COUNTERS, &entry, err);
}

tb_code tb__batch_add_countries(tb_store *store, int64_t zone, int64_t day, const tb__country *list, size_t n, tb_error *err)
{
    uint8_t bytes[TB__ENTRY_LIST_MAX];
    if (store->usage->memtable.path != TB__TO_RUN) return tb__base_add_countries(store, zone, day, list, n, err);
    const tb__lsm_entry entry = {{zone, day}, bytes, tb__entry_put_list(list, n, bytes)};
    return add_to_memtable(store, TB__LSM_COUNTRIES, &entry, err);
}

/* --- a batch's beginning and end --- */

void tb__batch_begin(tb_store *store)
{
    tb__memtable *m = &store->usage->memtable;
    if (!m->grouped && is_written(&m->now)) m->now = (tb__memtable_state){0};
    m->path = store->usage->test.no_runs ? TB__TO_BASE : TB__TO_RUN;
}

tb_code tb__batch_end(tb_store *store, int64_t added, int64_t newest, tb_error *err)
{
    tb__memtable *m = &store->usage->memtable;
    const bool to_run = m->path == TB__TO_RUN;
    bool fits = false;
    tb_code code = tb__write_buffer_flush(store, err); /* cell_max is known then */
    m->path = TB__NO_BATCH;
    if (!code) code = tb__usage_reserve(store, to_run ? added : 0, &fits, err);
    if (!code && to_run && !fits) code = move_to_base(store, err);
    if (!code) code = tb__write_buffer_flush(store, err);
    if (code) return code;
    if (to_run && fits) m->now.added = tb__add_capped(m->now.added, added);
    tb__maintenance_due *due = &m->now.due;
    if (newest > due->newest || !due->batches) due->newest = newest;
    due->batches++;
    memcpy(m->now.ended, m->now.n, sizeof m->now.ended);
    m->now.ended_len = m->now.len;
    return TB_OK;
}

/* --- flushing --- */

tb_code tb__memtable_flush(tb_store *store, tb_error *err)
{
    tb__memtable *m = &store->usage->memtable;
    tb_code code = TB_OK;
    for (int kind = 0; !code && kind < TB__LSM_KINDS; kind++) {
        const size_t from = m->now.written[kind], to = m->now.ended[kind];
        tb__lsm_header header = {.kind = (tb__lsm_kind)kind, .sum = m->now.added};
        sorted s = {0};
        if (from == to) continue;
        for (size_t i = from; i < to; i++)
            header.bytes += m->of[kind].list[i].len;
        code = sort_range(&s, m, header.kind, from, to, err);
        if (!code)
            code = tb__lsm_write(store, &store->usage->lsm, &header, sorted_next, &s, &m->now.due.entries, err);
        if (!code) m->now.written[kind] = to;
        m->now.due.runs[kind]++;
        release_sorted(&s);
    }
    if (!code) m->now.added = 0;
    return code;
}

/* --- all that a series holds --- */

/* Reads the days from `first` on, until there are DAYS_AT_ONCE rows. *ret_last: the last day that was looked for. */
static tb_code read_some_days(tb_store *store, tb__series_part part, int64_t first, int64_t *ret_last, tb__pending *days,
                              tb_error *err)
{
    const tb__memtable *m = &store->usage->memtable;
    const size_t written = m->now.written[TB__LSM_COUNTERS];
    const int64_t rows[3] = {
        tb__chunk_key(part.series, TB__GRAIN_HOURS, first > part.first_day ? first : part.first_day),
        tb__chunk_key(part.series, TB__GRAIN_HOURS, TB__INDEX_MAX), DAYS_AT_ONCE};
    tb_grid hours, *sum = NULL;
    sqlite3_stmt *s;
    bool row = true;
    *ret_last = TB__INDEX_MAX;
    tb_code code = tb__sql_ints(store, TB__SQL_CHUNK_SOME, rows, 3, &s, err);
    for (int n = 0; !code && !(code = tb__step(store, s, &row, err)) && row;) {
        const int64_t key = sqlite3_column_int64(s, 0);
        code = tb__chunk_decode(sqlite3_column_blob(s, 1), (size_t)sqlite3_column_bytes(s, 1), key, &hours, err);
        if (!code) code = tb__pending_at(days, tb__key_index(key), &sum, err);
        if (!code) code = tb_grid_merge(sum, &hours, err);
        if (code) sqlite3_reset(s);
        if (++n == DAYS_AT_ONCE) *ret_last = tb__key_index(key);
    }
    const tb__lsm_span span = {{part.series, first}, {part.series, *ret_last}};
    if (!code) code = tb__lsm_each(&store->usage->lsm, TB__LSM_COUNTERS, span, tb__pending_add, days, err);
    for (size_t i = part.since > written ? part.since : written; !code && i < m->now.n[TB__LSM_COUNTERS]; i++) {
        const tb__lsm_entry entry = entry_of(m, &m->of[TB__LSM_COUNTERS].list[i]);
        if (entry.key.owner == part.series && entry.key.index >= first && entry.key.index <= *ret_last)
            code = tb__pending_add(days, &entry, err);
    }
    return code;
}

/* What fn adds may move the batch to base, where entries of the memtable become rows. So all of a day is read before fn is
 * called for any. */
tb_code tb__series_days(tb_store *store, tb__series_part part, tb__day_fn fn, void *ctx, tb_error *err)
{
    tb__pending days = {0};
    tb_code code = TB_OK;
    for (int64_t first = 0, last; !code && first <= TB__INDEX_MAX; first = last + 1) {
        tb__pending_clear(&days);
        code = read_some_days(store, part, first, &last, &days, err);
        for (size_t i = 0; !code && i < days.n; i++)
            code = fn(ctx, days.list[i].index, days.list[i].grid, err);
    }
    tb__pending_release(&days);
    return code;
}
