/* The head of a request: read from the input, validated, and written for libmicrohttpd in one canonical form:
 *
 *     GET /statistics?x=y HTTP/1.1      as it came
 *     A:example.net                     a header that the server uses: a letter for its name, its
 *     B:8f2e...                         value without blanks around it; all others are left out
 *     Content-Length:5                  or Transfer-Encoding:chunked, if there is a body
 *     Expect:100-continue               if the client waits for it before it sends the body
 *     Connection:close                  if the client sent it; Keep-Alive with HTTP/1.0
 *
 * No client can name a header by its letter, because no client's names are copied. The output is never longer than the
 * input. The handler gets the same struct back from it (head_restore).
 *
 * Pure functions, without allocations or the library. Texts of a head are borrowed. */
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
#define HEAD_MAX        20480 /* a whole head: target, headers and separators */

/* Which line counts if a header comes more than once. A proxy may add its line after the client's, so of the headers
 * that proxies write the last one counts. */
typedef enum header_count {
    HEADER_ONE, /* a second line is a sign of request smuggling or of a confused client: refused */
    HEADER_FIRST,
    HEADER_LAST,
    HEADER_EACH, /* a list that may span lines */
} header_count;

/* The headers that the server uses. X(ENUM, lower-case name, which line counts) */
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
    X(EXPECT, "expect", EACH)                                                                      \
    X(RANGE, "range", FIRST)                                                                       \
    X(IF_RANGE, "if-range", FIRST)                                                                 \
    X(REPLICA, "tollbook-replica", FIRST)                                                          \
    X(EPOCH, "tollbook-epoch", FIRST)

typedef enum header_name {
#define TB_X(e, name, count) HEADER_##e,
    HEADER_TABLE(TB_X)
#undef TB_X
        HEADER_OTHER
} header_name;

typedef struct head {
    tb_code code;    /* TB_OK, or why the request is refused: the first fault */
    const char *why; /* a constant sentence, or NULL for the code's own */
    tb_text method, target;
    bool http11;                 /* else HTTP/1.0 */
    tb_text value[HEADER_OTHER]; /* of each header, without the blanks around it; data NULL: absent */
    bool chunked;
    uint64_t content_length;        /* 0 where absent */
    bool large;                     /* the body receiver takes the body (framing.h) */
    bool close, keep_alive, expect; /* tokens of Connection; of Expect, if there may be a body */
    bool last;                      /* the connection ends with the answer to this request */
    unsigned lines;                 /* of headers */
    size_t bytes;                   /* of their names and values */
} head;

/* The error of head_read for bytes that begin no request. */
#define HEAD_NO_LINE "The request line is not a method, a target and HTTP/1.1 or HTTP/1.0."

/* The length of the head that begins here: up to its empty line, or up to a bare LF, which makes it invalid. More than
 * HEAD_MAX: it has no end within HEAD_MAX bytes. 0: it is incomplete; *looked bytes need not be searched again. */
size_t head_end(const char *bytes, size_t len, size_t *looked);
/* The length of empty lines before a request. */
size_t head_empty_lines(const char *bytes, size_t len);
/* Whether these bytes, with empty lines first, are enough to read a head or to refuse it. */
bool head_is_due(const char *bytes, size_t len);

/* Reads a head of the length that head_end returned. false: there is no valid request line, or the head has no end;
 * then only code and why are set. true: a refused head has a code, and its method, its target and the headers up to the
 * fault are known. */
bool head_read(head *h, const char *bytes, size_t len);

/* Writes the canonical form, with a body of this length unless it is chunked, to HEAD_MAX bytes at `to`. Returns its
 * length. A refused head is written without a body. */
size_t head_write(const head *h, uint64_t body_bytes, char *to);
/* Reads one header of the canonical form. */
void head_restore(head *h, const char *name, size_t name_len, const char *value, size_t value_len);

/* A control byte other than the tab. Arithmetic, not a table, so that the compiler can vectorise loops over it. */
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
