/* A request's body, as it is held until the handler has seen it. One thread at a time: the worker's, or that which
 * receives it (uploads.h). */
#ifndef TOLLBOOK_SERVER_HTTP_FRONT_BODY_H
#define TOLLBOOK_SERVER_HTTP_FRONT_BODY_H

#include "http/request.h"

/* Of a body that is too large: read on so far, to say so. */
#define BODY_THROWN_MAX ((uint64_t)8 << 20)

/* Room for so many bytes in all. false: all bodies together are as large as they may be, or there is no memory. */
TB_MUST_USE bool body_grow(request *r, size_t need);
/* Lets go of it; wipes one that holds a secret. */
void body_drop(request *r);

#endif
