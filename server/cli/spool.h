/* A document on its way to standard output: whole, or not at all. It is kept until it is complete, in
 * memory while it is small and then in a file without a name, so that a failure half-way leaves
 * nothing that looks like a document. */
#ifndef TOLLBOOK_SERVER_CLI_SPOOL_H
#define TOLLBOOK_SERVER_CLI_SPOOL_H

#include "cli/cli.h"

#define SPOOL_MEMORY ((size_t)1 << 20) /* more of a document lies in TMPDIR */

typedef struct spool {
    tb_buf held; /* the bytes after the file's content */
    int fd;      /* of the file; -1: none */
} spool;

void spool_init(spool *s);
void spool_release(spool *s);
/* Appends the buffer and empties it. TB_E_DISK_FULL, TB_E_IO: TMPDIR cannot be written. */
TB_MUST_USE tb_code spool_take(spool *s, tb_buf *part, tb_error *err);
/* Rows with tabs into columns, for a terminal; one that lies in the file stays as it is. */
void spool_align(spool *s);
/* The whole to standard output. 0, or the exit status once it said why: a closed pipe too is an
 * error that is said, not a signal. */
int spool_print(spool *s, const cli_call *call);
/* The whole into a file, in its place at once; compressed where its name ends in .gz. As above. */
int spool_save(spool *s, const cli_call *call, const char *path);

#endif
