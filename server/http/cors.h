/* Cross-origin requests: pages of the origins that the operator names may read answers, none by default. Keys are sent
 * in a header, never by the browser itself, so an origin gets nothing that its user's key does not open. */
#ifndef TOLLBOOK_SERVER_HTTP_CORS_H
#define TOLLBOOK_SERVER_HTTP_CORS_H

#include "http/request.h"

struct MHD_Response;

#define CORS_ORIGINS_MAX 16

/* "https://console.example", "http://localhost:5173": as browsers write it, in lower case. */
bool cors_origin_valid(const char *text);
/* Whether the answer depends on this request's Origin header, and so is not kept for others. */
bool cors_allowed(const request *r);
/* Whether it is a preflight request of an allowed origin. */
bool cors_is_preflight(const request *r);
/* Adds the headers of an answer of any status. */
bool cors_add(const request *r, struct MHD_Response *m);
/* The Vary header's value; NULL: none. */
const char *cors_vary(const request *r);

#endif
