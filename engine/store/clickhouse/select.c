/* SELECT statements: the rows that count, and the hours of owners. */
#include "store/clickhouse/private.h"

#include <inttypes.h>

#define TABLE_MAX     ((size_t)2 << 20) /* bytes: a list of owners, and one of ids */
#define BRIEF_MAX     1000000           /* bytes of an answer */
#define LOCATED_BYTES 256               /* of an hour's locations, if they are 16 */

void tb__ch_put_sums(tb_buf *sql, uint32_t metrics)
{
    for (int m = 0; m < TB_METRIC_COUNT; m++)
        if (metrics & TB_METRIC_BIT(m))
            tb_buf_fmt(sql, ",%s(%s)", tb_metric_table[m].how == TB_HOW_SUM ? "sum" : "max", tb_metric_table[m].name);
}

tb_buf *tb__ch_start(tb_store *store)
{
    tb_buf *sql = &tb__ch_of(store)->sql;
    sql->len = 0;
    sql->failed = false;
    tb__ch_of(store)->reads_cells = tb__ch_of(store)->brief = false;
    return sql;
}

tb__ch_owner tb__ch_viewed(const tb_view *view)
{
    const bool zone = view->zone != TB_ALL;
    return (tb__ch_owner){zone ? TB__SCOPE_ZONE : TB__SCOPE_ACCOUNT, zone ? view->zone : view->account, 0};
}

tb_code tb__ch_series_owner(tb_store *store, int64_t series, tb__ch_owner *ret, tb_error *err)
{
    sqlite3_stmt *s;
    bool row = false;
    tb_code code = tb__sql_ints(store, TB__SQL_SERIES_WHOSE, &series, 1, &s, err);
    if (!code) code = tb__step(store, s, &row, err);
    if (code) return code;
    if (!row) return tb_fail(err, TB_E_CORRUPT, "series", "Series %lld is gone.", (long long)series);
    *ret = (tb__ch_owner){sqlite3_column_int(s, 0), sqlite3_column_int64(s, 1), sqlite3_column_int64(s, 2)};
    sqlite3_reset(s);
    return TB_OK;
}

/* The only function that knows the tables of rows. */
static tb_code put_table(tb_store *store, tb_buf *sql, const tb__ch_rows *rows, tb_error *err)
{
    tb_buf_fmt(sql, "%s.cell WHERE %s AND h>=%" PRId64 " AND h<%" PRId64, tb__ch_of(store)->client->database,
               rows->where, rows->first, rows->end);
    return tb__ch_put_months(store, sql, TB__CH_CELL, (tb__ch_hours_of){rows->first, rows->end}, err);
}

static void put_columns(tb_buf *sql, const tb__ch_rows *rows)
{
    tb_buf_fmt(sql, "(SELECT %s", rows->columns);
    for (int m = 0; m < TB_METRIC_COUNT; m++)
        if (rows->metrics & TB_METRIC_BIT(m)) tb_buf_fmt(sql, ",%s", tb_metric_table[m].name);
    tb_buf_str(sql, " FROM ");
}

static void put_once(tb_buf *sql, const tb__ch_rows *rows)
{
    tb_buf_str(sql, rows->metrics ? " LIMIT 1 BY batch,row)" : ")");
}

tb_code tb__ch_put_rows(tb_store *store, tb_buf *sql, const tb__ch_rows *rows, tb_error *err)
{
    put_columns(sql, rows);
    tb_code code = put_table(store, sql, rows, err);
    put_once(sql, rows);
    return code;
}

tb_code tb__ch_put_sent_rows(tb_store *store, tb_buf *sql, const tb__ch_rows *rows, tb_error *err)
{
    tb_buf table;
    bool twice = false;
    tb_buf_init(&table, TABLE_MAX, NULL);
    tb_code code = put_table(store, &table, rows, err);
    if (!code) code = tb__ch_may_be_twice(store, (tb__ch_hours_of){rows->first, rows->end}, &twice, err);
    if (!code) code = tb_buf_check(&table, err);
    if (!code && twice) put_columns(sql, rows);
    tb_buf_add(sql, table.data, table.len);
    if (!code && twice) put_once(sql, rows);
    tb_buf_release(&table);
    return code;
}

const char *tb__ch_scopes(int scope, bool days)
{
    static const char *const hours_alone[] = {"", "scope=1", "scope=2", "scope=3", "scope=8"};
    static const char *const both[] = {"", "scope IN(1,5)", "scope IN(2,6)", "scope IN(3,7)", "scope IN(8,12)"};
    return (days ? both : hours_alone)[scope];
}

tb__ch_hours_of tb__ch_whole_days(tb_range range)
{
    const int64_t end = range.first + range.count;
    if (!range.hourly) return (tb__ch_hours_of){tb__ch_hour(range.first * 24), tb__ch_hour(end * 24)};
    return (tb__ch_hours_of){tb__ch_hour(tb__floor_div(range.first + 23, 24) * 24), tb__ch_hour(tb__floor_div(end, 24) * 24)};
}

void tb__ch_put_scopes(char out[TB__CH_SCOPES_TEXT], int scope, tb__ch_hours_of days)
{
    const bool any = days.first < days.end, all = !days.first && days.end == UINT32_MAX;
    sqlite3_snprintf(TB__CH_SCOPES_TEXT, out, any && !all ? "%s AND (scope<%d OR (h>=%lld AND h<%lld))" : "%s",
                     tb__ch_scopes(scope, any),
                     scope == TB__SCOPE_METER ? TB__CH_METER + TB__CH_DAYS : TB__CH_DAYS, (long long)days.first, (long long)days.end);
}

static void put_owner_condition(const tb__ch_select *q, tb_buf *where)
{
    const bool many = q->n_owners > 1;
    char scopes[TB__CH_SCOPES_TEXT];
    tb__ch_put_scopes(scopes, q->of.scope, q->days);
    tb_buf_fmt(where, "%s AND owner", scopes);
    if (!many) tb_buf_fmt(where, "=%" PRId64, q->of.owner);
    for (size_t i = 0; many && i < q->n_owners; i++)
        if (!i || q->owners[i].owner != q->owners[i - 1].owner)
            tb_buf_fmt(where, "%s%" PRId64, i ? "," : " IN(", q->owners[i].owner);
    if (many) tb_buf_str(where, ")");
    if (q->of.edge && !many) tb_buf_fmt(where, " AND edge=%" PRId64, q->of.edge);
    for (size_t i = 0; q->of.edge && many && i < q->n_owners; i++)
        tb_buf_fmt(where, "%s(%" PRId64 ",%" PRId64 ")", i ? "," : " AND (owner,edge) IN(", q->owners[i].owner,
                   q->owners[i].edge);
    if (q->of.edge && many) tb_buf_str(where, ")");
    tb_buf_add(where, "", 1);
}

/* Settings for one owner, who has few rows. The primary key leads to them, and mostly all of them count, so reading some columns first
 * to filter rows (PREWHERE) is wasted. Each column is read into a separate buffer, by default of a megabyte: allocating that costs more
 * than filling the little that is needed. */
#define ONE_THREAD " SETTINGS max_threads=1,max_read_buffer_size=32768"
#define ONE_OWNER  ONE_THREAD ",optimize_move_to_prewhere=0"

bool tb__ch_is_brief(const tb__ch_select *q, size_t rows)
{
    const size_t row = 24 + 8 * (size_t)__builtin_popcount(q->metrics) + (q->located ? LOCATED_BYTES : 0);
    return rows <= BRIEF_MAX / row;
}

/* ClickHouse spends half of its time for such a statement on parsing and planning, so it has no subquery that is not needed. */
tb_code tb__ch_put_select(tb_store *store, const tb__ch_select *q, tb_error *err)
{
    tb_buf *sql = tb__ch_start(store);
    tb_buf where;
    tb_buf_init(&where, 1 << 20, NULL);
    put_owner_condition(q, &where);
    tb_code code = tb_buf_check(&where, err);
    tb_buf_fmt(sql, "SELECT %s", q->keys);
    tb__ch_put_sums(sql, q->metrics);
    const bool many = q->n_owners > 1;
    const tb__ch_rows rows = {.columns = many ? "owner,h,edge" : "h,edge",
                              .metrics = q->metrics | (q->located ? TB_METRIC_BIT(TB_M_BYTES) : 0), .where = where.data,
                              .first = q->first, .end = q->end};
    if (q->located) tb_buf_fmt(sql, ",sumMap([edge],[%s])", tb_metric_table[TB_M_BYTES].name);
    tb_buf_str(sql, " FROM ");
    if (!code) code = tb__ch_put_sent_rows(store, sql, &rows, err);
    tb_buf_release(&where);
    const char *names = q->names ? q->names : q->keys;
    tb_buf_fmt(sql, " GROUP BY %s", names);
    if (q->sorted) tb_buf_fmt(sql, " ORDER BY %s", names);
    tb_buf_str(sql, many ? "" : q->of.edge ? ONE_THREAD : ONE_OWNER);
    tb_buf_str(sql, " FORMAT RowBinary");
    tb__ch_of(store)->brief = q->brief;
    return code;
}

int64_t tb__ch_hour(int64_t hour)
{
    return hour < 0 ? 0 : hour > UINT32_MAX ? UINT32_MAX : hour;
}
