/* The part of an nginx log_format directive after its name: escape=..., quoted pieces, variables.
 *
 * The table lists the variables that nginx sets or checks itself, with the characters that their values may hold.
 * Such a column has a known end, also without quotes. Variables that are not in the table (a map's, a module's) hold
 * any text and are skipped. */
#include "intake/columns.h"
#include "intake/chars.h"

#include <string.h>

typedef struct named {
    const char *name;
    tb__known known;
} named;

#define V(name, role, kind, width, rank)                                                           \
    {                                                                                              \
        name, { TB__ROLE_##role, TB__KIND_##kind, width, rank }                                    \
    }
static const named variables[] = {
    V("msec", TIME, DECIMAL, 0, 3),
    V("time_iso8601", TIME, ISO, 25, 2),
    V("time_local", TIME, LOCAL, 26, 1),
    V("status", STATUS, NUMBER, 0, 2),
    V("bytes_sent", BYTES, NUMBER, 0, 2),
    V("body_bytes_sent", BYTES, NUMBER, 0, 1),
    V("tollbook_zone", ZONE, NUMBER, 0, 1),
    V("tollbook_region", REGION, TOKEN, 0, 1),
    V("tollbook_country", COUNTRY, TOKEN, 0, 2),
    V("host", HOST, HOST, 0, 3),
    V("http_host", HOST, TEXT, 0, 1),
    V("server_name", HOST, NAME, 0, 2),
    V("upstream_cache_status", CACHE, TOKEN, 0, 2),
    V("geoip2_country_code", COUNTRY, TOKEN, 0, 1),
    V("geoip2_data_country_code", COUNTRY, TOKEN, 0, 1),
    V("geoip_country_code", COUNTRY, TOKEN, 0, 1),
    V("remote_addr", IP, ADDRESS, 0, 1),
    V("http_referer", REFERER, TEXT, 0, 1),
    V("request", REQUEST, TEXT, 0, 1),
    V("request_uri", URL, TEXT, 0, 2),
    V("uri", URL, TEXT, 0, 1),
    V("scheme", SCHEME, TOKEN, 0, 1),
    V("http_user_agent", AGENT, TEXT, 0, 1),
    V("request_id", ID, TOKEN, 0, 1),
    V("http_range", RANGE, TEXT, 0, 1),
    V("http_authorization", AUTHORIZATION, TEXT, 0, 1),
    V("tollbook_ja4", JA4, TOKEN, 0, 1),
    V("tollbook_asn", ASN, TOKEN, 0, 1),
    V("tollbook_organization", ORGANIZATION, TEXT, 0, 2),
    V("geoip_org", ORGANIZATION, TEXT, 0, 1),
    V("binary_remote_addr", NONE, TEXT, 0, 0),
    V("bytes_received", NONE, NUMBER, 0, 0),
    V("connection", NONE, NUMBER, 0, 0),
    V("connection_requests", NONE, NUMBER, 0, 0),
    V("connection_time", NONE, DECIMAL, 0, 0),
    V("content_length", NONE, TEXT, 0, 0),
    V("gzip_ratio", NONE, DECIMAL, 0, 0),
    V("hostname", NONE, NAME, 0, 0),
    V("http2", NONE, TOKEN, 0, 0),
    V("http3", NONE, TOKEN, 0, 0),
    V("https", NONE, TOKEN, 0, 0),
    V("limit_conn_status", NONE, TOKEN, 0, 0),
    V("limit_rate", NONE, NUMBER, 0, 0),
    V("limit_req_status", NONE, TOKEN, 0, 0),
    V("nginx_version", NONE, TOKEN, 0, 0),
    V("pid", NONE, NUMBER, 0, 0),
    V("pipe", NONE, TOKEN, 0, 0),
    V("proxy_protocol_addr", NONE, ADDRESS, 0, 0),
    V("proxy_protocol_port", NONE, NUMBER, 0, 0),
    V("proxy_protocol_server_addr", NONE, ADDRESS, 0, 0),
    V("proxy_protocol_server_port", NONE, NUMBER, 0, 0),
    V("realip_remote_addr", NONE, ADDRESS, 0, 0),
    V("realip_remote_port", NONE, NUMBER, 0, 0),
    V("remote_port", NONE, NUMBER, 0, 0),
    V("request_completion", NONE, TOKEN, 0, 0),
    V("request_length", NONE, NUMBER, 0, 0),
    V("request_method", NONE, TOKEN, 0, 0),
    V("request_time", NONE, DECIMAL, 0, 0),
    V("server_addr", NONE, ADDRESS, 0, 0),
    V("server_port", NONE, NUMBER, 0, 0),
    V("server_protocol", NONE, PROTOCOL, 0, 0),
    V("ssl_cipher", NONE, TOKEN, 0, 0),
    V("ssl_curve", NONE, TOKEN, 0, 0),
    V("ssl_early_data", NONE, NUMBER, 0, 0),
    V("ssl_protocol", NONE, TOKEN, 0, 0),
    V("ssl_session_id", NONE, TOKEN, 0, 0),
    V("ssl_session_reused", NONE, TOKEN, 0, 0),
    V("tcpinfo_rcv_space", NONE, NUMBER, 0, 0),
    V("tcpinfo_rtt", NONE, NUMBER, 0, 0),
    V("tcpinfo_rttvar", NONE, NUMBER, 0, 0),
    V("tcpinfo_snd_cwnd", NONE, NUMBER, 0, 0),
    V("upstream_bytes_received", NONE, LIST, 0, 0),
    V("upstream_bytes_sent", NONE, LIST, 0, 0),
    V("upstream_connect_time", NONE, LIST, 0, 0),
    V("upstream_header_time", NONE, LIST, 0, 0),
    V("upstream_queue_time", NONE, LIST, 0, 0),
    V("upstream_response_length", NONE, LIST, 0, 0),
    V("upstream_response_time", NONE, LIST, 0, 0),
    V("upstream_status", NONE, LIST, 0, 0),
};
#undef V

static tb__known known_variable(const char *name, size_t len)
{
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++)
        if (strlen(variables[i].name) == len && memcmp(variables[i].name, name, len) == 0)
            return variables[i].known;
    return (tb__known){.role = TB__ROLE_NONE, .kind = TB__KIND_TEXT};
}

static bool is_name_char(char c)
{
    return tb__char_is(c, TB__CHAR_LETTER | TB__CHAR_DIGIT) || c == '_';
}

/* "$name" or "${name}" at *at, which is moved past it. */
static tb_code take_variable(tb__template *t, size_t *at)
{
    const char *text = t->text;
    const size_t from = *at, brace = from + 1 < t->len && text[from + 1] == '{';
    size_t end = from + 1 + brace;
    while (end < t->len && is_name_char(text[end]))
        end++;
    const size_t name = from + 1 + brace;
    if (end == name || (brace && (end == t->len || text[end] != '}')))
        return tb_fail(t->err, TB_E_VALIDATION, "format",
                       "At byte %zu a \"$\" begins no variable: a name of letters, digits and \"_\" "
                       "follows it, with or without braces.",
                       from + 1);
    *at = end + brace;
    return tb__template_column(t, text + from, *at - from, known_variable(text + name, end - name));
}

static tb_code compile_text(tb_log_columns *to, tb_text text, bool quotes, bool controls,
                            tb_error *err)
{
    tb__template t = {.to = to, .text = text.data, .len = text.len, .quotes = quotes,
                      .controls = controls, .err = err};
    tb_code code = TB_OK;
    to->escapes = quotes;
    for (size_t at = 0; at < text.len && !code;) {
        if (text.data[at] == '$') {
            code = take_variable(&t, &at);
            continue;
        }
        const char *next = memchr(text.data + at, '$', text.len - at);
        const size_t len = next ? (size_t)(next - text.data) - at : text.len - at;
        code = tb__template_literal(&t, text.data + at, len);
        at += len;
    }
    return code ? code : tb__template_end(&t);
}

/* --- quoting --- */

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static char unescaped(char c)
{
    return c == 't' ? '\t' : c == 'r' ? '\r' : c == 'n' ? '\n' : c;
}

/* A backslash before these is not part of the text, as in nginx's configuration. */
static bool is_escape(const char *p, const char *end)
{
    return *p == '\\' && end - p > 1 && p[1] && strchr("\"'\\trn", p[1]);
}

static size_t unescape(tb_text from, char *to)
{
    size_t n = 0;
    for (const char *p = from.data, *end = p + from.len; p < end; p++) {
        if (is_escape(p, end)) to[n++] = unescaped(*++p);
        else to[n++] = *p;
    }
    return n;
}

/* Past space; in a whole directive past comments too. */
static const char *skip_blanks(const char *p, const char *end, bool directive)
{
    while (p < end && (is_blank(*p) || (directive && *p == '#'))) {
        const char *line = *p == '#' ? memchr(p, '\n', (size_t)(end - p)) : p;
        if (!line) return end;
        p = line + 1;
    }
    return p;
}

/* What pieces say together. */
typedef struct joined {
    char text[TB_LOG_TEXT_MAX];
    size_t len, n; /* bytes, pieces */
    bool closed;   /* followed by a semicolon */
} joined;

/* A quoted text, or a word: returns the text after it. NULL: a quote has no end. */
static const char *take_piece(const char *p, const char *end, joined *to)
{
    const char quote = *p == '\'' || *p == '"' ? *p++ : 0;
    for (; p < end && (quote ? *p != quote : !is_blank(*p) && *p != ';'); p++)
        to->text[to->len++] = is_escape(p, end) ? unescaped(*++p) : *p;
    to->n++;
    if (!quote) return p;
    return p < end ? p + 1 : NULL;
}

/* Quoted pieces with nothing but space between them, a semicolon at their end. False where the description
 * is none of that. In a whole directive a piece may be a word. */
static bool join_pieces(tb_text from, bool directive, joined *to)
{
    const char *end = from.data + from.len, *p = skip_blanks(from.data, end, directive);
    to->len = to->n = 0;
    while (p < end && *p != ';' && (directive || *p == '\'' || *p == '"')) {
        p = take_piece(p, end, to);
        if (!p) return false;
        p = skip_blanks(p, end, directive);
    }
    to->closed = p < end && *p == ';';
    if (to->closed) p = skip_blanks(p + 1, end, directive);
    return p >= end && to->n > 0;
}

/* "log_format name": *text is the text after it. */
static bool take_directive(tb_text *text, joined *scratch)
{
    if (!tb__template_take_word(text, "log_format")) return false;
    const char *end = text->data + text->len, *p = skip_blanks(text->data, end, true);
    scratch->len = 0;
    if (p < end) p = take_piece(p, end, scratch);
    p = p ? skip_blanks(p, end, true) : end;
    *text = (tb_text){p, (size_t)(end - p)};
    return true;
}

/* escape=..., where the description begins so. */
static tb_code take_escape(tb_text *text, bool *ret_quotes, bool *ret_controls, tb_error *err)
{
    static const char name[] = "escape=";
    const char *p = text->data, *end = p + text->len;
    *ret_quotes = *ret_controls = true;
    while (p < end && is_blank(*p))
        p++;
    if ((size_t)(end - p) < sizeof name - 1 || memcmp(p, name, sizeof name - 1) != 0) return TB_OK;
    const char *value = p += sizeof name - 1;
    while (p < end && !is_blank(*p) && *p != '\'' && *p != '"')
        p++;
    const size_t len = (size_t)(p - value);
    const bool none = len == 4 && memcmp(value, "none", 4) == 0;
    if (!none && !(len == 4 && memcmp(value, "json", 4) == 0) &&
        !(len == 7 && memcmp(value, "default", 7) == 0))
        return tb_fail(err, TB_E_VALIDATION, "format",
                       "escape=%.*s is not understood: default, json or none.", (int)(len < 40 ? len : 40),
                       value);
    *ret_quotes = *ret_controls = !none;
    while (p < end && is_blank(*p))
        p++;
    *text = (tb_text){p, (size_t)(end - p)};
    return TB_OK;
}

/* The name alone, a word before the pieces: *text is the text after it. */
static void take_name(tb_text *text, joined *scratch)
{
    const char *end = text->data + text->len, *from = skip_blanks(text->data, end, false), *p = from;
    while (p < end && is_name_char(*p))
        p++;
    if (p == from || p == end || !is_blank(*p)) return;
    const tb_text behind = {p, (size_t)(end - p)};
    tb_text rest = behind;
    bool ignored;
    if (take_escape(&rest, &ignored, &ignored, NULL) || !join_pieces(rest, false, scratch)) return;
    const char first = *skip_blanks(rest.data, end, false);
    if (scratch->n == 1 || scratch->closed || first != '"') *text = behind;
}

tb_code tb__compile_nginx(tb_log_columns *to, tb_text text, tb_error *err)
{
    joined all = {.len = 0};
    bool quotes, controls;
    to->family = TB__FAMILY_NGINX;
    const bool directive = take_directive(&text, &all);
    if (!directive) take_name(&text, &all);
    tb_code code = take_escape(&text, &quotes, &controls, err);
    if (code) return code;
    const bool pieces = join_pieces(text, directive, &all);
    if (directive && !pieces)
        return tb_fail(err, TB_E_VALIDATION, "format",
                       "The log_format directive is cut off, or something follows it: give its name, its "
                       "pieces, and nothing behind the semicolon.");
    /* A shell may have taken the quotes; then a format may begin with one of its own. */
    const bool own = all.n > 1 && !all.closed && *text.data == '"';
    if (!directive && (!pieces || own)) all.len = unescape(text, all.text);
    return compile_text(to, (tb_text){all.text, all.len}, quotes, controls, err);
}
