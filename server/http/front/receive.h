/* Between a socket and libmicrohttpd: its calls of recv() come here, because the program's own function
 * of that name is found before the C library's. On a worker's thread, and for a socket that is a
 * connection, only what the framing lets pass comes through; all others go straight to the system.
 *
 * The library polls edge by edge and takes a short read for "the kernel has no more": so a read is
 * short only where that is true, or where a head is not whole and more has to come anyway. */
#ifndef TOLLBOOK_SERVER_HTTP_FRONT_RECEIVE_H
#define TOLLBOOK_SERVER_HTTP_FRONT_RECEIVE_H

#include "http/front/conns.h"

/* This thread reads for these connections from now on. */
void receive_for(conns *c);

#endif
