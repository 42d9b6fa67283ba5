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

tb_code tb__compose_credit(const tb__composing *of, tb_corrections *corrections, const char *credited, tb__composed *ret,
                           tb_error *err)
{
    const tb_bill none = {.minor_digits = of->bill->minor_digits, .rounding = of->bill->rounding};
    tb__composing notes = *of;
    notes.bill = &none;
    tb_decimal remaining = corrections->billed.lines;
    if (tb_decimal_sign(remaining) < 0) remaining = TB_DECIMAL_ZERO;
    tb_code code = tb_corrections_limit(corrections, of->input->account, remaining, err);
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
