/* Between a socket and libmicrohttpd: its calls of recv() come here, because the program's own function
 * of that name is found before the C library's. On a worker's thread, and for a socket that is a
 * connection, only what the framing lets pass comes through; all others go straight to the system.
 *
 * The library polls edge by edge and takes a short read for "the kernel has no more": so a read is
 * short only where that is true, or where a head is not whole and more has to come anyway. */
#ifndef TOLLBOOK_SERVER_HTTP_FRONT_RECEIVE_H
#define TOLLBOOK_SERVER_HTTP_FRONT_RECEIVE_H

#include "http/front/conns.h"

struct MHD_Connection;

/* This thread reads for these connections from now on. */
void receive_for(conns *c);
/* The head that the library has just read: fills in version, headers, the body's framing and, where it was refused, why.
 * h is empty but for what the caller knows. */
void receive_head(conn *k, struct MHD_Connection *mhd, const char *version, head *h);
/* The answer that is sent now is the connection's last: nothing more is passed on, nor answered. */
void receive_end(conn *k);
/* A request of the connection has been answered: a refusal that waited for this answer is sent. */
void receive_answered(conn *k);

#endif
