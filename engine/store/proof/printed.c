/* What a document prints of the log: the log's name, the entry's index, the root of the first checkpoint that covers it. */
#include "store/proof/log.h"

#include <sodium.h>
#include <string.h>

static tb_code read_checkpoint(const char *text, size_t len, tb_invoice_proof *ret, tb_error *err)
{
    tb_note note;
    tb_checkpoint checkpoint;
    if (tb_note_read(text, len, &note, NULL) || tb_checkpoint_read(note.text, &checkpoint, NULL) ||
        checkpoint.origin.len >= sizeof ret->log)
        return tb_fail(err, TB_E_CORRUPT, "proof_checkpoint", "A checkpoint of the log of documents is damaged. Run verify.");
    memcpy(ret->log, checkpoint.origin.data, checkpoint.origin.len);
    ret->log[checkpoint.origin.len] = 0;
    sodium_bin2hex(ret->root, sizeof ret->root, checkpoint.root.bytes, sizeof ret->root / 2);
    return TB_OK;
}

tb_code tb_store_proof_printed(tb_store *store, int64_t account, const char *number, tb_invoice_proof *ret,
                               bool *ret_covered, tb_error *err)
{
    int64_t open;
    sqlite3_stmt *s;
    *ret = (tb_invoice_proof){.index = -1};
    *ret_covered = false;
    tb_code code = tb__proof_open(store, &open, err);
    if (code || open == INT64_MIN) return code;
    code = tb_store_proof_find(store, TB_PROOF_INVOICE, account, number, &ret->index, err);
    if (code || ret->index < 0) return code;
    code = tb__sql_ints(store, TB__SQL_PROOF_CHECKPOINT_OVER, &ret->index, 1, &s, err);
    if (!code) code = tb__step(store, s, ret_covered, err);
    if (code || !*ret_covered) return code;
    code = read_checkpoint(sqlite3_column_blob(s, 0), (size_t)sqlite3_column_bytes(s, 0), ret, err);
    sqlite3_reset(s);
    return code;
}
