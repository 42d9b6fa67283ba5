/* Totals: sums of rounded lines, a tax per rate on the lines that it taxes, rounded once, and the residual: the effect
 * of rounding. */
#include "billing/draft.h"

#include <stdio.h>
#include <string.h>

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

static const char *const groups[TB__TAX_GROUPS] = {"", "Z", "E", "AE", "K", "G", "O"};

size_t tb__tax_group(const char *category)
{
    size_t i = 0;
    while (i + 1 < TB__TAX_GROUPS && strcmp(groups[i], category) != 0)
        i++;
    return i;
}

tb_code tb__sum_groups(const tb_bill *bill, tb_decimal ret[TB__TAX_GROUPS], bool ret_any[TB__TAX_GROUPS], tb_error *err)
{
    for (size_t k = 0; k < TB__TAX_GROUPS; k++) {
        ret[k] = (tb_decimal){0, bill->minor_digits};
        ret_any[k] = false;
    }
    for (size_t i = 0; i < bill->n_lines; i++) {
        const size_t k = tb__tax_group(bill->lines[i].tax_category);
        tb_code code = tb_decimal_add(ret[k], bill->lines[i].amount, &ret[k], err);
        if (code) return tb__name_line(&bill->lines[i], code, err);
        ret_any[k] = true;
    }
    return TB_OK;
}

/* A row on charges of a category. It has the name of the account's tax, and its reason if that is of the same category. */
static tb_bill_taxed untaxed_row(const tb_bill_input *input, const char *category, tb_decimal base)
{
    tb_bill_taxed row = {.base = base, .amount = {0, base.scale}, .charges = true};
    const bool declared = input->n_tax == 1 && strcmp(input->tax[0].category, category) == 0;
    snprintf(row.rate.name, sizeof row.rate.name, "%s", input->n_tax ? input->tax[0].name : "VAT");
    snprintf(row.rate.category, sizeof row.rate.category, "%s", category);
    row.reason = declared ? input->tax_reason : NULL;
    row.reason_code = declared ? input->tax_reason_code : NULL;
    return row;
}

static tb_code tax_all(const tb_bill *bill, const tb_bill_input *input, tb_bill_taxed *tax, size_t *ret_n, tb_error *err)
{
    tb_decimal sum[TB__TAX_GROUPS];
    bool any[TB__TAX_GROUPS];
    size_t n = 0;
    tb_code code = tb__sum_groups(bill, sum, any, err);
    for (size_t i = 0; !code && i < input->n_tax && (any[0] || bill->n_lines == 0); i++, n++) {
        tax[n] = (tb_bill_taxed){.rate = input->tax[i],
                                 .base = sum[0],
                                 .reason = input->tax_reason,
                                 .reason_code = input->tax_reason_code};
        code = tb_bill_tax_on(bill, &input->tax[i], sum[0], &tax[n].amount, err);
    }
    for (size_t k = 1; !code && k < TB__TAX_GROUPS; k++)
        if (any[k]) tax[n++] = untaxed_row(input, groups[k], sum[k]);
    *ret_n = n;
    return code;
}

tb_code tb_bill_sum(tb_bill *bill, const tb_bill_input *input, tb_error *err)
{
    tb_bill_taxed tax[TB_BILL_TAXES_MAX + TB_BILL_UNTAXED];
    size_t n;
    tb_code code = tax_all(bill, input, tax, &n, err);
    if (!code) code = total_with(bill, tax, n, err);
    if (code) return code;
    for (size_t i = 0; i < n; i++)
        bill->tax[i] = tax[i];
    bill->n_tax = n;
    return TB_OK;
}
