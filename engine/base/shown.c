/* Texts that somebody else chose, as they may be shown. */
#include "base/jsontext.h"
#include "tollbook/buf.h"

/* How many bytes of text stand for themselves; 0: the first one does not. */
static size_t plain_step(const char *text, size_t len)
{
    if (*text == '\\') return len < 2 || text[1] != 'x';
    return tb__printable_step(text, len);
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
