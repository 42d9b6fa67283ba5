/* Runs a program of the operator to its end, without a shell and with a time limit. The caller gets its output by
 * lines. */
#ifndef TOLLBOOK_SERVER_HTTP_JOBS_HOOK_H
#define TOLLBOOK_SERVER_HTTP_JOBS_HOOK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct hook_call {
    char *const *arguments;       /* [0] is the program's path; NULL ends them */
    char *const *environment;     /* added to the server's own; NULL ends them */
    int64_t limit_us;             /* after this time the program and its children are ended */
    int stop_fd;                  /* readable: the same at once; -1: never */
    void (*line)(void *ctx, const char *text); /* a line of its output, without control characters */
    void *ctx;
    int *ret_status; /* its exit status, -1: it was killed, or did not start; may be NULL */
} hook_call;

typedef enum hook_end {
    HOOK_DONE,    /* it ended with status 0 */
    HOOK_FAILED,  /* reason says how */
    HOOK_STOPPED, /* because of stop_fd */
} hook_end;

#define HOOK_REASON 160
hook_end hook_run(const hook_call *call, char reason[HOOK_REASON]);

#endif
