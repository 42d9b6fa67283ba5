/* The tables of statuses and bounds expand to the arrays' sizes, to the look-ups and to the text. */
#include "http/metrics.h"

#include <string.h>

#include "tollbook/json.h"

static const unsigned statuses[] = {
#define TB_X(code) code,
    METRICS_STATUSES(TB_X)
#undef TB_X
};

static const uint64_t bounds[] = {
#define TB_X(us) us,
    METRICS_BOUNDS(TB_X)
#undef TB_X
};

void metrics_count(metrics *m, unsigned route, unsigned status, uint64_t duration_us)
{
    unsigned column = 0, bucket = 0;
    while (column < METRICS_OTHER && statuses[column] != status)
        column++;
    while (bucket < METRICS_BUCKETS - 1 && duration_us > bounds[bucket])
        bucket++;
    metrics_add(&m->requests[route][column], 1);
    metrics_add(&m->latency[route][bucket], 1);
    metrics_add(&m->latency_us[route], duration_us);
}

static void put_head(tb_buf *out, const char *name, const char *type, const char *help)
{
    tb_metric_head(out, TB_METRICS_TEXT, &(tb_metric_family){name, type, "", help});
}

void metrics_sample(tb_buf *out, const char *name, const char *type, const char *help,
                    uint64_t value)
{
    metrics_decimal(out, name, type, help, value, 0);
}

void metrics_decimal(tb_buf *out, const char *name, const char *type, const char *help,
                     uint64_t value, unsigned digits)
{
    uint64_t unit = 1;
    for (unsigned i = 0; i < digits; i++)
        unit *= 10;
    put_head(out, name, type, help);
    tb_buf_fmt(out, "%s %llu", name, (unsigned long long)(value / unit));
    if (digits) tb_buf_fmt(out, ".%0*llu", (int)digits, (unsigned long long)(value % unit));
    tb_buf_str(out, "\n");
}

/* The sum over all blocks of a counter, given as the one of the first block. */
static uint64_t sum(const metrics *const *blocks, size_t n, const _Atomic uint64_t *of_first)
{
    size_t offset = (size_t)((uintptr_t)of_first - (uintptr_t)blocks[0]);
    uint64_t total = 0;
    for (size_t i = 0; i < n; i++)
        total += metrics_read(
            (const _Atomic uint64_t *)(const void *)((const char *)blocks[i] + offset));
    return total;
}

uint64_t metrics_requests(const metrics *const *b, size_t n, size_t n_routes)
{
    uint64_t total = 0;
    for (size_t r = 0; r < n_routes; r++)
        for (unsigned s = 0; s < METRICS_STATUS_COUNT; s++)
            total += sum(b, n, &b[0]->requests[r][s]);
    return total;
}

static void write_requests(const metrics *const *b, size_t n, const char *const *names,
                           size_t n_routes, tb_buf *out)
{
    put_head(out, "tollbook_requests_total", "counter", "Requests answered, by route and status.");
    for (size_t r = 0; r < n_routes; r++) {
        for (unsigned s = 0; s < METRICS_STATUS_COUNT; s++) {
            uint64_t count = sum(b, n, &b[0]->requests[r][s]);
            if (count == 0) continue;
            tb_buf_fmt(out, "tollbook_requests_total{route=\"%s\",status=\"", names[r]);
            if (s == METRICS_OTHER) tb_buf_str(out, "other");
            else tb_buf_fmt(out, "%u", statuses[s]);
            tb_buf_fmt(out, "\"} %llu\n", (unsigned long long)count);
        }
    }
}

static void write_latency(const metrics *const *b, size_t n, const char *name, size_t r,
                          tb_buf *out)
{
    uint64_t total = 0;
    for (unsigned i = 0; i < METRICS_BUCKETS; i++)
        total += sum(b, n, &b[0]->latency[r][i]);
    if (total == 0) return;
    uint64_t below = 0;
    for (unsigned i = 0; i < METRICS_BUCKETS - 1; i++) {
        below += sum(b, n, &b[0]->latency[r][i]);
        tb_buf_fmt(out, "tollbook_request_seconds_bucket{route=\"%s\",le=\"%llu.%06llu\"} %llu\n",
                   name, (unsigned long long)(bounds[i] / 1000000),
                   (unsigned long long)(bounds[i] % 1000000), (unsigned long long)below);
    }
    below += sum(b, n, &b[0]->latency[r][METRICS_BUCKETS - 1]);
    uint64_t us = sum(b, n, &b[0]->latency_us[r]);
    tb_buf_fmt(out,
               "tollbook_request_seconds_bucket{route=\"%s\",le=\"+Inf\"} %llu\n"
               "tollbook_request_seconds_sum{route=\"%s\"} %llu.%06llu\n"
               "tollbook_request_seconds_count{route=\"%s\"} %llu\n",
               name, (unsigned long long)below, name, (unsigned long long)(us / 1000000),
               (unsigned long long)(us % 1000000), name, (unsigned long long)below);
}

void metrics_write(const metrics *const *b, size_t n, const char *const *names, size_t n_routes,
                   tb_buf *out)
{
    write_requests(b, n, names, n_routes, out);
    put_head(out, "tollbook_request_seconds", "histogram",
             "Time from a request's complete head to its answer's last byte, by route.");
    for (size_t r = 0; r < n_routes; r++)
        write_latency(b, n, names[r], r, out);
    static const struct {
        const char *name, *help;
        size_t offset;
    } plain[] = {
#define COUNTER(field, name, help) {name, help, offsetof(metrics, field)}
        COUNTER(sent_bytes, "tollbook_sent_bytes_total", "Bytes of answers' bodies."),
        COUNTER(received_bytes, "tollbook_received_bytes_total", "Bytes of requests' bodies."),
        COUNTER(cache_hits, "tollbook_answer_cache_hits_total", "Answers found in the cache."),
        COUNTER(cache_misses, "tollbook_answer_cache_misses_total", "Answers computed."),
        COUNTER(not_modified, "tollbook_not_modified_total", "Answers that were only a 304."),
        COUNTER(batches, "tollbook_ingest_batches_total", "Batches taken in over HTTP."),
        COUNTER(duplicates, "tollbook_ingest_duplicates_total", "Batches that were known."),
        COUNTER(lines_ambiguous, "tollbook_ingest_ambiguous_lines_total",
                "Accepted lines with columns that could not be told apart."),
        COUNTER(library_messages, "tollbook_http_library_messages_total",
                "Malformed requests that the HTTP library refused by itself."),
#undef COUNTER
    };
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++) {
        const char *at = (const char *)b[0] + plain[i].offset;
        metrics_sample(out, plain[i].name, "counter", plain[i].help,
                       sum(b, n, (const _Atomic uint64_t *)(const void *)at));
    }
    put_head(out, "tollbook_ingest_lines_total", "counter", "Lines taken in over HTTP, by result.");
    tb_buf_fmt(out,
               "tollbook_ingest_lines_total{result=\"accepted\"} %llu\n"
               "tollbook_ingest_lines_total{result=\"rejected\"} %llu\n",
               (unsigned long long)sum(b, n, &b[0]->lines_accepted),
               (unsigned long long)sum(b, n, &b[0]->lines_rejected));
}
