/* A watch over a query: ends it at its time limit, at SIGINT and at SIGTERM.
 *
 * A thread waits for the first of these and interrupts the query, which normally ends soon. If it does not, because
 * it is in one long call, the thread ends the process: a query only reads, and the system releases its locks.
 * Rows are written between watch_row and watch_row_end: the process is not ended within a row, unless writing
 * it blocks. */
#ifndef TOLLBOOK_SERVER_CLI_WATCH_H
#define TOLLBOOK_SERVER_CLI_WATCH_H

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>

#include "cli/cli.h"

typedef struct watch {
    const cli_call *call;
    tb_store *store;
    int64_t limit_s; /* 0: none */
    pthread_t thread;
    sigset_t signals;
    atomic_bool over; /* the query has ended by itself */
    _Atomic int why;  /* 0: nothing came; a signal's number; WATCH_TIME */
} watch;

#define WATCH_TIME (-1)

/* false: the thread does not start. Blocks the two signals until watch_end. */
bool watch_start(watch *w);
/* Ends the watch: 0, or the exit status after it printed what ended the query. At a signal it does not
 * return: the process ends by that signal. */
int watch_end(watch *w);

void watch_row(void);
void watch_row_end(void);

#endif
