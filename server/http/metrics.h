/* Request counters, one block a worker: only its own thread writes it, and /metrics adds the blocks up. So counting
 * costs a plain addition. */
#ifndef TOLLBOOK_SERVER_HTTP_METRICS_H
#define TOLLBOOK_SERVER_HTTP_METRICS_H

#include <stdatomic.h>

#include "tollbook/buf.h"

#define METRICS_ROUTES_MAX 128 /* rows of the route table, and one for requests without a route */

/* The statuses that this server sends. */
#define METRICS_STATUSES(X)                                                                        \
    X(200) X(201) X(204) X(304) X(400) X(401) X(403) X(404) X(405) X(409) X(413) X(414) X(415)     \
    X(429) X(431) X(500) X(501) X(503)

typedef enum metrics_status {
#define TB_X(code) METRICS_##code,
    METRICS_STATUSES(TB_X)
#undef TB_X
        METRICS_OTHER, /* anything else, and 0: closed without an answer */
    METRICS_STATUS_COUNT
} metrics_status;

/* Upper bounds of the latency histogram, microseconds. */
#define METRICS_BOUNDS(X)                                                                          \
    X(100) X(250) X(500) X(1000) X(2500) X(5000) X(10000) X(25000) X(50000) X(100000) X(250000)    \
    X(500000) X(1000000) X(2500000) X(5000000) X(10000000)

enum {
    METRICS_BUCKETS = 0
#define TB_X(us) +1
    METRICS_BOUNDS(TB_X)
#undef TB_X
    + 1 /* the last: above all bounds */
};

typedef struct metrics {
    _Atomic uint64_t requests[METRICS_ROUTES_MAX][METRICS_STATUS_COUNT];
    _Atomic uint64_t latency[METRICS_ROUTES_MAX][METRICS_BUCKETS];
    _Atomic uint64_t latency_us[METRICS_ROUTES_MAX];
    _Atomic uint64_t sent_bytes, received_bytes, not_modified;
    _Atomic uint64_t cache_hits, cache_misses;
    _Atomic uint64_t lines_accepted, lines_rejected, lines_ambiguous, batches, duplicates;
    _Atomic uint64_t library_messages; /* libmicrohttpd's messages about clients */
} metrics;

/* Only from the block's own thread. */
static inline void metrics_add(_Atomic uint64_t *counter, uint64_t n)
{
    atomic_store_explicit(counter,
                          atomic_load_explicit(counter, memory_order_relaxed) + n,
                          memory_order_relaxed);
}

static inline uint64_t metrics_read(const _Atomic uint64_t *counter)
{
    return atomic_load_explicit(counter, memory_order_relaxed);
}

/* One answered request. */
void metrics_count(metrics *m, unsigned route, unsigned status, uint64_t duration_us);

/* The sum of the blocks as Prometheus text: requests, latencies, bytes. names[r]: route r. */
void metrics_write(const metrics *const *blocks, size_t n_blocks, const char *const *names,
                   size_t n_routes, tb_buf *out);
/* Requests of all routes and statuses. */
uint64_t metrics_requests(const metrics *const *blocks, size_t n_blocks, size_t n_routes);
/* "# HELP", "# TYPE" and one sample. type: "counter" or "gauge". */
void metrics_sample(tb_buf *out, const char *name, const char *type, const char *help,
                    uint64_t value);
/* The same of a value in units of its last of `digits` decimals. */
void metrics_decimal(tb_buf *out, const char *name, const char *type, const char *help,
                     uint64_t value, unsigned digits);

#endif
