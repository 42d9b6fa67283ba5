/* The rules for payments, adjustments and credits before they enter the ledger. Credits are drawn by invoices,
 * given back by void invoices, and expire. */
#ifndef TOLLBOOK_LEDGER_H
#define TOLLBOOK_LEDGER_H

#include "tollbook/print.h"
#include "tollbook/billsource.h"
#include "tollbook/bookstore.h"
#include "tollbook/invoicestore.h"
#include "tollbook/ledgerstore.h"
#include "tollbook/issue.h"
#include "tollbook/entry.h"
#include "tollbook/monthbill.h"
#include "tollbook/settle.h"

TB_API_BEGIN

/* Sets entry->amount, by the rules of entry->kind. TB_E_VALIDATION: no decimal; zero; below zero in an entry that is
 * no adjustment. */
TB_MUST_USE tb_code tb_ledger_amount(const char *text, size_t len, tb_ledger_entry *entry,
                                     tb_error *err);
/* Adds the entry in the caller's transaction, in the account's currency at that moment. The same entry again changes
 * nothing and sets *ret_known. TB_E_NOT_FOUND: no such account. TB_E_VALIDATION: an amount that is too large, or
 * finer than a cent; an invoice (entry->document) of another account, or a void one; a last day in the past; or an
 * error of the store. */
TB_MUST_USE tb_code tb_ledger_enter(tb_store *store, tb_ledger_entry *entry, bool *ret_known,
                                    tb_error *err);

/* What an invoice over `total` would draw at that moment. Release. */
TB_MUST_USE tb_code tb_ledger_plan_draws(tb_store *store, int64_t account, tb_decimal total,
                                         int64_t now_us, tb_draw_plan *ret_plan, tb_error *err);

/* In the caller's transaction: enters the expiry of credits past their last day, of one account (0: of all). The
 * entry's time is the end of the last day (tb_credit_last_day), or that of the credit's newest entry where that is
 * later. Each expiry is entered once. Adds the number of entries to *entered, which may be NULL. */
TB_MUST_USE tb_code tb_ledger_expire(tb_store *store, int64_t account, int64_t now_us,
                                     uint64_t *entered, tb_error *err);
/* In the caller's transaction, directly after the invoice's own entry. */
TB_MUST_USE tb_code tb_ledger_draw(tb_store *store, const tb_invoice *invoice,
                                   const tb_draw_plan *plan, tb_error *err);
/* Voids an invoice or a credit note in the caller's transaction, and gives back the credit that it drew: it can be
 * drawn until the end of that day, even past the credit's last day. */
TB_MUST_USE tb_code tb_ledger_void(tb_store *store, const char *number, int64_t now_us,
                                   tb_error *err);
/* Replays every account's credits: each draw belongs to an invoice that states it, no draw exceeds its credit, each
 * expired credit was past its last day, and each invoice's amount paid from the balance is right. Calls say with a
 * sentence for each difference and adds their number to *differences. */
TB_MUST_USE tb_code tb_ledger_verify(tb_store *store, tb_say say, void *ctx, uint64_t *differences,
                                     tb_error *err);

/* The result of beginning the ledger and of entering opening balances. */
typedef struct tb_opened {
    bool moved; /* the ledger's first month has changed */
    uint64_t entered, known, back; /* opening balances: entered, entered before, and reversed */
} tb_opened;
/* In the caller's transaction: makes `month` the ledger's first month (tb_store_ledger_begin). Reverses opening
 * balances of another begin, and daily usage entries of prepaid accounts before this one. TB_E_NOT_OVER: the month
 * has not begun. TB_E_CLOSED: a month is closed, or a document is final: of an earlier month, or of any where the
 * ledger had begun. */
TB_MUST_USE tb_code tb_ledger_begin(tb_store *store, int64_t month, int64_t now_us, tb_opened *ret, tb_error *err);
/* Enters these balances as of the ledger's begin, in the caller's transaction, into the `ret` that tb_ledger_begin
 * has filled. An account's stored balance is known if it is equal, else it is reversed and entered again; amount 0
 * enters none. Other accounts are not changed. err->line is the row's. TB_E_VALIDATION: a currency other than the
 * account's; a due day with a balance in the account's favour; a reference that is already used. TB_E_CLOSED: the
 * month is closed, or the balance differs and a document is final. */
TB_MUST_USE tb_code tb_ledger_open(tb_store *store, const tb_payments *balances, tb_opened *ret, tb_error *err);

/* An account's statement and its memory. */
typedef struct tb_account_reading {
    tb_account_statement statement;
    void *memory;
} tb_account_reading;

/* The statement of the days `first` to `last`, UTC, both included; first INT64_MIN: since the account's first entry,
 * or `last` where it has none. The parties are those declared now. TB_E_NOT_FOUND: no such account.
 * TB_E_VALIDATION: first is after last. Release on success. */
TB_MUST_USE tb_code tb_account_read(tb_store *store, int64_t account, int64_t first, int64_t last,
                                    tb_account_reading *ret, tb_error *err);
void tb_account_release(tb_account_reading *reading);

#define TB_ACCOUNT_WORDS "json|csv|html|pdf" /* the values of tb_shown_form that a statement has */
/* Appends the statement in one of these forms. */
TB_MUST_USE tb_code tb_account_show(const tb_account_statement *statement, tb_shown_form form,
                                    const tb_print_options *options, tb_buf *out, tb_error *err);

/* Parses "2026-11-01"; no text may follow. field: err->field on failure. */
TB_MUST_USE tb_code tb_account_day(const char *text, size_t len, const char *field,
                                   int64_t *ret_day, tb_error *err);

/* Appends the account's invoices and credit notes as {"invoices":[...]}, by number, void ones included, each with
 * its due day and the amount still owed. In the caller's snapshot. */
TB_MUST_USE tb_code tb_account_invoices(tb_store *store, int64_t account, tb_buf *out, tb_error *err);
/* Appends what the account has to pay as a JSON array, by the entries' ids: invoices and debits of which something
 * remains. In the caller's snapshot. */
TB_MUST_USE tb_code tb_account_payment_requests(tb_store *store, int64_t account, tb_buf *out, tb_error *err);

/* Prepaid accounts: the running month lowers the balance day by day, until the month's invoice replaces these
 * entries; and whether an account is out of funds. Works in the caller's snapshot or transaction. */

/* The result of tb_prepaid_accrue. */
typedef struct tb_accrued {
    size_t days, entries; /* rated, and entered */
    size_t unpriced;      /* kinds of usage without a price, which no entry includes */
    int64_t unpriced_month;
} tb_accrued;

/* Enters the usage of the days since the last entry, through yesterday, UTC. A day's entry is the month's total at
 * the end of that day, with tax and rounded as the month's draft is, less the month's earlier entries. Without any
 * entry it begins with the month before yesterday's. Months that were run or are closed
 * take no more days. Usage that arrives late for an entered day is part of the next day's entry. A total that has
 * not changed enters nothing. After an error roll back to a mark. */
TB_MUST_USE tb_code tb_prepaid_accrue(tb_store *store, int64_t account, const tb_month_books *books,
                                      int64_t now_us, tb_accrued *ret, tb_error *err);
/* Reverses the month's daily entries: its invoice replaces them, or nothing is due. Does nothing where they were
 * reversed before, or there are none. */
TB_MUST_USE tb_code tb_prepaid_reverse(tb_store *store, int64_t account, int64_t month,
                                       int64_t now_us, tb_error *err);
/* The part of `due` that the account's balance covers, in whole units of `digits` after the point, where `spent` of
 * the balance is already used. The balance is what a prepaid account has paid in and, of any account, money that no
 * invoice has taken. Daily entries of months without an invoice reduce nothing: each month's own invoice charges
 * them. */
TB_MUST_USE tb_code tb_prepaid_covers(tb_store *store, int64_t account, tb_decimal due,
                                      tb_decimal spent, int digits, tb_decimal *ret_covered,
                                      tb_error *err);
/* The smaller of `due` and `left`, in whole units; never below 0. */
TB_MUST_USE tb_code tb_prepaid_part(tb_decimal left, tb_decimal due, int digits, tb_decimal *ret,
                                    tb_error *err);

/* Whether the account's zones are disabled for lack of funds: it is prepaid, its balance is 0 or less, and the days
 * of grace that the operator grants have passed. Grace begins with an entry, so an account that never had an entry
 * is not out of funds while grace is granted. */
TB_MUST_USE tb_code tb_prepaid_out_of_funds(tb_store *store, int64_t account, int64_t now_us,
                                            bool *ret_out, tb_error *err);

/* The general ledger of a month in double entry: every ledger entry as lines, the usage that had no invoice at the
 * month's end (accruals), and the reversal of the previous month's accruals on the first. Works in the caller's
 * snapshot or transaction.
 *
 * An open month is computed anew each time; closing the month stores its accruals. */

/* An account's usage without an invoice at a month's end, net of tax. */
typedef struct tb_accrual {
    int64_t account;
    char currency[4];
    tb_products products;
    tb_decimal tax; /* of a prepaid account: of the amount that its daily entries took off the balance */
} tb_accrual;

typedef struct tb_accruals {
    tb_accrual *list; /* ascending by account */
    size_t n;
    size_t unpriced, refused; /* accounts with unpriced usage, and accounts that cannot be rated, in any included month */
} tb_accruals;

typedef struct tb_accruals_ask {
    int64_t month, now_us;
    const tb_month_books *books;
    const tb_accruals *named; /* accounts to include in any case; NULL: none */
    bool (*step)(void *ctx, uint64_t done, uint64_t total); /* now and then; false: TB_E_STOPPED. May be NULL */
    void *ctx;
} tb_accruals_ask;

/* Computes the accruals of a month that is over. Usage invoiced after the month's end is taken from the invoice; the
 * rest is rated. Includes the TB_ACCRUAL_MONTHS months before it where they had no invoice by then, also months that
 * were never run, but none before the ledger's begin. A document that was voided later counts as valid. */
TB_MUST_USE tb_code tb_accruals_read(tb_store *store, const tb_accruals_ask *ask,
                                     tb_accruals *ret_accruals, tb_error *err);
void tb_accruals_release(tb_accruals *accruals);

/* Writes a closing's document: the accruals at the month's end, and the reversed ones of the month before. */
TB_MUST_USE tb_code tb_closing_write(tb_store *store, const tb_accruals *accruals,
                                     const tb_accruals *reversed, const tb_month_books *books,
                                     int64_t month, tb_buf *out, tb_error *err);
TB_MUST_USE tb_code tb_closing_read(const tb_closing *closing, bool reversed,
                                    tb_accruals *ret_accruals, tb_error *err);
/* A month's accruals: from its own closing, else from the next month's reversals, else computed. */
TB_MUST_USE tb_code tb_accruals_of(tb_store *store, const tb_accruals_ask *ask,
                                   tb_accruals *ret_accruals, tb_error *err);
/* A month's codes: from its own closing, else from the next month's reversals, else from the book in force at its
 * end. */
TB_MUST_USE tb_code tb_codes_of(tb_store *store, int64_t month, const tb_month_books *books,
                                const char currency[4], tb_journal_codes *ret_codes, tb_error *err);

/* The version of the rules by which closings are computed, "version" in their documents. Increment it with any change
 * to what a month accrues: closings of other versions cannot be computed again. */
#define TB_CLOSING_RULES 2

typedef struct tb_closings_checked {
    bool all;                /* in: also months before the last three closed ones */
    uint64_t again, by_hash; /* out: computed again; checked by their hash alone */
} tb_closings_checked;

/* Checks the closings: the hash of each, that each reverses the accruals of the month before it, and that the last
 * three valid ones, computed again from the data of their version, give the same bytes. Closings of reopened months
 * and of other rule versions are not computed again. Where usage of an account has expired since, only hash and form
 * are checked, and say reports it. */
TB_MUST_USE tb_code tb_closing_verify(tb_store *store, tb_closings_checked *checked, tb_say say, void *ctx,
                                      uint64_t *differences, tb_error *err);

TB_API_END

#endif
