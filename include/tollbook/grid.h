/* A grid: the counters of one series over the slots of one chunk in memory, 24 hours of a day or
 * up to 31 days of a month. It is what log lines are summed into, what is merged, and what the
 * store packs into a row.
 *
 * Invariants: a column whose bit is not set in `metrics` is undefined and counts as zero; a column
 * whose bit is set is defined in all 32 slots; bit s of `slots` is set when slot s may hold a
 * value other than zero (a clear bit promises zeros). No value passes TB_COUNTER_MAX. */
#ifndef TOLLBOOK_GRID_H
#define TOLLBOOK_GRID_H

#include "tollbook/error.h"
#include "tollbook/metrics.h"

TB_API_BEGIN

#define TB_GRID_SLOTS 32

typedef struct tb_grid {
    uint32_t metrics;
    uint32_t slots;
    uint64_t v[TB_METRIC_COUNT][TB_GRID_SLOTS];
} tb_grid;

void tb_grid_clear(tb_grid *grid);
/* Adds value to (metric, slot) by the metric's rule. TB_E_OVERFLOW leaves the grid unchanged. */
TB_MUST_USE tb_code tb_grid_add(tb_grid *grid, tb_metric metric, unsigned slot, uint64_t value,
                                tb_error *err);
/* Merges src into dst slot by slot. TB_E_OVERFLOW leaves dst undefined. */
TB_MUST_USE tb_code tb_grid_merge(tb_grid *dst, const tb_grid *src, tb_error *err);
/* Merges all slots of src into one slot of dst: a day's hours into a month's day. */
TB_MUST_USE tb_code tb_grid_fold(tb_grid *dst, unsigned slot, const tb_grid *src, tb_error *err);

TB_API_END

#endif
