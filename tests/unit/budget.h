/* An allocator that fails after so many allocations: tb_alloc {limited, &budget}. */
#ifndef TESTS_UNIT_BUDGET_H
#define TESTS_UNIT_BUDGET_H

#include <stdlib.h>

typedef struct budget {
    int left;
} budget;

static inline void *limited(void *ctx, void *ptr, size_t old, size_t size)
{
    budget *b = ctx;
    (void)old;
    if (size == 0) {
        free(ptr);
        return NULL;
    }
    return b->left-- > 0 ? realloc(ptr, size) : NULL;
}

#endif
