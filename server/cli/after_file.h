/* --after-file: a program that gets the path of each finished file of a continuous backup, one after another and the
 * oldest first. What it has not taken yet is an empty file of the same name in the folder `unsent`, so that nothing is
 * forgotten when the backup is stopped or killed. It is called again, less and less often, until it exits with 0. */
#ifndef TOLLBOOK_SERVER_CLI_AFTER_FILE_H
#define TOLLBOOK_SERVER_CLI_AFTER_FILE_H

#include <sys/types.h>

#include "cli/archive_folder.h"

typedef struct after_file {
    const cli_call *call;
    const char *command; /* NULL: there is none */
    const char *folder;
    int dir; /* the folder's descriptor */
    pid_t child; /* 0: none */
    char name[TB_ARCHIVE_NAME_MAX]; /* what it has */
    bool waiting; /* there may be something unsent */
    unsigned failures;
    int64_t again_ms;
} after_file;

TB_MUST_USE tb_code after_file_init(after_file *a, const cli_call *call, const char *folder, int dir, tb_error *err);
/* Before the file gets its name. */
TB_MUST_USE tb_code after_file_add(after_file *a, const char *name, tb_error *err);
/* Looks after the program that runs, and starts the next one. Never waits. */
void after_file_turn(after_file *a);
/* Whether everything was taken, or was tried often enough for --once. */
bool after_file_rests(const after_file *a);
/* Gives a running program some seconds, and ends it then. */
void after_file_end(after_file *a);

#endif
