/* A mark gets its name last, by a rename, so whoever reads it finds it whole, whoever wrote it
 * before. */
#include "http/marks.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tollbook/calendar.h"

#define MOMENT 20 /* 2026-11-04T09:00:00Z */

static const char *const suffixes[MARK_COUNT] = {
#define TB_X(e, suffix, metric, help) [MARK_##e] = suffix,
    MARKS(TB_X)
#undef TB_X
};

/* Beside the file itself, whatever path led to it. */
static bool path_of(const char *db, const char *suffix, char out[PATH_MAX])
{
    char real[PATH_MAX];
    if (!realpath(db, real)) return false;
    const int n = snprintf(out, PATH_MAX, "%s%s", real, suffix);
    return n > 0 && n < PATH_MAX;
}

static bool is_written(const char *db)
{
    char lock[PATH_MAX];
    return path_of(db, ".lock", lock) && access(lock, F_OK) == 0;
}

/* Everybody may read it: the server need not run as the user who makes backups. */
static bool write_moment(int fd, int64_t now_us)
{
    char text[MOMENT + 1];
    tb_time_format(now_us, text);
    text[MOMENT] = '\n';
    return fchmod(fd, 0644) == 0 && write(fd, text, sizeof text) == (ssize_t)sizeof text;
}

tb_code mark_set(const char *db, mark_kind which, int64_t now_us, tb_error *err)
{
    char path[PATH_MAX], part[PATH_MAX];
    if (!is_written(db) || !path_of(db, suffixes[which], path)) return TB_OK;
    const int n = snprintf(part, sizeof part, "%s.XXXXXX", path);
    const int fd = n > 0 && (size_t)n < sizeof part ? mkostemp(part, O_CLOEXEC) : -1;
    bool good = fd >= 0 && write_moment(fd, now_us);
    if (fd >= 0) good &= close(fd) == 0;
    if (good && rename(part, path) == 0) return TB_OK;
    const int why = errno;
    if (fd >= 0) unlink(part);
    return tb_fail(err, TB_E_IO, NULL, "%s cannot be written: %s.", path, strerror(why));
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
