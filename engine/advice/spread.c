/* Mean and quantiles by nearest rank, on integers. Only the three ranks are put into their places: days
 * by days of ten thousand paths would take longer to sort than to draw. */
#include "advice/model.h"

#include "tollbook/decimal.h"

static void swap(tb_i128 *a, tb_i128 *b)
{
    const tb_i128 other = *a;
    *a = *b;
    *b = other;
}

static tb_i128 middle_of(tb_i128 a, tb_i128 b, tb_i128 c)
{
    if (a > b) swap(&a, &b);
    if (b > c) swap(&b, &c);
    return a > b ? a : b;
}

/* Hoare's selection: afterwards values[rank] is what it would be in ascending order, with no larger one
 * before it and no smaller one behind it. The pivot is no larger than one more of the three, so that each
 * turn leaves some out. */
static void put_rank(tb_i128 *values, size_t low, size_t high, size_t rank)
{
    while (low < high) {
        const tb_i128 pivot = middle_of(values[low], values[low + (high - low) / 2], values[high]);
        size_t i = low, j = high;
        for (;;) {
            while (values[i] < pivot)
                i++;
            while (values[j] > pivot)
                j--;
            if (i >= j) break;
            swap(&values[i++], &values[j--]);
        }
        if (rank <= j) high = j;
        else low = j + 1;
    }
}

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
    put_rank(values, 0, n - 1, p50);
    put_rank(values, 0, p50, p5);
    put_rank(values, p50, n - 1, p95);
    return (tb_forecast_spread){.mean = tb_div_round(sum, (tb_i128)n, TB_HALF_UP),
                                .p5 = values[p5],
                                .p50 = values[p50],
                                .p95 = values[p95]};
}
