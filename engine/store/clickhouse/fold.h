/* One month's rows of many batches become one row for each place and hour, shard by shard and span by span: the steps
 * of compact.c that read and write rows. */
#ifndef TOLLBOOK_STORE_CLICKHOUSE_FOLD_H
#define TOLLBOOK_STORE_CLICKHOUSE_FOLD_H

#include "store/clickhouse/private.h"

/* Owners of a scope, and hours: so many rows that a server has memory for them. */
typedef struct tb__ch_piece {
    int scope;
    int64_t first, last; /* owners */
    int64_t from, end;   /* hours */
    uint64_t rows;       /* as they lie, at most */
} tb__ch_piece;

typedef struct tb__ch_fold {
    int64_t month, batch; /* what its rows have: a span of ids of its own */
    size_t shard;
    bool planned;
    tb__ch_piece *list; /* of this shard */
    size_t n, cap, at;
    uint64_t numbered; /* rows that have a number, of all shards: on others they may lie together (reshard.c) */
} tb__ch_fold;

/* What is to be folded on f->shard becomes f->list. */
TB_MUST_USE tb_code tb__ch_fold_plan(tb_store *store, tb__ch_fold *f, tb_error *err);
/* Folds f->list[f->at], and compares. After an error what lies under f->batch is not known, and must never count. */
TB_MUST_USE tb_code tb__ch_fold_span(tb_store *store, tb__ch_fold *f, tb_error *err);

#endif
