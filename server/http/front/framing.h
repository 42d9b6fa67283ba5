/* Request framing: the one reading of what a connection sends. A head is read and validated, and libmicrohttpd gets it
 * written anew (head.h); a body is checked and passed on. The library would read otherwise: it takes a blank behind
 * `chunked` for another encoding and a line without a name for a head's end, joins folded lines to names, has no memory
 * for a long cookie or for 400 trailer lines, loses a request that expects a 100 for no body, and answers what it
 * cannot read in HTML, some of it twice.
 *
 * What it keeps true:
 * - Every byte passed on belongs to a head that was validated whole, or to the body that such a head announced, and stands
 *   before the first wrong byte.
 * - What passes is never longer than what came, so it takes its place. Chunks pass without extensions and trailers, which
 *   are validated and left out, as are empty lines before a request.
 * - Of a head that is refused the request line and the headers pass, without a body, so that the handler can answer in the
 *   route's own form. It is the last request, and so is one that says close. Behind the last request nothing passes.
 * - A body longer than FRAMING_LARGE_BODY whose length is announced does not pass: the body receiver takes it (body.h).
 *   The library sees a placeholder of FRAMING_PLACEHOLDERS bytes in its place, and a length that says so. */
#ifndef TOLLBOOK_SERVER_HTTP_FRONT_FRAMING_H
#define TOLLBOOK_SERVER_HTTP_FRONT_FRAMING_H

#include "http/front/head.h"

/* The library's memory of a connection, set to zero for each request: a head in canonical form and the answer's head. */
#define FRAMING_POOL 24576

#define FRAMING_LARGE_BODY   ((uint64_t)64 << 10)
#define FRAMING_PLACEHOLDERS 2

typedef enum framing_state {
    FRAMING_HEAD, /* a request begins */
    FRAMING_BODY, /* `left` bytes of it */
    FRAMING_CHUNK_DIGITS,
    FRAMING_CHUNK_EXTENSION,
    FRAMING_CHUNK_LF, /* of the size's line */
    FRAMING_CHUNK_BYTES,
    FRAMING_CHUNK_END,
    FRAMING_CHUNK_END_LF,
    FRAMING_TRAILER, /* a line begins */
    FRAMING_TRAILER_LINE,
    FRAMING_TRAILER_LF,
    FRAMING_LARGE, /* `left` bytes of a large body, none of which passes */
    FRAMING_END,   /* the last request has passed; where it was refused, code and why say so */
    FRAMING_BAD,   /* code and why say what is wrong */
} framing_state;

typedef struct framing {
    framing_state state;
    bool in_body;          /* what is bad is a body, of a request whose head was passed on */
    bool last;             /* nothing passes behind this request */
    bool named;            /* the trailer's line has its colon */
    unsigned seen;         /* digits of a chunk's size, bytes of its extension, of the trailer, of empty lines */
    unsigned placeholders; /* bytes of it passed on */
    size_t looked;         /* bytes of a head that hold no end of it */
    uint64_t length;       /* announced, of a large body */
    uint64_t left;         /* of a body or a chunk */
    uint64_t heads;        /* passed on */
    tb_code code;
    const char *why;
} framing;

typedef struct framing_step {
    size_t read;   /* so many bytes need not be shown again */
    size_t passed; /* what is to be passed on of them: it lies at their beginning now */
} framing_step;

/* Reads these bytes. Those behind what was read are the beginning of a head, and have to be shown again, with
 * more behind them; or nothing passes any more, or not here (FRAMING_LARGE). A framing of zeros is a connection's
 * beginning. */
framing_step framing_scan(framing *f, char *bytes, size_t len);

/* From here on nothing passes: because what came could not be kept, or because the last answer is under way. */
void framing_give_up(framing *f);
void framing_end(framing *f);

/* FRAMING_LARGE: the next byte of the placeholder. After the last one, where all of the body has come (left is 0),
 * the next head may come. */
char framing_placeholder(framing *f);

#endif
