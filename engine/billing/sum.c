/* Totals: sums of rounded lines, a tax per rate on that sum, rounded once, and the residual, which
 * is what rounding has given or taken. */
#include "tollbook/bill.h"

static tb_code sum_lines(const tb_bill *bill, tb_decimal *ret_rounded, tb_decimal *ret_exact,
                         tb_error *err)
{
    tb_decimal rounded = {0, bill->minor_digits}, exact = TB_DECIMAL_ZERO;
    for (size_t i = 0; i < bill->n_lines; i++) {
        tb_code code = tb_decimal_add(rounded, bill->lines[i].amount, &rounded, err);
        if (!code) code = tb_decimal_add(exact, bill->lines[i].exact, &exact, err);
        if (code) return code;
    }
    *ret_rounded = rounded;
    *ret_exact = exact;
    return TB_OK;
}

static tb_code tax_on(const tb_bill *bill, tb_decimal base, const tb_bill_tax *rate,
                      tb_bill_taxed *ret, tb_error *err)
{
    tb_decimal amount;
    tb_code code = tb_decimal_mul(base, rate->percent, &amount, err);
    if (!code) code = tb_decimal_shift(amount, 2, &amount, err);
    if (!code) code = tb_decimal_round(amount, bill->minor_digits, bill->rounding, &amount, err);
    if (!code) *ret = (tb_bill_taxed){.rate = *rate, .base = base, .amount = amount};
    return code;
}

tb_code tb_bill_sum(tb_bill *bill, const tb_bill_input *input, tb_error *err)
{
    tb_bill_taxed tax[TB_BILL_TAXES_MAX];
    tb_decimal subtotal, exact, residual, total;
    tb_code code = sum_lines(bill, &subtotal, &exact, err);
    if (!code) code = tb_decimal_sub(subtotal, exact, &residual, err);
    if (code) return code;
    total = subtotal;
    for (size_t i = 0; i < input->n_tax && !code; i++) {
        code = tax_on(bill, subtotal, &input->tax[i], &tax[i], err);
        if (!code) code = tb_decimal_add(total, tax[i].amount, &total, err);
    }
    if (code) return code;
    for (size_t i = 0; i < input->n_tax; i++)
        bill->tax[i] = tax[i];
    bill->n_tax = input->n_tax;
    bill->subtotal = subtotal;
    bill->exact = exact;
    bill->residual = residual;
    bill->total = total;
    return TB_OK;
}
