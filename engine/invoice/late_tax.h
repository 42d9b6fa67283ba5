/* The tax rows of a document with corrections: see correction.h. */
#ifndef TOLLBOOK_INVOICE_LATE_TAX_H
#define TOLLBOOK_INVOICE_LATE_TAX_H

#include "tollbook/invoice.h"

/* How many rows a list may get. */
size_t tb__late_taxes_most(const tb_corrections *list);

/* Fills out->tax, which has room, and the totals: own's rows, then those of each list. out has the lines of all. */
TB_MUST_USE tb_code tb__tax_months(tb_bill *out, const tb_bill *own, const tb_corrections *lists, size_t n_lists,
                                   tb_error *err);

/* What the norm calls one group of a tax: a category and percent (BG-23). */
bool tb__same_group(const tb_bill_tax *a, const tb_bill_tax *b);
/* *ret: what the rows of a rate's group lie above percent x base together. */
TB_MUST_USE tb_code tb__group_apart(const tb_bill_taxed *tax, size_t n, const tb_bill_tax *rate, tb_decimal *ret,
                                    tb_error *err);
/* Whether that is as far as the norm refuses: 1 or more. */
bool tb__is_far(tb_decimal apart);

#endif
