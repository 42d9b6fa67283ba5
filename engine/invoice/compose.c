/* Puts documents together: a month's bill, the corrections of earlier months, or those alone. */
#include "invoice/compose.h"

#include <stdio.h>
#include <stdlib.h>

tb_code tb__compose(const tb__composing *of, tb_corrected *ret_joined, tb_statement_book **ret_books,
                    tb_statement *ret_statement, tb_error *err)
{
    const tb_bill_input *input = of->input;
    tb_code code = tb_bill_with(of->bill, of->whole ? input : NULL, of->lists, of->n_lists, NULL, ret_joined, err);
    if (code) return code;
    *ret_books = calloc(input->n_parts ? input->n_parts : 1, sizeof **ret_books);
    if (!*ret_books) {
        tb_corrected_release(ret_joined);
        return tb_no_memory(err);
    }
    tb_statement_init(ret_statement, input, &ret_joined->bill, *ret_books);
    ret_statement->corrections = ret_joined->what;
    ret_statement->watermark = of->watermark;
    return TB_OK;
}

/* One-off credits have taken a part of the lines, which was never paid. The rest is taken back, below zero too: a fee that is given
 * back takes a month there, for an earlier document has billed it. */
static tb_code most_to_take_back(const tb_corrections *corrections, tb_decimal *ret, tb_error *err)
{
    const tb_billed *billed = &corrections->billed;
    tb_decimal paid = TB_DECIMAL_ZERO;
    tb_code code = TB_OK;
    *ret = tb_decimal_sign(billed->lines) > 0 ? billed->lines : TB_DECIMAL_ZERO;
    if (!billed->floored) code = tb_decimal_sub(billed->credits, corrections->amount, &paid, err);
    if (tb_decimal_compare(paid, *ret) > 0) *ret = paid;
    return code;
}

bool tb__is_limit(const tb_statement *s, size_t line)
{
    return s->bill->lines[line].kind == TB_LINE_CORRECTION && s->corrections[line].kind == TB_LINE_CORRECTION;
}

tb_code tb__compose_credit(const tb__composing *of, tb_corrections *corrections, const char *credited, tb__composed *ret,
                           tb_error *err)
{
    const tb_bill none = {.minor_digits = of->bill->minor_digits, .rounding = of->bill->rounding};
    tb__composing notes = *of;
    notes.bill = &none;
    tb_decimal most;
    tb_code code = most_to_take_back(corrections, &most, err);
    if (!code) code = tb_corrections_limit(corrections, of->input->account, most, err);
    if (!code) code = tb__compose(&notes, &ret->joined, &ret->books, &ret->statement, err);
    if (code) return code;
    snprintf(ret->statement.kind, sizeof ret->statement.kind, "credit_note");
    snprintf(ret->statement.corrects, sizeof ret->statement.corrects, "%s", credited);
    return TB_OK;
}

void tb__composed_release(tb__composed *composed)
{
    tb_corrected_release(&composed->joined);
    free(composed->books);
}
