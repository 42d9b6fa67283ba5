/* All routes, one row each. */
#ifndef TOLLBOOK_SERVER_API_ROUTES_H
#define TOLLBOOK_SERVER_API_ROUTES_H

#include "http/router.h"

extern const route api_routes[];
extern const size_t api_n_routes;
#define API_CONSOLE_ROUTES 8 /* the last rows: the console's */

/* Once, before any thread: seeds jansson's hash tables. */
void api_start(void);

#endif
