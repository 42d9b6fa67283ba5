/* Lists that grow by doubling. */
#ifndef TOLLBOOK_BASE_GROW_H
#define TOLLBOOK_BASE_GROW_H

#include "tollbook/error.h"

#include <stddef.h>

/* Makes room for one more item of `size` bytes in a list of n. list points at the list's pointer,
 * which stays as it is if there is no memory. */
TB_MUST_USE tb_code tb__grow(void *list, size_t n, size_t *cap, size_t size, tb_error *err);

#endif
