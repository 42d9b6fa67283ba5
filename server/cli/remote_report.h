/* The server's reports, read back into those of the work itself. */
#ifndef TOLLBOOK_SERVER_CLI_REMOTE_REPORT_H
#define TOLLBOOK_SERVER_CLI_REMOTE_REPORT_H

#include <jansson.h>

#include "cli/take.h"

/* 0 if there is no such whole number. */
uint64_t report_number(const json_t *object, const char *name);
void report_read(const json_t *answer, feed_report *ret_report);

#endif
