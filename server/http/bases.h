/* Bases: copies of the database that replicas begin with. One is made at a time, on LANE_BASE, into a file beside the
 * database whose name is removed at once, so that a crash leaves nothing. It is kept for BASE_KEPT_US after its last use,
 * so that a download which was cut off is resumed, and others who ask meanwhile get the same. Any thread. */
#ifndef TOLLBOOK_SERVER_HTTP_BASES_H
#define TOLLBOOK_SERVER_HTTP_BASES_H

#include "tollbook/range.h"
#include "tollbook/replica.h"

#define BASE_KEPT_US INT64_C(600000000)
#define BASE_HASH    33 /* bytes of a hash as text, its end included */

typedef struct base {
    int fd;
    uint64_t size;
    int64_t piece; /* the newest that it has */
    char tag[56];  /* its ETag, quoted */
    char hash[BASE_HASH]; /* XXH3-128 of its bytes, in hexadecimal digits */
    int64_t made_us, used_us; /* monotonic */
    unsigned users;
} base;

typedef struct bases bases;

bases *bases_new(const char *db); /* the path is borrowed; NULL: out of memory */
void bases_free(bases *b); /* when none is used any more; NULL is fine */

/* The current base if it is young, has the piece `least` and the pieces after it are kept, else a new one, of the store's
 * file. stop is called at times: true ends it with TB_E_STOPPED. On one thread at a time. The caller drops it. */
TB_MUST_USE tb_code bases_make(bases *b, tb_store *store, int64_t least, bool (*stop)(void *ctx), void *ctx, base **ret_base,
                               tb_error *err);
/* The kept base of this tag, which the caller drops; NULL: it is no longer kept. */
base *bases_take(bases *b, tb_text tag);
void bases_drop(bases *b, base *one);
/* Closes one that was not used for BASE_KEPT_US. */
void bases_age(bases *b);

#endif
