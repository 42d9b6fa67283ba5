/* API keys: their SHA-256, and their text sealed where the operator holds a secret. */
#include "store/core/internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

tb_code tb_store_key_add(tb_store *store, tb_key *key, tb_error *err)
{
    sqlite3_stmt *s;
    tb_code code = tb__sql(store, TB__SQL_KEY_INSERT, &s, err);
    if (code) return code;
    sqlite3_bind_int64(s, 1, key->account);
    sqlite3_bind_int64(s, 2, key->roles);
    sqlite3_bind_blob(s, 3, key->hash, TB_KEY_HASH, SQLITE_STATIC);
    sqlite3_bind_text(s, 4, key->hint, -1, SQLITE_STATIC);
    sqlite3_bind_int64(s, 5, key->created_us);
    sqlite3_bind_int64(s, 6, key->revoked_us);
    if (key->has_sealed) sqlite3_bind_blob(s, 7, key->sealed, TB_KEY_SEALED, SQLITE_STATIC);
    sqlite3_bind_text(s, 8, key->name, -1, SQLITE_STATIC);
    code = tb__run(store, s, err);
    if (code) return code;
    key->id = sqlite3_last_insert_rowid(store->db);
    store->dirty = true;
    return TB_OK;
}

/* The same again changes nothing. */
tb_code tb_store_key_revoke(tb_store *store, int64_t id, int64_t now_us, tb_error *err)
{
    const int64_t values[2] = {id, now_us};
    int64_t found = 0;
    tb_code code = tb__run_ints(store, TB__SQL_KEY_REVOKE, values, 2, err);
    if (code) return code;
    if (sqlite3_changes(store->db) > 0) {
        store->dirty = true;
        return TB_OK;
    }
    code = tb__int_of(store, TB__SQL_KEY_EXISTS, &id, 1, 0, &found, err);
    if (code || found) return code;
    return tb_fail(err, TB_E_NOT_FOUND, "id",
                   "There is no such key. See: tollbook key list");
}

static tb_code key_from(sqlite3_stmt *s, void *item, tb_error *err)
{
    tb_key *key = item;
    (void)err;
    *key = (tb_key){.id = sqlite3_column_int64(s, 0),
                    .account = sqlite3_column_int64(s, 1),
                    .roles = (uint32_t)sqlite3_column_int64(s, 2),
                    .created_us = sqlite3_column_int64(s, 5),
                    .revoked_us = sqlite3_column_int64(s, 6)};
    const void *hash = sqlite3_column_blob(s, 3);
    const unsigned char *hint = sqlite3_column_text(s, 4);
    if (hash && sqlite3_column_bytes(s, 3) == TB_KEY_HASH) memcpy(key->hash, hash, TB_KEY_HASH);
    const void *sealed = sqlite3_column_blob(s, 7);
    key->has_sealed = sealed && sqlite3_column_bytes(s, 7) == TB_KEY_SEALED;
    if (key->has_sealed) memcpy(key->sealed, sealed, TB_KEY_SEALED);
    snprintf(key->name, sizeof key->name, "%s", (const char *)sqlite3_column_text(s, 8));
    for (size_t i = 0; hint && hint[i] && i + 1 < sizeof key->hint; i++)
        key->hint[i] = (char)hint[i];
    return TB_OK;
}

static const tb__rows key_rows = {sizeof(tb_key), key_from, NULL};

tb_code tb_store_keys(tb_store *store, tb_key **ret_keys, size_t *ret_n, tb_error *err)
{
    return tb__collect_ints(store, TB__SQL_KEYS, NULL, 0, &key_rows, ret_keys, ret_n, err);
}

tb_code tb_store_account_keys(tb_store *store, int64_t account, int64_t skip, int64_t limit,
                              tb_key_page *ret_page, tb_error *err)
{
    const int64_t values[3] = {account, limit, skip};
    tb_code code = tb__int_of(store, TB__SQL_KEYS_COUNT, &account, 1, 0, &ret_page->total, err);
    if (code) return code;
    return tb__collect_ints(store, TB__SQL_KEYS_PAGE, values, 3, &key_rows, &ret_page->list, &ret_page->n, err);
}
