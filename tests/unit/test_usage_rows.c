/* Counters on their way to usage servers, against a stand-in for these that reads what is sent: in which order, which columns, and
 * that countries of batches which are committed together are one row. tests/http/test_usage_random.py asks real ones. */
#include "store/clickhouse/lines.h"
#include "store/usage/country.h"

#include <check.h>
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
    bool refuses;
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

static tb_code ask(void *ctx, size_t which, const char *sql, const void *body, size_t len, tb_buf *answer, tb_error *err)
{
    (void)ctx, (void)which;
    if (len && shard.refuses) return tb_fail(err, TB_E_AWAY, NULL, "It is away.");
    if (strcmp(sql, "INSERT INTO t.cell FORMAT Native") == 0) read_block(&shard.cell, body, len);
    else if (strcmp(sql, "INSERT INTO t.country FORMAT Native") == 0) read_block(&shard.country, body, len);
    else ck_assert_uint_eq(len, 0);
    if (strstr(sql, "max(shard)")) tb_buf_add(answer, (uint64_t[]){1, 1}, 16);
    return TB_OK;
}

static const tb_usage_client client = {.shards = 1, .database = "t", .ask = ask};
static char path[] = "/tmp/tollbook-rows-XXXXXX";
static tb_error err;

static void ok(tb_code code)
{
    ck_assert_msg(code == TB_OK, "%s", err.message);
}

static tb_store *start(void)
{
    const tb_store_options options = {.write = true, .owner = "test", .usage = &client};
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

/* More than the table of what is there begins with. */
START_TEST(many_countries_are_joined)
{
    enum { MANY = 9000, TIMES = 3 };
    tb__ch_pool pool = {0};
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
    free(pool.slot);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("usage_rows");
    TCase *t = tcase_create("usage_rows");
    tcase_add_test(t, rows_are_in_the_order_of_the_tables_key);
    tcase_add_test(t, counters_that_are_zero_everywhere_are_not_sent);
    tcase_add_test(t, countries_of_one_commit_are_one_row);
    tcase_add_test(t, what_is_undone_is_in_no_row);
    tcase_add_test(t, what_is_refused_is_not_in_what_comes_next);
    tcase_add_test(t, many_countries_are_joined);
    suite_add_tcase(suite, t);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
