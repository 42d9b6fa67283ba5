/* ingest -: a stream without an end, stored as it comes (--every, --bytes, --confirm). */
#ifndef TOLLBOOK_SERVER_CLI_STREAM_H
#define TOLLBOOK_SERVER_CLI_STREAM_H

#include "cli/take.h"

/* Whether the options ask for it. */
bool stream_asked(const cli_call *call);
int stream_ingest(const cli_call *call, const feed_options *options);

#endif
