/* Counters on their way to usage servers, against a stand-in for these that reads what is sent: in which order, which columns, and
 * that countries of batches which are committed together are one row. tests/http/test_usage_random.py asks real ones. */
#include "seed.h"
#include "store/clickhouse/lines.h"
#include "store/clickhouse/private.h"
#include "store/core/seal.h"
#include "store/usage/country.h"
#include "unit/usage_writer.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DAY  INT64_C(20760)
#define DE   ('D' << 8 | 'E')
#define ROWS 16

/* The last block of each table, by column. */
typedef struct block {
    size_t rows, columns;
    struct {
        char name[24], type[12];
        uint64_t value[ROWS];
    } column[30];
} block;

static struct {
    block cell, country;
    unsigned blocks;
    bool refuses, deaf; /* deaf: it takes what it is sent unread */
    usage_writer writer;
} shard;

static uint64_t number(const char **at, size_t size)
{
    uint64_t value = 0;
    memcpy(&value, *at, size);
    *at += size;
    return value;
}

static void word(const char **at, char *out, size_t size)
{
    const size_t len = (size_t)number(at, 1);
    ck_assert_uint_lt(len, size);
    memcpy(out, *at, len);
    out[len] = 0;
    *at += len;
}

static void read_block(block *to, const char *at, size_t len)
{
    const char *const end = at + len;
    memset(to, 0, sizeof *to);
    to->columns = (size_t)number(&at, 1);
    to->rows = (size_t)number(&at, 1);
    ck_assert_uint_le(to->rows, ROWS);
    for (size_t c = 0; c < to->columns; c++) {
        word(&at, to->column[c].name, sizeof to->column[c].name);
        word(&at, to->column[c].type, sizeof to->column[c].type);
        const size_t bits = (size_t)atoi(strpbrk(to->column[c].type, "1368"));
        for (size_t i = 0; i < to->rows; i++)
            to->column[c].value[i] = number(&at, bits / 8);
    }
    ck_assert_ptr_eq(at, end);
    shard.blocks++;
}

static tb_code ask(void *ctx, const tb_usage_statement *of, tb_buf *answer, tb_error *err)
{
    (void)ctx;
    if (of->len && shard.refuses) return tb_fail(err, TB_E_AWAY, NULL, "It is away.");
    if (of->len && shard.deaf) return TB_OK;
    if (strcmp(of->sql, "INSERT INTO t.cell FORMAT Native") == 0) read_block(&shard.cell, of->body, of->len);
    else if (strcmp(of->sql, "INSERT INTO t.country FORMAT Native") == 0) read_block(&shard.country, of->body, of->len);
    else ck_assert_uint_eq(of->len, 0);
    if (usage_writer_answers(&shard.writer, of->sql, answer)) return TB_OK;
    if (strstr(of->sql, "max(shard)")) tb_buf_add(answer, (uint64_t[]){1, 1}, 16);
    return TB_OK;
}

static const tb_usage_client client = {.shards = 1, .database = "t", .ask = ask};
static const tb_usage_client *using = &client;
static char path[] = "/tmp/tollbook-rows-XXXXXX";
static tb_error err;

static void ok(tb_code code)
{
    ck_assert_msg(code == TB_OK, "%s", err.message);
}

static tb_store *start(void)
{
    const tb_store_options options = {.write = true, .owner = "test", .usage = using};
    tb_store *store = NULL;
    memset(&shard, 0, sizeof shard);
    strcpy(path + sizeof path - 7, "XXXXXX");
    close(mkstemp(path));
    unlink(path);
    ok(tb_store_create(path, NULL, &err));
    ok(tb_store_open(path, &options, &store, &err));
    ok(tb_store_begin(store, &err));
    return store;
}

static void end(tb_store *store)
{
    tb_store_close(store);
    unlink(path);
}

/* A column's values; NULL: it was not sent. */
static const uint64_t *column(const block *of, const char *name)
{
    for (size_t c = 0; c < of->columns; c++)
        if (strcmp(of->column[c].name, name) == 0) return of->column[c].value;
    return NULL;
}

static void columns_are(const block *of, const char *names)
{
    char all[600] = "";
    for (size_t c = 0; c < of->columns; c++) {
        strcat(all, of->column[c].name);
        strcat(all, " ");
    }
    ck_assert_str_eq(all, names);
}

static void values_are(const block *of, const char *name, const uint64_t *values)
{
    const uint64_t *got = column(of, name);
    ck_assert_ptr_nonnull(got);
    for (size_t i = 0; i < of->rows; i++)
        ck_assert_msg(got[i] == values[i], "%s of row %zu: %llu", name, i, (unsigned long long)got[i]);
}

/* One hour of a zone at a location, and its country. */
typedef struct hit {
    int64_t zone, edge;
    unsigned hour;
    tb_metric metric;
    uint64_t value;
} hit;

static void add(tb_store *store, const hit *hits, size_t n)
{
    const tb__counters *to = store->plane.counters;
    void *batch = NULL;
    ok(to->begin(store, &batch, &err));
    for (size_t i = 0; i < n; i++) {
        tb_grid grid;
        tb_grid_clear(&grid);
        ok(tb_grid_add(&grid, hits[i].metric, hits[i].hour, hits[i].value, &err));
        ok(to->add(batch, &(tb__day_of){TB__SCOPE_ZONE, hits[i].zone, hits[i].edge, 0, DAY}, &grid, &err));
    }
    for (size_t i = 0; i < n; i++)
        ok(to->add_countries(batch, hits[i].zone, DAY, &(tb__country){DE, 1, hits[i].value}, 1, &err));
    ok(to->end(batch, DAY * 24, &err));
    to->free(batch);
}

START_TEST(rows_are_in_the_order_of_the_tables_key)
{
    tb_store *store = start();
    add(store, (hit[]){{9, 2, 5, TB_M_BYTES, 1}, {9, 1, 5, TB_M_BYTES, 2}, {300, 1, 4, TB_M_BYTES, 3}}, 3);
    add(store, (hit[]){{9, 1, 4, TB_M_BYTES, 4}, {9, 1, 5, TB_M_BYTES, 5}, {7, 1, 23, TB_M_BYTES, 6}}, 3);
    ok(tb_store_commit(store, &err));
    ck_assert_uint_eq(shard.cell.rows, 6);
    values_are(&shard.cell, "owner", (uint64_t[]){7, 9, 9, 9, 9, 300});
    values_are(&shard.cell, "bytes", (uint64_t[]){6, 4, 2, 5, 1, 3});
    values_are(&shard.cell, "edge", (uint64_t[]){1, 1, 1, 1, 2, 1});
    values_are(&shard.cell, "row", (uint64_t[]){2, 0, 1, 1, 0, 2});
    const uint64_t *batch = column(&shard.cell, "batch"), *h = column(&shard.cell, "h");
    ck_assert(batch[2] + 1 == batch[3] && batch[4] == batch[2] && batch[1] == batch[3]);
    ck_assert(h[0] == DAY * 24 + 23 && h[1] == DAY * 24 + 4 && h[2] == DAY * 24 + 5);
    values_are(&shard.country, "zone", (uint64_t[]){7, 9, 300});
    end(store);
}
END_TEST

START_TEST(counters_that_are_zero_everywhere_are_not_sent)
{
    tb_store *store = start();
    add(store, (hit[]){{9, 1, 5, TB_M_STATUS_4XX, 7}, {10, 1, 5, TB_M_BYTES, UINT64_C(1) << 62}}, 2);
    ok(tb_store_commit(store, &err));
    columns_are(&shard.cell, "scope owner edge h batch row bytes status_4xx ");
    values_are(&shard.cell, "bytes", (uint64_t[]){0, UINT64_C(1) << 62});
    values_are(&shard.cell, "status_4xx", (uint64_t[]){7, 0});
    columns_are(&shard.country, "zone day country batch requests bytes ");
    ok(tb_store_begin(store, &err));
    add(store, (hit[]){{9, 1, 5, TB_M_SAVED, 8}}, 1); /* no line tells it */
    ok(tb_store_commit(store, &err));
    columns_are(&shard.cell, "scope owner edge h batch row saved ");
    values_are(&shard.cell, "saved", (uint64_t[]){8});
    end(store);
}
END_TEST

START_TEST(countries_of_one_commit_are_one_row)
{
    tb_store *store = start();
    for (int i = 0; i < 4; i++) {
        ok(tb_store_mark(store, &err));
        add(store, (hit[]){{9, i + 1, 5, TB_M_BYTES, 10}, {8, i + 1, 5, TB_M_BYTES, 1}}, 2);
        ok(tb_store_keep_mark(store, &err));
    }
    add(store, (hit[]){{10, 1, 5, TB_M_BYTES, 3}}, 1);
    ok(tb_store_commit(store, &err));
    ck_assert_uint_eq(shard.cell.rows, 9);
    values_are(&shard.country, "zone", (uint64_t[]){8, 9, 10});
    values_are(&shard.country, "requests", (uint64_t[]){4, 4, 1});
    values_are(&shard.country, "bytes", (uint64_t[]){4, 40, 3});
    ck_assert_uint_eq(column(&shard.country, "batch")[0], column(&shard.cell, "batch")[0]);
    ok(tb_store_begin(store, &err)); /* what was sent is not there any more */
    add(store, (hit[]){{9, 1, 5, TB_M_BYTES, 100}}, 1);
    ok(tb_store_commit(store, &err));
    ck_assert_uint_eq(shard.country.rows, 1);
    values_are(&shard.country, "bytes", (uint64_t[]){100});
    end(store);
}
END_TEST

START_TEST(what_is_undone_is_in_no_row)
{
    tb_store *store = start();
    ok(tb_store_mark(store, &err));
    add(store, (hit[]){{9, 1, 5, TB_M_BYTES, 10}}, 1);
    ok(tb_store_keep_mark(store, &err));
    ok(tb_store_mark(store, &err));
    add(store, (hit[]){{9, 1, 5, TB_M_BYTES, 500}, {8, 1, 5, TB_M_BYTES, 500}}, 2);
    tb_store_back_to_mark(store);
    ok(tb_store_mark(store, &err));
    add(store, (hit[]){{8, 1, 5, TB_M_BYTES, 7}, {9, 1, 5, TB_M_BYTES, 2}}, 2);
    ok(tb_store_keep_mark(store, &err));
    ok(tb_store_commit(store, &err));
    values_are(&shard.country, "zone", (uint64_t[]){8, 9});
    values_are(&shard.country, "bytes", (uint64_t[]){7, 12});
    end(store);
}
END_TEST

START_TEST(what_is_refused_is_not_in_what_comes_next)
{
    tb_store *store = start();
    add(store, (hit[]){{9, 1, 5, TB_M_BYTES, 10}}, 1);
    shard.refuses = true;
    ck_assert_int_eq(tb_store_commit(store, &err), TB_E_AWAY);
    tb_store_rollback(store);
    shard.refuses = false;
    ok(tb_store_begin(store, &err));
    for (int i = 0; i < 2; i++) {
        ok(tb_store_mark(store, &err));
        add(store, (hit[]){{9, 1, 5, TB_M_BYTES, 3}}, 1);
        ok(tb_store_keep_mark(store, &err));
    }
    ok(tb_store_commit(store, &err));
    ck_assert(shard.cell.rows == 2 && shard.country.rows == 1);
    values_are(&shard.country, "bytes", (uint64_t[]){6});
    end(store);
}
END_TEST

/* Whether repeated rows are left out of what is asked. */
static void ck_careful(tb_store *store, bool careful)
{
    const tb__ch_rows rows = {.columns = "h", .metrics = TB_METRIC_BIT(TB_M_BYTES), .where = "scope=1",
                              .first = DAY * 24, .end = DAY * 24 + 24};
    tb_buf sql;
    tb_buf_init(&sql, 1 << 16, NULL);
    ok(tb__ch_put_sent_rows(store, &sql, &rows, &err));
    tb_buf_add(&sql, "", 1);
    ck_assert_msg(!strstr(sql.data, "LIMIT 1 BY") == !careful, "%s", sql.data);
    tb_buf_release(&sql);
}

START_TEST(repeated_rows_are_looked_for_where_the_file_knows_of_some)
{
    tb_store *store = start();
    int64_t batch = 0;
    add(store, (hit[]){{9, 1, 5, TB_M_BYTES, 10}}, 1);
    ok(tb_store_commit(store, &err));
    ck_careful(store, false);
    ok(tb__meta_get(store, "usage_batch", &batch, &err));
    ok(tb_store_begin(store, &err));
    ok(tb__meta_set(store, "usage_twice", batch, &err));
    ok(tb_store_commit(store, &err));
    ck_careful(store, true);
    end(store);
}
END_TEST

/* More than the table of what is there begins with. */
START_TEST(many_countries_are_joined)
{
    enum { MANY = 9000, TIMES = 3 };
    tb__index pool = {0};
    tb_buf rows;
    uint64_t sum = 0;
    tb_buf_init(&rows, 1 << 24, NULL);
    for (uint64_t time = 0; time < TIMES; time++) {
        const size_t before = rows.len;
        for (uint64_t i = 0; i < MANY; i++) {
            tb__ch_put_u64(&rows, i / 10);
            tb__ch_put_u32(&rows, DAY);
            tb__ch_put_u16(&rows, (uint16_t)(DE + i % 10));
            tb__ch_put_u64(&rows, time + 1);
            tb__ch_put_u64(&rows, 1);
            tb__ch_put_u64(&rows, i);
        }
        tb__ch_pool_rows(&pool, &rows, before);
        ck_assert_uint_eq(rows.len, MANY * 38);
    }
    for (size_t at = 0; at < rows.len; at += 38) {
        uint64_t requests, bytes;
        memcpy(&requests, rows.data + at + 22, 8);
        memcpy(&bytes, rows.data + at + 30, 8);
        ck_assert_uint_eq(requests, TIMES);
        ck_assert_uint_eq(bytes, at / 38 * TIMES);
        sum += bytes;
    }
    ck_assert_uint_eq(sum, (uint64_t)TIMES * MANY * (MANY - 1) / 2);
    tb_buf_release(&rows);
    tb__index_release(&pool, NULL);
}
END_TEST

/* --- series that wait for the end of their transaction --- */

enum { ZONES = 40, EDGES = 300, JOBS = 12 };

static uint64_t chance;

static size_t below(size_t n)
{
    chance = chance * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (size_t)((chance >> 33) % n);
}

typedef bool known[ZONES + 1][EDGES + 1]; /* which zone has a series at which location */

static int64_t ask_file(tb_store *store, const char *sql)
{
    sqlite3_stmt *s;
    ck_assert_int_eq(sqlite3_prepare_v2(store->db, sql, -1, &s, NULL), SQLITE_OK);
    ck_assert_int_eq(sqlite3_step(s), SQLITE_ROW);
    const int64_t value = sqlite3_column_int64(s, 0);
    sqlite3_finalize(s);
    return value;
}

static int64_t seals_of_series(tb_store *store)
{
    sqlite3_stmt *s;
    uint64_t sum = 0;
    ck_assert_int_eq(sqlite3_prepare_v2(store->db, "SELECT seal FROM series", -1, &s, NULL), SQLITE_OK);
    while (sqlite3_step(s) == SQLITE_ROW)
        sum += (uint64_t)sqlite3_column_int64(s, 0);
    sqlite3_finalize(s);
    return (int64_t)(sum & TB__SEAL_BITS);
}

/* From its second location on a zone has one for all of them. */
static int64_t rows_of(known k, int64_t zone)
{
    int64_t n = 0;
    for (int64_t edge = 1; edge <= EDGES; edge++)
        n += k[zone][edge];
    return n + (n > 1);
}

static void file_has(tb_store *store, known k)
{
    sqlite3_stmt *s;
    int64_t n = 0, found = 0;
    for (int64_t zone = 1; zone <= ZONES; zone++)
        n += rows_of(k, zone);
    const char *sql = "SELECT owner,edge FROM series WHERE scope=1";
    ck_assert_int_eq(sqlite3_prepare_v2(store->db, sql, -1, &s, NULL), SQLITE_OK);
    for (; sqlite3_step(s) == SQLITE_ROW; found++)
        ck_assert(!sqlite3_column_int(s, 1) || k[sqlite3_column_int(s, 0)][sqlite3_column_int(s, 1)]);
    sqlite3_finalize(s);
    ck_assert_int_eq(found, n);
    ck_assert_int_eq(ask_file(store, "SELECT count(DISTINCT id) FROM series"), n);
    ck_assert_int_eq(ask_file(store, "SELECT n FROM head WHERE name='series'"), n);
    ck_assert_int_eq(ask_file(store, "SELECT seals FROM head WHERE name='series'"), seals_of_series(store));
}

static void random_job(tb_store *store, known k)
{
    static hit hits[400];
    const size_t n = 1 + below(below(4) ? 20 : 400);
    for (size_t i = 0; i < n; i++) {
        hits[i] = (hit){1 + (int64_t)below(ZONES), 1 + (int64_t)below(EDGES), 5, TB_M_BYTES, 1};
        k[hits[i].zone][hits[i].edge] = true;
    }
    add(store, hits, n);
}

/* A statement about series finds those of the transaction. */
static void look(tb_store *store, known k)
{
    const int64_t id[2] = {TB__SCOPE_ZONE, 1 + (int64_t)below(ZONES)};
    sqlite3_stmt *s;
    bool row = true;
    int64_t n = 0;
    ok(tb__sql_ints(store, TB__SQL_SERIES_OF_OWNER, id, 2, &s, &err));
    for (ok(tb__step(store, s, &row, &err)); row; ok(tb__step(store, s, &row, &err)))
        n++;
    ck_assert_int_eq(n, rows_of(k, id[1]));
}

/* Jobs of one commit, some of them undone, at each of which somebody may look. */
static void random_jobs(tb_store *store, known k)
{
    static known marked;
    for (size_t job = below(JOBS) + 1; job; job--) {
        memcpy(marked, k, sizeof marked);
        ok(tb_store_mark(store, &err));
        if (below(4) == 0) look(store, k);
        random_job(store, k);
        if (below(4) == 0) look(store, k);
        if (below(3)) {
            ok(tb_store_keep_mark(store, &err));
            continue;
        }
        tb_store_back_to_mark(store);
        memcpy(k, marked, sizeof marked);
    }
}

START_TEST(series_that_wait_are_those_that_were_kept)
{
    static known now, committed;
    chance = test_seed();
    for (int round = 0; round < 5; round++) {
        tb_store *store = start();
        shard.deaf = true;
        memset(now, 0, sizeof now);
        memset(committed, 0, sizeof committed);
        for (int turn = 0; turn < 8; turn++) {
            random_jobs(store, now);
            shard.refuses = below(4) == 0;
            if (tb_store_commit(store, &err) == TB_OK) {
                memcpy(committed, now, sizeof now);
            } else {
                tb_store_rollback(store);
                memcpy(now, committed, sizeof now);
            }
            file_has(store, committed);
            ok(tb_store_begin(store, &err));
        }
        tb_store_rollback(store);
        end(store);
    }
}
END_TEST

START_TEST(series_wait_for_the_end_of_their_transaction)
{
    tb_store *store = start();
    shard.deaf = true;
    for (int64_t i = 1; i < 4; i++) {
        ok(tb_store_mark(store, &err));
        add(store, (hit[]){{9, i, 5, TB_M_BYTES, 10}}, 1);
        ok(tb_store_keep_mark(store, &err));
    }
    ck_assert_int_eq(ask_file(store, "SELECT count(*) FROM series"), 0); /* behind the store's back */
    ok(tb_store_commit(store, &err));
    ck_assert_int_eq(ask_file(store, "SELECT count(*) FROM series"), 4);
    end(store);
}
END_TEST

/* --- sent while the next ones are made --- */

enum { BATCHES = 600, MANY_ZONES = 1400 /* 24 rows of 205 bytes of each: past EARLY of send.c */ };

/* A server that reads what it is sent when it is waited for, no sooner: rows that changed meanwhile show. */
static struct {
    const tb_usage_statement *going;
    size_t n;
    unsigned starts, finishes;
    bool loses; /* what is on its way next */
    struct {
        uint64_t id, bytes;
    } batch[BATCHES];
    size_t batches;
} slow;

static size_t count_at(const char **at)
{
    size_t n = 0;
    for (unsigned shift = 0;; shift += 7) {
        const uint64_t byte = number(at, 1);
        n |= (size_t)(byte & 127) << shift;
        if (byte < 128) return n;
    }
}

static void count_bytes(uint64_t id, uint64_t bytes)
{
    size_t i = slow.batches;
    while (i && slow.batch[i - 1].id != id)
        i--;
    if (!i) {
        ck_assert_uint_lt(slow.batches, BATCHES);
        slow.batch[slow.batches++].id = id;
        i = slow.batches;
    }
    slow.batch[i - 1].bytes += bytes;
}

static void take_cells(const char *at)
{
    const size_t columns = count_at(&at), rows = count_at(&at);
    const char *batch = NULL, *bytes = NULL;
    for (size_t c = 0; c < columns; c++) {
        char name[24], type[12];
        word(&at, name, sizeof name);
        word(&at, type, sizeof type);
        if (strcmp(name, "batch") == 0) batch = at;
        if (strcmp(name, "bytes") == 0) bytes = at;
        at += rows * (size_t)atoi(strpbrk(type, "1368")) / 8;
    }
    ck_assert(batch && bytes);
    for (size_t i = 0; i < rows; i++) {
        const uint64_t id = number(&batch, 8);
        count_bytes(id, number(&bytes, 8));
    }
}

static tb_code slow_start(void *ctx, const tb_usage_statement *list, size_t n, void **ret_token, tb_error *error)
{
    (void)ctx, (void)error;
    ck_assert_uint_eq(slow.starts++, slow.finishes);
    slow.going = list;
    slow.n = n;
    *ret_token = &slow;
    return TB_OK;
}

/* Of several some may have come that are said to be lost: nobody knows. */
static tb_code slow_finish(void *ctx, void *token, tb_error *error)
{
    (void)ctx;
    ck_assert_ptr_eq(token, &slow);
    slow.finishes++;
    for (size_t i = 0; i < slow.n; i++)
        if (strstr(slow.going[i].sql, "t.cell") && (!slow.loses || below(2))) take_cells(slow.going[i].body);
    return slow.loses ? tb_fail(error, TB_E_AWAY, NULL, "It went.") : TB_OK;
}

static const tb_usage_client slow_client = {
    .shards = 1, .database = "t", .ask = ask, .start = slow_start, .finish = slow_finish};

/* A byte in each hour of so many zones; returns how many. */
static uint64_t add_zones(tb_store *store, int64_t zones, tb_code *ret_code)
{
    const tb__counters *to = store->plane.counters;
    void *batch = NULL;
    *ret_code = to->begin(store, &batch, &err);
    for (int64_t zone = 1; !*ret_code && zone <= zones; zone++) {
        tb_grid grid;
        tb_grid_clear(&grid);
        for (unsigned hour = 0; hour < 24; hour++)
            ok(tb_grid_add(&grid, TB_M_BYTES, hour, 1, &err));
        ok(tb_grid_add(&grid, TB_M_SAVED, 0, 1, &err)); /* no line tells it: the row has all counters */
        *ret_code = to->add(batch, &(tb__day_of){TB__SCOPE_ZONE, zone, 1, 0, DAY}, &grid, &err);
    }
    if (!*ret_code) *ret_code = to->end(batch, DAY * 24, &err);
    to->free(batch);
    return (uint64_t)zones * 24;
}

/* What the servers have of batches that count, as the file says. */
static uint64_t counted(tb_store *store)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < slow.batches; i++) {
        char sql[300];
        snprintf(sql, sizeof sql,
                 "SELECT %llu<=(SELECT value FROM meta WHERE name='usage_batch') AND NOT EXISTS(SELECT 1 FROM meta"
                 " WHERE name GLOB 'usage_gap_*' AND %llu BETWEEN CAST(substr(name,11) AS INT) AND value)",
                 (unsigned long long)slow.batch[i].id, (unsigned long long)slow.batch[i].id);
        if (ask_file(store, sql)) sum += slow.batch[i].bytes;
    }
    return sum;
}

static tb_store *start_slow(void)
{
    memset(&slow, 0, sizeof slow);
    using = &slow_client;
    tb_store *store = start();
    using = &client;
    return store;
}

START_TEST(many_cells_are_on_their_way_while_the_next_are_made)
{
    tb_store *store = start_slow();
    tb_code code;
    for (int i = 0; i < 3; i++) {
        ok(tb_store_mark(store, &err));
        add_zones(store, MANY_ZONES, &code);
        ok(code);
        ck_assert_uint_eq(slow.starts, (unsigned)i);
        ok(tb_store_keep_mark(store, &err));
    }
    ck_assert_uint_eq(slow.finishes, 1);
    ok(tb_store_commit(store, &err));
    ck_assert(slow.starts == 3 && slow.finishes == 3);
    ck_assert_uint_eq(counted(store), 3 * 24 * MANY_ZONES);
    end(store);
}
END_TEST

START_TEST(what_was_lost_on_its_way_fails_the_whole_transaction)
{
    tb_store *store = start_slow();
    tb_code code = TB_OK;
    chance = 1;
    slow.loses = true;
    for (int i = 0; i < 2; i++) { /* nobody has looked yet */
        ok(tb_store_mark(store, &err));
        add_zones(store, MANY_ZONES, &code);
        ok(code);
        ok(tb_store_keep_mark(store, &err));
    }
    ok(tb_store_mark(store, &err));
    slow.loses = false;
    add_zones(store, 1, &code);
    ck_assert_int_eq(code, TB_E_AWAY);
    tb_store_back_to_mark(store);
    ck_assert_int_eq(tb_store_commit(store, &err), TB_E_AWAY);
    ck_assert_str_eq(err.message, "It went.");
    tb_store_rollback(store);
    ok(tb_store_begin(store, &err));
    add_zones(store, 5, &code);
    ok(code);
    ok(tb_store_commit(store, &err));
    ck_assert_uint_eq(counted(store), 5 * 24);
    end(store);
}
END_TEST

/* Transactions of some jobs, large and small, kept and undone, looked at in between and lost on their way. */
START_TEST(what_counts_is_what_was_committed)
{
    chance = test_seed();
    tb_store *store = start_slow();
    uint64_t committed = 0;
    for (int turn = 0; turn < 30; turn++) {
        uint64_t kept = 0;
        tb_code code = TB_OK;
        for (size_t job = 1 + below(5); job; job--) {
            ok(tb_store_mark(store, &err));
            slow.loses = below(5) == 0;
            const uint64_t bytes = add_zones(store, below(2) ? MANY_ZONES : (int64_t)below(20) + 1, &code);
            if (!code && below(5) == 0) code = tb__ch_settle(store, &err);
            if (!code && below(4)) {
                ok(tb_store_keep_mark(store, &err));
                kept += bytes;
            } else {
                tb_store_back_to_mark(store);
            }
        }
        if (below(5) && tb_store_commit(store, &err) == TB_OK) committed += kept;
        else tb_store_rollback(store);
        ck_assert_uint_eq(slow.starts, slow.finishes);
        ck_assert_uint_eq(counted(store), committed);
        ok(tb_store_begin(store, &err));
    }
    tb_store_rollback(store);
    end(store);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("usage_rows");
    TCase *t = tcase_create("usage_rows");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, rows_are_in_the_order_of_the_tables_key);
    tcase_add_test(t, counters_that_are_zero_everywhere_are_not_sent);
    tcase_add_test(t, countries_of_one_commit_are_one_row);
    tcase_add_test(t, what_is_undone_is_in_no_row);
    tcase_add_test(t, what_is_refused_is_not_in_what_comes_next);
    tcase_add_test(t, repeated_rows_are_looked_for_where_the_file_knows_of_some);
    tcase_add_test(t, many_countries_are_joined);
    tcase_add_test(t, series_wait_for_the_end_of_their_transaction);
    tcase_add_test(t, series_that_wait_are_those_that_were_kept);
    tcase_add_test(t, many_cells_are_on_their_way_while_the_next_are_made);
    tcase_add_test(t, what_was_lost_on_its_way_fails_the_whole_transaction);
    tcase_add_test(t, what_counts_is_what_was_committed);
    suite_add_tcase(suite, t);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
