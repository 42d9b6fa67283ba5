/* ingest --withdraw and import --withdraw: what was taken in of these bytes is taken back. */
#ifndef TOLLBOOK_SERVER_CLI_WITHDRAW_H
#define TOLLBOOK_SERVER_CLI_WITHDRAW_H

#include "cli/cli.h"
#include "feed/withdraw.h"

/* Options that say nothing beside --withdraw: 0, or the exit status once it said which. */
int withdraw_check(const cli_call *call);
/* One input after another, on --db or through --server. 0; 1: there was nothing to withdraw of one, or it
 * was refused; or another exit status. */
int withdraw_inputs(const cli_call *call, const feed_options *options);

/* The sentences of one input; 0, or 1 where nothing was withdrawn. */
int withdraw_say(const cli_call *call, const char *path, const feed_withdrawn *done);

/* The same through --server: remote_withdraw.c. */
int remote_withdraw(const cli_call *call, const feed_options *options);

#endif
