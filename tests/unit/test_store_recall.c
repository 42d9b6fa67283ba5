/* What the readers of a process remember of zones (store/usage/recall.h): that it says what the
 * file says while rows change and go, that it is used, that it is bounded, and that threads may
 * share it. Random steps: prop_runs. */
#include "retain_fixture.h"
#include "store/usage/recall.h"
#include "tollbook/insightsview.h"
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

static bool is_near(tb_store *reader, const tb_zone_question *q)
{
    bool near = false;
    tb_error err = {0};
    ok(tb_store_read_begin(reader, &err));
    ok(tb_store_zone_sums_near(reader, q, &near, &err));
    tb_store_read_end(reader);
    return near;
}

static tb_zone_sums remembered(tb_store *reader, const tb_zone_question *q)
{
    tb_zone_sums sums;
    tb_error err = {0};
    ok(tb_store_read_begin(reader, &err));
    ok(tb_store_zone_sums(reader, q, &sums, &err));
    tb_store_read_end(reader);
    return sums;
}

/* Who writes is told nothing that is remembered. */
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
    tb_zone_sums a = remembered(reader, q), b = of_the_file(f, q);
    ck_assert_uint_eq(a.n, b.n);
    for (size_t i = 0; i < a.n; i++) {
        ck_assert_int_eq(a.zones[i].id, b.zones[i].id);
        ck_assert(a.sums[2 * i] == b.sums[2 * i] && a.sums[2 * i + 1] == b.sums[2 * i + 1]);
    }
    tb_zone_sums_release(&a);
    tb_zone_sums_release(&b);
}

static void read_names(tb_store *store, const tb_zone_question *q, const tb_zone_sums *sums,
                       tb_buf *out)
{
    int64_t zone[2];
    tb_error err = {0};
    ck_assert_uint_le(sums->n, 2);
    for (size_t i = 0; i < sums->n; i++)
        zone[i] = sums->zones[i].id;
    tb_buf_init(out, 64, NULL);
    ok(tb_store_zone_names(store, q, &(tb_zone_ids){zone, sums->n}, out, &err));
}

/* Asked twice: the second time they are remembered. */
static void check_names(fixture *f, tb_store *reader, const tb_zone_question *q)
{
    tb_error err = {0};
    tb_zone_sums sums = of_the_file(f, q);
    tb_buf a, b;
    ok(tb_store_begin(f->store, &err));
    read_names(f->store, q, &sums, &b);
    tb_store_rollback(f->store);
    for (int i = 0; i < 2; i++) {
        ok(tb_store_read_begin(reader, &err));
        read_names(reader, q, &sums, &a);
        tb_store_read_end(reader);
        ck_assert_uint_eq(a.len, b.len);
        ck_assert_mem_eq(a.data, b.data, a.len);
        tb_buf_release(&a);
    }
    tb_buf_release(&b);
    tb_zone_sums_release(&sums);
}

static const char two_zones[] =
    "{\"accounts\":[{\"id\":1,\"name\":\"a\"}],\"zones\":["
    "{\"id\":101,\"account\":1,\"name\":\"b\"},{\"id\":102,\"account\":1,\"name\":\"a\"}]}";
static const char one_zone[] = "{\"accounts\":[{\"id\":1,\"name\":\"a\"}],\"zones\":["
                               "{\"id\":101,\"account\":1,\"name\":\"b\"}]}";

/* Near: rows are not read again. */
START_TEST(it_outlives_batches_and_not_what_changes_rows_or_zones)
{
    fixture f;
    fixture_init(&f);
    fixture_apply(&f, two_zones, tb_month_start_us(NOVEMBER), NULL);
    tb_store *reader = open_reader(&f), *other = open_reader(&f);
    const tb_range month = {tb_month_first_day(NOVEMBER), 30, false};
    tb_zone_question q = question_of(1, month);
    ck_assert(!is_near(reader, &q));
    for (int i = 0; i < 20; i++) { /* merged on the way */
        add_bytes(&f, 101 + i % 2, "DE", (month.first + i % 3) * DAY_HOURS, 100 + (uint64_t)i);
        ck_assert_msg(is_near(reader, &q) == (i > 1), "%d", i); /* each zone has its series */
        check_same(&f, reader, &q);
        ck_assert(is_near(other, &q)); /* another connection's too */
    }
    fixture_fold(&f);
    ck_assert(!is_near(reader, &q));
    check_same(&f, reader, &q);
    ck_assert(is_near(reader, &q));
    q.choice.by_name = true;
    ck_assert(!is_near(reader, &q));
    check_same(&f, reader, &q);
    ck_assert(is_near(reader, &q));
    fixture_apply(&f, one_zone, NOW_US, NULL);
    ck_assert(!is_near(reader, &q));
    check_same(&f, reader, &q);   /* it has something: it is shown */
    for (int i = 0; i < 2; i++) { /* or had something, in the time before */
        q.range = (tb_range){1000, 3, false};
        q.before = i ? month : (tb_range){0};
        check_same(&f, reader, &q);
        tb_zone_sums sums = remembered(reader, &q);
        ck_assert_uint_eq(sums.n, 1 + (size_t)i);
        tb_zone_sums_release(&sums);
    }
    q.choice.search = (tb_text){"b", 1};
    ck_assert(!is_near(reader, &q));
    tb_store_close(other);
    tb_store_close(reader);
    fixture_release(&f);
}
END_TEST

/* Renamed to one as long, and to another's. */
START_TEST(names_are_those_of_now)
{
    static const char *const names[][2] = {
        {"north", "south"}, {"north", "morth"}, {"south", "north"}};
    fixture f;
    fixture_init(&f);
    fixture_apply(&f, two_zones, tb_month_start_us(NOVEMBER), NULL);
    tb_store *reader = open_reader(&f);
    tb_zone_question q = question_of(1, (tb_range){tb_month_first_day(NOVEMBER), 30, false});
    for (size_t i = 0; i < 3; i++) {
        tb_buf text;
        tb_buf_init(&text, 256, NULL);
        tb_buf_fmt(&text,
                   "{\"accounts\":[{\"id\":1,\"name\":\"a\"}],\"zones\":[{\"id\":101,\"account\":1,"
                   "\"name\":\"%s\"},"
                   "{\"id\":102,\"account\":1,\"name\":\"%s\"}]}",
                   names[i][0], names[i][1]);
        check_names(&f, reader, &q);
        fixture_apply(&f, text.data, NOW_US, NULL);
        check_names(&f, reader, &q);
        add_bytes(&f, 102, "DE", tb_month_first_day(NOVEMBER) * DAY_HOURS, 100);
        check_names(&f, reader, &q);
        tb_buf_release(&text);
    }
    tb_store_close(reader);
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
        ok(tb__runs_fold_all(f.store, &err));
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

/* A run whose id, length, sum and places are those of one that was folded, and which is another
 * one. */
START_TEST(an_id_that_is_given_again_is_another_run)
{
    fixture f;
    tb_error err = {0};
    fixture_init(&f);
    fixture_apply(&f, two_zones, tb_month_start_us(NOVEMBER), NULL);
    tb_store *reader = open_reader(&f);
    const int64_t hour = (tb_month_first_day(NOVEMBER) + 3) * DAY_HOURS;
    const tb_zone_question q = question_of(1, (tb_range){hour, 2, true});
    add_bytes(&f, 101, "DE", hour, 100);
    fixture_fold(&f);
    add_bytes(&f, 101, "DE", hour + 1, 100);
    check_same(&f, reader, &q);
    fixture_fold(&f);
    add_bytes(&f, 101, "DE", hour + 5, 100);
    check_same(&f, reader, &q);
    tb_series series[2];
    for (int i = 0; i < 2; i++) {
        tb_store *store = i ? f.store : reader;
        ok(tb_series_init(&series[i], (tb_range){hour, 24, true}, TB_METRIC_BIT(TB_M_BYTES), NULL,
                          &err));
        ok(tb_store_read_begin(store, &err));
        ok(tb_store_scope_series(store, &q.scope, &series[i], &err));
        tb_store_read_end(store);
    }
    ck_assert_mem_eq(series[0].value[TB_M_BYTES], series[1].value[TB_M_BYTES],
                     24 * sizeof(uint64_t));
    ck_assert_uint_eq(series[0].value[TB_M_BYTES][5], 100);
    tb_series_release(&series[0]);
    tb_series_release(&series[1]);
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
    tb__recall *recall = NULL;
    tb_error err = {0};
    size_t most = 0;
    fixture_init(&f);
    apply_many(&f);
    add_bytes(&f, 2, "DE", tb_month_first_day(NOVEMBER) * DAY_HOURS, 5);
    tb_store *reader = open_reader(&f);
    ok(tb__recall_of(reader, &recall, &err));
    for (int i = 0; i < 150; i++) {
        const tb_zone_question q =
            question_of(1 + i / 50, (tb_range){tb_month_first_day(NOVEMBER) - i, 30, false});
        tb_zone_sums sums = remembered(reader, &q);
        ck_assert_uint_eq(sums.n, MANY);
        ck_assert_uint_eq((uint64_t)sums.sums[0], 0);
        tb_zone_sums_release(&sums);
        const size_t bytes = tb__recall_bytes(recall);
        ck_assert_uint_le(bytes, TB__RECALL_BYTES);
        if (bytes > most) most = bytes;
        ck_assert(is_near(reader, &q));
    }
    ck_assert_uint_gt(most, TB__RECALL_BYTES / 4 * 3);
    const tb_zone_question first =
        question_of(1, (tb_range){tb_month_first_day(NOVEMBER), 30, false});
    ck_assert(!is_near(reader, &first)); /* it was asked for least lately */
    for (uint32_t i = 0; i < 9000; i++) {
        tb_summed of = {.series = 1, .created_us = INT64_MIN};
        ok(tb_store_read_begin(reader, &err));
        ok(tb_store_sum(reader, &of, 1, (tb_range){i, 2, false}, tb_insights_metrics(), &err));
        tb_store_read_end(reader);
        ck_assert_uint_le(tb__recall_series_bytes(tb__recall_series_of(recall)),
                          TB__RECALL_SERIES_BYTES);
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
    Suite *suite = suite_create("recall");
    TCase *t = tcase_create("recall");
    tcase_set_timeout(t, 120);
    tcase_add_test(t, it_outlives_batches_and_not_what_changes_rows_or_zones);
    tcase_add_test(t, who_writes_sees_the_file);
    tcase_add_test(t, an_id_that_is_given_again_is_another_run);
    tcase_add_test(t, names_are_those_of_now);
    tcase_add_test(t, it_knows_what_was_let_go);
    tcase_add_test(t, it_is_bounded);
    tcase_add_test(t, threads_share_it);
    suite_add_tcase(suite, t);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
