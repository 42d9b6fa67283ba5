/* Totals: sums of rounded lines, a tax per rate on that sum, rounded once, and the residual: the effect
 * of rounding. */
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

/* Puts the tax's name in front of an error's message. */
static tb_code add_tax_name(const tb_bill_tax *rate, tb_code code, tb_error *err)
{
    char inner[sizeof err->message];
    if (!code || !err) return code;
    snprintf(inner, sizeof inner, "%s", err->message);
    return tb_fail(err, code, "tax", "tax %.39s: %.200s", rate->name, inner);
}

/* Only the result must fit. */
tb_code tb_bill_tax_on(const tb_bill *bill, const tb_bill_tax *rate, tb_decimal base, tb_decimal *ret_amount,
                       tb_error *err)
{
    tb_decimal percent = tb_decimal_normal(rate->percent), hundred = {100, 0};
    tb_code code = tb_decimal_add(hundred, (tb_decimal){0, percent.scale}, &hundred, err);
    if (!code)
        code = tb_decimal_divide(base, percent.mantissa, hundred.mantissa, bill->minor_digits, bill->rounding,
                                 ret_amount, err);
    return add_tax_name(rate, code, err);
}

static tb_code add_taxes(tb_decimal *total, const tb_bill_taxed *tax, size_t n, tb_error *err)
{
    tb_code code = TB_OK;
    for (size_t i = 0; !code && i < n; i++)
        code = add_tax_name(&tax[i].rate, tb_decimal_add(*total, tax[i].amount, total, err), err);
    return code;
}

static tb_code total_with(tb_bill *bill, const tb_bill_taxed *tax, size_t n_tax, tb_error *err)
{
    tb_decimal subtotal, residual, total;
    tb_sum exact;
    tb_code code = sum_lines(bill, &subtotal, &exact, err);
    if (!code) code = residual_of(subtotal, exact, &residual, err);
    if (code) return code;
    total = subtotal;
    code = add_taxes(&total, tax, n_tax, err);
    if (code) return code;
    bill->subtotal = subtotal;
    bill->exact = exact;
    bill->residual = residual;
    bill->total = total;
    return TB_OK;
}

tb_code tb_bill_total(tb_bill *bill, tb_error *err)
{
    return total_with(bill, bill->tax, bill->n_tax, err);
}

static tb_code tax_all(const tb_bill *bill, const tb_bill_input *input, tb_bill_taxed *tax, tb_error *err)
{
    tb_decimal subtotal;
    tb_sum exact;
    tb_code code = sum_lines(bill, &subtotal, &exact, err);
    for (size_t i = 0; !code && i < input->n_tax; i++) {
        tax[i] = (tb_bill_taxed){.rate = input->tax[i],
                                 .base = subtotal,
                                 .reason = input->tax_reason,
                                 .reason_code = input->tax_reason_code};
        code = tb_bill_tax_on(bill, &input->tax[i], subtotal, &tax[i].amount, err);
    }
    return code;
}

tb_code tb_bill_sum(tb_bill *bill, const tb_bill_input *input, tb_error *err)
{
    tb_bill_taxed tax[TB_BILL_TAXES_MAX];
    tb_code code = tax_all(bill, input, tax, err);
    if (!code) code = total_with(bill, tax, input->n_tax, err);
    if (code) return code;
    for (size_t i = 0; i < input->n_tax; i++)
        bill->tax[i] = tax[i];
    bill->n_tax = input->n_tax;
    return TB_OK;
}
