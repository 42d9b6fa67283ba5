/* Lists: growing by doubling, sorting, finding. */
#ifndef TOLLBOOK_BASE_LIST_H
#define TOLLBOOK_BASE_LIST_H

#include "tollbook/error.h"

#include <stddef.h>

/* Makes room for one more item of `size` bytes in a list of n. list points at the list's pointer, which is unchanged
 * when memory is short. */
TB_MUST_USE tb_code tb__grow(void *list, size_t n, size_t *cap, size_t size, tb_error *err);
/* bsearch, but an empty list may be NULL. compare gets the key and an item. NULL: not found. */
void *tb__find_sorted(const void *key, const void *list, size_t n, size_t size, int (*compare)(const void *, const void *));
/* For qsort and bsearch: ascending. */
int tb__by_int64(const void *a, const void *b);
/* Ascending. For some hundred numbers: quicker there than qsort, which calls a function for each comparison. */
void tb__sort_doubles(double *list, size_t n);

#endif
