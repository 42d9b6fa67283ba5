/* A checkpoint that was kept elsewhere, against the log of now: `verify --against`. */
#include "ops/proof/against.h"

#include <string.h>

#include "tollbook/prooflog.h"

/* An anchor's digest is the text's first word; a checkpoint may follow it in later lines, as `anchor` prints it, or be the text. */
void tb__against_split(tb_text text, tb_text *ret_digest, tb_text *ret_checkpoint)
{
    char word[TB_ANCHOR_MAX];
    size_t len = 0;
    while (len < text.len && text.data[len] != ' ' && text.data[len] != '\n')
        len++;
    *ret_digest = (tb_text){text.data, len};
    *ret_checkpoint = (tb_text){NULL, 0};
    const char *line = memchr(text.data, '\n', text.len);
    if (!line) return;
    const size_t rest = (size_t)(line + 1 - text.data);
    memcpy(word, text.data, len < sizeof word ? len : 0);
    word[len < sizeof word ? len : 0] = 0;
    const bool anchored = tb_anchor_check(word, NULL) == TB_OK;
    if (!anchored) *ret_digest = (tb_text){NULL, 0};
    if (!anchored) *ret_checkpoint = text;
    else if (rest < text.len) *ret_checkpoint = (tb_text){text.data + rest, text.len - rest};
}

/* Shells take off a text's last newline, which a note has. */
static tb_code keep_note(tb_text text, tb_buf *out, tb_note *ret, tb_error *err)
{
    tb_buf_add(out, text.data, text.len);
    if (text.len && text.data[text.len - 1] != '\n') tb_buf_str(out, "\n");
    tb_code code = tb_buf_check(out, err);
    return code ? code : tb_note_read(out->data, out->len, ret, err);
}

static void tell(const tb__against *a, const char *sentence)
{
    if (a->say) a->say(a->ctx, sentence);
}

/* The signature, by the log's key; what is wrong with it is a difference. */
static void check_signature(const tb__against *a, const tb_note *note, const tb_note_key *key, uint64_t *differences)
{
    tb_note_signer signer = {.key = *key};
    tb_checkpoint checkpoint;
    tb_error why;
    if (!a->vkey && !a->key) {
        tell(a, TB_NOTE "The signature of the checkpoint was not checked. Give the log's key, which `tollbook proof vkey` prints: --vkey VKEY.");
    } else if (tb_checkpoint_open(note, &signer, 1, &checkpoint, &why)) {
        tell(a, why.message);
        ++*differences;
    }
}

tb_code tb__against_checkpoint(tb_store *store, tb_text text, const tb__against *a, uint64_t *differences, tb_error *err)
{
    tb_note_key key = {.name = ""};
    tb_checkpoint checkpoint;
    tb_note note;
    tb_buf kept;
    uint64_t more = 0;
    tb_buf_init(&kept, TB_NOTE_MAX + 1, NULL);
    if (a->key) key = *a->key;
    tb_code code = a->vkey ? tb_note_key_read(a->vkey, strlen(a->vkey), &key, err) : TB_OK;
    if (!code) code = keep_note(text, &kept, &note, err);
    if (!code) code = tb_checkpoint_read(note.text, &checkpoint, err);
    if (!code && store) check_signature(a, &note, &key, differences);
    if (!code && store) code = tb_store_verify_checkpoint(store, &checkpoint, a->say, a->ctx, &more, err);
    *differences += more;
    tb_buf_release(&kept);
    return code;
}
