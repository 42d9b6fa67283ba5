/* Bandwidth of the volume zone: the bytes of all the account's zones run through the tiers
 * together, on one axis for the month. One line, with each zone's share inside. */
#include "billing/draft.h"

#include <inttypes.h>

static bool belongs(const tb__draft *d, size_t i)
{
    const tb_bill_bytes *e = &d->in->bytes[i];
    return e->charge == TB_CHARGE_VOLUME && d->byte_gaps[i] == TB__PRICED && e->bytes > 0;
}

typedef struct gathered {
    tb__span *spans; /* one a part, some without units */
    tb_bill_share *shares;
    size_t n_shares;
} gathered;

static tb_code add_bytes(const tb__draft *d, tb_i128 *to, tb_i128 bytes)
{
    if (__builtin_add_overflow(*to, bytes, to))
        return tb_fail(d->err, TB_E_OVERFLOW, "volume",
                       "volume of account:%" PRId64 ": The sum of bytes passes 2^127-1.",
                       d->in->account);
    return TB_OK;
}

/* Zones ascend in the input, so a zone's share is the newest or a new one. */
static tb_code gather_entry(const tb__draft *d, gathered *g, const tb_bill_bytes *e)
{
    if (d->bare) return add_bytes(d, &g->spans[e->part].units, e->bytes);
    if (g->n_shares == 0 || g->shares[g->n_shares - 1].zone != e->zone)
        g->shares[g->n_shares++] = (tb_bill_share){.zone = e->zone};
    tb_code code = add_bytes(d, &g->spans[e->part].units, e->bytes);
    if (!code) code = add_bytes(d, &g->shares[g->n_shares - 1].bytes, e->bytes);
    return code;
}

static tb_code make_room(tb__draft *d, size_t entries, gathered *ret)
{
    size_t n = d->in->n_parts;
    ret->spans = tb__arena_take(&d->arena, n * sizeof *ret->spans);
    ret->shares = tb__arena_take(&d->arena, d->bare ? 0 : entries * sizeof *ret->shares);
    if (!ret->spans || !ret->shares) return tb_no_memory(d->err);
    for (uint32_t i = 0; i < n; i++) {
        const tb_book *book = tb__book(d, i);
        ret->spans[i] = (tb__span){.part = i, .tiers = book ? &book->volume : NULL};
    }
    return TB_OK;
}

/* Drops parts without units. */
static size_t used_spans(tb__span *spans, size_t n)
{
    size_t used = 0;
    for (size_t i = 0; i < n; i++)
        if (spans[i].units > 0) spans[used++] = spans[i];
    return used;
}

static tb_code volume_line(tb__draft *d, gathered *g)
{
    size_t n = used_spans(g->spans, d->in->n_parts);
    tb_code code =
        tb__line_open(d, TB_LINE_VOLUME, d->in->account, NULL, tb__axis_rows(g->spans, n));
    for (size_t i = 0; i < d->in->n_bytes && !code; i++)
        if (belongs(d, i)) tb__line_evidence(d, &d->in->bytes[i].evidence);
    if (!code) code = tb__axis_rate(d, g->spans, n);
    if (!code) code = tb__line_close(d);
    if (code || d->bare) return code;
    code = tb__share_out(d, d->line, g->shares, g->n_shares);
    if (code) return code;
    d->line->shares = g->shares;
    d->line->n_shares = g->n_shares;
    return TB_OK;
}

tb_code tb__bill_volume(tb__draft *d)
{
    size_t entries = 0;
    gathered g = {.n_shares = 0};
    if (!(d->charges & 1U << TB_CHARGE_VOLUME)) return TB_OK;
    for (size_t i = 0; i < d->in->n_bytes; i++)
        entries += belongs(d, i);
    tb_code code = make_room(d, entries, &g);
    for (size_t i = 0; i < d->in->n_bytes && !code; i++)
        if (belongs(d, i)) code = gather_entry(d, &g, &d->in->bytes[i]);
    return code ? code : volume_line(d, &g);
}
