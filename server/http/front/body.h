/* A request's body, as it is held until the handler has seen it, and the body receiver.
 *
 * A body of at most FRAMING_LARGE_BODY bytes, or of chunks, comes through the library to the handler's callback. Longer ones
 * would hold up a worker's answers: each of its turns moves 20 KiB, and a batch of lines has a hundred of these. So one
 * thread, the receiver, reads all of them, each straight to where it stays, and gives way to the workers (behind.h).
 *
 * The way of a large body: its worker suspends the connection and calls body_receive; the receiver reads from the socket;
 * `over` is called once, on the receiver's thread, when the body is whole, has outgrown what all bodies may hold
 * (request.over), or the client has ended (LARGE_BODY_BROKEN). Between the two the request, and what its connection
 * reads, belong to the receiver. A body that nothing receives belongs to the worker's thread. */
#ifndef TOLLBOOK_SERVER_HTTP_FRONT_BODY_H
#define TOLLBOOK_SERVER_HTTP_FRONT_BODY_H

#include "http/request.h"

/* Of a body that is too large: read on so far, to say so. */
#define BODY_DISCARD_MAX ((uint64_t)8 << 20)

/* Room for so many bytes more. false: all bodies together are as large as they may be, or there is no memory. Then the body
 * is dropped, and what comes is to be discarded (request.over). */
TB_MUST_USE bool body_make_room(request *r, size_t more);
/* So many bytes have come, which stand behind the body, or were discarded. Its deadline moves with them, so that a large
 * body gets its time and a drip does not. false: more than BODY_DISCARD_MAX were discarded. */
bool body_count(request *r, size_t n, bool kept);
/* Frees it; wipes one that holds a secret. */
void body_drop(request *r);

typedef struct body_receiver body_receiver;

/* NULL: no thread, no memory or no descriptors. */
body_receiver *body_receiver_start(void (*over)(request *r));
/* A request with a large body. false: the receiver is stopping, or there is no memory; over is not called. */
TB_MUST_USE bool body_receive(body_receiver *b, request *r);
/* Breaks off the bodies that are under way, then ends the thread. NULL is fine. */
void body_receiver_stop(body_receiver *b);
void body_receiver_free(body_receiver *b); /* after body_receiver_stop; NULL is fine */

#endif
