/* Characters and numbers of log columns: one class table, and eight decimal digits at a time.
 *
 * The eight-digit form works on the bytes of a little-endian 64-bit word, the first digit in the
 * lowest byte, as a load from memory gives them (loads swap on big-endian machines). */
#ifndef TB__INTAKE_CHARS_H
#define TB__INTAKE_CHARS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define TB__INLINE static inline __attribute__((always_inline))

enum { TB__CHAR_TOKEN = 1, TB__CHAR_EDGE = 2, TB__CHAR_LETTER = 4, TB__CHAR_DIGIT = 8 };
extern const uint8_t tb__char_class[256];

TB__INLINE bool tb__char_is(char c, unsigned classes)
{
    return tb__char_class[(unsigned char)c] & classes;
}

TB__INLINE bool tb__digit(char c)
{
    return (unsigned char)(c - '0') < 10;
}

/* How many bytes from p on, before end, belong to the class. */
size_t tb__char_span(const char *p, const char *end, unsigned classes);

/* Reads a column that must be a whole number from 0 to max, in 1 to 19 digits, leading zeros
 * allowed. On failure *ret_stop is the first byte that is no digit, or p where the value or the
 * number of digits is out of range. */
bool tb__number(const char *p, const char *end, uint64_t max, uint64_t *ret, const char **ret_stop);

/* An HTTP status of three digits from 100 to 599. Where no answer was sent servers write 000 (nginx,
 * CloudFront), 009 (nginx, to HTTP/0.9), 0 (Caddy, Cloudflare), -1 (HAProxy) or - (Apache, varnishncsa): bytes may
 * have gone out all the same, so that is TB__STATUS_NONE, which nginx calls a client that closed. On failure
 * *ret_stop is where it went wrong. */
enum { TB__STATUS_NONE = 499 };
bool tb__status(const char *p, size_t len, uint16_t *ret, const char **ret_stop);

TB__INLINE uint64_t tb__load64(const char *p)
{
    uint64_t word;
    memcpy(&word, p, sizeof word);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    word = __builtin_bswap64(word);
#endif
    return word;
}

/* The last n digits, 1 <= n <= 8, before `end`, each as a byte 0..9, zeros in front; reads the
 * eight bytes before end. Bytes that were no digits come out as 10 or more. */
TB__INLINE uint64_t tb__digits_before(const char *end, unsigned n)
{
    return (tb__load64(end - 8) ^ UINT64_C(0x3030303030303030)) & (~UINT64_C(0) << (64 - 8 * n));
}

/* Not zero where a byte of digits is 10 or more. */
TB__INLINE uint64_t tb__digits_wrong(uint64_t digits)
{
    return ((digits + UINT64_C(0x7676767676767676)) | digits) & UINT64_C(0x8080808080808080);
}

/* The value of eight digits: pairs, then fours, then all eight, in three multiplications. */
TB__INLINE uint64_t tb__digits_value(uint64_t digits)
{
    const uint64_t pairs = digits * 10 + (digits >> 8);
    const uint64_t even = (pairs & UINT64_C(0x000000FF000000FF)) * UINT64_C(0x000F424000000064);
    const uint64_t odd =
        ((pairs >> 16) & UINT64_C(0x000000FF000000FF)) * UINT64_C(0x0000271000000001);
    return (even + odd) >> 32;
}

#endif
