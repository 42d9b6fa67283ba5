/* Shadow books: price books kept beside those in force. A shadow never bills. Each month that is
 * made final notes what it would have billed instead. Activating a shadow makes it a real book.
 *
 * A shadow prices whole months, whatever its effective_from: that is the moment from which it bills
 * once it is a real book.
 *
 * live -> dropped, or live -> activated; the row stays, with its text. An id is one live shadow's
 * or one book's, never both; a dropped shadow's id may be used again. What a shadow would have
 * billed is append-only. */
#ifndef TOLLBOOK_SHADOW_H
#define TOLLBOOK_SHADOW_H

#include "tollbook/charges.h"

TB_API_BEGIN

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
/* One by its row, live or not: for checking what it would have billed. TB_E_NOT_FOUND. */
TB_MUST_USE tb_code tb_store_shadow(tb_store *store, int64_t id, tb_shadow *ret_shadow,
                                    tb_error *err);
/* In the caller's transaction. TB_E_NOT_FOUND: no live shadow has this id. */
TB_MUST_USE tb_code tb_store_drop_shadow(tb_store *store, const char *book, int64_t now_us,
                                         tb_error *err);
/* The same; its text becomes a book, with tb_store_add_book's refusals (then roll back). */
TB_MUST_USE tb_code tb_store_activate_shadow(tb_store *store, const char *book, int64_t now_us,
                                             tb_error *err);

/* What a shadow would have billed an account for a month. Both amounts are sums of rounded lines,
 * net of tax and without corrections of other months. */
typedef struct tb_shadow_bill {
    int64_t shadow; /* tb_shadow.id */
    char book[65];  /* its name; tb_store_add_shadow_bill does not look at it */
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

TB_API_END

#endif
