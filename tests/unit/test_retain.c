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
    said dry = run_words(&f, "retain hours=25 days=30 dry-run");
    ck_assert_uint_eq(sum_of_rows(&f), rows);
    ck_assert_ptr_nonnull(strstr(dry.out, "2023-06\t"));
    ck_assert_ptr_nonnull(strstr(dry.out, "2024-09\t"));
    ck_assert_ptr_null(strstr(dry.out, "2024-10\t"));
    ck_assert_ptr_nonnull(strstr(dry.said, "would go. Nothing changed."));

    said done = run_words(&f, "retain hours=25 days=30");
    ck_assert_ptr_nonnull(strstr(done.said, " went. "));
    ck_assert_int_eq(strncmp(done.said, dry.said, strcspn(dry.said, ".") - strlen("would go")), 0);
    ck_assert_int_eq(number(&f, "SELECT count(*) FROM audit WHERE operation='retain'"), 1);

    const answers after = ask(&f);
    ck_assert_mem_eq(&before, &after, sizeof before);
    verify_all(&f, "24 invoices of months whose usage is no longer kept");
    ck_assert_uint_gt(days_in(&f, views[0], KEPT_DAYS, KEPT_HOURS), 0);
    if (folded) {
        ck_assert_uint_eq(hours_in(&f, views[0], FIRST, KEPT_HOURS), 0);
        ck_assert_uint_eq(days_in(&f, views[0], FIRST, KEPT_DAYS), 0);
        const uint64_t then = sum_of_rows(&f);
        ck_assert_ptr_nonnull(
            strstr(run_words(&f, "retain hours=25 days=30").said, "nothing changed"));
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

int main(void)
{
    TCase *t = tcase_create("retain");
    tcase_set_timeout(t, 120);
    tcase_add_test(t, what_is_kept_answers_as_before);
    tcase_add_test(t, what_waits_in_runs_stays_and_goes_when_it_is_folded);
    Suite *s = suite_create("retain");
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_ENV);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
