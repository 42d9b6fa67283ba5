/* Books with named prices are made anew for each question, the others stay as they are. */
#include "advice/repriced.h"

#include <math.h>

tb_code tb__repriced_init(tb__repriced *r, tb_portfolio *portfolio, const tb_price_list *list,
                          const tb_alloc *alloc, tb_error *err)
{
    *r = (tb__repriced){.portfolio = portfolio, .list = list, .n = list->n_books, .alloc = alloc};
    r->own = tb_alloc_zero(alloc, r->n, sizeof *r->own);
    r->changed = tb_alloc_zero(alloc, r->n, sizeof *r->changed);
    r->under = tb_alloc_zero(alloc, r->n, sizeof *r->under);
    if (r->own && r->changed && r->under) {
        for (size_t i = 0; i < list->n; i++)
            r->changed[list->price[i].book] = true;
        return TB_OK;
    }
    tb__repriced_release(r);
    return tb_no_memory(err);
}

void tb__repriced_release(tb__repriced *r)
{
    tb_alloc_free(r->alloc, r->own, r->n * sizeof *r->own);
    tb_alloc_free(r->alloc, r->changed, r->n * sizeof *r->changed);
    tb_alloc_free(r->alloc, r->under, r->n * sizeof *r->under);
    r->own = NULL;
    r->changed = NULL;
    r->under = NULL;
}

/* Books made up to *ret_made, which the caller releases, on failure too. */
static tb_code make(tb__repriced *r, const tb_decimal *minimum, size_t *ret_made, tb_error *err)
{
    for (size_t i = 0; i < r->n; i++) {
        const tb_book *book = r->list->books[i];
        r->under[i] = book;
        *ret_made = i;
        if (!book || (!r->changed[i] && !minimum)) continue;
        tb_code code = tb_price_list_book(r->list, i, r->alloc, &r->own[i], err);
        if (code) return code;
        r->under[i] = &r->own[i];
        if (minimum && tb_decimal_compare(*minimum, book->minimum_monthly) > 0)
            r->own[i].minimum_monthly = *minimum;
    }
    *ret_made = r->n;
    return TB_OK;
}

tb_code tb__repriced_total(tb__repriced *r, const tb_decimal *minimum, bool whole,
                           tb_portfolio_sum *ret, tb_error *err)
{
    size_t made = 0;
    tb_code code = make(r, minimum, &made, err);
    r->ratings++;
    if (!code) code = tb_portfolio_total(r->portfolio, r->under, whole, ret, err);
    for (size_t i = 0; i < made; i++)
        if (r->under[i] == &r->own[i]) tb_book_release(&r->own[i]);
    return code;
}

double tb__decimal_to_double(tb_decimal value)
{
    return (double)((long double)value.mantissa / powl(10.0L, value.scale));
}
