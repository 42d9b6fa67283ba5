/* Shared by making invoices and checking them: the check must build a statement just as it was issued. */
#ifndef TOLLBOOK_OPS_ISSUE_PARTS_H
#define TOLLBOOK_OPS_ISSUE_PARTS_H

#include "invoice/compose.h"
#include "tollbook/issue.h"

/* All books; those that began by the end of a statement's month and that it does not name, by hash, are set aside. A later one
 * prices nothing of the month, but a contract may name it. Shallow: free() the list. */
TB_MUST_USE tb_code tb__issue_books_of(const tb_month_books *books, const tb_statement *statement,
                                       tb_month_books *ret_books, tb_error *err);

/* The parameters of reading late months for a document. */
typedef struct tb__issue_reader {
    tb_store *store;
    const tb_month_books *books;
    int64_t now_us;
    uint64_t until; /* the document's watermark */
    tb_issue_rules rules;
    tb_issue *issue; /* the document, which owns the results */
} tb__issue_reader;

/* A final document, parsed; the issue keeps it, for other months may use it too. */
TB_MUST_USE tb_code tb__issue_paper(tb__issue_reader *r, int64_t account, const char *number, const tb_paper **ret,
                                    tb_error *err);
void tb__issue_papers_release(tb_issue *issue);

/* Fills late->corrections.billed from late->billed. */
TB_MUST_USE tb_code tb__issue_billed(tb__issue_reader *r, tb_issue_late *late, tb_error *err);

/* A late month's bills at its watermark and at r->until, under the books that count for it, the difference, and the
 * documents that had billed it at its watermark. Of `late` only account, month, invoice and since are read. Do not
 * move *ret. */
TB_MUST_USE tb_code tb__issue_difference(tb__issue_reader *r, const tb_late *late, tb_issue_late *ret, tb_error *err);

void tb__issue_late_release(tb_issue_late *late);
/* Whether a billed month has the billed amount in spite of late data, so that it is not late. A month that cannot be
 * rated is late. */
TB_MUST_USE tb_code tb__issue_comes_to_nothing(tb_store *store, const tb_late *late, const tb_month_books *books,
                                               int64_t now_us, bool *ret_nothing, tb_error *err);

/* Fills d->late, left and quiet with the account's late months before `month`. d->month is set already. */
TB_MUST_USE tb_code tb__issue_read_lates(tb_store *store, int64_t account, int64_t month,
                                         const tb_month_books *books, int64_t now_us, tb_issue *d,
                                         tb_error *err);
/* The statement of d->month and d->late. */
TB_MUST_USE tb_code tb__issue_state(tb_issue *d, uint64_t watermark, tb_error *err);

/* A draft without parties and payment: its charges and the pending corrections. */
TB_MUST_USE tb_code tb__issue_lines(tb_store *store, int64_t account, int64_t month,
                                    const tb_month_books *books, int64_t now_us, tb_issue *ret_issue,
                                    tb_error *err);

/* Limits the late month's corrections: see tb__is_limit. Do not move *ret. */
TB_MUST_USE tb_code tb__issue_credit_note(tb_issue_late *late, tb_issue_rules rules, uint64_t watermark,
                                          tb__composed *ret, tb_error *err);
/* What the credit note of a limited month makes due again of one-off credits: amounts above zero. free(). */
TB_MUST_USE tb_code tb__issue_due_again(tb_store *store, const tb_issue_late *late, tb_billed_charge **ret_charges, size_t *ret_n,
                                        tb_error *err);

/* Puts a message about the final invoice into the outbox, if that is on. */
TB_MUST_USE tb_code tb__issue_tell(tb_store *store, const tb_invoice *invoice,
                                   const tb_statement *statement, tb_error *err);

/* A document that is made, or made again as it was. */
typedef struct tb__issue_document {
    const tb_issue *issue;        /* of a credit note: its late months alone count */
    const tb_issue_late *credit;  /* the month that a credit note corrects; NULL: it is an invoice */
    const tb_statement *statement;
    tb_issue_rules rules;
} tb__issue_document;
/* Appends its terms (check.h). The days that it counts have to be in the log of documents. */
TB_MUST_USE tb_code tb__issue_terms(tb_store *store, const tb__issue_document *document, tb_buf *out, tb_error *err);
/* The terms of a stored document, which is rated again. TB_E_NOT_KEPT: it cannot be, and why. */
TB_MUST_USE tb_code tb__issue_terms_again(tb_store *store, const tb_invoice *invoice, tb_buf *out, tb_error *err);

/* Appends usage without a price as sentences: what it is, how much, and what to do. */
void tb__unpriced_say(tb_buf *out, const tb_unpriced *unpriced);

#endif
