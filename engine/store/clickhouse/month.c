/* Of one series a month's days and a day's hours. Bills ask for a month of one location after the other, of one account
 * after the other: all locations of an owner come together, and from the second owner on a block of owners, one
 * statement a shard. */
#include "store/clickhouse/private.h"
#include "store/usage/chunk.h"
#include "tollbook/calendar.h"

#include <stdlib.h>
#include <string.h>

#define BLOCK 256 /* owners. With ten locations each they take 5 MiB */

static const tb_metric month_metrics[TB__CH_MONTH_METRICS] = {TB_M_BYTES, TB_M_REQUESTS,
                                                              TB_M_BALANCER_REQUESTS};

static bool holds(const tb__ch_month *d, const tb__ch_whose *w, int64_t month, int64_t watermark)
{
    return d->month == month && d->watermark == watermark && d->first <= w->owner && w->owner <= d->last;
}

static tb_code ask_month(tb_store *store, size_t shard, int scope, const tb__ch_month *d, tb_error *err)
{
    tb_buf *sql = tb__ch_start(store);
    uint32_t metrics = 0;
    char where[200];
    for (int i = 0; i < TB__CH_MONTH_METRICS; i++)
        metrics |= TB_METRIC_BIT(month_metrics[i]);
    const tb__ch_hours_of hours = tb__ch_month_hours(d->month);
    const tb__ch_rows rows = {.columns = "owner,edge,h", .metrics = metrics, .where = where, .first = hours.first,
                              .end = hours.end};
    sqlite3_snprintf(sizeof where, where, "%s AND owner>=%lld AND owner<=%lld", tb__ch_scopes(scope, true),
                     (long long)d->first, (long long)d->last);
    tb_buf_str(sql, "SELECT owner,edge,toUInt32(intDiv(h,24)) AS day");
    tb__ch_put_sums(sql, metrics);
    tb_buf_str(sql, " FROM ");
    tb_code code = tb__ch_put_rows(store, sql, &rows, err);
    tb_buf_str(sql, " GROUP BY owner,edge,day FORMAT RowBinary");
    return code ? code : tb__ch_ask(store, shard, err);
}

static tb_code take_month(tb_store *store, tb__ch_month *d, size_t *cap, tb_error *err)
{
    tb__ch_reader r = tb__ch_reader_of(tb__ch_of(store));
    tb_code code = TB_OK;
    while (!code && r.at < r.end && !r.cut) {
        uint64_t value[TB_METRIC_COUNT] = {0};
        code = tb__grow(&d->list, d->n, cap, sizeof *d->list, err);
        if (code) break;
        struct tb__ch_month_day *to = &d->list[d->n++];
        to->owner = (int64_t)tb__ch_column(&r, 8);
        to->edge = (int64_t)tb__ch_column(&r, 4);
        to->day = (unsigned)((int64_t)tb__ch_column(&r, 4) - tb_month_first_day(d->month));
        for (int m = 0; m < TB_METRIC_COUNT; m++) /* in the order of the statement */
            for (int i = 0; i < TB__CH_MONTH_METRICS; i++)
                if ((int)month_metrics[i] == m) value[m] = tb__ch_column(&r, 8);
        for (int i = 0; i < TB__CH_MONTH_METRICS; i++)
            to->value[i] = value[month_metrics[i]];
    }
    return code ? code : tb__ch_check_read(&r, err);
}

static int by_place(const void *a, const void *b)
{
    const struct tb__ch_month_day *x = a, *y = b;
    if (x->owner != y->owner) return x->owner < y->owner ? -1 : 1;
    if (x->edge != y->edge) return x->edge < y->edge ? -1 : 1;
    return x->day < y->day ? -1 : x->day > y->day;
}

static tb_code read_block(tb_store *store, int scope, tb__ch_month *d, tb_error *err)
{
    const bool one = d->first == d->last;
    const size_t shards = tb__ch_of(store)->client->shards;
    size_t cap = 0, shard = one ? tb__ch_shard(store, scope, d->first) : 0;
    tb_code code = TB_OK;
    do {
        code = ask_month(store, shard, scope, d, err);
        if (!code) code = take_month(store, d, &cap, err);
    } while (!code && !one && ++shard < shards);
    if (d->n) qsort(d->list, d->n, sizeof *d->list, by_place);
    return code;
}

static tb_code load_month(tb_store *store, const tb__ch_whose *w, int64_t month, tb_error *err)
{
    tb__ch_month *d = &tb__ch_of(store)->month[w->scope - 1];
    int64_t watermark = 0, last = w->owner;
    tb_code code = tb__ch_settle(store, err);
    if (!code) code = tb__ch_watermark(store, &watermark, err);
    if (code || holds(d, w, month, watermark)) return code;
    if (d->month == month && d->watermark == watermark)
        code = tb__int_of(store, TB__SQL_SERIES_OWNERS_END, (int64_t[]){w->scope, w->owner, BLOCK}, 3, last, &last,
                          err);
    free(d->list);
    *d = (tb__ch_month){.first = w->owner, .last = last, .month = month, .watermark = watermark};
    if (!code) code = read_block(store, w->scope, d, err);
    if (code) d->month = -1;
    return code;
}

static size_t month_place(const tb__ch_month *d, const tb__ch_whose *w)
{
    const struct tb__ch_month_day key = {.owner = w->owner, .edge = w->edge};
    size_t low = 0, high = d->n;
    while (low < high) {
        const size_t middle = (low + high) / 2;
        if (by_place(&d->list[middle], &key) < 0) low = middle + 1;
        else high = middle;
    }
    return low;
}

tb_code tb__ch_days(tb_store *store, int64_t series, tb_metric metric, int64_t month, uint64_t out[32],
                    tb_error *err)
{
    tb__ch_whose w;
    int which = 0;
    memset(out, 0, 32 * sizeof *out);
    if (!series || month < 0 || month > TB__INDEX_MAX) return TB_OK;
    while (which < TB__CH_MONTH_METRICS && month_metrics[which] != metric)
        which++;
    if (which == TB__CH_MONTH_METRICS)
        return tb_fail(err, TB_E_INTERNAL, NULL, "A month's days have no %s.", tb_metric_table[metric].name);
    tb_code code = tb__ch_whose_is(store, series, &w, err);
    if (!code) code = load_month(store, &w, month, err);
    if (code) return code;
    const tb__ch_month *d = &tb__ch_of(store)->month[w.scope - 1];
    const bool all = !w.edge && w.scope != TB__SCOPE_BALANCER;
    for (size_t i = month_place(d, &w); i < d->n && d->list[i].owner == w.owner; i++) {
        if (!all && d->list[i].edge != w.edge) break;
        if (d->list[i].day < 32) out[d->list[i].day] += d->list[i].value[which];
    }
    return TB_OK;
}

/* A day's hours of one counter. */
typedef struct hours_wanted {
    tb_metric metric;
    int64_t edge;
    size_t at; /* of the range */
    uint64_t *out;
} hours_wanted;

static tb_code take_hours(void *ctx, const tb__ch_part *p, tb_error *err)
{
    const hours_wanted *w = ctx;
    uint64_t *column[TB_METRIC_COUNT] = {NULL};
    if (p->edge != w->edge || p->at != w->at) return TB_OK;
    column[w->metric] = w->out;
    return tb__chunk_columns(p->data, p->len, p->key, TB_METRIC_BIT(w->metric), p->from, p->count, column, 0, err);
}

/* Who asks for the hours of one day and counter asks for others: `verify` for each that usage came late to. So the month is asked for,
 * with what bills count, and remembered. */
static tb_code hours_of_month(tb_store *store, const tb__ch_whose *w, tb_metric metric, int64_t day, uint64_t out[32], tb_error *err)
{
    const tb__ch_hours_of month = tb__ch_month_hours(tb_month_from_day(day));
    const tb_range range = {.first = month.first, .count = (uint32_t)(month.end - month.first), .hourly = true};
    hours_wanted wanted = {metric, w->edge, (size_t)(day * 24 - month.first), out};
    uint32_t metrics = TB_METRIC_BIT(metric);
    for (int i = 0; i < TB__CH_MONTH_METRICS; i++)
        metrics |= TB_METRIC_BIT(month_metrics[i]);
    return tb__ch_each_part(store, &(tb__ch_wanted){w, 1, range, metrics}, take_hours, &wanted, err);
}

tb_code tb__ch_hours(tb_store *store, int64_t series, tb_metric metric, int64_t day, uint64_t out[32],
                     tb_error *err)
{
    tb__ch_whose w = {0, 0, 0};
    memset(out, 0, 32 * sizeof *out);
    tb_code code = tb__ch_settle(store, err);
    if (!code) code = tb__ch_whose_is(store, series, &w, err);
    if (code) return code;
    if (tb__ch_may_cache(store, (tb_range){.count = 31 * 24, .hourly = true})) return hours_of_month(store, &w, metric, day, out, err);
    const tb__ch_question q = {.keys = "h", .metrics = TB_METRIC_BIT(metric), .of = w, .first = tb__ch_hour(day * 24),
                               .end = tb__ch_hour(day * 24 + 24)};
    code = tb__ch_put_question(store, &q, err);
    if (!code) code = tb__ch_ask(store, tb__ch_shard(store, w.scope, w.owner), err);
    if (code) return code;
    tb__ch_reader r = tb__ch_reader_of(tb__ch_of(store));
    while (r.at < r.end && !r.cut) {
        const int64_t slot = (int64_t)tb__ch_column(&r, 4) - day * 24;
        const uint64_t value = tb__ch_column(&r, 8);
        if (slot >= 0 && slot < 24) out[slot] = value;
    }
    return tb__ch_check_read(&r, err);
}
