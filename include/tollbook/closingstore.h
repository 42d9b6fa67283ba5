/* Closed months of the general ledger. A closed month takes no further entry of the ledger, whichever way it
 * comes. What the export of such a month cannot tell from entries and invoices, which never change,
 * stands in its closing: the accruals, and the codes of the accounts. */
#ifndef TOLLBOOK_CLOSINGSTORE_H
#define TOLLBOOK_CLOSINGSTORE_H

#include "tollbook/ledgerstore.h"

TB_API_BEGIN

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
