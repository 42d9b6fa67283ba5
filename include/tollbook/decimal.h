/* Exact decimals: an integer mantissa and a power of ten. Money and prices are these, never
 * doubles. value = mantissa / 10^scale.
 *
 * The mantissa stays within +-(2^127 - 1), so that 10^18 units at the safe price of a book fit; the
 * scale within 0..TB_DECIMAL_SCALE_MAX. Every operation is checked: TB_E_OVERFLOW names the
 * operation and the limit, and nothing is written. Results are not normalised unless stated:
 * 1.50 keeps its scale; tb_decimal_compare compares values. Division happens only
 * in tb_decimal_round and tb_decimal_divide.
 *
 * All functions are pure: any thread, no memory. */
#ifndef TOLLBOOK_DECIMAL_H
#define TOLLBOOK_DECIMAL_H

#include "tollbook/error.h"

TB_API_BEGIN

__extension__ typedef __int128 tb_i128;

#define TB_DECIMAL_SCALE_MAX 36
#define TB_DECIMAL_TEXT_MAX  80 /* sign, 39 digits, point, 36 zeros of a fixed scale, spare */
#define TB_PRICE_SCALE_MAX   15 /* digits after the point of a price */
#define TB_PRORATE_SCALE     18 /* digits that prorated parts are rounded to */

typedef struct tb_decimal {
    tb_i128 mantissa;
    int scale;
} tb_decimal;

/* half_up: a tie goes away from zero; half_even: to the even neighbour. Symmetric for negatives. */
typedef enum tb_rounding { TB_HALF_UP, TB_HALF_EVEN } tb_rounding;

#define TB_DECIMAL_ZERO ((tb_decimal){0, 0})

/* n units as a decimal; n above -2^127. */
tb_decimal tb_decimal_from_int(tb_i128 n);

/* Reads [-]digits[.digits], the whole text: no sign '+', no exponent, no blank, no leading zeros
 * but a single one, no lone point, at most max_scale digits after it. TB_E_VALIDATION says what is
 * wrong and err->byte where; NaN, inf and 1e5 are such errors. The scale is the number of digits
 * after the point as written. "-0" is zero. */
TB_MUST_USE tb_code tb_decimal_parse(const char *text, size_t len, int max_scale, tb_decimal *ret,
                                     tb_error *err);
/* Plain decimal text, no exponent, zeros at the end of the fraction left out, "0" for zero (never
 * "-0"). Returns the end, writes no terminator; out has room for TB_DECIMAL_TEXT_MAX. */
char *tb_decimal_put(char *out, tb_decimal value);
/* The same with `scale` digits after the point (money with its minor unit: "9.50"); a value that
 * needs more shows them all, since a digit cut off would be money lost. */
char *tb_decimal_put_fixed(char *out, tb_decimal value, int scale);

/* Smallest scale, same value. */
tb_decimal tb_decimal_normal(tb_decimal value);
/* -1, 0 or 1; never overflows. */
int tb_decimal_compare(tb_decimal a, tb_decimal b);
int tb_decimal_sign(tb_decimal value);

/* The result has the larger scale; a value too large for that scale is an overflow. */
TB_MUST_USE tb_code tb_decimal_add(tb_decimal a, tb_decimal b, tb_decimal *ret, tb_error *err);
TB_MUST_USE tb_code tb_decimal_sub(tb_decimal a, tb_decimal b, tb_decimal *ret, tb_error *err);
/* The result's scale is the sum of both. */
TB_MUST_USE tb_code tb_decimal_mul(tb_decimal a, tb_decimal b, tb_decimal *ret, tb_error *err);
TB_MUST_USE tb_code tb_decimal_mul_int(tb_decimal a, tb_i128 n, tb_decimal *ret, tb_error *err);
/* value / 10^places, exactly: a unit change (GB = 10^9 bytes). Negative places multiply. The scale
 * moves by places, but not below 0; past its limit, zeros at the mantissa's end make up for it. */
TB_MUST_USE tb_code tb_decimal_shift(tb_decimal value, int places, tb_decimal *ret, tb_error *err);
/* To `scale` digits after the point; a value with fewer is unchanged but for its scale. */
TB_MUST_USE tb_code tb_decimal_round(tb_decimal value, int scale, tb_rounding mode, tb_decimal *ret,
                                     tb_error *err);
/* value x num / den, rounded once to `scale` digits: proration and allocation. den > 0. Only the
 * result must fit: the product is formed in 256 bits. */
TB_MUST_USE tb_code tb_decimal_divide(tb_decimal value, tb_i128 num, tb_i128 den, int scale,
                                      tb_rounding mode, tb_decimal *ret, tb_error *err);

/* The largest scale up to `most` that value can be written at; its own, where that is finer. */
int tb_decimal_scale_within(tb_decimal value, int most);

/* A sum of decimals of any scales, exact. A decimal has one scale for all of its digits, so the sum of 10^14
 * and 10^-24 is not a decimal; here whole units are separate from the rest, and only whole
 * units can pass 2^127 - 1. rest is in units of 10^-TB_DECIMAL_SCALE_MAX, below one whole unit, and
 * of the sign of `whole` where that is not 0. Begins as zeros. */
typedef struct tb_sum {
    tb_i128 whole, rest;
} tb_sum;
#define TB_SUM_ZERO ((tb_sum){0, 0})
/* On an overflow the sum is as it was. */
TB_MUST_USE tb_code tb_sum_add(tb_sum *sum, tb_decimal value, tb_error *err);
TB_MUST_USE tb_code tb_sum_sub(tb_sum *sum, tb_decimal value, tb_error *err);
/* Of the smallest scale. TB_E_OVERFLOW where a decimal cannot hold it. */
TB_MUST_USE tb_code tb_sum_decimal(tb_sum sum, tb_decimal *ret, tb_error *err);
/* Text as of tb_decimal_put. */
char *tb_sum_put(char *out, tb_sum sum);

/* n / d to the nearest integer. d > 0. The one place where money is divided. */
tb_i128 tb_div_round(tb_i128 n, tb_i128 d, tb_rounding mode);

TB_API_END

#endif
