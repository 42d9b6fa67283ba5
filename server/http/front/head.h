/* What the head of a request says: read from the bytes that came, validated, and written anew for
 * libmicrohttpd in one canonical form:
 *
 *     GET /statistics?x=y HTTP/1.1      as it came
 *     A:example.net                     a header that means something here: a letter for its name,
 *     B:8f2e...                         its value without blanks around it; all others are left out
 *     Content-Length:5                  or Transfer-Encoding:chunked, where there is a body
 *     Expect:100-continue               where the client waits to be asked for the body
 *     Connection:close                  where the client says so; Keep-Alive with HTTP/1.0
 *
 * No client can name a header by its letter, because none of its names is copied. What is written is
 * never longer than what came. The handler gets the same struct back from it (head_restore).
 *
 * Pure functions; nothing here allocates or knows the library. Texts of a head are borrowed. */
#ifndef TOLLBOOK_SERVER_HTTP_FRONT_HEAD_H
#define TOLLBOOK_SERVER_HTTP_FRONT_HEAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tollbook/error.h"
#include "tollbook/range.h"

#define HEAD_TARGET_MAX 4096  /* longest request target, bytes: longer is 414 */
#define HEAD_LINES_MAX  64    /* most header lines: more is 431 */
#define HEAD_VALUES_MAX 12288 /* most bytes of names and values together: more is 431 */
#define HEAD_MAX        20480 /* a whole head: target, headers, and what stands between them */

/* Which line counts where a header comes in several. A proxy may add its own line behind the client's, so of the
 * headers that proxies write the last one counts. */
typedef enum header_count {
    HEADER_ONE, /* a second line is a sign of request smuggling or of a confused client: refused */
    HEADER_FIRST,
    HEADER_LAST,
    HEADER_EACH, /* a list that goes on over lines */
} header_count;

/* Headers that mean something here. X(ENUM, lower-case name, which line counts) */
#define HEADER_TABLE(X)                                                                            \
    X(HOST, "host", ONE)                                                                           \
    X(ACCESS_KEY, "accesskey", ONE)                                                                \
    X(AUTHORIZATION, "authorization", ONE)                                                         \
    X(CONTENT_TYPE, "content-type", ONE)                                                           \
    X(CONTENT_LENGTH, "content-length", ONE)                                                       \
    X(CONTENT_ENCODING, "content-encoding", ONE)                                                   \
    X(TRANSFER_ENCODING, "transfer-encoding", ONE)                                                 \
    X(IDEMPOTENCY_KEY, "idempotency-key", ONE)                                                     \
    X(ACCEPT, "accept", FIRST)                                                                     \
    X(ACCEPT_ENCODING, "accept-encoding", FIRST)                                                   \
    X(IF_NONE_MATCH, "if-none-match", FIRST)                                                       \
    X(COOKIE, "cookie", FIRST)                                                                     \
    X(CONSOLE, "x-tollbook-console", FIRST)                                                        \
    X(FORWARDED_FOR, "x-forwarded-for", LAST)                                                      \
    X(FORWARDED_PROTO, "x-forwarded-proto", LAST)                                                  \
    X(ORIGIN, "origin", FIRST)                                                                     \
    X(REQUEST_METHOD, "access-control-request-method", FIRST)                                      \
    X(CONNECTION, "connection", EACH)                                                              \
    X(EXPECT, "expect", EACH)

typedef enum header_name {
#define TB_X(e, name, count) HEADER_##e,
    HEADER_TABLE(TB_X)
#undef TB_X
        HEADER_OTHER
} header_name;

typedef struct head {
    tb_code code;    /* TB_OK, or why the request is refused: the first fault */
    const char *why; /* one constant sentence, or NULL for the code's own */
    tb_text method, target;
    bool http11;                 /* else HTTP/1.0 */
    tb_text value[HEADER_OTHER]; /* of each header, without the blanks around it; data NULL: absent */
    bool chunked;
    uint64_t content_length;        /* 0 where absent */
    bool large;                     /* the body receiver takes the body (framing.h) */
    bool close, keep_alive, expect; /* a token of Connection; of Expect, where a body may be asked for */
    bool last;                      /* the connection ends with the answer to this request */
    unsigned lines;                 /* of headers */
    size_t bytes;                   /* of their names and values */
} head;

/* What head_read says of bytes that begin no request. */
#define HEAD_NO_LINE "The request line is not a method, a target and HTTP/1.1 or HTTP/1.0."

/* Where the head that begins here may end: behind its empty line, or behind a bare LF, which makes it none. More than
 * HEAD_MAX: it has no end within HEAD_MAX bytes. 0: more has to come; *looked bytes need not be looked at again. */
size_t head_end(const char *bytes, size_t len, size_t *looked);
/* How many of these bytes are empty lines before a request. */
size_t head_empty_lines(const char *bytes, size_t len);
/* Whether these bytes, empty lines first, hold all that is needed to read a head or to refuse it. */
bool head_is_due(const char *bytes, size_t len);

/* Reads a head of as many bytes as head_end said. false: there is no valid request line, or the head has no end; code and
 * why say what is wrong, the rest means nothing. true: what is refused has a code, its method and target are known, and
 * the headers up to the fault. */
bool head_read(head *h, const char *bytes, size_t len);

/* Writes the canonical form, with a body of this length (chunks apart), to a place for HEAD_MAX bytes. Returns its length.
 * Of a head that is refused: without a body. */
size_t head_write(const head *h, uint64_t body_bytes, char *to);
/* Takes back one header of the canonical form. */
void head_restore(head *h, const char *name, size_t name_len, const char *value, size_t value_len);

/* A control byte other than the tab. Arithmetic and no table, so that the compiler takes sixteen bytes at a time. */
static inline bool head_is_control(char c)
{
    return (((unsigned char)c < 32) & (c != '\t')) | (c == 127);
}
/* 0 to 15; -1: no hexadecimal digit. */
int head_hex(char c);

/* Whether the request has, or may have, a body. */
static inline bool head_has_body(const head *h)
{
    return h->chunked || h->content_length > 0;
}

#endif
