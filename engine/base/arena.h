/* An arena: many allocations, one release. Memory comes in blocks; what does not fit a block gets
 * one of its own. Total size is bounded by what callers put in: an arena has no maximum. */
#ifndef TOLLBOOK_BASE_ARENA_H
#define TOLLBOOK_BASE_ARENA_H

#include "tollbook/buf.h"

typedef struct tb__arena_block tb__arena_block;

typedef struct tb__arena {
    tb__arena_block *blocks; /* newest first; only the newest has room left */
    const tb_alloc *alloc;
} tb__arena;

void tb__arena_init(tb__arena *arena, const tb_alloc *alloc); /* allocates nothing */
void tb__arena_release(tb__arena *arena);
/* One that is allocated itself; NULL when out of memory. */
tb__arena *tb__arena_new(const tb_alloc *alloc);
void tb__arena_free(tb__arena *arena); /* NULL is allowed */
/* Memory for any type, not zeroed; NULL when out of memory. */
void *tb__arena_take(tb__arena *arena, size_t size);
void *tb__arena_copy(tb__arena *arena, const void *bytes, size_t size); /* likewise; bytes may be NULL if size is 0 */
/* Releases all allocations, keeping one block for reuse. */
void tb__arena_reset(tb__arena *arena);
/* Gives back the end of the newest allocation: it was `taken` bytes and needs only `used`. */
void tb__arena_trim(tb__arena *arena, size_t taken, size_t used);

#endif
