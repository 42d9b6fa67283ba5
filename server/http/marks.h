/* When a database was last backed up, and last verified. `backup` and `verify` only read it, beside
 * a server that holds its writer's lock, so they cannot note it there: the moment stands in a file
 * of its own beside the database, FILE.last-backup or FILE.last-verify, as RFC 3339 and a line
 * end. */
#ifndef TOLLBOOK_SERVER_HTTP_MARKS_H
#define TOLLBOOK_SERVER_HTTP_MARKS_H

#include "tollbook/error.h"

/* X(mark, what its file's name adds, the metric of its age, help) */
#define MARKS(X)                                                                                   \
    X(BACKUP, ".last-backup", "tollbook_last_backup_age_seconds",                                  \
      "Time since the last successful `tollbook backup` of the database.")                      \
    X(VERIFY, ".last-verify", "tollbook_last_verify_age_seconds",                                  \
      "Time since the last `tollbook verify` of the database that found no difference.")

typedef enum mark_kind {
#define TB_X(e, suffix, metric, help) MARK_##e,
    MARKS(TB_X)
#undef TB_X
        MARK_COUNT
} mark_kind;

/* Notes a moment. Nothing where the database is nobody's to write, as a backup is: it has no
 * FILE.lock beside it then. TB_E_IO: the message names the file. */
TB_MUST_USE tb_code mark_set(const char *db, mark_kind which, int64_t now_us, tb_error *err);
/* false: it was never noted, or cannot be read. */
bool mark_read(const char *db, mark_kind which, int64_t *ret_us);

#endif
