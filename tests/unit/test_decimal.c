/* decimal.h: text, rounding, and every limit at its edge. Random values are the business of
 * tests/oracle/decimal_oracle.py and tests/prop/prop_decimal.c. */
#include "tollbook/decimal.h"

#include "base/quick.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#define MANTISSA_MAX "170141183460469231731687303715884105727" /* 2^127 - 1 */

static tb_decimal read_as(const char *text, int max_scale)
{
    tb_decimal value;
    tb_error err = {0};
    ck_assert_msg(tb_decimal_parse(text, strlen(text), max_scale, &value, &err) == TB_OK, "%s: %s",
                  text, err.message);
    return value;
}

static tb_decimal dec(const char *text)
{
    return read_as(text, TB_DECIMAL_SCALE_MAX);
}

static void prints(tb_decimal value, const char *expected)
{
    char text[TB_DECIMAL_TEXT_MAX];
    *tb_decimal_put(text, value) = 0;
    ck_assert_str_eq(text, expected);
}

static void prints_fixed(const char *value, int scale, const char *expected)
{
    char text[TB_DECIMAL_TEXT_MAX];
    *tb_decimal_put_fixed(text, dec(value), scale) = 0;
    ck_assert_str_eq(text, expected);
}

static void refused(const char *text, int max_scale, uint64_t byte, const char *message)
{
    tb_decimal value = {42, 7};
    tb_error err = {0};
    ck_assert_msg(tb_decimal_parse(text, strlen(text), max_scale, &value, &err) == TB_E_VALIDATION,
                  "accepted: %s", text);
    ck_assert_int_eq(err.code, TB_E_VALIDATION);
    ck_assert_uint_eq(err.byte, byte);
    ck_assert_str_eq(err.message, message);
    ck_assert_msg(value.mantissa == 42 && value.scale == 7, "written on failure: %s", text);
    ck_assert_int_eq(tb_decimal_parse(text, strlen(text), max_scale, &value, NULL),
                     TB_E_VALIDATION);
}

START_TEST(text_becomes_mantissa_and_scale)
{
    tb_decimal value = read_as("-12.340", 15);
    ck_assert_msg(value.mantissa == -12340, "mantissa");
    ck_assert_int_eq(value.scale, 3);
    value = read_as("0.000000000000001", 15);
    ck_assert_msg(value.mantissa == 1, "mantissa");
    ck_assert_int_eq(value.scale, 15);
    ck_assert_int_eq(read_as("7", 0).scale, 0);
    ck_assert_int_eq(tb_decimal_sign(read_as("-0", 0)), 0);
    ck_assert_int_eq(tb_decimal_sign(read_as("-0.00", 2)), 0);
}
END_TEST

START_TEST(what_is_no_decimal_is_refused_at_its_place)
{
    static const char digit[] = "A digit is expected here.",
                      only[] = "A decimal has only digits and one point.",
                      zero[] = "No digit may follow a zero at the start.",
                      after[] = "A digit must follow the point.";
    refused("", 15, 1, digit);
    refused("-", 15, 2, digit);
    refused("+1", 15, 1, digit);
    refused("--1", 15, 2, digit);
    refused(".5", 15, 1, digit);
    refused("-.5", 15, 2, digit);
    refused(" 1", 15, 1, digit);
    refused("NaN", 15, 1, digit);
    refused("inf", 15, 1, digit);
    refused("-inf", 15, 2, digit);
    refused("1 ", 15, 2, only);
    refused("1e5", 15, 2, only);
    refused("1.5e-3", 15, 4, only);
    refused("1,5", 15, 2, only);
    refused("1_000", 15, 2, only);
    refused("0x10", 15, 2, only);
    refused("1.2.3", 15, 4, only);
    refused("00", 15, 2, zero);
    refused("-01", 15, 3, zero);
    refused("5.", 15, 3, after);
    refused("5.-1", 15, 3, after);
}
END_TEST

START_TEST(the_text_ends_where_its_length_says)
{
    tb_decimal value;
    ck_assert_int_eq(tb_decimal_parse("1234", 2, 15, &value, NULL), TB_OK);
    prints(value, "12");
    ck_assert_int_eq(tb_decimal_parse("1\0", 2, 15, &value, NULL), TB_E_VALIDATION);
    ck_assert_int_eq(tb_decimal_parse("1.5", 2, 15, &value, NULL), TB_E_VALIDATION);
}
END_TEST

START_TEST(digits_after_the_point_are_limited)
{
    prints(read_as("0.12", 2), "0.12");
    refused("0.123", 2, 5, "At most 2 digits may follow the point.");
    refused("0.120", 2, 5, "At most 2 digits may follow the point.");
    refused("1.0", 0, 3, "At most 0 digits may follow the point.");
    prints(read_as("0.000000000000000000000000000000000001", 99),
           "0.000000000000000000000000000000000001");
    refused("0.0000000000000000000000000000000000001", 99, 39,
            "At most 36 digits may follow the point.");
}
END_TEST

START_TEST(the_mantissa_ends_at_2_to_the_127_minus_1)
{
    prints(dec(MANTISSA_MAX), MANTISSA_MAX);
    prints(dec("-" MANTISSA_MAX), "-" MANTISSA_MAX);
    prints(dec("170.141183460469231731687303715884105727"),
           "170.141183460469231731687303715884105727");
    refused("170141183460469231731687303715884105728", 0, 39,
            "The number passes 2^127-1 units of 10^-0.");
    refused("-1701411834604692317316873037158841057270", 0, 41,
            "The number passes 2^127-1 units of 10^-0.");
    refused("170.141183460469231731687303715884105728", 36, 40,
            "The number passes 2^127-1 units of 10^-36.");
}
END_TEST

START_TEST(text_has_no_exponent_and_no_needless_zero)
{
    prints(dec("0"), "0");
    prints(dec("-0.000"), "0");
    prints(dec("1.500"), "1.5");
    prints(dec("100"), "100");
    prints(dec("-0.50"), "-0.5");
    prints(dec("0.00089716735"), "0.00089716735");
    prints(dec("9.50"), "9.5");
    prints(tb_decimal_from_int((tb_i128)1000000000000000000), "1000000000000000000");
    prints(tb_decimal_from_int((tb_i128)UINT64_MAX * 10 + 5), "184467440737095516155");
    prints(dec("10000000000000000000"), "10000000000000000000");
    prints(dec("100000000000000000000000000000000000000"),
           "100000000000000000000000000000000000000");
}
END_TEST

START_TEST(fixed_text_has_the_digits_of_its_currency)
{
    prints_fixed("9.5", 2, "9.50");
    prints_fixed("9", 2, "9.00");
    prints_fixed("9", 0, "9");
    prints_fixed("0", 3, "0.000");
    prints_fixed("-0.1", 2, "-0.10");
    prints_fixed("1.500", 1, "1.5");
    prints_fixed("0.005", 2, "0.005");
    prints_fixed("1", -1, "1");
}
END_TEST

START_TEST(the_longest_text_fits_its_room)
{
    char text[TB_DECIMAL_TEXT_MAX];
    char *end = tb_decimal_put_fixed(text, dec("-" MANTISSA_MAX), TB_DECIMAL_SCALE_MAX);
    ck_assert_int_eq(end - text, 1 + 39 + 1 + 36);
    ck_assert_ptr_eq(tb_decimal_put_fixed(text, dec("-" MANTISSA_MAX), 1000), end);
}
END_TEST

START_TEST(comparing_looks_at_the_value_alone)
{
    ck_assert_int_eq(tb_decimal_compare(dec("1.50"), dec("1.5")), 0);
    ck_assert_int_eq(tb_decimal_compare(dec("-0.0"), dec("0")), 0);
    ck_assert_int_eq(tb_decimal_compare(dec("-2"), dec("1")), -1);
    ck_assert_int_eq(tb_decimal_compare(dec("-2"), dec("-1.999")), -1);
    ck_assert_int_eq(tb_decimal_compare(dec("0.1"), dec("0.09")), 1);
    tb_decimal fine = dec("0.000000000000000000000000000000000001");
    ck_assert_int_eq(tb_decimal_compare(dec(MANTISSA_MAX), fine), 1);
    ck_assert_int_eq(tb_decimal_compare(fine, dec(MANTISSA_MAX)), -1);
    ck_assert_int_eq(tb_decimal_compare(dec("-" MANTISSA_MAX), fine), -1);
    ck_assert_int_eq(tb_decimal_sign(dec("-0.1")), -1);
    ck_assert_int_eq(tb_decimal_sign(dec("0.1")), 1);
}
END_TEST

START_TEST(normal_has_the_smallest_scale)
{
    tb_decimal value = tb_decimal_normal(dec("-12.34000"));
    ck_assert_int_eq(value.scale, 2);
    ck_assert_int_eq(tb_decimal_normal(dec("1200")).scale, 0);
    ck_assert_int_eq(tb_decimal_normal(dec("1200.00")).scale, 0);
    ck_assert_int_eq(tb_decimal_normal(dec("0.000000")).scale, 0);
    ck_assert_int_eq(tb_decimal_normal(dec("1.000000000000000000000000000000000000")).scale, 0);
    ck_assert_int_eq(tb_decimal_normal(dec("0.000000000000000000000000000000000001")).scale, 36);
}
END_TEST

typedef tb_code (*operation)(tb_decimal a, tb_decimal b, tb_decimal *ret, tb_error *err);

static void gives(operation op, const char *a, const char *b, const char *expected)
{
    tb_decimal value;
    ck_assert_int_eq(op(dec(a), dec(b), &value, NULL), TB_OK);
    char text[TB_DECIMAL_TEXT_MAX];
    *tb_decimal_put_fixed(text, value, value.scale) = 0;
    ck_assert_str_eq(text, expected);
}

static void overflows(operation op, const char *a, const char *b, const char *message)
{
    tb_decimal value = {42, 7};
    tb_error err = {0};
    ck_assert_int_eq(op(dec(a), dec(b), &value, &err), TB_E_OVERFLOW);
    ck_assert_int_eq(err.code, TB_E_OVERFLOW);
    ck_assert_str_eq(err.message, message);
    ck_assert_msg(value.mantissa == 42 && value.scale == 7, "written on failure");
    ck_assert_int_eq(op(dec(a), dec(b), &value, NULL), TB_E_OVERFLOW);
}

START_TEST(sums_are_exact_or_refused)
{
    gives(tb_decimal_add, "0.1", "0.20", "0.30");
    gives(tb_decimal_add, "0.1", "-0.1", "0.0");
    gives(tb_decimal_sub, "1", "0.000000000000001", "0.999999999999999");
    gives(tb_decimal_sub, "-" MANTISSA_MAX, "-" MANTISSA_MAX, "0");
    gives(tb_decimal_add, MANTISSA_MAX, "-1", "170141183460469231731687303715884105726");
    overflows(tb_decimal_add, MANTISSA_MAX, "1", "The sum passes 2^127-1 units of 10^-0.");
    overflows(tb_decimal_sub, "-" MANTISSA_MAX, "1",
              "The difference passes 2^127-1 units of 10^-0.");
    overflows(tb_decimal_add, MANTISSA_MAX, "0.1", "The sum passes 2^127-1 units of 10^-1.");
}
END_TEST

START_TEST(products_are_exact_or_refused)
{
    gives(tb_decimal_mul, "-1.5", "0.02", "-0.030");
    gives(tb_decimal_mul, "0.00", "-5", "0.00");
    gives(tb_decimal_mul, "1000000000000000000", "170.141183460469231",
          "170141183460469231000.000000000000000");
    overflows(tb_decimal_mul, "1000000000000000000", "170141.183460469231732",
              "The product passes 2^127-1 units of 10^-15.");
    overflows(tb_decimal_mul, MANTISSA_MAX, MANTISSA_MAX,
              "The product passes 2^127-1 units of 10^-0.");
    overflows(tb_decimal_mul, "0.0000000000000000001", "0.000000000000000001",
              "The product has more than 36 digits after the point.");
    tb_decimal value;
    ck_assert_int_eq(tb_decimal_mul_int(dec("0.00000000001"), 89716735, &value, NULL), TB_OK);
    prints(value, "0.00089716735");
}
END_TEST

/* The safe price: 10^18 units at 15 digits after the point (billing.md 1). */
START_TEST(a_safe_price_times_10_to_the_18_fits)
{
    gives(tb_decimal_mul, "1000000000000000000", "170141.183460469231731",
          "170141183460469231731000.000000000000000");
}
END_TEST

static void shifts(const char *value, int places, const char *expected)
{
    tb_decimal result;
    ck_assert_int_eq(tb_decimal_shift(dec(value), places, &result, NULL), TB_OK);
    char text[TB_DECIMAL_TEXT_MAX];
    *tb_decimal_put_fixed(text, result, result.scale) = 0;
    ck_assert_str_eq(text, expected);
}

START_TEST(a_unit_change_moves_the_point)
{
    shifts("0.01", 9, "0.00000000001");
    shifts("0.65", 6, "0.00000065");
    shifts("500000", -9, "500000000000000");
    shifts("0.5", -9, "500000000");
    shifts("1.250", -2, "125.0");
    shifts("1000", 36, "0.000000000000000000000000000000001000");
    shifts("1000", 39, "0.000000000000000000000000000000000001");
    shifts("0", 2, "0.00");
    shifts("0", 1000, "0.000000000000000000000000000000000000");
    shifts("0.00", -1000, "0");
    shifts("0.00", INT32_MAX, "0.000000000000000000000000000000000000");
    shifts("0.00", INT32_MIN, "0");
    shifts("1", -38, "100000000000000000000000000000000000000");
    tb_decimal value = {42, 7};
    tb_error err;
    ck_assert_int_eq(tb_decimal_shift(dec("1"), 37, &value, &err), TB_E_OVERFLOW);
    ck_assert_str_eq(err.message,
                     "The result of a unit change has more than 36 digits after the point.");
    ck_assert_int_eq(tb_decimal_shift(dec("1"), -39, &value, &err), TB_E_OVERFLOW);
    ck_assert_str_eq(err.message, "The result of a unit change passes 2^127-1 units of 10^-0.");
    ck_assert_int_eq(tb_decimal_shift(dec("2"), -38, &value, &err), TB_E_OVERFLOW);
    ck_assert_int_eq(tb_decimal_shift(dec("1"), INT32_MAX - 36, &value, &err), TB_E_OVERFLOW);
    ck_assert_int_eq(tb_decimal_shift(dec("1"), INT32_MIN, &value, &err), TB_E_OVERFLOW);
    tb_decimal smallest = dec("0.000000000000000000000000000000000101");
    ck_assert_int_eq(tb_decimal_shift(smallest, -78, &value, &err), TB_E_OVERFLOW);
    ck_assert_msg(value.mantissa == 42 && value.scale == 7, "written on failure");
}
END_TEST

static void rounds(const char *value, int scale, tb_rounding mode, const char *expected)
{
    tb_decimal result;
    ck_assert_int_eq(tb_decimal_round(dec(value), scale, mode, &result, NULL), TB_OK);
    ck_assert_int_eq(result.scale, scale);
    char text[TB_DECIMAL_TEXT_MAX];
    *tb_decimal_put_fixed(text, result, scale) = 0;
    ck_assert_str_eq(text, expected);
}

START_TEST(half_up_goes_away_from_zero)
{
    rounds("2.675", 2, TB_HALF_UP, "2.68");
    rounds("-2.675", 2, TB_HALF_UP, "-2.68");
    rounds("2.674999999999999", 2, TB_HALF_UP, "2.67");
    rounds("0.5", 0, TB_HALF_UP, "1");
    rounds("-0.5", 0, TB_HALF_UP, "-1");
    rounds("-0.4", 0, TB_HALF_UP, "0");
    rounds("1.5", 3, TB_HALF_UP, "1.500");
    rounds("0.999", 2, TB_HALF_UP, "1.00");
}
END_TEST

START_TEST(half_even_goes_to_the_even_neighbour)
{
    rounds("2.675", 2, TB_HALF_EVEN, "2.68");
    rounds("2.665", 2, TB_HALF_EVEN, "2.66");
    rounds("-2.665", 2, TB_HALF_EVEN, "-2.66");
    rounds("2.6650000000000001", 2, TB_HALF_EVEN, "2.67");
    rounds("0.5", 0, TB_HALF_EVEN, "0");
    rounds("1.5", 0, TB_HALF_EVEN, "2");
    rounds("-2.5", 0, TB_HALF_EVEN, "-2");
}
END_TEST

START_TEST(rounding_checks_its_limits)
{
    tb_decimal value = {42, 7};
    tb_error err;
    rounds("1", 36, TB_HALF_UP, "1.000000000000000000000000000000000000");
    ck_assert_int_eq(tb_decimal_round(dec("171"), 36, TB_HALF_UP, &value, &err), TB_E_OVERFLOW);
    ck_assert_str_eq(err.message, "The quotient passes 2^127-1 units of 10^-36.");
    ck_assert_int_eq(tb_decimal_round(dec("1"), 37, TB_HALF_UP, &value, &err), TB_E_OVERFLOW);
    ck_assert_int_eq(tb_decimal_round(dec("1"), -1, TB_HALF_UP, &value, &err), TB_E_OVERFLOW);
    ck_assert_msg(value.mantissa == 42 && value.scale == 7, "written on failure");
}
END_TEST

static void divides(const char *value, tb_i128 num, tb_i128 den, int scale, tb_rounding mode,
                    const char *expected)
{
    tb_decimal result;
    tb_error err = {0};
    ck_assert_msg(tb_decimal_divide(dec(value), num, den, scale, mode, &result, &err) == TB_OK,
                  "%s", err.message);
    char text[TB_DECIMAL_TEXT_MAX];
    *tb_decimal_put_fixed(text, result, scale) = 0;
    ck_assert_str_eq(text, expected);
}

START_TEST(division_rounds_once)
{
    divides("9.50", 1296000, 2592000, 18, TB_HALF_UP, "4.750000000000000000");
    divides("9.50", 1, 2678400, 18, TB_HALF_UP, "0.000003546893667861");
    divides("1", 1, 3, 2, TB_HALF_UP, "0.33");
    divides("1", 2, 3, 2, TB_HALF_UP, "0.67");
    divides("1", -2, 3, 2, TB_HALF_UP, "-0.67");
    /* 0.1249999...: rounding twice, first to three digits, would give 0.13. */
    divides("0.1249999", 1, 1, 2, TB_HALF_UP, "0.12");
    /* 0.25 + a rest that only the first division sees. */
    divides("0.2500000000000001", 1, 1, 1, TB_HALF_EVEN, "0.3");
    divides("0.500", 1, 2, 1, TB_HALF_EVEN, "0.2");
    divides("0.501", 1, 2, 1, TB_HALF_EVEN, "0.3");
    divides("1.000", 1, 3, 0, TB_HALF_UP, "0");
    divides("1", 1, 8, 2, TB_HALF_EVEN, "0.12");
    divides("3", 1, 8, 2, TB_HALF_EVEN, "0.38");
}
END_TEST

/* A share of a month's total among zones: the product passes 128 bits. */
START_TEST(only_the_quotient_must_fit)
{
    tb_i128 exa = 1000000000000000000;
    divides("5000000000.000000000000000000000000", exa - 1, exa, 24, TB_HALF_UP,
            "4999999999.999999995000000000000000");
    divides(MANTISSA_MAX, exa, exa, 0, TB_HALF_UP, MANTISSA_MAX);
    tb_i128 most = dec(MANTISSA_MAX).mantissa;
    divides("-" MANTISSA_MAX, most, most, 0, TB_HALF_UP, "-" MANTISSA_MAX);
    divides("1", most, most, 36, TB_HALF_UP, "1.000000000000000000000000000000000000");
    divides("1", most - 1, most, 36, TB_HALF_UP, "1.000000000000000000000000000000000000");
    /* Past 2^128 without a rest, and then a tie. */
    divides("10000000000000000000000000000000000000.1", 5, 1, 0, TB_HALF_EVEN,
            "50000000000000000000000000000000000000");
    tb_decimal value = {42, 7};
    tb_error err;
    ck_assert_int_eq(tb_decimal_divide(dec(MANTISSA_MAX), 2, 1, 0, TB_HALF_UP, &value, &err),
                     TB_E_OVERFLOW);
    ck_assert_int_eq(tb_decimal_divide(dec(MANTISSA_MAX), most, 1, 0, TB_HALF_UP, &value, &err),
                     TB_E_OVERFLOW);
    ck_assert_str_eq(err.message, "The quotient passes 2^127-1 units of 10^-0.");
    /* 2^128 + 2 tenths must not come out as 2. */
    tb_decimal third = dec("113427455640312821154458202477256070486");
    ck_assert_int_eq(tb_decimal_divide(third, 3, 10, 1, TB_HALF_UP, &value, &err), TB_E_OVERFLOW);
    ck_assert_int_eq(tb_decimal_divide(dec("1"), 1, 0, 0, TB_HALF_UP, &value, &err),
                     TB_E_VALIDATION);
    ck_assert_int_eq(tb_decimal_divide(dec("1"), 1, -1, 0, TB_HALF_UP, &value, &err),
                     TB_E_VALIDATION);
    ck_assert_msg(value.mantissa == 42 && value.scale == 7, "written on failure");
}
END_TEST

/* --- sums --- */

static void sum_prints(tb_sum sum, const char *expected)
{
    char text[TB_DECIMAL_TEXT_MAX];
    *tb_sum_put(text, sum) = 0;
    ck_assert_str_eq(text, expected);
}

START_TEST(a_sum_holds_values_of_any_scales)
{
    tb_sum sum = TB_SUM_ZERO;
    tb_decimal value;
    sum_prints(sum, "0");
    ck_assert_int_eq(tb_sum_add(&sum, dec("500000000000000"), NULL), TB_OK);
    ck_assert_int_eq(tb_sum_add(&sum, dec("0.000000000000000000000001"), NULL), TB_OK);
    sum_prints(sum, "500000000000000.000000000000000000000001");
    ck_assert_int_eq(tb_sum_decimal(sum, &value, NULL), TB_E_OVERFLOW);
    ck_assert_int_eq(tb_sum_sub(&sum, dec("500000000000000"), NULL), TB_OK);
    ck_assert_int_eq(tb_sum_decimal(sum, &value, NULL), TB_OK);
    prints(value, "0.000000000000000000000001");
    ck_assert_int_eq(tb_sum_sub(&sum, dec("0.000000000000000000000001"), NULL), TB_OK);
    sum_prints(sum, "0");
}
END_TEST

START_TEST(a_sum_carries_and_borrows)
{
    tb_sum sum = TB_SUM_ZERO;
    ck_assert_int_eq(tb_sum_add(&sum, dec("0.7"), NULL), TB_OK);
    ck_assert_int_eq(tb_sum_add(&sum, dec("0.3"), NULL), TB_OK);
    sum_prints(sum, "1");
    ck_assert_int_eq(tb_sum_sub(&sum, dec("1.25"), NULL), TB_OK);
    sum_prints(sum, "-0.25");
    ck_assert_int_eq(tb_sum_sub(&sum, dec("3.75"), NULL), TB_OK);
    sum_prints(sum, "-4");
    ck_assert_int_eq(tb_sum_add(&sum, dec("0.000000000000000000000000000000000001"), NULL), TB_OK);
    sum_prints(sum, "-3.999999999999999999999999999999999999");
    ck_assert_int_eq(tb_sum_add(&sum, dec("3.999999999999999999999999999999999999"), NULL), TB_OK);
    ck_assert(sum.whole == 0 && sum.rest == 0);
}
END_TEST

START_TEST(only_whole_units_overflow_and_the_sum_stays)
{
    tb_sum sum = TB_SUM_ZERO;
    tb_error err = {0};
    ck_assert_int_eq(tb_sum_add(&sum, dec(MANTISSA_MAX), NULL), TB_OK);
    ck_assert_int_eq(tb_sum_add(&sum, dec("0.999999999999999999999999999999999999"), NULL), TB_OK);
    ck_assert_int_eq(tb_sum_add(&sum, dec("0.000000000000000000000000000000000001"), &err),
                     TB_E_OVERFLOW);
    ck_assert_str_eq(err.message, "The sum passes 2^127-1 units of 10^-0.");
    sum_prints(sum, MANTISSA_MAX ".999999999999999999999999999999999999");
    ck_assert_int_eq(tb_sum_sub(&sum, dec(MANTISSA_MAX), NULL), TB_OK);
    ck_assert_int_eq(tb_sum_sub(&sum, dec(MANTISSA_MAX), NULL), TB_OK);
    ck_assert_int_eq(tb_sum_sub(&sum, dec("2"), NULL), TB_E_OVERFLOW);
}
END_TEST

START_TEST(a_scale_is_as_fine_as_there_is_room_for)
{
    ck_assert_int_eq(tb_decimal_scale_within(dec("1"), 18), 18);
    ck_assert_int_eq(tb_decimal_scale_within(dec("0"), 99), TB_DECIMAL_SCALE_MAX);
    ck_assert_int_eq(tb_decimal_scale_within(dec("1.2345"), 2), 4);
    ck_assert_int_eq(tb_decimal_scale_within(dec("-170141183460469231731"), 18), 18);
    ck_assert_int_eq(tb_decimal_scale_within(dec("170141183460469231732"), 18), 17);
    ck_assert_int_eq(tb_decimal_scale_within(dec(MANTISSA_MAX), 18), 0);
}
END_TEST

START_TEST(integers_divide_symmetrically)
{
    static const int cases[][4] = {/* n, d, half up, half even */
                                   {7, 2, 4, 4},    {5, 2, 3, 2}, {-5, 2, -3, -2}, {-7, 2, -4, -4},
                                   {1, 3, 0, 0},    {2, 3, 1, 1}, {-2, 3, -1, -1}, {0, 5, 0, 0},
                                   {10, 5, 2, 2},   {1, 1, 1, 1}, {3, 6, 1, 0},    {9, 6, 2, 2},
                                   {-15, 6, -3, -2}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ck_assert_int_eq((int)tb_div_round(cases[i][0], cases[i][1], TB_HALF_UP), cases[i][2]);
        ck_assert_int_eq((int)tb_div_round(cases[i][0], cases[i][1], TB_HALF_EVEN), cases[i][3]);
    }
    tb_i128 most = dec(MANTISSA_MAX).mantissa;
    ck_assert(tb_div_round(most, most, TB_HALF_UP) == 1);
    ck_assert(tb_div_round(most / 2, most, TB_HALF_UP) == 0);
    ck_assert(tb_div_round(most / 2 + 1, most, TB_HALF_UP) == 1);
    ck_assert(tb_div_round(-most - 1, 1, TB_HALF_UP) == -most - 1);
    ck_assert(tb_div_round(-most, 1, TB_HALF_EVEN) == -most);
}
END_TEST

/* Division by multiplication, at every power's edges and at the end of 64 bits. */
START_TEST(dividing_by_a_power_of_ten_is_exact)
{
    uint64_t power = 1;
    for (unsigned k = 1; k <= 19; k++) {
        power *= 10;
        for (uint64_t times = 0; times < 2000 / TB_PART; times++) {
            uint64_t some = times * UINT64_C(0x9e3779b97f4a7c15);
            const uint64_t edges[] = {some / power * power,
                                      some / power * power - 1,
                                      some / power * power + power / 2,
                                      some,
                                      UINT64_MAX - times,
                                      times};
            for (size_t i = 0; i < sizeof edges / sizeof *edges; i++) {
                uint64_t rest;
                ck_assert_uint_eq(tb__divide_power(edges[i], k, &rest), edges[i] / power);
                ck_assert_uint_eq(rest, edges[i] % power);
            }
        }
    }
}
END_TEST

static void add_text(TCase *t)
{
    tcase_add_test(t, text_becomes_mantissa_and_scale);
    tcase_add_test(t, what_is_no_decimal_is_refused_at_its_place);
    tcase_add_test(t, the_text_ends_where_its_length_says);
    tcase_add_test(t, digits_after_the_point_are_limited);
    tcase_add_test(t, the_mantissa_ends_at_2_to_the_127_minus_1);
    tcase_add_test(t, text_has_no_exponent_and_no_needless_zero);
    tcase_add_test(t, fixed_text_has_the_digits_of_its_currency);
    tcase_add_test(t, the_longest_text_fits_its_room);
}

int main(void)
{
    Suite *suite = suite_create("decimal");
    TCase *t = tcase_create("decimal");
    add_text(t);
    tcase_add_test(t, comparing_looks_at_the_value_alone);
    tcase_add_test(t, normal_has_the_smallest_scale);
    tcase_add_test(t, sums_are_exact_or_refused);
    tcase_add_test(t, products_are_exact_or_refused);
    tcase_add_test(t, a_safe_price_times_10_to_the_18_fits);
    tcase_add_test(t, a_unit_change_moves_the_point);
    tcase_add_test(t, dividing_by_a_power_of_ten_is_exact);
    tcase_add_test(t, half_up_goes_away_from_zero);
    tcase_add_test(t, half_even_goes_to_the_even_neighbour);
    tcase_add_test(t, rounding_checks_its_limits);
    tcase_add_test(t, division_rounds_once);
    tcase_add_test(t, only_the_quotient_must_fit);
    tcase_add_test(t, a_sum_holds_values_of_any_scales);
    tcase_add_test(t, a_sum_carries_and_borrows);
    tcase_add_test(t, only_whole_units_overflow_and_the_sum_stays);
    tcase_add_test(t, a_scale_is_as_fine_as_there_is_room_for);
    tcase_add_test(t, integers_divide_symmetrically);
    suite_add_tcase(suite, t);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
