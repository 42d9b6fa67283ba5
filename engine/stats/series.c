/* Columns of counters in one allocation, each column on a cache line of its own. */
#include "tollbook/series.h"

#include "stats/ratio.h"

#define LINE 64

static size_t column_size(uint32_t count)
{
    return ((size_t)count * sizeof(uint64_t) + LINE - 1) / LINE * LINE;
}

tb_code tb_series_init(tb_series *series, tb_range range, uint32_t metrics, const tb_alloc *alloc,
                       tb_error *err)
{
    metrics &= TB_METRIC_ALL;
    size_t column = column_size(range.count);
    /* The allocator promises less than a cache line: one line more to align in. */
    size_t size = column * (size_t)__builtin_popcount(metrics) + LINE;
    char *memory = tb_alloc_zero(alloc, size, 1);
    if (!memory) return tb_no_memory(err);
    *series = (tb_series){.range = range, .memory = memory, .memory_size = size, .alloc = alloc};
    char *at = memory + (LINE - (uintptr_t)memory % LINE) % LINE;
    for (int m = 0; m < TB_METRIC_COUNT; m++) {
        if (!(metrics & TB_METRIC_BIT(m))) continue;
        series->value[m] = (uint64_t *)(void *)at;
        at += column;
    }
    return TB_OK;
}

void tb_series_release(tb_series *series)
{
    tb_alloc_free(series->alloc, series->memory, series->memory_size);
    *series = (tb_series){.range = series->range, .alloc = series->alloc};
}

/* Low and high halves by themselves: without carries a processor adds several values at once. Fewer
 * than 2^32 halves do not overflow. */
static tb_u128 sum_of(const uint64_t *value, uint32_t count)
{
    uint64_t low = 0, high = 0;
    for (uint32_t i = 0; i < count; i++) {
        low += (uint32_t)value[i];
        high += value[i] >> 32;
    }
    return low + ((tb_u128)high << 32);
}

tb_u128 tb_series_total(const tb_series *series, tb_metric metric)
{
    const uint64_t *value = series->value[metric];
    if (!value) return 0;
    if (tb_metric_table[metric].how == TB_HOW_SUM) return sum_of(value, series->range.count);
    uint64_t most = 0;
    for (uint32_t i = 0; i < series->range.count; i++)
        most = value[i] > most ? value[i] : most;
    return most;
}

double tb_hit_rate(tb_u128 pulled, tb_u128 known)
{
    return tb__hit_rate_of((double)pulled, (double)known);
}

double tb_mean(tb_u128 sum, tb_u128 count)
{
    return tb__mean_of((double)sum, (double)count);
}

double tb_reduction(tb_u128 saved, tb_u128 input)
{
    if (input == 0) return 0;
    return saved > input ? 100 : 100.0 * (double)saved / (double)input;
}
