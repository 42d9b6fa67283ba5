/* tollbook's side of the statistics workload, in process and through the public interface alone:
 * rows are added up by a rollup, taken in by the store in batches, and read back as series.
 *
 * usage: bench_w2_store load DATABASE [zone|time]     order of the rows; default zone
 *        bench_w2_store time DATABASE [QUICK [CACHE_KIB]]
 *        bench_w2_store many DATABASE ZONES DAYS      another store: ZONES zones of DAYS days
 *        bench_w2_store zone DATABASE ZONES DAYS      times one zone's answers in it
 *        bench_w2_store view DATABASE ZONE            times its last 720 hours, series and answer
 *
 * Every zone belongs to account 1 and has one edge location of forty. */
#include "hours.h"
#include "measure.h"
#include "tollbook/store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ACCOUNT 1
#define BATCH 400000           /* rows a transaction */
#define PEERS_CACHE_KIB 200000 /* as the peers get it */

/* The workload's counters as counters that bucket rows may carry and that all add up. */
static const tb_metric as_metric[HOURS_METRICS] = {
    TB_M_REQUESTS,     TB_M_BYTES,
    TB_M_SHIELD_INTERNAL_BYTES, TB_M_CACHED_BYTES,
    TB_M_STATUS_3XX,   TB_M_STATUS_4XX,
    TB_M_STATUS_5XX,   TB_M_PULLED,
    TB_M_ORIGIN_BYTES, TB_M_ORIGIN_TIME_MS_SUM,
    TB_M_ORIGIN_TIME_COUNT, TB_M_SHIELD_BYTES,
};

static void must(tb_code code, const tb_error *err)
{
    if (code) bench_fail("%s", err->message);
}

static uint32_t all_metrics(void)
{
    uint32_t metrics = 0;
    for (int m = 0; m < HOURS_METRICS; m++)
        metrics |= TB_METRIC_BIT(as_metric[m]);
    return metrics;
}

static tb_store *open_store(const char *path, bool write, int cache_kib)
{
    tb_error err;
    tb_store *store = NULL;
    tb_store_options options = {.write = write, .owner = "bench", .cache_kib = cache_kib};
    if (write) must(tb_store_create(path, &options, &err), &err);
    must(tb_store_open(path, &options, &store, &err), &err);
    return store;
}

/* --- loading --- */

static void apply_catalog(tb_store *store, int zones)
{
    size_t size = 200 + (size_t)zones * 60, used;
    char *text = malloc(size);
    if (!text) bench_fail("out of memory");
    used = (size_t)snprintf(text, size,
                            "{\"accounts\":[{\"id\":1,\"name\":\"bench\"}],\"zones\":[");
    for (int z = 1; z <= zones; z++)
        used += (size_t)snprintf(text + used, size - used,
                                 "%s{\"id\":%d,\"account\":1,\"name\":\"zone-%d\"}",
                                 z > 1 ? "," : "", z, z);
    used += (size_t)snprintf(text + used, size - used, "]}");
    tb_error err;
    tb_catalog catalog;
    tb_applied applied;
    must(tb_catalog_parse(text, used, &catalog, &err), &err);
    must(tb_store_begin(store, &err), &err);
    must(tb_store_apply_catalog(store, &catalog, 1, &applied, &err), &err);
    must(tb_store_commit(store, &err), &err);
    tb_catalog_release(&catalog);
    free(text);
}

typedef struct loader {
    tb_store *store;
    tb_rollup *rollup;
    uint64_t rows; /* of the running batch */
    uint64_t batches;
} loader;

static void flush(loader *l)
{
    tb_error err;
    int64_t id;
    tb_rollup_cursor *cursor = tb_rollup_cursor_new(&l->rollup, 1, NULL);
    if (!cursor) bench_fail("out of memory");
    l->batches++;
    tb_segment segment = {.kind = TB_BATCH_BUCKETS, .source = "bench", .length = l->rows,
                          .hash = {l->batches, 1}, .head = {l->batches, 2},
                          .accepted = l->rows, .final = true, .now_us = 1};
    must(tb_store_begin(l->store, &err), &err);
    must(tb_store_add_usage(l->store, cursor, &err), &err);
    must(tb_store_add_segment(l->store, &segment, &id, &err), &err);
    must(tb_store_commit(l->store, &err), &err);
    tb_store_checkpoint(l->store, false);
    tb_rollup_cursor_free(cursor);
    tb_rollup_clear(l->rollup);
    l->rows = 0;
}

/* Zones above the formula's thousand repeat them. */
static void put_hour(loader *l, int zone, int64_t hour)
{
    tb_error err;
    int64_t value[HOURS_METRICS];
    tb_row row = {.id = zone, .hour = (int32_t)hour, .metrics = all_metrics(), .edge_len = 3};
    char edge[8];
    snprintf(edge, sizeof edge, "E%02d", zone % 40);
    memcpy(row.edge, edge, row.edge_len);
    hours_row((zone - 1) % HOURS_ZONES + 1, hour, value);
    for (int m = 0; m < HOURS_METRICS; m++)
        row.value[as_metric[m]] = (uint64_t)value[m];
    must(tb_rollup_add_row(l->rollup, &row, &err), &err);
    if (++l->rows >= BATCH) flush(l);
}

static void load(const char *path, int zones, int days, bool by_time)
{
    int64_t begin = HOURS_END - (int64_t)days * 24;
    loader l = {.store = open_store(path, true, 0), .rollup = tb_rollup_new(BATCH + 1, NULL)};
    if (!l.rollup) bench_fail("out of memory");
    apply_catalog(l.store, zones);
    if (by_time) {
        for (int64_t hour = begin; hour < HOURS_END; hour++)
            for (int zone = 1; zone <= zones; zone++)
                put_hour(&l, zone, hour);
    } else {
        for (int zone = 1; zone <= zones; zone++)
            for (int64_t hour = begin; hour < HOURS_END; hour++)
                put_hour(&l, zone, hour);
    }
    if (l.rows) flush(&l);
    tb_rollup_free(l.rollup);
    tb_store_close(l.store);
}

/* --- reading --- */

static uint64_t read_range(tb_store *store, int64_t zone, tb_range range)
{
    tb_error err;
    tb_series series;
    tb_view view = {ACCOUNT, zone, TB_ALL};
    uint64_t total = 0;
    must(tb_store_read_begin(store, &err), &err);
    must(tb_series_init(&series, range, all_metrics(), NULL, &err), &err);
    must(tb_store_read_series(store, &view, &series, &err), &err);
    tb_store_read_end(store);
    for (uint32_t i = 0; i < range.count; i++)
        total += (uint64_t)range.first + i;
    for (int m = 0; m < HOURS_METRICS; m++) {
        const uint64_t *column = series.value[as_metric[m]];
        for (uint32_t i = 0; i < range.count; i++)
            total += column[i];
    }
    tb_series_release(&series);
    return total;
}

/* The whole answer of GET /statistics without HTTP: series, bytes by region, JSON. */
static uint64_t answer_range(tb_store *store, int64_t zone, tb_range range)
{
    static tb_buf out = {.max = (size_t)16 << 20};
    tb_error err;
    tb_series series;
    tb_geo *geo = NULL;
    size_t n_geo = 0;
    tb_view view = {ACCOUNT, zone, TB_ALL};
    must(tb_store_read_begin(store, &err), &err);
    must(tb_series_init(&series, range, tb_answer_metrics(TB_ANSWER_STATISTICS), NULL, &err), &err);
    must(tb_store_read_view(store, &view, &series, &geo, &n_geo, &err), &err);
    tb_store_read_end(store);
    tb_answer answer = {
        .kind = TB_ANSWER_STATISTICS, .series = &series, .geo = geo, .n_geo = n_geo};
    out.len = 0;
    must(tb_answer_encode(&answer, &out, &err), &err);
    tb_series_release(&series);
    free(geo);
    return out.len;
}

static uint64_t query(void *ctx, int query, int zone)
{
    hours_span span = hours_query(query);
    tb_range range = {span.first, (uint32_t)span.count, query == 1};
    return read_range(ctx, query == 3 ? TB_ALL : zone, range);
}

/* 1: a zone's 30 days by the hour, 2: by the day; 3: the account's by the day. */
static uint64_t answer(void *ctx, int query, int zone)
{
    hours_span span = hours_query(query == 1 ? 1 : 3);
    tb_range range = {span.first, (uint32_t)span.count, query == 1};
    return answer_range(ctx, query == 3 ? TB_ALL : zone, range);
}

static void measure(const char *path, int quick, int cache_kib)
{
    tb_store *store = open_store(path, false, cache_kib);
    const char *name = cache_kib ? "tollbook" : "tollbook-default-cache";
    bench_latency(name, 1, 5000 / quick, query, store);
    bench_latency(name, 2, 5000 / quick, query, store);
    bench_latency(name, 3, 5000 / quick, query, store);
    for (int q = 1; q <= 3 && cache_kib; q++)
        bench_latency("answer", q, 5000 / quick, answer, store);
    tb_store_close(store);
}

/* --- how an answer's cost grows with what is stored --- */

typedef struct grown {
    tb_store *store;
    int zones, days;
} grown;

/* 1: a zone by the hour, 2: a zone by the day, 3: the account by the day; over all days stored.
 * The thousand zones of the plan are spread over all there are. */
static int64_t grown_place(const grown *g, int query, int zone, tb_range *ret_range)
{
    tb_range days = {HOURS_END / 24 - g->days, (uint32_t)g->days, false};
    tb_range hours = {days.first * 24, (uint32_t)g->days * 24, true};
    *ret_range = query == 1 ? hours : days;
    return query == 3 ? TB_ALL : (int64_t)zone * g->zones / HOURS_ZONES;
}

static uint64_t grown_query(void *ctx, int query, int zone)
{
    const grown *g = ctx;
    tb_range range;
    int64_t which = grown_place(g, query, zone, &range);
    return read_range(g->store, which, range);
}

static uint64_t grown_answer(void *ctx, int query, int zone)
{
    const grown *g = ctx;
    tb_range range;
    int64_t which = grown_place(g, query, zone, &range);
    return answer_range(g->store, which, range);
}

static void measure_grown(const char *path, int zones, int days)
{
    char series[40], answers[40];
    grown g = {open_store(path, false, PEERS_CACHE_KIB), zones, days};
    snprintf(series, sizeof series, "series-%d", zones);
    snprintf(answers, sizeof answers, "answer-%d", zones);
    for (int q = 1; q <= 3; q++) {
        bench_latency(series, q, 5000, grown_query, &g);
        bench_latency(answers, q, 5000, grown_answer, &g);
    }
    tb_store_close(g.store);
}

/* --- one zone's last 720 hours --- */

typedef struct last_hours {
    tb_store *store;
    int64_t zone;
    tb_range range;
} last_hours;

static uint64_t last_series(void *ctx, int query, int zone)
{
    const last_hours *l = ctx;
    (void)query, (void)zone;
    return read_range(l->store, l->zone, l->range);
}

static uint64_t last_answer(void *ctx, int query, int zone)
{
    const last_hours *l = ctx;
    (void)query, (void)zone;
    return answer_range(l->store, l->zone, l->range);
}

static void measure_view(const char *path, int zone)
{
    last_hours l = {.store = open_store(path, false, PEERS_CACHE_KIB), .zone = zone};
    tb_store_figures figures;
    tb_error err;
    must(tb_store_read_figures(l.store, &figures, &err), &err);
    l.range = (tb_range){figures.newest_hour - 719, 720, true};
    bench_latency("series", 1, 5000, last_series, &l);
    bench_latency("answer", 1, 5000, last_answer, &l);
    tb_store_close(l.store);
}

int main(int argc, char **argv)
{
    const char *command = argc > 2 ? argv[1] : "";
    int first = argc > 3 && strcmp(command, "load") ? (int)bench_number(argv[3], 1, 1000000) : 0;
    int second = argc > 4 ? (int)bench_number(argv[4], 0, 10000000) : 0;
    if (strcmp(command, "load") == 0)
        load(argv[2], HOURS_ZONES, HOURS_DAYS, argc > 3 && strcmp(argv[3], "time") == 0);
    else if (strcmp(command, "time") == 0)
        measure(argv[2], first ? first : 1, argc > 4 ? second : PEERS_CACHE_KIB);
    else if (strcmp(command, "many") == 0 && argc == 5) load(argv[2], first, second, false);
    else if (strcmp(command, "zone") == 0 && argc == 5) measure_grown(argv[2], first, second);
    else if (strcmp(command, "view") == 0 && argc == 4) measure_view(argv[2], first);
    else bench_fail("usage: bench_w2_store load|time|many|zone|view DATABASE [...]");
    return 0;
}
