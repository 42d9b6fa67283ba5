/* Making what a customer checks bills with (bundle.h): the bundle of a document, the receipts of a month's days. */
#ifndef TOLLBOOK_TOLLPROOF_H
#define TOLLBOOK_TOLLPROOF_H

#include "tollbook/store.h"

TB_API_BEGIN

#define TB_PROOF_SINCE_NONE (-1)

typedef struct tb_bundle_ask {
    int64_t account; /* the document is this account's; 0: any's */
    const char *number;
    int64_t since; /* the size of a log: the bundle proves that it grew from there; TB_PROOF_SINCE_NONE: it does not */
} tb_bundle_ask;

/* Appends the bundle of a final or void document, in the caller's snapshot. TB_E_INVOICE_NOT_FOUND. TB_E_PROOF_GONE: it cannot be
 * made, and why. TB_E_PROOF_UNSIGNED: no checkpoint covers it yet. TB_E_NOT_FOUND: there is no log. TB_E_VALIDATION of "since".
 * TB_E_TOO_LARGE: the buffer has no room for it. */
TB_MUST_USE tb_code tb_proof_bundle(tb_store *store, const tb_bundle_ask *ask, tb_buf *out, tb_error *err);
/* Appends the receipts of an account's month: its days under the newest checkpoint. Days whose usage changed since are left out:
 * they come with the next close. Errors as above. */
TB_MUST_USE tb_code tb_proof_receipts(tb_store *store, int64_t account, int64_t month, tb_buf *out, tb_error *err);

TB_API_END

#endif
