/* The log of documents in the store (proof.h has its forms): one log a database, which begins with tb_store_proof_start. From
 * then on every price book that is added, every document that is made final and every void is appended in its transaction, and
 * every UTC day by tb_store_proof_close. Without a log nothing of this costs anything.
 *
 * A commitment's salt is BLAKE2b over the entry's index and content, with the log's seed as its key: random bytes that
 * are given once and kept in the file. So whoever appends needs no random bytes, and a salt that is shown opens no other entry. */
#ifndef TOLLBOOK_PROOFLOG_H
#define TOLLBOOK_PROOFLOG_H

#include "tollbook/invoice.h"
#include "tollbook/proof.h"
#include "tollbook/store.h"

TB_API_BEGIN

#define TB_PROOF_SEED 32 /* random bytes */

typedef struct tb_proof_log {
    bool begun;
    int64_t size;       /* entries */
    int64_t open;       /* the first UTC day that is not closed, in days since 1970 */
    int64_t checkpoint; /* size of the newest checkpoint; 0: none */
} tb_proof_log;
TB_MUST_USE tb_code tb_store_proof_log(tb_store *store, tb_proof_log *ret, tb_error *err);

/* Begins the log, in the caller's transaction, with what is there: price books, final documents, voids. Days come with
 * tb_store_proof_close, from the first with usage on. TB_E_USAGE: it was begun already. */
TB_MUST_USE tb_code tb_store_proof_start(tb_store *store, const uint8_t random[TB_PROOF_SEED], int64_t now_us,
                                          tb_error *err);

/* Closes days through this one, in the caller's transaction: first days closed before that changed, then open ones. Looks at `most`
 * accounts' days at most; those that are left of a day count as changed. *ret_more: go on. TB_E_NOT_FOUND: there is no log. */
TB_MUST_USE tb_code tb_store_proof_close(tb_store *store, int64_t through, uint64_t most, bool *ret_more, tb_error *err);

/* Closes all days through this one, and all that changed; nothing where there is no log. */
TB_MUST_USE tb_code tb_store_proof_close_through(tb_store *store, int64_t day, tb_error *err);

/* An account's day in the log: its entry's index. */
typedef struct tb_proof_day {
    int64_t day, index;
} tb_proof_day;
/* The days of a month as they were rated at a data version: of each the newest entry that was read by then. Of a document that is older
 * than the log: its first entry. Ascending by day; free(). TB_E_NOT_KEPT: such a day changed before the log began. */
TB_MUST_USE tb_code tb_store_proof_days(tb_store *store, int64_t account, int64_t month, uint64_t known, tb_proof_day **ret_days,
                                        size_t *ret_n, tb_error *err);

/* The first entry of this type, account and subject: the number of a document, the ID of a book (of no account). -1: there is none. */
TB_MUST_USE tb_code tb_store_proof_find(tb_store *store, tb_proof_type type, int64_t account, const char *subject, int64_t *ret_index,
                                        tb_error *err);
/* An entry with what it commits to: bytes [at, at + len) of the buffer. */
typedef struct tb_proof_opened {
    tb_proof_entry entry;
    int64_t index;
    size_t at, len;
    uint8_t salt[TB_PROOF_SALT];
    bool forgotten; /* TB_E_NOT_KEPT: the customer was forgotten, */
    bool changed;   /* or the day's usage changed, and the text of before cannot be made */
} tb_proof_opened;
/* Appends what the entry commits to. terms: the content of an entry of terms, which are not stored. TB_E_NOT_KEPT: it can no longer be
 * made, and why. TB_E_NOT_FOUND: there is no such entry. */
TB_MUST_USE tb_code tb_store_proof_open(tb_store *store, int64_t index, tb_text terms, tb_proof_opened *ret, tb_buf *out, tb_error *err);
/* tb_merkle_prove_entry and tb_merkle_prove_growth over the store's tiles. */
TB_MUST_USE tb_code tb_store_proof_path(tb_store *store, int64_t size, int64_t index, tb_merkle_proof *ret, tb_error *err);
TB_MUST_USE tb_code tb_store_proof_growth(tb_store *store, int64_t old_size, int64_t new_size, tb_merkle_proof *ret, tb_error *err);

/* Places (tb_store_issued_at) of at most so many documents without terms in the log, behind a place. Ascending; free(). */
TB_MUST_USE tb_code tb_store_proof_termless(tb_store *store, int64_t after, size_t most, int64_t **ret_places, size_t *ret_n, tb_error *err);
struct tb_invoice;
/* Appends the terms of a document that was made before the log began, in the caller's transaction. */
TB_MUST_USE tb_code tb_store_proof_terms(tb_store *store, const struct tb_invoice *invoice, tb_text text, tb_error *err);

/* The root of the whole log, and its size. */
TB_MUST_USE tb_code tb_store_proof_root(tb_store *store, int64_t *ret_size, tb_merkle_hash *ret_root, tb_error *err);
/* Signs a checkpoint of the whole log, in the caller's transaction. The key's name is the log's. Nothing where the newest
 * checkpoint has its size. TB_E_NOT_FOUND: there is no log, or it is empty. */
TB_MUST_USE tb_code tb_store_proof_sign(tb_store *store, const tb_note_secret *secret, tb_error *err);
/* What the document of this number prints of the log; *ret_covered false: there is no log, or no checkpoint covers it yet.
 * ret->address is NULL. */
TB_MUST_USE tb_code tb_store_proof_printed(tb_store *store, int64_t account, const char *number, tb_invoice_proof *ret,
                                           bool *ret_covered, tb_error *err);
/* Appends the newest checkpoint, a signed note. TB_E_NOT_FOUND: there is none. */
TB_MUST_USE tb_code tb_store_proof_checkpoint(tb_store *store, tb_buf *out, tb_error *err);
/* Adds a witness's signature, out of its answer, to the checkpoint of `size` entries, in the caller's transaction: its text and the
 * log's signature stay. Errors of tb_witness_add. TB_E_NOT_FOUND: there is no such checkpoint. */
TB_MUST_USE tb_code tb_store_proof_cosign(tb_store *store, int64_t size, const tb_note_key *witness, tb_text answer, tb_error *err);
/* Whether the log of now begins with the one of a checkpoint that was kept elsewhere, which may be of a size that none here has.
 * Differences as in tb_store_verify. Its signature is the caller's. */
TB_MUST_USE tb_code tb_store_verify_checkpoint(tb_store *store, const tb_checkpoint *checkpoint, tb_say say, void *ctx,
                                               uint64_t *ret_differences, tb_error *err);
/* Appends the bytes of a tile, or of an entry bundle. TB_E_NOT_FOUND: the newest checkpoint does not cover it. */
TB_MUST_USE tb_code tb_store_proof_tile(tb_store *store, const tb_tile *tile, tb_buf *out, tb_error *err);

TB_API_END

#endif
