/* DuckDB's answers to the statistics workload: prepared statements, values read straight from the
 * column vectors. Only query 3: on the others SQLite is the faster peer by far.
 *
 * usage: bench_w2_duck csv                          the rows as CSV on standard output
 *        bench_w2_duck load DATABASE CSV
 *        bench_w2_duck time DATABASE THREADS [QUICK]     (TB_DUCKDB names the library's file) */
#include "duck.h"
#include "hours.h"
#include "measure.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A piece of SQL for each value column. */
#define EACH(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11)
#define TYPE(n) ",'m" #n "':'BIGINT'"
#define SUM(n) ",sum(m" #n ")::BIGINT m" #n

static char *put(char *out, int64_t value, char end)
{
    char digits[20];
    int n = 0;
    do {
        digits[n++] = (char)('0' + value % 10);
        value /= 10;
    } while (value);
    while (n)
        *out++ = digits[--n];
    *out++ = end;
    return out;
}

static void write_csv(void)
{
    char text[16 * 20];
    int64_t value[HOURS_METRICS];
    for (int zone = 1; zone <= HOURS_ZONES; zone++)
        for (int64_t hour = HOURS_BEGIN; hour < HOURS_END; hour++) {
            char *at = put(put(text, zone, ','), hour, ',');
            hours_row(zone, hour, value);
            for (int m = 0; m < HOURS_METRICS; m++)
                at = put(at, value[m], m + 1 < HOURS_METRICS ? ',' : '\n');
            fwrite(text, 1, (size_t)(at - text), stdout);
        }
}

static void load(duck *d, const char *csv)
{
    char sql[4096];
    snprintf(sql, sizeof sql,
             "CREATE TABLE hour AS SELECT * FROM read_csv('%s',header=false,auto_detect=false,"
             "columns={'zone':'INTEGER','hour':'INTEGER'" EACH(TYPE) "}) ORDER BY zone,hour",
             csv);
    duck_exec(d, sql);
    duck_exec(d, "CREATE TABLE day AS SELECT zone,hour//24 AS day" EACH(SUM)
                 " FROM hour GROUP BY 1,2 ORDER BY 1,2");
    duck_exec(d, "CHECKPOINT");
}

typedef struct session {
    duck d;
    duck_handle statement;
} session;

static void prepare(session *s, const char *sql)
{
    if (s->d.prepare(s->d.connection, sql, &s->statement))
        bench_fail("%s\n%s", sql, s->d.prepare_error(s->statement));
}

static uint64_t fetch(duck *d, duck_result *result)
{
    uint64_t total = 0;
    for (duck_handle chunk; (chunk = d->fetch_chunk(*result)); d->destroy_data_chunk(&chunk)) {
        uint64_t rows = d->data_chunk_get_size(chunk);
        for (uint64_t c = 0; c <= HOURS_METRICS; c++) {
            const uint64_t *v = d->vector_get_data(d->data_chunk_get_vector(chunk, c));
            for (uint64_t i = 0; i < rows; i++)
                total += v[i];
        }
    }
    return total;
}

static uint64_t query(void *ctx, int query, int zone)
{
    session *s = ctx;
    duck *d = &s->d;
    hours_span span = hours_query(query);
    duck_result result;
    (void)zone;
    d->bind_int64(s->statement, 1, span.first);
    d->bind_int64(s->statement, 2, span.first + span.count);
    if (d->execute_prepared(s->statement, &result)) bench_fail("%s", d->result_error(&result));
    uint64_t total = fetch(d, &result);
    d->destroy_result(&result);
    return total;
}

static void measure(session *s, const char *threads, int quick)
{
    char sql[40], name[40];
    snprintf(sql, sizeof sql, "SET threads=%d", (int)bench_number(threads, 1, 64));
    duck_exec(&s->d, sql);
    prepare(s, "SELECT day::BIGINT" EACH(SUM) " FROM day WHERE day>=$1 AND day<$2"
                  " GROUP BY 1 ORDER BY 1");
    snprintf(name, sizeof name, "duckdb-%st", threads);
    bench_latency(name, 3, 300 / quick, query, s);
}

int main(int argc, char **argv)
{
    session s;
    if (argc == 2 && strcmp(argv[1], "csv") == 0) {
        write_csv();
    } else if (argc == 4 && strcmp(argv[1], "load") == 0) {
        duck_start(&s.d, argv[2]);
        load(&s.d, argv[3]);
        duck_stop(&s.d);
    } else if (argc >= 4 && strcmp(argv[1], "time") == 0) {
        duck_start(&s.d, argv[2]);
        measure(&s, argv[3], argc > 4 ? (int)bench_number(argv[4], 1, 100) : 1);
        duck_stop(&s.d);
    } else {
        bench_fail("usage: bench_w2_duck csv | load DATABASE CSV | time DATABASE THREADS [QUICK]");
    }
    return 0;
}
