/* The rules for a payment, an adjustment or a credit before it enters the ledger, and what credits do
 * there: they are drawn by invoices, given back by void ones, and expire. */
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

/* Sets entry->amount, for entry->kind. TB_E_VALIDATION: no decimal, zero, or below it where only an
 * adjustment can be. */
TB_MUST_USE tb_code tb_ledger_amount(const char *text, size_t len, tb_ledger_entry *entry,
                                     tb_error *err);
/* Enters it in the caller's transaction, in the account's currency of that moment. The same again
 * changes nothing and sets *ret_known. TB_E_NOT_FOUND: no such account. TB_E_VALIDATION: an amount
 * that nobody can have paid, an invoice (entry->document) that is not the account's or is void, a last
 * day that is over, or the store's. */
TB_MUST_USE tb_code tb_ledger_enter(tb_store *store, tb_ledger_entry *entry, bool *ret_known,
                                    tb_error *err);

/* What an account's invoice takes of its credits. */
typedef struct tb_draw_plan {
    bool has_credit; /* the account was granted credit once */
    tb_draw *draws;
    size_t n;
    tb_decimal paid; /* their sum */
} tb_draw_plan;

/* What an invoice over `total` would draw at that moment. Release. */
TB_MUST_USE tb_code tb_ledger_plan_draws(tb_store *store, int64_t account, tb_decimal total,
                                         int64_t now_us, tb_draw_plan *ret_plan, tb_error *err);
void tb_draw_plan_release(tb_draw_plan *plan);

/* In the caller's transaction: enters what is left of credits behind their last day, of one account
 * (0: of all). The entry's time is the end of the last day (tb_credit_last_day), or that of the credit's
 * newest entry where that is later. Once entered it is entered no more. Adds their number to *entered, which may be NULL. */
TB_MUST_USE tb_code tb_ledger_expire(tb_store *store, int64_t account, int64_t now_us,
                                     uint64_t *entered, tb_error *err);
/* In the caller's transaction, right behind the invoice's own entry. */
TB_MUST_USE tb_code tb_ledger_draw(tb_store *store, const tb_invoice *invoice,
                                   const tb_draw_plan *plan, tb_error *err);
/* Voids an invoice or a credit note in the caller's transaction, and gives back what it drew:
 * that can be drawn until the end of that day, whatever the credit's last day was. */
TB_MUST_USE tb_code tb_ledger_void(tb_store *store, const char *number, int64_t now_us,
                                   tb_error *err);
/* Replays every account's credits: nothing is drawn but by an invoice that says so, as much as there
 * was, and what has expired had; and what money in the account has paid of each invoice. Calls say with a sentence for each difference and adds them to
 * *differences. */
TB_MUST_USE tb_code tb_ledger_verify(tb_store *store, tb_say say, void *ctx, uint64_t *differences,
                                     tb_error *err);

/* What was made of a begin and of opening balances. */
typedef struct tb_opened {
    bool moved; /* the ledger has another begin than before */
    uint64_t entered, known, back; /* opening balances: entered, there before, and taken back */
} tb_opened;
/* In the caller's transaction: the ledger begins with this month (tb_store_ledger_begin). Opening balances of another begin are
 * taken back, and so is what days of prepaid accounts entered before this one. TB_E_NOT_OVER: the month has not begun.
 * TB_E_CLOSED: a month is closed; a document stands, of an earlier month, or of any where there was a begin before. */
TB_MUST_USE tb_code tb_ledger_begin(tb_store *store, int64_t month, int64_t now_us, tb_opened *ret, tb_error *err);
/* Enters these balances as of the begin, in the caller's transaction, into a `ret` that tb_ledger_begin has filled. Those
 * of an account that stand already are known, or are taken back where they differ; 0 enters none. Other accounts stay as
 * they are. err->line is the row's. TB_E_VALIDATION: another currency than the account's, a due day of money that is the
 * account's own, a reference that is taken. TB_E_CLOSED: the month is closed, or they differ and a document is final. */
TB_MUST_USE tb_code tb_ledger_open(tb_store *store, const tb_payments *balances, tb_opened *ret, tb_error *err);

/* An account's statement, and the memory that it lies in. */
typedef struct tb_account_reading {
    tb_account_statement statement;
    void *memory;
} tb_account_reading;

/* Of the days from `first` to `last`, UTC, both included; INT64_MIN: since its first entry, or `last`
 * where it has none. The parties are those declared now. TB_E_NOT_FOUND: no such account.
 * TB_E_VALIDATION: first is after last. Release on success. */
TB_MUST_USE tb_code tb_account_read(tb_store *store, int64_t account, int64_t first, int64_t last,
                                    tb_account_reading *ret, tb_error *err);
void tb_account_release(tb_account_reading *reading);

#define TB_ACCOUNT_WORDS "json|csv|html|pdf" /* the forms of document.h that a statement has */
/* Appends it in one of these forms. */
TB_MUST_USE tb_code tb_account_show(const tb_account_statement *statement, tb_shown_form form,
                                    const tb_print_options *options, tb_buf *out, tb_error *err);

/* Reads "2026-11-01", whole; field: for the error. */
TB_MUST_USE tb_code tb_account_day(const char *text, size_t len, const char *field,
                                   int64_t *ret_day, tb_error *err);

/* Appends the account's invoices and credit notes as {"invoices":[...]}, by number, void ones too, each with the
 * day on which it is due and what remains of it. In the caller's snapshot. */
TB_MUST_USE tb_code tb_account_invoices(tb_store *store, int64_t account, tb_buf *out, tb_error *err);

/* Prepaid accounts: the running month lowers the balance day by day, until its invoice stands for the
 * days; whether anything is left. Works in the caller's snapshot or transaction. */

/* What was entered for an account. */
typedef struct tb_accrued {
    size_t days, entries; /* that were rated, and that were entered */
    size_t unpriced;      /* kinds of usage without a price, which are in no entry */
    int64_t unpriced_month;
} tb_accrued;

/* Enters what the days behind the last entry came to, through yesterday, UTC: each day's entry is what
 * the month has come to by its end, with tax and rounded as its draft is, less what was entered for the
 * month before. Where there is no entry yet it begins with the month before yesterday's. Months that
 * were run or are closed take no more days. Usage that comes late for a day with an entry is in the next day's. Where yesterday's sum
 * is what was entered already, nothing is. After an error go back to a mark. */
TB_MUST_USE tb_code tb_prepaid_accrue(tb_store *store, int64_t account, const tb_month_books *books,
                                      int64_t now_us, tb_accrued *ret, tb_error *err);
/* Takes back what the month's days entered, for its invoice stands for them from now on, or nothing is
 * due. Nothing where it was done before, and where the account has no such entry. */
TB_MUST_USE tb_code tb_prepaid_reverse(tb_store *store, int64_t account, int64_t month,
                                       int64_t now_us, tb_error *err);
/* How much of `due` the account's balance covers, in whole units of `digits` after the point, where `spent` of the
 * balance is used already: what a prepaid account paid in and, of any account, money that no invoice has taken. Days
 * of months without an invoice take nothing off: each month's own invoice asks for them. */
TB_MUST_USE tb_code tb_prepaid_covers(tb_store *store, int64_t account, tb_decimal due,
                                      tb_decimal spent, int digits, tb_decimal *ret_covered,
                                      tb_error *err);
/* That part of `due` for which `left` is enough, in whole units; never below 0. */
TB_MUST_USE tb_code tb_prepaid_part(tb_decimal left, tb_decimal due, int digits, tb_decimal *ret,
                                    tb_error *err);

/* Whether the account's zones are disabled for lack of money: it is prepaid and its balance is 0 or less;
 * where the operator grants days, for so many days already. These begin with an entry, so an account that
 * never had one is not out of funds then. */
TB_MUST_USE tb_code tb_prepaid_out_of_funds(tb_store *store, int64_t account, int64_t now_us,
                                            bool *ret_out, tb_error *err);

/* The general ledger of a month: every entry of the ledger as lines of double entry, what was used and
 * had no invoice at the month's end, and the same of the month before taken back on the first. Works
 * in the caller's snapshot or transaction.
 *
 * Of a month that is not closed this is worked out anew each time; closing one keeps it. */

/* What an account had used by a month's end and had no invoice for then, net. */
typedef struct tb_accrual {
    int64_t account;
    char currency[4];
    tb_products products;
    tb_decimal tax; /* of a prepaid account: in what its days had taken off the balance, which is with tax */
} tb_accrual;

typedef struct tb_accruals {
    tb_accrual *list; /* ascending by account */
    size_t n;
    size_t unpriced, refused; /* accounts with usage that has no price, and that cannot be rated, in any month that counts */
} tb_accruals;

typedef struct tb_accruals_ask {
    int64_t month, now_us;
    const tb_month_books *books;
    const tb_accruals *named; /* accounts that are looked at in any case; NULL: none */
    bool (*step)(void *ctx, uint64_t done, uint64_t total); /* now and then; false: TB_E_STOPPED. May be NULL */
    void *ctx;
} tb_accruals_ask;

/* Of a month that is over. What was billed after its end is what the invoice says; the rest is rated. A year of
 * months before it count where they were not billed by its end, also those that were never run; none before the
 * ledger's begin. What is made void after the end stood then. */
TB_MUST_USE tb_code tb_accruals_read(tb_store *store, const tb_accruals_ask *ask,
                                     tb_accruals *ret_accruals, tb_error *err);
void tb_accruals_release(tb_accruals *accruals);

/* A closing's document: what was accrued at the month's end, and what was taken back of the month before. */
TB_MUST_USE tb_code tb_closing_write(tb_store *store, const tb_accruals *accruals,
                                     const tb_accruals *reversed, const tb_month_books *books,
                                     int64_t month, tb_buf *out, tb_error *err);
TB_MUST_USE tb_code tb_closing_read(const tb_closing *closing, bool reversed,
                                    tb_accruals *ret_accruals, tb_error *err);
/* A month's accruals: those of its closing, else what the next month's took back, else worked out. */
TB_MUST_USE tb_code tb_accruals_of(tb_store *store, const tb_accruals_ask *ask,
                                   tb_accruals *ret_accruals, tb_error *err);
/* The codes of a currency in it, or (reversed) of what it took back; those without a book where it does not
 * name the currency. */
TB_MUST_USE tb_code tb_closing_codes(const tb_closing *closing, bool reversed,
                                     const char currency[4], tb_journal_codes *ret_codes,
                                     tb_error *err);
/* A month's codes: those of its closing, else with which the next month's took it back, else of the book
 * that is in force at its end. */
TB_MUST_USE tb_code tb_codes_of(tb_store *store, int64_t month, const tb_month_books *books,
                                const char currency[4], tb_journal_codes *ret_codes, tb_error *err);

/* The rules by which closings are worked out today, "version" in their documents. Who changes what a month accrues
 * counts it on: closings of other rules cannot be worked out again. */
#define TB_CLOSING_RULES 2

typedef struct tb_closings_checked {
    bool all;                /* in: also months before the last three that are closed */
    uint64_t again, by_hash; /* out: worked out again; looked at by their hash alone */
} tb_closings_checked;

/* Checks the closings: their hashes, that each takes back what the month before it accrued, and, of those of the last
 * three months that hold, that its document, worked out again from what was there at its version, comes to the same
 * bytes. Closings of months that were opened again and of other rules are never worked out again. Of accounts whose usage
 * of those months was let go since, hash and form alone are checked, and say is told so. */
TB_MUST_USE tb_code tb_closing_verify(tb_store *store, tb_closings_checked *checked, tb_say say, void *ctx,
                                      uint64_t *differences, tb_error *err);

TB_API_END

#endif
