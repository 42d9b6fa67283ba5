/* The guard's rules, one small function each. Tables decide what a byte may be, so that the pass
 * over every header line of every request costs a look-up a byte. */
#include "http/front/guard.h"

#include <string.h>
#include <strings.h>

#include "http/methods.h"

/* 1: may stand in a token. */
static const bool token[256] = {
    ['!'] = 1, ['#'] = 1, ['$'] = 1, ['%'] = 1,         ['&'] = 1,         ['\''] = 1,
    ['*'] = 1, ['+'] = 1, ['-'] = 1, ['.'] = 1,         ['^'] = 1,         ['_'] = 1,
    ['`'] = 1, ['|'] = 1, ['~'] = 1, ['0' ... '9'] = 1, ['A' ... 'Z'] = 1, ['a' ... 'z'] = 1,
};

static const struct {
    const char *name;
    size_t len;
    guard_count count;
} known[GUARD_OTHER] = {
#define TB_X(e, name, count) [GUARD_##e] = {name, sizeof name - 1, GUARD_##count},
    GUARD_HEADERS(TB_X)
#undef TB_X
};

static const char *const method_names[] = {
#define TB_X(name) #name,
    HTTP_METHOD_TABLE(TB_X)
#undef TB_X
};

http_method http_method_parse(const char *name)
{
    for (unsigned i = 0; i < HTTP_UNKNOWN; i++)
        if (strcmp(name, method_names[i]) == 0) return (http_method)i;
    return HTTP_UNKNOWN;
}

const char *http_method_name(http_method method)
{
    return (unsigned)method < HTTP_UNKNOWN ? method_names[method] : "-";
}

static void refuse_request(guard *g, tb_code code, const char *why)
{
    if (g->code != TB_OK) return;
    g->code = code;
    g->why = why;
}

/* lower is lower-case letters and '-'; a byte of name with bit 5 set must equal it. '-' has that
 * bit already, and no other token byte of these names folds onto a letter wrongly: 'A'..'Z' alone
 * lie 32 below 'a'..'z', and '\r' (0x0D, which folds onto '-') is no token byte. */
static bool same_name(const char *name, const char *lower, size_t len)
{
    unsigned char differ = 0;
    for (size_t i = 0; i < len; i++)
        differ |= (unsigned char)(((unsigned char)name[i] | 0x20) ^ (unsigned char)lower[i]);
    return differ == 0;
}

static guard_name find_name(const char *name, size_t len)
{
    for (unsigned i = 0; i < GUARD_OTHER; i++)
        if (known[i].len == len && same_name(name, known[i].name, len)) return (guard_name)i;
    return GUARD_OTHER;
}

/* 1: may not stand in a header's value: controls other than the tab. Arithmetic and no table, so
 * that the compiler takes sixteen bytes at a time. */
static unsigned char control(unsigned char c)
{
    return (unsigned char)(((c < 32) & (c != '\t')) | (c == 127));
}

static bool clean(const char *value, size_t len)
{
    unsigned char bad = 0;
    for (size_t i = 0; i < len; i++)
        bad |= control((unsigned char)value[i]);
    return !bad;
}

bool guard_token(const char *text, size_t len)
{
    bool good = len > 0;
    for (size_t i = 0; i < len; i++)
        good &= token[(unsigned char)text[i]];
    return good;
}

/* Without the spaces and tabs around it. */
static tb_text trim(const char *text, size_t len)
{
    while (len > 0 && (*text == ' ' || *text == '\t'))
        text++, len--;
    while (len > 0 && (text[len - 1] == ' ' || text[len - 1] == '\t'))
        len--;
    return (tb_text){text, len};
}

/* Whether a list has this member, in any letter case. */
static bool lists(tb_text list, const char *member, size_t member_len)
{
    const char *at = list.data, *const end = at + list.len;
    for (;;) {
        const char *comma = memchr(at, ',', (size_t)(end - at));
        const tb_text one = trim(at, (size_t)((comma ? comma : end) - at));
        if (one.len == member_len && strncasecmp(one.data, member, member_len) == 0) return true;
        if (!comma) return false;
        at = comma + 1;
    }
}
#define LISTS(list, member) lists(list, member, sizeof(member) - 1)

static void take_list(guard *g, guard_name which, tb_text list)
{
    if (which == GUARD_EXPECT) {
        g->continues |= LISTS(list, "100-continue");
        return;
    }
    g->close |= LISTS(list, "close");
    g->keep_alive |= LISTS(list, "keep-alive");
}

void guard_start(guard *g)
{
    memset(g, 0, sizeof *g);
}

void guard_header(guard *g, const char *name, size_t name_len, const char *value, size_t value_len)
{
    if (g->code != TB_OK) return;
    const tb_text text = trim(value, value_len);
    g->lines++;
    g->bytes += name_len + text.len;
    if (g->lines > GUARD_HEADERS_MAX || g->bytes > GUARD_BYTES_MAX) {
        refuse_request(g, TB_E_HEADERS_TOO_LARGE, "More than 64 header lines, or 12 KiB of them.");
        return;
    }
    if (!guard_token(name, name_len) || !clean(text.data, text.len)) {
        refuse_request(g, TB_E_BAD_REQUEST,
                       "A header line has no valid name, is folded, or holds a control byte.");
        return;
    }
    const guard_name which = find_name(name, name_len);
    if (which == GUARD_OTHER) return;
    if (known[which].count == GUARD_EACH) {
        take_list(g, which, text);
    } else if (!g->value[which].data || known[which].count == GUARD_LAST) {
        g->value[which] = text;
    } else if (known[which].count == GUARD_ONE) {
        refuse_request(g, TB_E_BAD_REQUEST, "A header that may appear once appears twice.");
    }
}

/* 1 to 18 digits, so that no sum with it overflows 64 bits. */
static bool read_length(tb_text text, uint64_t *ret_length)
{
    if (text.len == 0 || text.len > 18) return false;
    uint64_t n = 0;
    for (size_t i = 0; i < text.len; i++) {
        if (text.data[i] < '0' || text.data[i] > '9') return false;
        n = n * 10 + (uint64_t)(text.data[i] - '0');
    }
    *ret_length = n;
    return true;
}

bool guard_framing(guard *g)
{
    const tb_text *encoding = &g->value[GUARD_TRANSFER_ENCODING];
    const tb_text *length = &g->value[GUARD_CONTENT_LENGTH];
    g->chunked = encoding->data != NULL;
    if (g->chunked)
        return !length->data && encoding->len == 7 && same_name(encoding->data, "chunked", 7);
    return !length->data || read_length(*length, &g->content_length);
}

tb_code guard_finish(guard *g, bool http11)
{
    if (g->code != TB_OK) return g->code;
    if (http11 && !g->value[GUARD_HOST].data)
        refuse_request(g, TB_E_BAD_REQUEST, "An HTTP/1.1 request needs a Host header.");
    if (!guard_framing(g) || (g->chunked && !http11))
        refuse_request(
            g, TB_E_BAD_REQUEST,
            "The body's length is not given once, as a number or, with HTTP/1.1, as chunks.");
    g->last = g->close || (!http11 && !g->keep_alive);
    g->expect = g->continues && http11 && guard_has_body(g);
    return g->code;
}

bool guard_has_body(const guard *g)
{
    return g->chunked || g->content_length > 0;
}

static int hex(char c)
{
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    return -1;
}

/* The byte at *at, escapes read, and *at moved past it; -1 where an escape is broken. */
static int next_byte(const char *text, size_t len, size_t *at)
{
    char c = text[(*at)++];
    if (c != '%') return (unsigned char)c;
    if (len - *at < 2) return -1;
    int high = hex(text[*at]), low = hex(text[*at + 1]);
    if (high < 0 || low < 0) return -1;
    *at += 2;
    return high * 16 + low;
}

/* Follows the path's segments: a segment of one or two dots, also escaped, is a dot segment. */
static const char *check_path(const char *path, size_t len)
{
    unsigned dots = 0, others = 0;
    if (!memchr(path, '.', len) && !memchr(path, '%', len)) return NULL;
    for (size_t i = 1; i < len;) {
        bool escaped = path[i] == '%';
        int c = next_byte(path, len, &i);
        if (escaped && (c == '/' || c == '\\')) return "The path contains an encoded slash.";
        if (c == '/') {
            if (others == 0 && (dots == 1 || dots == 2)) return "The path contains a dot segment.";
            dots = others = 0;
        } else if (c == '.') {
            dots++;
        } else {
            others++;
        }
    }
    if (others == 0 && (dots == 1 || dots == 2)) return "The path contains a dot segment.";
    return NULL;
}

/* 1: may stand in a request target. */
static const bool visible[256] = {[0x21 ... 0x22] = 1, [0x24 ... 0x7e] = 1};

static const char *check_bytes(const char *target, size_t len)
{
    bool good = true;
    for (size_t i = 0; i < len; i++)
        good &= visible[(unsigned char)target[i]];
    if (!good) return "The request target contains a byte that must be escaped.";
    const char *at = memchr(target, '%', len);
    for (size_t i = at ? (size_t)(at - target) : len; i < len;) {
        int c = next_byte(target, len, &i);
        if (c < 0) return "The request target contains a broken escape.";
        if (c == 0) return "The request target contains a NUL byte.";
    }
    return NULL;
}

tb_code guard_target(const char *target, size_t len, size_t *ret_path_len, const char **ret_why)
{
    if (len > GUARD_TARGET_MAX) {
        *ret_why = "The request target is longer than 4096 bytes.";
        return TB_E_URI_TOO_LONG;
    }
    const char *why = NULL;
    size_t path_len = len;
    if (len == 0 || target[0] != '/') why = "The request target does not begin with a slash.";
    if (!why) why = check_bytes(target, len);
    if (!why) {
        const char *mark = memchr(target, '?', len);
        if (mark) path_len = (size_t)(mark - target);
        why = check_path(target, path_len);
    }
    if (why) {
        *ret_why = why;
        return TB_E_BAD_REQUEST;
    }
    *ret_path_len = path_len;
    return TB_OK;
}
