/* The table of followed logs, by inode, and the state of each name. */
#ifndef TOLLBOOK_SERVER_FOLLOW_TABLE_H
#define TOLLBOOK_SERVER_FOLLOW_TABLE_H

#include "follow/log.h"

#define FOLLOW_RESERVED 4

/* What a name led to at the last scan. */
typedef enum follow_sight {
    FOLLOW_SEEN,
    FOLLOW_MISSING, /* nothing is there */
    FOLLOW_UNREADABLE,  /* stat() failed, or its folder cannot be read */
} follow_sight;

typedef struct follow_table {
    follow_log **logs; /* ascending by (device, inode) */
    size_t n, cap;
    follow_sight *sight; /* of each name */
    int64_t counted_ms;  /* the last scan that counts (follow_log_seen) */
    size_t close_next;   /* where limit_open goes on closing */
    int reserved[FOLLOW_RESERVED]; /* descriptors; 0: none; see follow_table_scan */
} follow_table;

/* Scans all names, and the open logs that have lost theirs. Adds new logs and notes how known ones changed. Without a
 * free descriptor a pattern would match nothing and logs would seem gone, so some are reserved between scans.
 * TB_E_NOMEM only. */
TB_MUST_USE tb_code follow_table_scan(follow_table *table, const follow_options *options,
                                      int64_t now_ms, tb_error *err);
/* Removes and frees a log. */
void follow_table_remove(follow_table *table, size_t at);
/* Closes logs that have a name and are not being unpacked, until at most `most` are open. Returns how many are open. */
size_t follow_table_limit_open(follow_table *table, size_t most);
void follow_table_release(follow_table *table);

#endif
