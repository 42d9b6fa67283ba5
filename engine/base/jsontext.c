/* UTF-8 is checked by lead byte, smallest second byte and largest second byte (RFC 3629, section
 * 4): these three decide shortest form, surrogates and the upper end at once; further bytes are
 * plain continuation bytes. */
#include "base/jsontext.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

static int is_continuation(unsigned char byte)
{
    return (byte & 0xC0) == 0x80;
}

static int second_byte_fits(unsigned char lead, unsigned char second)
{
    switch (lead) {
    case 0xE0: return second >= 0xA0 && second <= 0xBF;
    case 0xED: return second >= 0x80 && second <= 0x9F;
    case 0xF0: return second >= 0x90 && second <= 0xBF;
    case 0xF4: return second >= 0x80 && second <= 0x8F;
    default: return is_continuation(second);
    }
}

size_t tb__utf8_step(const char *text, size_t len)
{
    const unsigned char *s = (const unsigned char *)text;
    if (s[0] < 0x80) return 1;
    size_t need = s[0] >= 0xC2 && s[0] <= 0xDF   ? 2
                  : s[0] >= 0xE0 && s[0] <= 0xEF ? 3
                  : s[0] >= 0xF0 && s[0] <= 0xF4 ? 4
                                                 : 0;
    if (need == 0 || need > len || !second_byte_fits(s[0], s[1])) return 0;
    for (size_t i = 2; i < need; i++)
        if (!is_continuation(s[i])) return 0;
    return need;
}

size_t tb__printable_step(const char *text, size_t len)
{
    const unsigned char *s = (const unsigned char *)text;
    if (s[0] < 0x80) return s[0] >= 0x20 && s[0] != 0x7f;
    const size_t n = tb__utf8_step(text, len);
    if (n == 2) return s[0] == 0xC2 && s[1] < 0xA0 ? 0 : n;
    if (n < 3) return n;
    const bool last_of_plane = (s[n - 2] & 0x3F) == 0x3F && (s[n - 1] & 0x3E) == 0x3E && (s[n - 3] & 0x0F) == 0x0F;
    const bool arabic = n == 3 && s[0] == 0xEF && s[1] == 0xB7 && s[2] >= 0x90 && s[2] <= 0xAF;
    return last_of_plane || arabic ? 0 : n;
}

bool tb__is_printable(const char *text, size_t len)
{
    for (size_t at = 0, n; at < len; at += n)
        if ((n = tb__printable_step(text + at, len - at)) == 0) return false;
    return true;
}

/* Eight bytes at once: bit 7 of a byte of the mask is set where the byte is a control character, a
 * quote, a backslash or not ASCII. A borrow can only mark bytes behind one that is marked rightly,
 * so a zero mask is always right, and the first marked byte is found byte by byte. */
static int all_plain(uint64_t word)
{
    const uint64_t ones = UINT64_C(0x0101010101010101), tops = ones << 7;
    uint64_t quote = word ^ (ones * '"'), slash = word ^ (ones * '\\');
    return (((word - ones * 0x20) | (quote - ones) | (slash - ones) | word) & tops) == 0;
}

size_t tb__plain_run(const char *text, size_t len)
{
    size_t n = 0;
    for (; len - n >= 8; n += 8) {
        uint64_t word;
        memcpy(&word, text + n, 8);
        if (!all_plain(word)) break;
    }
    while (n < len && (unsigned char)text[n] >= 0x20 && (unsigned char)text[n] < 0x80 &&
           text[n] != '"' && text[n] != '\\')
        n++;
    return n;
}

/* The letter of a short escape, or 0. */
static char short_escape(unsigned char byte)
{
    switch (byte) {
    case '"': return '"';
    case '\\': return '\\';
    case '\b': return 'b';
    case '\f': return 'f';
    case '\n': return 'n';
    case '\r': return 'r';
    case '\t': return 't';
    default: return 0;
    }
}

static char *put_escape(char *out, unsigned char byte)
{
    static const char hex[] = "0123456789abcdef";
    char letter = short_escape(byte);
    *out++ = '\\';
    if (letter) {
        *out++ = letter;
        return out;
    }
    memcpy(out, "u00", 3);
    out[3] = hex[byte >> 4];
    out[4] = hex[byte & 15];
    return out + 5;
}

char *tb__quote(char *out, const char *text, size_t len)
{
    *out++ = '"';
    for (size_t i = 0; i < len;) {
        size_t run = tb__plain_run(text + i, len - i);
        memcpy(out, text + i, run);
        out += run;
        i += run;
        if (i == len) break;
        unsigned char byte = (unsigned char)text[i];
        if (byte < 0x20 || byte == '"' || byte == '\\') {
            out = put_escape(out, byte);
            i++;
            continue;
        }
        size_t step = tb__utf8_step(text + i, len - i);
        memcpy(out, step ? text + i : "\xEF\xBF\xBD", step ? step : 3);
        out += step ? step : 3;
        i += step ? step : 1;
    }
    *out++ = '"';
    return out;
}

static bool hex4(const char *p, const char *end, uint32_t *ret_value)
{
    if (end - p < 4) return false;
    uint32_t value = 0;
    for (int i = 0; i < 4; i++) {
        char c = p[i];
        uint32_t digit = c >= '0' && c <= '9'   ? (uint32_t)(c - '0')
                         : c >= 'a' && c <= 'f' ? (uint32_t)(c - 'a' + 10)
                         : c >= 'A' && c <= 'F' ? (uint32_t)(c - 'A' + 10)
                                                : 16;
        if (digit == 16) return false;
        value = value * 16 + digit;
    }
    *ret_value = value;
    return true;
}

/* Reads \uXXXX, or a pair of them, at p. Returns the bytes read, 0 where it is not a character. */
static size_t read_unicode(const char *p, const char *end, uint32_t *ret_code)
{
    uint32_t high, low;
    if (!hex4(p + 2, end, &high) || high == 0 || (high >= 0xDC00 && high < 0xE000)) return 0;
    *ret_code = high;
    if (high < 0xD800 || high >= 0xE000) return 6;
    if (end - p < 12 || p[6] != '\\' || p[7] != 'u' || !hex4(p + 8, end, &low)) return 0;
    if (low < 0xDC00 || low >= 0xE000) return 0;
    *ret_code = 0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00);
    return 12;
}

static char *put_utf8(char *out, uint32_t code)
{
    if (code < 0x80) {
        *out++ = (char)code;
        return out;
    }
    int more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
    static const unsigned char lead[] = {0, 0xC0, 0xE0, 0xF0};
    *out++ = (char)(lead[more] | code >> (6 * more));
    while (more-- > 0)
        *out++ = (char)(0x80 | ((code >> (6 * more)) & 0x3F));
    return out;
}

static char unescape(char letter)
{
    switch (letter) {
    case '"':
    case '\\':
    case '/': return letter;
    case 'b': return '\b';
    case 'f': return '\f';
    case 'n': return '\n';
    case 'r': return '\r';
    case 't': return '\t';
    default: return 0;
    }
}

size_t tb__unescape(const char *p, const char *end, char **out)
{
    if (end - p < 2) return 0;
    uint32_t code = (unsigned char)unescape(p[1]);
    size_t step = p[1] == 'u' ? read_unicode(p, end, &code) : code ? 2 : 0;
    if (step) *out = put_utf8(*out, code);
    return step;
}
