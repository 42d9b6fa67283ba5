/* Shadow books at work: what they would have billed beside each month's invoices, what activating
 * one would change, and the check of what was noted. Everything reads in the caller's snapshot or
 * transaction. */
#ifndef TOLLBOOK_SERVER_API_SHADOW_H
#define TOLLBOOK_SERVER_API_SHADOW_H

#include "api/issue.h"
#include "tollbook/shadow.h"

typedef struct shadow_books {
    tb_shadow *list;
    size_t n;
} shadow_books;
TB_MUST_USE tb_code shadow_books_read(tb_store *store, shadow_books *ret_books, tb_error *err);
void shadow_books_release(shadow_books *books);

/* Notes what each shadow of the account's currency would have billed for the draft's month.
 * invoice: the number that was issued, "" for none. A shadow that cannot rate the month stops no
 * invoice: said (may be NULL) is told why, and nothing is noted. */
typedef void (*shadow_said)(void *ctx, const tb_shadow *shadow, const tb_error *why);
TB_MUST_USE tb_code shadow_note(tb_store *store, const shadow_books *books, const issue *draft,
                                const char *invoice, int64_t now_us, shadow_said said, void *ctx,
                                tb_error *err);

/* A billed month under a shadow: what was billed and what it would have come to. */
typedef struct shadow_change {
    tb_billed_month month;
    tb_decimal before, after;
    uint64_t unpriced; /* things without a price under the shadow */
    bool over;         /* it changes by more than the limit, or something has no price */
} shadow_change;

/* The last `months` billed months of each account of the shadow's currency, by account. free(). */
TB_MUST_USE tb_code shadow_months(tb_store *store, const tb_shadow *shadow, int64_t months,
                                  tb_billed_month **ret_months, size_t *ret_n, tb_error *err);
/* What they would change by. limit: percent of what
 * was billed, up or down. step (may be NULL) is told how far it is and ends the work by returning
 * false: TB_E_BUSY then. free() the list. */
typedef bool (*shadow_step)(void *ctx, size_t done, size_t total);
TB_MUST_USE tb_code shadow_changes(tb_store *store, const tb_shadow *shadow, int64_t months,
                                   tb_decimal limit, int64_t now_us, shadow_step step, void *ctx,
                                   shadow_change **ret_changes, size_t *ret_n, tb_error *err);

/* (after - before) x 100 / before with two digits, signed, or "new" where before is zero and after
 * is not. */
void shadow_percent(tb_decimal before, tb_decimal after, char out[TB_DECIMAL_TEXT_MAX + 2]);

/* Rates every stored shadow bill again. Calls say with a sentence for each difference and adds them
 * to *differences. */
TB_MUST_USE tb_code shadow_verify(tb_store *store, tb_say say, void *ctx, uint64_t *differences,
                                  tb_error *err);

#endif
