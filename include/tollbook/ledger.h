/* The rules for a payment or adjustment before it enters the ledger. */
#ifndef TOLLBOOK_LEDGER_H
#define TOLLBOOK_LEDGER_H

#include "tollbook/account.h"
#include "tollbook/charges.h"
#include "tollbook/document.h"

TB_API_BEGIN

/* Sets entry->amount, for entry->kind. TB_E_VALIDATION: no decimal, zero, or a payment below it. */
TB_MUST_USE tb_code tb_ledger_amount(const char *text, size_t len, tb_ledger_entry *entry,
                                     tb_error *err);
/* Enters it in the caller's transaction, in the account's currency of that moment. The same again
 * changes nothing and sets *ret_known. TB_E_NOT_FOUND: no such account. TB_E_VALIDATION: an amount
 * that nobody can have paid, or the store's. */
TB_MUST_USE tb_code tb_ledger_enter(tb_store *store, tb_ledger_entry *entry, bool *ret_known,
                                    tb_error *err);

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

TB_API_END

#endif
