/* What follows LogFormat in Apache's configuration: directives with modifiers. varnishncsa -F writes the
 * same language.
 *
 *   % [!] [200,304,...] [<|>] [{argument}] letter */
#include "intake/columns.h"
#include "intake/chars.h"

#include <string.h>
#include <strings.h>

typedef struct directive {
    const char *at; /* the per cent sign */
    size_t len;
    const char *argument;
    size_t argument_len;
    char letter, second; /* second: of ^FB and the like */
    bool last;           /* '>' */
} directive;

typedef struct lettered {
    char letter;
    tb__known known;
} lettered;

#define L(letter, role, kind, width, rank)                                                         \
    {                                                                                              \
        letter, { TB__ROLE_##role, TB__KIND_##kind, width, rank }                                  \
    }
static const lettered letters[] = {
    L('a', IP, ADDRESS, 0, 2),  L('A', NONE, ADDRESS, 0, 0), L('b', BYTES, NUMBER, 0, 1),
    L('B', BYTES, NUMBER, 0, 2), L('C', NONE, TEXT, 0, 0),   L('D', NONE, NUMBER, 0, 0),
    L('e', NONE, TEXT, 0, 0),   L('f', NONE, TEXT, 0, 0),    L('h', IP, ADDRESS, 0, 1),
    L('H', NONE, TEXT, 0, 0),   L('i', NONE, TEXT, 0, 0),    L('I', NONE, NUMBER, 0, 0),
    L('k', NONE, NUMBER, 0, 0), L('l', NONE, NAME, 0, 0),    L('L', NONE, TEXT, 0, 0),
    L('m', NONE, TEXT, 0, 0),   L('n', NONE, TEXT, 0, 0),    L('o', NONE, TEXT, 0, 0),
    L('O', BYTES, NUMBER, 0, 3), L('p', NONE, NUMBER, 0, 0), L('P', NONE, NUMBER, 0, 0),
    L('q', QUERY, TEXT, 0, 1),  L('r', REQUEST, TEXT, 0, 1), L('R', NONE, TEXT, 0, 0),
    L('s', STATUS, NUMBER, 0, 1), L('S', NONE, NUMBER, 0, 0), L('t', TIME, BRACKETED, 28, 1),
    L('T', NONE, DECIMAL, 0, 0), L('u', USER, TEXT, 0, 0),   L('U', URL, TEXT, 0, 1),
    L('v', HOST, NAME, 0, 2),   L('V', HOST, TEXT, 0, 3),    L('x', NONE, TEXT, 0, 0),
    L('X', NONE, TEXT, 0, 0),
};
#undef L

typedef struct argued {
    const char *letters, *argument;
    tb__known known;
} argued;

#define A(letters, argument, role, kind, rank)                                                     \
    {                                                                                              \
        letters, argument, { TB__ROLE_##role, TB__KIND_##kind, 0, rank }                           \
    }
static const argued arguments[] = {
    A("i", "Referer", REFERER, TEXT, 1),
    A("i", "User-Agent", AGENT, TEXT, 1),
    A("i", "Host", HOST, TEXT, 1),
    A("i", "Range", RANGE, TEXT, 1),
    A("i", "Authorization", AUTHORIZATION, TEXT, 1),
    A("o", "X-Cache", CACHE, TEXT, 1),
    A("en", "cache-status", CACHE, TEXT, 2),
    A("x", "Varnish:hitmiss", CACHE, TOKEN, 3),
    A("x", "Varnish:handling", CACHE, TOKEN, 2),
    A("en", "TOLLBOOK_ZONE", ZONE, NUMBER, 1),
    A("en", "TOLLBOOK_REGION", REGION, TOKEN, 1),
    A("en", "TOLLBOOK_COUNTRY", COUNTRY, TOKEN, 3),
    A("en", "MM_COUNTRY_CODE", COUNTRY, TOKEN, 2),
    A("en", "GEOIP_COUNTRY_CODE", COUNTRY, TOKEN, 1),
    A("en", "UNIQUE_ID", ID, TEXT, 1),
    A("en", "TOLLBOOK_JA4", JA4, TOKEN, 1),
    A("en", "TOLLBOOK_ASN", ASN, TOKEN, 1),
    A("en", "TOLLBOOK_ORGANIZATION", ORGANIZATION, TEXT, 1),
    A("t", "sec", TIME, NUMBER, 2),
    A("t", "msec", TIME, NUMBER, 4),
    A("t", "usec", TIME, NUMBER, 5),
    A("t", "%s", TIME, NUMBER, 2),
    A("t", "msec_frac", NONE, NUMBER, 0),
    A("t", "usec_frac", NONE, NUMBER, 0),
    A("t", "%Y-%m-%dT%H:%M:%S%z", TIME, ISO, 3),
    A("t", "%FT%T%z", TIME, ISO, 3),
    A("t", "%Y-%m-%d %H:%M:%S %z", TIME, LOCAL, 3),
    A("t", "%d/%b/%Y:%H:%M:%S %z", TIME, LOCAL, 1),
    A("t", "[%d/%b/%Y:%H:%M:%S %z]", TIME, BRACKETED, 1),
};
#undef A

static bool same_argument(const directive *d, const char *argument)
{
    const char *p = d->argument;
    size_t len = d->argument_len;
    if (d->letter == 't' && len > 6 && memcmp(p, "begin:", 6) == 0) p += 6, len -= 6;
    if (d->letter == 't' && len > 4 && memcmp(p, "end:", 4) == 0) p += 4, len -= 4;
    return strlen(argument) == len && (d->letter == 't' ? memcmp(p, argument, len) == 0
                                                        : strncasecmp(p, argument, len) == 0);
}

static const tb__known *known_letter(char letter)
{
    for (size_t i = 0; i < sizeof letters / sizeof *letters; i++)
        if (letters[i].letter == letter) return &letters[i].known;
    return NULL;
}

static const tb__known *known_argument(const directive *d)
{
    for (size_t i = 0; i < sizeof arguments / sizeof *arguments; i++)
        if (strchr(arguments[i].letters, d->letter) && same_argument(d, arguments[i].argument))
            return &arguments[i].known;
    return NULL;
}

static tb_code refuse_directive(const tb__template *t, const directive *d)
{
    const int len = d->len < 60 ? (int)d->len : 60;
    const size_t place = (size_t)(d->at - t->text) + 1;
    if (d->letter == 't')
        return tb_fail(t->err, TB_E_VALIDATION, "format",
                       "%.*s at byte %zu is a time that cannot be read: %%t, %%{sec}t, %%{msec}t, %%{usec}t "
                       "and %%{%%Y-%%m-%%dT%%H:%%M:%%S%%z}t can, with their offset from UTC.",
                       len, d->at, place);
    return tb_fail(t->err, TB_E_VALIDATION, "format",
                   "%.*s at byte %zu is no directive of a LogFormat: a per cent sign, perhaps an argument in "
                   "braces, and one of aAbBCDefhHiIkKlLmnoOpPqrRsStTuUvVxX or ^FB, ^FU, ^ti, ^to.",
                   len, d->at, place);
}

static tb_code add_directive(tb__template *t, const directive *d)
{
    tb__known known = {.role = TB__ROLE_NONE, .kind = TB__KIND_TEXT};
    const tb__known *special = d->argument ? known_argument(d) : NULL;
    const tb__known *plain = known_letter(d->letter);
    if (d->letter == '^') return tb__template_column(t, d->at, d->len, known);
    if (!plain || (d->letter == 't' && d->argument && !special)) return refuse_directive(t, d);
    known = *plain;
    if (special) known = *special;
    if (d->letter == 'a' && d->argument) known.role = TB__ROLE_NONE; /* %{c}a: the peer's */
    if (d->letter == 's' && d->last) known.rank++;
    return tb__template_column(t, d->at, d->len, known);
}

/* A directive at `at`; its length, 0 where it has no end. */
static size_t read_directive(const char *at, const char *end, directive *ret)
{
    const char *p = at + 1;
    *ret = (directive){.at = at};
    while (p < end && (*p == '!' || *p == ',' || *p == '<' || *p == '>' || tb__digit(*p)))
        ret->last |= *p++ == '>';
    if (p < end && *p == '{') {
        const char *close = memchr(p, '}', (size_t)(end - p));
        if (!close) return 0;
        ret->argument = p + 1;
        ret->argument_len = (size_t)(close - p - 1);
        p = close + 1;
    }
    if (p == end) return 0;
    ret->letter = *p++;
    if (ret->letter == '^') { /* ^FB, ^FU, ^ti, ^to */
        if (end - p < 2) return 0;
        ret->second = *p;
        p += 2;
    }
    ret->len = (size_t)(p - at);
    return ret->len;
}

/* %{%Y-%m-%dT%H:%M:%S}t.%{msec_frac}t%{%z}t is how Apache writes RFC 3339 with a fraction. */
static size_t take_long_iso(tb__template *t, const char *at, const char *end, tb_code *ret_code)
{
    static const char *const forms[] = {
        "%{%Y-%m-%dT%H:%M:%S}t.%{msec_frac}t%{%z}t", "%{%Y-%m-%dT%H:%M:%S}t.%{usec_frac}t%{%z}t",
        "%{%FT%T}t.%{msec_frac}t%{%z}t", "%{%FT%T}t.%{usec_frac}t%{%z}t"};
    const tb__known iso = {TB__ROLE_TIME, TB__KIND_ISO, 0, 4};
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        const size_t len = strlen(forms[i]);
        if ((size_t)(end - at) < len || memcmp(at, forms[i], len) != 0) continue;
        *ret_code = tb__template_column(t, at, len, iso);
        return len;
    }
    return 0;
}

static tb_code take_percent(tb__template *t, const char **at, const char *end)
{
    directive d;
    tb_code code = TB_OK;
    if (end - *at > 1 && (*at)[1] == '%') {
        *at += 2;
        return tb__template_literal(t, "%", 1);
    }
    const size_t len = take_long_iso(t, *at, end, &code);
    *at += len;
    if (len) return code;
    if (!read_directive(*at, end, &d))
        return tb_fail(t->err, TB_E_VALIDATION, "format",
                       "The directive at byte %zu has no end.", (size_t)(*at - t->text) + 1);
    *at += d.len;
    return add_directive(t, &d);
}

/* --- quoting --- */

/* A backslash at a line's end joins it with the next one. */
static tb_text join_lines(tb_text from, char *to)
{
    size_t n = 0;
    for (const char *p = from.data, *end = p + from.len; p < end; p++) {
        const size_t left = (size_t)(end - p);
        if (left > 1 && memcmp(p, "\\\n", 2) == 0) p += 1;
        else if (left > 2 && memcmp(p, "\\\r\n", 3) == 0) p += 2;
        else to[n++] = *p;
    }
    return (tb_text){to, n};
}

/* A word in quotes of either kind, or without; returns the text after it. NULL: its quote has no end. */
static const char *take_argument(const char *p, const char *end, tb_text *ret)
{
    const char quote = p < end && (*p == '"' || *p == '\'') ? *p++ : 0;
    const char *from = p;
    while (p < end && (quote ? *p != quote : !memchr(" \t\r\n", *p, 4)))
        p += *p == '\\' && end - p > 1 ? 2 : 1;
    *ret = (tb_text){from, (size_t)(p - from)};
    if (!quote) return p;
    return p < end ? p + 1 : NULL;
}

/* A whole LogFormat line: *text is its format. A name may follow. */
static tb_code read_directive_line(tb_text *text, tb_error *err)
{
    tb_text name;
    const char *end = text->data + text->len, *p = take_argument(text->data, end, text);
    if (p) p = take_argument(tb__past_blanks(p, end), end, &name);
    if (p && tb__past_blanks(p, end) == end) return TB_OK;
    return tb_fail(err, TB_E_VALIDATION, "format",
                   "The LogFormat directive is cut off, or something follows it: give its format, in quotes, "
                   "and nothing behind its name.");
}

/* Removes Apache's quotes around the format, and the nickname after them. */
static tb_text strip_quotes(tb_text text)
{
    const char *p = text.data, *end = p + text.len, *close = p + 1;
    if (text.len < 2 || *p != '"') return text;
    while (close < end && *close != '"')
        close += *close == '\\' && end - close > 1 ? 2 : 1;
    if (close >= end) return text;
    for (const char *rest = close + 1; rest < end; rest++)
        if (*rest == '%' || *rest == '"') return text; /* the quote was the format's own */
    return (tb_text){p + 1, (size_t)(close - p - 1)};
}

static size_t unescape_format(tb_text from, char *to)
{
    size_t n = 0;
    for (const char *p = from.data, *end = p + from.len; p < end; p++) {
        if (*p != '\\' || end - p == 1 || !p[1] || !strchr("\"\\tnr", p[1])) {
            to[n++] = *p;
            continue;
        }
        p++;
        to[n++] = *p == 't' ? '\t' : *p == 'n' ? '\n' : *p == 'r' ? '\r' : *p;
    }
    return n;
}

tb_code tb__compile_apache(tb_log_columns *to, tb_text text, tb_error *err)
{
    char joined[TB_LOG_TEXT_MAX], plain[TB_LOG_TEXT_MAX];
    tb__template t = {.to = to, .text = plain, .quotes = true, .controls = true, .err = err};
    tb_code code = TB_OK;
    to->family = TB__FAMILY_APACHE;
    to->escapes = true;
    text = join_lines(text, joined);
    if (!tb__template_take_word(&text, "LogFormat")) text = strip_quotes(text);
    else code = read_directive_line(&text, err);
    t.len = unescape_format(text, plain);
    const char *end = plain + t.len;
    for (const char *at = plain; at < end && !code;) {
        if (*at == '%') {
            code = take_percent(&t, &at, end);
            continue;
        }
        const char *next = memchr(at, '%', (size_t)(end - at));
        const size_t len = (size_t)((next ? next : end) - at);
        code = tb__template_literal(&t, at, len);
        at += len;
    }
    return code ? code : tb__template_end(&t);
}
