/* GET /insights/why: the order of parts, what is left over, ratios; spans and what may be asked. The answers: http_why. */
#include "tollbook/statistics.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#define NOW_US (INT64_C(1793782800) * TB_US_PER_S) /* 2026-11-04T09:00:00Z */

static tb_text text(const char *s)
{
    return (tb_text){s, s ? strlen(s) : 0};
}

static int field_of(const char *word)
{
    int field;
    tb_error err = {0};
    ck_assert_int_eq(tb_why_field_parse(text(word), &field, &err), TB_OK);
    return field;
}

/* The JSON of parts, of which `top` are shown. */
static void is_shown(tb_why *why, size_t n, size_t top, const char *json)
{
    tb_buf out;
    tb_error err = {0};
    tb_buf_init(&out, 1 << 16, NULL);
    tb_why_rank(why, n, top);
    ck_assert_int_eq(tb_why_encode(why, &out, &err), TB_OK);
    tb_buf_add(&out, "", 1);
    ck_assert_str_eq(out.data, json);
    tb_buf_release(&out);
}

START_TEST(the_largest_changes_come_first_and_equal_ones_by_number)
{
    tb_why_part parts[] = {
        {.key = "7", .name = "seven", .order = 7, .now = {5, 0}, .before = {0, 0}},
        {.key = "3", .name = "three", .order = 3, .now = {0, 0}, .before = {5, 0}},
        {.key = "9", .name = "none", .order = 9},
        {.key = "8", .name = "same", .order = 8, .now = {4, 0}, .before = {4, 0}},
        {.key = "1", .name = "one", .order = 1, .now = {2, 0}, .before = {8, 0}},
    };
    tb_why why = {.field = field_of("bytes"), .total = {.now = {11, 0}, .before = {18, 0}}, .parts = parts};
    is_shown(&why, 5, 2, "{\"field\":\"bytes\",\"value\":\"11\",\"previous\":\"18\",\"change\":\"-7\",\"parts\":["
             "{\"key\":\"1\",\"name\":\"one\",\"value\":\"2\",\"previous\":\"8\",\"change\":\"-6\"},"
             "{\"key\":\"3\",\"name\":\"three\",\"value\":\"0\",\"previous\":\"5\",\"change\":\"-5\"}],"
             "\"rest\":{\"value\":\"9\",\"previous\":\"5\",\"change\":\"4\",\"count\":2}}");
}
END_TEST

START_TEST(money_has_its_digits)
{
    tb_why_part parts[] = {{.key = "volume", .name = "volume", .now = {172, 0}, .before = {-5, 0}}};
    tb_why why = {.field = TB_WHY_CHARGES, .digits = 2, .currency = "USD", .total = {.now = {172, 0}, .before = {-5, 0}},
                  .parts = parts};
    is_shown(&why, 1, 10, "{\"field\":\"charges\",\"currency\":\"USD\",\"value\":\"1.72\",\"previous\":\"-0.05\","
             "\"change\":\"1.77\",\"parts\":[{\"key\":\"volume\",\"name\":\"volume\",\"value\":\"1.72\","
             "\"previous\":\"-0.05\",\"change\":\"1.77\"}],\"rest\":{\"value\":\"0.00\",\"previous\":\"0.00\","
             "\"change\":\"0.00\",\"count\":0}}");
}
END_TEST

/* Both zones keep their rate, but the worse one grows: the whole falls by both weights. */
START_TEST(a_ratio_is_moved_by_weights_too)
{
    tb_why_part parts[] = {
        {.key = "1", .name = "good", .order = 1, .now = {90, 100}, .before = {90, 100}},
        {.key = "2", .name = "bad", .order = 2, .now = {100, 200}, .before = {50, 100}},
    };
    tb_why why = {.field = field_of("hit_rate"), .total = {.now = {190, 300}, .before = {140, 200}}, .parts = parts};
    is_shown(&why, 2, 10, "{\"field\":\"hit_rate\",\"value\":\"63.333333\",\"previous\":\"70\",\"change\":\"-6.666667\","
             "\"parts\":[{\"key\":\"2\",\"name\":\"bad\",\"value\":\"50\",\"previous\":\"50\",\"change\":\"-3.333334\"},"
             "{\"key\":\"1\",\"name\":\"good\",\"value\":\"90\",\"previous\":\"90\",\"change\":\"-3.333333\"}],"
             "\"rest\":{\"value\":null,\"previous\":null,\"change\":\"0\",\"count\":0}}");
}
END_TEST

START_TEST(a_ratio_over_nothing_is_null)
{
    tb_why_part parts[] = {{.key = "1", .name = "a", .order = 1, .now = {30, 40}}};
    tb_why why = {.field = field_of("hit_rate"), .total = {.now = {30, 40}}, .parts = parts};
    is_shown(&why, 1, 10, "{\"field\":\"hit_rate\",\"value\":\"75\",\"previous\":null,\"change\":\"75\",\"parts\":["
             "{\"key\":\"1\",\"name\":\"a\",\"value\":\"75\",\"previous\":null,\"change\":\"75\"}],"
             "\"rest\":{\"value\":null,\"previous\":null,\"change\":\"0\",\"count\":0}}");
}
END_TEST

static tb_range span(const char *from, const char *to)
{
    tb_range hours = {0};
    tb_error err = {0};
    const tb_span_query q = {text(from), text(to), "from", "to"};
    ck_assert_msg(tb_span_resolve(&q, NOW_US, &hours, &err) == TB_OK, "%s %s: %s", from, to, err.message);
    return hours;
}

START_TEST(spans_are_hours_and_go_on_after_today)
{
    const tb_range days = span("2026-11-01", "2026-11-30"), part = span("2026-11-01", "2026-11-04T09:30Z");
    ck_assert(days.hourly && days.count == 30 * 24);
    ck_assert_int_eq(part.first, days.first);
    ck_assert_uint_eq(part.count, 3 * 24 + 10);
    tb_range hours;
    tb_error err = {0};
    const tb_span_query late = {text("2026-11-05"), text("2026-11-06"), "against_from", "against_to"};
    ck_assert_int_eq(tb_span_resolve(&late, NOW_US, &hours, &err), TB_E_DATE_RANGE);
    ck_assert_str_eq(err.field, "against_from");
}
END_TEST

START_TEST(charges_take_whole_months)
{
    tb_why_query q = {.scope = {1, TB_ALL, NULL}, .field = TB_WHY_CHARGES, .by = TB_WHY_ZONE, .now_us = NOW_US};
    tb_error err = {0};
    q.now = span("2026-10-01", "2026-11-30"), q.before = span("2024-02-01", "2024-02-29");
    ck_assert_int_eq(tb_why_check(&q, &err), TB_OK);
    q.before = span("2024-02-01", "2024-02-28");
    ck_assert_int_eq(tb_why_check(&q, &err), TB_E_VALIDATION);
    ck_assert_str_eq(err.field, "against_from");
    q.before = span("2026-10-01", "2026-10-31"), q.by = TB_WHY_DAY;
    ck_assert_int_eq(tb_why_check(&q, &err), TB_E_VALIDATION);
    ck_assert_str_eq(err.field, "by");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("why");
    TCase *t = tcase_create("why");
    tcase_add_test(t, the_largest_changes_come_first_and_equal_ones_by_number);
    tcase_add_test(t, money_has_its_digits);
    tcase_add_test(t, a_ratio_is_moved_by_weights_too);
    tcase_add_test(t, a_ratio_over_nothing_is_null);
    tcase_add_test(t, spans_are_hours_and_go_on_after_today);
    tcase_add_test(t, charges_take_whole_months);
    suite_add_tcase(suite, t);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    const int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
