/* Runs that are merged ahead of the writer (store/usage/merge.c): what was merged is written if it still stands for
 * what waits, and whatever comes between costs no more than the work. Random steps: prop_runs. */
#include "store/core/internal.h"
#include "store/usage/batch.h"
#include "store_fixture.h"
#include "tollbook/merging.h"

#define FAN      8
#define PATIENCE 32 /* runs of a level that wait for who merges */
#define HOUR     ((int32_t)(NOW_US / TB_US_PER_HOUR))

typedef struct ahead {
    fixture f;
    tb_store *reader;
    tb_merges *merges;
    uint64_t batches, requests;
} ahead;

static void lend(ahead *a)
{
    tb_error err = {0};
    tb_store_options options = {.now_us = NOW_US};
    ok(tb_store_open(a->f.path, &options, &a->reader, &err));
    tb_store_lend_merges(a->f.store, a->merges);
}

static void begin(ahead *a)
{
    *a = (ahead){.merges = tb_merges_new()};
    fixture_init_in_file(&a->f);
    ck_assert_ptr_nonnull(a->merges);
    lend(a);
}

static tb_row row_at(int64_t zone, int32_t hour)
{
    return row_of(zone, "DE", hour, TB_M_REQUESTS, 1);
}

/* A batch of one row, a run of chunks. */
static void add(ahead *a, int n)
{
    for (int i = 0; i < n; i++) {
        const tb_row row = row_at(1 + (int64_t)a->batches % 4, HOUR);
        fixture_add(&a->f, &row, 1, ++a->batches);
        a->requests++;
    }
}

/* A batch of one line, a run of each kind. */
static void add_hit(ahead *a, int64_t zone)
{
    tb_error err = {0};
    const uint64_t number = ++a->batches;
    const tb_hit hit = {.zone = zone, .bytes = 1, .edge = "DE", .edge_len = 2, .hour = HOUR, .status = 200,
                        .country = 'D' << 8 | 'E'};
    tb_segment segment = {.kind = TB_BATCH_LOG, .source = "test", .length = 1, .hash = {number, number},
                          .head = {number, 1}, .accepted = 1, .final = true, .now_us = NOW_US};
    tb_rollup *rollup = tb_rollup_new(1 << 10, NULL);
    ok(tb_rollup_add_hits(rollup, &hit, 1, &err));
    tb_rollup_cursor *cursor = tb_rollup_cursor_new(&rollup, 1, NULL);
    ok(tb_store_begin(a->f.store, &err));
    ok(tb_store_add_usage(a->f.store, cursor, &err));
    ok(tb_store_add_segment(a->f.store, &segment, NULL, &err));
    ok(tb_store_commit(a->f.store, &err));
    tb_rollup_cursor_free(cursor);
    tb_rollup_free(rollup);
    a->requests++;
}

static void prepare(ahead *a)
{
    tb_error err = {0};
    ok(tb_merges_prepare(a->merges, a->reader, &err));
}

static bool on_number(void *ctx, int n, const char *const *cells, bool is_header)
{
    if (!is_header && n == 1) *(int64_t *)ctx = atoll(cells[0] ? cells[0] : "-1");
    return true;
}

static int64_t number_of(ahead *a, const char *sql)
{
    int64_t n = -1;
    tb_error err = {0};
    ok(tb_store_query(a->f.store, sql, on_number, &n, &err));
    return n;
}

static int64_t runs_of(ahead *a, int level)
{
    char sql[100];
    snprintf(sql, sizeof sql, "SELECT count(*) FROM usage_run WHERE level=%d", level);
    return number_of(a, sql);
}

/* Nothing is lost and nothing counted twice. */
static void is_exact(ahead *a)
{
    ck_assert_int_eq(number_of(a, "SELECT sum(requests) FROM buckets"), (int64_t)a->requests);
    fixture_verify(&a->f);
}

static void end(ahead *a)
{
    is_exact(a);
    tb_store_close(a->reader);
    fixture_release(&a->f);
    tb_merges_free(a->merges);
}

START_TEST(what_was_merged_is_written_with_the_next_batch)
{
    ahead a;
    begin(&a);
    add(&a, FAN - 1);
    ck_assert(!tb_merges_wanted(a.merges));
    add(&a, 1);
    ck_assert(tb_merges_wanted(a.merges));
    ck_assert_int_eq(runs_of(&a, 0), FAN);
    prepare(&a);
    ck_assert(!tb_merges_wanted(a.merges));
    ck_assert_int_eq(runs_of(&a, 0), FAN);
    add(&a, 1);
    ck_assert_int_eq(runs_of(&a, 0), 1);
    ck_assert_int_eq(runs_of(&a, 1), 1);
    prepare(&a); /* there is nothing to merge */
    add(&a, 1);
    ck_assert_int_eq(runs_of(&a, 0), 2);
    end(&a);
}
END_TEST

/* Several of one round, and of a higher level. */
START_TEST(levels_are_merged_as_they_fill)
{
    ahead a;
    begin(&a);
    for (int i = 0; i < FAN * FAN; i++) {
        add(&a, 1);
        if (i % (2 * FAN) == 0) prepare(&a);
    }
    for (int i = 0; i < 4; i++) {
        prepare(&a);
        add(&a, 1);
    }
    ck_assert_int_eq(runs_of(&a, 2), 1);
    ck_assert_int_lt(runs_of(&a, 1), FAN);
    ck_assert_int_lt(runs_of(&a, 0), FAN);
    end(&a);
}
END_TEST

START_TEST(where_nobody_merges_the_writer_does)
{
    ahead a;
    begin(&a);
    add(&a, PATIENCE - 1);
    ck_assert_int_eq(runs_of(&a, 0), PATIENCE - 1);
    add(&a, 1);
    ck_assert_int_eq(runs_of(&a, 0), PATIENCE - FAN);
    ck_assert_int_eq(runs_of(&a, 1), 1);
    tb_store_lend_merges(a.f.store, NULL);
    add(&a, 3);
    ck_assert_int_eq(runs_of(&a, 0), 3);
    end(&a);
}
END_TEST

/* What the writer merged itself meanwhile, or took before, is not written once more. */
START_TEST(what_is_there_no_more_is_not_written)
{
    ahead a;
    begin(&a);
    add(&a, FAN);
    prepare(&a);
    tb_store_lend_merges(a.f.store, NULL);
    add(&a, 1); /* merges the same eight */
    ck_assert_int_eq(runs_of(&a, 1), 1);
    tb_store_lend_merges(a.f.store, a.merges);
    add(&a, 1);
    ck_assert_int_eq(runs_of(&a, 1), 1);
    ck_assert_int_eq(runs_of(&a, 0), 2);
    end(&a);
}
END_TEST

/* A file that came in the place of another has the same ids, for other runs. */
START_TEST(what_another_file_holds_is_not_written)
{
    ahead a, b;
    begin(&a);
    begin(&b);
    add(&a, FAN);
    prepare(&a);
    for (int i = 0; i < FAN; i++) {
        const tb_row row = row_of(1, "DE", HOUR, TB_M_REQUESTS, 2);
        fixture_add(&b.f, &row, 1, ++b.batches);
        b.requests += 2;
    }
    tb_store_lend_merges(b.f.store, a.merges);
    add(&b, 1);
    ck_assert_int_eq(runs_of(&b, 1), 0);
    ck_assert_int_eq(runs_of(&b, 0), FAN + 1);
    tb_store_lend_merges(b.f.store, NULL);
    end(&a);
    end(&b);
}
END_TEST

/* Ids are given again behind a fold, to runs that look the same. */
START_TEST(what_was_folded_is_not_written)
{
    ahead a;
    begin(&a);
    add(&a, FAN);
    prepare(&a);
    fixture_fold(&a.f);
    ck_assert_int_eq(runs_of(&a, 0), 0);
    tb_store_lend_merges(a.f.store, NULL);
    add(&a, FAN - 1); /* the same rows, so the same ids and seals; none may be taken for those that are gone */
    tb_store_lend_merges(a.f.store, a.merges);
    add(&a, 3);
    ck_assert_int_eq(runs_of(&a, 0), FAN + 2);
    ck_assert_int_eq(runs_of(&a, 1), 0);
    end(&a);
}
END_TEST

/* The same in one transaction, whose COMMIT is what raises the version. */
START_TEST(what_this_transaction_folded_is_not_written)
{
    ahead a;
    tb_error err = {0};
    begin(&a);
    add(&a, FAN);
    prepare(&a);
    tb_merges *merges = a.merges;
    tb_store_lend_merges(a.f.store, NULL);
    ok(tb_store_begin(a.f.store, &err));
    ok(tb__runs_fold_all(a.f.store, &err));
    for (int i = 0; i < FAN + 2; i++) {
        const tb_row row = row_at(1 + i % 4, HOUR);
        tb_segment segment = {.kind = TB_BATCH_BUCKETS, .source = "test", .length = 1, .hash = {100 + (uint64_t)i, 7},
                              .head = {100 + (uint64_t)i, 1}, .accepted = 1, .final = true, .now_us = NOW_US};
        if (i == FAN - 1) tb_store_lend_merges(a.f.store, merges);
        ok(add_rows(&a.f, &row, 1, &err));
        ok(tb_store_add_segment(a.f.store, &segment, NULL, &err));
        a.requests++;
    }
    ok(tb_store_commit(a.f.store, &err));
    ck_assert_int_eq(runs_of(&a, 1), 0);
    end(&a);
}
END_TEST

/* What was taken by a batch that is undone, with its transaction or alone, is merged again. */
START_TEST(what_is_undone_is_merged_again)
{
    const tb_row row = row_at(2, HOUR);
    for (int marked = 0; marked < 2; marked++) {
        ahead a;
        tb_error err = {0};
        begin(&a);
        add(&a, FAN);
        prepare(&a);
        ok(tb_store_begin(a.f.store, &err));
        if (marked) ok(tb_store_mark(a.f.store, &err));
        ok(add_rows(&a.f, &row, 1, &err));
        if (marked) tb_store_back_to_mark(a.f.store);
        if (marked) ok(tb_store_commit(a.f.store, &err));
        else tb_store_rollback(a.f.store);
        ck_assert_int_eq(runs_of(&a, 0), FAN);
        is_exact(&a);
        add(&a, 1);
        ck_assert(tb_merges_wanted(a.merges));
        prepare(&a);
        add(&a, 1);
        ck_assert_int_eq(runs_of(&a, 0), 2);
        ck_assert_int_eq(runs_of(&a, 1), 1);
        end(&a);
    }
}
END_TEST

/* The process ends between the two. */
START_TEST(what_nobody_took_is_merged_again)
{
    ahead a;
    begin(&a);
    add(&a, FAN);
    prepare(&a);
    tb_store_close(a.reader);
    tb_store_close(a.f.store);
    tb_merges_free(a.merges);
    ck_assert_ptr_nonnull(a.merges = tb_merges_new());
    fixture_open(&a.f, true);
    lend(&a);
    is_exact(&a);
    add(&a, 1);
    ck_assert_int_eq(runs_of(&a, 0), FAN + 1);
    ck_assert(tb_merges_wanted(a.merges));
    prepare(&a);
    add(&a, 1);
    ck_assert_int_eq(runs_of(&a, 0), 2);
    ck_assert_int_eq(runs_of(&a, 1), 1);
    end(&a);
}
END_TEST

/* While a fold is under way what is behind it is the writer's to merge, at once, and nothing is merged ahead. */
START_TEST(while_a_fold_is_under_way_the_writer_merges)
{
    enum { ZONES = 40 };
    ahead a;
    tb_row rows[ZONES];
    begin(&a);
    for (int i = 0; i < ZONES; i++)
        rows[i] = row_at(100 + i, HOUR);
    a.f.store->usage->batch.slice = 1;
    a.f.store->usage->batch.days = 1;
    fixture_add(&a.f, rows, ZONES, ++a.batches);
    rows[0].hour += 30;
    fixture_add(&a.f, rows, 1, ++a.batches); /* a day has closed: a fold of a row a batch begins */
    a.requests += ZONES + 1;
    ck_assert_int_gt(number_of(&a, "SELECT value FROM meta WHERE name='fold_run_chunks'"), 0);
    add(&a, FAN - 1);
    prepare(&a);
    add(&a, 1);
    ck_assert_int_gt(number_of(&a, "SELECT value FROM meta WHERE name='fold_run_chunks'"), 0);
    ck_assert_int_eq(runs_of(&a, 1), 1);
    add(&a, ZONES);
    ck_assert_int_eq(number_of(&a, "SELECT value FROM meta WHERE name='fold_run_chunks'"), 0);
    end(&a);
}
END_TEST

/* Countries have folds of their own, which change no row of counters. */
START_TEST(what_a_fold_works_on_is_not_merged)
{
    ahead a;
    tb_error err = {0};
    int64_t owner = 0;
    begin(&a);
    for (int i = 0; i < FAN; i++)
        add_hit(&a, 1 + i % 4);
    prepare(&a);
    const int64_t through = number_of(&a, "SELECT max(id) FROM usage_run WHERE kind=1");
    ok(tb_store_begin(a.f.store, &err));
    ok(tb__meta_set(a.f.store, tb__fold_run_name[TB__RUN_COUNTRIES], through, &err));
    ok(tb__meta_get(a.f.store, tb__fold_owner_name[TB__RUN_COUNTRIES], &owner, &err));
    ck_assert_int_eq(owner, INT64_MIN);
    ok(tb_store_commit(a.f.store, &err));
    a.f.store->usage->batch.slice = 1;
    add_hit(&a, 1);
    ck_assert_int_eq(number_of(&a, "SELECT count(*) FROM usage_run WHERE level=1 AND kind=0"), 1);
    ck_assert_int_eq(number_of(&a, "SELECT count(*) FROM usage_run WHERE level=1 AND kind=1"), 0);
    is_exact(&a);
    for (int i = 0; i < FAN; i++)
        add_hit(&a, 1);
    end(&a);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("merging");
    TCase *t = tcase_create("merging");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, what_was_merged_is_written_with_the_next_batch);
    tcase_add_test(t, levels_are_merged_as_they_fill);
    tcase_add_test(t, where_nobody_merges_the_writer_does);
    tcase_add_test(t, what_is_there_no_more_is_not_written);
    tcase_add_test(t, what_another_file_holds_is_not_written);
    tcase_add_test(t, what_was_folded_is_not_written);
    tcase_add_test(t, what_this_transaction_folded_is_not_written);
    tcase_add_test(t, what_is_undone_is_merged_again);
    tcase_add_test(t, what_nobody_took_is_merged_again);
    tcase_add_test(t, while_a_fold_is_under_way_the_writer_merges);
    tcase_add_test(t, what_a_fold_works_on_is_not_merged);
    suite_add_tcase(suite, t);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
