/* Lists: growing by doubling, sorting. */
#ifndef TOLLBOOK_BASE_LIST_H
#define TOLLBOOK_BASE_LIST_H

#include "tollbook/error.h"

#include <stddef.h>

/* Makes room for one more item of `size` bytes in a list of n. list points at the list's pointer, which is unchanged
 * when memory is short. */
TB_MUST_USE tb_code tb__grow(void *list, size_t n, size_t *cap, size_t size, tb_error *err);
/* For qsort and bsearch: ascending. */
int tb__by_int64(const void *a, const void *b);
int tb__by_double(const void *a, const void *b);

#endif
