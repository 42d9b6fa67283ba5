/* Shadow books at work: what they would have billed beside each month's invoices, what activating
 * one would change, and the check of what was noted. Everything reads in the caller's snapshot or
 * transaction. */
#ifndef TOLLBOOK_ACTIVATE_H
#define TOLLBOOK_ACTIVATE_H

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

/* A billed month under a shadow: what was billed and what it would have come to. */
typedef struct tb_shadow_change {
    tb_billed_month month;
    tb_decimal before, after;
    uint64_t unpriced; /* things without a price under the shadow */
    bool over;         /* it changes by more than the limit, or something has no price */
} tb_shadow_change;

/* The last `months` billed months of each account of the shadow's currency, by account. free(). */
TB_MUST_USE tb_code tb_shadow_months(tb_store *store, const tb_shadow *shadow, int64_t months,
                                     tb_billed_month **ret_months, size_t *ret_n, tb_error *err);
/* What they would change by. limit: percent of what
 * was billed, up or down. step (may be NULL) is told how far it is and ends the work by returning
 * false: TB_E_BUSY then. free() the list. */
typedef bool (*tb_shadow_step)(void *ctx, size_t done, size_t total);
TB_MUST_USE tb_code tb_shadow_changes(tb_store *store, const tb_shadow *shadow, int64_t months,
                                      tb_decimal limit, int64_t now_us, tb_shadow_step step,
                                      void *ctx, tb_shadow_change **ret_changes, size_t *ret_n,
                                      tb_error *err);

/* (after - before) x 100 / before with two digits, signed, or "new" where before is zero and after
 * is not. */
void tb_shadow_percent(tb_decimal before, tb_decimal after, char out[TB_DECIMAL_TEXT_MAX + 2]);

/* Rates every stored shadow bill again. Calls say with a sentence for each difference and adds them
 * to *differences. */
TB_MUST_USE tb_code tb_shadow_verify(tb_store *store, tb_say say, void *ctx, uint64_t *differences,
                                     tb_error *err);

/* What shadow books come to, in sentences: beside an invoice run, and before one of them is
 * activated. The command line prints them, the server sends them. */

/* An amount with the currency's digits; terminated, and returned. */
const char *tb_shadow_money(tb_decimal amount, const char *currency,
                            char out[TB_DECIMAL_TEXT_MAX + 1]);

/* Appends lines: what the month's invoices would have come to under each of these. Whatever was
 * noted of the month counts, by this run or an earlier one. */
TB_MUST_USE tb_code tb_shadow_say(tb_store *store, int64_t month, const tb_shadow_books *books,
                                  tb_buf *lines, tb_error *err);

#define TB_SHADOW_LIMIT_TEXT "10" /* percent, where nobody says another */
#define TB_SHADOW_NAMED_MAX  100  /* accounts named in a refusal; the rest is counted */
#define TB_SHADOW_LINES_MAX  ((size_t)64 << 10)

typedef struct tb_shadow_activation {
    /* What is asked. */
    char book[65];
    char limit_text[32];
    tb_decimal limit; /* percent; of limit_text */
    int64_t months, now_us;
    bool anyway;
    tb_shadow_step step; /* may be NULL */
    void *ctx;
    /* What was compared. */
    tb_shadow_change *changes;
    size_t n, over, accounts;
    uint64_t months_hash;
} tb_shadow_activation;

/* "10", "2.5": from 0 up. false: it is none. */
bool tb_shadow_limit(tb_shadow_activation *a, const char *text, size_t len);
/* Compares, in the caller's snapshot or transaction. Release after success. TB_E_NOT_FOUND: there
 * is no such shadow book. */
TB_MUST_USE tb_code tb_shadow_compare(tb_store *store, tb_shadow_activation *a, tb_error *err);
void tb_shadow_activation_release(tb_shadow_activation *a);
/* Whether it stays a shadow. */
bool tb_shadow_stays(const tb_shadow_activation *a);
/* Activates it in the caller's transaction, the release may come first. TB_E_BUSY: months were
 * billed since it was compared. */
TB_MUST_USE tb_code tb_shadow_activate(tb_store *store, const tb_shadow_activation *a,
                                       tb_error *err);
/* Appends lines: the months that change by more than the limit, and what became of it. */
void tb_shadow_say_over(const tb_shadow_activation *a, tb_buf *lines);
void tb_shadow_say_end(const tb_shadow_activation *a, tb_buf *lines);

TB_API_END

#endif
