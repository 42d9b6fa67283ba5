/* The counters: one line each. A counter belongs to a (pull zone, edge location, hour); days,
 * months, zones and accounts are rolled up by `how`: SUM adds, MAX keeps the larger.
 * docs/design/intake.md, "The counters", describes where each is shown.
 *
 * `source` names the inputs that set it: LOG lines and imported BUCKET rows, imported rows only (BUCKET), or log lines
 * only (LINES: imported zone rows never count for a balancer).
 * The order is the storage format: add at the end only. */
#ifndef TOLLBOOK_METRICS_H
#define TOLLBOOK_METRICS_H

#include <stdint.h>

#include "tollbook/api.h"

TB_API_BEGIN

/* X(ENUM, name in bucket rows and SQL, unit, how, source, meaning) */
#define TB_METRICS(X)                                                                              \
    TB_METRICS_SHOWN(X)                                                                            \
    X(CACHE_UNKNOWN, "cache_unknown", "requests", SUM, LOG,                                        \
      "requests whose cache status was not told; SQL shows cache_known, the others")
#define TB_METRICS_SHOWN(X)                                                                              \
    X(REQUESTS, "requests", "requests", SUM, LOG, "requests answered")                             \
    X(BYTES, "bytes", "bytes", SUM, LOG, "bytes sent to clients")                                  \
    X(CACHED_BYTES, "cached_bytes", "bytes", SUM, LOG, "bytes of answers served from cache")       \
    X(PULLED, "pulled", "requests", SUM, LOG, "requests not served from cache")                    \
    X(STATUS_3XX, "status_3xx", "requests", SUM, LOG, "answers of class 3xx")                      \
    X(STATUS_4XX, "status_4xx", "requests", SUM, LOG, "answers of class 4xx")                      \
    X(STATUS_5XX, "status_5xx", "requests", SUM, LOG, "answers of class 5xx")                      \
    X(BALANCER_REQUESTS, "balancer_requests", "requests", SUM, LINES,                              \
      "requests that reach a load balancer: pulled and REVALIDATED")                               \
    X(ORIGIN_BYTES, "origin_bytes", "bytes", SUM, BUCKET, "bytes received from the origin")        \
    X(ORIGIN_TIME_MS_SUM, "origin_time_ms_sum", "ms", SUM, BUCKET, "sum of origin answer times")   \
    X(ORIGIN_TIME_COUNT, "origin_time_count", "requests", SUM, BUCKET, "origin answers timed")     \
    X(SHIELD_BYTES, "shield_bytes", "bytes", SUM, BUCKET, "bytes sent by the origin shield")       \
    X(SHIELD_INTERNAL_BYTES, "shield_internal_bytes", "bytes", SUM, BUCKET,                        \
      "bytes between edge and shield")                                                             \
    X(OPTIMIZED, "optimized", "requests", SUM, BUCKET, "files processed by the optimizer")         \
    X(SAVED_BYTES, "saved_bytes", "bytes", SUM, BUCKET, "bytes saved by the optimizer")            \
    X(INPUT_BYTES, "input_bytes", "bytes", SUM, BUCKET, "bytes read by the optimizer")             \
    X(TIME_MS_SUM, "time_ms_sum", "ms", SUM, BUCKET, "sum of optimizer processing times")          \
    X(CONCURRENT_MAX, "concurrent_max", "requests", MAX, BUCKET,                                   \
      "most origin requests at once at the shield")                                                \
    X(QUEUED_MAX, "queued_max", "requests", MAX, BUCKET, "most requests waiting at the shield")    \
    X(RETRIED, "retried", "requests", SUM, BUCKET, "origin requests SafeHop tried again")          \
    X(SAVED, "saved", "requests", SUM, BUCKET, "retried requests that then succeeded")

typedef enum tb_metric {
#define TB_X(e, name, unit, how, source, meaning) TB_M_##e,
    TB_METRICS(TB_X)
#undef TB_X
        TB_METRIC_COUNT
} tb_metric;

typedef enum tb_how { TB_HOW_SUM, TB_HOW_MAX } tb_how;
typedef enum tb_metric_source {
    TB_SOURCE_LOG,    /* request logs and bucket rows */
    TB_SOURCE_LINES,  /* request logs only */
    TB_SOURCE_BUCKET, /* bucket rows only */
} tb_metric_source;

typedef struct tb_metric_info {
    const char *name, *unit, *meaning;
    tb_how how;
    tb_metric_source source;
} tb_metric_info;

extern const tb_metric_info tb_metric_table[TB_METRIC_COUNT];

#define TB_EDGE_MAX 16 /* longest edge location code, bytes */

#define TB_METRIC_BIT(m) (UINT32_C(1) << (m))
#define TB_METRIC_ALL (TB_METRIC_BIT(TB_METRIC_COUNT) - 1)

/* The greatest value a counter takes: what SQLite's integers hold. */
#define TB_COUNTER_MAX INT64_MAX

TB_API_END

#endif
