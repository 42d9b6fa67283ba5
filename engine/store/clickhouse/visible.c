/* Which batches count, according to the file's snapshot. */
#include "store/clickhouse/private.h"
#include "tollbook/calendar.h"

#include <inttypes.h>
#include <stdlib.h>

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
    ch->n_compacted = 0;
    tb_code code = tb__sql(store, TB__SQL_USAGE_MONTHS, &s, err);
    while (!code && !(code = tb__step(store, s, &row, err)) && row) {
        code = tb__grow(&ch->compacted, ch->n_compacted, &ch->cap_compacted, sizeof *ch->compacted, err);
        if (code) sqlite3_reset(s);
        else ch->compacted[ch->n_compacted++] = (struct tb__ch_compacted){sqlite3_column_int64(s, 0),
                                                                 sqlite3_column_int64(s, 1) << TB__CH_ID_BITS};
    }
    return code;
}

int64_t tb__ch_month_batch(const struct tb__clickhouse *ch, int64_t month)
{
    for (size_t i = 0; i < ch->n_compacted; i++)
        if (ch->compacted[i].month == month) return ch->compacted[i].batch;
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

/* Ids that count lie above one id and up to another, and in no gap. The first id of a span is no batch's: a compaction
 * uses it, and its rows count if it is their month's generation. */
typedef struct ids {
    const struct tb__clickhouse *ch;
    tb_buf *sql;
    int64_t above;
    int64_t left_out; /* first ids of spans above that, in gaps */
    tb_buf spans, last; /* two lists: spans that end with a gap, and the last id of each that counts */
    struct ended { /* lives that end with a gap, ascending */
        int64_t life, last;
    } *ended;
    size_t n_ended, cap_ended;
} ids;

static bool is_generation(const struct tb__clickhouse *ch, int64_t id)
{
    for (size_t i = 0; i < ch->n_compacted; i++)
        if (ch->compacted[i].batch == id) return true;
    return false;
}

static int64_t span_of(int64_t id)
{
    return id >> TB__CH_ID_BITS;
}

/* A span, and the first id of the next one. */
static void end_span(ids *to, int64_t span, int64_t last)
{
    const char *comma = to->spans.len ? "," : "";
    tb_buf_fmt(&to->spans, "%s%" PRId64, comma, span + 1);
    tb_buf_fmt(&to->last, "%s%" PRId64, comma, last);
}

static int64_t life_of(int64_t id)
{
    return id >> TB__CH_LIFE_BITS;
}

/* A life, and the last position in it that counts; -1: none does. */
static tb_code end_lives(ids *to, int64_t first, int64_t last, tb_error *err)
{
    tb_code code = TB_OK;
    for (int64_t life = life_of(first); !code && life <= life_of(last); life++) {
        if (to->n_ended && life <= to->ended[to->n_ended - 1].life) continue; /* the file has what the writer remembers, too */
        code = tb__grow(&to->ended, to->n_ended, &to->cap_ended, sizeof *to->ended, err);
        if (code) break;
        to->ended[to->n_ended++] = (struct ended){life, life == life_of(first) ? (first & TB__CH_LIFE_MAX) - 1 : -1};
    }
    return code;
}

/* In ascending order: mostly no id below the first gap counts, which saves a comparison. Each start of a writer leaves a gap up
 * to the end of its span, and each failed commit one up to the end of its life. As conditions these cost ClickHouse much, as lists
 * little. Any other gap is from an earlier build. */
static tb_code leave_out(ids *to, int64_t first, int64_t last, tb_error *err)
{
    const bool ends_span = span_of(last + 1) > span_of(last) && !is_generation(to->ch, last + 1);
    if (ends_span) last++;
    if (last <= to->above) return TB_OK;
    if (first <= to->above + 1) {
        to->above = last;
        return TB_OK;
    }
    to->left_out += span_of(last) - span_of(first - 1);
    if (life_of(last + 1) > life_of(last) && span_of(first) == span_of(last + 1)) return end_lives(to, first, last, err);
    if (!ends_span) tb_buf_fmt(to->sql, " AND NOT batch BETWEEN %" PRId64 " AND %" PRId64, first, last);
    for (int64_t span = span_of(first - 1); ends_span && span < span_of(last); span++)
        end_span(to, span, span == span_of(first - 1) ? first - 1 : 0);
    return TB_OK;
}

static tb_code leave_out_gaps(tb_store *store, ids *to, tb_error *err)
{
    sqlite3_stmt *s;
    bool row = true;
    tb_code code = tb__sql(store, TB__SQL_USAGE_GAPS, &s, err);
    while (!code && !(code = tb__step(store, s, &row, err)) && row)
        if ((code = leave_out(to, sqlite3_column_int64(s, 0), sqlite3_column_int64(s, 1), err))) sqlite3_reset(s);
    for (size_t i = 0; !code && i < to->ch->n_gaps; i++)
        code = leave_out(to, to->ch->gaps[i].first, to->ch->gaps[i].last, err);
    return code;
}

/* Digits of the largest number in put_lives. */
static int width_of(const ids *to)
{
    int64_t most = -1;
    int width = 1;
    for (size_t i = 0; i < to->n_ended; i++)
        if (to->ended[i].last > most) most = to->ended[i].last;
    for (most += 2; most >= 10; most /= 10)
        width++;
    return width;
}

/* Writes the lives of the span of to->ended[at], from its first one on, and one entry for all later ones: one more than the
 * first position that does not count; 0: all count. Returns the first entry of the next span. */
static size_t put_lives(ids *to, size_t at, size_t *n, int width)
{
    const int64_t span = to->ended[at].life >> (TB__CH_ID_BITS - TB__CH_LIFE_BITS);
    int64_t life = span << (TB__CH_ID_BITS - TB__CH_LIFE_BITS);
    const char *comma = to->spans.len ? "," : "";
    const size_t from = *n;
    for (; at < to->n_ended && to->ended[at].life >> (TB__CH_ID_BITS - TB__CH_LIFE_BITS) == span; life++, ++*n) {
        const bool ended = to->ended[at].life == life;
        tb_buf_fmt(to->sql, "%0*" PRId64, width, ended ? to->ended[at].last + 2 : 0);
        at += ended;
    }
    tb_buf_fmt(to->sql, "%0*d", width, 0);
    tb_buf_fmt(&to->spans, "%s%" PRId64, comma, span);
    tb_buf_fmt(&to->last, "%s%zu", comma, *n - from);
    ++*n;
    return at;
}

/* A text of numbers of equal width: ClickHouse parses a list of 20,000 numbers in half a second, and this text in a few
 * milliseconds. The index of a row's number: 0 for spans without such lives; for others the offset of the span plus the life, or
 * the entry for all later lives. 0 - 1 in 32 bits is greater than any position. */
static tb_code put_ended(ids *to, tb_error *err)
{
    const int width = width_of(to);
    tb_buf starts;
    size_t n = 1;
    if (!to->n_ended) return TB_OK;
    tb_buf_init(&starts, IDS_MAX, NULL);
    to->spans.len = to->last.len = 0;
    tb_buf_fmt(to->sql, " AND bitAnd(batch,%d)<toUInt32(toUInt32OrZero(substring('%0*d", TB__CH_LIFE_MAX, width, 0);
    for (size_t at = 0; at < to->n_ended;) {
        tb_buf_fmt(&starts, "%s%zu", starts.len ? "," : "", n);
        at = put_lives(to, at, &n, width);
    }
    tb_buf_fmt(to->sql,
               "',1+%d*(transform(bitShiftRight(batch,%d),[%.*s],[%.*s],0)+least(bitAnd(bitShiftRight(batch,%d),%d),"
               "transform(bitShiftRight(batch,%d),[%.*s],[%.*s],0))),%d))-1)",
               width, TB__CH_ID_BITS, (int)to->spans.len, to->spans.data, (int)starts.len, starts.data, TB__CH_LIFE_BITS,
               (1 << (TB__CH_ID_BITS - TB__CH_LIFE_BITS)) - 1, TB__CH_ID_BITS, (int)to->spans.len, to->spans.data,
               (int)to->last.len, to->last.data, width);
    tb_code code = tb_buf_check(&starts, err);
    tb_buf_release(&starts);
    return code;
}

tb_code tb__ch_watermark(tb_store *store, int64_t *ret_watermark, tb_error *err)
{
    const struct tb__clickhouse *ch = tb__ch_of(store);
    int64_t number = 0;
    tb_code code = tb__meta_get(store, "usage_batch", ret_watermark, err);
    if (!code) code = tb__ch_meta(store, TB__CH_NUMBER, 0, &number, err);
    if (!code && number != ch->number)
        return tb_fail(err, TB_E_AWAY, "usage", "Usage was moved to other servers while it was being read. Ask again.");
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
    if (!code) code = put_ended(to, err);
    if (!code) code = tb_buf_check(&to->spans, err);
    if (!code) code = tb_buf_check(&to->last, err);
    free(to->ended);
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

/* If all months between these hours were compacted, no id below the first of their generations counts. */
static int64_t first_generation(const struct tb__clickhouse *ch, tb__ch_hours_of between)
{
    int64_t months = tb_month_from_day((between.end - 1) / 24) - tb_month_from_day(between.first / 24) + 1;
    int64_t first = INT64_MAX;
    for (size_t i = 0; i < ch->n_compacted; i++) {
        if (!overlap(tb__ch_month_hours(ch->compacted[i].month), between)) continue;
        months--;
        if (ch->compacted[i].batch < first) first = ch->compacted[i].batch;
    }
    return months ? 0 : first;
}

/* A compacted month counts from its generation on. */
static void put_month(const ids *to, const struct tb__ch_compacted *of, tb__ch_table table, tb__ch_hours_of between)
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

/* First ids of spans that no condition so far excludes. A generation's rows lie in its own month only, and the next span
 * was begun for batches. */
static int64_t first_ids(const ids *to, int64_t watermark)
{
    int64_t n = span_of(watermark) - span_of(to->above) - to->left_out;
    for (size_t i = 0; i < to->ch->n_compacted; i++)
        n -= (to->ch->compacted[i].batch > to->above) + (span_of(to->ch->compacted[i].batch) >= span_of(to->above));
    return n;
}

/* Excludes compactions whose id is not their month's generation. */
static void put_first_ids(const ids *to, tb__ch_hours_of between)
{
    const char *before = " OR batch IN(";
    tb_buf_fmt(to->sql, " AND (bitAnd(batch,%" PRId64 ")!=0", (INT64_C(1) << TB__CH_ID_BITS) - 1);
    for (size_t i = 0; i < to->ch->n_compacted; i++) {
        if (!overlap(tb__ch_month_hours(to->ch->compacted[i].month), between)) continue;
        tb_buf_fmt(to->sql, "%s%" PRId64, before, to->ch->compacted[i].batch);
        before = ",";
    }
    tb_buf_str(to->sql, *before == ',' ? "))" : ")");
}

tb_code tb__ch_put_months(tb_store *store, tb_buf *sql, tb__ch_table of, tb__ch_hours_of between, tb_error *err)
{
    struct tb__clickhouse *ch = tb__ch_of(store);
    ids to = {.ch = ch, .sql = sql};
    int64_t watermark = 0;
    /* Read first: outside of a transaction a compaction may end between the two reads, and its id must be below the watermark. */
    tb_code code = tb__ch_read_months(store, err);
    ch->reads_cells = true;
    const int64_t first = first_generation(ch, between);
    if (first) to.above = first - 1;
    if (!code) code = put_ids(store, &to, &watermark, err);
    for (size_t i = 0; i < ch->n_compacted; i++)
        put_month(&to, &ch->compacted[i], of, between);
    if (first_ids(&to, watermark)) put_first_ids(&to, between);
    return code;
}

/* Read after the watermark, so that marks of ids up to it are seen too. */
tb_code tb__ch_may_be_twice(tb_store *store, tb__ch_hours_of between, bool *ret, tb_error *err)
{
    const struct tb__clickhouse *ch = tb__ch_of(store);
    int64_t twice = 0;
    tb_code code = tb__meta_get(store, TB__CH_TWICE, &twice, err);
    *ret = twice && first_generation(ch, between) <= twice;
    return code;
}
