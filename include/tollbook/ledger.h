/* The rules for a payment or adjustment before it enters the ledger. */
#ifndef TOLLBOOK_LEDGER_H
#define TOLLBOOK_LEDGER_H

#include "tollbook/account.h"
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

/* X(name, word, media type) */
#define TB_ACCOUNT_FORMS(X)                                                                        \
    X(JSON, "json", "application/json")                                                            \
    X(CSV, "csv", "text/csv; charset=utf-8")                                                       \
    X(HTML, "html", "text/html; charset=utf-8")                                                    \
    X(PDF, "pdf", "application/pdf")
#define TB_ACCOUNT_WORDS "json|csv|html|pdf"
typedef enum tb_account_form {
#define TB_X(e, word, media) TB_ACCOUNT_##e,
    TB_ACCOUNT_FORMS(TB_X)
#undef TB_X
        TB_ACCOUNT_FORM_COUNT
} tb_account_form;
/* TB_ACCOUNT_FORM_COUNT: there is no such word. */
tb_account_form tb_account_form_of(const char *word, size_t len);
const char *tb_account_media_type(tb_account_form form); /* static */
/* Appends it in this form. */
TB_MUST_USE tb_code tb_account_show(const tb_account_statement *statement, tb_account_form form,
                                    const tb_print_options *options, tb_buf *out, tb_error *err);

/* Reads "2026-11-01", whole; field: for the error. */
TB_MUST_USE tb_code tb_account_day(const char *text, size_t len, const char *field,
                                   int64_t *ret_day, tb_error *err);

TB_API_END

#endif
