#include "cli/folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "http/new_file.h"
#include "tollbook/issue.h"

static tb_code folder_fail(const folder *f, const char *name, const char *what, tb_error *err)
{
    const tb_code code = errno == ENOSPC || errno == EDQUOT ? TB_E_DISK_FULL : TB_E_IO;
    return tb_fail(err, code, NULL, "%s%s%s: %s: %s.", f->path, name ? "/" : "", name ? name : "",
                   what, strerror(errno));
}

/* Removes the partial file of a run that was killed. */
static void clean_up(const folder *f)
{
    DIR *all = fdopendir(openat(f->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    const struct dirent *one;
    while (all && (one = readdir(all)) != NULL) {
        const long owner = new_file_owner(one->d_name);
        if (owner > 0 && kill((pid_t)owner, 0) && errno == ESRCH) unlinkat(f->fd, one->d_name, 0);
    }
    if (all) closedir(all);
}

tb_code folder_open(folder *f, const char *path, tb_error *err)
{
    *f = (folder){path, -1};
    if (mkdir(path, 0777) && errno != EEXIST) return folder_fail(f, NULL, "The folder cannot be made", err);
    f->fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (f->fd < 0) return folder_fail(f, NULL, "The folder cannot be opened", err);
    clean_up(f);
    return TB_OK;
}

tb_code folder_close(folder *f, tb_error *err)
{
    tb_code code = TB_OK;
    if (f->fd < 0) return TB_OK;
    if (fsync(f->fd) && errno != EINVAL) code = folder_fail(f, NULL, "It cannot be written to disk", err);
    close(f->fd);
    f->fd = -1;
    return code;
}

static bool has_mark(const folder *f, const char *name, const char *mark)
{
    char head[TB_SHOWN_MARK_WITHIN + 1];
    int fd = openat(f->fd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) return false;
    const ssize_t n = read(fd, head, sizeof head - 1);
    close(fd);
    return n > 0 && memmem(head, (size_t)n, mark, strlen(mark)) != NULL;
}

bool folder_has(const folder *f, const char *name, const char *mark)
{
    struct stat st;
    return fstatat(f->fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode) && st.st_size > 0 &&
           (!*mark || has_mark(f, name, mark));
}

/* Whether the file holds these bytes already. */
static bool is_same(const folder *f, const char *name, const char *data, size_t len)
{
    char part[16384];
    struct stat st;
    ssize_t n = 0;
    size_t at = 0;
    int fd = openat(f->fd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) return false;
    bool same = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && (size_t)st.st_size == len;
    while (same && at < len && (n = read(fd, part, sizeof part)) > 0) {
        same = (size_t)n <= len - at && memcmp(part, data + at, (size_t)n) == 0;
        at += (size_t)n;
    }
    close(fd);
    return same && at == len;
}

tb_code folder_put(folder *f, const char *name, const char *data, size_t len, tb_error *err)
{
    new_file file;
    if (!*name || *name == '.' || strchr(name, '/') || strlen(name) > 250)
        return tb_fail(err, TB_E_BAD_INPUT, NULL, "\"%.60s\" is no name of a file.", name);
    if (is_same(f, name, data, len)) return TB_OK;
    if (!new_file_open(&file, f->fd, name, 0666)) return folder_fail(f, name, "It cannot be made", err);
    const bool written = new_file_write(&file, data, len) && fsync(file.fd) == 0;
    return new_file_end(&file, written) ? TB_OK : folder_fail(f, name, "It cannot be written", err);
}
