/* Routes without a key: regions, health, metrics and the API's description. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/accrue.h"
#include "api/alerts.h"
#include "api/handlers.h"
#include "api/witness.h"
#include "http/replicas.h"
#include "api/machine.h"
#include "http/build.h"
#include "http/clock.h"
#include "http/marks.h"
#include "http/process.h"
#include "http/ready.h"
#include "tollbook/calendar.h"
#include "tollbook/json.h"

/* --- GET /region --- */

static void put_text(tb_buf *out, const char *name, const char *value, size_t max)
{
    tb_buf_fmt(out, ",\"%s\":", name);
    tb_json_string(out, value, strnlen(value, max));
}

static void put_degrees(tb_buf *out, const char *name, double value)
{
    tb_buf_fmt(out, ",\"%s\":", name);
    char *at = tb_buf_room(out, TB_DOUBLE_TEXT_MAX);
    if (at) out->len += (size_t)(tb_put_point(at, tb_put_double(at, value)) - at);
}

static void put_region(tb_buf *out, const tb_region *region)
{
    /* A file of an older tollbook may hold "007.5", which is no JSON number. */
    const char *price = region->price[0] ? region->price : "0";
    while (price[0] == '0' && price[1] >= '0' && price[1] <= '9')
        price++;
    tb_buf_fmt(out, "{\"Id\":%" PRId64, region->id);
    put_text(out, "Name", region->name, sizeof region->name);
    tb_buf_str(out, ",\"PricePerGigabyte\":");
    size_t from = out->len;
    tb_buf_add(out, price, strnlen(price, sizeof region->price));
    tb_json_point(out, from);
    put_text(out, "RegionCode", region->code, sizeof region->code);
    put_text(out, "ContinentCode", region->continent, sizeof region->continent);
    put_text(out, "CountryCode", region->country, sizeof region->country);
    put_degrees(out, "Latitude", region->latitude);
    put_degrees(out, "Longitude", region->longitude);
    tb_buf_fmt(out, ",\"AllowLatencyRouting\":%s}", region->latency_routing ? "true" : "false");
}

void api_region(request *r)
{
    tb_region *regions = NULL;
    size_t n = 0;
    tb_error err;
    if (tb_store_regions(r->worker->store, &regions, &n, &err) != TB_OK) {
        request_fail_as(r, &err);
        return;
    }
    tb_buf *out = request_text(r);
    tb_buf_str(out, "[");
    for (size_t i = 0; i < n; i++) {
        if (i) tb_buf_str(out, ",");
        put_region(out, &regions[i]);
    }
    tb_buf_str(out, "]");
    free(regions);
    request_answer_text(r, 200, "application/json");
}

/* --- health --- */

static void answer_status(request *r, const char *status)
{
    tb_buf_fmt(request_text(r), "{\"status\":\"%s\"}", status);
    request_answer_text(r, 200, "application/json");
}

void api_healthz(request *r)
{
    answer_status(r, "alive");
}

void api_readyz(request *r)
{
    tb_error err;
    if (server_ready(r->worker->server, r->worker->store, &err)) request_fail_verbatim(r, &err);
    else answer_status(r, "ready");
}

/* On the thread of the job pool that has this reader. */
void api_machine(const request *r, tb_store *store, tb_machine *ret)
{
    server *s = r->worker->server;
    const listener *l = front_listener(s->front);
    uint64_t start_cs = 0;
    tb_error err;
    *ret = (tb_machine){.serving = true, .queue = writer_queued(s->writer)};
    ret->ready = server_ready(s, store, &err) == TB_OK;
    if (!ret->ready) snprintf(ret->why, sizeof ret->why, "%s", err.message);
    ret->since_us = process_read(PROCESS_START, &start_cs) ? (int64_t)start_cs * 10000 : INT64_MIN;
    for (; ret->n_addresses < l->n; ret->n_addresses++)
        listen_text(l, ret->n_addresses, ret->addresses[ret->n_addresses]);
    machine_look(s->options.db, ret);
}

/* --- GET /metrics --- */

static void put_gauge(tb_buf *out, const char *name, const char *help, uint64_t value)
{
    metrics_sample(out, name, "gauge", help, value);
}

static void put_counter(tb_buf *out, const char *name, const char *help, uint64_t value)
{
    metrics_sample(out, name, "counter", help, value);
}

static const tb_store_figures *count_figures(worker *w)
{
    uint64_t version = atomic_load_explicit(&w->server->version, memory_order_acquire);
    int64_t from_us = clock_mono_us();
    tb_store_figures values;
    if (figures_due(&w->figures, version, from_us)) {
        if (tb_store_read_figures(w->store, &values, NULL) != TB_OK) return NULL;
        figures_keep(&w->figures, &values, version, from_us, clock_mono_us());
    }
    return &w->figures.values;
}

/* A clock that was set back gives no negative age. */
static uint64_t age_seconds(const request *r, int64_t moment_us)
{
    int64_t age_s = (request_now_us(r) - moment_us) / TB_US_PER_S;
    return age_s > 0 ? (uint64_t)age_s : 0;
}

static void put_segment_age(const request *r, tb_buf *out, const char *kind, int64_t moment_us)
{
    if (moment_us == INT64_MIN) return;
    tb_buf_fmt(out, "tollbook_newest_segment_age_seconds{kind=\"%s\"} %" PRIu64 "\n", kind,
               age_seconds(r, moment_us));
}

/* Not by source, because each log may be one. */
static void put_segment_ages(const request *r, const tb_store_figures *f, tb_buf *out)
{
    tb_buf_str(out, "# HELP tollbook_newest_segment_age_seconds Time since something new was "
                    "stored, by kind.\n"
                    "# TYPE tollbook_newest_segment_age_seconds gauge\n");
    put_segment_age(r, out, "logs", f->newest_log_us);
    put_segment_age(r, out, "buckets", f->newest_buckets_us);
}

static void put_store(request *r, tb_buf *out)
{
    const tb_store_figures *counted = count_figures(r->worker);
    if (!counted) return;
    const tb_store_figures f = *counted;
    put_gauge(out, "tollbook_store_bytes", "Size of the database file.", f.file_bytes);
    put_gauge(out, "tollbook_wal_bytes", "Size of the write-ahead log.", f.wal_bytes);
    put_gauge(out, "tollbook_store_segments", "Inputs' segments in the store.", f.segments);
    put_gauge(out, "tollbook_store_lines_accepted", "Lines accepted, ever.", f.accepted);
    put_gauge(out, "tollbook_store_lines_rejected", "Lines rejected, ever.", f.rejected);
    put_gauge(out, "tollbook_zones", "Pull zones of the catalogue.", f.zones);
    put_gauge(out, "tollbook_unassigned_zones", "Pull zones with usage but without an account.",
              f.unassigned_zones);
    put_gauge(out, "tollbook_unpriced_locations", "Edge locations that no region names.",
              f.unpriced_locations);
    put_segment_ages(r, &f, out);
    if (f.newest_hour == INT64_MIN) return;
    put_gauge(out, "tollbook_newest_bucket_age_seconds",
              "Time since the start of the newest hour that has usage.",
              age_seconds(r, f.newest_hour * TB_US_PER_HOUR));
}

/* Only if messages are sent. */
static void put_outbox(request *r, tb_buf *out)
{
    const server *s = r->worker->server;
    tb_outbox_figures f;
    if (!s->options.outbox.send || tb_store_outbox_figures(r->worker->store, &f, NULL)) return;
    const outbox_sender_figures tries = outbox_sender_read(s->outbox);
    put_gauge(out, "tollbook_outbox_waiting", "Messages that wait to be delivered.", f.waiting);
    put_gauge(out, "tollbook_outbox_failed", "Messages that were given up, of the last 90 days.", f.failed);
    put_gauge(out, "tollbook_outbox_oldest_age_seconds",
              "Time since the oldest message that waits was put; 0: none waits.",
              f.oldest_us == INT64_MAX ? 0 : age_seconds(r, f.oldest_us));
    put_gauge(out, "tollbook_alerts_unpriced_accounts",
              "Accounts whose alerts on money do not count usage without a price.", api_alerts_unpriced());
    put_counter(out, "tollbook_messages_delivered_total", "Messages that were delivered.", tries.delivered);
    put_counter(out, "tollbook_message_failures_total", "Tries to deliver a message that failed.",
                tries.failed);
}

#define PER_SHARD(name_, type_, help_, field_) {name_, type_, help_, offsetof(usage_shard_figures, field_)}
static void put_usage(const server *s, tb_buf *out)
{
    static const struct {
        const char *name, *type, *help;
        size_t offset;
    } rows[] = {
        PER_SHARD("tollbook_usage_statements_total", "counter", "Statements sent to a usage server.", statements),
        PER_SHARD("tollbook_usage_failures_total", "counter", "Statements that a usage server did not answer, or refused.",
                  failures),
        PER_SHARD("tollbook_usage_sent_bytes_total", "counter", "Bytes of rows and statements sent.", sent_bytes),
        PER_SHARD("tollbook_usage_received_bytes_total", "counter", "Bytes of a usage server's answers.", received_bytes),
        PER_SHARD("tollbook_usage_last_failure_seconds", "gauge",
                  "When a usage server last failed, in seconds since 1970; 0: not since the start.", failed_s),
    };
    usage_shard_figures f[USAGE_SHARDS_MAX];
    const size_t n = s->options.usage ? usage_servers_shards(s->options.usage) : 0;
    for (size_t i = 0; i < n; i++)
        usage_servers_read(s->options.usage, i, &f[i]);
    if (n) tb_buf_str(out, "# HELP tollbook_usage_up 1 while a usage server answers.\n# TYPE tollbook_usage_up gauge\n");
    for (size_t i = 0; i < n; i++)
        tb_buf_fmt(out, "tollbook_usage_up{shard=\"%zu\",host=\"%s\"} %d\n", i + 1, f[i].host, f[i].up);
    for (size_t row = 0; n && row < sizeof rows / sizeof *rows; row++) {
        tb_buf_fmt(out, "# HELP %s %s\n# TYPE %s %s\n", rows[row].name, rows[row].help, rows[row].name, rows[row].type);
        for (size_t i = 0; i < n; i++) {
            uint64_t value;
            memcpy(&value, (const char *)&f[i] + rows[row].offset, sizeof value);
            tb_buf_fmt(out, "%s{shard=\"%zu\",host=\"%s\"} %" PRIu64 "\n", rows[row].name, i + 1, f[i].host, value);
        }
    }
    if (n)
        tb_buf_str(out, "# HELP tollbook_usage_seconds_total Time that statements to a usage server took.\n"
                        "# TYPE tollbook_usage_seconds_total counter\n");
    for (size_t i = 0; i < n; i++)
        tb_buf_fmt(out, "tollbook_usage_seconds_total{shard=\"%zu\",host=\"%s\"} %" PRIu64 ".%06" PRIu64 "\n", i + 1, f[i].host,
                   f[i].busy_us / 1000000, f[i].busy_us % 1000000);
}

static void put_compaction(const server *s, tb_buf *out)
{
    if (!s->options.usage) return;
    put_gauge(out, "tollbook_usage_uncompacted_rows", "Rows on all usage servers that were not compacted yet.",
              atomic_load(&s->compactor.waiting));
    put_gauge(out, "tollbook_usage_leaving_rows", "Rows on all usage servers that count no longer and are still there.",
              atomic_load(&s->compactor.leaving));
    put_gauge(out, "tollbook_usage_months_to_let_go", "Months of which retain lets something go that still counts.",
              atomic_load(&s->compactor.due));
    put_counter(out, "tollbook_usage_months_let_go_total", "Months of usage that were compacted without what was let go of.",
                atomic_load(&s->compactor.expired));
    put_counter(out, "tollbook_usage_compactions_total", "Months of usage that were compacted.",
                atomic_load(&s->compactor.folded));
    put_counter(out, "tollbook_usage_compaction_failures_total", "Compactions that were given up, to be begun anew.",
                atomic_load(&s->compactor.failures));
    const uint64_t longest_us = atomic_load(&s->compactor.longest_us);
    tb_buf_fmt(out, "# HELP tollbook_usage_compaction_longest_seconds The longest that batches had to wait for a step of compaction.\n"
                    "# TYPE tollbook_usage_compaction_longest_seconds gauge\n"
                    "tollbook_usage_compaction_longest_seconds %" PRIu64 ".%06" PRIu64 "\n",
               longest_us / 1000000, longest_us % 1000000);
}

static void put_copy(const server *s, tb_buf *out)
{
    const copy_server *copy = replicas_copy(s);
    if (!copy) return;
    metrics_decimal(out, "tollbook_replica_lag_seconds", "gauge", "Time since this copy was known to have all.",
                    (uint64_t)copy_lag_us(copy) / 1000, 3);
    put_gauge(out, "tollbook_replica_following", "1 while the primary answers this copy.", copy_follows(copy));
    put_gauge(out, "tollbook_replica_differences", "Differences that the last verification of this copy found.",
              copy_differences(copy));
}

static void put_connections(const server *s, tb_buf *out)
{
    const conns_counters *n = front_counters(s->front);
    tb_buf_str(out, "# HELP tollbook_connections Open connections, by worker.\n"
                    "# TYPE tollbook_connections gauge\n");
    for (unsigned i = 0; i < s->options.threads; i++)
        tb_buf_fmt(out, "tollbook_connections{worker=\"%u\"} %u\n", i, front_connections_of(s->front, i));
    tb_buf_str(out, "# HELP tollbook_connections_refused_total Connections turned away.\n"
                    "# TYPE tollbook_connections_refused_total counter\n");
    tb_buf_fmt(out,
               "tollbook_connections_refused_total{reason=\"full\"} %" PRIu64 "\n"
               "tollbook_connections_refused_total{reason=\"per_ip\"} %" PRIu64 "\n"
               "# HELP tollbook_tls_failures_total TLS handshakes that failed.\n"
               "# TYPE tollbook_tls_failures_total counter\n"
               "tollbook_tls_failures_total %" PRIu64 "\n"
               "# HELP tollbook_malformed_requests_total Malformed requests that were refused.\n"
               "# TYPE tollbook_malformed_requests_total counter\n"
               "tollbook_malformed_requests_total %" PRIu64 "\n"
               "# HELP tollbook_connections_evicted_total Idle or slow connections closed to make "
               "room.\n"
               "# TYPE tollbook_connections_evicted_total counter\n"
               "tollbook_connections_evicted_total %" PRIu64 "\n"
               "# HELP tollbook_lobby_connections Open connections without a complete request "
               "head.\n"
               "# TYPE tollbook_lobby_connections gauge\n"
               "tollbook_lobby_connections %u\n",
               atomic_load_explicit(&n->refused_full, memory_order_relaxed),
               atomic_load_explicit(&n->refused_per_ip, memory_order_relaxed),
               atomic_load_explicit(&n->bad_handshakes, memory_order_relaxed),
               atomic_load_explicit(&n->malformed, memory_order_relaxed),
               atomic_load_explicit(&n->evicted, memory_order_relaxed), front_pending(s->front));
    tb_buf_str(out, "# HELP tollbook_deadline_closes_total Connections closed for being late.\n"
                    "# TYPE tollbook_deadline_closes_total counter\n");
    for (int p = 0; p < CONN_PHASES; p++)
        tb_buf_fmt(out, "tollbook_deadline_closes_total{phase=\"%s\"} %" PRIu64 "\n",
                   conn_phase_name((conn_phase)p), atomic_load_explicit(&n->late[p], memory_order_relaxed));
}

static void put_server(const server *s, tb_buf *out)
{
    put_connections(s, out);
    put_copy(s, out);
    put_gauge(out, "tollbook_answer_cache_bytes", "Memory of cached answers.",
              cache_bytes(s->cache));
    put_gauge(out, "tollbook_answer_cache_entries", "Cached answers.", cache_entries(s->cache));
    put_gauge(out, "tollbook_body_bytes", "Memory of requests' bodies.",
              atomic_load_explicit(&s->bodies, memory_order_relaxed));
    put_gauge(out, "tollbook_writer_queue", "Writes that wait.", writer_queued(s->writer));
    put_gauge(out, "tollbook_intake_queue", "Bodies that wait to be parsed.",
              job_pool_queued(s->pool, LANE_PARSE));
    put_gauge(out, "tollbook_writer_alive", "1 while the writer can write.",
              writer_alive(s->writer));
    put_counter(out, "tollbook_access_log_dropped_total", "Lines that the access log lost.",
                accesslog_dropped(s->log));
    tb_buf_fmt(out,
               "# HELP tollbook_build_info The program.\n# TYPE tollbook_build_info gauge\n"
               "tollbook_build_info{version=\"%s\",schema=\"%d\",commit=\"%s\"} 1\n",
               TB_VERSION, tb_store_schema(), build_commit());
}

static void put_marks(request *r, tb_buf *out)
{
    static const struct {
        const char *metric, *help;
    } rows[MARK_COUNT] = {
#define TB_X(e, suffix, metric, help) [MARK_##e] = {metric, help},
        MARKS(TB_X)
#undef TB_X
    };
    int64_t at_us;
    for (mark_kind m = 0; m < MARK_COUNT; m++) {
        if (!mark_read(r->worker->server->options.db, m, &at_us)) continue;
        const int64_t age_s = (request_now_us(r) - at_us) / TB_US_PER_S;
        put_gauge(out, rows[m].metric, rows[m].help, age_s > 0 ? (uint64_t)age_s : 0);
    }
}

static void put_accrual(const request *r, tb_buf *out)
{
    const accrue_figures f = api_accrue_figures();
    if (f.done_us != INT64_MIN)
        put_gauge(out, "tollbook_last_accrual_age_seconds",
                  "Time since all prepaid accounts' days were last found entered.",
                  age_seconds(r, f.done_us));
    put_counter(out, "tollbook_accrual_failures_total",
                "Rounds over prepaid accounts that failed, or left an account or usage out.", f.failures);
}

static void put_process(const server *s, tb_buf *out)
{
    static const struct {
        const char *name, *type, *help;
        unsigned digits;
    } rows[PROCESS_COUNT] = {
#define TB_X(e, name, type, digits, help) [PROCESS_##e] = {name, type, help, digits},
        PROCESS_FIGURES(TB_X)
#undef TB_X
    };
    uint64_t value;
    disk_state disk;
    for (process_figure f = 0; f < PROCESS_COUNT; f++)
        if (process_read(f, &value))
            metrics_decimal(out, rows[f].name, rows[f].type, rows[f].help, value, rows[f].digits);
    if (process_disk(s->options.db, &disk))
        put_gauge(out, "tollbook_disk_free_bytes",
                  "Bytes that may still be written on the database's file system.", disk.free_bytes);
}

void api_metrics(request *r)
{
    const server *s = r->worker->server;
    const metrics *blocks[SERVER_BLOCKS_MAX];
    const char *names[METRICS_ROUTES_MAX];
    for (size_t i = 0; i < s->n_routes; i++)
        names[i] = s->routes[i].name;
    names[s->n_routes] = "none";
    tb_buf *out = request_text(r);
    metrics_write(blocks, server_metrics(s, blocks), names, s->n_routes + 1, out);
    put_store(r, out);
    put_outbox(r, out);
    put_accrual(r, out);
    put_marks(r, out);
    api_witness_metrics(out);
    put_usage(s, out);
    put_compaction(s, out);
    api_replica_metrics(r, out);
    put_server(s, out);
    put_process(s, out);
    request_answer_text(r, 200, tb_metrics_media_type(TB_METRICS_TEXT));
}

/* --- GET /openapi.json --- */

void api_openapi(request *r)
{
    request_answer_zipped(r, &openapi_json, "application/json");
}
