/* All routes, one row each. */
#ifndef TOLLBOOK_SERVER_API_ROUTES_H
#define TOLLBOOK_SERVER_API_ROUTES_H

#include "http/router.h"

extern const route api_routes[];
extern const size_t api_n_routes;
#define API_CONSOLE_ROUTES 8 /* rows of the console, the last ones */

/* Once, before any thread: initialises jansson and libcurl. */
void api_start(void);

#endif
