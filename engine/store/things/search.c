/* Search over the catalogue's names. */
#include "tollbook/search.h"

#include "store/core/internal.h"
#include "store/things/containers.h"

static tb_code bind_search(tb_store *store, const tb_search *search, tb__statement id, sqlite3_stmt **ret, tb_error *err)
{
    const tb_code code = tb__sql_ints(store, id, &search->account, 1, ret, err);
    if (!code) sqlite3_bind_text64(*ret, 2, search->text.data, search->text.len, SQLITE_STATIC, SQLITE_UTF8);
    return code;
}

tb_code tb_store_count_found(tb_store *store, const tb_search *search, int64_t *ret_n, tb_error *err)
{
    sqlite3_stmt *s;
    bool row;
    *ret_n = 0;
    if (!search->text.len) return TB_OK;
    tb_code code = bind_search(store, search, TB__SQL_SEARCH_COUNT, &s, err);
    if (!code) code = tb__step(store, s, &row, err);
    if (code) return code;
    *ret_n = sqlite3_column_int64(s, 0);
    sqlite3_reset(s);
    return TB_OK;
}

tb_code tb_store_search(tb_store *store, const tb_search *search, tb_found_fn each, void *ctx, tb_error *err)
{
    sqlite3_stmt *s;
    bool row = true;
    if (!search->text.len) return TB_OK;
    tb_code code = bind_search(store, search, TB__SQL_SEARCH, &s, err);
    if (code) return code;
    sqlite3_bind_int64(s, 3, search->limit);
    sqlite3_bind_int64(s, 4, search->skip);
    while (!(code = tb__step(store, s, &row, err)) && row) {
        const tb_found found = {(tb_found_kind)sqlite3_column_int(s, 0), sqlite3_column_int64(s, 1),
                                tb__column_text(s, 2), tb__column_text(s, 3), sqlite3_column_int64(s, 4)};
        each(ctx, &found);
    }
    return code;
}
