/* The ledger: what accounts owe and have paid. Append-only: an entry never changes. */
#ifndef TOLLBOOK_LEDGERSTORE_H
#define TOLLBOOK_LEDGERSTORE_H

#include "tollbook/invoice.h"
#include "tollbook/store.h"

TB_API_BEGIN

#define TB_LEDGER_KINDS(X)                                                                         \
    X(INVOICE, "invoice")                                                                          \
    X(VOID, "void")                                                                                \
    X(CREDIT_NOTE, "credit_note")                                                                  \
    X(PAYMENT, "payment")                                                                          \
    X(ADJUSTMENT, "adjustment")
typedef enum tb_ledger_kind {
#define TB_X(e, name) TB_LEDGER_##e,
    TB_LEDGER_KINDS(TB_X)
#undef TB_X
        TB_LEDGER_KIND_COUNT
} tb_ledger_kind;

const char *tb_ledger_kind_name(tb_ledger_kind kind);

/* amount: what it adds to the account's balance (payments positive, invoices negative). */
typedef struct tb_ledger_entry {
    int64_t id, account, at_us;
    tb_ledger_kind kind;
    char currency[4];
    tb_decimal amount;
    char reference[64]; /* invoice number, payment id */
    char note[128];
} tb_ledger_entry;
/* Sets entry->id. A second entry with the same kind and reference changes nothing and sets
 * *ret_known (id and at_us are the first one's); with another account, currency or amount it is
 * TB_E_VALIDATION, as is another currency than the account's earlier entries'. TB_E_NOT_FOUND: no
 * such account. */
TB_MUST_USE tb_code tb_store_ledger_add(tb_store *store, tb_ledger_entry *entry, bool *ret_known,
                                        tb_error *err);
/* How many entries there are, of all accounts, and the hash of the last. */
TB_MUST_USE tb_code tb_store_ledger_head(tb_store *store, tb_ledger_head *ret_head, tb_error *err);
/* Ascending by id; free(). */
TB_MUST_USE tb_code tb_store_ledger(tb_store *store, int64_t account, tb_ledger_entry **ret_entries,
                                    size_t *ret_n, tb_error *err);
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
