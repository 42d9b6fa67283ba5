/* Uploads: what receives the long bodies (FRAMING_LARGE_BODY). A worker that received them would hold up its answers: each
 * of its turns moves 20 KiB, and a body of a shipper's batch has a hundred of these. Here one thread receives all of them,
 * each straight to where it stays, and gives way to who answers (behind.h).
 *
 * A connection's way: its worker suspends it and gives the request to uploads_take; `over` is called once, on the thread
 * of the uploads, when the body is whole, has outgrown what all bodies may hold (request.over), or the client has ended
 * (APART_BROKEN). Between the two the request, and what its connection reads, belong to the uploads. */
#ifndef TOLLBOOK_SERVER_HTTP_FRONT_UPLOADS_H
#define TOLLBOOK_SERVER_HTTP_FRONT_UPLOADS_H

#include "http/request.h"

typedef struct uploads uploads;

/* NULL: no thread, no memory or no descriptors. */
uploads *uploads_start(void (*over)(request *r));
/* A request whose body comes apart. false: they are stopping, or there is no memory; over is not called. */
TB_MUST_USE bool uploads_take(uploads *u, request *r);
/* Those that are under way are broken off; then the thread ends. NULL is fine. */
void uploads_stop(uploads *u);
void uploads_free(uploads *u); /* after uploads_stop; NULL is fine */

#endif
