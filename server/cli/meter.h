/* A meter: progress on standard error, redrawn on a terminal, a line every few seconds elsewhere.
 * It reads the monotonic clock itself; callers may call it as often as they like. */
#ifndef TOLLBOOK_SERVER_CLI_METER_H
#define TOLLBOOK_SERVER_CLI_METER_H

#include "feed/feed.h"

typedef struct meter {
    const char *what; /* borrowed: name of the file */
    bool terminal, drawn;
    int64_t start_ms, shown_ms;
} meter;

void meter_init(meter *m, const char *what);
void meter_feed(meter *m, const feed_progress *progress); /* lines, MB/s, time left */
void meter_share(meter *m, uint64_t done, uint64_t total);
void meter_check(meter *m, uint64_t pages); /* stored data is being read; 0: data that was just written */
void meter_end(meter *m); /* clears the line */

#endif
