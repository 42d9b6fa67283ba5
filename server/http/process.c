/* /proc of this process, and the clocks. All in integers. */
#include "http/process.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "http/clock.h"

#define STAT_START 22 /* field of /proc/self/stat: ticks from the system's start to this one's */

/* Reads the whole file, terminated. false: it cannot be read. */
static bool read_proc(const char *path, char *out, size_t size)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    const ssize_t n = fd < 0 ? -1 : read(fd, out, size - 1);
    if (fd >= 0) close(fd);
    if (n < 0) return false;
    out[n] = 0;
    return true;
}

/* Parses the decimal number at text. false: there is none. */
static bool parse_number(const char *text, uint64_t *ret)
{
    uint64_t n = 0;
    if (*text < '0' || *text > '9') return false;
    for (; *text >= '0' && *text <= '9'; text++)
        n = n * 10 + (uint64_t)(*text - '0');
    *ret = n;
    return true;
}

/* The text after n spaces. */
static const char *skip_words(const char *text, unsigned n)
{
    for (; text && n > 0; n--)
        if ((text = strchr(text, ' '))) text++;
    return text;
}

static bool read_resident(uint64_t *ret)
{
    char text[256];
    const bool there = read_proc("/proc/self/statm", text, sizeof text);
    const char *pages = there ? skip_words(text, 1) : NULL;
    const long page = sysconf(_SC_PAGESIZE);
    if (!pages || page <= 0 || !parse_number(pages, ret)) return false;
    *ret *= (uint64_t)page;
    return true;
}

static bool read_cpu(uint64_t *ret)
{
    *ret = (uint64_t)clock_read_us(CLOCK_PROCESS_CPUTIME_ID);
    return true;
}

/* Without the descriptor that counting takes. */
static bool read_fds(uint64_t *ret)
{
    DIR *folder = opendir("/proc/self/fd");
    uint64_t n = 0;
    if (!folder) return false;
    for (const struct dirent *entry; (entry = readdir(folder));)
        n += entry->d_name[0] != '.';
    closedir(folder);
    if (n == 0) return false;
    *ret = n - 1;
    return true;
}

/* In centiseconds. The name in parentheses may contain anything, so fields are counted after it. */
static bool compute_start(uint64_t *ret)
{
    char text[1024];
    uint64_t ticks;
    const char *end = read_proc("/proc/self/stat", text, sizeof text) ? strrchr(text, ')') : NULL;
    const char *field = end ? skip_words(end, STAT_START - 2) : NULL;
    const long rate = sysconf(_SC_CLK_TCK);
    if (!field || rate <= 0 || !parse_number(field, &ticks)) return false;
    const int64_t age_us = clock_read_us(CLOCK_BOOTTIME) -
                           (int64_t)(ticks * UINT64_C(1000000) / (uint64_t)rate);
    *ret = (uint64_t)(clock_wall_us() - age_us) / 10000;
    return true;
}

static uint64_t start_cs; /* 0: not known */

static void remember_start(void)
{
    if (!compute_start(&start_cs)) start_cs = 0;
}

/* Computed once: if it moved with the wall clock, each step would look like a restart. */
static bool read_start(uint64_t *ret)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, remember_start);
    *ret = start_cs;
    return start_cs != 0;
}

bool process_read(process_figure which, uint64_t *ret_value)
{
    static bool (*const readers[PROCESS_COUNT])(uint64_t *) = {
        [PROCESS_RESIDENT] = read_resident,
        [PROCESS_CPU] = read_cpu,
        [PROCESS_FDS] = read_fds,
        [PROCESS_START] = read_start,
    };
    return readers[which](ret_value);
}

/* --- who listens --- */

/* The n-th word of a line, counted from 0. */
static const char *word_of(const char *line, unsigned n)
{
    line += strspn(line, " ");
    for (; n > 0; n--) {
        line += strcspn(line, " ");
        line += strspn(line, " ");
    }
    return line;
}

/* The inode of the socket that listens on the port; 0: none of this table. A line is
 * "sl local:port remote:port state queues timers retransmits uid timeout inode ...", with ports and state in hexadecimal. */
static unsigned long find_listener(const char *table, unsigned long port)
{
    char line[512];
    unsigned long inode = 0;
    FILE *file = fopen(table, "re");
    while (file && !inode && fgets(line, sizeof line, file)) {
        const char *colon = strchr(word_of(line, 1), ':');
        const bool listens = strncmp(word_of(line, 3), "0A ", 3) == 0;
        if (colon && listens && strtoul(colon + 1, NULL, 16) == port) inode = strtoul(word_of(line, 9), NULL, 10);
    }
    if (file) fclose(file);
    return inode;
}

static bool has_open(const char *pid, const char *link)
{
    char path[300], to[64];
    bool found = false;
    snprintf(path, sizeof path, "/proc/%.20s/fd", pid);
    DIR *folder = opendir(path);
    for (const struct dirent *entry; folder && !found && (entry = readdir(folder));) {
        const ssize_t n = readlinkat(dirfd(folder), entry->d_name, to, sizeof to - 1);
        to[n > 0 ? n : 0] = 0;
        found = strcmp(to, link) == 0;
    }
    if (folder) closedir(folder);
    return found;
}

bool process_listening(unsigned long port, char ret_name[PROCESS_NAME_MAX])
{
    unsigned long inode = find_listener("/proc/net/tcp", port);
    if (!inode) inode = find_listener("/proc/net/tcp6", port);
    DIR *all = inode ? opendir("/proc") : NULL;
    bool found = false;
    char link[40], path[40], name[32] = "";
    snprintf(link, sizeof link, "socket:[%lu]", inode);
    for (const struct dirent *entry; all && !found && (entry = readdir(all));) {
        if (entry->d_name[0] < '1' || entry->d_name[0] > '9' || !has_open(entry->d_name, link)) continue;
        snprintf(path, sizeof path, "/proc/%.20s/comm", entry->d_name);
        found = read_proc(path, name, sizeof name);
        name[strcspn(name, "\n")] = 0;
        if (found) snprintf(ret_name, PROCESS_NAME_MAX, "%s (process %.20s)", name, entry->d_name);
    }
    if (all) closedir(all);
    return found;
}

bool process_disk(const char *path, disk_state *ret)
{
    struct statvfs disk;
    int rc;
    while ((rc = statvfs(path, &disk)) != 0 && errno == EINTR)
        ;
    if (rc == 0) *ret = (disk_state){(uint64_t)disk.f_bavail * disk.f_frsize, (disk.f_flag & ST_RDONLY) != 0};
    return rc == 0;
}
