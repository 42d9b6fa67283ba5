/* Price books in the store, the time in force of books and invoices, shadow books and scenarios. A book never
 * changes. */
#ifndef TOLLBOOK_BOOKSTORE_H
#define TOLLBOOK_BOOKSTORE_H

#include "tollbook/bill.h"
#include "tollbook/billsource.h"
#include "tollbook/invoicestore.h"
#include "tollbook/ledgerstore.h"
#include "tollbook/store.h"
#include "tollbook/whatif.h"

TB_API_BEGIN

/* The same book again (same id, same bytes) changes nothing and sets *ret_known. A book that begins at the moment of
 * another one of its currency must name that one in `supersedes`, and replaces it in months that are not final;
 * final months keep their books. Books of scope contract are not in this series: any number of them may begin at one
 * moment. TB_E_BOOK: the id is known with other bytes; another book of this currency takes effect at the same moment
 * and is not named; the named one takes effect at another moment, or is superseded already; a fee has another period or
 * timing than in the book before or after it. */
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

/* Books and final invoices that overlap [from, to). Books in force from from_us to to_us (INT64_MAX: no end), then
 * invoices by number. free(). */
typedef struct tb_touched {
    bool invoice;
    char name[65];    /* book id, or invoice number */
    char currency[4]; /* books */
    bool superseded;  /* books: in force in earlier invoices only */
    bool contract;    /* books: for contracts only */
    int64_t account;  /* invoices */
    int64_t from_us, to_us;
} tb_touched;
TB_MUST_USE tb_code tb_store_touched(tb_store *store, int64_t from_us, int64_t to_us,
                                     tb_touched **ret_touched, size_t *ret_n, tb_error *err);

/* Shadow books: price books kept beside those in force. A shadow never bills. For each month that is made final, the
 * amount that it would have billed is stored. Activating a shadow makes it a real book.
 *
 * A shadow prices whole months, whatever its effective_from, which is the moment from which it bills as a real book.
 *
 * live -> dropped, or live -> activated; the row stays, with its text. An id belongs to one live shadow or one book,
 * never to both; a dropped shadow's id may be used again. Shadow bills are append-only. */

typedef struct tb_shadow {
    int64_t id; /* the row's: two shadows of one name, one after the other, are two */
    int64_t added_us;
    tb_book book;
} tb_shadow;

/* In the caller's transaction. The same live shadow again changes nothing and sets *ret_known.
 * TB_E_BOOK: a live shadow has this id with other content, or a book has it. */
TB_MUST_USE tb_code tb_store_add_shadow(tb_store *store, const tb_book *book, int64_t now_us,
                                        bool *ret_known, tb_error *err);
/* Live ones, in the order of their adding. Release, then free() the array. */
TB_MUST_USE tb_code tb_store_shadows(tb_store *store, tb_shadow **ret_shadows, size_t *ret_n,
                                     tb_error *err);
void tb_shadows_release(tb_shadow *shadows, size_t n);
/* One shadow by its row, live or not. TB_E_NOT_FOUND. */
TB_MUST_USE tb_code tb_store_shadow(tb_store *store, int64_t id, tb_shadow *ret_shadow,
                                    tb_error *err);
/* In the caller's transaction. TB_E_NOT_FOUND: no live shadow has this id. */
TB_MUST_USE tb_code tb_store_drop_shadow(tb_store *store, const char *book, int64_t now_us,
                                         tb_error *err);
/* The same, and adds its text as a book; errors as of tb_store_add_book (then roll back). */
TB_MUST_USE tb_code tb_store_activate_shadow(tb_store *store, const char *book, int64_t now_us,
                                             tb_error *err);

/* The amount that a shadow would have billed an account for a month. Both amounts are sums of rounded lines,
 * net of tax and without corrections of other months. */
typedef struct tb_shadow_bill {
    int64_t shadow; /* tb_shadow.id */
    char book[65];  /* its name; not read by tb_store_add_shadow_bill */
    char currency[4];
    int64_t account, month;
    uint64_t watermark; /* data version of both bills */
    char invoice[24];   /* "" where nothing was due */
    tb_decimal billed, would;
    uint64_t unpriced; /* things that the shadow has no price for; they are not in `would` */
} tb_shadow_bill;
TB_MUST_USE tb_code tb_store_add_shadow_bill(tb_store *store, const tb_shadow_bill *bill,
                                             int64_t now_us, tb_error *err);
/* month INT64_MIN: any. Those of shadows that are no longer live too. Ascending by shadow, month,
 * account, watermark. free(). */
TB_MUST_USE tb_code tb_store_shadow_bills(tb_store *store, int64_t month,
                                          tb_shadow_bill **ret_bills, size_t *ret_n, tb_error *err);

/* Stored what-if scenarios, by name. Append-only. A name may have several texts: the name alone means the newest,
 * and the name with "@" and at least TB_SCENARIO_HASH_MIN digits of a SHA-256 the one with that hash. whatif.h
 * defines the text. */

#define TB_SCENARIO_NAME_MAX 64
#define TB_SCENARIO_HASH_MIN 8

typedef struct tb_stored_scenario {
    char name[TB_SCENARIO_NAME_MAX + 1];
    char sha256[65]; /* of the text */
    int64_t added_us;
    char *text; /* canonical, terminated; owned */
    size_t text_len;
} tb_stored_scenario;

/* In the caller's transaction. Where the name's newest text is this one nothing changes and *ret_known is set. */
TB_MUST_USE tb_code tb_store_add_scenario(tb_store *store, const tb_scenario *scenario, int64_t now_us,
                                          bool *ret_known, tb_error *err);
/* name: "eu-plus-10" or "eu-plus-10@3fa9c01b". TB_E_NOT_FOUND; TB_E_VALIDATION where the digits are
 * too few or fit several texts. */
TB_MUST_USE tb_code tb_store_scenario(tb_store *store, const char *name,
                                      tb_stored_scenario *ret_scenario, tb_error *err);
/* All, in the order of their adding. Release each, free() the array. */
TB_MUST_USE tb_code tb_store_scenarios(tb_store *store, tb_stored_scenario **ret_scenarios,
                                       size_t *ret_n, tb_error *err);
void tb_stored_scenario_release(tb_stored_scenario *scenario);

TB_API_END

#endif
