/* Answers that are longer than memory should hold: made piece by piece while they are sent, on the
 * worker's thread, gzipped on the way where the client takes it. A client that stops reading, or
 * takes less than a line that is slow would, meets its deadline (conns_piece). */
#ifndef TOLLBOOK_SERVER_HTTP_STREAM_H
#define TOLLBOOK_SERVER_HTTP_STREAM_H

#include "http/request.h"

#define STREAM_PIECE   ((size_t)256 << 10) /* bytes that a piece should have, roughly */
#define STREAM_BUF_MAX ((size_t)64 << 20)  /* most that one may have */

struct MHD_Response;

/* The response object for reply.source, which it takes over; NULL when out of memory. zipped: send
 * it as gzip. */
struct MHD_Response *stream_response(request *r, bool zipped);

#endif
