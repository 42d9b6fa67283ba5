/* The followed logs, by inode, and what the names lead to. */
#ifndef TOLLBOOK_SERVER_FOLLOW_TABLE_H
#define TOLLBOOK_SERVER_FOLLOW_TABLE_H

#include "follow/log.h"

#define FOLLOW_KEPT 4

/* What a name leads to, as it was said last. */
typedef enum follow_sight {
    FOLLOW_SEEN,
    FOLLOW_MISSING, /* nothing is there */
    FOLLOW_BARRED,  /* it cannot be looked at */
} follow_sight;

typedef struct follow_table {
    follow_log **logs; /* ascending by (device, inode) */
    size_t n, cap;
    follow_sight *sight; /* of each name */
    int64_t counted_ms;  /* the last look that counts (follow_log_seen) */
    size_t hand;   /* where the search for a descriptor goes on */
    int kept[FOLLOW_KEPT]; /* descriptors for looking at folders, 0: none; see follow_table_scan */
} follow_table;

/* Looks at all names and at what has none any more. New logs are added, and what a log has become
 * is noted. Where no descriptor is left, a pattern would find nothing, and logs would seem gone: some are
 * kept, and given back for the look. TB_E_NOMEM only. */
TB_MUST_USE tb_code follow_table_scan(follow_table *table, const follow_options *options,
                                      int64_t now_ms, tb_error *err);
/* Takes out a log, and frees it. */
void follow_table_remove(follow_table *table, size_t at);
/* Closes logs that are read to their end and have a name until at most `most` are open. Returns
 * how many are. */
size_t follow_table_spare(follow_table *table, size_t most);
void follow_table_release(follow_table *table);

#endif
