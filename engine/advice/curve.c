/* What a month costs as a function of usage. Graduated and volume tiers come from the prepared
 * tariff that bills use; package tiers are laid out here, a step a block, with what lower tiers
 * cost asked of tb_tariff_rate. Everything is brought to one scale of its own, finest last, checked
 * at the far end of each piece: amounts rise within a piece, so what fits there fits everywhere. */
#include "advice/curve.h"

#include <stddef.h>

static const struct {
    const char *name, *unit;
} kinds[] = {
#define TB_X(e, name, unit) {name, unit},
    TB_COST_KINDS(TB_X)
#undef TB_X
};

const char *tb_cost_kind_name(tb_cost_kind kind)
{
    return kinds[kind].name;
}

const char *tb_cost_kind_unit(tb_cost_kind kind)
{
    return kinds[kind].unit;
}

/* --- one amount --- */

static tb_code no_price(const tb_cost *cost, const char *what, tb_error *err)
{
    return tb_fail(err, TB_E_VALIDATION, "book", "The book \"%s\" has no prices for %s.",
                   cost->book->id, what);
}

/* The mix's price of a byte: shares and discount are percents, so two and two places. */
static tb_code premium_price(const tb_cost *cost, tb_decimal *ret, tb_error *err)
{
    tb_decimal sum = TB_DECIMAL_ZERO, shares = TB_DECIMAL_ZERO, left, part;
    tb_code code = tb_decimal_sub(tb_decimal_from_int(100), cost->discount, &left, err);
    if (!code && (tb_decimal_sign(left) < 0 || tb_decimal_sign(cost->discount) < 0))
        return tb_fail(err, TB_E_VALIDATION, "discount", "A discount is 0 to 100 percent.");
    for (int r = 0; !code && r < TB_BILLING_REGION_COUNT; r++) {
        if (tb_decimal_sign(cost->share[r]) == 0) continue;
        if (!cost->book->has_premium || !cost->book->region_priced[r])
            return no_price(cost, tb_billing_region_name((tb_billing_region)r), err);
        if (tb_decimal_sign(cost->share[r]) < 0)
            return tb_fail(err, TB_E_VALIDATION, "mix", "A share is not negative.");
        code = tb_decimal_add(shares, cost->share[r], &shares, err);
        if (!code) code = tb_decimal_mul(cost->book->region_price[r], cost->share[r], &part, err);
        if (!code) code = tb_decimal_add(sum, tb_decimal_normal(part), &sum, err);
    }
    if (!code && tb_decimal_compare(shares, tb_decimal_from_int(100)) != 0)
        return tb_fail(err, TB_E_VALIDATION, "mix",
                       "The regions' shares must come to 100 percent.");
    if (!code) code = tb_decimal_mul(tb_decimal_normal(sum), left, &sum, err);
    if (!code) code = tb_decimal_shift(tb_decimal_normal(sum), 4, ret, err);
    return code;
}

static tb_code tiers_of(const tb_cost *cost, const tb_tiers **ret_tiers, tb_decimal *ret_fee,
                        tb_error *err)
{
    const tb_book *book = cost->book;
    bool balancer = cost->kind == TB_COST_BALANCER;
    if (!(balancer ? book->has_balancer : book->has_volume))
        return no_price(cost, balancer ? "load balancers" : "volume bandwidth", err);
    *ret_tiers = balancer ? &book->balancer : &book->volume;
    *ret_fee = balancer ? book->balancer_fee : TB_DECIMAL_ZERO;
    return TB_OK;
}

static tb_code usage_cost(const tb_cost *cost, tb_i128 units, tb_decimal *ret, tb_error *err)
{
    tb_decimal price, fee = TB_DECIMAL_ZERO;
    const tb_tiers *tiers = NULL;
    tb_rating rating;
    if (cost->kind == TB_COST_PREMIUM) {
        tb_code code = premium_price(cost, &price, err);
        return code ? code : tb_decimal_mul_int(price, units, ret, err);
    }
    tb_code code = tiers_of(cost, &tiers, &fee, err);
    if (!code) code = tb_tariff_rate(tiers, (tb_stretch){0, units, units}, &rating, err);
    return code ? code : tb_decimal_add(rating.amount, fee, ret, err);
}

tb_code tb_cost_at(const tb_cost *cost, tb_i128 units, tb_decimal *ret, tb_error *err)
{
    tb_decimal amount;
    tb_code code = usage_cost(cost, units, &amount, err);
    if (code) return code;
    if (cost->minimum && tb_decimal_compare(amount, cost->book->minimum_monthly) < 0)
        amount = cost->book->minimum_monthly;
    *ret = amount;
    return TB_OK;
}

/* --- the curve --- */

/* A curve in the making. */
typedef struct maker {
    tb_curve *out;
    tb_i128 top;
    tb_error *err;
} maker;

static tb_i128 smaller(tb_i128 a, tb_i128 b)
{
    return a < b ? a : b;
}

static tb_i128 larger(tb_i128 a, tb_i128 b)
{
    return a > b ? a : b;
}

/* Whether all within the piece fits 127 bits, and room is left to take one from another. */
static bool fits(const tb_curve_piece *p)
{
    tb_i128 line, steps, sum;
    tb_i128 limit = ((tb_i128)1 << 126) - 1;
    if (__builtin_mul_overflow(p->price, p->to, &line) ||
        __builtin_mul_overflow(p->step, tb__blocks_at(p, p->to), &steps) ||
        __builtin_add_overflow(line, steps, &sum) || line > limit || p->offset > limit ||
        p->offset < -limit || __builtin_add_overflow(sum, p->offset, &sum))
        return false;
    return sum <= limit;
}

static tb_code past(maker *m)
{
    return tb_fail(m->err, TB_E_OVERFLOW, "up-to",
                   "Amounts at %d digits pass 2^126-1: compare up to fewer units.", m->out->scale);
}

static tb_code add_piece(maker *m, tb_curve_piece piece)
{
    piece.to = smaller(piece.to, m->top);
    if (piece.from >= piece.to) return TB_OK;
    if (!fits(&piece)) return past(m);
    m->out->piece[m->out->n++] = piece;
    return TB_OK;
}

/* A decimal's mantissa at the curve's scale. */
static tb_code mantissa(maker *m, tb_decimal value, tb_i128 *ret)
{
    tb_decimal sum;
    value = tb_decimal_normal(value);
    if (tb_decimal_add(value, (tb_decimal){0, m->out->scale}, &sum, NULL) ||
        sum.scale != m->out->scale)
        return past(m);
    *ret = sum.mantissa;
    return TB_OK;
}

/* One tier's charged units: the cost of all before them, its flat, and a price a unit or a block. */
static tb_code tier_piece(maker *m, const tb_tiers *tiers, size_t k, tb_i128 fee)
{
    const tb_tier *tier = &tiers->tier[k];
    tb_i128 shift = tiers->included_absolute ? 0 : tiers->included, flat = 0, price = 0, paid = 0;
    tb_curve_piece p = {.from = larger(tier->from + shift, tiers->included),
                        .to = tier->open ? m->top : tier->to + shift};
    if (p.from >= smaller(p.to, m->top)) return TB_OK;
    /* Volume: all charged units have this price, as if the tier began where the free units end. */
    tb_i128 base = tiers->mode == TB_VOLUME ? tiers->included : p.from;
    tb_rating before;
    tb_code code = tb_tariff_rate(tiers, (tb_stretch){0, base, base}, &before, m->err);
    if (!code) code = mantissa(m, before.amount, &p.offset);
    if (!code) code = mantissa(m, tier->flat, &flat);
    if (!code) code = mantissa(m, tier->price, &price);
    if (code) return code;
    if (tiers->mode == TB_PACKAGE) {
        p.anchor = p.from;
        p.block = tiers->block;
        p.step = price;
    } else {
        p.price = price;
        if (__builtin_mul_overflow(price, base, &paid)) return past(m);
    }
    if (__builtin_add_overflow(p.offset, flat, &p.offset) ||
        __builtin_add_overflow(p.offset, fee, &p.offset) ||
        __builtin_sub_overflow(p.offset, paid, &p.offset))
        return past(m);
    return add_piece(m, p);
}

static int finest(const tb_tiers *tiers, tb_decimal fee)
{
    int scale = tb_decimal_normal(fee).scale;
    for (size_t k = 0; k < tiers->n; k++) {
        int price = tb_decimal_normal(tiers->tier[k].price).scale;
        int flat = tb_decimal_normal(tiers->tier[k].flat).scale;
        scale = price > scale ? price : scale;
        scale = flat > scale ? flat : scale;
    }
    return scale;
}

static tb_code tiers_curve(maker *m, const tb_cost *cost)
{
    const tb_tiers *tiers = NULL;
    tb_decimal fee = TB_DECIMAL_ZERO;
    tb_i128 fee_units = 0;
    tb_code code = tiers_of(cost, &tiers, &fee, m->err);
    if (code) return code;
    m->out->scale = finest(tiers, fee);
    code = mantissa(m, fee, &fee_units);
    if (code) return code;
    tb_i128 shift = tiers->included_absolute ? 0 : tiers->included;
    tb_i128 begin = larger(tiers->tier[0].from + shift, tiers->included);
    code = add_piece(m, (tb_curve_piece){.from = -1, .to = begin, .offset = fee_units});
    for (size_t k = 0; !code && k < tiers->n; k++)
        code = tier_piece(m, tiers, k, fee_units);
    return code;
}

static tb_code premium_curve(maker *m, const tb_cost *cost)
{
    tb_decimal price;
    tb_curve_piece p = {.from = -1, .to = m->top};
    tb_code code = premium_price(cost, &price, m->err);
    if (code) return code;
    price = tb_decimal_normal(price);
    m->out->scale = price.scale;
    p.price = price.mantissa;
    return add_piece(m, p);
}

/* --- the minimum --- */

/* Multiplies everything by ten until the scale is reached. */
static tb_code rescale(maker *m, int scale)
{
    tb_i128 unit = 1;
    for (int i = m->out->scale; i < scale; i++)
        unit *= 10;
    for (size_t k = 0; unit > 1 && k < m->out->n; k++) {
        tb_curve_piece *p = &m->out->piece[k];
        if (__builtin_mul_overflow(p->price, unit, &p->price) ||
            __builtin_mul_overflow(p->offset, unit, &p->offset) ||
            __builtin_mul_overflow(p->step, unit, &p->step) || !fits(p))
            return past(m);
    }
    if (scale > m->out->scale) m->out->scale = scale;
    return TB_OK;
}

/* The last position of the piece with a cost of at most `floor`; p->from if there is none. */
static tb_i128 last_within(const tb_curve_piece *p, tb_i128 floor)
{
    tb_i128 low = p->from, high = p->to; /* the cost at low is at most `floor` (or low is outside), after high more */
    while (low < high) {
        tb_i128 middle = low + (high - low + 1) / 2;
        if (tb__piece_at(p, middle) <= floor)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

static tb_code raise_to(maker *m, tb_decimal minimum)
{
    tb_curve before;
    tb_i128 floor = 0;
    tb_code code = rescale(m, tb_decimal_normal(minimum).scale);
    if (!code) code = mantissa(m, minimum, &floor);
    if (code) return code;
    before = *m->out;
    m->out->n = 0;
    for (size_t k = 0; !code && k < before.n; k++) {
        tb_curve_piece p = before.piece[k];
        tb_i128 at = last_within(&p, floor);
        code = add_piece(m, (tb_curve_piece){.from = p.from, .to = at, .offset = floor});
        p.from = at;
        if (!code) code = add_piece(m, p);
    }
    return code;
}

tb_code tb_cost_curve(const tb_cost *cost, tb_i128 top, tb_curve *ret, tb_error *err)
{
    tb_curve curve = {.scale = 0};
    maker m = {&curve, top, err};
    if (top < 0 || top > TB_UNITS_MAX)
        return tb_fail(err, TB_E_VALIDATION, "up-to", "Units are compared up to 10^18.");
    tb_code code = cost->kind == TB_COST_PREMIUM ? premium_curve(&m, cost) : tiers_curve(&m, cost);
    if (!code && cost->minimum) code = raise_to(&m, cost->book->minimum_monthly);
    if (!code) *ret = curve;
    return code;
}

tb_i128 tb_curve_at(const tb_curve *curve, tb_i128 units)
{
    size_t low = 0, high = curve->n - 1;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (units > curve->piece[middle].to)
            low = middle + 1;
        else
            high = middle;
    }
    return tb__piece_at(&curve->piece[low], units);
}
