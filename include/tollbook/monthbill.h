/* Makes an account's month a bill: books, usage and the one rating function, in the caller's
 * snapshot or transaction. Every command, answer, invoice run and check of stored invoices uses it.
 */
#ifndef TOLLBOOK_MONTHBILL_H
#define TOLLBOOK_MONTHBILL_H

#include "tollbook/billsource.h"
#include "tollbook/bookstore.h"
#include "tollbook/chargestore.h"
#include "tollbook/invoicestore.h"
#include "tollbook/ledgerstore.h"
#include "tollbook/invoice.h"
#include "tollbook/usage.h"
#include "tollbook/totals.h"

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

/* Reads the month (tb_store_bill_input) and rates it. The books must outlive the bill. */
TB_MUST_USE tb_code tb_month_bill_read(tb_store *store, const tb_bill_query *query,
                                       tb_month_bill *ret_bill, tb_error *err);
/* The same without taxes: unreadable tax rates are no error. */
TB_MUST_USE tb_code tb_month_net_read(tb_store *store, const tb_bill_query *query,
                                      tb_month_bill *ret_bill, tb_error *err);
/* The same with the one-off charges that the month's document would bill. */
TB_MUST_USE tb_code tb_month_charged_read(tb_store *store, const tb_bill_query *query, tb_month_bill *ret_bill,
                                          tb_error *err);
/* Adds one-off charges to a bill (tb_bill_add_charges). TB_E_DECLARED: one is in another currency. */
TB_MUST_USE tb_code tb_month_bill_charge(tb_month_bill *month, const tb_one_off *list, size_t n, tb_error *err);
void tb_month_bill_release(tb_month_bill *bill);

/* The book that is in force for this currency at a moment; NULL: none. own: the id of the account's own
 * book, which then holds from its moment on (billsource.h); "": it has none. */
const tb_book *tb_month_book_at(const tb_month_books *books, const char currency[4], const char *own,
                                int64_t at_us);

/* The account-months of a span, for what-ifs and solvers. */

typedef struct tb_month_pair {
    int64_t account, month;
    uint64_t watermark; /* up to which it was billed last; TB_NOW: not billed yet */
} tb_month_pair;

typedef struct tb_month_pairs {
    tb_month_pair *list;
    size_t n, cap;
} tb_month_pairs;

/* Months from..to, both included, that have an invoice or anything to be billed, ascending by
 * account and month: an account's months in a row are cheapest to read. account 0: all. In the
 * caller's snapshot. *ret_pairs is to be released, after a failure too. */
TB_MUST_USE tb_code tb_month_pairs_read(tb_store *store, int64_t account, int64_t from, int64_t to,
                                        tb_month_pairs *ret_pairs, tb_error *err);

#define TB_SPAN_MONTHS_MAX 1200 /* a hundred years */

/* "2026-01" and "2026-10" as months. TB_E_VALIDATION, err->field from or to: no month, the wrong way
 * round, past the running one, or more than TB_SPAN_MONTHS_MAX. */
TB_MUST_USE tb_code tb_month_span(const char *from, const char *to, int64_t now_us,
                                  int64_t *ret_from, int64_t *ret_to, tb_error *err);
void tb_month_pairs_release(tb_month_pairs *pairs);

/* An account's running month so far, for GET /billing, its summary, and the MonthlyBandwidthUsed,
 * MonthlyCharges and Enabled of pull zones. Works in the caller's snapshot. */

/* The account's existing zones, ascending by id, with their state at now_us: charges exact, Enabled
 * by the rules of tb_zone_state_of. free(). */
TB_MUST_USE tb_code tb_account_zones(tb_store *store, int64_t account, int64_t now_us,
                                     tb_zone_month **ret_zones, size_t *ret_n, tb_error *err);

/* Why all its zones are shown disabled: TB_ZONE_UNFUNDED, TB_ZONE_CAPPED, or TB_ZONE_ON where they are not. */
TB_MUST_USE tb_code tb_account_state(tb_store *store, int64_t account, int64_t now_us, tb_zone_state *ret_state, tb_error *err);

TB_MUST_USE tb_code tb_account_summary(tb_store *store, int64_t account, int64_t now_us,
                                       tb_buf *out, tb_error *err);
TB_MUST_USE tb_code tb_account_billing(tb_store *store, int64_t account, int64_t now_us,
                                       tb_buf *out, tb_error *err);

/* The money of that month, and the account's balance. */
typedef struct tb_account_money {
    char currency[4];
    int minor_digits;
    tb_sum net;       /* charges so far, exact, without tax: ThisMonthCharges of GET /billing */
    tb_decimal total; /* rounded, with tax */
    bool complete;    /* false: some usage has no price and is not in these */
    bool prepaid;
    tb_decimal balance, available; /* available: once the month so far is paid, of a prepaid account */
} tb_account_money;
TB_MUST_USE tb_code tb_account_money_read(tb_store *store, int64_t account, int64_t now_us, tb_account_money *ret, tb_error *err);

typedef struct tb_zone_amount {
    int64_t zone;
    tb_decimal amount; /* exact */
} tb_zone_amount;

/* What a month charges each zone before tax, ascending by zone: as its valid invoice says, else as it would be billed
 * now. Zones without a charge are left out, corrections of other months too. In the caller's snapshot. free(). */
TB_MUST_USE tb_code tb_zone_amounts_read(tb_store *store, int64_t account, int64_t month, int64_t now_us,
                                         tb_zone_amount **ret_list, size_t *ret_n, tb_error *err);

/* The running month of pull zones. */

/* All zones of an account, kept for the next page when a list is read page by page: volume zones cannot be billed
 * without the others. Begins as zeros. */
typedef struct tb_zones_memo {
    tb_zone_month *all;
    size_t n;
} tb_zones_memo;
void tb_zones_memo_release(tb_zones_memo *memo);

/* Sets bytes, charges, the optimizer's price and Enabled of zones, ascending by id, as of now_us, in the caller's
 * snapshot. If none of them has volume bandwidth, the account's other zones are not read. */
TB_MUST_USE tb_code tb_zones_month(tb_store *store, int64_t account, int64_t now_us,
                                   tb_zones_memo *memo, tb_pullzone *zones, size_t n,
                                   tb_error *err);

/* A zone's state at now_us, in the caller's snapshot. Reads its bytes only if it has a limit. */
TB_MUST_USE tb_code tb_zone_state_read(tb_store *store, int64_t account, int64_t zone,
                                       int64_t now_us, tb_zone_state *ret_state, tb_error *err);

TB_API_END

#endif
