/* Reading, then rating; nothing is decided here. */
#include "api/month_bill.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tollbook/calendar.h"

tb_code month_books_read(tb_store *store, month_books *ret_books, tb_error *err)
{
    return tb_store_books(store, &ret_books->list, &ret_books->n, err);
}

void month_books_release(month_books *books)
{
    if (books->list) tb_books_release(books->list, books->n);
    free(books->list);
    *books = (month_books){0};
}

static tb_code rate(tb_code code, month_bill *bill, month_bill *ret_bill, tb_error *err)
{
    if (code) return code;
    code = tb_bill_rate(&bill->source.input, NULL, &bill->bill, err);
    if (code)
        tb_bill_source_release(&bill->source);
    else
        *ret_bill = *bill;
    return code;
}

tb_code month_bill_read(tb_store *store, int64_t account, int64_t month, uint64_t watermark,
                        const tb_book *books, size_t n_books, int64_t now_us, month_bill *ret_bill,
                        tb_error *err)
{
    month_bill bill;
    tb_code code = tb_store_bill_input(store, account, month, watermark, books, n_books, now_us,
                                       &bill.source, err);
    return rate(code, &bill, ret_bill, err);
}

tb_code month_net_read(tb_store *store, int64_t account, int64_t month, uint64_t watermark,
                       const tb_book *books, size_t n_books, int64_t now_us, month_bill *ret_bill,
                       tb_error *err)
{
    month_bill bill;
    tb_code code = tb_store_net_input(store, account, month, watermark, books, n_books, now_us,
                                      &bill.source, err);
    return rate(code, &bill, ret_bill, err);
}

void month_bill_release(month_bill *bill)
{
    tb_bill_release(&bill->bill);
    tb_bill_source_release(&bill->source);
}

int64_t month_of_us(int64_t us)
{
    return tb_month_from_day(tb_day_from_us(us));
}

int64_t month_start_us(int64_t month)
{
    return tb_month_first_day(month) * TB_US_PER_DAY;
}

const tb_book *month_book_at(const month_books *books, const char currency[4], int64_t at_us)
{
    const tb_book *found = NULL;
    for (size_t i = 0; i < books->n; i++) {
        const tb_book *book = &books->list[i];
        if (strncmp(book->currency, currency, sizeof book->currency) != 0) continue;
        if (book->effective_us <= at_us && (!found || book->effective_us >= found->effective_us))
            found = book;
    }
    return found;
}

static bool digits(const char *text, size_t n, int *ret_value)
{
    *ret_value = 0;
    for (size_t i = 0; i < n; i++) {
        if (text[i] < '0' || text[i] > '9') return false;
        *ret_value = *ret_value * 10 + (text[i] - '0');
    }
    return true;
}

bool month_parse(const char *text, size_t len, int64_t *ret_month)
{
    int year, month;
    if (len != 7 || text[4] != '-' || !digits(text, 4, &year) || !digits(text + 5, 2, &month))
        return false;
    if (year < 1 || month < 1 || month > 12) return false;
    *ret_month = tb_month_from_day(tb_day_from_date((tb_date){year, month, 1}));
    return true;
}

void month_format(int64_t month, char out[8])
{
    tb_date date = tb_date_from_day(tb_month_first_day(month));
    char text[32];
    snprintf(text, sizeof text, "%04d-%02d", date.year, date.month);
    memcpy(out, text, 7);
    out[7] = 0;
}
