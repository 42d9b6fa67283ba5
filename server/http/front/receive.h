/* Replaces recv() for libmicrohttpd: the program's own function of that name is found before the C library's. On a
 * worker's thread, and for a socket that is a connection, it returns only bytes that the framing passes; other sockets
 * are read directly. send(), sendmsg() and shutdown() are replaced for connections with TLS, in the same way.
 *
 * The library uses edge-triggered polling and takes a short read for "the kernel has no more". So a read is short only
 * if that is true, or if a head is incomplete and more has to come anyway. */
#ifndef TOLLBOOK_SERVER_HTTP_FRONT_RECEIVE_H
#define TOLLBOOK_SERVER_HTTP_FRONT_RECEIVE_H

#include "http/front/conns.h"

/* From now on this thread reads for these connections. */
void receive_for(conns *c);

/* Reads what the client has sent, decrypted, as recv() without waiting. */
ssize_t conn_receive(conn *k, void *to, size_t len);

#endif
