/* The options of `serve` for a standby, and its first copy. */
#ifndef TOLLBOOK_SERVER_CLI_STANDBY_H
#define TOLLBOOK_SERVER_CLI_STANDBY_H

#include "cli/cli.h"
#include "http/server.h"

/* Reads --standby-of and what belongs to it, once all other options are read; 0, or the exit status after it printed an
 * error. */
int cli_read_standby(const cli_call *call, server_options *o);
/* Makes the copy where it is not there yet. Signals end the process meanwhile: the next start begins anew. */
int cli_seed_standby(const cli_call *call, server_options *o);

#endif
