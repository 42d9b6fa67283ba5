/* What operations say that the server does by itself: for the operator, on standard error. */
#ifndef TOLLBOOK_SERVER_API_SAID_H
#define TOLLBOOK_SERVER_API_SAID_H

#include "tollbook/buf.h"

/* Lines that the operation of this name said and that are not among those before, 20 of them. before: NULL: all. */
void api_say(const char *operation, const tb_buf *lines, const tb_buf *before);

#endif
