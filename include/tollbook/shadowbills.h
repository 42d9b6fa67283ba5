/* Shadow books at work: what they would have billed beside each month's invoices, and the check of
 * what was noted. Everything reads in the caller's snapshot or transaction. */
#ifndef TOLLBOOK_SHADOWBILLS_H
#define TOLLBOOK_SHADOWBILLS_H

#include "tollbook/buf.h"
#include "tollbook/issue.h"
#include "tollbook/shadow.h"

TB_API_BEGIN

typedef struct tb_shadow_books {
    tb_shadow *list;
    size_t n;
} tb_shadow_books;
TB_MUST_USE tb_code tb_shadow_books_read(tb_store *store, tb_shadow_books *ret_books,
                                         tb_error *err);
void tb_shadow_books_release(tb_shadow_books *books);

/* Notes what each shadow of the account's currency would have billed for the draft's month.
 * invoice: the number that was issued, "" for none. A shadow that cannot rate the month stops no
 * invoice: said (may be NULL) is told why, and nothing is noted. */
typedef void (*tb_shadow_said)(void *ctx, const tb_shadow *shadow, const tb_error *why);
TB_MUST_USE tb_code tb_shadow_note(tb_store *store, const tb_shadow_books *books,
                                   const tb_issue *draft, const char *invoice, int64_t now_us,
                                   tb_shadow_said said, void *ctx, tb_error *err);

/* (after - before) x 100 / before with two digits, signed, or "new" where before is zero and after
 * is not. */
void tb_shadow_percent(tb_decimal before, tb_decimal after, char out[TB_DECIMAL_TEXT_MAX + 2]);

/* Rates every stored shadow bill again. Calls say with a sentence for each difference and adds them
 * to *differences. */
TB_MUST_USE tb_code tb_shadow_verify(tb_store *store, tb_say say, void *ctx, uint64_t *differences,
                                     tb_error *err);

/* What shadow books come to, in sentences: the command line prints them, the server sends them. */

/* An amount with the currency's digits; terminated, and returned. */
const char *tb_shadow_money(tb_decimal amount, const char *currency,
                            char out[TB_DECIMAL_TEXT_MAX + 1]);

/* Appends lines: what the month's invoices would have come to under each of these. Whatever was
 * noted of the month counts, by this run or an earlier one. */
TB_MUST_USE tb_code tb_shadow_say(tb_store *store, int64_t month, const tb_shadow_books *books,
                                  tb_buf *lines, tb_error *err);

TB_API_END

#endif
