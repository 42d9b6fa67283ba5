/* Answers: series to the JSON bytes of the four statistics endpoints, one pass into one buffer.
 * Field names, their order and types: docs/openapi.yaml. Keys of charts are RFC 3339 times of each
 * bucket's start. Integers are printed as integers, doubles as the shortest text that reads back to
 * the same double, never with an exponent. */
#ifndef TOLLBOOK_ANSWER_H
#define TOLLBOOK_ANSWER_H

#include "tollbook/buf.h"
#include "tollbook/range.h"
#include "tollbook/series.h"

TB_API_BEGIN

typedef enum tb_answer_kind {
    TB_ANSWER_STATISTICS, /* GET /statistics */
    TB_ANSWER_OPTIMIZER,  /* GET /pullzone/{id}/optimizer/statistics */
    TB_ANSWER_QUEUE,      /* GET /pullzone/{id}/originshield/queuestatistics */
    TB_ANSWER_SAFEHOP,    /* GET /pullzone/{id}/safehop/statistics */
    TB_ANSWER_KINDS_
} tb_answer_kind;

/* "statistics", "optimizer", "queue", "safehop": names on the command line. */
const char *tb_answer_name(tb_answer_kind kind);

/* Which metrics the answer shows (a bit each). */
uint32_t tb_answer_metrics(tb_answer_kind kind);

/* Bytes per region, for GeoTrafficDistribution. Rows with bytes 0 are left out. */
typedef struct tb_geo {
    const char *name; /* region name, UTF-8 */
    tb_u128 bytes;
} tb_geo;

/* Balance snapshots for UserBalanceHistoryChart. */
typedef struct tb_balance {
    int64_t at_us;
    const char *amount; /* decimal text */
} tb_balance;

typedef struct tb_answer {
    tb_answer_kind kind;
    const tb_series *series; /* with tb_answer_metrics(kind) */
    const tb_geo *geo;
    size_t n_geo;
    const tb_balance *balances;
    size_t n_balances;
} tb_answer;

/* Appends the JSON object, no line end. */
TB_MUST_USE tb_code tb_answer_encode(const tb_answer *answer, tb_buf *out, tb_error *err);

/* {"ErrorKey":...,"Field":...,"Message":...}; Field is null where err->field is empty. */
void tb_answer_error(const tb_error *error, tb_buf *out);

/* GET /insights: one view of an account's traffic in one answer. Totals with those of a time before, points for
 * a chart, regions, and zones ranked and paged. Figures have the names and the values that /statistics has;
 * a ratio over nothing is null. */

/* The counters that its figures are made of (a bit each). */
uint32_t tb_insights_metrics(void);

/* --- order --- */

typedef struct tb_insights_order {
    int field;      /* of the table of totals; -1: the name */
    bool ascending; /* "-FIELD": smallest first; of names, last first */
} tb_insights_order;
/* "TotalBandwidthUsed", "-CacheHitRate", "name"; absent: TotalRequestsServed. TB_E_VALIDATION, field sort. */
TB_MUST_USE tb_code tb_insights_order_parse(tb_text text, tb_insights_order *ret, tb_error *err);
/* The metrics that it depends on. */
uint32_t tb_insights_order_metrics(tb_insights_order order);
/* The sort keys of n zones: the larger key comes first. sums: of those metrics, zone by zone. A ratio with
 * denominator 0 comes last in both directions. */
void tb_insights_order_keys(tb_insights_order order, const tb_u128 *sums, size_t n, tb_u128 *ret_keys);

/* --- the answer's JSON --- */

typedef struct tb_insights_row {
    const char *code; /* a region's; NULL: a zone or an account */
    int64_t id;       /* a zone's or an account's */
    const char *name;
    bool deleted;
    const tb_u128 *sum, *before; /* before NULL: nothing to compare with */
    const tb_u128 *spark;        /* NULL: none */
    size_t n_spark;
} tb_insights_row;

/* A page of zones or accounts. */
typedef struct tb_insights_page {
    const tb_insights_row *items;
    size_t n;
    int64_t total; /* of all pages */
} tb_insights_page;

typedef struct tb_insights {
    tb_period period;
    const tb_series *series, *before; /* before NULL: nothing to compare with */
    const tb_insights_row *regions;
    size_t n_regions;
    tb_insights_page zones, accounts;
    bool ranks_accounts; /* false: accounts are not shown */
    int64_t page, per_page;
} tb_insights;

TB_MUST_USE tb_code tb_insights_encode(const tb_insights *insights, tb_buf *out, tb_error *err);

TB_API_END

#endif
