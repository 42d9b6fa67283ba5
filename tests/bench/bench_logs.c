/* Request logs of one zone: queries over a window of an hour, by the store, by a plain indexed SQLite
 * table of the same lines, and what it costs just to decompress the blocks of that hour.
 *
 * usage: bench_logs plain LOG PLAIN              makes the table of a log of one zone
 *        bench_logs time STORE PLAIN ZONE ROUNDS [FROM_MS]   default: the hour 30 hours before the end
 *        bench_logs sum STORE ZONE ROUNDS              a summary of all lines: lines, and the median in milliseconds
 *
 * Prints a line a query: name, lines found, and medians in milliseconds: the store's, the table's, and
 * that of decompressing; separated by tabs. The answers of the first two are compared: a wrong one is
 * no fast one. */
#include "logs/format.h"
#include "measure.h"
#include "tollbook/intake.h"
#include "tollbook/logstore.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <zstd.h>

#define HOUR_MS    INT64_C(3600000)
#define ROUNDS_MAX 101

typedef struct query {
    const char *name, *sql; /* the condition */
    tb_log_filter filter;
} query;

#define T(s) {s, sizeof(s) - 1}
static query queries[] = {
    {"errors of a kind of file", "status>=400 AND instr(lower(host||path),'playlist')>0",
     {.by_status = true, .url = T("playlist")}},
    {"one edge, misses", "edge='SG' AND cache='MISS'",
     {.edge = T("SG"), .cache = {1, {T("miss")}}}},
    {"part of a path", "instr(lower(host||path),'trailer-final-20')>0", {.url = T("trailer-final-20")}},
    {"a word anywhere",
     "(instr(lower(path),'checkout-77')>0 OR instr(lower(agent),'checkout-77')>0 OR"
     " instr(lower(referer),'checkout-77')>0 OR instr(lower(host),'checkout-77')>0 OR"
     " instr(lower(cache),'checkout-77')>0 OR instr(lower(edge),'checkout-77')>0 OR"
     " instr(id,'checkout-77')>0)",
     {.tokens = {1, {T("checkout-77")}}}},
};
#define QUERIES (sizeof queries / sizeof *queries)

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void must(tb_code code, const tb_error *err)
{
    if (code != TB_OK) bench_fail("%s", err->message);
}

/* --- loading --- */

static void run_sql(sqlite3 *db, const char *sql)
{
    if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK) bench_fail("%s", sqlite3_errmsg(db));
}

static void bind(sqlite3_stmt *s, int at, tb_text text)
{
    sqlite3_bind_text(s, at, text.data, (int)text.len, SQLITE_STATIC);
}

static void insert(sqlite3_stmt *s, const tb_logline *l)
{
    const char *mark = l->origin.len ? memmem(l->origin.data, l->origin.len, "://", 3) : NULL;
    const size_t skip = mark ? (size_t)(mark + 3 - l->origin.data) : 0;
    sqlite3_bind_int64(s, 1, l->time_ms);
    sqlite3_bind_int(s, 2, (l->status.data[0] - '0') * 100 + (l->status.data[1] - '0') * 10 +
                               (l->status.data[2] - '0'));
    sqlite3_bind_int64(s, 3, (int64_t)l->bytes);
    bind(s, 4, l->cache);
    bind(s, 5, l->ip);
    bind(s, 6, l->referer);
    bind(s, 7, (tb_text){l->origin.data + skip, l->origin.len - skip});
    bind(s, 8, l->path);
    bind(s, 9, l->edge);
    bind(s, 10, l->agent);
    bind(s, 11, l->id);
    bind(s, 12, l->country);
    if (sqlite3_step(s) != SQLITE_DONE) bench_fail("insert");
    sqlite3_reset(s);
}

static void load_plain(const char *path, const char *log, size_t size)
{
    sqlite3 *db;
    sqlite3_stmt *s;
    tb_logline l;
    tb_log_layout layout;
    tb_error err;
    must(tb_log_layout_init(&layout, &(tb_log_spec){.format = T("pipe")}, &err), &err);
    layout.now_ms = INT64_MAX / 2;
    if (sqlite3_open(path, &db) != SQLITE_OK) bench_fail("%s", path);
    run_sql(db, "PRAGMA journal_mode=off;PRAGMA synchronous=off;PRAGMA cache_size=-65536;"
                "CREATE TABLE line(zone INTEGER,ms INTEGER,status INTEGER,bytes INTEGER,cache TEXT,"
                "ip TEXT,referer TEXT,host TEXT,path TEXT,edge TEXT,agent TEXT,id TEXT,country TEXT);"
                "BEGIN");
    sqlite3_prepare_v2(db, "INSERT INTO line VALUES(1,?,?,?,?,?,?,?,?,?,?,?,?)", -1, &s, NULL);
    for (const char *at = log, *end = log + size; at < end;) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        tb_logline_read(&layout, at, (size_t)(stop - at), &l);
        insert(s, &l);
        at = stop + 1;
    }
    sqlite3_finalize(s);
    run_sql(db, "COMMIT;CREATE INDEX line_by_time ON line(zone,ms)");
    sqlite3_close(db);
    tb_log_layout_release(&layout);
}

/* --- asking --- */

static double ask_ours(tb_store *store, int64_t zone, const query *q, size_t *ret_n, uint64_t *ret_sum)
{
    tb_error err;
    tb_log_cursor *cursor;
    tb_log_step step;
    tb_logrow row;
    *ret_n = *ret_sum = 0;
    const double begin = seconds();
    must(tb_store_read_begin(store, &err), &err);
    must(tb_store_logs(store, zone, &q->filter, true, &cursor, &err), &err);
    do {
        must(tb_log_next(cursor, &step, &err), &err);
        if (step != TB_LOG_LINE) continue;
        must(tb_log_line(cursor, &row, &err), &err);
        *ret_sum += row.line.bytes;
        ++*ret_n;
    } while (step != TB_LOG_END);
    tb_log_cursor_free(cursor);
    tb_store_read_end(store);
    return seconds() - begin;
}

static double ask_plain(sqlite3 *db, const query *q, size_t *ret_n, uint64_t *ret_sum)
{
    char sql[2048];
    sqlite3_stmt *s;
    snprintf(sql, sizeof sql,
             "SELECT * FROM line WHERE zone=1 AND ms>=?1 AND ms<?2 AND %s ORDER BY ms DESC", q->sql);
    *ret_n = *ret_sum = 0;
    const double begin = seconds();
    if (sqlite3_prepare_v2(db, sql, -1, &s, NULL) != SQLITE_OK) bench_fail("%s", sqlite3_errmsg(db));
    sqlite3_bind_int64(s, 1, q->filter.from_ms);
    sqlite3_bind_int64(s, 2, q->filter.to_ms);
    while (sqlite3_step(s) == SQLITE_ROW) {
        for (int i = 4; i < 13; i++)
            (void)sqlite3_column_text(s, i);
        *ret_sum += (uint64_t)sqlite3_column_int64(s, 3);
        ++*ret_n;
    }
    sqlite3_finalize(s);
    return seconds() - begin;
}

/* All columns of a block. */
static size_t decompress(ZSTD_DCtx *zstd, const uint8_t *block, uint8_t *out)
{
    const int columns = tb__log_columns(tb__get32(block));
    const uint8_t *stored = block + TB__LOG_HEADER(columns);
    size_t sum = 0;
    for (int c = 0; c < columns; c++) {
        const uint8_t *entry = block + 24 + TB__LOG_ENTRY * c;
        const uint32_t plain = tb__get32(entry), len = tb__get32(entry + 4);
        if (len < plain) ZSTD_decompressDCtx(zstd, out, plain, stored, len);
        else memcpy(out, stored, len);
        stored += len + tb__get32(entry + 8);
        sum += plain;
    }
    return sum;
}

static double ask_blocks(sqlite3 *db, int64_t zone, const query *q)
{
    static uint8_t out[TB_LOGBLOCK_COLUMN];
    sqlite3_stmt *s;
    ZSTD_DCtx *zstd = ZSTD_createDCtx();
    const double begin = seconds();
    sqlite3_prepare_v2(db, "SELECT data FROM log_block WHERE zone=?3 AND last_ms>=?1 AND first_ms<?2", -1,
                       &s, NULL);
    sqlite3_bind_int64(s, 1, q->filter.from_ms);
    sqlite3_bind_int64(s, 2, q->filter.to_ms);
    sqlite3_bind_int64(s, 3, zone);
    while (sqlite3_step(s) == SQLITE_ROW)
        decompress(zstd, sqlite3_column_blob(s, 0), out);
    sqlite3_finalize(s);
    const double took = seconds() - begin;
    ZSTD_freeDCtx(zstd);
    return took;
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static double median(double *values, int n)
{
    qsort(values, (size_t)n, sizeof *values, by_value);
    return values[n / 2] * 1e3;
}

static void measure(const query *q, int64_t zone, tb_store *store, sqlite3 *ours, sqlite3 *plain,
                    int rounds)
{
    double t[3][ROUNDS_MAX];
    size_t n = 0, other = 0;
    uint64_t sum = 0, other_sum = 0;
    for (int i = 0; i < rounds; i++) {
        t[0][i] = ask_ours(store, zone, q, &n, &sum);
        t[1][i] = ask_plain(plain, q, &other, &other_sum);
        t[2][i] = ask_blocks(ours, zone, q);
        if (n != other || sum != other_sum) bench_fail("the answers differ");
    }
    printf("%s\t%zu\t%.3f\t%.3f\t%.3f\n", q->name, n, median(t[0], rounds), median(t[1], rounds),
           median(t[2], rounds));
}

static sqlite3 *open_raw(const char *path)
{
    sqlite3 *db;
    if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL) != SQLITE_OK) bench_fail("%s", path);
    run_sql(db, "PRAGMA cache_size=-65536");
    return db;
}

/* With all values, and with those of a status class alone. */
static void time_sums(const char *path, int64_t zone, int rounds)
{
    static const struct {
        const char *name;
        bool by_status;
        uint32_t values;
    } kinds[] = {{"all values", false, (1u << TB_LOG_VALUE_COUNT) - 1},
                 {"all values of errors", true, (1u << TB_LOG_VALUE_COUNT) - 1},
                 {"totals alone", false, 0}};
    tb_store *store;
    tb_error err;
    const tb_store_options options = {.write = false};
    int64_t range[2];
    sqlite3 *ours = open_raw(path);
    sqlite3_stmt *s;
    sqlite3_prepare_v2(ours, "SELECT min(first_ms),max(last_ms)+1 FROM log_block WHERE zone=?1", -1, &s, NULL);
    sqlite3_bind_int64(s, 1, zone);
    if (sqlite3_step(s) != SQLITE_ROW) bench_fail("no line");
    for (int i = 0; i < 2; i++)
        range[i] = sqlite3_column_int64(s, i);
    sqlite3_finalize(s);
    sqlite3_close(ours);
    must(tb_store_open(path, &options, &store, &err), &err);
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        tb_log_filter filter = {.from_ms = range[0], .to_ms = range[1], .by_status = kinds[k].by_status};
        const tb_logsum_ask ask = {range[0], range[1], kinds[k].values, 10};
        double t[ROUNDS_MAX];
        tb_buf out;
        tb_buf_init(&out, (size_t)1 << 20, NULL);
        memset(filter.status + 50, 0xff, 25);
        for (int i = 0; i < rounds; i++) {
            tb_log_cursor *cursor;
            bool end = false;
            const double begin = seconds();
            tb_logsum *sum = tb_logsum_new(&ask);
            must(tb_store_read_begin(store, &err), &err);
            must(tb_store_logs(store, zone, &filter, false, &cursor, &err), &err);
            while (!end)
                must(tb_log_sum(cursor, sum, &end, &err), &err);
            out.len = 0;
            tb_logsum_json(sum, &out);
            tb_log_cursor_free(cursor);
            tb_store_read_end(store);
            tb_logsum_free(sum);
            t[i] = seconds() - begin;
        }
        tb_buf_add(&out, "", 1);
        const char *lines = strstr(out.data, "\"requests\":") + 11;
        printf("%s\t%.*s\t%.1f\n", kinds[k].name, (int)strcspn(lines, ","), lines, median(t, rounds));
        tb_buf_release(&out);
    }
    tb_store_close(store);
}

static int64_t newest(sqlite3 *plain)
{
    sqlite3_stmt *s;
    sqlite3_prepare_v2(plain, "SELECT max(ms) FROM line WHERE zone=1", -1, &s, NULL);
    if (sqlite3_step(s) != SQLITE_ROW) bench_fail("no line");
    const int64_t ms = sqlite3_column_int64(s, 0);
    sqlite3_finalize(s);
    return ms;
}

static void time_all(const char *path, const char *plain_path, int64_t zone, int rounds,
                     const char *from)
{
    tb_store *store;
    tb_error err;
    const tb_store_options options = {.write = false};
    must(tb_store_open(path, &options, &store, &err), &err);
    sqlite3 *ours = open_raw(path), *plain = open_raw(plain_path);
    const int64_t begin = from ? bench_number(from, 0, INT64_MAX) : newest(plain) - 30 * HOUR_MS;
    for (size_t i = 0; i < QUERIES; i++) {
        queries[i].filter.from_ms = begin;
        queries[i].filter.to_ms = begin + HOUR_MS;
        if (queries[i].filter.by_status) memset(queries[i].filter.status + 50, 0xff, 25);
        measure(&queries[i], zone, store, ours, plain, rounds);
    }
    tb_store_close(store);
    sqlite3_close(plain);
    sqlite3_close(ours);
}

static void make_plain(const char *log, const char *path)
{
    struct stat st;
    int fd = open(log, O_RDONLY);
    if (fd < 0 || fstat(fd, &st) != 0) bench_fail("%s", log);
    const char *bytes = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (bytes == MAP_FAILED) bench_fail("%s", log);
    load_plain(path, bytes, (size_t)st.st_size);
}

int main(int argc, char **argv)
{
    if (argc == 4 && strcmp(argv[1], "plain") == 0) make_plain(argv[2], argv[3]);
    else if ((argc == 6 || argc == 7) && strcmp(argv[1], "time") == 0)
        time_all(argv[2], argv[3], bench_number(argv[4], 1, INT64_MAX),
                 (int)bench_number(argv[5], 1, ROUNDS_MAX), argc == 7 ? argv[6] : NULL);
    else if (argc == 5 && strcmp(argv[1], "sum") == 0)
        time_sums(argv[2], bench_number(argv[3], 1, INT64_MAX), (int)bench_number(argv[4], 1, ROUNDS_MAX));
    else
        bench_fail("usage: bench_logs plain LOG PLAIN | time STORE PLAIN ZONE ROUNDS [FROM_MS] | sum STORE ZONE ROUNDS");
    return 0;
}
