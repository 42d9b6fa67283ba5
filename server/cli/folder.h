/* Files into a folder: each is there whole or not at all, whatever stops the program, and one that has
 * the same bytes already is not touched. */
#ifndef TOLLBOOK_SERVER_CLI_FOLDER_H
#define TOLLBOOK_SERVER_CLI_FOLDER_H

#include "cli/cli.h"

typedef struct folder {
    const char *path;
    int fd; /* -1: not open */
} folder;

/* Opens the folder, and makes it where it is missing; its parent must be there. Takes away the
 * beginning of a file that a run which was killed has left. */
TB_MUST_USE tb_code folder_open(folder *f, const char *path, tb_error *err);
/* The folder's entries are on disk when this is done. */
TB_MUST_USE tb_code folder_close(folder *f, tb_error *err);
/* Whether it has this file, and the file has the mark within its first TB_SHOWN_MARK_WITHIN bytes; "": any file. */
bool folder_has(const folder *f, const char *name, const char *mark);
/* TB_E_DISK_FULL, TB_E_IO, err->message names the file. A name with a slash or a dot in front is
 * refused. */
TB_MUST_USE tb_code folder_put(folder *f, const char *name, const char *data, size_t len,
                               tb_error *err);

#endif
