/* Rows on their way, and the end of a transaction. */
#include "store/clickhouse/private.h"
#include "store/usage/batch.h"

#include <stdlib.h>

static tb_code send_rows(tb_store *store, size_t shard, tb__ch_table t, tb_error *err)
{
    static const char *const names[TB__CH_TABLES] = {"cell", "country"};
    struct tb__clickhouse *ch = tb__ch_of(store);
    tb_buf *rows = &ch->rows[t][shard];
    if (!rows->len) return TB_OK;
    ch->sql.len = ch->answer.len = 0;
    tb_buf_fmt(&ch->sql, "INSERT INTO %s.%s FORMAT RowBinary", ch->client->database, names[t]);
    tb_buf_add(&ch->sql, "", 1);
    tb_code code = tb_buf_check(&ch->sql, err);
    ch->sent = ch->next - 1;
    if (!code)
        code = ch->client->ask(ch->client->ctx, shard, ch->sql.data, rows->data, rows->len, &ch->answer,
                               err);
    if (!code) rows->len = ch->marked_at[t][shard] = 0;
    return code;
}

tb_code tb__ch_send(tb_store *store, tb_error *err)
{
    tb_code code = TB_OK;
    for (size_t shard = 0; !code && shard < tb__ch_of(store)->client->shards; shard++)
        for (int t = 0; !code && t < TB__CH_TABLES; t++)
            code = send_rows(store, shard, (tb__ch_table)t, err);
    return code;
}

/* What this transaction added can be read. */
tb_code tb__ch_settle(tb_store *store, tb_error *err)
{
    return tb__ch_of(store)->began ? tb__ch_send(store, err) : TB_OK;
}

static void note_mark(struct tb__clickhouse *ch)
{
    ch->marked = ch->next;
    for (int t = 0; t < TB__CH_TABLES && ch->rows[t]; t++)
        for (size_t shard = 0; shard < ch->client->shards; shard++)
            ch->marked_at[t][shard] = ch->rows[t][shard].len;
}

/* Ids of which rows were sent are never used again. */
static tb_code leave_gap(struct tb__clickhouse *ch, int64_t first, tb_error *err)
{
    if (ch->sent < first) {
        ch->next = first;
        return TB_OK;
    }
    tb_code code = tb__grow(&ch->gaps, ch->n_gaps, &ch->cap_gaps, sizeof *ch->gaps, err);
    if (!code) ch->gaps[ch->n_gaps++] = (struct tb__ch_gap){first, ch->next - 1};
    return code;
}

static void drop_rows(struct tb__clickhouse *ch, bool whole)
{
    for (int t = 0; t < TB__CH_TABLES; t++)
        for (size_t shard = 0; shard < ch->client->shards; shard++) {
            tb_buf *rows = &ch->rows[t][shard];
            const size_t keep = whole ? 0 : ch->marked_at[t][shard];
            if (rows->len > keep) rows->len = keep;
            rows->failed = false;
        }
}

/* Here, and not where a transaction ends, shows what became of the one before: ids above the file's watermark
 * were never committed. */
tb_code tb__ch_begin(tb_store *store, tb_error *err)
{
    struct tb__clickhouse *ch = tb__ch_of(store);
    int64_t committed = 0;
    if (ch->began) return TB_OK;
    tb_code code = tb__meta_get(store, "usage_batch", &committed, err);
    if (code) return code;
    drop_rows(ch, true);
    if (ch->next - 1 > committed) code = leave_gap(ch, committed + 1, err);
    else ch->n_gaps = 0; /* the file has them */
    if (code) return code;
    ch->committed = ch->next - 1;
    ch->began = true;
    note_mark(ch); /* a mark that was set before anything was added */
    return TB_OK;
}

tb_code tb__ch_commit(tb_store *store, tb_error *err)
{
    struct tb__clickhouse *ch = tb__ch_of(store);
    if (!ch->began) return TB_OK;
    ch->began = false;
    if (ch->next - 1 == ch->committed) return TB_OK;
    tb_code code = tb__ch_send(store, err);
    for (size_t i = 0; !code && i < ch->n_gaps; i++) {
        char name[40] = "usage_gap_";
        sqlite3_snprintf(30, name + 10, "%lld", (long long)ch->gaps[i].first);
        code = tb__ch_meta_put(store, name, ch->gaps[i].last, err);
    }
    return code ? code : tb__meta_set(store, "usage_batch", ch->next - 1, err);
}

void tb__ch_mark(tb_store *store)
{
    if (tb__ch_of(store)->began) note_mark(tb__ch_of(store));
}

void tb__ch_abandon(tb_store *store, bool whole)
{
    struct tb__clickhouse *ch = tb__ch_of(store);
    tb__landing_drop(store);
    tb__batch_drop(store);
    for (int i = 0; i < TB__CH_SCOPES; i++)
        ch->month[i].month = -1;
    ch->unlet.watermark = 0;
    if (!ch->began) return;
    if (whole) {
        ch->began = false;
        return;
    }
    drop_rows(ch, false);
    if (ch->marked < ch->next && leave_gap(ch, ch->marked, NULL)) store->broken = true;
}
