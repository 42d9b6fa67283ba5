/* Sends the reply that the answering calls of request.h set. */
#ifndef TOLLBOOK_SERVER_HTTP_REPLY_H
#define TOLLBOOK_SERVER_HTTP_REPLY_H

#include "http/request.h"

#define REPLY_JSON "application/json"
#define REPLY_GZIP_MIN 1024 /* smaller bodies are not compressed, bytes */

/* Queues the answer. false: it could not be made, the connection must be closed. */
bool reply_send(request *r);

#endif
