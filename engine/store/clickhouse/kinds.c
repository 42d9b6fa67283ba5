/* For both request logs and shield events: tables, which rows count, and totals. */
#include "store/clickhouse/lines.h"

#include <inttypes.h>

/* The differences between the two, as texts of statements. */
static const struct kind {
    const char *table, *columns, *key, *units; /* what a row is counted by, once */
    const char *old, *end; /* rows before a moment: it stands between */
    int64_t day;           /* of such moments */
    const char *before, *until, *forgotten, *seals; /* rows of meta */
} kinds[] = {
    [TB__CH_LOGS] = {"log", "batch AS k,any(bytes)", "batch", "count()", "last_ms<toInt64(", ")", TB_EVENT_MS_PER_DAY, "log_before",
                     "log_before_batch", "log_forgotten_", "log_seals"},
    [TB__CH_EVENTS] = {"event", "zone AS k,any(length(record))", "zone,day,key", "uniqExact(k,d)",
                       "day<toDate(", ")", 1, "event_before", "event_before_batch", "event_forgotten_",
                       "event_seals"},
};

tb_code tb__ch_lines_tables(tb_store *store, size_t shard, tb_error *err)
{
    /* Marks of `log` are dense, for a row is large. */
    static const char *const tables[] = {
        "log(day Date,zone Int64,first_ms Int64,last_ms Int64,lines UInt32,batch UInt64,at UInt64,seal UInt64,"
        "bytes UInt32,data String)ENGINE=ReplacingMergeTree PARTITION BY day ORDER BY(zone,first_ms,batch)"
        " SETTINGS index_granularity=32",
        "log_gone(day Date,zone Int64,of UInt64,batch UInt64)ENGINE=ReplacingMergeTree PARTITION BY day"
        " ORDER BY(zone,of,batch)",
        "event(day Date,zone Int64,key String,batch UInt64,seal UInt64,record String)ENGINE=ReplacingMergeTree"
        " PARTITION BY day ORDER BY(zone,key,batch) SETTINGS index_granularity=256",
    };
    tb_code code = TB_OK;
    for (size_t i = 0; !code && i < sizeof tables / sizeof *tables; i++) {
        tb_buf_fmt(tb__ch_start(store), "CREATE TABLE IF NOT EXISTS %s.%s", tb__ch_of(store)->client->database,
                   tables[i]);
        code = tb__ch_query(store, shard, err);
    }
    return code;
}

tb_code tb__ch_before(tb_store *store, tb__ch_kind kind, int64_t *ret_before, tb_error *err)
{
    return tb__ch_meta(store, kinds[kind].before, 0, ret_before, err);
}

const char *tb__ch_table_of(tb__ch_kind kind)
{
    return kinds[kind].table;
}

tb_code tb__ch_note_before(tb_store *store, tb__ch_kind kind, int64_t before, tb_error *err)
{
    int64_t batch = 0;
    tb_code code = tb__ch_watermark(store, &batch, err);
    if (!code) code = tb__ch_meta_put(store, kinds[kind].before, before, err);
    return code ? code : tb__ch_meta_put(store, kinds[kind].until, batch, err);
}

static void name_forgotten(tb__ch_kind kind, int64_t zone, char name[48])
{
    sqlite3_snprintf(48, name, "%s%lld", kinds[kind].forgotten, (long long)zone);
}

tb_code tb__ch_note_forgotten(tb_store *store, tb__ch_kind kind, int64_t zone, int64_t batch, tb_error *err)
{
    char name[48];
    name_forgotten(kind, zone, name);
    return tb__ch_meta_put(store, name, batch, err);
}

tb_code tb__ch_each_forgotten(tb_store *store, tb__ch_kind kind, tb__ch_forgotten_fn fn, void *ctx, tb_error *err)
{
    sqlite3_stmt *s;
    bool row = true;
    tb_code code = tb__sql(store, TB__SQL_USAGE_FORGOTTEN, &s, err);
    if (code) return code;
    sqlite3_bind_text(s, 1, kinds[kind].forgotten, -1, SQLITE_STATIC);
    while (!(code = tb__step(store, s, &row, err)) && row)
        fn(ctx, sqlite3_column_int64(s, 0), sqlite3_column_int64(s, 1));
    return code;
}

static void put_forgotten(void *sql, int64_t zone, int64_t batch)
{
    tb_buf_fmt(sql, " AND NOT(zone=%" PRId64 " AND batch<=%" PRId64 ")", zone, batch);
}

static tb_code put_zone(tb_store *store, tb_buf *sql, tb__ch_kind kind, int64_t zone, tb_error *err)
{
    char name[48];
    int64_t batch = 0;
    if (!zone) return tb__ch_each_forgotten(store, kind, put_forgotten, sql, err);
    tb_buf_fmt(sql, " AND zone=%" PRId64, zone);
    name_forgotten(kind, zone, name);
    tb_code code = tb__ch_meta(store, name, 0, &batch, err);
    if (batch) tb_buf_fmt(sql, " AND batch>%" PRId64, batch);
    return code;
}

/* Blocks that another one stands for. */
static tb_code put_gone(tb_store *store, tb_buf *sql, int64_t zone, tb_error *err)
{
    int64_t taken = 0;
    tb_code code = tb__ch_meta(store, TB__CH_TAKEN, 0, &taken, err);
    if (code || !taken) return code;
    tb_buf_fmt(sql, " AND batch NOT IN(SELECT of FROM %s.log_gone WHERE 1", tb__ch_of(store)->client->database);
    if (zone) tb_buf_fmt(sql, " AND zone=%" PRId64, zone);
    code = tb__ch_put_visible(store, sql, err);
    tb_buf_str(sql, ")");
    return code;
}

static tb_code put_kept(tb_store *store, tb_buf *sql, tb__ch_kind kind, tb_error *err)
{
    int64_t before = 0, batch = 0;
    tb_code code = tb__ch_before(store, kind, &before, err);
    if (!code) code = tb__ch_meta(store, kinds[kind].until, 0, &batch, err);
    if (code || !before) return code;
    tb_buf_fmt(sql, " AND NOT(%s%" PRId64 "%s AND batch<=%" PRId64 ")", kinds[kind].old, before, kinds[kind].end, batch);
    return TB_OK;
}

tb_code tb__ch_put_counting(tb_store *store, tb_buf *sql, tb__ch_kind kind, int64_t zone, tb_error *err)
{
    tb_code code = put_kept(store, sql, kind, err);
    if (!code) code = put_zone(store, sql, kind, zone, err);
    if (!code) code = tb__ch_put_visible(store, sql, err);
    return code || kind != TB__CH_LOGS ? code : put_gone(store, sql, zone, err);
}

tb_code tb__ch_add_seals(tb_store *store, tb__ch_kind kind, uint64_t more, tb_error *err)
{
    int64_t sum = 0;
    tb_code code = more ? tb__meta_get(store, kinds[kind].seals, &sum, err) : TB_OK;
    if (code || !more) return code;
    return tb__meta_set(store, kinds[kind].seals, (int64_t)(((uint64_t)sum + more) & INT64_MAX), err);
}

/* The rows to total. */
typedef struct wanted {
    tb__ch_kind kind;
    const char *also;
    int64_t before;
    bool held; /* also those that do not count */
} wanted;

static tb_code amount_of_shard(tb_store *store, size_t shard, const wanted *w, tb__ch_amount *to, tb_error *err)
{
    const struct kind *k = &kinds[w->kind];
    tb_buf *sql = tb__ch_start(store);
    tb_buf_fmt(sql, "SELECT toUInt64(%s),toUInt64(sum(l)),toUInt64(sum(s)) FROM(SELECT %s AS l,any(seal) AS s,any(day) AS d"
                    " FROM %s.%s WHERE 1%s",
               k->units, k->columns, tb__ch_of(store)->client->database, k->table, w->also);
    if (w->before != INT64_MAX) /* the day is its partition's */
        tb_buf_fmt(sql, " AND day<=toDate(%u) AND %s%" PRId64 "%s", tb__ch_day_near(w->before / k->day), k->old, w->before,
                   k->end);
    tb_code code = w->held ? put_zone(store, sql, w->kind, 0, err) : tb__ch_put_counting(store, sql, w->kind, 0, err);
    tb_buf_fmt(sql, " GROUP BY %s)FORMAT RowBinary", k->key);
    if (!code) code = tb__ch_query(store, shard, err);
    tb__ch_reader r = tb__ch_reader_of(tb__ch_of(store));
    if (code || r.at == r.end) return code;
    to->units += tb__ch_column(&r, 8);
    to->bytes += tb__ch_column(&r, 8);
    to->seals += tb__ch_column(&r, 8);
    return tb__ch_check_read(&r, err);
}

static tb_code amount_of(tb_store *store, const wanted *w, tb__ch_amount *ret, tb_error *err)
{
    *ret = (tb__ch_amount){0};
    tb_code code = tb__ch_settle(store, err);
    for (size_t shard = 0; !code && shard < tb__ch_of(store)->client->shards; shard++)
        code = amount_of_shard(store, shard, w, ret, err);
    return code;
}

tb_code tb__ch_amount_of(tb_store *store, tb__ch_kind kind, const char *also, int64_t before, tb__ch_amount *ret,
                         tb_error *err)
{
    return amount_of(store, &(wanted){kind, also, before, false}, ret, err);
}

tb_code tb__ch_held_of(tb_store *store, tb__ch_kind kind, const char *also, tb__ch_amount *ret, tb_error *err)
{
    return amount_of(store, &(wanted){kind, also, INT64_MAX, true}, ret, err);
}

tb_code tb__ch_unseen_rows(tb_store *store, tb__ch_kind kind, size_t shard, uint64_t *ret_rows, tb_error *err)
{
    tb_buf *sql = tb__ch_start(store);
    tb_buf_fmt(sql, "SELECT count() FROM %s.%s WHERE NOT(1", tb__ch_of(store)->client->database, kinds[kind].table);
    tb_code code = tb__ch_put_counting(store, sql, kind, 0, err);
    tb_buf_str(sql, ") FORMAT RowBinary");
    if (!code) code = tb__ch_query(store, shard, err);
    tb__ch_reader r = tb__ch_reader_of(tb__ch_of(store));
    *ret_rows = !code && r.at < r.end ? tb__ch_column(&r, 8) : 0;
    return code ? code : tb__ch_check_read(&r, err);
}

tb_code tb__ch_adopt_seals(tb_store *store, void *ctx, tb_error *err)
{
    tb_code code = TB_OK;
    (void)ctx;
    for (int kind = TB__CH_LOGS; !code && kind <= TB__CH_EVENTS; kind++) {
        tb__ch_amount amount;
        code = tb__ch_amount_of(store, (tb__ch_kind)kind, "", INT64_MAX, &amount, err);
        if (!code) code = tb__meta_set(store, kinds[kind].seals, (int64_t)(amount.seals & INT64_MAX), err);
    }
    return code;
}
