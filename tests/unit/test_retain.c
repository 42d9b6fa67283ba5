/* Letting go of old usage: what goes, what stays as it was, and that verify knows both. */
#include "retain_fixture.h"

#include "store/usage/chunk.h"

static const tb_view views[] = {{1, TB_ALL, TB_ALL}, {1, 101, TB_ALL}, {1, 102, TB_ALL},
                                {2, TB_ALL, TB_ALL}, {2, 201, TB_ALL}};
#define CUT_MONTH 653 /* 2024-06: a price changes within a day of it */
#define VIEWS (sizeof views / sizeof *views)

typedef struct answers {
    uint64_t hours[VIEWS], days[VIEWS];
    tb_i128 bill[NOVEMBER - FIRST];
} answers;

static answers ask(fixture *f)
{
    answers a;
    memset(&a, 0, sizeof a);
    for (size_t i = 0; i < VIEWS; i++) {
        a.hours[i] = hours_in(f, views[i], KEPT_HOURS, NOVEMBER + 1);
        a.days[i] = days_in(f, views[i], KEPT_DAYS, NOVEMBER + 1);
    }
    for (int64_t month = KEPT_DAYS; month < NOVEMBER; month++) {
        if (month == CUT_MONTH) continue;
        source in = input_of(f, 1, month);
        a.bill[month - FIRST] = bytes_in(&in);
        source_release(&in);
    }
    return a;
}

static void check_retained(bool folded)
{
    fixture f;
    fill_years(&f, folded);
    finalize_months(&f, FIRST, OCTOBER, "");
    verify_all(&f, NULL);
    const answers before = ask(&f);
    ck_assert_uint_gt(before.hours[0], 0);

    const uint64_t rows = sum_of_rows(&f);
    said dry = run_words(&f, "retain keep-hours=25mo keep-days=30mo dry-run format=table");
    ck_assert_uint_eq(sum_of_rows(&f), rows);
    ck_assert_ptr_nonnull(strstr(dry.out, "2023-06\t"));
    ck_assert_ptr_nonnull(strstr(dry.out, "2024-09\t"));
    ck_assert_ptr_null(strstr(dry.out, "2024-10\t"));
    ck_assert_ptr_nonnull(strstr(dry.said, "would go. Nothing changed."));

    said done = run_words(&f, "retain keep-hours=25mo keep-days=30mo");
    ck_assert_ptr_nonnull(strstr(done.said, " went. "));
    ck_assert_int_eq(strncmp(done.said, dry.said, strcspn(dry.said, ".") - strlen("would go")), 0);
    ck_assert_int_eq(number(&f, "SELECT count(*) FROM audit WHERE operation='retain'"), 1);

    const answers after = ask(&f);
    ck_assert_mem_eq(&before, &after, sizeof before);
    verify_all(&f, "24 invoices checked by hash and chain, but not rated again: the usage is no longer kept.");
    ck_assert_uint_gt(days_in(&f, views[0], KEPT_DAYS, KEPT_HOURS), 0);
    if (folded) {
        ck_assert_uint_eq(hours_in(&f, views[0], FIRST, KEPT_HOURS), 0);
        ck_assert_uint_eq(days_in(&f, views[0], FIRST, KEPT_DAYS), 0);
        const uint64_t then = sum_of_rows(&f);
        ck_assert_ptr_nonnull(
            strstr(run_words(&f, "retain hours=25 days=30").said, "were to go"));
        ck_assert_uint_eq(sum_of_rows(&f), then);
    } else {
        fixture_fold(&f);
        verify_all(&f, NULL);
        run_words(&f, "retain hours=25 days=30");
        verify_all(&f, NULL);
        ck_assert_uint_eq(hours_in(&f, views[0], FIRST, KEPT_HOURS), 0);
        ck_assert_uint_eq(days_in(&f, views[0], FIRST, KEPT_DAYS), 0);
    }
    ck_assert_int_eq(number(&f, "SELECT count(*) FROM chunk c JOIN series s ON s.id=c.key>>18"
                                " WHERE s.owner=999"), 2);
    fixture_release(&f);
}

START_TEST(what_is_kept_answers_as_before)
{
    check_retained(true);
}
END_TEST

START_TEST(what_waits_in_runs_stays_and_goes_when_it_is_folded)
{
    check_retained(false);
}
END_TEST

/* The last call of a transaction, for tb_store_write. */
static tb_code retain_little(tb_store *store, void *ctx, tb_error *err)
{
    tb_retain_walk *walk = ctx;
    bool over = false;
    walk->room = 3;
    tb_code code = tb_store_retain(store, walk, &over, err);
    if (over) walk->account = 0;
    return code;
}

/* Each commit leaves a file that verify finds sound, and another process may go on from any. */
START_TEST(an_interruption_leaves_nothing_to_repair)
{
    fixture f;
    tb_error err = {0};
    int commits = 0;
    fill_years(&f, true);
    finalize_months(&f, FIRST, OCTOBER, "");
    const answers before = ask(&f);
    tb_retain_walk walk = {.account = 1, .kept = {KEPT_HOURS, KEPT_DAYS}};
    for (; walk.account; commits++) {
        ok(tb_store_write(f.store, retain_little, &walk, &err));
        free(walk.months);
        walk.months = NULL;
        walk.n = walk.cap = 0;
        verify_all(&f, NULL);
        if (commits == 2) memset(walk.at, 0, sizeof walk.at); /* as if it had not been */
    }
    ck_assert_int_gt(commits, 5);
    const answers after = ask(&f);
    ck_assert_mem_eq(&before, &after, sizeof before);
    run_words(&f, "retain hours=25 days=30");
    verify_all(&f, NULL);
    fixture_release(&f);
}
END_TEST

START_TEST(what_is_open_stays)
{
    fixture f;
    tb_late *list;
    size_t n;
    tb_error err = {0};
    fill_years(&f, true);
    ck_assert_ptr_nonnull(strstr(run_words(&f, "retain hours=25").said, "were to go"));
    ck_assert_int_eq(number(&f, "SELECT count(*) FROM retention"), 0);
    finalize_months(&f, FIRST, OCTOBER, " account=2"); /* account 1 is not billed */
    finalize_months(&f, FIRST, FIRST + 2, " account=1");
    add_bytes(&f, 101, "DE", tb_month_first_day(FIRST + 1) * 24, 5); /* late */
    ok(tb_store_late(f.store, 1, &list, &n, &err));
    ck_assert_uint_eq(n, 1);
    free(list);
    said s = run_words(&f, "retain hours=25");
    ck_assert_ptr_nonnull(strstr(s.said, "Account 1 keeps all from 2023-07 on"));
    ck_assert_int_eq(number(&f, "SELECT hours_month FROM retention WHERE account=1"), FIRST + 1);
    ck_assert_int_eq(number(&f, "SELECT hours_month FROM retention WHERE account=2"), KEPT_HOURS);
    ck_assert_uint_gt(hours_in(&f, views[0], FIRST + 1, FIRST + 2), 0);
    ck_assert_uint_eq(hours_in(&f, views[3], FIRST, KEPT_HOURS), 0);
    verify_all(&f, NULL);
    fixture_release(&f);
}
END_TEST

START_TEST(a_void_invoice_leaves_its_month_open)
{
    fixture f;
    fill_years(&f, true);
    finalize_months(&f, FIRST, OCTOBER, "");
    run_words(&f, "invoice void=2026-000005"); /* 2023-08, account 1 */
    said s = run_words(&f, "retain hours=25");
    ck_assert_ptr_nonnull(strstr(s.said, "keeps all from 2023-08 on"));
    fixture_release(&f);
}
END_TEST

/* A closed month gets usage, a zone its second location, an account a zone: days stay exact. */
START_TEST(what_comes_afterwards_is_counted_and_not_billed)
{
    fixture f;
    tb_late *list;
    size_t n;
    tb_error err = {0};
    for (int folded = 0; folded < 2; folded++) {
        fill_years(&f, true);
        finalize_months(&f, FIRST, OCTOBER, "");
        run_words(&f, "retain hours=25 days=30");
        const uint64_t days = days_in(&f, views[2], KEPT_DAYS, KEPT_HOURS);
        const uint64_t all = days_in(&f, views[0], KEPT_DAYS, KEPT_HOURS);
        add_bytes(&f, 102, "DE", tb_month_first_day(KEPT_DAYS) * 24, 5);
        add_bytes(&f, 102, "DE", tb_month_first_day(FIRST) * 24, 6);
        if (folded) fixture_fold(&f);
        add_bytes(&f, 102, "SE", tb_month_first_day(KEPT_DAYS) * 24, 7); /* its second location */
        ck_assert_uint_eq(days_in(&f, views[2], KEPT_DAYS, KEPT_HOURS), days + 12);
        retain_apply(&f, ",{\"id\":999,\"account\":1,\"name\":\"n\",\"created\":\"2023-06-01T00:00:00Z\"}");
        ck_assert_uint_eq(days_in(&f, views[0], KEPT_DAYS, KEPT_HOURS), all + 12);
        ok(tb_store_late(f.store, 0, &list, &n, &err));
        ck_assert_uint_eq(n, 0);
        free(list);
        verify_all(&f, "4 days of usage came for months whose hours are no longer kept");
        fixture_fold(&f);
        verify_all(&f, NULL);
        run_words(&f, "retain hours=25 days=30");
        verify_all(&f, NULL);
        ck_assert_uint_eq(days_in(&f, views[2], KEPT_DAYS, KEPT_HOURS), days + 12);
        ck_assert_uint_eq(days_in(&f, views[0], FIRST, KEPT_DAYS), 0);
        fixture_release(&f);
    }
}
END_TEST

/* Writes a chunk anew with one more byte in its first slot, under a right checksum. */
static void make_wrong(fixture *f, const char *which)
{
    uint8_t bytes[TB__CHUNK_MAX];
    tb_grid grid;
    sqlite3_stmt *s;
    char text[300];
    snprintf(text, sizeof text, "SELECT c.key,c.data FROM chunk c JOIN series s ON s.id=c.key>>18 WHERE %s",
             which);
    ck_assert_int_eq(sqlite3_prepare_v2(f->store->db, text, -1, &s, NULL), SQLITE_OK);
    ck_assert_int_eq(sqlite3_step(s), SQLITE_ROW);
    const int64_t key = sqlite3_column_int64(s, 0);
    ck_assert_int_eq(tb__chunk_decode(sqlite3_column_blob(s, 1), (size_t)sqlite3_column_bytes(s, 1),
                                      key, &grid, NULL), TB_OK);
    sqlite3_finalize(s);
    grid.v[TB_M_BYTES][__builtin_ctz(grid.slots)]--;
    const size_t len = tb__chunk_encode(&grid, key, bytes);
    ck_assert_int_eq(sqlite3_prepare_v2(f->store->db, "UPDATE chunk SET data=?2 WHERE key=?1", -1, &s,
                                        NULL), SQLITE_OK);
    sqlite3_bind_int64(s, 1, key);
    sqlite3_bind_blob(s, 2, bytes, (int)len, SQLITE_STATIC);
    ck_assert_int_eq(sqlite3_step(s), SQLITE_DONE);
    sqlite3_finalize(s);
}

START_TEST(verify_still_finds_what_is_damaged)
{
    static const struct {
        const char *which, *says;
    } cases[] = {
        {"s.scope=1 AND s.owner=101 AND s.edge>0 AND c.key&262143=131072+656", "its locations make"},
        {"s.scope=2 AND s.owner=1 AND s.edge=0 AND c.key&262143=131072+656", "its locations make"},
        {"s.scope=1 AND s.owner=101 AND s.edge>0 AND c.key&262143=131072+660", "its hours make"},
        {"s.scope=1 AND s.owner=102 AND c.key&262143=131072+655", "All batches together added"},
    };
    fixture f;
    fill_years(&f, true);
    finalize_months(&f, FIRST, OCTOBER, "");
    run_words(&f, "retain hours=25 days=30");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sql(&f, "BEGIN");
        make_wrong(&f, cases[i].which);
        verify_finds(&f, cases[i].says);
        sql(&f, "ROLLBACK");
    }
    sql(&f, "BEGIN");
    sql(&f, "UPDATE usage_gone SET sums=replace(sums,'\"requests\":\"','\"requests\":\"1')"
            " WHERE account=1 AND month=645");
    verify_finds(&f, "All batches together added");
    sql(&f, "ROLLBACK");
    edit(f.store->db, "UPDATE usage_gone SET sums='{}' WHERE account=1 AND month=645");
    verify_finds(&f, "What went of account 1, month 645");
    fixture_release(&f);
}
END_TEST

/* Hours are what days are repaired from. */
START_TEST(hours_that_days_do_not_hold_stay)
{
    fixture f;
    fill_years(&f, true);
    finalize_months(&f, FIRST, OCTOBER, "");
    make_wrong(&f, "s.scope=1 AND s.owner=102 AND c.key&262143=131072+645");
    const uint64_t rows = sum_of_rows(&f);
    said s = run_calls(&f, "retain hours=25", SIZE_MAX);
    ck_assert_int_eq(s.code, TB_E_CORRUPT);
    ck_assert_ptr_nonnull(strstr(s.err.message, "nothing goes"));
    ck_assert_uint_eq(sum_of_rows(&f), rows);
    fixture_release(&f);
}
END_TEST

START_TEST(an_old_invoice_says_what_is_no_longer_there)
{
    fixture f;
    fill_years(&f, true);
    finalize_months(&f, FIRST, OCTOBER, "");
    run_words(&f, "retain hours=25 days=30");
    said s = run_words(&f, "invoice month=2023-07 account=1 explain=1");
    ck_assert_ptr_nonnull(strstr(s.out, "\"gone\":\"The usage that this line needs is no longer kept"));
    ck_assert_ptr_nonnull(strstr(s.out, "\"sum\":null,\"agrees\":true,\"days\":[]"));
    ck_assert_ptr_nonnull(strstr(s.out, "\"evidence\":{"));
    s = run_words(&f, "invoice month=2024-07 account=1 explain=1");
    ck_assert_ptr_nonnull(strstr(s.out, "\"gone\":\"The hours of this month are no longer kept"));
    ck_assert_ptr_nonnull(strstr(s.out, "\"agrees\":true,\"days\":[{"));
    s = run_words(&f, "invoice month=2025-07 account=1 explain=1");
    ck_assert_ptr_null(strstr(s.out, "\"gone\""));
    s = run_calls(&f, "percentile account=1 month=2024-07", 1);
    ck_assert_int_eq(s.code, TB_E_NOT_KEPT);
    s = run_calls(&f, "percentile account=1 month=2024-10", 1);
    ck_assert_int_eq(s.code, TB_OK);
    fixture_release(&f);
}
END_TEST

static void keep_line(void *ctx, size_t i, tb_logline *ret)
{
    static const tb_log_layout layout = {.now_ms = NOW_MS};
    const char *text = "HIT|200|1794000000000|9|101|1.2.3.4|-|/x|DE|-|-|-";
    (void)ctx, (void)i;
    tb_logline_read(&layout, text, strlen(text), ret);
}

/* A line of each of 300 zones; of the last ten of them an hour ago, two hours ago else. */
static void keep_lines(fixture *f)
{
    tb_error err = {0};
    tb_buf out;
    tb_loginfo info;
    tb_logpack *pack = tb_logpack_new();
    tb_buf_init(&out, TB_LOGBLOCK_MAX, NULL);
    ok(tb_store_begin(f->store, &err));
    for (int i = 0; i < 300; i++) {
        const int64_t time = NOW_MS - (i < 290 ? 2 : 1) * INT64_C(3600000);
        out.len = 0;
        ok(tb_logpack_block(pack, &(tb_loglines){1 + i, &time, 1, keep_line, NULL}, &out, &info, &err));
        ok(tb_store_add_logs(f->store, &info, out.data, out.len, &err));
    }
    ok(tb_store_commit(f->store, &err));
    tb_buf_release(&out);
    tb_logpack_free(pack);
}

/* So that no other write waits for long; what goes is told as one. */
START_TEST(request_logs_go_some_at_a_time)
{
    fixture f;
    char told[200];
    fixture_init(&f);
    keep_lines(&f);
    snprintf(told, sizeof told, "290 blocks of request logs (%lld bytes) ",
             (long long)number(&f, "SELECT sum(length(data)) FROM log_block WHERE zone<=290"));
    ck_assert_ptr_nonnull(strstr(run_words(&f, "retain logs=90m dry-run").said, told));
    said s = run_words(&f, "retain logs=90m hours=25");
    ck_assert_uint_eq(s.calls, 3);
    ck_assert_ptr_nonnull(strstr(s.said, told));
    ck_assert_int_eq(number(&f, "SELECT count(*) FROM log_block"), 10);
    ck_assert_int_eq(number(&f, "SELECT count(*) FROM audit WHERE operation='retain'"), 1);
    keep_lines(&f);
    s = run_calls(&f, "retain logs=90m", 2);
    ck_assert_str_eq(s.said, "");
    ck_assert_int_eq(number(&f, "SELECT count(*) FROM log_block"), 310 - 256);
    ck_assert_uint_eq(run_words(&f, "retain logs=90m").calls, 1);
    ck_assert_int_eq(number(&f, "SELECT count(*) FROM log_block"), 20);
    ck_assert_ptr_nonnull(strstr(run_words(&f, "retain logs=90m").said, "were to go"));
    fixture_release(&f);
}
END_TEST

/* Hours pass meanwhile, and the clock is put back. */
START_TEST(what_is_too_old_is_what_was_when_it_began)
{
    fixture f;
    char next[200];
    fixture_init(&f);
    keep_lines(&f);
    snprintf(next, sizeof next, "%s", run_calls(&f, "retain logs=90m", 1).next);
    const int64_t hour_us = INT64_C(3600000000);
    calling c = {.most = 1, .next = next, .now_us = NOW_US - hour_us};
    snprintf(next, sizeof next, "%s", run_from(&f, "retain logs=90m", c).next);
    ck_assert_int_eq(number(&f, "SELECT count(*) FROM log_block"), 300 - 256);
    c.now_us = NOW_US + hour_us;
    ck_assert_int_eq(run_from(&f, "retain logs=80m", c).code, TB_E_VALIDATION);
    said s = run_from(&f, "retain logs=90m", c);
    ck_assert_str_eq(s.next, "");
    ck_assert_ptr_nonnull(strstr(s.said, "290 blocks of request logs"));
    ck_assert_int_eq(number(&f, "SELECT count(*) FROM log_block"), 10);
    ck_assert_int_eq(number(&f, "SELECT count(*) FROM audit"), 1);
    fixture_release(&f);
}
END_TEST

/* Ten years ahead, as after an empty battery: what is old by the newest usage goes, and no more. */
START_TEST(a_clock_that_is_ahead_lets_nothing_new_go)
{
    fixture f;
    fill_years(&f, true);
    finalize_months(&f, FIRST, OCTOBER, "");
    const answers before = ask(&f);
    const calling ahead = {.most = SIZE_MAX, .now_us = NOW_US + 3653 * TB_US_PER_DAY};
    const char *words[] = {"retain keep-hours=25mo keep-days=30mo dry-run format=table", "retain hours=25 days=30"};
    for (int i = 0; i < 2; i++) {
        const said right = run_words(&f, words[0]), s = run_from(&f, words[i], ahead);
        ck_assert_int_eq(s.code, TB_OK);
        ck_assert_ptr_nonnull(strstr(s.said, "Months count back from 2026-11, for the newest usage is of 2026-10, and "
                                             "not from this machine's clock (2036-11)"));
        ck_assert_ptr_null(strstr(right.said, "Months count back"));
        if (i == 0) ck_assert_str_eq(s.out, right.out);
    }
    ck_assert_int_eq(number(&f, "SELECT hours_month FROM retention WHERE account=1"), KEPT_HOURS);
    ck_assert_int_eq(number(&f, "SELECT days_month FROM retention WHERE account=1"), KEPT_DAYS);
    const answers after = ask(&f);
    ck_assert_mem_eq(&before, &after, sizeof before);
    verify_all(&f, NULL);
    fixture_release(&f);
}
END_TEST

START_TEST(arguments_that_make_no_sense_are_refused)
{
    static const char *const bad[] = {
        "retain", "retain dry-run", "retain hours=24", "retain days=24", "retain hours=30 days=25",
        "retain logs=73h", "retain logs=72", "retain logs=0h", "retain logs=1d", "retain logs=h"};
    fixture f;
    fixture_init(&f);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        ck_assert_msg(run_calls(&f, bad[i], 1).code == TB_E_VALIDATION, "%s", bad[i]);
    run_words(&f, "retain hours=25 days=25 logs=72h");
    run_words(&f, "retain logs=1m dry-run");
    fixture_release(&f);
}
END_TEST

int main(void)
{
    TCase *t = tcase_create("retain");
    tcase_set_timeout(t, 120);
    tcase_add_test(t, what_is_kept_answers_as_before);
    tcase_add_test(t, what_waits_in_runs_stays_and_goes_when_it_is_folded);
    tcase_add_test(t, an_interruption_leaves_nothing_to_repair);
    tcase_add_test(t, what_is_open_stays);
    tcase_add_test(t, a_void_invoice_leaves_its_month_open);
    tcase_add_test(t, what_comes_afterwards_is_counted_and_not_billed);
    tcase_add_test(t, verify_still_finds_what_is_damaged);
    tcase_add_test(t, hours_that_days_do_not_hold_stay);
    tcase_add_test(t, an_old_invoice_says_what_is_no_longer_there);
    tcase_add_test(t, request_logs_go_some_at_a_time);
    tcase_add_test(t, what_is_too_old_is_what_was_when_it_began);
    tcase_add_test(t, a_clock_that_is_ahead_lets_nothing_new_go);
    tcase_add_test(t, arguments_that_make_no_sense_are_refused);
    Suite *s = suite_create("retain");
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_ENV);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
