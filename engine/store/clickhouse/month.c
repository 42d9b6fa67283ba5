/* The days of a month and the hours of a day, for one series. Bills read a month of one location after the other, of one account
 * after the other: so one statement reads all locations of an owner, and from the second owner on of a block of owners on a shard. Days
 * on which a price changed, and late usage in a verification, are read by the hour, one location and one counter after the other: so
 * one statement reads all hours of the owner's month. */
#include "store/clickhouse/private.h"
#include "store/usage/chunk.h"
#include "tollbook/calendar.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK 256 /* owners. With ten locations each they take 5 MiB */

static const tb_metric month_metrics[TB__CH_MONTH_METRICS] = {TB_M_BYTES, TB_M_REQUESTS,
                                                              TB_M_BALANCER_REQUESTS};

static bool holds(const tb__ch_month *d, const tb__ch_owner *w, int64_t month, int64_t watermark)
{
    return d->month == month && d->scope == w->scope && d->watermark == watermark && d->first <= w->owner && w->owner <= d->last;
}

static tb_code ask_month(tb_store *store, size_t shard, const tb__ch_month *d, tb_error *err)
{
    tb_buf *sql = tb__ch_start(store);
    uint32_t metrics = 0;
    char where[200];
    for (int i = 0; i < TB__CH_MONTH_METRICS; i++)
        metrics |= TB_METRIC_BIT(month_metrics[i]);
    const tb__ch_hours_of hours = tb__ch_month_hours(d->month);
    const tb__ch_rows rows = {.columns = "owner,edge,h", .metrics = metrics, .where = where, .first = hours.first,
                              .end = hours.end};
    sqlite3_snprintf(sizeof where, where, "%s AND owner>=%lld AND owner<=%lld", tb__ch_scopes(d->scope, d->unit > 1),
                     (long long)d->first, (long long)d->last);
    tb_buf_fmt(sql, "SELECT owner,edge,toUInt32(intDiv(h,%" PRId64 ")) AS t", d->unit);
    tb__ch_put_sums(sql, metrics);
    tb_buf_str(sql, " FROM ");
    tb_code code = tb__ch_put_rows(store, sql, &rows, err);
    tb_buf_str(sql, " GROUP BY owner,edge,t FORMAT RowBinary");
    return code ? code : tb__ch_query(store, shard, err);
}

static tb_code take_month(tb_store *store, tb__ch_month *d, size_t *cap, tb_error *err)
{
    tb__ch_reader r = tb__ch_reader_of(tb__ch_of(store));
    tb_code code = TB_OK;
    while (!code && r.at < r.end && !r.cut) {
        uint64_t value[TB_METRIC_COUNT] = {0};
        code = tb__grow(&d->list, d->n, cap, sizeof *d->list, err);
        if (code) break;
        struct tb__ch_month_time *to = &d->list[d->n++];
        to->owner = (int64_t)tb__ch_column(&r, 8);
        to->edge = (int64_t)tb__ch_column(&r, 4);
        to->at = (unsigned)((int64_t)tb__ch_column(&r, 4) - tb_month_first_day(d->month) * 24 / d->unit);
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
    const struct tb__ch_month_time *x = a, *y = b;
    if (x->owner != y->owner) return x->owner < y->owner ? -1 : 1;
    if (x->edge != y->edge) return x->edge < y->edge ? -1 : 1;
    return x->at < y->at ? -1 : x->at > y->at;
}

static tb_code read_block(tb_store *store, tb__ch_month *d, tb_error *err)
{
    const bool one = d->first == d->last;
    const size_t shards = tb__ch_of(store)->client->shards;
    size_t cap = 0, shard = one ? tb__ch_shard(store, d->scope, d->first) : 0;
    tb_code code = TB_OK;
    do {
        code = ask_month(store, shard, d, err);
        if (!code) code = take_month(store, d, &cap, err);
    } while (!code && !one && ++shard < shards);
    if (d->n) qsort(d->list, d->n, sizeof *d->list, by_place);
    if (code) d->month = -1;
    return code;
}

/* Replaces the stored month. */
static tb_code load_into(tb_store *store, tb__ch_month *d, const tb__ch_month *wanted, tb_error *err)
{
    free(d->list);
    *d = *wanted;
    return read_block(store, d, err);
}

static tb_code load_month(tb_store *store, const tb__ch_owner *w, int64_t month, tb_error *err)
{
    tb__ch_month *d = &tb__ch_of(store)->month[w->scope - 1];
    int64_t watermark = 0, last = w->owner;
    tb_code code = tb__ch_settle(store, err);
    if (!code) code = tb__ch_watermark(store, &watermark, err);
    if (code || holds(d, w, month, watermark)) return code;
    if (d->month == month && d->watermark == watermark)
        code = tb__int_of(store, TB__SQL_SERIES_OWNERS_END, (int64_t[]){w->scope, w->owner, BLOCK}, 3, last, &last,
                          err);
    if (code) return code;
    const tb__ch_month wanted = {.scope = w->scope, .first = w->owner, .last = last, .month = month, .watermark = watermark,
                                 .unit = 24};
    return load_into(store, d, &wanted, err);
}

static tb_code load_hours(tb_store *store, const tb__ch_owner *w, int64_t month, tb__ch_month **ret, tb_error *err)
{
    tb__ch_month *d = *ret = &tb__ch_of(store)->hours[month % TB__CH_HOURS];
    int64_t watermark = 0;
    tb_code code = tb__ch_settle(store, err);
    if (!code) code = tb__ch_watermark(store, &watermark, err);
    if (code || holds(d, w, month, watermark)) return code;
    const tb__ch_month wanted = {.scope = w->scope, .first = w->owner, .last = w->owner, .month = month, .watermark = watermark,
                                 .unit = 1};
    return load_into(store, d, &wanted, err);
}

static size_t month_place(const tb__ch_month *d, const tb__ch_owner *w)
{
    const struct tb__ch_month_time key = {.owner = w->owner, .edge = w->edge};
    size_t low = 0, high = d->n;
    while (low < high) {
        const size_t middle = (low + high) / 2;
        if (by_place(&d->list[middle], &key) < 0) low = middle + 1;
        else high = middle;
    }
    return low;
}

/* For one location, or for all of them: `n` times, from `from` on. */
static void add_times(const tb__ch_month *d, const tb__ch_owner *w, int which, unsigned from, unsigned n, uint64_t out[32])
{
    const bool all = !w->edge && w->scope != TB__SCOPE_BALANCER;
    for (size_t i = month_place(d, w); i < d->n && d->list[i].owner == w->owner; i++) {
        if (!all && d->list[i].edge != w->edge) break;
        if (d->list[i].at - from < n) out[d->list[i].at - from] += d->list[i].value[which];
    }
}

static tb_code which_metric(tb_metric metric, int *ret, tb_error *err)
{
    *ret = 0;
    while (*ret < TB__CH_MONTH_METRICS && month_metrics[*ret] != metric)
        ++*ret;
    if (*ret < TB__CH_MONTH_METRICS) return TB_OK;
    return tb_fail(err, TB_E_INTERNAL, NULL, "A month's days have no %s.", tb_metric_table[metric].name);
}

tb_code tb__ch_days(tb_store *store, int64_t series, tb_metric metric, int64_t month, uint64_t out[32],
                    tb_error *err)
{
    tb__ch_owner w = {0, 0, 0};
    int which = 0;
    memset(out, 0, 32 * sizeof *out);
    if (!series || month < 0 || month > TB__INDEX_MAX) return TB_OK;
    tb_code code = which_metric(metric, &which, err);
    if (!code) code = tb__ch_series_owner(store, series, &w, err);
    if (!code) code = load_month(store, &w, month, err);
    if (!code) add_times(&tb__ch_of(store)->month[w.scope - 1], &w, which, 0, 32, out);
    return code;
}

tb_code tb__ch_hours(tb_store *store, int64_t series, tb_metric metric, int64_t day, uint64_t out[32],
                     tb_error *err)
{
    const int64_t month = tb_month_from_day(day);
    tb__ch_owner w = {0, 0, 0};
    tb__ch_month *d = NULL;
    int which = 0;
    memset(out, 0, 32 * sizeof *out);
    if (month < 0 || month > TB__INDEX_MAX) return TB_OK;
    tb_code code = which_metric(metric, &which, err);
    if (!code) code = tb__ch_series_owner(store, series, &w, err);
    if (!code) code = load_hours(store, &w, month, &d, err);
    if (!code) add_times(d, &w, which, (unsigned)(day - tb_month_first_day(month)) * 24, 24, out);
    return code;
}
