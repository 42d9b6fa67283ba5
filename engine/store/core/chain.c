/* Chains: each row of a chained table holds a SHA-256 over itself and the previous row, so that a change shows in
 * the row, and a row that is deleted, inserted or moved shows in the next one. The table's head (sealed.h) shows
 * whether the last rows are there. */
#include "store/core/chain.h"

#include <sodium.h>
#include <string.h>

static void add_number(crypto_hash_sha256_state *hash, uint64_t number)
{
    uint8_t bytes[8];
    for (int i = 0; i < 8; i++)
        bytes[i] = (uint8_t)(number >> (8 * i));
    crypto_hash_sha256_update(hash, bytes, sizeof bytes);
}

/* Length first, so that no two rows hash alike. */
static void add_text(crypto_hash_sha256_state *hash, const char *text, size_t len)
{
    add_number(hash, len);
    crypto_hash_sha256_update(hash, (const unsigned char *)text, len);
}

/* After the first TB__CHAIN_FIRST texts, which every row has, empty ones are hashed only if a non-empty one follows:
 * later columns do not change the hashes of rows without them. *empty: the number of pending empty ones. */
static void add_text_at(crypto_hash_sha256_state *hash, int i, const char *text, size_t len,
                        int *empty)
{
    if (i >= TB__CHAIN_FIRST && len == 0) {
        ++*empty;
        return;
    }
    for (; *empty > 0; --*empty)
        add_text(hash, "", 0);
    add_text(hash, text, len);
}

static void begin_row(crypto_hash_sha256_state *hash, const uint8_t before[TB__CHAIN])
{
    crypto_hash_sha256_init(hash);
    crypto_hash_sha256_update(hash, before, TB__CHAIN);
}

bool tb__chain_row(const uint8_t before[TB__CHAIN], sqlite3_stmt *s, int n_texts,
                   uint8_t ret[TB__CHAIN])
{
    crypto_hash_sha256_state hash;
    begin_row(&hash, before);
    for (int i = 0; i < TB__CHAIN_NUMBERS; i++)
        add_number(&hash, (uint64_t)sqlite3_column_int64(s, i));
    for (int i = 0, empty = 0; i < n_texts; i++) {
        const char *text = (const char *)sqlite3_column_text(s, TB__CHAIN_NUMBERS + i);
        if (!text) return false; /* the columns are never NULL */
        add_text_at(&hash, i, text, (size_t)sqlite3_column_bytes(s, TB__CHAIN_NUMBERS + i), &empty);
    }
    crypto_hash_sha256_final(&hash, ret);
    return true;
}

tb_code tb__chain_last(tb_store *store, tb__statement last, int64_t *ret_id,
                       uint8_t ret[TB__CHAIN], tb_error *err)
{
    sqlite3_stmt *s;
    bool row = false;
    memset(ret, 0, TB__CHAIN);
    *ret_id = 0;
    tb_code code = tb__sql(store, last, &s, err);
    if (!code) code = tb__step(store, s, &row, err);
    if (code || !row) return code;
    *ret_id = sqlite3_column_int64(s, 0);
    const void *stored = sqlite3_column_blob(s, 1);
    if (stored && sqlite3_column_bytes(s, 1) == TB__CHAIN) memcpy(ret, stored, TB__CHAIN);
    sqlite3_reset(s);
    return stored ? TB_OK : tb_no_memory(err);
}

tb_code tb__chain_add(tb_store *store, tb__statement last, tb__statement insert,
                      int64_t numbers[TB__CHAIN_NUMBERS], const char *const *texts, int n_texts,
                      tb_error *err)
{
    uint8_t chain[TB__CHAIN];
    crypto_hash_sha256_state hash;
    sqlite3_stmt *s;
    int column = 0, empty = 0;
    tb_code code = tb__chain_last(store, last, &numbers[0], chain, err);
    if (!code) code = tb__sql(store, insert, &s, err);
    if (code) return code;
    numbers[0]++;
    begin_row(&hash, chain);
    for (int i = 0; i < TB__CHAIN_NUMBERS; i++) {
        add_number(&hash, (uint64_t)numbers[i]);
        sqlite3_bind_int64(s, ++column, numbers[i]);
    }
    for (int i = 0; i < n_texts; i++) {
        add_text_at(&hash, i, texts[i], strlen(texts[i]), &empty);
        sqlite3_bind_text(s, ++column, texts[i], -1, SQLITE_STATIC);
    }
    crypto_hash_sha256_final(&hash, chain);
    sqlite3_bind_blob(s, ++column, chain, sizeof chain, SQLITE_STATIC);
    return tb__run(store, s, err);
}
