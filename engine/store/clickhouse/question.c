/* Statements about rows: which of them count, and an owner's hours out of them. */
#include "store/clickhouse/private.h"

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

static tb_code put_rows_as_they_lie(tb_store *store, tb_buf *sql, const char *columns, uint32_t metrics,
                                    const char *where, tb_error *err)
{
    tb_buf_fmt(sql, "(SELECT %s", columns);
    for (int m = 0; m < TB_METRIC_COUNT; m++)
        if (metrics & TB_METRIC_BIT(m)) tb_buf_fmt(sql, ",%s AS c%d", tb_metric_table[m].name, m);
    tb_buf_fmt(sql, " FROM %s.cell WHERE %s", tb__ch_of(store)->client->database, where);
    tb_code code = tb__ch_put_months(store, sql, err);
    return code ? code : tb__ch_put_visible(store, sql, err);
}

tb_code tb__ch_put_rows(tb_store *store, tb_buf *sql, const char *columns, uint32_t metrics, const char *where,
                        tb_error *err)
{
    tb_code code = put_rows_as_they_lie(store, sql, columns, metrics, where, err);
    tb_buf_str(sql, metrics ? " LIMIT 1 BY batch,row)" : ")");
    return code;
}

/* No hash of (batch,row) as a pair, which costs as much as ten sums: a number of 64 bits. Where two rows share one by chance it
 * says 0 in vain, and it never says 1 in vain. The factor spreads ids whose low bits are the same, as those of two spans are. */
#define CAME_ONCE ",toUInt8(count()=uniqExact(batch*11400714819323198485+row))"

static tb_code put_its_rows(tb_store *store, const tb__ch_question *q, const char *where, tb_error *err)
{
    tb_buf *sql = &tb__ch_of(store)->sql;
    if (q->rows == TB__CH_ONCE) return tb__ch_put_rows(store, sql, "h,edge", q->metrics, where, err);
    const char *columns = q->rows == TB__CH_COUNTED ? "h,edge,batch,row" : "h,edge";
    tb_code code = put_rows_as_they_lie(store, sql, columns, q->metrics, where, err);
    tb_buf_str(sql, ")");
    return code;
}

tb_code tb__ch_put_question(tb_store *store, const tb__ch_question *q, tb_error *err)
{
    tb_buf *sql = tb__ch_start(store);
    char where[200], edge[40] = "";
    if (q->of.edge) sqlite3_snprintf(sizeof edge, edge, " AND edge=%lld", (long long)q->of.edge);
    sqlite3_snprintf(sizeof where, where, "scope=%d AND owner=%lld AND h>=%lld AND h<%lld%s", q->of.scope,
                     (long long)q->of.owner, (long long)q->first, (long long)q->end, edge);
    tb_buf_fmt(sql, "SELECT %s", q->keys);
    tb__ch_put_sums(sql, q->metrics);
    if (q->located) tb_buf_fmt(sql, ",sumMap([edge],[c%d])", TB_M_BYTES);
    if (q->rows == TB__CH_COUNTED) tb_buf_str(sql, CAME_ONCE);
    tb_buf_str(sql, " FROM ");
    tb_code code = put_its_rows(store, q, where, err);
    /* The key leads to the rows, and mostly all of them count: columns that are read first, to leave out rows, are read for nothing. */
    tb_buf_fmt(sql, " GROUP BY %s SETTINGS max_threads=1%s FORMAT RowBinary", q->group ? q->group : q->keys,
               q->of.edge ? "" : ",optimize_move_to_prewhere=0");
    return code;
}

int64_t tb__ch_hour(int64_t hour)
{
    return hour < 0 ? 0 : hour > UINT32_MAX ? UINT32_MAX : hour;
}
