/* The ledger: the debts and payments of accounts. Append-only: an entry never changes. */
#ifndef TOLLBOOK_LEDGERSTORE_H
#define TOLLBOOK_LEDGERSTORE_H

#include "tollbook/entry.h"
#include "tollbook/invoice.h"
#include "tollbook/settle.h"
#include "tollbook/store.h"

TB_API_BEGIN

/* Adds the entry and sets entry->id. A second entry of the same kind and reference changes nothing and sets
 * *ret_known (id and at_us are those of the first); with another account, currency, amount, document or last day it
 * is TB_E_VALIDATION, and so is a currency other than that of the account's earlier entries. TB_E_NOT_FOUND: no such
 * account. TB_E_CLOSED: the month of its time is closed. */
TB_MUST_USE tb_code tb_store_ledger_add(tb_store *store, tb_ledger_entry *entry, bool *ret_known,
                                        tb_error *err);
/* Whether the entry is stored, by the rules of tb_store_ledger_add; id and at_us are then those of the first one. */
TB_MUST_USE tb_code tb_store_ledger_known(tb_store *store, tb_ledger_entry *entry, bool *ret_known,
                                          tb_error *err);
/* The entry of this kind and reference; *ret_found false: none. */
TB_MUST_USE tb_code tb_store_ledger_find(tb_store *store, tb_ledger_kind kind, const char *reference,
                                         tb_ledger_entry *ret_entry, bool *ret_found, tb_error *err);
/* Accounts with this name, or with a buyer of this name: at most 2. free(). */
TB_MUST_USE tb_code tb_store_payers(tb_store *store, const char *name, int64_t **ret_accounts,
                                    size_t *ret_n, tb_error *err);
/* The number of entries of all accounts, and the hash of the last one. */
TB_MUST_USE tb_code tb_store_ledger_head(tb_store *store, tb_ledger_head *ret_head, tb_error *err);
/* Ascending by id; free(). */
TB_MUST_USE tb_code tb_store_ledger(tb_store *store, int64_t account, tb_ledger_entry **ret_entries,
                                    size_t *ret_n, tb_error *err);
/* Whether the account was ever granted credit. */
TB_MUST_USE tb_code tb_store_has_credit(tb_store *store, int64_t account, bool *ret_has,
                                        tb_error *err);
/* Calls visit for each entry of [from_us, to_us), of all accounts, by time and then by id. visit may read the store,
 * but not call this function. */
typedef tb_code (*tb_ledger_visit)(void *ctx, const tb_ledger_entry *entry, tb_error *err);
TB_MUST_USE tb_code tb_store_ledger_each(tb_store *store, int64_t from_us, int64_t to_us,
                                         tb_ledger_visit visit, void *ctx, tb_error *err);
/* Accounts with entries, ascending; free(). */
TB_MUST_USE tb_code tb_store_ledger_accounts(tb_store *store, int64_t **ret_accounts, size_t *ret_n,
                                             tb_error *err);
/* Accounts with a credit that expired before `day` ("2026-12-31"); "": accounts with any credit, or with an invoice
 * that states a paid amount. Ascending; free(). */
TB_MUST_USE tb_code tb_store_credit_accounts(tb_store *store, const char *day,
                                             int64_t **ret_accounts, size_t *ret_n, tb_error *err);
/* The id of the last entry made by versions that settled invoices by other rules; 0: none. */
TB_MUST_USE tb_code tb_store_covered_since(tb_store *store, int64_t *ret_id, tb_error *err);
/* The account's invoices and credit notes as input of tb_settle, oldest first; free(). */
TB_MUST_USE tb_code tb_store_settle_papers(tb_store *store, int64_t account,
                                           tb_settle_paper **ret_papers, size_t *ret_n,
                                           tb_error *err);
TB_MUST_USE tb_code tb_store_balance(tb_store *store, int64_t account, tb_decimal *ret_balance,
                                     tb_error *err);
/* UserBalanceHistoryChart: the balance at 00:05:00 UTC of each day of the range up to now_us; none where the account
 * has no ledger entry. One free() releases all. */
TB_MUST_USE tb_code tb_store_balance_history(tb_store *store, int64_t account, tb_range range,
                                             int64_t now_us, tb_balance **ret_balances,
                                             size_t *ret_n, tb_error *err);

/* Prepaid accounts in the ledger: the daily entries of their months, the reversals of these, and the moment since
 * which the balance is used up. All of it is computed from the entries. */

/* --- the days of a month --- */

/* The reference of an account's entry `usage` of a day, "prepaid 7 2026-11-05", and that of the entry
 * `usage_reversal` of a month, "prepaid 7 2026-11". */
void tb_prepaid_day_reference(int64_t account, int64_t day, char out[64]);
void tb_prepaid_month_reference(int64_t account, int64_t month, char out[64]);

typedef struct tb_prepaid_month {
    tb_decimal entered; /* the sum of the days' entries: below 0 where something was used */
    char currency[4];   /* of the entries; "": there are none */
    bool reversed;      /* an invoice has replaced them */
} tb_prepaid_month;
TB_MUST_USE tb_code tb_store_prepaid_month(tb_store *store, int64_t account, int64_t month,
                                           tb_prepaid_month *ret, tb_error *err);
/* The last day, since January 1970, with an entry; INT64_MIN: none. */
TB_MUST_USE tb_code tb_store_prepaid_last(tb_store *store, int64_t account, int64_t *ret_day,
                                          tb_error *err);
/* Whether the month takes no more daily entries: it was made final, or had nothing due when it was run. Voiding its
 * invoice does not reopen it: the next run bills the month. */
TB_MUST_USE tb_code tb_store_prepaid_over(tb_store *store, int64_t account, int64_t month,
                                          bool *ret_over, tb_error *err);
/* Accounts with a number above `after` that are declared prepaid now, ascending, at most `most`. free(). */
TB_MUST_USE tb_code tb_store_prepaid_accounts(tb_store *store, int64_t after, int64_t most,
                                              int64_t **ret_accounts, size_t *ret_n, tb_error *err);
TB_MUST_USE tb_code tb_store_prepaid_count(tb_store *store, int64_t *ret_n, tb_error *err);
/* Accounts with unreversed entries in the month, ascending, also those that are no longer prepaid. free(). */
TB_MUST_USE tb_code tb_store_prepaid_open(tb_store *store, int64_t month, int64_t **ret_accounts,
                                          size_t *ret_n, tb_error *err);

/* --- what is left --- */

typedef struct tb_funds {
    tb_decimal balance;
    tb_decimal running; /* part of the balance: daily entries that no invoice has replaced yet */
    bool empty;       /* there are entries, and their sum is 0 or less */
    int64_t since_us; /* time of the entry since which the balance is empty */
} tb_funds;
TB_MUST_USE tb_code tb_store_funds(tb_store *store, int64_t account, tb_funds *ret, tb_error *err);

/* The days for which the zones of an empty prepaid account stay enabled; below 0: without limit. */
TB_MUST_USE tb_code tb_store_grace(tb_store *store, int64_t *ret_days, tb_error *err);
TB_MUST_USE tb_code tb_store_set_grace(tb_store *store, int64_t days, tb_error *err);

/* Closed months of the general ledger. A closed month takes no further ledger entry from any source. Its closing
 * stores what its export needs beyond entries and invoices, which never change: the accruals and the account
 * codes. */

/* A month accrues unbilled usage of so many months before it. */
#define TB_ACCRUAL_MONTHS 12
/* A closing depends on so many months before it, for it also reverses the accruals of the month before. Usage that
 * arrives for these later is stored as late usage, whether they were run or not, so that the closing can be computed
 * again. */
#define TB_CLOSING_MONTHS (TB_ACCRUAL_MONTHS + 1)

typedef struct tb_closing {
    int64_t id, month, closed_us;
    uint64_t version; /* data version that its document was computed from */
    uint64_t entries; /* number of ledger entries when it was made */
    char sha256[65];  /* of the document, lower-case hex */
    char *document;   /* terminated; free() */
    size_t len;
} tb_closing;

/* The ledger's first month. Earlier months were billed elsewhere: they are not run, are never late, are not accrued
 * and take no entries. 0: all months are billed here. */
TB_MUST_USE tb_code tb_store_ledger_begin(tb_store *store, int64_t *ret_month, tb_error *err);
/* In the caller's transaction. The caller checks first whether it may change (tb_ledger_begin). */
TB_MUST_USE tb_code tb_store_set_ledger_begin(tb_store *store, int64_t month, tb_error *err);
/* TB_E_CLOSED where the month lies before the ledger's begin. */
TB_MUST_USE tb_code tb_store_check_begun(tb_store *store, int64_t month, tb_error *err);
/* The first valid document of a month before this one, or with corrections of one; "": none. */
TB_MUST_USE tb_code tb_store_document_before(tb_store *store, int64_t month, char ret_number[24],
                                             tb_error *err);

/* TB_E_CLOSED where the month of this moment is closed, or lies before the ledger's begin. */
TB_MUST_USE tb_code tb_store_check_open(tb_store *store, int64_t at_us, tb_error *err);
/* The last closed month; INT64_MIN: none. */
TB_MUST_USE tb_code tb_store_last_closed(tb_store *store, int64_t *ret_month, tb_error *err);
/* *ret_found: the month is closed; release *ret_closing. */
TB_MUST_USE tb_code tb_store_closing(tb_store *store, int64_t month, tb_closing *ret_closing,
                                     bool *ret_found, tb_error *err);
/* Calls visit for every closing, those of reopened months included. visit borrows the closing. */
typedef tb_code (*tb_closing_visit)(void *ctx, const tb_closing *closing, tb_error *err);
TB_MUST_USE tb_code tb_store_closings(tb_store *store, tb_closing_visit visit, void *ctx,
                                      tb_error *err);
/* The state from which the next closing's document is computed, in the same snapshot: id, version and entries of
 * *ret_closing. */
TB_MUST_USE tb_code tb_store_next_closing(tb_store *store, tb_closing *ret_closing, tb_error *err);
/* Closes a month, with its document. TB_E_CLOSED: it is closed already. TB_E_BUSY: data that the document depends on
 * has changed since its version was read. */
TB_MUST_USE tb_code tb_store_close_month(tb_store *store, const tb_closing *closing, tb_error *err);
/* Reopens a month; its closing is kept. TB_E_NOT_FOUND: the month is not closed. */
TB_MUST_USE tb_code tb_store_reopen_month(tb_store *store, int64_t month, int64_t now_us,
                                          tb_error *err);
/* A document that billed an account's month, or a part of it, and was valid from finalized_us until voided_us. */
typedef struct tb_billed_on {
    char number[24];
    bool own;       /* the month's own invoice; else a later one that corrects the month */
    int64_t month;  /* the invoice's */
    uint64_t since; /* of corrections: the watermark from which they correct, as in tb_correction */
    int64_t finalized_us, voided_us; /* INT64_MAX: it is not void */
} tb_billed_on;
/* All of them, void ones included, in the order of issue; without credit notes. free(). */
TB_MUST_USE tb_code tb_store_billed_on(tb_store *store, int64_t account, int64_t month,
                                      tb_billed_on **ret_list, size_t *ret_n, tb_error *err);
/* The month's credit notes, void ones included, in the same form: own is false. free(). */
TB_MUST_USE tb_code tb_store_credited_on(tb_store *store, int64_t account, int64_t month,
                                         tb_billed_on **ret_list, size_t *ret_n, tb_error *err);
/* The time of the first run of the account's month, by itself or with all accounts; INT64_MAX: none. */
TB_MUST_USE tb_code tb_store_first_run(tb_store *store, int64_t account, int64_t month, int64_t *ret_us,
                                       tb_error *err);
/* Whether the account's month was ever run, by itself or with all accounts. */
TB_MUST_USE tb_code tb_store_month_ran(tb_store *store, int64_t account, int64_t month,
                                       bool *ret_ran, tb_error *err);
void tb_closing_release(tb_closing *closing);

/* From here on, bills and accruals read the data as it was when this closing was computed: usage, declarations,
 * books, invoices, runs, closings. TB_NOW is that moment. Not possible for an account whose usage has expired since.
 * Ends with tb_store_look_forward; nothing may be written in between. */
TB_MUST_USE tb_code tb_store_look_back(tb_store *store, const tb_closing *closing, tb_error *err);
TB_MUST_USE tb_code tb_store_look_forward(tb_store *store, tb_error *err);

TB_API_END

#endif
