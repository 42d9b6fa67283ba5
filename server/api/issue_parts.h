/* What making invoices and checking them share: the check must put a statement together just as it
 * was issued. */
#ifndef TOLLBOOK_SERVER_API_ISSUE_PARTS_H
#define TOLLBOOK_SERVER_API_ISSUE_PARTS_H

#include "api/issue.h"

/* The books that a statement names, by hash. Shallow: free() the list. */
TB_MUST_USE tb_code issue_books_of(const month_books *books, const tb_statement *statement,
                                   month_books *ret_books, tb_error *err);

/* A late month's bills at its watermark and at `until`, under the books that count for it, and the
 * difference. Of `late` only account, month, invoice and since are looked at. */
TB_MUST_USE tb_code issue_difference(tb_store *store, const tb_late *late, uint64_t until,
                                     const month_books *books, int64_t now_us, issue_late *ret,
                                     tb_error *err);

void issue_late_release(issue_late *late);

/* Fills d->late, left and quiet with the account's months before `month` that wait. d->month is
 * read. */
TB_MUST_USE tb_code issue_read_lates(tb_store *store, int64_t account, int64_t month,
                                     const month_books *books, int64_t now_us, issue *d,
                                     tb_error *err);
/* The statement of d->month and d->late. */
TB_MUST_USE tb_code issue_state(issue *d, uint64_t watermark, tb_error *err);

typedef struct issue_credit {
    tb_corrected joined;
    tb_statement_book *books;
    tb_statement statement;
} issue_credit;

/* Limits the late month's corrections to what is left of it: what had been billed for it at its
 * watermark, less what credit notes had taken off. *ret is not to be moved. */
TB_MUST_USE tb_code issue_credit_note(tb_store *store, issue_late *late, uint64_t watermark,
                                      issue_credit *ret, tb_error *err);
void issue_credit_release(issue_credit *credit);

#endif
