#include "cli/columns.h"

#include <string.h>

#define COLUMNS_MAX 64
#define WIDEST      60 /* a longer cell pushes the rest of its row aside */

int columns_width(const char *text, size_t len)
{
    int width = 0;
    for (size_t i = 0; i < len; i++)
        width += (text[i] & 0xc0) != 0x80;
    return width;
}

static const char *end_of(const char *at, const char *end, char what)
{
    const char *found = memchr(at, what, (size_t)(end - at));
    return found ? found : end;
}

/* Measures a row, or writes it where out is given. */
static void take_row(const char *at, const char *end, int widths[COLUMNS_MAX], tb_buf *out)
{
    for (size_t column = 0; at <= end; column++) {
        const char *stop = end_of(at, end, '\t');
        const int width = columns_width(at, (size_t)(stop - at));
        if (!out && column < COLUMNS_MAX && width <= WIDEST && width > widths[column]) widths[column] = width;
        if (out) tb_buf_add(out, at, (size_t)(stop - at));
        if (out && stop < end) {
            const int gap = column < COLUMNS_MAX ? widths[column] - width : 0;
            tb_buf_fmt(out, "%*s", (gap > 0 ? gap : 0) + 2, "");
        }
        at = stop + 1;
    }
    if (out) tb_buf_str(out, "\n");
}

void columns_put(const char *text, size_t len, tb_buf *out)
{
    const char *end = text + len;
    for (const char *at = text; at < end;) {
        int widths[COLUMNS_MAX] = {0};
        const char *block = at, *line = end_of(at, end, '\n');
        while (at < end && memchr(at, '\t', (size_t)(line - at))) {
            take_row(at, line, widths, NULL);
            at = line < end ? line + 1 : end;
            line = at < end ? end_of(at, end, '\n') : end;
        }
        for (const char *row = block; row < at; row = end_of(row, at, '\n') + 1)
            take_row(row, end_of(row, at, '\n'), widths, out);
        if (at == block) {
            tb_buf_add(out, at, (size_t)(line - at));
            tb_buf_str(out, "\n");
            at = line + 1;
        }
    }
}
