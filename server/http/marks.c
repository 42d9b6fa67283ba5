#include "http/marks.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "http/new_file.h"
#include "tollbook/calendar.h"

#define MOMENT 20 /* 2026-11-04T09:00:00Z */

static const char *const suffixes[MARK_COUNT] = {
#define TB_X(e, suffix, metric, help) [MARK_##e] = suffix,
    MARKS(TB_X)
#undef TB_X
};

/* The path of a file beside the database itself, whatever path led to it. */
static bool path_of(const char *db, const char *suffix, char out[PATH_MAX])
{
    char real[PATH_MAX];
    if (!realpath(db, real)) return false;
    const int n = snprintf(out, PATH_MAX, "%s%s", real, suffix);
    return n > 0 && n < PATH_MAX;
}

/* Anyone may read it: the server need not run as the user who makes backups. A file that root writes is given to the
 * database's owner, if possible. */
static bool write_mark_text(new_file *f, const char *db, const char *text, size_t len)
{
    struct stat st;
    if (geteuid() == 0 && (stat(db, &st) != 0 || fchown(f->fd, st.st_uid, st.st_gid) != 0))
        errno = 0;
    return fchmod(f->fd, 0644) == 0 && new_file_write(f, text, len);
}

tb_code mark_set(const char *db, mark_kind which, int64_t now_us, tb_error *err)
{
    char path[PATH_MAX], text[MOMENT + 1];
    new_file f;
    tb_time_format(now_us, text);
    text[MOMENT] = '\n';
    if (!path_of(db, ".lock", path) || access(path, F_OK) != 0) return TB_OK;
    if (!path_of(db, suffixes[which], path)) return TB_OK;
    if (new_file_open(&f, AT_FDCWD, path, 0600) && new_file_end(&f, write_mark_text(&f, db, text, sizeof text)))
        return TB_OK;
    return tb_fail(err, TB_E_IO, NULL, "%s cannot be written: %s.", path, strerror(errno));
}

/* Returns how many bytes there are, at most `most`. */
static size_t read_mark_text(const char *db, const char *suffix, char *text, size_t most)
{
    char path[PATH_MAX];
    if (!path_of(db, suffix, path)) return 0;
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    if (fd < 0) return 0;
    const ssize_t n = read(fd, text, most);
    close(fd);
    return n > 0 ? (size_t)n : 0;
}

bool mark_read(const char *db, mark_kind which, int64_t *ret_us)
{
    char text[MOMENT];
    return read_mark_text(db, suffixes[which], text, sizeof text) == sizeof text && tb_rfc3339_parse(text, sizeof text, ret_us, NULL) == TB_OK;
}

/* --- copies --- */

#define COPY_SUFFIX ".copy-epoch"

tb_code mark_copy(const char *db, int64_t epoch, tb_error *err)
{
    char path[PATH_MAX], text[24];
    new_file f;
    const int n = snprintf(text, sizeof text, "%" PRId64 "\n", epoch);
    if (path_of(db, COPY_SUFFIX, path) && new_file_open(&f, AT_FDCWD, path, 0600) &&
        new_file_end(&f, write_mark_text(&f, db, text, (size_t)n) && fsync(f.fd) == 0))
        return TB_OK;
    return tb_fail(err, errno == ENOSPC || errno == EDQUOT ? TB_E_DISK_FULL : TB_E_IO, NULL, "%.400s" COPY_SUFFIX " cannot be written: %s.", db,
                   strerror(errno));
}

int64_t mark_copy_epoch(const char *db)
{
    char text[24];
    const size_t n = read_mark_text(db, COPY_SUFFIX, text, sizeof text - 1);
    text[n] = 0;
    return strtoll(text, NULL, 10);
}

void mark_copy_end(const char *db)
{
    char path[PATH_MAX];
    if (path_of(db, COPY_SUFFIX, path)) unlink(path);
}
