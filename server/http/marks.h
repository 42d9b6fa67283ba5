/* When a database was last backed up, and last verified. `backup` and `verify` only read the database, beside a server
 * that holds the writer's lock, so they note the time in a file beside it: FILE.last-backup, FILE.last-verify or, for a
 * base of `backup --follow`, FILE.last-base, as RFC 3339 and a line end. */
#ifndef TOLLBOOK_SERVER_HTTP_MARKS_H
#define TOLLBOOK_SERVER_HTTP_MARKS_H

#include "tollbook/error.h"

/* X(mark, what its file's name adds, the metric of its age, help) */
#define MARKS(X)                                                                                   \
    X(BACKUP, ".last-backup", "tollbook_last_backup_age_seconds",                                  \
      "Time since the last successful `tollbook backup` of the database.")                      \
    X(BASE, ".last-base", "tollbook_last_base_age_seconds",                                        \
      "Time since `tollbook backup --follow` last made a base of the database.")                \
    X(VERIFY, ".last-verify", "tollbook_last_verify_age_seconds",                                  \
      "Time since the last `tollbook verify` of the database that found no difference.")

typedef enum mark_kind {
#define TB_X(e, suffix, metric, help) MARK_##e,
    MARKS(TB_X)
#undef TB_X
        MARK_COUNT
} mark_kind;

/* Notes the time. Does nothing for a database without FILE.lock beside it, which no program writes, such as a backup.
 * TB_E_IO: the message names the file. */
TB_MUST_USE tb_code mark_set(const char *db, mark_kind which, int64_t now_us, tb_error *err);
/* false: it was never noted, or cannot be read. */
bool mark_read(const char *db, mark_kind which, int64_t *ret_us);

#endif
