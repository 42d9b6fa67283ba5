/* Checkpoints, and what logs and witnesses say to each other about them. */
#include "proof/text.h"

#include <string.h>

static tb_code refuse_checkpoint(tb_error *err, const char *why)
{
    return tb_fail(err, TB_E_VALIDATION, "checkpoint", "This is not a checkpoint: %s.", why);
}

tb_code tb_checkpoint_read(tb_text text, tb_checkpoint *ret, tb_error *err)
{
    tb_checkpoint checkpoint;
    tb_text size, root, line;
    if (!tb__proof_line(&text, &checkpoint.origin) || checkpoint.origin.len == 0)
        return refuse_checkpoint(err, "its first line, the log's name, is empty");
    if (!tb__proof_line(&text, &size) || !tb__proof_number(size, &checkpoint.size))
        return refuse_checkpoint(err, "its second line is no size");
    if (!tb__proof_line(&text, &root) || !tb_merkle_read(root.data, root.len, &checkpoint.root))
        return refuse_checkpoint(err, "its third line is not the base64 of a hash");
    const tb_merkle_hash empty = tb_merkle_empty();
    if (checkpoint.size == 0 && !tb_merkle_same(&checkpoint.root, &empty))
        return refuse_checkpoint(err, "a tree without entries has another root");
    checkpoint.extensions = text;
    while (text.len > 0)
        if (!tb__proof_line(&text, &line) || line.len == 0) return refuse_checkpoint(err, "a line after the third is empty");
    *ret = checkpoint;
    return TB_OK;
}

void tb_checkpoint_write(const tb_checkpoint *checkpoint, tb_buf *out)
{
    tb_buf_add(out, checkpoint->origin.data, checkpoint->origin.len);
    tb_buf_fmt(out, "\n%lld\n", (long long)checkpoint->size);
    tb__proof_add_base64(out, checkpoint->root.bytes, sizeof checkpoint->root.bytes);
    tb_buf_str(out, "\n");
    tb_buf_add(out, checkpoint->extensions.data, checkpoint->extensions.len);
}

void tb_checkpoint_sign(const tb_checkpoint *checkpoint, const tb_note_secret *secret, tb_buf *out)
{
    tb_buf text;
    tb_buf_init(&text, TB_NOTE_TEXT, out->alloc);
    tb_checkpoint_write(checkpoint, &text);
    if (text.failed) out->failed = true;
    tb_buf_add(out, text.data, text.len);
    tb_buf_str(out, "\n");
    if (!out->failed) tb_note_sign(secret, (tb_text){text.data, text.len}, 0, out);
    tb_buf_release(&text);
}

static bool is_signed_by_log(const tb_checkpoint *checkpoint, const tb_note_signer *signers, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const tb_note_key *key = &signers[i].key;
        if (signers[i].has_signed && key->type == TB_NOTE_ED25519 && strlen(key->name) == checkpoint->origin.len &&
            memcmp(key->name, checkpoint->origin.data, checkpoint->origin.len) == 0)
            return true;
    }
    return false;
}

tb_code tb_checkpoint_open(const tb_note *note, tb_note_signer *signers, size_t n, tb_checkpoint *ret, tb_error *err)
{
    tb_checkpoint checkpoint = {.size = 0};
    tb_code code = tb_note_open(note, signers, n, err);
    if (!code) code = tb_checkpoint_read(note->text, &checkpoint, err);
    if (!code && !is_signed_by_log(&checkpoint, signers, n))
        code = tb_fail(err, TB_E_NOT_FOUND, "signature",
                       "No known key of the log signed the checkpoint: only witnesses or other logs did.");
    for (size_t i = 0; i < n && code; i++)
        signers[i] = (tb_note_signer){.key = signers[i].key};
    if (!code) *ret = checkpoint;
    return code;
}

/* --- witnesses --- */

void tb_witness_ask(int64_t old_size, const tb_merkle_proof *proof, tb_text checkpoint, tb_buf *out)
{
    tb_buf_fmt(out, "old %lld\n", (long long)old_size);
    tb__proof_add_hashes(out, proof);
    tb_buf_str(out, "\n");
    tb_buf_add(out, checkpoint.data, checkpoint.len);
}

static void add_note_line(tb_buf *out, tb_text line)
{
    tb_buf_add(out, line.data, line.len);
    tb_buf_str(out, "\n");
}

static void write_cosigned(const tb_note *note, const tb_note *answer, const tb_note_key *witness, tb_buf *out)
{
    const tb_note_signature *newest = NULL;
    add_note_line(out, note->text);
    for (size_t i = 0; i < note->n_signatures; i++)
        if (!tb__note_is_by(&note->signatures[i], witness)) add_note_line(out, note->signatures[i].line);
    for (size_t i = 0; i < answer->n_signatures; i++)
        if (tb__note_is_by(&answer->signatures[i], witness)) newest = &answer->signatures[i];
    if (newest) add_note_line(out, newest->line);
}

tb_code tb_witness_add(tb_text checkpoint, tb_text answer, const tb_note_key *witness, tb_buf *out, tb_error *err)
{
    tb_note note, theirs;
    tb_note_signer signer = {.key = *witness};
    tb_code code = tb_note_read(checkpoint.data, checkpoint.len, &note, err);
    if (!code && answer.len > TB_NOTE_MAX)
        code = tb_fail(err, TB_E_TOO_LARGE, "note", "The witness's answer has %zu bytes; %d is the most.", answer.len, TB_NOTE_MAX);
    if (!code) code = tb__note_signatures(answer, &theirs, err);
    if (code) return code;
    theirs.text = note.text;
    code = tb_note_open(&theirs, &signer, 1, err);
    if (!code && note.n_signatures == TB_NOTE_SIGNATURES)
        code = tb_fail(err, TB_E_TOO_LARGE, "note", "The checkpoint has %d signatures already.", TB_NOTE_SIGNATURES);
    if (!code) write_cosigned(&note, &theirs, witness, out);
    return code ? code : tb_buf_check(out, err);
}
