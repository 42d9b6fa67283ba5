/* Tiers are ranges on the month's usage; a stretch is cut by them. Everything is reduced to two
 * positions: where a tier begins on the month's usage (shifted by the included units on the net
 * axis), and its anchor, the place of its first charged unit. */
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
