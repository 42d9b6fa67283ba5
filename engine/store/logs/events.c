/* Writing blocks of shield events, dropping and reading them.
 *
 * A zone's blocks are like the leaves of a B-tree with SQLite's inner nodes: sorted, disjoint, at
 * most TB_EVENT_BLOCK bytes each. New events are sorted too, so they form runs that belong to one block
 * each; a run and its block are merged, and the result replaces the block. A block lies within one day,
 * so that a day can be dropped. */
#include "store/logs/events.h"

#include "store/core/seal.h"
#include "store/logs/segment.h"

#include <stdlib.h>
#include <string.h>

/* --- rows --- */

int64_t tb__seal_events(int64_t id, int64_t zone, int64_t day, int64_t events, const void *first,
                        size_t first_len, const void *data, size_t len)
{
    const int64_t numbers[] = {id, zone, day, events, (int64_t)first_len, (int64_t)len};
    return tb__seal(data, len, tb__seal(first, first_len, tb__seal(numbers, sizeof numbers, 0)));
}

typedef struct adding {
    tb_store *store;
    int64_t next_id;
    uint64_t added;
} adding;

static tb_code insert_block(adding *a, int64_t zone, int64_t day, const tb_event_block *b, const char *bytes,
                            tb_error *err)
{
    sqlite3_stmt *s;
    const int64_t id = a->next_id++;
    tb_code code = tb__sql(a->store, TB__SQL_EVENTS_INSERT, &s, err);
    if (code) return code;
    const int64_t seal = tb__seal_events(id, zone, day, b->n, b->first.bytes, b->first.len,
                                         bytes + b->at, b->len);
    sqlite3_bind_int64(s, 1, id);
    sqlite3_bind_int64(s, 2, zone);
    sqlite3_bind_int64(s, 3, day);
    sqlite3_bind_blob(s, 4, b->first.bytes, (int)b->first.len, SQLITE_STATIC);
    sqlite3_bind_int64(s, 5, b->n);
    sqlite3_bind_int64(s, 6, seal);
    sqlite3_bind_blob64(s, 7, bytes + b->at, b->len, SQLITE_STATIC);
    tb__seal_come(&a->store->seal_sums, TB__SUM_EVENTS, seal);
    a->store->dirty = true;
    return tb__run(a->store, s, err);
}

static tb_code delete_block(tb_store *store, int64_t id, int64_t seal, tb_error *err)
{
    tb__seal_gone(&store->seal_sums, TB__SUM_EVENTS, seal);
    store->dirty = true;
    return tb__run_ints(store, TB__SQL_EVENTS_DELETE, &id, 1, err);
}

/* --- merging --- */

/* The block that a run goes into; data is owned. id 0: there is none. */
typedef struct standing {
    int64_t id, seal;
    tb_event_key first;
    char *data;
    size_t len;
} standing;

static bool take_key(sqlite3_stmt *s, int column, tb_event_key *ret)
{
    const void *bytes = sqlite3_column_blob(s, column);
    const int len = sqlite3_column_bytes(s, column);
    if (!bytes || len <= 8 || len > TB_EVENT_KEY_MAX) return false;
    memcpy(ret->bytes, bytes, (size_t)len);
    ret->len = (size_t)len;
    return true;
}

/* The first block of the statement, where it is of the day. data: take the bytes too; else column 3 is their number,
 * or NULL. */
static tb_code look(tb_store *store, tb__statement id, int64_t zone, int64_t day,
                    const tb_event_key *key, bool data, standing *ret, tb_error *err)
{
    sqlite3_stmt *s;
    bool row = false;
    *ret = (standing){.id = 0};
    tb_code code = tb__sql(store, id, &s, err);
    if (code) return code;
    sqlite3_bind_int64(s, 1, zone);
    sqlite3_bind_blob(s, 2, key->bytes, (int)key->len, SQLITE_STATIC);
    code = tb__step(store, s, &row, err);
    if (code || !row) return code;
    if (sqlite3_column_int64(s, 4) == day) {
        ret->id = sqlite3_column_int64(s, 0);
        ret->seal = sqlite3_column_int64(s, 1);
        if (!take_key(s, 2, &ret->first))
            code = tb_fail(err, TB_E_CORRUPT, "event_block", "A block of shield events has no key.");
        const void *bytes = data && !code ? sqlite3_column_blob(s, 3) : NULL;
        ret->len = data ? (size_t)sqlite3_column_bytes(s, 3) : (size_t)sqlite3_column_int64(s, 3);
        if (data && !code) {
            ret->data = malloc(ret->len + 1);
            if (!ret->data || !bytes) code = tb_no_memory(err);
            else memcpy(ret->data, bytes, ret->len);
        }
    }
    sqlite3_reset(s);
    if (code) free(ret->data);
    return code;
}

/* How many of the refs belong before the block that follows. */
static size_t run_length(const tb_event_ref *refs, size_t n, const standing *next)
{
    size_t run = 1;
    while (run < n && (!next->id || tb_event_key_compare(&refs[run].key, &next->first) < 0))
        run++;
    return run;
}

static tb_code replace(adding *a, int64_t zone, int64_t day, const standing *old, const tb_event_blocks *blocks,
                       tb_error *err)
{
    tb_code code = old->id ? delete_block(a->store, old->id, old->seal, err) : TB_OK;
    for (size_t i = 0; !code && i < blocks->n; i++)
        code = insert_block(a, zone, day, &blocks->list[i], blocks->bytes.data, err);
    return code;
}

/* Merges the first run of refs, all of one zone and day. */
static tb_code add_run(adding *a, int64_t day, const tb_event_ref *refs, size_t n, size_t *ret_run, tb_error *err)
{
    tb_store *store = a->store;
    const int64_t zone = refs[0].zone;
    standing old, next;
    tb_event_blocks blocks;
    tb_code code = look(store, TB__SQL_EVENTS_AT, zone, day, &refs[0].key, true, &old, err);
    if (!code && !old.id) /* before the day's first one: into it */
        code = look(store, TB__SQL_EVENTS_AFTER, zone, day, &refs[0].key, true, &old, err);
    if (code) return code;
    code = look(store, TB__SQL_EVENTS_SIZE_AFTER, zone, day,
                old.id && tb_event_key_compare(&old.first, &refs[0].key) > 0 ? &old.first
                                                                             : &refs[0].key,
                false, &next, err);
    tb_event_blocks_init(&blocks);
    if (!code) {
        *ret_run = run_length(refs, n, &next);
        code = tb_event_merge(old.data, old.len, refs, *ret_run, &blocks, err);
    }
    if (!code && blocks.added) code = replace(a, zone, day, &old, &blocks, err);
    if (!code) a->added += blocks.added;
    tb_event_blocks_release(&blocks);
    free(old.data);
    return code;
}

static int64_t day_of(const tb_event_ref *ref)
{
    return tb_event_key_time(&ref->key) / TB_EVENT_MS_PER_DAY;
}

/* How many refs are of the first one's zone and day. */
static size_t day_length(const tb_event_ref *refs, size_t n)
{
    size_t length = 1;
    while (length < n && refs[length].zone == refs[0].zone && day_of(&refs[length]) == day_of(&refs[0]))
        length++;
    return length;
}

static tb_code add_runs(adding *a, const tb_event_ref *refs, size_t n, tb_error *err)
{
    tb_code code = TB_OK;
    for (size_t i = 0, end = 0, run = 0; !code && i < n; i += run) {
        const int64_t day = day_of(&refs[i]);
        if (end <= i) end = i + day_length(refs + i, n - i);
        code = add_run(a, day, refs + i, end - i, &run, err);
    }
    return code;
}

static tb_code add_refs(tb_store *store, const tb_event_ref *refs, size_t n, uint64_t *ret_added, tb_error *err)
{
    adding a = {.store = store};
    tb_code code = tb__next_id(store, TB__SQL_EVENTS_NEXT, "event_block", &a.next_id, err);
    if (!code) code = add_runs(&a, refs, n, err);
    if (!code) *ret_added = a.added;
    return code;
}

/* --- the cost of adding events --- */

/* As add_run finds it. */
static tb_code find_run(tb_store *store, int64_t day, const tb_event_ref *refs, size_t n, size_t *ret_run, size_t *bytes,
                        tb_error *err)
{
    const int64_t zone = refs[0].zone;
    standing old, next;
    tb_code code = look(store, TB__SQL_EVENTS_SIZE_AT, zone, day, &refs[0].key, false, &old, err);
    if (!code && !old.id) code = look(store, TB__SQL_EVENTS_SIZE_AFTER, zone, day, &refs[0].key, false, &old, err);
    if (code) return code;
    const bool after = old.id && tb_event_key_compare(&old.first, &refs[0].key) > 0;
    code = look(store, TB__SQL_EVENTS_SIZE_AFTER, zone, day, after ? &old.first : &refs[0].key, false, &next, err);
    if (!code) *ret_run = run_length(refs, n, &next);
    *bytes += old.len;
    return code;
}

static tb_code find_refs(tb_store *store, const tb_event_ref *refs, size_t n, size_t *ret_runs, size_t *ret_bytes,
                         tb_error *err)
{
    tb_code code = TB_OK;
    *ret_runs = *ret_bytes = 0;
    for (size_t i = 0, end = 0, run = 0; !code && i < n; i += run) {
        const int64_t day = day_of(&refs[i]);
        if (end <= i) end = i + day_length(refs + i, n - i);
        code = find_run(store, day, refs + i, end - i, &run, ret_bytes, err);
        ++*ret_runs;
    }
    return code;
}

/* --- dropping --- */

static tb_code drop_blocks(tb_store *store, int64_t first_day, size_t *room, uint64_t *ret_dropped,
                           tb_error *err)
{
    uint64_t dropped = 0;
    bool row = true;
    tb_code code = TB_OK;
    while (!code && *room) {
        sqlite3_stmt *s;
        code = tb__sql_ints(store, TB__SQL_EVENTS_OLD, &first_day, 1, &s, err);
        if (!code) code = tb__step(store, s, &row, err);
        if (code || !row) break;
        const int64_t id = sqlite3_column_int64(s, 0), seal = sqlite3_column_int64(s, 1);
        sqlite3_reset(s);
        code = delete_block(store, id, seal, err);
        dropped++;
        --*room;
    }
    if (!code && ret_dropped) *ret_dropped = dropped;
    return code;
}

static tb_code count_blocks(tb_store *store, int64_t account, uint64_t *ret_blocks, tb_error *err)
{
    int64_t blocks = 0;
    tb_code code = tb__int_of(store, TB__SQL_FORGET_EVENTS_COUNT, &account, 1, 0, &blocks, err);
    *ret_blocks = (uint64_t)blocks;
    return code;
}

static tb_code forget_blocks(tb_store *store, int64_t account, size_t *room, tb_error *err)
{
    return tb__forget_blocks(store, TB__SQL_FORGET_EVENTS, account, room, delete_block, err);
}

/* --- reading --- */

tb_code tb__event_row_check(sqlite3_stmt *s, tb_error *err)
{
    const void *first = sqlite3_column_blob(s, TB__EVENT_FIRST);
    const void *data = sqlite3_column_blob(s, TB__EVENT_DATA);
    const int first_len = sqlite3_column_bytes(s, TB__EVENT_FIRST);
    const int len = sqlite3_column_bytes(s, TB__EVENT_DATA);
    if ((!first && first_len) || (!data && len)) return tb_no_memory(err);
    if (sqlite3_column_int64(s, TB__EVENT_SEAL) ==
        tb__seal_events(sqlite3_column_int64(s, TB__EVENT_ROW), sqlite3_column_int64(s, TB__EVENT_ZONE),
                        sqlite3_column_int64(s, TB__EVENT_DAY),
                        sqlite3_column_int64(s, TB__EVENT_EVENTS), first ? first : "",
                        (size_t)first_len, data ? data : "", (size_t)len))
        return TB_OK;
    return tb_fail(err, TB_E_CORRUPT, "event_block",
                   "Block %lld of shield events is not as it was sealed.",
                   (long long)sqlite3_column_int64(s, TB__EVENT_ROW));
}

static tb_code walk(tb_store *store, tb__statement id, int64_t zone, const tb_event_key *key,
                    tb_event_block_fn fn, void *ctx, tb_error *err)
{
    sqlite3_stmt *s;
    bool row = true;
    tb_code code = tb__sql(store, id, &s, err);
    if (code) return code;
    sqlite3_bind_int64(s, 1, zone);
    sqlite3_bind_blob(s, 2, key->bytes, (int)key->len, SQLITE_STATIC);
    while (!code && !(code = tb__step(store, s, &row, err)) && row) {
        code = tb__event_row_check(s, err);
        if (code || !fn(ctx, sqlite3_column_blob(s, TB__EVENT_DATA),
                        (size_t)sqlite3_column_bytes(s, TB__EVENT_DATA)))
            break;
    }
    sqlite3_reset(s);
    return code;
}

static tb_code blocks_up(tb_store *store, int64_t zone, const tb_event_key *from, tb_event_block_fn fn,
                         void *ctx, tb_error *err)
{
    return walk(store, TB__SQL_EVENTS_UP, zone, from, fn, ctx, err);
}

static tb_code blocks_down(tb_store *store, int64_t zone, const tb_event_key *to, tb_event_block_fn fn,
                           void *ctx, tb_error *err)
{
    return walk(store, TB__SQL_EVENTS_DOWN, zone, to, fn, ctx, err);
}

const tb__shield_events tb__file_events = {
    .add = add_refs,
    .find = find_refs,
    .drop = drop_blocks,
    .count = count_blocks,
    .forget = forget_blocks,
    .up = blocks_up,
    .down = blocks_down,
};
