/* Properties of decimals that hold for every value, asked of random ones: text reads back, the
 * operations obey the laws of arithmetic wherever they do not refuse, a rounded value is a nearest
 * one, prorated parts sum to the whole.
 *
 * TB_SEED reruns a failing run; the seed is printed at the start. */
#include "tollbook/decimal.h"
#include "prop/random.h"
#include "seed.h"

#include <check.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define ROUNDS test_rounds(30000)

__extension__ typedef unsigned __int128 u128;

/* All lengths up to `bits` alike, a quarter of them round numbers, both signs. */
static tb_i128 any_int(int bits)
{
    u128 size = ((u128)random_bits() << 64 | random_bits()) >> (128 - 1 - below(bits));
    if (below(4) == 0)
        for (size = 1 + (u128)below(9); below(6) && size < (u128)1 << (bits - 5);)
            size *= 10;
    return below(3) == 0 ? -(tb_i128)size : (tb_i128)size;
}

static tb_decimal any_decimal(int bits, int scales)
{
    return (tb_decimal){any_int(bits), below(scales + 1)};
}

static bool same(tb_decimal a, tb_decimal b)
{
    return tb_decimal_compare(a, b) == 0;
}

START_TEST(text_reads_back)
{
    for (int i = 0; i < ROUNDS; i++) {
        tb_decimal value = any_decimal(127, TB_DECIMAL_SCALE_MAX), back;
        char text[TB_DECIMAL_TEXT_MAX];
        char *end = tb_decimal_put_fixed(text, value, value.scale);
        ck_assert_int_eq(
            tb_decimal_parse(text, (size_t)(end - text), TB_DECIMAL_SCALE_MAX, &back, NULL), TB_OK);
        ck_assert(back.mantissa == value.mantissa && back.scale == value.scale);
        end = tb_decimal_put(text, value);
        ck_assert_int_eq(
            tb_decimal_parse(text, (size_t)(end - text), TB_DECIMAL_SCALE_MAX, &back, NULL), TB_OK);
        tb_decimal normal = tb_decimal_normal(value);
        ck_assert(back.mantissa == normal.mantissa && back.scale == normal.scale);
        ck_assert(normal.scale == 0 || end[-1] != '0');
    }
}
END_TEST

START_TEST(sums_can_be_taken_apart)
{
    for (int i = 0; i < ROUNDS; i++) {
        tb_decimal a = any_decimal(100, 24), b = any_decimal(100, 24), sum, other, back;
        tb_code code = tb_decimal_add(a, b, &sum, NULL);
        ck_assert_int_eq(tb_decimal_add(b, a, &other, NULL), code);
        if (code) continue;
        ck_assert(same(sum, other));
        ck_assert_int_eq(tb_decimal_sub(sum, b, &back, NULL), TB_OK);
        ck_assert(same(back, a));
        ck_assert_int_eq(tb_decimal_compare(sum, a), tb_decimal_sign(b));
    }
}
END_TEST

START_TEST(products_distribute_over_sums)
{
    for (int i = 0; i < ROUNDS; i++) {
        tb_decimal a = any_decimal(40, 9), b = any_decimal(40, 9), c = any_decimal(40, 9);
        tb_decimal sum, left, ac, bc, right;
        ck_assert_int_eq(tb_decimal_add(a, b, &sum, NULL), TB_OK);
        ck_assert_int_eq(tb_decimal_mul(sum, c, &left, NULL), TB_OK);
        ck_assert_int_eq(tb_decimal_mul(a, c, &ac, NULL), TB_OK);
        ck_assert_int_eq(tb_decimal_mul(b, c, &bc, NULL), TB_OK);
        ck_assert_int_eq(tb_decimal_add(ac, bc, &right, NULL), TB_OK);
        ck_assert(same(left, right));
    }
}
END_TEST

START_TEST(order_is_that_of_differences)
{
    for (int i = 0; i < ROUNDS; i++) {
        tb_decimal a = any_decimal(60, 12), b = any_decimal(60, 12), difference;
        if (below(4) == 0 && tb_decimal_shift(a, 0, &b, NULL)) continue;
        ck_assert_int_eq(tb_decimal_sub(a, b, &difference, NULL), TB_OK);
        ck_assert_int_eq(tb_decimal_compare(a, b), tb_decimal_sign(difference));
        ck_assert_int_eq(tb_decimal_compare(b, a), -tb_decimal_sign(difference));
    }
}
END_TEST

START_TEST(a_unit_change_can_be_undone)
{
    for (int i = 0; i < ROUNDS; i++) {
        tb_decimal value = any_decimal(127, 15), moved, back;
        int places = below(TB_DECIMAL_SCALE_MAX - 15 + 1);
        ck_assert_int_eq(tb_decimal_shift(value, places, &moved, NULL), TB_OK);
        ck_assert_int_eq(tb_decimal_shift(moved, -places, &back, NULL), TB_OK);
        ck_assert(back.mantissa == value.mantissa && back.scale == value.scale);
    }
}
END_TEST

/* 2 |value - rounded| <= one unit of the scale; a tie obeys its mode; the sign does not matter. */
START_TEST(rounded_is_nearest_and_symmetric)
{
    for (int i = 0; i < ROUNDS; i++) {
        tb_decimal value = any_decimal(90, 15), rounded, mirrored, error, twice;
        int scale = below(12);
        tb_rounding mode = below(2) ? TB_HALF_UP : TB_HALF_EVEN;
        if (below(2) && value.scale > scale) { /* a tie */
            ck_assert_int_eq(tb_decimal_round(value, scale, TB_HALF_UP, &value, NULL), TB_OK);
            u128 size = (u128)value.mantissa * 10 + 5;
            value = (tb_decimal){(tb_i128)size, scale + 1};
        }
        ck_assert_int_eq(tb_decimal_round(value, scale, mode, &rounded, NULL), TB_OK);
        tb_decimal negative = {-value.mantissa, value.scale};
        ck_assert_int_eq(tb_decimal_round(negative, scale, mode, &mirrored, NULL), TB_OK);
        ck_assert(mirrored.mantissa == -rounded.mantissa);
        ck_assert_int_eq(tb_decimal_sub(value, rounded, &error, NULL), TB_OK);
        ck_assert_int_eq(
            tb_decimal_mul_int(error, tb_decimal_sign(error) < 0 ? -2 : 2, &twice, NULL), TB_OK);
        int tie = tb_decimal_compare(twice, (tb_decimal){1, scale});
        ck_assert_int_le(tie, 0);
        if (tie == 0 && mode == TB_HALF_UP)
            ck_assert_int_eq(tb_decimal_sign(error), -tb_decimal_sign(value));
        if (tie == 0 && mode == TB_HALF_EVEN) ck_assert(rounded.mantissa % 2 == 0);
    }
}
END_TEST

/* billing.md 3: each part at 18 decimals, the last one the rest. */
START_TEST(prorated_parts_sum_to_the_whole)
{
    for (int i = 0; i < ROUNDS / 4; i++) {
        tb_decimal fee = {1 + below(1000000), below(7)}, part, sum = TB_DECIMAL_ZERO, rest, again;
        int month = 86400 * (28 + below(4)), left = month;
        for (int n = below(5); n > 0; n--) {
            int seconds = below(left + 1);
            left -= seconds;
            ck_assert_int_eq(
                tb_decimal_divide(fee, seconds, month, TB_PRORATE_SCALE, TB_HALF_UP, &part, NULL),
                TB_OK);
            ck_assert_int_eq(tb_decimal_add(sum, part, &sum, NULL), TB_OK);
        }
        ck_assert_int_eq(tb_decimal_sub(fee, sum, &rest, NULL), TB_OK);
        ck_assert_int_eq(
            tb_decimal_divide(fee, left, month, TB_PRORATE_SCALE, TB_HALF_UP, &part, NULL), TB_OK);
        /* The rest is what the last part would be, but for the roundings of the others. */
        ck_assert_int_eq(tb_decimal_sub(rest, part, &part, NULL), TB_OK);
        ck_assert(part.mantissa >= -3 && part.mantissa <= 3);
        ck_assert_int_eq(tb_decimal_add(sum, rest, &again, NULL), TB_OK);
        ck_assert(same(again, fee));
    }
}
END_TEST

/* divide x den comes back to value x num within half a unit times den. */
START_TEST(division_is_nearest)
{
    for (int i = 0; i < ROUNDS; i++) {
        tb_decimal value = any_decimal(40, 9), quotient, back, exact, error, bound;
        tb_i128 num = any_int(30), den = any_int(30);
        if (den <= 0) den = 1 - den;
        int scale = below(13);
        ck_assert_int_eq(tb_decimal_divide(value, num, den, scale, TB_HALF_UP, &quotient, NULL),
                         TB_OK);
        ck_assert_int_eq(tb_decimal_mul_int(quotient, den, &back, NULL), TB_OK);
        ck_assert_int_eq(tb_decimal_mul_int(value, num, &exact, NULL), TB_OK);
        ck_assert_int_eq(tb_decimal_sub(exact, back, &error, NULL), TB_OK);
        int sign = tb_decimal_sign(error) < 0 ? -2 : 2;
        ck_assert_int_eq(tb_decimal_mul_int(error, sign, &error, NULL), TB_OK);
        bound = (tb_decimal){den, scale};
        ck_assert_int_le(tb_decimal_compare(error, bound), 0);
    }
}
END_TEST

int main(void)
{
    seed = test_seed();
    Suite *suite = suite_create("decimal properties");
    TCase *t = tcase_create("decimal");
    tcase_add_checked_fixture(t, begin, NULL);
    tcase_set_timeout(t, 120);
    tcase_add_test(t, text_reads_back);
    tcase_add_test(t, sums_can_be_taken_apart);
    tcase_add_test(t, products_distribute_over_sums);
    tcase_add_test(t, order_is_that_of_differences);
    tcase_add_test(t, a_unit_change_can_be_undone);
    tcase_add_test(t, rounded_is_nearest_and_symmetric);
    tcase_add_test(t, prorated_parts_sum_to_the_whole);
    tcase_add_test(t, division_is_nearest);
    suite_add_tcase(suite, t);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
