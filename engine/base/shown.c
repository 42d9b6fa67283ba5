/* Texts that somebody else chose, as they may be shown. */
#include "base/jsontext.h"
#include "tollbook/buf.h"

/* How many bytes of text stand for themselves; 0: the first one does not. U+0080 to U+009F are control
 * characters too. */
static size_t plain_step(const char *text, size_t len)
{
    const unsigned char c = (unsigned char)*text;
    if (c < 0x20 || c == 0x7f) return 0;
    if (c == '\\') return len < 2 || text[1] != 'x';
    if (c == 0xC2 && len > 1 && (unsigned char)text[1] < 0xA0) return 0;
    return tb__utf8_step(text, len);
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
