/* Counters in ClickHouse. A row of `cell` is what one batch (a call of tb_store_add_usage) adds to one hour of a
 * pull zone's or an account's edge location, or of a load balancer. It has the batch's id and its number in it,
 * and never changes. An owner's rows lie on one shard, which the owner's id decides.
 *
 * Exactly once: ids rise, and none is given twice. The file's transaction says up to which id batches were
 * committed (meta.usage_batch) and which below it never were (meta.usage_gap_FIRST = LAST). A reader
 * asks the file first, in its snapshot, and ClickHouse for these ids alone: so rows that were sent and not
 * committed are seen by nobody, now and later, and all shards show the same moment. A writer that opens the file
 * begins a new span of ids, so that what another one sent and never committed is a gap for good. Rows that
 * were sent twice under their id and number count once.
 *
 * Rows are sent when the transaction commits, before the file's own COMMIT, or earlier where the transaction
 * reads them or has many. What was sent and then undone becomes a gap.
 *
 * Nothing overflows: meta.cell_max bounds what all batches added to any counter. */
#include "store/usage/clickhouse.h"

#include "store/usage/batch.h"
#include "store/usage/chunk.h"
#include "store/usage/file.h"
#include "store/usage/owners.h"
#include "tollbook/buf.h"
#include "tollbook/calendar.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define ID_BITS     40                 /* of a batch within its writer's span */
#define ROWS_MAX    ((size_t)256 << 20) /* bytes of unsent rows of one shard and table */
#define SEND_AT     ((size_t)64 << 20)
#define ANSWER_MAX  ((size_t)512 << 20)
#define WAITING_MAX 2048               /* grids of an account */
#define MONTH_METRICS 3

static const tb_metric month_metrics[MONTH_METRICS] = {TB_M_BYTES, TB_M_REQUESTS,
                                                       TB_M_BALANCER_REQUESTS};

typedef enum table { CELL, COUNTRY, TABLES } table;

/* One owner's days of one month: of each edge location and day the month_metrics. */
typedef struct month_days {
    int scope;
    int64_t owner, month, watermark;
    size_t n;
    struct month_day {
        int64_t edge;
        unsigned day;
        uint64_t value[MONTH_METRICS];
    } *list;
} month_days;

struct tb__clickhouse {
    const tb_usage_client *client;
    tb_buf sql, answer;
    month_days month; /* the one asked for last */
    /* Of a writer: */
    int64_t next;      /* id of the next batch */
    int64_t committed; /* watermark at the transaction's begin */
    int64_t sent;      /* the highest id of which rows were sent */
    int64_t marked;    /* the next id at the mark */
    bool began;        /* `committed` and the mark are this transaction's */
    tb_buf *rows[TABLES]; /* unsent, of each shard */
    size_t *marked_at[TABLES];
    struct gap {
        int64_t first, last;
    } *gaps; /* not known to be in the file yet */
    size_t n_gaps, cap_gaps;
};

/* --- asking --- */

static struct tb__clickhouse *of(const tb_store *store)
{
    return store->usage->clickhouse;
}

static size_t shard_of(const tb_store *store, int scope, int64_t owner)
{
    uint64_t z = (uint64_t)owner * 4 + (uint64_t)scope;
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return (z ^ (z >> 31)) % of(store)->client->shards;
}

/* Sends ch->sql; what comes is in ch->answer. */
static tb_code ask(tb_store *store, size_t shard, tb_error *err)
{
    struct tb__clickhouse *ch = of(store);
    tb_code code = tb_buf_check(&ch->sql, err);
    ch->answer.len = 0;
    if (!code) tb_buf_add(&ch->sql, "", 1);
    if (!code) code = tb_buf_check(&ch->sql, err);
    return code ? code
                : ch->client->ask(ch->client->ctx, shard, ch->sql.data, NULL, 0, &ch->answer, err);
}

/* Walks an answer of fixed columns. */
typedef struct column_reader {
    const char *at, *end;
    bool cut;
} column_reader;

static uint64_t read_column(column_reader *r, size_t size)
{
    uint64_t value = 0;
    if ((size_t)(r->end - r->at) < size) {
        r->cut = true;
        return 0;
    }
    memcpy(&value, r->at, size); /* little-endian, as RowBinary is */
    r->at += size;
    return value;
}

static column_reader reader_of(const struct tb__clickhouse *ch)
{
    return (column_reader){ch->answer.data, ch->answer.data + ch->answer.len, false};
}

static tb_code check_read(const column_reader *r, tb_error *err)
{
    if (!r->cut) return TB_OK;
    return tb_fail(err, TB_E_AWAY, "usage", "A usage server's answer was cut off.");
}

/* --- which batches count --- */

static tb_code meta_or(tb_store *store, const char *name, int64_t otherwise, int64_t *ret, tb_error *err)
{
    sqlite3_stmt *s;
    bool row = false;
    *ret = otherwise;
    tb_code code = tb__sql(store, TB__SQL_META_GET, &s, err);
    if (code) return code;
    sqlite3_bind_text(s, 1, name, -1, SQLITE_STATIC);
    code = tb__step(store, s, &row, err);
    if (code || !row) return code;
    *ret = sqlite3_column_int64(s, 0);
    sqlite3_reset(s);
    return TB_OK;
}

static tb_code meta_put(tb_store *store, const char *name, int64_t value, tb_error *err)
{
    sqlite3_stmt *s;
    tb_code code = tb__sql(store, TB__SQL_META_PUT, &s, err);
    if (code) return code;
    sqlite3_bind_text(s, 1, name, -1, SQLITE_STATIC);
    sqlite3_bind_int64(s, 2, value);
    return tb__run(store, s, err);
}

static void put_gap(tb_buf *sql, int64_t first, int64_t last)
{
    tb_buf_fmt(sql, " AND NOT batch BETWEEN %" PRId64 " AND %" PRId64, first, last);
}

static tb_code put_gaps(tb_store *store, tb_buf *sql, tb_error *err)
{
    const struct tb__clickhouse *ch = of(store);
    sqlite3_stmt *s;
    bool row = true;
    tb_code code = tb__sql(store, TB__SQL_USAGE_GAPS, &s, err);
    while (!code && !(code = tb__step(store, s, &row, err)) && row)
        put_gap(sql, sqlite3_column_int64(s, 0), sqlite3_column_int64(s, 1));
    for (size_t i = 0; i < ch->n_gaps; i++)
        put_gap(sql, ch->gaps[i].first, ch->gaps[i].last);
    return code;
}

/* What a reader sees: the file's snapshot says it. A writer in a transaction sees its own batches, which are
 * sent by then. */
static tb_code put_visible(tb_store *store, tb_buf *sql, int64_t *ret_watermark, tb_error *err)
{
    const struct tb__clickhouse *ch = of(store);
    int64_t watermark = 0;
    tb_code code = tb__meta_get(store, "usage_batch", &watermark, err);
    if (code) return code;
    if (ch->began && ch->next - 1 > watermark) watermark = ch->next - 1;
    if (ret_watermark) *ret_watermark = watermark;
    tb_buf_fmt(sql, " AND batch<=%" PRId64, watermark);
    return put_gaps(store, sql, err);
}

/* --- sending --- */

static tb_code send_rows(tb_store *store, size_t shard, table t, tb_error *err)
{
    static const char *const names[TABLES] = {"cell", "country"};
    struct tb__clickhouse *ch = of(store);
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

static tb_code send_all(tb_store *store, tb_error *err)
{
    tb_code code = TB_OK;
    for (size_t shard = 0; !code && shard < of(store)->client->shards; shard++)
        for (int t = 0; !code && t < TABLES; t++)
            code = send_rows(store, shard, (table)t, err);
    return code;
}

/* What this transaction added can be read. */
static tb_code settle(tb_store *store, tb_error *err)
{
    return of(store)->began ? send_all(store, err) : TB_OK;
}

static void note_mark(struct tb__clickhouse *ch)
{
    ch->marked = ch->next;
    for (int t = 0; ch->rows[t] && t < TABLES; t++)
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
    if (!code) ch->gaps[ch->n_gaps++] = (struct gap){first, ch->next - 1};
    return code;
}

static void drop_rows(struct tb__clickhouse *ch, bool whole)
{
    for (int t = 0; t < TABLES; t++)
        for (size_t shard = 0; shard < ch->client->shards; shard++) {
            tb_buf *rows = &ch->rows[t][shard];
            const size_t keep = whole ? 0 : ch->marked_at[t][shard];
            if (rows->len > keep) rows->len = keep;
            rows->failed = false;
        }
}

/* Here, and not where a transaction ends, shows what became of the one before: ids above the file's watermark
 * were never committed. */
static tb_code begin_transaction(tb_store *store, tb_error *err)
{
    struct tb__clickhouse *ch = of(store);
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

static tb_code commit(tb_store *store, tb_error *err)
{
    struct tb__clickhouse *ch = of(store);
    if (!ch->began) return TB_OK;
    ch->began = false;
    if (ch->next - 1 == ch->committed) return TB_OK;
    tb_code code = send_all(store, err);
    for (size_t i = 0; !code && i < ch->n_gaps; i++) {
        char name[40] = "usage_gap_";
        sqlite3_snprintf(30, name + 10, "%lld", (long long)ch->gaps[i].first);
        code = meta_put(store, name, ch->gaps[i].last, err);
    }
    return code ? code : tb__meta_set(store, "usage_batch", ch->next - 1, err);
}

static void mark(tb_store *store)
{
    if (of(store)->began) note_mark(of(store));
}

static void abandon(tb_store *store, bool whole)
{
    struct tb__clickhouse *ch = of(store);
    tb__landing_drop(store);
    tb__batch_drop(store);
    ch->month.month = -1;
    if (!ch->began) return;
    if (whole) {
        ch->began = false;
        return;
    }
    drop_rows(ch, false);
    if (ch->marked < ch->next && leave_gap(ch, ch->marked, NULL)) store->broken = true;
}

/* --- a batch --- */

typedef struct batch {
    tb_store *store;
    int64_t id;
    uint32_t row;
    int64_t account;     /* whose days wait */
    tb__pending waiting; /* by edge location and day */
    tb_u128 before[TB_METRIC_COUNT];
    bool placed, ended;
} batch;

static tb_code note_series(tb_store *store, int scope, int64_t id, int64_t edge, tb_error *err)
{
    tb__owner *owner = NULL;
    int64_t series = 0;
    tb_code code = tb__owner_get(store, scope, id, &owner, err);
    if (code) return code;
    size_t at = 0;
    while (at < owner->n && owner->list[at].edge < edge)
        at++;
    if (at < owner->n && owner->list[at].edge == edge) return TB_OK;
    code = tb__series_begin(store, owner, edge, &series, err);
    return code ? code : tb__owner_add(owner, at, (tb__member){edge, series}, err);
}

static void put(tb_buf *rows, const void *value, size_t size)
{
    tb_buf_add(rows, value, size);
}

static void put_u64(tb_buf *rows, uint64_t value)
{
    put(rows, &value, sizeof value);
}

static void put_u32(tb_buf *rows, uint32_t value)
{
    put(rows, &value, sizeof value);
}

/* The columns that name a row: scope, owner, edge, hour, batch, number. */
static tb_code put_day(batch *b, const tb__day_of *of_day, const tb_grid *hours, tb_error *err)
{
    tb_store *store = b->store;
    tb_buf *rows = &of(store)->rows[CELL][shard_of(store, of_day->scope, of_day->owner)];
    const uint8_t scope = (uint8_t)of_day->scope;
    for (uint32_t slots = hours->slots; slots; slots &= slots - 1) {
        const unsigned slot = (unsigned)__builtin_ctz(slots);
        put(rows, &scope, 1);
        put_u64(rows, (uint64_t)of_day->owner);
        put_u32(rows, (uint32_t)of_day->edge);
        put_u32(rows, (uint32_t)(of_day->day * 24 + slot));
        put_u64(rows, (uint64_t)b->id);
        put_u32(rows, b->row++);
        for (int m = 0; m < TB_METRIC_COUNT; m++)
            put_u64(rows, hours->metrics & TB_METRIC_BIT(m) ? hours->v[m][slot] : 0);
    }
    tb_code code = tb_buf_check(rows, err);
    return code || rows->len < SEND_AT ? code : send_all(store, err);
}

static tb_code flush_account(batch *b, tb_error *err)
{
    tb_code code = TB_OK;
    for (size_t i = 0; !code && i < b->waiting.n; i++) {
        const int64_t index = b->waiting.list[i].index;
        const tb__day_of to = {TB__SCOPE_ACCOUNT, b->account, index >> TB__INDEX_BITS, b->account,
                               index & TB__INDEX_MAX};
        code = note_series(b->store, TB__SCOPE_ACCOUNT, b->account, to.edge, err);
        if (!code) code = put_day(b, &to, b->waiting.list[i].grid, err);
    }
    tb__pending_clear(&b->waiting);
    return code;
}

static tb_code account_put(batch *b, int64_t account, int64_t edge, int64_t day, const tb_grid *hours,
                           tb_error *err)
{
    tb_grid *sum = NULL;
    tb_code code = b->account != account || b->waiting.n >= WAITING_MAX ? flush_account(b, err) : TB_OK;
    b->account = account;
    if (!code) code = tb__pending_at(&b->waiting, edge << TB__INDEX_BITS | day, &sum, err);
    return code ? code : tb_grid_merge(sum, hours, err);
}

static tb_code batch_begin(tb_store *store, void **ret_batch, tb_error *err)
{
    batch *b = calloc(1, sizeof *b);
    if (!b) return tb_no_memory(err);
    b->store = store;
    memcpy(b->before, store->sums, sizeof b->before);
    *ret_batch = b;
    tb_code code = begin_transaction(store, err);
    b->id = of(store)->next++;
    return code;
}

static tb_code batch_add(void *to, const tb__day_of *of_day, const tb_grid *hours, tb_error *err)
{
    batch *b = to;
    tb_code code = note_series(b->store, of_day->scope, of_day->owner, of_day->edge, err);
    if (!code) code = put_day(b, of_day, hours, err);
    if (code || !of_day->account) return code;
    return account_put(b, of_day->account, of_day->edge, of_day->day, hours, err);
}

static tb_code batch_add_countries(void *to, int64_t zone, int64_t day, const tb__country *list, size_t n,
                                   tb_error *err)
{
    batch *b = to;
    tb_buf *rows = &of(b->store)->rows[COUNTRY][shard_of(b->store, TB__SCOPE_ZONE, zone)];
    for (size_t i = 0; i < n; i++) {
        put_u64(rows, (uint64_t)zone);
        put_u32(rows, (uint32_t)day);
        put(rows, &list[i].code, sizeof list[i].code);
        put_u64(rows, (uint64_t)b->id);
        put_u64(rows, list[i].requests);
        put_u64(rows, list[i].bytes);
    }
    return tb_buf_check(rows, err);
}

/* No counter grows by more than the batch's largest sum, so the sum of these bounds all. */
static tb_code keep_bound(batch *b, tb_error *err)
{
    int64_t bound = 0;
    tb_u128 most = 0;
    for (int m = 0; m < TB_METRIC_COUNT; m++)
        if (b->store->sums[m] - b->before[m] > most) most = b->store->sums[m] - b->before[m];
    tb_code code = tb__meta_get(b->store, "cell_max", &bound, err);
    if (code) return code;
    if (most > (tb_u128)(TB_COUNTER_MAX - bound))
        return tb_fail(err, TB_E_OVERFLOW, NULL,
                       "All usage together would pass 2^63 - 1 in a counter. Nothing of this input was taken.");
    return most ? tb__meta_set(b->store, "cell_max", bound + (int64_t)most, err) : TB_OK;
}

static tb_code batch_end(void *to, int64_t newest, tb_error *err)
{
    batch *b = to;
    (void)newest;
    tb_code code = flush_account(b, err);
    if (!code) code = keep_bound(b, err);
    if (!code) code = tb__series_save(b->store, err);
    b->ended = !code;
    return code;
}

static void batch_free(void *to)
{
    batch *b = to;
    if (!b) return;
    if (!b->ended) tb__landing_drop(b->store);
    tb__pending_release(&b->waiting);
    free(b);
}

/* --- what is refused --- */

static tb_code not_there(const char *what, tb_error *err)
{
    return tb_fail(err, TB_E_NOT_IMPLEMENTED, NULL, "Usage lies in ClickHouse: it cannot be %s there.",
                   what);
}

static tb_code take_back(tb_store *store, tb_rollup_cursor *cursor, uint32_t *maxima, tb_error *err)
{
    (void)store, (void)cursor, (void)maxima;
    return not_there("withdrawn", err);
}

static tb_code let_go(tb_store *store, tb_retain_walk *walk, bool *ret_over, tb_error *err)
{
    (void)store, (void)walk, (void)ret_over;
    return not_there("let go of", err);
}

/* --- statements --- */

static void put_sum(tb_buf *sql, tb_metric m)
{
    tb_buf_fmt(sql, ",%s(c%d)", tb_metric_table[m].how == TB_HOW_SUM ? "sum" : "max", (int)m);
}

/* "SELECT keys,sum(c0),... FROM (each row once) GROUP BY keys FORMAT RowBinary". The inner rows have h, edge and
 * the counters. */
typedef struct question {
    const char *keys; /* of the outer groups, by h and edge */
    uint32_t metrics;
    int scope;
    int64_t owner;
    int64_t first, end; /* hours */
} question;

static tb_code put_question(tb_store *store, const question *q, const char *edges, int64_t *ret_watermark,
                            tb_error *err)
{
    tb_buf *sql = &of(store)->sql;
    sql->len = 0;
    sql->failed = false;
    tb_buf_fmt(sql, "SELECT %s", q->keys);
    for (int m = 0; m < TB_METRIC_COUNT; m++)
        if (q->metrics & TB_METRIC_BIT(m)) put_sum(sql, (tb_metric)m);
    tb_buf_str(sql, " FROM (SELECT h,edge");
    for (int m = 0; m < TB_METRIC_COUNT; m++)
        if (q->metrics & TB_METRIC_BIT(m)) tb_buf_fmt(sql, ",any(%s) AS c%d", tb_metric_table[m].name, m);
    tb_buf_fmt(sql, " FROM %s.cell WHERE scope=%d AND owner=%" PRId64 " AND h>=%" PRId64 " AND h<%" PRId64 "%s",
               of(store)->client->database, q->scope, q->owner, q->first, q->end, edges);
    tb_code code = put_visible(store, sql, ret_watermark, err);
    tb_buf_fmt(sql, " GROUP BY h,edge,batch,row) GROUP BY %s FORMAT RowBinary", q->keys);
    return code;
}

/* Hours are stored from 1970 on, in 32 bits. */
static int64_t clamp_hour(int64_t hour)
{
    return hour < 0 ? 0 : hour > UINT32_MAX ? UINT32_MAX : hour;
}

static question question_of(const tb_view *view, tb_range range, const char *keys, uint32_t metrics)
{
    const int64_t unit = range.hourly ? 1 : 24;
    const bool zone = view->zone != TB_ALL;
    return (question){keys, metrics, zone ? TB__SCOPE_ZONE : TB__SCOPE_ACCOUNT,
                      zone ? view->zone : view->account, clamp_hour(range.first * unit),
                      clamp_hour((range.first + range.count) * unit)};
}

/* " AND edge IN(...)" of a view that was narrowed to a region. */
static tb_code put_edges(const tb_store *store, const tb_view *view, tb_buf *out, tb_error *err)
{
    if (view->region != TB_ALL) {
        tb_buf_str(out, " AND edge IN(");
        for (size_t i = 0; i < store->n_located; i++)
            tb_buf_fmt(out, "%s%" PRId64, i ? "," : "", store->located[i].edge);
        tb_buf_str(out, ")");
    }
    tb_buf_add(out, "", 1);
    return tb_buf_check(out, err);
}

static tb_code fill_series(tb_store *store, uint32_t metrics, tb_series *series, tb_error *err)
{
    column_reader r = reader_of(of(store));
    while (r.at < r.end && !r.cut) {
        const int64_t at = (int64_t)read_column(&r, 4) - series->range.first;
        for (int m = 0; m < TB_METRIC_COUNT; m++) {
            if (!(metrics & TB_METRIC_BIT(m))) continue;
            const uint64_t value = read_column(&r, 8);
            if (at >= 0 && at < series->range.count && !r.cut) series->value[m][at] = value;
        }
    }
    return check_read(&r, err);
}

static tb_code view(tb_store *store, const tb__asked *asked, tb_series *series, tb_error *err)
{
    uint32_t metrics = 0;
    tb_buf edges;
    for (int m = 0; m < TB_METRIC_COUNT; m++)
        if (series->value[m]) metrics |= TB_METRIC_BIT(m);
    if (!store->n_located || !series->range.count || !metrics) return TB_OK;
    const question q = question_of(asked->view, series->range,
                                   series->range.hourly ? "h" : "toUInt32(intDiv(h,24))", metrics);
    tb_buf_init(&edges, 1 << 20, NULL);
    tb_code code = settle(store, err);
    if (!code) code = put_edges(store, asked->view, &edges, err);
    if (!code) code = put_question(store, &q, edges.data, NULL, err);
    if (!code) code = ask(store, shard_of(store, q.scope, q.owner), err);
    if (!code) code = fill_series(store, metrics, series, err);
    tb_buf_release(&edges);
    return code;
}

static tb__located *located_at(const tb_store *store, int64_t edge)
{
    for (size_t i = 0; i < store->n_located; i++)
        if (store->located[i].edge == edge) return &store->located[i];
    return NULL;
}

static tb_code located_bytes(tb_store *store, const tb__asked *asked, tb_range range, tb_error *err)
{
    const question q = question_of(asked->view, range, "edge", TB_METRIC_BIT(TB_M_BYTES));
    if (!store->n_located || !range.count) return TB_OK;
    tb_code code = settle(store, err);
    if (!code) code = put_question(store, &q, "", NULL, err);
    if (!code) code = ask(store, shard_of(store, q.scope, q.owner), err);
    if (code) return code;
    column_reader r = reader_of(of(store));
    while (r.at < r.end && !r.cut) {
        tb__located *to = located_at(store, (int64_t)read_column(&r, 4));
        const uint64_t bytes = read_column(&r, 8);
        if (to) to->bytes = bytes;
    }
    return check_read(&r, err);
}

/* --- one series --- */

typedef struct whose {
    int scope;
    int64_t owner, edge;
} whose;

static tb_code whose_is(tb_store *store, int64_t series, whose *ret, tb_error *err)
{
    sqlite3_stmt *s;
    bool row = false;
    tb_code code = tb__sql_ints(store, TB__SQL_SERIES_WHOSE, &series, 1, &s, err);
    if (!code) code = tb__step(store, s, &row, err);
    if (code) return code;
    if (!row) return tb_fail(err, TB_E_CORRUPT, "series", "Series %lld is gone.", (long long)series);
    *ret = (whose){sqlite3_column_int(s, 0), sqlite3_column_int64(s, 1), sqlite3_column_int64(s, 2)};
    sqlite3_reset(s);
    return TB_OK;
}

static tb_code load_month(tb_store *store, const whose *w, int64_t month, tb_error *err)
{
    struct tb__clickhouse *ch = of(store);
    month_days *d = &ch->month;
    const int64_t first = tb_month_first_day(month), end = tb_month_first_day(month + 1);
    const question q = {"edge,toUInt32(intDiv(h,24))",
                        TB_METRIC_BIT(TB_M_BYTES) | TB_METRIC_BIT(TB_M_REQUESTS) |
                            TB_METRIC_BIT(TB_M_BALANCER_REQUESTS),
                        w->scope, w->owner, clamp_hour(first * 24), clamp_hour(end * 24)};
    size_t cap = 0;
    tb_code code = settle(store, err);
    int64_t watermark = 0;
    if (!code) code = put_question(store, &q, "", &watermark, err);
    if (code) return code;
    if (d->list && d->scope == w->scope && d->owner == w->owner && d->month == month &&
        d->watermark == watermark && !ch->began)
        return TB_OK;
    d->n = 0;
    free(d->list);
    d->list = NULL;
    code = ask(store, shard_of(store, w->scope, w->owner), err);
    column_reader r = reader_of(ch);
    while (!code && r.at < r.end && !r.cut) {
        code = tb__grow(&d->list, d->n, &cap, sizeof *d->list, err);
        if (code) break;
        struct month_day *to = &d->list[d->n++];
        to->edge = (int64_t)read_column(&r, 4);
        to->day = (unsigned)((int64_t)read_column(&r, 4) - first);
        uint64_t value[TB_METRIC_COUNT] = {0};
        for (int m = 0; m < TB_METRIC_COUNT; m++)
            if (q.metrics & TB_METRIC_BIT(m)) value[m] = read_column(&r, 8);
        for (int i = 0; i < MONTH_METRICS; i++)
            to->value[i] = value[month_metrics[i]];
    }
    if (!code) code = check_read(&r, err);
    if (!code && !d->list) code = tb__grow(&d->list, 0, &cap, sizeof *d->list, err);
    d->scope = w->scope;
    d->owner = w->owner;
    d->month = code ? -1 : month;
    d->watermark = watermark;
    return code;
}

static tb_code days(tb_store *store, int64_t series, tb_metric metric, int64_t month, uint64_t out[32],
                    tb_error *err)
{
    whose w;
    int which = 0;
    memset(out, 0, 32 * sizeof *out);
    if (!series || month < 0 || month > TB__INDEX_MAX) return TB_OK;
    while (which < MONTH_METRICS && month_metrics[which] != metric)
        which++;
    if (which == MONTH_METRICS)
        return tb_fail(err, TB_E_INTERNAL, NULL, "A month's days have no %s.", tb_metric_table[metric].name);
    tb_code code = whose_is(store, series, &w, err);
    if (!code) code = load_month(store, &w, month, err);
    const month_days *d = &of(store)->month;
    for (size_t i = 0; !code && i < d->n; i++)
        if (d->list[i].edge == w.edge && d->list[i].day < 32) out[d->list[i].day] = d->list[i].value[which];
    return code;
}

static tb_code hours(tb_store *store, int64_t series, tb_metric metric, int64_t day, uint64_t out[32],
                     tb_error *err)
{
    whose w = {0, 0, 0};
    char edge[48];
    memset(out, 0, 32 * sizeof *out);
    tb_code code = settle(store, err);
    if (!code) code = whose_is(store, series, &w, err);
    if (code) return code;
    const question q = {"h", TB_METRIC_BIT(metric), w.scope, w.owner, clamp_hour(day * 24),
                        clamp_hour(day * 24 + 24)};
    sqlite3_snprintf(sizeof edge, edge, " AND edge=%lld", (long long)w.edge);
    code = put_question(store, &q, edge, NULL, err);
    if (!code) code = ask(store, shard_of(store, w.scope, w.owner), err);
    if (code) return code;
    column_reader r = reader_of(of(store));
    while (r.at < r.end && !r.cut) {
        const int64_t slot = (int64_t)read_column(&r, 4) - day * 24;
        const uint64_t value = read_column(&r, 8);
        if (slot >= 0 && slot < 24) out[slot] = value;
    }
    return check_read(&r, err);
}

/* The answer is copied first: fn may ask. */
static tb_code each_of_answer(column_reader *r, tb__day_fn fn, void *ctx, tb_error *err)
{
    tb_grid grid;
    int64_t day = -1;
    tb_code code = TB_OK;
    tb_grid_clear(&grid);
    while (!code && r->at < r->end && !r->cut) {
        const int64_t hour = (int64_t)read_column(r, 4);
        if (day != hour / 24 && day >= 0) {
            code = fn(ctx, day, &grid, err);
            tb_grid_clear(&grid);
        }
        day = hour / 24;
        for (int m = 0; m < TB_METRIC_COUNT; m++) {
            const uint64_t value = read_column(r, 8);
            if (!code && value && !r->cut)
                code = tb_grid_add(&grid, (tb_metric)m, (unsigned)(hour % 24), value, err);
        }
    }
    return code || r->cut || day < 0 ? code : fn(ctx, day, &grid, err);
}

static tb_code each_day(tb_store *store, int64_t series, tb__day_fn fn, void *ctx, tb_error *err)
{
    struct tb__clickhouse *ch = of(store);
    whose w = {0, 0, 0};
    char edge[48];
    tb_code code = settle(store, err);
    if (!code) code = whose_is(store, series, &w, err);
    if (code) return code;
    const question q = {"h", TB_METRIC_ALL, w.scope, w.owner, 0, UINT32_MAX};
    sqlite3_snprintf(sizeof edge, edge, " AND edge=%lld", (long long)w.edge);
    code = put_question(store, &q, edge, NULL, err);
    if (code) return code;
    ch->sql.len -= strlen(" FORMAT RowBinary");
    tb_buf_str(&ch->sql, " ORDER BY h FORMAT RowBinary");
    code = ask(store, shard_of(store, w.scope, w.owner), err);
    if (code) return code;
    const tb_buf taken = ch->answer;
    tb_buf_init(&ch->answer, ANSWER_MAX, NULL);
    column_reader r = {taken.data, taken.data + taken.len, false};
    code = each_of_answer(&r, fn, ctx, err);
    tb_buf done = taken;
    tb_buf_release(&done);
    return code ? code : check_read(&r, err);
}

/* --- adoption --- */

typedef struct adoption {
    batch *b;
    int64_t zone, account, edge;
} adoption;

static tb_code adopt_day(void *ctx, int64_t day, const tb_grid *grid, tb_error *err)
{
    adoption *a = ctx;
    const tb__late_of late = {TB__SCOPE_ZONE, a->zone, a->account, a->edge, false};
    tb_code code = account_put(a->b, a->account, a->edge, day, grid, err);
    return code ? code : tb__late_note(a->b->store, late, day, grid, err);
}

static tb_code adopt_zone(tb_store *store, int64_t zone, int64_t account, tb_error *err)
{
    adoption a = {NULL, zone, account, 0};
    tb__owner *from = NULL;
    void *made = NULL;
    tb_code code = batch_begin(store, &made, err);
    a.b = made;
    if (!code) code = tb__owner_get(store, TB__SCOPE_ZONE, zone, &from, err);
    for (size_t i = 0; !code && i < from->n; i++) {
        a.edge = from->list[i].edge;
        code = each_day(store, from->list[i].series, adopt_day, &a, err);
    }
    if (!code) code = batch_end(made, INT64_MIN, err);
    batch_free(made);
    return code;
}

/* --- accounts and months --- */

/* Adds a series of each owner with usage between two hours. */
static tb_code list_owners(tb_store *store, size_t shard, int64_t first, int64_t end, tb_buf *json,
                           tb_error *err)
{
    struct tb__clickhouse *ch = of(store);
    ch->sql.len = 0;
    tb_buf_fmt(&ch->sql,
               "SELECT DISTINCT scope,owner FROM %s.cell WHERE scope IN(2,3) AND h>=%" PRId64 " AND h<%" PRId64,
               ch->client->database, first, end);
    tb_code code = put_visible(store, &ch->sql, NULL, err);
    tb_buf_str(&ch->sql, " FORMAT RowBinary");
    if (!code) code = ask(store, shard, err);
    if (code) return code;
    column_reader r = reader_of(ch);
    while (!code && r.at < r.end && !r.cut) {
        int64_t id[2], series = 0;
        id[0] = (int64_t)read_column(&r, 1);
        id[1] = (int64_t)read_column(&r, 8);
        code = tb__int_of(store, TB__SQL_SERIES_OF_OWNER_ID, id, 2, 0, &series, err);
        if (!code && series) tb_buf_fmt(json, "%s%" PRId64, json->len > 1 ? "," : "", series);
    }
    return code ? code : check_read(&r, err);
}

static tb_code billed_accounts(tb_store *store, int64_t month, int64_t **ret_accounts, size_t *ret_n,
                               tb_error *err)
{
    const int64_t first = clamp_hour(tb_month_first_day(month) * 24);
    const int64_t end = clamp_hour(tb_month_first_day(month + 1) * 24);
    tb_buf json;
    tb_buf_init(&json, (size_t)256 << 20, NULL);
    tb_buf_str(&json, "[");
    tb_code code = settle(store, err);
    for (size_t shard = 0; !code && shard < of(store)->client->shards; shard++)
        code = list_owners(store, shard, first, end, &json, err);
    tb_buf_str(&json, "]");
    if (!code) code = tb_buf_check(&json, err);
    if (!code) code = tb__accounts_billed(store, month, &json, ret_accounts, ret_n, err);
    tb_buf_release(&json);
    return code;
}

/* --- verify --- */

/* Of all hours: an owner's own sums, and for an account what its zones come to. */
typedef struct owned {
    int64_t owner;
    tb_u128 own[TB_METRIC_COUNT], zones[TB_METRIC_COUNT];
} owned;

typedef struct checking {
    tb__held_sums *sums;
    owned *accounts; /* ascending by owner */
    size_t n, cap;
} checking;

static tb_code account_at(checking *c, int64_t account, owned **ret, tb_error *err)
{
    size_t at = c->n;
    while (at && c->accounts[at - 1].owner >= account)
        at--;
    if (at == c->n || c->accounts[at].owner != account) {
        tb_code code = tb__grow(&c->accounts, c->n, &c->cap, sizeof *c->accounts, err);
        if (code) return code;
        memmove(c->accounts + at + 1, c->accounts + at, (c->n++ - at) * sizeof *c->accounts);
        c->accounts[at] = (owned){.owner = account};
    }
    *ret = &c->accounts[at];
    return TB_OK;
}

static tb_code count_owner(tb_store *store, checking *c, int scope, int64_t owner, const uint64_t *values,
                           tb_error *err)
{
    int64_t account = scope == TB__SCOPE_ACCOUNT ? owner : 0;
    owned *to = NULL;
    tb_code code = TB_OK;
    if (scope == TB__SCOPE_ZONE)
        code = tb__int_of(store, TB__SQL_ZONE_ACCOUNT, &owner, 1, 0, &account, err);
    if (!code && account) code = account_at(c, account, &to, err);
    if (code) return code;
    for (int m = 0; m < TB_METRIC_COUNT; m++) {
        if (scope != TB__SCOPE_ACCOUNT) c->sums->metric[m] += values[m];
        if (to) (scope == TB__SCOPE_ACCOUNT ? to->own : to->zones)[m] += values[m];
    }
    return TB_OK;
}

static tb_code sum_cells(tb_store *store, size_t shard, checking *c, tb_error *err)
{
    struct tb__clickhouse *ch = of(store);
    ch->sql.len = 0;
    tb_buf_str(&ch->sql, "SELECT scope,owner,max(h)");
    for (int m = 0; m < TB_METRIC_COUNT; m++)
        put_sum(&ch->sql, (tb_metric)m);
    tb_buf_str(&ch->sql, " FROM (SELECT scope,owner,h,edge");
    for (int m = 0; m < TB_METRIC_COUNT; m++)
        tb_buf_fmt(&ch->sql, ",any(%s) AS c%d", tb_metric_table[m].name, m);
    tb_buf_fmt(&ch->sql, " FROM %s.cell WHERE 1", ch->client->database);
    tb_code code = put_visible(store, &ch->sql, NULL, err);
    tb_buf_str(&ch->sql, " GROUP BY scope,owner,h,edge,batch,row) GROUP BY scope,owner FORMAT RowBinary");
    if (!code) code = ask(store, shard, err);
    if (code) return code;
    column_reader r = reader_of(ch);
    while (!code && r.at < r.end && !r.cut) {
        uint64_t values[TB_METRIC_COUNT];
        const int scope = (int)read_column(&r, 1);
        const int64_t owner = (int64_t)read_column(&r, 8), newest = (int64_t)read_column(&r, 4);
        for (int m = 0; m < TB_METRIC_COUNT; m++)
            values[m] = read_column(&r, 8);
        if (newest > c->sums->newest_hour) c->sums->newest_hour = newest;
        code = count_owner(store, c, scope, owner, values, err);
    }
    return code ? code : check_read(&r, err);
}

static tb_code sum_countries(tb_store *store, size_t shard, tb__held_sums *sums, tb_error *err)
{
    struct tb__clickhouse *ch = of(store);
    ch->sql.len = 0;
    tb_buf_fmt(&ch->sql, "SELECT sum(r),sum(b) FROM (SELECT any(requests) AS r,any(bytes) AS b FROM %s.country WHERE 1",
               ch->client->database);
    tb_code code = put_visible(store, &ch->sql, NULL, err);
    tb_buf_str(&ch->sql, " GROUP BY zone,day,country,batch) FORMAT RowBinary");
    if (!code) code = ask(store, shard, err);
    if (code || !of(store)->answer.len) return code;
    column_reader r = reader_of(ch);
    sums->country_requests += read_column(&r, 8);
    sums->country_bytes += read_column(&r, 8);
    return check_read(&r, err);
}

static void compare_accounts(const checking *c, tb__differ_fn differ, void *ctx)
{
    for (size_t i = 0; i < c->n; i++)
        for (int m = 0; m < TB_METRIC_COUNT; m++) {
            const owned *a = &c->accounts[i];
            char sentence[200];
            if (tb_metric_table[m].how != TB_HOW_SUM || a->own[m] == a->zones[m]) continue;
            sqlite3_snprintf(sizeof sentence, sentence,
                             "Account %lld: %s in ClickHouse is %llu; its pull zones make %llu.",
                             (long long)a->owner, tb_metric_table[m].name, (unsigned long long)a->own[m],
                             (unsigned long long)a->zones[m]);
            differ(ctx, sentence);
        }
}

static tb_code verify(tb_store *store, tb__held_sums *ret_sums, tb__differ_fn differ, void *ctx,
                      tb_error *err)
{
    checking c = {.sums = ret_sums};
    tb_code code = settle(store, err);
    for (size_t shard = 0; !code && shard < of(store)->client->shards; shard++) {
        code = sum_cells(store, shard, &c, err);
        if (!code) code = sum_countries(store, shard, ret_sums, err);
    }
    if (!code) compare_accounts(&c, differ, ctx);
    free(c.accounts);
    return code;
}

static tb_code first_month(tb_store *store, int64_t account, int64_t *ret_month, tb_error *err)
{
    (void)store, (void)account, (void)ret_month;
    return not_there("let go of", err);
}

static const tb__counters clickhouse_counters = {
    .begin = batch_begin,
    .add = batch_add,
    .add_countries = batch_add_countries,
    .end = batch_end,
    .free = batch_free,
    .commit = commit,
    .mark = mark,
    .abandon = abandon,
    .adopt_zone = adopt_zone,
    .take_back = take_back,
    .let_go = let_go,
    .view = view,
    .located_bytes = located_bytes,
    .days = days,
    .hours = hours,
    .each_day = each_day,
    .billed_accounts = billed_accounts,
    .verify = verify,
    .first_month = first_month,
};

/* --- opening --- */

static tb_code make_tables(tb_store *store, size_t shard, tb_error *err)
{
    struct tb__clickhouse *ch = of(store);
    const char *name = ch->client->database;
    ch->sql.len = 0;
    tb_buf_fmt(&ch->sql, "CREATE DATABASE IF NOT EXISTS %s", name);
    tb_code code = ask(store, shard, err);
    ch->sql.len = 0;
    tb_buf_fmt(&ch->sql, "CREATE TABLE IF NOT EXISTS %s.cell(scope UInt8,owner Int64,edge UInt32,h UInt32,"
                         "batch UInt64,row UInt32", name);
    for (int m = 0; m < TB_METRIC_COUNT; m++)
        tb_buf_fmt(&ch->sql, ",%s UInt64", tb_metric_table[m].name);
    tb_buf_str(&ch->sql, ")ENGINE=ReplacingMergeTree PARTITION BY toYYYYMM(toDateTime(h*3600,'UTC'))"
                         " ORDER BY(scope,owner,h,edge,batch,row)");
    if (!code) code = ask(store, shard, err);
    ch->sql.len = 0;
    tb_buf_fmt(&ch->sql, "CREATE TABLE IF NOT EXISTS %s.country(zone Int64,day UInt32,country UInt16,batch UInt64,"
                         "requests UInt64,bytes UInt64)ENGINE=ReplacingMergeTree"
                         " PARTITION BY toYYYYMM(toDateTime(day*86400,'UTC')) ORDER BY(zone,day,country,batch)",
               name);
    return code ? code : ask(store, shard, err);
}

/* A new span of ids: what another writer sent and did not commit is a gap for good. */
static tb_code begin_span(tb_store *store, void *ctx, tb_error *err)
{
    int64_t *epoch = ctx, last = 0;
    char name[40] = "usage_gap_";
    tb_code code = meta_or(store, "usage_batch", 0, &last, err);
    const int64_t from = ++*epoch << ID_BITS;
    sqlite3_snprintf(30, name + 10, "%lld", (long long)last + 1);
    if (!code) code = meta_put(store, name, from - 1, err);
    if (!code) code = meta_put(store, "usage_batch", from, err);
    if (!code) code = meta_put(store, "usage_epoch", *epoch, err);
    if (!code) code = meta_put(store, "usage_shards", (int64_t)of(store)->client->shards, err);
    of(store)->next = from + 1;
    return code;
}

/* The file may be a copy from a backup: spans that were begun after it was made are over, too. */
static tb_code find_epoch(tb_store *store, size_t shard, int64_t *epoch, tb_error *err)
{
    struct tb__clickhouse *ch = of(store);
    static const char *const tables[] = {"cell", "country"};
    tb_code code = TB_OK;
    for (size_t i = 0; !code && i < sizeof tables / sizeof *tables; i++) {
        ch->sql.len = 0;
        tb_buf_fmt(&ch->sql, "SELECT max(batch) FROM %s.%s FORMAT RowBinary", ch->client->database, tables[i]);
        code = ask(store, shard, err);
        if (code) return code;
        column_reader r = reader_of(ch);
        const int64_t used = ch->answer.len ? (int64_t)(read_column(&r, 8) >> ID_BITS) : 0;
        if (used > *epoch) *epoch = used;
        code = check_read(&r, err);
    }
    return code;
}

static tb_code open_writer(tb_store *store, int64_t epoch, tb_error *err)
{
    struct tb__clickhouse *ch = of(store);
    tb_code code = TB_OK;
    for (int t = 0; t < TABLES; t++) {
        ch->rows[t] = calloc(ch->client->shards, sizeof *ch->rows[t]);
        ch->marked_at[t] = calloc(ch->client->shards, sizeof *ch->marked_at[t]);
        if (!ch->rows[t] || !ch->marked_at[t]) return tb_no_memory(err);
        for (size_t shard = 0; shard < ch->client->shards; shard++)
            tb_buf_init(&ch->rows[t][shard], ROWS_MAX, NULL);
    }
    for (size_t shard = 0; !code && shard < ch->client->shards; shard++)
        if (!(code = make_tables(store, shard, err))) code = find_epoch(store, shard, &epoch, err);
    return code ? code : tb_store_write(store, begin_span, &epoch, err);
}

/* Whose counters are where. */
static tb_code check_place(tb_store *store, const tb_usage_client *client, int64_t epoch, tb_error *err)
{
    int64_t shards = 0, series = 0;
    if (!client && !epoch) return TB_OK;
    if (!client)
        return tb_fail(err, TB_E_USAGE, NULL,
                       "%s has its usage in ClickHouse: ask the server that serves it, with --server.",
                       store->path);
    tb_code code = meta_or(store, "usage_shards", (int64_t)client->shards, &shards, err);
    if (!code && shards != (int64_t)client->shards)
        return tb_fail(err, TB_E_USAGE, "usage",
                       "The usage of %s lies on %lld shards, and %zu are named. Name them all, in their order.",
                       store->path, (long long)shards, client->shards);
    if (!code && !epoch) code = tb__meta_get(store, "series_id", &series, err);
    if (code || epoch) return code;
    if (series)
        return tb_fail(err, TB_E_USAGE, "usage",
                       "%s has usage of its own. A database keeps its usage in ClickHouse from its beginning.",
                       store->path);
    if (!store->write)
        return tb_fail(err, TB_E_USAGE, "usage", "%s has no usage in ClickHouse yet.", store->path);
    return TB_OK;
}

tb_code tb__clickhouse_open(tb_store *store, const tb_usage_client *client, tb_error *err)
{
    int64_t epoch = 0;
    tb_code code = meta_or(store, "usage_epoch", 0, &epoch, err);
    if (!code) code = check_place(store, client, epoch, err);
    if (code || !client) return code;
    struct tb__clickhouse *ch = calloc(1, sizeof *ch);
    if (!ch) return tb_no_memory(err);
    ch->client = client;
    ch->month.month = -1;
    tb_buf_init(&ch->sql, (size_t)1 << 20, NULL);
    tb_buf_init(&ch->answer, ANSWER_MAX, NULL);
    store->usage->clickhouse = ch;
    store->client = client;
    store->plane.counters = &clickhouse_counters;
    return store->write ? open_writer(store, epoch, err) : TB_OK;
}

void tb__clickhouse_close(struct tb__clickhouse *ch)
{
    if (!ch) return;
    for (int t = 0; t < TABLES; t++) {
        for (size_t shard = 0; ch->rows[t] && shard < ch->client->shards; shard++)
            tb_buf_release(&ch->rows[t][shard]);
        free(ch->rows[t]);
        free(ch->marked_at[t]);
    }
    tb_buf_release(&ch->sql);
    tb_buf_release(&ch->answer);
    free(ch->month.list);
    free(ch->gaps);
    free(ch);
}
