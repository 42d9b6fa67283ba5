/* A checkpoint that was kept elsewhere, against the log of now. */
#ifndef TOLLBOOK_OPS_PROOF_AGAINST_H
#define TOLLBOOK_OPS_PROOF_AGAINST_H

#include "tollbook/prooflog.h"

typedef struct tb__against {
    const char *vkey;       /* the log's key, as text; NULL: not given */
    const tb_note_key *key; /* the same, where the server signs; NULL: it does not */
    tb_say say;             /* of differences, and of notes, which begin with TB_NOTE; may be NULL */
    void *ctx;
} tb__against;

/* The parts of what `anchor` printed; data NULL: there is none. */
void tb__against_split(tb_text text, tb_text *ret_digest, tb_text *ret_checkpoint);
/* Adds the differences that it finds to *differences. store NULL: only whether it can be read is looked at. TB_E_VALIDATION: it is no checkpoint, or the key is none. */
TB_MUST_USE tb_code tb__against_checkpoint(tb_store *store, tb_text text, const tb__against *a, uint64_t *differences, tb_error *err);

#endif
