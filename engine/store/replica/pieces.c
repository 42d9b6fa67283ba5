/* Pieces as rows: made by commits, read for copies, applied to them, and trimmed. */
#include "store/replica/capture.h"
#include "tollbook/replica.h"

#include <sodium.h>
#include <stdio.h>
#include <string.h>

_Static_assert(TB_PIECE_CHAIN == crypto_hash_sha256_BYTES, "a chain is a SHA-256");

/* A row of `piece`. `total` is the bytes of all pieces of the chain up to this one, so that those of the kept ones are a
 * difference. The data lives until the statement's next step. */
typedef struct piece_row {
    tb_piece piece;
    int64_t total;
} piece_row;

/* Column 6 is the data, or its length alone. */
static tb_code read_row(sqlite3_stmt *s, piece_row *ret, tb_error *err)
{
    const void *chain = sqlite3_column_blob(s, 5);
    const bool whole = sqlite3_column_type(s, 6) == SQLITE_BLOB;
    *ret = (piece_row){.piece = {.number = sqlite3_column_int64(s, 0),
                                 .epoch = sqlite3_column_int64(s, 1),
                                 .at_us = sqlite3_column_int64(s, 2),
                                 .version = sqlite3_column_int64(s, 3),
                                 .data = whole ? sqlite3_column_blob(s, 6) : NULL,
                                 .len = whole ? (size_t)sqlite3_column_bytes(s, 6) : (size_t)sqlite3_column_int64(s, 6)},
                       .total = sqlite3_column_int64(s, 4)};
    if (!chain || sqlite3_column_bytes(s, 5) != TB_PIECE_CHAIN || (whole && ret->piece.len && !ret->piece.data))
        return tb_no_memory(err);
    memcpy(ret->piece.chain, chain, TB_PIECE_CHAIN);
    return TB_OK;
}

/* One row without its data. number 0: there is none. */
static tb_code read_head(tb_store *store, tb__statement which, int64_t number, piece_row *ret, tb_error *err)
{
    sqlite3_stmt *s;
    bool row;
    *ret = (piece_row){.total = 0};
    tb_code code = tb__sql_ints(store, which, &number, which == TB__SQL_PIECE_HEAD, &s, err);
    if (!code) code = tb__step(store, s, &row, err);
    if (code || !row) return code;
    code = read_row(s, ret, err);
    sqlite3_reset(s);
    return code;
}

static tb_code read_end(tb_store *store, tb__statement which, piece_row *ret, tb_error *err)
{
    return read_head(store, which, 0, ret, err);
}

static void add_number(crypto_hash_sha256_state *hash, int64_t number)
{
    uint8_t bytes[8];
    for (int i = 0; i < 8; i++)
        bytes[i] = (uint8_t)((uint64_t)number >> (8 * i));
    crypto_hash_sha256_update(hash, bytes, sizeof bytes);
}

/* SHA-256 over the chain before, the four numbers (little-endian), and the data. */
static void chain_piece(const uint8_t before[TB_PIECE_CHAIN], const tb_piece *p, uint8_t ret[TB_PIECE_CHAIN])
{
    crypto_hash_sha256_state hash;
    crypto_hash_sha256_init(&hash);
    crypto_hash_sha256_update(&hash, before, TB_PIECE_CHAIN);
    add_number(&hash, p->number);
    add_number(&hash, p->epoch);
    add_number(&hash, p->at_us);
    add_number(&hash, p->version);
    crypto_hash_sha256_update(&hash, p->data, p->len);
    crypto_hash_sha256_final(&hash, ret);
}

bool tb_piece_follows(const tb_piece *piece, const tb_piece *before)
{
    uint8_t chain[TB_PIECE_CHAIN];
    if (piece->number != before->number + 1 || piece->epoch < before->epoch) return false;
    chain_piece(before->chain, piece, chain);
    return memcmp(chain, piece->chain, sizeof chain) == 0;
}

static tb_code insert_piece(tb_store *store, const tb_piece *p, int64_t total, tb_error *err)
{
    const int64_t numbers[] = {p->number, p->epoch, p->at_us, p->version, total};
    sqlite3_stmt *s;
    tb_code code = tb__sql_ints(store, TB__SQL_PIECE_INSERT, numbers, 5, &s, err);
    if (code) return code;
    sqlite3_bind_blob(s, 6, p->chain, TB_PIECE_CHAIN, SQLITE_STATIC);
    if (p->len) sqlite3_bind_blob(s, 7, p->data, (int)p->len, SQLITE_STATIC);
    else sqlite3_bind_zeroblob(s, 7, 0);
    code = tb__run(store, s, err);
    sqlite3_clear_bindings(s);
    return code;
}

/* --- the writer --- */

/* A chain's first piece. It has no data, so its chain rests on the moment and the version alone. */
static tb_code begin_chain(tb_store *store, int64_t epoch, int64_t now_us, tb_error *err)
{
    static const uint8_t none[TB_PIECE_CHAIN];
    tb_piece first = {.number = 1, .epoch = epoch, .at_us = now_us};
    tb_code code = tb__meta_get(store, "data_version", &first.version, err);
    if (!code) code = tb__meta_set(store, "epoch", epoch, err);
    if (code) return code;
    chain_piece(none, &first, first.chain);
    return insert_piece(store, &first, 0, err);
}

tb_code tb__pieces_begin(tb_store *store, tb_error *err)
{
    piece_row last;
    tb_code code = read_end(store, TB__SQL_PIECE_LAST, &last, err);
    return code || last.piece.number == 0 ? code : tb__capture_begin(store, err);
}

/* The next piece of the transaction, with this data. */
static tb_code add_piece(tb_store *store, const piece_row *last, const void *data, size_t len, tb_error *err)
{
    tb_piece piece = {.number = last->piece.number + 1,
                      .at_us = store->clock ? store->clock() : store->opened_us,
                      .data = data,
                      .len = len};
    if (piece.at_us < last->piece.at_us) piece.at_us = last->piece.at_us; /* the clock was set back */
    tb_code code = tb__meta_get(store, "data_version", &piece.version, err);
    if (!code) code = tb__meta_get(store, "epoch", &piece.epoch, err);
    if (code) return code;
    chain_piece(last->piece.chain, &piece, piece.chain);
    return insert_piece(store, &piece, last->total + (int64_t)len, err);
}

tb_code tb__piece_add(tb_store *store, tb_error *err)
{
    piece_row last;
    tb_buf data;
    if (store->copy && !tb__capture_is_empty(store))
        return tb_fail(err, TB_E_REPLICA_READ_ONLY, NULL, NULL);
    if (store->copy) return TB_OK;
    tb_code code = read_end(store, TB__SQL_PIECE_LAST, &last, err);
    if (code) return code;
    if (last.piece.number == 0) { /* switched off by this transaction, or never committed */
        tb__capture_end(store);
        return TB_OK;
    }
    tb_buf_init(&data, TB_PIECE_MAX, NULL);
    code = tb__capture_take(store, &data, err);
    if (!code && data.len) code = add_piece(store, &last, data.data, data.len, err);
    tb_buf_release(&data);
    if (!code) tb__capture_forget(store, true);
    return code;
}

/* --- upgrades of the schema --- */

static const char schema_mark[] = "tbschema"; /* then its number, as text. No compressed changes begin so */

tb_code tb__piece_of_schema(tb_store *store, tb_error *err)
{
    char data[40];
    piece_row last;
    tb_code code = read_end(store, TB__SQL_PIECE_LAST, &last, err);
    if (code || last.piece.number == 0) return code;
    const int len = snprintf(data, sizeof data, "%s%d", schema_mark, store->schema);
    return add_piece(store, &last, data, (size_t)len, err);
}

/* The schema that a piece brings; 0: it brings changes. */
static int schema_of(const tb_piece *piece)
{
    const size_t n = sizeof schema_mark - 1;
    const char *data = piece->data;
    int schema = 0;
    if (piece->len <= n || piece->len > n + 6 || memcmp(data, schema_mark, n) != 0) return 0;
    for (size_t i = n; i < piece->len; i++)
        schema = data[i] >= '0' && data[i] <= '9' ? schema * 10 + (data[i] - '0') : schema;
    return schema;
}

static tb_code take_schema(tb_store *store, int schema, tb_error *err)
{
    if (schema > tb__schema_version)
        return tb_fail(err, TB_E_NEWER, NULL, "The primary was upgraded to schema %d, and this tollbook knows up to %d: use the newer one.",
                       schema, tb__schema_version);
    tb__capture_settle(store, false); /* the steps rely on triggers */
    return schema > store->schema ? tb__upgrade_copy(store, schema, err) : TB_OK;
}

tb_code tb_store_replicate(tb_store *store, int64_t now_us, tb_error *err)
{
    piece_row last;
    tb_code code = read_end(store, TB__SQL_PIECE_LAST, &last, err);
    if (code || last.piece.number) return code;
    int64_t epoch = 0; /* of an earlier chain, which its copies still have: below 0, as it has ended */
    code = tb__meta_get(store, "epoch", &epoch, err);
    if (!code) code = begin_chain(store, (epoch < 0 ? -epoch : epoch) + 1, now_us, err);
    if (!code && !store->capture) code = tb__capture_begin(store, err);
    return code;
}

tb_code tb_store_replicate_end(tb_store *store, tb_error *err)
{
    if (store->copy) return tb_fail(err, TB_E_REPLICA_READ_ONLY, NULL, NULL);
    int64_t epoch = 0;
    tb_code code = tb__run_ints(store, TB__SQL_PIECES_DELETE, NULL, 0, err);
    if (!code) code = tb__meta_get(store, "epoch", &epoch, err);
    if (!code && epoch > 0) code = tb__meta_set(store, "epoch", -epoch, err);
    return code ? code : tb__standbys_forget(store, err);
}

/* The first kept piece that was committed at since_us or later, and of the newest `bytes`: totals and moments ascend. */
static tb_code find_first(tb_store *store, int64_t low, int64_t high, int64_t since_us, int64_t total, int64_t *ret,
                          tb_error *err)
{
    tb_code code = TB_OK;
    while (!code && low < high) {
        const int64_t middle = low + (high - low) / 2;
        sqlite3_stmt *s;
        bool row = false;
        code = tb__sql_ints(store, TB__SQL_PIECE_AT, &middle, 1, &s, err);
        if (!code) code = tb__step(store, s, &row, err);
        if (code) return code;
        if (row && sqlite3_column_int64(s, 0) >= since_us && sqlite3_column_int64(s, 1) > total) high = middle;
        else low = middle + 1;
        sqlite3_reset(s);
    }
    *ret = low;
    return code;
}

tb_code tb_store_trim_pieces(tb_store *store, int64_t since_us, int64_t bytes, int64_t most, bool *ret_more, tb_error *err)
{
    piece_row first, last;
    int64_t keep = 0;
    *ret_more = false;
    tb_code code = read_end(store, TB__SQL_PIECE_FIRST, &first, err);
    if (!code) code = read_end(store, TB__SQL_PIECE_LAST, &last, err);
    if (code || last.piece.number == 0) return code;
    code = find_first(store, first.piece.number, last.piece.number, since_us, last.total - bytes, &keep, err);
    if (code || keep == first.piece.number) return code;
    *ret_more = keep - first.piece.number > most;
    if (*ret_more) keep = first.piece.number + most;
    return tb__run_ints(store, TB__SQL_PIECES_TRIM, &keep, 1, err);
}

/* --- readers --- */

tb_code tb_store_replication(tb_store *store, tb_replication *ret, tb_error *err)
{
    piece_row first, last;
    tb_code code = read_end(store, TB__SQL_PIECE_LAST, &last, err);
    if (!code) code = read_end(store, TB__SQL_PIECE_FIRST, &first, err);
    if (code) return code;
    *ret = (tb_replication){.last = last.piece, .first = first.piece.number,
                            .bytes = last.total - first.total + (int64_t)first.piece.len};
    ret->last.len = 0;
    int64_t application;
    code = tb__int_of(store, TB__SQL_APPLICATION_ID, NULL, 0, 0, &application, err);
    ret->copied = application == TB_COPY_APPLICATION_ID;
    return !code && store->schema > 30 ? tb__meta_get(store, "superseded", &ret->superseded, err) : code;
}

tb_code tb_store_piece_head(tb_store *store, int64_t number, tb_piece *ret, tb_error *err)
{
    piece_row row;
    tb_code code = read_head(store, TB__SQL_PIECE_HEAD, number, &row, err);
    *ret = row.piece;
    ret->len = 0;
    return code;
}

tb_code tb_store_replica_lag(tb_store *store, int64_t piece, int64_t now_us, int64_t *ret_us, tb_error *err)
{
    piece_row last, lacks;
    tb_code code = read_end(store, TB__SQL_PIECE_LAST, &last, err);
    *ret_us = 0;
    if (code || piece >= last.piece.number) return code;
    code = read_head(store, TB__SQL_PIECE_HEAD, piece + 1, &lacks, err);
    if (!code && !lacks.piece.number) code = read_end(store, TB__SQL_PIECE_FIRST, &lacks, err);
    if (!code && now_us > lacks.piece.at_us) *ret_us = now_us - lacks.piece.at_us;
    return code;
}

tb_code tb_store_pieces(tb_store *store, int64_t after, tb_piece_fn each, void *ctx, tb_error *err)
{
    piece_row first, last, one;
    sqlite3_stmt *s;
    bool row;
    tb_code code = read_end(store, TB__SQL_PIECE_FIRST, &first, err);
    if (!code) code = read_end(store, TB__SQL_PIECE_LAST, &last, err);
    if (code) return code;
    if (after > last.piece.number || after + 1 < first.piece.number)
        return tb_fail(err, TB_E_NOT_FOUND, "after",
                       "Piece %lld is not kept here: the pieces are %lld to %lld. Begin with a new copy.", (long long)(after + 1),
                       (long long)first.piece.number, (long long)last.piece.number);
    code = tb__sql_ints(store, TB__SQL_PIECES_AFTER, &after, 1, &s, err);
    while (!code && !(code = tb__step(store, s, &row, err)) && row) {
        code = read_row(s, &one, err);
        if (code || !each(ctx, &one.piece)) break;
    }
    sqlite3_reset(s);
    return code;
}

/* --- bytes --- */

static const char magic[8] = "tbpiece1";

static void put_eight(tb_buf *out, uint64_t number)
{
    char bytes[8];
    for (int i = 0; i < 8; i++)
        bytes[i] = (char)(number >> (8 * i));
    tb_buf_add(out, bytes, sizeof bytes);
}

static int64_t get_number(const uint8_t *bytes)
{
    uint64_t number = 0;
    for (int i = 7; i >= 0; i--)
        number = number << 8 | bytes[i];
    return (int64_t)number;
}

void tb_piece_put(const tb_piece *piece, tb_buf *out)
{
    tb_buf_add(out, magic, sizeof magic);
    put_eight(out, (uint64_t)piece->number);
    put_eight(out, (uint64_t)piece->epoch);
    put_eight(out, (uint64_t)piece->at_us);
    put_eight(out, (uint64_t)piece->version);
    put_eight(out, piece->len);
    tb_buf_add(out, piece->chain, TB_PIECE_CHAIN);
    tb_buf_add(out, piece->data, piece->len);
}

tb_code tb_piece_read(const void *bytes, size_t len, tb_piece *ret_piece, size_t *ret_len, tb_error *err)
{
    const uint8_t *at = bytes;
    *ret_len = 0;
    if (memcmp(at, magic, len < sizeof magic ? len : sizeof magic) != 0)
        return tb_fail(err, TB_E_CORRUPT, NULL, "These bytes do not begin a piece of replication.");
    if (len < TB_PIECE_HEAD) return TB_OK;
    *ret_piece = (tb_piece){.number = get_number(at + 8),
                            .epoch = get_number(at + 16),
                            .at_us = get_number(at + 24),
                            .version = get_number(at + 32),
                            .len = (size_t)get_number(at + 40)};
    memcpy(ret_piece->chain, at + 48, TB_PIECE_CHAIN);
    if (ret_piece->number < 1 || ret_piece->epoch < 1 || ret_piece->len > TB_PIECE_MAX)
        return tb_fail(err, TB_E_CORRUPT, NULL, "The head of a piece of replication is damaged.");
    if (len - TB_PIECE_HEAD < ret_piece->len) return TB_OK;
    ret_piece->data = at + TB_PIECE_HEAD;
    *ret_len = TB_PIECE_HEAD + ret_piece->len;
    return TB_OK;
}

/* --- copies --- */

tb_code tb_store_backup_base(tb_store *store, const char *to, tb_progress progress, void *ctx, tb_piece *ret_last,
                             tb_error *err)
{
    tb_replication now;
    tb_code code = tb_store_read_begin(store, err);
    if (code) return code;
    code = tb_store_replication(store, &now, err);
    if (!code && now.last.number == 0)
        code = tb_fail(err, TB_E_NOT_FOUND, NULL, "%s is not replicated: serve it with --replicas.", store->path);
    if (!code) code = tb__copy_file(store, to, progress, ctx, err);
    tb_store_read_end(store);
    *ret_last = now.last;
    return code;
}

/* *last: the newest piece that the copy has, and then this one. */
static tb_code apply_after(tb_store *store, const tb_piece *piece, piece_row *last, tb_error *err)
{
    if (piece->number <= last->piece.number && last->piece.number > 0) {
        if (piece->number < last->piece.number || memcmp(piece->chain, last->piece.chain, TB_PIECE_CHAIN) == 0) return TB_OK;
        return tb_fail(err, TB_E_DIFFERENT, NULL, "%s has another piece %lld than its primary: make a new copy.", store->path,
                       (long long)piece->number);
    }
    if (last->piece.number == 0 || !tb_piece_follows(piece, &last->piece))
        return tb_fail(err, TB_E_DIFFERENT, NULL, "Piece %lld does not follow piece %lld of %s: make a new copy.",
                       (long long)piece->number, (long long)last->piece.number, store->path);
    const int schema = schema_of(piece);
    /* First, as the piece has the seals of rows that are as its primary's, without that note. */
    tb_code code = tb__supersede_end(store, piece->epoch, err);
    if (!code) code = schema ? take_schema(store, schema, err) : tb__capture_apply(store, piece->data, piece->len, err);
    last->piece = *piece;
    last->total += (int64_t)piece->len;
    return code ? code : insert_piece(store, piece, last->total, err);
}

tb_code tb_store_apply_pieces(tb_store *store, const tb_piece *pieces, size_t n, tb_error *err)
{
    piece_row last;
    const int schema = store->schema;
    const bool superseded = store->superseded, copied = store->copied;
    store->applied_keys = false;
    if (!store->copy) tb__capture_end(store); /* a copy makes no pieces of its own */
    tb_code code = tb__begin(store, err);
    if (code) return code;
    tb__capture_hold(store, true);
    code = read_end(store, TB__SQL_PIECE_LAST, &last, err);
    for (size_t i = 0; !code && i < n; i++)
        code = apply_after(store, &pieces[i], &last, err);
    if (!code) code = tb__mark_copied(store, true, err);
    if (!code) code = tb_store_commit(store, err);
    if (code) tb_store_rollback(store);
    else tb__forget_content(store);
    if (code) store->schema = schema;
    if (code) store->superseded = superseded;
    if (code) store->copied = copied;
    tb__capture_hold(store, false);
    if (store->schema == schema || !store->capture) return code;
    tb__capture_end(store); /* which knows the tables of the older schema */
    return tb__capture_begin(store, err);
}

tb_code tb_store_apply_piece(tb_store *store, const tb_piece *piece, tb_error *err)
{
    return tb_store_apply_pieces(store, piece, 1, err);
}

bool tb_store_applied_keys(const tb_store *store)
{
    return store->applied_keys;
}
