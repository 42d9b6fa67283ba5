/* A portfolio under books with changed named prices: the repeated evaluation of both solvers. */
#ifndef TOLLBOOK_ADVICE_REPRICED_H
#define TOLLBOOK_ADVICE_REPRICED_H

#include "tollbook/solve.h"

typedef struct tb__repriced {
    tb_portfolio *portfolio;
    const tb_price_list *list;
    size_t n; /* books; `under` has one more at its end, for usage without a book */
    tb_book *own;
    bool *changed;         /* own[i] is to be made */
    const tb_book **under; /* own[i], or the list's */
    unsigned ratings;
    const tb_alloc *alloc;
} tb__repriced;

/* under: as in tb_portfolio_total, list's books among them. */
TB_MUST_USE tb_code tb__repriced_init(tb__repriced *r, tb_portfolio *portfolio,
                                      const tb_price_list *list, const tb_alloc *alloc,
                                      tb_error *err);
void tb__repriced_release(tb__repriced *r);
/* The sum under the list's `after`. minimum: NULL, or a lower bound of a book's minimum. */
TB_MUST_USE tb_code tb__repriced_total(tb__repriced *r, const tb_decimal *minimum, bool whole,
                                       tb_portfolio_sum *ret, tb_error *err);

/* A search's double for an amount: good enough to look, never shown. */
double tb__decimal_to_double(tb_decimal value);

#endif
