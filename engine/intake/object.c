/* Lines that are JSON objects: the values that a map names, found in one pass.
 *
 * Nothing is unpacked: a value stays in its place, a text between its quotes, with its escapes. Other members than
 * the map's are skipped. Strings may contain any bytes: an unescaped quote ends them.
 *
 * Lines of one writer differ only in their values. So the shape of a read line is kept: the bytes between its
 * values, and the kind of each value. The next line is compared with it, and read from its beginning if it differs.
 * Both ways give the same result: a shape is made of the same bytes, and its values end by the same rules. */
#include "intake/columns.h"
#include "intake/find.h"

#include <string.h>

typedef struct scan {
    const tb_log_columns *c;
    const char *at, *end;
    tb__columns_parts *parts;
    tb__shape *shape; /* being made; NULL: it has no room */
    const char *mark; /* the bytes from here to the next value are not in the shape yet */
} scan;

/* --- shapes --- */

static void give_up_shape(scan *s)
{
    s->shape->n = 0;
    s->shape = NULL;
}

/* The bytes up to the value at s->at, and its kind. */
static void note_step(scan *s, uint8_t role, uint8_t action)
{
    tb__shape *shape = s->shape;
    if (!shape) return;
    const size_t len = (size_t)(s->at - s->mark);
    if (shape->n == TB__STEPS_MAX || len > (size_t)TB__SHAPE_TEXT - shape->len) {
        give_up_shape(s);
        return;
    }
    shape->step[shape->n++] = (tb__step){shape->len, (uint16_t)len, role, action};
    memcpy(shape->text + shape->len, s->mark, len);
    shape->len = (uint16_t)(shape->len + len);
}

/* --- the whole reading --- */

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

/* The rest of a string after its opening quote. */
TB__INLINE bool take_quote(scan *s, tb__part *ret)
{
    const char *from = s->at, *at = tb__find(from, s->end, '"');
    while (__builtin_expect(at && at > from && at[-1] == '\\', 0)) {
        const char *back = at;
        while (back > from && back[-1] == '\\')
            back--;
        if ((at - back) % 2 == 0) break;
        at = tb__find(at + 1, s->end, '"');
    }
    if (!at) return false;
    *ret = (tb__part){from, (size_t)(at - from)};
    s->mark = at;
    s->at = at + 1;
    return true;
}

/* A number or a word: up to a character that may follow a value. */
static bool take_bare(scan *s, tb__part *ret)
{
    const char *at = s->at;
    while (at < s->end && *at != ',' && *at != '}' && *at != ']' && *at != ' ' && *at != '\t')
        at++;
    *ret = (tb__part){s->at, (size_t)(at - s->at)};
    s->at = s->mark = at;
    return ret->len > 0 && (tb__digit(*ret->at) || *ret->at == '-' ||
                            tb__char_is(*ret->at, TB__CHAR_LETTER));
}

/* Skips an object or array after its opening bracket, at any depth. */
static bool skip_nested(scan *s)
{
    tb__part ignored;
    for (size_t depth = 1; depth > 0;) {
        const char *at = tb__find_nesting(s->at, s->end);
        if (!at) return false;
        s->at = at + 1;
        if (*at == '"') {
            if (!take_quote(s, &ignored)) return false;
        } else if ((*at | 0x20) == '{') {
            depth++;
        } else {
            depth--;
        }
    }
    s->mark = s->at;
    return true;
}

/* A nested value after its opening bracket. */
static bool pass_nested(scan *s)
{
    note_step(s, TB__ROLE_NONE, TB__STEP_NESTED);
    return skip_nested(s);
}

/* A text after its opening quote; stores its end in the shape. */
static bool pass_quoted(scan *s, uint8_t role, tb__part *ret)
{
    note_step(s, role, TB__STEP_QUOTED);
    return take_quote(s, ret);
}

static bool pass_bare(scan *s, uint8_t role, tb__part *ret)
{
    note_step(s, role, TB__STEP_BARE);
    return take_bare(s, ret);
}

static bool skip_value(scan *s)
{
    tb__part ignored;
    skip_blanks(s);
    if (s->at == s->end) return false;
    if (*s->at != '"' && *s->at != '{' && *s->at != '[')
        return pass_bare(s, TB__ROLE_NONE, &ignored);
    const char c = *s->at++;
    return c == '"' ? pass_quoted(s, TB__ROLE_NONE, &ignored) : pass_nested(s);
}

/* null counts as absent. */
static void note_value(scan *s, uint8_t role, tb__part value, bool bare)
{
    if (role == TB__ROLE_NONE) return;
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
            if (!pass_quoted(s, role, &value)) return false;
            note_value(s, role, value, false);
        }
        return pass_nested(s);
    }
    if (c == '{') return skip_value(s);
    const bool bare = c != '"';
    if (!bare) s->at++;
    if (!(bare ? pass_bare(s, role, &value) : pass_quoted(s, role, &value))) return false;
    note_value(s, role, value, bare);
    return true;
}

/* The first eight bytes of a key, padded with zeros. */
TB__INLINE uint64_t key_word(tb__part name)
{
    uint64_t word;
    memcpy(&word, name.at, sizeof word);
    return name.len >= 8 ? word
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
                         : name.len ? word >> (64 - 8 * name.len) << (64 - 8 * name.len) : 0;
#else
                         : word & ((UINT64_C(1) << 8 * name.len) - 1);
#endif
}

TB__INLINE bool is_key(const tb_log_columns *c, const tb__key *key, uint64_t word, tb__part name)
{
    return key->word == word && key->name_len == name.len &&
           (name.len <= 8 || memcmp(c->literals + key->name + 8, name.at + 8, name.len - 8) == 0);
}

/* The key of this name in the list that begins with `first`; `likely` is tried before the others. */
TB__INLINE uint8_t find_member(const tb_log_columns *c, uint8_t first, uint8_t likely,
                               tb__part name)
{
    const uint64_t word = key_word(name);
    if (likely && is_key(c, &c->key[likely], word, name)) return likely;
    for (uint8_t k = first; k; k = c->key[k].next)
        if (is_key(c, &c->key[k], word, name)) return k;
    return 0;
}

/* "http.status" as one name, which some writers use, is that path. */
static uint8_t find_dotted(const tb_log_columns *c, uint8_t key, tb__part name)
{
    for (;;) {
        const char *dot = memchr(name.at, '.', name.len);
        const size_t len = dot ? (size_t)(dot - name.at) : name.len;
        key = find_member(c, c->key[key].child, 0, (tb__part){name.at, len});
        if (!key || !dot) return key;
        name = (tb__part){dot + 1, name.len - len - 1};
    }
}

/* The members of an object after its opening brace; key: the one with its list of names. */
static bool take_members(scan *s, uint8_t key)
{
    const uint8_t first = s->c->key[key].child;
    uint8_t likely = first;
    if (skip_char(s, '}')) return true;
    do {
        tb__part name;
        const char *mark = s->mark; /* a key is no value */
        if (!skip_char(s, '"') || !take_quote(s, &name) || !skip_char(s, ':')) return false;
        s->mark = mark;
        uint8_t k = find_member(s->c, first, likely, name);
        const bool own = k;
        bool good;
        if (!k && memchr(name.at, '.', name.len)) k = find_dotted(s->c, key, name);
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
        if (own) likely = s->c->key[k].next ? s->c->key[k].next : first;
    } while (skip_char(s, ','));
    return skip_char(s, '}');
}

/* --- reading by the shape --- */

static bool take_step(scan *s, const tb__shape *shape, const tb__step *step)
{
    tb__part value = {s->at, 0};
    if ((size_t)(s->end - s->at) < step->len ||
        !tb__same(s->at, shape->text + step->text, step->len))
        return false;
    s->at += step->len;
    switch (step->action) {
    case TB__STEP_NESTED: return skip_nested(s);
    case TB__STEP_BARE:
        if (!take_bare(s, &value)) return false;
        note_value(s, step->role, value, true);
        return true;
    default:
        if (!take_quote(s, &value)) return false;
        s->at = s->mark; /* the quote is the next step's */
        note_value(s, step->role, value, false);
        return true;
    }
}

static bool follow_shape(scan s, const tb__shape *shape)
{
    for (unsigned i = 0; i < shape->n; i++)
        if (!take_step(&s, shape, &shape->step[i])) return false;
    return (size_t)(s.end - s.at) == shape->tail_len &&
           tb__same(s.at, shape->text + shape->tail, shape->tail_len);
}

/* The bytes after the last value. */
static void end_shape(scan *s)
{
    tb__shape *shape = s->shape;
    const size_t len = (size_t)(s->end - s->mark);
    if (!shape) return;
    if (len > (size_t)TB__SHAPE_TEXT - shape->len) {
        give_up_shape(s);
        return;
    }
    memcpy(shape->text + shape->len, s->mark, len);
    shape->tail = shape->len;
    shape->tail_len = (uint16_t)len;
}

bool tb__object_read(const tb_log_columns *c, const char *line, size_t len, tb__shape *shape,
                     tb__columns_parts *parts, const char **ret_stop)
{
    scan s = {c, line, line + len, parts, NULL, line};
    memset(parts->of, 0, sizeof parts->of);
    if (shape->n && follow_shape(s, shape)) return true;
    memset(parts->of, 0, sizeof parts->of);
    s.shape = shape;
    shape->n = shape->len = 0;
    const bool good = skip_char(&s, '{') && take_members(&s, 0);
    skip_blanks(&s);
    *ret_stop = s.at;
    if (good && s.at == s.end) {
        end_shape(&s);
        return true;
    }
    shape->n = 0;
    return false;
}
