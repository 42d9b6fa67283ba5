#include "cli/link_file.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static bool fits(int n)
{
    return n > 0 && n < LINK_FILE_PATH_MAX;
}

static bool write_page(const char *path, const char *link)
{
    const int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    FILE *out = fd < 0 ? NULL : fdopen(fd, "w");
    if (!out) {
        if (fd >= 0) close(fd);
        return false;
    }
    const bool ok = fprintf(out,
                            "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n"
                            "<meta name=\"referrer\" content=\"no-referrer\">\n"
                            "<meta http-equiv=\"refresh\" content=\"0; url=%s\">\n<title>tollbook</title>\n"
                            "<p><a href=\"%s\">Open the console</a>. This link works once.</p>\n</html>\n",
                            link, link) > 0;
    return (fclose(out) == 0) & ok;
}

static bool write_under(link_file *f, const char *base, const char *link)
{
    if (!base || base[0] != '/' || !fits(snprintf(f->folder, sizeof f->folder, "%s/tollbook-XXXXXX", base)) ||
        !mkdtemp(f->folder))
        return false;
    const bool ok = fits(snprintf(f->path, sizeof f->path, "%s/console.html", f->folder)) &&
                    write_page(f->path, link);
    atomic_store(&f->there, true);
    return ok || !link_file_remove(f);
}

bool link_file_write(link_file *f, const char *link)
{
    return write_under(f, getenv("XDG_RUNTIME_DIR"), link) || write_under(f, getenv("TMPDIR"), link) ||
           write_under(f, "/tmp", link);
}

bool link_file_remove(link_file *f)
{
    if (!atomic_exchange(&f->there, false)) return false;
    unlink(f->path);
    rmdir(f->folder);
    return true;
}
