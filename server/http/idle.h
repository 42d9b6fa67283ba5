/* What an event loop does before it waits. libmicrohttpd's calls of epoll_wait() come here, because the program's own
 * function of that name is found before the C library's (as recv(), receive.h).
 *
 * A round of a loop answers all connections that have something to say. A snapshot stays open between two of these
 * answers and ends with the round: no thread waits with one, which would keep the WAL from being emptied. On a thread
 * that was never seen to wait here it ends at once. */
#ifndef TOLLBOOK_SERVER_HTTP_IDLE_H
#define TOLLBOOK_SERVER_HTTP_IDLE_H

#include "tollbook/store.h"

/* Ends the snapshot, on the thread of an event loop before it waits next. Until then tb_store_read_again takes it up;
 * the reader is used for nothing else, and is always the same one on that thread. */
void idle_read_end(tb_store *store);

#endif
