#include "http/front/wire.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define EXTENSION_MAX 256  /* bytes of a chunk's size line behind the digits */
#define TRAILER_MAX   4096 /* bytes behind the last chunk */
#define DIGITS_MAX    16
#define LENGTH_LINE   64 /* bytes of "Content-Length:", 18 digits and its end fit in */

static_assert(GUARD_OTHER <= 26, "a letter for each header");

static const char no_line[] = "The request line is not a method, a target and HTTP/1.1 or HTTP/1.0.";
static const char no_crlf[] = "A line of the request's head does not end in CRLF.";
static const char no_trailer[] = "A trailer line has no name, is folded, or does not end in CRLF.";
static const char no_chunk[] = "The body's chunks are malformed.";

static bool bad(wire *w, tb_code code, const char *why)
{
    w->in_body = w->state != WIRE_HEAD;
    w->state = WIRE_BAD;
    w->code = code;
    w->why = why;
    return false;
}

static void end_request(wire *w)
{
    w->state = w->last ? WIRE_END : WIRE_HEAD;
    w->seen = 0;
}

/* --- reading a head --- */

typedef struct head {
    tb_text method, target, version;
    bool http11;
    guard guard;
} head;

/* METHOD SP TARGET SP HTTP/1.x; what is wrong with a target is the guard's to say. */
static bool read_line(head *h, const char *line, size_t len)
{
    static const char version[] = " HTTP/1.";
    const size_t n = sizeof version; /* with its digit */
    const char *space = memchr(line, ' ', len), *end = len > n ? line + len - n : line;
    if (!space || space >= end || memcmp(end, version, n - 1) != 0 || memchr(line, 0, len)) return false;
    h->method = (tb_text){line, (size_t)(space - line)};
    h->target = (tb_text){space + 1, (size_t)(end - space - 1)};
    h->version = (tb_text){end + 1, n - 1};
    h->http11 = line[len - 1] == '1';
    return guard_token(h->method.data, h->method.len) && strspn(space, " ") <= h->target.len &&
           (h->http11 || line[len - 1] == '0');
}

/* Its lines behind the first one: `len` bytes, with the empty one. */
static void read_headers(guard *g, const char *line, size_t len)
{
    for (const char *const end = line + len - 2; line < end;) {
        const char *lf = memchr(line, '\n', (size_t)(end + 2 - line));
        const size_t n = (size_t)(lf - 1 - line);
        const char *colon = memchr(line, ':', n);
        if (colon) guard_header(g, line, (size_t)(colon - line), colon + 1, n - (size_t)(colon + 1 - line));
        else guard_header(g, line, 0, line, n);
        line = lf + 1;
    }
}

/* What is refused is in h->guard.code; what is no head at all makes the wire bad. */
static void read_head(wire *w, head *h, const char *bytes, size_t len)
{
    const char *lf = memchr(bytes, '\n', len), *why = NULL;
    const bool whole = len >= 2 && bytes[len - 2] == '\r'; /* else its last line ends in a bare LF */
    size_t path_len;
    if (!whole || !read_line(h, bytes, (size_t)(lf - bytes) - 1)) {
        bad(w, TB_E_BAD_REQUEST, whole ? no_line : no_crlf);
        return;
    }
    const tb_code code = guard_target(h->target.data, h->target.len, &path_len, &why);
    guard_start(&h->guard);
    read_headers(&h->guard, lf + 1, len - (size_t)(lf + 1 - bytes));
    guard_finish(&h->guard, h->http11);
    if (code) {
        h->guard.code = code;
        h->guard.why = why;
    }
}

/* A head that has not ended within WIRE_HEAD_MAX bytes. */
static void too_large(wire *w, const char *bytes)
{
    head h;
    const char *lf = memchr(bytes, '\n', WIRE_HEAD_MAX);
    if (lf && !read_line(&h, bytes, (size_t)(lf - bytes) - 1)) bad(w, TB_E_BAD_REQUEST, no_line);
    else if (!lf || h.target.len > GUARD_TARGET_MAX) bad(w, TB_E_URI_TOO_LONG, NULL);
    else bad(w, TB_E_HEADERS_TOO_LARGE, NULL);
}

/* --- writing it anew --- */

static char *put(char *to, const char *bytes, size_t len)
{
    memcpy(to, bytes, len);
    return to + len;
}
#define PUT(to, text) put(to, text, sizeof(text) - 1)

guard_name wire_header(const char *name, size_t len)
{
    static const char length[] = "Content-Length", encoding[] = "Transfer-Encoding";
    if (len == 1) return (guard_name)(*name - 'A');
    if (len == sizeof length - 1 && memcmp(name, length, len) == 0) return GUARD_CONTENT_LENGTH;
    if (len == sizeof encoding - 1 && memcmp(name, encoding, len) == 0) return GUARD_TRANSFER_ENCODING;
    return GUARD_OTHER;
}

/* All but the body's framing, which has names that the library knows. */
static bool has_letter(const guard *g, unsigned i)
{
    return g->value[i].data && i != GUARD_CONTENT_LENGTH && i != GUARD_TRANSFER_ENCODING;
}

static char *put_line(char *to, const head *h)
{
    tb_text target = h->target;
    while (*target.data == ' ')
        target.data++, target.len--;
    if (target.len > GUARD_TARGET_MAX) target.len = GUARD_TARGET_MAX; /* it is refused */
    to = put(to, h->method.data, h->method.len);
    *to++ = ' ';
    to = put(to, target.data, target.len);
    *to++ = ' ';
    return PUT(put(to, h->version.data, h->version.len), "\r\n");
}

static char *put_headers(char *to, const guard *g)
{
    for (unsigned i = 0; i < GUARD_OTHER; i++) {
        if (!has_letter(g, i)) continue;
        *to++ = (char)('A' + i);
        *to++ = ':';
        to = PUT(put(to, g->value[i].data, g->value[i].len), "\r\n");
    }
    return to;
}

static char *put_framing(char *to, const guard *g, uint64_t length)
{
    if (g->chunked) to = PUT(to, "Transfer-Encoding:chunked\r\n");
    else if (length > 0) to += snprintf(to, LENGTH_LINE, "Content-Length:%" PRIu64 "\r\n", length);
    if (g->expect) to = PUT(to, "Expect:100-continue\r\n");
    if (g->close) to = PUT(to, "Connection:close\r\n");
    else if (g->keep_alive) to = PUT(to, "Connection:Keep-Alive\r\n");
    return to;
}

/* Begins what follows the head: its body, the next one, or nothing. */
static void begin_body(wire *w, const guard *g)
{
    w->heads++;
    w->last = g->last;
    w->left = g->content_length;
    w->seen = 0;
    if (g->code) {
        w->state = WIRE_END;
        w->code = g->code;
        w->why = g->why;
    } else if (g->chunked) {
        w->state = WIRE_CHUNK_DIGITS;
        w->left = 0;
    } else if (w->left > WIRE_APART_MIN) {
        w->state = WIRE_APART;
        w->stand_ins = 0;
        w->length = w->left;
    } else if (w->left > 0) {
        w->state = WIRE_BODY;
    } else {
        end_request(w);
    }
}

/* Where a head may end: behind its empty line, or behind a bare LF, which makes it none. 0: more has to come. */
static size_t head_end(const char *bytes, size_t len, size_t *looked)
{
    const char *from = bytes + *looked, *const end = bytes + len, *lf;
    for (; (lf = memchr(from, '\n', (size_t)(end - from))); from = lf + 1)
        if (lf == bytes || lf[-1] != '\r' || (lf - bytes >= 2 && lf[-2] == '\n')) return (size_t)(lf + 1 - bytes);
    *looked = len;
    return 0;
}

/* Reads the head that begins here and writes it to `to`, which may lie before it. Its bytes; 0: it is not whole, or
 * bad. */
static size_t take_head(wire *w, char *bytes, size_t len, char *to, size_t *passed)
{
    const size_t end = head_end(bytes, len, &w->looked);
    char anew[WIRE_HEAD_MAX];
    head h;
    if (end == 0 && len < WIRE_HEAD_MAX) return 0;
    w->looked = 0;
    if (end == 0 || end > WIRE_HEAD_MAX) too_large(w, bytes);
    else read_head(w, &h, bytes, end);
    if (w->state == WIRE_BAD) return 0;
    begin_body(w, &h.guard);
    char *at = put_headers(put_line(anew, &h), &h.guard);
    if (!h.guard.code) at = put_framing(at, &h.guard, w->state == WIRE_APART ? WIRE_STAND_INS : w->left);
    at = PUT(at, "\r\n");
    assert((size_t)(at - anew) <= end);
    memcpy(to, anew, (size_t)(at - anew));
    *passed += (size_t)(at - anew);
    return end;
}

/* Empty lines before a request are nothing. */
static size_t empty_lines(const char *bytes, size_t len)
{
    size_t at = 0;
    while (len - at >= 2 && bytes[at] == '\r' && bytes[at + 1] == '\n')
        at += 2;
    return at;
}

static size_t skip_empty_lines(wire *w, const char *bytes, size_t len)
{
    const size_t n = empty_lines(bytes, len);
    w->seen += (unsigned)n;
    if (n > 0) w->looked = 0;
    if (w->seen > WIRE_HEAD_MAX) bad(w, TB_E_BAD_REQUEST, no_line);
    return n;
}

/* --- a body --- */

static int hex(char c)
{
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    return -1;
}

static bool is_control(char c)
{
    return ((unsigned char)c < 32 && c != '\t') || c == 127;
}

static bool take_digit(wire *w, char c)
{
    const int digit = hex(c);
    if (digit >= 0) {
        if (++w->seen > DIGITS_MAX) return bad(w, TB_E_TOO_LARGE, NULL);
        w->left = w->left * 16 + (unsigned)digit;
        return true;
    }
    if (w->seen == 0 || (c != '\r' && c != ';')) return bad(w, TB_E_BAD_REQUEST, no_chunk);
    w->state = c == '\r' ? WIRE_CHUNK_LF : WIRE_CHUNK_EXTENSION;
    w->seen = 0;
    return true;
}

static bool take_extension(wire *w, char c)
{
    if (c == '\r') w->state = WIRE_CHUNK_LF;
    else if (is_control(c) || ++w->seen > EXTENSION_MAX) return bad(w, TB_E_BAD_REQUEST, no_chunk);
    return true;
}

static void begin_chunk(wire *w)
{
    w->state = w->left ? WIRE_CHUNK_BYTES : WIRE_TRAILER;
    w->seen = 0;
}

static bool take_trailer(wire *w, char c)
{
    const bool first = w->state == WIRE_TRAILER;
    if (++w->seen > TRAILER_MAX) return bad(w, TB_E_HEADERS_TOO_LARGE, NULL);
    if (first) w->named = false;
    if (c == '\r') {
        if (!first && !w->named) return bad(w, TB_E_BAD_REQUEST, no_trailer);
        w->named = !first; /* else it is the empty line */
        w->state = WIRE_TRAILER_LF;
        return true;
    }
    if (is_control(c) || (first && (c == ' ' || c == '\t' || c == ':')))
        return bad(w, TB_E_BAD_REQUEST, no_trailer);
    w->named |= c == ':';
    w->state = WIRE_TRAILER_LINE;
    return true;
}

static bool expect(wire *w, char c, char wanted, wire_state next)
{
    if (c != wanted) return bad(w, TB_E_BAD_REQUEST, no_chunk);
    w->state = next;
    return true;
}

static bool take_byte(wire *w, char c)
{
    switch (w->state) {
    case WIRE_CHUNK_DIGITS: return take_digit(w, c);
    case WIRE_CHUNK_EXTENSION: return take_extension(w, c);
    case WIRE_CHUNK_LF:
        if (!expect(w, c, '\n', WIRE_CHUNK_BYTES)) return false;
        begin_chunk(w);
        return true;
    case WIRE_CHUNK_END: return expect(w, c, '\r', WIRE_CHUNK_END_LF);
    case WIRE_CHUNK_END_LF: return expect(w, c, '\n', WIRE_CHUNK_DIGITS);
    case WIRE_TRAILER:
    case WIRE_TRAILER_LINE: return take_trailer(w, c);
    case WIRE_TRAILER_LF:
        if (!expect(w, c, '\n', WIRE_TRAILER)) return false;
        if (!w->named) end_request(w);
        return true;
    default: return false;
    }
}

/* Whether the byte that comes now is passed on: not what is an extension or a trailer. */
static bool passes(const wire *w, char c)
{
    switch (w->state) {
    case WIRE_CHUNK_DIGITS: return c != ';';
    case WIRE_CHUNK_EXTENSION:
    case WIRE_TRAILER: return c == '\r';
    case WIRE_TRAILER_LINE: return false;
    case WIRE_TRAILER_LF: return !w->named;
    default: return true;
    }
}

static size_t take_bytes(wire *w, const char *from, size_t len, char *to)
{
    const size_t n = w->left < len ? (size_t)w->left : len;
    w->left -= n;
    if (to != from) memmove(to, from, n);
    if (w->left > 0) return n;
    if (w->state == WIRE_BODY) end_request(w);
    else w->state = WIRE_CHUNK_END;
    return n;
}

wire_step wire_scan(wire *w, char *bytes, size_t len)
{
    wire_step s = {0};
    while (s.read < len && w->state < WIRE_APART) {
        char *from = bytes + s.read, *to = bytes + s.passed;
        size_t n;
        if (w->state == WIRE_BODY || w->state == WIRE_CHUNK_BYTES) {
            n = take_bytes(w, from, len - s.read, to);
            s.passed += n;
        } else if (w->state == WIRE_HEAD) {
            n = skip_empty_lines(w, from, len - s.read);
            if (n == 0) n = take_head(w, from, len - s.read, to, &s.passed);
            if (n == 0) break;
        } else {
            const bool pass = passes(w, *from);
            if (!take_byte(w, *from)) break;
            *to = *from;
            s.passed += pass;
            n = 1;
        }
        s.read += n;
    }
    return s;
}

void wire_give_up(wire *w)
{
    bad(w, TB_E_BUSY, NULL);
}

void wire_end(wire *w)
{
    w->state = WIRE_END;
}

char wire_stand_in(wire *w)
{
    if (++w->stand_ins == WIRE_STAND_INS && w->left == 0) end_request(w);
    return 0;
}

bool wire_can_judge(const char *bytes, size_t len)
{
    const size_t skip = empty_lines(bytes, len);
    size_t looked = 0;
    return len >= WIRE_HEAD_MAX || head_end(bytes + skip, len - skip, &looked) > 0;
}
