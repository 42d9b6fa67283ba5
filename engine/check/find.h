/* Finding an item of a sorted list. */
#ifndef TOLLBOOK_CHECK_FIND_H
#define TOLLBOOK_CHECK_FIND_H

#include <stddef.h>
#include <stdlib.h>

/* bsearch, but an empty list may be NULL. compare gets the key and an item. NULL: not found. */
static inline void *tb__find_sorted(const void *key, const void *list, size_t n, size_t size, int (*compare)(const void *, const void *))
{
    return n ? bsearch(key, list, n, size, compare) : NULL;
}

#endif
