/* Appending to the log of documents, and its tiles. The tree's edge is read at a transaction's first append and written before its
 * commit. After a rollback to the mark it is read again, and the entries that are left of the transaction are added. */
#include "store/proof/log.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

const char tb__proof_secret[] = "log of documents";

tb_code tb__proof_none(tb_error *err)
{
    return tb_fail(err, TB_E_NOT_FOUND, NULL, "This database has no log of documents. Begin one with: tollbook proof start");
}

tb_code tb__proof_open(tb_store *store, int64_t *ret_day, tb_error *err)
{
    *ret_day = INT64_MIN;
    return store->schema < TB__SCHEMA_OF_PROOFS ? TB_OK : tb__meta_get(store, "proof_open", ret_day, err);
}

/* --- tiles --- */

static tb_code no_tile(const tb_tile *tile, tb_error *err)
{
    return tb_fail(err, TB_E_CORRUPT, "proof_tile", "Tile %lld of level %d of the log of documents is missing or too short. Run verify.",
                   (long long)tile->index, (int)tile->level);
}

static tb_code read_tile(void *ctx, const tb_tile *tile, tb_merkle_hash *hashes, tb_error *err)
{
    tb_store *store = ctx;
    const int64_t values[2] = {tile->level, tile->index};
    const size_t wanted = (size_t)tile->width * sizeof *hashes;
    sqlite3_stmt *s;
    bool row = false;
    tb_code code = tb__proof_flush(store, err);
    if (!code) code = tb__sql_ints(store, TB__SQL_PROOF_TILE, values, 2, &s, err);
    if (!code) code = tb__step(store, s, &row, err);
    if (code) return code;
    if (!row) return no_tile(tile, err);
    const bool whole = (size_t)sqlite3_column_bytes(s, 0) >= wanted;
    if (whole) memcpy(hashes, sqlite3_column_blob(s, 0), wanted);
    sqlite3_reset(s);
    return whole ? TB_OK : no_tile(tile, err);
}

tb_tile_reader tb__proof_reader(tb_store *store)
{
    return (tb_tile_reader){read_tile, store};
}

static tb_code write_tile(void *ctx, const tb_tile *tile, const tb_merkle_hash *hashes, tb_error *err)
{
    tb_store *store = ctx;
    const int64_t values[2] = {tile->level, tile->index};
    sqlite3_stmt *s;
    tb_code code = tb__sql_ints(store, TB__SQL_PROOF_TILE_PUT, values, 2, &s, err);
    if (code) return code;
    sqlite3_bind_blob(s, 3, hashes, tile->width * (int)sizeof *hashes, SQLITE_STATIC);
    code = tb__run(store, s, err);
    sqlite3_clear_bindings(s);
    return code;
}

/* --- salts --- */

tb_code tb__proof_seed(tb_store *store, uint8_t ret_seed[TB_PROOF_SEED], bool *ret_there, tb_error *err)
{
    sqlite3_stmt *s;
    *ret_there = false;
    tb_code code = tb__sql(store, TB__SQL_SECRET_GET, &s, err);
    if (code) return code;
    sqlite3_bind_text(s, 1, tb__proof_secret, -1, SQLITE_STATIC);
    code = tb__step(store, s, ret_there, err);
    if (code || !*ret_there) return code;
    const bool whole = sqlite3_column_bytes(s, 0) == TB_PROOF_SEED;
    if (whole) memcpy(ret_seed, sqlite3_column_blob(s, 0), TB_PROOF_SEED);
    sqlite3_reset(s);
    return whole ? TB_OK : tb_fail(err, TB_E_CORRUPT, "secret", "The seed of the log of documents is damaged. Run verify.");
}

void tb__proof_salt(const uint8_t seed[TB_PROOF_SEED], int64_t index, tb_text content, uint8_t ret_salt[TB_PROOF_SALT])
{
    crypto_generichash_state state;
    uint8_t number[8];
    for (int i = 0; i < 8; i++)
        number[i] = (uint8_t)((uint64_t)index >> (56 - 8 * i));
    crypto_generichash_init(&state, seed, TB_PROOF_SEED, TB_PROOF_SALT);
    crypto_generichash_update(&state, number, sizeof number);
    crypto_generichash_update(&state, (const uint8_t *)content.data, content.len);
    crypto_generichash_final(&state, ret_salt, TB_PROOF_SALT);
    sodium_memzero(&state, sizeof state);
}

/* --- the log of a transaction --- */

/* Adds the entries behind the tiles: those of this transaction before a mark that it was rolled back to. */
static tb_code add_unwritten(tb__proof_log *log, tb_error *err)
{
    const tb_tile_writer writer = {write_tile, log->store};
    const int64_t values[2] = {log->edge.size, INT64_MAX};
    sqlite3_stmt *s;
    bool row = true;
    tb_code code = tb__sql_ints(log->store, TB__SQL_PROOF_ENTRIES, values, 2, &s, err);
    while (!code && !(code = tb__step(log->store, s, &row, err)) && row) {
        const tb_merkle_hash leaf = tb_merkle_leaf(sqlite3_column_blob(s, 4), (size_t)sqlite3_column_bytes(s, 4));
        code = tb_merkle_append(&log->edge, &leaf, &writer, err);
        if (code) sqlite3_reset(s);
    }
    return code;
}

static tb_code load_log(tb__proof_log *log, tb_error *err)
{
    tb_store *store = log->store;
    const tb_tile_reader reader = tb__proof_reader(store);
    bool there = false;
    int64_t size = 0;
    tb_code code = tb__proof_seed(store, log->seed, &there, err);
    if (!code && !there) code = tb_fail(err, TB_E_CORRUPT, "secret", "The seed of the log of documents is missing. Run verify.");
    if (!code) code = tb__meta_get(store, "data_version", &log->version, err);
    if (!code) code = tb__int_of(store, TB__SQL_PROOF_WRITTEN, NULL, 0, 0, &size, err);
    if (!code) code = tb_merkle_edge_load(&log->edge, size, &reader, err);
    return code ? code : add_unwritten(log, err);
}

static void free_log(tb__proof_log *log)
{
    sodium_memzero(log->seed, sizeof log->seed);
    free(log);
}

void tb__proof_forget(tb_store *store, bool whole)
{
    if (!store->proof_log) return;
    store->proof_log->stale = true;
    if (!whole) return;
    free_log(store->proof_log);
    store->proof_log = NULL;
}

tb_code tb__proof_begin(tb_store *store, tb__proof_log **ret, tb_error *err)
{
    int64_t open = INT64_MIN;
    *ret = store->proof_log;
    if (*ret && !(*ret)->stale) return TB_OK;
    *ret = NULL;
    tb__proof_forget(store, true);
    tb_code code = tb__proof_open(store, &open, err);
    if (code || open == INT64_MIN) return code;
    tb__proof_log *log = malloc(sizeof *log);
    if (!log) return tb_no_memory(err);
    log->store = store;
    log->open = open;
    log->stale = false;
    code = load_log(log, err);
    if (code) free_log(log);
    else *ret = store->proof_log = log;
    return code;
}

tb_code tb__proof_flush(tb_store *store, tb_error *err)
{
    const tb_tile_writer writer = {write_tile, store};
    tb__proof_log *log;
    if (!store->proof_log) return TB_OK;
    tb_code code = tb__proof_begin(store, &log, err);
    return code || !log ? code : tb_merkle_flush(&log->edge, &writer, err);
}

/* --- appending --- */

static tb_code put_entry(tb__proof_log *log, const tb_proof_entry *entry, tb__proof_of of, const tb_buf *text, tb_error *err)
{
    const tb_tile_writer writer = {write_tile, log->store};
    const tb_merkle_hash leaf = tb_merkle_leaf(text->data, text->len);
    sqlite3_stmt *s;
    tb_code code = tb__sql(log->store, TB__SQL_PROOF_ENTRY_PUT, &s, err);
    if (code) return code;
    sqlite3_bind_int64(s, 1, log->edge.size);
    sqlite3_bind_text(s, 2, tb_proof_type_name(entry->type), -1, SQLITE_STATIC);
    sqlite3_bind_int64(s, 3, of.account);
    sqlite3_bind_text(s, 4, of.subject, -1, SQLITE_STATIC);
    sqlite3_bind_text(s, 5, text->data, (int)text->len, SQLITE_STATIC);
    sqlite3_bind_int64(s, 6, log->version + log->store->billing_stale); /* usage of this transaction has the next one */
    code = tb__run(log->store, s, err);
    sqlite3_clear_bindings(s);
    if (!code) code = tb_merkle_append(&log->edge, &leaf, &writer, err);
    const bool full = log->edge.size % TB_TILE_WIDTH == 0; /* then the tiles above it are written, too: all are of one size */
    return !code && full ? tb_merkle_flush(&log->edge, &writer, err) : code;
}

tb_code tb__proof_append(tb__proof_log *log, tb_proof_entry *entry, tb__proof_of of, tb_text content, tb_error *err)
{
    uint8_t salt[TB_PROOF_SALT];
    tb_buf text;
    if (entry->type == TB_PROOF_BOOK) {
        entry->hash = tb_proof_digest(content.data, content.len);
    } else {
        tb__proof_salt(log->seed, log->edge.size, content, salt);
        entry->hash = tb_proof_commit(salt, content.data, content.len);
    }
    tb_buf_init(&text, TB_MERKLE_ENTRY_MAX, NULL);
    tb_proof_entry_write(entry, &text);
    tb_code code = tb_buf_check(&text, err);
    if (!code) code = put_entry(log, entry, of, &text, err);
    tb_buf_release(&text);
    return code;
}
