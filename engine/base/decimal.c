/* Decimals as sign and magnitude: arithmetic is done on unsigned 128-bit magnitudes, where a carry
 * out is detected without undefined behaviour, and the sign is put back at the end. (Unsigned also
 * because clang calls a function of its own runtime for checked signed 128-bit products.)
 *
 * Division needs more: value x num has up to 254 bits. It is taken apart so that no number passes
 * 256 bits and rounding still happens once:
 *   more digits wanted:  q1, r1 = product / den;  q2, r2 = r1 x 10^k / den;  q1 x 10^k + q2, r2
 * rounds fewer digits wanted: q1, r1 = product / den;  q, r = q1 / 10^k;  r rounds, r1 breaks its
 * ties */
#include "base/quick.h"
#include "base/wide.h"

#include <stdio.h>
#include <string.h>

typedef tb__u128 u128;

#define MAGNITUDE_MAX ((u128)-1 >> 1) /* 2^127 - 1 */

#define E19 ((u128)UINT64_C(10000000000000000000))
static const u128 powers[] = {
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
    UINT64_C(100000000000000000),
    UINT64_C(1000000000000000000),
    E19,
    E19 *UINT64_C(10),
    E19 *UINT64_C(100),
    E19 *UINT64_C(1000),
    E19 *UINT64_C(10000),
    E19 *UINT64_C(100000),
    E19 *UINT64_C(1000000),
    E19 *UINT64_C(10000000),
    E19 *UINT64_C(100000000),
    E19 *UINT64_C(1000000000),
    E19 *UINT64_C(10000000000),
    E19 *UINT64_C(100000000000),
    E19 *UINT64_C(1000000000000),
    E19 *UINT64_C(10000000000000),
    E19 *UINT64_C(100000000000000),
    E19 *UINT64_C(1000000000000000),
    E19 *UINT64_C(10000000000000000),
    E19 *UINT64_C(100000000000000000),
    E19 *UINT64_C(1000000000000000000),
    E19 *E19,
};
/* More than scales have: a unit change may multiply by them. */
#define POWER_MAX 38
/* A change by more fails for every value but zero. */
#define PLACES_MAX (TB_DECIMAL_SCALE_MAX + POWER_MAX + 1)
_Static_assert(sizeof powers / sizeof *powers == POWER_MAX + 1, "all powers of ten below 2^127");

/* --- magnitudes --- */

static u128 magnitude(tb_i128 n)
{
    return n < 0 ? -(u128)n : (u128)n;
}

static bool with_sign(u128 size, bool negative, tb_i128 *ret)
{
    if (size > MAGNITUDE_MAX) return false;
    *ret = negative ? -(tb_i128)size : (tb_i128)size;
    return true;
}

/* a x b; the usual sizes need one multiplication. */
static bool product_of(u128 a, u128 b, u128 *ret)
{
    if (((a | b) >> 64) != 0) return !__builtin_mul_overflow(a, b, ret);
    *ret = (u128)(uint64_t)a * (uint64_t)b;
    return true;
}

static bool times(tb_i128 n, u128 factor, tb_i128 *ret)
{
    u128 size;
    if (factor == 1) {
        *ret = n;
        return true;
    }
    if (!product_of(magnitude(n), factor, &size)) return false;
    return with_sign(size, n < 0, ret);
}

static tb_code overflow(tb_error *err, const char *what, int scale)
{
    return tb_fail(err, TB_E_OVERFLOW, NULL, "The %s passes 2^127-1 units of 10^-%d.", what, scale);
}

static tb_code too_fine(tb_error *err, const char *what)
{
    return tb_fail(err, TB_E_OVERFLOW, NULL, "The %s has more than %d digits after the point.",
                   what, TB_DECIMAL_SCALE_MAX);
}

/* --- 256 bits --- */

typedef struct wide {
    u128 high, low;
} wide;

static wide multiply(u128 a, u128 b)
{
    if (((a | b) >> 64) == 0) return (wide){.low = (u128)(uint64_t)a * (uint64_t)b};
    const u128 mask = UINT64_MAX;
    u128 low = (a & mask) * (b & mask);
    u128 left = (a >> 64) * (b & mask);
    u128 right = (a & mask) * (b >> 64);
    u128 middle = (low >> 64) + (left & mask) + (right & mask);
    return (wide){.high = (a >> 64) * (b >> 64) + (left >> 64) + (right >> 64) + (middle >> 64),
                  .low = middle << 64 | (low & mask)};
}

/* d in 1..2^127, so that a rest doubled still fits. */
static wide divide(wide n, u128 d, u128 *ret_rest)
{
    if (n.high == 0 && ((n.low | d) >> 64) == 0) {
        *ret_rest = (uint64_t)n.low % (uint64_t)d;
        return (wide){.low = (uint64_t)n.low / (uint64_t)d};
    }
    if (n.high == 0) {
        wide small = {.low = n.low / d};
        *ret_rest = n.low - small.low * d;
        return small;
    }
    wide q = {.high = n.high / d};
    u128 rest = n.high % d;
    if (rest == 0) {
        q.low = n.low / d;
        *ret_rest = n.low % d;
        return q;
    }
    for (int bit = 127; bit >= 0; bit--) {
        rest = rest << 1 | (n.low >> bit & 1);
        q.low <<= 1;
        if (rest < d) continue;
        rest -= d;
        q.low |= 1;
    }
    *ret_rest = rest;
    return q;
}

bool tb__multiply_divide(u128 a, u128 b, u128 d, u128 *ret_quotient, u128 *ret_rest)
{
    wide q = divide(multiply(a, b), d, ret_rest);
    *ret_quotient = q.low;
    return q.high == 0 && q.low <= MAGNITUDE_MAX;
}

tb_i128 tb_div_round(tb_i128 n, tb_i128 d, tb_rounding mode)
{
    u128 size = magnitude(n), by = (u128)d;
    u128 q = size / by;
    q += tb__rounds_up(q, size % by, by, false, mode);
    return n < 0 ? (tb_i128)-q : (tb_i128)q;
}

/* --- text --- */

tb_decimal tb_decimal_from_int(tb_i128 n)
{
    return (tb_decimal){n, 0};
}

typedef struct cursor {
    const char *text;
    size_t len, at;
    u128 size;
} cursor;

static bool at_digit(const cursor *c)
{
    return c->at < c->len && c->text[c->at] >= '0' && c->text[c->at] <= '9';
}

static tb_code refuse_decimal(const cursor *c, tb_error *err, const char *message)
{
    tb_fail(err, TB_E_VALIDATION, NULL, "%s", message);
    if (err) err->byte = c->at + 1;
    return TB_E_VALIDATION;
}

static tb_code refuse_size(const cursor *c, int scale, tb_error *err)
{
    char message[64];
    snprintf(message, sizeof message, "The number passes 2^127-1 units of 10^-%d.", scale);
    return refuse_decimal(c, err, message);
}

static tb_code refuse_digits(const cursor *c, int max_scale, tb_error *err)
{
    char message[64];
    snprintf(message, sizeof message, "At most %d digits may follow the point.", max_scale);
    return refuse_decimal(c, err, message);
}

/* Takes the digit it stands at. */
static bool take_digit(cursor *c)
{
    u128 size;
    if (__builtin_mul_overflow(c->size, (u128)10, &size)) return false;
    size += (unsigned)(c->text[c->at] - '0');
    if (size > MAGNITUDE_MAX) return false;
    c->size = size;
    c->at++;
    return true;
}

static tb_code parse_whole(cursor *c, tb_error *err)
{
    size_t first = c->at;
    if (!at_digit(c)) return refuse_decimal(c, err, "A digit is expected here.");
    while (at_digit(c)) {
        if (c->at == first + 1 && c->text[first] == '0')
            return refuse_decimal(c, err, "No digit may follow a zero at the start.");
        if (!take_digit(c)) return refuse_size(c, 0, err);
    }
    return TB_OK;
}

static tb_code parse_fraction(cursor *c, int max_scale, int *ret_scale, tb_error *err)
{
    int scale = 0;
    c->at++;
    if (!at_digit(c)) return refuse_decimal(c, err, "A digit must follow the point.");
    for (; at_digit(c); scale++) {
        if (scale == max_scale) return refuse_digits(c, max_scale, err);
        if (!take_digit(c)) return refuse_size(c, scale + 1, err);
    }
    *ret_scale = scale;
    return TB_OK;
}

tb_code tb_decimal_parse(const char *text, size_t len, int max_scale, tb_decimal *ret,
                         tb_error *err)
{
    cursor c = {.text = text, .len = len};
    bool negative = len > 0 && text[0] == '-';
    int scale = 0;
    c.at = negative;
    if (max_scale > TB_DECIMAL_SCALE_MAX) max_scale = TB_DECIMAL_SCALE_MAX;
    tb_code code = parse_whole(&c, err);
    if (!code && c.at < len && text[c.at] == '.') code = parse_fraction(&c, max_scale, &scale, err);
    if (code) return code;
    if (c.at < len) return refuse_decimal(&c, err, "A decimal has only digits and one point.");
    tb_i128 mantissa = (tb_i128)c.size;
    *ret = (tb_decimal){negative ? -mantissa : mantissa, scale};
    return TB_OK;
}

#define DIGITS_MAX 39

/* The digits of n, at least one. Returns how many, `to` has room for DIGITS_MAX. */
static size_t put_digits(char *to, u128 n)
{
    char reversed[DIGITS_MAX];
    size_t len = 0;
    do {
        uint64_t part = (uint64_t)(n % E19);
        n /= E19;
        /* All digits of a part that others stand before, else only as far as they go. */
        for (size_t i = 0; n ? i < 19 : part || len == 0; i++, part /= 10)
            reversed[len++] = (char)('0' + part % 10);
    } while (n);
    for (size_t i = 0; i < len; i++)
        to[i] = reversed[len - 1 - i];
    return len;
}

char *tb_decimal_put_fixed(char *out, tb_decimal value, int scale)
{
    char digits[DIGITS_MAX];
    tb_decimal normal = tb_decimal_normal(value);
    size_t len = put_digits(digits, magnitude(normal.mantissa)), fraction = (size_t)normal.scale;
    size_t wanted = scale > TB_DECIMAL_SCALE_MAX ? TB_DECIMAL_SCALE_MAX
                    : scale > normal.scale       ? (size_t)scale
                                                 : fraction;
    size_t whole = len > fraction ? len - fraction : 0;
    if (normal.mantissa < 0) *out++ = '-';
    if (whole == 0) *out++ = '0';
    memcpy(out, digits, whole);
    out += whole;
    if (wanted == 0) return out;
    *out++ = '.';
    memset(out, '0', wanted);
    size_t zeros = whole ? 0 : fraction - len;
    memcpy(out + zeros, digits + whole, len - whole);
    return out + wanted;
}

char *tb_decimal_put(char *out, tb_decimal value)
{
    return tb_decimal_put_fixed(out, value, 0);
}

/* --- values --- */

tb_decimal tb_decimal_normal(tb_decimal value)
{
    if (value.mantissa == 0) return TB_DECIMAL_ZERO;
    u128 size = magnitude(value.mantissa);
    for (int step = 16; step > 0; step /= 2)
        while (value.scale >= step && size % powers[step] == 0) {
            size /= powers[step];
            value.scale -= step;
        }
    value.mantissa = value.mantissa < 0 ? -(tb_i128)size : (tb_i128)size;
    return value;
}

int tb_decimal_sign(tb_decimal value)
{
    return (value.mantissa > 0) - (value.mantissa < 0);
}

int tb_decimal_compare(tb_decimal a, tb_decimal b)
{
    if (a.scale == b.scale) return (a.mantissa > b.mantissa) - (a.mantissa < b.mantissa);
    int sign = tb_decimal_sign(a);
    if (sign != tb_decimal_sign(b)) return sign > tb_decimal_sign(b) ? 1 : -1;
    int scale = a.scale > b.scale ? a.scale : b.scale;
    wide x = multiply(magnitude(a.mantissa), powers[scale - a.scale]);
    wide y = multiply(magnitude(b.mantissa), powers[scale - b.scale]);
    if (x.high != y.high) return x.high > y.high ? sign : -sign;
    if (x.low != y.low) return x.low > y.low ? sign : -sign;
    return 0;
}

/* --- operations --- */

static tb_code add_named(tb_decimal a, tb_decimal b, const char *what, tb_decimal *ret,
                         tb_error *err)
{
    int scale = a.scale > b.scale ? a.scale : b.scale;
    tb_i128 x, y, sum;
    if (a.mantissa == 0 && b.scale == scale) {
        *ret = b;
        return TB_OK;
    }
    if (!times(a.mantissa, powers[scale - a.scale], &x) ||
        !times(b.mantissa, powers[scale - b.scale], &y) || __builtin_add_overflow(x, y, &sum) ||
        magnitude(sum) > MAGNITUDE_MAX)
        return overflow(err, what, scale);
    *ret = (tb_decimal){sum, scale};
    return TB_OK;
}

tb_code tb_decimal_add(tb_decimal a, tb_decimal b, tb_decimal *ret, tb_error *err)
{
    return add_named(a, b, "sum", ret, err);
}

tb_code tb_decimal_sub(tb_decimal a, tb_decimal b, tb_decimal *ret, tb_error *err)
{
    b.mantissa = -b.mantissa;
    return add_named(a, b, "difference", ret, err);
}

tb_code tb_decimal_mul(tb_decimal a, tb_decimal b, tb_decimal *ret, tb_error *err)
{
    int scale = a.scale + b.scale;
    u128 size;
    tb_i128 product;
    if (scale > TB_DECIMAL_SCALE_MAX) return too_fine(err, "product");
    if (!product_of(magnitude(a.mantissa), magnitude(b.mantissa), &size) ||
        !with_sign(size, (a.mantissa < 0) != (b.mantissa < 0), &product))
        return overflow(err, "product", scale);
    *ret = (tb_decimal){product, scale};
    return TB_OK;
}

tb_code tb_decimal_mul_int(tb_decimal a, tb_i128 n, tb_decimal *ret, tb_error *err)
{
    return tb_decimal_mul(a, tb_decimal_from_int(n), ret, err);
}

/* Cuts `excess` zeros off the end. */
static bool cut_zeros(tb_i128 *n, int excess)
{
    if (*n == 0) return true;
    u128 size = magnitude(*n);
    if (excess > POWER_MAX || size % powers[excess]) return false;
    return with_sign(size / powers[excess], *n < 0, n);
}

tb_code tb_decimal_shift(tb_decimal value, int places, tb_decimal *ret, tb_error *err)
{
    static const char what[] = "result of a unit change";
    if (places > PLACES_MAX) places = PLACES_MAX;
    if (places < -PLACES_MAX) places = -PLACES_MAX;
    value.scale += places;
    if (value.scale > TB_DECIMAL_SCALE_MAX) {
        if (!cut_zeros(&value.mantissa, value.scale - TB_DECIMAL_SCALE_MAX))
            return too_fine(err, what);
        value.scale = TB_DECIMAL_SCALE_MAX;
    }
    if (value.scale < 0) {
        if (value.mantissa != 0 && (-value.scale > POWER_MAX ||
                                    !times(value.mantissa, powers[-value.scale], &value.mantissa)))
            return overflow(err, what, 0);
        value.scale = 0;
    }
    *ret = value;
    return TB_OK;
}

tb_code tb_decimal_round(tb_decimal value, int scale, tb_rounding mode, tb_decimal *ret,
                         tb_error *err)
{
    if (tb__round_quick(value, scale, mode, ret)) return TB_OK;
    int places = value.scale - scale;
    if (places >= 0 && scale >= 0) { /* a division by a power of ten: it always fits */
        u128 size = magnitude(value.mantissa), rest;
        u128 q = divide((wide){.low = size}, powers[places], &rest).low;
        q += tb__rounds_up(q, rest, powers[places], false, mode);
        *ret = (tb_decimal){value.mantissa < 0 ? -(tb_i128)q : (tb_i128)q, scale};
        return TB_OK;
    }
    if (scale < 0 || scale > TB_DECIMAL_SCALE_MAX) return too_fine(err, "quotient");
    tb_i128 finer;
    if (!times(value.mantissa, powers[-places], &finer)) return overflow(err, "quotient", scale);
    *ret = (tb_decimal){finer, scale};
    return TB_OK;
}

/* n / (d x 10^places), rounded once. False where it does not fit. */
static bool quotient_coarser(wide n, u128 d, int places, tb_rounding mode, u128 *ret)
{
    u128 first_rest, rest;
    wide q = divide(divide(n, d, &first_rest), powers[places], &rest);
    if (q.high || q.low > MAGNITUDE_MAX) return false;
    *ret = q.low + tb__rounds_up(q.low, rest, powers[places], first_rest > 0, mode);
    return true;
}

/* n x 10^places / d, rounded once. False where it does not fit. */
static bool quotient_finer(wide n, u128 d, int places, tb_rounding mode, u128 *ret)
{
    u128 rest, whole;
    wide first = divide(n, d, &rest);
    wide second = divide(multiply(rest, powers[places]), d, &rest);
    if (first.high || __builtin_mul_overflow(first.low, powers[places], &whole) ||
        whole > MAGNITUDE_MAX)
        return false;
    whole += second.low; /* below 10^36 */
    *ret = whole + tb__rounds_up(whole, rest, d, false, mode);
    return true;
}

tb_code tb_decimal_divide(tb_decimal value, tb_i128 num, tb_i128 den, int scale, tb_rounding mode,
                          tb_decimal *ret, tb_error *err)
{
    if (den <= 0) return tb_fail(err, TB_E_VALIDATION, NULL, "A divisor must be above zero.");
    if (scale < 0 || scale > TB_DECIMAL_SCALE_MAX) return too_fine(err, "quotient");
    if (num == den) return tb_decimal_round(value, scale, mode, ret, err);
    wide product = multiply(magnitude(value.mantissa), magnitude(num));
    int places = scale - value.scale;
    u128 size;
    tb_i128 mantissa;
    bool fits = places < 0 ? quotient_coarser(product, (u128)den, -places, mode, &size)
                           : quotient_finer(product, (u128)den, places, mode, &size);
    if (!fits || !with_sign(size, (value.mantissa < 0) != (num < 0), &mantissa))
        return overflow(err, "quotient", scale);
    *ret = (tb_decimal){mantissa, scale};
    return TB_OK;
}

/* --- sums of any scales --- */

int tb_decimal_scale_within(tb_decimal value, int most)
{
    tb_i128 finer;
    int scale = most > TB_DECIMAL_SCALE_MAX ? TB_DECIMAL_SCALE_MAX : most;
    while (scale > value.scale && !times(value.mantissa, powers[scale - value.scale], &finer))
        scale--;
    return scale > value.scale ? scale : value.scale;
}

/* Whole units and rest of the same sign, the rest below a unit. */
static tb_sum taken_apart(tb_decimal value)
{
    u128 size = magnitude(value.mantissa), whole = size / powers[value.scale];
    u128 rest = (size - whole * powers[value.scale]) * powers[TB_DECIMAL_SCALE_MAX - value.scale];
    tb_sum sum = {(tb_i128)whole, (tb_i128)rest};
    return value.mantissa < 0 ? (tb_sum){-sum.whole, -sum.rest} : sum;
}

/* Brings a rest of less than two units below one, and gives it the sign of the whole units. */
static bool carry(tb_sum *sum)
{
    const tb_i128 unit = (tb_i128)powers[TB_DECIMAL_SCALE_MAX];
    int over = (sum->rest >= unit) - (sum->rest <= -unit);
    if (__builtin_add_overflow(sum->whole, (tb_i128)over, &sum->whole)) return false;
    sum->rest -= over * unit;
    int borrow = (sum->whole > 0 && sum->rest < 0) - (sum->whole < 0 && sum->rest > 0);
    sum->whole -= borrow;
    sum->rest += borrow * unit;
    return magnitude(sum->whole) <= MAGNITUDE_MAX;
}

tb_code tb_sum_add(tb_sum *sum, tb_decimal value, tb_error *err)
{
    tb_sum more = taken_apart(value), out;
    out.rest = sum->rest + more.rest;
    if (__builtin_add_overflow(sum->whole, more.whole, &out.whole) || !carry(&out))
        return overflow(err, "sum", 0);
    *sum = out;
    return TB_OK;
}

tb_code tb_sum_sub(tb_sum *sum, tb_decimal value, tb_error *err)
{
    value.mantissa = -value.mantissa;
    return tb_sum_add(sum, value, err);
}

tb_code tb_sum_decimal(tb_sum sum, tb_decimal *ret, tb_error *err)
{
    tb_decimal rest = tb_decimal_normal((tb_decimal){sum.rest, TB_DECIMAL_SCALE_MAX});
    return add_named((tb_decimal){sum.whole, 0}, rest, "sum", ret, err);
}

/* A rest is written as a decimal of no whole units: its digits follow those of the whole ones. */
char *tb_sum_put(char *out, tb_sum sum)
{
    char text[TB_DECIMAL_TEXT_MAX];
    tb_decimal rest = {sum.rest, TB_DECIMAL_SCALE_MAX};
    if (sum.whole == 0) return tb_decimal_put(out, rest);
    out = tb_decimal_put(out, tb_decimal_from_int(sum.whole));
    if (sum.rest < 0) rest.mantissa = -rest.mantissa;
    char *end = tb_decimal_put(text, rest);
    size_t len = (size_t)(end - text) - 1; /* without its zero before the point */
    memcpy(out, text + 1, len);
    return out + len;
}
