/* Growth of the index: the items are walked through the old slots and placed anew. */
#include "rollup/index.h"

#include <string.h>

enum { FIRST_SLOTS = 64 };

static void place(tb__index *x, uint64_t hash, uint32_t i)
{
    uint32_t at = (uint32_t)hash & x->mask;
    while (x->slots[at])
        at = (at + 1) & x->mask;
    tb__index_put(x, at, hash, i);
}

bool tb__index_grow(tb__index *x, const void *items, tb__index_hash *hash, const tb_alloc *alloc)
{
    const size_t old = x->slots ? (size_t)x->mask + 1 : 0;
    const size_t slots = old ? old * 2 : FIRST_SLOTS;
    if (x->used >= TB__INDEX_MAX) return false;
    tb__index next = {.mask = (uint32_t)(slots - 1), .limit = (uint32_t)(slots / 4 * 3)};
    if (next.limit > TB__INDEX_MAX) next.limit = TB__INDEX_MAX;
    next.slots = tb_alloc_zero(alloc, slots, sizeof *next.slots);
    if (!next.slots) return false;
    for (size_t at = 0; at < old; at++) {
        const uint32_t slot = x->slots[at];
        if (slot) place(&next, hash(items, (slot & 0xffffff) - 1), (slot & 0xffffff) - 1);
    }
    tb__index_release(x, alloc);
    *x = next;
    return true;
}

void tb__index_clear(tb__index *x)
{
    if (x->slots) memset(x->slots, 0, ((size_t)x->mask + 1) * sizeof *x->slots);
    x->used = 0;
}

void tb__index_release(tb__index *x, const tb_alloc *alloc)
{
    tb_alloc_free(alloc, x->slots, ((size_t)x->mask + 1) * sizeof *x->slots);
    *x = (tb__index){0};
}
