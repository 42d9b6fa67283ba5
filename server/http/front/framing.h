/* Request framing: the only parser of a connection's input. A head is read and validated, and libmicrohttpd gets its
 * canonical form (head.h); a body is checked and passed on. The library would read some input differently: it takes a
 * blank after `chunked` for another encoding and a line without a name for a head's end, joins folded lines to names,
 * has no memory for a long cookie or for 400 trailer lines, loses a request that expects a 100 for no body, and answers
 * unreadable input in HTML, some of it twice.
 *
 * Invariants:
 * - Every byte passed on belongs to a head that was validated whole, or to the body that such a head announced, and
 *   comes before the first invalid byte.
 * - The output is never longer than the input, so it is written in place. Chunks pass without extensions and trailers,
 *   which are validated and left out, as are empty lines before a request.
 * - Of a refused head the request line and the headers pass, without a body, so that the handler can answer in the
 *   route's own form. It is the last request, and so is one with Connection: close. Nothing passes after the last
 *   request.
 * - A body longer than FRAMING_LARGE_BODY with an announced length does not pass: the body receiver takes it (body.h).
 *   The library sees a placeholder of FRAMING_PLACEHOLDERS bytes in its place, and that length. */
#ifndef TOLLBOOK_SERVER_HTTP_FRONT_FRAMING_H
#define TOLLBOOK_SERVER_HTTP_FRONT_FRAMING_H

#include "http/front/head.h"

/* The library's memory of a connection, set to zero for each request: a head in canonical form and the answer's
 * head. */
#define FRAMING_POOL 24576

#define FRAMING_LARGE_BODY   ((uint64_t)64 << 10)
#define FRAMING_PLACEHOLDERS 2

typedef enum framing_state {
    FRAMING_HEAD, /* a request begins */
    FRAMING_BODY, /* `left` bytes of it */
    FRAMING_CHUNK_DIGITS,
    FRAMING_CHUNK_EXTENSION,
    FRAMING_CHUNK_LF, /* at the end of the size line */
    FRAMING_CHUNK_BYTES,
    FRAMING_CHUNK_END,
    FRAMING_CHUNK_END_LF,
    FRAMING_TRAILER, /* a line begins */
    FRAMING_TRAILER_LINE,
    FRAMING_TRAILER_LF,
    FRAMING_LARGE, /* `left` bytes of a large body, none of which passes */
    FRAMING_END,   /* the last request has passed; if it was refused, code and why are set */
    FRAMING_BAD,   /* invalid input; code and why are set */
} framing_state;

typedef struct framing {
    framing_state state;
    bool in_body;          /* the invalid input is the body of a request whose head was passed on */
    bool last;             /* nothing passes after this request */
    bool named;            /* the trailer's line has its colon */
    unsigned seen;         /* digits of a chunk's size, bytes of its extension, of the trailer, of empty lines */
    unsigned placeholders; /* bytes of the placeholder passed on */
    size_t looked;         /* bytes of a head that were searched for its end */
    uint64_t length;       /* announced, of a large body */
    uint64_t left;         /* of a body or a chunk */
    uint64_t heads;        /* passed on */
    tb_code code;
    const char *why;
} framing;

typedef struct framing_step {
    size_t read;   /* bytes that were consumed */
    size_t passed; /* bytes to pass on: they lie at the beginning of the input now */
} framing_step;

/* Reads these bytes. The rest after those consumed is the beginning of a head, to be passed again with more after it;
 * or nothing passes any more, or not here (FRAMING_LARGE). A zeroed framing is the beginning of a connection. */
framing_step framing_scan(framing *f, char *bytes, size_t len);

/* From now on nothing passes: because the input could not be stored, or because the last answer is being sent. */
void framing_give_up(framing *f);
void framing_end(framing *f);

/* FRAMING_LARGE: returns the next byte of the placeholder. After the last one, if all of the body has come (left is 0),
 * the next head may follow. */
char framing_placeholder(framing *f);

#endif
