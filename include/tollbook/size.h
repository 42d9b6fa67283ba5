/* What holds a database's space: for an operator who decides what to keep. */
#ifndef TOLLBOOK_SIZE_H
#define TOLLBOOK_SIZE_H

#include "tollbook/store.h"

TB_API_BEGIN

/* By kind, whole pages of the file are counted, and all of it is in the list; by month and by pull
 * zone the packed counters, request logs and shield events that are of one, and as "waiting" what was
 * added lately and is not in its place yet. */
typedef enum tb_size_by { TB_SIZE_BY_KIND, TB_SIZE_BY_MONTH, TB_SIZE_BY_ZONE } tb_size_by;

typedef struct tb_size {
    char name[64]; /* "usage", "2026-11", "101"; "2026-11 on shard 2, 1000 rows" of usage servers */
    int64_t bytes;
} tb_size;

/* The largest first, at most `most` of them; months by their time, the newest first. Free *ret_sizes
 * with free(); NULL where there is none. By kind every page of the file is visited. */
TB_MUST_USE tb_code tb_store_sizes(tb_store *store, tb_size_by by, int64_t most,
                                   tb_size **ret_sizes, size_t *ret_n, tb_error *err);

TB_API_END

#endif
