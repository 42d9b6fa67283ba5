/* Naming the counter that is full, on the way out of a failed merge. */
#ifndef TOLLBOOK_STORE_OVERFLOW_H
#define TOLLBOOK_STORE_OVERFLOW_H

#include "store/core/internal.h"

/* Each passes on `code`, what merging or folding returned; where that is TB_E_OVERFLOW the sentence
 * of *err becomes one that says where. `grid` is what the failed merge left: the hour or day is
 * found in it. NULL: the key's whole day. */
TB_MUST_USE tb_code tb__full_chunk(tb_store *store, tb_code code, int64_t key, const tb_grid *grid,
                                   tb_error *err);
/* The same for hours that wait for a series of an owner; edge 0: for that of all locations. */
typedef struct tb__owned_day {
    int scope;
    int64_t owner, edge, day;
} tb__owned_day;
TB_MUST_USE tb_code tb__full_day(tb_store *store, tb_code code, tb__owned_day of,
                                 const tb_grid *grid, tb_error *err);

#endif
