/* A month's usage under tiers, across books: the units of each part take their positions after those of
 * the parts before, and are priced by the tiers of the part's own book (tariff.h). Free units are rows
 * too, so that a line's rows hold all its usage. */
#include "billing/draft.h"
#include "tollbook/tariff.h"

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
