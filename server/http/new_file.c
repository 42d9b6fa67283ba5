#include "http/new_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

bool new_file_open(new_file *f, int folder, const char *path, mode_t mode)
{
    const int how = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
    f->folder = folder;
    f->path = path;
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    const int n = snprintf(f->part, sizeof f->part, "%.*s.%s.%ld.part", (int)(name - path), path, name, (long)getpid());
    if (!*name || n <= 0 || (size_t)n >= sizeof f->part) {
        errno = *name ? ENAMETOOLONG : EISDIR;
        return false;
    }
    f->fd = openat(folder, f->part, how, mode);
    if (f->fd < 0 && errno == EEXIST && unlinkat(folder, f->part, 0) == 0)
        f->fd = openat(folder, f->part, how, mode);
    return f->fd >= 0;
}

bool new_file_write(new_file *f, const char *data, size_t len)
{
    while (len) {
        const ssize_t n = write(f->fd, data, len);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return false;
        data += n;
        len -= (size_t)n;
    }
    return true;
}

bool new_file_end(new_file *f, bool ok)
{
    int why = errno;
    if (close(f->fd) != 0 && ok) {
        why = errno;
        ok = false;
    }
    if (ok && renameat(f->folder, f->part, f->folder, f->path) == 0) return true;
    if (ok) why = errno;
    unlinkat(f->folder, f->part, 0);
    errno = why;
    return false;
}

bool new_file_put(int folder, const char *path, mode_t mode, const char *data, size_t len)
{
    new_file f;
    return new_file_open(&f, folder, path, mode) && new_file_end(&f, new_file_write(&f, data, len));
}

long new_file_owner(const char *name)
{
    const size_t len = strlen(name);
    const char *end = name + len - (len > 5 ? 5 : 0);
    if (*name != '.' || strcmp(end, ".part") != 0) return 0;
    const char *at = end;
    long owner = 0, place = 1;
    for (; at > name && end - at < 9 && at[-1] >= '0' && at[-1] <= '9'; at--, place *= 10)
        owner += (at[-1] - '0') * place;
    return at > name && at[-1] == '.' ? owner : 0;
}
