/* Which cells a segment's counters went to, as one number: what tells an input that is read as it was
 * from one that is read in another way and comes to the same sums. It is a sum over all counters of
 * value x hash of its place, modulo 2^64; so it is the same in whichever parts the input was added. */
#ifndef TOLLBOOK_STORE_CELLS_H
#define TOLLBOOK_STORE_CELLS_H

#include "store/core/internal.h"
#include "tollbook/rollup.h"

/* A day's part of it. Counters of which the larger wins have none. */
uint64_t tb__cells_of(const tb_rollup_day *day, const tb_grid *hours);
/* Adds a day to a segment's sums, and to its cells. */
void tb__count_sums(tb_u128 sums[TB_METRIC_COUNT], uint64_t *cells, const tb_rollup_day *day,
                    const tb_grid *hours);

#endif
