/* Doubles as the shortest decimal text that reads back to the same double, the nearest such text
 * if there are several; plain notation.
 *
 * Ratios and means lie between 2^-14 and 2^53. There all arithmetic is exact. The integer part is
 * written as it is: no integer lies between such a double and its text, since that integer would be
 * a double itself. What is behind the point is a fraction of 2^64, as are the ends of the interval of
 * real numbers that round to the double; 10^k times any of them has its whole part in the upper half
 * of one product, and the rest in the lower one. k makes that interval at least 1 and less than 10
 * wide. So it holds a whole number, and at most one multiple of ten: if there is one, it is the
 * shortest text once its zeros are dropped, else the whole number nearest to the value is, and ties
 * go to the even one. Digits are dropped in the text, all zeros at once, and with them the point of
 * an integer: no step depends on how many there are, and a processor guesses no branch wrongly.
 *
 * Two usual worries do not arise in that domain. Whether an end of the interval belongs to it makes
 * no difference: an end has one binary place more than the value and so more than 17 digits. And
 * below a power of two the interval is half as wide, but the powers of two that are no integers
 * have at most 10 digits themselves, and are the multiple of ten that is taken.
 *
 * The 16 digits of a fraction come out of the table in number.h, or where the processor has AVX-512
 * with its multiplications of 52 bits out of these; the choice is made at the first call.
 *
 * Everything else (tiny or huge values cannot come from counters) takes the C library's correctly
 * rounded printing with growing precision. The process never leaves the C locale. */
#include "tollbook/json.h"

#include "encode/number.h"

#include <stdio.h>
#include <stdlib.h>

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define FIRST_BYTES(first, last)   ((first) | (uint64_t)(last) << 32)
#define BYTES_OF_ZERO_AT_END(word) (__builtin_clzll((word) | 1) / 8) /* 7 of a word that is 0 */
#else
#define FIRST_BYTES(first, last)   ((uint64_t)(first) << 32 | (last))
#define BYTES_OF_ZERO_AT_END(word) (__builtin_ctzll((word) | UINT64_C(1) << 63) / 8)
#endif

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
    UINT64_C(100000000000000000),
    UINT64_C(1000000000000000000),
    UINT64_C(10000000000000000000),
};

#define PLACES_COMMON 53 /* binary places of a double from 0.5 on: at most 16 decimal ones */
#define SMALLEST      0x1p-14
#define COMMON_END    0x1p53

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

static inline uint64_t whole_of(uint64_t fraction, uint64_t unit)
{
    return (uint64_t)((tb_u128)fraction * unit >> 64);
}

/* The digits behind the point of fraction / 2^64, in units of 1 / unit; zeros at the end included.
 * half: of the interval. Of 0 it is 0. */
static inline uint64_t shortest(uint64_t fraction, uint64_t half, uint64_t unit)
{
    const tb_u128 value = (tb_u128)fraction * unit;
    const uint64_t ten = whole_of(fraction + half, unit) / 10 * 10; /* the last one before the end */
    const uint64_t odd = (uint64_t)(value >> 64) & 1;
    const uint64_t nearest = (uint64_t)((value + (INT64_MAX + odd)) >> 64);
    return choose(whole_of(fraction - half, unit) < ten, ten, nearest);
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

/* 16 digits of value, below 10^16, less the zeros at their end but for a first one. Always writes 16
 * bytes. */
static inline char *put_fraction(char *out, uint64_t value)
{
    const uint64_t zeros = UINT64_C(0x3030303030303030);
    uint64_t first = eight_digits((uint32_t)(value / TB__1E8));
    uint64_t last = eight_digits((uint32_t)(value % TB__1E8));
    memcpy(out, &first, 8);
    memcpy(out + 8, &last, 8);
    const bool few = last == zeros;
    out += 16 - 8 * few;
    return out - BYTES_OF_ZERO_AT_END(choose(few, first, last) ^ zeros);
}

static uint64_t mantissa_of(uint64_t bits)
{
    return (bits & ((UINT64_C(1) << 52) - 1)) | UINT64_C(1) << 52;
}

/* A value from 2^-14 to 0.5. Its 10^-point is 10^-19 at the smallest, or less: a sixteenth of 10^20
 * fits, and so does a fraction that is sixteen times as large. */
static char *put_small(char *out, uint64_t bits)
{
    const int places = 1075 - (int)(bits >> 52), point = points_of(places);
    const bool fits = point < 20;
    const int shift = (fits ? 64 : 68) - places;
    const uint64_t digits = shortest(mantissa_of(bits) << shift, UINT64_C(1) << (shift - 1),
                                     fits ? power10[point] : power10[19] / 8 * 5);
    memcpy(out, "0.00000", 7);
    out += 2 + (point - 17);
    *out++ = (char)('0' + digits / TB__1E16);
    const uint64_t rest = digits % TB__1E16;
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

/* Small values, 0, and what does not come from counters. */
__attribute__((noinline)) static char *put_other(char *out, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, 8);
    if (!__builtin_isfinite(value)) value = 0;
    if (value < 0) {
        *out++ = '-';
        return tb_put_double(out, -value);
    }
    if (value == 0) return tb__put_u64(out, 0);
    return value >= SMALLEST && value < 0.5 ? put_small(out, bits) : put_rare(out, value);
}

typedef char *fraction_fn(char *out, uint64_t value);

/* Once for each way to write a fraction. */
static inline __attribute__((always_inline)) char *put_common(char *out, double value, fraction_fn *put)
{
    uint64_t bits;
    memcpy(&bits, &value, 8);
    const int places = 1075 - (int)(bits >> 52); /* of a negative one, less than 0 */
    if (places < 1 || places > PLACES_COMMON) return put_other(out, value);
    const uint64_t mantissa = mantissa_of(bits), fraction = mantissa << (64 - places);
    const int point = points_of(places);
    const uint64_t digits = shortest(fraction, UINT64_C(1) << (63 - places), power10[point]);
    out = tb__put_u64(out, mantissa >> places);
    *out = '.';
    char *end = put(out + 1, digits * power10[16 - point]);
    return (char *)choose(fraction != 0, (uint64_t)(uintptr_t)end, (uint64_t)(uintptr_t)out);
}

char *tb__put_double_portable(char *out, double value)
{
    return put_common(out, value, put_fraction);
}

#if defined(__x86_64__)
#include <immintrin.h>

#define IFMA __attribute__((target("avx512f,avx512bw,avx512vl,avx512ifma,avx512vbmi")))
#define ONE  (INT64_C(1) << 52)
#define PART(power) (ONE / INT64_C(power) + 1)

/* Digit d of n < 10^8, counted from 0, is the whole part of ten times what is behind the point of
 * n / 10^(8-d). n times 2^52 / 10^(8-d) has that in its lower 52 bits, and ten times these has the
 * digit in its upper ones, if what rounding adds stays below 2^52 / 10^(8-d). Rounded up it adds less
 * than 10^8, which is little enough from d = 1 on. For d = 0 it is rounded down, and the most that is
 * then lacking is added: 2^52 mod 10^8. */
IFMA static inline __m512i digits_ifma(uint64_t n)
{
    const __m512i parts = _mm512_setr_epi64(ONE / 100000000, PART(10000000), PART(1000000), PART(100000),
                                            PART(10000), PART(1000), PART(100), PART(10));
    const __m512i lacks = _mm512_setr_epi64(ONE % 100000000, 0, 0, 0, 0, 0, 0, 0);
    const __m512i behind = _mm512_madd52lo_epu64(lacks, parts, _mm512_set1_epi64((long long)n));
    return _mm512_madd52hi_epu64(_mm512_set1_epi64('0'), _mm512_set1_epi64(10), behind);
}

IFMA static inline char *put_fraction_ifma(char *out, uint64_t value)
{
    const __m128i lowest = _mm_setr_epi8(0, 8, 16, 24, 32, 40, 48, 56, 64, 72, 80, 88, 96, 104, 112, 120);
    const __m512i first = digits_ifma(value / TB__1E8), last = digits_ifma(value % TB__1E8);
    const __m128i text = _mm512_castsi512_si128(
        _mm512_permutex2var_epi8(first, _mm512_castsi128_si512(lowest), last));
    const uint32_t used = _mm_cmpneq_epi8_mask(text, _mm_set1_epi8('0'));
    _mm_storeu_si128((__m128i_u *)(void *)out, text);
    return out + (32 - __builtin_clz(used | 1));
}

IFMA static char *put_ifma(char *out, double value)
{
    return put_common(out, value, put_fraction_ifma);
}

static char *choose_put(char *out, double value);

typedef char *put_fn(char *, double);
static put_fn *chosen_put = choose_put;

/* Threads may choose at once: they choose the same. */
static char *choose_put(char *out, double value)
{
    const bool has = __builtin_cpu_supports("avx512ifma") && __builtin_cpu_supports("avx512vbmi") &&
                     __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
    put_fn *fn = has ? put_ifma : tb__put_double_portable;
    __atomic_store_n(&chosen_put, fn, __ATOMIC_RELAXED);
    return fn(out, value);
}

/* Writes up to 17 bytes more than it returns: a point and 16 digits behind an integer. */
char *tb_put_double(char *out, double value)
{
    return __atomic_load_n(&chosen_put, __ATOMIC_RELAXED)(out, value);
}

#else

char *tb_put_double(char *out, double value)
{
    return tb__put_double_portable(out, value);
}

#endif
