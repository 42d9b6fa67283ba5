/* The file of --metrics: written by a follower, and shown to people by --status. */
#ifndef TOLLBOOK_SERVER_CLI_FIGURES_FILE_H
#define TOLLBOOK_SERVER_CLI_FIGURES_FILE_H

#include "cli/cli.h"

/* Replaces the file's contents atomically. An error is printed once. */
void figures_write(const cli_call *call, const char *path, const tb_buf *text);
/* Prints the figures of --metrics. The exit status: 1 where they are old, or something is wrong. */
int figures_show(const cli_call *call);

#endif
