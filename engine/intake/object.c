/* Lines that are JSON objects: the values that a map names, found in one pass.
 *
 * Nothing is unpacked: a value is where it stands, a text between its quotes, with its escapes. What the
 * map does not name is passed over. Writers keep an order, so the key that came last time after this one
 * is tried first. Strings may hold whatever bytes: a quote that no backslash takes ends them. */
#include "intake/chars.h"
#include "intake/columns.h"

#include <string.h>

typedef struct scan {
    const tb_log_columns *c;
    const char *at, *end;
    tb__columns_parts *parts;
} scan;

static void skip_blanks(scan *s)
{
    while (s->at < s->end && (*s->at == ' ' || *s->at == '\t' || *s->at == '\r'))
        s->at++;
}

static bool skip_char(scan *s, char c)
{
    skip_blanks(s);
    if (s->at == s->end || *s->at != c) return false;
    s->at++;
    return true;
}

/* The rest of a string whose quote is taken. */
static bool take_quote(scan *s, tb__part *ret)
{
    const char *from = s->at, *at = from;
    for (;;) {
        at = memchr(at, '"', (size_t)(s->end - at));
        if (!at) return false;
        const char *back = at;
        while (back > from && back[-1] == '\\')
            back--;
        if ((at - back) % 2 == 0) break;
        at++;
    }
    *ret = (tb__part){from, (size_t)(at - from)};
    s->at = at + 1;
    return true;
}

/* A number or a word: up to what may follow a value. */
static bool take_bare(scan *s, tb__part *ret)
{
    const char *at = s->at;
    while (at < s->end && *at != ',' && *at != '}' && *at != ']' && *at != ' ' && *at != '\t')
        at++;
    *ret = (tb__part){s->at, (size_t)(at - s->at)};
    s->at = at;
    return ret->len > 0 && (tb__digit(*ret->at) || *ret->at == '-' ||
                            tb__char_is(*ret->at, TB__CHAR_LETTER));
}

/* Past the end of an object or array whose beginning is taken, however deep it is. */
static bool skip_nested(scan *s)
{
    tb__part ignored;
    for (size_t depth = 1; depth > 0;) {
        if (s->at == s->end) return false;
        const char c = *s->at++;
        if (c == '"' && !take_quote(s, &ignored)) return false;
        depth += c == '{' || c == '[';
        depth -= c == '}' || c == ']';
    }
    return true;
}

static bool skip_value(scan *s)
{
    tb__part ignored;
    skip_blanks(s);
    if (s->at == s->end) return false;
    if (*s->at != '"' && *s->at != '{' && *s->at != '[') return take_bare(s, &ignored);
    const char c = *s->at++;
    return c == '"' ? take_quote(s, &ignored) : skip_nested(s);
}

/* null says nothing. */
static void note_value(scan *s, uint8_t role, tb__part value, bool bare)
{
    if (bare && value.len == 4 && memcmp(value.at, "null", 4) == 0) return;
    s->parts->of[role] = value;
}

/* A value that the map names: a text, a number, or the first of a list of texts. */
static bool take_named(scan *s, uint8_t role)
{
    tb__part value;
    skip_blanks(s);
    if (s->at == s->end) return false;
    const char c = *s->at;
    if (c == '[') {
        s->at++;
        skip_blanks(s);
        if (s->at < s->end && *s->at == '"') {
            s->at++;
            if (!take_quote(s, &value)) return false;
            note_value(s, role, value, false);
        }
        return skip_nested(s);
    }
    if (c == '{') return skip_value(s);
    const bool bare = c != '"';
    if (!bare) s->at++;
    if (!(bare ? take_bare(s, &value) : take_quote(s, &value))) return false;
    note_value(s, role, value, bare);
    return true;
}

/* The key of this name in the list that begins with `first`; `likely` is tried before the others. */
static uint8_t find_member(const tb_log_columns *c, uint8_t first, uint8_t likely, tb__part name)
{
    for (uint8_t k = likely; k; k = c->key[k].next)
        if (c->key[k].name_len == name.len &&
            memcmp(c->literals + c->key[k].name, name.at, name.len) == 0)
            return k;
    for (uint8_t k = first; k && k != likely; k = c->key[k].next)
        if (c->key[k].name_len == name.len &&
            memcmp(c->literals + c->key[k].name, name.at, name.len) == 0)
            return k;
    return 0;
}

/* The members of an object whose brace is taken; key: whose list of names it has. */
static bool take_members(scan *s, uint8_t key)
{
    const uint8_t first = s->c->key[key].child;
    uint8_t likely = first;
    if (skip_char(s, '}')) return true;
    do {
        tb__part name;
        if (!skip_char(s, '"') || !take_quote(s, &name) || !skip_char(s, ':')) return false;
        const uint8_t k = find_member(s->c, first, likely, name);
        bool good;
        if (!k) {
            good = skip_value(s);
        } else if (s->c->key[k].child && skip_char(s, '{')) {
            good = take_members(s, k); /* as deep as the map, TB__DEPTH_MAX */
        } else if (s->c->key[k].role == TB__ROLE_NONE) {
            good = skip_value(s);
        } else {
            good = take_named(s, s->c->key[k].role);
        }
        if (!good) return false;
        if (k) likely = s->c->key[k].next ? s->c->key[k].next : first;
    } while (skip_char(s, ','));
    return skip_char(s, '}');
}

bool tb__object_read(const tb_log_columns *c, const char *line, size_t len,
                     tb__columns_parts *parts, const char **ret_stop)
{
    scan s = {c, line, line + len, parts};
    memset(parts->of, 0, sizeof parts->of);
    bool good = skip_char(&s, '{') && take_members(&s, 0);
    skip_blanks(&s);
    *ret_stop = s.at;
    return good && s.at == s.end;
}
