/* The contract's discount: a percentage off the sum of the month's rounded lines, one negative amount,
 * rounded once. Lines that are made after it (commit, minimum, corrections) and the minima of meters have none. */
#include "billing/draft.h"

tb_code tb__sum_rounded(const tb__draft *d, tb_decimal *ret)
{
    tb_decimal sum = d->sum;
    for (size_t i = 0; i < d->bill.n_lines; i++) {
        tb_code code = tb_decimal_add(sum, d->bill.lines[i].amount, &sum, d->err);
        if (code) return code;
    }
    *ret = sum;
    return TB_OK;
}

tb_code tb__sum_counted(const tb__draft *d, tb_decimal *ret)
{
    tb_decimal off = TB_DECIMAL_ZERO;
    tb_code code = tb__sum_rounded(d, ret);
    if (code || tb_decimal_sign(d->credits) == 0) return code;
    code = tb_decimal_sub(*ret, d->credits, ret, d->err);
    /* The discount line has less discount by what it is on the credits. */
    if (!code) code = tb_decimal_mul(d->credits, d->in->contract.discount, &off, d->err);
    off.scale += 2;
    if (!code) code = tb_decimal_round(off, d->bill.minor_digits, d->bill.rounding, &off, d->err);
    return code ? code : tb_decimal_add(*ret, off, ret, d->err);
}

/* -(sum x percent / 100), exact. */
static tb_code take_percent(tb__draft *d, tb_decimal sum, tb_decimal *ret)
{
    tb_decimal product;
    tb_code code = tb_decimal_mul(sum, d->in->contract.discount, &product, d->err);
    if (code) return code;
    *ret = tb_decimal_normal((tb_decimal){-product.mantissa, product.scale + 2});
    return TB_OK;
}

static tb_code discount_line(tb__draft *d, tb_line_kind kind, tb_decimal sum)
{
    const tb_decimal percent = d->in->contract.discount;
    const size_t last = d->in->n_parts - 1;
    tb_bill_tier row = {.part = (uint32_t)last,
                        .to = sum.mantissa,
                        .price = percent,
                        .shown = percent};
    tb_code code = tb__line_open(d, kind, d->in->account, NULL, 1);
    if (!code) code = take_percent(d, sum, &row.amount);
    if (!code) code = tb__line_row(d, &row);
    if (!code) code = tb__line_close(d);
    if (code) return code;
    d->line->quantity = 1;
    d->line->evidence.from_us = d->in->parts[0].from_us;
    d->line->evidence.to_us = d->in->parts[last].to_us;
    return TB_OK;
}

tb_code tb__bill_discount(tb__draft *d, tb_line_kind kind)
{
    tb_decimal sum;
    if (tb_decimal_sign(d->in->contract.discount) == 0) return TB_OK;
    tb_code code = tb__sum_rounded(d, &sum);
    if (!code) code = tb_decimal_sub(sum, d->undiscounted, &sum, d->err);
    return code || tb_decimal_sign(sum) == 0 ? code : discount_line(d, kind, sum);
}
