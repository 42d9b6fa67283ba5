#include "checker/files.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#define CHUNK ((size_t)1 << 20)

static tb_code fail_read(const char *path, tb_error *err)
{
    const int why = errno;
    return tb_fail(err, why == ENOENT ? TB_E_NOT_FOUND : TB_E_IO, NULL, "%.200s cannot be read: %s.", path, strerror(why));
}

static tb_code fail_size(const char *path, const tb_buf *out, tb_error *err)
{
    return tb_fail(err, TB_E_TOO_LARGE, NULL, "%.200s has more than %zu bytes, or memory does not suffice.", path, out->max);
}

/* --- gzip --- */

/* Expands what is left of the stream. Z_STREAM_END: all of it. */
static int expand(z_stream *z, tb_buf *out)
{
    int status = Z_OK;
    while (status == Z_OK) {
        const size_t left = out->max - out->len, room = left < CHUNK ? left : CHUNK;
        char *to = room ? tb_buf_room(out, room) : NULL;
        if (!to) return Z_MEM_ERROR;
        z->next_out = (Bytef *)to;
        z->avail_out = (uInt)room;
        status = inflate(z, Z_NO_FLUSH);
        out->len += room - z->avail_out;
    }
    return status;
}

static tb_code expand_all(const char *path, const tb_buf *packed, tb_buf *out, tb_error *err)
{
    z_stream z = {.next_in = (Bytef *)packed->data, .avail_in = (uInt)packed->len};
    if (packed->len > UINT_MAX) return fail_size(path, packed, err);
    if (inflateInit2(&z, 15 + 16) != Z_OK) return tb_no_memory(err);
    const int status = expand(&z, out);
    const bool whole = z.avail_in == 0;
    inflateEnd(&z);
    if (status == Z_MEM_ERROR) return fail_size(path, out, err);
    if (status != Z_STREAM_END || !whole) return tb_fail(err, TB_E_VALIDATION, NULL, "The file is incomplete or was changed: fetch it again. (%.200s: gzip cannot expand it)", path);
    return TB_OK;
}

/* --- reading --- */

static tb_code read_stream(FILE *f, const char *path, tb_buf *out, tb_error *err)
{
    static char chunk[1 << 16];
    size_t n;
    while (!out->failed && (n = fread(chunk, 1, sizeof chunk, f)))
        tb_buf_add(out, chunk, n);
    if (out->failed) return fail_size(path, out, err);
    return ferror(f) ? fail_read(path, err) : TB_OK;
}

static bool is_packed(const tb_buf *file)
{
    return file->len >= 2 && memcmp(file->data, "\x1f\x8b", 2) == 0;
}

tb_code checker_read(const char *path, tb_buf *out, tb_error *err)
{
    tb_buf file;
    FILE *f = strcmp(path, "-") == 0 ? stdin : fopen(path, "rbe");
    if (!f) return fail_read(path, err);
    tb_buf_init(&file, out->max, NULL);
    tb_code code = read_stream(f, path, &file, err);
    if (f != stdin) fclose(f);
    if (!code && is_packed(&file)) code = expand_all(path, &file, out, err);
    else if (!code) {
        tb_buf_release(out);
        *out = file;
        return TB_OK;
    }
    tb_buf_release(&file);
    return code;
}

/* --- tiles --- */

/* The hashes of the file, if it is there and has that many. */
static bool read_tile_file(const char *folder, const tb_tile *tile, tb_merkle_hash *hashes)
{
    char name[TB_TILE_PATH], path[PATH_MAX];
    tb_tile_path(tile, name);
    if ((size_t)snprintf(path, sizeof path, "%s/%s", folder, name) >= sizeof path) return false;
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* the folder may be a stranger's: nobody waits for a pipe */
    if (fd < 0) return false;
    const size_t len = (size_t)tile->width * sizeof *hashes;
    const bool whole = read(fd, hashes, len) == (ssize_t)len;
    close(fd);
    return whole;
}

/* A wider tile begins with the same hashes. */
static tb_code read_tile(void *ctx, const tb_tile *tile, tb_merkle_hash *hashes, tb_error *err)
{
    char name[TB_TILE_PATH];
    for (tb_tile any = *tile; any.width <= TB_TILE_WIDTH; any.width++)
        if (read_tile_file(ctx, &any, hashes)) return TB_OK;
    tb_tile_path(tile, name);
    return tb_fail(err, TB_E_NOT_FOUND, NULL, "there is no %s in %.200s.", name, (const char *)ctx);
}

tb_tile_reader checker_tiles(const char *folder)
{
    return (tb_tile_reader){.read = read_tile, .ctx = (void *)(uintptr_t)folder};
}
