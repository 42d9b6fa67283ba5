/* Tiers are ranges on the month's usage; a stretch is cut by them. Everything is reduced to two
 * positions: where a tier begins on the month's usage (shifted by the included units on the net
 * axis), and its anchor, the place of its first charged unit.
 *
 * The prepared form is a table of straight pieces, amount = price x units + offset, found by a
 * binary search without branches. Offsets may be negative and prices large, but arithmetic modulo
 * 2^64 (2^128) gives the right amount wherever the amount itself fits; since amounts rise within a
 * piece, the largest number of units that fits shows that all smaller ones fit. So the inner loop needs
 * one comparison for overflow, collected over the batch and checked once. */
#include "tollbook/tariff.h"

#include <string.h>

__extension__ typedef unsigned __int128 u128;

#define I128_MAX ((tb_i128)((u128)-1 >> 1))

static tb_i128 larger(tb_i128 a, tb_i128 b)
{
    return a > b ? a : b;
}

static tb_i128 smaller(tb_i128 a, tb_i128 b)
{
    return a < b ? a : b;
}

/* Where a tier begins on the month's usage. */
static tb_i128 begin_of(const tb_tiers *t, const tb_tier *tier)
{
    return t->included_absolute ? tier->from : tier->from + t->included;
}

static tb_i128 end_of(const tb_tiers *t, const tb_tier *tier)
{
    if (tier->open) return I128_MAX;
    return t->included_absolute ? tier->to : tier->to + t->included;
}

/* The position before its first charged unit. */
static tb_i128 anchor_of(const tb_tiers *t, const tb_tier *tier)
{
    return larger(begin_of(t, tier), t->included);
}

/* --- one stretch --- */

/* Blocks begun by the first `units` units. */
static tb_i128 blocks_of(tb_i128 units, tb_i128 block)
{
    return units / block + (units % block != 0);
}

/* Adds the charged units (from, to] at tier k. */
static tb_code add_segment(const tb_tiers *t, size_t k, tb_i128 from, tb_i128 to, tb_rating *rating,
                           tb_error *err)
{
    const tb_tier *tier = &t->tier[k];
    tb_i128 anchor = anchor_of(t, tier);
    tb_tier_segment s = {.tier = k, .from = from, .to = to, .units = to - from, .price = tier->price};
    if (t->mode == TB_PACKAGE)
        s.blocks = blocks_of(to - anchor, t->block) - blocks_of(from - anchor, t->block);
    if (anchor >= from && anchor < to) s.flat = tier->flat;
    tb_i128 count = t->mode == TB_PACKAGE ? s.blocks : s.units;
    tb_code code = tb_decimal_mul_int(s.price, count, &s.amount, err);
    if (!code) code = tb_decimal_add(s.amount, s.flat, &s.amount, err);
    if (!code) code = tb_decimal_add(rating->amount, s.amount, &rating->amount, err);
    if (!code) rating->segment[rating->n++] = s;
    return code;
}

static tb_code rate_by_tier(const tb_tiers *t, tb_i128 from, tb_i128 to, tb_rating *rating,
                            tb_error *err)
{
    tb_code code = TB_OK;
    for (size_t k = 0; k < t->n && !code; k++) {
        tb_i128 low = larger(from, begin_of(t, &t->tier[k]));
        tb_i128 high = smaller(to, end_of(t, &t->tier[k]));
        if (low < high) code = add_segment(t, k, low, high, rating, err);
    }
    return code;
}

static tb_code rate_at_one_tier(const tb_tiers *t, tb_i128 from, tb_i128 to, tb_i128 whole,
                                tb_rating *rating, tb_error *err)
{
    size_t k = 0;
    while (whole > end_of(t, &t->tier[k]))
        k++;
    return add_segment(t, k, from, to, rating, err);
}

static tb_code check_stretch(const tb_tiers *t, tb_stretch s, tb_i128 *ret_end, tb_error *err)
{
    tb_i128 end;
    if (s.used < 0 || s.units < 0)
        return tb_fail(err, TB_E_VALIDATION, NULL, "A negative number of units has no price.");
    if (__builtin_add_overflow(s.used, s.units, &end))
        return tb_fail(err, TB_E_OVERFLOW, NULL, "The month's units pass 2^127-1.");
    if (t->mode == TB_VOLUME && s.whole < end)
        return tb_fail(err, TB_E_VALIDATION, NULL, "The month's units are fewer than a part's.");
    *ret_end = end;
    return TB_OK;
}

tb_code tb_tariff_rate(const tb_tiers *tiers, tb_stretch stretch, tb_rating *ret_rating,
                       tb_error *err)
{
    tb_i128 to = 0;
    tb_code code = check_stretch(tiers, stretch, &to, err);
    if (code) return code;
    tb_i128 from = larger(stretch.used, tiers->included);
    tb_rating rating;
    rating.n = 0;
    rating.amount = TB_DECIMAL_ZERO;
    rating.free = stretch.units - (to > from ? to - from : 0);
    if (to > from && tiers->mode == TB_VOLUME)
        code = rate_at_one_tier(tiers, from, to, stretch.whole, &rating, err);
    else if (to > from)
        code = rate_by_tier(tiers, from, to, &rating, err);
    if (code) return code;
    memcpy(ret_rating, &rating, offsetof(tb_rating, segment) + rating.n * sizeof *rating.segment);
    return TB_OK;
}

tb_i128 tb_tier_entry(const tb_tiers *tiers, size_t tier, tb_i128 whole, bool *ret_entered)
{
    const tb_i128 anchor = anchor_of(tiers, &tiers->tier[tier]), end = end_of(tiers, &tiers->tier[tier]);
    *ret_entered = anchor < end && anchor < whole && (tiers->mode != TB_VOLUME || whole <= end);
    return anchor;
}

/* --- preparing --- */

/* A decimal's mantissa at a scale not below its own. */
static tb_code mantissa_at(tb_decimal value, int scale, tb_i128 *ret, tb_error *err)
{
    tb_decimal sum;
    tb_code code = tb_decimal_add(tb_decimal_normal(value), (tb_decimal){0, scale}, &sum, err);
    if (!code) *ret = sum.mantissa;
    return code;
}

static int finest_scale(const tb_tiers *t)
{
    int scale = 0;
    for (size_t k = 0; k < t->n; k++) {
        int price = tb_decimal_normal(t->tier[k].price).scale;
        int flat = tb_decimal_normal(t->tier[k].flat).scale;
        if (price > scale) scale = price;
        if (flat > scale) scale = flat;
    }
    return scale;
}

/* price x units + more, checked; all not negative. */
static bool price_times(tb_i128 price, tb_i128 units, tb_i128 more, tb_i128 *ret)
{
    u128 product, sum;
    if (__builtin_mul_overflow((u128)price, (u128)units, &product) ||
        __builtin_add_overflow(product, (u128)more, &sum) || sum > (u128)I128_MAX)
        return false;
    *ret = (tb_i128)sum;
    return true;
}

/* Pieces while they are made. */
typedef struct maker {
    tb_tariff *out;
    size_t n;
    tb_i128 before; /* the cost of all units up to the next piece */
} maker;

/* Adds tier k's piece; a tier among the free units has none. */
static tb_code add_piece(maker *m, const tb_tiers *t, size_t k, tb_error *err)
{
    const tb_tier *tier = &t->tier[k];
    tb_i128 anchor = anchor_of(t, tier), end = end_of(t, tier), price, start, flat, until;
    if (end <= anchor) return TB_OK;
    tb_code code = mantissa_at(tier->price, m->out->scale, &price, err);
    if (!code) code = mantissa_at(tier->flat, m->out->scale, &flat, err);
    if (code) return code;
    /* Volume: all charged units have this price, as if the tier began where the free units end. */
    tb_i128 base = t->mode == TB_VOLUME ? t->included : anchor;
    tb_i128 before = t->mode == TB_VOLUME ? 0 : m->before;
    if (!price_times(price, base, 0, &start) || __builtin_add_overflow(before, flat, &before) ||
        !price_times(price, tier->open ? 0 : end - base, before, &until))
        return tb_fail(err, TB_E_OVERFLOW, NULL, "The tiers' amounts pass 2^127-1 units of 10^-%d.",
                       m->out->scale);
    m->before = until;
    m->out->from[m->n] = (uint64_t)anchor;
    m->out->piece[m->n].price = price;
    m->out->piece[m->n].offset = before - start;
    m->n++;
    return TB_OK;
}

/* Up to how many units every amount is within `limit`. */
static uint64_t reach(const tb_tariff *t, size_t n, tb_i128 limit)
{
    for (size_t k = 0; k < n; k++) {
        uint64_t end = k + 1 < n ? t->from[k + 1] : UINT64_MAX;
        u128 price = (u128)t->piece[k].price;
        tb_i128 offset = t->piece[k].offset;
        if (offset > limit) return t->from[k];
        if (price == 0) continue;
        u128 most = ((u128)limit - (u128)offset) / price;
        if (most < t->from[k]) return t->from[k];
        if (most < end) return (uint64_t)most;
    }
    return UINT64_MAX;
}

static void pad(tb_tariff *t, size_t n)
{
    t->levels = 0;
    while ((size_t)1 << t->levels < n)
        t->levels++;
    for (size_t k = n; k < (size_t)1 << t->levels; k++)
        t->from[k] = UINT64_MAX;
    for (size_t k = 0; k < n; k++) {
        t->small[k].price = (uint64_t)t->piece[k].price;
        t->small[k].offset = (uint64_t)t->piece[k].offset;
    }
}

tb_code tb_tariff_prepare(const tb_tiers *tiers, tb_tariff *ret_tariff, tb_error *err)
{
    if (tiers->mode == TB_PACKAGE)
        return tb_fail(err, TB_E_VALIDATION, NULL,
                       "Tiers of mode package have no straight pieces.");
    tb_tariff out;
    maker m = {.out = &out, .n = 1};
    out.scale = finest_scale(tiers);
    /* The free units, or the point 0 before the first flat. */
    out.from[0] = 0;
    out.piece[0].price = 0;
    out.piece[0].offset = 0;
    for (size_t k = 0; k < tiers->n; k++) {
        tb_code code = add_piece(&m, tiers, k, err);
        if (code) return code;
    }
    pad(&out, m.n);
    out.most = reach(&out, m.n, I128_MAX);
    out.most_small = reach(&out, m.n, INT64_MAX);
    *ret_tariff = out;
    return TB_OK;
}

/* --- rating with it --- */

/* units <= tariff->most. */
static inline tb_i128 amount_in(const tb_tariff *t, size_t k, uint64_t units)
{
    return (tb_i128)((u128)t->piece[k].price * units + (u128)t->piece[k].offset);
}

tb_code tb_tariff_amount(const tb_tariff *tariff, uint64_t units, tb_decimal *ret, tb_error *err)
{
    if (units > tariff->most)
        return tb_fail(err, TB_E_OVERFLOW, NULL, "The amount passes 2^127-1 units of 10^-%d.",
                       tariff->scale);
    size_t k = tb_tariff_piece(tariff, units, tariff->levels);
    *ret = (tb_decimal){amount_in(tariff, k, units), tariff->scale};
    return TB_OK;
}

/* Names the first of the units past `most`. */
static tb_code refuse_batch(const tb_tariff *t, const uint64_t *units, uint64_t most, int bits,
                            tb_error *err)
{
    size_t i = 0;
    while (units[i] <= most)
        i++;
    tb_fail(err, TB_E_OVERFLOW, NULL, "The amount passes 2^%d-1 units of 10^-%d.", bits, t->scale);
    if (err) err->line = i + 1;
    return TB_E_OVERFLOW;
}

/* A batch for a known number of levels, which unrolls the search. */
static inline __attribute__((always_inline)) bool batch(const tb_tariff *t, unsigned levels,
                                                        const uint64_t *units, size_t n,
                                                        int64_t *amounts, u128 *total)
{
    u128 sum = 0;
    bool past = false;
    for (size_t i = 0; i < n; i++) {
        size_t k = tb_tariff_piece(t, units[i], levels);
        uint64_t amount = units[i] * t->small[k].price + t->small[k].offset;
        amounts[i] = (int64_t)amount;
        sum += amount;
        past |= units[i] > t->most_small;
    }
    *total = sum;
    return !past;
}

tb_code tb_tariff_amounts(const tb_tariff *tariff, const uint64_t *units, size_t n,
                          int64_t *ret_amounts, tb_i128 *ret_total, tb_error *err)
{
    u128 total;
    bool fits;
    switch (tariff->levels) {
    case 1: fits = batch(tariff, 1, units, n, ret_amounts, &total); break;
    case 2: fits = batch(tariff, 2, units, n, ret_amounts, &total); break;
    case 3: fits = batch(tariff, 3, units, n, ret_amounts, &total); break;
    default: fits = batch(tariff, tariff->levels, units, n, ret_amounts, &total); break;
    }
    if (!fits) return refuse_batch(tariff, units, tariff->most_small, 63, err);
    *ret_total = (tb_i128)total;
    return TB_OK;
}

tb_code tb_tariff_amounts_wide(const tb_tariff *tariff, const uint64_t *units, size_t n,
                               tb_i128 *ret_amounts, tb_i128 *ret_total, tb_error *err)
{
    tb_i128 total = 0;
    for (size_t i = 0; i < n; i++) {
        if (units[i] > tariff->most) return refuse_batch(tariff, units, tariff->most, 127, err);
        size_t k = tb_tariff_piece(tariff, units[i], tariff->levels);
        ret_amounts[i] = amount_in(tariff, k, units[i]);
        if (__builtin_add_overflow(total, ret_amounts[i], &total)) {
            tb_fail(err, TB_E_OVERFLOW, NULL, "The sum passes 2^127-1 units of 10^-%d.",
                    tariff->scale);
            if (err) err->line = i + 1;
            return TB_E_OVERFLOW;
        }
    }
    *ret_total = total;
    return TB_OK;
}

/* The first of units[at..n) above `limit`, or n. */
static size_t first_above(const uint64_t *units, size_t at, size_t n, uint64_t limit)
{
    while (at < n) {
        size_t middle = at + (n - at) / 2;
        if (units[middle] > limit)
            n = middle;
        else
            at = middle + 1;
    }
    return at;
}

tb_code tb_tariff_amounts_sorted(const tb_tariff *tariff, const uint64_t *units, size_t n,
                                 int64_t *ret_amounts, tb_i128 *ret_total, tb_error *err)
{
    u128 total = 0;
    size_t pieces = (size_t)1 << tariff->levels, at = 0;
    if (n > 0 && units[n - 1] > tariff->most_small)
        return refuse_batch(tariff, units, tariff->most_small, 63, err);
    for (size_t k = 0; k < pieces && at < n; k++) {
        uint64_t price = tariff->small[k].price, offset = tariff->small[k].offset;
        size_t end = k + 1 < pieces ? first_above(units, at, n, tariff->from[k + 1]) : n;
        for (; at < end; at++) {
            uint64_t amount = units[at] * price + offset;
            ret_amounts[at] = (int64_t)amount;
            total += amount;
        }
    }
    *ret_total = (tb_i128)total;
    return TB_OK;
}
