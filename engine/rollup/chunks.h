/* A growing array in blocks: appended items never move, so that growth copies nothing and pointers stay valid, and a
 * cleared array keeps its blocks for reuse. */
#ifndef TB__ROLLUP_CHUNKS_H
#define TB__ROLLUP_CHUNKS_H

#include "tollbook/buf.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct tb__chunks {
    char **blocks; /* where the items are */
    char **memory; /* allocations: blocks of large pages begin at such a page */
    uint32_t n_blocks, cap_blocks;
    uint32_t n;     /* items in use */
    uint32_t size;  /* of an item, bytes */
    uint32_t shift; /* a block holds 2^shift items */
} tb__chunks;

#define TB__CHUNKS(type, block_shift) ((tb__chunks){.size = sizeof(type), .shift = (block_shift)})

static inline void *tb__chunks_at(const tb__chunks *c, uint32_t i)
{
    return c->blocks[i >> c->shift] + (size_t)(i & ((1u << c->shift) - 1)) * c->size;
}

/* The same where the caller knows the type and the shift: shifts and sums of constants. */
#define TB__CHUNKS_ITEM(c, i, type, block_shift)                                                   \
    ((type *)(void *)((c)->blocks[(i) >> (block_shift)] +                                          \
                      (size_t)((i) & ((1u << (block_shift)) - 1)) * sizeof(type)))

/* What the items in use take. */
static inline size_t tb__chunks_bytes(const tb__chunks *c)
{
    return (size_t)c->n * c->size;
}

/* Makes sure that item n has memory; false when out of memory. */
bool tb__chunks_room(tb__chunks *c, const tb_alloc *alloc);
/* Space for `count` items side by side, at most a block's, counted as used; NULL when out of
 * memory. */
void *tb__chunks_run(tb__chunks *c, uint32_t count, const tb_alloc *alloc);
/* Memory of `size` bytes and more that will be filled from end to end: asks the system for large
 * pages, where it has them. A hint, nothing depends on it. */
void tb__memory_large(void *memory, size_t size);
void tb__chunks_release(tb__chunks *c, const tb_alloc *alloc);

#endif
