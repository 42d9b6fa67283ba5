/* A page that leads a browser to a link, in a file that its owner alone can read: the arguments of a program, an
 * address among them, are read by everybody on the machine. */
#ifndef TOLLBOOK_SERVER_CLI_LINK_FILE_H
#define TOLLBOOK_SERVER_CLI_LINK_FILE_H

#include <stdatomic.h>
#include <stdbool.h>

#define LINK_FILE_PATH_MAX 1024

typedef struct link_file {
    char folder[LINK_FILE_PATH_MAX], path[LINK_FILE_PATH_MAX]; /* the folder is the file's alone */
    atomic_bool there;
} link_file;

/* Under $XDG_RUNTIME_DIR, $TMPDIR or /tmp, whichever can first be written to. link: nothing in it that HTML
 * escapes. false: it cannot be written, and nothing is left behind. */
bool link_file_write(link_file *f, const char *link);
/* Any thread. false: it was not there any more. */
bool link_file_remove(link_file *f);

#endif
