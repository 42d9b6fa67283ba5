/* Two minimal servers on libmicrohttpd (epoll), the limits that answers over HTTP are measured
 * against:
 *
 * usage: bench_http_peer memory FILE [KEY [THREADS]]
 *            the file's bytes, whatever is asked; with KEY only where the header AccessKey is that,
 *            401 otherwise
 *        bench_http_peer naive DATABASE
 *            GET /statistics?pullZone=Z&hourly=B as most would write it: SQLite rows, jansson
 *            objects, json_dumps
 *
 * Of two threads where THREADS is not given. Prints its port and serves until it is killed.
 * DATABASE is bench_w2_sqlite's. */
#include "hours.h"
#include "measure.h"

#include <jansson.h>
#include <microhttpd.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define FILE_MAX ((size_t)512 << 20)
#define DAYS     30

typedef struct server {
    struct MHD_Response *fixed, *denied; /* memory */
    const char *key;
    const char *database; /* naive */
    unsigned threads;
} server;

static struct MHD_Response *json_response(void *text, size_t len, enum MHD_ResponseMemoryMode mode)
{
    struct MHD_Response *r = MHD_create_response_from_buffer(len, text, mode);
    if (!r || !MHD_add_response_header(r, "Content-Type", "application/json"))
        bench_fail("out of memory");
    return r;
}

/* --- from memory --- */

static struct MHD_Response *slurp(const char *path)
{
    char *text = malloc(FILE_MAX);
    FILE *f = fopen(path, "rb");
    if (!text || !f) bench_fail("%s cannot be read", path);
    size_t len = fread(text, 1, FILE_MAX, f);
    fclose(f);
    return json_response(text, len, MHD_RESPMEM_PERSISTENT);
}

static enum MHD_Result answer_memory(const server *s, struct MHD_Connection *c)
{
    const char *key = s->key ? MHD_lookup_connection_value(c, MHD_HEADER_KIND, "AccessKey") : NULL;
    if (s->key && (!key || strcmp(key, s->key) != 0)) return MHD_queue_response(c, 401, s->denied);
    return MHD_queue_response(c, 200, s->fixed);
}

/* --- naive --- */

static const struct {
    const char *name;
    int a, b; /* columns of the row; b >= 0: the quotient a/b as a double */
} charts[] = {
    {"OriginResponseTimeChart", 9, 10},
    {"BandwidthUsedChart", 1, -1},
    {"BandwidthCachedChart", 3, -1},
    {"CacheHitRateChart", 7, 0},
    {"RequestsServedChart", 0, -1},
    {"PullRequestsPulledChart", 7, -1},
    {"OriginShieldBandwidthUsedChart", 11, -1},
    {"OriginShieldInternalBandwidthUsedChart", 2, -1},
    {"OriginTrafficChart", 8, -1},
    {"Error3xxChart", 4, -1},
    {"Error4xxChart", 5, -1},
    {"Error5xxChart", 6, -1},
};

typedef struct point {
    int64_t bucket, value[HOURS_METRICS];
} point;

static _Thread_local sqlite3_stmt *statements[2];

static void open_database(const char *path)
{
    static const char *const sql[2] = {
        "SELECT * FROM hour WHERE zone=?1 AND hour>=?2 AND hour<?3 ORDER BY hour",
        "SELECT * FROM day WHERE zone=?1 AND day>=?2 AND day<?3 ORDER BY day",
    };
    sqlite3 *db;
    if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, NULL) != SQLITE_OK)
        bench_fail("%s", sqlite3_errmsg(db));
    sqlite3_exec(db, "PRAGMA mmap_size=8000000000; PRAGMA cache_size=-200000", NULL, NULL, NULL);
    for (int i = 0; i < 2; i++)
        if (sqlite3_prepare_v3(db, sql[i], -1, SQLITE_PREPARE_PERSISTENT, &statements[i], NULL))
            bench_fail("%s", sqlite3_errmsg(db));
}

static int fetch(const server *s, int zone, bool hourly, point *out)
{
    if (!statements[0]) open_database(s->database);
    sqlite3_stmt *rows = statements[!hourly];
    int64_t end = hourly ? HOURS_END : HOURS_END / 24, count = hourly ? DAYS * 24 : DAYS;
    int n = 0;
    sqlite3_bind_int(rows, 1, zone);
    sqlite3_bind_int64(rows, 2, end - count);
    sqlite3_bind_int64(rows, 3, end);
    for (; n < count && sqlite3_step(rows) == SQLITE_ROW; n++) {
        out[n].bucket = sqlite3_column_int64(rows, 1);
        for (int m = 0; m < HOURS_METRICS; m++)
            out[n].value[m] = sqlite3_column_int64(rows, 2 + m);
    }
    sqlite3_reset(rows);
    return n;
}

static json_t *number_of(const point *p, int a, int b)
{
    if (b < 0) return json_integer(p->value[a]);
    return json_real(p->value[b] ? (double)p->value[a] / (double)p->value[b] : 0);
}

static json_t *chart_of(const point *points, int n, bool hourly, int a, int b)
{
    json_t *chart = json_object();
    for (int i = 0; i < n; i++) {
        char key[24];
        struct tm date;
        time_t at = (time_t)(points[i].bucket * (hourly ? 3600 : 86400));
        gmtime_r(&at, &date);
        strftime(key, sizeof key, "%Y-%m-%dT%H:%M:%SZ", &date);
        json_object_set_new(chart, key, number_of(&points[i], a, b));
    }
    return chart;
}

static char *naive(const server *s, int zone, bool hourly)
{
    static _Thread_local point points[DAYS * 24];
    int n = fetch(s, zone, hourly, points);
    json_t *root = json_object();
    for (size_t i = 0; i < sizeof charts / sizeof *charts; i++)
        json_object_set_new(root, charts[i].name,
                            chart_of(points, n, hourly, charts[i].a, charts[i].b));
    char *text = json_dumps(root, JSON_COMPACT);
    json_decref(root);
    if (!text) bench_fail("out of memory");
    return text;
}

static enum MHD_Result answer_naive(const server *s, struct MHD_Connection *c)
{
    const char *zone = MHD_lookup_connection_value(c, MHD_GET_ARGUMENT_KIND, "pullZone");
    const char *hourly = MHD_lookup_connection_value(c, MHD_GET_ARGUMENT_KIND, "hourly");
    char *text =
        naive(s, zone ? (int)strtol(zone, NULL, 10) : 1, hourly && strcmp(hourly, "true") == 0);
    struct MHD_Response *r = json_response(text, strlen(text), MHD_RESPMEM_MUST_FREE);
    enum MHD_Result result = MHD_queue_response(c, 200, r);
    MHD_destroy_response(r);
    return result;
}

/* The first call of a request only says that it was seen: a response queued there makes the
 * library close the connection, which would make a slow peer of it. */
static enum MHD_Result handle(void *cls, struct MHD_Connection *connection, const char *url,
                              const char *method, const char *version, const char *body,
                              size_t *body_len, void **ctx)
{
    static int seen;
    const server *s = cls;
    (void)url, (void)method, (void)version, (void)body, (void)body_len;
    if (!*ctx) {
        *ctx = &seen;
        return MHD_YES;
    }
    return s->database ? answer_naive(s, connection) : answer_memory(s, connection);
}

static void serve(server *s)
{
    signal(SIGPIPE, SIG_IGN);
    struct MHD_Daemon *d = MHD_start_daemon(MHD_USE_EPOLL_INTERNAL_THREAD, 0, NULL, NULL, handle, s,
                                            MHD_OPTION_THREAD_POOL_SIZE, s->threads,
                                            MHD_OPTION_CONNECTION_TIMEOUT, 30u, MHD_OPTION_END);
    if (!d) bench_fail("no port to listen on");
    const union MHD_DaemonInfo *info = MHD_get_daemon_info(d, MHD_DAEMON_INFO_BIND_PORT);
    printf("%u\n", info->port);
    fflush(stdout);
    pause();
}

int main(int argc, char **argv)
{
    server s = {.threads = 2};
    if (argc >= 3 && strcmp(argv[1], "memory") == 0) {
        s.fixed = slurp(argv[2]);
        s.denied = json_response(strdup("{}"), 2, MHD_RESPMEM_PERSISTENT);
        s.key = argc > 3 ? argv[3] : NULL;
        if (argc > 4) s.threads = (unsigned)strtoul(argv[4], NULL, 10);
    } else if (argc == 3 && strcmp(argv[1], "naive") == 0) {
        s.database = argv[2];
    } else {
        bench_fail("usage: bench_http_peer memory FILE [KEY [THREADS]] | naive DATABASE");
    }
    serve(&s);
    return 0;
}
