/* Answers: series to the JSON bytes of the four statistics endpoints, one pass into one buffer.
 * Field names, their order and types: docs/openapi.yaml. Keys of charts are RFC 3339 times of each
 * bucket's start. Integers are printed as integers, doubles as the shortest text that reads back to
 * the same double, never with an exponent. */
#ifndef TOLLBOOK_ANSWER_H
#define TOLLBOOK_ANSWER_H

#include "tollbook/buf.h"
#include "tollbook/decimal.h"
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

typedef enum tb_insights_measure {
    TB_INSIGHTS_VALUE,
    TB_INSIGHTS_RATE,  /* FIELD.rate: of a request */
    TB_INSIGHTS_CHANGE, /* FIELD.change: relative to the compared range; what is new comes before all others */
    TB_INSIGHTS_CHARGES /* charges: of the month in which the range ends */
} tb_insights_measure;

typedef struct tb_insights_order {
    int field;      /* of the table of totals; -1: the name */
    bool ascending; /* "-FIELD": smallest first; of names, last first */
    tb_insights_measure measure; /* other than the value: of sums alone */
} tb_insights_order;
/* "TotalBandwidthUsed", "-CacheHitRate", "Errors5xx.rate", "TotalRequestsServed.change", "charges", "name"; absent:
 * TotalRequestsServed. TB_E_VALIDATION, field sort. */
TB_MUST_USE tb_code tb_insights_order_parse(tb_text text, tb_insights_order *ret, tb_error *err);
/* The metrics that it depends on. */
uint32_t tb_insights_order_metrics(tb_insights_order order);
/* The sort keys of n zones: the larger key comes first. sums: of those metrics, zone by zone; before: the same of the
 * compared range, read for a change alone. Not for charges. A ratio with denominator 0 comes last in both directions, and so does a zone
 * with nothing in both ranges. */
void tb_insights_order_keys(tb_insights_order order, const tb_u128 *sums, const tb_u128 *before, size_t n,
                            tb_u128 *ret_keys);

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

/* GET /insights/why: the change of a figure between two spans, split into parts that sum to it. */

#define TB_WHY_BYS(X)                                                                              \
    X(ZONE, "zone")                                                                                \
    X(REGION, "region")                                                                            \
    X(STATUS, "status")                                                                            \
    X(PRODUCT, "product")                                                                          \
    X(DAY, "day")                                                                                  \
    X(HOUR, "hour")                                                                                \
    X(ACCOUNT, "account")
typedef enum tb_why_by {
#define TB_X(e, name) TB_WHY_##e,
    TB_WHY_BYS(TB_X)
#undef TB_X
        TB_WHY_BY_COUNT
} tb_why_by;
/* TB_E_VALIDATION, field by. */
TB_MUST_USE tb_code tb_why_by_parse(tb_text text, tb_why_by *ret, tb_error *err);

/* A figure of the table of totals by its counter's name ("bytes", "hit_rate"), or charges. */
#define TB_WHY_CHARGES (-1)
/* The field's number; TB_E_VALIDATION, field `field`. */
TB_MUST_USE tb_code tb_why_field_parse(tb_text text, int *ret, tb_error *err);
/* The counters that it is made of, as tb_insights_metrics. */
uint32_t tb_why_metrics(int field);

/* A counter has its value; a ratio is value over weight, and without a weight it is null. Money is in minor units. */
typedef struct tb_why_side {
    tb_i128 value, weight;
} tb_why_side;
/* Of the sums of its counters. */
tb_why_side tb_why_side_of(int field, const tb_u128 sum[TB_METRIC_COUNT]);

typedef struct tb_why_part {
    const char *key, *name;
    int64_t order; /* breaks ties: the smaller first */
    tb_why_side now, before;
    tb_i128 change; /* tb_why_rank sets it; of a ratio in millionths */
} tb_why_part;

typedef struct tb_why {
    int field;
    int digits;           /* of money behind the point */
    const char *currency; /* of charges; NULL: not shown */
    tb_why_part total;
    tb_why_part *parts;
    size_t n;         /* shown */
    tb_why_part rest; /* of all others */
    size_t n_rest;
} tb_why;

/* Sorts the parts by the size of their change, and sets changes, `n` (at most `top`) and the rest. A ratio's part
 * changes the total by how much the part's own ratio and its weight moved it, measured from the total's ratio before:
 * w1 (r1 - R0) - w0 (r0 - R0), where w is its share of the weight. Parts and rest sum to the total's change. */
void tb_why_rank(tb_why *why, size_t n_parts, size_t top);
TB_MUST_USE tb_code tb_why_encode(const tb_why *why, tb_buf *out, tb_error *err);

TB_API_END

#endif
