/* The four interning tables. The hash of ids and codes is salted with the rollup's address, so that a client cannot
 * choose ids that collide; no result depends on it. */
#include "rollup/intern.h"

#include <string.h>

#define NUMBERS_MAX ((uint32_t)TB__KEY_MASK)

/* Appends an item to the table; its place in the index is `slot`. NULL when out of memory. */
static void *append(tb__interned *t, uint32_t slot, uint64_t hash, const tb_alloc *alloc)
{
    if (!tb__chunks_room(&t->items, alloc)) return NULL;
    const uint32_t i = t->items.n++;
    tb__index_put(&t->index, slot, hash, i);
    return tb__chunks_at(&t->items, i);
}

static uint64_t id_hash(const void *table, uint32_t i)
{
    const tb__interned *t = table;
    const tb__id *id = tb__chunks_at(&t->items, i);
    return tb__hash((uint64_t)id->id ^ t->salt);
}

uint32_t tb__id_number_slow(tb_rollup *r, tb_rollup_scope scope, int64_t id, uint64_t hash)
{
    tb__interned *t = &r->ids[scope];
    uint32_t slot;
    if (!tb__index_room(&t->index, t, id_hash, r->alloc)) return UINT32_MAX;
    const uint32_t i = tb__index_find(&t->index, hash, tb__id_same, &t->items, &id, &slot);
    if (i != UINT32_MAX) return i;
    tb__id *item = append(t, slot, hash, r->alloc);
    if (!item) return UINT32_MAX;
    *item = (tb__id){.id = id};
    return t->items.n - 1;
}

static uint64_t edge_mix(const tb__edge *edge, uint64_t salt)
{
    return tb__hash(tb__hash(edge->high ^ salt) ^ edge->low) ^ edge->len;
}

static uint64_t edge_hash(const void *table, uint32_t i)
{
    const tb__interned *t = table;
    return edge_mix(tb__chunks_at(&t->items, i), t->salt);
}

static bool edge_same(const void *items, uint32_t i, const void *key)
{
    const tb__edge *a = tb__chunks_at(items, i), *b = key;
    return a->high == b->high && a->low == b->low && a->len == b->len;
}

static uint64_t big_endian(const char *bytes)
{
    uint64_t word = 0;
    for (unsigned i = 0; i < 8; i++)
        word = word << 8 | (unsigned char)bytes[i];
    return word;
}

static tb__edge edge_of(const char *code, size_t len)
{
    tb__edge edge = {.len = (uint8_t)len};
    memcpy(edge.code, code, len);
    edge.high = big_endian(edge.code);
    edge.low = big_endian(edge.code + 8);
    return edge;
}

uint32_t tb__edge_number_slow(tb_rollup *r, const char *code, size_t len)
{
    if (len > TB_EDGE_MAX) return UINT32_MAX;
    if (r->last_edge != UINT32_MAX) {
        const tb__edge *last = tb__edge_at(r, r->last_edge);
        if (last->len == len && memcmp(last->code, code, len) == 0) return r->last_edge;
    }
    const tb__edge edge = edge_of(code, len);
    const uint64_t hash = edge_mix(&edge, r->edges.salt);
    uint32_t slot;
    if (!tb__index_room(&r->edges.index, &r->edges, edge_hash, r->alloc)) return UINT32_MAX;
    const uint32_t i =
        tb__index_find(&r->edges.index, hash, edge_same, &r->edges.items, &edge, &slot);
    if (i != UINT32_MAX) return r->last_edge = i;
    if (r->edges.items.n == NUMBERS_MAX) return UINT32_MAX;
    tb__edge *item = append(&r->edges, slot, hash, r->alloc);
    if (!item) return UINT32_MAX;
    *item = edge;
    const uint32_t number = r->edges.items.n - 1;
    const bool ascii = len == 2 && ((code[0] | code[1]) & 0x80) == 0;
    if (ascii && number < UINT16_MAX) r->short_edges[tb__short_edge(code)] = (uint16_t)(number + 1);
    return r->last_edge = number;
}

static uint64_t number_mix(int32_t number)
{
    return tb__hash((uint32_t)number);
}

static uint64_t day_hash(const void *items, uint32_t i)
{
    const tb__day *day = tb__chunks_at(items, i);
    return number_mix(day->day);
}

static bool day_same(const void *items, uint32_t i, const void *key)
{
    const tb__day *day = tb__chunks_at(items, i);
    return day->day == *(const int32_t *)key;
}

static uint32_t day_number(tb_rollup *r, int32_t day)
{
    tb__interned *t = &r->days;
    const uint64_t hash = number_mix(day);
    uint32_t slot;
    if (!tb__index_room(&t->index, &t->items, day_hash, r->alloc)) return UINT32_MAX;
    const uint32_t i = tb__index_find(&t->index, hash, day_same, &t->items, &day, &slot);
    if (i != UINT32_MAX) return i;
    tb__day *item = append(t, slot, hash, r->alloc);
    if (!item) return UINT32_MAX;
    *item = (tb__day){.day = day};
    return t->items.n - 1;
}

static uint64_t hour_hash(const void *items, uint32_t i)
{
    const tb__hour *hour = tb__chunks_at(items, i);
    return number_mix(hour->hour);
}

static bool hour_same(const void *items, uint32_t i, const void *key)
{
    const tb__hour *hour = tb__chunks_at(items, i);
    return hour->hour == *(const int32_t *)key;
}

/* An hour most often gets about as many groups as the one before it: its index is made that large
 * at once instead of growing to it again. No more is made in advance than there are groups, so
 * that an odd order of hours cannot take memory for nothing. */
static bool reserve_like_last(tb_rollup *r, tb__hour *hour)
{
    if (r->last_hour == UINT32_MAX) return true;
    const uint32_t n = tb__hour_at(r, r->last_hour)->groups.used;
    if (r->reserved + n > r->groups.n) return true;
    r->reserved += n;
    return tb__index_reserve(&hour->groups, n, r->alloc);
}

uint32_t tb__hour_number_slow(tb_rollup *r, int32_t hour)
{
    tb__interned *t = &r->hours;
    const uint64_t hash = number_mix(hour);
    uint32_t slot;
    if (!tb__index_room(&t->index, &t->items, hour_hash, r->alloc)) return UINT32_MAX;
    const uint32_t i = tb__index_find(&t->index, hash, hour_same, &t->items, &hour, &slot);
    if (i != UINT32_MAX) return r->last_hour = i;
    const int32_t day = hour / 24 - (hour % 24 < 0);
    const uint32_t day_no = day_number(r, day);
    if (day_no == UINT32_MAX || t->items.n == NUMBERS_MAX) return UINT32_MAX;
    tb__hour *item = append(t, slot, hash, r->alloc);
    if (!item) return UINT32_MAX;
    *item = (tb__hour){.hour = hour, .day = day, .day_no = day_no};
    if (!reserve_like_last(r, item)) return UINT32_MAX;
    return r->last_hour = t->items.n - 1;
}

void tb__interned_init(tb_rollup *r)
{
    for (unsigned scope = 0; scope < TB__SCOPES; scope++)
        r->ids[scope].items = TB__CHUNKS(tb__id, TB__ID_SHIFT);
    r->edges.items = TB__CHUNKS(tb__edge, TB__EDGE_SHIFT);
    r->hours.items = TB__CHUNKS(tb__hour, TB__HOUR_SHIFT);
    r->days.items = TB__CHUNKS(tb__day, TB__DAY_SHIFT);
    r->edges.salt = r->ids[0].salt = r->ids[1].salt = tb__hash((uintptr_t)r);
    r->last_hour = r->last_edge = UINT32_MAX;
}

static void release_inner(tb_rollup *r)
{
    for (uint32_t i = 0; i < r->hours.items.n; i++)
        tb__index_release(&tb__hour_at(r, i)->groups, r->alloc);
    for (uint32_t i = 0; i < r->days.items.n; i++)
        tb__index_release(&tb__day_at(r, i)->countries, r->alloc);
}

static tb__interned *table(tb_rollup *r, unsigned i)
{
    tb__interned *const tables[] = {&r->ids[0], &r->ids[1], &r->edges, &r->hours, &r->days};
    return i < sizeof tables / sizeof *tables ? tables[i] : NULL;
}

void tb__interned_clear(tb_rollup *r)
{
    release_inner(r);
    tb__interned *t;
    for (unsigned i = 0; (t = table(r, i)) != NULL; i++) {
        tb__index_clear(&t->index);
        t->items.n = 0;
    }
    memset(r->short_edges, 0, sizeof r->short_edges);
    r->last_hour = r->last_edge = UINT32_MAX;
    r->reserved = 0;
}

void tb__interned_release(tb_rollup *r)
{
    release_inner(r);
    tb__interned *t;
    for (unsigned i = 0; (t = table(r, i)) != NULL; i++) {
        tb__index_release(&t->index, r->alloc);
        tb__chunks_release(&t->items, r->alloc);
    }
}

size_t tb__interned_bytes(const tb_rollup *r)
{
    const tb__interned *const tables[] = {&r->ids[0], &r->ids[1], &r->edges, &r->hours, &r->days};
    size_t bytes = 0;
    for (unsigned i = 0; i < sizeof tables / sizeof *tables; i++)
        bytes += tb__chunks_bytes(&tables[i]->items) + tb__index_bytes(&tables[i]->index);
    for (uint32_t i = 0; i < r->hours.items.n; i++)
        bytes += tb__index_bytes(&tb__hour_at(r, i)->groups);
    for (uint32_t i = 0; i < r->days.items.n; i++)
        bytes += tb__index_bytes(&tb__day_at(r, i)->countries);
    return bytes;
}
