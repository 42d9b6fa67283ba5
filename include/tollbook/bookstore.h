/* Price books in the store, and what they and invoices touch in time. A book never changes. */
#ifndef TOLLBOOK_BOOKSTORE_H
#define TOLLBOOK_BOOKSTORE_H

#include "tollbook/bill.h"
#include "tollbook/store.h"

TB_API_BEGIN

/* The same book again (same id, same bytes) changes nothing and sets *ret_known. A book that begins
 * when another of its currency does must name that one in `supersedes`: it takes its place in months
 * that are not final; final months stay with the books they were made with. Books of scope contract
 * stand beside these, any number of them from one moment on. TB_E_BOOK: the id is
 * known with other bytes; another book of this currency takes effect at the same moment and is not
 * named; the named one does not, or is superseded already. */
TB_MUST_USE tb_code tb_store_add_book(tb_store *store, const tb_book *book, int64_t now_us,
                                      bool *ret_known, tb_error *err);
/* All books, ascending by (currency, effective_us); of one moment the last holds. Release each, then
 * free() the array. */
TB_MUST_USE tb_code tb_store_books(tb_store *store, tb_book **ret_books, size_t *ret_n,
                                   tb_error *err);
/* Those of them that count for an account's month: all, but for those that were added after it was
 * billed first. */
TB_MUST_USE tb_code tb_store_month_books(tb_store *store, int64_t account, int64_t month,
                                         tb_book **ret_books, size_t *ret_n, tb_error *err);
void tb_books_release(tb_book *books, size_t n);

/* Books and final invoices whose time touches [from, to): an index asked, every hit checked. Books
 * in force from from_us to to_us (INT64_MAX: still), then invoices by number. free(). */
typedef struct tb_touched {
    bool invoice;
    char name[65];    /* book id, or invoice number */
    char currency[4]; /* books */
    bool superseded;  /* books: in force in earlier invoices alone */
    bool contract;    /* books: for contracts alone */
    int64_t account;  /* invoices */
    int64_t from_us, to_us;
} tb_touched;
TB_MUST_USE tb_code tb_store_touched(tb_store *store, int64_t from_us, int64_t to_us,
                                     tb_touched **ret_touched, size_t *ret_n, tb_error *err);

TB_API_END

#endif
