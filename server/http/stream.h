/* Answers too long for memory: made piece by piece while they are sent, on the worker's thread, or one of the job pool where it asks usage servers,
 * gzipped on the way where the client takes it. A client that stops reading, or takes less than a
 * line that is slow would, meets its deadline (conn_piece). */
#ifndef TOLLBOOK_SERVER_HTTP_STREAM_H
#define TOLLBOOK_SERVER_HTTP_STREAM_H

#include "http/request.h"

#define STREAM_PIECE   ((size_t)256 << 10) /* bytes that a piece should have, roughly */
#define STREAM_BUF_MAX ((size_t)64 << 20)  /* most that one may have */

struct MHD_Response;

/* The response object for reply.source, which it takes over, with the first piece made: what that
 * fails by is the caller's to answer. zipped: send it as gzip. */
TB_MUST_USE tb_code stream_response(request *r, bool zipped, struct MHD_Response **ret_response,
                                    tb_error *err);

/* Makes the next piece, on whatever thread this is, while nobody else is at it. */
TB_MUST_USE tb_code stream_fill(struct stream *s, tb_error *err);

#endif
