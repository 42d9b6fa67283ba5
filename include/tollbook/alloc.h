/* Allocators: a caller may pass one when it makes an engine object, as tests do with one that fails
 * on the n-th call. NULL means the C library's. */
#ifndef TOLLBOOK_ALLOC_H
#define TOLLBOOK_ALLOC_H

#include <stddef.h>

#include "tollbook/api.h"

TB_API_BEGIN

typedef struct tb_alloc {
    /* size 0 frees and returns NULL; ptr NULL allocates; old is the size given last. */
    void *(*resize)(void *ctx, void *ptr, size_t old, size_t size);
    void *ctx;
} tb_alloc;

/* tb_alloc_resize(NULL, ...) uses realloc and free. Returns NULL when out of memory (ptr stays). */
void *tb_alloc_resize(const tb_alloc *alloc, void *ptr, size_t old, size_t size);
/* Zeroed memory for count objects of size bytes; NULL on overflow or when out of memory. */
void *tb_alloc_zero(const tb_alloc *alloc, size_t count, size_t size);
void tb_alloc_free(const tb_alloc *alloc, void *ptr, size_t size);

TB_API_END

#endif
