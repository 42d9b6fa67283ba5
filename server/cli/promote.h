/* Promotion of a standby that is served, from the command line. Only who may write beside the database can ask for it: the
 * command makes a file FILE.promote with what it asks for, and sends SIGUSR2 to the server, which writes its answer into
 * that file. Without the file the signal does nothing. */
#ifndef TOLLBOOK_SERVER_CLI_PROMOTE_H
#define TOLLBOOK_SERVER_CLI_PROMOTE_H

#include "cli/cli.h"
#include "http/server.h"

/* The server's side, after the signal. */
void promote_asked(const cli_call *call, server *s);

#endif
