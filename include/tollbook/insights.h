/* GET /insights: one view of an account's traffic in one answer. Totals with those of a time before, points for
 * a chart, regions, and zones ranked and paged. Figures have the names and the values that /statistics has;
 * a ratio over nothing is null. */
#ifndef TOLLBOOK_INSIGHTS_H
#define TOLLBOOK_INSIGHTS_H

#include "tollbook/period.h"
#include "tollbook/series.h"

TB_API_BEGIN

/* The counters that its figures are made of (a bit each). */
uint32_t tb_insights_metrics(void);

/* --- order --- */

typedef struct tb_insights_order {
    int field;      /* of the table of totals; -1: the name */
    bool ascending; /* "-FIELD": smallest first; of names, last first */
} tb_insights_order;
/* "TotalBandwidthUsed", "-CacheHitRate", "name"; absent: TotalRequestsServed. TB_E_VALIDATION, field sort. */
TB_MUST_USE tb_code tb_insights_order_parse(tb_text text, tb_insights_order *ret, tb_error *err);
/* What it looks at. */
uint32_t tb_insights_order_metrics(tb_insights_order order);
/* The keys of n zones: who has the larger one comes first. The sums are those of what it looks at, zone by zone. A
 * ratio over nothing comes last in both directions. */
void tb_insights_order_keys(tb_insights_order order, const tb_u128 *sums, size_t n, tb_u128 *ret_keys);

/* --- the answer's JSON --- */

typedef struct tb_insights_row {
    const char *code; /* a region's; NULL: a zone */
    int64_t id;       /* a zone's */
    const char *name;
    bool deleted;
    const tb_u128 *sum, *before; /* before NULL: nothing to compare with */
    const tb_u128 *spark;        /* NULL: none */
    size_t n_spark;
} tb_insights_row;

typedef struct tb_insights {
    tb_period period;
    const tb_series *series, *before; /* before NULL: nothing to compare with */
    const tb_insights_row *regions, *zones;
    size_t n_regions, n_zones;
    int64_t total_zones, page, per_page;
} tb_insights;

TB_MUST_USE tb_code tb_insights_encode(const tb_insights *insights, tb_buf *out, tb_error *err);

TB_API_END

#endif
