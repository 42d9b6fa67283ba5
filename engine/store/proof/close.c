/* Closing days, and checkpoints. */
#include "store/proof/log.h"

#include <stdlib.h>
#include <string.h>

#include "tollbook/calendar.h"
#include "tollbook/retain.h"

typedef struct closing {
    tb__proof_log *log;
    uint64_t looked; /* at so many accounts' days */
    tb_buf text;
} closing;

/* --- an account's day --- */

static void name_day(int64_t day, char ret[11])
{
    char moment[20];
    tb_time_format(day * TB_US_PER_DAY, moment);
    memcpy(ret, moment, 10);
    ret[10] = 0;
}

/* Hours that may be gone prove nothing any more. */
static tb_code read_usage(closing *c, int64_t account, int64_t day, bool *ret_kept, tb_error *err)
{
    tb_kept kept;
    tb_code code = tb_store_kept(c->log->store, account, &kept, err);
    c->text.len = 0;
    c->looked++;
    *ret_kept = !code && tb_month_from_day(day) >= kept.hours;
    return code || !*ret_kept ? code : tb__proof_day_text(c->log->store, account, day, INT64_MAX, &c->text, err);
}

static tb_code append_day(closing *c, int64_t account, int64_t day, int64_t first, tb_error *err)
{
    tb_proof_entry entry = {.type = TB_PROOF_USAGE, .day = day, .of = first};
    char name[11];
    name_day(day, name);
    const tb_text text = {c->text.len ? c->text.data : "", c->text.len};
    return tb__proof_append(c->log, &entry, (tb__proof_of){account, name}, text, err);
}

/* The entries that a day has. *ret_first: of the first, -1: none; *ret_same: the last one is of this text. */
static tb_code find_entries(closing *c, int64_t account, int64_t day, int64_t *ret_first, bool *ret_same, tb_error *err)
{
    const tb_text text = {c->text.len ? c->text.data : "", c->text.len};
    char name[11];
    sqlite3_stmt *s;
    bool row = true;
    *ret_first = -1;
    *ret_same = false;
    name_day(day, name);
    tb_code code = tb__sql(c->log->store, TB__SQL_PROOF_ENTRIES_OF, &s, err);
    if (code) return code;
    sqlite3_bind_text(s, 1, name, -1, SQLITE_STATIC);
    sqlite3_bind_int64(s, 2, account);
    sqlite3_bind_text(s, 3, tb_proof_type_name(TB_PROOF_USAGE), -1, SQLITE_STATIC);
    while (!code && !(code = tb__step(c->log->store, s, &row, err)) && row) {
        const char *bytes = (const char *)sqlite3_column_text(s, 1);
        const int64_t index = sqlite3_column_int64(s, 0);
        uint8_t salt[TB_PROOF_SALT];
        tb_proof_entry entry;
        code = bytes ? tb_proof_entry_read(bytes, (size_t)sqlite3_column_bytes(s, 1), &entry, err) : tb_no_memory(err);
        if (*ret_first < 0) *ret_first = index;
        tb__proof_salt(c->log->seed, index, text, salt);
        const tb_merkle_hash hash = tb_proof_commit(salt, text.data, text.len);
        *ret_same = !code && tb_merkle_same(&hash, &entry.hash);
        if (code) sqlite3_reset(s);
    }
    return code;
}

/* --- days that changed --- */

typedef struct change {
    int64_t account, day;
} change;

static tb_code change_from(sqlite3_stmt *s, void *item, tb_error *err)
{
    (void)err;
    *(change *)item = (change){sqlite3_column_int64(s, 0), sqlite3_column_int64(s, 1)};
    return TB_OK;
}

static tb_code close_again(closing *c, const change *of, tb_error *err)
{
    const int64_t values[2] = {of->account, of->day};
    int64_t first = -1;
    bool kept, same = false;
    tb_code code = read_usage(c, of->account, of->day, &kept, err);
    if (!code && kept) code = find_entries(c, of->account, of->day, &first, &same, err);
    if (!code && kept && !same && (first >= 0 || c->text.len)) code = append_day(c, of->account, of->day, first, err);
    return code ? code : tb__run_ints(c->log->store, TB__SQL_PROOF_CHANGE_GONE, values, 2, err);
}

/* of: which of them, with its value. *ret_n: so many. */
static tb_code close_changed(closing *c, tb__statement of, int64_t value, size_t *ret_n, tb_error *err)
{
    static const tb__rows rows = {sizeof(change), change_from, NULL};
    change *list = NULL;
    tb_code code = tb__collect_ints(c->log->store, of, &value, 1, &rows, &list, ret_n, err);
    for (size_t i = 0; !code && i < *ret_n; i++)
        code = close_again(c, &list[i], err);
    free(list);
    return code;
}

/* *ret_left: changes are left. */
static tb_code close_some(closing *c, uint64_t most, bool *ret_left, tb_error *err)
{
    const uint64_t left = most - c->looked;
    const int64_t limit = left < INT64_MAX ? (int64_t)left : INT64_MAX;
    size_t n = 0;
    tb_code code = close_changed(c, TB__SQL_PROOF_CHANGES, limit, &n, err);
    *ret_left = n == (size_t)limit;
    return code;
}

/* --- the whole --- */

/* Notes the first open day as changed, for each account: so a part of them can be closed now, and the others later. */
static tb_code note_open(tb__proof_log *log, tb_error *err)
{
    tb_code code = tb__run_ints(log->store, TB__SQL_PROOF_OPEN_CHANGED, &log->open, 1, err);
    if (!code) code = tb__meta_set(log->store, "proof_open", ++log->open, err);
    tb__late_forget(log->store);
    return code;
}

static closing begin_closing(tb__proof_log *log)
{
    closing c = {.log = log};
    tb_buf_init(&c.text, TB_PROOF_DAY_MAX, NULL);
    return c;
}

tb_code tb_store_proof_close(tb_store *store, int64_t through, uint64_t most, bool *ret_more, tb_error *err)
{
    tb__proof_log *log;
    *ret_more = false;
    tb_code code = tb__proof_begin(store, &log, err);
    if (!code && !log) code = tb__proof_none(err);
    if (code) return code;
    closing c = begin_closing(log);
    code = close_some(&c, most, ret_more, err);
    while (!code && !*ret_more && log->open <= through) {
        code = note_open(log, err);
        if (!code) code = close_some(&c, most, ret_more, err);
    }
    tb_buf_release(&c.text);
    return code;
}

tb_code tb_store_proof_close_through(tb_store *store, int64_t day, tb_error *err)
{
    int64_t open = 0, changed = 0;
    bool more = false;
    tb_code code = tb__proof_open(store, &open, err);
    if (code || open == INT64_MIN) return code;
    code = tb__int_of(store, TB__SQL_PROOF_CHANGED, NULL, 0, 0, &changed, err);
    return code || (open > day && !changed) ? code : tb_store_proof_close(store, day, UINT64_MAX, &more, err);
}

tb_code tb__proof_close_account(tb__proof_log *log, int64_t account, int64_t day, tb_error *err)
{
    closing c = begin_closing(log);
    size_t n = 0;
    tb_code code = TB_OK;
    while (!code && log->open <= day)
        code = note_open(log, err);
    if (!code) code = close_changed(&c, TB__SQL_PROOF_CHANGES_OF, account, &n, err);
    tb_buf_release(&c.text);
    return code;
}

/* --- what the log is --- */

tb_code tb_store_proof_log(tb_store *store, tb_proof_log *ret, tb_error *err)
{
    *ret = (tb_proof_log){.begun = false};
    tb_code code = tb__proof_open(store, &ret->open, err);
    ret->begun = !code && ret->open != INT64_MIN;
    if (code || !ret->begun) return code;
    code = tb__int_of(store, TB__SQL_PROOF_SIZE, NULL, 0, 0, &ret->size, err);
    return code ? code : tb__int_of(store, TB__SQL_PROOF_CHECKPOINT_SIZE, NULL, 0, 0, &ret->checkpoint, err);
}

tb_code tb_store_proof_root(tb_store *store, int64_t *ret_size, tb_merkle_hash *ret_root, tb_error *err)
{
    const tb_tile_reader reader = tb__proof_reader(store);
    tb_code code = tb__int_of(store, TB__SQL_PROOF_SIZE, NULL, 0, 0, ret_size, err);
    return code ? code : tb_merkle_root(&reader, *ret_size, ret_root, err);
}

/* --- checkpoints --- */

static tb_code put_checkpoint(tb_store *store, int64_t size, const tb_buf *note, tb_error *err)
{
    sqlite3_stmt *s;
    tb_code code = tb__sql_ints(store, TB__SQL_PROOF_CHECKPOINT_PUT, &size, 1, &s, err);
    if (code) return code;
    sqlite3_bind_text(s, 2, note->data, (int)note->len, SQLITE_STATIC);
    code = tb__run(store, s, err);
    sqlite3_clear_bindings(s);
    return code;
}

tb_code tb_store_proof_sign(tb_store *store, const tb_note_secret *secret, tb_error *err)
{
    tb_checkpoint checkpoint = {.origin = {secret->key.name, strlen(secret->key.name)}};
    tb_proof_log log;
    tb_buf note;
    tb_code code = tb_store_proof_log(store, &log, err);
    if (!code && !log.begun) code = tb__proof_none(err);
    if (!code && !log.size) code = tb_fail(err, TB_E_NOT_FOUND, NULL, "The log of documents has no entry yet, so there is nothing to sign.");
    if (code || log.size == log.checkpoint) return code;
    code = tb_store_proof_root(store, &checkpoint.size, &checkpoint.root, err);
    if (code) return code;
    tb_buf_init(&note, TB_NOTE_MAX, NULL);
    tb_checkpoint_sign(&checkpoint, secret, &note);
    code = tb_buf_check(&note, err);
    if (!code) code = put_checkpoint(store, checkpoint.size, &note, err);
    tb_buf_release(&note);
    return code;
}

tb_code tb_store_proof_checkpoint(tb_store *store, tb_buf *out, tb_error *err)
{
    sqlite3_stmt *s;
    bool row = false;
    if (store->schema < TB__SCHEMA_OF_PROOFS) return tb__proof_none(err);
    tb_code code = tb__sql(store, TB__SQL_PROOF_CHECKPOINT, &s, err);
    if (!code) code = tb__step(store, s, &row, err);
    if (code) return code;
    if (!row)
        return tb_fail(err, TB_E_NOT_FOUND, NULL, "No checkpoint was signed yet. Sign one with: tollbook proof close-days --proof-key-file FILE");
    tb_buf_add(out, sqlite3_column_blob(s, 0), (size_t)sqlite3_column_bytes(s, 0));
    sqlite3_reset(s);
    return tb_buf_check(out, err);
}

/* --- tiles for others --- */

static tb_code put_bundle(tb_store *store, const tb_tile *tile, tb_buf *out, tb_error *err)
{
    const int64_t first = tile->index * TB_TILE_WIDTH;
    const int64_t values[2] = {first, first + tile->width};
    sqlite3_stmt *s;
    bool row = true;
    tb_code code = tb__sql_ints(store, TB__SQL_PROOF_ENTRIES, values, 2, &s, err);
    while (!code && !(code = tb__step(store, s, &row, err)) && row)
        tb_bundle_add(out, (const char *)sqlite3_column_text(s, 4), (size_t)sqlite3_column_bytes(s, 4));
    return code;
}

static tb_code put_tile(tb_store *store, const tb_tile *tile, tb_buf *out, tb_error *err)
{
    const tb_tile_reader reader = tb__proof_reader(store);
    tb_merkle_hash hashes[TB_TILE_WIDTH];
    tb_code code = reader.read(reader.ctx, tile, hashes, err);
    for (int32_t i = 0; !code && i < tile->width; i++)
        tb_buf_add(out, hashes[i].bytes, sizeof hashes[i].bytes);
    return code;
}

tb_code tb_store_proof_tile(tb_store *store, const tb_tile *tile, tb_buf *out, tb_error *err)
{
    const bool entries = tile->level == TB_TILE_ENTRIES;
    int64_t size = 0;
    if (store->schema < TB__SCHEMA_OF_PROOFS) return tb__proof_none(err);
    tb_code code = tb__int_of(store, TB__SQL_PROOF_CHECKPOINT_SIZE, NULL, 0, 0, &size, err);
    if (code) return code;
    if (tile->level >= TB_TILE_LEVELS || tb_tile_width(size, entries ? 0 : tile->level, tile->index) < tile->width)
        return tb_fail(err, TB_E_NOT_FOUND, NULL, "The newest checkpoint has no such tile.");
    code = entries ? put_bundle(store, tile, out, err) : put_tile(store, tile, out, err);
    return code ? code : tb_buf_check(out, err);
}
