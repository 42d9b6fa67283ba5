/* Request logs of one zone: queries over a window of an hour, by the store, by a plain indexed SQLite
 * table of the same lines, and what it costs just to decompress the blocks of that hour.
 *
 * usage: bench_logs LOG FOLDER ROUNDS      LOG as bench_gen_log writes it: all lines are made one zone's
 *
 * Prints a line a query: name, lines found, milliseconds of the three (medians), and the sizes. The
 * answers of the first two are compared: a wrong one is no fast one. */
#include "logs/format.h"
#include "measure.h"
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

#define ZONE       1
#define HOUR_MS    INT64_C(3600000)
#define ROUNDS_MAX 101

static const tb_log_layout layout;

typedef struct query {
    const char *name, *sql; /* the condition */
    tb_log_filter filter;
} query;

#define T(s) {s, sizeof(s) - 1}
static query queries[] = {
    {"errors of a kind of file", "status>=400 AND instr(lower(host||path),'playlist')>0",
     {.by_status = true, .url = T("playlist")}},
    {"one edge, misses", "edge='SG' AND cache='MISS'",
     {.edge = T("SG"), .cache = {1, {T("MISS")}}}},
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

typedef struct loading {
    const char *line[TB_LOGBLOCK_LINES];
    size_t len[TB_LOGBLOCK_LINES];
    int64_t time[TB_LOGBLOCK_LINES];
    size_t n;
} loading;

/* The referers of a zone: one site, and the word that the line names. */
static tb_text referer_of(tb_text referer)
{
    static char known[32][64];
    const char *slash = referer.len ? memrchr(referer.data, '/', referer.len) : NULL;
    if (!slash) return referer;
    const size_t n = referer.len - (size_t)(slash - referer.data);
    for (int i = 0; i < 32; i++) {
        char *one = known[i];
        if (!*one) snprintf(one, sizeof known[i], "https://www.customer-7919.com%.*s", (int)n, slash);
        const size_t len = strlen(one);
        if (len > n && memcmp(one + len - n, slash, n) == 0) return (tb_text){one, len};
    }
    return referer;
}

static void read_line(const char *line, size_t len, tb_logline *ret)
{
    tb_logline_read(&layout, line, len, ret);
    ret->origin = (tb_text)T("https://customer-7919.b-cdn.net");
    ret->referer = referer_of(ret->referer);
}

static void line_of(void *ctx, size_t i, tb_logline *ret)
{
    const loading *l = ctx;
    read_line(l->line[i], l->len[i], ret);
}

static void pack(tb_store *store, tb_logpack *p, loading *l)
{
    static tb_buf out = {.max = TB_LOGBLOCK_MAX};
    tb_loginfo info;
    tb_error err;
    if (!l->n) return;
    out.len = 0;
    must(tb_logpack_block(p, ZONE, l->time, l->n, line_of, l, &out, &info, &err), &err);
    must(tb_store_add_logs(store, &info, out.data, out.len, &err), &err);
    l->n = 0;
}

static tb_store *load_ours(const char *path, const char *log, size_t size)
{
    static loading l;
    tb_store *store;
    tb_error err;
    const tb_store_options options = {.write = true, .owner = "bench"};
    must(tb_store_create(path, &options, &err), &err);
    must(tb_store_open(path, &options, &store, &err), &err);
    must(tb_store_begin(store, &err), &err);
    tb_logpack *p = tb_logpack_new();
    size_t text = 0;
    for (const char *at = log, *end = log + size; at < end;) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        l.line[l.n] = at;
        l.len[l.n] = (size_t)(stop - at);
        l.time[l.n] = tb_logline_time(&layout, at, l.len[l.n]);
        text += l.len[l.n++];
        at = stop + 1;
        if (l.n < TB_LOGBLOCK_LINES && text < TB_LOGBLOCK_TEXT) continue;
        pack(store, p, &l);
        text = 0;
    }
    pack(store, p, &l);
    tb_logpack_free(p);
    must(tb_store_commit(store, &err), &err);
    tb_store_checkpoint(store, true);
    return store;
}

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

static sqlite3 *load_plain(const char *path, const char *log, size_t size)
{
    sqlite3 *db;
    sqlite3_stmt *s;
    tb_logline l;
    if (sqlite3_open(path, &db) != SQLITE_OK) bench_fail("%s", path);
    run_sql(db, "PRAGMA journal_mode=off;PRAGMA synchronous=off;PRAGMA cache_size=-65536;"
                "CREATE TABLE line(zone INTEGER,ms INTEGER,status INTEGER,bytes INTEGER,cache TEXT,"
                "ip TEXT,referer TEXT,host TEXT,path TEXT,edge TEXT,agent TEXT,id TEXT,country TEXT);"
                "BEGIN");
    sqlite3_prepare_v2(db, "INSERT INTO line VALUES(1,?,?,?,?,?,?,?,?,?,?,?,?)", -1, &s, NULL);
    for (const char *at = log, *end = log + size; at < end;) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        read_line(at, (size_t)(stop - at), &l);
        insert(s, &l);
        at = stop + 1;
    }
    sqlite3_finalize(s);
    run_sql(db, "COMMIT;CREATE INDEX line_by_time ON line(zone,ms)");
    return db;
}

/* --- asking --- */

static double ask_ours(tb_store *store, const query *q, size_t *ret_n, uint64_t *ret_sum)
{
    tb_error err;
    tb_log_cursor *cursor;
    tb_log_step step;
    tb_logrow row;
    *ret_n = *ret_sum = 0;
    const double begin = seconds();
    must(tb_store_read_begin(store, &err), &err);
    must(tb_store_logs(store, ZONE, &q->filter, true, &cursor, &err), &err);
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
    const uint8_t *stored = block + TB__LOG_HEADER;
    size_t sum = 0;
    for (int c = 0; c < TB__LOG_COUNT; c++) {
        const uint8_t *entry = block + 24 + TB__LOG_ENTRY * c;
        const uint32_t plain = tb__get32(entry), len = tb__get32(entry + 4);
        if (len < plain) ZSTD_decompressDCtx(zstd, out, plain, stored, len);
        else memcpy(out, stored, len);
        stored += len + tb__get32(entry + 8);
        sum += plain;
    }
    return sum;
}

static double ask_blocks(sqlite3 *db, const query *q)
{
    static uint8_t out[TB_LOGBLOCK_COLUMN];
    sqlite3_stmt *s;
    ZSTD_DCtx *zstd = ZSTD_createDCtx();
    const double begin = seconds();
    sqlite3_prepare_v2(db, "SELECT data FROM log_block WHERE zone=1 AND last_ms>=? AND first_ms<?", -1,
                       &s, NULL);
    sqlite3_bind_int64(s, 1, q->filter.from_ms);
    sqlite3_bind_int64(s, 2, q->filter.to_ms);
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

static void measure(const query *q, tb_store *store, sqlite3 *ours, sqlite3 *plain, int rounds)
{
    double t[3][ROUNDS_MAX];
    size_t n = 0, other = 0;
    uint64_t sum = 0, other_sum = 0;
    for (int i = 0; i < rounds; i++) {
        t[0][i] = ask_ours(store, q, &n, &sum);
        t[1][i] = ask_plain(plain, q, &other, &other_sum);
        t[2][i] = ask_blocks(ours, q);
        if (n != other || sum != other_sum) bench_fail("the answers differ");
    }
    const double a = median(t[0], rounds), b = median(t[1], rounds), c = median(t[2], rounds);
    printf("%-26s %6zu lines  %8.2f ms  sqlite %8.2f ms: %5.1fx  decompressing %7.2f ms: %4.2fx\n",
           q->name, n, a, b, b / a, c, a / c);
}

int main(int argc, char **argv)
{
    char ours[4096], theirs[4096];
    struct stat st;
    if (argc != 4) bench_fail("usage: bench_logs LOG FOLDER ROUNDS");
    const int rounds = (int)bench_number(argv[3], 1, ROUNDS_MAX);
    int fd = open(argv[1], O_RDONLY);
    if (fd < 0 || fstat(fd, &st) != 0) bench_fail("%s", argv[1]);
    const size_t size = (size_t)st.st_size;
    const char *log = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (log == MAP_FAILED) bench_fail("%s", argv[1]);
    snprintf(ours, sizeof ours, "%s/logs.db", argv[2]);
    snprintf(theirs, sizeof theirs, "%s/logs-plain.db", argv[2]);
    tb_store *store = load_ours(ours, log, size);
    sqlite3 *plain = load_plain(theirs, log, size), *raw;
    if (sqlite3_open_v2(ours, &raw, SQLITE_OPEN_READONLY, NULL) != SQLITE_OK) bench_fail("%s", ours);
    run_sql(raw, "PRAGMA cache_size=-65536");
    stat(ours, &st);
    printf("stored %.1f MB of %.1f MB text: 1/%.2f\n", (double)st.st_size / 1e6, (double)size / 1e6,
           (double)size / (double)st.st_size);
    const int64_t middle = tb_logline_time(&layout, log, 1024) + 5 * HOUR_MS;
    for (size_t i = 0; i < QUERIES; i++) {
        queries[i].filter.from_ms = middle;
        queries[i].filter.to_ms = middle + HOUR_MS;
        if (queries[i].filter.by_status) memset(queries[i].filter.status + 50, 0xff, 25);
        measure(&queries[i], store, raw, plain, rounds);
    }
    tb_store_close(store);
    sqlite3_close(plain);
    sqlite3_close(raw);
    return 0;
}
