/* zlib's compressor is reset for each answer, not allocated again: making one costs 256 KiB of memory
 * set to zero. The level is the fastest: these answers are digits and repeated timestamps, where
 * higher levels cost several times the time for little. */
#include "http/gzip.h"

#include <stdlib.h>
#include <zlib.h>

#define LEVEL 1
#define HELD_BACK_MAX 64 /* bytes that a flush adds */
#define WINDOW (15 + 16) /* 16: a gzip wrapper instead of zlib's */

struct gzip {
    z_stream stream;
};

gzip *gzip_new(void)
{
    gzip *gz = calloc(1, sizeof *gz);
    if (!gz) return NULL;
    if (deflateInit2(&gz->stream, LEVEL, Z_DEFLATED, WINDOW, 8, Z_DEFAULT_STRATEGY) == Z_OK)
        return gz;
    free(gz);
    return NULL;
}

void gzip_free(gzip *gz)
{
    if (!gz) return;
    deflateEnd(&gz->stream);
    free(gz);
}

/* The compressor is ready for another form after each end, and after each failure. */
static tb_code fail(gzip *gz, tb_error *err)
{
    deflateReset(&gz->stream);
    return tb_fail(err, TB_E_INTERNAL, NULL, NULL);
}

tb_code gzip_more(gzip *gz, const void *bytes, size_t len, bool last, tb_buf *out, tb_error *err)
{
    z_stream *z = &gz->stream;
    if (len > UINT32_MAX / 2) return fail(gz, err);
    size_t bound = deflateBound(z, (uLong)len) + HELD_BACK_MAX;
    char *at = tb_buf_room(out, bound);
    if (!at) {
        deflateReset(z);
        return tb_buf_check(out, err);
    }
    z->next_in = (z_const Bytef *)(uintptr_t)bytes;
    z->avail_in = (uInt)len;
    z->next_out = (Bytef *)at;
    z->avail_out = (uInt)bound;
    int ended = deflate(z, last ? Z_FINISH : Z_SYNC_FLUSH);
    if (ended != (last ? Z_STREAM_END : Z_OK) && !(ended == Z_BUF_ERROR && !last))
        return fail(gz, err);
    out->len += bound - z->avail_out;
    return last && deflateReset(z) != Z_OK ? fail(gz, err) : TB_OK;
}

tb_code gzip_encode(gzip *gz, const void *bytes, size_t len, tb_buf *out, tb_error *err)
{
    return gzip_more(gz, bytes, len, true, out, err);
}

tb_code gzip_decode(const void *bytes, size_t len, size_t plain_len, tb_buf *out, tb_error *err)
{
    z_stream stream = {0};
    char *at = tb_buf_room(out, plain_len);
    if (!at || inflateInit2(&stream, WINDOW) != Z_OK) return tb_no_memory(err);
    stream.next_in = (Bytef *)(uintptr_t)bytes;
    stream.avail_in = (uInt)len;
    stream.next_out = (Bytef *)at;
    stream.avail_out = (uInt)plain_len;
    const bool whole = inflate(&stream, Z_FINISH) == Z_STREAM_END && stream.total_out == plain_len;
    inflateEnd(&stream);
    if (!whole) return tb_fail(err, TB_E_INTERNAL, NULL, "These bytes are not what gzip made of %zu.", plain_len);
    out->len += plain_len;
    return TB_OK;
}
