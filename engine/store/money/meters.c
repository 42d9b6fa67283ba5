/* Meters in the input of a bill: an account's usage of each, by part of the month, as it was known at a version.
 *
 * A counter's usage is read as bytes are: days, hours where a part cuts a day, less what came late. A gauge's values say
 * themselves which version brought them and which withdrew them. Intervals of samples are read for the whole month. */
#include "store/money/billing.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* --- declarations --- */

static tb_code add_declared(tb__billing *b, sqlite3_stmt *s, tb_error *err)
{
    tb_code code = TB__GROW(b, meters, err);
    if (code) return code;
    tb__meter_version *d = &b->meters[b->n_meters];
    tb_error why = {0};
    const char *document = (const char *)sqlite3_column_text(s, 2);
    if (!document) return tb_no_memory(err);
    code = tb_meter_parse(document, (size_t)sqlite3_column_bytes(s, 2), &d->meter, &why);
    if (code == TB_E_NOMEM) return tb_no_memory(err);
    d->meter.number = sqlite3_column_int64(s, 0);
    d->from_us = sqlite3_column_int64(s, 1);
    b->n_meters += !code;
    if (!code) return TB_OK;
    return tb_fail(err, TB_E_DECLARED, "meter", "The declaration of meter %" PRId64 " cannot be read: %s: %.200s",
                   d->meter.number, why.field, why.message);
}

/* All declarations of meters that are known, ascending by id and moment. They are kept while the file stays the same. */
static tb_code load_declared(tb_store *store, tb_error *err)
{
    tb__billing *b = store->billing;
    sqlite3_stmt *s;
    bool row = true;
    if (b->meters_version == b->file_version && b->meters_known == b->known && !store->billing_stale) return TB_OK;
    b->n_meters = 0;
    tb_code code = tb__sql_ints(store, TB__SQL_METERS_DECLARED, &b->known, 1, &s, err);
    while (!code && !(code = tb__step(store, s, &row, err)) && row) {
        code = add_declared(b, s, err);
        if (code) sqlite3_reset(s);
    }
    b->meters_version = code || store->billing_stale ? -1 : b->file_version;
    b->meters_known = b->known;
    return code;
}

/* The declaration at the month's end of the meter that begins at *at, which goes on to the next meter. */
static const tb_meter *next_meter(const tb__billing *b, int64_t month, size_t *at)
{
    const int64_t end = tb_month_start_us(month + 1) / TB_US_PER_HOUR - 1;
    const tb__meter_version *list = b->meters + *at, *found = list;
    size_t i = 0;
    for (; *at + i < b->n_meters && list[i].meter.number == list->meter.number; i++)
        if (tb__hour_after(list[i].from_us) <= end) found = &list[i];
    *at += i;
    return &found->meter;
}

/* --- series --- */

static tb_code load_series(tb_store *store, tb_error *err)
{
    tb__billing *b = store->billing;
    sqlite3_stmt *s;
    if (b->metered_loaded) return TB_OK;
    tb_code code = tb__sql_ints(store, TB__SQL_METER_SERIES_OF_ACCOUNT, &b->account, 1, &s, err);
    if (!code) code = tb__meter_list_read(store, s, &b->metered, err);
    b->metered_loaded = !code;
    return code;
}

/* The account's series of a meter: they ascend by number. */
static tb__slice series_of(const tb__billing *b, int64_t meter)
{
    size_t low = 0, high = b->metered.n_series;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (b->metered.series[middle].meter < meter) low = middle + 1;
        else high = middle;
    }
    tb__slice slice = {low, 0};
    while (low + slice.n < b->metered.n_series && b->metered.series[low + slice.n].meter == meter)
        slice.n++;
    return slice;
}

/* --- counters and gauges --- */

/* One meter of the month in the making. */
typedef struct metering {
    tb_store *store;
    tb__billing *b;
    const tb__month_span *span;
    const tb_meter *meter;
    size_t series; /* in b->metered */
} metering;

/* The index of the meter in the input, which it joins with its first usage. */
static tb_code bill_meter(metering *m, uint32_t *ret, tb_error *err)
{
    tb__billing *b = m->b;
    if (!b->n_bill_meters || b->bill_meters[b->n_bill_meters - 1].number != m->meter->number) {
        tb_code code = TB__GROW(b, bill_meters, err);
        if (code) return code;
        b->bill_meters[b->n_bill_meters++] = *m->meter;
    }
    *ret = (uint32_t)(b->n_bill_meters - 1);
    return TB_OK;
}

static tb_code add_usage(metering *m, uint32_t part, tb_i128 quantity, tb_evidence evidence, tb_error *err)
{
    tb__billing *b = m->b;
    tb_bill_usage entry = {.part = part, .quantity = quantity, .evidence = evidence};
    if (quantity == 0) return TB_OK;
    tb_code code = bill_meter(m, &entry.meter, err);
    if (!code) code = TB__GROW(b, bill_usage, err);
    if (code) return code;
    entry.resource = tb__meter_texts(&b->metered, m->series, entry.dimension);
    b->bill_usage[b->n_bill_usage++] = entry;
    return TB_OK;
}

static tb_code make_counter(metering *m, tb_error *err)
{
    const tb__meter_series *own = &m->b->metered.series[m->series];
    uint64_t days[32];
    tb_code code = TB_OK;
    if (own->series)
        code = m->store->plane.counters->days(m->store, own->series, TB__METER_COLUMN, m->span->month, days, err);
    for (uint32_t part = 0; !code && own->series && part < m->b->n_parts; part++) {
        const tb_bill_part *p = &m->b->parts[part];
        const tb__day_span span = {m->span->month, p->from_us / TB_US_PER_HOUR,
                                   tb__earlier(p->to_us / TB_US_PER_HOUR, m->span->usage_hour)};
        tb__day_sums sums = {{0}};
        tb_evidence evidence;
        if (span.from_hour >= span.to_hour) continue;
        code = tb__days_add(m->store, own->series, TB__METER_COLUMN, days, span, &sums, err);
        if (!code) code = tb__days_take_late(m->b, TB__SCOPE_METER, own->id, TB_ALL, 0, span, &sums, err);
        const tb_i128 quantity = code ? 0 : tb__days_total(&sums, span, &evidence);
        if (!code) code = add_usage(m, part, quantity, evidence, err);
    }
    return code;
}

/* A tb__part_fn. */
static tb_code add_held(void *ctx, uint32_t part, tb_i128 quantity, const tb_evidence *evidence, tb_error *err)
{
    return add_usage(ctx, part, quantity, *evidence, err);
}

/* Of gauges with usage. */
static tb_code keep_before(metering *m, tb_error *err)
{
    tb__billing *b = m->b;
    const bool used = b->n_bill_meters && b->bill_meters[b->n_bill_meters - 1].number == m->meter->number;
    if (!b->seen.before || !used) return TB_OK;
    tb_code code = TB__GROW(b, gauges, err);
    if (!code) b->gauges[b->n_gauges++] = (tb__gauge_before){m->series, (uint32_t)(b->n_bill_meters - 1), b->seen.before};
    return code;
}

static tb_code make_gauge(metering *m, tb_error *err)
{
    m->b->seen.before = m->b->seen.n_gaps = 0;
    const tb__gauge gauge = {.series = m->b->metered.series[m->series].id, .from_us = m->span->from_us,
                             .to_us = m->span->end_us, .known = m->b->known, .round_up = m->meter->round_up,
                             .seen = m->span->origins ? &m->b->seen : NULL};
    tb__gauge_month month = {.parts = m->b->parts, .n_parts = m->b->n_parts, .month = m->span->month,
                             .end_us = m->span->end_us, .fn = add_held, .ctx = m};
    tb_code code = tb__gauge_each(m->store, &gauge, tb__gauge_month_add, &month, err);
    if (!code) code = tb__gauge_month_end(&month, err);
    return code || !m->span->origins ? code : keep_before(m, err);
}

/* --- samples --- */

/* A month whose hours are gone has no intervals. One without usage needs none. */
static tb_code check_intervals(tb_store *store, const tb__slots *slots, const tb__month_span *span, bool *ret_none,
                               tb_error *err)
{
    const int64_t first = tb_month_first_day(span->month);
    const tb_range days = {first, (uint32_t)(tb_month_first_day(span->month + 1) - first), false};
    const uint32_t metrics = ((UINT32_C(1) << slots->columns) - 1) << slots->first;
    tb_series series;
    *ret_none = !slots->series;
    if (*ret_none || span->month >= store->billing->kept.hours) return TB_OK;
    tb_code code = tb_series_init(&series, days, metrics, NULL, err);
    if (code) return code;
    code = store->plane.counters->series(store, slots->series, &series, err);
    *ret_none = true;
    for (int k = 0; k < slots->columns; k++)
        if (tb_series_total(&series, (tb_metric)(slots->first + k))) *ret_none = false;
    tb_series_release(&series);
    if (code || *ret_none) return code;
    return tb_fail(err, TB_E_NOT_KEPT, "month", "The hours of that month are no longer kept, and a percentile needs them.");
}

static uint32_t month_hours(const tb__month_span *span)
{
    return (uint32_t)(tb_month_start_us(span->month + 1) / TB_US_PER_HOUR - span->from_us / TB_US_PER_HOUR);
}

/* Room for the intervals of the whole month behind those that are there, zeroed. */
static tb_code intervals_room(tb__billing *b, size_t n, uint64_t **ret, tb_error *err)
{
    if (b->n_intervals + n > b->cap_intervals) {
        const size_t cap = (b->n_intervals + n) * 2;
        uint64_t *more = cap > SIZE_MAX / sizeof *more ? NULL : realloc(b->intervals, cap * sizeof *more);
        if (!more) return tb_no_memory(err);
        b->intervals = more;
        b->cap_intervals = cap;
    }
    *ret = b->intervals + b->n_intervals;
    memset(*ret, 0, n * sizeof **ret);
    return TB_OK;
}

/* Keeps the intervals that are over by the span's end. Their values are elsewhere when the lists are packed. */
static void finish_intervals(tb__billing *b, const tb__month_span *span, int interval, tb_bill_samples *ret)
{
    tb__intervals_end(b->intervals + b->n_intervals, span->month, span->end_us, interval, ret);
    b->n_intervals += ret->n;
}

static tb_code make_sample(metering *m, tb_error *err)
{
    tb__billing *b = m->b;
    const tb__meter_series *own = &b->metered.series[m->series];
    const tb__slots slots = {own->series, m->span->from_us / TB_US_PER_HOUR, month_hours(m->span), TB__METER_COLUMN,
                             tb__meter_columns(m->meter)};
    tb_bill_samples entry = {.interval = m->meter->interval};
    uint64_t *value = NULL;
    const size_t before = b->n_intervals;
    bool none = false;
    tb_code code = intervals_room(b, slots.hours * (size_t)slots.columns, &value, err);
    if (!code) code = check_intervals(m->store, &slots, m->span, &none, err);
    if (!code && !none) code = tb__slots_add(m->store, &slots, value, err);
    if (!code) code = tb__late_take_slots(b, TB__SCOPE_METER, own->id, &slots, value, err);
    if (code) return code;
    finish_intervals(b, m->span, m->meter->interval, &entry);
    if (!entry.present) {
        b->n_intervals = before;
        return TB_OK;
    }
    code = bill_meter(m, &entry.meter, err);
    if (!code) code = TB__GROW(b, bill_samples, err);
    if (code) return code;
    entry.resource = tb__meter_texts(&b->metered, m->series, entry.dimension);
    b->bill_samples[b->n_bill_samples++] = entry;
    return TB_OK;
}

/* --- the whole --- */

tb_code tb__meters_make(tb_store *store, const tb__month_span *span, tb_error *err)
{
    metering m = {.store = store, .b = store->billing, .span = span};
    tb_code code = load_series(store, err);
    if (code || !m.b->metered.n_series) return code;
    code = load_declared(store, err);
    for (size_t at = 0; !code && at < m.b->n_meters;) {
        m.meter = next_meter(m.b, span->month, &at);
        if (strcmp(m.meter->id, TB_METER_BANDWIDTH) == 0) continue;
        const tb__slice own = series_of(m.b, m.meter->number);
        for (size_t i = own.first; !code && i < own.first + own.n; i++) {
            m.series = i;
            code = (m.meter->kind == TB_METER_COUNTER ? make_counter
                    : m.meter->kind == TB_METER_GAUGE ? make_gauge
                                                      : make_sample)(&m, err);
        }
    }
    return code;
}

/* The account's bytes in each hour of the month. */
static tb_code add_hours(tb_store *store, const tb__month_span *span, uint64_t *value, tb_error *err)
{
    tb__billing *b = store->billing;
    tb__slots slots = {0, span->from_us / TB_US_PER_HOUR, month_hours(span), TB_M_BYTES, 1};
    tb_code code = TB_OK;
    for (size_t i = 0; !code && i < b->n_zones; i++) {
        const tb__billed_zone *zone = &b->zones[i];
        for (size_t k = 0; !code && k < zone->series.n; k++) {
            bool none = false;
            slots.series = b->series[zone->series.first + k].series;
            code = check_intervals(store, &slots, span, &none, err);
            if (!code && !none) code = tb__slots_add(store, &slots, value, err);
        }
        if (!code) code = tb__late_take_slots(b, TB__SCOPE_ZONE, zone->id, &slots, value, err);
    }
    return code;
}

/* The same in each interval of 5 minutes, as far as samples were kept. */
static tb_code add_samples(tb_store *store, const tb__month_span *span, uint64_t *value, tb_error *err)
{
    tb__billing *b = store->billing;
    tb__slots slots = {0, span->from_us / TB_US_PER_HOUR, month_hours(span), TB__METER_COLUMN, TB_METER_SLOTS};
    tb_code code = load_series(store, err);
    if (code || !b->metered.n_series) return code;
    code = load_declared(store, err);
    size_t at = 0;
    while (!code && at < b->n_meters && strcmp(b->meters[at].meter.id, TB_METER_BANDWIDTH) != 0)
        at++;
    if (code || at == b->n_meters) return code;
    const tb__slice own = series_of(b, b->meters[at].meter.number);
    for (size_t i = own.first; !code && i < own.first + own.n; i++) {
        slots.series = b->metered.series[i].series;
        code = tb__slots_add(store, &slots, value, err);
        if (!code) code = tb__late_take_slots(b, TB__SCOPE_METER, b->metered.series[i].id, &slots, value, err);
    }
    return code;
}

tb_code tb__bandwidth_make(tb_store *store, const tb__month_span *span, tb_bill_samples *ret, tb_error *err)
{
    const size_t n_hours = month_hours(span), n = n_hours * TB_METER_SLOTS;
    uint64_t *value = NULL;
    tb_code code = intervals_room(store->billing, n + n_hours, &value, err);
    if (!code) code = add_hours(store, span, value + n, err);
    if (!code) code = add_samples(store, span, value, err);
    *ret = (tb_bill_samples){.resource = "", .dimension = {"", ""}};
    if (!code) finish_intervals(store->billing, span, tb__bandwidth_finest(value, n, n_hours), ret);
    return code;
}
