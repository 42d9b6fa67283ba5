/* Meters at the month's end, without spread: what has come goes on as it did. What is to come is priced by the book in
 * force at the month's end. */
#include "ops/prices/forecast.h"

#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "tollbook/meterstore.h"

#define DAYS 28

typedef struct coming {
    tb_store *store;
    const tb_forecast_question *q;
    tb__metered *made;
    size_t cap_usage;
    int64_t end_us; /* of the month */
    uint32_t part;  /* the last one: all that is to come is in it */
    tb_error *err;
} coming;

static int compare_usage(const tb_bill_usage *a, const tb_bill_usage *b)
{
    if (a->meter != b->meter) return a->meter < b->meter ? -1 : 1;
    int order = strcmp(a->resource, b->resource);
    for (int k = 0; !order && k < TB_METER_DIMENSIONS; k++)
        order = strcmp(a->dimension[k], b->dimension[k]);
    if (order || a->part == b->part) return order;
    return a->part < b->part ? -1 : 1;
}

static int by_series(const void *a, const void *b)
{
    return compare_usage(a, b);
}

/* Days until now since the meter's first usage, of at most 28. */
static tb_code count_days(const coming *c, tb_meter_query query, int64_t *ret)
{
    tb_meter_window *days = NULL;
    size_t n = 0;
    query.window = TB_WINDOW_DAY;
    query.by_resource = query.by_dimension[0] = query.by_dimension[1] = false;
    tb_code code = tb_store_meter_windows(c->store, &query, &days, &n, c->err);
    *ret = n ? (query.to_us - days[0].start_us) / TB_US_PER_DAY : 1;
    free(days);
    return code;
}

/* What tells how usage goes on, a window of each series: of a gauge the last hour, of a counter up to 28 whole days.
 * *ret_known_s: seconds in which it was used. */
static tb_code read_windows(coming *c, uint32_t meter, size_t *ret_n, int64_t *ret_known_s)
{
    const bool gauge = c->made->meters[meter].kind == TB_METER_GAUGE;
    const int64_t day_us = tb_day_from_us(c->q->from_us) * TB_US_PER_DAY;
    const tb_meter_query query = {.meter = &c->made->meters[meter],
                                  .account = c->q->account,
                                  .resource = "",
                                  .from_us = gauge ? c->q->from_us - TB_US_PER_HOUR : day_us - DAYS * TB_US_PER_DAY,
                                  .to_us = gauge ? c->q->from_us : day_us,
                                  .window = gauge ? TB_WINDOW_HOUR : TB_WINDOW_WHOLE,
                                  .unbounded = true,
                                  .now_us = c->q->at_us,
                                  .by_resource = true,
                                  .by_dimension = {true, true}};
    int64_t days = 0;
    tb_code code = gauge ? TB_OK : count_days(c, query, &days);
    *ret_known_s = gauge ? 3600 : days * 86400;
    return code ? code : tb_store_meter_windows(c->store, &query, &c->made->windows[meter], ret_n, c->err);
}

static tb_code append(coming *c, const tb_bill_usage *usage)
{
    tb__metered *made = c->made;
    tb_code code = tb__grow(&made->usage, made->n_usage, &c->cap_usage, sizeof *made->usage, c->err);
    if (!code) made->usage[made->n_usage++] = *usage;
    return code;
}

static tb_code add_coming(coming *c, uint32_t meter)
{
    const int64_t begin_us = tb_month_start_us(c->q->month);
    const int64_t left_us = c->end_us - (c->q->from_us > begin_us ? c->q->from_us : begin_us);
    size_t n = 0;
    int64_t known_s = 0;
    tb_code code = read_windows(c, meter, &n, &known_s);
    for (size_t i = 0; !code && i < n; i++) {
        const tb_meter_window *w = &c->made->windows[meter][i];
        tb_decimal quantity;
        code = tb_decimal_divide(tb_decimal_from_int(w->value), left_us / TB_US_PER_S, known_s, 0, TB_HALF_UP, &quantity,
                                 c->err);
        if (!code)
            code = append(c, &(tb_bill_usage){.meter = meter, .part = c->part, .resource = w->resource,
                                              .dimension = {w->dimension[0], w->dimension[1]},
                                              .quantity = quantity.mantissa});
    }
    return code;
}

/* Those that are declared and those that the month has, ascending by id. */
static tb_code list_meters(coming *c, const tb_bill_input *month)
{
    tb_meter *declared = NULL;
    size_t n = 0, at = 0;
    tb_code code = tb_store_meters(c->store, &declared, &n, c->err);
    if (code) return code;
    c->made->meters = calloc(n + month->n_meters + 1, sizeof *c->made->meters);
    c->made->windows = calloc(n + month->n_meters + 1, sizeof *c->made->windows);
    for (size_t i = 0; c->made->meters && (i < month->n_meters || at < n);) {
        const int order = i == month->n_meters ? 1 : at == n ? -1 : strcmp(month->meters[i].id, declared[at].id);
        const bool unbilled = order > 0 && strcmp(declared[at].id, TB_METER_BANDWIDTH) == 0;
        if (!unbilled) c->made->meters[c->made->n_meters++] = order > 0 ? declared[at] : month->meters[i];
        i += order <= 0;
        at += order >= 0;
    }
    free(declared);
    return c->made->meters && c->made->windows ? TB_OK : tb_no_memory(c->err);
}

static uint32_t find(const coming *c, const char *id)
{
    uint32_t at = 0;
    while (strcmp(c->made->meters[at].id, id) != 0)
        at++;
    return at;
}

/* Entries of one series and part become one. */
static void add_up(tb__metered *made)
{
    size_t n = 0;
    if (made->n_usage) qsort(made->usage, made->n_usage, sizeof *made->usage, by_series);
    for (size_t i = 0; i < made->n_usage; i++) {
        if (n && compare_usage(&made->usage[n - 1], &made->usage[i]) == 0) made->usage[n - 1].quantity += made->usage[i].quantity;
        else made->usage[n++] = made->usage[i];
    }
    made->n_usage = n;
}

static size_t intervals_so_far(const tb_forecast_question *q, const tb_bill_samples *s)
{
    const int64_t seconds = (q->from_us - tb_month_start_us(q->month)) / TB_US_PER_S;
    const size_t n = seconds > 0 ? (size_t)(seconds / s->interval) : 0;
    return n < s->n ? n : s->n;
}

/* Samples of a month that has not begun are left out. */
static tb_code cut_samples(coming *c, tb_bill_input *month)
{
    c->made->samples = calloc(month->n_samples + 1, sizeof *c->made->samples);
    if (!c->made->samples) return tb_no_memory(c->err);
    size_t n = 0;
    for (size_t i = 0; i < month->n_samples; i++) {
        tb_bill_samples *s = &c->made->samples[n];
        *s = month->samples[i];
        s->meter = find(c, month->meters[s->meter].id);
        s->n = intervals_so_far(c->q, s);
        n += s->n > 0;
    }
    month->samples = c->made->samples;
    month->n_samples = n;
    if (month->percentile) month->bandwidth.n = intervals_so_far(c->q, &month->bandwidth);
    return TB_OK;
}

tb_code tb__forecast_meters(tb_store *store, const tb_forecast_question *q, tb_bill_input *month, tb__metered *ret,
                            tb_error *err)
{
    *ret = (tb__metered){.meters = NULL};
    coming c = {.store = store, .q = q, .made = ret, .end_us = tb_month_start_us(q->month + 1),
                .part = (uint32_t)(month->n_parts - 1), .err = err};
    tb_code code = list_meters(&c, month);
    for (size_t i = 0; !code && i < month->n_usage; i++) {
        tb_bill_usage usage = month->usage[i];
        usage.meter = find(&c, month->meters[usage.meter].id);
        code = append(&c, &usage);
    }
    for (uint32_t i = 0; !code && i < ret->n_meters; i++)
        if (ret->meters[i].kind != TB_METER_SAMPLE) code = add_coming(&c, i);
    if (!code) code = cut_samples(&c, month);
    if (code) {
        tb__metered_release(ret);
        return code;
    }
    add_up(ret);
    month->meters = ret->meters;
    month->n_meters = ret->n_meters;
    month->usage = ret->usage;
    month->n_usage = ret->n_usage;
    return TB_OK;
}

void tb__metered_release(tb__metered *metered)
{
    for (size_t i = 0; metered->windows && i < metered->n_meters; i++)
        free(metered->windows[i]);
    free(metered->windows);
    free(metered->meters);
    free(metered->usage);
    free(metered->samples);
    *metered = (tb__metered){.meters = NULL};
}
