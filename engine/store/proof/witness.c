/* What a witness of the log is asked with, and what it answers (c2sp.org/tlog-witness); and a checkpoint that was kept elsewhere. */
#include "store/proof/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static tb_code read_note(tb_store *store, int64_t size, tb_buf *out, tb_error *err)
{
    sqlite3_stmt *s;
    bool row = false;
    tb_code code = tb__sql_ints(store, TB__SQL_PROOF_CHECKPOINT_OF, &size, 1, &s, err);
    if (!code) code = tb__step(store, s, &row, err);
    if (code) return code;
    if (!row) return tb_fail(err, TB_E_NOT_FOUND, NULL, "There is no checkpoint of %lld entries.", (long long)size);
    tb_buf_add(out, sqlite3_column_blob(s, 0), (size_t)sqlite3_column_bytes(s, 0));
    sqlite3_reset(s);
    return tb_buf_check(out, err);
}

static tb_code put_note(tb_store *store, int64_t size, const tb_buf *note, tb_error *err)
{
    sqlite3_stmt *s;
    tb_code code = tb__sql_ints(store, TB__SQL_PROOF_CHECKPOINT_COSIGNED, &size, 1, &s, err);
    if (code) return code;
    sqlite3_bind_text(s, 2, note->data, (int)note->len, SQLITE_STATIC);
    code = tb__run(store, s, err);
    sqlite3_clear_bindings(s);
    return code;
}

tb_code tb_store_proof_cosign(tb_store *store, int64_t size, const tb_note_key *witness, tb_text answer, tb_error *err)
{
    tb_buf before, after;
    tb_buf_init(&before, TB_NOTE_MAX, NULL);
    tb_buf_init(&after, TB_NOTE_MAX, NULL);
    tb_code code = read_note(store, size, &before, err);
    if (!code) code = tb_witness_add((tb_text){before.data, before.len}, answer, witness, &after, err);
    if (!code) code = put_note(store, size, &after, err);
    tb_buf_release(&before);
    tb_buf_release(&after);
    return code;
}

/* --- a checkpoint that was kept elsewhere --- */

typedef struct comparing {
    tb_say say;
    void *ctx;
    uint64_t n;
} comparing;

static void tell_difference(comparing *c, const char *fmt, ...) TB_PRINTF(2, 3);

static void tell_difference(comparing *c, const char *fmt, ...)
{
    char text[TB_NOTE_NAME * 2 + 300];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    c->n++;
    if (c->say) c->say(c->ctx, text);
}

/* Another name is another log, where one was signed here. */
static tb_code compare_name(tb_store *store, const tb_checkpoint *then, comparing *c, tb_error *err)
{
    tb_checkpoint now;
    tb_note note;
    tb_buf text;
    tb_buf_init(&text, TB_NOTE_MAX, NULL);
    tb_code code = tb_store_proof_checkpoint(store, &text, err);
    if (!code && !tb_note_read(text.data, text.len, &note, NULL) && !tb_checkpoint_read(note.text, &now, NULL) &&
        (now.origin.len != then->origin.len || memcmp(now.origin.data, then->origin.data, now.origin.len) != 0))
        tell_difference(c, "The checkpoint is of the log %.*s, and the log of documents here is %.*s.", (int)then->origin.len, then->origin.data,
             (int)now.origin.len, now.origin.data);
    tb_buf_release(&text);
    return code == TB_E_NOT_FOUND ? TB_OK : code;
}

static tb_code compare_root(tb_store *store, const tb_checkpoint *then, comparing *c, tb_error *err)
{
    const tb_tile_reader reader = tb__proof_reader(store);
    tb_merkle_hash root;
    const tb_code code = tb_merkle_root(&reader, then->size, &root, err);
    if (code == TB_E_CORRUPT) tell_difference(c, "%s", err->message);
    if (!code && !tb_merkle_same(&root, &then->root))
        tell_difference(c, "The first %lld entries of the log of documents are not those that the checkpoint covers.", (long long)then->size);
    return code == TB_E_CORRUPT ? TB_OK : code;
}

tb_code tb_store_verify_checkpoint(tb_store *store, const tb_checkpoint *checkpoint, tb_say say, void *ctx,
                                   uint64_t *ret_differences, tb_error *err)
{
    comparing c = {say, ctx, 0};
    tb_proof_log log;
    tb_code code = tb_store_proof_log(store, &log, err);
    if (code) return code;
    if (!log.begun) tell_difference(&c, "There is no log of documents; the checkpoint is of %lld entries.", (long long)checkpoint->size);
    else if (log.size < checkpoint->size)
        tell_difference(&c, "The log of documents has %lld entries, and the checkpoint covers %lld: it is an older copy, or it was cut.",
             (long long)log.size, (long long)checkpoint->size);
    else if (!(code = compare_name(store, checkpoint, &c, err)))
        code = compare_root(store, checkpoint, &c, err);
    if (!code) *ret_differences = c.n;
    return code;
}
