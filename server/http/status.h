/* The status line of the server, for SIGUSR1. */
#ifndef TOLLBOOK_SERVER_HTTP_STATUS_H
#define TOLLBOOK_SERVER_HTTP_STATUS_H

#include "http/server.h"

/* Appends name=value pairs with a space between, without a line end; an unknown value is "-". Any
 * thread, between server_start and server_stop. */
void status_put(server *s, tb_buf *out);

#endif
