/* One series: a month's days, which bills ask for by location and are asked for once, and a day's hours. */
#include "store/clickhouse/private.h"
#include "store/usage/chunk.h"
#include "tollbook/calendar.h"

#include <stdlib.h>
#include <string.h>

static const tb_metric month_metrics[TB__CH_MONTH_METRICS] = {TB_M_BYTES, TB_M_REQUESTS,
                                                              TB_M_BALANCER_REQUESTS};

static tb_code load_month(tb_store *store, const tb__ch_whose *w, int64_t month, tb_error *err)
{
    struct tb__clickhouse *ch = tb__ch_of(store);
    tb__ch_month *d = &ch->month;
    const int64_t first = tb_month_first_day(month), end = tb_month_first_day(month + 1);
    const tb__ch_question q = {"edge,toUInt32(intDiv(h,24))",
                               TB_METRIC_BIT(TB_M_BYTES) | TB_METRIC_BIT(TB_M_REQUESTS) |
                                   TB_METRIC_BIT(TB_M_BALANCER_REQUESTS),
                               {w->scope, w->owner, 0}, tb__ch_hour(first * 24), tb__ch_hour(end * 24), NULL};
    size_t cap = 0;
    tb_code code = tb__ch_settle(store, err);
    int64_t watermark = 0;
    if (!code) code = tb__ch_watermark(store, &watermark, err);
    if (code) return code;
    if (d->list && d->scope == w->scope && d->owner == w->owner && d->month == month &&
        d->watermark == watermark && !ch->began)
        return TB_OK;
    d->n = 0;
    free(d->list);
    d->list = NULL;
    code = tb__ch_put_question(store, &q, err);
    if (!code) code = tb__ch_ask(store, tb__ch_shard(store, w->scope, w->owner), err);
    tb__ch_reader r = tb__ch_reader_of(ch);
    while (!code && r.at < r.end && !r.cut) {
        code = tb__grow(&d->list, d->n, &cap, sizeof *d->list, err);
        if (code) break;
        struct tb__ch_month_day *to = &d->list[d->n++];
        to->edge = (int64_t)tb__ch_column(&r, 4);
        to->day = (unsigned)((int64_t)tb__ch_column(&r, 4) - first);
        uint64_t value[TB_METRIC_COUNT] = {0};
        for (int m = 0; m < TB_METRIC_COUNT; m++)
            if (q.metrics & TB_METRIC_BIT(m)) value[m] = tb__ch_column(&r, 8);
        for (int i = 0; i < TB__CH_MONTH_METRICS; i++)
            to->value[i] = value[month_metrics[i]];
    }
    if (!code) code = tb__ch_check_read(&r, err);
    if (!code && !d->list) code = tb__grow(&d->list, 0, &cap, sizeof *d->list, err);
    d->scope = w->scope;
    d->owner = w->owner;
    d->month = code ? -1 : month;
    d->watermark = watermark;
    return code;
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
    const tb__ch_month *d = &tb__ch_of(store)->month;
    for (size_t i = 0; !code && i < d->n; i++)
        if (d->list[i].edge == w.edge && d->list[i].day < 32) out[d->list[i].day] = d->list[i].value[which];
    return code;
}

tb_code tb__ch_hours(tb_store *store, int64_t series, tb_metric metric, int64_t day, uint64_t out[32],
                     tb_error *err)
{
    tb__ch_whose w = {0, 0, 0};
    memset(out, 0, 32 * sizeof *out);
    tb_code code = tb__ch_settle(store, err);
    if (!code) code = tb__ch_whose_is(store, series, &w, err);
    if (code) return code;
    const tb__ch_question q = {"h", TB_METRIC_BIT(metric), w, tb__ch_hour(day * 24), tb__ch_hour(day * 24 + 24), NULL};
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
