/* Answers: series to the JSON bytes of the four statistics endpoints, one pass into one buffer.
 * Field names, their order and types: docs/openapi.yaml. Keys of charts are RFC 3339 times of each
 * bucket's start. Integers are printed as integers, doubles as the shortest text that reads back to
 * the same double, never with an exponent. */
#ifndef TOLLBOOK_ANSWER_H
#define TOLLBOOK_ANSWER_H

#include "tollbook/buf.h"
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

TB_API_END

#endif
