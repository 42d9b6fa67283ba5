#include "cli/systemd.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

void systemd_ready(void)
{
    const char *path = getenv("NOTIFY_SOCKET");
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    const size_t len = path ? strlen(path) : 0;
    if (!len || len >= sizeof to.sun_path) return;
    memcpy(to.sun_path, path, len);
    if (*path == '@') to.sun_path[0] = 0;
    const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0) return;
    if (sendto(fd, "READY=1", 7, MSG_NOSIGNAL, (const struct sockaddr *)&to, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len)) < 0)
        errno = 0; /* then systemd says that the start took too long */
    close(fd);
}
