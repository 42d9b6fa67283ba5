/* A hash index over items kept elsewhere: open addressing, four bytes a slot.
 *
 *   slot = 0                    empty
 *   slot = tag << 24 | (i + 1)  item i; the tag is eight bits of its hash
 *
 * The tag keeps all but one in 256 of the wrong items from being looked at. Items are never taken
 * out. `same` and `hash` are constants at each place of use, so that the compiler makes straight
 * code of them. */
#ifndef TB__ROLLUP_INDEX_H
#define TB__ROLLUP_INDEX_H

#include "tollbook/alloc.h"

#include <stdbool.h>
#include <stdint.h>

#define TB__INLINE static inline __attribute__((always_inline))

/* Most items of one index. */
#define TB__INDEX_MAX 0xfffffeu

typedef struct tb__index {
    uint32_t *slots;
    uint32_t mask;  /* number of slots - 1 */
    uint32_t used;
    uint32_t limit; /* grows when used reaches it: 3/4 of the slots */
} tb__index;

typedef bool tb__index_same(const void *items, uint32_t i, const void *key);
typedef uint64_t tb__index_hash(const void *items, uint32_t i);

/* Mixes 64 bits: each half of the result depends on all of them. */
TB__INLINE uint64_t tb__hash(uint64_t k)
{
    k = (k ^ k >> 32) * UINT64_C(0xD6E8FEB86659FD93);
    k = (k ^ k >> 29) * UINT64_C(0x9FB21C651E98DF25);
    return k ^ k >> 32;
}

TB__INLINE uint32_t tb__index_tag(uint64_t hash)
{
    return (uint32_t)(hash >> 56) << 24;
}

/* The item's number, or UINT32_MAX; then *ret_slot is where it belongs. Needs room for one. */
TB__INLINE uint32_t tb__index_find(const tb__index *x, uint64_t hash, tb__index_same *same,
                                   const void *items, const void *key, uint32_t *ret_slot)
{
    const uint32_t tag = tb__index_tag(hash);
    for (uint32_t at = (uint32_t)hash & x->mask;; at = (at + 1) & x->mask) {
        const uint32_t slot = x->slots[at], i = (slot & 0xffffff) - 1;
        *ret_slot = at;
        if (slot == 0) return UINT32_MAX;
        if ((slot & 0xff000000) == tag && same(items, i, key)) return i;
    }
}

TB__INLINE void tb__index_put(tb__index *x, uint32_t slot, uint64_t hash, uint32_t i)
{
    x->slots[slot] = tb__index_tag(hash) | (i + 1);
    x->used++;
}

/* Doubles the slots (or makes the first); false when out of memory or past TB__INDEX_MAX. */
bool tb__index_grow(tb__index *x, const void *items, tb__index_hash *hash, const tb_alloc *alloc);

/* Room for one more item. */
TB__INLINE bool tb__index_room(tb__index *x, const void *items, tb__index_hash *hash,
                               const tb_alloc *alloc)
{
    return __builtin_expect(x->used < x->limit, 1) || tb__index_grow(x, items, hash, alloc);
}

void tb__index_clear(tb__index *x); /* empty, keeps the memory */
void tb__index_release(tb__index *x, const tb_alloc *alloc);

#endif
