/* Sending rows, and the end of a transaction.
 *
 * Rows have the ids of batches, which count once the file says so. So it does not matter when rows are sent, as long as all
 * of them have arrived before that. At a mark many cells are sent, and the servers receive them while the next batches are
 * made. The rest is sent at the end, while the file is written. One sending is under way at a time, with separate buffers
 * (bodies). If it fails, the transaction fails and its ids are never used again: no transaction sends a row twice
 * (TB__CH_TWICE). Countries are sent at the end, as joining leaves few rows of them. */
#include "store/clickhouse/cache.h"
#include "store/clickhouse/private.h"
#include "store/usage/batch.h"
#include "store/usage/owners.h"

#include <stdlib.h>

const char *const tb__ch_table_names[TB__CH_TABLES] = {"cell", "country", "log", "log_gone", "event"};

static const tb__ch_table table_of[TB__CH_FORMS] = {
    [TB__CH_ALL] = TB__CH_CELL,      [TB__CH_LINES] = TB__CH_CELL,         [TB__CH_COUNTRIES] = TB__CH_COUNTRY,
    [TB__CH_LOG_ROWS] = TB__CH_LOG,      [TB__CH_GONE_ROWS] = TB__CH_LOG_GONE, [TB__CH_EVENT_ROWS] = TB__CH_EVENT,
};

#define BIT_OF_LINE(e, name, unit, how, source, meaning) \
    | (TB_SOURCE_##source == TB_SOURCE_BUCKET ? 0 : TB_METRIC_BIT(TB_M_##e))
#define LINE_METRICS ((uint32_t)(0 TB_METRICS(BIT_OF_LINE)))

uint32_t tb__ch_form_metrics(tb__ch_form form)
{
    return form == TB__CH_LINES ? LINE_METRICS : TB_METRIC_ALL;
}

tb__ch_form tb__ch_form_of(uint32_t metrics)
{
    return metrics & ~LINE_METRICS ? TB__CH_ALL : TB__CH_LINES;
}

/* --- sending --- */

/* Bytes of rows of one shard and form: 60,000 cells of lines. An INSERT costs a server as much as 12,000 rows, whatever
 * is in it, and merges besides. */
#define EARLY ((size_t)6 << 20)

/* Names the columns, so that an additional column in a table shifts none. Native blocks carry their own names. */
static const char *const columns_of[TB__CH_FORMS] = {
    "", "", "", "(day,zone,first_ms,last_ms,lines,batch,at,seal,bytes,data)", "(day,zone,of,batch)", "(day,zone,key,batch,seal,record)"};

tb_code tb__ch_put_inserts(struct tb__clickhouse *ch, tb_error *err)
{
    for (int t = 0; t < TB__CH_FORMS; t++) {
        ch->insert_at[t] = ch->inserts.len;
        tb_buf_fmt(&ch->inserts, "INSERT INTO %s.%s%s FORMAT %s", ch->client->database, tb__ch_table_names[table_of[t]], columns_of[t],
                   t <= TB__CH_COUNTRIES ? "Native" : "RowBinary");
        tb_buf_add(&ch->inserts, "", 1);
    }
    return tb_buf_check(&ch->inserts, err);
}

/* Moves pending rows into a body: counters as columns, other rows unchanged. */
static tb_code take_rows(struct tb__clickhouse *ch, int t, size_t shard, tb_error *err)
{
    tb_buf *rows = &ch->rows[t][shard], *body = &ch->bodies[(size_t)t * ch->client->shards + shard];
    tb_code code = TB_OK;
    body->len = 0;
    body->failed = false;
    if (t <= TB__CH_COUNTRIES) {
        code = tb__ch_put_columns((tb__ch_form)t, rows, body, err);
    } else {
        const tb_buf empty = *body;
        *body = *rows;
        *rows = empty;
    }
    rows->len = ch->marked_at[t][shard] = 0;
    const char *sql = ch->inserts.data + ch->insert_at[t];
    ch->in_flight[ch->n_in_flight++] = (tb_usage_statement){.shard = shard, .sql = sql, .body = body->data, .len = body->len};
    return code;
}

static tb_code send_one_by_one(struct tb__clickhouse *ch, tb_error *err)
{
    const tb_usage_client *client = ch->client;
    tb_code code = TB_OK;
    for (size_t i = 0; !code && i < ch->n_in_flight; i++) {
        ch->answer.len = 0;
        code = client->ask(client->ctx, &ch->in_flight[i], &ch->answer, err);
    }
    ch->n_in_flight = 0;
    return code;
}

/* Fails if rows of this transaction were lost. */
static tb_code tell_lost(const struct tb__clickhouse *ch, tb_error *err)
{
    if (ch->lost.code && err) *err = ch->lost;
    return ch->lost.code;
}

/* Waits until the sending under way has arrived. */
static tb_code wait_for_rows(struct tb__clickhouse *ch, tb_error *err)
{
    if (ch->n_in_flight) {
        ch->n_in_flight = 0;
        ch->lost.code = ch->client->finish(ch->client->ctx, ch->token, &ch->lost);
    }
    return tell_lost(ch, err);
}

/* Starts to send the rows of the forms before `end`, to all shards at once, as they are different servers. */
static tb_code start_sending(tb_store *store, int end, tb_error *err)
{
    struct tb__clickhouse *ch = tb__ch_of(store);
    const tb_usage_client *client = ch->client;
    tb_code code = wait_for_rows(ch, err);
    if (!code && end > TB__CH_LOG_ROWS) code = tb__ch_lines_ready(store, err);
    if (code) return code;
    for (size_t shard = 0; shard < client->shards; shard++)
        for (int t = 0; !code && t < end; t++)
            if (ch->rows[t][shard].len) code = take_rows(ch, t, shard, &ch->lost);
    if (ch->n_in_flight) ch->sent = ch->next - 1;
    if (!code && ch->n_in_flight)
        code = client->start ? client->start(client->ctx, ch->in_flight, ch->n_in_flight, &ch->token, &ch->lost)
                             : send_one_by_one(ch, &ch->lost);
    if (code) ch->n_in_flight = 0;
    ch->lost.code = code;
    return tell_lost(ch, err);
}

tb_code tb__ch_send(tb_store *store, tb_error *err)
{
    struct tb__clickhouse *ch = tb__ch_of(store);
    tb_code code = start_sending(store, TB__CH_FORMS, err);
    if (!code) code = wait_for_rows(ch, err);
    if (!ch->began) ch->lost.code = TB_OK; /* no later call would report it */
    return code;
}

/* Makes the rows of this transaction readable. */
tb_code tb__ch_settle(tb_store *store, tb_error *err)
{
    return tb__ch_of(store)->began ? tb__ch_send(store, err) : TB_OK;
}

static bool are_many(const struct tb__clickhouse *ch)
{
    bool many = false;
    for (size_t shard = 0; shard < ch->client->shards; shard++)
        many |= ch->rows[TB__CH_ALL][shard].len >= EARLY || ch->rows[TB__CH_LINES][shard].len >= EARLY;
    return many;
}

/* No part of the pending rows will be rolled back separately. */
static void join_rows(struct tb__clickhouse *ch)
{
    tb__ch_lines_mark(&ch->lines);
    for (size_t shard = 0; ch->pools && shard < ch->client->shards; shard++)
        tb__ch_pool_rows(&ch->pools[shard], &ch->rows[TB__CH_COUNTRIES][shard], ch->marked_at[TB__CH_COUNTRIES][shard]);
}

void tb__ch_mark(tb_store *store)
{
    struct tb__clickhouse *ch = tb__ch_of(store);
    if (!ch->began) return;
    ch->marked = ch->next;
    tb__series_mark(store);
    join_rows(ch);
    if (are_many(ch)) (void)start_sending(store, TB__CH_COUNTRIES, NULL); /* the end tells what became of it */
    for (int t = 0; t < TB__CH_FORMS; t++)
        for (size_t shard = 0; shard < ch->client->shards; shard++)
            ch->marked_at[t][shard] = ch->rows[t][shard].len;
}

/* Ids whose rows were sent are never used again, nor is the rest of their life, so that visible.c can express it briefly. All ids
 * from `first` on are one gap, however many attempts failed. */
static tb_code leave_gap(struct tb__clickhouse *ch, int64_t first, tb_error *err)
{
    ch->next = first;
    if (ch->sent < first) return TB_OK;
    while (ch->n_gaps && ch->gaps[ch->n_gaps - 1].first >= first)
        ch->n_gaps--;
    tb_code code = tb__grow(&ch->gaps, ch->n_gaps, &ch->cap_gaps, sizeof *ch->gaps, err);
    const int64_t end = ch->sent | TB__CH_LIFE_MAX; /* a span has 2^20 lives: the last one goes on */
    ch->next = ((end + 1) >> TB__CH_ID_BITS == end >> TB__CH_ID_BITS ? end : ch->sent) + 1;
    if (!code) ch->gaps[ch->n_gaps++] = (struct tb__ch_gap){first, ch->next - 1};
    return code;
}

static void drop_rows(struct tb__clickhouse *ch, bool whole)
{
    tb__ch_lines_drop(&ch->lines, whole);
    for (int t = 0; t < TB__CH_FORMS; t++)
        for (size_t shard = 0; shard < ch->client->shards; shard++) {
            tb_buf *rows = &ch->rows[t][shard];
            const size_t keep = whole ? 0 : ch->marked_at[t][shard];
            if (rows->len > keep) rows->len = keep;
            rows->failed = false;
        }
}

/* The result of the last transaction is known here and not at its end: ids above the file's watermark were never
 * committed. */
tb_code tb__ch_begin(tb_store *store, tb_error *err)
{
    struct tb__clickhouse *ch = tb__ch_of(store);
    int64_t committed = 0;
    if (ch->began) return tell_lost(ch, err);
    if (ch->unchecked)
        return tb_fail(err, TB_E_AWAY, "usage", "A usage server was away when tollbook started, and has not been looked at since.");
    if (tb__ch_cache_fenced(ch->cache)) return tb__ch_fenced(err);
    tb_code code = tb__meta_get(store, "usage_batch", &committed, err);
    if (code) return code;
    drop_rows(ch, true);
    if (ch->next - 1 > committed) code = leave_gap(ch, committed + 1, err);
    else ch->n_gaps = 0; /* the file has them */
    if (code) return code;
    ch->committed = ch->next - 1;
    ch->began = true;
    tb__ch_mark(store); /* a mark that was set before anything was added */
    return TB_OK;
}

/* Stores in the file that the rows of this transaction count. */
static tb_code note_batches(tb_store *store, tb_error *err)
{
    const struct tb__clickhouse *ch = tb__ch_of(store);
    tb_code code = tb__series_write(store, err);
    tb__series_mark(store); /* none is pending any more */
    if (!code) code = tb__ch_lines_commit(store, err);
    for (size_t i = 0; !code && i < ch->n_gaps; i++) {
        char name[40] = "usage_gap_";
        sqlite3_snprintf(30, name + 10, "%lld", (long long)ch->gaps[i].first);
        code = tb__ch_meta_put(store, name, ch->gaps[i].last, err);
    }
    return code ? code : tb__meta_set(store, "usage_batch", ch->next - 1, err);
}

tb_code tb__ch_commit(tb_store *store, tb_error *err)
{
    struct tb__clickhouse *ch = tb__ch_of(store);
    if (!ch->began) return TB_OK;
    ch->began = false;
    if (ch->next - 1 == ch->committed) return TB_OK;
    join_rows(ch);
    tb_code code = start_sending(store, TB__CH_FORMS, err);
    if (!code) code = note_batches(store, err);
    return code ? code : wait_for_rows(ch, err);
}

void tb__ch_abandon(tb_store *store, bool whole)
{
    struct tb__clickhouse *ch = tb__ch_of(store);
    tb__batch_drop(store);
    tb__ch_forget_months(ch);
    ch->retention_checked.watermark = 0;
    if (whole) {
        (void)wait_for_rows(ch, NULL);
        ch->lost.code = TB_OK;
        ch->began = false;
    }
    if (!ch->began) return;
    drop_rows(ch, false);
    if (ch->marked < ch->next && leave_gap(ch, ch->marked, NULL)) store->broken = true;
}
