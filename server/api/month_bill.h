/* An account's month as a bill: books, usage and the one rating function, read in the caller's
 * snapshot or transaction. The command line, the HTTP face, the invoice run and the check of stored
 * invoices all come through here. */
#ifndef TOLLBOOK_SERVER_API_MONTH_BILL_H
#define TOLLBOOK_SERVER_API_MONTH_BILL_H

#include "tollbook/charges.h"
#include "tollbook/invoice.h"

/* All price books of the store. */
typedef struct month_books {
    tb_book *list;
    size_t n;
} month_books;
TB_MUST_USE tb_code month_books_read(tb_store *store, month_books *ret_books, tb_error *err);
void month_books_release(month_books *books);

typedef struct month_bill {
    tb_bill_source source;
    tb_bill bill;
} month_bill;

/* watermark TB_NOW: as it stands. The books must outlive the bill. */
TB_MUST_USE tb_code month_bill_read(tb_store *store, int64_t account, int64_t month,
                                    uint64_t watermark, const tb_book *books, size_t n_books,
                                    int64_t now_us, month_bill *ret_bill, tb_error *err);
/* The same without taxes, whatever their rates: for what shows none. */
TB_MUST_USE tb_code month_net_read(tb_store *store, int64_t account, int64_t month,
                                   uint64_t watermark, const tb_book *books, size_t n_books,
                                   int64_t now_us, month_bill *ret_bill, tb_error *err);
void month_bill_release(month_bill *bill);

int64_t month_of_us(int64_t us); /* months since January 1970 */
int64_t month_start_us(int64_t month);

/* The book that is in force for this currency at a moment; NULL: none. */
const tb_book *month_book_at(const month_books *books, const char currency[4], int64_t at_us);

/* "2026-10": false where it is no month of the years 1 to 9999. */
bool month_parse(const char *text, size_t len, int64_t *ret_month);
void month_format(int64_t month, char out[8]); /* terminated */

#endif
