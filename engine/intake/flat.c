#include "intake/flat.h"

#include "base/jsontext.h"
#include "tollbook/calendar.h"

enum { SHOWN_MAX = 48 }; /* bytes of an unknown key in a message */

bool tb__flat_refuse(tb__flat *r, const char *at, tb_reject_reason reason, const char *key, const char *sentence)
{
    tb__reject(r->reject, r->line, (size_t)(r->end - r->line), at, reason);
    (void)tb_fail(r->err, TB_E_BAD_LINE, key, "%s%s%s%s", key ? "\"" : "", key ? key : "",
                  key ? "\" " : "", sentence);
    if (r->err) r->err->byte = r->reject->byte;
    return false;
}

bool tb__flat_not_json(tb__flat *r, const char *sentence)
{
    const bool nul = r->at < r->end && *r->at == 0;
    return tb__flat_refuse(r, r->at, nul ? TB_REJECT_NUL : TB_REJECT_JSON, NULL, sentence);
}

bool tb__flat_lacks(tb__flat *r, unsigned key, const char *sentence)
{
    return tb__flat_refuse(r, r->end, TB_REJECT_JSON, r->keys[key].name, sentence);
}

bool tb__flat_begin(tb__flat *r, const char *line, size_t len)
{
    r->line = line;
    r->at = line + tb__mark_len(line, len);
    r->end = line + tb__line_len(line, line + len);
    r->last = r->n_keys - 1;
    r->seen = 0;
    const size_t own = (size_t)(r->end - line);
    if (own == 0) return tb__flat_refuse(r, line, TB_REJECT_BLANK, NULL, "The line is blank.");
    if (own > TB_LINE_MAX)
        return tb__flat_refuse(r, line + TB_LINE_MAX, TB_REJECT_TOO_LONG, NULL, "The line is longer than 1 MiB.");
    return true;
}

/* The four digits of \uXXXX. */
static bool take_unicode(tb__flat *r, char *ret)
{
    unsigned value = 0;
    for (unsigned i = 0; i < 4; i++, r->at++) {
        if (r->at == r->end) return false;
        const char c = *r->at, low = (char)(c | 0x20);
        if (tb__digit(c))
            value = value << 4 | (unsigned)(c - '0');
        else if (low >= 'a' && low <= 'f')
            value = value << 4 | (unsigned)(low - 'a' + 10);
        else
            return false;
    }
    *ret = value >= 0x20 && value < 0x7f ? (char)value : '?';
    return true;
}

static bool take_escape(tb__flat *r, char *ret)
{
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/?????";
    if (r->at == r->end) return false;
    if (*r->at == 'u') {
        r->at++;
        return take_unicode(r, ret);
    }
    const char *found = *r->at ? strchr(from, *r->at) : NULL;
    if (!found) return false;
    *ret = to[found - from];
    r->at++;
    return true;
}

bool tb__flat_string(tb__flat *r, tb__flat_text *ret)
{
    ret->len = 0;
    while (r->at < r->end && *r->at != '"') {
        char c = *r->at;
        if ((unsigned char)c < 0x20) return tb__flat_not_json(r, "A string holds a control character.");
        r->at++;
        if (c == '\\' && !take_escape(r, &c)) return tb__flat_not_json(r, "A string escape is not valid.");
        if (ret->len <= TB__FLAT_STRING) ret->bytes[ret->len++] = c;
    }
    if (r->at == r->end) return tb__flat_not_json(r, "A string does not end.");
    r->at++;
    return true;
}

bool tb__flat_name(tb__flat *r, const char *key, size_t most, const char *sentence, char *out)
{
    char kept[TB__FLAT_STRING + 8], *to = kept; /* room for one character more */
    tb__flat_space(r);
    const char *from = r->at;
    if (!tb__flat_char(r, '"')) return tb__flat_refuse(r, from, TB_REJECT_JSON, key, sentence);
    while (r->at < r->end && *r->at != '"') {
        if ((unsigned char)*r->at < 0x20) return tb__flat_not_json(r, "A string holds a control character.");
        char *const before = to;
        const size_t step = *r->at == '\\' ? tb__unescape(r->at, r->end, &to) : 1;
        if (step == 0) return tb__flat_not_json(r, "A string escape is not valid.");
        if (*r->at != '\\') *to++ = *r->at;
        if (to > kept + TB__FLAT_STRING + 1) to = before > kept + TB__FLAT_STRING ? before : kept + TB__FLAT_STRING + 1;
        r->at += step;
    }
    if (r->at == r->end) return tb__flat_not_json(r, "A string does not end.");
    r->at++;
    const size_t len = (size_t)(to - kept);
    if (len == 0 || len > most || !tb__is_printable(kept, len)) return tb__flat_refuse(r, from, TB_REJECT_JSON, key, sentence);
    memcpy(out, kept, len);
    out[len] = 0;
    return true;
}

/* A key as messages show it: printable, ended. */
static const char *shown(tb__flat_text *key)
{
    if (key->len > SHOWN_MAX) {
        key->len = SHOWN_MAX;
        memcpy(key->bytes + SHOWN_MAX - 3, "...", 3);
    }
    for (size_t i = 0; i < key->len; i++)
        if (key->bytes[i] < 0x20 || key->bytes[i] > 0x7e) key->bytes[i] = '?';
    key->bytes[key->len] = 0;
    return key->bytes;
}

static unsigned find_key(const tb__flat *r, const tb__flat_text *key)
{
    for (unsigned i = 1; i <= r->n_keys; i++) {
        const unsigned k = (r->last + i) % r->n_keys;
        if (r->keys[k].len == key->len && memcmp(r->keys[k].name, key->bytes, key->len) == 0) return k;
    }
    return r->n_keys;
}

/* "key": up to the value. */
static bool take_key(tb__flat *r, unsigned *ret_key)
{
    tb__flat_text name;
    tb__flat_space(r);
    r->key_at = r->at;
    if (!tb__flat_char(r, '"')) return tb__flat_not_json(r, "A key in quotes is expected.");
    if (!tb__flat_string(r, &name)) return false;
    const unsigned k = find_key(r, &name);
    if (k == r->n_keys) return tb__flat_refuse(r, r->key_at, TB_REJECT_JSON, shown(&name), r->unknown);
    if (r->seen & TB__KEY_BIT(k)) return tb__flat_refuse(r, r->key_at, TB_REJECT_JSON, r->keys[k].name, "stands twice.");
    if (!tb__flat_char(r, ':')) return tb__flat_not_json(r, "A colon is expected after the key.");
    r->seen |= TB__KEY_BIT(k);
    r->last = k;
    *ret_key = k;
    return true;
}

bool tb__flat_members(tb__flat *r, bool (*take)(tb__flat *r, unsigned key))
{
    unsigned key;
    if (!tb__flat_char(r, '{')) return tb__flat_not_json(r, "The line is not a JSON object.");
    if (!tb__flat_char(r, '}')) {
        do {
            if (!take_key(r, &key) || !take(r, key)) return false;
        } while (tb__flat_char(r, ','));
        if (!tb__flat_char(r, '}')) return tb__flat_not_json(r, "A comma or '}' is expected.");
    }
    tb__flat_space(r);
    return r->at == r->end || tb__flat_not_json(r, "Something follows the object.");
}

/* Where a JSON number ends, so that 1.0 and 1e3 are seen as one wrong value. */
static bool number_byte(char c)
{
    return tb__digit(c) || c == '+' || c == '-' || c == '.' || c == 'e' || c == 'E';
}

bool tb__flat_whole(tb__flat *r, unsigned key, uint64_t min, uint64_t max, tb_reject_reason reason, const char *sentence,
                    uint64_t *ret)
{
    tb__flat_space(r);
    const char *from = r->at, *stop;
    while (r->at < r->end && number_byte(*r->at))
        r->at++;
    const bool zeros = r->at - from > 1 && *from == '0';
    if (!zeros && tb__number(from, r->at, max, ret, &stop) && *ret >= min) return true;
    return tb__flat_refuse(r, from, reason, r->keys[key].name, sentence);
}

bool tb__flat_time(tb__flat *r, unsigned key, bool hourly, int64_t *ret_us)
{
    const char *name = r->keys[key].name;
    tb__flat_text value;
    tb_reject_reason reason;
    tb__flat_space(r);
    const char *from = r->at;
    if (!tb__flat_char(r, '"'))
        return tb__flat_refuse(r, from, TB_REJECT_HOUR, name, "must be an RFC 3339 time in quotes.");
    if (!tb__flat_string(r, &value)) return false;
    if (value.len > TB__FLAT_STRING || tb_rfc3339_parse(value.bytes, value.len, ret_us, NULL) != TB_OK ||
        (hourly && *ret_us % TB_US_PER_HOUR != 0))
        return tb__flat_refuse(r, from, TB_REJECT_HOUR, name,
                               hourly ? "must be an RFC 3339 time on the hour such as 2026-11-01T13:00:00Z."
                                      : "must be an RFC 3339 time such as 2026-11-01T13:05:00Z.");
    if (!tb__time_sane(*ret_us / 1000, r->now_ms, &reason))
        return tb__flat_refuse(r, from, reason, name,
                               reason == TB_REJECT_TOO_OLD ? "is before 2015." : "is more than 48 hours ahead.");
    return true;
}
