/* Inputs are copied into an arena with their parts' books as numbers, so that one store of a year's
 * months can be rated under any set of books without reading it again. */
#include "base/arena.h"
#include "billing/amounts.h"
#include "tollbook/solve.h"

#include <string.h>

typedef struct kept {
    tb_bill_input input;
    tb_bill_part *parts;   /* input.parts, to be changed, and input.fees, which follow */
    tb_bill_fee *fees;
    const uint16_t *books; /* of each part, then of each fee; n_books: none */
    struct kept *next;
} kept;

struct tb_portfolio {
    const tb_book *books;
    size_t n_books, n;
    kept *first, **end;
    tb_bill_rater *rater;
    const tb_alloc *alloc;
    tb__arena arena;
};

tb_code tb_portfolio_new(const tb_book *books, size_t n_books, const tb_alloc *alloc,
                         tb_portfolio **ret, tb_error *err)
{
    if (n_books > TB_PORTFOLIO_BOOKS_MAX)
        return tb_fail(err, TB_E_VALIDATION, "books", "At most %d price books can be re-rated.",
                       TB_PORTFOLIO_BOOKS_MAX);
    tb_portfolio *p = tb_alloc_zero(alloc, 1, sizeof *p);
    if (!p) return tb_no_memory(err);
    p->books = books;
    p->n_books = n_books;
    p->alloc = alloc;
    p->end = &p->first;
    tb__arena_init(&p->arena, alloc);
    tb_code code = tb_bill_rater_new(alloc, &p->rater, err);
    if (code)
        tb_portfolio_free(p);
    else
        *ret = p;
    return code;
}

void tb_portfolio_free(tb_portfolio *portfolio)
{
    if (!portfolio) return;
    tb_bill_rater_free(portfolio->rater);
    tb__arena_release(&portfolio->arena);
    tb_alloc_free(portfolio->alloc, portfolio, sizeof *portfolio);
}

size_t tb_portfolio_bills(const tb_portfolio *portfolio)
{
    return portfolio->n;
}

static bool number_book(const tb_portfolio *p, const tb_book *book, uint16_t *ret)
{
    size_t k = 0;
    while (k < p->n_books && book != &p->books[k])
        k++;
    *ret = (uint16_t)k;
    return !book || k < p->n_books;
}

static bool number_books(const tb_portfolio *p, const tb_bill_input *in, uint16_t *numbers)
{
    for (size_t i = 0; i < in->n_parts; i++)
        if (!number_book(p, in->parts[i].book, numbers++)) return false;
    for (size_t i = 0; i < in->n_fees; i++)
        if (!number_book(p, in->fees[i].book, numbers++)) return false;
    return true;
}

tb_code tb_portfolio_add(tb_portfolio *p, const tb_bill_input *input, tb_error *err)
{
    kept *k = tb__arena_take(&p->arena, sizeof *k);
    uint16_t *numbers = tb__arena_take(&p->arena, (input->n_parts + input->n_fees + 1) * sizeof *numbers);
    if (!k || !numbers) return tb_no_memory(err);
    *k = (kept){.input = *input, .books = numbers};
    tb_bill_input *in = &k->input;
    if (!number_books(p, input, numbers))
        return tb_fail(err, TB_E_VALIDATION, "books", "A bill names a book that is not given.");
    if (!tb__bill_hold(&p->arena, in, &k->parts, &k->fees)) return tb_no_memory(err);
    *p->end = k;
    p->end = &k->next;
    p->n++;
    return TB_OK;
}

/* --- rating --- */

static tb_code rate_whole(const tb_portfolio *p, const tb_bill_input *in, tb_decimal *ret,
                          bool *ret_unpriced, tb_error *err)
{
    tb_bill bill;
    tb_code code = tb_bill_rate(in, p->alloc, &bill, err);
    if (code) return code;
    *ret = bill.subtotal;
    *ret_unpriced = bill.n_unpriced > 0;
    tb_bill_release(&bill);
    return TB_OK;
}

tb_code tb_portfolio_total(tb_portfolio *p, const tb_book *const *under, bool whole,
                           tb_portfolio_sum *ret, tb_error *err)
{
    tb_portfolio_sum sum = {.unpriced = 0};
    for (kept *k = p->first; k; k = k->next) {
        tb_decimal amount;
        bool unpriced = false;
        const size_t n_parts = k->input.n_parts;
        for (size_t i = 0; i < n_parts + k->input.n_fees; i++) {
            const size_t b = k->books[i];
            const tb_book *book = under ? under[b] : b < p->n_books ? &p->books[b] : NULL;
            *(i < n_parts ? &k->parts[i].book : &k->fees[i - n_parts].book) = book;
        }
        tb_code code = whole ? rate_whole(p, &k->input, &amount, &unpriced, err)
                             : tb_bill_subtotal(p->rater, &k->input, &amount, &unpriced, err);
        if (!code) code = tb_decimal_add(sum.total, amount, &sum.total, err);
        if (code) return code;
        sum.unpriced += unpriced;
    }
    *ret = sum;
    return TB_OK;
}
