/* Counters in ClickHouse. A row of `cell` is what one batch (a call of tb_store_add_usage) adds to one hour of a
 * pull zone's or an account's edge location, or of a load balancer. It has the batch's id and its number in it,
 * and never changes. An owner's rows lie on one shard, which the owner's id decides.
 *
 * Exactly once: ids grow, and none is used twice. The file says up to which id batches were committed
 * (meta.usage_batch), and which ids below it never were (meta.usage_gap_FIRST = LAST). A reader reads these from its
 * snapshot of the file and then reads only these ids from ClickHouse. So no reader ever sees rows that were sent and not
 * committed, and all shards show the same moment. A writer that opens the file begins a new span of ids, so that rows
 * that an earlier one sent and never committed remain a gap. Rows that were sent twice under one id and number count once.
 *
 * Rows are sent when the transaction commits, before the COMMIT of the file, or earlier if the transaction reads them or has
 * many. If it is rolled back after that, its ids become a gap up to the end of its life. An id has three parts: a span,
 * which has its own partitions, a life within the span, and a position (TB__CH_ID_BITS, TB__CH_LIFE_BITS).
 *
 * A month may be compacted (compact.c): meta.usage_month_MONTH is a span of one id, whose low bits are 0 and which no batch
 * has. Rows of the month with this id count, and those of batches with greater ids. Rows with another such id never count.
 *
 * Expired usage (expire.c) is dropped when its month is compacted: hours become days, which are rows of their own scopes
 * (TB__CH_DAYS) at the day's first hour, and expired days are dropped.
 *
 * No counter overflows: meta.cell_max bounds the sum of all batches for any counter. */
#include "store/clickhouse/clickhouse.h"

#include "store/clickhouse/cache.h"
#include "store/clickhouse/lines.h"
#include "store/clickhouse/private.h"
#include "store/core/held.h"

#include <inttypes.h>
#include <stdlib.h>

#define ROWS_MAX ((size_t)256 << 20) /* bytes of unsent rows of one shard and table */
#define EPOCHS   (INT64_C(1) << (62 - TB__CH_ID_BITS)) /* spans of ids, at most, with room for the next */

static const tb__counters clickhouse_counters = {
    .begin = tb__ch_batch_begin,
    .add = tb__ch_batch_add,
    .add_countries = tb__ch_batch_add_countries,
    .end = tb__ch_batch_end,
    .free = tb__ch_batch_free,
    .commit = tb__ch_commit,
    .mark = tb__ch_mark,
    .abandon = tb__ch_abandon,
    .adopt_zone = tb__ch_adopt_zone,
    .undo = &tb__ch_undo,
    .expire = tb__ch_expire,
    .view = tb__ch_view,
    .located_bytes = tb__ch_located_bytes,
    .series = tb__ch_series,
    .series_together = tb__ch_series_together,
    .sum = tb__ch_sum,
    .days = tb__ch_days,
    .hours = tb__ch_hours,
    .each_day = tb__ch_each_day,
    .billed_accounts = tb__ch_billed_accounts,
    .verify = tb__ch_verify,
    .sizes = tb__ch_sizes,
    .first_month = tb__ch_first_month,
};

static tb_code make_tables(tb_store *store, size_t shard, tb_error *err)
{
    struct tb__clickhouse *ch = tb__ch_of(store);
    const char *name = ch->client->database;
    tb_code code = tb__ch_create_schema(store, shard, err);
    if (!code) code = tb__ch_make_claims(store, shard, err);
    ch->sql.len = 0;
    tb_buf_fmt(&ch->sql, "CREATE TABLE IF NOT EXISTS %s.cell(scope UInt8,owner Int64,edge UInt32,h UInt32,"
                         "batch UInt64,row UInt32", name);
    for (int m = 0; m < TB_METRIC_COUNT; m++)
        tb_buf_fmt(&ch->sql, ",%s UInt64", tb_metric_table[m].name);
    tb_buf_fmt(&ch->sql,
               ")ENGINE=ReplacingMergeTree PARTITION BY (toYYYYMM(toDateTime(h*3600,'UTC')),intDiv(batch,%" PRId64 "))"
               " ORDER BY(scope,owner,h,edge,batch,row)", INT64_C(1) << TB__CH_ID_BITS);
    if (!code) code = tb__ch_query(store, shard, err);
    ch->sql.len = 0;
    tb_buf_fmt(&ch->sql, "CREATE TABLE IF NOT EXISTS %s.country(zone Int64,day UInt32,country UInt16,batch UInt64,"
                         "requests UInt64,bytes UInt64)ENGINE=ReplacingMergeTree"
                         " PARTITION BY (toYYYYMM(toDateTime(day*86400,'UTC')),intDiv(batch,%" PRId64 "))"
                         " ORDER BY(zone,day,country,batch)",
               name, INT64_C(1) << TB__CH_ID_BITS);
    if (!code) code = tb__ch_query(store, shard, err);
    return code ? code : tb__ch_lines_tables(store, shard, err);
}

/* Begins a new span of ids: rows that another writer sent and did not commit remain a gap. Series are looked up by id
 * here, which a file with its own counters never does, so only files with usage servers get that index. */
static tb_code begin_span(tb_store *store, void *ctx, tb_error *err)
{
    int64_t *epoch = ctx, last = 0;
    char name[40] = "usage_gap_";
    tb_code code = tb__ch_meta(store, "usage_batch", 0, &last, err);
    const int64_t from = ++*epoch << TB__CH_ID_BITS;
    sqlite3_snprintf(30, name + 10, "%lld", (long long)last + 1);
    if (!code) code = tb__ch_meta_put(store, name, from - 1, err);
    if (!code) code = tb__ch_meta_put(store, "usage_batch", from, err);
    if (!code) code = tb__ch_meta_put(store, "usage_epoch", *epoch, err);
    if (!code) code = tb__ch_note_claim(store, *epoch, err);
    if (!code) code = tb__exec(store->db, store->path, "CREATE INDEX IF NOT EXISTS series_by_id ON series_placed(id)", err);
    if (!code) code = tb__ch_meta_put(store, "usage_shards", (int64_t)tb__ch_of(store)->client->shards, err);
    if (!code) code = tb__ch_meta_put(store, TB__CH_NUMBER, tb__ch_of(store)->number, err);
    tb__ch_of(store)->next = from + 1;
    return code;
}

/* Ids whose rows were sent and not committed become a gap, up to the compaction's id, which will count. Mostly there are none. */
tb_code tb__ch_begin_compaction_span(tb_store *store, void *ctx, tb_error *err)
{
    struct tb__clickhouse *ch = tb__ch_of(store);
    int64_t *ret_batch = ctx, epoch = 0, last = 0;
    char name[40] = "usage_gap_";
    tb_code code = tb__ch_meta(store, "usage_epoch", 0, &epoch, err);
    if (!code) code = tb__ch_meta(store, "usage_batch", 0, &last, err);
    if (!code) code = tb__ch_claim(store, epoch + 2, err);
    const int64_t from = (epoch + 2) << TB__CH_ID_BITS;
    *ret_batch = (epoch + 1) << TB__CH_ID_BITS;
    sqlite3_snprintf(30, name + 10, "%lld", (long long)last + 1);
    if (!code && (ch->sent > last || ch->n_gaps)) code = tb__ch_meta_put(store, name, *ret_batch - 1, err);
    if (!code) code = tb__ch_meta_put(store, "usage_batch", from, err);
    if (!code) code = tb__ch_note_claim(store, epoch + 2, err);
    return code ? code : tb__ch_meta_put(store, "usage_epoch", epoch + 2, err);
}

/* The file may be restored from a backup: spans that were begun after the backup end too. */
static tb_code find_epoch(tb_store *store, size_t shard, int64_t *epoch, tb_error *err)
{
    struct tb__clickhouse *ch = tb__ch_of(store);
    tb_code code = TB_OK;
    for (int t = 0; !code && t < TB__CH_TABLES; t++) {
        ch->sql.len = 0;
        tb_buf_fmt(&ch->sql, "SELECT max(batch) FROM %s.%s FORMAT RowBinary", ch->client->database, tb__ch_table_names[t]);
        code = tb__ch_query(store, shard, err);
        if (code) return code;
        tb__ch_reader r = tb__ch_reader_of(ch);
        const int64_t used = ch->answer.len ? (int64_t)(tb__ch_column(&r, 8) >> TB__CH_ID_BITS) : 0;
        if (used > *epoch) *epoch = used;
        code = tb__ch_check_read(&r, err);
    }
    return code;
}

/* Room for rows of each shard. */
static tb_code make_buffers(tb_store *store, tb_error *err)
{
    struct tb__clickhouse *ch = tb__ch_of(store);
    for (int t = 0; t < TB__CH_FORMS; t++) {
        ch->rows[t] = calloc(ch->client->shards, sizeof *ch->rows[t]);
        ch->marked_at[t] = calloc(ch->client->shards, sizeof *ch->marked_at[t]);
        if (!ch->rows[t] || !ch->marked_at[t]) return tb_no_memory(err);
        for (size_t shard = 0; shard < ch->client->shards; shard++)
            tb_buf_init(&ch->rows[t][shard], ROWS_MAX, NULL);
    }
    ch->pools = calloc(ch->client->shards, sizeof *ch->pools);
    const size_t n = ch->client->shards * TB__CH_FORMS;
    ch->bodies = calloc(n, sizeof *ch->bodies);
    ch->in_flight = calloc(n, sizeof *ch->in_flight);
    if (!ch->pools || !ch->bodies || !ch->in_flight) return tb_no_memory(err);
    for (size_t i = 0; i < n; i++)
        tb_buf_init(&ch->bodies[i], ROWS_MAX, NULL);
    return tb__ch_put_inserts(ch, err);
}

/* What begin_writing reads from the shards. */
typedef struct found {
    int64_t known;   /* epoch of the file; 0: its usage was never there */
    int64_t used;    /* the highest of which there are rows, or the file's */
    int64_t claimed; /* the highest that a writer took */
} found;

static tb_code look_at_shard(tb_store *store, size_t shard, found *f, tb_error *err)
{
    int64_t used = 0;
    tb_code code = make_tables(store, shard, err);
    if (!code) code = tb__ch_join_shard(store, shard, f->known > 0, err);
    if (!code) code = find_epoch(store, shard, &used, err);
    if (!code) code = tb__ch_look_at_claims(store, shard, f->known > 0, used > 0, &f->claimed, err);
    if (used > f->used) f->used = used;
    return code ? code : tb__ch_check_copy(store, shard, err);
}

/* Checks all of them before it fails with TB_E_AWAY, so that an unreachable server does not stop the others. */
static tb_code look_at_shards(tb_store *store, found *f, tb_error *err)
{
    const struct tb__clickhouse *ch = tb__ch_of(store);
    tb_code away = TB_OK;
    for (size_t shard = 0; shard < ch->client->shards; shard++) {
        const tb_code code = look_at_shard(store, shard, f, err);
        tb__ch_cache_seen(ch->cache, shard, !code);
        if (code && code != TB_E_AWAY) return code;
        if (code) away = code;
    }
    return away;
}

/* A span of ids begins only after every shard was checked: the unreachable one may have the highest. */
static tb_code begin_writing(tb_store *store, tb_error *err)
{
    struct tb__clickhouse *ch = tb__ch_of(store);
    found f = {0, 0, 0};
    tb_code code = tb__ch_meta(store, "usage_epoch", 0, &f.known, err);
    f.used = f.known;
    ch->unchecked = ch->checking = true;
    if (!code) code = tb__ch_find_number(store, f.known > 0, err);
    if (!code) code = look_at_shards(store, &f, err);
    ch->checking = false;
    const bool copy = f.known && f.used > f.known;
    int64_t epoch = f.used > f.claimed ? f.used : f.claimed;
    if (!code && epoch) code = tb__check_id("meta", epoch, EPOCHS, err);
    if (!code) code = tb__ch_begin_claims(store, f.known > 0, epoch + 1, err);
    if (!code && copy) code = tb_store_write(store, tb__ch_adopt_seals, NULL, err);
    if (!code) code = tb_store_write(store, begin_span, &epoch, err);
    ch->unchecked = code != TB_OK;
    if (!code) code = tb__ch_carry(store, err); /* of a file that an earlier build moved, or one whose move was cut off */
    ch->unchecked = code != TB_OK;
    return code;
}

/* A file that knows its shards can be opened while some are unreachable: see tb_store_usage_look. */
static tb_code open_writer(tb_store *store, int64_t epoch, tb_error *err)
{
    tb_code code = make_buffers(store, err);
    if (!code) code = begin_writing(store, err);
    return code == TB_E_AWAY && epoch ? TB_OK : code;
}

tb_code tb_store_usage_look(tb_store *store, tb_error *err)
{
    const struct tb__clickhouse *ch = tb__ch_of(store);
    if (!ch) return TB_OK;
    if (tb__ch_cache_fenced(ch->cache)) return tb__ch_fenced(err);
    if (store->write) return ch->unchecked ? begin_writing(store, err) : tb__ch_check_alone(store, err);
    for (size_t shard = 0; shard < ch->client->shards; shard++)
        if (!tb__ch_cache_saw(ch->cache, shard)) return tb__ch_unchecked(shard, err);
    return TB_OK;
}

/* Where the counters are. */
static tb_code check_place(tb_store *store, const tb_usage_client *client, int64_t epoch, tb_error *err)
{
    int64_t shards = 0, series = 0;
    if (!client && (!epoch || store->control)) return TB_OK;
    if (!client)
        return tb_fail(err, TB_E_USAGE, NULL,
                       "%s has its usage in ClickHouse. `serve`, `query` and `backup` read it with --usage "
                       "clickhouse://HOST:PORT/DATABASE; ask the server that serves it for everything else, with --server.",
                       store->path);
    tb_code code = tb__ch_meta(store, "usage_shards", (int64_t)client->shards, &shards, err);
    if (!code && shards != (int64_t)client->shards)
        return tb_fail(err, TB_E_USAGE, "usage",
                       "The usage of %s lies on %lld shards, and %zu are named. Name them all, in their order.",
                       store->path, (long long)shards, client->shards);
    if (!code && !epoch) code = tb__meta_get(store, "series_id", &series, err);
    if (code || epoch) return code;
    if (series)
        return tb_fail(err, TB_E_USAGE, "usage",
                       "%s has usage of its own. `usage migrate` moves it to ClickHouse.",
                       store->path);
    if (!store->write)
        return tb_fail(err, TB_E_USAGE, "usage", "%s has no usage in ClickHouse yet.", store->path);
    return TB_OK;
}

static void *make_cache(void)
{
    return tb__ch_cache_new(0);
}

static void free_cache(void *cache)
{
    tb__ch_cache_free(cache);
}

tb_code tb__ch_connect(tb_store *store, const tb_usage_client *client, tb_error *err)
{
    struct tb__clickhouse *ch = calloc(1, sizeof *ch);
    if (!ch) return tb_no_memory(err);
    ch->client = client;
    tb__ch_forget_months(ch);
    tb_buf_init(&ch->sql, (size_t)1 << 20, NULL);
    tb_buf_init(&ch->inserts, 1 << 12, NULL);
    tb_buf_init(&ch->answer, TB__CH_ANSWER_MAX, NULL);
    tb_buf_init(&ch->lines.bytes, TB__CH_ANSWER_MAX, NULL);
    store->clickhouse = ch;
    return TB_OK;
}

tb_code tb__ch_attach(tb_store *store, const tb_usage_client *client, tb_error *err)
{
    tb_code code = tb__ch_connect(store, client, err);
    if (!code) code = make_buffers(store, err);
    if (!code) code = tb__ch_find_number(store, false, err);
    for (size_t shard = 0; !code && shard < client->shards; shard++)
        if (!(code = make_tables(store, shard, err))) code = tb__ch_join_shard(store, shard, false, err);
    return code;
}

/* The servers that have the file's usage: those of the client, or those that its usage was moved to. */
static tb_code find_client(tb_store *store, const tb_usage_client **client, tb_error *err)
{
    int64_t address = 0;
    tb_code code = tb__ch_meta(store, TB__CH_ADDRESS, 0, &address, err);
    for (const tb_usage_client *next = *client; !code && address && next; next = next->next ? next->next(next->ctx) : NULL)
        if (next->address == address) *client = next;
    return code;
}

static tb_code begin_with(tb_store *store, const tb_usage_client *client, int64_t epoch, tb_error *err)
{
    tb_code code = tb__ch_connect(store, client, err);
    if (code) return code;
    store->client = client;
    store->plane = (tb__plane){&clickhouse_counters, &tb__clickhouse_logs, &tb__clickhouse_events};
    tb__ch_of(store)->cache = tb__held_share(store->held, TB__SHARED_DAYS, make_cache, free_cache);
    if (!tb__ch_of(store)->cache) return tb_no_memory(err); /* it also records dropped rows */
    tb__ch_cache_bound(tb__ch_of(store)->cache, client->remember);
    return store->write ? open_writer(store, epoch, err) : tb__ch_meta(store, TB__CH_NUMBER, 0, &tb__ch_of(store)->number, err);
}

tb_code tb__clickhouse_open(tb_store *store, const tb_usage_client *client, tb_error *err)
{
    int64_t epoch = 0;
    tb_code code = tb__ch_meta(store, "usage_epoch", 0, &epoch, err);
    if (!code && client && epoch) code = find_client(store, &client, err);
    if (!code) code = check_place(store, client, epoch, err);
    store->control = store->control && !client && epoch;
    return code || !client ? code : begin_with(store, client, epoch, err);
}

tb_code tb__clickhouse_follow(tb_store *store, tb_error *err)
{
    struct tb__clickhouse *const before = tb__ch_of(store);
    const tb_usage_client *client = store->client;
    int64_t number = 0, epoch = 0;
    if (!before) return TB_OK;
    tb_code code = tb__ch_meta(store, TB__CH_NUMBER, 0, &number, err);
    if (code || number == before->number) return code;
    code = tb__ch_meta(store, "usage_epoch", 0, &epoch, err);
    if (!code) code = find_client(store, &client, err);
    if (!code && client == store->client)
        return tb_fail(err, TB_E_AWAY, "usage",
                       "The usage of %s was moved to other servers. Start this process again with the --usage of the last `usage migrate`.",
                       store->path);
    if (!code) code = begin_with(store, client, epoch, err);
    struct tb__clickhouse *now = tb__ch_of(store);
    if (now != before && (!code || now->bodies)) { /* a writer that fails to begin is not checked, and tries again */
        tb__clickhouse_close(before);
        return code;
    }
    if (now != before) tb__clickhouse_close(now);
    store->clickhouse = before;
    store->client = before->client;
    before->unchecked = store->write;
    return code;
}

void tb__clickhouse_close(struct tb__clickhouse *ch)
{
    if (!ch) return;
    if (ch->n_in_flight) (void)!ch->client->finish(ch->client->ctx, ch->token, NULL); /* it reads `bodies` */
    for (size_t shard = 0; ch->pools && shard < ch->client->shards; shard++)
        tb__index_release(&ch->pools[shard], NULL);
    free(ch->pools);
    for (size_t i = 0; ch->bodies && i < ch->client->shards * TB__CH_FORMS; i++)
        tb_buf_release(&ch->bodies[i]);
    free(ch->bodies);
    free(ch->in_flight);
    tb_buf_release(&ch->inserts);
    for (int t = 0; t < TB__CH_FORMS; t++) {
        for (size_t shard = 0; ch->rows[t] && shard < ch->client->shards; shard++)
            tb_buf_release(&ch->rows[t][shard]);
        free(ch->rows[t]);
        free(ch->marked_at[t]);
    }
    tb_buf_release(&ch->sql);
    tb_buf_release(&ch->answer);
    tb_buf_release(&ch->lines.bytes);
    free(ch->lines.list);
    free(ch->lines.touched);
    tb__ch_forget_months(ch);
    free(ch->gaps);
    free(ch->compacted);
    free(ch->flips);
    tb__ch_compaction_free(ch);
    free(ch);
}
