/* The merger's thread beside a writer: what it merges is written, and a stop at any time loses nothing. */
#include "http/merger.h"
#include "store_fixture.h"

#include <sched.h>

#define HOUR ((int32_t)(NOW_US / TB_US_PER_HOUR))

static bool on_number(void *ctx, int n, const char *const *cells, bool is_header)
{
    if (!is_header && n == 1) *(int64_t *)ctx = atoll(cells[0] ? cells[0] : "-1");
    return true;
}

static int64_t number_of(fixture *f, const char *sql)
{
    int64_t n = -1;
    tb_error err = {0};
    ok(tb_store_query(f->store, sql, on_number, &n, &err));
    return n;
}

static merger *start(fixture *f, tb_store **ret_reader)
{
    tb_error err = {0};
    tb_store_options options = {.now_us = NOW_US};
    ok(tb_store_open(f->path, &options, ret_reader, &err));
    merger *m = merger_start(*ret_reader);
    ck_assert_ptr_nonnull(m);
    tb_store_lend_merges(f->store, merger_merges(m));
    return m;
}

static void stop(fixture *f, merger *m, tb_store *reader)
{
    tb_store_lend_merges(f->store, NULL);
    merger_stop(m);
    tb_store_close(reader);
}

static void add(fixture *f, uint64_t number)
{
    const tb_row rows[] = {row_of(1 + (int64_t)number % 5, "DE", HOUR, TB_M_REQUESTS, 1),
                           row_of(7, "UK", HOUR, TB_M_REQUESTS, 1)};
    fixture_add(f, rows, 2, number);
}

/* Batches come until one of them writes what was merged: fewer than the writer would wait for it. */
START_TEST(it_merges_while_others_write)
{
    fixture f;
    tb_store *reader;
    tb_error err = {0};
    fixture_init_in_file(&f);
    merger *m = start(&f, &reader);
    for (uint64_t i = 1; i <= 8; i++)
        add(&f, i);
    merger_wake(m);
    for (int64_t merged = 0; !merged; sched_yield()) { /* batches that are undone; a test that hangs fails */
        const tb_row row = row_of(1, "DE", HOUR, TB_M_REQUESTS, 1);
        ok(tb_store_begin(f.store, &err));
        ok(add_rows(&f, &row, 1, &err));
        merged = number_of(&f, "SELECT count(*) FROM usage_run WHERE level=1");
        tb_store_rollback(f.store);
    }
    stop(&f, m, reader);
    ck_assert_int_eq(number_of(&f, "SELECT sum(requests) FROM buckets"), 16);
    fixture_verify(&f);
    fixture_release(&f);
}
END_TEST

START_TEST(it_may_be_stopped_at_any_time)
{
    enum { ROUNDS = 6, BATCHES = 24 };
    fixture f;
    uint64_t number = 0;
    fixture_init_in_file(&f);
    for (int i = 0; i < ROUNDS; i++) {
        tb_store *reader;
        merger *m = start(&f, &reader);
        for (int n = 0; n < BATCHES; n++) {
            add(&f, ++number);
            merger_wake(m);
        }
        stop(&f, m, reader);
    }
    ck_assert_int_eq(number_of(&f, "SELECT sum(requests) FROM buckets"), (int64_t)number * 2);
    fixture_verify(&f);
    fixture_release(&f);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("merger");
    TCase *t = tcase_create("merger");
    tcase_set_timeout(t, 120);
    tcase_add_test(t, it_merges_while_others_write);
    tcase_add_test(t, it_may_be_stopped_at_any_time);
    suite_add_tcase(suite, t);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
