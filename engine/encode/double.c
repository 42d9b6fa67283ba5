/* Doubles as the shortest decimal text that reads back to the same double, the nearest such text
 * if there are several; plain notation.
 *
 * Ratios and means lie between 2^-14 and 2^53. There all arithmetic is exact: such a double is
 * m * 2^e with m < 2^53, and scaling by 10^k to 17 or 18 digits before the point multiplies m by
 * 5^k < 2^50, so that the value and both ends of the interval of real numbers that round to it are
 * 128-bit fixed-point numbers. With lo..hi the whole numbers in that interval, digits are dropped
 * from both ends while some multiple of the next power of ten stays inside: what is left has the
 * fewest digits. Ties between two nearest texts go to the even last digit.
 *
 * Two usual worries do not arise in that domain. Whether an end of the interval belongs to it makes
 * no difference: an end has one binary place more than the value and so more than 17 digits. And
 * below a power of two the interval is half as wide, but the powers of two that are no integers
 * have at most 10 digits themselves.
 *
 * Everything else (tiny or huge values cannot come from counters) takes the C library's correctly
 * rounded printing with growing precision. The process never leaves the C locale. */
#include "tollbook/json.h"

#include "encode/number.h"

#include <stdio.h>
#include <stdlib.h>

/* digits * 10^-point */
typedef struct decimal {
    uint64_t digits;
    int point;
} decimal;

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
    UINT64_C(476837158203125),
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

#define COMMON_MIN 0x1p-14
#define COMMON_END 0x1p53

/* A scaled value: whole + fraction / 2^shift, shift 1..47. */
typedef struct fixed {
    uint64_t whole, fraction;
    int shift;
} fixed;

/* The multiple of 10^dropped nearest to v, divided by 10^dropped; half goes to even. dropped <= 2,
 * since two multiples lie in an interval that is less than 250 wide. */
static inline uint64_t nearest(fixed v, int dropped)
{
    uint64_t quotient = v.whole, rest = 0, half = UINT64_C(1) << (v.shift - 1);
    if (dropped > 0) {
        uint64_t unit = dropped == 1 ? 10 : 100;
        quotient = dropped == 1 ? v.whole / 10 : v.whole / 100;
        rest = (v.whole - quotient * unit) << v.shift;
        half *= unit;
    }
    rest |= v.fraction;
    return quotient + (rest > half || (rest == half && (quotient & 1)));
}

/* floor(v + delta / 2^v.shift); right shifts of negative numbers floor with both compilers. */
static inline uint64_t floor_sum(fixed v, int64_t delta)
{
    return v.whole + (uint64_t)(((int64_t)v.fraction + delta) >> v.shift);
}

/* bits: a double from COMMON_MIN up to COMMON_END. */
static inline decimal shortest(uint64_t bits)
{
    int binary = (int)(bits >> 52) - 1023; /* floor(log2 v), -14 .. 52 */
    uint64_t mantissa = (bits & ((UINT64_C(1) << 52) - 1)) | UINT64_C(1) << 52;
    int k = 16 - ((binary * 78913) >> 18); /* 16 - floor(binary * log10 2), 1 .. 21 */
    int64_t quarter = (int64_t)power5[k];  /* of the last binary place */

    tb_u128 scaled = (tb_u128)(4 * mantissa) * (uint64_t)quarter;
    fixed v = {.shift = 54 - binary - k};
    v.whole = (uint64_t)scaled >> v.shift | (uint64_t)(scaled >> 64) << (64 - v.shift);
    v.fraction = (uint64_t)scaled & ((UINT64_C(1) << v.shift) - 1);
    uint64_t lo = floor_sum(v, -2 * quarter - 1) + 1;
    uint64_t hi = floor_sum(v, 2 * quarter);

    int dropped = 0;
    for (uint64_t next = hi / 10; next * 10 >= lo; next = hi / 10) {
        lo = (lo + 9) / 10;
        hi = next;
        dropped++;
        /* Few digits (94.5, 12.25): eight steps at once. */
        if (dropped == 3 && hi / TB__1E8 * TB__1E8 >= lo) {
            lo = (lo + TB__1E8 - 1) / TB__1E8;
            hi /= TB__1E8;
            dropped += 8;
        }
    }
    return (decimal){lo == hi ? hi : nearest(v, dropped), k - dropped};
}

/* d: the shortest text of value, which is not integral, so point > 0; digits has at most 17 digits
 * and point at most 21. No integer lies between a value below 2^53 and its text, since that integer
 * is a double itself: both have the same whole part. Writes up to 15 bytes more than it returns. */
static char *put_decimal(char *out, decimal d, double value)
{
    if (d.point <= 16) {
        uint64_t whole = (uint64_t)(int64_t)value;
        uint64_t rest = d.digits - whole * power10[d.point];
        out = tb__put_u64(out, whole);
        *out++ = '.';
        tb__put_16(out, rest * power10[16 - d.point]);
        return out + d.point;
    }
    memcpy(out, "0.00000", 7);
    out += 2 + (d.point - 17);
    *out++ = (char)('0' + d.digits / TB__1E16);
    return tb__put_16(out, d.digits % TB__1E16);
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

static char *put_rare(char *out, double value)
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

char *tb_put_double(char *out, double value)
{
    if (!__builtin_isfinite(value)) value = 0;
    if (value < 0) {
        *out++ = '-';
        value = -value;
    }
    if (value < COMMON_END && (double)(int64_t)value == value)
        return tb__put_u64(out, (uint64_t)value);
    if (value < COMMON_MIN || value >= COMMON_END) return put_rare(out, value);
    uint64_t bits;
    memcpy(&bits, &value, 8);
    return put_decimal(out, shortest(bits), value);
}
