/* Shared by the files of the log of documents. */
#ifndef TOLLBOOK_STORE_PROOF_LOG_H
#define TOLLBOOK_STORE_PROOF_LOG_H

#include "store/core/internal.h"
#include "tollbook/prooflog.h"

/* The log while a transaction appends to it. */
typedef struct tb__proof_log {
    tb_store *store;
    int64_t open;    /* the first day that is not closed */
    int64_t version; /* data version before this transaction */
    bool stale;      /* a part of the transaction was rolled back: to be read again */
    uint8_t seed[TB_PROOF_SEED];
    tb_merkle_edge edge;
} tb__proof_log;

#define TB_PROOF_DAY_MAX ((size_t)1 << 30) /* bytes of an account's day as text */

/* What an entry is of. */
typedef struct tb__proof_of {
    int64_t account;     /* 0: a price book */
    const char *subject; /* the book, the number, the day */
} tb__proof_of;

/* *ret: the log of the transaction, which the store owns; NULL: there is none. Good until a rollback, also one to the mark. */
TB_MUST_USE tb_code tb__proof_begin(tb_store *store, tb__proof_log **ret, tb_error *err);
/* Appends an entry. content: what it commits to; the commitment is made here. */
TB_MUST_USE tb_code tb__proof_append(tb__proof_log *log, tb_proof_entry *entry, tb__proof_of of, tb_text content, tb_error *err);
/* The salt of an entry that has this content. */
void tb__proof_salt(const uint8_t seed[TB_PROOF_SEED], int64_t index, tb_text content, uint8_t ret_salt[TB_PROOF_SALT]);
TB_MUST_USE tb_code tb__proof_seed(tb_store *store, uint8_t ret_seed[TB_PROOF_SEED], bool *ret_there, tb_error *err);
extern const char tb__proof_secret[]; /* the seed's name in the table secret */
tb_code tb__proof_none(tb_error *err); /* TB_E_NOT_FOUND */

/* Tiles in the store, with the entries of this transaction. ctx: the store. */
tb_tile_reader tb__proof_reader(tb_store *store);

/* day.c: appends an account's usage of a UTC day as text; nothing where there was none. known: as of this data version, for closed days
 * of a month that was run by then; INT64_MAX: now. */
TB_MUST_USE tb_code tb__proof_day_text(tb_store *store, int64_t account, int64_t day, int64_t known, tb_buf *out, tb_error *err);
/* close.c: closes an account's days through this one, and those of it that changed. Others' days are left to tb_store_proof_close. */
TB_MUST_USE tb_code tb__proof_close_account(tb__proof_log *log, int64_t account, int64_t day, tb_error *err);
/* documents.c: what a void commits to. */
void tb__proof_void_text(const char *number, int64_t at_us, tb_buf *out);

#endif
