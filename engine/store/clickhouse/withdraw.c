/* Withdrawing: rows whose sums are negated modulo 2^64, so that all rows together come to what is left. They are sent
 * as any batch, unseen, and the servers then say where less would be left than nothing: one question a shard, however
 * much is withdrawn. Where there is such a place the transaction is undone, and the rows become a gap. A total that
 * is below zero is at 2^63 and above, since no true one reaches that (meta.cell_max). Counters of which the larger
 * wins stay, as in the file: their column is 0.
 *
 * The file looks at one day after the other and names the first of which there is too little. So that the sentence
 * is the same, rows are numbered in that order: a zone's hours of a day, then its account's. */
#include "store/clickhouse/private.h"
#include "store/usage/chunk.h"
#include "store/usage/country.h"
#include "store/usage/taking.h"

#include <inttypes.h>
#include <string.h>

#define BELOW_ZERO "9223372036854775808"
#define NO_ROW     INT64_MAX

typedef struct taking {
    tb__taking days; /* the first member: what the walk gives back */
    tb__ch_batch *b;
    int64_t first, end; /* hours that are touched */
} taking;

/* --- sending --- */

static void negate(const tb_grid *hours, tb_grid *out)
{
    *out = *hours;
    for (uint32_t left = hours->metrics; left; left &= left - 1) {
        const int m = __builtin_ctz(left);
        for (unsigned s = 0; s < TB_GRID_SLOTS; s++)
            out->v[m][s] = tb_metric_table[m].how == TB_HOW_SUM ? 0 - hours->v[m][s] : 0;
    }
}

static tb_code take(tb__taking *of, const tb__owner *owner, const tb__member *at, const tb_grid *hours,
                    tb_error *err)
{
    taking *t = (taking *)of;
    const int64_t day = of->day->day;
    const tb__day_of to = {owner->scope, owner->id, at->edge, 0, day};
    tb_grid less;
    if (day * 24 < t->first) t->first = day * 24;
    if (day * 24 + 24 > t->end) t->end = day * 24 + 24;
    negate(hours, &less);
    return tb__ch_put_day(t->b, &to, &less, err);
}

/* --- what is below zero --- */

static void put_below(tb_buf *sql)
{
    const char *or = "";
    for (int m = 0; m < TB_METRIC_COUNT; m++) {
        if (tb_metric_table[m].how != TB_HOW_SUM) continue;
        tb_buf_fmt(sql, "%ssum(%s)>=" BELOW_ZERO, or, tb_metric_table[m].name);
        or = " OR ";
    }
}

/* "(SELECT ...)": the places of this batch with what all rows make of them, where that is below zero; r is the batch's
 * first row there. */
static tb_code put_places(const taking *t, tb_buf *sql, tb_error *err)
{
    char where[400];
    const char *database = tb__ch_of(t->days.store)->client->database;
    const tb__ch_rows rows = {.columns = "scope,owner,edge,h,batch,row", .metrics = TB_METRIC_ALL, .where = where,
                              .first = tb__ch_hour(t->first), .end = tb__ch_hour(t->end)};
    sqlite3_snprintf(sizeof where, where,
                     "(scope,owner,edge,h) IN (SELECT scope,owner,edge,h FROM %s.cell WHERE h>=%lld AND h<%lld AND batch=%lld)",
                     database, (long long)t->first, (long long)t->end, (long long)t->b->id);
    tb_buf_fmt(sql, "(SELECT scope,owner,edge,h,minIf(row,batch=%" PRId64 ") AS r FROM ", t->b->id);
    tb_code code = tb__ch_put_rows(t->days.store, sql, &rows, err);
    tb_buf_str(sql, " GROUP BY scope,owner,edge,h HAVING ");
    put_below(sql);
    tb_buf_str(sql, ")");
    return code;
}

/* A row of this batch: the first of which there is too little. */
typedef struct culprit {
    int64_t row; /* NO_ROW: there is none */
    int scope;
    int64_t owner, edge, hour;
} culprit;

static culprit read_culprit(tb__ch_reader *r)
{
    culprit c;
    c.scope = (int)tb__ch_column(r, 1);
    c.owner = (int64_t)tb__ch_column(r, 8);
    c.edge = (int64_t)tb__ch_column(r, 4);
    c.hour = (int64_t)tb__ch_column(r, 4);
    c.row = (int64_t)tb__ch_column(r, 4);
    return c;
}

/* A place of a zone has one row of a batch. An account holds what its zones hold, so where only it has too little
 * the database is damaged, and its first zone's row is named. */
static tb_code first_of_shard(const taking *t, size_t shard, culprit *first, tb_error *err)
{
    tb_store *store = t->days.store;
    tb_buf *sql = tb__ch_start(store);
    tb_buf_str(sql, "SELECT scope,owner,edge,h,r FROM ");
    tb_code code = put_places(t, sql, err);
    tb_buf_str(sql, " ORDER BY r LIMIT 1 FORMAT RowBinary");
    if (!code) code = tb__ch_ask(store, shard, err);
    tb__ch_reader r = tb__ch_reader_of(tb__ch_of(store));
    if (code || r.at == r.end) return code;
    const culprit found = read_culprit(&r);
    if (found.row < first->row && !r.cut) *first = found;
    return tb__ch_check_read(&r, err);
}

/* --- saying which --- */

static tb_code rows_of_day(const taking *t, const culprit *c, tb_error *err)
{
    char where[200];
    const tb__ch_rows rows = {.columns = "h,batch,row", .metrics = TB_METRIC_ALL, .where = where,
                              .first = c->hour / 24 * 24, .end = c->hour / 24 * 24 + 24};
    sqlite3_snprintf(sizeof where, where, "scope=%d AND owner=%lld AND edge=%lld", c->scope, (long long)c->owner,
                     (long long)c->edge);
    tb_buf *sql = tb__ch_start(t->days.store);
    tb_buf_fmt(sql, "SELECT h,toUInt8(batch=%" PRId64 ")", t->b->id);
    for (int m = 0; m < TB_METRIC_COUNT; m++)
        tb_buf_fmt(sql, ",%s", tb_metric_table[m].name);
    tb_buf_str(sql, " FROM ");
    tb_code code = tb__ch_put_rows(t->days.store, sql, &rows, err);
    tb_buf_str(sql, " FORMAT RowBinary");
    return code ? code : tb__ch_ask(t->days.store, tb__ch_shard(t->days.store, c->scope, c->owner), err);
}

/* Of a day that a walk looks at: what is there, and what of it is to go. */
typedef struct balance {
    uint64_t there[TB_METRIC_COUNT][24], less[TB_METRIC_COUNT][24];
} balance;

static const char *missing_in(const balance *b)
{
    bool any = false;
    for (int m = 0; m < TB_METRIC_COUNT && !any; m++)
        for (int hour = 0; hour < 24 && !any; hour++)
            any = b->there[m][hour] != 0;
    for (int m = 0; m < TB_METRIC_COUNT && any; m++)
        for (int hour = 0; hour < 24; hour++)
            if (b->there[m][hour] < b->less[m][hour]) return tb_metric_table[m].name;
    return "none";
}

/* What the walk of the file would have found on that day, of which this batch has all that goes. */
static tb_code find_missing(const taking *t, const culprit *c, const char **ret_missing, tb_error *err)
{
    balance b = {0};
    tb_code code = rows_of_day(t, c, err);
    if (code) return code;
    tb__ch_reader r = tb__ch_reader_of(tb__ch_of(t->days.store));
    while (r.at < r.end && !r.cut) {
        const int hour = (int)(tb__ch_column(&r, 4) % 24);
        const bool mine = tb__ch_column(&r, 1) != 0;
        for (int m = 0; m < TB_METRIC_COUNT; m++) {
            const uint64_t value = tb__ch_column(&r, 8);
            if (mine) b.less[m][hour] -= value;
            else if (tb_metric_table[m].how == TB_HOW_SUM) b.there[m][hour] += value;
            else if (value > b.there[m][hour]) b.there[m][hour] = value;
        }
    }
    *ret_missing = missing_in(&b);
    return tb__ch_check_read(&r, err);
}

/* Whose row of an account it is: the zone's rows of that day are right before it. */
static tb_code find_zone(const taking *t, culprit *c, tb_error *err)
{
    tb_store *store = t->days.store;
    int64_t last = -1;
    tb_code code = TB_OK;
    for (size_t shard = 0; !code && c->scope == TB__SCOPE_ACCOUNT && shard < tb__ch_of(store)->client->shards; shard++) {
        tb_buf_fmt(tb__ch_start(store),
                   "SELECT owner,row FROM %s.cell WHERE scope=1 AND edge=%" PRId64 " AND h>=%" PRId64 " AND h<%" PRId64
                   " AND batch=%" PRId64 " AND row<%" PRId64 " ORDER BY row DESC LIMIT 1 FORMAT RowBinary",
                   tb__ch_of(store)->client->database, c->edge, c->hour / 24 * 24, c->hour / 24 * 24 + 24, t->b->id,
                   c->row);
        code = tb__ch_ask(store, shard, err);
        tb__ch_reader r = tb__ch_reader_of(tb__ch_of(store));
        if (code || r.at == r.end) continue;
        const int64_t owner = (int64_t)tb__ch_column(&r, 8), row = (int64_t)tb__ch_column(&r, 4);
        if (row > last) c->owner = owner;
        if (row > last) last = row;
        code = tb__ch_check_read(&r, err);
    }
    return code;
}

static tb_code say_culprit(taking *t, culprit *c, tb_error *err)
{
    const char *missing = "none";
    char edge[TB_EDGE_MAX + 1] = "";
    sqlite3_stmt *s;
    bool row = false;
    tb_rollup_day day = {.scope = c->scope == TB__SCOPE_BALANCER ? TB_ROLLUP_BALANCER : TB_ROLLUP_ZONE,
                         .day = c->hour / 24};
    tb_code code = find_missing(t, c, &missing, err);
    if (!code) code = find_zone(t, c, err);
    if (!code) code = tb__sql_ints(t->days.store, TB__SQL_EDGE_CODE, &c->edge, 1, &s, err);
    if (!code) code = tb__step(t->days.store, s, &row, err);
    if (!code && row) {
        code = tb__copy_text(s, 0, edge, sizeof edge, err);
        sqlite3_reset(s);
    }
    if (code) return code;
    day.id = c->owner;
    day.edge = edge;
    day.edge_len = strlen(edge);
    t->days.day = &day;
    code = tb__too_little(&t->days, missing, err);
    t->days.day = NULL;
    return code;
}

/* Whether there is enough everywhere. */
static tb_code check_cells(taking *t, tb_error *err)
{
    culprit first = {.row = NO_ROW};
    tb_code code = tb__ch_settle(t->days.store, err);
    const size_t shards = tb__ch_of(t->days.store)->client->shards;
    if (t->first >= t->end) return code;
    for (size_t shard = 0; !code && shard < shards; shard++)
        code = first_of_shard(t, shard, &first, err);
    return code || first.row == NO_ROW ? code : say_culprit(t, &first, err);
}

/* --- countries --- */

static tb_code send_countries(taking *t, tb_rollup_cursor *cursor, tb_error *err)
{
    tb_rollup_country less;
    tb_store *store = t->days.store;
    tb_code code = TB_OK;
    while (!code && tb_rollup_next_country(cursor, &less)) {
        const tb__country row = {less.country, 0 - less.requests, 0 - less.bytes};
        store->country_requests += less.requests;
        store->country_bytes += less.bytes;
        code = tb__ch_batch_add_countries(t->b, less.zone, less.day, &row, 1, err);
    }
    return code ? code : tb_rollup_cursor_check(cursor, err);
}

static tb_code country_of_shard(const taking *t, size_t shard, int64_t first[2], tb_error *err)
{
    tb_store *store = t->days.store;
    const char *database = tb__ch_of(store)->client->database;
    tb_buf *sql = tb__ch_start(store);
    tb_buf_fmt(sql,
               "SELECT zone,day FROM (SELECT zone,day,country,any(requests) AS r,any(bytes) AS b FROM %s.country"
               " WHERE (zone,day,country) IN (SELECT zone,day,country FROM %s.country WHERE batch=%" PRId64 ")",
               database, database, t->b->id);
    tb_code code = tb__ch_put_months(store, sql, TB__CH_COUNTRY, TB__CH_EVER, err);
    tb_buf_str(sql, " GROUP BY zone,day,country,batch) GROUP BY zone,day,country HAVING sum(r)>=" BELOW_ZERO
                    " OR sum(b)>=" BELOW_ZERO " ORDER BY zone,day LIMIT 1 FORMAT RowBinary");
    if (!code) code = tb__ch_ask(store, shard, err);
    tb__ch_reader r = tb__ch_reader_of(tb__ch_of(store));
    if (code || r.at == r.end) return code;
    const int64_t zone = (int64_t)tb__ch_column(&r, 8), day = (int64_t)tb__ch_column(&r, 4);
    if (zone < first[0] || (zone == first[0] && day < first[1])) {
        first[0] = zone;
        first[1] = day;
    }
    return tb__ch_check_read(&r, err);
}

static tb_code check_countries(const taking *t, tb_error *err)
{
    int64_t first[2] = {INT64_MAX, INT64_MAX};
    tb_code code = tb__ch_settle(t->days.store, err);
    for (size_t shard = 0; !code && shard < tb__ch_of(t->days.store)->client->shards; shard++)
        code = country_of_shard(t, shard, first, err);
    return code || first[0] == INT64_MAX ? code : tb__too_few_of_country(first[0], first[1], err);
}

/* --- the newest hour --- */

/* An hour is there where something is left of it. Rows of zeros are hours too, as in the file, unless something was taken off
 * there. */
void tb__ch_put_there(tb_buf *sql)
{
    tb_buf_str(sql, " HAVING ");
    for (int m = 0; m < TB_METRIC_COUNT; m++)
        tb_buf_fmt(sql, "%s(%s)!=0 OR ", tb_metric_table[m].how == TB_HOW_SUM ? "sum" : "max", tb_metric_table[m].name);
    tb_buf_str(sql, "max(");
    for (int m = 0; m < TB_METRIC_COUNT; m++)
        tb_buf_fmt(sql, "%s%s>=" BELOW_ZERO, m ? " OR " : "", tb_metric_table[m].name);
    tb_buf_str(sql, ")=0");
}

static tb_code newest_of_shard(tb_store *store, size_t shard, int64_t first, int64_t *newest, tb_error *err)
{
    const tb__ch_rows rows = {.columns = "scope,owner,edge,h", .metrics = TB_METRIC_ALL, .where = "scope IN(1,3)",
                              .first = tb__ch_hour(first), .end = UINT32_MAX};
    tb_buf *sql = tb__ch_start(store);
    tb_buf_str(sql, "SELECT max(h) FROM (SELECT h FROM ");
    tb_code code = tb__ch_put_rows(store, sql, &rows, err);
    tb_buf_str(sql, " GROUP BY scope,owner,edge,h");
    tb__ch_put_there(sql);
    tb_buf_str(sql, ") HAVING count()>0 FORMAT RowBinary");
    if (!code) code = tb__ch_ask(store, shard, err);
    tb__ch_reader r = tb__ch_reader_of(tb__ch_of(store));
    if (code || r.at == r.end) return code;
    const int64_t hour = (int64_t)tb__ch_column(&r, 4);
    if (hour > *newest) *newest = hour;
    return tb__ch_check_read(&r, err);
}

/* The newest hour may be gone: it is looked for further and further back. */
static tb_code find_newest(tb_store *store, int64_t before, tb_error *err)
{
    static const int64_t spans[] = {48, 31 * 24, UINT32_MAX};
    int64_t newest = -INT64_MAX;
    tb_code code = TB_OK;
    for (size_t i = 0; !code && newest < 0 && i < sizeof spans / sizeof *spans; i++)
        for (size_t shard = 0; !code && shard < tb__ch_of(store)->client->shards; shard++)
            code = newest_of_shard(store, shard, before - spans[i], &newest, err);
    return code ? code : tb__meta_set(store, "newest_hour", newest, err);
}

/* --- the whole --- */

static tb_code take_all(taking *t, tb_rollup_cursor *cursor, tb_error *err)
{
    tb_store *store = t->days.store;
    tb_error walked;
    int64_t newest = 0;
    const tb_code walk = tb__take_days(&t->days, cursor, &walked);
    if (walk && walk != TB_E_WITHDRAWAL) {
        if (err) *err = walked;
        return walk;
    }
    tb_code code = check_cells(t, err); /* of a day before the one at which the walk ended */
    if (!code && walk && err) *err = walked;
    if (code || walk) return code ? code : walk;
    code = send_countries(t, cursor, err);
    if (!code) code = check_countries(t, err);
    if (!code) code = tb__ch_note_days(t->b, err);
    if (!code) code = tb__meta_get(store, "newest_hour", &newest, err);
    return code || t->days.newest < newest ? code : find_newest(store, newest, err);
}

tb_code tb__ch_take_back(tb_store *store, tb_rollup_cursor *cursor, uint32_t *maxima, tb_error *err)
{
    void *b = NULL;
    taking t = {.days = {.store = store, .maxima = maxima, .newest = INT64_MIN, .take = take},
                .first = INT64_MAX, .end = INT64_MIN};
    tb_code code = tb__ch_batch_begin(store, &b, err);
    t.b = b;
    if (!code) code = take_all(&t, cursor, err);
    if (!code) t.b->ended = true;
    tb__ch_batch_free(b);
    return code;
}
