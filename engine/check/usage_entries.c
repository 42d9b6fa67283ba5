/* The entries of a month's terms to which usage is added, sorted, and found by what a line names. Entries of one thing do not overlap, so
 * each line belongs to one of them. */
#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "check/usage_filling.h"
#include "tollbook/calendar.h"

/* --- listing --- */

static int compare_places(const tb__usage_entry *a, const tb__usage_entry *b)
{
    if (a->zone != b->zone) return a->zone < b->zone ? -1 : 1;
    if (a->place != b->place) return a->place < b->place ? -1 : 1;
    return strcmp(a->location, b->location);
}

static int by_place(const void *left, const void *right)
{
    const tb__usage_entry *a = left, *b = right;
    const int order = compare_places(a, b);
    return order ? order : a->from < b->from ? -1 : a->from > b->from;
}

/* Refuses two entries of one hour: a line would belong to both. */
static tb_code sort_entries(const tb__filling *f, tb__usage_entry *list, size_t n)
{
    if (n > 1) qsort(list, n, sizeof *list, by_place);
    for (size_t i = 1; i < n; i++)
        if (compare_places(&list[i - 1], &list[i]) == 0 && list[i].from < list[i - 1].to)
            return tb__wrong_terms(f, "two entries are of the usage of one hour");
    return TB_OK;
}

static tb_code list_bytes(tb__filling *f)
{
    const tb_bill_input *in = &f->month->input;
    f->bytes = tb__filling_room(f, in->n_bytes, sizeof *f->bytes);
    f->byte_sums = tb__filling_room(f, in->n_bytes, sizeof *f->byte_sums);
    if (!f->bytes || !f->byte_sums) return tb_no_memory(f->err);
    for (size_t i = 0; i < in->n_bytes; i++) {
        const tb_bill_bytes *e = &in->bytes[i];
        const int64_t from = e->evidence.from_us, to = e->evidence.to_us;
        if (from % TB_US_PER_HOUR || to % TB_US_PER_HOUR || from >= to || from / TB_US_PER_HOUR < f->from_hour ||
            to > tb_month_start_us(in->month + 1))
            return tb__wrong_terms(f, "an entry of bytes is not of whole hours of its month");
        f->bytes[i] = (tb__usage_entry){e->zone, e->priced ? (int)e->region : -1, e->priced ? "" : e->location, from / TB_US_PER_HOUR,
                                  to / TB_US_PER_HOUR, i};
    }
    f->n_bytes = in->n_bytes;
    return sort_entries(f, f->bytes, f->n_bytes);
}

static tb_code list_ties(tb__filling *f)
{
    const tb_bill_origins *o = &f->month->origins;
    f->ties = tb__filling_room(f, o->n_ties, sizeof *f->ties);
    if (!f->ties) return tb_no_memory(f->err);
    for (size_t i = 0; i < o->n_ties; i++) {
        const tb_origin_tie *t = &o->ties[i];
        const tb__usage_entry tie = {t->zone, -1, "", tb__hour_after(t->from_us), tb__hour_after(t->to_us), i};
        if (tie.from < tie.to) f->ties[f->n_ties++] = tie;
    }
    return sort_entries(f, f->ties, f->n_ties);
}

tb_code tb__list_entries(tb__filling *f)
{
    tb_code code = list_bytes(f);
    return code ? code : list_ties(f);
}

/* The names of two entries: meter, resource, dimensions. */
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

/* Entries that differ by their parts alone are one series. */
tb_code tb__list_series(tb__filling *f)
{
    const tb_bill_input *in = &f->filled->input;
    f->usage_sums = tb__filling_room(f, in->n_usage, sizeof *f->usage_sums);
    f->series = tb__filling_room(f, in->n_usage, sizeof *f->series);
    if (!f->usage_sums || !f->series) return tb_no_memory(f->err);
    for (size_t i = 0; i < in->n_usage; i++) {
        const tb_bill_usage *u = &in->usage[i];
        if (u->meter >= in->n_meters || u->part >= in->n_parts) return tb__wrong_terms(f, "an entry of usage has no meter or no part");
        const int order = i ? compare_usage(u - 1, u) : -1;
        if (order > 0 || (order == 0 && u[-1].part >= u->part)) return tb__wrong_terms(f, "the entries of usage do not ascend");
        if (order < 0) f->series[f->n_series++] = (tb__series){.filling = f, .first = i};
        f->series[f->n_series - 1].n++;
    }
    return TB_OK;
}

tb_code tb__list_samples(tb__filling *f)
{
    const tb_bill_input *in = &f->filled->input;
    f->values = tb__filling_room(f, in->n_samples, sizeof *f->values);
    if (!f->values) return tb_no_memory(f->err);
    for (size_t i = 0; i < in->n_samples; i++) {
        const tb_bill_samples *s = &in->samples[i];
        const bool there = s->meter < in->n_meters && in->meters[s->meter].kind == TB_METER_SAMPLE;
        const int interval = there ? in->meters[s->meter].interval : 0;
        if (interval != TB_METER_INTERVAL && interval != 3600) return tb__wrong_terms(f, "an entry of samples has no meter of them");
        if (i && compare_names(s[-1].meter, s[-1].resource, s[-1].dimension, s->meter, s->resource, s->dimension) >= 0)
            return tb__wrong_terms(f, "the entries of samples do not ascend");
    }
    if (!in->percentile) return TB_OK;
    f->bandwidth = tb__filling_room(f, f->month_s / TB_METER_INTERVAL + f->month_s / 3600, sizeof *f->bandwidth);
    return f->bandwidth ? TB_OK : tb_no_memory(f->err);
}

/* --- finding --- */

/* The key's hour is its `from`. */
static int entry_of_key(const void *key, const void *item)
{
    const tb__usage_entry *k = key, *t = item;
    const int order = compare_places(k, t);
    return order ? order : k->from < t->from ? -1 : k->from >= t->to;
}

const tb__usage_entry *tb__find_entry(const tb__usage_entry *list, size_t n, const tb__usage_entry *key)
{
    return tb__find_sorted(key, list, n, sizeof *list, entry_of_key);
}

static int part_of_time(const void *key, const void *item)
{
    const int64_t us = *(const int64_t *)key;
    const tb_bill_part *part = item;
    return us < part->from_us ? -1 : us >= part->to_us;
}

uint32_t tb__part_at(const tb_bill_input *in, int64_t hour)
{
    const int64_t us = hour * TB_US_PER_HOUR;
    const tb_bill_part *part = tb__find_sorted(&us, in->parts, in->n_parts, sizeof *part, part_of_time);
    return part ? (uint32_t)(part - in->parts) : 0; /* always found: parts cover their month */
}

static int by_balancer(const void *left, const void *right)
{
    const tb_bill_balancer *a = left, *b = right;
    if (a->balancer != b->balancer) return a->balancer < b->balancer ? -1 : 1;
    return a->part < b->part ? -1 : a->part > b->part;
}

const tb_bill_balancer *tb__find_balancer(const tb_bill_input *in, int64_t balancer, uint32_t part)
{
    const tb_bill_balancer key = {.balancer = balancer, .part = part};
    return tb__find_sorted(&key, in->balancers, in->n_balancers, sizeof key, by_balancer);
}

/* An entry of usage, and its meter. */
typedef struct gauge_key {
    const tb_meter *meter;
    const tb_bill_usage *usage;
} gauge_key;

static int gauge_of_key(const void *key, const void *item)
{
    const gauge_key *k = key;
    const tb_origin_gauge *g = item;
    const int order = strcmp(k->meter->id, g->meter);
    return order ? order : compare_names(0, k->usage->resource, k->usage->dimension, 0, g->resource, g->dimension);
}

uint64_t tb__held_before(const tb__filling *f, const tb_bill_usage *u)
{
    const tb_bill_origins *o = &f->month->origins;
    const gauge_key key = {&f->filled->input.meters[u->meter], u};
    const tb_origin_gauge *gauge = tb__find_sorted(&key, o->gauges, o->n_gauges, sizeof *gauge, gauge_of_key);
    return gauge ? gauge->value : 0;
}
