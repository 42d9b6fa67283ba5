/* The access log: one JSON line a request, never a key, never a query string.
 *
 * Each worker writes into a ring of its own that only it fills and only the logger's thread
 * empties, so that no request waits for a disk or a terminal. If the logger is too slow, whole
 * lines are dropped and counted. */
#ifndef TOLLBOOK_SERVER_HTTP_ACCESSLOG_H
#define TOLLBOOK_SERVER_HTTP_ACCESSLOG_H

#include "tollbook/error.h"

typedef struct accesslog accesslog;

typedef struct accesslog_line {
    const char *method; /* a known method's name, or "-" */
    const char *path;   /* raw, without the query */
    size_t path_len;
    const char *id;   /* the request's, as in X-Request-Id */
    const char *peer; /* address as text */
    unsigned status;  /* 0: closed without an answer */
    uint64_t bytes;   /* of the answer's body */
    uint64_t duration_us;
    int64_t wall_us;
    int64_t account, key; /* key 0: none */
} accesslog_line;

/* path: a file to append to, or "-" for standard error. */
TB_MUST_USE tb_code accesslog_open(const char *path, unsigned n_workers, accesslog **ret_log,
                                   tb_error *err);
/* Only from the worker's own thread. NULL log: nothing. */
void accesslog_write(accesslog *log, unsigned worker, const accesslog_line *line);
/* Switches to the file that has this name now. TB_OK: lines written before are whole in the old file, later ones go to
 * the new one. Else nothing changes. Only if accesslog_open was given a file; one thread at a time. */
TB_MUST_USE tb_code accesslog_reopen(accesslog *log, const char *path, tb_error *err);
uint64_t accesslog_dropped(const accesslog *log);
/* Writes what is left and ends the thread. NULL is fine. */
void accesslog_close(accesslog *log);

#endif
