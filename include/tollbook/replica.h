/* Replication: each commit of the writer becomes a piece, by which a copy of the file follows.
 *
 * A piece holds what one commit changed, row by row, as SQLite's session extension writes it (a patchset), compressed by
 * zstd. It is a row of the file itself, written by the commit that it describes, so that it is durable when the commit is.
 * Pieces are numbered from 1 without gaps; a commit that changes nothing makes none. Each has a SHA-256 over itself and
 * the chain before it: two files with the same number and the same chain have the same content.
 *
 * Replication is a property of the file. A copy begins as a whole copy of it (tb_store_backup) and applies the pieces that
 * come after. An upgrade of the schema is a piece, too: a copy takes the same steps. Switching replication off and on
 * again begins a new chain: a copy then has to be made anew.
 *
 * A file that has taken a piece is marked as a copy, in its head (TB_COPY_APPLICATION_ID): no table has the mark, so no piece
 * and no digest does. tb_store_open refuses to write it (TB_E_REPLICA_READ_ONLY), except as a copy, until it is promoted or
 * restored (archive.h). A backup or a base of it has no mark. */
#ifndef TOLLBOOK_REPLICA_H
#define TOLLBOOK_REPLICA_H

#include "tollbook/store.h"

TB_API_BEGIN

#define TB_PIECE_CHAIN 32
#define TB_PIECE_MAX   ((size_t)255 << 20) /* bytes of a piece, compressed */

typedef struct tb_piece {
    int64_t number;  /* from 1 */
    int64_t epoch;   /* from 1; a promotion raises it */
    int64_t at_us;   /* when it was committed, by the writer's clock */
    int64_t version; /* the data version with it */
    uint8_t chain[TB_PIECE_CHAIN];
    const void *data; /* NULL in a head alone; piece 1 of a chain has none */
    size_t len;       /* of the data */
} tb_piece;

/* The state of a file: its newest piece without data, and the oldest one that it keeps. number 0: replication is off. */
typedef struct tb_replication {
    tb_piece last;
    int64_t first; /* number of the oldest piece kept */
    int64_t bytes; /* of all pieces kept, compressed */
    int64_t superseded; /* the epoch of the file that took this one's place; 0: none has, as far as it knows */
    bool copied;        /* it is marked as a copy */
} tb_replication;

/* A standby that may take the primary's place. The primary keeps the list in a table of the file, so that it is in the
 * pieces too: a standby that is promoted knows the others. */
#define TB_FOLLOWER_NAME 64  /* bytes */
#define TB_STANDBY_URL   200 /* bytes */
#define TB_EPOCH_MAX INT64_C(1000000000000) /* a higher one is no server's */
#define TB_STANDBYS_MAX  16
typedef struct tb_standby {
    char name[TB_FOLLOWER_NAME + 1]; /* letters, digits, dots, underscores and hyphens */
    char url[TB_STANDBY_URL + 1];    /* where it is served; "": it did not say */
    int64_t schema;                  /* the newest one that its program knows */
} tb_standby;

/* A copy that follows a file, as the file's server knows it. */
typedef struct tb_follower {
    char name[TB_FOLLOWER_NAME + 1];
    bool promotable;
    int64_t piece; /* it has all up to this one */
} tb_follower;

/* What the file's server knows beside the file. */
typedef struct tb_replica_server {
    const char *role;  /* "primary", "standby" or "superseded" */
    int64_t lag_us;    /* of a standby: how long it has been without its primary's newest piece */
    const tb_follower *followers;
    size_t n_followers;
} tb_replica_server;

/* TB_OK also where replication is off. */
TB_MUST_USE tb_code tb_store_replication(tb_store *store, tb_replication *ret, tb_error *err);
/* Switches replication on: the file's first piece. Nothing where it is on. In the caller's transaction; pieces are
 * made from the next one on. now_us: of the first piece. */
TB_MUST_USE tb_code tb_store_replicate(tb_store *store, int64_t now_us, tb_error *err);
/* Switches it off and deletes the pieces. In the caller's transaction. */
TB_MUST_USE tb_code tb_store_replicate_end(tb_store *store, tb_error *err);
/* How long a copy that has all pieces up to this one has been without the newest: since the moment of the first piece that
 * it lacks, or of the oldest kept one; 0: it lacks none. */
TB_MUST_USE tb_code tb_store_replica_lag(tb_store *store, int64_t piece, int64_t now_us, int64_t *ret_us, tb_error *err);
/* Calls `each` for the pieces after `after`, in order, until it returns false. TB_E_NOT_FOUND: the next one is no longer
 * kept, or `after` is newer than the newest; a new copy is needed. The argument lives during the call. */
typedef bool (*tb_piece_fn)(void *ctx, const tb_piece *piece);
TB_MUST_USE tb_code tb_store_pieces(tb_store *store, int64_t after, tb_piece_fn each, void *ctx, tb_error *err);
/* Deletes the oldest pieces, at most `most`: those committed before since_us, and those beyond the newest `bytes`. The
 * newest piece stays. In the caller's transaction. *ret_more: it stopped at `most`. */
TB_MUST_USE tb_code tb_store_trim_pieces(tb_store *store, int64_t since_us, int64_t bytes, int64_t most, bool *ret_more,
                                         tb_error *err);
/* Pieces as bytes, on a wire and in files: a head of TB_PIECE_HEAD bytes, then the data. The head is "tbpiece1", then
 * number, epoch, at_us, version and the length of the data, 8 bytes each, little-endian; then the chain. */
#define TB_PIECE_HEAD (8 + 5 * 8 + TB_PIECE_CHAIN)
void tb_piece_put(const tb_piece *piece, tb_buf *out);
/* Reads the piece that the bytes begin with. *ret_len: its bytes, head included; 0: they are not all there yet, and
 * *ret_piece is then the head alone if `len` is at least TB_PIECE_HEAD. data points into the bytes. TB_E_CORRUPT: this is
 * no piece. The chain is not checked. */
TB_MUST_USE tb_code tb_piece_read(const void *bytes, size_t len, tb_piece *ret_piece, size_t *ret_len, tb_error *err);
/* Whether this piece follows the one before it: its number, its epoch and its chain. */
bool tb_piece_follows(const tb_piece *piece, const tb_piece *before);
/* Applies a piece to a copy, in a transaction of its own; the copy keeps the piece too. TB_E_DIFFERENT: the piece does
 * not follow the copy's newest one, or does not fit its rows: nothing is changed, and a new copy is needed. TB_E_NEWER:
 * it brings a schema that this program does not know: nothing is changed. A piece that the copy has already changes
 * nothing. */
TB_MUST_USE tb_code tb_store_apply_piece(tb_store *store, const tb_piece *piece, tb_error *err);
/* Several in one transaction, all or none: one wait for the disk. */
TB_MUST_USE tb_code tb_store_apply_pieces(tb_store *store, const tb_piece *pieces, size_t n, tb_error *err);

/* Marks a whole base as a copy before its first piece comes. Nobody else has the file open, and nothing is left beside it. */
TB_MUST_USE tb_code tb_store_mark_base(const char *path, tb_error *err);

/* Whether the pieces that were applied last, or a part of them, changed keys. */
bool tb_store_applied_keys(const tb_store *store);

/* A copy to begin with, in a new file (TB_E_IO where it exists), which is neither verified nor synced. ret_last: its newest piece,
 * without data. TB_E_NOT_FOUND: replication is off. TB_E_STOPPED: tb_store_stop_backup. */
TB_MUST_USE tb_code tb_store_backup_base(tb_store *store, const char *to, tb_progress progress, void *ctx, tb_piece *ret_last,
                                         tb_error *err);

/* The newest piece of this number without data; number 0 in it: it is not kept. */
TB_MUST_USE tb_code tb_store_piece_head(tb_store *store, int64_t number, tb_piece *ret, tb_error *err);

/* --- standbys, and who is the primary --- */

/* Lists the standbys, ascending by name. */
TB_MUST_USE tb_code tb_store_standbys(tb_store *store, tb_standby ret[TB_STANDBYS_MAX], size_t *ret_n, tb_error *err);
/* Adds one, or takes its new address and schema; nothing where it is listed so. In the caller's transaction. TB_E_VALIDATION:
 * there are TB_STANDBYS_MAX. */
TB_MUST_USE tb_code tb_store_standby_add(tb_store *store, const tb_standby *standby, tb_error *err);
/* Removes one. In the caller's transaction. TB_E_NOT_FOUND: it is not listed. */
TB_MUST_USE tb_code tb_store_standby_drop(tb_store *store, const char *name, tb_error *err);
/* Makes the primary of a store that was opened as a copy: the epoch is raised by one, this standby's own name leaves the
 * list, and the store commits like any other from then on. One transaction of its own, which is the first piece of the new
 * epoch; a second one upgrades an older schema. TB_E_USAGE: the store is no copy, or is not replicated. */
TB_MUST_USE tb_code tb_store_promote(tb_store *store, const char *name, int64_t *ret_epoch, tb_error *err);
/* Notes that another file took this one's place, with a higher epoch: from now on tb_store_commit is
 * TB_E_REPLICA_SUPERSEDED, and so is opening it as a writer, except as a copy. One transaction of its own, which makes no
 * piece. It ends when a piece of that epoch or a later one is applied. */
TB_MUST_USE tb_code tb_store_supersede(tb_store *store, int64_t epoch, tb_error *err);

TB_API_END

#endif
