/* What making invoices and checking them share: the check must put a statement together just as it
 * was issued. */
#ifndef TOLLBOOK_OPS_ISSUE_PARTS_H
#define TOLLBOOK_OPS_ISSUE_PARTS_H

#include "tollbook/issue.h"

/* The books that a statement names, by hash, and those that begin after its month: they price nothing of it,
 * but a contract may name one. Shallow: free() the list. */
TB_MUST_USE tb_code tb__issue_books_of(const tb_month_books *books, const tb_statement *statement,
                                       tb_month_books *ret_books, tb_error *err);

/* How late months are read for a document. */
typedef struct tb__issue_reader {
    tb_store *store;
    const tb_month_books *books;
    int64_t now_us;
    uint64_t until; /* the watermark that the document sees */
    tb_issue_rules rules;
    tb_issue *issue; /* the document, which keeps what was read */
} tb__issue_reader;

/* A document that was made final, parsed; the issue keeps it, for other months stand on it too. */
TB_MUST_USE tb_code tb__issue_paper(tb__issue_reader *r, int64_t account, const char *number, const tb_paper **ret,
                                    tb_error *err);
void tb__issue_papers_release(tb_issue *issue);

/* Fills late->corrections.billed from late->billed. */
TB_MUST_USE tb_code tb__issue_billed(tb__issue_reader *r, tb_issue_late *late, tb_error *err);

/* A late month's bills at its watermark and at r->until, under the books that count for it, the difference, and what
 * documents had billed of it at its watermark. Of `late` only account, month, invoice and since are looked at.
 * *ret is not to be moved. */
TB_MUST_USE tb_code tb__issue_difference(tb__issue_reader *r, const tb_late *late, tb_issue_late *ret, tb_error *err);

void tb__issue_late_release(tb_issue_late *late);
/* Whether a billed month comes to what was billed, whatever came for it since: it waits for nothing. One that
 * cannot be rated waits. */
TB_MUST_USE tb_code tb__issue_comes_to_nothing(tb_store *store, const tb_late *late, const tb_month_books *books,
                                               int64_t now_us, bool *ret_nothing, tb_error *err);

/* Fills d->late, left and quiet with the account's months before `month` that wait. d->month is
 * read. */
TB_MUST_USE tb_code tb__issue_read_lates(tb_store *store, int64_t account, int64_t month,
                                         const tb_month_books *books, int64_t now_us, tb_issue *d,
                                         tb_error *err);
/* The statement of d->month and d->late. */
TB_MUST_USE tb_code tb__issue_state(tb_issue *d, uint64_t watermark, tb_error *err);

/* A draft without parties and what credit would pay of it: what it charges, and the corrections that wait. */
TB_MUST_USE tb_code tb__issue_lines(tb_store *store, int64_t account, int64_t month,
                                    const tb_month_books *books, int64_t now_us, tb_issue *ret_issue,
                                    tb_error *err);

typedef struct tb__issue_credit {
    tb_corrected joined;
    tb_statement_book *books;
    tb_statement statement;
} tb__issue_credit;

/* Limits the late month's corrections to what is left of it: what had been billed for it at its
 * watermark, less what credit notes had taken off. *ret is not to be moved. */
TB_MUST_USE tb_code tb__issue_credit_note(tb_issue_late *late, tb_issue_rules rules, uint64_t watermark,
                                          tb__issue_credit *ret, tb_error *err);
void tb__issue_credit_release(tb__issue_credit *credit);

/* Puts the message that it was made final into the outbox, where messages are wanted. */
TB_MUST_USE tb_code tb__issue_tell(tb_store *store, const tb_invoice *invoice,
                                   const tb_statement *statement, tb_error *err);

#endif
