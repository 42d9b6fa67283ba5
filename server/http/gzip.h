/* gzip of one answer, by a compressor that a worker keeps. One thread each. */
#ifndef TOLLBOOK_SERVER_HTTP_GZIP_H
#define TOLLBOOK_SERVER_HTTP_GZIP_H

#include "tollbook/buf.h"

typedef struct gzip gzip;

gzip *gzip_new(void); /* NULL when out of memory */
void gzip_free(gzip *gz);
/* Appends the gzip form of the bytes to out. */
TB_MUST_USE tb_code gzip_encode(gzip *gz, const void *bytes, size_t len, tb_buf *out,
                                tb_error *err);
/* The same piece by piece: appends what has become ready. last ends the gzip form; the next call
 * begins a new one. */
TB_MUST_USE tb_code gzip_more(gzip *gz, const void *bytes, size_t len, bool last, tb_buf *out,
                              tb_error *err);
/* Appends the plain_len bytes that a gzip form was made of. */
TB_MUST_USE tb_code gzip_decode(const void *bytes, size_t len, size_t plain_len, tb_buf *out,
                                tb_error *err);

#endif
