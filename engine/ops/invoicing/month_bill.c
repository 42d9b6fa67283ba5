/* Reading, then rating; nothing is decided here. */
#include "tollbook/monthbill.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tollbook/calendar.h"

tb_code tb_month_books_read(tb_store *store, tb_month_books *ret_books, tb_error *err)
{
    return tb_store_books(store, &ret_books->list, &ret_books->n, err);
}

void tb_month_books_release(tb_month_books *books)
{
    if (books->list) tb_books_release(books->list, books->n);
    free(books->list);
    *books = (tb_month_books){0};
}

static tb_code rate(tb_code code, tb_month_bill *bill, tb_month_bill *ret_bill, tb_error *err)
{
    if (code) return code;
    code = tb_bill_rate(&bill->source.input, NULL, &bill->bill, err);
    if (code)
        tb_bill_source_release(&bill->source);
    else
        *ret_bill = *bill;
    return code;
}

tb_code tb_month_bill_read(tb_store *store, const tb_bill_query *query, tb_month_bill *ret_bill,
                           tb_error *err)
{
    tb_month_bill bill;
    tb_code code = tb_store_bill_input(store, query, &bill.source, err);
    return rate(code, &bill, ret_bill, err);
}

tb_code tb_month_net_read(tb_store *store, const tb_bill_query *query, tb_month_bill *ret_bill,
                          tb_error *err)
{
    tb_month_bill bill;
    tb_code code = tb_store_net_input(store, query, &bill.source, err);
    return rate(code, &bill, ret_bill, err);
}

tb_code tb_month_bill_charge(tb_month_bill *month, const tb_one_off *list, size_t n, tb_error *err)
{
    const tb_bill_input *input = &month->source.input;
    tb_code code = TB_OK;
    if (n == 0) return TB_OK;
    tb_bill_charge *charges = calloc(n, sizeof *charges);
    if (!charges) return tb_no_memory(err);
    for (size_t i = 0; !code && i < n; i++) {
        charges[i] = (tb_bill_charge){list[i].id, list[i].description, list[i].amount, list[i].due, ""};
        memcpy(charges[i].tax_category, list[i].tax_category, sizeof charges[i].tax_category);
        if (strcmp(list[i].currency, input->currency) != 0)
            code = tb_fail(err, TB_E_DECLARED, "currency", "Charge %" PRId64 " is in %s, and the account pays in %s: drop it.",
                           list[i].id, list[i].currency, input->currency);
    }
    if (!code) code = tb_bill_add_charges(&month->bill, input, charges, n, err);
    free(charges);
    return code;
}

tb_code tb_month_charged_read(tb_store *store, const tb_bill_query *query, tb_month_bill *ret_bill, tb_error *err)
{
    tb_one_off *charges = NULL;
    size_t n = 0;
    tb_code code = tb_month_bill_read(store, query, ret_bill, err);
    if (code) return code;
    code = tb_store_charges_due(store, query->account, query->month, &charges, &n, err);
    if (!code) code = tb_month_bill_charge(ret_bill, charges, n, err);
    free(charges);
    if (code) tb_month_bill_release(ret_bill);
    return code;
}

void tb_month_bill_release(tb_month_bill *bill)
{
    tb_bill_release(&bill->bill);
    tb_bill_source_release(&bill->source);
}

const tb_book *tb_month_book_at(const tb_month_books *books, const char currency[4], const char *own,
                                int64_t at_us)
{
    const tb_book *found = NULL;
    bool there = own[0] == 0;
    for (size_t i = 0; i < books->n; i++) {
        const tb_book *book = &books->list[i];
        if (strncmp(book->currency, currency, sizeof book->currency) != 0) continue;
        const bool is_own = own[0] && strcmp(book->id, own) == 0;
        there |= is_own;
        if (book->effective_us > at_us) continue;
        if (is_own) return book;
        if (!book->contract && (!found || book->effective_us >= found->effective_us)) found = book;
    }
    return there ? found : NULL;
}
