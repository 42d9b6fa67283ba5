/* The series of owners, and their storage. Rows of series_placed are ordered by owner, so writing the few hundred new ones
 * of a batch there would touch a page each. So new rows go to series_new, which has few pages, until it has more than
 * PARTS * PART rows. Then each batch that adds more also moves PART of them to series_placed: in the order of owners, from
 * where the last part ended, so that they share pages there. A batch with very many new rows writes them to series_placed.
 *
 * Invariant: a row is in exactly one of the two tables. Readers use the view `series` over both; moving rows changes neither
 * answers nor the seals in head.
 *
 * An account with usage of one pull zone has no series: a row of series_shared names the zone, and the view
 * account_series has the zone's series as the account's. The zone's new locations are thus the account's too. */
#include "store/usage/owners.h"

#include "rollup/order.h"
#include "store/core/seal.h"
#include "store/usage/batch.h"

#include <stdlib.h>
#include <string.h>

#define TOGETHER      16     /* rows of TB__SQL_SERIES_INSERT_16 */
#define TRIGGERED_MAX 1024   /* rows; with more, the trigger costs more than the write without it */
#define PART          1024   /* rows that one transaction moves: it may touch as many pages */
#define PARTS         4
#define OWNERS_MAX    262144 /* about 40 MiB with a few locations each */

/* Open addressing, at most half full; an owner never moves. */
struct tb__owners {
    tb__owner **slot;
    size_t n, cap;
};

static size_t slot_of(const struct tb__owners *o, int scope, int64_t id)
{
    uint64_t h = ((uint64_t)id * 4 + (uint64_t)scope) * UINT64_C(0x9E3779B97F4A7C15);
    size_t i = (size_t)(h >> 20) & (o->cap - 1);
    while (o->slot[i] && (o->slot[i]->id != id || o->slot[i]->scope != scope))
        i = (i + 1) & (o->cap - 1);
    return i;
}

static tb_code grow_owners(struct tb__owners *o, tb_error *err)
{
    struct tb__owners wider = {.n = o->n, .cap = o->cap ? o->cap * 2 : 1024};
    wider.slot = calloc(wider.cap, sizeof *wider.slot);
    if (!wider.slot) return tb_no_memory(err);
    for (size_t i = 0; i < o->cap; i++)
        if (o->slot[i]) wider.slot[slot_of(&wider, o->slot[i]->scope, o->slot[i]->id)] = o->slot[i];
    free(o->slot);
    *o = wider;
    return TB_OK;
}

/* --- an owner's series --- */

/* Those at high edges: open addressing, at most half full. An owner may have tens of thousands, which come in any
 * order. */
struct tb__high {
    size_t n, cap;
    tb__member slot[]; /* edge 0: free */
};

/* How many of the low edges are lower: the list begins with these. */
static size_t count_lower(const tb__owner *owner, int64_t edge)
{
    size_t n = 0;
    for (int64_t word = 0; word < edge / 64; word++)
        n += (size_t)__builtin_popcountll(owner->has[word]);
    return n + (size_t)__builtin_popcountll(owner->has[edge / 64] & ((UINT64_C(1) << edge % 64) - 1));
}

static tb__member *high_slot(struct tb__high *high, int64_t edge)
{
    size_t i = (size_t)((uint64_t)edge * UINT64_C(0x9E3779B97F4A7C15) >> 20) & (high->cap - 1);
    while (high->slot[i].edge && high->slot[i].edge != edge)
        i = (i + 1) & (high->cap - 1);
    return &high->slot[i];
}

/* A list of many is some lines of memory, and looking through it reads most of them: so the bits are counted. */
const tb__member *tb__owner_at(const tb__owner *owner, int64_t edge)
{
    if (edge < TB__OWNER_BITS) {
        const bool has = owner->has[edge / 64] >> edge % 64 & 1;
        return has ? &owner->low[count_lower(owner, edge)] : NULL;
    }
    const tb__member *m = owner->high ? high_slot(owner->high, edge) : NULL;
    return m && m->edge ? m : NULL;
}

const tb__member *tb__owner_next(const tb__owner *owner, size_t *at)
{
    if (*at < owner->n_low) return &owner->low[(*at)++];
    while (owner->high && *at - owner->n_low < owner->high->cap) {
        const tb__member *m = &owner->high->slot[(*at)++ - owner->n_low];
        if (m->edge) return m;
    }
    return NULL;
}

static tb_code widen_high(tb__owner *owner, tb_error *err)
{
    struct tb__high *high = owner->high;
    const size_t cap = high ? high->cap * 2 : 16;
    if (high && high->n * 2 < high->cap) return TB_OK;
    struct tb__high *wider = calloc(1, sizeof *wider + cap * sizeof *wider->slot);
    if (!wider) return tb_no_memory(err);
    wider->cap = cap;
    wider->n = high ? high->n : 0;
    for (size_t i = 0; high && i < high->cap; i++)
        if (high->slot[i].edge) *high_slot(wider, high->slot[i].edge) = high->slot[i];
    free(high);
    owner->high = wider;
    return TB_OK;
}

static tb_code add_low(tb__owner *owner, tb__member member, tb_error *err)
{
    tb_code code = tb__grow(&owner->low, owner->n_low, &owner->cap_low, sizeof *owner->low, err);
    if (code) return code;
    const size_t at = count_lower(owner, member.edge);
    memmove(owner->low + at + 1, owner->low + at, (owner->n_low - at) * sizeof *owner->low);
    owner->low[at] = member;
    owner->n_low++;
    owner->has[member.edge / 64] |= UINT64_C(1) << member.edge % 64;
    return TB_OK;
}

static void note_series(tb__owner *owner, int64_t series)
{
    if (series > owner->last) owner->last = series;
}

tb_code tb__owner_add(tb__owner *owner, tb__member member, tb_error *err)
{
    const bool low = member.edge < TB__OWNER_BITS;
    tb_code code = low ? add_low(owner, member, err) : widen_high(owner, err);
    if (code) return code;
    if (!low) {
        *high_slot(owner->high, member.edge) = member;
        owner->high->n++;
    }
    owner->n++;
    note_series(owner, member.series);
    return TB_OK;
}

tb_code tb__check_series(int64_t edge, int64_t series, tb_error *err)
{
    tb_code code = edge ? tb__check_id("edge", edge, TB__EDGE_END, err) : TB_OK;
    return code ? code : tb__check_id("series", series, TB__SERIES_MAX, err);
}

static tb_code read_owner(tb_store *store, tb__owner *owner, tb_error *err)
{
    const int64_t id[2] = {owner->scope, owner->id};
    sqlite3_stmt *s;
    bool row = true;
    tb_code code = tb__sql_ints(store, TB__SQL_SERIES_OF_OWNER, id, 2, &s, err);
    while (!code && !(code = tb__step(store, s, &row, err)) && row) {
        const tb__member m = {sqlite3_column_int64(s, 0), sqlite3_column_int64(s, 1)};
        code = tb__check_series(m.edge, m.series, err);
        if (!code && m.edge == 0 && !tb__is_whole(owner->scope)) note_series(owner, owner->all = m.series);
        else if (!code) code = tb__owner_add(owner, m, err);
        if (code) sqlite3_reset(s);
    }
    if (!code && owner->scope == TB__SCOPE_ZONE)
        code = tb__int_of(store, TB__SQL_ZONE_ACCOUNT, &owner->id, 1, 0, &owner->account, err);
    if (!code && owner->scope == TB__SCOPE_ACCOUNT && !owner->last)
        code = tb__int_of(store, TB__SQL_SHARED_OF, &owner->id, 1, 0, &owner->shares, err);
    return code;
}

static tb_code new_row(tb_store *store, tb__series_row row, tb_error *err)
{
    struct tb__usage *u = store->usage;
    tb_code code = tb__grow(&u->new_series, u->n_new, &u->cap_new, sizeof *u->new_series, err);
    if (code) return code;
    u->new_series[u->n_new++] = row;
    return TB_OK;
}

static tb_code load_series_ids(tb_store *store, tb_error *err)
{
    int64_t next = 0;
    if (store->next_series) return TB_OK;
    tb_code code = tb__meta_get(store, "series_before", &store->usage->series_before, err);
    if (!code) code = tb__next_id(store, TB__SQL_SERIES_NEXT, "series", &next, err);
    if (!code) code = tb__check_id("series", next, TB__SERIES_MAX, err);
    if (code) return code;
    store->usage->series_id = next - 1;
    store->next_series = next;
    return TB_OK;
}

/* Ids are given to owners in blocks, so that what an owner's series hold lies side by side. Those up to
 * series_before were given one by one. next_series is the first id after all blocks. */
tb_code tb__series_begin(tb_store *store, tb__owner *owner, int64_t edge, int64_t *ret_series, tb_error *err)
{
    tb_code code = load_series_ids(store, err);
    if (code) return code;
    int64_t id = owner->last + 1;
    if (id <= store->usage->series_before + 1 || id % TB__SERIES_BLOCK == 0) {
        id = (store->next_series + TB__SERIES_BLOCK - 1) / TB__SERIES_BLOCK * TB__SERIES_BLOCK;
        store->next_series = id + TB__SERIES_BLOCK;
    }
    note_series(owner, *ret_series = id);
    return new_row(store, (tb__series_row){{owner->scope, owner->id, edge, id}}, err);
}

#define SHARED 0 /* in place of a scope: a row of series_shared */

tb_code tb__owner_share(tb_store *store, tb__owner *account, int64_t zone, tb_error *err)
{
    account->shares = zone;
    return new_row(store, (tb__series_row){{SHARED, account->id, 0, zone}}, err);
}

tb_code tb__owner_unshare(tb_store *store, tb__owner *account, tb__owner **ret_zone, tb_error *err)
{
    size_t at = 0;
    int64_t series = 0;
    tb_code code = tb__owner_get(store, TB__SCOPE_ZONE, account->shares, ret_zone, err);
    if (!code) code = tb__series_write(store, err); /* the row may be among the new ones */
    if (!code) code = tb__run_ints(store, TB__SQL_SHARED_DELETE, &account->id, 1, err);
    if (code) return code;
    account->shares = 0;
    for (const tb__member *m; !code && (m = tb__owner_next(*ret_zone, &at)) != NULL;) {
        code = tb__series_begin(store, account, m->edge, &series, err);
        if (!code) code = tb__owner_add(account, (tb__member){m->edge, series}, err);
    }
    return code || !(*ret_zone)->all ? code : tb__series_begin(store, account, 0, &account->all, err);
}

tb_code tb__owners_unshare(tb_store *store, tb_error *err)
{
    for (;;) {
        int64_t id = 0;
        tb__owner *account = NULL, *zone = NULL;
        tb_code code = tb__int_of(store, TB__SQL_SHARED_FIRST, NULL, 0, 0, &id, err);
        if (code || !id) return code ? code : tb__series_save(store, err);
        code = tb__owner_get(store, TB__SCOPE_ACCOUNT, id, &account, err);
        if (!code) code = tb__owner_unshare(store, account, &zone, err);
        if (code) return code;
    }
}

static int by_owner(const void *a, const void *b)
{
    const int64_t *x = ((const tb__series_row *)a)->value, *y = ((const tb__series_row *)b)->value;
    for (int i = 0; i < 3; i++)
        if (x[i] != y[i]) return x[i] < y[i] ? -1 : 1;
    return 0;
}

#define EDGE_BITS  20
#define OWNER_BITS 41

/* Scope, owner and edge as one number; false if they do not fit, which no id given out does. */
static bool number_rows(const tb__series_row *rows, size_t n, tb__item *items)
{
    for (size_t i = 0; i < n; i++) {
        const int64_t *v = rows[i].value;
        if (v[1] >> OWNER_BITS || v[2] >> EDGE_BITS) return false;
        const uint64_t scope = (uint64_t)v[0] << (OWNER_BITS + EDGE_BITS);
        items[i] = (tb__item){scope | (uint64_t)v[1] << EDGE_BITS | (uint64_t)v[2], 0, (uint32_t)i};
    }
    return true;
}

/* Of many rows, an order by bytes takes a fifth of the time that comparisons take. Without memory for it
 * they are compared. */
static void sort_series(tb__series_row *rows, size_t n)
{
    tb__item *items = n < TRIGGERED_MAX ? NULL : malloc(2 * n * sizeof *items);
    tb__series_row *copy = items ? malloc(n * sizeof *copy) : NULL;
    if (copy && number_rows(rows, n, items)) {
        tb__items_sort(items, items + n, n);
        memcpy(copy, rows, n * sizeof *copy);
        for (size_t i = 0; i < n; i++)
            rows[i] = copy[items[i].index];
    } else if (n > 1) {
        qsort(rows, n, sizeof *rows, by_owner);
    }
    free(items);
    free(copy);
}

/* How one row is inserted, and TOGETHER of them. */
typedef struct into {
    tb__statement one, many;
} into;

static const into places = {TB__SQL_SERIES_INSERT, TB__SQL_SERIES_INSERT_16};
static const into new_rows = {TB__SQL_SERIES_WAIT, TB__SQL_SERIES_WAIT_16};

/* Adds the seals of n rows to *seals. */
static tb_code insert_series(tb_store *store, tb__statement insert, const tb__series_row *rows, size_t n,
                             uint64_t *seals, tb_error *err)
{
    sqlite3_stmt *s;
    int at = 1;
    tb_code code = tb__sql(store, insert, &s, err);
    for (size_t i = 0; !code && i < n; i++) {
        const int64_t seal = tb__seal_numbers("series", rows[i].value, 4);
        for (int v = 0; v < 4; v++)
            sqlite3_bind_int64(s, at++, rows[i].value[v]);
        sqlite3_bind_int64(s, at++, seal);
        *seals += (uint64_t)seal;
    }
    return code ? code : tb__run(store, s, err);
}

static tb_code insert_all(tb_store *store, const into *to, const tb__series_row *rows, size_t n, uint64_t *seals,
                          tb_error *err)
{
    tb_code code = TB_OK;
    for (size_t i = 0, some; !code && i < n; i += some) {
        some = n - i >= TOGETHER ? TOGETHER : 1;
        code = insert_series(store, some == 1 ? to->one : to->many, rows + i, some, seals, err);
    }
    return code;
}

/* The trigger, switched off, is stood in for: the rows come with their seals, and head is told once of
 * all. */
static tb_code insert_many(tb_store *store, const tb__series_row *rows, size_t n, tb_error *err)
{
    uint64_t seals = 0;
    tb_code code = tb__triggers_off(store, err);
    if (!code) code = insert_all(store, &places, rows, n, &seals, err);
    tb__triggers_on(store);
    const int64_t counted[2] = {(int64_t)n, (int64_t)(seals & TB__SEAL_BITS)};
    return code ? code : tb__run_ints(store, TB__SQL_SERIES_SEALED, counted, 2, err);
}

static size_t part_rows(const tb_store *store)
{
    return store->usage->test.part ? store->usage->test.part : PART;
}

/* Moves up to that many rows after the last moved one; at the end it starts again from the beginning. */
static tb_code place_part(tb_store *store, size_t rows, tb_error *err)
{
    int64_t *placed = store->usage->placed;
    int64_t keys[6] = {placed[0], placed[1], placed[2], (int64_t)rows - 1};
    sqlite3_stmt *s;
    bool row = false;
    tb_code code = tb__sql_ints(store, TB__SQL_SERIES_PART_END, keys, 4, &s, err);
    if (!code) code = tb__step(store, s, &row, err);
    for (int i = 0; !code && i < 3; i++)
        keys[3 + i] = row ? sqlite3_column_int64(s, i) : INT64_MAX;
    if (row) sqlite3_reset(s);
    if (!code) code = tb__run_ints(store, TB__SQL_SERIES_PLACE, keys, 6, err);
    if (!code) code = tb__run_ints(store, TB__SQL_SERIES_PLACED, keys, 6, err);
    for (int i = 0; !code && i < 3; i++)
        placed[i] = row ? keys[3 + i] : 0;
    return code;
}

static tb_code place_some(tb_store *store, size_t most, bool *ret_more, tb_error *err)
{
    int64_t n = 0;
    tb_code code = tb__int_of(store, TB__SQL_SERIES_WAITING, NULL, 0, 0, &n, err);
    *ret_more = !code && (size_t)n > most;
    return *ret_more ? place_part(store, part_rows(store), err) : code;
}

/* A database with usage servers looks series up by id, which series_new has no index for. */
static tb_code write_series(tb_store *store, size_t from, size_t to, tb_error *err)
{
    tb__series_row *rows = store->usage->new_series + from;
    size_t n = to - from;
    uint64_t seals = 0;
    bool more = false;
    tb_code code = TB_OK;
    sort_series(rows, n);
    for (; !code && n && rows->value[0] == SHARED; rows++, n--)
        code = tb__run_ints(store, TB__SQL_SHARED_INSERT, (int64_t[]){rows->value[1], rows->value[3]}, 2, err);
    if (code || !n) return code;
    if (n >= TRIGGERED_MAX) return insert_many(store, rows, n, err);
    if (store->clickhouse || n >= part_rows(store)) return insert_all(store, &places, rows, n, &seals, err);
    code = insert_all(store, &new_rows, rows, n, &seals, err);
    return code ? code : place_some(store, PARTS * part_rows(store), &more, err);
}

tb_code tb_store_place_series(tb_store *store, bool *ret_more, tb_error *err)
{
    const bool dirty = store->dirty;
    tb_code code = place_some(store, 0, ret_more, err);
    store->dirty = dirty; /* no answer changes, so the data version stays */
    return code;
}

/* Those from before the mark are kept, and stay apart from the others: what undoes to the mark undoes that they were
 * written. */
tb_code tb__series_write(tb_store *store, tb_error *err)
{
    struct tb__usage *u = store->usage;
    store->series_come = false;
    const size_t mid = u->written < u->marked ? u->marked : u->written;
    tb_code code = mid > u->written ? write_series(store, u->written, mid, err) : TB_OK;
    if (!code && u->n_new > mid) code = write_series(store, mid, u->n_new, err);
    u->written = u->n_new;
    if (!u->marked) u->n_new = u->written = 0;
    return code;
}

static tb_code save_id(tb_store *store, tb_error *err)
{
    if (!store->next_series || store->next_series - 1 == store->usage->series_id) return TB_OK;
    store->usage->series_id = store->next_series - 1;
    return tb__meta_set(store, "series_id", store->usage->series_id, err);
}

tb_code tb__series_save(tb_store *store, tb_error *err)
{
    tb_code code = tb__series_write(store, err);
    return code ? code : save_id(store, err);
}

tb_code tb__series_wait(tb_store *store, tb_error *err)
{
    store->series_come = store->usage->n_new > store->usage->written;
    return save_id(store, err);
}

void tb__series_mark(tb_store *store)
{
    struct tb__usage *u = store->usage;
    u->marked = u->n_new - u->written;
    if (u->written && u->marked) memmove(u->new_series, u->new_series + u->written, u->marked * sizeof *u->new_series);
    u->n_new = u->marked;
    u->written = 0;
}

void tb__series_undo(tb_store *store, bool whole)
{
    struct tb__usage *u = store->usage;
    if (whole) u->marked = 0;
    u->n_new = u->marked;
    u->written = 0;
    store->series_come = u->n_new > 0;
}

static void free_owner(tb__owner *owner)
{
    if (owner) free(owner->low);
    if (owner) free(owner->high);
    free(owner);
}

tb_code tb__owner_get(tb_store *store, int scope, int64_t id, tb__owner **ret_owner, tb_error *err)
{
    if (!store->usage->owners) store->usage->owners = calloc(1, sizeof *store->usage->owners);
    struct tb__owners *o = store->usage->owners;
    if (!o) return tb_no_memory(err);
    tb_code code = o->n * 2 >= o->cap ? grow_owners(o, err) : TB_OK;
    if (code) return code;
    size_t at = slot_of(o, scope, id);
    if (o->slot[at]) {
        *ret_owner = o->slot[at];
        return TB_OK;
    }
    tb__owner *owner = calloc(1, sizeof *owner);
    if (!owner) return tb_no_memory(err);
    owner->scope = scope;
    owner->id = id;
    code = read_owner(store, owner, err);
    if (code) {
        free_owner(owner);
        return code;
    }
    o->slot[at] = owner;
    o->n++;
    *ret_owner = owner;
    return TB_OK;
}

void tb__owners_forget(tb_store *store)
{
    struct tb__owners *o = store->usage->owners;
    for (size_t i = 0; o && i < o->cap; i++)
        free_owner(o->slot[i]);
    if (o) free(o->slot);
    free(o);
    store->usage->owners = NULL;
}

void tb__owners_trim(tb_store *store)
{
    if (store->usage->owners && store->usage->owners->n > OWNERS_MAX) tb__owners_forget(store);
}
