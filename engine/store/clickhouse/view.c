/* A view's columns and the bytes of its locations; one series; sums of many, one statement a shard. */
#include "store/clickhouse/private.h"
#include "store/usage/chunk.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define SUMMED_MAX 8192 /* owners of one statement: 20 bytes each at most */

/* --- one owner --- */

static tb_code fill_series(tb_store *store, uint32_t metrics, tb_series *series, tb_error *err)
{
    tb__ch_reader r = tb__ch_reader_of(tb__ch_of(store));
    while (r.at < r.end && !r.cut) {
        const int64_t at = (int64_t)tb__ch_column(&r, 4) - series->range.first;
        for (int m = 0; m < TB_METRIC_COUNT; m++) {
            if (!(metrics & TB_METRIC_BIT(m))) continue;
            const uint64_t value = tb__ch_column(&r, 8);
            if (at >= 0 && at < series->range.count && !r.cut) series->value[m][at] = value;
        }
    }
    return tb__ch_check_read(&r, err);
}

/* A series that is filled, and whose. */
typedef struct filling {
    tb_series *series;
    int64_t edge;
    uint32_t metrics;
} filling;

static tb_code fill_part(void *ctx, const tb__ch_part *p, tb_error *err)
{
    const filling *f = ctx;
    if (p->edge != f->edge) return TB_OK;
    return tb__chunk_columns(p->data, p->len, p->key, f->metrics, p->from, p->count, f->series->value, p->at, err);
}

static tb_code read_owner(tb_store *store, tb__ch_whose w, tb_series *series, tb_error *err)
{
    const tb_range range = series->range;
    const int64_t unit = range.hourly ? 1 : 24;
    uint32_t metrics = 0;
    for (int m = 0; m < TB_METRIC_COUNT; m++)
        if (series->value[m]) metrics |= TB_METRIC_BIT(m);
    if (!range.count || !metrics) return TB_OK;
    if (tb__ch_may_cache(store, range))
        return tb__ch_each_part(store, &(tb__ch_wanted){w, range, metrics}, fill_part,
                                &(filling){series, w.edge, metrics}, err);
    const tb__ch_question q = {range.hourly ? "h" : "toUInt32(intDiv(h,24))", metrics, w,
                               tb__ch_hour(range.first * unit),
                               tb__ch_hour((range.first + range.count) * unit), NULL, TB__CH_ONCE, false};
    tb_code code = tb__ch_settle(store, err);
    if (!code) code = tb__ch_put_question(store, &q, err);
    if (!code) code = tb__ch_ask(store, tb__ch_shard(store, w.scope, w.owner), err);
    return code ? code : fill_series(store, metrics, series, err);
}

tb_code tb__ch_view(tb_store *store, const tb__asked *asked, tb_series *series, tb_error *err)
{
    tb__ch_whose w = tb__ch_viewed(asked->view);
    if (!asked->whole || !store->n_located) return TB_OK;
    if (asked->whole == store->located[0].series) w.edge = store->located[0].edge;
    return read_owner(store, w, series, err);
}

tb_code tb__ch_series(tb_store *store, int64_t id, tb_series *series, tb_error *err)
{
    tb__ch_whose w;
    if (!id) return TB_OK;
    tb_code code = tb__ch_whose_is(store, id, &w, err);
    return code ? code : read_owner(store, w, series, err);
}

/* --- bytes of locations --- */

static tb__located *located_at(const tb_store *store, int64_t edge)
{
    for (size_t i = 0; i < store->n_located; i++)
        if (store->located[i].edge == edge) return &store->located[i];
    return NULL;
}

static tb_code add_location(void *ctx, const tb__ch_part *p, tb_error *err)
{
    uint64_t hours[TB_GRID_SLOTS] = {0}, *column[TB_METRIC_COUNT] = {NULL};
    tb__located *to = located_at(ctx, p->edge);
    if (!to) return TB_OK;
    column[TB_M_BYTES] = hours;
    tb_code code = tb__chunk_columns(p->data, p->len, p->key, TB_METRIC_BIT(TB_M_BYTES), p->from, p->count, column,
                                     0, err);
    for (unsigned i = 0; i < p->count; i++)
        to->bytes += hours[i];
    return code;
}

tb_code tb__ch_located_bytes(tb_store *store, const tb__asked *asked, tb_range range, tb_error *err)
{
    const int64_t unit = range.hourly ? 1 : 24;
    const tb__ch_question q = {"edge", TB_METRIC_BIT(TB_M_BYTES), tb__ch_viewed(asked->view),
                               tb__ch_hour(range.first * unit),
                               tb__ch_hour((range.first + range.count) * unit), NULL, TB__CH_ONCE, false};
    if (!store->n_located || !range.count) return TB_OK;
    if (tb__ch_may_cache(store, range))
        return tb__ch_each_part(store, &(tb__ch_wanted){q.of, range, q.metrics}, add_location, store, err);
    tb_code code = tb__ch_settle(store, err);
    if (!code) code = tb__ch_put_question(store, &q, err);
    if (!code) code = tb__ch_ask(store, tb__ch_shard(store, q.of.scope, q.of.owner), err);
    if (code) return code;
    tb__ch_reader r = tb__ch_reader_of(tb__ch_of(store));
    while (r.at < r.end && !r.cut) {
        tb__located *to = located_at(store, (int64_t)tb__ch_column(&r, 4));
        const uint64_t bytes = tb__ch_column(&r, 8);
        if (to) to->bytes = bytes;
    }
    return tb__ch_check_read(&r, err);
}

/* --- sums --- */

/* An entry of the list, and whose it is. */
typedef struct summed {
    tb__ch_whose of;
    tb_summed *to;
} summed;

typedef struct summing {
    tb_range range;
    uint32_t metrics;
} summing;

static int by_shard_and_owner(const void *a, const void *b, void *store)
{
    const tb__ch_whose *x = &((const summed *)a)->of, *y = &((const summed *)b)->of;
    const size_t i = tb__ch_shard(store, x->scope, x->owner), j = tb__ch_shard(store, y->scope, y->owner);
    if (i != j) return i < j ? -1 : 1;
    if (x->scope != y->scope) return x->scope < y->scope ? -1 : 1;
    if (x->owner != y->owner) return x->owner < y->owner ? -1 : 1;
    return x->edge < y->edge ? -1 : x->edge > y->edge;
}

/* Of one shard and scope: owners, once each. */
static tb_code ask_sums(tb_store *store, const summing *s, const summed *list, size_t n, tb_error *err)
{
    const int64_t unit = s->range.hourly ? 1 : 24, end = s->range.first + s->range.count;
    tb_buf where, *sql = tb__ch_start(store);
    tb_buf_init(&where, 1 << 20, NULL);
    tb_buf_fmt(&where, "scope=%d AND h>=%" PRId64 " AND h<%" PRId64 " AND owner IN(", list->of.scope,
               tb__ch_hour(s->range.first * unit), tb__ch_hour(end * unit));
    for (size_t i = 0; i < n; i++)
        if (!i || list[i].of.owner != list[i - 1].of.owner)
            tb_buf_fmt(&where, "%s%" PRId64, i ? "," : "", list[i].of.owner);
    tb_buf_add(&where, ")", 2);
    tb_code code = tb_buf_check(&where, err);
    tb_buf_str(sql, "SELECT owner,edge");
    tb__ch_put_sums(sql, s->metrics);
    tb_buf_str(sql, " FROM ");
    if (!code) code = tb__ch_put_rows(store, sql, "owner,edge", s->metrics, where.data, err);
    tb_buf_str(sql, " GROUP BY owner,edge FORMAT RowBinary");
    tb_buf_release(&where);
    return code ? code : tb__ch_ask(store, tb__ch_shard(store, list->of.scope, list->of.owner), err);
}

static const summed *first_of_owner(const summed *list, size_t n, int64_t owner)
{
    size_t low = 0;
    while (low < n) {
        const size_t middle = (low + n) / 2;
        if (list[middle].of.owner < owner) low = middle + 1;
        else n = middle;
    }
    return list + low;
}

/* A location's figures join those of their owner's entries that ask for it or for all. */
static tb_code take_sums(tb_store *store, const summing *s, const summed *list, size_t n, tb_error *err)
{
    tb__ch_reader r = tb__ch_reader_of(tb__ch_of(store));
    while (r.at < r.end && !r.cut) {
        uint64_t value[TB_METRIC_COUNT] = {0};
        const int64_t owner = (int64_t)tb__ch_column(&r, 8), edge = (int64_t)tb__ch_column(&r, 4);
        for (uint32_t left = s->metrics; left; left &= left - 1)
            value[__builtin_ctz(left)] = tb__ch_column(&r, 8);
        const summed *at = first_of_owner(list, n, owner);
        for (; at < list + n && at->of.owner == owner; at++)
            for (int m = 0; m < TB_METRIC_COUNT && (!at->of.edge || at->of.edge == edge); m++)
                if (tb_metric_table[m].how == TB_HOW_SUM) at->to->sum[m] += value[m];
                else if (value[m] > at->to->sum[m]) at->to->sum[m] = value[m];
    }
    return tb__ch_check_read(&r, err);
}

static tb_code sum_sorted(tb_store *store, const summing *s, const summed *list, size_t n, tb_error *err)
{
    tb_code code = TB_OK;
    for (size_t i = 0, some; !code && i < n; i += some) {
        const size_t shard = tb__ch_shard(store, list[i].of.scope, list[i].of.owner);
        for (some = 1; i + some < n && list[i + some].of.scope == list[i].of.scope &&
                       tb__ch_shard(store, list[i].of.scope, list[i + some].of.owner) == shard;)
            if (++some >= SUMMED_MAX && i + some < n && list[i + some].of.owner != list[i + some - 1].of.owner)
                break;
        code = ask_sums(store, s, list + i, some, err);
        if (!code) code = take_sums(store, s, list + i, some, err);
    }
    return code;
}

static bool is_within(const tb_summed *of, tb_range r)
{
    return of->series && of->created_us < (r.first + r.count) * (r.hourly ? TB_US_PER_HOUR : TB_US_PER_DAY);
}

tb_code tb__ch_sum(tb_store *store, tb_summed *list, size_t n, tb_range range, uint32_t metrics, tb_error *err)
{
    const summing s = {range, metrics & TB_METRIC_ALL};
    size_t asked = 0;
    for (size_t i = 0; i < n; i++)
        for (uint32_t left = s.metrics; left; left &= left - 1)
            list[i].sum[__builtin_ctz(left)] = 0;
    if (!range.count || !s.metrics || !n) return TB_OK;
    summed *of = malloc(n * sizeof *of);
    if (!of) return tb_no_memory(err);
    tb_code code = tb__ch_settle(store, err);
    for (size_t i = 0; !code && i < n; i++) {
        if (!is_within(&list[i], range)) continue;
        code = tb__ch_whose_is(store, list[i].series, &of[asked].of, err);
        of[asked++].to = &list[i];
    }
    if (!code) qsort_r(of, asked, sizeof *of, by_shard_and_owner, store);
    if (!code) code = sum_sorted(store, &s, of, asked, err);
    free(of);
    return code;
}
