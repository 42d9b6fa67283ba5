/* The allocator seam: NULL means the C library's. */
#include "tollbook/buf.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

void *tb_alloc_resize(const tb_alloc *alloc, void *ptr, size_t old, size_t size)
{
    if (alloc) return alloc->resize(alloc->ctx, ptr, old, size);
    if (size == 0) {
        free(ptr);
        return NULL;
    }
    return realloc(ptr, size);
}

void *tb_alloc_zero(const tb_alloc *alloc, size_t count, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes) || bytes == 0) return NULL;
    if (!alloc) return calloc(count, size);
    void *p = tb_alloc_resize(alloc, NULL, 0, bytes);
    if (p) memset(p, 0, bytes);
    return p;
}

void tb_alloc_free(const tb_alloc *alloc, void *ptr, size_t size)
{
    if (ptr) tb_alloc_resize(alloc, ptr, size, 0);
}
