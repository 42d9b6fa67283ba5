/* Percentiles: which value counts, and how it is found. */
#ifndef TOLLBOOK_BASE_RANK_H
#define TOLLBOOK_BASE_RANK_H

#include "tollbook/decimal.h"

/* How many of n values a percentile discards from the top: floor((100 - percent)/100 x n). percent: 0 to 100, with at
 * most TB_PRICE_SCALE_MAX digits after the point. The next largest is the percentile. */
static inline size_t tb__discarded(tb_decimal percent, size_t n)
{
    tb_i128 hundred = 100;
    for (int i = 0; i < percent.scale; i++)
        hundred *= 10;
    return (size_t)((hundred - percent.mantissa) * (tb_i128)n / hundred);
}

/* Reorders n values, n > rank, so that values[rank] is what it would be in ascending order, with no larger one before it and no
 * smaller one behind it, and returns it. At most some n log n steps, in any order. */
tb_i128 tb__put_rank(tb_i128 *values, size_t n, size_t rank);

#endif
