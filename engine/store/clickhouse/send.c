/* Rows on their way, and the end of a transaction. */
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

/* The statements of all forms, each ended by a zero; ret_at: where they begin. */
static tb_code put_inserts(tb_store *store, size_t ret_at[TB__CH_FORMS], tb_error *err)
{
    const char *database = tb__ch_of(store)->client->database;
    tb_buf *sql = tb__ch_start(store);
    for (int t = 0; t < TB__CH_FORMS; t++) {
        ret_at[t] = sql->len;
        tb_buf_fmt(sql, "INSERT INTO %s.%s FORMAT %s", database, tb__ch_table_names[table_of[t]],
                   t <= TB__CH_COUNTRIES ? "Native" : "RowBinary");
        tb_buf_add(sql, "", 1);
    }
    return tb_buf_check(sql, err);
}

/* What is sent of these rows: columns of counters, the others as they are. */
static tb_code body_of(struct tb__clickhouse *ch, int t, size_t shard, tb_usage_rows *to, tb_error *err)
{
    const tb_buf *body = &ch->rows[t][shard];
    tb_code code = TB_OK;
    if (t <= TB__CH_COUNTRIES) {
        tb_buf *columns = &ch->bodies[(size_t)t * ch->client->shards + shard];
        columns->len = 0;
        code = tb__ch_put_columns((tb__ch_form)t, body, columns, err);
        body = columns;
    }
    to->body = body->data;
    to->len = body->len;
    return code;
}

static tb_code list_rows(struct tb__clickhouse *ch, const size_t at[TB__CH_FORMS], tb_usage_rows *list, size_t *ret_n,
                         tb_error *err)
{
    tb_code code = TB_OK;
    for (size_t shard = 0; shard < ch->client->shards; shard++)
        for (int t = 0; !code && t < TB__CH_FORMS; t++) {
            if (!ch->rows[t][shard].len) continue;
            list[*ret_n] = (tb_usage_rows){.shard = shard, .sql = ch->sql.data + at[t]};
            code = body_of(ch, t, shard, &list[(*ret_n)++], err);
        }
    return code;
}

static tb_code send_list(struct tb__clickhouse *ch, tb_usage_rows *list, size_t n, tb_error *err)
{
    const tb_usage_client *client = ch->client;
    tb_code code = TB_OK;
    if (client->send) return client->send(client->ctx, list, n, err);
    for (size_t i = 0; !code && i < n; i++) {
        ch->answer.len = 0;
        code = client->ask(client->ctx, list[i].shard, list[i].sql, list[i].body, list[i].len, &ch->answer, err);
        list[i].sent = !code;
    }
    return code;
}

/* What is there does not wait any more. */
static void note_sent(struct tb__clickhouse *ch, const tb_usage_rows *list, size_t n)
{
    size_t i = 0;
    for (size_t shard = 0; shard < ch->client->shards; shard++)
        for (int t = 0; t < TB__CH_FORMS; t++)
            if (ch->rows[t][shard].len && i < n && list[i++].sent) ch->rows[t][shard].len = ch->marked_at[t][shard] = 0;
}

/* To all shards at once: they are different servers. */
tb_code tb__ch_send(tb_store *store, tb_error *err)
{
    struct tb__clickhouse *ch = tb__ch_of(store);
    size_t at[TB__CH_FORMS];
    tb_usage_rows *list = calloc(ch->client->shards * TB__CH_FORMS, sizeof *list);
    if (!list) return tb_no_memory(err);
    tb_code code = tb__ch_lines_ready(store, err);
    if (!code) code = put_inserts(store, at, err);
    size_t n = 0;
    if (!code) code = list_rows(ch, at, list, &n, err);
    if (!code && n) {
        ch->sent = ch->next - 1;
        code = send_list(ch, list, n, err);
        note_sent(ch, list, n);
    }
    free(list);
    return code;
}

/* What this transaction added can be read. */
tb_code tb__ch_settle(tb_store *store, tb_error *err)
{
    return tb__ch_of(store)->began ? tb__ch_send(store, err) : TB_OK;
}

/* No part of what waits is undone alone any more. */
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
    for (int t = 0; t < TB__CH_FORMS && ch->rows[t]; t++)
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
    tb__ch_lines_drop(&ch->lines, whole);
    for (int t = 0; t < TB__CH_FORMS; t++)
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
    if (ch->unseen)
        return tb_fail(err, TB_E_AWAY, "usage", "A usage server was away when tollbook started, and has not been looked at since.");
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

tb_code tb__ch_commit(tb_store *store, tb_error *err)
{
    struct tb__clickhouse *ch = tb__ch_of(store);
    if (!ch->began) return TB_OK;
    ch->began = false;
    if (ch->next - 1 == ch->committed) return TB_OK;
    join_rows(ch);
    tb_code code = tb__series_write(store, err);
    tb__series_mark(store); /* none waits any more */
    if (!code) code = tb__ch_send(store, err);
    if (!code) code = tb__ch_lines_commit(store, err);
    for (size_t i = 0; !code && i < ch->n_gaps; i++) {
        char name[40] = "usage_gap_";
        sqlite3_snprintf(30, name + 10, "%lld", (long long)ch->gaps[i].first);
        code = tb__ch_meta_put(store, name, ch->gaps[i].last, err);
    }
    return code ? code : tb__meta_set(store, "usage_batch", ch->next - 1, err);
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
