/* The entries of a month's terms that take usage, sorted, and found by what a line names. Entries of one thing do not overlap, so each
 * line goes into one of them. */
#include <stdlib.h>
#include <string.h>

#include "check/usage_filling.h"
#include "base/list.h"
#include "tollbook/calendar.h"

/* --- what the terms keep --- */

/* Values that the catalogue of meters refuses. */
static tb_code check_meter(const tb__filling *f, const tb_meter *m)
{
    const bool sampled = m->interval == TB_METER_INTERVAL || m->interval == 3600;
    if (m->n_dimensions < 0 || m->n_dimensions > TB_METER_DIMENSIONS || m->display_per < 1 || m->round_up < 0 ||
        m->round_up > TB_METER_VALUE_LARGEST || (m->kind == TB_METER_SAMPLE ? !sampled : m->interval != 0))
        return tb__wrong_terms(f, "a meter has a value that none can have");
    return TB_OK;
}

static tb_code check_contract(const tb__filling *f)
{
    const tb_contract *c = &f->month->input.contract;
    for (size_t i = 0; i < c->n_commits; i++)
        if (c->commits[i].months != 1 && c->commits[i].months != 3 && c->commits[i].months != 12)
            return tb__wrong_terms(f, "a commit's period is not a month, a quarter or a year");
    return TB_OK;
}

static int by_balancer(const void *left, const void *right)
{
    const tb_bill_balancer *a = left, *b = right;
    if (a->balancer != b->balancer) return a->balancer < b->balancer ? -1 : 1;
    return a->part < b->part ? -1 : a->part > b->part;
}

tb_code tb__check_lists(const tb__filling *f)
{
    const tb_bill_input *in = &f->month->input;
    const tb_bill_origins *o = &f->month->origins;
    int64_t at = f->from_hour * TB_US_PER_HOUR;
    for (size_t i = 0; i < in->n_parts; at = in->parts[i++].to_us)
        if (in->parts[i].from_us != at || in->parts[i].to_us <= at || in->parts[i].to_us % TB_US_PER_HOUR)
            return tb__wrong_terms(f, "the parts of a month do not touch");
    if (in->n_parts == 0 || at != tb_month_start_us(in->month + 1)) return tb__wrong_terms(f, "the parts do not cover their month");
    for (size_t i = 1; i < o->n_places; i++)
        if (strcmp(o->places[i - 1].code, o->places[i].code) >= 0) return tb__wrong_terms(f, "the places do not ascend");
    for (size_t i = 1; i < in->n_meters; i++)
        if (strcmp(in->meters[i - 1].id, in->meters[i].id) >= 0) return tb__wrong_terms(f, "the meters do not ascend");
    tb_code code = check_contract(f);
    for (size_t i = 0; !code && i < in->n_meters; i++)
        code = check_meter(f, &in->meters[i]);
    if (code) return code;
    for (size_t i = 0; i < in->n_balancers; i++) {
        const tb_bill_balancer *b = &in->balancers[i];
        if (b->part >= in->n_parts || (i && by_balancer(b - 1, b) >= 0))
            return tb__wrong_terms(f, "the entries of load balancers do not ascend");
    }
    return TB_OK;
}

/* --- what takes usage --- */

/* Of two takers: zone, place and location. */
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

/* Sorts them, and refuses two that take the same hour: each line goes into one entry. */
static tb_code sort_entries(const tb__filling *f, tb__usage_entry *list, size_t n)
{
    if (n > 1) qsort(list, n, sizeof *list, by_place);
    for (size_t i = 1; i < n; i++)
        if (compare_places(&list[i - 1], &list[i]) == 0 && list[i].from < list[i - 1].to)
            return tb__wrong_terms(f, "two entries take the usage of one hour");
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
