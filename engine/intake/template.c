/* Descriptions of text lines: literals and columns in turn, made into stretches that are read from both
 * ends. What makes a column open or closed: columns.h. */
#include "intake/columns.h"

#include <string.h>
#include <strings.h>

static bool is_hard(const tb__template *t, char c)
{
    return (t->quotes && c == '"') || (t->controls && (unsigned char)c < 0x20);
}

static tb_code too_long(const tb__template *t)
{
    return tb_fail(t->err, TB_E_VALIDATION, "format",
                   "The description is too long: at most %d columns and %d bytes.", TB__COLUMNS_MAX,
                   TB_LOG_TEXT_MAX);
}

/* Literals are stored one after the other, so that the one before the next column only grows. */
tb_code tb__template_literal(tb__template *t, const char *bytes, size_t len)
{
    tb_log_columns *to = t->to;
    if (len > TB_LOG_TEXT_MAX + 32u - to->literals_len) return too_long(t);
    if (t->tail.literal_len == 0) t->tail.literal = to->literals_len;
    if (len) memcpy(to->literals + to->literals_len, bytes, len);
    to->literals_len = (uint16_t)(to->literals_len + len);
    t->tail.literal_len = (uint16_t)(t->tail.literal_len + len);
    return TB_OK;
}

/* Of several columns for one value the best is used; the others are texts. */
static tb__role demoted(tb__role role)
{
    if (role == TB__ROLE_HOST) return TB__ROLE_HOST_TOO;
    return role == TB__ROLE_BYTES ? TB__ROLE_BODY : TB__ROLE_NONE;
}

static void place_role(tb__template *t, size_t number, uint8_t role)
{
    tb__column *column = &t->column[number];
    column->role = role;
    if (role == TB__ROLE_NONE) return;
    for (size_t i = 0; i < t->n; i++) {
        tb__column *other = &t->column[i];
        if (i == number || other->role != role) continue;
        if (other->rank >= column->rank) {
            place_role(t, number, demoted(role));
        } else {
            other->role = TB__ROLE_NONE;
            place_role(t, i, demoted(role));
        }
        return;
    }
}

/* "$uri$is_args$args", "%U%q": a variable directly after a text that counts nothing is part of it. */
static bool is_part(const tb__template *t, tb__known known)
{
    return t->n && t->tail.literal_len == 0 && t->column[t->n - 1].kind == TB__KIND_TEXT &&
           known.kind == TB__KIND_TEXT &&
           (known.role == TB__ROLE_NONE || known.role == TB__ROLE_QUERY || known.role == TB__ROLE_USER);
}

tb_code tb__template_column(tb__template *t, const char *name, size_t len, tb__known known)
{
    if (is_part(t, known)) return TB_OK;
    if (t->n == TB__COLUMNS_MAX) return too_long(t);
    tb__column *column = &t->column[t->n];
    *column = (tb__column){.literal = t->tail.literal,
                           .literal_len = t->tail.literal_len,
                           .place = (uint16_t)(name - t->text + 1),
                           .kind = known.kind,
                           .width = known.width,
                           .rank = known.rank,
                           .path = known.role == TB__ROLE_URL || known.role == TB__ROLE_QUERY};
    t->name[t->n] = name;
    t->name_len[t->n] = (uint8_t)(len < 60 ? len : 60);
    t->n++;
    place_role(t, t->n - 1, known.role);
    t->tail = (tb__column){.literal = t->to->literals_len};
    return TB_OK;
}

/* --- stretches --- */

static bool holds(uint8_t kind, char c)
{
    return tb__kind_class[(unsigned char)c] >> kind & 1;
}

/* "%v:%p". The colons of an IPv6 address are its own: such a name ends at the last one before what ends its port. */
static bool has_port(const tb_log_columns *c, const tb__stretch *s, size_t i)
{
    const tb__column *column = &c->column[s->first + i], *port = column + 1;
    if (i + 1 == s->n || (column->kind != TB__KIND_NAME && column->kind != TB__KIND_HOST)) return false;
    if (port->kind != TB__KIND_NUMBER || port->literal_len != 1 || c->literals[port->literal] != ':') return false;
    const bool last = i + 2 == s->n;
    const uint16_t behind = last ? s->tail : port[1].literal, len = last ? s->tail_len : port[1].literal_len;
    return len == 0 || (c->literals[behind] != ':' && !holds(column->kind, c->literals[behind]));
}

/* Whether column i ends before the text that follows it, whatever a client sends. The last column of a stretch
 * without a tail ends with the stretch. */
static bool closed_left(const tb_log_columns *c, const tb__stretch *s, size_t i)
{
    const tb__column *column = &c->column[s->first + i];
    const bool last = i + 1 == s->n;
    if (column->width) return true;
    if (has_port(c, s, i)) return closed_left(c, s, i + 1);
    const uint16_t literal = last ? s->tail : column[1].literal;
    const uint16_t len = last ? s->tail_len : column[1].literal_len;
    if (len) return !holds(column->kind, c->literals[literal]);
    if (last) return column->kind != TB__KIND_TEXT;
    return column[1].path && !holds(column->kind, '/');
}

/* The character that ends a closed column; none where its stretch does. */
static void note_stop(tb_log_columns *c, const tb__stretch *s, size_t i)
{
    tb__column *column = &c->column[s->first + i];
    const bool last = i + 1 == s->n;
    const uint16_t literal = last ? s->tail : column[1].literal;
    const uint16_t len = last ? s->tail_len : column[1].literal_len;
    column->stops = len || !last;
    column->stop = len ? c->literals[literal] : '/';
    column->port = has_port(c, s, i);
    if (!column->port) return;
    note_stop(c, s, i + 1);
    column->stops = column[1].stops;
    column->stop = column[1].stop;
}

static bool closed_right(const tb_log_columns *c, const tb__stretch *s, size_t i)
{
    const tb__column *column = &c->column[s->first + i];
    if (column->width) return true;
    if (column->literal_len == 0) return i == 0 && column->kind != TB__KIND_TEXT;
    return !holds(column->kind, c->literals[column->literal + column->literal_len - 1]);
}

/* A name that is read from its end may be an IPv6 address too, unless a colon is in front of it. */
static void take_address(tb_log_columns *c, const tb__stretch *s, size_t i)
{
    tb__column *column = &c->column[s->first + i];
    const bool colon = column->literal_len && c->literals[column->literal + column->literal_len - 1] == ':';
    if (column->kind == TB__KIND_NAME && !colon) column->kind = TB__KIND_SITE;
}

/* Several open columns in a row: none of them may be counted. */
static tb_code refuse_open(const tb__template *t, const tb__stretch *s, size_t number)
{
    const size_t low = s->first + s->left, high = s->first + s->n - s->right - 1u;
    return tb_fail(t->err, TB_E_VALIDATION, "format",
                   "%.*s at byte %u stands between %.*s and %.*s, which may hold any text: a client could "
                   "write it there. Put such columns in quotes, or behind all others.",
                   t->name_len[number], t->name[number], t->column[number].place, t->name_len[low],
                   t->name[low], t->name_len[high], t->name[high]);
}

/* An unknown host gives no zone: another column, or --zone, may name it. */
static bool forget_host(tb__column *column)
{
    if (column->role != TB__ROLE_HOST && column->role != TB__ROLE_HOST_TOO) return false;
    column->role = TB__ROLE_NONE;
    return true;
}

static tb_code close_stretch(const tb__template *t, tb__stretch *s)
{
    tb_log_columns *c = t->to;
    while (s->left < s->n && closed_left(c, s, s->left))
        note_stop(c, s, s->left++);
    while (s->left + s->right < s->n && closed_right(c, s, s->n - s->right - 1u))
        take_address(c, s, s->n - ++s->right);
    for (size_t i = 0; i < s->n; i++)
        s->user |= c->column[s->first + i].role == TB__ROLE_USER;
    const size_t open = (size_t)s->n - s->left - s->right;
    s->whole = s->n == 1 && !c->column[s->first].literal_len && !s->tail_len &&
               !c->column[s->first].width;
    for (size_t i = s->left; open > 1 && i < s->left + open; i++) {
        tb__column *column = &c->column[s->first + i];
        if (i > s->left && column->literal_len == 0)
            return tb_fail(t->err, TB_E_VALIDATION, "format",
                           "Nothing stands between %.*s and %.*s at byte %u: where one ends cannot be "
                           "told.",
                           t->name_len[s->first + i - 1], t->name[s->first + i - 1],
                           t->name_len[s->first + i], t->name[s->first + i], column->place);
        if (!forget_host(column) && column->role <= TB__ROLE_COUNTED)
            return refuse_open(t, s, s->first + i);
    }
    return TB_OK;
}

/* Cuts a literal at its hard characters: the text before the first one is the stretch's tail; each one ends a
 * stretch. The text after the last one precedes the next column. */
static tb_code cut_literal(const tb__template *t, tb__column *at, tb__stretch **s)
{
    tb_log_columns *c = t->to;
    for (uint16_t i = 0; i < at->literal_len; i++) {
        const char hard = c->literals[at->literal + i];
        if (!is_hard(t, hard)) continue;
        (*s)->tail = at->literal;
        (*s)->tail_len = i;
        (*s)->end = hard;
        at->literal = (uint16_t)(at->literal + i + 1);
        at->literal_len = (uint16_t)(at->literal_len - i - 1);
        if (c->n_stretches == TB__STRETCHES_MAX - 1) return too_long(t);
        *s = &c->stretch[++c->n_stretches];
        **s = (tb__stretch){.first = c->n};
        i = UINT16_MAX; /* begins anew */
    }
    return TB_OK;
}

/* Notes the remaining roles; the second host becomes the first if there is no first. */
static void note_roles(tb_log_columns *c)
{
    bool host = false;
    for (size_t i = 0; i < c->n; i++)
        host |= c->column[i].role == TB__ROLE_HOST;
    for (size_t i = 0; i < c->n; i++) {
        tb__column *column = &c->column[i];
        if (!host && column->role == TB__ROLE_HOST_TOO) column->role = TB__ROLE_HOST;
        c->roles |= UINT32_C(1) << column->role;
    }
}

static const struct {
    tb__role role;
    const char *what;
} needed[] = {{TB__ROLE_TIME, "time"}, {TB__ROLE_STATUS, "status"}, {TB__ROLE_BYTES, "bytes sent"}};

static tb_code check_needed(const tb__template *t)
{
    static const char *const say[][3] = {
        [TB__FAMILY_NGINX] = {"$msec, $time_iso8601 or $time_local", "$status",
                              "$bytes_sent or $body_bytes_sent"},
        [TB__FAMILY_APACHE] = {"%t", "%>s", "%O, %B or %b"},
        [TB__FAMILY_W3C] = {"date and time, or timestamp", "sc-status", "sc-bytes"},
    };
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
        if (!tb__has_role(t->to, needed[i].role))
            return tb_fail(t->err, TB_E_VALIDATION, "format",
                           "The description has no column for the %s: %s.", needed[i].what,
                           say[t->to->family][i]);
    return TB_OK;
}

const char *tb__past_blanks(const char *p, const char *end)
{
    while (p < end && memchr(" \t\r\n", *p, 4))
        p++;
    return p;
}

bool tb__template_take_word(tb_text *text, const char *word)
{
    const char *p = text->data, *end = p + text->len;
    const size_t len = strlen(word);
    p = tb__past_blanks(p, end);
    if ((size_t)(end - p) <= len || strncasecmp(p, word, len) != 0) return false;
    const char *behind = tb__past_blanks(p + len, end);
    if (behind == p + len) return false;
    *text = (tb_text){behind, (size_t)(end - behind)};
    return true;
}

tb_code tb__template_end(tb__template *t)
{
    tb_log_columns *c = t->to;
    tb__stretch *s = &c->stretch[0];
    *s = (tb__stretch){.first = 0};
    for (size_t i = 0; i < t->n; i++) {
        tb_code code = cut_literal(t, &t->column[i], &s);
        if (code) return code;
        c->column[c->n++] = t->column[i];
        s->n++;
    }
    tb_code code = cut_literal(t, &t->tail, &s);
    s->tail = t->tail.literal;
    s->tail_len = t->tail.literal_len;
    c->n_stretches++;
    for (size_t i = 0; i < c->n_stretches && !code; i++)
        code = close_stretch(t, &c->stretch[i]);
    if (code) return code;
    note_roles(c);
    return check_needed(t);
}
