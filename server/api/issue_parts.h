/* What making invoices and checking them share: the check must put a statement together just as it
 * was issued. */
#ifndef TOLLBOOK_SERVER_API_ISSUE_PARTS_H
#define TOLLBOOK_SERVER_API_ISSUE_PARTS_H

#include "api/issue.h"

/* The books that a statement names, by hash. Shallow: free() the list. */
TB_MUST_USE tb_code issue_books_of(const month_books *books, const tb_statement *statement,
                                   month_books *ret_books, tb_error *err);

/* A late month's bills at its watermark and at `until`, and the difference. On success the books'
 * list belongs to *ret. */
TB_MUST_USE tb_code issue_difference(tb_store *store, const tb_late *late, uint64_t until,
                                     const month_books *books, int64_t now_us, issue_late *ret,
                                     tb_error *err);

/* The statement of d->month and d->late. */
TB_MUST_USE tb_code issue_state(issue *d, uint64_t watermark, tb_error *err);

/* What counts of what was billed. */
typedef struct issue_limit {
    const char *before; /* papers with a number from this one on do not; "": all do */
    bool own;           /* the month's own invoice and credit notes alone */
} issue_limit;
/* What is left of a month: what its invoice and corrections of it have billed, less what credit
 * notes took off. */
TB_MUST_USE tb_code issue_remaining(tb_store *store, const tb_late *late, const issue_limit *limit,
                                    tb_decimal *ret_remaining, tb_error *err);

typedef struct issue_credit {
    tb_corrected joined;
    tb_statement_book *books;
    tb_statement statement;
} issue_credit;

/* Limits the late month's corrections to what remains. *ret is not to be moved. */
TB_MUST_USE tb_code issue_credit_note(issue_late *late, uint64_t watermark, tb_decimal remaining,
                                      issue_credit *ret, tb_error *err);
void issue_credit_release(issue_credit *credit);

#endif
