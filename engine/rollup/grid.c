/* Grids: counters of one series over the slots of one chunk. A column comes into use when a value
 * first reaches it, so a log's eight counters cost eight columns. Sums are checked once a column:
 * two values of at most 2^63-1 cannot wrap 64 bits, and a sum past the limit shows in bit 63. */
#include "tollbook/rollup.h"

#include <string.h>

#define OVER_LIMIT (UINT64_C(1) << 63)

void tb_grid_clear(tb_grid *grid)
{
    grid->metrics = 0;
    grid->slots = 0;
}

static uint64_t *column(tb_grid *grid, unsigned metric)
{
    if (!(grid->metrics & TB_METRIC_BIT(metric))) {
        memset(grid->v[metric], 0, sizeof grid->v[metric]);
        grid->metrics |= TB_METRIC_BIT(metric);
    }
    return grid->v[metric];
}

static tb_code overflow(tb_error *err, unsigned metric)
{
    return tb_fail(err, TB_E_OVERFLOW, tb_metric_table[metric].name,
                   "The counter %s would pass 2^63 - 1.", tb_metric_table[metric].name);
}

tb_code tb_grid_add(tb_grid *grid, tb_metric metric, unsigned slot, uint64_t value, tb_error *err)
{
    uint64_t *v = &column(grid, metric)[slot];
    uint64_t sum = *v + value;
    if (tb_metric_table[metric].how == TB_HOW_MAX) sum = *v > value ? *v : value;
    if (value > TB_COUNTER_MAX || sum > TB_COUNTER_MAX) return overflow(err, metric);
    *v = sum;
    grid->slots |= UINT32_C(1) << slot;
    return TB_OK;
}

/* dst[i] += src[i]; returns the OR of the sums: bit 63 signals an overflow. */
static uint64_t add_column(uint64_t *restrict dst, const uint64_t *restrict src)
{
    uint64_t any = 0;
    for (unsigned i = 0; i < TB_GRID_SLOTS; i++) {
        dst[i] += src[i];
        any |= dst[i];
    }
    return any;
}

static void max_column(uint64_t *restrict dst, const uint64_t *restrict src)
{
    for (unsigned i = 0; i < TB_GRID_SLOTS; i++)
        dst[i] = dst[i] > src[i] ? dst[i] : src[i];
}

/* The same where few slots are in use: of a small batch often one. */
static uint64_t add_slots(uint64_t *restrict dst, const uint64_t *restrict src, uint32_t slots)
{
    uint64_t any = 0;
    for (; slots; slots &= slots - 1) {
        const unsigned i = (unsigned)__builtin_ctz(slots);
        dst[i] += src[i];
        any |= dst[i];
    }
    return any;
}

tb_code tb_grid_merge(tb_grid *dst, const tb_grid *src, tb_error *err)
{
    const bool few = (src->slots & (src->slots - 1)) == 0;
    for (uint32_t left = src->metrics; left; left &= left - 1) {
        unsigned m = (unsigned)__builtin_ctz(left);
        if (!(dst->metrics & TB_METRIC_BIT(m))) {
            memcpy(dst->v[m], src->v[m], sizeof dst->v[m]);
            dst->metrics |= TB_METRIC_BIT(m);
        } else if (tb_metric_table[m].how == TB_HOW_MAX) {
            max_column(dst->v[m], src->v[m]);
        } else {
            const uint64_t any = few ? add_slots(dst->v[m], src->v[m], src->slots)
                                     : add_column(dst->v[m], src->v[m]);
            if (any & OVER_LIMIT) return overflow(err, m);
        }
    }
    dst->slots |= src->slots;
    return TB_OK;
}

tb_code tb_grid_fold(tb_grid *dst, unsigned slot, const tb_grid *src, tb_error *err)
{
    for (uint32_t left = src->metrics; left; left &= left - 1) {
        unsigned m = (unsigned)__builtin_ctz(left);
        bool is_max = tb_metric_table[m].how == TB_HOW_MAX;
        uint64_t total = 0, over = 0;
        for (uint32_t slots = src->slots; slots; slots &= slots - 1) {
            uint64_t v = src->v[m][__builtin_ctz(slots)];
            total = is_max ? (v > total ? v : total) : total + v;
            over |= total; /* each step adds at most 2^63-1: a wrap passes through bit 63 */
        }
        if (over & OVER_LIMIT) return overflow(err, m);
        if (total == 0) continue;
        tb_code code = tb_grid_add(dst, m, slot, total, err);
        if (code) return code;
    }
    dst->slots |= UINT32_C(1) << slot;
    return TB_OK;
}
