/* Blocks are allocated one by one; the table of blocks doubles. */
#include "rollup/chunks.h"

enum { FIRST_BLOCKS = 8 };

static size_t block_size(const tb__chunks *c)
{
    return (size_t)c->size << c->shift;
}

static bool add_block(tb__chunks *c, const tb_alloc *alloc)
{
    if (c->n_blocks == c->cap_blocks) {
        const uint32_t cap = c->cap_blocks ? c->cap_blocks * 2 : FIRST_BLOCKS;
        char **blocks = tb_alloc_resize(alloc, c->blocks, c->cap_blocks * sizeof *blocks,
                                        cap * sizeof *blocks);
        if (!blocks) return false;
        c->blocks = blocks;
        c->cap_blocks = cap;
    }
    char *block = tb_alloc_resize(alloc, NULL, 0, block_size(c));
    if (!block) return false;
    c->blocks[c->n_blocks++] = block;
    return true;
}

bool tb__chunks_room(tb__chunks *c, const tb_alloc *alloc)
{
    return c->n >> c->shift < c->n_blocks || add_block(c, alloc);
}

void *tb__chunks_run(tb__chunks *c, uint32_t count, const tb_alloc *alloc)
{
    const uint32_t in_block = c->n & ((1u << c->shift) - 1);
    if (in_block + count > 1u << c->shift) c->n += (1u << c->shift) - in_block;
    if (!tb__chunks_room(c, alloc)) return NULL;
    void *run = tb__chunks_at(c, c->n);
    c->n += count;
    return run;
}

void tb__chunks_release(tb__chunks *c, const tb_alloc *alloc)
{
    for (uint32_t i = 0; i < c->n_blocks; i++)
        tb_alloc_free(alloc, c->blocks[i], block_size(c));
    tb_alloc_free(alloc, c->blocks, c->cap_blocks * sizeof *c->blocks);
    *c = (tb__chunks){.size = c->size, .shift = c->shift};
}
