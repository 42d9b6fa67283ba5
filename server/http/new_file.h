/* Atomic file writes: a file is written under a temporary name in the same folder and then renamed. A file or symbolic
 * link of either name is replaced, never written to or followed. The temporary name begins with a dot, has the process
 * id and ends in ".part", so that programs that look for files by their ending do not see half a file. */
#ifndef TOLLBOOK_SERVER_HTTP_NEW_FILE_H
#define TOLLBOOK_SERVER_HTTP_NEW_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define NEW_FILE_PATH_MAX 4096

typedef struct new_file {
    int folder;       /* an open descriptor, or AT_FDCWD */
    const char *path; /* in it */
    int fd;           /* of the temporary file */
    char part[NEW_FILE_PATH_MAX];
} new_file;

/* false: errno says why, and nothing is left. One thread at a time for one path. path lives as long as f. */
bool new_file_open(new_file *f, int folder, const char *path, mode_t mode);
bool new_file_write(new_file *f, const char *data, size_t len);
/* ok: renames the file; else removes it. false: as new_file_open, also if ok is false. */
bool new_file_end(new_file *f, bool ok);
/* Opens, writes and ends in one call. */
bool new_file_put(int folder, const char *path, mode_t mode, const char *data, size_t len);
/* The process id in a temporary name; 0: this is none. */
long new_file_owner(const char *name);

#endif
