/* A month's usage under tiers, across books: the units of each part take their positions after those of
 * the parts before, and are priced by the tiers of the part's own book (tariff.h). Free units are rows
 * too, so that a line's rows hold all its usage. */
#include "billing/draft.h"
#include "tollbook/tariff.h"

#include <string.h>

bool tb__spans_gather(const tb__draft *d, const tb__run *run, tb__span *spans, size_t *ret_n)
{
    const size_t n_parts = d->in->n_parts;
    tb__entry e;
    memset(spans, 0, n_parts * sizeof *spans);
    for (size_t i = run->first; i < run->end && run->entry(d, i, &e); i++) {
        tb__span *span = &spans[e.part];
        if (!e.charged) continue;
        span->part = e.part;
        span->tiers = e.tiers;
        if (__builtin_add_overflow(span->units, e.units, &span->units)) return false;
    }
    *ret_n = 0;
    for (size_t i = 0; i < n_parts; i++)
        if (spans[i].units > 0) spans[(*ret_n)++] = spans[i];
    return true;
}

size_t tb__axis_rows(const tb__span *spans, size_t n)
{
    size_t rows = 0;
    for (size_t i = 0; i < n; i++)
        rows += 1 + (spans[i].tiers->mode == TB_VOLUME ? 1 : spans[i].tiers->n);
    return rows;
}

static tb_code add_segment(tb__draft *d, const tb__span *span, const tb_tier_segment *s)
{
    return tb__line_row(d, &(tb_bill_tier){.part = span->part,
                                           .from = s->from,
                                           .to = s->to,
                                           .units = s->units,
                                           .price = s->price,
                                           .shown = span->tiers->tier[s->tier].shown,
                                           .amount = s->amount,
                                           .by_block = span->tiers->mode == TB_PACKAGE,
                                           .blocks = s->blocks});
}

static tb_code add_span(tb__draft *d, const tb__span *span, tb_i128 used, tb_i128 whole)
{
    tb_rating rating;
    tb_stretch stretch = {.used = used, .units = span->units, .whole = whole};
    tb_code code = tb_tariff_rate(span->tiers, stretch, &rating, d->err);
    if (code) return code;
    if (rating.free > 0)
        code = tb__line_row(d, &(tb_bill_tier){.part = span->part,
                                               .from = used,
                                               .to = used + rating.free,
                                               .units = rating.free});
    for (size_t i = 0; i < rating.n && !code; i++)
        code = add_segment(d, span, &rating.segment[i]);
    return code;
}

tb_code tb__axis_rate(tb__draft *d, const tb__span *spans, size_t n)
{
    tb_i128 used = 0, whole = 0;
    tb_code code = TB_OK;
    for (size_t i = 0; i < n; i++)
        if (__builtin_add_overflow(whole, spans[i].units, &whole))
            return tb_fail(d->err, TB_E_OVERFLOW, NULL, "The sum of usage passes 2^127-1.");
    for (size_t i = 0; i < n && !code; used += spans[i++].units)
        code = add_span(d, &spans[i], used, whole);
    return code;
}

/* --- lines --- */

static tb_code refuse_sum(const tb__draft *d, const tb__run *run)
{
    char resource[TB_BILL_RESOURCE_MAX];
    const char *name = tb_line_kind_name(run->kind);
    tb__resource_put(resource, run->kind, run->id);
    return tb_fail(d->err, TB_E_OVERFLOW, name, "%s of %s: The sum of %ss passes 2^127-1.", name, resource,
                   tb_line_kind_unit(run->kind));
}

tb_code tb__tiers_line(tb__draft *d, const tb__run *run)
{
    tb__span *spans = tb__arena_take(&d->arena, d->in->n_parts * sizeof *spans);
    size_t n;
    if (!spans) return tb_no_memory(d->err);
    if (!tb__spans_gather(d, run, spans, &n)) return refuse_sum(d, run);
    tb_code code = tb__line_open(d, run->kind, run->id, NULL, tb__axis_rows(spans, n));
    if (!code) tb__line_evidence_of(d, run);
    if (!code) code = tb__axis_rate(d, spans, n);
    return code ? code : tb__line_close(d);
}

tb_code tb__bill_tiers(tb__draft *d, tb_line_kind kind)
{
    tb__run run = {.kind = kind, .entry = tb__ratings[kind].entry};
    tb_code code = TB_OK;
    while (!code && tb__next_run(d, &run))
        if (run.n_charged) code = tb__tiers_line(d, &run);
    return code;
}
