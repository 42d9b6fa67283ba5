/* range.h, rule by rule in the contract's order, each limit at n-1, n and n+1. `now` is
 * 2026-07-15T12:34:56Z unless a test says otherwise. */
#include "tollbook/range.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#define NOW "2026-07-15T12:34:56Z"
#define HOURLY_OLD                                                                                 \
    "Cannot request hourly statistics older than 30 days. Use daily granularity instead."
#define DAILY_OLD "Cannot request statistics older than 1 year."
#define WIDE      "Date range cannot exceed 40 days."
#define WIDE_DAY  "Date range cannot exceed 1 day when loadLatest is set."
#define NO_DATES  "Either dateFrom or dateTo is required when loadLatest is set."
#define FUTURE    "dateFrom cannot be later than today."
#define INVERTED  "dateTo cannot be earlier than dateFrom."

enum { D = 0, H = 1, EXACT = 2, LATEST = 4, OTHER = 8 }; /* OTHER: not GET /statistics */

typedef struct ask {
    const char *now, *from, *to;
    unsigned flags;
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

static tb_code resolve(ask a, tb_range *ret, tb_error *err)
{
    tb_range_query query = {
        .from = text(a.from),
        .to = text(a.to),
        .hourly = a.flags & H,
        .exact = a.flags & EXACT,
        .latest = a.flags & LATEST,
        .statistics = !(a.flags & OTHER),
    };
    return tb_range_resolve(&query, moment(a.now), ret, err);
}

/* The answer's buckets run from first up to and without end, both written as dates. */
static void gives(unsigned flags, const char *now, const char *from, const char *to,
                  const char *first, const char *end)
{
    tb_range range = {-1, 0, false};
    tb_error err = {0};
    tb_code code = resolve((ask){now, from, to, flags}, &range, &err);
    ck_assert_msg(code == TB_OK, "%s..%s refused: %s", from, to, err.message);
    ck_assert_int_eq(err.code, 0);
    int64_t unit = flags & H ? TB_US_PER_HOUR : TB_US_PER_DAY;
    ck_assert_int_eq(range.hourly, (flags & H) != 0);
    ck_assert_int_eq(range.first * unit, moment(first));
    ck_assert_int_eq((range.first + range.count) * unit, moment(end));
}

static void fails(unsigned flags, const char *now, const char *from, const char *to, tb_code want,
                  const char *field, const char *message)
{
    tb_range range = {-1, 77, true};
    tb_error err = {0};
    tb_code code = resolve((ask){now, from, to, flags}, &range, &err);
    ck_assert_msg(code == want, "%s..%s: %s", from, to, tb_code_name(code));
    ck_assert_int_eq(err.code, want);
    ck_assert_str_eq(err.field, field);
    if (message) ck_assert_str_eq(err.message, message);
    ck_assert_msg(err.message[0] != 0, "no message");
    ck_assert(range.first == -1 && range.count == 77 && range.hourly);
    ck_assert_int_eq(resolve((ask){now, from, to, flags}, &range, NULL), want);
}

#define refused(flags, from, to, field, message)                                                   \
    fails((flags), NOW, (from), (to), TB_E_DATE_RANGE, (field), (message))
#define unparsable(from, to, field)            fails(D, NOW, (from), (to), TB_E_VALIDATION, (field), NULL)
#define now_gives(flags, from, to, first, end) gives((flags), NOW, (from), (to), (first), (end))

/* --- dates ------------------------------------------------------------------------------- */

START_TEST(an_unparsable_date_names_its_parameter)
{
    unparsable("2026-02-30", NULL, "dateFrom");
    unparsable("1751328000", "2026-07-02", "dateFrom");
    unparsable("2026-07-01", "yesterday", "dateTo");
    unparsable(NULL, "2026-07-01 ", "dateTo");
}
END_TEST

START_TEST(date_from_is_read_before_date_to)
{
    unparsable("x", "y", "dateFrom");
}
END_TEST

START_TEST(an_unparsable_date_comes_before_every_rule)
{
    fails(D, NOW, "2031-01-01", "y", TB_E_VALIDATION, "dateTo", NULL);
    fails(LATEST, NOW, NULL, "y", TB_E_VALIDATION, "dateTo", NULL);
}
END_TEST

START_TEST(an_empty_value_is_absent)
{
    now_gives(D, "", "", "2026-06-15", "2026-07-16");
    now_gives(D, "2026-07-14", "", "2026-07-14", "2026-07-16");
    refused(LATEST, "", "", "dateFrom", NO_DATES);
}
END_TEST

START_TEST(a_length_without_data_is_absent)
{
    tb_range_query query = {.from = {NULL, 5}, .to = {"2026-07-01", 0}, .statistics = true};
    tb_range range;
    ck_assert_int_eq(tb_range_resolve(&query, moment(NOW), &range, NULL), TB_OK);
    ck_assert_int_eq(range.count, 31);
}
END_TEST

START_TEST(an_offset_counts_before_the_rules)
{
    now_gives(D, "2026-07-01T01:00+02:00", "2026-07-01", "2026-06-30", "2026-07-02");
    now_gives(D, "2026-07-01", "2026-07-01T23:00-02:00", "2026-07-01", "2026-07-03");
    now_gives(D, "7/1/2026", "7-2-2026 00:30 01:00", "2026-07-01", "2026-07-02");
}
END_TEST

/* --- rule 1: defaults -------------------------------------------------------------------- */

/* holds: statistics.default-daily */
START_TEST(daily_without_dates_starts_on_the_same_day_of_the_preceding_month)
{
    now_gives(D, NULL, NULL, "2026-06-15", "2026-07-16");
    now_gives(D | OTHER, NULL, NULL, "2026-06-15", "2026-07-16");
    gives(D, "2026-01-10T23:59:59.999999Z", NULL, NULL, "2025-12-10", "2026-01-11");
}
END_TEST

START_TEST(a_day_the_preceding_month_lacks_becomes_its_last)
{
    gives(D, "2026-03-31", NULL, NULL, "2026-02-28", "2026-04-01");
    gives(D, "2026-03-29", NULL, NULL, "2026-02-28", "2026-03-30");
    gives(D, "2024-03-31", NULL, NULL, "2024-02-29", "2024-04-01");
    gives(D, "2024-03-29", NULL, NULL, "2024-02-29", "2024-03-30");
    gives(D, "2024-03-28", NULL, NULL, "2024-02-28", "2024-03-29");
    gives(D, "2026-07-31", NULL, NULL, "2026-06-30", "2026-08-01");
    gives(D, "2026-08-31", NULL, NULL, "2026-07-31", "2026-09-01");
}
END_TEST

/* holds: statistics.default-hourly */
START_TEST(hourly_without_dates_is_30_days_and_today)
{
    now_gives(H, NULL, NULL, "2026-06-15", "2026-07-16");
    gives(H, "2024-03-01T00:00Z", NULL, NULL, "2024-01-31", "2024-03-02");
}
END_TEST

/* holds: statistics.from-alone */
START_TEST(date_from_alone_runs_to_now)
{
    now_gives(D, "2026-07-01T22:00Z", NULL, "2026-07-01", "2026-07-16");
    now_gives(H, "2026-07-14", NULL, "2026-07-14", "2026-07-16");
    now_gives(H | EXACT, "2026-07-15T10:59:59Z", NULL, "2026-07-15T10:00", "2026-07-15T13:00");
}
END_TEST

START_TEST(date_to_alone_mirrors_the_default)
{
    now_gives(D, NULL, "2026-03-31", "2026-02-28", "2026-04-01");
    now_gives(D, NULL, "2026-07-15", "2026-06-15", "2026-07-16");
    now_gives(H, NULL, "2026-07-15", "2026-06-15", "2026-07-16");
    now_gives(H, NULL, "2026-07-20", "2026-06-20", "2026-07-16");
    refused(H, NULL, "2026-07-14", "dateFrom", HOURLY_OLD);
}
END_TEST

/* holds: statistics.latest-no-default */
START_TEST(latest_has_no_default_range)
{
    refused(LATEST, NULL, NULL, "dateFrom", NO_DATES);
    refused(LATEST | H, NULL, NULL, "dateFrom", NO_DATES);
    refused(LATEST | H | EXACT, NULL, NULL, "dateFrom", NO_DATES);
}
END_TEST

START_TEST(latest_from_alone_ends_a_day_later_but_not_after_now)
{
    now_gives(LATEST, "2026-07-01T10:00Z", NULL, "2026-07-01", "2026-07-03");
    now_gives(LATEST | H | EXACT, "2026-07-01T10:00Z", NULL, "2026-07-01T10:00",
              "2026-07-02T10:00");
    now_gives(LATEST | H | EXACT, "2026-07-15T10:00Z", NULL, "2026-07-15T10:00",
              "2026-07-15T13:00");
    now_gives(LATEST | H | EXACT, "2026-07-14T12:34:56Z", NULL, "2026-07-14T12:00",
              "2026-07-15T13:00");
}
END_TEST

START_TEST(latest_to_alone_starts_a_day_earlier)
{
    now_gives(LATEST, NULL, "2026-07-02T10:00Z", "2026-07-01", "2026-07-03");
    now_gives(LATEST | H | EXACT, NULL, "2026-07-02T10:30Z", "2026-07-01T10:00",
              "2026-07-02T11:00");
}
END_TEST

START_TEST(latest_is_only_for_statistics)
{
    now_gives(LATEST | OTHER, NULL, NULL, "2026-06-15", "2026-07-16");
    refused(LATEST | OTHER, "2024-01-01", NULL, "dateFrom", DAILY_OLD);
}
END_TEST

/* --- rules 2 and 3: order ---------------------------------------------------------------- */

START_TEST(a_start_after_today_is_an_error)
{
    now_gives(D, "2026-07-15T23:59:59.999999Z", NULL, "2026-07-15", "2026-07-16");
    refused(D, "2026-07-16", NULL, "dateFrom", FUTURE);
    refused(D, "2026-07-15T23:00-01:00", NULL, "dateFrom", FUTURE);
    refused(H | OTHER, "2099-01-01", "2098-01-01", "dateFrom", FUTURE);
    refused(LATEST, "2026-07-16", NULL, "dateFrom", FUTURE);
}
END_TEST

START_TEST(a_default_start_after_today_is_an_error_too)
{
    refused(D | OTHER, NULL, "2026-08-16", "dateFrom", FUTURE);
    now_gives(D | OTHER, NULL, "2026-08-15", "2026-07-15", "2026-07-16");
}
END_TEST

START_TEST(an_end_before_the_start_is_an_error)
{
    refused(D, "2026-07-02", "2026-07-01T23:59:59Z", "dateTo", INVERTED);
    refused(H, "2026-07-02", "2026-07-01", "dateTo", INVERTED);
    refused(LATEST, "2026-07-02", "2026-07-01", "dateTo", INVERTED);
}
END_TEST

START_TEST(inverted_times_within_a_day_round_to_that_day)
{
    now_gives(D, "2026-07-02T20:00", "2026-07-02T10:00", "2026-07-02", "2026-07-03");
    now_gives(H, "2026-07-02T20:00", "2026-07-02T10:00", "2026-07-02", "2026-07-03");
    now_gives(LATEST, "2026-07-02T20:00", "2026-07-02T10:00", "2026-07-02", "2026-07-03");
}
END_TEST

START_TEST(inverted_times_are_an_error_where_exact_applies)
{
    refused(H | EXACT, "2026-07-02T20:00:00.000001", "2026-07-02T20:00", "dateTo", INVERTED);
    refused(H | EXACT, "2026-07-15T12:34:57", NULL, "dateTo", INVERTED);
    now_gives(D | EXACT, "2026-07-02T20:00", "2026-07-02T10:00", "2026-07-02", "2026-07-03");
    now_gives(H | EXACT | OTHER, "2026-07-02T20:00", "2026-07-02T10:00", "2026-07-02",
              "2026-07-03");
}
END_TEST

START_TEST(a_future_start_is_told_before_inversion_and_inversion_before_age)
{
    refused(D, "2026-07-17", "2026-07-16", "dateFrom", FUTURE);
    refused(D, "2020-01-02", "2020-01-01", "dateTo", INVERTED);
}
END_TEST

/* --- rule 4: age ------------------------------------------------------------------------- */

/* holds: statistics.hourly-30-days */
START_TEST(hourly_older_than_30_days_is_an_error)
{
    now_gives(H, "2026-06-16", NULL, "2026-06-16", "2026-07-16");
    now_gives(H, "2026-06-15", NULL, "2026-06-15", "2026-07-16");
    refused(H, "2026-06-14T23:59:59.999999Z", NULL, "dateFrom", HOURLY_OLD);
    refused(H | OTHER, "2026-06-14", NULL, "dateFrom", HOURLY_OLD);
    refused(H | EXACT, "2026-06-14T23:00", "2026-06-15", "dateFrom", HOURLY_OLD);
}
END_TEST

/* holds: statistics.daily-1-year */
START_TEST(daily_older_than_one_year_is_an_error)
{
    now_gives(D, "2025-07-16", "2025-07-20", "2025-07-16", "2025-07-21");
    now_gives(D, "2025-07-15", "2025-07-15", "2025-07-15", "2025-07-16");
    refused(D, "2025-07-14T23:59:59.999999Z", "2025-07-15", "dateFrom", DAILY_OLD);
    now_gives(D | OTHER, "2025-07-15", NULL, "2025-07-15", "2026-07-16");
    refused(D | OTHER, "2025-07-14", NULL, "dateFrom", DAILY_OLD);
}
END_TEST

START_TEST(a_year_before_29_february_is_28_february)
{
    gives(D, "2024-02-29T12:00Z", "2023-02-28", "2023-03-01", "2023-02-28", "2023-03-02");
    fails(D, "2024-02-29T12:00Z", "2023-02-27", "2023-03-01", TB_E_DATE_RANGE, "dateFrom",
          DAILY_OLD);
    gives(D, "2025-02-28", "2024-02-28", "2024-02-28", "2024-02-28", "2024-02-29");
    fails(D, "2025-03-01", "2024-02-29", "2024-03-01", TB_E_DATE_RANGE, "dateFrom", DAILY_OLD);
}
END_TEST

START_TEST(the_whole_year_of_a_leap_year_is_367_days)
{
    gives(D | OTHER, "2024-12-31", "2023-12-31", NULL, "2023-12-31", "2025-01-01");
}
END_TEST

/* holds: statistics.latest-no-age */
START_TEST(latest_has_no_age_limit)
{
    now_gives(LATEST, "2001-02-03", NULL, "2001-02-03", "2001-02-05");
    now_gives(LATEST | H, "2001-02-03", "2001-02-03T10:00", "2001-02-03", "2001-02-04");
}
END_TEST

START_TEST(age_is_told_before_width)
{
    refused(H, "2026-05-01", "2026-07-01", "dateFrom", HOURLY_OLD);
    refused(D, "2024-05-01", "2026-07-01", "dateFrom", DAILY_OLD);
}
END_TEST

/* --- rule 5: width ----------------------------------------------------------------------- */

/* holds: statistics.40-days */
START_TEST(wider_than_40_days_is_an_error)
{
    now_gives(D, "2026-05-01", "2026-06-09", "2026-05-01", "2026-06-10");
    now_gives(D, "2026-05-01", "2026-06-10T23:59:59.999999Z", "2026-05-01", "2026-06-11");
    refused(D, "2026-05-01T23:59:59Z", "2026-06-11", "dateTo", WIDE);
    refused(D, "2026-05-01", NULL, "dateTo", WIDE);
    refused(H, "2026-07-01", "2026-08-11", "dateTo", WIDE);
}
END_TEST

START_TEST(a_far_end_is_refused_for_its_width_before_it_is_clamped)
{
    refused(D, "2026-07-01", "2099-01-01", "dateTo", WIDE);
    now_gives(D, "2026-07-01", "2026-08-10", "2026-07-01", "2026-07-16");
}
END_TEST

/* holds: statistics.others-no-width */
START_TEST(the_other_endpoints_have_no_width_limit)
{
    now_gives(D | OTHER, "2025-08-01", "2026-07-01", "2025-08-01", "2026-07-02");
    now_gives(D | OTHER, "2026-07-01", "2099-01-01", "2026-07-01", "2026-07-16");
    now_gives(H | OTHER, "2026-07-01", "9999-12-31", "2026-07-01", "2026-07-16");
}
END_TEST

/* holds: statistics.latest-1-day */
START_TEST(latest_is_limited_to_24_hours_as_sent)
{
    now_gives(LATEST, "2026-07-01T10:00Z", "2026-07-02T09:59:59.999999Z", "2026-07-01",
              "2026-07-03");
    now_gives(LATEST, "2026-07-01T10:00Z", "2026-07-02T10:00Z", "2026-07-01", "2026-07-03");
    refused(LATEST, "2026-07-01T10:00Z", "2026-07-02T10:00:00.000001Z", "dateTo", WIDE_DAY);
    refused(LATEST, "2026-05-01", "2026-07-01", "dateTo", WIDE_DAY);
}
END_TEST

/* --- rule 6: rounding -------------------------------------------------------------------- */

/* holds: statistics.rounding */
START_TEST(days_are_rounded_outwards)
{
    now_gives(D, "2026-07-01T18:00", "2026-07-03T00:00", "2026-07-01", "2026-07-04");
    now_gives(H, "2026-07-01T18:00", "2026-07-03T00:00", "2026-07-01", "2026-07-04");
    now_gives(D, "2026-07-15", "2026-07-15", "2026-07-15", "2026-07-16");
}
END_TEST

/* holds: statistics.exact */
START_TEST(exact_keeps_the_hours_as_sent)
{
    now_gives(H | EXACT, "2026-07-01T10:20", "2026-07-01T12:40", "2026-07-01T10:00",
              "2026-07-01T13:00");
    now_gives(H | EXACT, "2026-07-01T10:20+01:30", "2026-07-02T00:10-00:30", "2026-07-01T08:00",
              "2026-07-02T01:00");
}
END_TEST

START_TEST(an_exact_end_on_the_hour_is_exclusive)
{
    now_gives(H | EXACT, "2026-07-01T10:00", "2026-07-01T12:00", "2026-07-01T10:00",
              "2026-07-01T12:00");
    now_gives(H | EXACT, "2026-07-01T10:00", "2026-07-01T12:00:00.000001", "2026-07-01T10:00",
              "2026-07-01T13:00");
    now_gives(H | EXACT, "2026-07-01T10:00", "2026-07-01T11:59:59.999999", "2026-07-01T10:00",
              "2026-07-01T12:00");
    now_gives(H | EXACT, "2026-07-01", "2026-07-02", "2026-07-01", "2026-07-02");
    now_gives(H | EXACT, "2026-07-01T10:30", "2026-07-01T11:00", "2026-07-01T10:00",
              "2026-07-01T11:00");
}
END_TEST

START_TEST(an_exact_instant_is_the_hour_that_holds_it)
{
    now_gives(H | EXACT, "2026-07-01T10:00", "2026-07-01T10:00", "2026-07-01T10:00",
              "2026-07-01T11:00");
    now_gives(H | EXACT, "2026-07-01T10:59:59.9", "2026-07-01T10:59:59.9", "2026-07-01T10:00",
              "2026-07-01T11:00");
    now_gives(H | EXACT, "2026-07-01", "2026-07-01", "2026-07-01", "2026-07-01T01:00");
}
END_TEST

/* holds: statistics.exact-needs-hourly */
START_TEST(exact_needs_hourly_and_statistics)
{
    now_gives(D | EXACT, "2026-07-01T10:00", "2026-07-01T12:00", "2026-07-01", "2026-07-02");
    now_gives(H | EXACT | OTHER, "2026-07-01T10:00", "2026-07-01T12:00", "2026-07-01",
              "2026-07-02");
}
END_TEST

START_TEST(exact_defaults_keep_the_hour_of_now)
{
    now_gives(H | EXACT, NULL, NULL, "2026-06-15T12:00", "2026-07-15T13:00");
    gives(H | EXACT, "2026-07-15T12:00Z", NULL, NULL, "2026-06-15T12:00", "2026-07-15T12:00");
}
END_TEST

/* --- rule 7: clamp ----------------------------------------------------------------------- */

START_TEST(the_end_never_passes_the_end_of_today)
{
    now_gives(D, "2026-07-01", "2026-07-31", "2026-07-01", "2026-07-16");
    now_gives(H, "2026-07-14", "2026-07-16", "2026-07-14", "2026-07-16");
    now_gives(D, "2026-07-14", "2026-07-15T23:59:59.999999", "2026-07-14", "2026-07-16");
}
END_TEST

START_TEST(todays_later_hours_are_present)
{
    now_gives(H, "2026-07-15", "2026-07-15", "2026-07-15", "2026-07-16");
    now_gives(H | EXACT, "2026-07-15T11:00", "2026-07-15T22:30", "2026-07-15T11:00",
              "2026-07-15T23:00");
}
END_TEST

START_TEST(the_exact_end_stops_at_the_end_of_today)
{
    now_gives(H | EXACT, "2026-07-15T11:00", "2026-07-16T00:00", "2026-07-15T11:00", "2026-07-16");
    now_gives(H | EXACT, "2026-07-15T11:00", "2026-07-16T00:00:00.000001", "2026-07-15T11:00",
              "2026-07-16");
    now_gives(H | EXACT, "2026-07-15T23:59", "2026-07-20", "2026-07-15T23:00", "2026-07-16");
}
END_TEST

/* --- the ends of the calendar ------------------------------------------------------------ */

START_TEST(a_default_start_stops_at_the_first_day_of_the_calendar)
{
    now_gives(LATEST, NULL, "0001-01-01T10:00", "0001-01-01", "0001-01-02");
    now_gives(LATEST | H | EXACT, NULL, "0001-01-01", "0001-01-01", "0001-01-01T01:00");
    gives(D, "0001-01-05", NULL, NULL, "0001-01-01", "0001-01-06");
    gives(H, "0001-01-05", "0001-01-01", NULL, "0001-01-01", "0001-01-06");
    refused(D, NULL, "0001-01-05", "dateFrom", DAILY_OLD);
}
END_TEST

START_TEST(the_last_day_of_the_calendar_is_a_day_like_others)
{
    tb_range_query query = {.from = text("9999-12-31"), .hourly = true, .statistics = true};
    tb_range range;
    ck_assert_int_eq(tb_range_resolve(&query, TB_US_LAST, &range, NULL), TB_OK);
    ck_assert_int_eq(range.count, 24);
    ck_assert_int_eq((range.first + 24) * TB_US_PER_HOUR - 1, TB_US_LAST);
}
END_TEST

START_TEST(a_clock_outside_the_calendar_counts_as_its_nearest_end)
{
    tb_range_query query = {.statistics = true};
    tb_range range;
    ck_assert_int_eq(tb_range_resolve(&query, INT64_MAX, &range, NULL), TB_OK);
    ck_assert_int_eq(range.first, tb_day_from_date((tb_date){9999, 11, 30}));
    ck_assert_int_eq(tb_range_resolve(&query, INT64_MIN, &range, NULL), TB_OK);
    ck_assert(range.first == tb_day_from_us(TB_US_FIRST) && range.count == 1);
}
END_TEST

static void add_rule_cases(Suite *suite)
{
    TCase *t = tcase_create("width, rounding, clamp");
    tcase_add_test(t, wider_than_40_days_is_an_error);
    tcase_add_test(t, a_far_end_is_refused_for_its_width_before_it_is_clamped);
    tcase_add_test(t, the_other_endpoints_have_no_width_limit);
    tcase_add_test(t, latest_is_limited_to_24_hours_as_sent);
    tcase_add_test(t, days_are_rounded_outwards);
    tcase_add_test(t, exact_keeps_the_hours_as_sent);
    tcase_add_test(t, an_exact_end_on_the_hour_is_exclusive);
    tcase_add_test(t, an_exact_instant_is_the_hour_that_holds_it);
    tcase_add_test(t, exact_needs_hourly_and_statistics);
    tcase_add_test(t, exact_defaults_keep_the_hour_of_now);
    tcase_add_test(t, the_end_never_passes_the_end_of_today);
    tcase_add_test(t, todays_later_hours_are_present);
    tcase_add_test(t, the_exact_end_stops_at_the_end_of_today);
    tcase_add_test(t, a_default_start_stops_at_the_first_day_of_the_calendar);
    tcase_add_test(t, the_last_day_of_the_calendar_is_a_day_like_others);
    tcase_add_test(t, a_clock_outside_the_calendar_counts_as_its_nearest_end);
    suite_add_tcase(suite, t);
}

static Suite *range_suite(void)
{
    Suite *suite = suite_create("range");
    TCase *t = tcase_create("dates, defaults, order, age");
    tcase_add_test(t, an_unparsable_date_names_its_parameter);
    tcase_add_test(t, date_from_is_read_before_date_to);
    tcase_add_test(t, an_unparsable_date_comes_before_every_rule);
    tcase_add_test(t, an_empty_value_is_absent);
    tcase_add_test(t, a_length_without_data_is_absent);
    tcase_add_test(t, an_offset_counts_before_the_rules);
    tcase_add_test(t, daily_without_dates_starts_on_the_same_day_of_the_preceding_month);
    tcase_add_test(t, a_day_the_preceding_month_lacks_becomes_its_last);
    tcase_add_test(t, hourly_without_dates_is_30_days_and_today);
    tcase_add_test(t, date_from_alone_runs_to_now);
    tcase_add_test(t, date_to_alone_mirrors_the_default);
    tcase_add_test(t, latest_has_no_default_range);
    tcase_add_test(t, latest_from_alone_ends_a_day_later_but_not_after_now);
    tcase_add_test(t, latest_to_alone_starts_a_day_earlier);
    tcase_add_test(t, latest_is_only_for_statistics);
    tcase_add_test(t, a_start_after_today_is_an_error);
    tcase_add_test(t, a_default_start_after_today_is_an_error_too);
    tcase_add_test(t, an_end_before_the_start_is_an_error);
    tcase_add_test(t, inverted_times_within_a_day_round_to_that_day);
    tcase_add_test(t, inverted_times_are_an_error_where_exact_applies);
    tcase_add_test(t, a_future_start_is_told_before_inversion_and_inversion_before_age);
    tcase_add_test(t, hourly_older_than_30_days_is_an_error);
    tcase_add_test(t, daily_older_than_one_year_is_an_error);
    tcase_add_test(t, a_year_before_29_february_is_28_february);
    tcase_add_test(t, the_whole_year_of_a_leap_year_is_367_days);
    tcase_add_test(t, latest_has_no_age_limit);
    tcase_add_test(t, age_is_told_before_width);
    suite_add_tcase(suite, t);
    add_rule_cases(suite);
    return suite;
}

int main(void)
{
    SRunner *runner = srunner_create(range_suite());
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
