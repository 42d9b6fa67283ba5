/* Messages of operations that the server runs by itself, on standard error. */
#ifndef TOLLBOOK_SERVER_API_SAID_H
#define TOLLBOOK_SERVER_API_SAID_H

#include "tollbook/buf.h"

/* Prints the first 20 of an operation's lines that are not among those in `before`, which may be NULL. */
void api_say(const char *operation, const tb_buf *lines, const tb_buf *before);

#endif
