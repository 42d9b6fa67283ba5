/* One-off charges: lines after all that is rated. */
#include "billing/draft.h"

#include <stdio.h>
#include <string.h>

/* What negative charges of each group may take off. */
static tb_code sum_charges(const tb_bill *bill, const tb_bill_charge *charges, size_t n, tb_decimal ret[TB__TAX_GROUPS],
                           tb_error *err)
{
    bool any[TB__TAX_GROUPS];
    tb_code code = tb__sum_groups(bill, ret, any, err);
    for (size_t i = 0; !code && i < n; i++) {
        tb_decimal *sum = &ret[tb__tax_group(charges[i].tax_category)];
        if (tb_decimal_sign(charges[i].due) > 0) code = tb_decimal_add(*sum, charges[i].due, sum, err);
    }
    for (size_t k = 0; k < TB__TAX_GROUPS; k++)
        if (tb_decimal_sign(ret[k]) < 0) ret[k] = (tb_decimal){0, bill->minor_digits};
    return code;
}

static tb_code add_charge_line(tb__arena *arena, tb_bill *bill, const tb_bill_input *input, const tb_bill_charge *charge,
                        tb_decimal amount, tb_error *err)
{
    const size_t len = strlen(charge->description) + 1, last = input->n_parts - 1;
    tb_bill_tier *tier = tb__arena_take(arena, sizeof *tier);
    char *description = tb__arena_take(arena, len);
    tb_bill_line *line = &bill->lines[bill->n_lines];
    if (!tier || !description) return tb_no_memory(err);
    memcpy(description, charge->description, len);
    *tier = (tb_bill_tier){
        .part = (uint32_t)last, .to = 1, .units = 1, .price = amount, .shown = charge->whole, .amount = amount};
    *line = (tb_bill_line){.number = (uint32_t)++bill->n_lines,
                           .kind = TB_LINE_CHARGE,
                           .id = charge->id,
                           .quantity = 1,
                           .exact = amount,
                           .amount = amount,
                           .tiers = tier,
                           .n_tiers = 1,
                           .period_month = input->month,
                           .description = description};
    memcpy(line->tax_category, charge->tax_category, sizeof line->tax_category);
    line->evidence.from_us = input->parts[0].from_us;
    line->evidence.to_us = input->parts[last].to_us;
    tb__resource_put(line->resource, line->kind, line->id);
    return TB_OK;
}

tb_code tb_bill_add_charges(tb_bill *bill, const tb_bill_input *input, const tb_bill_charge *charges, size_t n,
                            tb_error *err)
{
    tb__arena *arena = bill->memory;
    tb_decimal left[TB__TAX_GROUPS];
    if (n == 0) return TB_OK;
    tb_bill_line *lines = tb__arena_take(arena, (bill->n_lines + n) * sizeof *lines);
    bill->tax = tb__arena_take(arena, (input->n_tax + TB_BILL_UNTAXED) * sizeof *bill->tax);
    if (!lines || !bill->tax) return tb_no_memory(err);
    if (bill->n_lines) memcpy(lines, bill->lines, bill->n_lines * sizeof *lines);
    bill->lines = lines;
    tb_code code = sum_charges(bill, charges, n, left, err);
    for (size_t i = 0; !code && i < n; i++) {
        tb_decimal amount = charges[i].due, rest;
        if (tb_decimal_sign(amount) < 0) {
            tb_decimal *most = &left[tb__tax_group(charges[i].tax_category)];
            code = tb_decimal_add(*most, amount, &rest, err);
            if (!code && tb_decimal_sign(rest) < 0) {
                amount = (tb_decimal){-most->mantissa, most->scale};
                rest = TB_DECIMAL_ZERO;
            }
            *most = rest;
        }
        if (!code && tb_decimal_sign(amount)) code = add_charge_line(arena, bill, input, &charges[i], amount, err);
    }
    return code ? code : tb_bill_sum(bill, input, err);
}
