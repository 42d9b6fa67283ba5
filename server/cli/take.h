/* Shared by ingest and import: one input after another through the feed, signals, progress and
 * the messages about the result. */
#ifndef TOLLBOOK_SERVER_CLI_TAKE_H
#define TOLLBOOK_SERVER_CLI_TAKE_H

#include "cli/cli.h"
#include "feed/feed.h"
#include "tollbook/intake.h"

/* options holds everything but batch, source, threads, now, progress and stop. */
int take_inputs(const cli_call *call, feed_options *options);

/* The sentences of one input's report; the exit status: 1 where every line was refused. */
int take_say(const cli_call *call, const char *path, const feed_options *options, const feed_report *report);

/* --batch is one name of one input: 0, or the exit status. */
int take_check_batch(const cli_call *call);

/* Reads --format, --map, --zone and --region: 0, or the exit status. The caller releases the layout. */
int take_layout(const cli_call *call, tb_log_layout *ret_layout);
/* The same for a log that has no end yet: without a head, which only a finished file has. */
int take_live_layout(const cli_call *call, tb_log_layout *ret_layout);

/* Set by SIGINT and SIGTERM once take_catch_signals was called; a second signal ends the process
 * at once, which is safe too. */
extern atomic_bool take_stop;
void take_catch_signals(void);

#endif
