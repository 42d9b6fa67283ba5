/* Decimals of the usual size, inline: what decimal.c does first, and what rating a bill does some
 * thousand million times. Each function says whether it could; if not, the one in decimal.h can, or
 * names the error. */
#ifndef TOLLBOOK_BASE_QUICK_H
#define TOLLBOOK_BASE_QUICK_H

#include "tollbook/decimal.h"

__extension__ typedef unsigned __int128 tb__u128;

/* Whether q + (rest + something below 1)/d goes up to q + 1; `more`: that something is not zero
 * (only where d is even, or it could carry a rest just below the half over it). */
static inline bool tb__rounds_up(tb__u128 q, tb__u128 rest, tb__u128 d, bool more, tb_rounding mode)
{
    tb__u128 other = d - rest;
    if (rest != other) return rest > other;
    return more || mode == TB_HALF_UP || (q & 1);
}

/* X(10^k, s): 2^s is the largest power of two not above it. k from 1. */
#define TB__POWERS(X)                                                                              \
    X(UINT64_C(10), 3)                                                                             \
    X(UINT64_C(100), 6)                                                                            \
    X(UINT64_C(1000), 9)                                                                           \
    X(UINT64_C(10000), 13)                                                                         \
    X(UINT64_C(100000), 16)                                                                        \
    X(UINT64_C(1000000), 19)                                                                       \
    X(UINT64_C(10000000), 23)                                                                      \
    X(UINT64_C(100000000), 26)                                                                     \
    X(UINT64_C(1000000000), 29)                                                                    \
    X(UINT64_C(10000000000), 33)                                                                   \
    X(UINT64_C(100000000000), 36)                                                                  \
    X(UINT64_C(1000000000000), 39)                                                                 \
    X(UINT64_C(10000000000000), 43)                                                                \
    X(UINT64_C(100000000000000), 46)                                                               \
    X(UINT64_C(1000000000000000), 49)                                                              \
    X(UINT64_C(10000000000000000), 53)                                                             \
    X(UINT64_C(100000000000000000), 56)                                                            \
    X(UINT64_C(1000000000000000000), 59)                                                           \
    X(UINT64_C(10000000000000000000), 63)

/* n / 10^k by multiplication. With m = floor(2^(64 + s) / 10^k), below 2^64, n m / 2^(64 + s) is at
 * most n / 10^k and, n being below 2^64, less than 1 under it: the quotient, or one too few. */
static inline uint64_t tb__divide_power(uint64_t n, unsigned k, uint64_t *ret_rest)
{
    static const struct {
        uint64_t power, inverse;
        unsigned shift;
    } table[] = {{1, 0, 0},
#define TB_X(power, shift) {power, (uint64_t)(((tb__u128)1 << (64 + shift)) / power), shift},
                 TB__POWERS(TB_X)
#undef TB_X
    };
    uint64_t power = table[k].power;
    uint64_t q = (uint64_t)((tb__u128)n * table[k].inverse >> 64) >> table[k].shift;
    uint64_t rest = n - q * power;
    bool more = rest >= power;
    *ret_rest = more ? rest - power : rest;
    return q + more;
}

/* tb_decimal_round of a value not negative and below 2^64, by 1 to 19 digits. */
static inline bool tb__round_quick(tb_decimal value, int scale, tb_rounding mode, tb_decimal *ret)
{
    int places = value.scale - scale;
    uint64_t rest;
    if (places < 1 || places > 19 || scale < 0 || value.mantissa >> 64) return false;
    uint64_t q = tb__divide_power((uint64_t)value.mantissa, (unsigned)places, &rest);
    static const uint64_t half[] = {0,
#define TB_X(power, shift) power / 2,
                                    TB__POWERS(TB_X)
#undef TB_X
    };
    /* Powers of ten are even: a tie is the half itself. */
    bool up = rest > half[places] || (rest == half[places] && (mode == TB_HALF_UP || (q & 1)));
    *ret = (tb_decimal){(tb_i128)q + up, scale};
    return true;
}

/* tb_decimal_mul_int of a price and units, both not negative and below 2^63. */
static inline bool tb__multiply_quick(tb_decimal price, tb_i128 units, tb_decimal *ret)
{
    if (((tb__u128)price.mantissa | (tb__u128)units) >> 63) return false;
    *ret =
        (tb_decimal){(tb_i128)((tb__u128)(uint64_t)price.mantissa * (uint64_t)units), price.scale};
    return true;
}

/* tb_decimal_add to a sum of the same scale, or of nothing yet; both not negative. */
static inline bool tb__add_quick(tb_decimal *sum, tb_decimal more)
{
    const tb_i128 limit = (tb_i128)1 << 125;
    if (sum->mantissa == 0 && sum->scale <= more.scale) {
        *sum = more;
        return true;
    }
    if (sum->scale != more.scale || sum->mantissa > limit || more.mantissa > limit ||
        sum->mantissa < 0 || more.mantissa < 0)
        return false;
    sum->mantissa += more.mantissa;
    return true;
}

#endif
