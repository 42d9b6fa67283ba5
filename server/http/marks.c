#include "http/marks.h"

#include <errno.h>
#include <fcntl.h>
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
static bool write_mark(new_file *f, const char *db, int64_t now_us)
{
    char text[MOMENT + 1];
    struct stat st;
    tb_time_format(now_us, text);
    text[MOMENT] = '\n';
    if (geteuid() == 0 && (stat(db, &st) != 0 || fchown(f->fd, st.st_uid, st.st_gid) != 0))
        errno = 0;
    return fchmod(f->fd, 0644) == 0 && new_file_write(f, text, sizeof text);
}

tb_code mark_set(const char *db, mark_kind which, int64_t now_us, tb_error *err)
{
    char path[PATH_MAX];
    new_file f;
    if (!path_of(db, ".lock", path) || access(path, F_OK) != 0) return TB_OK;
    if (!path_of(db, suffixes[which], path)) return TB_OK;
    if (new_file_open(&f, AT_FDCWD, path, 0600) && new_file_end(&f, write_mark(&f, db, now_us)))
        return TB_OK;
    return tb_fail(err, TB_E_IO, NULL, "%s cannot be written: %s.", path, strerror(errno));
}

bool mark_read(const char *db, mark_kind which, int64_t *ret_us)
{
    char path[PATH_MAX], text[MOMENT];
    if (!path_of(db, suffixes[which], path)) return false;
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    if (fd < 0) return false;
    const bool whole = read(fd, text, sizeof text) == (ssize_t)sizeof text;
    close(fd);
    return whole && tb_rfc3339_parse(text, sizeof text, ret_us, NULL) == TB_OK;
}
