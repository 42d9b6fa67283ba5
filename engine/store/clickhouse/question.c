/* Statements about rows: which of them count, and an owner's hours out of them. */
#include "store/clickhouse/private.h"

#include <inttypes.h>

void tb__ch_put_sums(tb_buf *sql, uint32_t metrics)
{
    for (int m = 0; m < TB_METRIC_COUNT; m++)
        if (metrics & TB_METRIC_BIT(m))
            tb_buf_fmt(sql, ",%s(c%d)", tb_metric_table[m].how == TB_HOW_SUM ? "sum" : "max", m);
}

tb_buf *tb__ch_start(tb_store *store)
{
    tb_buf *sql = &tb__ch_of(store)->sql;
    sql->len = 0;
    sql->failed = false;
    tb__ch_of(store)->asks_cells = false;
    return sql;
}

tb__ch_whose tb__ch_viewed(const tb_view *view)
{
    const bool zone = view->zone != TB_ALL;
    return (tb__ch_whose){zone ? TB__SCOPE_ZONE : TB__SCOPE_ACCOUNT, zone ? view->zone : view->account, 0};
}

tb_code tb__ch_whose_is(tb_store *store, int64_t series, tb__ch_whose *ret, tb_error *err)
{
    sqlite3_stmt *s;
    bool row = false;
    tb_code code = tb__sql_ints(store, TB__SQL_SERIES_WHOSE, &series, 1, &s, err);
    if (!code) code = tb__step(store, s, &row, err);
    if (code) return code;
    if (!row) return tb_fail(err, TB_E_CORRUPT, "series", "Series %lld is gone.", (long long)series);
    *ret = (tb__ch_whose){sqlite3_column_int(s, 0), sqlite3_column_int64(s, 1), sqlite3_column_int64(s, 2)};
    sqlite3_reset(s);
    return TB_OK;
}

tb_code tb__ch_put_rows(tb_store *store, tb_buf *sql, const tb__ch_rows *rows, tb_error *err)
{
    tb_buf_fmt(sql, "(SELECT %s%s", rows->columns, rows->trusted ? ",batch,row" : "");
    for (int m = 0; m < TB_METRIC_COUNT; m++)
        if (rows->metrics & TB_METRIC_BIT(m)) tb_buf_fmt(sql, ",%s AS c%d", tb_metric_table[m].name, m);
    tb_buf_fmt(sql, " FROM %s.cell WHERE %s AND h>=%" PRId64 " AND h<%" PRId64, tb__ch_of(store)->client->database,
               rows->where, rows->first, rows->end);
    tb_code code = tb__ch_put_months(store, sql, TB__CH_CELL, (tb__ch_hours_of){rows->first, rows->end}, err);
    if (!code) code = tb__ch_put_visible(store, sql, err);
    tb_buf_str(sql, rows->metrics && !rows->trusted ? " LIMIT 1 BY batch,row)" : ")");
    return code;
}

const char *tb__ch_scopes(int scope, bool days)
{
    static const char *const hours_alone[] = {"", "scope=1", "scope=2", "scope=3"};
    static const char *const both[] = {"", "scope IN(1,5)", "scope IN(2,6)", "scope IN(3,7)"};
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
                     tb__ch_scopes(scope, any), TB__CH_DAYS, (long long)days.first, (long long)days.end);
}

static void put_whose(const tb__ch_question *q, tb_buf *where)
{
    char scopes[TB__CH_SCOPES_TEXT];
    tb__ch_put_scopes(scopes, q->of.scope, q->days);
    tb_buf_fmt(where, "%s AND owner", scopes);
    if (q->n_owners < 2) tb_buf_fmt(where, "=%" PRId64, q->of.owner);
    for (size_t i = 0; q->n_owners > 1 && i < q->n_owners; i++)
        tb_buf_fmt(where, "%s%" PRId64, i ? "," : " IN(", q->owners[i].owner);
    if (q->n_owners > 1) tb_buf_str(where, ")");
    if (q->of.edge) tb_buf_fmt(where, " AND edge=%" PRId64, q->of.edge);
    tb_buf_add(where, "", 1);
}

tb_code tb__ch_put_question(tb_store *store, const tb__ch_question *q, tb_error *err)
{
    tb_buf *sql = tb__ch_start(store);
    tb_buf where;
    tb_buf_init(&where, 1 << 20, NULL);
    put_whose(q, &where);
    tb_code code = tb_buf_check(&where, err);
    tb_buf_fmt(sql, "SELECT %s", q->keys);
    tb__ch_put_sums(sql, q->metrics);
    tb_buf_str(sql, q->trusting ? ",toUInt8(count()=uniqExact(batch,row)) FROM " : " FROM ");
    const tb__ch_rows rows = {.columns = q->n_owners > 1 ? "owner,h,edge" : "h,edge", .metrics = q->metrics,
                              .where = where.data, .first = q->first, .end = q->end, .trusted = q->trusting};
    if (!code) code = tb__ch_put_rows(store, sql, &rows, err);
    tb_buf_release(&where);
    tb_buf_fmt(sql, " GROUP BY %s FORMAT RowBinary", q->group ? q->group : q->keys);
    return code;
}

int64_t tb__ch_hour(int64_t hour)
{
    return hour < 0 ? 0 : hour > UINT32_MAX ? UINT32_MAX : hour;
}
