/* One month's rows of many batches become one row for each place and hour, shard by shard and span by span: the steps
 * of compact.c that read and write rows. Of owners that let go (letgo.c) the hours become days, or nothing. */
#ifndef TOLLBOOK_STORE_CLICKHOUSE_FOLD_H
#define TOLLBOOK_STORE_CLICKHOUSE_FOLD_H

#include "store/clickhouse/private.h"
#include "store/usage/retain.h"

/* An account whose hours of the month go, or all of it. */
typedef struct tb__ch_leaver {
    int64_t account;
    bool days;    /* these too */
    tb_u128 *sum; /* TB__GONE_COUNT, of what days held; NULL: nothing yet */
} tb__ch_leaver;

/* An owner of such an account. */
typedef struct tb__ch_going {
    int64_t owner;
    size_t leaver;
    bool days;
} tb__ch_going;

/* Owners of a scope, and hours: so many rows that a server has memory for them. Of countries: zones, and days. */
typedef struct tb__ch_piece {
    tb__ch_table of;
    int scope;
    int64_t first, last;   /* owners */
    int64_t from, end;     /* hours */
    uint64_t rows;         /* as they lie, at most */
    size_t going, n_going; /* of the fold's list: those of these owners */
} tb__ch_piece;

/* What two lists of rows must agree in: how many, and a hash of all their columns. */
typedef struct tb__ch_digest {
    uint64_t rows, hash, numbers;
} tb__ch_digest;

#define TB__CH_FIRST INT64_MIN

typedef struct tb__ch_pieces {
    tb__ch_piece *list;
    size_t n, cap, at;
} tb__ch_pieces;

typedef struct tb__ch_fold {
    int64_t month, batch; /* what its rows have: a span of ids of its own */
    int64_t from;         /* the month's generation: rows below do not count any more */
    uint64_t lay;         /* rows of batches between the two, when it began */
    size_t shard;
    tb__ch_table table;
    int scope;     /* of the table's owners */
    int64_t first; /* of them, that is not planned yet; TB__CH_FIRST at first */
    int64_t count; /* of owners that the next plan is of, so that it does not read much more than it may */
    bool over;     /* all of the scope are planned */
    bool planned;  /* what follows is to be folded */
    tb__ch_pieces owners;
    tb__ch_pieces hours;  /* of one of them that has too many rows for a span: what is left of it comes first */
    tb__ch_piece span;    /* that is being folded */
    unsigned phase;       /* of that: 0: it has not begun */
    tb__ch_digest before; /* what it is to come to */
    bool repeats;      /* rows were there twice, and had been counted so by whoever did not look */
    uint64_t numbered; /* rows of cells that were written, of all shards: on others they may lie together (reshard.c) */
    /* Letting go: */
    int64_t due;            /* which call for it; 0: nothing goes */
    tb__ch_leaver *leavers; /* ascending by account */
    size_t n_leavers, cap_leavers;
    tb__ch_going *going; /* of this shard, in the order of `list` */
    size_t n_going, cap_going;
} tb__ch_fold;

/* At the first owners of the first shard. */
void tb__ch_fold_begin(tb__ch_fold *f);
/* At the next owners: of the scope, of the next one, of the next table, of the next shard, which may be none. */
void tb__ch_fold_next(tb__ch_fold *f);
/* What is to be folded of some owners from f->first on becomes f->owners. */
TB_MUST_USE tb_code tb__ch_fold_plan(tb_store *store, tb__ch_fold *f, tb_error *err);
/* A statement of the next span, which is folded and compared by some; or a look at the hours of the next owner, where it has too many rows
 * for one. most: rows of a span, unless one hour has more. *ret_rows: how many were written; 0: it was another statement.
 * After an error what lies under f->batch is not known, and must never count. */
TB_MUST_USE tb_code tb__ch_fold_step(tb_store *store, tb__ch_fold *f, uint64_t most, uint64_t *ret_rows, tb_error *err);
/* Whether all spans are folded. */
bool tb__ch_fold_is_over(const tb__ch_fold *f);

/* --- letgo.c --- */

/* Months of which something is to go: ascending, with the number of the last call for it. */
typedef struct tb__ch_due {
    int64_t month, call;
} tb__ch_due;

/* Who reads it frees the list. */
TB_MUST_USE tb_code tb__ch_read_due(tb_store *store, tb__ch_due **ret_list, size_t *ret_n, tb_error *err);
/* Whose usage of f->month goes, as the file says it now. */
TB_MUST_USE tb_code tb__ch_read_leavers(tb_store *store, tb__ch_fold *f, tb_error *err);
/* Whether an owner's usage goes; *ret is its place in f->leavers. */
TB_MUST_USE tb_code tb__ch_is_leaving(tb_store *store, const tb__ch_fold *f, int scope, int64_t owner, bool *ret_leaving,
                                      size_t *ret, tb_error *err);
/* In the transaction from which on the fold's rows count. */
TB_MUST_USE tb_code tb__ch_let_go_of(tb_store *store, const tb__ch_fold *f, tb_error *err);

#endif
