/* The options of `serve` for replication. */
#ifndef TOLLBOOK_SERVER_CLI_REPLICAS_H
#define TOLLBOOK_SERVER_CLI_REPLICAS_H

#include "cli/cli.h"
#include "http/server.h"

/* Reads --replicas and --replica-keep; 0, or the exit status after it printed an error. */
int cli_read_replicas(const cli_call *call, server_options *o);
/* Once it listens: warns where the stream would leave the machine unencrypted. */
void cli_warn_replicas(const cli_call *call, const server *s);

#endif
