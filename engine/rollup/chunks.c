/* Blocks are allocated one by one; the tables of blocks double. */
#include "rollup/chunks.h"

#include <string.h>
#include <sys/mman.h>

enum { FIRST_BLOCKS = 8 };

#define LARGE_PAGE ((uintptr_t)2 << 20)
#define FIRST_SMALL ((uintptr_t)512 << 10) /* a small input shall not wait for a large page to be cleared */

void tb__memory_large(void *memory, size_t size)
{
#ifdef MADV_HUGEPAGE
    const uintptr_t from = ((uintptr_t)memory + LARGE_PAGE - 1) & ~(LARGE_PAGE - 1);
    const uintptr_t to = ((uintptr_t)memory + size) & ~(LARGE_PAGE - 1);
    if (from < to) (void)madvise((void *)from, to - from, MADV_HUGEPAGE);
#else
    (void)memory;
    (void)size;
#endif
}

/* A block of several large pages is given one more to begin where it should. It is memory that
 * is never touched. */
static size_t memory_size(const tb__chunks *c)
{
    const size_t size = (size_t)c->size << c->shift;
    return size >= 2 * LARGE_PAGE ? size + LARGE_PAGE : size;
}

static bool grow_tables(tb__chunks *c, const tb_alloc *alloc)
{
    const uint32_t cap = c->cap_blocks ? c->cap_blocks * 2 : FIRST_BLOCKS;
    const size_t old_size = c->cap_blocks * sizeof(char *), size = cap * sizeof(char *);
    char **blocks = tb_alloc_resize(alloc, NULL, 0, size);
    char **memory = tb_alloc_resize(alloc, NULL, 0, size);
    if (!blocks || !memory) {
        tb_alloc_free(alloc, blocks, size);
        tb_alloc_free(alloc, memory, size);
        return false;
    }
    if (old_size) {
        memcpy(blocks, c->blocks, old_size);
        memcpy(memory, c->memory, old_size);
    }
    tb_alloc_free(alloc, c->blocks, old_size);
    tb_alloc_free(alloc, c->memory, old_size);
    c->blocks = blocks;
    c->memory = memory;
    c->cap_blocks = cap;
    return true;
}

static bool add_block(tb__chunks *c, const tb_alloc *alloc)
{
    if (c->n_blocks == c->cap_blocks && !grow_tables(c, alloc)) return false;
    const size_t size = memory_size(c);
    char *memory = tb_alloc_resize(alloc, NULL, 0, size);
    if (!memory) return false;
    char *block = memory;
    if (size > 2 * LARGE_PAGE) {
        /* The first block of all begins so far before a large page. */
        const uintptr_t small = c->n_blocks > 0 ? 0 : FIRST_SMALL;
        block += (LARGE_PAGE - ((uintptr_t)memory + small) % LARGE_PAGE) % LARGE_PAGE;
        tb__memory_large(block + small, size - (size_t)(block - memory) - small);
    }
    c->memory[c->n_blocks] = memory;
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
        tb_alloc_free(alloc, c->memory[i], memory_size(c));
    tb_alloc_free(alloc, c->blocks, c->cap_blocks * sizeof *c->blocks);
    tb_alloc_free(alloc, c->memory, c->cap_blocks * sizeof *c->memory);
    *c = (tb__chunks){.size = c->size, .shift = c->shift};
}
