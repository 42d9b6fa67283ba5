/* The wire: the one reading of what a connection sends. A head is parsed and judged here (guard.h), and
 * libmicrohttpd 0.9.75 gets it written anew from what was understood; a body is checked and passed on. So
 * there is nothing that the library could read in another way: it takes a blank behind `chunked` for
 * another encoding, a line without a name for a head's end, joins folded lines to names, has no room for a
 * cookie of many crumbs or for 400 trailer lines, loses a request that expects a 100 for no body, and
 * answers what it cannot read in HTML, some of it twice.
 *
 *     GET /statistics?x=y HTTP/1.1      as it came
 *     A:example.net                     headers that mean something here: a letter for each (wire_header),
 *     B:8f2e...                         the value without blanks around it; all others are left out
 *     Content-Length:5                  or Transfer-Encoding:chunked, where there is a body
 *     Expect:100-continue               where a body is to be asked for
 *     Connection:close                  where the client says so; Keep-Alive with HTTP/1.0
 *
 * No client can name a header by its letter, for none of its names comes through. What is written is never
 * longer than what came, so it takes its place; nor are chunks without extensions and trailers, which are
 * judged and left out, and empty lines before a request.
 *
 * What it keeps true: every byte passed on belongs to a head that was judged whole, or to the body that such
 * a head announced, and stands before the first wrong byte. Of a head that is refused the
 * request line passes, so that the handler can answer in the route's own form; it is the last one, and so
 * is one that says close. Behind the last request nothing passes and nothing is answered.
 *
 * A body longer than WIRE_APART_MIN whose length is announced does not pass at all: others receive it
 * (uploads.h), and the library's connection has 24 KiB. In its place the library sees one of
 * WIRE_STAND_INS bytes, and a length that says so. */
#ifndef TOLLBOOK_SERVER_HTTP_FRONT_WIRE_H
#define TOLLBOOK_SERVER_HTTP_FRONT_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "http/front/guard.h"

/* A head is at most the guard's target and headers, and what stands between them. So are the empty lines before it. */
#define WIRE_HEAD_MAX 20480

/* The library's memory of a connection, set to zero for each request: a head as it is written here, with the guard's
 * 4 KiB of target and 12 KiB of headers at most, and the answer's head. */
#define WIRE_POOL 24576

#define WIRE_APART_MIN ((uint64_t)64 << 10)
#define WIRE_STAND_INS 2

typedef enum wire_state {
    WIRE_HEAD, /* a request begins */
    WIRE_BODY, /* `left` bytes of it */
    WIRE_CHUNK_DIGITS,
    WIRE_CHUNK_EXTENSION,
    WIRE_CHUNK_LF, /* of the size's line */
    WIRE_CHUNK_BYTES,
    WIRE_CHUNK_END,
    WIRE_CHUNK_END_LF,
    WIRE_TRAILER, /* a line begins */
    WIRE_TRAILER_LINE,
    WIRE_TRAILER_LF,
    WIRE_APART, /* `left` bytes of a body, none of which passes */
    WIRE_END,   /* the last request has passed; where it was refused, code and why say so */
    WIRE_BAD,   /* code and why say what is wrong */
} wire_state;

typedef struct wire {
    wire_state state;
    bool in_body;  /* what is bad is a body, of a request whose head was passed on */
    bool last;     /* nothing passes behind this request */
    bool named;    /* the trailer's line has its colon */
    unsigned seen; /* digits of a chunk's size, bytes of its extension, of the trailer, of empty lines */
    unsigned stand_ins; /* passed on, of a body that comes apart */
    size_t looked;      /* bytes of a head that hold no end of it */
    uint64_t length;    /* announced, of a body that comes apart */
    uint64_t left;      /* of a body or a chunk */
    uint64_t heads;     /* passed on */
    tb_code code;
    const char *why;
} wire;

typedef struct wire_step {
    size_t read;   /* so many bytes need not be shown again */
    size_t passed; /* what is to be passed on of them: it lies at their beginning now */
} wire_step;

/* Reads these bytes. Those behind what was read are the beginning of a head, and have to be shown again, with
 * more behind them; or nothing passes any more, or not here (WIRE_APART). A wire of zeros is a connection's
 * beginning. */
wire_step wire_scan(wire *w, char *bytes, size_t len);

/* From here on nothing passes: since what came could not be kept, or since the last answer is under way. */
void wire_give_up(wire *w);
void wire_end(wire *w);

/* WIRE_APART: the next byte that stands for the body. After the last one, where all of the body has come (left is 0),
 * the next head may come. */
char wire_stand_in(wire *w);

/* The header that the library was given by this name; GUARD_OTHER: none that a handler reads. */
guard_name wire_header(const char *name, size_t len);

/* Whether these bytes can be judged: they hold a whole head, or are wrong already. */
bool wire_can_judge(const char *bytes, size_t len);

#endif
