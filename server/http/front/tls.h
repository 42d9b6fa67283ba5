/* TLS in front of the reading of requests (docs/design/tls.md). The functions here take the places of recv() and send()
 * for one connection, so the framing reads what was decrypted and libmicrohttpd knows nothing of TLS.
 *
 * Life of a session: tls_new (accept) -> tls_peek, until a whole head is decrypted (pending.c) -> tls_receive and
 * tls_send (the connection's worker, and the body receiver while the worker has suspended it) -> tls_end -> tls_free.
 * One thread at a time uses a session. The socket is the caller's.
 *
 * Nothing here waits: where recv() or send() would block, the result is -1 and errno EAGAIN. A result shorter than
 * asked for means that the socket has no more, or takes no more, as libmicrohttpd's edge-triggered polling needs it.
 *
 * Bounds: nothing is allocated before the client's first byte. Then a session has some 15 KiB, and HEAD_MAX bytes more
 * while a head is pending. A handshake message is at most TLS_MESSAGE_MAX bytes. A handshake has the deadline of the
 * first head. */
#ifndef TOLLBOOK_SERVER_HTTP_FRONT_TLS_H
#define TOLLBOOK_SERVER_HTTP_FRONT_TLS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "http/front/pair.h"

#define TLS_MESSAGE_MAX 16384 /* longest handshake message of a client, bytes */

struct iovec;

typedef struct tls tls;

/* The session of an accepted socket. NULL: out of memory. */
tls *tls_new(tls_pair *pair, int fd);
/* NULL is fine. Sends nothing. */
void tls_free(tls *t);

/* As recv() with MSG_PEEK: goes on with the handshake, then decrypts; `to` gets all that was decrypted and not received
 * yet, at most HEAD_MAX bytes, for which it has room. 0 or an errno other than EAGAIN: the connection is over. */
ssize_t tls_peek(tls *t, char *to);
/* The handshake failed. */
bool tls_has_failed(const tls *t);
/* It failed because the client's first bytes are plain HTTP; then the client can read an answer without TLS. */
bool tls_is_plain(const tls *t);

/* As recv(). 0: the client has ended its side, with a closure alert or without one. */
ssize_t tls_receive(tls *t, void *to, size_t len);
/* Bytes that were decrypted and not received yet. Polling the socket does not show them. */
size_t tls_decrypted(const tls *t);
/* As sendmsg(); of the flags MSG_MORE counts. After EAGAIN the same bytes are to be sent again. */
ssize_t tls_send(tls *t, const struct iovec *from, size_t n, int flags);
/* Sends the closure alert: what was sent is complete. Without it the client can tell that the answer was cut off. */
void tls_end(tls *t);

#endif
