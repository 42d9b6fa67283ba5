/* Doubles as the shortest decimal text that reads back to the same double, the nearest such text
 * if there are several; plain notation.
 *
 * Ratios and means lie between 2^-14 and 2^53. There all arithmetic is exact. The integer part is
 * written as it is: no integer lies between such a double and its text, since that integer would be
 * a double itself. What is behind the point is f / 2^p with f < 2^53 and p <= 66 places, and 10^k
 * times it is f * 5^k * 2^(k-p) with 5^k < 2^47, a 128-bit fixed-point number, as are the ends of
 * the interval of real numbers that round to it. k makes that interval at least 1 and less than 10
 * wide. So it holds a whole number, and at most one multiple of ten: if there is one, it is the
 * shortest text once its zeros are dropped, else the whole number nearest to the value is, and ties
 * go to the even one. Digits are dropped in the text, all zeros at once: no step depends on how
 * many there are, and a processor guesses no branch wrongly.
 *
 * Two usual worries do not arise in that domain. Whether an end of the interval belongs to it makes
 * no difference: an end has one binary place more than the value and so more than 17 digits. And
 * below a power of two the interval is half as wide, but the powers of two that are no integers
 * have at most 10 digits themselves, and are the multiple of ten that is taken.
 *
 * Everything else (tiny or huge values cannot come from counters) takes the C library's correctly
 * rounded printing with growing precision. The process never leaves the C locale. */
#include "tollbook/json.h"

#include "encode/number.h"

#include <stdio.h>
#include <stdlib.h>

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define FIRST_BYTES(first, last)   ((first) | (uint64_t)(last) << 32)
#define BYTES_OF_ZERO_AT_END(word) (__builtin_clzll(word) / 8) /* word is not 0 */
#else
#define FIRST_BYTES(first, last)   ((uint64_t)(first) << 32 | (last))
#define BYTES_OF_ZERO_AT_END(word) (__builtin_ctzll(word) / 8)
#endif

static const uint64_t power5[] = {
    UINT64_C(1),
    UINT64_C(5),
    UINT64_C(25),
    UINT64_C(125),
    UINT64_C(625),
    UINT64_C(3125),
    UINT64_C(15625),
    UINT64_C(78125),
    UINT64_C(390625),
    UINT64_C(1953125),
    UINT64_C(9765625),
    UINT64_C(48828125),
    UINT64_C(244140625),
    UINT64_C(1220703125),
    UINT64_C(6103515625),
    UINT64_C(30517578125),
    UINT64_C(152587890625),
    UINT64_C(762939453125),
    UINT64_C(3814697265625),
    UINT64_C(19073486328125),
    UINT64_C(95367431640625),
};

static const uint64_t power10[] = {
    UINT64_C(1),
    UINT64_C(10),
    UINT64_C(100),
    UINT64_C(1000),
    UINT64_C(10000),
    UINT64_C(100000),
    UINT64_C(1000000),
    UINT64_C(10000000),
    UINT64_C(100000000),
    UINT64_C(1000000000),
    UINT64_C(10000000000),
    UINT64_C(100000000000),
    UINT64_C(1000000000000),
    UINT64_C(10000000000000),
    UINT64_C(100000000000000),
    UINT64_C(1000000000000000),
    UINT64_C(10000000000000000),
};

#define PLACES_MAX 66 /* of binary places: a double from 2^-14 on has no more */
#define COMMON_END 0x1p53

/* By a mask: a compiler may make a branch of ?:, and this one could not be foreseen. */
static inline uint64_t choose(bool first, uint64_t a, uint64_t b)
{
    return b ^ ((a ^ b) & (0 - (uint64_t)first));
}

/* ceil(places * log10 2) */
static inline int points_of(int places)
{
    return (places * 78913 + 262143) >> 18;
}

/* The digits behind the point of fraction / 2^places, which is not 0: points_of(places) of them,
 * zeros at the end included. */
static inline uint64_t shortest(uint64_t fraction, int places)
{
    int point = points_of(places);
    int shift = 1 + places - point; /* 1 .. 47: numbers are in units of 2^-shift */
    uint64_t unit = UINT64_C(1) << shift, half = power5[point]; /* of the interval */

    tb_u128 value = (tb_u128)(2 * fraction) * half, end = value + half;
    uint64_t ten = (uint64_t)(end >> shift) / 10 * 10; /* the last multiple before the end */
    uint64_t whole = (uint64_t)(value >> shift), rest = (uint64_t)value & (unit - 1);
    uint64_t nearest = whole + (rest + (whole & 1) > unit / 2);
    return choose((uint64_t)end - (ten << shift) < 2 * half, ten, nearest);
}

/* Exactly 8 digits of value < 10^8, as 8 bytes of text lie in memory. Built in a register: bytes
 * that were stored four by four cannot be loaded by eight at once without a wait. */
static inline uint64_t eight_digits(uint32_t value)
{
    uint32_t first, last;
    memcpy(&first, tb__four_digits + 4 * (value / TB__1E4), 4);
    memcpy(&last, tb__four_digits + 4 * (value % TB__1E4), 4);
    return FIRST_BYTES(first, last);
}

/* 16 digits of value, 1 .. 10^16 - 1, less the zeros at their end. Always writes 16 bytes. */
static inline char *put_fraction(char *out, uint64_t value)
{
    const uint64_t zeros = UINT64_C(0x3030303030303030);
    uint64_t first = eight_digits((uint32_t)(value / TB__1E8));
    uint64_t last = eight_digits((uint32_t)(value % TB__1E8));
    memcpy(out, &first, 8);
    memcpy(out + 8, &last, 8);
    char *end = out + (last == zeros ? 8 : 16);
    return end - BYTES_OF_ZERO_AT_END((last == zeros ? first : last) ^ zeros);
}

/* digits * 10^-point with point from 17 to 20, so a value below 1. */
static char *put_small(char *out, uint64_t digits, int point)
{
    memcpy(out, "0.00000", 7);
    out += 2 + (point - 17);
    *out++ = (char)('0' + digits / TB__1E16);
    uint64_t rest = digits % TB__1E16;
    return rest ? put_fraction(out, rest) : out;
}

/* The next larger decimal of the same length, in text "d.ddde..."; false where it gets longer. */
static bool bump(char *text)
{
    char *p = text;
    while (*p && *p != 'e')
        p++;
    while (p-- > text) {
        if (*p == '.') continue;
        if (*p != '9') {
            ++*p;
            return true;
        }
        *p = '0';
    }
    return false;
}

/* Shortest "d.ddde[+-]xx" of a positive value. Just above a power of two's lower neighbour the
 * nearest text of some length may miss while the next larger one still reads back. */
static void scientific(double value, char text[40])
{
    for (int precision = 0; precision < 17; precision++) {
        snprintf(text, 40, "%.*e", precision, value);
        if (strtod(text, NULL) == value) return;
        if (bump(text) && strtod(text, NULL) == value) return;
    }
}

static int exponent_of(const char *text)
{
    while (*text != 'e')
        text++;
    int exponent = 0;
    for (const char *p = text + 2; *p; p++)
        exponent = exponent * 10 + (*p - '0');
    return text[1] == '-' ? -exponent : exponent;
}

__attribute__((noinline, cold)) static char *put_rare(char *out, double value)
{
    char text[40];
    scientific(value, text);
    int exponent = exponent_of(text);
    char digits[20];
    int n = 0;
    for (const char *p = text; *p != 'e'; p++)
        if (*p != '.') digits[n++] = *p;
    if (exponent < 0) {
        *out++ = '0';
        *out++ = '.';
        memset(out, '0', (size_t)(-exponent - 1));
        out += -exponent - 1;
        memcpy(out, digits, (size_t)n);
        return out + n;
    }
    /* At least 2^53: integral, and 17 digits reach no further than the point. */
    for (int i = 0; i <= exponent; i++)
        *out++ = i < n ? digits[i] : '0';
    return out;
}

/* Integers below 2^53, and what does not come from counters. */
__attribute__((noinline)) static char *put_other(char *out, double value)
{
    if (!__builtin_isfinite(value)) value = 0;
    if (value < 0) {
        *out++ = '-';
        return tb_put_double(out, -value);
    }
    if (value < COMMON_END && (double)(int64_t)value == value)
        return tb__put_u64(out, (uint64_t)value);
    return put_rare(out, value);
}

/* Writes up to 15 bytes more than it returns. */
char *tb_put_double(char *out, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, 8);
    int places = 1075 - (int)(bits >> 52); /* of a negative one, less than 0 */
    if (places < 1 || places > PLACES_MAX) return put_other(out, value);
    uint64_t mantissa = (bits & ((UINT64_C(1) << 52) - 1)) | UINT64_C(1) << 52;
    int cut = places < 63 ? places : 63; /* the mantissa has 53 bits */
    uint64_t fraction = mantissa & ((UINT64_C(1) << cut) - 1);
    if (fraction == 0) return put_other(out, value);
    uint64_t digits = shortest(fraction, places);
    int point = points_of(places);
    if (point > 16) return put_small(out, digits, point);
    out = tb__put_u64(out, mantissa >> cut);
    *out++ = '.';
    return put_fraction(out, digits * power10[16 - point]);
}
