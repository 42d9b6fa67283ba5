/* One-off charges: lines after all that is rated. */
#include "billing/draft.h"

#include <stdio.h>
#include <string.h>

static tb_code sum_charges(const tb_bill *bill, const tb_bill_charge *charges, size_t n, tb_decimal *sum, tb_error *err)
{
    tb_code code = TB_OK;
    for (size_t i = 0; !code && i < bill->n_lines; i++)
        code = tb_decimal_add(*sum, bill->lines[i].amount, sum, err);
    for (size_t i = 0; !code && i < n; i++)
        if (tb_decimal_sign(charges[i].due) > 0) code = tb_decimal_add(*sum, charges[i].due, sum, err);
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
    line->evidence.from_us = input->parts[0].from_us;
    line->evidence.to_us = input->parts[last].to_us;
    tb__resource_put(line->resource, line->kind, line->id);
    return TB_OK;
}

tb_code tb_bill_add_charges(tb_bill *bill, const tb_bill_input *input, const tb_bill_charge *charges, size_t n,
                            tb_error *err)
{
    tb__arena *arena = bill->memory;
    tb_decimal left = {0, bill->minor_digits}; /* what negative charges may still take off */
    if (n == 0) return TB_OK;
    tb_bill_line *lines = tb__arena_take(arena, (bill->n_lines + n) * sizeof *lines);
    if (!lines) return tb_no_memory(err);
    if (bill->n_lines) memcpy(lines, bill->lines, bill->n_lines * sizeof *lines);
    bill->lines = lines;
    tb_code code = sum_charges(bill, charges, n, &left, err);
    if (!code && tb_decimal_sign(left) < 0) left = (tb_decimal){0, bill->minor_digits};
    for (size_t i = 0; !code && i < n; i++) {
        tb_decimal amount = charges[i].due, rest;
        if (tb_decimal_sign(amount) < 0) {
            code = tb_decimal_add(left, amount, &rest, err);
            if (!code && tb_decimal_sign(rest) < 0) {
                amount = (tb_decimal){-left.mantissa, left.scale};
                rest = TB_DECIMAL_ZERO;
            }
            left = rest;
        }
        if (!code && tb_decimal_sign(amount)) code = add_charge_line(arena, bill, input, &charges[i], amount, err);
    }
    return code ? code : tb_bill_sum(bill, input, err);
}
