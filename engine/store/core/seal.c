/* tb_seal(table, column...): a row's seal, for the triggers and for verify. Each value seeds the hash
 * of the next one together with its type, so that none can move to another column, row or table
 * without changing the seal. It has no key: who can write the file and run this code can seal what
 * he wrote (anchor.c is for that). */
#include "store/core/seal.h"
#include "store/core/internal.h"

#include <string.h>

static uint64_t add_bytes(uint64_t seal, int type, const void *bytes, size_t len)
{
    return XXH3_64bits_withSeed(bytes, len, seal ^ (uint64_t)type << 56);
}

static uint64_t add_value(uint64_t seal, sqlite3_value *value, bool *ret_ok)
{
    const int type = sqlite3_value_type(value);
    int64_t number = 0;
    double real = 0;
    if (type == SQLITE_INTEGER) {
        number = sqlite3_value_int64(value);
        return add_bytes(seal, type, &number, sizeof number);
    }
    if (type == SQLITE_FLOAT) {
        real = sqlite3_value_double(value);
        return add_bytes(seal, type, &real, sizeof real);
    }
    const void *bytes = sqlite3_value_blob(value);
    const int len = sqlite3_value_bytes(value);
    if (!bytes && len) *ret_ok = false;
    return add_bytes(seal, type, bytes ? bytes : "", bytes ? (size_t)len : 0);
}

int64_t tb__seal_numbers(const char *table, const int64_t *values, int n)
{
    uint64_t seal = add_bytes((uint64_t)n + 1, SQLITE_TEXT, table, strlen(table));
    for (int i = 0; i < n; i++)
        seal = add_bytes(seal, SQLITE_INTEGER, &values[i], sizeof values[i]);
    return (int64_t)(seal & TB__SEAL_BITS);
}

static void seal_row(sqlite3_context *ctx, int n, sqlite3_value **values)
{
    uint64_t seal = (uint64_t)n;
    bool ok = true;
    for (int i = 0; i < n; i++)
        seal = add_value(seal, values[i], &ok);
    if (ok) sqlite3_result_int64(ctx, (int64_t)(seal & TB__SEAL_BITS));
    else sqlite3_result_error_nomem(ctx);
}

int tb__seal_register(sqlite3 *db)
{
    return sqlite3_create_function_v2(db, "tb_seal", -1,
                                      SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS, NULL,
                                      seal_row, NULL, NULL, NULL);
}

tb_code tb__seals_write(tb_store *store, tb_error *err)
{
    static const char *const names[TB__SUM_COUNT] = {
#define X(name, meta) [TB__SUM_##name] = meta,
        TB__SEAL_SUMS(X)
#undef X
    };
    tb__seal_sums *sums = &store->seal_sums;
    tb_code code = TB_OK;
    for (int i = 0; !code && i < TB__SUM_COUNT; i++) {
        int64_t sum = 0;
        if (!sums->more[i]) continue;
        code = tb__meta_get(store, names[i], &sum, err);
        if (!code) code = tb__meta_set(store, names[i], (int64_t)(((uint64_t)sum + sums->more[i]) & INT64_MAX), err);
        sums->more[i] = 0;
    }
    return code;
}
