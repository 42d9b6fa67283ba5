/* Refusing a line: every parser of intake says so in the same way. */
#ifndef TB__INTAKE_REJECT_H
#define TB__INTAKE_REJECT_H

#include "tollbook/intake.h"

/* Fills *ret for a line of len bytes at text; `at` is where parsing stopped, text <= at. Returns
 * false, so that a parser ends with `return tb__reject(...)`. The line number is the caller's. */
bool tb__reject(tb_reject *ret, const char *text, size_t len, const char *at,
                tb_reject_reason reason);

/* Length of the line in [line, end) without a CR before its end. */
static inline size_t tb__line_len(const char *line, const char *end)
{
    const size_t len = (size_t)(end - line);
    return len - (len > 0 && line[len - 1] == '\r');
}

/* What every format refuses before it looks at columns: blank lines, lines that are too long, NUL
 * bytes. */
bool tb__line_sane(const char *line, size_t len, tb_reject *ret_reject);

#endif
