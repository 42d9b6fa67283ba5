/* Moves request logs and shield events to the servers after the usage, in one transaction: blocks are sent unchanged and
 * events one by one, the totals are compared with those of the servers, and the rows are deleted from the file. Their pages
 * are overwritten, since they hold addresses. */
#include "store/clickhouse/lines.h"
#include "store/core/trees.h"
#include "store/logs/log_run.h"

#include <inttypes.h>
#include <stdlib.h>

typedef struct carrying {
    tb_store *store;
    uint64_t blocks, block_seals, event_seals;
    int64_t batch; /* of all events */
} carrying;

static tb_code carry_block(carrying *c, sqlite3_stmt *s, tb_error *err)
{
    struct tb__clickhouse *ch = tb__ch_of(c->store);
    const void *data = sqlite3_column_blob(s, 4);
    const tb__log_piece piece = {
        {sqlite3_column_int64(s, 0), sqlite3_column_int64(s, 1), sqlite3_column_int64(s, 2),
         (uint32_t)sqlite3_column_int64(s, 3)},
        {data, (size_t)sqlite3_column_bytes(s, 4)}};
    if (!data) return tb_no_memory(err);
    tb__ch_block as = {.batch = ch->next, .listed = {.id = ch->next}};
    ch->next++;
    tb_code code = tb__ch_day(piece.info.last_ms, &as.day, err);
    if (!code) code = tb__ch_put_block(c->store, &piece, &as, err);
    c->blocks++;
    return code ? code
                : tb__ch_relieve(c->store, &ch->rows[TB__CH_LOG_ROWS][tb__ch_shard(c->store, TB__SCOPE_ZONE, piece.info.zone)], err);
}

static tb_code carry_events(carrying *c, sqlite3_stmt *s, tb_error *err)
{
    const void *data = sqlite3_column_blob(s, 1);
    const size_t len = (size_t)sqlite3_column_bytes(s, 1);
    tb_event_record record;
    tb_code code = data || !len ? TB_OK : tb_no_memory(err);
    for (size_t at = 0; !code && at < len;) {
        if (!tb_event_next(data, len, &at, &record))
            return tb_fail(err, TB_E_CORRUPT, "event_block", "A block of shield events cannot be read. Look for more with: tollbook verify");
        code = tb__ch_put_event(c->store, sqlite3_column_int64(s, 0), c->batch, &record, &c->event_seals, err);
    }
    return code;
}

typedef tb_code carry_fn(carrying *c, sqlite3_stmt *s, tb_error *err);

static tb_code each_row(carrying *c, tb__statement which, carry_fn *fn, tb_error *err)
{
    sqlite3_stmt *s;
    bool row = true;
    tb_code code = tb__sql(c->store, which, &s, err);
    while (!code && !(code = tb__step(c->store, s, &row, err)) && row)
        if ((code = fn(c, s, err))) sqlite3_reset(s);
    return code;
}

static tb_code compare_carried(carrying *c, tb_error *err)
{
    tb__ch_amount logs, events;
    c->block_seals += tb__ch_of(c->store)->lines.seals;
    tb_code code = tb__ch_amount_of(c->store, TB__CH_LOGS, "", INT64_MAX, &logs, err);
    if (!code) code = tb__ch_amount_of(c->store, TB__CH_EVENTS, "", INT64_MAX, &events, err);
    if (code || (logs.units == c->blocks && logs.seals == c->block_seals && events.seals == c->event_seals)) return code;
    return tb_fail(err, TB_E_DIFFERENT, "usage",
                   "Usage servers have other request logs or shield events than the file: %" PRIu64 " blocks there, %" PRIu64
                   " here. The file is unchanged, and no answer includes the rows that were sent.",
                   logs.units, c->blocks);
}

static tb_code carry(tb_store *store, void *ctx, tb_error *err)
{
    carrying *c = ctx;
    tb_code code = tb__log_compact_all(store, err);
    if (!code) code = tb__ch_begin(store, err);
    if (code) return code;
    c->batch = tb__ch_of(store)->next++;
    /* The sums of seals start again: the seals of rows in the file include the file's ids. */
    c->block_seals = 0 - tb__ch_of(store)->lines.seals;
    code = tb__seals_write(store, err);
    if (!code) code = tb__meta_set(store, "log_seals", 0, err);
    if (!code) code = tb__meta_set(store, "event_seals", 0, err);
    if (!code) code = each_row(c, TB__SQL_CARRY_LOGS, carry_block, err);
    if (!code) code = each_row(c, TB__SQL_CARRY_EVENTS, carry_events, err);
    if (!code) code = compare_carried(c, err);
    if (!code)
        code = tb__exec(store->db, store->path,
                        "PRAGMA secure_delete=ON; DELETE FROM log_span; DELETE FROM log_block; DELETE FROM event_block", err);
    if (!code) code = tb__tree_wipe(store, TB__TREE_log_span, err);
    if (!code) code = tb__ch_add_seals(store, TB__CH_EVENTS, c->event_seals, err);
    if (!code) code = tb__ch_commit(store, err);
    store->scrub = true; /* no answer changes: the data version stays */
    return code;
}

tb_code tb__ch_carry(tb_store *store, tb_error *err)
{
    carrying c = {.store = store};
    int64_t any = 0;
    tb_code code = tb__int_of(store, TB__SQL_CARRY_ANY, NULL, 0, 0, &any, err);
    return code || !any ? code : tb_store_write(store, carry, &c, err);
}
