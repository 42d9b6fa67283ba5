/* A request's body, as it is held until the handler has seen it, and the body receiver.
 *
 * A body of at most FRAMING_LARGE_BODY bytes, or of chunks, comes through the library to the handler's callback. Longer
 * ones would block a worker: each of its turns moves 20 KiB, and a batch of lines takes a hundred of these. So one
 * thread, the receiver, reads all of them, each directly into its buffer, at a lower priority (jobs/background.h).
 *
 * For a large body the worker suspends the connection and calls body_receive; the receiver reads from the socket;
 * `over` is called once, on the receiver's thread, when the body is whole, has outgrown the limit of all bodies
 * (request.over), or the client has closed the connection (LARGE_BODY_BROKEN). In between the request, and reading from
 * its connection, belong to the receiver. At other times the body belongs to the worker's thread. */
#ifndef TOLLBOOK_SERVER_HTTP_FRONT_BODY_H
#define TOLLBOOK_SERVER_HTTP_FRONT_BODY_H

#include "http/request.h"

/* Bytes of a too large body that are discarded, so that the client reads the answer. */
#define BODY_DISCARD_MAX ((uint64_t)8 << 20)

/* Makes room for more bytes. false: all bodies together have reached their limit, or there is no memory. Then the body
 * is dropped, and the rest is to be discarded (request.over). */
TB_MUST_USE bool body_make_room(request *r, size_t more);
/* Counts n bytes that were appended to the body, or discarded. Its deadline moves with them, so that a large body has
 * its time and a trickle has not. false: more than BODY_DISCARD_MAX were discarded. */
bool body_count(request *r, size_t n, bool kept);
/* Frees the body; wipes one that holds a secret. */
void body_drop(request *r);

typedef struct body_receiver body_receiver;

/* NULL: no thread, no memory or no descriptors. */
body_receiver *body_receiver_start(void (*over)(request *r));
/* Takes over a request with a large body. false: the receiver is stopping, or there is no memory; over is not
 * called. */
TB_MUST_USE bool body_receive(body_receiver *b, request *r);
/* Aborts the bodies being received, then ends the thread. NULL is fine. */
void body_receiver_stop(body_receiver *b);
void body_receiver_free(body_receiver *b); /* after body_receiver_stop; NULL is fine */

#endif
