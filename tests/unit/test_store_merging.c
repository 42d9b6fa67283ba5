/* The writer compacts sorted runs: eight of a level become one of the next (store/lsm/level.c). Random steps:
 * prop_runs. */
#include "store/core/internal.h"
#include "store/usage/batch.h"
#include "store_fixture.h"

#define FAN  8
#define HOUR ((int32_t)(NOW_US / TB_US_PER_HOUR))

typedef struct batches {
    fixture f;
    uint64_t batches, requests;
} batches;

static void begin(batches *a)
{
    *a = (batches){0};
    fixture_init_in_file(&a->f);
}

static tb_row row_at(int64_t zone, int32_t hour)
{
    return row_of(zone, "DE", hour, TB_M_REQUESTS, 1);
}

/* A batch of one row, a run of chunks. */
static void add(batches *a, int n)
{
    for (int i = 0; i < n; i++) {
        const tb_row row = row_at(1 + (int64_t)a->batches % 4, HOUR);
        fixture_add(&a->f, &row, 1, ++a->batches);
        a->requests++;
    }
}

/* A batch of one line, a run of each kind. */
static void add_hit(batches *a, int64_t zone)
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

static bool on_number(void *ctx, int n, const char *const *cells, bool is_header)
{
    if (!is_header && n == 1) *(int64_t *)ctx = atoll(cells[0] ? cells[0] : "-1");
    return true;
}

static int64_t number_of(batches *a, const char *sql)
{
    int64_t n = -1;
    tb_error err = {0};
    ok(tb_store_query(a->f.store, sql, on_number, &n, &err));
    return n;
}

static int64_t runs_of(batches *a, int level)
{
    char sql[100];
    snprintf(sql, sizeof sql, "SELECT count(*) FROM usage_run WHERE level=%d", level);
    return number_of(a, sql);
}

/* Nothing is lost and nothing counted twice. */
static void is_exact(batches *a)
{
    ck_assert_int_eq(number_of(a, "SELECT sum(requests) FROM buckets"), (int64_t)a->requests);
    fixture_verify(&a->f);
}

static void end(batches *a)
{
    is_exact(a);
    fixture_release(&a->f);
}

START_TEST(eight_runs_of_a_level_become_one)
{
    batches a;
    begin(&a);
    add(&a, FAN - 1);
    ck_assert_int_eq(runs_of(&a, 0), FAN - 1);
    add(&a, 1);
    ck_assert_int_eq(runs_of(&a, 0), 0);
    ck_assert_int_eq(runs_of(&a, 1), 1);
    add(&a, FAN * FAN - FAN);
    ck_assert_int_le(runs_of(&a, 1), FAN);
    add(&a, FAN);
    ck_assert_int_eq(runs_of(&a, 2), 1);
    end(&a);
}
END_TEST

/* What was merged by a batch that is undone, with its transaction or alone, is merged again. */
START_TEST(what_is_undone_is_merged_again)
{
    const tb_row row = row_at(2, HOUR);
    for (int marked = 0; marked < 2; marked++) {
        batches a;
        tb_error err = {0};
        begin(&a);
        add(&a, FAN - 1);
        ok(tb_store_begin(a.f.store, &err));
        if (marked) ok(tb_store_mark(a.f.store, &err));
        ok(add_rows(&a.f, &row, 1, &err));
        if (marked) tb_store_back_to_mark(a.f.store);
        if (marked) ok(tb_store_commit(a.f.store, &err));
        else tb_store_rollback(a.f.store);
        ck_assert_int_eq(runs_of(&a, 0), FAN - 1);
        is_exact(&a);
        add(&a, 1);
        ck_assert_int_eq(runs_of(&a, 1), 1);
        end(&a);
    }
}
END_TEST

/* While a fold is under way what is behind it is the writer's to merge, too. */
START_TEST(behind_a_fold_runs_are_merged)
{
    enum { ZONES = 40 };
    batches a;
    tb_row rows[ZONES];
    begin(&a);
    for (int i = 0; i < ZONES; i++)
        rows[i] = row_at(100 + i, HOUR);
    a.f.store->usage->test.step_rows = 1;
    a.f.store->usage->test.days = 1;
    fixture_add(&a.f, rows, ZONES, ++a.batches);
    rows[0].hour += 30;
    fixture_add(&a.f, rows, 1, ++a.batches); /* a day has closed: a fold of a row a batch begins */
    a.requests += ZONES + 1;
    ck_assert_int_gt(number_of(&a, "SELECT value FROM meta WHERE name='fold_run_chunks'"), 0);
    add(&a, FAN - 1);
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
    batches a;
    tb_error err = {0};
    int64_t owner = 0;
    begin(&a);
    for (int i = 0; i < FAN - 1; i++)
        add_hit(&a, 1 + i % 4);
    const int64_t through = number_of(&a, "SELECT max(id) FROM usage_run WHERE kind=1");
    ok(tb_store_begin(a.f.store, &err));
    ok(tb__meta_set(a.f.store, tb__usage_kinds[TB__LSM_COUNTRIES].through_row, through, &err));
    ok(tb__meta_get(a.f.store, tb__usage_kinds[TB__LSM_COUNTRIES].owner_row, &owner, &err));
    ck_assert_int_eq(owner, INT64_MIN);
    ok(tb_store_commit(a.f.store, &err));
    a.f.store->usage->test.step_rows = 1;
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
    tcase_add_test(t, eight_runs_of_a_level_become_one);
    tcase_add_test(t, what_is_undone_is_merged_again);
    tcase_add_test(t, behind_a_fold_runs_are_merged);
    tcase_add_test(t, what_a_fold_works_on_is_not_merged);
    suite_add_tcase(suite, t);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
