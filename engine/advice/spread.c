/* Mean and quantiles by nearest rank, on integers. Only the three ranks are put into their places: days
 * by days of ten thousand paths would take longer to sort than to draw. */
#include "advice/model.h"
#include "base/rank.h"

#include "tollbook/decimal.h"

static size_t rank_of(size_t n, size_t percent)
{
    return (n * percent + 99) / 100 - 1;
}

tb_forecast_spread tb__spread(tb_i128 *values, size_t n)
{
    const size_t p5 = rank_of(n, 5), p50 = rank_of(n, 50), p95 = rank_of(n, 95);
    tb_i128 sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += values[i];
    tb_forecast_spread s = {.mean = tb_div_round(sum, (tb_i128)n, TB_HALF_UP), .p50 = tb__put_rank(values, n, p50)};
    s.p5 = tb__put_rank(values, p50 + 1, p5);
    s.p95 = tb__put_rank(values + p50, n - p50, p95 - p50);
    return s;
}
