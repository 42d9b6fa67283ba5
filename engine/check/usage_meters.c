/* The lines of meters: counters add up by day, gauges hold a value until the next one, samples are of 5 minutes or of an hour. */
#include <string.h>

#include "check/usage_filling.h"
#include "base/list.h"
#include "tollbook/calendar.h"

/* --- what a line names --- */

static int compare_field(const tb__day_line *l, size_t i, const char *text, size_t len)
{
    const size_t least = len < l->len[i] ? len : l->len[i];
    const int order = memcmp(l->field[i], text, least);
    return order ? order : l->len[i] < len ? -1 : l->len[i] > len;
}

/* The names of two lines: meter, resource, dimensions. */
static int compare_lines(const tb__day_line *a, const tb__day_line *b)
{
    int order = 0;
    for (size_t i = 1; !order && i < 5; i++)
        order = compare_field(a, i, b->field[i], b->len[i]);
    return order;
}

/* Compares the line's resource and dimensions with an entry's. */
static int compare_named(const tb__day_line *l, const char *resource, const char *const *dimension)
{
    int order = compare_field(l, 2, resource, strlen(resource));
    for (size_t k = 0; !order && k < TB_METER_DIMENSIONS; k++)
        order = compare_field(l, 3 + k, dimension[k], strlen(dimension[k]));
    return order;
}

/* A line, and the index of its meter. */
typedef struct line_key {
    const tb__day_line *line;
    uint32_t meter;
} line_key;

static int series_of_line(const void *key, const void *item)
{
    const line_key *k = key;
    const tb__series *s = item;
    const tb_bill_usage *u = &s->filling->lists.usage[s->first];
    return k->meter != u->meter ? (k->meter < u->meter ? -1 : 1) : compare_named(k->line, u->resource, u->dimension);
}

static int samples_of_line(const void *key, const void *item)
{
    const line_key *k = key;
    const tb_bill_samples *s = item;
    return k->meter != s->meter ? (k->meter < s->meter ? -1 : 1) : compare_named(k->line, s->resource, s->dimension);
}

/* The meter of the line and where its values are added. Names ascend, and the times of lines with the same names. */
static tb_code find_series(tb__filling *f, const tb__day_line *l)
{
    const tb_bill_input *in = &f->filled->input;
    const tb__day_line *const before = &f->metered.line;
    const int order = before->n ? compare_lines(before, l) : -1;
    char id[TB_METER_ID_MAX + 1] = "";
    if (order > 0 || (order == 0 && compare_field(l, 5, before->field[5], before->len[5]) <= 0))
        return tb__wrong_line(f, "lines do not ascend");
    f->metered.line = *l;
    if (order == 0) return TB_OK;
    if (l->len[1] >= sizeof id) return tb__wrong_line(f, "the meter's name is too long");
    memcpy(id, l->field[1], l->len[1]);
    f->metered.meter = tb_meter_find(in->meters, in->n_meters, id);
    if (!f->metered.meter) return TB_OK;
    const line_key key = {l, (uint32_t)(f->metered.meter - in->meters)};
    f->metered.series = tb__find_sorted(&key, f->series, f->n_series, sizeof *f->series, series_of_line);
    f->metered.samples = tb__find_sorted(&key, in->samples, in->n_samples, sizeof *in->samples, samples_of_line);
    return TB_OK;
}

/* --- gauges --- */

/* A tb__part_fn: what a gauge held in a part goes into the entry of the part. ctx: the series. */
static tb_code add_held(void *ctx, uint32_t part, tb_i128 quantity, const tb_evidence *evidence, tb_error *err)
{
    const tb__series *s = ctx;
    tb_bill_usage *const usage = s->filling->lists.usage;
    if (quantity == 0) return TB_OK;
    for (size_t i = s->first; i < s->first + s->n; i++)
        if (usage[i].part == part) {
            usage[i].quantity = quantity;
            usage[i].evidence = *evidence;
            return TB_OK;
        }
    return tb_fail(err, TB_E_DIFFERENT, "days", "What %.64s of meter %.64s held was left out: the terms have no entry for it.",
                   usage[s->first].resource, s->filling->filled->input.meters[usage[s->first].meter].id);
}

static tb_code begin_gauge(tb__filling *f, tb__series *s)
{
    const tb_bill_input *in = &f->filled->input;
    const tb_bill_usage *u = &in->usage[s->first];
    const tb_meter *meter = &in->meters[u->meter];
    const int64_t from_us = tb_month_start_us(in->month);
    const uint64_t before = tb__held_before(f, u);
    s->month = (tb__gauge_month){.parts = in->parts, .n_parts = in->n_parts, .month = in->month, .end_us = f->until_us,
                                 .fn = add_held, .ctx = s};
    s->walk = (tb__gauge_walk){.round_up = meter->round_up, .from_us = from_us, .fn = tb__gauge_month_add, .ctx = &s->month};
    tb__gauge_begin(&s->walk);
    return before ? tb__gauge_value(&s->walk, from_us, before, f->err) : TB_OK;
}

tb_code tb__begin_gauges(tb__filling *f)
{
    const tb_bill_input *in = &f->filled->input;
    tb_code code = TB_OK;
    for (size_t i = 0; !code && i < f->n_series; i++)
        if (in->meters[in->usage[f->series[i].first].meter].kind == TB_METER_GAUGE) code = begin_gauge(f, &f->series[i]);
    return code;
}

/* The account was deleted: tells the walk of each such time that began by then. */
static tb_code pass_gaps(tb__filling *f, tb__series *s, int64_t us)
{
    const tb_bill_origins *o = &f->month->origins;
    tb_code code = TB_OK;
    for (; !code && s->n_passed < o->n_gaps && o->gaps[s->n_passed].from_us <= us; s->n_passed++)
        code = tb__gauge_gap(&s->walk, o->gaps[s->n_passed].from_us, o->gaps[s->n_passed].to_us, f->err);
    return code;
}

/* The account was deleted at that time. */
static bool is_gone(const tb__filling *f, int64_t at_us)
{
    const tb_bill_origins *o = &f->month->origins;
    for (size_t i = 0; i < o->n_gaps; i++)
        if (o->gaps[i].from_us <= at_us && at_us < o->gaps[i].to_us) return true;
    return false;
}

/* A value of a gauge. What it held is known when the month has been read: tb__end_gauges. */
static tb_code add_value(tb__filling *f, const tb__day_line *l, int64_t at_us, uint64_t value)
{
    tb__series *s = f->metered.series;
    if (!s) return value == 0 || is_gone(f, at_us) ? TB_OK : tb__left_out(f, l, "the terms have no entry for it");
    tb_code code = pass_gaps(f, s, at_us);
    return code ? code : tb__gauge_value(&s->walk, at_us, value, f->err);
}

tb_code tb__end_gauges(tb__filling *f)
{
    tb_code code = TB_OK;
    for (size_t i = 0; !code && i < f->n_series; i++) {
        tb__series *s = &f->series[i];
        if (!s->walk.fn) continue;
        code = pass_gaps(f, s, f->until_us - 1);
        if (!code) code = tb__gauge_end(&s->walk, f->until_us, f->err);
        if (!code) code = tb__gauge_month_end(&s->month, f->err);
    }
    return code;
}

/* --- counters and samples --- */

static tb_code add_count(tb__filling *f, const tb__day_line *l, int64_t at_s, uint64_t value)
{
    const tb_bill_input *in = &f->filled->input;
    const uint32_t part = tb__part_at(in, f->day * 24 + at_s / 3600);
    const tb__series *s = f->metered.series;
    for (size_t i = s ? s->first : 0; s && i < s->first + s->n; i++)
        if (in->usage[i].part == part) {
            f->usage_sums[i].day[f->day - f->from_hour / 24] += value;
            return TB_OK;
        }
    return tb__left_out(f, l, "the terms have no entry for it");
}

/* Room for the intervals of a series, when it has its first value. */
static tb_code make_values(tb__filling *f, uint64_t **values, size_t n)
{
    if (*values) return TB_OK;
    if (n > TB_CHECK_CELLS_MAX - f->n_intervals) return tb__wrong_line(f, "there are too many series of samples");
    f->n_intervals += n;
    *values = tb__filling_room(f, n, sizeof **values);
    return *values ? TB_OK : tb_no_memory(f->err);
}

static tb_code add_sample(tb__filling *f, const tb__day_line *l, int64_t at_us, uint64_t value)
{
    const int interval = f->metered.meter->interval;
    if (!f->metered.samples) return tb__left_out(f, l, "the terms have no entry for it");
    if (at_us / TB_US_PER_S % interval) return tb__wrong_line(f, "its time is no interval's");
    uint64_t **const values = &f->values[f->metered.samples - f->filled->input.samples];
    tb_code code = make_values(f, values, f->month_s / (uint32_t)interval);
    if (!code) (*values)[(at_us / TB_US_PER_S - f->from_hour * 3600) / interval] += value;
    return code;
}

/* The bandwidth of pull zones by 5 minutes: it counts where a percentile is billed. */
static tb_code add_bandwidth(tb__filling *f, int64_t at_us, uint64_t value)
{
    if (f->bandwidth) f->bandwidth[(at_us / TB_US_PER_S - f->from_hour * 3600) / TB_METER_INTERVAL] += value;
    return TB_OK;
}

/* --- lines --- */

tb_code tb__add_meter(tb__filling *f, const tb__day_line *l)
{
    int64_t at_s = 0;
    uint64_t value = 0;
    if (l->n != 7 || !tb__read_time(f, l, 5, &at_s) || !tb__read_number(l->field[6], l->len[6], &value) || value > TB_METER_VALUE_LARGEST)
        return tb__wrong_line(f, "a meter, its resource, two dimensions, a time of the day and a value are expected");
    const int64_t at_us = f->day * TB_US_PER_DAY + at_s * TB_US_PER_S;
    tb_code code = find_series(f, l);
    if (code) return code;
    if (tb__field_is(l, 1, TB_METER_BANDWIDTH)) return add_bandwidth(f, at_us, value);
    if (!f->metered.meter) return value == 0 || is_gone(f, at_us) ? TB_OK : tb__left_out(f, l, "the terms do not have that meter");
    if (f->metered.meter->kind == TB_METER_SAMPLE) return add_sample(f, l, at_us, value);
    if (f->metered.meter->kind == TB_METER_GAUGE) return at_us < f->until_us ? add_value(f, l, at_us, value) : TB_OK;
    return at_us < f->until_hour * TB_US_PER_HOUR ? add_count(f, l, at_s, value) : TB_OK;
}
