/* A hash index over items kept elsewhere: open addressing in buckets of four slots of four bytes.
 *
 *   slot = 0                    empty
 *   slot = tag << 24 | (i + 1)  item i; the tag is seven bits of its hash, never 0
 *
 * A lookup compares the four tags of a bucket at once: nearly always that finds the item, or an empty slot,
 * without a loop of unpredictable length. Items are never removed, so a bucket fills from the front. `same`
 * and `hash` are constants at each place of use, so that the compiler inlines them. */
#ifndef TB__ROLLUP_INDEX_H
#define TB__ROLLUP_INDEX_H

#include "tollbook/buf.h"

#include <stdbool.h>
#include <stdint.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#define TB__INLINE static inline __attribute__((always_inline))

/* Most items of one index. */
#define TB__INDEX_ITEMS 0xfffffeu

typedef struct tb__index {
    uint32_t *slots; /* whole buckets, 16-byte aligned */
    void *memory;    /* the allocation of the slots */
    uint32_t mask;   /* number of slots - 1 */
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
    return (uint32_t)(hash >> 56 | 1) << 24;
}

enum { TB__BUCKET = 4 };

/* The first slot of the bucket where a look begins. */
TB__INLINE uint32_t tb__index_home(const tb__index *x, uint64_t hash)
{
    return (uint32_t)hash & x->mask & ~(uint32_t)(TB__BUCKET - 1);
}

/* Which of the bucket's slots bear the tag, and which are empty, as bits. */
TB__INLINE unsigned tb__bucket_match(const uint32_t *slots, uint32_t tag, unsigned *ret_empty)
{
#ifdef __SSE2__
    const __m128i four = _mm_load_si128((const __m128i *)(const void *)slots);
    const __m128i tags = _mm_and_si128(four, _mm_set1_epi32((int)0xff000000));
    const __m128i match = _mm_cmpeq_epi32(tags, _mm_set1_epi32((int)tag));
    const __m128i empty = _mm_cmpeq_epi32(four, _mm_setzero_si128());
    *ret_empty = (unsigned)_mm_movemask_ps(_mm_castsi128_ps(empty));
    return (unsigned)_mm_movemask_ps(_mm_castsi128_ps(match));
#else
    unsigned match = 0, empty = 0;
    for (unsigned i = 0; i < TB__BUCKET; i++) {
        match |= (unsigned)((slots[i] & 0xff000000) == tag) << i;
        empty |= (unsigned)(slots[i] == 0) << i;
    }
    *ret_empty = empty;
    return match;
#endif
}

/* The item's number, or UINT32_MAX; then *ret_slot is where it belongs. Needs room for one. */
TB__INLINE uint32_t tb__index_find(const tb__index *x, uint64_t hash, tb__index_same *same,
                                   const void *items, const void *key, uint32_t *ret_slot)
{
    const uint32_t tag = tb__index_tag(hash);
    for (uint32_t at = tb__index_home(x, hash);; at = (at + TB__BUCKET) & x->mask) {
        unsigned empty, match = tb__bucket_match(x->slots + at, tag, &empty);
        *ret_slot = at;
        for (; match; match &= match - 1) {
            const uint32_t i = (x->slots[at + (unsigned)__builtin_ctz(match)] & 0xffffff) - 1;
            if (__builtin_expect(same(items, i, key), 1)) return i;
        }
        if (__builtin_expect(empty == 0, 0)) continue;
        *ret_slot = at + (unsigned)__builtin_ctz(empty);
        return UINT32_MAX;
    }
}

TB__INLINE void tb__index_put(tb__index *x, uint32_t slot, uint64_t hash, uint32_t i)
{
    x->slots[slot] = tb__index_tag(hash) | (i + 1);
    x->used++;
}

/* Makes more slots (or the first); false when out of memory or past TB__INDEX_ITEMS. */
bool tb__index_grow(tb__index *x, const void *items, tb__index_hash *hash, const tb_alloc *alloc);

/* Makes an empty index large enough for n items; false when out of memory. */
bool tb__index_reserve(tb__index *x, uint32_t n, const tb_alloc *alloc);

/* Asks memory for the bucket. */
TB__INLINE void tb__index_prefetch(const tb__index *x, uint64_t hash)
{
    if (x->slots) __builtin_prefetch(&x->slots[tb__index_home(x, hash)]);
}

/* Room for one more item. */
TB__INLINE bool tb__index_room(tb__index *x, const void *items, tb__index_hash *hash,
                               const tb_alloc *alloc)
{
    return __builtin_expect(x->used < x->limit, 1) || tb__index_grow(x, items, hash, alloc);
}

size_t tb__index_bytes(const tb__index *x);
void tb__index_clear(tb__index *x); /* empty, keeps the memory */
void tb__index_release(tb__index *x, const tb_alloc *alloc);

#endif
