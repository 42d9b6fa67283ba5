/* ingest --withdraw and import --withdraw: undo of the stored part of an input. */
#ifndef TOLLBOOK_SERVER_CLI_WITHDRAW_H
#define TOLLBOOK_SERVER_CLI_WITHDRAW_H

#include "cli/cli.h"
#include "cli/meter.h"
#include "feed/withdraw.h"

/* Options that --withdraw excludes: 0, or the exit status once it said which. */
int withdraw_check(const cli_call *call);
/* One input after another, on --db or through --server. 0; 1: there was nothing to withdraw of one, or it
 * was refused; or another exit status. */
int withdraw_inputs(const cli_call *call, const feed_options *options);

/* Through a server: remote_withdraw.c. The functions print errors and return an exit status. */
typedef struct remote_withdrawal remote_withdrawal;
int remote_withdraw_open(const cli_call *call, remote_withdrawal **ret_withdrawal);
/* One input. *ret_withdrawn: of the requests that were answered, where it fails, too. */
int remote_withdraw_input(remote_withdrawal *w, const char *path, const feed_options *options, meter *progress,
                          feed_withdrawn *ret_withdrawn);
void remote_withdraw_close(remote_withdrawal *w); /* NULL is fine */

#endif
