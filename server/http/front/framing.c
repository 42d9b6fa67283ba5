#include "http/front/framing.h"

#include <assert.h>
#include <string.h>

#define EXTENSION_MAX 256  /* bytes of a chunk's size line after the digits */
#define TRAILER_MAX   4096 /* bytes after the last chunk */
#define DIGITS_MAX    16

static const char no_trailer[] = "A trailer line has no name, is folded, or does not end in CRLF.";
static const char no_chunk[] = "The body's chunks are malformed.";

static bool bad(framing *f, tb_code code, const char *why)
{
    f->in_body = f->state != FRAMING_HEAD;
    f->state = FRAMING_BAD;
    f->code = code;
    f->why = why;
    return false;
}

static void end_request(framing *f)
{
    f->state = f->last ? FRAMING_END : FRAMING_HEAD;
    f->seen = 0;
}

/* --- a head --- */

/* Begins the part after the head: its body, the next head, or the end. */
static void begin_body(framing *f, const head *h)
{
    f->heads++;
    f->last = h->last;
    f->left = h->content_length;
    f->seen = 0;
    if (h->code) {
        f->state = FRAMING_END;
        f->code = h->code;
        f->why = h->why;
    } else if (h->chunked) {
        f->state = FRAMING_CHUNK_DIGITS;
    } else if (f->left > FRAMING_LARGE_BODY) {
        f->state = FRAMING_LARGE;
        f->placeholders = 0;
        f->length = f->left;
    } else if (f->left > 0) {
        f->state = FRAMING_BODY;
    } else {
        end_request(f);
    }
}

/* Skips empty lines, or reads the head that begins here and writes its canonical form to `to`, which may lie before it.
 * Returns the bytes that were read; 0: the head is incomplete, or bad. */
static size_t take_head(framing *f, const char *bytes, size_t len, char *to, size_t *passed)
{
    const size_t empty = head_empty_lines(bytes, len);
    char canonical[HEAD_MAX];
    head h;
    if (empty > 0) {
        f->seen += (unsigned)empty;
        f->looked = 0;
        if (f->seen > HEAD_MAX) bad(f, TB_E_BAD_REQUEST, HEAD_NO_LINE);
        return empty;
    }
    const size_t end = head_end(bytes, len, &f->looked);
    if (end == 0) return 0;
    f->looked = 0;
    if (!head_read(&h, bytes, end)) {
        bad(f, h.code, h.why);
        return 0;
    }
    begin_body(f, &h);
    const size_t n = head_write(&h, f->state == FRAMING_LARGE ? FRAMING_PLACEHOLDERS : f->left, canonical);
    assert(n <= end);
    memcpy(to, canonical, n);
    *passed += n;
    return end;
}

/* --- a body --- */

static bool take_digit(framing *f, char c)
{
    const int digit = head_hex(c);
    if (digit >= 0) {
        if (++f->seen > DIGITS_MAX) return bad(f, TB_E_TOO_LARGE, NULL);
        f->left = f->left * 16 + (unsigned)digit;
        return true;
    }
    if (f->seen == 0 || (c != '\r' && c != ';')) return bad(f, TB_E_BAD_REQUEST, no_chunk);
    f->state = c == '\r' ? FRAMING_CHUNK_LF : FRAMING_CHUNK_EXTENSION;
    f->seen = 0;
    return true;
}

static bool take_trailer(framing *f, char c)
{
    const bool first = f->state == FRAMING_TRAILER;
    if (++f->seen > TRAILER_MAX) return bad(f, TB_E_HEADERS_TOO_LARGE, NULL);
    if (first) f->named = false;
    if (c == '\r') {
        if (!first && !f->named) return bad(f, TB_E_BAD_REQUEST, no_trailer);
        f->named = !first; /* else it is the empty line */
        f->state = FRAMING_TRAILER_LF;
        return true;
    }
    if (head_is_control(c) || (first && (c == ' ' || c == '\t' || c == ':')))
        return bad(f, TB_E_BAD_REQUEST, no_trailer);
    f->named |= c == ':';
    f->state = FRAMING_TRAILER_LINE;
    return true;
}

static bool expect(framing *f, char c, char wanted, framing_state next)
{
    if (c != wanted) return bad(f, TB_E_BAD_REQUEST, no_chunk);
    f->state = next;
    return true;
}

/* Reads a byte of a chunked body's framing. *ret_passes: it is passed on, unlike extensions and trailers. false: it is
 * wrong. */
static bool take_byte(framing *f, char c, bool *ret_passes)
{
    *ret_passes = true;
    switch (f->state) {
    case FRAMING_CHUNK_DIGITS: *ret_passes = c != ';'; return take_digit(f, c);
    case FRAMING_CHUNK_EXTENSION:
        *ret_passes = c == '\r';
        if (c == '\r') f->state = FRAMING_CHUNK_LF;
        else if (head_is_control(c) || ++f->seen > EXTENSION_MAX) return bad(f, TB_E_BAD_REQUEST, no_chunk);
        return true;
    case FRAMING_CHUNK_LF: f->seen = 0; return expect(f, c, '\n', f->left ? FRAMING_CHUNK_BYTES : FRAMING_TRAILER);
    case FRAMING_CHUNK_END: return expect(f, c, '\r', FRAMING_CHUNK_END_LF);
    case FRAMING_CHUNK_END_LF: return expect(f, c, '\n', FRAMING_CHUNK_DIGITS);
    case FRAMING_TRAILER: *ret_passes = c == '\r'; return take_trailer(f, c);
    case FRAMING_TRAILER_LINE: *ret_passes = false; return take_trailer(f, c);
    case FRAMING_TRAILER_LF:
        *ret_passes = !f->named;
        if (!expect(f, c, '\n', FRAMING_TRAILER)) return false;
        if (!f->named) end_request(f);
        return true;
    default: return false;
    }
}

framing_step framing_scan(framing *f, char *bytes, size_t len)
{
    framing_step s = {0};
    while (s.read < len && f->state < FRAMING_LARGE) {
        char *from = bytes + s.read, *to = bytes + s.passed;
        size_t n;
        if (f->state == FRAMING_BODY || f->state == FRAMING_CHUNK_BYTES) {
            n = f->left < len - s.read ? (size_t)f->left : len - s.read;
            f->left -= n;
            if (to != from) memmove(to, from, n);
            if (f->left == 0 && f->state == FRAMING_BODY) end_request(f);
            else if (f->left == 0) f->state = FRAMING_CHUNK_END;
            s.passed += n;
        } else if (f->state == FRAMING_HEAD) {
            n = take_head(f, from, len - s.read, to, &s.passed);
            if (n == 0) break;
        } else {
            bool passes;
            if (!take_byte(f, *from, &passes)) break;
            *to = *from;
            s.passed += passes;
            n = 1;
        }
        s.read += n;
    }
    return s;
}

void framing_give_up(framing *f)
{
    bad(f, TB_E_BUSY, NULL);
}

void framing_end(framing *f)
{
    f->state = FRAMING_END;
}

char framing_placeholder(framing *f)
{
    if (++f->placeholders == FRAMING_PLACEHOLDERS && f->left == 0) end_request(f);
    return 0;
}
