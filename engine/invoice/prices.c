/* Invariant of tb__prices_share: the billed amounts and the rest sum to the line's amount. */
#include "invoice/prices.h"

#include "invoice/text.h"

tb_code tb__prices_read(const tb_bill_line *line, tb__prices *prices, bool *ret_all, tb_error *err)
{
    tb_code code = TB_OK;
    size_t i = 0;
    prices->units = 0;
    for (prices->n = 0; !code && i < line->n_tiers && prices->n < TB__PRICES_MAX; prices->n++) {
        tb_bill_tier *tier = &prices->tier[prices->n];
        code = tb__tiers_join(line, &i, tier, err);
        if (!code && __builtin_add_overflow(prices->units, tier->units, &prices->units))
            code = tb_fail(err, TB_E_OVERFLOW, line->resource, "The units of its tiers overflow.");
    }
    *ret_all = i == line->n_tiers;
    return code;
}

static tb_code give_whole_units(tb__prices *p, int digits, tb_decimal *left, tb_error *err)
{
    const tb_decimal unit = {1, digits};
    tb_code code = TB_OK;
    for (size_t i = 0; !code && i < p->n; i++) {
        tb_decimal exact = p->tier[i].amount, *whole = &p->billed[i];
        code = tb_decimal_round(exact, digits, TB_HALF_UP, whole, err);
        if (!code && tb_decimal_compare(*whole, exact) > 0)
            code = tb_decimal_sub(*whole, unit, whole, err);
        if (!code) code = tb_decimal_sub(exact, *whole, &p->rest[i], err);
        if (!code) code = tb_decimal_sub(*left, *whole, left, err);
    }
    return code;
}

/* sign 1: the largest rest; -1: the smallest. */
static size_t extreme(const tb__prices *p, int sign)
{
    size_t best = 0;
    for (size_t i = 1; i < p->n; i++)
        if (tb_decimal_compare(p->rest[i], p->rest[best]) * sign > 0) best = i;
    return best;
}

/* Adds one unit to the largest rest, which is then the smallest of the round. One round is enough except for
 * corrections, which have differences of rounded amounts. */
static tb_code give_one(tb__prices *p, int digits, int sign, tb_decimal *left, tb_error *err)
{
    const tb_decimal unit = {sign, digits}, one = {sign, 0};
    const size_t best = extreme(p, sign);
    tb_code code = tb_decimal_add(p->billed[best], unit, &p->billed[best], err);
    if (!code) code = tb_decimal_sub(p->rest[best], one, &p->rest[best], err);
    return code ? code : tb_decimal_sub(*left, unit, left, err);
}

/* Four rounds at most: corrections are apart by a unit or two. */
static tb_code are_near(tb_decimal left, int digits, bool *ret, tb_error *err)
{
    const tb_decimal most = {4 * TB__PRICES_MAX, digits};
    tb_decimal apart;
    if (tb_decimal_sign(left) < 0) left.mantissa = -left.mantissa;
    tb_code code = tb_decimal_sub(left, most, &apart, err);
    if (!code) *ret = tb_decimal_sign(apart) <= 0;
    return code;
}

tb_code tb__prices_share(const tb_bill_line *line, int digits, tb__prices *prices, bool *ret_fits,
                         tb_error *err)
{
    tb_decimal left = line->amount;
    *ret_fits = false;
    if (tb_decimal_normal(left).scale > digits) return TB_OK; /* no sum of whole units */
    tb_code code = give_whole_units(prices, digits, &left, err);
    if (!code) code = are_near(left, digits, ret_fits, err);
    while (!code && *ret_fits && tb_decimal_sign(left) != 0)
        code = give_one(prices, digits, tb_decimal_sign(left), &left, err);
    return code;
}
