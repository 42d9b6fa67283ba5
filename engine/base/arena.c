/* Bump allocation. Sizes are rounded up to the strictest alignment, so that every piece starts
 * aligned. */
#include "base/arena.h"

#include <assert.h>
#include <stdint.h>
#include <string.h>

#define ALIGN      _Alignof(max_align_t)
#define BLOCK_SIZE ((size_t)256 << 10)

struct tb__arena_block {
    tb__arena_block *next;
    size_t size, used; /* of data */
    _Alignas(max_align_t) char data[];
};

void tb__arena_init(tb__arena *arena, const tb_alloc *alloc)
{
    *arena = (tb__arena){.alloc = alloc};
}

void tb__arena_release(tb__arena *arena)
{
    while (arena->blocks) {
        tb__arena_block *block = arena->blocks;
        arena->blocks = block->next;
        tb_alloc_free(arena->alloc, block, sizeof *block + block->size);
    }
}

tb__arena *tb__arena_new(const tb_alloc *alloc)
{
    tb__arena *arena = tb_alloc_zero(alloc, 1, sizeof *arena);
    if (arena) tb__arena_init(arena, alloc);
    return arena;
}

void tb__arena_free(tb__arena *arena)
{
    if (!arena) return;
    tb__arena_release(arena);
    tb_alloc_free(arena->alloc, arena, sizeof *arena);
}

void tb__arena_reset(tb__arena *arena)
{
    tb__arena_block *kept = arena->blocks;
    if (!kept) return;
    arena->blocks = kept->next;
    tb__arena_release(arena);
    kept->next = NULL;
    kept->used = 0;
    arena->blocks = kept;
}

static size_t round_up(size_t size)
{
    return (size + ALIGN - 1) / ALIGN * ALIGN;
}

static tb__arena_block *add_block(tb__arena *arena, size_t size)
{
    if (size < BLOCK_SIZE) size = BLOCK_SIZE;
    tb__arena_block *block = tb_alloc_resize(arena->alloc, NULL, 0, sizeof *block + size);
    if (!block) return NULL;
    block->size = size;
    block->used = 0;
    block->next = arena->blocks;
    arena->blocks = block;
    return block;
}

void *tb__arena_take(tb__arena *arena, size_t size)
{
    if (size > SIZE_MAX / 2) return NULL;
    size = round_up(size ? size : 1);
    tb__arena_block *block = arena->blocks;
    if (!block || block->size - block->used < size) block = add_block(arena, size);
    if (!block) return NULL;
    void *piece = block->data + block->used;
    block->used += size;
    return piece;
}

void *tb__arena_copy(tb__arena *arena, const void *bytes, size_t size)
{
    void *copy = tb__arena_take(arena, size);
    if (copy && size) memcpy(copy, bytes, size);
    return copy;
}

void tb__arena_trim(tb__arena *arena, size_t taken, size_t used)
{
    assert(used <= taken && arena->blocks);
    arena->blocks->used -= round_up(taken ? taken : 1) - round_up(used ? used : 1);
}
