/* Metered usage: counters, gauges and samples by the rates of the parts' books.
 *
 * A rate's scope and `by` say which entries share tiers and a line: all of the account or those of one resource, all
 * values of a dimension or one. Where the books of a month say it differently, each way has lines of its own. Entries are
 * sorted into lines once; usage without a price is grouped in the same way, and listed by gaps.c.
 *
 * Tiers are in base units, so that parts keep their positions whatever unit their prices are for (divide.c). Samples are
 * priced as a whole by the month's last book. */
#include "billing/draft.h"
#include "tollbook/calendar.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- prices --- */

/* What a part's book charges for a meter. */
typedef struct terms {
    const tb_meter_rate *rate;
    int by;             /* the index of the dimension; -1: none */
    tb__price missing;  /* where nothing of the meter has a price */
    tb__price no_value; /* where a value of `by` has none */
    tb__price *price;   /* one for each of rate->rate, resolved when first used */
} terms;

static tb_code find_terms(tb__draft *d, const tb_meter *meter, uint32_t part, terms *ret)
{
    const tb_book *book = tb__book(d, part);
    terms t = {.by = -1, .rate = book ? tb__book_meter(book, meter->id) : NULL};
    t.missing = (tb__price){.resolved = true, .gap = book ? TB__NO_PRICE : TB__NO_BOOK};
    if (t.rate) {
        t.no_value = (tb__price){.resolved = true, .gap = TB__NO_PRICE, .rate = t.rate};
        t.missing.gap = TB__PRICED;
        for (int i = 0; t.rate->by[0] && i < meter->n_dimensions; i++)
            if (strcmp(meter->dimension[i], t.rate->by) == 0) t.by = i;
        if (t.rate->by[0] && t.by < 0) {
            t.missing.gap = TB__NO_FIT;
            t.missing.fault = (tb__rate_fault){"by", "Must be one of the meter's dimensions."};
        }
        t.price = tb__arena_take(&d->arena, t.rate->n * sizeof *t.price);
        if (!t.price) return tb_no_memory(d->err);
        memset(t.price, 0, t.rate->n * sizeof *t.price);
    }
    t.missing.rate = t.rate;
    *ret = t;
    return TB_OK;
}

/* Finds the tiers of a price. Prices for units are set to 0 here, prices for blocks are kept: tb__axis_rate then gives rows
 * their flats and blocks, and tb__divide_rows adds what the units cost. */
static tb_code resolve(tb__draft *d, const tb_meter *meter, const tb_meter_rate *rate, const tb_rate *of, tb__price *price)
{
    tb_tiers *tiers = tb__arena_take(&d->arena, offsetof(tb_tiers, tier) + of->n * sizeof *tiers->tier);
    if (!tiers) return tb_no_memory(d->err);
    *price = (tb__price){.resolved = true, .rate = rate, .gap = TB__NO_FIT};
    if (!tb__rate_resolve(meter, rate, of, d->month_seconds, tiers, &price->per, &price->fault)) return TB_OK;
    for (size_t i = 0; tiers->mode != TB_PACKAGE && i < tiers->n; i++)
        tiers->tier[i].price = TB_DECIMAL_ZERO;
    price->gap = TB__PRICED;
    price->tiers = tiers;
    return TB_OK;
}

static tb_code find_price(tb__draft *d, const tb_meter *meter, terms *t, const char *value, const tb__price **ret)
{
    const tb_rate *of = t->missing.gap == TB__PRICED ? tb__rate_of(t->rate, value) : NULL;
    tb__price *price = of ? &t->price[of - t->rate->rate] : t->missing.gap == TB__PRICED ? &t->no_value : &t->missing;
    *ret = price;
    return price->resolved ? TB_OK : resolve(d, meter, t->rate, of, price);
}

/* Bandwidth at a percentile is priced as a meter of kind sample that counts bytes. */
static tb_meter bandwidth_meter(const tb_bill_input *in)
{
    return (tb_meter){.kind = TB_METER_SAMPLE, .unit = "byte", .display_per = 1, .interval = in->bandwidth.interval};
}

static tb_code price_bandwidth(tb__draft *d)
{
    const tb_book *book = tb__book(d, (uint32_t)d->in->n_parts - 1);
    const tb_meter meter = bandwidth_meter(d->in);
    d->percentile = (tb__price){.gap = TB__PRICED};
    if (!d->in->percentile || d->in->bandwidth.present == 0) return TB_OK;
    if (book && book->has_percentile)
        return resolve(d, &meter, &book->percentile, book->percentile.rate, &d->percentile);
    d->percentile.gap = book ? TB__NO_PRICE : TB__NO_BOOK;
    return TB_OK;
}

/* --- lines --- */

static int compare_resources(const tb__metered *a, const tb__metered *b)
{
    char left[TB_BILL_RESOURCE_MAX], right[TB_BILL_RESOURCE_MAX];
    if (strcmp(a->noun, b->noun) == 0) return strcmp(a->name, b->name);
    snprintf(left, sizeof left, "%s:%s", a->noun, a->name);
    snprintf(right, sizeof right, "%s:%s", b->noun, b->name);
    return strcmp(left, right);
}

/* By line; 0: of the same line, or of the same gap. */
static int compare_lines(const tb__metered *a, const tb__metered *b)
{
    const bool priced = a->price->gap == TB__PRICED;
    if (a->meter != b->meter) return a->meter < b->meter ? -1 : 1;
    int order = compare_resources(a, b);
    if (!order) order = strcmp(a->value, b->value);
    if (order) return order;
    if (a->by != b->by) return a->by < b->by ? -1 : 1;
    if (priced != (b->price->gap == TB__PRICED)) return priced ? -1 : 1;
    return priced || a->part == b->part ? 0 : a->part < b->part ? -1 : 1;
}

static int compare_entries(const void *left, const void *right)
{
    const tb__metered *a = left, *b = right;
    const int order = compare_lines(a, b);
    return order ? order : a->at < b->at ? -1 : a->at > b->at;
}

size_t tb__metered_end(const tb__draft *d, size_t first)
{
    size_t end = first + 1;
    while (end < d->n_metered && compare_lines(&d->metered[first], &d->metered[end]) == 0)
        end++;
    return end;
}

static tb_code add_entry(tb__draft *d, terms *t, tb__metered e, const char *resource, const char *const *dimension)
{
    const tb_meter *meter = &d->in->meters[e.meter];
    tb_code code = t->missing.resolved ? TB_OK : find_terms(d, meter, e.part, t);
    e.by = code ? -1 : t->by;
    e.value = e.by >= 0 ? dimension[e.by] : "";
    if (!code) code = find_price(d, meter, t, e.value, &e.price);
    if (code) return code;
    const bool by_resource = e.price->gap == TB__PRICED && t->rate->by_resource;
    e.noun = by_resource ? meter->noun : "meter";
    e.name = by_resource ? resource : meter->id;
    d->metered[d->n_metered++] = e;
    return TB_OK;
}

tb_code tb__meters_prepare(tb__draft *d)
{
    const tb_bill_input *in = d->in;
    const size_t most = in->n_usage + in->n_samples, n_terms = in->n_meters * in->n_parts;
    const uint32_t last_part = (uint32_t)in->n_parts - 1;
    tb_code code = price_bandwidth(d);
    d->n_metered = d->n_meter_lines = 0;
    if (code || most == 0) return code;
    terms *list = tb__arena_take(&d->arena, n_terms * sizeof *list);
    d->meter_sums = tb__arena_take(&d->arena, in->n_meters * sizeof *d->meter_sums);
    d->metered = tb__arena_take(&d->arena, most * sizeof *d->metered);
    if (!list || !d->meter_sums || !d->metered) return tb_no_memory(d->err);
    memset(list, 0, n_terms * sizeof *list);
    for (size_t i = 0; i < in->n_meters; i++)
        d->meter_sums[i] = (tb__meter_sum){.used = false};
    for (size_t i = 0; i < in->n_usage && !code; i++) {
        const tb_bill_usage *u = &in->usage[i];
        if (u->quantity == 0) continue;
        code = add_entry(d, &list[u->meter * in->n_parts + u->part],
                         (tb__metered){.meter = u->meter, .part = u->part, .at = i}, u->resource, u->dimension);
    }
    for (size_t i = 0; i < in->n_samples && !code; i++) {
        const tb_bill_samples *s = &in->samples[i];
        if (s->present == 0) continue;
        code = add_entry(d, &list[s->meter * in->n_parts + last_part],
                         (tb__metered){.meter = s->meter, .part = last_part, .at = i}, s->resource, s->dimension);
    }
    bool sorted = true;
    for (size_t i = 1; i < d->n_metered && sorted && !code; i++)
        sorted = compare_entries(&d->metered[i - 1], &d->metered[i]) < 0;
    if (!sorted && !code) qsort(d->metered, d->n_metered, sizeof *d->metered, compare_entries);
    for (size_t at = 0; at < d->n_metered && !code; at = tb__metered_end(d, at))
        d->n_meter_lines++;
    return code;
}

/* The texts of an item, with the bill's memory. */
typedef struct item_texts {
    tb_bill_item item;
    tb_meter meter;
    char unit[TB_METER_UNIT_MAX + 8], per_unit[TB_METER_UNIT_MAX + 8];
} item_texts;

/* What a price is for, where the book names it: "GB-month". */
static void put_per_unit(const tb_meter *meter, const tb_meter_rate *rate, char *out, size_t size)
{
    const char *name = strcmp(rate->per, "1") == 0 ? meter->unit : rate->per;
    const char *time = rate->time == TB_RATE_MONTH ? "-month" : rate->time == TB_RATE_HOUR ? "-hour" : "";
    if (name[0] >= '0' && name[0] <= '9')
        out[0] = '\0';
    else
        snprintf(out, size, "%s%s", name, time);
}

tb_code tb__line_open_meter(tb__draft *d, tb_line_kind kind, const tb__metered *of, size_t rows_max)
{
    tb_code code = tb__line_open(d, kind, 0, of->value, rows_max);
    if (!code && !d->bare)
        snprintf(d->line->resource, sizeof d->line->resource, "%s:%s", of->noun, of->name);
    return code;
}

tb_code tb__line_meter(tb__draft *d, const tb_meter *meter, const tb__metered *of, const tb_meter_rate *rate, tb_i128 per)
{
    tb_bill_line *line = d->line;
    char unit[sizeof((item_texts *)0)->unit] = "", per_unit[sizeof((item_texts *)0)->per_unit] = "";
    if (d->bare) return TB_OK;
    if (rate) snprintf(unit, sizeof unit, "%s%s", meter->unit, meter->kind == TB_METER_GAUGE ? "-second" : "");
    if (rate && per > 1) put_per_unit(meter, rate, per_unit, sizeof per_unit);
    if (per <= 1) per = 0;
    tb__meter_sum *sum = of ? &d->meter_sums[of->meter] : NULL;
    if (sum && sum->item && sum->item->per == per && strcmp(sum->item->unit, unit) == 0 &&
        strcmp(sum->item->per_unit, per_unit) == 0) {
        line->item = sum->item;
        return TB_OK;
    }
    item_texts *texts = tb__arena_take(&d->arena, sizeof *texts);
    if (!texts) return tb_no_memory(d->err);
    texts->meter = *meter;
    memcpy(texts->unit, unit, sizeof unit);
    memcpy(texts->per_unit, per_unit, sizeof per_unit);
    texts->item = (tb_bill_item){.id = texts->meter.id,
                                 .name = texts->meter.name,
                                 .unit = texts->unit,
                                 .per_unit = texts->per_unit,
                                 .per = per,
                                 .charge = texts->meter.charge,
                                 .ledger_code = texts->meter.ledger_code,
                                 .unece = texts->meter.unece};
    line->item = &texts->item;
    if (sum) sum->item = line->item;
    return TB_OK;
}

/* The parts of the newest line, one for each of the month's. */
typedef struct parts {
    const tb__price **price; /* NULL: the line has nothing in this part */
    tb__span *spans;         /* of parts with units */
    size_t n;
} parts;

static tb_code make_parts(tb__draft *d, parts *ret)
{
    ret->price = tb__arena_take(&d->arena, d->in->n_parts * sizeof *ret->price);
    ret->spans = tb__arena_take(&d->arena, d->in->n_parts * sizeof *ret->spans);
    return ret->price && ret->spans ? TB_OK : tb_no_memory(d->err);
}

/* Rates the newest line, which is open, and closes it. */
static tb_code close(tb__draft *d, const tb_meter *meter, const tb__metered *of, const parts *p)
{
    const tb_meter_rate *rate = NULL;
    tb_i128 per;
    tb_code code = tb__axis_rate(d, p->spans, p->n);
    if (!code) code = tb__divide_rows(d, p->price, &per);
    if (code) return code;
    for (size_t i = 0; i < d->in->n_parts; i++)
        if (p->price[i] && (!rate || p->price[i]->per == per)) rate = p->price[i]->rate;
    code = tb__line_meter(d, meter, of, rate, per);
    return code ? code : tb__line_close(d);
}

/* An entry of a counter or a gauge, by its place in d->metered. */
static bool usage_entry(const tb__draft *d, size_t at, tb__entry *ret)
{
    const tb__metered *of = &d->metered[at];
    const tb_bill_usage *u = &d->in->usage[of->at];
    *ret = (tb__entry){.part = of->part,
                       .charged = true,
                       .units = u->quantity,
                       .tiers = of->price->tiers,
                       .evidence = &u->evidence};
    return true;
}

static tb_code usage_line(tb__draft *d, const tb__run *run, parts *p)
{
    const tb__metered *of = &d->metered[run->first];
    const tb_meter *meter = &d->in->meters[of->meter];
    memset(p->price, 0, d->in->n_parts * sizeof *p->price);
    for (size_t i = run->first; i < run->end; i++)
        p->price[d->metered[i].part] = d->metered[i].price;
    if (!tb__spans_gather(d, run, p->spans, &p->n))
        return tb_fail(d->err, TB_E_OVERFLOW, "meter", "%s:%s: The usage of meter %s passes 2^127-1.", of->noun, of->name,
                       meter->id);
    tb_code code = tb__line_open_meter(d, run->kind, of, tb__axis_rows(p->spans, p->n));
    if (!code) tb__line_evidence_of(d, run);
    return code ? code : close(d, meter, of, p);
}

/* The whole month is one percentile, of the last part. The evidence is the interval that is billed. */
static tb_code sampled_line(tb__draft *d, tb_line_kind kind, const tb_meter *meter, const tb_bill_samples *list,
                            const tb__metered *of, size_t n, parts *p)
{
    const uint32_t part = (uint32_t)d->in->n_parts - 1;
    const bool is_meter = kind == TB_LINE_METER;
    size_t interval;
    tb__span span = {.part = part, .tiers = of->price->tiers};
    tb_code code = tb__percentile_find(d, list, of, n, of->price->rate->percentile, &span.units, &interval);
    if (code) return code;
    memset(p->price, 0, d->in->n_parts * sizeof *p->price);
    p->price[part] = of->price;
    p->spans[0] = span;
    p->n = span.units > 0;
    const size_t rows = 1 + tb__axis_rows(&span, 1);
    code = is_meter ? tb__line_open_meter(d, kind, of, rows) : tb__line_open(d, kind, d->in->account, NULL, rows);
    if (!code && span.units == 0)
        code = tb__line_row(d, &(tb_bill_tier){.part = part, .shown = span.tiers->tier[0].shown});
    for (size_t i = 0; i < n && !code; i++)
        tb__line_evidence(d, &list[of[i].at].evidence);
    if (!code) code = close(d, meter, is_meter ? of : NULL, p);
    if (code || d->bare) return code;
    d->line->evidence.from_us = d->in->parts[0].from_us + (int64_t)interval * meter->interval * TB_US_PER_S;
    d->line->evidence.to_us = d->line->evidence.from_us + meter->interval * TB_US_PER_S;
    return TB_OK;
}

tb_code tb__bill_meters(tb__draft *d, tb_line_kind kind)
{
    parts p = {.n = 0};
    tb__run run = {.kind = kind, .entry = usage_entry};
    tb_code code = d->n_metered ? make_parts(d, &p) : TB_OK;
    while (run.end < d->n_metered && !code) {
        const tb__metered *of = &d->metered[run.end];
        const tb_meter *meter = &d->in->meters[of->meter];
        run.first = run.end;
        run.end = tb__metered_end(d, run.first);
        if (of->price->gap != TB__PRICED) continue;
        code = meter->kind == TB_METER_SAMPLE
                   ? sampled_line(d, kind, meter, d->in->samples, of, run.end - run.first, &p)
                   : usage_line(d, &run, &p);
        if (code) return code;
        tb__meter_sum *sum = &d->meter_sums[of->meter];
        sum->used = true;
        code = tb_decimal_add(sum->billed, d->line->amount, &sum->billed, d->err);
    }
    return code;
}

tb_code tb__bill_percentile(tb__draft *d, tb_line_kind kind)
{
    const tb_meter meter = bandwidth_meter(d->in);
    const tb__metered of = {.price = &d->percentile, .value = ""};
    parts p = {.n = 0};
    if (!d->percentile.tiers) return TB_OK;
    tb_code code = make_parts(d, &p);
    return code ? code : sampled_line(d, kind, &meter, &d->in->bandwidth, &of, 1, &p);
}
