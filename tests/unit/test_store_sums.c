/* The cache of sums that a process's readers share (store/usage/sums.h): it says what the file says while rows
 * change and go, is used, is bounded, and threads may share it. Random steps: prop_runs. */
#include "retain_fixture.h"
#include "seed.h"
#include "store/usage/batch.h"
#include "store/usage/sums.h"
#include "tollbook/statistics.h"
#include "tollbook/totals.h"

#define DAY_HOURS 24

static tb_store *open_reader(const fixture *f)
{
    tb_store *reader = NULL;
    tb_error err = {0};
    tb_store_options options = {.now_us = NOW_US};
    ok(tb_store_open(f->path, &options, &reader, &err));
    return reader;
}

static tb_zone_question question_of(int64_t account, tb_range range)
{
    return (tb_zone_question){.scope = {account, TB_ALL, NULL},
                              .range = range,
                              .metrics = TB_METRIC_BIT(TB_M_BYTES) | TB_METRIC_BIT(TB_M_REQUESTS),
                              .before = {range.first - range.count, range.count, range.hourly},
                              .shown = tb_insights_metrics()};
}

static bool is_known(tb_store *reader, const tb_zone_question *q)
{
    bool known = false;
    tb_error err = {0};
    ok(tb_store_read_begin(reader, &err));
    ok(tb_store_zone_sums_known(reader, q, &known, &err));
    tb_store_read_end(reader);
    return known;
}

static tb_zone_sums of_the_cache(tb_store *reader, const tb_zone_question *q)
{
    tb_zone_sums sums;
    tb_error err = {0};
    ok(tb_store_read_begin(reader, &err));
    ok(tb_store_zone_sums(reader, q, &sums, &err));
    tb_store_read_end(reader);
    return sums;
}

/* Who writes reads the file. */
static tb_zone_sums of_the_file(fixture *f, const tb_zone_question *q)
{
    tb_zone_sums sums;
    tb_error err = {0};
    ok(tb_store_begin(f->store, &err));
    ok(tb_store_zone_sums(f->store, q, &sums, &err));
    tb_store_rollback(f->store);
    return sums;
}

static void check_same(fixture *f, tb_store *reader, const tb_zone_question *q)
{
    tb_zone_sums a = of_the_cache(reader, q), b = of_the_file(f, q);
    ck_assert_uint_eq(a.n, b.n);
    for (size_t i = 0; i < a.n; i++) {
        ck_assert_int_eq(a.zones[i].id, b.zones[i].id);
        ck_assert(a.sums[2 * i] == b.sums[2 * i] && a.sums[2 * i + 1] == b.sums[2 * i + 1]);
    }
    tb_zone_sums_release(&a);
    tb_zone_sums_release(&b);
}

static const char two_zones[] =
    "{\"accounts\":[{\"id\":1,\"name\":\"a\"}],\"zones\":["
    "{\"id\":101,\"account\":1,\"name\":\"b\"},{\"id\":102,\"account\":1,\"name\":\"a\"}]}";
static const char one_zone[] = "{\"accounts\":[{\"id\":1,\"name\":\"a\"}],\"zones\":["
                               "{\"id\":101,\"account\":1,\"name\":\"b\"}]}";

START_TEST(it_is_good_until_something_is_committed)
{
    fixture f;
    fixture_init(&f);
    fixture_apply(&f, two_zones, tb_month_start_us(NOVEMBER), NULL);
    tb_store *reader = open_reader(&f), *other = open_reader(&f);
    const tb_range month = {tb_month_first_day(NOVEMBER), 30, false};
    tb_zone_question q = question_of(1, month);
    for (int i = 0; i < 20; i++) { /* merged on the way */
        ck_assert(!is_known(reader, &q));
        check_same(&f, reader, &q);
        ck_assert(is_known(other, &q)); /* another connection's too */
        check_same(&f, other, &q);
        add_bytes(&f, 101 + i % 2, "DE", (month.first + i % 3) * DAY_HOURS, 100 + (uint64_t)i);
    }
    check_same(&f, reader, &q);
    fixture_fold(&f); /* no answer changes */
    check_same(&f, reader, &q);
    tb_zone_question asked[5] = {q, q, q, q, q};
    asked[1].choice.by_name = true;
    asked[2].metrics = TB_METRIC_BIT(TB_M_BYTES) | TB_METRIC_BIT(TB_M_ORIGIN_BYTES);
    asked[3].range.count = 2;
    asked[4].before.count = 0;
    for (int i = 1; i < 5; i++) {
        ck_assert(!is_known(reader, &asked[i]));
        check_same(&f, reader, &asked[i]);
        ck_assert(is_known(reader, &asked[i]));
        check_same(&f, reader, &asked[i]);
    }
    fixture_apply(&f, one_zone, NOW_US, NULL);
    ck_assert(!is_known(reader, &q));
    check_same(&f, reader, &q);   /* it has something: it is shown */
    for (int i = 0; i < 2; i++) { /* or had something, in the time before */
        q.range = (tb_range){1000, 3, false};
        q.before = i ? month : (tb_range){0};
        check_same(&f, reader, &q);
        tb_zone_sums sums = of_the_cache(reader, &q);
        ck_assert_uint_eq(sums.n, 1 + (size_t)i);
        tb_zone_sums_release(&sums);
    }
    q.choice.search = (tb_text){"b", 1};
    check_same(&f, reader, &q);
    ck_assert(!is_known(reader, &q));
    tb_store_close(other);
    tb_store_close(reader);
    fixture_release(&f);
}
END_TEST

/* A snapshot of before a commit neither sees what one of after it put, nor puts what would stand for it. */
START_TEST(each_snapshot_has_its_own_version)
{
    fixture f;
    tb_error err = {0};
    fixture_init(&f);
    fixture_apply(&f, two_zones, tb_month_start_us(NOVEMBER), NULL);
    tb_store *old = open_reader(&f), *now = open_reader(&f);
    const tb_range month = {tb_month_first_day(NOVEMBER), 30, false};
    const tb_zone_question q = question_of(1, month);
    add_bytes(&f, 101, "DE", month.first * DAY_HOURS, 100);
    ok(tb_store_read_begin(old, &err));
    uint64_t version = 0;
    ok(tb_store_version(old, &version, &err)); /* a snapshot begins with the first read */
    add_bytes(&f, 101, "DE", month.first * DAY_HOURS, 7);
    for (int i = 0; i < 3; i++) {
        tb_zone_sums sums;
        ok(tb_store_zone_sums(old, &q, &sums, &err));
        ck_assert_uint_eq((uint64_t)sums.sums[1], 100);
        tb_zone_sums_release(&sums);
        sums = of_the_cache(now, &q);
        ck_assert_uint_eq((uint64_t)sums.sums[1], 107);
        tb_zone_sums_release(&sums);
    }
    tb_store_read_end(old);
    tb_store_close(old);
    tb_store_close(now);
    fixture_release(&f);
}
END_TEST

/* What is let go: of hours, then of days, a few rows with each commit. */
START_TEST(it_knows_what_was_let_go)
{
    fixture f;
    tb_error err = {0};
    bool over = false;
    fill_years(&f, false);
    finalize_months(&f, FIRST, OCTOBER, "");
    tb_store *reader = open_reader(&f);
    const int64_t day = tb_month_first_day(FIRST);
    const tb_zone_question asked[2] = {question_of(1, (tb_range){day, 200, false}),
                                       question_of(1, (tb_range){day * 24 + 5, 100, true})};
    tb_retain_walk walk = {.account = 1, .kept = {KEPT_HOURS, KEPT_DAYS}};
    while (!over) {
        for (int i = 0; i < 2; i++)
            check_same(&f, reader, &asked[i]);
        walk.room = 20;
        ok(tb_store_begin(f.store, &err));
        ok(tb_store_retain(f.store, &walk, &over, &err));
        ok(tb_store_commit(f.store, &err));
    }
    for (int i = 0; i < 2; i++)
        check_same(&f, reader, &asked[i]);
    free(walk.months);
    tb_store_close(reader);
    fixture_release(&f);
}
END_TEST

/* What a transaction did until now is nobody else's, and may be undone. */
START_TEST(who_writes_sees_the_file)
{
    fixture f;
    tb_error err = {0};
    fixture_init(&f);
    fixture_apply(&f, two_zones, tb_month_start_us(NOVEMBER), NULL);
    tb_store *reader = open_reader(&f);
    const tb_range month = {tb_month_first_day(NOVEMBER), 30, false};
    const tb_zone_question q = question_of(1, month);
    add_bytes(&f, 101, "DE", month.first * DAY_HOURS, 100);
    for (int i = 0; i < 2; i++) {
        check_same(&f, reader, &q);
        ok(tb_store_begin(f.store, &err));
        ok(tb__usage_compact_all(f.store, &err));
        tb_zone_sums sums;
        ok(tb_store_zone_sums(f.store, &q, &sums, &err));
        ck_assert_uint_eq((uint64_t)sums.sums[1], 100);
        tb_summed of = {.series = sums.zones[0].series, .created_us = INT64_MIN};
        tb_zone_sums_release(&sums);
        ok(tb_store_sum(f.store, &of, 1, month, TB_METRIC_BIT(TB_M_BYTES), &err));
        ck_assert_uint_eq((uint64_t)of.sum[TB_M_BYTES], 100);
        tb_store_rollback(f.store);
    }
    check_same(&f, reader, &q);
    tb_store_close(reader);
    fixture_release(&f);
}
END_TEST

#define MANY 4000 /* zones of each of three accounts */

static void apply_many(fixture *f)
{
    tb_buf text;
    tb_buf_init(&text, 1 << 22, NULL);
    tb_buf_str(&text, "{\"accounts\":[{\"id\":1,\"name\":\"a\"},{\"id\":2,\"name\":\"b\"},{\"id\":"
                      "3,\"name\":\"c\"}],"
                      "\"zones\":[");
    for (int i = 0; i < 3 * MANY; i++)
        tb_buf_fmt(&text, "%s{\"id\":%d,\"account\":%d,\"name\":\"z\"}", i ? "," : "", i + 1,
                   1 + i % 3);
    tb_buf_add(&text, "]}", 3);
    fixture_apply(f, text.data, tb_month_start_us(NOVEMBER), NULL);
    tb_buf_release(&text);
}

START_TEST(it_is_bounded)
{
    fixture f;
    tb_error err = {0};
    size_t most = 0;
    fixture_init(&f);
    apply_many(&f);
    add_bytes(&f, 2, "DE", tb_month_first_day(NOVEMBER) * DAY_HOURS, 5);
    tb_store *reader = open_reader(&f);
    for (int i = 0; i < 150; i++) {
        const tb_zone_question q =
            question_of(1 + i / 50, (tb_range){tb_month_first_day(NOVEMBER) - i, 30, false});
        tb_zone_sums sums = of_the_cache(reader, &q);
        ck_assert_uint_eq(sums.n, MANY);
        ck_assert_uint_eq((uint64_t)sums.sums[0], 0);
        tb_zone_sums_release(&sums);
        const size_t bytes = tb__kept_sums_bytes(reader);
        ck_assert_uint_le(bytes, TB__KEPT_SUMS_BYTES);
        if (bytes > most) most = bytes;
        ck_assert(is_known(reader, &q));
    }
    ck_assert_uint_gt(most, TB__KEPT_SUMS_BYTES / 4 * 3);
    for (uint32_t i = 0; i < 9000 / TB_PART; i++) {
        tb_summed of = {.series = 1, .created_us = INT64_MIN};
        ok(tb_store_read_begin(reader, &err));
        ok(tb_store_sum(reader, &of, 1, (tb_range){i, 2, false}, tb_insights_metrics(), &err));
        tb_store_read_end(reader);
        ck_assert_uint_le(tb__kept_sums_bytes(reader), TB__KEPT_SUMS_BYTES);
    }
    tb_store_close(reader);
    fixture_release(&f);
}
END_TEST

/* --- threads --- */

typedef struct asking {
    const fixture *f;
    _Atomic bool *over;
    int asked;
} asking;

/* In each snapshot the zones come to what their account has. */
static void *ask_on(void *arg)
{
    asking *a = arg;
    tb_store *reader = open_reader(a->f);
    const tb_range range = {tb_month_first_day(NOVEMBER), 30, false};
    const tb_zone_question q = question_of(1, range);
    tb_error err = {0};
    while (!*a->over || !a->asked) {
        tb_zone_sums sums;
        tb_series series;
        tb_u128 zones = 0;
        ok(tb_series_init(&series, range, TB_METRIC_BIT(TB_M_BYTES), NULL, &err));
        ok(tb_store_read_begin(reader, &err));
        ok(tb_store_zone_sums(reader, &q, &sums, &err));
        ok(tb_store_scope_series(reader, &q.scope, &series, &err));
        for (size_t i = 0; i < sums.n; i++) {
            tb_summed of = {.series = sums.zones[i].series, .created_us = INT64_MIN};
            zones += sums.sums[2 * i + 1];
            ok(tb_store_sum(reader, &of, 1, range, TB_METRIC_BIT(TB_M_BYTES), &err));
            ck_assert(of.sum[TB_M_BYTES] == sums.sums[2 * i + 1]);
        }
        tb_store_read_end(reader);
        ck_assert(zones == tb_series_total(&series, TB_M_BYTES));
        tb_zone_sums_release(&sums);
        tb_series_release(&series);
        a->asked++;
    }
    tb_store_close(reader);
    return NULL;
}

START_TEST(threads_share_it)
{
    fixture f;
    _Atomic bool over = false;
    pthread_t thread[3];
    asking of[3];
    fixture_init(&f);
    fixture_apply(&f, two_zones, tb_month_start_us(NOVEMBER), NULL);
    for (int i = 0; i < 3; i++) {
        of[i] = (asking){&f, &over, 0};
        ck_assert_int_eq(pthread_create(&thread[i], NULL, ask_on, &of[i]), 0);
    }
    for (int i = 0; i < 60; i++) {
        add_bytes(&f, 101 + i % 2, "DE", (tb_month_first_day(NOVEMBER) + i % 9) * DAY_HOURS,
                  1 + (uint64_t)i);
        if (i % 20 == 19) fixture_fold(&f);
    }
    over = true;
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(pthread_join(thread[i], NULL), 0);
    fixture_release(&f);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("sums");
    TCase *t = tcase_create("sums"), *threads = tcase_create("threads");
    tcase_set_timeout(t, 120);
    tcase_set_timeout(threads, 120);
    tcase_add_test(t, it_is_good_until_something_is_committed);
    tcase_add_test(t, each_snapshot_has_its_own_version);
    tcase_add_test(t, who_writes_sees_the_file);
    tcase_add_test(t, it_knows_what_was_let_go);
    tcase_add_test(t, it_is_bounded);
    tcase_add_test(threads, threads_share_it);
    if (test_without_threads()) suite_add_tcase(suite, t);
    suite_add_tcase(suite, threads);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
