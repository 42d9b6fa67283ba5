/* The tax rows of a document with corrections: see tb_correct in invoice.h. */
#ifndef TOLLBOOK_INVOICE_LATE_TAX_H
#define TOLLBOOK_INVOICE_LATE_TAX_H

#include "tollbook/invoice.h"

/* The most rows that a list may need. */
size_t tb__late_taxes_most(const tb_corrections *list);

/* Fills out->tax, which has room, and the totals: own's rows, then those of each list. out has the lines of all. */
TB_MUST_USE tb_code tb__tax_months(tb_bill *out, const tb_bill *own, const tb_corrections *lists, size_t n_lists,
                                   tb_error *err);

/* Whether both are in one group of EN 16931: a category and percent (BG-23). */
bool tb__same_group(const tb_bill_tax *a, const tb_bill_tax *b);
/* *ret: the sum of the rows of a rate's group less percent x base. */
TB_MUST_USE tb_code tb__group_apart(const tb_bill_taxed *tax, size_t n, const tb_bill_tax *rate, tb_decimal *ret,
                                    tb_error *err);
/* Whether the difference is refused by the norm: 1 or more. */
bool tb__is_far(tb_decimal apart);

#endif
