/* Percentiles of a month's intervals: series are summed interval by interval, the largest sums are discarded, and the next
 * one is billed. The selection is exact, on integers. */
#include "base/rank.h"
#include "billing/draft.h"

#include <string.h>

tb_code tb__percentile_find(const tb__draft *d, const tb_bill_samples *list, const tb__metered *of, size_t n,
                            tb_decimal percent, tb_i128 *ret_value, size_t *ret_interval)
{
    const size_t intervals = list[of->at].n, size = 2 * intervals * sizeof(tb_i128);
    tb_i128 *sums = tb_alloc_zero(d->arena.alloc, 2 * intervals, sizeof *sums), *sorted = sums + intervals;
    if (!sums) return tb_no_memory(d->err);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < intervals; k++)
            sums[k] += (tb_i128)list[of[i].at].value[k];
    memcpy(sorted, sums, size / 2);
    const tb_i128 value = tb__put_rank(sorted, intervals, intervals - 1 - tb__discarded(percent, intervals));
    size_t at = 0;
    while (sums[at] != value)
        at++;
    tb_alloc_free(d->arena.alloc, sums, size);
    *ret_value = value;
    *ret_interval = at;
    return TB_OK;
}
