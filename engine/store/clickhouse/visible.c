/* Which batches count: the file's snapshot says it. */
#include "store/clickhouse/private.h"
#include "tollbook/calendar.h"

#include <inttypes.h>

tb_code tb__ch_meta(tb_store *store, const char *name, int64_t otherwise, int64_t *ret, tb_error *err)
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

tb_code tb__ch_meta_put(tb_store *store, const char *name, int64_t value, tb_error *err)
{
    sqlite3_stmt *s;
    tb_code code = tb__sql(store, TB__SQL_META_PUT, &s, err);
    if (code) return code;
    sqlite3_bind_text(s, 1, name, -1, SQLITE_STATIC);
    sqlite3_bind_int64(s, 2, value);
    return tb__run(store, s, err);
}

tb_code tb__ch_read_months(tb_store *store, tb_error *err)
{
    struct tb__clickhouse *ch = tb__ch_of(store);
    sqlite3_stmt *s;
    bool row = true;
    ch->n_folded = 0;
    tb_code code = tb__sql(store, TB__SQL_USAGE_MONTHS, &s, err);
    while (!code && !(code = tb__step(store, s, &row, err)) && row) {
        code = tb__grow(&ch->folded, ch->n_folded, &ch->cap_folded, sizeof *ch->folded, err);
        if (code) sqlite3_reset(s);
        else ch->folded[ch->n_folded++] = (struct tb__ch_folded){sqlite3_column_int64(s, 0),
                                                                 sqlite3_column_int64(s, 1) << TB__CH_ID_BITS};
    }
    return code;
}

int64_t tb__ch_month_batch(const struct tb__clickhouse *ch, int64_t month)
{
    for (size_t i = 0; i < ch->n_folded; i++)
        if (ch->folded[i].month == month) return ch->folded[i].batch;
    return 0;
}

tb__ch_hours_of tb__ch_month_hours(int64_t month)
{
    return (tb__ch_hours_of){tb__ch_hour(tb_month_first_day(month) * 24), tb__ch_hour(tb_month_first_day(month + 1) * 24)};
}

static bool overlap(tb__ch_hours_of a, tb__ch_hours_of b)
{
    return a.first < b.end && b.first < a.end;
}

tb_code tb__ch_put_months(tb_store *store, tb_buf *sql, tb__ch_table of, tb__ch_hours_of between, tb_error *err)
{
    struct tb__clickhouse *ch = tb__ch_of(store);
    const char *time = of == TB__CH_CELL ? "h" : "day";
    const int64_t unit = of == TB__CH_CELL ? 1 : 24;
    bool any = false;
    tb_code code = tb__ch_read_months(store, err);
    ch->asks_cells = true;
    tb_buf_fmt(sql, " AND (bitAnd(batch,%" PRId64 ")!=0", (INT64_C(1) << TB__CH_ID_BITS) - 1);
    for (size_t i = 0; i < ch->n_folded; i++) {
        if (!overlap(tb__ch_month_hours(ch->folded[i].month), between)) continue;
        tb_buf_fmt(sql, "%s%" PRId64, any ? "," : " OR batch IN(", ch->folded[i].batch);
        any = true;
    }
    tb_buf_str(sql, any ? "))" : ")");
    for (size_t i = 0; any && i < ch->n_folded; i++) {
        const tb__ch_hours_of month = tb__ch_month_hours(ch->folded[i].month);
        if (overlap(month, between))
            tb_buf_fmt(sql, " AND (%s<%" PRId64 " OR %s>=%" PRId64 " OR batch>=%" PRId64 ")", time, month.first / unit,
                       time, month.end / unit, ch->folded[i].batch);
    }
    return code;
}

static void put_gap(tb_buf *sql, int64_t first, int64_t last)
{
    tb_buf_fmt(sql, " AND NOT batch BETWEEN %" PRId64 " AND %" PRId64, first, last);
}

static tb_code put_gaps(tb_store *store, tb_buf *sql, tb_error *err)
{
    const struct tb__clickhouse *ch = tb__ch_of(store);
    sqlite3_stmt *s;
    bool row = true;
    tb_code code = tb__sql(store, TB__SQL_USAGE_GAPS, &s, err);
    while (!code && !(code = tb__step(store, s, &row, err)) && row)
        put_gap(sql, sqlite3_column_int64(s, 0), sqlite3_column_int64(s, 1));
    for (size_t i = 0; i < ch->n_gaps; i++)
        put_gap(sql, ch->gaps[i].first, ch->gaps[i].last);
    return code;
}

tb_code tb__ch_watermark(tb_store *store, int64_t *ret_watermark, tb_error *err)
{
    const struct tb__clickhouse *ch = tb__ch_of(store);
    tb_code code = tb__meta_get(store, "usage_batch", ret_watermark, err);
    if (!code && ch->began && ch->next - 1 > *ret_watermark) *ret_watermark = ch->next - 1;
    return code;
}

tb_code tb__ch_put_visible(tb_store *store, tb_buf *sql, tb_error *err)
{
    int64_t watermark = 0;
    tb_code code = tb__ch_watermark(store, &watermark, err);
    if (code) return code;
    tb_buf_fmt(sql, " AND batch<=%" PRId64, watermark);
    return put_gaps(store, sql, err);
}
