/* Integers to decimal text, inline for the encoder's inner loop.
 *
 * Four digits at a time come out of a table of 10,000 texts: a 12-digit counter costs three loads
 * and divisions by constants, which are multiplications. The head's leading zeros are skipped by
 * starting later in its text, not by a branch. Measured against pairs of digits and against eight
 * digits inside one 64-bit word: as fast or faster for short numbers, clearly faster for long. */
#ifndef TOLLBOOK_ENCODE_NUMBER_H
#define TOLLBOOK_ENCODE_NUMBER_H

#include <stdint.h>
#include <string.h>

#define TB__1E4  10000u
#define TB__1E8  UINT64_C(100000000)
#define TB__1E16 UINT64_C(10000000000000000)

/* "0000" "0001" ... "9999" */
extern const char tb__four_digits[40000];

/* Exactly 4 digits of value < 10^4. */
static inline char *tb__put_4(char *out, uint32_t value)
{
    memcpy(out, tb__four_digits + 4 * value, 4);
    return out + 4;
}

/* Exactly 8 digits of value < 10^8. */
static inline char *tb__put_8(char *out, uint32_t value)
{
    return tb__put_4(tb__put_4(out, value / TB__1E4), value % TB__1E4);
}

/* Exactly 16 digits of value < 10^16. */
static inline char *tb__put_16(char *out, uint64_t value)
{
    out = tb__put_8(out, (uint32_t)(value / TB__1E8));
    return tb__put_8(out, (uint32_t)(value % TB__1E8));
}

/* value < 10^4 without leading zeros. Writes 4 bytes, of which the returned end says how many
 * count; the table holds them, since only a value below 1000 skips any. */
static inline char *tb__put_head(char *out, uint32_t value)
{
    unsigned zeros = (value < 1000) + (value < 100) + (value < 10);
    memcpy(out, tb__four_digits + 4 * value + zeros, 4);
    return out + (4 - zeros);
}

/* value < 10^8 without leading zeros. Writes up to 3 bytes more than it returns. */
static inline char *tb__put_short(char *out, uint32_t value)
{
    if (value < TB__1E4) return tb__put_head(out, value);
    return tb__put_4(tb__put_head(out, value / TB__1E4), value % TB__1E4);
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

/* tb_put_double without instructions that only some processors have: the same text. */
char *tb__put_double_portable(char *out, double value);

#endif
