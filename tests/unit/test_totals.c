/* tariff.h, the totals: sorting, sums from the left, and what many months come to together. That
 * totals are the sums of single amounts for any tiers is asked by tests/prop/prop_tariff.c. */
#include "tollbook/tariff.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#define MOST 3000

static uint64_t units[MOST], scratch[MOST], expected[MOST];
static tb_i128 before[MOST + 1];

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static uint64_t random_bits(uint64_t *state)
{
    uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

START_TEST(sorting_is_sorting)
{
    uint64_t state = 7;
    for (size_t n = 0; n <= MOST; n = n * 2 + 1)
        for (unsigned bits = 1; bits <= 64; bits += 7) {
            for (size_t i = 0; i < n; i++)
                units[i] = expected[i] = random_bits(&state) >> (64 - bits);
            qsort(expected, n, sizeof *expected, by_value);
            tb_units_sort(units, n, scratch);
            ck_assert(memcmp(units, expected, n * sizeof *units) == 0);
        }
}
END_TEST

START_TEST(sums_begin_with_nothing)
{
    const uint64_t few[3] = {1, UINT64_MAX, UINT64_MAX};
    tb_units_sum(few, 3, before);
    ck_assert(before[0] == 0 && before[1] == 1 && before[2] == (tb_i128)1 << 64);
    ck_assert(before[3] == ((tb_i128)1 << 65) - 1);
}
END_TEST

static tb_tiers two_tiers(tb_tier_mode mode, tb_decimal low, tb_decimal high)
{
    tb_tiers t = {.mode = mode, .n = 2};
    t.tier[0] = (tb_tier){.to = 100, .price = low};
    t.tier[1] = (tb_tier){.from = 100, .open = true, .price = high};
    return t;
}

START_TEST(a_total_is_the_sum_of_amounts)
{
    tb_tiers t = two_tiers(TB_GRADUATED, (tb_decimal){6, 1}, (tb_decimal){4, 1});
    tb_tariff tariff;
    tb_i128 total;
    const uint64_t few[4] = {0, 100, 101, 200};
    ck_assert_int_eq(tb_tariff_prepare(&t, &tariff, NULL), TB_OK);
    tb_units_sum(few, 4, before);
    ck_assert_int_eq(tb_tariff_total_sorted(&tariff, few, before, 4, &total, NULL), TB_OK);
    ck_assert(total == 600 + 604 + 1000);
    ck_assert_int_eq(tb_tariff_total_sorted(&tariff, few, before, 0, &total, NULL), TB_OK);
    ck_assert(total == 0);
}
END_TEST

/* 10^18 units at the safe price are just below 2^127: one such month fits, two do not. */
START_TEST(a_total_is_refused_never_wrapped)
{
    tb_decimal safe = {(tb_i128)170141183460 * 1000000000 + 469231731, 0};
    tb_tiers t = two_tiers(TB_GRADUATED, (tb_decimal){0, 0}, safe);
    tb_tariff tariff;
    tb_error err = {0};
    tb_i128 total = 42;
    uint64_t few[2] = {(uint64_t)TB_UNITS_MAX, (uint64_t)TB_UNITS_MAX};
    ck_assert_int_eq(tb_tariff_prepare(&t, &tariff, NULL), TB_OK);
    tb_units_sum(few, 2, before);
    ck_assert_int_eq(tb_tariff_total_sorted(&tariff, few, before, 1, &total, &err), TB_OK);
    ck_assert(total == safe.mantissa * (TB_UNITS_MAX - 100));
    total = 42;
    ck_assert_int_eq(tb_tariff_total_sorted(&tariff, few, before, 2, &total, &err), TB_E_OVERFLOW);
    ck_assert_uint_eq(err.line, 2);
    few[0] = few[1] = UINT64_MAX;
    tb_units_sum(few, 2, before);
    ck_assert_int_eq(tb_tariff_total_sorted(&tariff, few, before, 2, &total, &err), TB_E_OVERFLOW);
    ck_assert_uint_eq(err.line, 1);
    ck_assert(total == 42);
}
END_TEST

/* The bound is cautious: where n times the largest amount passes, months are added one by one. */
START_TEST(a_total_that_fits_is_given_even_where_the_bound_does_not)
{
    tb_decimal safe = {(tb_i128)170141183460 * 1000000000, 0};
    tb_tiers t = two_tiers(TB_GRADUATED, (tb_decimal){0, 0}, safe);
    tb_tariff tariff;
    tb_i128 total;
    const uint64_t few[3] = {1, 2, (uint64_t)TB_UNITS_MAX};
    ck_assert_int_eq(tb_tariff_prepare(&t, &tariff, NULL), TB_OK);
    tb_units_sum(few, 3, before);
    ck_assert_int_eq(tb_tariff_total_sorted(&tariff, few, before, 3, &total, NULL), TB_OK);
    ck_assert(total == safe.mantissa * (TB_UNITS_MAX - 100));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("totals");
    TCase *t = tcase_create("totals");
    tcase_add_test(t, sorting_is_sorting);
    tcase_add_test(t, sums_begin_with_nothing);
    tcase_add_test(t, a_total_is_the_sum_of_amounts);
    tcase_add_test(t, a_total_is_refused_never_wrapped);
    tcase_add_test(t, a_total_that_fits_is_given_even_where_the_bound_does_not);
    suite_add_tcase(suite, t);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
