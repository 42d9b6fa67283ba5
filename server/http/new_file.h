/* Writes files that are there whole or not at all: each is written beside its place, under a name of this process, and then
 * renamed. A file or symbolic link that lies under either name is replaced, never written to or followed. The name beside
 * begins with a dot and ends in ".part", so that programs that look for files by their ending do not see half a file. */
#ifndef TOLLBOOK_SERVER_HTTP_NEW_FILE_H
#define TOLLBOOK_SERVER_HTTP_NEW_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define NEW_FILE_PATH_MAX 4096

typedef struct new_file {
    int folder;       /* an open one, or AT_FDCWD */
    const char *path; /* in it */
    int fd;           /* what is written to */
    char part[NEW_FILE_PATH_MAX];
} new_file;

/* false: errno says why, and nothing is left. Of threads, one at a time for one path. path: as long
 * as f. */
bool new_file_open(new_file *f, int folder, const char *path, mode_t mode);
bool new_file_write(new_file *f, const char *data, size_t len);
/* ok: what was written is to have its name; else it is taken away. false: as new_file_open, also
 * where ok is false. */
bool new_file_end(new_file *f, bool ok);
/* Opens, writes and ends in one call. */
bool new_file_put(int folder, const char *path, mode_t mode, const char *data, size_t len);
/* The process that writes a file of this name beside its place; 0: it is none of these. */
long new_file_owner(const char *name);

#endif
