/* The console's files, made of server/console when building (console.py). The first is the page. */
#ifndef TOLLBOOK_SERVER_API_CONSOLE_H
#define TOLLBOOK_SERVER_API_CONSOLE_H

#include "http/request.h"

typedef struct console_file {
    const char *name; /* as in its address: with the hash of its content */
    const char *type;
    zipped_text content;
    tb_hash128 tag;
} console_file;

extern const console_file console_files[];
extern const size_t console_n_files;

#endif
