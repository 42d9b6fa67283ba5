/* The callbacks that libmicrohttpd calls, for one worker's daemon. */
#ifndef TOLLBOOK_SERVER_HTTP_HANDLER_H
#define TOLLBOOK_SERVER_HTTP_HANDLER_H

#include <microhttpd.h>

#include "http/server.h"

/* Starts the worker's event loop. NULL: it does not start. */
struct MHD_Daemon *handler_start(worker *w);

/* The body receiver has finished with the request. Any thread. */
void handler_received(request *r);

#endif
