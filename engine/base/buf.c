/* The bounded byte buffer. A failure sticks, so that writers check once, at the end. */
#include "tollbook/buf.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void tb_buf_init(tb_buf *buf, size_t max, const tb_alloc *alloc)
{
    *buf = (tb_buf){.max = max, .alloc = alloc};
}

void tb_buf_release(tb_buf *buf)
{
    tb_alloc_free(buf->alloc, buf->data, buf->cap);
    tb_buf_init(buf, buf->max, buf->alloc);
}

/* Grows to at least `need` bytes, doubling, never past max. */
static bool grow(tb_buf *buf, size_t need)
{
    size_t cap = buf->cap ? buf->cap : 256;
    while (cap < need)
        cap = cap > buf->max / 2 ? buf->max : cap * 2;
    if (cap > buf->max) cap = buf->max;
    char *data = tb_alloc_resize(buf->alloc, buf->data, buf->cap, cap);
    if (!data) return false;
    buf->data = data;
    buf->cap = cap;
    return true;
}

char *tb_buf_room(tb_buf *buf, size_t more)
{
    if (buf->failed) return NULL;
    if (more > buf->max || buf->len > buf->max - more ||
        (buf->len + more > buf->cap && !grow(buf, buf->len + more))) {
        buf->failed = true;
        return NULL;
    }
    return buf->data + buf->len;
}

void tb_buf_add(tb_buf *buf, const void *bytes, size_t len)
{
    if (len == 0) return;
    char *at = tb_buf_room(buf, len);
    if (!at) return;
    memcpy(at, bytes, len);
    buf->len += len;
}

void tb_buf_str(tb_buf *buf, const char *text)
{
    tb_buf_add(buf, text, strlen(text));
}

/* Written at once where there is room for it, else once more when there is. */
void tb_buf_fmt(tb_buf *buf, const char *fmt, ...)
{
    const size_t room = buf->failed ? 0 : buf->cap - buf->len;
    va_list args, again;
    va_start(args, fmt);
    va_copy(again, args);
    const int n = vsnprintf(room ? buf->data + buf->len : NULL, room, fmt, args);
    va_end(args);
    char *at = n < 0 ? NULL : tb_buf_room(buf, (size_t)n + 1);
    if (at && (size_t)n >= room) vsnprintf(at, (size_t)n + 1, fmt, again);
    if (at) buf->len += (size_t)n;
    va_end(again);
}

tb_code tb_buf_check(const tb_buf *buf, tb_error *err)
{
    if (!buf->failed) return TB_OK;
    return tb_fail(err, TB_E_NOMEM, NULL, "Out of memory, or past the limit of %zu bytes.",
                   buf->max);
}
