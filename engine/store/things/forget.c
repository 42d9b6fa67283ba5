/* Forgetting what names a customer. Documents are changed by SQLite's own JSON functions, which keep
 * numbers as they are written: a bill that is rated again finds each price as it was. The rows' seals
 * follow, for triggers keep them; anchors that cover the documents hold no longer. */
#include "tollbook/retain.h"

#include "store/core/internal.h"

tb_code tb_store_may_forget(tb_store *store, int64_t account, tb_error *err)
{
    int64_t deleted_us = 0;
    tb_code code = tb__int_of(store, TB__SQL_FORGET_DELETED, &account, 1, -1, &deleted_us, err);
    if (code) return code;
    if (deleted_us < 0) return tb__no_account("account", account, err);
    if (deleted_us < INT64_MAX) return TB_OK;
    return tb_fail(err, TB_E_NOT_DELETED, "account",
                   "Account %lld is still declared. Take it and its things out of the catalogue, apply "
                   "that, and ask again.",
                   (long long)account);
}

tb_code tb_store_to_forget(tb_store *store, int64_t account, tb_forgotten *ret, tb_error *err)
{
    sqlite3_stmt *s;
    bool row = false;
    tb_code code = tb__sql_ints(store, TB__SQL_FORGET_COUNTS, &account, 1, &s, err);
    if (!code) code = tb__step(store, s, &row, err);
    if (code || !row) return code;
    *ret = (tb_forgotten){.declared = (uint64_t)sqlite3_column_int64(s, 0),
                          .containers = (uint64_t)sqlite3_column_int64(s, 1),
                          .refused = (uint64_t)sqlite3_column_int64(s, 2)};
    sqlite3_reset(s);
    code = store->plane.logs->count(store, account, &ret->log_blocks, err);
    return code ? code : store->plane.events->count(store, account, &ret->event_blocks, err);
}

tb_code tb_store_forget_declared(tb_store *store, int64_t account, tb_error *err)
{
    static const tb__statement steps[] = {
        TB__SQL_FORGET_REASONS, /* by the names, while they are there */
        TB__SQL_FORGET_DECLARATIONS, TB__SQL_FORGET_ACCOUNT,     TB__SQL_FORGET_ZONES,
        TB__SQL_FORGET_SHIELDS,      TB__SQL_FORGET_DEPLOYMENTS, TB__SQL_FORGET_DEPLOYMENT_ENDS,
        TB__SQL_FORGET_CONTAINERS,   TB__SQL_FORGET_OWN_ALERTS,  TB__SQL_FORGET_KEYS,
    };
    const int before = sqlite3_total_changes(store->db);
    tb_code code = TB_OK;
    for (size_t i = 0; !code && i < sizeof steps / sizeof *steps; i++)
        code = tb__run_ints(store, steps[i], &account, 1, err);
    if (sqlite3_total_changes(store->db) == before) return code;
    tb__directory_forget(store);
    store->dirty = store->billing_stale = store->directory_stale = store->scrub = true;
    return code;
}
