/* Makes an account's month a bill: books, usage and the one rating function, in the caller's
 * snapshot or transaction. Every command, answer, invoice run and check of stored invoices uses it.
 */
#ifndef TOLLBOOK_MONTHBILL_H
#define TOLLBOOK_MONTHBILL_H

#include "tollbook/charges.h"
#include "tollbook/invoice.h"

TB_API_BEGIN

/* All price books of the store. */
typedef struct tb_month_books {
    tb_book *list;
    size_t n;
} tb_month_books;
TB_MUST_USE tb_code tb_month_books_read(tb_store *store, tb_month_books *ret_books, tb_error *err);
void tb_month_books_release(tb_month_books *books);

typedef struct tb_month_bill {
    tb_bill_source source;
    tb_bill bill;
} tb_month_bill;

/* watermark TB_NOW: as it stands. The books must outlive the bill. */
TB_MUST_USE tb_code tb_month_bill_read(tb_store *store, int64_t account, int64_t month,
                                       uint64_t watermark, const tb_book *books, size_t n_books,
                                       int64_t now_us, tb_month_bill *ret_bill, tb_error *err);
/* The same without taxes, whatever their rates: for what shows none. */
TB_MUST_USE tb_code tb_month_net_read(tb_store *store, int64_t account, int64_t month,
                                      uint64_t watermark, const tb_book *books, size_t n_books,
                                      int64_t now_us, tb_month_bill *ret_bill, tb_error *err);
void tb_month_bill_release(tb_month_bill *bill);

/* The book that is in force for this currency at a moment; NULL: none. own: the id of the account's own
 * book, which then holds from its moment on (billsource.h); "": it has none. */
const tb_book *tb_month_book_at(const tb_month_books *books, const char currency[4], const char *own,
                                int64_t at_us);

TB_API_END

#endif
