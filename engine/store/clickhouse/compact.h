/* The steps of a compaction (compact.c) that read and write rows: the rows that many batches wrote for one month become
 * one row for each location and hour, shard by shard and span by span. Expired hours become days, and expired days are
 * dropped (expire.c). */
#ifndef TOLLBOOK_STORE_CLICKHOUSE_COMPACT_H
#define TOLLBOOK_STORE_CLICKHOUSE_COMPACT_H

#include "store/clickhouse/private.h"
#include "store/usage/retain.h"

/* An account whose hours of the month expire. */
typedef struct tb__ch_expiring {
    int64_t account;
    bool days;    /* its days expire too */
    tb_u128 *sum; /* TB__GONE_COUNT sums of the expired days; NULL: none yet */
} tb__ch_expiring;

/* An owner of such an account. */
typedef struct tb__ch_expiring_owner {
    int64_t owner;
    size_t account; /* its index in `expiring` */
    bool days;
} tb__ch_expiring_owner;

/* A range of owners of one scope and of hours, small enough for a server's memory. For countries: zones and days. */
typedef struct tb__ch_piece {
    tb__ch_table of;
    int scope;
    int64_t first, last;   /* owners */
    int64_t from, end;     /* hours */
    uint64_t rows;         /* stored rows, at most */
    size_t owners_expiring, n_owners_expiring; /* the part of the compaction's list that lies in this range */
} tb__ch_piece;

/* To compare two lists of rows: their number, and a hash of all columns. */
typedef struct tb__ch_digest {
    uint64_t rows, hash, numbers;
} tb__ch_digest;

#define TB__CH_FIRST INT64_MIN

typedef struct tb__ch_pieces {
    tb__ch_piece *list;
    size_t n, cap, at;
} tb__ch_pieces;

typedef struct tb__ch_compaction {
    int64_t month, batch; /* the id of all rows that it writes, from a span of ids that no batch uses */
    int64_t from;         /* the month's current generation: rows with smaller ids no longer count */
    uint64_t lay;         /* rows of batches with ids between the two, when it began */
    size_t shard;
    tb__ch_table table;
    int scope;     /* of the table's owners */
    int64_t first; /* the first owner that is not planned yet; TB__CH_FIRST at first */
    int64_t count; /* owners in the next plan; bounds the rows that a plan reads */
    bool over;     /* all owners of the scope are planned */
    bool planned;  /* the pieces below are to be compacted */
    tb__ch_pieces owners;
    tb__ch_pieces hours;  /* the rest of an owner that has too many rows for one span: these come first */
    tb__ch_piece span;    /* being compacted */
    unsigned phase;       /* of the span; 0: not begun */
    tb__ch_digest before; /* the expected digest of the written rows */
    bool repeats;      /* rows were stored twice, and answers may have counted them twice */
    uint64_t numbered; /* cell rows written on all shards: row numbers, unique also after a reshard (reshard.c) */
    /* Retention: */
    int64_t due;            /* the number of the request; 0: nothing expires */
    tb__ch_expiring *expiring; /* ascending by account */
    size_t n_expiring, cap_expiring;
    tb__ch_expiring_owner *owners_expiring; /* of this shard, in the order of `list` */
    size_t n_owners_expiring, cap_owners_expiring;
} tb__ch_compaction;

/* Sets it to the first owners of the first shard. */
void tb__ch_compaction_begin(tb__ch_compaction *f);
/* Advances to the next owners: in the scope, else the next scope, table or shard. After the last shard it is over. */
void tb__ch_compaction_next(tb__ch_compaction *f);
/* Plans the next owners from f->first on: f->owners lists the pieces to compact. */
TB_MUST_USE tb_code tb__ch_compaction_plan(tb_store *store, tb__ch_compaction *f, tb_error *err);
/* Runs one statement: of the next span, which takes several to write and compare; or one that counts rows by hour, if the
 * next owner has too many rows for one span. most: rows of a span, unless a single hour has more. *ret_rows: rows written; 0: the
 * statement wrote none. After an error the rows stored under f->batch are unknown, and must never count. */
TB_MUST_USE tb_code tb__ch_compaction_step(tb_store *store, tb__ch_compaction *f, uint64_t most, uint64_t *ret_rows, tb_error *err);
/* Whether all spans are compacted. */
bool tb__ch_compaction_is_over(const tb__ch_compaction *f);

/* --- expire.c --- */

/* A month with expired usage to drop, and the number of the last request for it. */
typedef struct tb__ch_due {
    int64_t month, call;
} tb__ch_due;

/* Ascending by month. The caller frees the list. */
TB_MUST_USE tb_code tb__ch_read_due(tb_store *store, tb__ch_due **ret_list, size_t *ret_n, tb_error *err);
/* Reads from the file which accounts' usage of f->month has expired. */
TB_MUST_USE tb_code tb__ch_read_expiring(tb_store *store, tb__ch_compaction *f, tb_error *err);
/* Whether an owner's usage expires; *ret: the index of its account in f->expiring. */
TB_MUST_USE tb_code tb__ch_is_expiring(tb_store *store, const tb__ch_compaction *f, int scope, int64_t owner, bool *ret_expiring,
                                      size_t *ret, tb_error *err);
/* Call in the transaction that makes the compaction's rows count. */
TB_MUST_USE tb_code tb__ch_record_expired(tb_store *store, const tb__ch_compaction *f, tb_error *err);

#endif
