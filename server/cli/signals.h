/* Signals of `serve`: SIGHUP reads files again, SIGUSR1 tells the status, SIGUSR2 promotes (promote.h), SIGTERM and SIGINT stop.
 * They are blocked in all threads and taken by one, so whatever they start runs as ordinary
 * code. */
#ifndef TOLLBOOK_SERVER_CLI_SIGNALS_H
#define TOLLBOOK_SERVER_CLI_SIGNALS_H

#include "cli/cli.h"
#include "http/server.h"

/* Before any other thread starts. */
void signals_block(void);
/* Lets them through, with their usual effect, or blocks them again: for what comes before the server. */
void signals_let(bool through);
/* Handles signals until the first SIGTERM or SIGINT. Then a second one ends the process at once,
 * and SIGHUP and SIGUSR1 do nothing any more. */
void signals_serve(const cli_call *call, server *s);

#endif
