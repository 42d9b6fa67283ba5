/* The texts of the log of documents, each reader on the whole input: notes and their checkpoints, keys, proofs, entries, tile
 * paths, bundles, answers of witnesses. What is taken is written again and has to be the same bytes; what is refused has an
 * error with a field and a sentence. Proofs that are taken are verified, whatever they prove. */
#include "tollbook/proof.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define PROMISE(x)                                                                                 \
    do {                                                                                           \
        if (!(x)) abort();                                                                         \
    } while (0)

#define KEYS 3
static const char *const vkeys[KEYS] = {
    "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW",
    "sum.golang.org+033de0ae+Ac4zctda0e5eza+HJyk9SxEdh+s3Ux18htTTAD8OuAn8",
    "witness.navigli.sunlight.geomys.org+a3e00fe2+BNy/co4C1Hn1p+INwJrfUlgz7W55dSZReusH/GhUhJ/G",
};

static void is_same(const tb_buf *out, const char *text, size_t len)
{
    PROMISE(!out->failed && out->len == len && (len == 0 || memcmp(out->data, text, len) == 0));
}

static void is_refused(tb_code code, const tb_error *err)
{
    PROMISE((code == TB_E_VALIDATION || code == TB_E_TOO_LARGE) && err->code == code && err->field[0] && err->message[0]);
}

static void check_checkpoint(tb_text text)
{
    tb_checkpoint checkpoint;
    tb_error err;
    tb_buf out;
    const tb_code code = tb_checkpoint_read(text, &checkpoint, &err);
    if (code) {
        is_refused(code, &err);
        return;
    }
    PROMISE(checkpoint.size >= 0 && checkpoint.origin.len > 0);
    tb_buf_init(&out, TB_NOTE_MAX, NULL);
    tb_checkpoint_write(&checkpoint, &out);
    is_same(&out, text.data, text.len);
    tb_buf_release(&out);
}

static void check_note(const char *text, size_t len)
{
    tb_note note;
    tb_note_signer signers[KEYS];
    tb_error err;
    tb_buf out;
    tb_code code = tb_note_read(text, len, &note, &err);
    if (code) {
        is_refused(code, &err);
        return;
    }
    PROMISE(note.n_signatures > 0 && note.n_signatures <= TB_NOTE_SIGNATURES && note.text.data[note.text.len - 1] == '\n');
    tb_buf_init(&out, TB_NOTE_MAX, NULL);
    tb_buf_add(&out, note.text.data, note.text.len);
    tb_buf_str(&out, "\n");
    for (size_t i = 0; i < note.n_signatures; i++) {
        tb_buf_add(&out, note.signatures[i].line.data, note.signatures[i].line.len);
        tb_buf_str(&out, "\n");
    }
    is_same(&out, text, len);
    tb_buf_release(&out);
    for (size_t i = 0; i < KEYS; i++)
        PROMISE(tb_note_key_read(vkeys[i], strlen(vkeys[i]), &signers[i].key, NULL) == TB_OK);
    code = tb_note_open(&note, signers, KEYS, &err);
    PROMISE(code == TB_OK || code == TB_E_DIFFERENT || code == TB_E_NOT_FOUND || code == TB_E_TOO_LARGE);
    PROMISE((code == TB_OK) == (signers[0].has_signed || signers[1].has_signed || signers[2].has_signed));
    check_checkpoint(note.text);
}

static void check_proof(const char *text, size_t len)
{
    tb_proof proof;
    tb_error err;
    tb_buf out;
    const tb_code code = tb_proof_read(text, len, &proof, &err);
    if (code) {
        is_refused(code, &err);
        return;
    }
    PROMISE(proof.index >= 0 && proof.path.n <= TB_MERKLE_PROOF_MAX);
    tb_buf_init(&out, TB_PROOF_TEXT_MAX, NULL);
    tb_proof_write(&proof, &out);
    is_same(&out, text, len);
    tb_buf_release(&out);
    const tb_merkle_hash leaf = tb_merkle_leaf(text, len);
    for (int shift = 0; shift < 63 && proof.path.n > 0; shift++) { /* nothing is around a hash of the text itself */
        const int64_t more = INT64_C(1) << shift, size = proof.index > INT64_MAX - more ? INT64_MAX : proof.index + more;
        PROMISE(!tb_merkle_includes(size, &leaf, proof.index, &leaf, &proof.path));
        PROMISE(!tb_merkle_extends(proof.index, &leaf, size, &leaf, &proof.path));
    }
    check_note(proof.checkpoint.data, proof.checkpoint.len);
}

static void check_entry(const char *text, size_t len)
{
    tb_proof_entry entry;
    tb_error err;
    tb_buf out;
    const tb_code code = tb_proof_entry_read(text, len, &entry, &err);
    if (code) {
        is_refused(code, &err);
        return;
    }
    tb_buf_init(&out, TB_MERKLE_ENTRY_MAX, NULL);
    tb_proof_entry_write(&entry, &out);
    is_same(&out, text, len);
    tb_buf_release(&out);
}

static void check_key(const char *text, size_t len)
{
    tb_note_key key;
    tb_note_secret secret;
    char out[TB_NOTE_SKEY];
    if (tb_note_key_read(text, len, &key, NULL) == TB_OK) {
        tb_note_key_write(&key, out);
        PROMISE(strlen(out) == len && memcmp(out, text, len) == 0);
    }
    if (tb_note_secret_read(text, len, &secret, NULL) == TB_OK) {
        tb_note_secret_write(&secret, out);
        PROMISE(strlen(out) == len - (text[len - 1] == '\n') && memcmp(out, text, strlen(out)) == 0);
    }
}

static void check_path(const char *text, size_t len)
{
    tb_tile tile;
    char out[TB_TILE_PATH];
    if (!tb_tile_path_read(text, len, &tile)) return;
    PROMISE(tile.level >= TB_TILE_ENTRIES && tile.level <= 63 && tile.index >= 0 && tile.width >= 1 && tile.width <= TB_TILE_WIDTH);
    tb_tile_path(&tile, out);
    PROMISE(strlen(out) == len && memcmp(out, text, len) == 0);
    PROMISE(tb_tile_width(INT64_MAX, tile.level, tile.index) <= TB_TILE_WIDTH);
}

static void check_bundle(const char *text, size_t len)
{
    size_t at = 0, entries = 0;
    tb_text entry;
    while (tb_bundle_next((tb_text){text, len}, &at, &entry))
        entries += 2 + entry.len;
    PROMISE(at == entries && at <= len);
}

/* The input as the answer of a witness, whose checkpoint another key signed. */
static void check_answer(const char *text, size_t len)
{
    static const char checkpoint[] = "go.sum database tree\n6476701\nmb8QLQIs0Z0yP5Cstq6guj87oXWeC9gEM8oVikmm9Wk=\n\n— a x08go/ZJkuA=\n";
    tb_note_key key;
    tb_buf out;
    tb_error err;
    PROMISE(tb_note_key_read(vkeys[1], strlen(vkeys[1]), &key, NULL) == TB_OK);
    tb_buf_init(&out, TB_NOTE_MAX, NULL);
    const tb_code code = tb_witness_add((tb_text){checkpoint, sizeof checkpoint - 1}, (tb_text){text, len}, &key, &out, &err);
    if (code == TB_OK) check_note(out.data, out.len);
    else PROMISE(code == TB_E_DIFFERENT || code == TB_E_NOT_FOUND || code == TB_E_VALIDATION || code == TB_E_TOO_LARGE);
    tb_buf_release(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data;
    check_note(text, size);
    check_checkpoint((tb_text){text, size});
    check_proof(text, size);
    check_entry(text, size);
    check_key(text, size);
    check_path(text, size);
    check_bundle(text, size);
    check_answer(text, size);
    return 0;
}
