/* Accounts by their names, where the command line takes a number. */
#ifndef TOLLBOOK_SERVER_CLI_NAMES_H
#define TOLLBOOK_SERVER_CLI_NAMES_H

#include "cli/cli.h"

/* The number of the one account with this name, whatever its letter case, on --db or --server. 0, or the exit status once
 * it said that there is none, or which there are. */
int names_account(const cli_call *call, const char *name, int64_t *ret_account);

#endif
