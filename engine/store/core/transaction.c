/* Transactions and the marks within them. Before each COMMIT and after it the writer checks that the open file is still at its path:
 * no commit is acknowledged into a deleted file. */
#include "store/clickhouse/clickhouse.h"
#include "store/core/held.h"
#include "store/replica/capture.h"

#include <string.h>

tb_code tb__prepare_ends(tb_store *store, tb_error *err)
{
    static const tb__statement ends[] = {TB__SQL_COMMIT, TB__SQL_ROLLBACK, TB__SQL_KEEP_MARK,
                                         TB__SQL_BACK_TO_MARK};
    tb_code code = TB_OK;
    for (size_t i = 0; !code && i < sizeof ends / sizeof *ends; i++) {
        sqlite3_stmt *s;
        code = tb__sql(store, ends[i], &s, err);
    }
    return code;
}

tb_code tb_store_read_begin(tb_store *store, tb_error *err)
{
    store->read_version_known = false;
    tb_code code = tb__run_ints(store, TB__SQL_BEGIN_READ, NULL, 0, err);
    if (code || store->write) return code;
    code = tb__clickhouse_follow(store, err);
    if (code) tb_store_read_end(store);
    return code;
}

void tb_store_read_end(tb_store *store)
{
    tb_error ignored;
    if (!sqlite3_get_autocommit(store->db) && tb__run_ints(store, TB__SQL_COMMIT, NULL, 0, &ignored)) return;
}

tb_code tb_store_begin(tb_store *store, tb_error *err)
{
    tb__capture_settle(store, false);
    return tb__begin(store, err);
}

tb_code tb__begin(tb_store *store, tb_error *err)
{
    store->dirty = store->billing_stale = store->directory_stale = store->broken = false;
    tb__segment_reset(store);
    return tb__run_ints(store, TB__SQL_BEGIN_WRITE, NULL, 0, err);
}

/* SQLite itself rolls a whole transaction back after some errors (disk full, out of memory): its marks are gone
 * then, and later writes must not be committed by themselves. */
tb_code tb__check_whole(const tb_store *store, tb_error *err)
{
    if (!store->broken) return TB_OK;
    return tb_fail(err, TB_E_IO, NULL,
                   "%s: nothing was written, since a part that failed could not be taken back; check "
                   "the disk and run the same again.",
                   store->path);
}

tb_code tb_store_commit(tb_store *store, tb_error *err)
{
    tb_code code = tb__check_whole(store, err);
    if (!code && store->superseded && !store->copy) code = tb_fail(err, TB_E_REPLICA_SUPERSEDED, NULL, NULL);
    if (!code) code = tb__proof_flush(store, err);
    if (!code) code = tb__seals_write(store, err);
    if (!code && store->dirty) code = tb__run_ints(store, TB__SQL_BUMP_VERSION, NULL, 0, err);
    if (!code) code = tb__late_landed(store, err);
    if (!code) code = store->plane.counters->commit(store, err);
    if (!code && store->capture) code = tb__piece_add(store, err);
    if (!code) code = tb__still_there(store->held, NULL, err);
    if (!code) code = tb__run_ints(store, TB__SQL_COMMIT, NULL, 0, err);
    if (code) return code;
    tb__proof_forget(store, true);
    store->dirty = store->billing_stale = false;
    store->landing = 0;
    /* It may have gone between the look and the end of the commit. */
    return tb__still_there(store->held, &store->links, err);
}

/* What is remembered from inside a transaction is forgotten with it. */
static void forget(tb_store *store, bool whole)
{
    tb__seal_sums *seals = &store->seal_sums;
    if (whole) *seals = (tb__seal_sums){0};
    tb__capture_forget(store, whole);
    memcpy(seals->more, seals->marked, sizeof seals->more);
    store->next_series = 0;
    tb__segment_reset(store);
    tb__segment_fold_free(store);
    tb__late_forget(store);
    tb__late_drop(store);
    tb__proof_forget(store, whole);
    if (store->usage) tb__usage_forget(store, whole);
    if (store->directory_stale) tb__directory_forget(store);
}

void tb__forget_content(tb_store *store)
{
    forget(store, true);
    store->directory_stale = false;
}

void tb_store_rollback(tb_store *store)
{
    forget(store, true);
    store->dirty = store->billing_stale = store->broken = false;
    store->landing = 0;
    tb_error ignored;
    /* After a failed COMMIT the transaction may be over already: nothing to roll back then. */
    if (!sqlite3_get_autocommit(store->db) &&
        tb__run_ints(store, TB__SQL_ROLLBACK, NULL, 0, &ignored))
        return;
}

tb_code tb_store_write(tb_store *store, tb_store_change change, void *ctx, tb_error *err)
{
    tb_code code = tb_store_begin(store, err);
    if (code) return code;
    code = change(store, ctx, err);
    if (!code) code = tb_store_commit(store, err);
    if (code) tb_store_rollback(store);
    return code;
}

/* --- marks --- */

tb_code tb_store_mark(tb_store *store, tb_error *err)
{
    tb__segment_reset(store);
    memcpy(store->seal_sums.marked, store->seal_sums.more, sizeof store->seal_sums.marked);
    store->plane.counters->mark(store);
    tb__capture_mark(store);
    tb_code code = tb__check_whole(store, err);
    return code ? code : tb__run_ints(store, TB__SQL_MARK, NULL, 0, err);
}

tb_code tb_store_keep_mark(tb_store *store, tb_error *err)
{
    tb_code code = tb__check_whole(store, err);
    return code ? code : tb__run_ints(store, TB__SQL_KEEP_MARK, NULL, 0, err);
}

void tb_store_back_to_mark(tb_store *store)
{
    forget(store, false);
    tb_error ignored;
    if (tb__run_ints(store, TB__SQL_BACK_TO_MARK, NULL, 0, &ignored) ||
        tb__run_ints(store, TB__SQL_KEEP_MARK, NULL, 0, &ignored))
        store->broken = true;
}

