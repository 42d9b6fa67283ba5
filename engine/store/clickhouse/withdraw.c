/* Undo of usage (store/usage/withdraw.h) on usage servers: a batch of rows with values negated modulo 2^64, so that the sum of
 * all rows is the remaining usage. They are sent like any batch, not yet visible. Then the servers are queried for totals below
 * zero: one statement a shard, however much is withdrawn. If there is one, the transaction is rolled back and the rows become a
 * gap. A total below zero is at least 2^63, which no true total reaches (meta.cell_max). Maximum counters stay, as in the
 * file: their column is 0.
 *
 * The file checks one day after the other and names the first that has too little. To name the same one here, rows are numbered in
 * that order: a zone's hours of a day, then its account's. */
#include "store/clickhouse/private.h"
#include "store/usage/chunk.h"
#include "store/usage/country.h"
#include "store/usage/withdraw.h"

#include <inttypes.h>
#include <string.h>

#define BELOW_ZERO "9223372036854775808"
#define NO_ROW     INT64_MAX

/* --- sending --- */

static tb_code subtract_day(void *batch, const tb__owner *owner, const tb__member *at, int64_t day, const tb_grid *hours,
                        const char **ret_missing, tb_error *err)
{
    const tb__day_of to = {owner->scope, owner->id, at->edge, 0, day};
    tb_grid less = *hours;
    *ret_missing = NULL;
    for (uint32_t left = hours->metrics; left; left &= left - 1) {
        const int m = __builtin_ctz(left);
        for (unsigned s = 0; s < TB_GRID_SLOTS; s++)
            less.v[m][s] = tb_metric_table[m].how == TB_HOW_SUM ? 0 - hours->v[m][s] : 0;
    }
    return tb__ch_put_day(batch, &to, &less, err);
}

static tb_code subtract_countries(void *batch, int64_t zone, int64_t day, const tb__country *list, size_t n,
                                  tb_error *err)
{
    tb__country less[TB__COUNTRY_MAX];
    for (size_t i = 0; i < n; i++)
        less[i] = (tb__country){list[i].code, 0 - list[i].requests, 0 - list[i].bytes};
    return tb__ch_batch_add_countries(batch, zone, day, less, n, err);
}

/* --- totals below zero --- */

/* A row of this batch whose total would be below zero. */
typedef struct shortage {
    int64_t row; /* NO_ROW: there is none */
    int scope;
    int64_t owner, edge, hour;
} shortage;

/* Finds the first such row of a shard. A place of a zone has one row of a batch. An account holds what its zones hold, so
 * where only it has too little the database is damaged, and its first zone's row is named. */
static tb_code first_of_shard(const tb__ch_batch *b, size_t shard, shortage *first, tb_error *err)
{
    char where[400];
    tb_store *store = b->store;
    const int64_t from = b->days[0] * 24, to = b->days[b->n_days - 1] * 24 + 24;
    const tb__ch_rows rows = {.columns = "scope,owner,edge,h,batch,row", .metrics = TB_METRIC_ALL, .where = where,
                              .first = tb__ch_hour(from), .end = tb__ch_hour(to)};
    const char *before = " GROUP BY scope,owner,edge,h HAVING ";
    sqlite3_snprintf(sizeof where, where,
                     "(scope,owner,edge,h) IN (SELECT scope,owner,edge,h FROM %s.cell WHERE h>=%lld AND h<%lld AND batch=%lld)",
                     tb__ch_of(store)->client->database, (long long)from, (long long)to, (long long)b->id);
    tb_buf *sql = tb__ch_start(store);
    tb_buf_fmt(sql, "SELECT scope,owner,edge,h,r FROM (SELECT scope,owner,edge,h,minIf(row,batch=%" PRId64 ") AS r FROM ",
               b->id);
    tb_code code = tb__ch_put_rows(store, sql, &rows, err);
    for (int m = 0; m < TB_METRIC_COUNT; m++) {
        if (tb_metric_table[m].how != TB_HOW_SUM) continue;
        tb_buf_fmt(sql, "%ssum(%s)>=" BELOW_ZERO, before, tb_metric_table[m].name);
        before = " OR ";
    }
    tb_buf_str(sql, ") ORDER BY r LIMIT 1 FORMAT RowBinary");
    if (!code) code = tb__ch_query(store, shard, err);
    tb__ch_reader r = tb__ch_reader_of(tb__ch_of(store));
    if (code || r.at == r.end) return code;
    shortage found = {.scope = (int)tb__ch_column(&r, 1)};
    found.owner = (int64_t)tb__ch_column(&r, 8);
    found.edge = (int64_t)tb__ch_column(&r, 4);
    found.hour = (int64_t)tb__ch_column(&r, 4);
    found.row = (int64_t)tb__ch_column(&r, 4);
    if (found.row < first->row && !r.cut) *first = found;
    return tb__ch_check_read(&r, err);
}

/* --- the error message --- */

/* The counter that a file would name on that day: compares the sums of all other rows with the values of this batch. */
static tb_code find_missing(const tb__ch_batch *b, const shortage *of, const char **ret_missing, tb_error *err)
{
    char where[200];
    uint64_t there[TB_METRIC_COUNT][24] = {0}, less[TB_METRIC_COUNT][24] = {0}, any = 0;
    const int64_t first = of->hour / 24 * 24;
    const tb__ch_rows rows = {.columns = "h,batch,row", .metrics = TB_METRIC_ALL, .where = where, .first = first,
                              .end = first + 24};
    sqlite3_snprintf(sizeof where, where, "scope=%d AND owner=%lld AND edge=%lld", of->scope, (long long)of->owner,
                     (long long)of->edge);
    tb_buf *sql = tb__ch_start(b->store);
    tb_buf_fmt(sql, "SELECT h,toUInt8(batch=%" PRId64 ")", b->id);
    for (int m = 0; m < TB_METRIC_COUNT; m++)
        tb_buf_fmt(sql, ",%s", tb_metric_table[m].name);
    tb_buf_str(sql, " FROM ");
    tb_code code = tb__ch_put_rows(b->store, sql, &rows, err);
    tb_buf_str(sql, " FORMAT RowBinary");
    if (!code) code = tb__ch_query(b->store, tb__ch_shard(b->store, of->scope, of->owner), err);
    if (code) return code;
    tb__ch_reader r = tb__ch_reader_of(tb__ch_of(b->store));
    while (r.at < r.end && !r.cut) {
        const int hour = (int)(tb__ch_column(&r, 4) % 24);
        const bool mine = tb__ch_column(&r, 1) != 0;
        for (int m = 0; m < TB_METRIC_COUNT; m++) {
            const uint64_t value = tb__ch_column(&r, 8);
            if (mine) less[m][hour] -= value;
            else if (tb_metric_table[m].how == TB_HOW_SUM) there[m][hour] += value;
            else if (value > there[m][hour]) there[m][hour] = value;
        }
    }
    for (int m = 0; m < TB_METRIC_COUNT; m++)
        for (int hour = 0; hour < 24; hour++)
            any |= there[m][hour];
    *ret_missing = NULL;
    for (int m = 0; m < TB_METRIC_COUNT && any && !*ret_missing; m++)
        for (int hour = 0; hour < 24; hour++)
            if (there[m][hour] < less[m][hour]) *ret_missing = tb_metric_table[m].name;
    if (!*ret_missing) *ret_missing = "none";
    return tb__ch_check_read(&r, err);
}

/* The zone of a row of an account: the zone's rows of that day are right before it. */
static tb_code find_zone(const tb__ch_batch *b, shortage *of, tb_error *err)
{
    tb_store *store = b->store;
    int64_t last = -1;
    tb_code code = TB_OK;
    for (size_t shard = 0; !code && of->scope == TB__SCOPE_ACCOUNT && shard < tb__ch_of(store)->client->shards; shard++) {
        tb_buf_fmt(tb__ch_start(store),
                   "SELECT owner,row FROM %s.cell WHERE scope=1 AND edge=%" PRId64 " AND h>=%" PRId64 " AND h<%" PRId64
                   " AND batch=%" PRId64 " AND row<%" PRId64 " ORDER BY row DESC LIMIT 1 FORMAT RowBinary",
                   tb__ch_of(store)->client->database, of->edge, of->hour / 24 * 24, of->hour / 24 * 24 + 24, b->id,
                   of->row);
        code = tb__ch_query(store, shard, err);
        tb__ch_reader r = tb__ch_reader_of(tb__ch_of(store));
        if (code || r.at == r.end) continue;
        const int64_t owner = (int64_t)tb__ch_column(&r, 8), row = (int64_t)tb__ch_column(&r, 4);
        if (row > last) of->owner = owner;
        if (row > last) last = row;
        code = tb__ch_check_read(&r, err);
    }
    return code;
}

static tb_code say_shortage(const tb__ch_batch *b, shortage *of, tb_error *err)
{
    const char *missing = "none";
    char edge[TB_EDGE_MAX + 1] = "";
    sqlite3_stmt *s;
    bool row = false;
    tb_rollup_day day = {.scope = of->scope == TB__SCOPE_BALANCER ? TB_ROLLUP_BALANCER
                                  : of->scope == TB__CH_METER     ? TB_ROLLUP_METER
                                                                  : TB_ROLLUP_ZONE,
                         .day = of->hour / 24};
    tb_code code = find_missing(b, of, &missing, err);
    if (!code) code = find_zone(b, of, err);
    if (!code) code = tb__sql_ints(b->store, TB__SQL_EDGE_CODE, &of->edge, 1, &s, err);
    if (!code) code = tb__step(b->store, s, &row, err);
    if (!code && row) {
        code = tb__copy_text(s, 0, edge, sizeof edge, err);
        sqlite3_reset(s);
    }
    if (code) return code;
    day.id = of->owner;
    day.edge = edge;
    day.edge_len = strlen(edge);
    return tb__too_little(&day, missing, err);
}

/* Checks that no total is below zero. */
static tb_code check_left(void *batch, tb_error *err)
{
    const tb__ch_batch *b = batch;
    shortage first = {.row = NO_ROW};
    tb_code code = tb__ch_settle(b->store, err);
    const size_t shards = tb__ch_of(b->store)->client->shards;
    for (size_t shard = 0; !code && b->n_days && shard < shards; shard++)
        code = first_of_shard(b, shard, &first, err);
    return code || first.row == NO_ROW ? code : say_shortage(b, &first, err);
}

static tb_code check_countries(const tb__ch_batch *b, tb_error *err)
{
    int64_t first_zone = INT64_MAX, first_day = INT64_MAX;
    tb_store *store = b->store;
    const char *database = tb__ch_of(store)->client->database;
    tb_code code = tb__ch_settle(store, err);
    for (size_t shard = 0; !code && shard < tb__ch_of(store)->client->shards; shard++) {
        tb_buf *sql = tb__ch_start(store);
        tb_buf_fmt(sql,
                   "SELECT zone,day FROM (SELECT zone,day,country,any(requests) AS r,any(bytes) AS b FROM %s.country"
                   " WHERE (zone,day,country) IN (SELECT zone,day,country FROM %s.country WHERE batch=%" PRId64 ")",
                   database, database, b->id);
        code = tb__ch_put_months(store, sql, TB__CH_COUNTRY, TB__CH_EVER, err);
        tb_buf_str(sql, " GROUP BY zone,day,country,batch) GROUP BY zone,day,country HAVING sum(r)>=" BELOW_ZERO
                        " OR sum(b)>=" BELOW_ZERO " ORDER BY zone,day LIMIT 1 FORMAT RowBinary");
        if (!code) code = tb__ch_query(store, shard, err);
        tb__ch_reader r = tb__ch_reader_of(tb__ch_of(store));
        if (code || r.at == r.end) continue;
        const int64_t zone = (int64_t)tb__ch_column(&r, 8), day = (int64_t)tb__ch_column(&r, 4);
        if (zone < first_zone || (zone == first_zone && day < first_day)) {
            first_zone = zone;
            first_day = day;
        }
        code = tb__ch_check_read(&r, err);
    }
    return code || first_zone == INT64_MAX ? code : tb__too_few_of_country(first_zone, first_day, err);
}

/* --- the newest hour --- */

/* An hour is there where something is left of it. Rows of zeros are hours too, as in the file, unless something was taken off
 * there. */
void tb__ch_put_not_empty(tb_buf *sql)
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
    const tb__ch_rows rows = {.columns = "scope,owner,edge,h", .metrics = TB_METRIC_ALL, .where = "scope IN(1,3,8)",
                              .first = tb__ch_hour(first), .end = UINT32_MAX};
    tb_buf *sql = tb__ch_start(store);
    tb_buf_str(sql, "SELECT max(h) FROM (SELECT h FROM ");
    tb_code code = tb__ch_put_rows(store, sql, &rows, err);
    tb_buf_str(sql, " GROUP BY scope,owner,edge,h");
    tb__ch_put_not_empty(sql);
    tb_buf_str(sql, ") HAVING count()>0 FORMAT RowBinary");
    if (!code) code = tb__ch_query(store, shard, err);
    tb__ch_reader r = tb__ch_reader_of(tb__ch_of(store));
    if (code || r.at == r.end) return code;
    const int64_t hour = (int64_t)tb__ch_column(&r, 4);
    if (hour > *newest) *newest = hour;
    return tb__ch_check_read(&r, err);
}

/* The newest hour may be empty now: searches further and further back. */
static tb_code newest_hour(tb_store *store, int64_t before, int64_t *ret_newest, tb_error *err)
{
    static const int64_t spans[] = {48, 31 * 24, UINT32_MAX};
    tb_code code = TB_OK;
    *ret_newest = -INT64_MAX;
    for (size_t i = 0; !code && *ret_newest < 0 && i < sizeof spans / sizeof *spans; i++)
        for (size_t shard = 0; !code && shard < tb__ch_of(store)->client->shards; shard++)
            code = newest_of_shard(store, shard, before - spans[i], ret_newest, err);
    return code;
}

static tb_code end_undo(void *batch, tb_error *err)
{
    tb__ch_batch *b = batch;
    tb_code code = check_countries(b, err);
    if (!code) code = tb__ch_note_days(b, err);
    b->ended = !code;
    return code;
}

const tb__undo tb__ch_undo = {.begin = tb__ch_batch_begin,
                              .subtract = subtract_day,
                              .check = check_left,
                              .subtract_countries = subtract_countries,
                              .end = end_undo,
                              .free = tb__ch_batch_free,
                              .newest = newest_hour};
