/* tollbook backup --follow DIR: bases and files of pieces (tollbook/archive.h) of a database that goes on. */
#ifndef TOLLBOOK_SERVER_CLI_BACKUP_FOLLOW_H
#define TOLLBOOK_SERVER_CLI_BACKUP_FOLLOW_H

#include "cli/cli.h"

/* Returns the exit status. */
int backup_follow(const cli_call *call);

#endif
