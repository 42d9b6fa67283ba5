/* A published object: many threads read it and one replaces it now and then, in the way of RCU. Examples are the table
 * of keys, a token key, a secret.
 *
 * A published version never changes. Each reading thread has a view of its own, which keeps the version that it saw
 * until the next published_get; a version that was replaced is freed with its last view. If nothing is new,
 * published_get is one atomic read. */
#ifndef TOLLBOOK_SERVER_HTTP_PUBLISHED_H
#define TOLLBOOK_SERVER_HTTP_PUBLISHED_H

#include "tollbook/error.h"

typedef struct published published;

/* Belongs to one thread; zeroed: it has seen nothing yet. */
typedef struct published_view {
    struct published_version *version;
    uint64_t generation; /* grows with each publication; 0: nothing was published */
} published_view;

/* drop frees a version. NULL when out of memory. */
published *published_new(void (*drop)(void *thing));
void published_free(published *p); /* views may still hold versions; NULL is fine */
/* Replaces the version. Takes ownership of the thing, also on failure. */
TB_MUST_USE tb_code published_set(published *p, void *thing, tb_error *err);
/* The newest version, valid until the view's next published_get or its release. NULL: there is none yet. */
const void *published_get(published *p, published_view *view);
void published_release(published_view *view);

#endif
