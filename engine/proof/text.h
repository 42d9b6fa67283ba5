/* What notes, checkpoints, proofs and entries have in common as texts: lines, numbers, base64, names. */
#ifndef TOLLBOOK_PROOF_TEXT_H
#define TOLLBOOK_PROOF_TEXT_H

#include "tollbook/proof.h"

/* Takes the first line of *rest, without its newline. false: no newline is left. */
bool tb__proof_line(tb_text *rest, tb_text *ret_line);
/* Takes `literal` from the front of *rest; false: it is not there, and *rest is unchanged. */
bool tb__proof_take(tb_text *rest, const char *literal);
/* A decimal number from 0 to INT64_MAX without leading zeros, and nothing else. */
bool tb__proof_number(tb_text text, int64_t *ret);
/* The base64 of `size` bytes exactly. */
bool tb__proof_bytes(tb_text text, uint8_t *out, size_t size);
/* Whether the text is the base64 of one byte or more. */
bool tb__proof_is_base64(tb_text text);
/* Appends the base64 of at most 96 bytes. */
void tb__proof_add_base64(tb_buf *out, const uint8_t *bytes, size_t len);
void tb__proof_add_hashes(tb_buf *out, const tb_merkle_proof *proof); /* a line each */
/* Lines of hashes up to an empty line, which is taken too. false: one is no hash, they are too many, or none is empty. */
bool tb__proof_take_hashes(tb_text *rest, tb_merkle_proof *ret);

/* Whether a key may have this name: see tb_note_key; of any length. */
bool tb__note_is_name(tb_text name);
/* Reads the signature lines of ret->text, which is set. */
TB_MUST_USE tb_code tb__note_signatures(tb_text lines, tb_note *ret, tb_error *err);
/* Whether the signature says that this key made it. */
bool tb__note_is_by(const tb_note_signature *signature, const tb_note_key *key);

#endif
