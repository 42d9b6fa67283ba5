/* The table of reject reasons, and the checks that come before any format's own. */
#include "intake/reject.h"

#include <string.h>

static const struct {
    const char *name, *text;
} table[TB_REJECT_MAX_] = {
#define TB_X(name, text) [TB_REJECT_##name] = {#name, text},
    TB_REJECTS(TB_X)
#undef TB_X
};

const char *tb_reject_text(tb_reject_reason reason)
{
    return (unsigned)reason < TB_REJECT_MAX_ ? table[reason].text : "unknown reason";
}

const char *tb_reject_name(tb_reject_reason reason)
{
    return (unsigned)reason < TB_REJECT_MAX_ ? table[reason].name : "UNKNOWN";
}

static uint32_t clamp(size_t n)
{
    return n > UINT32_MAX ? UINT32_MAX : (uint32_t)n;
}

bool tb__reject(tb_reject *ret, const char *text, size_t len, const char *at,
                tb_reject_reason reason)
{
    *ret = (tb_reject){.line = 1,
                       .byte = clamp((size_t)(at - text) + 1),
                       .len = clamp(len),
                       .text = text,
                       .reason = reason};
    return false;
}

bool tb__line_sane(const char *line, size_t len, tb_reject *ret_reject)
{
    if (len == 0) return tb__reject(ret_reject, line, len, line, TB_REJECT_BLANK);
    if (len > TB_LINE_MAX)
        return tb__reject(ret_reject, line, len, line + TB_LINE_MAX, TB_REJECT_TOO_LONG);
    const char *nul = memchr(line, 0, len);
    return nul ? tb__reject(ret_reject, line, len, nul, TB_REJECT_NUL) : true;
}
