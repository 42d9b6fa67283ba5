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

TB_API_END

#endif
