/* The ledger: what accounts owe and have paid. Append-only: an entry never changes. */
#ifndef TOLLBOOK_LEDGERSTORE_H
#define TOLLBOOK_LEDGERSTORE_H

#include "tollbook/entry.h"
#include "tollbook/invoice.h"
#include "tollbook/settle.h"
#include "tollbook/store.h"

TB_API_BEGIN

/* Sets entry->id. A second entry with the same kind and reference changes nothing and sets
 * *ret_known (id and at_us are the first one's); with another account, currency or amount it is
 * TB_E_VALIDATION, as is another document or last day, and another currency than the account's
 * earlier entries'. TB_E_NOT_FOUND: no such account. TB_E_CLOSED: the month of its time is closed. */
TB_MUST_USE tb_code tb_store_ledger_add(tb_store *store, tb_ledger_entry *entry, bool *ret_known,
                                        tb_error *err);
/* Whether it is there already, as tb_store_ledger_add tells it; id and at_us are then the first one's. */
TB_MUST_USE tb_code tb_store_ledger_known(tb_store *store, tb_ledger_entry *entry, bool *ret_known,
                                          tb_error *err);
/* The entry of this kind and reference; *ret_found false: there is none. */
TB_MUST_USE tb_code tb_store_ledger_find(tb_store *store, tb_ledger_kind kind, const char *reference,
                                         tb_ledger_entry *ret_entry, bool *ret_found, tb_error *err);
/* Accounts that are called so, or whose buyer is: at most 2. free(). */
TB_MUST_USE tb_code tb_store_payers(tb_store *store, const char *name, int64_t **ret_accounts,
                                    size_t *ret_n, tb_error *err);
/* How many entries there are, of all accounts, and the hash of the last. */
TB_MUST_USE tb_code tb_store_ledger_head(tb_store *store, tb_ledger_head *ret_head, tb_error *err);
/* Ascending by id; free(). */
TB_MUST_USE tb_code tb_store_ledger(tb_store *store, int64_t account, tb_ledger_entry **ret_entries,
                                    size_t *ret_n, tb_error *err);
/* Whether the account was ever granted credit. */
TB_MUST_USE tb_code tb_store_has_credit(tb_store *store, int64_t account, bool *ret_has,
                                        tb_error *err);
/* Calls visit for each entry of [from_us, to_us), of all accounts, by time and then by id. It may read
 * the store, but not by this function. */
typedef tb_code (*tb_ledger_visit)(void *ctx, const tb_ledger_entry *entry, tb_error *err);
TB_MUST_USE tb_code tb_store_ledger_each(tb_store *store, int64_t from_us, int64_t to_us,
                                         tb_ledger_visit visit, void *ctx, tb_error *err);
/* Accounts with entries, ascending; free(). */
TB_MUST_USE tb_code tb_store_ledger_accounts(tb_store *store, int64_t **ret_accounts, size_t *ret_n,
                                             tb_error *err);
/* Accounts that were granted credit whose last day is before `day` ("2026-12-31"); "": any credit, or
 * an invoice that says that something of it was paid. Ascending; free(). */
TB_MUST_USE tb_code tb_store_credit_accounts(tb_store *store, const char *day,
                                             int64_t **ret_accounts, size_t *ret_n, tb_error *err);
/* The last entry of versions that paid invoices by other rules; 0: there is none. */
TB_MUST_USE tb_code tb_store_covered_since(tb_store *store, int64_t *ret_id, tb_error *err);
/* The account's invoices and credit notes as tb_settle takes them, oldest first; free(). */
TB_MUST_USE tb_code tb_store_settle_papers(tb_store *store, int64_t account,
                                           tb_settle_paper **ret_papers, size_t *ret_n,
                                           tb_error *err);
TB_MUST_USE tb_code tb_store_balance(tb_store *store, int64_t account, tb_decimal *ret_balance,
                                     tb_error *err);
/* UserBalanceHistoryChart: the balance at 00:05:00 UTC of each day that the range touches, as far
 * as that moment has come; none where the ledger has no entry of the account. One free() releases
 * all. */
TB_MUST_USE tb_code tb_store_balance_history(tb_store *store, int64_t account, tb_range range,
                                             int64_t now_us, tb_balance **ret_balances,
                                             size_t *ret_n, tb_error *err);

/* What the ledger holds of prepaid accounts: the entries of their months day by day, the reversals of
 * these, and since when nothing is left. All of it is read from the entries themselves. */

/* --- the days of a month --- */

/* The reference of an account's entry `usage` of a day, "prepaid 7 2026-11-05", and that of the entry
 * `usage_reversal` of a month, "prepaid 7 2026-11". */
void tb_prepaid_day_reference(int64_t account, int64_t day, char out[64]);
void tb_prepaid_month_reference(int64_t account, int64_t month, char out[64]);

typedef struct tb_prepaid_month {
    tb_decimal entered; /* the sum of the days' entries: below 0 where something was used */
    char currency[4];   /* theirs; "": there are none */
    bool reversed;      /* an invoice stands for them */
} tb_prepaid_month;
TB_MUST_USE tb_code tb_store_prepaid_month(tb_store *store, int64_t account, int64_t month,
                                           tb_prepaid_month *ret, tb_error *err);
/* The last day, since January 1970, that has an entry; INT64_MIN: none has. */
TB_MUST_USE tb_code tb_store_prepaid_last(tb_store *store, int64_t account, int64_t *ret_day,
                                          tb_error *err);
/* Whether the month takes no more days: it was made final, or had nothing due when it was run. What a
 * void leaves open is billed by the next run, and not day by day again. */
TB_MUST_USE tb_code tb_store_prepaid_over(tb_store *store, int64_t account, int64_t month,
                                          bool *ret_over, tb_error *err);
/* Accounts behind `after` that are declared prepaid now, ascending, at most `most`. free(). */
TB_MUST_USE tb_code tb_store_prepaid_accounts(tb_store *store, int64_t after, int64_t most,
                                              int64_t **ret_accounts, size_t *ret_n, tb_error *err);
TB_MUST_USE tb_code tb_store_prepaid_count(tb_store *store, int64_t *ret_n, tb_error *err);
/* Accounts with entries in the month that are not reversed, ascending: whoever stopped being prepaid
 * too. free(). */
TB_MUST_USE tb_code tb_store_prepaid_open(tb_store *store, int64_t month, int64_t **ret_accounts,
                                          size_t *ret_n, tb_error *err);

/* --- what is left --- */

typedef struct tb_funds {
    tb_decimal balance;
    tb_decimal running; /* of it what days of months entered that no invoice stands for yet */
    bool empty;       /* there are entries, and they sum to 0 or less */
    int64_t since_us; /* the moment of the entry since which that is so */
} tb_funds;
TB_MUST_USE tb_code tb_store_funds(tb_store *store, int64_t account, tb_funds *ret, tb_error *err);

/* For how many days the zones of an empty prepaid account stay enabled; below 0: for ever. */
TB_MUST_USE tb_code tb_store_grace(tb_store *store, int64_t *ret_days, tb_error *err);
TB_MUST_USE tb_code tb_store_set_grace(tb_store *store, int64_t days, tb_error *err);

/* Closed months of the general ledger. A closed month takes no further entry of the ledger, whichever way it
 * comes. What the export of such a month cannot tell from entries and invoices, which never change,
 * stands in its closing: the accruals, and the codes of the accounts. */

/* Months before its own that a month accrues where they were not billed. */
#define TB_ACCRUAL_MONTHS 12
/* Months before its own that a closing rests on: it also takes back what the month before it accrued. Usage that
 * comes for these after it is kept as late usage, run or not, so that the closing can be worked out again. */
#define TB_CLOSING_MONTHS (TB_ACCRUAL_MONTHS + 1)

typedef struct tb_closing {
    int64_t id, month, closed_us;
    uint64_t version; /* the data that its document was worked out from */
    uint64_t entries; /* of the ledger when it was made */
    char sha256[65];  /* of the document, lower-case hex */
    char *document;   /* terminated; free() */
    size_t len;
} tb_closing;

/* The month that the ledger begins with: those before it are billed elsewhere. They are not run, do not wait and are not
 * accrued, and take no entries. 0: all are billed here. */
TB_MUST_USE tb_code tb_store_ledger_begin(tb_store *store, int64_t *ret_month, tb_error *err);
/* In the caller's transaction. Whether it may change the caller asks first (tb_ledger_begin). */
TB_MUST_USE tb_code tb_store_set_ledger_begin(tb_store *store, int64_t month, tb_error *err);
/* TB_E_CLOSED where the month lies before it. */
TB_MUST_USE tb_code tb_store_check_begun(tb_store *store, int64_t month, tb_error *err);
/* The first document, not void, of a month before this one or with corrections of one; "": there is none. */
TB_MUST_USE tb_code tb_store_document_before(tb_store *store, int64_t month, char ret_number[24],
                                             tb_error *err);

/* TB_E_CLOSED where the month of this moment is closed, or lies before the ledger's begin. */
TB_MUST_USE tb_code tb_store_check_open(tb_store *store, int64_t at_us, tb_error *err);
/* The last closed month; INT64_MIN: none is. */
TB_MUST_USE tb_code tb_store_last_closed(tb_store *store, int64_t *ret_month, tb_error *err);
/* *ret_found: the month is closed, and *ret_closing is the caller's to release. */
TB_MUST_USE tb_code tb_store_closing(tb_store *store, int64_t month, tb_closing *ret_closing,
                                     bool *ret_found, tb_error *err);
/* Calls visit for each closing there ever was, reopened ones too. It borrows the closing. */
typedef tb_code (*tb_closing_visit)(void *ctx, const tb_closing *closing, tb_error *err);
TB_MUST_USE tb_code tb_store_closings(tb_store *store, tb_closing_visit visit, void *ctx,
                                      tb_error *err);
/* What the next closing's document is worked out from, in the snapshot in which that is done: id, version and
 * entries of *ret_closing. */
TB_MUST_USE tb_code tb_store_next_closing(tb_store *store, tb_closing *ret_closing, tb_error *err);
/* Closes a month, with its document. TB_E_CLOSED: it is closed already. TB_E_BUSY: what the document rests on
 * has changed since its version was read. */
TB_MUST_USE tb_code tb_store_close_month(tb_store *store, const tb_closing *closing, tb_error *err);
/* Opens it again; its closing is kept. TB_E_NOT_FOUND: it is not closed. */
TB_MUST_USE tb_code tb_store_reopen_month(tb_store *store, int64_t month, int64_t now_us,
                                          tb_error *err);
/* What billed an account's month, or part of it, and stood from finalized_us until voided_us. */
typedef struct tb_billed_on {
    char number[24];
    bool own;       /* it is the month's own invoice; else a later one that corrects the month */
    int64_t month;  /* the invoice's */
    uint64_t since; /* corrections: what they go on from, as in tb_correction */
    int64_t finalized_us, voided_us; /* INT64_MAX: it is not void */
} tb_billed_on;
/* All there ever were, void ones too, by the moment they were made; no credit notes. free(). */
TB_MUST_USE tb_code tb_store_billed_on(tb_store *store, int64_t account, int64_t month,
                                      tb_billed_on **ret_list, size_t *ret_n, tb_error *err);
/* The month's credit notes, void ones too, in the same form: own is false. free(). */
TB_MUST_USE tb_code tb_store_credited_on(tb_store *store, int64_t account, int64_t month,
                                         tb_billed_on **ret_list, size_t *ret_n, tb_error *err);
/* When the account's month was first run, by itself or with everybody's; INT64_MAX: never. */
TB_MUST_USE tb_code tb_store_first_run(tb_store *store, int64_t account, int64_t month, int64_t *ret_us,
                                       tb_error *err);
/* Whether the account's month was ever run, by itself or with everybody's. */
TB_MUST_USE tb_code tb_store_month_ran(tb_store *store, int64_t account, int64_t month,
                                       bool *ret_ran, tb_error *err);
void tb_closing_release(tb_closing *closing);

/* From here on everything that a bill or an accrual is read from is as it stood when this closing was worked out:
 * usage, declarations, books, invoices, runs, closings. TB_NOW is that moment's. Of an account whose usage was let go since
 * that cannot be. Ends with tb_store_look_forward; nothing is written in between. */
TB_MUST_USE tb_code tb_store_look_back(tb_store *store, const tb_closing *closing, tb_error *err);
TB_MUST_USE tb_code tb_store_look_forward(tb_store *store, tb_error *err);

TB_API_END

#endif
