/* Growth of the index: the items are walked through the old slots and placed anew. */
#include "rollup/index.h"

#include "rollup/chunks.h"

#include <string.h>

/* Below SLOW_SLOTS an index grows fourfold: few bytes, and items are placed anew half as often. */
enum { FIRST_SLOTS = 64, SLOW_SLOTS = 16384 };

static void place(tb__index *x, uint64_t hash, uint32_t i)
{
    uint32_t at = tb__index_home(x, hash);
    while (x->slots[at])
        at = (at + 1) & x->mask;
    tb__index_put(x, at, hash, i);
}

#define PAGE 4096

/* A slot is read before it is written, and memory that is read first has a page of zeros under it, which
 * is replaced at the first write: each time all threads of the process are interrupted. Items lie all
 * over the slots, so no page is touched in vain. */
static void touch(char *memory, size_t size)
{
    for (size_t at = 0; at < size; at += PAGE)
        *(volatile char *)(memory + at) = 0;
}

/* One bucket more than the slots need, so that they can begin at a bucket's alignment. */
static size_t memory_size(size_t slots)
{
    return (slots + TB__BUCKET) * sizeof(uint32_t);
}

static bool make_slots(tb__index *x, size_t slots, const tb_alloc *alloc)
{
    *x = (tb__index){.mask = (uint32_t)(slots - 1), .limit = (uint32_t)(slots / 4 * 3)};
    if (x->limit > TB__INDEX_ITEMS) x->limit = TB__INDEX_ITEMS;
    x->memory = tb_alloc_zero(alloc, 1, memory_size(slots));
    const size_t bucket = TB__BUCKET * sizeof(uint32_t);
    if (!x->memory) {
        *x = (tb__index){0};
        return false;
    }
    tb__memory_large(x->memory, memory_size(slots));
    touch(x->memory, memory_size(slots));
    x->slots = (uint32_t *)(((uintptr_t)x->memory + bucket - 1) & ~(bucket - 1));
    return true;
}

bool tb__index_grow(tb__index *x, const void *items, tb__index_hash *hash, const tb_alloc *alloc)
{
    const size_t old = x->slots ? (size_t)x->mask + 1 : 0;
    const size_t slots = old ? old * (old < SLOW_SLOTS ? 4 : 2) : FIRST_SLOTS;
    if (x->used >= TB__INDEX_ITEMS) return false;
    tb__index next;
    if (!make_slots(&next, slots, alloc)) return false;
    for (size_t at = 0; at < old; at++) {
        const uint32_t slot = x->slots[at];
        if (slot) place(&next, hash(items, (slot & 0xffffff) - 1), (slot & 0xffffff) - 1);
    }
    tb__index_release(x, alloc);
    *x = next;
    return true;
}

bool tb__index_reserve(tb__index *x, uint32_t n, const tb_alloc *alloc)
{
    size_t slots = FIRST_SLOTS;
    while (slots / 4 * 3 <= n)
        slots *= 2;
    return make_slots(x, slots, alloc);
}

size_t tb__index_bytes(const tb__index *x)
{
    return x->slots ? memory_size((size_t)x->mask + 1) : 0;
}

void tb__index_clear(tb__index *x)
{
    if (x->slots) memset(x->slots, 0, ((size_t)x->mask + 1) * sizeof *x->slots);
    x->used = 0;
}

void tb__index_release(tb__index *x, const tb_alloc *alloc)
{
    tb_alloc_free(alloc, x->memory, memory_size((size_t)x->mask + 1));
    *x = (tb__index){0};
}
