/* A base of a primary over HTTP: into a file, going on where it was cut off as long as the primary keeps that base, and checked.
 * A standby's first copy and a continuous backup begin with one. */
#ifndef TOLLBOOK_SERVER_STANDBY_BASE_H
#define TOLLBOOK_SERVER_STANDBY_BASE_H

#include <sys/types.h>
#include <xxhash.h>

#include "standby/link.h"
#include "tollbook/replica.h"

typedef struct base_fetch {
    primary_link link;
    const char *path; /* borrowed */
    int fd;           /* of the file */
    uint64_t done;    /* bytes in it */
    uint64_t written; /* of them, on their way to the disk */
    int64_t piece;    /* the newest that it has, as the primary says */
    void (*show)(void *ctx, uint64_t done, uint64_t whole); /* set by the caller; may be NULL */
    void *ctx;
    char tag[LINK_TAG_MAX]; /* of what is in the file */
    XXH3_state_t *hash;     /* of what is in the file */
    bool begun;             /* this exchange's first byte was written */
    tb_error failed;        /* of writing */
} base_fetch;

/* Makes the file, empty. TB_E_DISK_FULL, TB_E_IO. */
TB_MUST_USE tb_code base_fetch_open(base_fetch *f, const link_options *options, const char *path, mode_t mode, tb_error *err);
void base_fetch_close(base_fetch *f); /* the file stays */
/* One exchange. TB_OK: it is whole and on disk, and has the hash that the primary says; TB_E_DIFFERENT: another one. Else it may go
 * on, unless that is final: a refusal that will not change by itself, or a file that cannot be written. */
TB_MUST_USE tb_code base_fetch_try(base_fetch *f, tb_error *err);
bool base_fetch_is_final(const base_fetch *f, tb_code code);
/* Removes a database's log, and that log's index. */
void base_remove_log(const char *path);
/* Opens a whole base. *ret_last: its newest piece; TB_E_DIFFERENT: that is not `piece`, or `check` (NULL: there is none) finds that
 * it does not agree with itself. control: usage on servers is left out. */
TB_MUST_USE tb_code base_check(const char *path, int64_t piece, bool control, tb_check check, tb_piece *ret_last, tb_error *err);

#endif
