/* What a document's terms refer to: entries of the log of documents. */
#ifndef TOLLBOOK_OPS_PROOF_REFS_H
#define TOLLBOOK_OPS_PROOF_REFS_H

#include "tollbook/buf.h"
#include "tollbook/error.h"
#include "tollbook/proof.h"

typedef struct tb__proof_name {
    char text[TB_PROOF_BOOK_ID + 1];
} tb__proof_name;

/* Each may be in a list more than once. */
typedef struct tb__proof_refs {
    int64_t *days; /* indexes of the usage that was rated */
    size_t n_days, cap_days;
    tb__proof_name *books; /* IDs */
    size_t n_books, cap_books;
    tb__proof_name *earlier; /* numbers of the documents that it corrects */
    size_t n_earlier, cap_earlier;
} tb__proof_refs;

/* Release it in any case. */
TB_MUST_USE tb_code tb__proof_refs_read(tb_text terms, tb__proof_refs *ret, tb_error *err);
void tb__proof_refs_release(tb__proof_refs *refs);

#endif
