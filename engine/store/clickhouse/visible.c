/* Which batches count: the file's snapshot says it. */
#include "store/clickhouse/private.h"
#include "tollbook/calendar.h"

#include <inttypes.h>

#define IDS_MAX ((size_t)1 << 18) /* bytes of a list */

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

/* --- ids --- */

/* Ids that count are above one and up to another, and in no gap. The first of a span is no batch's: a fold's rows have it,
 * and count where it is their month's generation. */
typedef struct ids {
    const struct tb__clickhouse *ch;
    tb_buf *sql;
    int64_t above;
    int64_t left_out; /* first ones of spans above that, in gaps */
    tb_buf spans, last; /* that end with a gap, and the last ids of theirs that count: two lists */
} ids;

static bool is_generation(const struct tb__clickhouse *ch, int64_t id)
{
    for (size_t i = 0; i < ch->n_folded; i++)
        if (ch->folded[i].batch == id) return true;
    return false;
}

static int64_t span_of(int64_t id)
{
    return id >> TB__CH_ID_BITS;
}

/* A span with the first id of the next one. */
static void end_span(ids *to, int64_t span, int64_t last)
{
    const char *comma = to->spans.len ? "," : "";
    tb_buf_fmt(&to->spans, "%s%" PRId64, comma, span + 1);
    tb_buf_fmt(&to->last, "%s%" PRId64, comma, last);
}

/* In ascending order: mostly none is below the first gap, and a number less to compare with is left. Each start of a writer leaves a
 * gap up to the end of its span, which costs ClickHouse much as a condition and little in a list. */
static void leave_out(ids *to, int64_t first, int64_t last)
{
    const bool ends_span = span_of(last + 1) > span_of(last) && !is_generation(to->ch, last + 1);
    if (ends_span) last++;
    if (last <= to->above) return;
    if (first <= to->above + 1) {
        to->above = last;
        return;
    }
    to->left_out += span_of(last) - span_of(first - 1);
    if (!ends_span) tb_buf_fmt(to->sql, " AND NOT batch BETWEEN %" PRId64 " AND %" PRId64, first, last);
    for (int64_t span = span_of(first - 1); ends_span && span < span_of(last); span++)
        end_span(to, span, span == span_of(first - 1) ? first - 1 : 0);
}

static tb_code leave_out_gaps(tb_store *store, ids *to, tb_error *err)
{
    sqlite3_stmt *s;
    bool row = true;
    tb_code code = tb__sql(store, TB__SQL_USAGE_GAPS, &s, err);
    while (!code && !(code = tb__step(store, s, &row, err)) && row)
        leave_out(to, sqlite3_column_int64(s, 0), sqlite3_column_int64(s, 1));
    for (size_t i = 0; i < to->ch->n_gaps; i++)
        leave_out(to, to->ch->gaps[i].first, to->ch->gaps[i].last);
    return code;
}

tb_code tb__ch_watermark(tb_store *store, int64_t *ret_watermark, tb_error *err)
{
    const struct tb__clickhouse *ch = tb__ch_of(store);
    tb_code code = tb__meta_get(store, "usage_batch", ret_watermark, err);
    if (!code && ch->began && ch->next - 1 > *ret_watermark) *ret_watermark = ch->next - 1;
    return code;
}

static tb_code put_ids(tb_store *store, ids *to, int64_t *ret_watermark, tb_error *err)
{
    tb_buf_init(&to->spans, IDS_MAX, NULL);
    tb_buf_init(&to->last, IDS_MAX, NULL);
    tb_code code = tb__ch_watermark(store, ret_watermark, err);
    if (!code) code = leave_out_gaps(store, to, err);
    tb_buf_fmt(to->sql, " AND batch>%" PRId64 " AND batch<=", to->above);
    if (to->spans.len)
        tb_buf_fmt(to->sql, "transform(bitShiftRight(batch+%" PRId64 ",%d),[%.*s],[%.*s],%" PRId64 ")",
                   (INT64_C(1) << TB__CH_ID_BITS) - 1, TB__CH_ID_BITS, (int)to->spans.len, to->spans.data, (int)to->last.len,
                   to->last.data, *ret_watermark);
    else tb_buf_fmt(to->sql, "%" PRId64, *ret_watermark);
    if (!code) code = tb_buf_check(&to->spans, err);
    if (!code) code = tb_buf_check(&to->last, err);
    tb_buf_release(&to->spans);
    tb_buf_release(&to->last);
    return code;
}

tb_code tb__ch_put_visible(tb_store *store, tb_buf *sql, tb_error *err)
{
    int64_t watermark = 0;
    return put_ids(store, &(ids){.ch = tb__ch_of(store), .sql = sql}, &watermark, err);
}

/* --- months --- */

/* Where all months between these hours were compacted: no id below the first of their generations counts. */
static int64_t first_generation(const struct tb__clickhouse *ch, tb__ch_hours_of between)
{
    int64_t months = tb_month_from_day((between.end - 1) / 24) - tb_month_from_day(between.first / 24) + 1;
    int64_t first = INT64_MAX;
    for (size_t i = 0; i < ch->n_folded; i++) {
        if (!overlap(tb__ch_month_hours(ch->folded[i].month), between)) continue;
        months--;
        if (ch->folded[i].batch < first) first = ch->folded[i].batch;
    }
    return months ? 0 : first;
}

/* A compacted month counts from its generation on. */
static void put_month(const ids *to, const struct tb__ch_folded *of, tb__ch_table table, tb__ch_hours_of between)
{
    const tb__ch_hours_of month = tb__ch_month_hours(of->month);
    const char *time = table == TB__CH_CELL ? "h" : "day";
    const int64_t unit = table == TB__CH_CELL ? 1 : 24;
    if (!overlap(month, between) || of->batch <= to->above + 1) return;
    tb_buf_fmt(to->sql, " AND (batch>=%" PRId64, of->batch);
    if (between.first < month.first) tb_buf_fmt(to->sql, " OR %s<%" PRId64, time, month.first / unit);
    if (between.end > month.end) tb_buf_fmt(to->sql, " OR %s>=%" PRId64, time, month.end / unit);
    tb_buf_str(to->sql, ")");
}

/* First ids of spans that nothing said so far keeps out. A generation's rows lie in its own month alone, and the span behind it
 * was begun for batches. */
static int64_t first_ids(const ids *to, int64_t watermark)
{
    int64_t n = span_of(watermark) - span_of(to->above) - to->left_out;
    for (size_t i = 0; i < to->ch->n_folded; i++)
        n -= (to->ch->folded[i].batch > to->above) + (span_of(to->ch->folded[i].batch) >= span_of(to->above));
    return n;
}

/* No batch's id, and of a fold only where it is a month's generation. */
static void put_first_ids(const ids *to, tb__ch_hours_of between)
{
    const char *before = " OR batch IN(";
    tb_buf_fmt(to->sql, " AND (bitAnd(batch,%" PRId64 ")!=0", (INT64_C(1) << TB__CH_ID_BITS) - 1);
    for (size_t i = 0; i < to->ch->n_folded; i++) {
        if (!overlap(tb__ch_month_hours(to->ch->folded[i].month), between)) continue;
        tb_buf_fmt(to->sql, "%s%" PRId64, before, to->ch->folded[i].batch);
        before = ",";
    }
    tb_buf_str(to->sql, *before == ',' ? "))" : ")");
}

tb_code tb__ch_put_months(tb_store *store, tb_buf *sql, tb__ch_table of, tb__ch_hours_of between, tb_error *err)
{
    struct tb__clickhouse *ch = tb__ch_of(store);
    ids to = {.ch = ch, .sql = sql};
    int64_t watermark = 0;
    /* First: outside of a transaction a compaction may end between the two, and its id must be below the watermark. */
    tb_code code = tb__ch_read_months(store, err);
    ch->asks_cells = true;
    const int64_t first = first_generation(ch, between);
    if (first) to.above = first - 1;
    if (!code) code = put_ids(store, &to, &watermark, err);
    for (size_t i = 0; i < ch->n_folded; i++)
        put_month(&to, &ch->folded[i], of, between);
    if (first_ids(&to, watermark)) put_first_ids(&to, between);
    return code;
}

/* Asked behind the watermark: what was noted with an id up to it is seen, too. */
tb_code tb__ch_may_be_twice(tb_store *store, tb__ch_hours_of between, bool *ret, tb_error *err)
{
    const struct tb__clickhouse *ch = tb__ch_of(store);
    int64_t twice = 0;
    tb_code code = tb__meta_get(store, TB__CH_TWICE, &twice, err);
    *ret = twice && first_generation(ch, between) <= twice;
    return code;
}
