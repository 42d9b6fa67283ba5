/* The file has no name from its first moment, so nothing is left of it however the process ends. */
#include "cli/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/columns.h"
#include "feed/source.h"
#include "http/gzip.h"
#include "http/new_file.h"

void spool_init(spool *s)
{
    tb_buf_init(&s->held, SIZE_MAX / 2, NULL);
    s->fd = -1;
}

void spool_release(spool *s)
{
    if (s->held.data) explicit_bzero(s->held.data, s->held.cap); /* it may be a key */
    tb_buf_release(&s->held);
    if (s->fd >= 0) close(s->fd);
    s->fd = -1;
}

static tb_code failed(tb_error *err)
{
    return tb_fail(err, errno == ENOSPC ? TB_E_DISK_FULL : TB_E_IO, NULL,
                   "A temporary copy of the output failed: %s. TMPDIR names where it is made.",
                   strerror(errno));
}

static tb_code open_file(spool *s, tb_error *err)
{
    const char *folder = getenv("TMPDIR");
    if (s->fd >= 0) return TB_OK;
    s->fd = open(folder && *folder ? folder : "/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    return s->fd < 0 ? failed(err) : TB_OK;
}

tb_code spool_take(spool *s, tb_buf *part, tb_error *err)
{
    tb_buf_add(&s->held, part->data, part->len);
    part->len = 0;
    tb_code code = tb_buf_check(&s->held, err);
    if (code || s->held.len <= SPOOL_MEMORY) return code;
    code = open_file(s, err);
    if (!code && !feed_write_all(s->fd, s->held.data, s->held.len)) code = failed(err);
    s->held.len = 0;
    return code;
}

void spool_align(spool *s)
{
    tb_buf columns;
    if (s->fd >= 0 || !s->held.len) return;
    tb_buf_init(&columns, SIZE_MAX / 2, NULL);
    columns_put(s->held.data, s->held.len, &columns);
    if (columns.failed) {
        tb_buf_release(&columns);
        return;
    }
    tb_buf_release(&s->held);
    s->held = columns;
}

/* Errors of standard output show in ferror. */
static tb_code copy_file(const spool *s, tb_error *err)
{
    char piece[1 << 16];
    ssize_t n;
    if (lseek(s->fd, 0, SEEK_SET) != 0) return failed(err);
    while ((n = read(s->fd, piece, sizeof piece)) != 0 && !ferror(stdout)) {
        if (n < 0 && errno != EINTR) return failed(err);
        if (n > 0) fwrite(piece, 1, (size_t)n, stdout);
    }
    return TB_OK;
}

int spool_print(spool *s, const cli_call *call)
{
    tb_error err;
    signal(SIGPIPE, SIG_IGN);
    if (s->fd >= 0 && copy_file(s, &err)) return cli_fail(call, NULL, &err);
    if (s->held.len && !ferror(stdout)) fwrite(s->held.data, 1, s->held.len, stdout);
    return cli_done(call);
}

/* --- into a file --- */

typedef struct saving {
    new_file file;
    gzip *gz; /* NULL: it is not compressed */
    tb_buf out;
} saving;

static tb_code save_piece(saving *to, const char *bytes, size_t len, bool last, tb_error *err)
{
    if (!to->gz) return new_file_write(&to->file, bytes, len) ? TB_OK : failed(err);
    to->out.len = 0;
    tb_code code = gzip_more(to->gz, bytes, len, last, &to->out, err);
    if (code) return code;
    return new_file_write(&to->file, to->out.data, to->out.len) ? TB_OK : failed(err);
}

/* The same pieces for the same text, so that the compressed file is the same too. */
static tb_code save_all(const spool *s, saving *to, tb_error *err)
{
    char piece[1 << 16];
    ssize_t n = 1;
    tb_code code = TB_OK;
    if (s->fd >= 0 && lseek(s->fd, 0, SEEK_SET) != 0) return failed(err);
    while (!code && s->fd >= 0 && (n = read(s->fd, piece, sizeof piece)) != 0) {
        if (n < 0 && errno != EINTR) return failed(err);
        if (n > 0) code = save_piece(to, piece, (size_t)n, false, err);
    }
    return code ? code : save_piece(to, s->held.len ? s->held.data : "", s->held.len, true, err);
}

int spool_save(spool *s, const cli_call *call, const char *path)
{
    const size_t len = strlen(path);
    const bool compressed = len > 3 && strcmp(path + len - 3, ".gz") == 0;
    saving to = {.gz = compressed ? gzip_new() : NULL};
    tb_error err;
    tb_code code = compressed && !to.gz ? tb_no_memory(&err) : TB_OK;
    if (!code && !new_file_open(&to.file, AT_FDCWD, path, 0666)) code = tb_fail(&err, TB_E_IO, NULL, "%s: It cannot be made: %s.", path, strerror(errno));
    if (code) {
        gzip_free(to.gz);
        return cli_fail(call, NULL, &err);
    }
    tb_buf_init(&to.out, SIZE_MAX / 2, NULL);
    code = save_all(s, &to, &err);
    if (!new_file_end(&to.file, !code && fsync(to.file.fd) == 0) && !code)
        code = tb_fail(&err, TB_E_IO, NULL, "%s: It cannot be written: %s.", path, strerror(errno));
    tb_buf_release(&to.out);
    gzip_free(to.gz);
    return code ? cli_fail(call, NULL, &err) : cli_done(call);
}
