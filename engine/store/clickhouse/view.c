/* A view's columns and the bytes of its locations; one series. */
#include "store/clickhouse/private.h"
#include "store/usage/chunk.h"
#include "store/usage/retain.h"
#include "tollbook/calendar.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* --- one owner --- */

tb_code tb__ch_fill_series(tb_store *store, uint32_t metrics, tb_series *series, tb_error *err)
{
    tb__ch_reader r = tb__ch_reader_of(tb__ch_of(store));
    while (r.at < r.end && !r.cut) {
        const int64_t at = (int64_t)tb__ch_column(&r, 4) - series->range.first;
        if (at < 0 || at >= series->range.count) return tb__ch_unexpected_row(err);
        for (uint32_t left = metrics; left; left &= left - 1) {
            const int m = __builtin_ctz(left);
            const uint64_t value = tb__ch_column(&r, 8);
            uint64_t *to = &series->value[m][at];
            if (tb_metric_table[m].how == TB_HOW_SUM) *to += value;
            else if (value > *to) *to = value;
        }
    }
    return tb__ch_check_read(&r, err);
}

/* The series to fill, and its owner. */
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

static tb_code read_owner(tb_store *store, tb__ch_owner w, tb_series *series, tb_error *err)
{
    const tb_range range = series->range;
    const int64_t unit = range.hourly ? 1 : 24;
    uint32_t metrics = 0;
    for (int m = 0; m < TB_METRIC_COUNT; m++)
        if (series->value[m]) metrics |= TB_METRIC_BIT(m);
    if (!range.count || !metrics) return TB_OK;
    if (tb__ch_may_cache(store, range))
        return tb__ch_each_part(store, &(tb__ch_wanted){&w, 1, range, metrics}, fill_part,
                                &(filling){series, w.edge, metrics}, err);
    tb__ch_select q = {.keys = range.hourly ? "h" : "toUInt32(intDiv(h,24))", .metrics = metrics, .of = w,
                         .first = tb__ch_hour(range.first * unit),
                         .end = tb__ch_hour((range.first + range.count) * unit),
                         .days = range.hourly ? (tb__ch_hours_of){0, 0} : TB__CH_EVER};
    q.brief = tb__ch_is_brief(&q, (size_t)range.count);
    tb_code code = tb__ch_settle(store, err);
    if (!code) code = tb__ch_put_select(store, &q, err);
    if (!code) code = tb__ch_query(store, tb__ch_shard(store, w.scope, w.owner), err);
    return code ? code : tb__ch_fill_series(store, metrics, series, err);
}

tb_code tb__ch_view(tb_store *store, const tb__asked *asked, tb_series *series, tb_error *err)
{
    tb__ch_owner w = tb__ch_viewed(asked->view);
    if (!asked->whole || !store->n_located) return TB_OK;
    if (asked->whole == store->located[0].series) w.edge = store->located[0].edge;
    return read_owner(store, w, series, err);
}

tb_code tb__ch_series(tb_store *store, int64_t id, tb_series *series, tb_error *err)
{
    tb__ch_owner w;
    if (!id) return TB_OK;
    tb_code code = tb__ch_series_owner(store, id, &w, err);
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

/* Whether hours of the range may have expired: their days may be left. */
static tb_code is_expired(tb_store *store, const tb__ch_owner *of, tb_range range, bool *ret, tb_error *err)
{
    tb_kept kept;
    tb_code code = tb__kept_of(store, of->scope, of->owner, &kept, err);
    *ret = !code && range.hourly && tb_month_from_day(tb__floor_div(range.first, 24)) < kept.hours;
    return code;
}

tb_code tb__ch_located_bytes(tb_store *store, const tb__asked *asked, tb_range range, tb_error *err)
{
    const int64_t unit = range.hourly ? 1 : 24;
    const tb__ch_select q = {.keys = "edge", .metrics = TB_METRIC_BIT(TB_M_BYTES), .of = tb__ch_viewed(asked->view),
                               .first = tb__ch_hour(range.first * unit),
                               .end = tb__ch_hour((range.first + range.count) * unit),
                               .days = tb__ch_whole_days(range)};
    const tb__ch_wanted wanted = {&q.of, 1, range, q.metrics};
    bool days_alone = false;
    if (!store->n_located || !range.count) return TB_OK;
    if (tb__ch_may_cache(store, range)) {
        tb_code code = is_expired(store, &q.of, range, &days_alone, err);
        if (code || !days_alone) return code ? code : tb__ch_each_part(store, &wanted, add_location, store, err);
    }
    tb_code code = tb__ch_settle(store, err);
    if (!code) code = tb__ch_put_select(store, &q, err);
    if (!code) code = tb__ch_query(store, tb__ch_shard(store, q.of.scope, q.of.owner), err);
    if (code) return code;
    tb__ch_reader r = tb__ch_reader_of(tb__ch_of(store));
    while (r.at < r.end && !r.cut) {
        tb__located *to = located_at(store, (int64_t)tb__ch_column(&r, 4));
        const uint64_t bytes = tb__ch_column(&r, 8);
        if (to) to->bytes = bytes;
    }
    return tb__ch_check_read(&r, err);
}
