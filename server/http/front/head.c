/* Tables classify bytes, so that reading a header line costs one table access a byte. */
#include "http/front/head.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define LENGTH_LINE 64 /* more bytes than "Content-Length:", 18 digits and a line end */

static_assert(HEADER_OTHER <= 26, "a letter for each header");

/* 1: allowed in a token: a method, a header's name (RFC 9110, 5.6.2). */
static const bool token[256] = {
    ['!'] = 1, ['#'] = 1, ['$'] = 1, ['%'] = 1,         ['&'] = 1,         ['\''] = 1,
    ['*'] = 1, ['+'] = 1, ['-'] = 1, ['.'] = 1,         ['^'] = 1,         ['_'] = 1,
    ['`'] = 1, ['|'] = 1, ['~'] = 1, ['0' ... '9'] = 1, ['A' ... 'Z'] = 1, ['a' ... 'z'] = 1,
};

/* 1: allowed in a request target. */
static const bool visible[256] = {[0x21 ... 0x22] = 1, [0x24 ... 0x7e] = 1};

static const struct {
    const char *name;
    size_t len;
    header_count count;
} known[HEADER_OTHER] = {
#define TB_X(e, name, count) [HEADER_##e] = {name, sizeof name - 1, HEADER_##count},
    HEADER_TABLE(TB_X)
#undef TB_X
};

static bool refuse(head *h, tb_code code, const char *why)
{
    if (h->code == TB_OK) {
        h->code = code;
        h->why = why;
    }
    return false;
}

static bool is_token(tb_text text)
{
    bool good = text.len > 0;
    for (size_t i = 0; i < text.len; i++)
        good &= token[(unsigned char)text.data[i]];
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

/* --- the request target --- */

int head_hex(char c)
{
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    return -1;
}

/* Decodes the byte at *at and moves *at past it; -1: a broken escape. */
static int next_byte(tb_text text, size_t *at)
{
    const char c = text.data[(*at)++];
    if (c != '%') return (unsigned char)c;
    if (text.len - *at < 2) return -1;
    const int high = head_hex(text.data[*at]), low = head_hex(text.data[*at + 1]);
    if (high < 0 || low < 0) return -1;
    *at += 2;
    return high * 16 + low;
}

/* Looks for dot segments: segments of one or two dots, also escaped ones. All escapes are valid. */
static const char *check_path(tb_text path)
{
    static const char dot_segment[] = "The path contains a dot segment.";
    unsigned dots = 0, others = 0;
    if (!memchr(path.data, '.', path.len) && !memchr(path.data, '%', path.len)) return NULL;
    for (size_t i = 1; i < path.len;) {
        const bool escaped = path.data[i] == '%';
        const int c = next_byte(path, &i);
        if (escaped && (c == '/' || c == '\\')) return "The path contains an encoded slash.";
        if (c == '/') {
            if (others == 0 && (dots == 1 || dots == 2)) return dot_segment;
            dots = others = 0;
        } else if (c == '.') {
            dots++;
        } else {
            others++;
        }
    }
    return others == 0 && (dots == 1 || dots == 2) ? dot_segment : NULL;
}

/* Checks a target of at most HEAD_TARGET_MAX bytes; NULL: it is valid. It has bytes 0x21..0x7E, begins with '/', has no
 * fragment, every '%' begins a valid escape, none is %00; in the path no slash or backslash is escaped, and there is no
 * dot segment in any spelling. */
static const char *check_target(tb_text target)
{
    bool good = true;
    if (target.len == 0 || target.data[0] != '/') return "The request target does not begin with a slash.";
    for (size_t i = 0; i < target.len; i++)
        good &= visible[(unsigned char)target.data[i]];
    if (!good) return "The request target contains a byte that must be escaped.";
    const char *at = memchr(target.data, '%', target.len);
    for (size_t i = at ? (size_t)(at - target.data) : target.len; i < target.len;) {
        const int c = next_byte(target, &i);
        if (c < 0) return "The request target contains a broken escape.";
        if (c == 0) return "The request target contains a NUL byte.";
    }
    const char *mark = memchr(target.data, '?', target.len);
    return check_path((tb_text){target.data, mark ? (size_t)(mark - target.data) : target.len});
}

/* --- a header --- */

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

/* Whether a list has this member, in any letter case. */
static bool list_has(tb_text list, const char *member, size_t member_len)
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
#define LIST_HAS(list, member) list_has(list, member, sizeof(member) - 1)

/* Reads a header line, without its end. false: refused. */
static bool read_header(head *h, const char *line, size_t len)
{
    const char *colon = memchr(line, ':', len);
    const tb_text name = {line, colon ? (size_t)(colon - line) : 0};
    const tb_text value = colon ? trim(colon + 1, len - name.len - 1) : trim(line, len);
    h->lines++;
    h->bytes += name.len + value.len;
    if (h->lines > HEAD_LINES_MAX || h->bytes > HEAD_VALUES_MAX)
        return refuse(h, TB_E_HEADERS_TOO_LARGE, "More than 64 header lines, or 12 KiB of them.");
    bool clean = is_token(name);
    for (size_t i = 0; i < value.len; i++)
        clean &= !head_is_control(value.data[i]);
    if (!clean)
        return refuse(h, TB_E_BAD_REQUEST,
                      "A header line has no valid name, is folded, or holds a control byte.");
    unsigned which = 0;
    while (which < HEADER_OTHER && (known[which].len != name.len || !same_name(name.data, known[which].name, name.len)))
        which++;
    if (which == HEADER_OTHER) return true;
    if (which == HEADER_EXPECT) {
        h->expect |= LIST_HAS(value, "100-continue");
    } else if (which == HEADER_CONNECTION) {
        h->close |= LIST_HAS(value, "close");
        h->keep_alive |= LIST_HAS(value, "keep-alive");
    } else if (!h->value[which].data || known[which].count == HEADER_LAST) {
        h->value[which] = value;
    } else if (known[which].count == HEADER_ONE) {
        return refuse(h, TB_E_BAD_REQUEST, "A header that may appear once appears twice.");
    }
    return true;
}

/* --- the body's framing --- */

/* 1 to 18 digits, so that no sum with it overflows 64 bits. */
static bool read_length(tb_text text, uint64_t *ret_length)
{
    uint64_t n = 0;
    if (text.len == 0 || text.len > 18) return false;
    for (size_t i = 0; i < text.len; i++) {
        if (text.data[i] < '0' || text.data[i] > '9') return false;
        n = n * 10 + (uint64_t)(text.data[i] - '0');
    }
    *ret_length = n;
    return true;
}

/* Checks the rules that need all lines. */
static void check_framing(head *h)
{
    const tb_text encoding = h->value[HEADER_TRANSFER_ENCODING], length = h->value[HEADER_CONTENT_LENGTH];
    if (h->http11 && !h->value[HEADER_HOST].data)
        refuse(h, TB_E_BAD_REQUEST, "An HTTP/1.1 request needs a Host header.");
    h->chunked = h->http11 && !length.data && encoding.len == 7 && same_name(encoding.data, "chunked", 7);
    if (encoding.data ? !h->chunked : length.data && !read_length(length, &h->content_length))
        refuse(h, TB_E_BAD_REQUEST,
               "The body's length is not given once, as a number or, with HTTP/1.1, as chunks.");
    h->last = h->close || (!h->http11 && !h->keep_alive);
    h->expect &= h->http11 && head_has_body(h);
}

/* --- a head --- */

size_t head_empty_lines(const char *bytes, size_t len)
{
    size_t at = 0;
    while (len - at >= 2 && bytes[at] == '\r' && bytes[at + 1] == '\n')
        at += 2;
    return at;
}

size_t head_end(const char *bytes, size_t len, size_t *looked)
{
    const char *from = bytes + *looked, *const end = bytes + len, *lf;
    for (; (lf = memchr(from, '\n', (size_t)(end - from))); from = lf + 1)
        if (lf == bytes || lf[-1] != '\r' || (lf - bytes >= 2 && lf[-2] == '\n')) return (size_t)(lf + 1 - bytes);
    *looked = len;
    return len < HEAD_MAX ? 0 : HEAD_MAX + 1;
}

bool head_is_due(const char *bytes, size_t len)
{
    const size_t skip = head_empty_lines(bytes, len);
    size_t looked = 0;
    return len >= HEAD_MAX || head_end(bytes + skip, len - skip, &looked) > 0;
}

/* METHOD SP TARGET SP HTTP/1.x; the target is checked later. */
static bool read_line(head *h, const char *line, size_t len)
{
    static const char version[] = " HTTP/1.";
    const size_t n = sizeof version; /* with its digit */
    const char *space = memchr(line, ' ', len), *end = len > n ? line + len - n : line;
    if (!space || space >= end || memcmp(end, version, n - 1) != 0 || memchr(line, 0, len)) return false;
    h->method = (tb_text){line, (size_t)(space - line)};
    h->target = (tb_text){space + 1, (size_t)(end - space - 1)};
    h->http11 = line[len - 1] == '1';
    return is_token(h->method) && strspn(space, " ") <= h->target.len && (h->http11 || line[len - 1] == '0');
}

bool head_read(head *h, const char *bytes, size_t len)
{
    const bool large = len > HEAD_MAX;
    const char *lf = memchr(bytes, '\n', large ? HEAD_MAX : len);
    *h = (head){0};
    if (!large && (len < 2 || bytes[len - 2] != '\r'))
        return refuse(h, TB_E_BAD_REQUEST, "A line of the request's head does not end in CRLF.");
    if (lf && !read_line(h, bytes, (size_t)(lf - bytes) - 1)) return refuse(h, TB_E_BAD_REQUEST, HEAD_NO_LINE);
    if (large)
        return refuse(h, !lf || h->target.len > HEAD_TARGET_MAX ? TB_E_URI_TOO_LONG : TB_E_HEADERS_TOO_LARGE, NULL);

    const char *const end = bytes + len - 2; /* the empty line */
    for (const char *line = lf + 1; line < end && h->code == TB_OK; line = lf + 1) {
        lf = memchr(line, '\n', (size_t)(end + 2 - line));
        read_header(h, line, (size_t)(lf - 1 - line));
    }
    if (h->code == TB_OK) check_framing(h);

    /* An error in the target takes precedence; the headers are known in any case. */
    const bool long_target = h->target.len > HEAD_TARGET_MAX;
    const char *why = long_target ? "The request target is longer than 4096 bytes." : check_target(h->target);
    if (why) {
        h->code = long_target ? TB_E_URI_TOO_LONG : TB_E_BAD_REQUEST;
        h->why = why;
    }
    return true;
}

/* --- the canonical form --- */

static const char length_name[] = "Content-Length", encoding_name[] = "Transfer-Encoding";

static char *put(char *to, const char *bytes, size_t len)
{
    memcpy(to, bytes, len);
    return to + len;
}
#define PUT(to, text) put(to, text, sizeof(text) - 1)

size_t head_write(const head *h, uint64_t body_bytes, char *to)
{
    char *at = to;
    tb_text target = h->target;
    while (*target.data == ' ')
        target.data++, target.len--;
    if (target.len > HEAD_TARGET_MAX) target.len = HEAD_TARGET_MAX; /* it is refused */
    at = put(at, h->method.data, h->method.len);
    *at++ = ' ';
    at = put(at, target.data, target.len);
    at = h->http11 ? PUT(at, " HTTP/1.1\r\n") : PUT(at, " HTTP/1.0\r\n");
    for (unsigned i = 0; i < HEADER_OTHER; i++) {
        if (!h->value[i].data || i == HEADER_CONTENT_LENGTH || i == HEADER_TRANSFER_ENCODING) continue;
        *at++ = (char)('A' + i);
        *at++ = ':';
        at = PUT(put(at, h->value[i].data, h->value[i].len), "\r\n");
    }
    if (h->code == TB_OK) {
        if (h->chunked) at = PUT(at, "Transfer-Encoding:chunked\r\n");
        else if (body_bytes > 0) at += snprintf(at, LENGTH_LINE, "%s:%" PRIu64 "\r\n", length_name, body_bytes);
        if (h->expect) at = PUT(at, "Expect:100-continue\r\n");
        if (h->close) at = PUT(at, "Connection:close\r\n");
        else if (h->keep_alive) at = PUT(at, "Connection:Keep-Alive\r\n");
    }
    return (size_t)(PUT(at, "\r\n") - to);
}

void head_restore(head *h, const char *name, size_t name_len, const char *value, size_t value_len)
{
    if (name_len == 1 && (unsigned)(*name - 'A') < HEADER_OTHER)
        h->value[*name - 'A'] = (tb_text){value ? value : "", value ? value_len : 0};
    else if (name_len == sizeof length_name - 1 && memcmp(name, length_name, name_len) == 0)
        (void)!read_length((tb_text){value, value_len}, &h->content_length); /* it was read before */
    else if (name_len == sizeof encoding_name - 1 && memcmp(name, encoding_name, name_len) == 0)
        h->chunked = true;
}
