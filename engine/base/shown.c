/* Untrusted texts in a form that can be shown. */
#include "base/jsontext.h"
#include "tollbook/buf.h"

#include <string.h>

/* U+200E, U+200F, U+202A to U+202E and U+2066 to U+2069 change the direction of what follows: what stands there is not what is seen. */
static bool turns(const char *text, size_t len)
{
    const unsigned char *s = (const unsigned char *)text;
    if (len < 3 || s[0] != 0xE2) return false;
    if (s[1] == 0x80) return s[2] == 0x8E || s[2] == 0x8F || (s[2] >= 0xAA && s[2] <= 0xAE);
    return s[1] == 0x81 && s[2] >= 0xA6 && s[2] <= 0xA9;
}

/* How many bytes of text stand for themselves; 0: the first one does not. */
static size_t plain_step(const char *text, size_t len)
{
    if (*text == '\\') return len < 2 || text[1] != 'x';
    return turns(text, len) ? 0 : tb__printable_step(text, len);
}

void tb_buf_shown(tb_buf *buf, const char *text, size_t len)
{
    for (size_t at = 0, n; at < len; at += n) {
        n = plain_step(text + at, len - at);
        if (n) {
            tb_buf_add(buf, text + at, n);
            continue;
        }
        tb_buf_fmt(buf, "\\x%02x", (unsigned char)text[at]);
        n = 1;
    }
}

/* --- CSV --- */

static bool begins_like_formula(const char *text, size_t len)
{
    /* = + - @ of full width; blanks and marks that some programs skip */
    static const char *const wide[] = {"\uff1d", "\uff0b", "\uff0d", "\uff20", "\u00a0",
                                       "\u2028", "\u2029", "\u202f", "\u3000", "\ufeff"};
    const unsigned char c = len ? (unsigned char)*text : 'a';
    if (c < 0x80) return c <= ' ' || c == '=' || c == '+' || c == '-' || c == '@';
    if (len > 2 && memcmp(text, "\xe2\x80", 2) == 0 && (unsigned char)text[2] <= 0x8a) return true; /* U+2000 to U+200A */
    for (size_t i = 0; i < sizeof wide / sizeof *wide; i++) {
        const size_t n = strlen(wide[i]);
        if (len >= n && memcmp(text, wide[i], n) == 0) return true;
    }
    return false;
}

static bool needs_quotes(const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (text[i] == ',' || text[i] == '"' || text[i] == '\r' || text[i] == '\n') return true;
    return false;
}

bool tb_csv_cell_plain(const char *text, size_t len)
{
    return !begins_like_formula(text, len) && !needs_quotes(text, len);
}

void tb_buf_csv_cell(tb_buf *buf, const char *text, size_t len)
{
    const bool quoted = needs_quotes(text, len);
    const char *end = text + len;
    if (quoted) tb_buf_str(buf, "\"");
    if (begins_like_formula(text, len)) tb_buf_str(buf, "'");
    for (const char *q; quoted && (q = memchr(text, '"', (size_t)(end - text))); text = q + 1) {
        tb_buf_add(buf, text, (size_t)(q - text));
        tb_buf_str(buf, "\"\"");
    }
    tb_buf_add(buf, text, (size_t)(end - text));
    if (quoted) tb_buf_str(buf, "\"");
}

static size_t count_digits(const char *at, const char *end)
{
    size_t n = 0;
    while (at + n < end && at[n] >= '0' && at[n] <= '9')
        n++;
    return n;
}

static bool is_number(const char *text, size_t len)
{
    const char *at = text + (len && *text == '-'), *end = text + len;
    size_t n = count_digits(at, end);
    if (at + n < end && at[n] == '.') n += 1 + count_digits(at + n + 1, end);
    if (n && at + n < end && (at[n] == 'e' || at[n] == 'E')) {
        const char *exponent = at + n + 1;
        exponent += exponent < end && (*exponent == '-' || *exponent == '+');
        const size_t digits = count_digits(exponent, end);
        if (digits) n = (size_t)(exponent - at) + digits;
    }
    return n && at + n == end;
}

void tb_buf_csv_value(tb_buf *buf, const char *text, size_t len)
{
    const bool nothing = len == 1 && *text == '-';
    if (nothing || is_number(text, len)) tb_buf_add(buf, text, len);
    else tb_buf_csv_cell(buf, text, len);
}
