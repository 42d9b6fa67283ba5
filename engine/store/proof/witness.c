/* What a witness of the log is asked with, and what it answers (c2sp.org/tlog-witness). */
#include "store/proof/log.h"

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
