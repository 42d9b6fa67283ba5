/* period.h: what a time is compared with, by month and while it is still running. `now` is
 * 2026-11-04T09:00:00Z unless a test says otherwise. */
#include "tollbook/range.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#define NOW "2026-11-04T09:00:00Z"

typedef struct ask {
    const char *now, *from, *to, *by, *compare;
} ask;

static tb_text text(const char *s)
{
    return (tb_text){s, s ? strlen(s) : 0};
}

static int64_t moment(const char *s)
{
    int64_t us = 0;
    ck_assert_msg(tb_date_parse(s, strlen(s), &us, NULL) == TB_OK, "test date '%s'", s);
    return us;
}

static tb_period resolve(ask a)
{
    const tb_period_query query = {text(a.from), text(a.to), text(a.by), text(a.compare)};
    tb_period p = {0};
    tb_error err = {0};
    ck_assert_msg(tb_period_resolve(&query, moment(a.now), &p, &err) == TB_OK, "%s: %s", a.from,
                  err.message);
    return p;
}

/* The time before runs from `first` up to and without `end`, and has as many points. */
static void is_compared(ask a, const char *first, const char *end)
{
    const tb_period p = resolve(a);
    const tb_range b = tb_period_before(&p);
    char got[2][21] = {{0}};
    tb_time_format(tb_range_us(b, 0), got[0]);
    tb_time_format(tb_range_us(b, b.count), got[1]);
    ck_assert_str_eq(got[0], first);
    ck_assert_str_eq(got[1], end);
    if (p.by != TB_BY_HOUR)
        ck_assert_uint_eq(tb_period_points(p.before, p.by), tb_period_points(p.range, p.by));
}

START_TEST(a_running_day_is_compared_with_a_part)
{
    const char *const half_past = "2026-11-04T09:30:00Z", *const midnight = "2026-11-04T00:00:00Z";
    is_compared((ask){NOW, "2026-10-29", "2026-11-04", "day", "previous"}, "2026-10-22T00:00:00Z",
                "2026-10-28T09:00:00Z");
    is_compared((ask){half_past, "2026-10-29", "2026-11-04", "day", "previous"}, "2026-10-22T00:00:00Z",
                "2026-10-28T10:00:00Z");
    is_compared((ask){midnight, "2026-10-29", "2026-11-04", "day", "previous"}, "2026-10-22T00:00:00Z",
                "2026-10-28T01:00:00Z");
    is_compared((ask){NOW, "2026-11-04", NULL, "day", "year"}, "2025-11-04T00:00:00Z",
                "2025-11-04T09:00:00Z");
    is_compared((ask){"2026-11-04T23:00:00.000001Z", "2026-11-04", NULL, "day", "previous"},
                "2026-11-03T00:00:00Z", "2026-11-04T00:00:00Z");
}
END_TEST

START_TEST(hours_still_to_come_are_not_compared)
{
    is_compared((ask){NOW, "2026-11-04", "2026-11-04", "hour", "previous"}, "2026-11-03T00:00:00Z",
                "2026-11-03T09:00:00Z");
    is_compared((ask){"2026-11-04T09:00:01Z", "2026-11-04", "2026-11-04", "hour", "year"},
                "2025-11-04T00:00:00Z", "2025-11-04T10:00:00Z");
    is_compared((ask){NOW, "2026-11-04", NULL, "hour", "previous"}, "2026-11-03T15:00:00Z",
                "2026-11-04T00:00:00Z");
    const tb_period p =
        resolve((ask){NOW, "2026-11-04T09:00:00Z", "2026-11-04", "hour", "previous"});
    ck_assert_uint_eq(p.before.count, 0);
}
END_TEST

START_TEST(what_is_over_is_compared_whole)
{
    is_compared((ask){NOW, "2026-10-28", "2026-11-03", "day", "previous"}, "2026-10-21T00:00:00Z",
                "2026-10-28T00:00:00Z");
    is_compared((ask){NOW, "2024-02-29", "2024-02-29", "day", "year"}, "2023-02-28T00:00:00Z",
                "2023-03-01T00:00:00Z");
}
END_TEST

START_TEST(months_move_by_months)
{
    is_compared((ask){NOW, "2026-02-01", "2026-11-04", "month", "previous"}, "2025-04-01T00:00:00Z",
                "2026-01-04T09:00:00Z");
    is_compared((ask){NOW, "2026-03-01", "2026-10-31", "month", "previous"}, "2025-07-01T00:00:00Z",
                "2026-03-01T00:00:00Z");
    is_compared((ask){NOW, "2026-03-31", "2026-03-31", "month", "previous"}, "2026-02-28T00:00:00Z",
                "2026-03-01T00:00:00Z");
    is_compared((ask){NOW, "2026-03-29", "2026-03-29", "month", "previous"}, "2026-02-28T00:00:00Z",
                "2026-03-01T00:00:00Z");
    is_compared((ask){NOW, "2026-03-15", "2026-03-30", "month", "previous"}, "2026-02-15T00:00:00Z",
                "2026-03-01T00:00:00Z");
    is_compared((ask){NOW, "2024-02-15", "2024-02-29", "month", "year"}, "2023-02-15T00:00:00Z",
                "2023-03-01T00:00:00Z");
}
END_TEST

START_TEST(weeks_and_days_are_whole_and_as_few_as_possible)
{
    is_compared((ask){NOW, "2026-10-06", "2026-11-04", "day", "week"}, "2026-09-01T00:00:00Z",
                "2026-09-30T09:00:00Z");
    is_compared((ask){NOW, "2026-10-01", "2026-10-28", "day", "week"}, "2026-09-03T00:00:00Z",
                "2026-10-01T00:00:00Z");
    is_compared((ask){NOW, "2026-11-03T20:00:00Z", "2026-11-03T22:00:00Z", "hour", "week"}, "2026-10-27T20:00:00Z",
                "2026-10-27T22:00:00Z");
    is_compared((ask){NOW, "2026-11-03T20:00:00Z", "2026-11-03T22:00:00Z", "hour", "day"}, "2026-11-02T20:00:00Z",
                "2026-11-02T22:00:00Z");
    is_compared((ask){NOW, "2026-11-02T20:00:00Z", "2026-11-03T22:00:00Z", "hour", "day"}, "2026-10-31T20:00:00Z",
                "2026-11-01T22:00:00Z");
    is_compared((ask){NOW, "2026-11-04", NULL, "hour", "day"}, "2026-11-03T00:00:00Z", "2026-11-03T09:00:00Z");
    is_compared((ask){NOW, "2026-03-01", "2026-10-31", "month", "week"}, "2025-07-01T00:00:00Z",
                "2026-03-01T00:00:00Z");
}
END_TEST

START_TEST(any_range_of_months_has_as_many_points_and_does_not_overlap)
{
    const int64_t now = moment(NOW), today = tb_day_from_us(now);
    char from[21] = {0}, to[21] = {0};
    for (int64_t first = today - 800; first <= today; first += 7) {
        for (int64_t last = first; last <= today; last += 13) {
            tb_time_format(first * TB_US_PER_DAY, from);
            tb_time_format(last * TB_US_PER_DAY, to);
            from[10] = to[10] = 0;
            const tb_period p = resolve((ask){NOW, from, to, "month", "previous"});
            ck_assert_uint_eq(tb_period_points(p.before, p.by), tb_period_points(p.range, p.by));
            ck_assert_int_le(p.before.first + p.before.count, p.range.first);
        }
    }
}
END_TEST

START_TEST(hours_become_the_days_that_they_touch)
{
    tb_period p = resolve((ask){NOW, "2026-11-02T22:00:00Z", NULL, "auto", "previous"});
    ck_assert(p.range.hourly && p.by_itself);
    tb_period_by_day(&p);
    ck_assert_int_eq(p.range.first, tb_day_from_us(moment("2026-11-02")));
    ck_assert_uint_eq(p.range.count, 3);
    ck_assert_int_eq(p.before.first, p.range.first - 3);
    ck_assert_uint_eq(p.before_part, 9);
    ck_assert(p.by == TB_BY_DAY && !p.range.hourly && !p.before.hourly);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("period");
    TCase *t = tcase_create("compared");
    tcase_add_test(t, a_running_day_is_compared_with_a_part);
    tcase_add_test(t, hours_still_to_come_are_not_compared);
    tcase_add_test(t, what_is_over_is_compared_whole);
    tcase_add_test(t, months_move_by_months);
    tcase_add_test(t, weeks_and_days_are_whole_and_as_few_as_possible);
    tcase_add_test(t, any_range_of_months_has_as_many_points_and_does_not_overlap);
    tcase_add_test(t, hours_become_the_days_that_they_touch);
    suite_add_tcase(suite, t);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    const int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
