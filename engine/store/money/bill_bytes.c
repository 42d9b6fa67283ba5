/* A zone's bytes in a month. Within a part of the month they are cut again at the first full hour under other settings, the zone's own
 * or its account's: an hour belongs to the settings in force at its start. */
#include "store/money/bill_making.h"

#include <stdlib.h>
#include <string.h>

/* --- terms in force --- */

/* The zone's terms in force at this hour. The first terms hold from the beginning. */
static const tb__terms *terms_at(const tb__billing *b, const tb__billed_zone *zone, int64_t hour)
{
    const tb__terms *list = b->terms + zone->terms.first;
    size_t i = zone->terms.n - 1;
    while (i > 0 && tb__hour_after(list[i].from_us) > hour)
        i--;
    return &list[i];
}

const tb__account_terms *tb__account_terms_at(const tb__billing *b, int64_t hour)
{
    size_t i = b->n_account_terms - 1;
    while (i > 0 && tb__hour_after(b->account_terms[i].from_us) > hour)
        i--;
    return &b->account_terms[i];
}

tb__rate tb__rate_at(const tb__billing *b, const tb__billed_zone *zone, int64_t hour)
{
    const tb__terms *own = terms_at(b, zone, hour);
    const tb__account_terms *account = tb__account_terms_at(b, hour);
    tb__rate r = {.charge = own->volume ? TB_CHARGE_VOLUME : TB_CHARGE_PREMIUM,
                  .fault = own->fault};
    while (r.part + 1 < b->n_parts && b->parts[r.part + 1].from_us <= hour * TB_US_PER_HOUR)
        r.part++;
    if (tb_decimal_sign(own->override_price) > 0) {
        r.charge = TB_CHARGE_OVERRIDE;
        r.override_price = own->override_price;
    }
    if (r.charge != TB_CHARGE_PREMIUM) return r;
    for (int i = 0; i < TB_BILLING_REGION_COUNT; i++)
        r.discount[i] = (int)tb__later(own->discount[i], account->discount[i]);
    if (!r.fault) r.fault = account->fault[TB__PART_DISCOUNTS];
    return r;
}

static bool same_rate(const tb__rate *a, const tb__rate *b)
{
    return a->part == b->part && a->charge == b->charge && a->fault == b->fault &&
           memcmp(a->discount, b->discount, sizeof a->discount) == 0 &&
           tb_decimal_compare(a->override_price, b->override_price) == 0;
}

/* --- cuts --- */

static tb_code add_cut(tb__making *m, int64_t hour, tb_error *err)
{
    struct tb__billing *b = m->b;
    if (hour <= m->from_hour || hour >= m->usage_hour) return TB_OK;
    tb_code code = TB__GROW(b, cuts, err);
    if (!code) b->cuts[b->n_cuts++] = hour;
    return code;
}

/* The hours at which something may change for a zone, and the end of usage last. */
static tb_code make_cuts(tb__making *m, const tb__billed_zone *zone, tb_error *err)
{
    struct tb__billing *b = m->b;
    tb_code code = TB_OK;
    b->n_cuts = 0;
    for (size_t i = 1; !code && i < b->n_parts; i++)
        code = add_cut(m, b->parts[i].from_us / TB_US_PER_HOUR, err);
    for (size_t i = 1; !code && i < zone->terms.n; i++)
        code = add_cut(m, tb__hour_after(b->terms[zone->terms.first + i].from_us), err);
    for (size_t i = 1; !code && i < b->n_account_terms; i++)
        code = add_cut(m, tb__hour_after(b->account_terms[i].from_us), err);
    if (!code) code = TB__GROW(b, cuts, err);
    if (code) return code;
    b->cuts[b->n_cuts++] = m->usage_hour;
    if (b->n_cuts > 1) qsort(b->cuts, b->n_cuts, sizeof *b->cuts, tb__by_int64);
    return TB_OK;
}

/* --- bytes --- */

const tb__billed_place *tb__place_of(const tb__billing *b, int64_t edge, tb_error *err)
{
    size_t lo = 0, hi = b->n_places;
    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        if (b->places[mid].edge < edge)
            lo = mid + 1;
        else
            hi = mid;
    }
    if (lo < b->n_places && b->places[lo].edge == edge) return &b->places[lo];
    tb_fail(err, TB_E_CORRUPT, "series", "Edge location %lld has no code.", (long long)edge);
    return NULL;
}

static tb_code add_bytes(tb__making *m, const tb__billed_zone *zone, const tb__rate *r,
                         const tb__billed_place *place, const tb__day_sums *sums, tb__day_span span,
                         tb_error *err)
{
    tb_bill_bytes entry = {.zone = zone->id,
                           .part = r->part,
                           .charge = r->charge,
                           .priced = place->priced,
                           .override_price = r->override_price};
    entry.bytes = tb__days_total(sums, span, &entry.evidence);
    if (entry.bytes == 0) return TB_OK;
    if (r->fault) return tb__fail_by(m->b, r->fault, err);
    if (place->priced) {
        entry.region = place->region;
        entry.discount = r->discount[place->region];
    } else {
        memcpy(entry.location, place->code, sizeof entry.location);
    }
    tb_code code = TB__GROW(m->b, bytes, err);
    if (!code) m->b->bytes[m->b->n_bytes++] = entry;
    return code;
}

/* Adds one location's span to sums. */
static tb_code add_location(tb__making *m, const tb__billed_zone *zone, size_t i, tb__day_span span,
                            tb__day_sums *sums, tb_error *err)
{
    const tb__placed *at = &m->b->series[zone->series.first + i];
    tb_code code = tb__days_add(m->store, at->series, TB_M_BYTES, m->b->days[i], span, sums, err);
    return code ? code
                : tb__days_take_late(m->b, TB__SCOPE_ZONE, zone->id, at->edge, 0, span, sums, err);
}

/* The same, and keeps the place where the location has usage in the span. */
static tb_code add_placed(tb__making *m, const tb__billed_zone *zone, size_t i, const tb__billed_place *place,
                          tb__day_span span, tb__day_sums *sums, tb_error *err)
{
    tb__day_sums own = {{0}};
    bool used = false;
    if (!m->origins) return add_location(m, zone, i, span, sums, err);
    tb_code code = add_location(m, zone, i, span, &own, err);
    for (int day = 0; day < TB__MONTH_DAYS; day++) {
        sums->day[day] += own.day[day];
        used |= own.day[day] != 0;
    }
    if (code || !used) return code;
    code = TB__GROW(m->b, used, err);
    if (!code) m->b->used[m->b->n_used++] = (size_t)(place - m->b->places);
    return code;
}

/* A span's bytes: an entry for each billing region, and one for each location without. */
static tb_code make_span(tb__making *m, const tb__billed_zone *zone, const tb__rate *r, tb__day_span span,
                         tb_error *err)
{
    tb__day_sums regions[TB_BILLING_REGION_COUNT];
    const tb__billed_place *seen[TB_BILLING_REGION_COUNT] = {NULL};
    tb_code code = TB_OK;
    for (size_t i = 0; !code && i < zone->series.n; i++) {
        const tb__billed_place *place = tb__place_of(m->b, m->b->series[zone->series.first + i].edge, err);
        if (!place) return TB_E_CORRUPT;
        tb__day_sums own = {{0}}, *sums = place->priced ? &regions[place->region] : &own;
        if (place->priced && !seen[place->region]) memset(sums, 0, sizeof *sums);
        if (place->priced) seen[place->region] = place;
        code = add_placed(m, zone, i, place, span, sums, err);
        if (!code && !place->priced) code = add_bytes(m, zone, r, place, sums, span, err);
    }
    for (int i = 0; !code && i < TB_BILLING_REGION_COUNT; i++)
        if (seen[i]) code = add_bytes(m, zone, r, seen[i], &regions[i], span, err);
    return code;
}

static int by_part_charge_region(const void *a, const void *b)
{
    const tb_bill_bytes *x = a, *y = b;
    if (x->part != y->part) return x->part < y->part ? -1 : 1;
    if (x->charge != y->charge) return x->charge < y->charge ? -1 : 1;
    if (x->priced != y->priced) return x->priced ? -1 : 1;
    if (x->region != y->region) return x->region < y->region ? -1 : 1;
    int order = strcmp(x->location, y->location);
    if (order) return order;
    return x->evidence.from_us < y->evidence.from_us ? -1 : 1;
}

static tb_code read_days(tb__making *m, const tb__billed_zone *zone, tb_error *err)
{
    struct tb__billing *b = m->b;
    tb_code code = TB_OK;
    for (b->n_days = 0; !code && b->n_days < zone->series.n; b->n_days++) {
        code = TB__GROW(b, days, err);
        if (!code)
            code = m->store->plane.counters->days(m->store, b->series[zone->series.first + b->n_days].series,
                                 TB_M_BYTES, m->month, b->days[b->n_days], err);
    }
    return code;
}

tb_code tb__bytes_make(tb__making *m, const tb__billed_zone *zone, tb_error *err)
{
    struct tb__billing *b = m->b;
    size_t first = b->n_bytes;
    int64_t from = m->from_hour;
    if (!zone->series.n) return TB_OK;
    tb_code code = make_cuts(m, zone, err);
    if (!code) code = read_days(m, zone, err);
    tb__rate now = tb__rate_at(b, zone, from);
    for (size_t i = 0; !code && i < b->n_cuts; i++) {
        tb__rate next = i + 1 < b->n_cuts ? tb__rate_at(b, zone, b->cuts[i]) : now;
        if (b->cuts[i] == from || (i + 1 < b->n_cuts && same_rate(&now, &next))) continue;
        code = make_span(m, zone, &now, (tb__day_span){m->month, from, b->cuts[i]}, err);
        from = b->cuts[i];
        now = next;
    }
    if (!code && b->n_bytes - first > 1)
        qsort(b->bytes + first, b->n_bytes - first, sizeof *b->bytes, by_part_charge_region);
    return code;
}
