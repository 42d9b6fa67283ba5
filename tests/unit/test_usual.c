/* What an account is usually billed: the median, and when a month is far from it. */
#include "ops/invoicing/usual.h"

#include <check.h>
#include <string.h>

static tb_decimal dec(const char *text)
{
    tb_decimal value;
    ck_assert_int_eq(tb_decimal_parse(text, strlen(text), TB_DECIMAL_SCALE_MAX, &value, NULL), TB_OK);
    return value;
}

static void is(tb_decimal value, const char *expected)
{
    char text[TB_DECIMAL_TEXT_MAX + 1];
    *tb_decimal_put(text, value) = 0;
    ck_assert_str_eq(text, expected);
}

/* past: up to three amounts, NULL after the last. */
static tb__usual usual_of(const char *const past[3], const char *now)
{
    const tb__usual_limits limits = {dec("50"), dec("10")};
    tb_decimal amounts[3];
    size_t n = 0;
    while (n < 3 && past[n]) {
        amounts[n] = dec(past[n]);
        n++;
    }
    return tb__usual_find(amounts, n, dec(now), &limits);
}
#define USUAL(now, ...) usual_of((const char *const[3]){__VA_ARGS__}, now)

START_TEST(a_bill_that_doubles_is_unusual)
{
    tb__usual u = USUAL("201.16", "99.57", "97.10", "101.00");
    ck_assert(u.is_unusual);
    ck_assert_uint_eq(u.n, 3);
    is(u.amount, "99.57");
    is(u.change, "101.59");
    is(u.percent, "102");
    u = USUAL("0", "99.57", "97.10", "101.00");
    ck_assert(u.is_unusual);
    is(u.change, "-99.57");
    is(u.percent, "-100");
}
END_TEST

START_TEST(one_odd_month_is_not_usual_and_the_next_one_is_measured_without_it)
{
    ck_assert(!USUAL("100.00", "201.16", "99.57", "97.10").is_unusual);
    ck_assert(USUAL("201.16", "201.16", "99.57", "97.10").is_unusual);
    ck_assert(!USUAL("201.16", "201.16", "201.16", "97.10").is_unusual);
}
END_TEST

START_TEST(both_limits_count_and_are_met_exactly)
{
    ck_assert(USUAL("30", "20").is_unusual);
    ck_assert(!USUAL("29.99", "20").is_unusual);     /* 9.99 */
    ck_assert(USUAL("300", "200", "200").is_unusual);
    ck_assert(!USUAL("299.99", "200", "200").is_unusual); /* 49.995 % */
    ck_assert(!USUAL("10.98", "0.99").is_unusual);   /* more than tenfold, and 9.99 */
    ck_assert(USUAL("10.99", "0.99").is_unusual);
}
END_TEST

START_TEST(of_two_months_the_mean_is_exact)
{
    tb__usual u = USUAL("50", "16.85", "16.86");
    is(u.amount, "16.855");
    is(u.change, "33.145");
    is(u.percent, "196.6"); /* 196.64... */
    is(USUAL("1.0005", "1").percent, "0.1"); /* half up */
    is(USUAL("0.9995", "1").percent, "-0.1");
}
END_TEST

START_TEST(months_that_came_to_nothing_do_not_count)
{
    tb__usual u = USUAL("500", "0", "50", "-3");
    ck_assert_uint_eq(u.n, 1);
    is(u.amount, "50");
    ck_assert(u.is_unusual);
    u = USUAL("500", "0", "0");
    ck_assert_uint_eq(u.n, 0);
    ck_assert(!u.is_unusual);
    ck_assert(!USUAL("500", NULL).is_unusual);
}
END_TEST

START_TEST(amounts_beyond_decimals_are_not_judged)
{
    const char *most = "170141183460469231731687303715884105727";
    tb__usual u = USUAL("1", most, most);
    ck_assert_uint_eq(u.n, 0);
    ck_assert(!u.is_unusual);
    ck_assert_uint_eq(USUAL(most, "0.01").n, 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("usual");
    TCase *t = tcase_create("usual");
    tcase_add_test(t, a_bill_that_doubles_is_unusual);
    tcase_add_test(t, one_odd_month_is_not_usual_and_the_next_one_is_measured_without_it);
    tcase_add_test(t, both_limits_count_and_are_met_exactly);
    tcase_add_test(t, of_two_months_the_mean_is_exact);
    tcase_add_test(t, months_that_came_to_nothing_do_not_count);
    tcase_add_test(t, amounts_beyond_decimals_are_not_judged);
    suite_add_tcase(suite, t);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? 1 : 0;
}
