#include "invoice/late_tax.h"

#include <string.h>

#include "invoice/text.h"

/* --- EN 16931 --- */

bool tb__same_group(const tb_bill_tax *a, const tb_bill_tax *b)
{
    return strcmp(tb_tax_category(a), tb_tax_category(b)) == 0 && tb_decimal_compare(a->percent, b->percent) == 0;
}

/* ret: amount - percent x base, to the cent, as the norm's own check has it. */
static tb_code apart(const tb_bill_tax *rate, tb_decimal base, tb_decimal amount, tb_decimal *ret, tb_error *err)
{
    const tb_bill cents = {.minor_digits = 2};
    tb_decimal exact;
    tb_code code = tb_bill_tax_on(&cents, rate, base, &exact, err);
    return code ? code : tb_decimal_sub(amount, exact, ret, err);
}

tb_code tb__group_apart(const tb_bill_taxed *tax, size_t n, const tb_bill_tax *rate, tb_decimal *ret, tb_error *err)
{
    tb_decimal base = TB_DECIMAL_ZERO, amount = TB_DECIMAL_ZERO;
    tb_code code = TB_OK;
    for (size_t i = 0; !code && i < n; i++) {
        if (!tb__same_group(&tax[i].rate, rate)) continue;
        code = tb_decimal_add(base, tax[i].base, &base, err);
        if (!code) code = tb_decimal_add(amount, tax[i].amount, &amount, err);
    }
    return code ? code : apart(rate, base, amount, ret, err);
}

bool tb__is_far(tb_decimal apart)
{
    const tb_decimal one = {1, 0}, minus_one = {-1, 0};
    return tb_decimal_compare(apart, one) >= 0 || tb_decimal_compare(apart, minus_one) <= 0;
}

/* EN 16931 sums the rows of a category and percent, and requires the sum to differ from percent x base by less than
 * 1 (BR-CO-17). In currencies without decimals it could differ by more: then the last row is rounded to the other
 * side, if the tax charged under it stays within 1 of percent x `all`. So a document that takes everything back
 * keeps the rule too. */
static tb_code hold_to_norm(const tb_bill *bill, tb_decimal all, tb_error *err)
{
    tb_bill_taxed *tax = &bill->tax[bill->n_tax - 1];
    tb_decimal far, other, charged;
    if (bill->minor_digits != 0) return TB_OK;
    tb_code code = tb__group_apart(bill->tax, bill->n_tax, &tax->rate, &far, err);
    if (code || !tb__is_far(far)) return code;
    code = tb_decimal_sub(tax->amount, (tb_decimal){tb_decimal_sign(far), 0}, &other, err);
    if (!code) code = tb_decimal_add(tax->billed, other, &charged, err);
    if (!code) code = apart(&tax->rate, all, charged, &far, err);
    if (!code && !tb__is_far(far)) tax->amount = other;
    return code;
}

/* --- rows --- */

/* base: the amount added to the lines under these taxes, or taken back from them. */
static tb_code add_rows(tb_bill *bill, const tb_corrections *list, const tb_billed_part *part, tb_decimal base, tb_error *err)
{
    const bool floored = list->billed.floored;
    tb_decimal all, now;
    tb_code code = tb_decimal_add(part->lines, base, &all, err);
    if (floored && tb_decimal_sign(all) < 0) all = TB_DECIMAL_ZERO;
    for (size_t i = 0; !code && i < part->n_tax; i++) {
        tb_bill_taxed *row = &bill->tax[bill->n_tax];
        *row = part->tax[i];
        row->late = true;
        row->month = list->lines[0].period_month;
        row->base = base;
        row->billed = part->tax[i].amount;
        code = tb_bill_tax_on(bill, &row->rate, all, &now, err);
        if (!code) code = tb_decimal_sub(now, row->billed, &row->amount, err);
        if (code) break;
        if (tb_decimal_sign(base) < 0 && tb_decimal_sign(row->amount) > 0)
            row->amount = TB_DECIMAL_ZERO; /* what takes back charges nothing */
        bill->n_tax++;
        code = hold_to_norm(bill, all, err);
    }
    return code;
}

static bool has_taxes(const tb_billed_part *part, const tb_bill_input *input)
{
    bool same = part->n_tax == input->n_tax;
    for (size_t i = 0; same && i < part->n_tax; i++)
        same = tb__same_rate(&part->tax[i].rate, &input->tax[i]);
    return same;
}

/* What is billed under the taxes in force; *none where nothing is. */
static const tb_billed_part *part_in_force(const tb_corrections *list, tb_billed_part *none)
{
    const tb_bill_input *input = list->input;
    for (size_t i = 0; input && i < list->billed.n_parts; i++)
        if (has_taxes(&list->billed.parts[i], input)) return &list->billed.parts[i];
    *none = (tb_billed_part){.n_tax = input ? input->n_tax : 0};
    for (size_t i = 0; i < none->n_tax; i++)
        none->tax[i] = (tb_bill_taxed){
            .rate = input->tax[i], .reason = input->tax_reason, .reason_code = input->tax_reason_code};
    return none;
}

/* Of each part at most what is billed under it, the newest first; none of `last`. */
static tb_code take_back(tb_bill *bill, const tb_corrections *list, const tb_billed_part *last, tb_decimal *left, tb_error *err)
{
    tb_code code = TB_OK;
    for (size_t i = list->billed.n_parts; !code && i-- > 0 && tb_decimal_sign(*left) < 0;) {
        const tb_billed_part *part = &list->billed.parts[i];
        const tb_decimal most = {-part->lines.mantissa, part->lines.scale};
        const tb_decimal base = tb_decimal_compare(most, *left) > 0 ? most : *left;
        if (part == last || tb_decimal_sign(part->lines) <= 0) continue;
        code = add_rows(bill, list, part, base, err);
        if (!code) code = tb_decimal_sub(*left, base, left, err);
    }
    return code;
}

/* Where more is taken back than is billed, the newest part bears the rest; else NULL. */
static tb_code part_below_zero(const tb_corrections *list, const tb_billed_part **ret, tb_error *err)
{
    tb_decimal left = list->amount;
    tb_code code = TB_OK;
    *ret = NULL;
    for (size_t i = 0; !code && i < list->billed.n_parts; i++)
        if (tb_decimal_sign(list->billed.parts[i].lines) > 0) code = tb_decimal_add(left, list->billed.parts[i].lines, &left, err);
    if (list->billed.n_parts && tb_decimal_sign(left) < 0) *ret = &list->billed.parts[list->billed.n_parts - 1];
    return code;
}

static tb_code tax_list(tb_bill *bill, const tb_corrections *list, tb_error *err)
{
    tb_billed_part none;
    const tb_billed_part *last;
    tb_decimal left = list->amount;
    const bool less = tb_decimal_sign(left) < 0;
    tb_code code = part_below_zero(list, &last, err);
    if (!code) code = take_back(bill, list, last, &left, err);
    if (code || (less && tb_decimal_sign(left) == 0)) return code;
    return add_rows(bill, list, last ? last : part_in_force(list, &none), left, err);
}

size_t tb__late_taxes_most(const tb_corrections *list)
{
    return TB_BILL_TAXES_MAX * (list->billed.n_parts + 1);
}

tb_code tb__tax_months(tb_bill *out, const tb_bill *own, const tb_corrections *lists, size_t n_lists, tb_error *err)
{
    tb_code code = TB_OK;
    out->n_tax = out->n_lines == 0 || own->n_lines ? own->n_tax : 0;
    if (out->n_tax) memcpy(out->tax, own->tax, out->n_tax * sizeof *out->tax);
    for (size_t i = 0; !code && i < n_lists; i++)
        if (lists[i].n) code = tax_list(out, &lists[i], err);
    return code ? code : tb_bill_total(out, err);
}
