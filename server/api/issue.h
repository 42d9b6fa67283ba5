/* From a month's bill to its invoice: late months found and taken apart, the statement put
 * together, numbered and stored. Everything happens in the caller's snapshot (drafts) or
 * transaction (final ones), so that a run that is killed has either all of an account's invoice or
 * nothing of it. */
#ifndef TOLLBOOK_SERVER_API_ISSUE_H
#define TOLLBOOK_SERVER_API_ISSUE_H

#include "api/month_bill.h"
#include "tollbook/correction.h"

/* A finalised month that usage has come in for since. */
typedef struct issue_late {
    tb_late late;
    month_books books; /* those its invoice was made with; shallow */
    month_bill before, after;
    tb_corrections corrections;
    bool credit; /* the difference is negative: a credit note's */
} issue_late;

/* A statement and everything it is made of. Its pointers lead into it: it is not to be moved. */
typedef struct issue {
    month_bill month;
    issue_late *late;
    size_t n_late;
    tb_corrections *lists; /* of the late months that are no credits; shallow */
    size_t n_lists;
    tb_corrected joined;
    tb_unpriced *unpriced; /* of the month and of late months together */
    tb_statement_book *books;
    tb_statement statement;
} issue;

/* The draft of an account's month as it stands: its charges and the corrections that wait. now_us
 * decides whether the month is running. */
TB_MUST_USE tb_code issue_draft(tb_store *store, int64_t account, int64_t month,
                                const month_books *books, int64_t now_us, issue *ret_issue,
                                tb_error *err);
/* Whether there is anything on it that has an amount. */
bool issue_due(const issue *draft);
void issue_release(issue *draft);

/* What became of it. */
typedef enum issue_outcome {
    ISSUE_MADE,    /* final now */
    ISSUE_KNOWN,   /* was final already; nothing was issued */
    ISSUE_NOTHING, /* nothing is due: no invoice (credit notes of late months were issued) */
} issue_outcome;

/* Makes the draft final: credit notes of late months first, then the invoice. Without anything due
 * there is no invoice, unless `empty`. Errors: NOT_OVER, UNPRICED (the draft's list says what), and
 * the store's: then roll back. *ret_invoice is set, and the caller's to release, but for NOTHING.
 * said (may be NULL) is called for each credit note. */
typedef void (*issue_said)(void *ctx, const tb_invoice *credit_note);
TB_MUST_USE tb_code issue_finalize(tb_store *store, issue *draft, int64_t now_us, bool empty,
                                   issue_said said, void *ctx, tb_invoice *ret_invoice,
                                   issue_outcome *ret_outcome, tb_error *err);
/* TB_E_NOT_OVER, or TB_OK. */
TB_MUST_USE tb_code issue_check_over(int64_t month, int64_t now_us, tb_error *err);

/* The month's invoice that stands, if any: kind invoice, final. *ret_found tells. */
TB_MUST_USE tb_code issue_standing(tb_store *store, int64_t account, int64_t month,
                                   tb_invoice *ret_invoice, bool *ret_found, tb_error *err);

/* Re-rates every stored invoice and credit note and compares the bytes. Calls say with a sentence
 * for each difference and adds them to *differences. */
TB_MUST_USE tb_code issue_verify(tb_store *store, tb_say say, void *ctx, uint64_t *differences,
                                 tb_error *err);

#endif
