/* The days of a month and the hours of a day, for one series. Bills read a month of one location after the other, of one account
 * after the other: so one statement reads all locations of an owner, and from the second owner on of a block of owners. Days
 * on which a price changed or at which a bill ends, and late usage in a verification, are read by the hour, one location and one
 * counter after the other: so one statement reads all hours of the owner's month. If few of its days were asked for, the next
 * one reads these days of a block of owners. */
#include "store/clickhouse/private.h"
#include "store/usage/chunk.h"
#include "tollbook/calendar.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK    256 /* owners. With ten locations each they take 10 MiB */
#define FEW_DAYS 3   /* by the hour, of a block */

static const tb_metric bill_metrics[] = {TB_M_REQUESTS, TB_M_BYTES, TB_M_BALANCER_REQUESTS};
static const tb_metric meter_metrics[TB__CH_MONTH_METRICS] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};

/* Ascending. */
static const tb_metric *month_metrics(int scope, int *ret_n)
{
    *ret_n = scope == TB__SCOPE_METER ? TB__CH_MONTH_METRICS : (int)(sizeof bill_metrics / sizeof *bill_metrics);
    return scope == TB__SCOPE_METER ? meter_metrics : bill_metrics;
}

static bool is_of(const tb__ch_month *d, int64_t month, int64_t watermark)
{
    return d->month == month && d->watermark == watermark;
}

static bool holds(const tb__ch_month *d, int64_t owner)
{
    return bsearch(&owner, d->owners, d->n_owners, sizeof owner, tb__by_int64) != NULL;
}

static tb_code ask_month(tb_store *store, size_t shard, const tb__ch_month *d, tb_error *err)
{
    tb_buf where, *sql = tb__ch_start(store);
    uint32_t metrics = 0;
    int n = 0;
    const tb_metric *list = month_metrics(d->scope, &n);
    for (int i = 0; i < n; i++)
        metrics |= TB_METRIC_BIT(list[i]);
    const int64_t first = tb_month_first_day(d->month);
    tb_buf_init(&where, 1 << 16, NULL);
    tb_buf_str(&where, tb__ch_scopes(d->scope, d->unit > 1));
    for (size_t i = 0; i < d->n_owners; i++)
        tb_buf_fmt(&where, "%s%" PRId64, i ? "," : " AND owner IN(", d->owners[i]);
    tb_buf_str(&where, ")");
    for (uint32_t left = d->held == UINT32_MAX ? 0 : d->held; left; left &= left - 1)
        tb_buf_fmt(&where, "%s%" PRId64, left == d->held ? " AND intDiv(h,24) IN(" : ",", first + __builtin_ctz(left));
    tb_buf_add(&where, d->held == UINT32_MAX ? "" : ")", d->held == UINT32_MAX ? 1 : 2);
    tb_code code = tb_buf_check(&where, err);
    const tb__ch_hours_of hours = tb__ch_month_hours(d->month);
    const tb__ch_rows rows = {.columns = "owner,edge,h", .metrics = metrics, .where = where.data, .first = hours.first,
                              .end = hours.end};
    tb_buf_fmt(sql, "SELECT owner,edge,toUInt32(intDiv(h,%" PRId64 ")) AS t", d->unit);
    tb__ch_put_sums(sql, metrics);
    tb_buf_str(sql, " FROM ");
    if (!code) code = tb__ch_put_rows(store, sql, &rows, err);
    tb_buf_str(sql, " GROUP BY owner,edge,t FORMAT RowBinary");
    tb_buf_release(&where);
    return code ? code : tb__ch_query(store, shard, err);
}

static tb_code take_month(tb_store *store, tb__ch_month *d, size_t *cap, tb_error *err)
{
    tb__ch_reader r = tb__ch_reader_of(tb__ch_of(store));
    tb_code code = TB_OK;
    int n = 0;
    (void)month_metrics(d->scope, &n);
    while (!code && r.at < r.end && !r.cut) {
        code = tb__grow(&d->list, d->n, cap, sizeof *d->list, err);
        if (code) break;
        struct tb__ch_month_time *to = &d->list[d->n++];
        to->owner = (int64_t)tb__ch_column(&r, 8);
        to->edge = (int64_t)tb__ch_column(&r, 4);
        to->at = (unsigned)((int64_t)tb__ch_column(&r, 4) - tb_month_first_day(d->month) * 24 / d->unit);
        for (int i = 0; i < n; i++) /* in the order of the statement */
            to->value[i] = tb__ch_column(&r, 8);
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

static void forget(tb__ch_month *d)
{
    free(d->owners);
    free(d->list);
    *d = (tb__ch_month){.month = -1};
}

void tb__ch_forget_months(struct tb__clickhouse *ch)
{
    for (int scope = 0; scope < TB__CH_SCOPES; scope++) {
        forget(&ch->month[scope]);
        for (int i = 0; i < TB__CH_HOURS; i++)
            forget(&ch->hours[scope][i]);
    }
}

/* The owner; with `block` those that follow it too. One that the catalogue lacks is alone. */
static tb_code list_block(tb_store *store, tb__ch_month *d, int64_t owner, bool block, tb_error *err)
{
    static const tb__statement next[] = {TB__SQL_USAGE_NEXT_ZONES, TB__SQL_USAGE_NEXT_ACCOUNTS, TB__SQL_USAGE_NEXT_BALANCERS,
                                         TB__SQL_USAGE_NEXT_METERS};
    const int64_t values[2] = {owner, BLOCK};
    tb_code code = block ? tb__list_ints(store, next[d->scope - 1], values, 2, &d->owners, &d->n_owners, err) : TB_OK;
    if (code || d->n_owners) return code;
    free(d->owners);
    d->owners = malloc(sizeof *d->owners);
    if (!d->owners) return tb_no_memory(err);
    d->owners[0] = owner;
    d->n_owners = 1;
    return TB_OK;
}

/* Replaces the stored month. */
static tb_code load(tb_store *store, tb__ch_month *d, const tb__ch_month *wanted, int64_t owner, bool block, tb_error *err)
{
    size_t cap = 0, shard = 0, end = tb__ch_of(store)->client->shards;
    forget(d);
    *d = *wanted;
    tb_code code = list_block(store, d, owner, block, err);
    if (!code && d->n_owners == 1) {
        shard = tb__ch_shard(store, d->scope, owner);
        end = shard + 1;
    }
    for (; !code && shard < end; shard++) {
        code = ask_month(store, shard, d, err);
        if (!code) code = take_month(store, d, &cap, err);
    }
    if (d->n) qsort(d->list, d->n, sizeof *d->list, by_place);
    if (code) forget(d);
    return code;
}

static tb_code load_month(tb_store *store, const tb__ch_owner *w, int64_t month, tb_error *err)
{
    tb__ch_month *d = &tb__ch_of(store)->month[w->scope - 1];
    int64_t watermark = 0;
    tb_code code = tb__ch_settle(store, err);
    if (!code) code = tb__ch_watermark(store, &watermark, err);
    if (code) return code;
    const bool next = is_of(d, month, watermark);
    if (next && holds(d, w->owner)) return TB_OK;
    const tb__ch_month wanted = {.scope = w->scope, .month = month, .watermark = watermark, .unit = 24, .held = UINT32_MAX};
    return load(store, d, &wanted, w->owner, next, err);
}

static tb_code load_hours(tb_store *store, const tb__ch_owner *w, int64_t day, tb__ch_month **ret, tb_error *err)
{
    const int64_t month = tb_month_from_day(day);
    const uint32_t bit = UINT32_C(1) << (day - tb_month_first_day(month));
    tb__ch_month *d = *ret = &tb__ch_of(store)->hours[w->scope - 1][month % TB__CH_HOURS];
    int64_t watermark = 0;
    tb_code code = tb__ch_settle(store, err);
    if (!code) code = tb__ch_watermark(store, &watermark, err);
    if (code) return code;
    const bool next = is_of(d, month, watermark);
    d->asked |= bit;
    if (next && holds(d, w->owner) && d->held & bit) return TB_OK;
    const bool few = next && __builtin_popcount(d->asked) <= FEW_DAYS;
    const tb__ch_month wanted = {.scope = w->scope, .month = month, .watermark = watermark, .unit = 1,
                                 .held = few ? d->asked : UINT32_MAX, .asked = bit};
    return load(store, d, &wanted, w->owner, few, err);
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
    const bool all = !w->edge && !tb__is_whole(w->scope);
    for (size_t i = month_place(d, w); i < d->n && d->list[i].owner == w->owner; i++) {
        if (!all && d->list[i].edge != w->edge) break;
        if (d->list[i].at - from < n) out[d->list[i].at - from] += d->list[i].value[which];
    }
}

static tb_code which_metric(int scope, tb_metric metric, int *ret, tb_error *err)
{
    int n = 0;
    const tb_metric *list = month_metrics(scope, &n);
    *ret = 0;
    while (*ret < n && list[*ret] != metric)
        ++*ret;
    if (*ret < n) return TB_OK;
    return tb_fail(err, TB_E_INTERNAL, NULL, "A month's days have no %s.", tb_metric_table[metric].name);
}

tb_code tb__ch_days(tb_store *store, int64_t series, tb_metric metric, int64_t month, uint64_t out[32],
                    tb_error *err)
{
    tb__ch_owner w = {0, 0, 0};
    int which = 0;
    memset(out, 0, 32 * sizeof *out);
    if (!series || month < 0 || month > TB__INDEX_MAX) return TB_OK;
    tb_code code = tb__ch_series_owner(store, series, &w, err);
    if (!code) code = which_metric(w.scope, metric, &which, err);
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
    tb_code code = tb__ch_series_owner(store, series, &w, err);
    if (!code) code = which_metric(w.scope, metric, &which, err);
    if (!code) code = load_hours(store, &w, day, &d, err);
    if (!code) add_times(d, &w, which, (unsigned)(day - tb_month_first_day(month)) * 24, 24, out);
    return code;
}
