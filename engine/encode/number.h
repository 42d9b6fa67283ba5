/* Integers to decimal text, inline for the encoder's inner loop.
 *
 * Eight digits are made at once inside one 64-bit word: the value is split in two halves of four
 * digits, those in pairs, those in digits, each step by multiplication with a rounded-up reciprocal
 * (exact in its range). Leading zeros are shifted out, so there is no branch on the length. */
#ifndef TOLLBOOK_ENCODE_NUMBER_H
#define TOLLBOOK_ENCODE_NUMBER_H

#include <stdint.h>
#include <string.h>

#define TB__1E8  UINT64_C(100000000)
#define TB__1E16 UINT64_C(10000000000000000)

/* The digits of value < 10^8, most significant in the lowest byte, not yet ASCII. */
static inline uint64_t tb__digits8(uint32_t value)
{
    uint64_t halves = value / 10000u | (uint64_t)(value % 10000u) << 32;
    uint64_t hundreds = ((halves * 10486u) >> 20) & UINT64_C(0x0000007F0000007F);
    uint64_t pairs = hundreds | (halves - 100u * hundreds) << 16;
    uint64_t tens = ((pairs * 103u) >> 10) & UINT64_C(0x000F000F000F000F);
    return tens | (pairs - 10u * tens) << 8;
}

static inline void tb__store8(char *out, uint64_t word)
{
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    word = __builtin_bswap64(word);
#endif
    memcpy(out, &word, 8);
}

#define TB__ASCII_ZEROS UINT64_C(0x3030303030303030)

/* Exactly 8 digits of value < 10^8. */
static inline char *tb__put_8(char *out, uint32_t value)
{
    tb__store8(out, tb__digits8(value) | TB__ASCII_ZEROS);
    return out + 8;
}

/* Exactly 16 digits of value < 10^16. */
static inline char *tb__put_16(char *out, uint64_t value)
{
    out = tb__put_8(out, (uint32_t)(value / TB__1E8));
    return tb__put_8(out, (uint32_t)(value % TB__1E8));
}

/* value < 10^8 without leading zeros. Writes 8 bytes, of which the returned end says how many
 * count. */
static inline char *tb__put_short(char *out, uint32_t value)
{
    uint64_t digits = tb__digits8(value);
    /* The set bit keeps the last digit where all are zero. */
    unsigned zeros = (unsigned)__builtin_ctzll(digits | UINT64_C(1) << 56) / 8;
    tb__store8(out, (digits | TB__ASCII_ZEROS) >> (8 * zeros));
    return out + (8 - zeros);
}

/* Never writes past out + 20. */
static inline char *tb__put_u64(char *out, uint64_t value)
{
    if (value < TB__1E8) return tb__put_short(out, (uint32_t)value);
    uint64_t high = value / TB__1E8;
    uint32_t low = (uint32_t)(value % TB__1E8);
    if (high < TB__1E8) return tb__put_8(tb__put_short(out, (uint32_t)high), low);
    out = tb__put_short(out, (uint32_t)(high / TB__1E8));
    return tb__put_8(tb__put_8(out, (uint32_t)(high % TB__1E8)), low);
}

#endif
