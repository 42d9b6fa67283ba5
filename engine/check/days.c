/* The texts of days, read line by line (engine/store/proof/day.c has their form), into the entries of a month's terms. Lines ascend,
 * so each cell is there once; entries of one thing do not overlap, so each cell goes into one of them. A cell that goes into none
 * was left out. Every step is a search in a sorted list, or the place of the line before. */
#include "check/days.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "billing/days.h"
#include "tollbook/calendar.h"

/* An entry of bytes, or a tie, by what it takes. */
typedef struct taker {
    int64_t zone;
    int place;            /* the billing region; -1: the location */
    const char *location;
    int64_t from, to; /* hours */
    size_t of;
} taker;

/* A gauge's or a counter's series: entries first..first + n - 1 of `usage`. */
typedef struct series {
    const struct fill *fill;
    size_t first, n;
    tb__gauge_walk walk;
    tb__gauge_month month;
    size_t gap; /* gaps before it were walked over */
} series;

typedef struct text_line {
    const char *field[8];
    size_t len[8], n;
} text_line;

typedef struct fill {
    const tb__term_month *of;
    tb__filled *to;
    tb_error *err;
    struct {
        tb_bill_bytes *bytes;
        tb_bill_balancer *balancers;
        tb_bill_usage *usage;
        tb_bill_samples *samples;
    } lists; /* of the input */
    int64_t until_us, from_hour, until_hour; /* the month's first hour; usage of hours before until_hour counts */
    uint32_t month_s;                        /* seconds of the month */
    taker *bytes, *ties;
    size_t n_bytes, n_ties;
    tb__day_sums *byte_sums, *balancer_sums, *usage_sums; /* one an entry */
    series *series;
    size_t n_series;
    uint64_t **values;  /* of samples; NULL: none yet */
    size_t n_intervals; /* of all of them */
    uint64_t *bandwidth; /* by 5 minutes, then by hours; NULL: not billed so */
    /* the place of the line before */
    int64_t day;
    char date[11];
    size_t line;
    const char *text;
    size_t len;
    struct {
        int64_t zone, hour;
        char code[24];
        const tb_origin_place *place;
        size_t first, end; /* of takers of this zone and place */
    } at;
    int64_t balancer, balancer_hour;
    text_line meter; /* of the meter's line before; n 0: none */
    size_t samples, usage; /* the entries or the series that it went into */
    const tb_meter *metered;
} fill;

/* --- sentences --- */

static tb_code wrong_terms(const fill *f, const char *what)
{
    return tb_fail(f->err, TB_E_VALIDATION, "terms", "The terms are not as written: %s.", what);
}

static tb_code wrong_day(const fill *f, const char *what)
{
    tb_code code = tb_fail(f->err, TB_E_VALIDATION, "days", "The usage of %s cannot be read: line %zu: %s.", f->date, f->line, what);
    if (f->err) f->err->line = f->line;
    return code;
}

/* The line is of a cell that nobody takes. */
static tb_code left_out(const fill *f, const text_line *l, const char *why)
{
    char shown[160];
    size_t n = 0;
    for (size_t i = 0; i < l->n && n + 1 < sizeof shown; i++)
        for (size_t k = 0; k <= l->len[i] && n + 1 < sizeof shown; k++)
            shown[n++] = k < l->len[i] ? l->field[i][k] : ' ';
    shown[n ? n - 1 : 0] = 0;
    return tb_fail(f->err, TB_E_DIFFERENT, "days", "Usage of %s was left out (%s): line %zu, \"%s\".", f->date, why, f->line, shown);
}

/* --- lists --- */

static void *day_room(fill *f, size_t n, size_t size)
{
    void *at = tb__arena_take(&f->to->arena, n ? n * size : 1);
    return at ? memset(at, 0, n * size) : NULL;
}

static int by_taken(const void *left, const void *right)
{
    const taker *a = left, *b = right;
    if (a->zone != b->zone) return a->zone < b->zone ? -1 : 1;
    if (a->place != b->place) return a->place < b->place ? -1 : 1;
    const int order = strcmp(a->location, b->location);
    if (order) return order;
    return a->from < b->from ? -1 : a->from > b->from;
}

/* Sorts them; two of one place may not take the same hour. */
static tb_code sort_takers(const fill *f, taker *list, size_t n)
{
    if (n > 1) qsort(list, n, sizeof *list, by_taken);
    for (size_t i = 1; i < n; i++) {
        const bool same = list[i].zone == list[i - 1].zone && list[i].place == list[i - 1].place &&
                          strcmp(list[i].location, list[i - 1].location) == 0;
        if (same && list[i].from < list[i - 1].to) return wrong_terms(f, "two entries take the usage of one hour");
    }
    return TB_OK;
}

static tb_code list_bytes(fill *f)
{
    const tb_bill_input *in = &f->of->input;
    f->bytes = day_room(f, in->n_bytes, sizeof *f->bytes);
    f->byte_sums = day_room(f, in->n_bytes, sizeof *f->byte_sums);
    if (!f->bytes || !f->byte_sums) return tb_no_memory(f->err);
    for (size_t i = 0; i < in->n_bytes; i++) {
        const tb_bill_bytes *e = &in->bytes[i];
        const int64_t from = e->evidence.from_us, to = e->evidence.to_us;
        if (from % TB_US_PER_HOUR || to % TB_US_PER_HOUR || from >= to || from / TB_US_PER_HOUR < f->from_hour ||
            to > tb_month_start_us(in->month + 1))
            return wrong_terms(f, "an entry of bytes is not of whole hours of its month");
        f->bytes[i] = (taker){e->zone, e->priced ? (int)e->region : -1, e->priced ? "" : e->location, from / TB_US_PER_HOUR,
                              to / TB_US_PER_HOUR, i};
    }
    f->n_bytes = in->n_bytes;
    return sort_takers(f, f->bytes, f->n_bytes);
}

static tb_code list_ties(fill *f)
{
    const tb_bill_origins *o = &f->of->origins;
    f->ties = day_room(f, o->n_ties, sizeof *f->ties);
    if (!f->ties) return tb_no_memory(f->err);
    for (size_t i = 0; i < o->n_ties; i++) {
        const tb_origin_tie *t = &o->ties[i];
        const taker tie = {t->zone, -1, "", tb__hour_after(t->from_us), tb__hour_after(t->to_us), i};
        if (tie.from < tie.to) f->ties[f->n_ties++] = tie;
    }
    return sort_takers(f, f->ties, f->n_ties);
}

/* Of two entries of a meter; parts apart. */
static int compare_names(uint32_t a, const char *resource_a, const char *const *dimension_a, uint32_t b, const char *resource_b,
                         const char *const *dimension_b)
{
    if (a != b) return a < b ? -1 : 1;
    int order = strcmp(resource_a, resource_b);
    for (int k = 0; !order && k < TB_METER_DIMENSIONS; k++)
        order = strcmp(dimension_a[k], dimension_b[k]);
    return order;
}

static int compare_usage(const tb_bill_usage *a, const tb_bill_usage *b)
{
    return compare_names(a->meter, a->resource, a->dimension, b->meter, b->resource, b->dimension);
}

/* A tb__part_fn. ctx: the series. */
static tb_code take_held(void *ctx, uint32_t part, tb_i128 quantity, const tb_evidence *evidence, tb_error *err)
{
    const series *s = ctx;
    tb_bill_usage *const usage = s->fill->lists.usage;
    if (quantity == 0) return TB_OK;
    for (size_t i = s->first; i < s->first + s->n; i++)
        if (usage[i].part == part) {
            usage[i].quantity = quantity;
            usage[i].evidence = *evidence;
            return TB_OK;
        }
    return tb_fail(err, TB_E_DIFFERENT, "days", "What %.64s of meter %.64s held was left out: no entry of the terms takes it.",
                   usage[s->first].resource, s->fill->to->input.meters[usage[s->first].meter].id);
}

/* What a gauge reported before the month; 0: nothing. */
static uint64_t held_before(const tb_bill_origins *o, const tb_meter *meter, const tb_bill_usage *u)
{
    for (size_t low = 0, high = o->n_gauges; low < high;) {
        const size_t middle = low + (high - low) / 2;
        const tb_origin_gauge *g = &o->gauges[middle];
        int order = strcmp(g->meter, meter->id);
        if (!order) order = compare_names(0, g->resource, g->dimension, 0, u->resource, u->dimension);
        if (order == 0) return g->value;
        if (order < 0) low = middle + 1;
        else high = middle;
    }
    return 0;
}

static tb_code begin_gauge(fill *f, series *s)
{
    const tb_bill_input *in = &f->to->input;
    const tb_bill_usage *u = &in->usage[s->first];
    const tb_meter *meter = &in->meters[u->meter];
    const int64_t from_us = tb_month_start_us(in->month);
    const uint64_t before = held_before(&f->of->origins, meter, u);
    s->month = (tb__gauge_month){.parts = in->parts, .n_parts = in->n_parts, .month = in->month, .end_us = f->until_us,
                                 .fn = take_held, .ctx = s};
    s->fill = f;
    s->walk = (tb__gauge_walk){.round_up = meter->round_up, .from_us = from_us, .fn = tb__gauge_month_add, .ctx = &s->month};
    tb__gauge_begin(&s->walk);
    return before ? tb__gauge_value(&s->walk, from_us, before, f->err) : TB_OK;
}

/* Runs of entries that differ by their parts alone. */
static tb_code list_usage(fill *f)
{
    const tb_bill_input *in = &f->to->input;
    tb_code code = TB_OK;
    f->usage_sums = day_room(f, in->n_usage, sizeof *f->usage_sums);
    f->series = day_room(f, in->n_usage, sizeof *f->series);
    if (!f->usage_sums || !f->series) return tb_no_memory(f->err);
    for (size_t i = 0; i < in->n_usage; i++) {
        const tb_bill_usage *u = &in->usage[i];
        if (u->meter >= in->n_meters || u->part >= in->n_parts) return wrong_terms(f, "an entry of usage has no meter or no part");
        const int order = i ? compare_usage(u - 1, u) : -1;
        if (order > 0 || (order == 0 && u[-1].part >= u->part)) return wrong_terms(f, "the entries of usage do not ascend");
        if (order < 0) f->series[f->n_series++] = (series){.first = i};
        f->series[f->n_series - 1].n++;
    }
    for (size_t i = 0; !code && i < f->n_series; i++)
        if (in->meters[in->usage[f->series[i].first].meter].kind == TB_METER_GAUGE) code = begin_gauge(f, &f->series[i]);
    return code;
}

static tb_code list_samples(fill *f)
{
    const tb_bill_input *in = &f->to->input;
    f->values = day_room(f, in->n_samples, sizeof *f->values);
    if (!f->values) return tb_no_memory(f->err);
    for (size_t i = 0; i < in->n_samples; i++) {
        const tb_bill_samples *s = &in->samples[i];
        const bool there = s->meter < in->n_meters && in->meters[s->meter].kind == TB_METER_SAMPLE;
        const int interval = there ? in->meters[s->meter].interval : 0;
        if (interval != TB_METER_INTERVAL && interval != 3600) return wrong_terms(f, "an entry of samples has no meter of them");
        if (i && compare_names(s[-1].meter, s[-1].resource, s[-1].dimension, s->meter, s->resource, s->dimension) >= 0)
            return wrong_terms(f, "the entries of samples do not ascend");
    }
    if (!in->percentile) return TB_OK;
    f->bandwidth = day_room(f, f->month_s / TB_METER_INTERVAL + f->month_s / 3600, sizeof *f->bandwidth);
    return f->bandwidth ? TB_OK : tb_no_memory(f->err);
}

/* What the catalogue would have refused. */
static tb_code check_meter(const fill *f, const tb_meter *m)
{
    const bool sampled = m->interval == TB_METER_INTERVAL || m->interval == 3600;
    if (m->n_dimensions < 0 || m->n_dimensions > TB_METER_DIMENSIONS || m->display_per < 1 || m->round_up < 0 ||
        m->round_up > TB_METER_VALUE_LARGEST || (m->kind == TB_METER_SAMPLE ? !sampled : m->interval != 0))
        return wrong_terms(f, "a meter has a value that none can have");
    return TB_OK;
}

static tb_code check_contract(const fill *f)
{
    const tb_contract *c = &f->of->input.contract;
    for (size_t i = 0; i < c->n_commits; i++)
        if (c->commits[i].months != 1 && c->commits[i].months != 3 && c->commits[i].months != 12)
            return wrong_terms(f, "a commit's period is not a month, a quarter or a year");
    return TB_OK;
}

/* What the lists below rely on. */
static tb_code check_lists(const fill *f)
{
    const tb_bill_input *in = &f->of->input;
    const tb_bill_origins *o = &f->of->origins;
    int64_t at = f->from_hour * TB_US_PER_HOUR;
    for (size_t i = 0; i < in->n_parts; at = in->parts[i++].to_us)
        if (in->parts[i].from_us != at || in->parts[i].to_us <= at || in->parts[i].to_us % TB_US_PER_HOUR)
            return wrong_terms(f, "the parts of a month do not touch");
    if (in->n_parts == 0 || at != tb_month_start_us(in->month + 1)) return wrong_terms(f, "the parts do not cover their month");
    for (size_t i = 1; i < o->n_places; i++)
        if (strcmp(o->places[i - 1].code, o->places[i].code) >= 0) return wrong_terms(f, "the places do not ascend");
    for (size_t i = 1; i < in->n_meters; i++)
        if (strcmp(in->meters[i - 1].id, in->meters[i].id) >= 0) return wrong_terms(f, "the meters do not ascend");
    tb_code code = check_contract(f);
    for (size_t i = 0; !code && i < in->n_meters; i++)
        code = check_meter(f, &in->meters[i]);
    if (code) return code;
    for (size_t i = 0; i < in->n_balancers; i++) {
        const tb_bill_balancer *b = &in->balancers[i];
        if (b->part >= in->n_parts ||
            (i && (b[-1].balancer > b->balancer || (b[-1].balancer == b->balancer && b[-1].part >= b->part))))
            return wrong_terms(f, "the entries of load balancers do not ascend");
    }
    return TB_OK;
}

/* --- finding --- */

static uint32_t part_at(const tb_bill_input *in, int64_t hour)
{
    uint32_t low = 0, high = (uint32_t)in->n_parts;
    while (low + 1 < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (in->parts[middle].from_us <= hour * TB_US_PER_HOUR) low = middle;
        else high = middle;
    }
    return low;
}

/* The first of a list that is not below the key. */
static size_t first_taker(const taker *list, size_t n, const taker *key)
{
    size_t low = 0;
    while (low < n) {
        const size_t middle = low + (n - low) / 2;
        if (by_taken(&list[middle], key) < 0) low = middle + 1;
        else n = middle;
    }
    return low;
}

/* The one of list[first, end), all of one zone and place, that takes the hour; NULL: none. */
static const taker *taker_at(const taker *list, size_t first, size_t end, int64_t hour)
{
    while (first < end) {
        const size_t middle = first + (end - first) / 2;
        if (list[middle].to <= hour) first = middle + 1;
        else if (list[middle].from > hour) end = middle;
        else return &list[middle];
    }
    return NULL;
}

static const tb_origin_place *find_place(const tb_bill_origins *o, const char *code)
{
    for (size_t low = 0, high = o->n_places; low < high;) {
        const size_t middle = low + (high - low) / 2;
        const int order = strcmp(o->places[middle].code, code);
        if (order == 0) return &o->places[middle];
        if (order < 0) low = middle + 1;
        else high = middle;
    }
    return NULL;
}

/* The entry of a balancer in a part; n_balancers: none. */
static size_t find_balancer(const tb_bill_input *in, int64_t balancer, uint32_t part)
{
    size_t low = 0, high = in->n_balancers;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const tb_bill_balancer *b = &in->balancers[middle];
        if (b->balancer < balancer || (b->balancer == balancer && b->part < part)) low = middle + 1;
        else high = middle;
    }
    const bool found = low < in->n_balancers && in->balancers[low].balancer == balancer && in->balancers[low].part == part;
    return found ? low : in->n_balancers;
}

/* --- fields --- */

static bool read_u64(const char *text, size_t len, uint64_t *ret)
{
    uint64_t value = 0;
    if (len == 0 || len > 20 || (len > 1 && *text == '0')) return false;
    for (size_t i = 0; i < len; i++) {
        const unsigned digit = (unsigned char)text[i] - '0';
        if (digit > 9 || value > (UINT64_MAX - digit) / 10) return false;
        value = value * 10 + digit;
    }
    *ret = value;
    return true;
}

static bool read_id(const text_line *l, size_t i, int64_t *ret)
{
    uint64_t value;
    if (!read_u64(l->field[i], l->len[i], &value) || value > INT64_MAX) return false;
    *ret = (int64_t)value;
    return true;
}

/* "2026-10-01T05:10:00Z" of the day: seconds since it began. */
static bool time_field(const fill *f, const text_line *l, size_t i, int64_t *ret)
{
    static const char form[] = "T00:00:00Z";
    const char *const t = l->field[i] + 10;
    int at[3];
    if (l->len[i] != 20 || memcmp(l->field[i], f->date, 10) != 0) return false;
    for (size_t k = 0; k < 10; k++)
        if (form[k] == '0' ? t[k] < '0' || t[k] > '9' : t[k] != form[k]) return false;
    for (int k = 0; k < 3; k++)
        at[k] = (t[1 + 3 * k] - '0') * 10 + (t[2 + 3 * k] - '0');
    *ret = (at[0] * 60 + at[1]) * 60 + at[2];
    return at[0] < 24 && at[1] < 60 && at[2] < 60;
}

static bool read_hour(const fill *f, const text_line *l, size_t i, int64_t *ret)
{
    int64_t at = 0;
    if (!time_field(f, l, i, &at) || at % 3600) return false;
    *ret = f->day * 24 + at / 3600;
    return true;
}

static bool is_field(const text_line *l, size_t i, const char *text)
{
    return l->len[i] == strlen(text) && memcmp(l->field[i], text, l->len[i]) == 0;
}

/* --- zones --- */

/* Counters "name=value" of a line from `at` on: those that bills need. */
static bool read_counters(const char *at, const char *end, const char *const names[2], uint64_t value[2])
{
    while (at < end) {
        const char *tab = memchr(at, '\t', (size_t)(end - at)), *stop = tab ? tab : end;
        const char *equals = memchr(at, '=', (size_t)(stop - at));
        uint64_t read;
        if (!equals || !read_u64(equals + 1, (size_t)(stop - equals - 1), &read)) return false;
        for (int k = 0; k < 2; k++)
            if (names[k] && strlen(names[k]) == (size_t)(equals - at) && memcmp(names[k], at, strlen(names[k])) == 0) {
                if (value[k]) return false; /* twice */
                value[k] = read;
            }
        if (tab && tab + 1 == end) return false;
        at = tab ? tab + 1 : end;
    }
    return true;
}

/* The line's zone, place and hour, which ascend. */
static tb_code go_to_cell(fill *f, const text_line *l)
{
    int64_t zone, hour;
    char code[24] = "";
    if (l->n < 4 || !read_id(l, 1, &zone) || l->len[2] >= sizeof code || !read_hour(f, l, 3, &hour))
        return wrong_day(f, "a pull zone, a region and an hour of the day are expected");
    memcpy(code, l->field[2], l->len[2]);
    int order = zone < f->at.zone ? -1 : zone > f->at.zone;
    if (!order) order = strcmp(code, f->at.code);
    if (order < 0 || (order == 0 && hour <= f->at.hour)) return wrong_day(f, "lines do not ascend");
    f->at.hour = hour;
    if (order == 0) return TB_OK;
    f->at.zone = zone;
    memcpy(f->at.code, code, sizeof code);
    f->at.place = find_place(&f->of->origins, code);
    if (!f->at.place) return TB_OK;
    taker key = {.zone = zone, .place = f->at.place->priced ? (int)f->at.place->region : -1,
                 .location = f->at.place->priced ? "" : f->at.code, .from = INT64_MIN};
    f->at.first = first_taker(f->bytes, f->n_bytes, &key);
    key.from = INT64_MAX;
    f->at.end = first_taker(f->bytes, f->n_bytes, &key);
    return TB_OK;
}

static tb_code add_bytes(fill *f, const text_line *l, uint64_t bytes)
{
    const int64_t hour = f->at.hour;
    if (bytes == 0) return TB_OK;
    f->to->counted.bytes += bytes;
    if (!f->at.place) return left_out(f, l, "the terms do not say where that region is billed");
    const taker *t = taker_at(f->bytes, f->at.first, f->at.end, hour);
    if (!t) return left_out(f, l, "no entry of the terms takes it");
    f->byte_sums[t->of].day[f->day - f->from_hour / 24] += bytes;
    return TB_OK;
}

static tb_code add_requests(fill *f, const text_line *l, int64_t balancer, int64_t hour, uint64_t requests)
{
    const tb_bill_input *in = &f->to->input;
    if (requests == 0) return TB_OK;
    f->to->counted.requests += requests;
    const size_t entry = find_balancer(in, balancer, part_at(in, hour));
    if (entry == in->n_balancers) return left_out(f, l, "no entry of the terms takes its requests");
    f->balancer_sums[entry].day[f->day - f->from_hour / 24] += requests;
    return TB_OK;
}

/* Requests of a zone reach the balancer that it was attached to at that hour. */
static tb_code add_tied(fill *f, const text_line *l, uint64_t requests)
{
    taker key = {.zone = f->at.zone, .place = -1, .location = "", .from = INT64_MIN};
    if (requests == 0 || f->n_ties == 0) return TB_OK;
    const size_t first = first_taker(f->ties, f->n_ties, &key);
    key.from = INT64_MAX;
    const taker *t = taker_at(f->ties, first, first_taker(f->ties, f->n_ties, &key), f->at.hour);
    return t ? add_requests(f, l, f->of->origins.ties[t->of].balancer, f->at.hour, requests) : TB_OK;
}

static tb_code read_zone(fill *f, const text_line *l)
{
    static const char *const names[2] = {"bytes", "balancer_requests"};
    uint64_t value[2] = {0, 0};
    tb_code code = go_to_cell(f, l);
    if (code) return code;
    if (l->n < 5 || !read_counters(l->field[4], f->text + f->len, names, value)) return wrong_day(f, "counters are expected");
    if (f->bandwidth) f->bandwidth[f->month_s / TB_METER_INTERVAL + (uint32_t)(f->at.hour - f->from_hour)] += value[0];
    if (f->at.hour >= f->until_hour) return TB_OK;
    code = add_bytes(f, l, value[0]);
    return code ? code : add_tied(f, l, value[1]);
}

static tb_code read_balancer(fill *f, const text_line *l)
{
    static const char *const names[2] = {"requests", NULL};
    uint64_t value[2] = {0, 0};
    int64_t balancer, hour;
    if (l->n < 4 || !read_id(l, 1, &balancer) || !read_hour(f, l, 2, &hour) ||
        !read_counters(l->field[3], f->text + f->len, names, value))
        return wrong_day(f, "a load balancer, an hour of the day and requests are expected");
    if (balancer < f->balancer || (balancer == f->balancer && hour <= f->balancer_hour)) return wrong_day(f, "lines do not ascend");
    f->balancer = balancer;
    f->balancer_hour = hour;
    return hour >= f->until_hour ? TB_OK : add_requests(f, l, balancer, hour, value[0]);
}

/* --- meters --- */

static bool is_gone(const fill *f, int64_t at_us)
{
    const tb_bill_origins *o = &f->of->origins;
    for (size_t i = 0; i < o->n_gaps; i++)
        if (o->gaps[i].from_us <= at_us && at_us < o->gaps[i].to_us) return true;
    return false;
}

static int compare_field(const text_line *l, size_t i, const char *text, size_t len)
{
    const size_t least = len < l->len[i] ? len : l->len[i];
    const int order = memcmp(l->field[i], text, least);
    return order ? order : l->len[i] < len ? -1 : l->len[i] > len;
}

/* The names of two lines: the meter's, the resource's, the dimensions'. */
static int compare_lines(const text_line *a, const text_line *b)
{
    int order = 0;
    for (size_t i = 1; !order && i < 5; i++)
        order = compare_field(a, i, b->field[i], b->len[i]);
    return order;
}

static int compare_named(const text_line *l, const char *resource, const char *const *dimension)
{
    int order = compare_field(l, 2, resource, strlen(resource));
    for (size_t k = 0; !order && k < TB_METER_DIMENSIONS; k++)
        order = compare_field(l, 3 + k, dimension[k], strlen(dimension[k]));
    return order;
}

/* The series that the line's names are of; n_series: none. */
static size_t find_series(const fill *f, const text_line *l)
{
    const tb_bill_input *in = &f->to->input;
    const uint32_t meter = (uint32_t)(f->metered - in->meters);
    size_t low = 0, high = f->n_series;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const tb_bill_usage *u = &in->usage[f->series[middle].first];
        const int order = meter != u->meter ? (meter < u->meter ? -1 : 1) : compare_named(l, u->resource, u->dimension);
        if (order == 0) return middle;
        if (order < 0) high = middle;
        else low = middle + 1;
    }
    return f->n_series;
}

/* The same of samples. */
static size_t find_samples(const fill *f, const text_line *l)
{
    const tb_bill_input *in = &f->to->input;
    const uint32_t meter = (uint32_t)(f->metered - in->meters);
    size_t low = 0, high = in->n_samples;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const tb_bill_samples *s = &in->samples[middle];
        const int order = meter != s->meter ? (meter < s->meter ? -1 : 1) : compare_named(l, s->resource, s->dimension);
        if (order == 0) return middle;
        if (order < 0) high = middle;
        else low = middle + 1;
    }
    return in->n_samples;
}

/* Names ascend, and moments of the same names. */
static tb_code go_to_meter(fill *f, const text_line *l)
{
    const int order = f->meter.n ? compare_lines(&f->meter, l) : -1;
    char id[TB_METER_ID_MAX + 1] = "";
    if (order > 0 || (order == 0 && compare_field(l, 5, f->meter.field[5], f->meter.len[5]) <= 0))
        return wrong_day(f, "lines do not ascend");
    f->meter = *l;
    if (order == 0) return TB_OK;
    if (l->len[1] >= sizeof id) return wrong_day(f, "the meter's name is too long");
    memcpy(id, l->field[1], l->len[1]);
    f->metered = tb_meter_find(f->to->input.meters, f->to->input.n_meters, id);
    if (!f->metered) return TB_OK;
    f->samples = find_samples(f, l);
    f->usage = find_series(f, l);
    return TB_OK;
}

static tb_code add_count(fill *f, const text_line *l, int64_t at_s, uint64_t value)
{
    const tb_bill_input *in = &f->to->input;
    const uint32_t part = part_at(in, f->day * 24 + at_s / 3600);
    const series *s = f->usage < f->n_series ? &f->series[f->usage] : NULL;
    for (size_t i = s ? s->first : 0; s && i < s->first + s->n; i++)
        if (in->usage[i].part == part) {
            f->usage_sums[i].day[f->day - f->from_hour / 24] += value;
            return TB_OK;
        }
    return left_out(f, l, "no entry of the terms takes it");
}

/* Gaps that began by then come first. */
static tb_code pass_gaps(fill *f, series *s, int64_t us)
{
    const tb_bill_origins *o = &f->of->origins;
    tb_code code = TB_OK;
    for (; !code && s->gap < o->n_gaps && o->gaps[s->gap].from_us <= us; s->gap++)
        code = tb__gauge_gap(&s->walk, o->gaps[s->gap].from_us, o->gaps[s->gap].to_us, f->err);
    return code;
}

/* What a gauge holds in the end is known in the end. */
static tb_code add_value(fill *f, const text_line *l, int64_t at_us, uint64_t value)
{
    if (f->usage == f->n_series)
        return value == 0 || is_gone(f, at_us) ? TB_OK : left_out(f, l, "no entry of the terms takes it");
    series *s = &f->series[f->usage];
    tb_code code = pass_gaps(f, s, at_us);
    return code ? code : tb__gauge_value(&s->walk, at_us, value, f->err);
}

/* Room for the intervals of a series, when it has its first value. */
static tb_code take_values(fill *f, uint64_t **values, size_t n)
{
    if (*values) return TB_OK;
    if (n > TB_CHECK_CELLS_MAX - f->n_intervals) return wrong_day(f, "there are too many series of samples");
    f->n_intervals += n;
    *values = day_room(f, n, sizeof **values);
    return *values ? TB_OK : tb_no_memory(f->err);
}

static tb_code add_sample(fill *f, const text_line *l, int64_t at_us, uint64_t value)
{
    const int interval = f->metered->interval;
    if (f->samples == f->to->input.n_samples) return left_out(f, l, "no entry of the terms takes it");
    if (at_us / TB_US_PER_S % interval) return wrong_day(f, "its time is no interval's");
    tb_code code = take_values(f, &f->values[f->samples], f->month_s / (uint32_t)interval);
    if (!code) f->values[f->samples][(at_us / TB_US_PER_S - f->from_hour * 3600) / interval] += value;
    return code;
}

/* The bandwidth of pull zones by 5 minutes: read where a percentile is billed. */
static tb_code add_bandwidth(fill *f, int64_t at_us, uint64_t value)
{
    if (f->bandwidth) f->bandwidth[(at_us / TB_US_PER_S - f->from_hour * 3600) / TB_METER_INTERVAL] += value;
    return TB_OK;
}

static tb_code read_meter(fill *f, const text_line *l)
{
    int64_t at_s = 0;
    uint64_t value = 0;
    if (l->n != 7 || !time_field(f, l, 5, &at_s) || !read_u64(l->field[6], l->len[6], &value) || value > TB_METER_VALUE_LARGEST)
        return wrong_day(f, "a meter, its resource, two dimensions, a time of the day and a value are expected");
    const int64_t at_us = f->day * TB_US_PER_DAY + at_s * TB_US_PER_S;
    tb_code code = go_to_meter(f, l);
    if (code) return code;
    if (is_field(l, 1, TB_METER_BANDWIDTH)) return add_bandwidth(f, at_us, value);
    if (!f->metered) return value == 0 || is_gone(f, at_us) ? TB_OK : left_out(f, l, "the terms do not have that meter");
    if (f->metered->kind == TB_METER_SAMPLE) return add_sample(f, l, at_us, value);
    if (f->metered->kind == TB_METER_GAUGE) return at_us < f->until_us ? add_value(f, l, at_us, value) : TB_OK;
    return at_us < f->until_hour * TB_US_PER_HOUR ? add_count(f, l, at_s, value) : TB_OK;
}

/* --- days --- */

/* The line that begins at `from`; *ret_len: with its end. false: it has none. A field of counters is the rest of the line. */
static bool split(const char *from, size_t len, text_line *ret, size_t *ret_len)
{
    const char *const end = memchr(from, '\n', len);
    if (!end) return false;
    *ret_len = (size_t)(end - from) + 1;
    ret->n = 0;
    for (const char *at = from; ret->n < 8; at = ret->field[ret->n - 1] + ret->len[ret->n - 1] + 1) {
        const char *tab = memchr(at, '\t', (size_t)(end - at));
        ret->field[ret->n] = at;
        ret->len[ret->n++] = (size_t)((tab ? tab : end) - at);
        if (!tab) break;
    }
    return true;
}

/* The three kinds of lines, in this order. */
static const struct {
    const char *name;
    tb_code (*read)(fill *f, const text_line *l);
} kinds[] = {{"zone", read_zone}, {"load_balancer", read_balancer}, {"meter", read_meter}};
#define KINDS (sizeof kinds / sizeof *kinds)

static tb_code count_day(fill *f, const tb_check_day *day)
{
    const char *at = day->text.data;
    size_t left = day->text.len, len = 0, kind = 0;
    tb_code code = TB_OK;
    memset(&f->at, 0, sizeof f->at);
    f->at.hour = f->balancer_hour = f->balancer = f->at.zone = INT64_MIN;
    f->meter.n = f->line = 0;
    for (; !code && left; at += len, left -= len) {
        text_line l;
        f->line++;
        if (!split(at, left, &l, &len)) return wrong_day(f, "it has no end");
        f->text = at;
        f->len = len - 1;
        while (kind < KINDS && !is_field(&l, 0, kinds[kind].name))
            kind++;
        if (kind == KINDS) return wrong_day(f, "a pull zone, a load balancer or a meter is expected, in this order");
        if (++f->to->counted.cells > TB_CHECK_CELLS_MAX) return wrong_day(f, "there are too many lines");
        code = kinds[kind].read(f, &l);
    }
    return code;
}

static const tb_check_day *find_day(const tb_check_parts *parts, int64_t index)
{
    for (size_t low = 0, high = parts->n_days; low < high;) {
        const size_t middle = low + (high - low) / 2;
        if (parts->days[middle].index == index) return &parts->days[middle];
        if (parts->days[middle].index < index) low = middle + 1;
        else high = middle;
    }
    return NULL;
}

static tb_code count_days(fill *f, const tb_check_parts *parts)
{
    const tb__term_month *of = f->of;
    tb_code code = TB_OK;
    for (size_t i = 0; !code && i < of->n_days; i++) {
        char text[20];
        const tb_check_day *day = find_day(parts, of->days[i].index);
        f->day = of->days[i].day;
        tb_time_format(f->day * TB_US_PER_DAY, text);
        memcpy(f->date, text, 10);
        if (tb_month_from_day(f->day) != of->input.month || (i && of->days[i - 1].day >= f->day))
            return wrong_terms(f, "the days of a month are not its own, or do not ascend");
        if (!day || day->day != f->day)
            return tb_fail(f->err, TB_E_NOT_FOUND, "days", "The usage of %s, entry %" PRId64 " of the log, is missing.", f->date,
                           of->days[i].index);
        code = count_day(f, day);
    }
    return code;
}

/* --- the sums --- */

static tb__day_span part_span(const fill *f, uint32_t part)
{
    const tb_bill_part *p = &f->to->input.parts[part];
    return (tb__day_span){f->to->input.month, p->from_us / TB_US_PER_HOUR,
                          tb__earlier(p->to_us / TB_US_PER_HOUR, f->until_hour)};
}

static void sum_bytes(const fill *f, tb_bill_bytes *bytes)
{
    for (size_t i = 0; i < f->n_bytes; i++) {
        const taker *t = &f->bytes[i];
        const tb__day_span span = {f->of->input.month, t->from, tb__earlier(t->to, f->until_hour)};
        bytes[t->of].bytes = tb__days_total(&f->byte_sums[t->of], span, &bytes[t->of].evidence);
    }
}

static void sum_usage(const fill *f)
{
    const tb_bill_input *in = &f->to->input;
    for (size_t i = 0; i < in->n_balancers; i++)
        f->lists.balancers[i].requests =
            tb__days_total(&f->balancer_sums[i], part_span(f, in->balancers[i].part), &f->lists.balancers[i].evidence);
    for (size_t i = 0; i < in->n_usage; i++)
        if (in->meters[in->usage[i].meter].kind == TB_METER_COUNTER)
            f->lists.usage[i].quantity = tb__days_total(&f->usage_sums[i], part_span(f, in->usage[i].part), &f->lists.usage[i].evidence);
}

static tb_code end_gauges(fill *f)
{
    tb_code code = TB_OK;
    for (size_t i = 0; !code && i < f->n_series; i++) {
        series *s = &f->series[i];
        if (!s->walk.fn) continue;
        code = pass_gaps(f, s, f->until_us - 1);
        if (!code) code = tb__gauge_end(&s->walk, f->until_us, f->err);
        if (!code) code = tb__gauge_month_end(&s->month, f->err);
    }
    return code;
}

/* Those without usage before until_us are left out. */
static void end_samples(fill *f)
{
    tb_bill_input *in = &f->to->input;
    size_t kept = 0;
    for (size_t i = 0; i < in->n_samples; i++) {
        tb_bill_samples s = f->lists.samples[i];
        if (!f->values[i]) continue;
        tb__intervals_end(f->values[i], in->month, f->until_us, in->meters[s.meter].interval, &s);
        if (s.present) f->lists.samples[kept++] = s;
    }
    in->n_samples = kept;
    if (!f->bandwidth) return;
    const int interval = tb__bandwidth_finest(f->bandwidth, f->month_s / TB_METER_INTERVAL, f->month_s / 3600);
    in->bandwidth = (tb_bill_samples){.resource = "", .dimension = {"", ""}};
    tb__intervals_end(f->bandwidth, in->month, f->until_us, interval, &in->bandwidth);
}

/* --- the whole --- */

static void *copy_list(fill *f, const void *list, size_t n, size_t size)
{
    return tb__arena_copy(&f->to->arena, list, n * size);
}

/* Lists that get quantities are the filled input's own. */
static tb_code copy_lists(fill *f)
{
    tb_bill_input *in = &f->to->input;
    in->bytes = f->lists.bytes = copy_list(f, in->bytes, in->n_bytes, sizeof *in->bytes);
    in->balancers = f->lists.balancers = copy_list(f, in->balancers, in->n_balancers, sizeof *in->balancers);
    in->usage = f->lists.usage = copy_list(f, in->usage, in->n_usage, sizeof *in->usage);
    in->samples = f->lists.samples = copy_list(f, in->samples, in->n_samples, sizeof *in->samples);
    f->balancer_sums = day_room(f, in->n_balancers, sizeof *f->balancer_sums);
    return in->bytes && in->balancers && in->usage && in->samples && f->balancer_sums ? TB_OK : tb_no_memory(f->err);
}

static tb_code make_filled(fill *f, const tb_check_parts *parts)
{
    tb_code code = check_lists(f);
    if (!code) code = copy_lists(f);
    if (!code) code = list_bytes(f);
    if (!code) code = list_ties(f);
    if (!code) code = list_usage(f);
    if (!code) code = list_samples(f);
    if (!code) code = count_days(f, parts);
    if (!code) code = end_gauges(f);
    if (code) return code;
    sum_bytes(f, f->lists.bytes);
    sum_usage(f);
    end_samples(f);
    return TB_OK;
}

tb_code tb__days_fill(const tb_check_parts *parts, const tb__term_month *month, int64_t until_us, tb__filled *ret, tb_error *err)
{
    const int64_t from_us = tb_month_start_us(month->input.month), to_us = tb_month_start_us(month->input.month + 1);
    fill f = {.of = month, .to = ret, .err = err, .until_us = tb__later(from_us, tb__earlier(until_us, to_us))};
    *ret = (tb__filled){.input = month->input};
    tb__arena_init(&ret->arena, NULL);
    f.from_hour = from_us / TB_US_PER_HOUR;
    f.until_hour = f.until_us / TB_US_PER_HOUR;
    f.month_s = (uint32_t)((to_us - from_us) / TB_US_PER_S);
    ret->input.percentile = month->input.contract.percentile;
    tb_code code = make_filled(&f, parts);
    if (code) tb__filled_release(ret);
    return code;
}

void tb__filled_release(tb__filled *filled)
{
    tb__arena_release(&filled->arena);
    *filled = (tb__filled){.counted = {0}};
}
