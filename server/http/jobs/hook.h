/* Runs a command of the operator to its end: without a shell, its output line by line to the
 * caller, its time bounded. */
#ifndef TOLLBOOK_SERVER_HTTP_JOBS_HOOK_H
#define TOLLBOOK_SERVER_HTTP_JOBS_HOOK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct hook_call {
    char *const *arguments;       /* [0] is the program's path; NULL ends them */
    char *const *environment;     /* beside the process's own; NULL ends them */
    int64_t limit_us;             /* then the program and what it started are ended */
    int stop_fd;                  /* readable: the same at once; -1: never */
    void (*line)(void *ctx, const char *text); /* of its output, without control characters */
    void *ctx;
    int *ret_status; /* what it ended with, -1: it was ended, or did not start; may be NULL */
} hook_call;

typedef enum hook_end {
    HOOK_DONE,    /* it ended with status 0 */
    HOOK_FAILED,  /* reason says how */
    HOOK_STOPPED, /* because of stop_fd */
} hook_end;

#define HOOK_REASON 160
hook_end hook_run(const hook_call *call, char reason[HOOK_REASON]);

#endif
