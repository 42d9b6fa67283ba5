#include "http/wire.h"

#include <string.h>
#include <strings.h>

#include "http/guard.h"

#define EXTENSION_MAX 256  /* bytes of a chunk's size line behind the digits */
#define TRAILER_MAX   4096 /* bytes behind the last chunk */
#define DIGITS_MAX    16
/* What the library has room for, beside an answer's head: the head's bytes and an entry for each line.
 * Within it the guard says what is too long, in the route's own form. */
#define ROOM  22528
#define ENTRY 80

static const char no_line[] = "The request line is not a method, a target and HTTP/1.1 or HTTP/1.0.";
static const char no_header[] = "A header line has no name, is folded, or does not end in CRLF.";
static const char no_framing[] = "The body's length is not given once, as a number or as chunks.";
static const char no_chunk[] = "The body's chunks are malformed.";

static bool bad(wire *w, tb_code code, const char *why)
{
    w->in_body = w->state != WIRE_HEAD;
    w->state = WIRE_BAD;
    w->code = code;
    w->why = why;
    return false;
}

/* --- a head --- */

typedef struct head {
    size_t target_len;
    bool http11, has_length, chunked;
    uint64_t length;
    char *digits; /* of it */
    size_t n_digits;
} head;

/* METHOD SP TARGET SP HTTP/1.x, the target with or without spaces: the guard says what is wrong. */
static bool judge_request(wire *w, head *h, const char *line, size_t len)
{
    static const char version[] = " HTTP/1.";
    const size_t n = sizeof version - 1;
    const char *space = memchr(line, ' ', len), *end = line + len - n - 1;
    if (!space || space == line || len <= n + 1 || memcmp(end, version, n) != 0 ||
        line[len - 1] < '0' || line[len - 1] > '9' || memchr(line, 0, len))
        return bad(w, TB_E_BAD_REQUEST, no_line);
    while (space < end && *space == ' ')
        space++;
    if (space >= end) return bad(w, TB_E_BAD_REQUEST, no_line);
    h->target_len = (size_t)(end - space);
    h->http11 = line[len - 1] == '1';
    return true;
}

static bool same(const char *name, size_t len, const char *wanted, size_t wanted_len)
{
    return len == wanted_len && strncasecmp(name, wanted, len) == 0;
}
#define IS(name, len, wanted) same(name, len, wanted, sizeof(wanted) - 1)

/* 1 to 18 digits, as the guard wants them. */
static bool read_length(head *h, char *value, size_t len)
{
    if (h->has_length || len == 0 || len > 18) return false;
    h->has_length = true;
    h->digits = value;
    h->n_digits = len;
    for (size_t i = 0; i < len; i++) {
        if (value[i] < '0' || value[i] > '9') return false;
        h->length = h->length * 10 + (uint64_t)(value[i] - '0');
    }
    return true;
}

static bool read_encoding(head *h, const char *value, size_t len)
{
    if (h->chunked || !h->http11 || !IS(value, len, "chunked")) return false;
    h->chunked = true;
    return true;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static bool judge_header(wire *w, head *h, char *line, size_t len)
{
    const char *colon = memchr(line, ':', len);
    if (!colon || colon == line || is_blank(*line) || memchr(line, 0, len))
        return bad(w, TB_E_BAD_REQUEST, no_header);
    char *value = line + (colon - line) + 1;
    const size_t name_len = (size_t)(colon - line);
    size_t n = len - name_len - 1;
    while (n > 0 && is_blank(*value))
        value++, n--;
    while (n > 0 && is_blank(value[n - 1]))
        n--;
    if (IS(line, name_len, "cookie")) memcpy(line, WIRE_COOKIE, name_len);
    if ((IS(line, name_len, "content-length") && !read_length(h, value, n)) ||
        (IS(line, name_len, "transfer-encoding") && !read_encoding(h, value, n)))
        return bad(w, TB_E_BAD_REQUEST, no_framing);
    return true;
}

static bool too_large(wire *w, const head *h)
{
    return bad(w, h->target_len > GUARD_TARGET_MAX ? TB_E_URI_TOO_LONG : TB_E_HEADERS_TOO_LARGE, NULL);
}

static void begin_apart(wire *w, const head *h)
{
    w->state = WIRE_APART;
    w->stand_ins = 0;
    w->length = h->length;
    memset(h->digits, '0', h->n_digits);
    h->digits[h->n_digits - 1] = '0' + WIRE_STAND_INS;
}

static bool begin_body(wire *w, const head *h)
{
    if (h->chunked && h->has_length) return bad(w, TB_E_BAD_REQUEST, no_framing);
    w->left = h->length;
    w->seen = 0;
    w->heads++;
    if (h->chunked) w->state = WIRE_CHUNK_DIGITS;
    else if (h->length > WIRE_APART_MIN) begin_apart(w, h);
    else if (h->length > 0) w->state = WIRE_BODY;
    return true;
}

/* Bytes of the head that begins here; 0: it is not whole, or bad. */
static size_t take_head(wire *w, char *bytes, size_t len)
{
    head h = {0};
    size_t at = 0, lines = 0;
    bool good = true;
    for (bool first = true; good; first = false, lines++) {
        char *line = bytes + at;
        const char *lf = memchr(line, '\n', len - at);
        if (!lf) break;
        const size_t n = (size_t)(lf - line);
        at += n + 1;
        if (first && at > WIRE_HEAD_MAX) h.target_len = n;
        if (at > WIRE_HEAD_MAX || at + lines * ENTRY > ROOM)
            good = too_large(w, &h);
        else if (n == 0 || line[n - 1] != '\r')
            good = bad(w, TB_E_BAD_REQUEST, first ? no_line : no_header);
        else if (first)
            good = judge_request(w, &h, line, n - 1);
        else if (n > 1)
            good = judge_header(w, &h, line, n - 1);
        else
            return begin_body(w, &h) ? at : 0;
    }
    if (good && len >= WIRE_HEAD_MAX) {
        if (at == 0) h.target_len = len;
        too_large(w, &h);
    }
    return 0;
}

/* Empty lines before a request are nothing. */
static size_t empty_lines(const char *bytes, size_t len)
{
    size_t at = 0;
    while (len - at >= 2 && bytes[at] == '\r' && bytes[at + 1] == '\n')
        at += 2;
    return at;
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
        if (!first && !w->named) return bad(w, TB_E_BAD_REQUEST, no_header);
        w->named = !first; /* else it is the empty line */
        w->state = WIRE_TRAILER_LF;
        return true;
    }
    if (is_control(c) || (first && (is_blank(c) || c == ':')))
        return bad(w, TB_E_BAD_REQUEST, no_header);
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
    case WIRE_TRAILER_LF: return expect(w, c, '\n', w->named ? WIRE_TRAILER : WIRE_HEAD);
    default: return false;
    }
}

static size_t take_bytes(wire *w, size_t len)
{
    const size_t n = w->left < len ? (size_t)w->left : len;
    w->left -= n;
    if (w->left == 0) w->state = w->state == WIRE_BODY ? WIRE_HEAD : WIRE_CHUNK_END;
    return n;
}

size_t wire_scan(wire *w, char *bytes, size_t len)
{
    size_t at = 0;
    while (at < len && w->state != WIRE_BAD && w->state != WIRE_APART) {
        if (w->state == WIRE_BODY || w->state == WIRE_CHUNK_BYTES) {
            at += take_bytes(w, len - at);
        } else if (w->state == WIRE_HEAD) {
            at += empty_lines(bytes + at, len - at);
            const size_t n = take_head(w, bytes + at, len - at);
            if (n == 0) break;
            at += n;
        } else if (take_byte(w, bytes[at])) {
            at++;
        }
    }
    return at;
}

void wire_give_up(wire *w)
{
    bad(w, TB_E_BUSY, NULL);
}

char wire_stand_in(wire *w)
{
    if (++w->stand_ins == WIRE_STAND_INS && w->left == 0) w->state = WIRE_HEAD;
    return 0;
}

bool wire_can_judge(const char *bytes, size_t len)
{
    const size_t skip = empty_lines(bytes, len);
    const char *p = bytes + skip, *const end = bytes + len;
    if (len >= WIRE_HEAD_MAX) return true;
    for (bool first = true; (p = memchr(p, '\n', (size_t)(end - p))); first = false) {
        if (p == bytes + skip || p[-1] != '\r') return true;
        if (!first && p - bytes >= 3 && p[-2] == '\n') return true;
        p++;
    }
    return false;
}
