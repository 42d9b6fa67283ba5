/* The rules for a payment or adjustment before it enters the ledger. */
#ifndef TOLLBOOK_LEDGER_H
#define TOLLBOOK_LEDGER_H

#include "tollbook/charges.h"

TB_API_BEGIN

/* Sets entry->amount, for entry->kind. TB_E_VALIDATION: no decimal, zero, or a payment below it. */
TB_MUST_USE tb_code tb_ledger_amount(const char *text, size_t len, tb_ledger_entry *entry,
                                     tb_error *err);
/* Enters it in the caller's transaction, in the account's currency of that moment. The same again
 * changes nothing and sets *ret_known. TB_E_NOT_FOUND: no such account. TB_E_VALIDATION: an amount
 * that nobody can have paid, or the store's. */
TB_MUST_USE tb_code tb_ledger_enter(tb_store *store, tb_ledger_entry *entry, bool *ret_known,
                                    tb_error *err);

TB_API_END

#endif
