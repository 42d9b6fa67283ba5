/* Prices that are for many units: price x units / per.
 *
 * Where `per` is a power of ten the amounts are decimals, and nothing is rounded. Else (a GB-month is 10^9 x 2,592,000
 * byte-seconds) they are fractions: their sum is rounded once, half_up at 18 digits; rows are rounded likewise but for the
 * last, which takes the rest. Books of one month may price by different units: a line's `per` is then their least common
 * multiple, and the rows' prices are for so many units. */
#include "base/wide.h"
#include "billing/draft.h"

typedef tb__u128 u128;

/* The power of ten that n is; -1: none. */
static int power_of_ten(tb_i128 n)
{
    int power = 0;
    for (; n % 10 == 0; n /= 10)
        power++;
    return n == 1 ? power : -1;
}

static bool common_multiple(tb_i128 *n, tb_i128 more)
{
    tb_i128 a = *n, b = more;
    while (b) {
        tb_i128 rest = a % b;
        a = b;
        b = rest;
    }
    return !__builtin_mul_overflow(*n, more / a, n);
}

/* Whether the row's price is for units, not for a block. */
static bool is_divided(const tb__price *price, const tb_bill_tier *row)
{
    return price->tiers->mode != TB_PACKAGE && tb_decimal_sign(row->shown) > 0;
}

static tb_code divide_exactly(tb__draft *d, tb_bill_tier *row, int power)
{
    tb_decimal amount;
    tb_code code = tb_decimal_mul_int(tb_decimal_normal(row->price), row->units, &amount, d->err);
    if (!code) code = tb_decimal_shift(amount, power, &amount, d->err);
    return code ? code : tb_decimal_add(row->amount, amount, &row->amount, d->err);
}

/* A sum of fractions: `whole` in units of 10^-18, and a rest over the divisor. */
typedef struct fractions {
    u128 whole, rest;
} fractions;

static tb_code add_fraction(tb__draft *d, fractions *sum, const tb_bill_tier *row, tb_i128 per)
{
    tb_decimal price;
    u128 whole, rest;
    tb_code code = tb_decimal_add(tb_decimal_normal(row->price), (tb_decimal){0, TB_PRORATE_SCALE}, &price, d->err);
    if (code) return code;
    if (!tb__multiply_divide((u128)price.mantissa, (u128)row->units, (u128)per, &whole, &rest) ||
        __builtin_add_overflow(sum->whole, whole, &sum->whole))
        return tb_fail(d->err, TB_E_OVERFLOW, NULL, "The amount passes 2^127-1 units of 10^-%d.", TB_PRORATE_SCALE);
    sum->rest += rest; /* below 2 x per, which is below 2^128 */
    if (sum->rest >= (u128)per) {
        sum->rest -= (u128)per;
        sum->whole++;
    }
    return TB_OK;
}

static tb_code divide_rounded(tb__draft *d, const tb__price *const *of_part, tb_i128 per)
{
    fractions sum = {.whole = 0};
    tb_bill_tier *last = NULL;
    tb_decimal rest, amount;
    tb_code code = TB_OK;
    for (size_t i = 0; i < d->n_rows && !code; i++) {
        if (!is_divided(of_part[d->rows[i].part], &d->rows[i])) continue;
        last = &d->rows[i];
        code = add_fraction(d, &sum, last, per);
    }
    if (code || !last) return code;
    sum.whole += sum.rest >= (u128)per - sum.rest;
    if (sum.whole >> 127)
        return tb_fail(d->err, TB_E_OVERFLOW, NULL, "The amount passes 2^127-1 units of 10^-%d.", TB_PRORATE_SCALE);
    rest = (tb_decimal){(tb_i128)sum.whole, TB_PRORATE_SCALE};
    for (tb_bill_tier *row = d->rows; row < last && !code; row++) {
        if (!is_divided(of_part[row->part], row)) continue;
        code = tb_decimal_divide(row->price, row->units, per, TB_PRORATE_SCALE, TB_HALF_UP, &amount, d->err);
        if (!code) code = tb_decimal_sub(rest, amount, &rest, d->err);
        if (!code) code = tb_decimal_add(row->amount, amount, &row->amount, d->err);
    }
    return code ? code : tb_decimal_add(last->amount, rest, &last->amount, d->err);
}

tb_code tb__divide_rows(tb__draft *d, const tb__price *const *of_part, tb_i128 *ret_per)
{
    tb_i128 per = 1;
    for (size_t i = 0; i < d->n_rows; i++)
        if (!common_multiple(&per, of_part[d->rows[i].part]->per))
            return tb_fail(d->err, TB_E_OVERFLOW, NULL, "The units of its prices pass 2^127-1 together.");
    const int power = power_of_ten(per);
    tb_code code = TB_OK;
    for (size_t i = 0; i < d->n_rows && !code; i++) {
        tb_bill_tier *row = &d->rows[i];
        const tb__price *price = of_part[row->part];
        row->price = row->shown;
        if (!is_divided(price, row)) continue;
        if (price->per != per) code = tb_decimal_mul_int(row->shown, per / price->per, &row->price, d->err);
        if (!code && power >= 0) code = divide_exactly(d, row, power);
    }
    if (!code && power < 0) code = divide_rounded(d, of_part, per);
    *ret_per = per;
    return code;
}
