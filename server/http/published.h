/* The latest version of something that many threads read and one replaces now and then: the table
 * of keys, a token key, a secret.
 *
 * What is published never changes. A reader has a view of its own and keeps what it saw until it
 * looks again, so a version that was replaced goes with its last reader. While nothing is new, a
 * look is one atomic read. */
#ifndef TOLLBOOK_SERVER_HTTP_LATEST_H
#define TOLLBOOK_SERVER_HTTP_LATEST_H

#include "tollbook/error.h"

typedef struct latest latest;

/* One thread's; zeroed: it has seen nothing yet. */
typedef struct latest_view {
    struct latest_version *version;
    uint64_t generation; /* grows with each publication; 0: nothing was published */
} latest_view;

/* drop frees a version. NULL when out of memory. */
latest *latest_new(void (*drop)(void *thing));
void latest_free(latest *l); /* views may still hold versions; NULL is fine */
/* Takes the thing over, also where it fails. */
TB_MUST_USE tb_code latest_publish(latest *l, void *thing, tb_error *err);
/* The newest version, good until the view looks again or is released. NULL: there is none yet. */
const void *latest_look(latest *l, latest_view *view);
void latest_release(latest_view *view);

#endif
