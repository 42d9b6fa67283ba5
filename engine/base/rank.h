/* The rule of percentiles, which bills and `percentile` share. */
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

#endif
