/* JSON of one form, written and read: see strict_json.h. */
#include "check/strict_json.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/jsontext.h"
#include "proof/text.h"

#define CHUNK 4096 /* a string is quoted in chunks, as its room is six times its length */

void tb__strict_add(tb_buf *out, tb_text text)
{
    tb_buf_str(out, "\"");
    for (size_t at = 0, n; at < text.len; at += n) {
        n = text.len - at > CHUNK ? CHUNK : text.len - at;
        while (n > 1 && at + n < text.len && ((unsigned char)text.data[at + n] & 0xC0) == 0x80)
            n--; /* a character stays whole */
        char *room = tb_buf_room(out, TB__QUOTED_MAX(n));
        if (!room) return;
        char *before = room - 1, kept = *before; /* the chunk's own quotation marks are not wanted */
        out->len += (size_t)(tb__quote(before, text.data + at, n) - before) - 2;
        *before = kept;
    }
    tb_buf_str(out, "\"");
}

/* --- reading --- */

void tb__strict_refuse(tb__strict *r, const char *member, const char *fmt, ...)
{
    char why[160], field[80];
    va_list args;
    if (r->code) return;
    va_start(args, fmt);
    vsnprintf(why, sizeof why, fmt, args);
    va_end(args);
    snprintf(field, sizeof field, "%s%s%s", r->part, *r->part && *member ? "." : "", member);
    r->code = tb_fail(r->err, TB_E_VALIDATION, field, "byte %zu: %s", (size_t)(r->at - r->start) + 1, why);
    if (r->err) r->err->byte = (uint64_t)(r->at - r->start) + 1;
}

bool tb__strict_try(tb__strict *r, const char *literal)
{
    const size_t len = strlen(literal);
    if (r->code || (size_t)(r->end - r->at) < len || memcmp(r->at, literal, len) != 0) return false;
    r->at += len;
    return true;
}

bool tb__strict_take(tb__strict *r, const char *member, const char *literal)
{
    if (tb__strict_try(r, literal)) return true;
    tb__strict_refuse(r, member, r->at == r->end ? "the text ends where %s is expected" : "expected %s", literal);
    return false;
}

/* The bytes of the escape that is next, if it is the one that tb__quote writes for its character; 0 else. */
static size_t take_escape(const tb__strict *r, char *ret)
{
    static const char letters[] = "\"\\bfnrt", values[] = "\"\\\b\f\n\r\t";
    char quoted[TB__QUOTED_MAX(1)], *to = quoted;
    const char *letter = r->end - r->at >= 2 && r->at[1] ? strchr(letters, r->at[1]) : NULL;
    if (letter) {
        *ret = values[letter - letters];
        return 2;
    }
    if (r->end - r->at < 6 || memcmp(r->at, "\\u00", 4) != 0 || tb__unescape(r->at, r->end, &to) != 6 || to != quoted + 1) return 0;
    *ret = quoted[0];
    return tb__quote(quoted, ret, 1) == quoted + 8 && memcmp(quoted + 1, r->at, 6) == 0 ? 6 : 0;
}

/* Takes what is no plain run of a string: an escape or a character that is not ASCII. false: neither. */
static bool take_other(tb__strict *r, char **to)
{
    char c;
    size_t step;
    if (*r->at == '\\') {
        if ((step = take_escape(r, &c)) == 0) return false;
        *(*to)++ = c;
    } else {
        if ((unsigned char)*r->at < 0x80 || (step = tb__utf8_step(r->at, (size_t)(r->end - r->at))) == 0) return false;
        memmove(*to, r->at, step);
        *to += step;
    }
    r->at += step;
    return true;
}

tb_text tb__strict_string(tb__strict *r, const char *member)
{
    if (!tb__strict_take(r, member, "\"")) return (tb_text){NULL, 0};
    char *from = r->at, *to = from;
    while (r->at < r->end && *r->at != '"') {
        const size_t run = tb__plain_run(r->at, (size_t)(r->end - r->at));
        if (run && to != r->at) memmove(to, r->at, run);
        to += run;
        r->at += run;
        if (!run && !take_other(r, &to)) {
            tb__strict_refuse(r, member, "not a character of a string in its one form");
            return (tb_text){NULL, 0};
        }
    }
    tb__strict_take(r, member, "\"");
    return (tb_text){from, (size_t)(to - from)};
}

tb_text tb__strict_member(tb__strict *r, const char *name)
{
    char literal[32];
    snprintf(literal, sizeof literal, "\"%s\":", name);
    return tb__strict_take(r, name, literal) ? tb__strict_string(r, name) : (tb_text){NULL, 0};
}

int64_t tb__strict_number(tb__strict *r, const char *member)
{
    int64_t value = 0;
    const char *from = r->at;
    while (!r->code && r->at < r->end && *r->at >= '0' && *r->at <= '9')
        r->at++;
    if (!r->code && !tb__proof_number((tb_text){from, (size_t)(r->at - from)}, &value))
        tb__strict_refuse(r, member, "expected a number from 0 to 2^63 - 1");
    return value;
}
