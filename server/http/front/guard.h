/* The guard: what a request may say. Pure functions over a request's target and header lines; nothing
 * here allocates or knows the library. The wire calls them, once for each head.
 *
 * Use: guard_start, guard_header for each line in order, guard_finish. The first fault stays; every
 * later call does nothing. Header values are borrowed from the caller. */
#ifndef TOLLBOOK_SERVER_HTTP_FRONT_GUARD_H
#define TOLLBOOK_SERVER_HTTP_FRONT_GUARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tollbook/error.h"
#include "tollbook/range.h"

#define GUARD_TARGET_MAX  4096  /* longest request target, bytes: longer is 414 */
#define GUARD_HEADERS_MAX 64    /* most header lines: more is 431 */
#define GUARD_BYTES_MAX   12288 /* most bytes of names and values together: more is 431 */

/* Which line counts where a header comes in several. A proxy may add its own line behind the client's, so of what
 * proxies say the last one counts. */
typedef enum guard_count {
    GUARD_ONE, /* a second line is the stuff of request smuggling or of confused clients: refused */
    GUARD_FIRST,
    GUARD_LAST,
    GUARD_EACH, /* a list that goes on over lines: guard_finish says what they come to */
} guard_count;

/* Headers that mean something here. X(ENUM, lower-case name, which line counts) */
#define GUARD_HEADERS(X)                                                                           \
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

typedef enum guard_name {
#define TB_X(e, name, count) GUARD_##e,
    GUARD_HEADERS(TB_X)
#undef TB_X
        GUARD_OTHER
} guard_name;

typedef struct guard {
    tb_code code;    /* TB_OK, TB_E_BAD_REQUEST or TB_E_HEADERS_TOO_LARGE */
    const char *why; /* one constant sentence, where code is not TB_OK */
    unsigned lines;
    size_t bytes;
    bool close, keep_alive, continues; /* tokens of Connection and Expect */
    tb_text value[GUARD_OTHER];        /* of each name, without the blanks around it; data NULL: absent */
    /* After guard_finish: */
    uint64_t content_length; /* 0 where absent */
    bool chunked;
    bool last;   /* the connection ends with this request's answer */
    bool expect; /* the client sends the body once it is told to */
} guard;

void guard_start(guard *g);
void guard_header(guard *g, const char *name, size_t name_len, const char *value, size_t value_len);
/* The rules that need all lines: Host, body framing. http11: the version is HTTP/1.1, else 1.0. */
tb_code guard_finish(guard *g, bool http11);
/* content_length and chunked, from their headers' values. false: they are not sound. */
bool guard_framing(guard *g);

/* Whether the request has, or may have, a body. */
bool guard_has_body(const guard *g);

/* A token (RFC 9110): one byte or more that may stand in a method or in a header's name. */
bool guard_token(const char *text, size_t len);

/* The raw request target: at most GUARD_TARGET_MAX bytes 0x21..0x7E, begins with '/', no fragment,
 * every '%' begins a valid escape, no %00; in the path no encoded slash or backslash and no dot
 * segment, however spelled. *ret_path_len: bytes before the '?'. On failure *ret_why says why. */
TB_MUST_USE tb_code guard_target(const char *target, size_t len, size_t *ret_path_len,
                                 const char **ret_why);

#endif
