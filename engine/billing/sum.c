/* Totals: sums of rounded lines, a tax per rate on that sum, rounded once, and the residual, which
 * is what rounding has given or taken. */
#include "billing/draft.h"

#include <stdio.h>

static tb_code sum_lines(const tb_bill *bill, tb_decimal *ret_rounded, tb_sum *ret_exact,
                         tb_error *err)
{
    tb_decimal rounded = {0, bill->minor_digits};
    tb_sum exact = TB_SUM_ZERO;
    for (size_t i = 0; i < bill->n_lines; i++) {
        const tb_bill_line *line = &bill->lines[i];
        tb_code code = tb_decimal_add(rounded, line->amount, &rounded, err);
        if (!code) code = tb_sum_add(&exact, line->exact, err);
        if (code) return tb__name_line(line, code, err);
    }
    *ret_rounded = rounded;
    *ret_exact = exact;
    return TB_OK;
}

/* Less than a minor unit for each line, so it fits where the exact sum has too many digits. */
static tb_code residual_of(tb_decimal rounded, tb_sum exact, tb_decimal *ret, tb_error *err)
{
    tb_sum sum = {-exact.whole, -exact.rest};
    tb_code code = tb_sum_add(&sum, rounded, err);
    return code ? code : tb_sum_decimal(sum, ret, err);
}

static tb_code name_tax(const tb_bill_tax *rate, tb_code code, tb_error *err)
{
    char inner[sizeof err->message];
    if (!code || !err) return code;
    snprintf(inner, sizeof inner, "%s", err->message);
    return tb_fail(err, code, "tax", "tax %.39s: %.200s", rate->name, inner);
}

/* base x percent / 100, rounded once; only the result must fit. */
static tb_code tax_on(const tb_bill *bill, tb_decimal base, const tb_bill_tax *rate,
                      tb_bill_taxed *ret, tb_error *err)
{
    tb_decimal amount, percent = tb_decimal_normal(rate->percent), hundred = {100, 0};
    tb_code code = tb_decimal_add(hundred, (tb_decimal){0, percent.scale}, &hundred, err);
    if (!code)
        code = tb_decimal_divide(base, percent.mantissa, hundred.mantissa, bill->minor_digits,
                                 bill->rounding, &amount, err);
    if (code) return name_tax(rate, code, err);
    *ret = (tb_bill_taxed){.rate = *rate, .base = base, .amount = amount};
    return TB_OK;
}

tb_code tb_bill_sum(tb_bill *bill, const tb_bill_input *input, tb_error *err)
{
    tb_bill_taxed tax[TB_BILL_TAXES_MAX];
    tb_decimal subtotal, residual, total;
    tb_sum exact;
    tb_code code = sum_lines(bill, &subtotal, &exact, err);
    if (!code) code = residual_of(subtotal, exact, &residual, err);
    if (code) return code;
    total = subtotal;
    for (size_t i = 0; i < input->n_tax && !code; i++) {
        code = tax_on(bill, subtotal, &input->tax[i], &tax[i], err);
        if (code) break;
        code = name_tax(&input->tax[i], tb_decimal_add(total, tax[i].amount, &total, err), err);
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
