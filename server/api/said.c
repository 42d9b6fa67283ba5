#include "api/said.h"
#include "http/message.h"

#include <stdio.h>
#include <string.h>

#define LINES 20

/* The length of the line at `at`, with its '\n'; 0: there is none. */
static size_t line_at(const tb_buf *lines, size_t at)
{
    const char *stop = at < lines->len ? memchr(lines->data + at, '\n', lines->len - at) : NULL;
    return stop ? (size_t)(stop - (lines->data + at)) + 1 : 0;
}

static bool has_line(const tb_buf *lines, const char *line, size_t len)
{
    for (size_t at = 0, n; (n = line_at(lines, at)); at += n)
        if (n == len && memcmp(lines->data + at, line, n) == 0) return true;
    return false;
}

void api_say(const char *operation, const tb_buf *lines, const tb_buf *before)
{
    int left = LINES;
    for (size_t at = 0, n; left && (n = line_at(lines, at)); at += n) {
        if (before && has_line(before, lines->data + at, n)) continue;
        message_say(MESSAGE_WARNING, "%s: %.*s", operation, (int)n - 1, lines->data + at);
        left--;
    }
}
