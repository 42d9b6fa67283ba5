#include "store/clickhouse/fold.h"

#include "tollbook/calendar.h"

#include <inttypes.h>
#include <string.h>

#define SPAN_ROWS 200000 /* 3 M at once took a server more than 1 GB */
#define KEYS      "scope,owner,edge,h"

/* --- which spans --- */

static tb_code add_span(tb__ch_fold *f, tb__ch_piece span, tb_error *err)
{
    tb__ch_piece *last = f->n ? &f->list[f->n - 1] : NULL;
    const bool joins = last && last->scope == span.scope && last->rows + span.rows <= SPAN_ROWS &&
                       (last->first == span.first ? last->end == span.from
                                                  : last->from == span.from && last->end == span.end);
    if (joins) {
        last->last = span.last;
        last->end = span.end;
        last->rows += span.rows;
        return TB_OK;
    }
    tb_code code = tb__grow(&f->list, f->n, &f->cap, sizeof *f->list, err);
    if (!code) f->list[f->n++] = span;
    return code;
}

static void put_where(const tb__ch_fold *f, const tb__ch_piece *s, char *out, int size)
{
    sqlite3_snprintf(size, out, "scope=%d AND owner>=%lld AND owner<=%lld AND h>=%lld AND h<%lld AND batch<%lld", s->scope,
                     (long long)s->first, (long long)s->last, (long long)s->from, (long long)s->end,
                     (long long)f->batch);
}

/* An owner with many rows: hour by hour. The answer that the caller walks is copied by it. */
static tb_code plan_hours(tb_store *store, tb__ch_fold *f, const tb__ch_piece *of, tb_error *err)
{
    char where[300];
    int64_t from = of->from;
    put_where(f, of, where, sizeof where);
    tb_buf *sql = tb__ch_start(store);
    tb_buf_fmt(sql, "SELECT h,count() FROM %s.cell WHERE %s GROUP BY h ORDER BY h FORMAT RowBinary",
               tb__ch_of(store)->client->database, where);
    tb_code code = tb__ch_ask(store, f->shard, err);
    tb__ch_reader r = tb__ch_reader_of(tb__ch_of(store));
    while (!code && r.at < r.end && !r.cut) {
        tb__ch_piece hour = *of;
        hour.from = from;
        hour.end = from = (int64_t)tb__ch_column(&r, 4) + 1;
        hour.rows = tb__ch_column(&r, 8);
        code = add_span(f, hour, err);
    }
    return code ? code : tb__ch_check_read(&r, err);
}

static tb_code plan_owners(tb_store *store, tb__ch_fold *f, tb__ch_reader *r, tb_error *err)
{
    tb__ch_piece of = {.from = tb__ch_hour(tb_month_first_day(f->month) * 24),
                      .end = tb__ch_hour(tb_month_first_day(f->month + 1) * 24)};
    tb_code code = TB_OK;
    while (!code && r->at < r->end && !r->cut) {
        of.scope = (int)tb__ch_column(r, 1);
        of.first = of.last = (int64_t)tb__ch_column(r, 8);
        of.rows = tb__ch_column(r, 8);
        code = of.rows > SPAN_ROWS ? plan_hours(store, f, &of, err) : add_span(f, of, err);
    }
    return code ? code : tb__ch_check_read(r, err);
}

tb_code tb__ch_fold_plan(tb_store *store, tb__ch_fold *f, tb_error *err)
{
    struct tb__clickhouse *ch = tb__ch_of(store);
    tb_buf_fmt(tb__ch_start(store),
               "SELECT scope,owner,count() FROM %s.cell WHERE scope>0 AND h>=%" PRId64 " AND h<%" PRId64 " AND batch<%" PRId64
               " GROUP BY scope,owner ORDER BY scope,owner FORMAT RowBinary",
               ch->client->database, tb__ch_hour(tb_month_first_day(f->month) * 24),
               tb__ch_hour(tb_month_first_day(f->month + 1) * 24), f->batch);
    tb_code code = tb__ch_ask(store, f->shard, err);
    if (code) return code;
    tb_buf taken = ch->answer;
    tb_buf_init(&ch->answer, TB__CH_ANSWER_MAX, NULL);
    tb__ch_reader r = {taken.data, taken.data + taken.len, false};
    f->n = f->at = 0;
    f->planned = true;
    code = plan_owners(store, f, &r, err);
    tb_buf_release(&taken);
    return code;
}

/* --- one span --- */

/* "(SELECT KEYS,sum(c0) AS s0,... GROUP BY KEYS)": what the span's rows come to, as they count now. */
static tb_code put_folded(tb_store *store, const tb__ch_fold *f, tb_buf *sql, tb_error *err)
{
    char where[300];
    put_where(f, &f->list[f->at], where, sizeof where);
    tb_buf_str(sql, "(SELECT " KEYS);
    for (int m = 0; m < TB_METRIC_COUNT; m++)
        tb_buf_fmt(sql, ",%s(c%d) AS s%d", tb_metric_table[m].how == TB_HOW_SUM ? "sum" : "max", m, m);
    tb_buf_str(sql, " FROM ");
    tb_code code = tb__ch_put_rows(store, sql, KEYS, TB_METRIC_ALL, where, err);
    tb_buf_str(sql, " GROUP BY " KEYS);
    tb__ch_put_there(sql); /* what was withdrawn is no hour any more */
    tb_buf_str(sql, ")");
    return code;
}

static tb_code write_folded(tb_store *store, const tb__ch_fold *f, tb_error *err)
{
    tb_buf *sql = tb__ch_start(store);
    tb_buf_fmt(sql, "INSERT INTO %s.cell(" KEYS ",batch,row", tb__ch_of(store)->client->database);
    for (int m = 0; m < TB_METRIC_COUNT; m++)
        tb_buf_fmt(sql, ",%s", tb_metric_table[m].name);
    tb_buf_fmt(sql, ") SELECT " KEYS ",toUInt64(%" PRId64 "),toUInt32(%" PRIu64 "+rowNumberInAllBlocks())", f->batch,
               f->numbered);
    for (int m = 0; m < TB_METRIC_COUNT; m++)
        tb_buf_fmt(sql, ",s%d", m);
    tb_buf_str(sql, " FROM ");
    tb_code code = put_folded(store, f, sql, err);
    return code ? code : tb__ch_ask(store, f->shard, err);
}

/* What two lists of rows must agree in: how many, and a hash of all their columns. */
typedef struct digest {
    uint64_t rows, hash, numbers;
} digest;

static tb_code read_digest(tb_store *store, size_t shard, digest *ret, tb_error *err)
{
    tb_code code = tb__ch_ask(store, shard, err);
    if (code) return code;
    tb__ch_reader r = tb__ch_reader_of(tb__ch_of(store));
    ret->rows = tb__ch_column(&r, 8);
    ret->hash = tb__ch_column(&r, 8);
    ret->numbers = tb__ch_column(&r, 8);
    return tb__ch_check_read(&r, err);
}

static void put_digest(tb_buf *sql, const char *numbers)
{
    tb_buf_str(sql, "SELECT count(),sum(cityHash64(" KEYS);
    for (int m = 0; m < TB_METRIC_COUNT; m++)
        tb_buf_fmt(sql, ",s%d", m);
    tb_buf_fmt(sql, ")),%s FROM ", numbers);
}

static tb_code digest_folded(tb_store *store, const tb__ch_fold *f, digest *ret, tb_error *err)
{
    tb_buf *sql = tb__ch_start(store);
    put_digest(sql, "count()");
    tb_code code = put_folded(store, f, sql, err);
    tb_buf_str(sql, " FORMAT RowBinary");
    return code ? code : read_digest(store, f->shard, ret, err);
}

static tb_code digest_written(tb_store *store, const tb__ch_fold *f, digest *ret, tb_error *err)
{
    const tb__ch_piece *s = &f->list[f->at];
    tb_buf *sql = tb__ch_start(store);
    put_digest(sql, "uniqExact(row)");
    tb_buf_str(sql, "(SELECT " KEYS ",row");
    for (int m = 0; m < TB_METRIC_COUNT; m++)
        tb_buf_fmt(sql, ",%s AS s%d", tb_metric_table[m].name, m);
    tb_buf_fmt(sql,
               " FROM %s.cell WHERE scope=%d AND owner>=%" PRId64 " AND owner<=%" PRId64 " AND h>=%" PRId64 " AND h<%" PRId64
               " AND batch=%" PRId64 ") FORMAT RowBinary",
               tb__ch_of(store)->client->database, s->scope, s->first, s->last, s->from, s->end, f->batch);
    return read_digest(store, f->shard, ret, err);
}

tb_code tb__ch_fold_span(tb_store *store, tb__ch_fold *f, tb_error *err)
{
    const tb__ch_piece *s = &f->list[f->at];
    digest before = {0, 0, 0}, after = {0, 0, 0};
    if (f->numbered + s->rows >= UINT32_MAX)
        return tb_fail(err, TB_E_OVERFLOW, "usage", "A month has 2^32 rows: it cannot be compacted.");
    tb_code code = write_folded(store, f, err);
    if (!code) code = digest_folded(store, f, &before, err);
    if (!code) code = digest_written(store, f, &after, err);
    if (code) return code;
    if (before.rows != after.rows || before.hash != after.hash || after.numbers != after.rows)
        return tb_fail(err, TB_E_CORRUPT, "usage",
                       "Compacted rows of scope %d, owners %lld to %lld, on shard %zu are not what they were made of. "
                       "They do not count, and the rows stay as they are. Run `tollbook verify`.",
                       s->scope, (long long)s->first, (long long)s->last, f->shard + 1);
    f->numbered += s->rows;
    f->at++;
    return TB_OK;
}
