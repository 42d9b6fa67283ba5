/* The answer to an invalid request, written directly to the socket in one packet. */
#ifndef TOLLBOOK_SERVER_HTTP_FRONT_REFUSAL_H
#define TOLLBOOK_SERVER_HTTP_FRONT_REFUSAL_H

#include "tollbook/error.h"

struct tls;

/* why: a sentence, or NULL for the code's own. session: the connection's, which this ends, or NULL. The connection is
 * to be closed after it. */
void refusal_send(int fd, struct tls *session, tb_code code, const char *why);

#endif
