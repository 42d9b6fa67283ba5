/* Bandwidth of volume zones: the bytes of all the account's zones run through the tiers together, in one line, with
 * each zone's share of it inside, in proportion to bytes.
 *
 * The rounded amount goes out by largest remainder: each zone gets the whole minor units of its
 * proportion, and the rest goes, one unit each, to the largest remainders, ties by zone id. The exact
 * amount is divided half_up at 18 digits (at its own scale, if that is larger; at the largest scale that
 * a decimal of its size allows, if it is that large); the last zone takes the rest. Both sum to the
 * line. Only results must fit: products are formed in 256 bits. */
#include "base/wide.h"
#include "billing/draft.h"

#include <stdlib.h>

__extension__ typedef unsigned __int128 u128;

typedef struct remainder {
    u128 rest;
    size_t share;
} remainder;

static int larger_first(const void *left, const void *right)
{
    const remainder *a = left, *b = right;
    if (a->rest != b->rest) return a->rest > b->rest ? -1 : 1;
    return a->share < b->share ? -1 : a->share > b->share; /* shares ascend by zone */
}

static tb_code whole_units(const tb_bill_line *line, tb_bill_share *shares, size_t n,
                           remainder *rests, tb_i128 *ret_left, tb_error *err)
{
    u128 total = (u128)line->quantity, amount = (u128)line->amount.mantissa, whole;
    tb_i128 left = line->amount.mantissa;
    for (size_t i = 0; i < n; i++) {
        rests[i].share = i;
        if (!tb__multiply_divide(amount, (u128)shares[i].bytes, total, &whole, &rests[i].rest))
            return tb_fail(err, TB_E_OVERFLOW, NULL, "A zone's share passes 2^127-1.");
        shares[i].amount = (tb_decimal){(tb_i128)whole, line->amount.scale};
        left -= shares[i].amount.mantissa;
    }
    *ret_left = left;
    return TB_OK;
}

static tb_code share_exact(const tb_bill_line *line, tb_bill_share *shares, size_t n, tb_error *err)
{
    tb_decimal rest = line->exact;
    int scale = tb_decimal_scale_within(tb_decimal_normal(rest), TB_PRORATE_SCALE);
    for (size_t i = 0; i + 1 < n; i++) {
        tb_code code = tb_decimal_divide(line->exact, shares[i].bytes, line->quantity, scale,
                                         TB_HALF_UP, &shares[i].exact, err);
        if (!code) code = tb_decimal_sub(rest, shares[i].exact, &rest, err);
        if (code) return code;
    }
    shares[n - 1].exact = rest;
    return TB_OK;
}

static tb_code share_out(tb__draft *d, const tb_bill_line *line, tb_bill_share *shares, size_t n)
{
    tb_i128 left = 0;
    remainder *rests = tb__arena_take(&d->arena, n * sizeof *rests);
    if (!rests) return tb_no_memory(d->err);
    tb_code code = whole_units(line, shares, n, rests, &left, d->err);
    if (code) return code;
    qsort(rests, n, sizeof *rests, larger_first);
    for (size_t i = 0; i < (size_t)left; i++)
        shares[rests[i].share].amount.mantissa++;
    return share_exact(line, shares, n, d->err);
}

static bool volume_entry(const tb__draft *d, size_t at, tb__entry *ret)
{
    if (at == d->in->n_bytes) return false;
    const tb_bill_bytes *e = &d->in->bytes[at];
    ret->charged = e->charge == TB_CHARGE_VOLUME && d->byte_gaps[at] == TB__PRICED && e->bytes > 0;
    if (!ret->charged) return true;
    ret->part = e->part;
    ret->units = e->bytes;
    ret->tiers = &tb__book(d, e->part)->volume;
    ret->evidence = &e->evidence;
    return true;
}

/* Zones ascend in the input, so a zone's share is the newest or a new one. Their sum is the line's, which fits. */
static tb_code gather_shares(tb__draft *d, tb_bill_share **ret, size_t *ret_n)
{
    tb_bill_share *shares = tb__arena_take(&d->arena, d->in->n_bytes * sizeof *shares);
    tb__entry e;
    size_t n = 0;
    if (!shares) return tb_no_memory(d->err);
    for (size_t i = 0; volume_entry(d, i, &e); i++) {
        const int64_t zone = d->in->bytes[i].zone;
        if (!e.charged) continue;
        if (n == 0 || shares[n - 1].zone != zone) shares[n++] = (tb_bill_share){.zone = zone};
        shares[n - 1].bytes += e.units;
    }
    *ret = shares;
    *ret_n = n;
    return TB_OK;
}

tb_code tb__bill_volume(tb__draft *d, tb_line_kind kind)
{
    const tb__run run = {.kind = kind, .entry = volume_entry, .id = d->in->account, .end = d->in->n_bytes};
    tb_bill_share *shares = NULL;
    size_t n = 0;
    if (!(d->charges & 1U << TB_CHARGE_VOLUME)) return TB_OK;
    tb_code code = tb__tiers_line(d, &run);
    if (code || d->bare) return code;
    code = gather_shares(d, &shares, &n);
    if (!code) code = share_out(d, d->line, shares, n);
    if (code) return code;
    d->line->shares = shares;
    d->line->n_shares = n;
    return TB_OK;
}
