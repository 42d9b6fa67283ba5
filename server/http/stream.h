/* Answers too long for memory: made piece by piece while they are sent, on the worker's thread, or on one of the job
 * pool if a piece needs a usage server, and compressed if the client takes gzip. A client that reads too slowly meets
 * its deadline (conn_piece). */
#ifndef TOLLBOOK_SERVER_HTTP_STREAM_H
#define TOLLBOOK_SERVER_HTTP_STREAM_H

#include "http/request.h"

#define STREAM_PIECE   ((size_t)256 << 10) /* size of a piece, about */
#define STREAM_BUF_MAX ((size_t)64 << 20)  /* most bytes of one */

struct MHD_Response;

/* Takes over reply.source, makes its first piece and the response object. The caller answers a failure of that. zipped:
 * send it as gzip. */
TB_MUST_USE tb_code stream_response(request *r, bool zipped, struct MHD_Response **ret_response,
                                    tb_error *err);

/* Makes the next piece, on any thread, but one at a time. */
TB_MUST_USE tb_code stream_fill(struct stream *s, tb_error *err);

#endif
