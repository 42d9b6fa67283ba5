/* Usage without a price: never dropped, never free, but listed with what has to be added before it can
 * be billed. All usage is checked once, before any line is made; the lines then use the same functions
 * to take the priced usage. */
#include "billing/draft.h"
#include "tollbook/calendar.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct tb__gap_entry {
    tb_line_kind kind; /* the owner: bandwidth: a zone; percentile, minimum: the account; balancer_fee: a balancer */
    int64_t id;
    tb_unpriced shown;
};

/* --- what is priced --- */

static tb__gap bytes_gap(const tb__draft *d, const tb_bill_bytes *e)
{
    const tb_book *book = tb__book(d, e->part);
    if (!e->priced) return TB__NO_REGION;
    if (!book) return TB__NO_BOOK;
    switch (e->charge) {
    case TB_CHARGE_PREMIUM:
        return book->has_premium && book->region_priced[e->region] ? TB__PRICED : TB__NO_PRICE;
    case TB_CHARGE_VOLUME: return book->has_volume ? TB__PRICED : TB__NO_PRICE;
    default: return TB__PRICED;
    }
}

/* --- the list --- */

/* path: the missing price in the book, for NO_PRICE; for NO_FIT, the key that does not fit and its rule. */
static void put_reason(char *out, size_t size, const tb_bill_input *in, const tb_bill_part *part,
                       tb__gap gap, const char *path)
{
    const char *currency = in->currency;
    char from[21] = "", to[21] = "";
    tb_time_format(part->from_us, from);
    tb_time_format(part->to_us, to);
    if (gap == TB__NO_REGION)
        snprintf(out, size,
                 "The location has no billing region: name it, with its billing, in "
                 "the catalogue's regions.");
    else if (gap == TB__NO_BOOK && in->book_missing)
        snprintf(out, size,
                 "The contract names book %s, and there is no %.3s price book of that id: add it.",
                 in->contract.book, currency);
    else if (gap == TB__NO_BOOK)
        snprintf(out, size, "No %.3s price book is in force from %s to %s: add one.", currency,
                 from, to);
    else if (gap == TB__NO_FIT)
        snprintf(out, size, "Book %s, %s Add a book that supersedes it and fits.", part->book->id, path);
    else
        snprintf(out, size, "Book %s has no %s: add a book that supersedes it and has it.",
                 part->book->id, path);
}

static void add(tb__draft *d, tb_line_kind kind, int64_t id, const char *what, tb_i128 quantity,
                const char *unit, uint32_t part, tb__gap gap, const char *path)
{
    size_t at = d->n_gaps++;
    if (d->bare) return;
    tb__gap_entry *e = &d->gaps[at];
    *e = (tb__gap_entry){.kind = kind, .id = id};
    tb__resource_put(e->shown.resource, kind, id);
    snprintf(e->shown.what, sizeof e->shown.what, "%s", what);
    e->shown.quantity = quantity;
    snprintf(e->shown.unit, sizeof e->shown.unit, "%s", unit);
    put_reason(e->shown.reason, sizeof e->shown.reason, d->in, &d->in->parts[part], gap, path);
}

static void list_bytes(tb__draft *d)
{
    for (size_t i = 0; i < d->in->n_bytes; i++) {
        const tb_bill_bytes *e = &d->in->bytes[i];
        tb__gap gap = d->byte_gaps[i];
        if (gap == TB__PRICED || e->bytes == 0) continue;
        const char *what = gap == TB__NO_REGION            ? e->location
                           : e->charge == TB_CHARGE_VOLUME ? "volume"
                                                           : tb_billing_region_name(e->region);
        char path[64];
        if (d->bare)
            path[0] = '\0';
        else if (e->charge == TB_CHARGE_VOLUME)
            snprintf(path, sizeof path, "bandwidth.volume");
        else
            snprintf(path, sizeof path, "bandwidth.premium.regions.%s", what);
        add(d, TB_LINE_BANDWIDTH, e->zone, what, e->bytes, "byte", e->part, gap, path);
    }
}

/* Entries that lack a section of the book; owner: a kind whose resource is the same thing. */
static void list_entries(tb__draft *d, tb_line_kind kind, tb_line_kind owner)
{
    tb__entry e;
    for (size_t i = 0; tb__ratings[kind].entry(d, i, &e); i++)
        if (e.gap != TB__PRICED && e.units > 0)
            add(d, owner, e.id, e.section, e.units, tb_line_kind_unit(kind), e.part, e.gap, e.section);
}

static void list_fees(tb__draft *d)
{
    for (size_t i = 0; i < d->in->n_fees; i++) {
        const tb_bill_fee *e = &d->in->fees[i];
        char path[TB_FEE_ID_MAX + 8];
        if (tb_book_fee(e->book, e->id)) continue;
        snprintf(path, sizeof path, "fees.%s", e->id);
        add(d, tb__fee_owner(e), e->owner_id, "fee", e->seconds, "second", e->part,
            e->book && tb__book(d, e->part) ? TB__NO_PRICE : TB__NO_BOOK, path);
    }
}

static tb_code add_quantity(const tb__draft *d, const tb__metered *of, tb_i128 *to)
{
    const tb_meter *meter = &d->in->meters[of->meter];
    const bool sampled = meter->kind == TB_METER_SAMPLE;
    const tb_bill_samples *s = &d->in->samples[sampled ? of->at : 0];
    tb_i128 quantity = sampled ? 0 : d->in->usage[of->at].quantity;
    for (size_t i = 0; sampled && i < s->n; i++)
        quantity += s->value[i];
    if (__builtin_add_overflow(*to, quantity, to))
        return tb_fail(d->err, TB_E_OVERFLOW, "meter", "Meter %s: Unpriced usage passes 2^127-1.", meter->id);
    return TB_OK;
}

/* One entry for each part in which a meter, or a value of its dimension, has no price. */
static tb_code list_meters(tb__draft *d)
{
    for (size_t at = 0, end; at < d->n_metered; at = end) {
        const tb__metered *of = &d->metered[at];
        const tb_meter *meter = &d->in->meters[of->meter];
        const tb__price *price = of->price;
        const char *what = of->value[0] ? of->value : "usage";
        char path[256] = "", unit[TB_METER_UNIT_MAX + 8];
        tb_i128 quantity = 0;
        end = tb__metered_end(d, at);
        if (price->gap == TB__PRICED) continue;
        for (size_t i = at; i < end; i++) {
            tb_code code = add_quantity(d, &d->metered[i], &quantity);
            if (code) return code;
        }
        snprintf(unit, sizeof unit, "%s%s", meter->unit, meter->kind == TB_METER_GAUGE ? "-second" : "");
        if (price->gap == TB__NO_FIT)
            snprintf(path, sizeof path, "meters.%s.%s: %s", meter->id, price->fault.key, price->fault.rule);
        else if (price->rate)
            snprintf(path, sizeof path, "meters.%s.prices.%s", meter->id, of->value[0] ? of->value : "*");
        else
            snprintf(path, sizeof path, "meters.%s", meter->id);
        add(d, TB_LINE_METER, 0, what, quantity, unit, of->part, price->gap, path);
        if (!d->bare)
            snprintf(d->gaps[d->n_gaps - 1].shown.resource, TB_BILL_RESOURCE_MAX, "meter:%s", meter->id);
    }
    return TB_OK;
}

static void list_percentile(tb__draft *d)
{
    const tb_bill_samples *s = &d->in->bandwidth;
    tb_i128 bytes = 0;
    char path[256] = "bandwidth.percentile";
    if (d->percentile.gap == TB__PRICED) return;
    for (size_t i = 0; i < s->n; i++)
        bytes += s->value[i];
    if (d->percentile.gap == TB__NO_FIT)
        snprintf(path, sizeof path, "bandwidth.percentile.%s: %s", d->percentile.fault.key, d->percentile.fault.rule);
    add(d, TB_LINE_PERCENTILE, d->in->account, "percentile", bytes, "byte", (uint32_t)d->in->n_parts - 1,
        d->percentile.gap, path);
}

static void list_least(tb__draft *d, const char *what)
{
    for (uint32_t i = 0; i < d->in->n_parts; i++)
        if (!tb__book(d, i))
            add(d, TB_LINE_MINIMUM, d->in->account, what, tb__part_seconds(&d->in->parts[i]),
                "second", i, TB__NO_BOOK, "");
}

/* Without a book in force the minimum is unknown, and a commit has no rounding. */
static void list_leasts(tb__draft *d)
{
    if (tb__is_committed(d->in)) list_least(d, "commit");
    if (!d->in->running && d->in->active_zone) list_least(d, "minimum");
}

/* --- in order, one of each --- */

static int compare(const void *left, const void *right)
{
    const tb__gap_entry *a = left, *b = right;
    if (a->kind != b->kind) return a->kind < b->kind ? -1 : 1;
    if (a->id != b->id) return a->id < b->id ? -1 : 1;
    int order = strcmp(a->shown.resource, b->shown.resource);
    if (!order) order = strcmp(a->shown.what, b->shown.what);
    if (!order) order = strcmp(a->shown.unit, b->shown.unit);
    return order ? order : strcmp(a->shown.reason, b->shown.reason);
}

static tb_code merge(tb__draft *d)
{
    tb_unpriced *list = tb__arena_take(&d->arena, d->n_gaps * sizeof *list);
    if (!list) return tb_no_memory(d->err);
    size_t n = 0;
    qsort(d->gaps, d->n_gaps, sizeof *d->gaps, compare);
    for (size_t i = 0; i < d->n_gaps; i++) {
        const tb_unpriced *found = &d->gaps[i].shown;
        if (i == 0 || compare(&d->gaps[i - 1], &d->gaps[i]) != 0)
            list[n++] = *found;
        else if (__builtin_add_overflow(list[n - 1].quantity, found->quantity,
                                        &list[n - 1].quantity))
            return tb_fail(d->err, TB_E_OVERFLOW, found->resource,
                           "%s, %s: Unpriced usage passes 2^127-1.", found->resource, found->what);
    }
    d->bill.unpriced = list;
    d->bill.n_unpriced = n;
    return TB_OK;
}

tb_code tb__bill_gaps(tb__draft *d)
{
    const tb_bill_input *in = d->in;
    tb_code code = tb__meters_prepare(d);
    size_t max = in->n_optimizers + 2 * in->n_balancers + 2 * in->n_parts + in->n_fees + d->n_meter_lines + 1;
    uint8_t *gaps = code ? NULL : tb__arena_take(&d->arena, in->n_bytes);
    if (!gaps) return code ? code : tb_no_memory(d->err);
    for (size_t i = 0; i < in->n_bytes; i++) {
        gaps[i] = in->percentile ? TB__PRICED : (uint8_t)bytes_gap(d, &in->bytes[i]);
        max += gaps[i] != TB__PRICED;
        if (!in->percentile && gaps[i] == TB__PRICED && in->bytes[i].bytes > 0)
            d->charges |= 1U << in->bytes[i].charge;
    }
    d->byte_gaps = gaps;
    d->gaps = tb__arena_take(&d->arena, d->bare ? 0 : max * sizeof *d->gaps);
    if (!d->gaps) return tb_no_memory(d->err);
    list_bytes(d);
    list_percentile(d);
    list_entries(d, TB_LINE_OPTIMIZER, TB_LINE_BANDWIDTH);
    list_entries(d, TB_LINE_BALANCER_FEE, TB_LINE_BALANCER_FEE);
    list_entries(d, TB_LINE_BALANCER_REQUESTS, TB_LINE_BALANCER_FEE);
    list_fees(d);
    code = list_meters(d);
    list_leasts(d);
    return d->n_gaps && !d->bare && !code ? merge(d) : code;
}
