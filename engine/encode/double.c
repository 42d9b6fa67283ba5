/* Doubles as the shortest decimal text that reads back to the same double, the nearest such text
 * where there are several; plain notation.
 *
 * Ratios and means lie between 2^-14 and 2^53. There all arithmetic is exact: such a double is
 * m * 2^e with m < 2^53, and scaling by 10^k to 17 or 18 digits before the point multiplies m by
 * 5^k < 2^50, so that the value and both ends of the interval of real numbers that round to it are
 * 128-bit fixed-point numbers. With lo..hi the whole numbers in that interval, digits are dropped
 * from both ends while some multiple of the next power of ten stays inside: what is left has the
 * fewest digits. Ties between two nearest texts go to the even last digit, and the interval holds
 * its own ends exactly when m is even (reading rounds half to even).
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

/* The multiple of 10^dropped nearest to value / 2^shift, divided by 10^dropped; half goes to even.
 * dropped <= 2, since the interval is less than 250 wide and holds two multiples. */
static uint64_t nearest(tb_u128 value, int shift, int dropped)
{
    uint64_t whole = (uint64_t)(value >> shift);
    uint64_t unit = power10[dropped];
    uint64_t quotient = dropped == 0 ? whole : dropped == 1 ? whole / 10 : whole / 100;
    tb_u128 rest = value - ((tb_u128)(quotient * unit) << shift);
    tb_u128 half = ((tb_u128)unit << shift) / 2;
    return quotient + (rest > half || (rest == half && (quotient & 1)));
}

/* bits: a double from COMMON_MIN up to COMMON_END. */
static decimal shortest(uint64_t bits)
{
    int binary = (int)(bits >> 52) - 1023; /* floor(log2 v), -14 .. 52 */
    uint64_t mantissa = (bits & ((UINT64_C(1) << 52) - 1)) | UINT64_C(1) << 52;
    int k = 16 - (binary * 78913) / 262144 + (binary < 0); /* 16 - floor(binary * log10 2) */
    int shift = 54 - binary - k;                           /* fraction bits, 1 .. 47 */
    uint64_t quarter = power5[k];                          /* of the last binary place */
    uint64_t odd = mantissa & 1;

    tb_u128 value = (tb_u128)(4 * mantissa) * quarter;
    /* Below a power of two the doubles lie twice as close. */
    uint64_t below = mantissa == UINT64_C(1) << 52 ? quarter : 2 * quarter;
    uint64_t lo = (uint64_t)((value - below - 1 + odd) >> shift) + 1;
    uint64_t hi = (uint64_t)((value + 2 * quarter - odd) >> shift);

    int dropped = 0;
    if (hi / TB__1E8 * TB__1E8 >= lo) { /* eight steps at once: 94.5, 12.25 */
        lo = (lo + TB__1E8 - 1) / TB__1E8;
        hi /= TB__1E8;
        dropped = 8;
    }
    for (uint64_t next = hi / 10; next * 10 >= lo; next = hi / 10) {
        lo = (lo + 9) / 10;
        hi = next;
        dropped++;
    }
    uint64_t digits = hi;
    if (lo != hi) {
        digits = nearest(value, shift, dropped);
        if (digits < lo) digits = lo; /* only below a power of two */
    }
    return (decimal){digits, k - dropped};
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
