/* The wire: what a connection sends is judged here before libmicrohttpd 0.9.75 reads it. That answers
 * what it cannot read in HTML, some of it twice, takes a line without a name for a head's end, joins
 * folded lines to names, and has no room for a cookie of many crumbs. It only gets to see heads that it
 * and we read alike, and bodies whose framing is sound. What a request may say is not judged
 * here: that is the guard's, which can answer in the route's own form.
 *
 * What it keeps true: every byte passed on belongs to a head that was judged whole, or to the body that
 * such a head announced, up to and not including the first byte that is wrong. A cookie's name is
 * blotted out in place: the guard reads that header under the name that is left (WIRE_COOKIE), and the
 * library does not take it apart.
 *
 * A body longer than WIRE_APART_MIN whose length is announced does not pass at all: others receive it
 * (uploads.h), and the library's connection has 24 KiB. In its place the library sees one of
 * WIRE_STAND_INS bytes, and a length that says so. */
#ifndef TOLLBOOK_SERVER_HTTP_WIRE_H
#define TOLLBOOK_SERVER_HTTP_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tollbook/error.h"

/* A head is at most the guard's target and headers, and what stands between them. */
#define WIRE_HEAD_MAX 20480

#define WIRE_COOKIE "xxxxxx" /* what stands in the place of "Cookie" */

#define WIRE_APART_MIN ((uint64_t)64 << 10)
#define WIRE_STAND_INS 2

typedef enum wire_state {
    WIRE_HEAD, /* a request begins */
    WIRE_BODY, /* `left` bytes of it */
    WIRE_APART, /* likewise; none of them passes */
    WIRE_CHUNK_DIGITS,
    WIRE_CHUNK_EXTENSION,
    WIRE_CHUNK_LF, /* of the size's line */
    WIRE_CHUNK_BYTES,
    WIRE_CHUNK_END,
    WIRE_CHUNK_END_LF,
    WIRE_TRAILER, /* a line begins */
    WIRE_TRAILER_LINE,
    WIRE_TRAILER_LF,
    WIRE_BAD, /* code and why say what is wrong; nothing is passed on any more */
} wire_state;

typedef struct wire {
    wire_state state;
    bool in_body;  /* what is bad is a body, of a request whose head was passed on */
    bool named;    /* the trailer's line has its colon */
    unsigned seen; /* digits of a chunk's size, bytes of its extension, or of the trailer */
    unsigned stand_ins; /* passed on, of a body that comes apart */
    uint64_t length;    /* announced, of such a body */
    uint64_t left;      /* of a body or a chunk */
    uint64_t heads; /* passed on */
    tb_code code;
    const char *why;
} wire;

/* How many of these bytes can be passed on. The rest is bad, or the beginning of a head and has to be
 * shown again, with more behind it. A wire of zeros is a connection's beginning. */
size_t wire_scan(wire *w, char *bytes, size_t len);

/* From here on nothing passes, since what came could not be kept. */
void wire_give_up(wire *w);

/* WIRE_APART: the next byte that stands for the body. After the last one, where all of the body has come (left is 0),
 * the next head may come. */
char wire_stand_in(wire *w);

/* Whether a head is whole, or wrong already: nothing more has to come to judge it. */
bool wire_can_judge(const char *bytes, size_t len);

#endif
