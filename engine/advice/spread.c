/* Mean and quantiles by nearest rank, on integers. */
#include "advice/model.h"

#include "tollbook/decimal.h"

#include <stdlib.h>

static int by_value(const void *a, const void *b)
{
    tb_i128 x = *(const tb_i128 *)a, y = *(const tb_i128 *)b;
    return x < y ? -1 : x > y;
}

static tb_i128 ranked(const tb_i128 *values, size_t n, size_t percent)
{
    return values[(n * percent + 99) / 100 - 1];
}

tb_forecast_spread tb__spread(tb_i128 *values, size_t n)
{
    tb_i128 sum = 0;
    qsort(values, n, sizeof *values, by_value);
    for (size_t i = 0; i < n; i++)
        sum += values[i];
    return (tb_forecast_spread){.mean = tb_div_round(sum, (tb_i128)n, TB_HALF_UP),
                                .p5 = ranked(values, n, 5),
                                .p50 = ranked(values, n, 50),
                                .p95 = ranked(values, n, 95)};
}
