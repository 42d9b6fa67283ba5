/* A series: the counters of one zone, region or account over a range of buckets, as columns.
 *
 * value[m] is NULL where metric m was not requested, else `count` counters in bucket order; empty
 * buckets are zero. Totals and ratios come from sums of these same buckets:
 * totals equal the sum of the buckets, always. */
#ifndef TOLLBOOK_SERIES_H
#define TOLLBOOK_SERIES_H

#include "tollbook/buf.h"
#include "tollbook/metrics.h"
#include "tollbook/range.h"

TB_API_BEGIN

__extension__ typedef unsigned __int128 tb_u128;

typedef struct tb_series {
    tb_range range;
    uint64_t *value[TB_METRIC_COUNT];
    void *memory;
    size_t memory_size;
    const tb_alloc *alloc;
} tb_series;

/* Zeroed columns for the metrics whose bits are set. */
TB_MUST_USE tb_code tb_series_init(tb_series *series, tb_range range, uint32_t metrics,
                                   const tb_alloc *alloc, tb_error *err);
void tb_series_release(tb_series *series);

/* The sum of a SUM column, the maximum of a MAX column; 0 for a missing column. */
tb_u128 tb_series_total(const tb_series *series, tb_metric metric);

/* 100 x (1 - pulled/known) as double, 0 when known is 0, and 0 where imported rows have more pulled than served
 * requests. known: requests with a known cache status. */
double tb_hit_rate(tb_u128 pulled, tb_u128 known);
/* sum/count as double, 0 when count is 0. */
double tb_mean(tb_u128 sum, tb_u128 count);
/* 100 x saved/input, 0 when input is 0, at most 100: the optimizer's reduction in percent. */
double tb_reduction(tb_u128 saved, tb_u128 input);

TB_API_END

#endif
