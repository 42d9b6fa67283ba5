/* Reading, then rating; nothing is decided here. */
#include "tollbook/monthbill.h"

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
