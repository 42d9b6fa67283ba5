/* Lengths of time as options take them: 500ms, 2s, 1m, or a bare number of seconds. */
#ifndef TOLLBOOK_SERVER_CLI_DURATION_H
#define TOLLBOOK_SERVER_CLI_DURATION_H

#include "cli/cli.h"

#define DURATION_MOST_MS INT64_C(3600000)

/* From 10 ms to an hour. */
bool duration_parse(const char *text, int64_t *ret_ms);
/* The option's value, or else `otherwise`: 0, or the exit status after it printed an error. */
int duration_option(const cli_call *call, const char *name, int64_t otherwise, int64_t *ret_ms);
/* The same from a second to ten years, with h and d. */
int duration_long_option(const cli_call *call, const char *name, int64_t otherwise, int64_t *ret_ms);

#endif
