/* The rules for a payment, an adjustment or a credit before it enters the ledger, and what credits do
 * there: they are drawn by invoices, given back by void ones, and expire. */
#ifndef TOLLBOOK_LEDGER_H
#define TOLLBOOK_LEDGER_H

#include "tollbook/account.h"
#include "tollbook/charges.h"
#include "tollbook/document.h"
#include "tollbook/ledgerstore.h"
#include "tollbook/payments.h"

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

TB_API_END

#endif
