/* Ids, edge codes, hours and days as small numbers, counted from 0 in the order of their first
 * appearance. UINT32_MAX: out of memory, or more than a key has bits for (which is past the point
 * where the rollup says that it is full). */
#ifndef TB__ROLLUP_INTERN_H
#define TB__ROLLUP_INTERN_H

#include "rollup/parts.h"

/* From these numbers on a rollup is full; the rest of a batch still fits the keys. */
#define TB__EDGES_FULL 65000u
#define TB__HOURS_FULL 65536u

void tb__interned_init(tb_rollup *r);
void tb__interned_clear(tb_rollup *r);
void tb__interned_release(tb_rollup *r);
size_t tb__interned_bytes(const tb_rollup *r);

uint32_t tb__id_number_slow(tb_rollup *r, tb_rollup_scope scope, int64_t id, uint64_t hash);
uint32_t tb__edge_number_slow(tb_rollup *r, const char *code, size_t len);
uint32_t tb__hour_number_slow(tb_rollup *r, int32_t hour);

TB__INLINE bool tb__id_same(const void *items, uint32_t i, const void *key)
{
    const tb__chunks *ids = items;
    return TB__CHUNKS_ITEM(ids, i, tb__id, TB__ID_SHIFT)->id == *(const int64_t *)key;
}

TB__INLINE uint32_t tb__id_number(tb_rollup *r, tb_rollup_scope scope, int64_t id)
{
    const tb__interned *t = &r->ids[scope];
    const uint64_t hash = tb__hash((uint64_t)id ^ t->salt);
    uint32_t slot;
    if (__builtin_expect(t->index.used < t->index.limit, 1)) {
        const uint32_t i = tb__index_find(&t->index, hash, tb__id_same, &t->items, &id, &slot);
        if (__builtin_expect(i != UINT32_MAX, 1)) return i;
    }
    return tb__id_number_slow(r, scope, id, hash);
}

/* The index of a code of two ASCII bytes in short_edges. */
TB__INLINE unsigned tb__short_edge(const char *code)
{
    return (unsigned)(code[0] & 0x7f) << 7 | (unsigned)(code[1] & 0x7f);
}

TB__INLINE uint32_t tb__edge_number(tb_rollup *r, const char *code, size_t len)
{
    if (__builtin_expect(len == 2, 1)) {
        const uint32_t number = r->short_edges[tb__short_edge(code)];
        if (__builtin_expect(number != 0, 1)) return number - 1;
    }
    return tb__edge_number_slow(r, code, len);
}

TB__INLINE uint32_t tb__hour_number(tb_rollup *r, int32_t hour)
{
    if (__builtin_expect(r->last_hour != UINT32_MAX && tb__hour_at(r, r->last_hour)->hour == hour,
                         1))
        return r->last_hour;
    return tb__hour_number_slow(r, hour);
}

#endif
