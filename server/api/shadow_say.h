/* What shadow books come to, in sentences: beside an invoice run, and before one of them is
 * activated. The command line prints them, the server sends them. */
#ifndef TOLLBOOK_SERVER_API_SHADOW_SAY_H
#define TOLLBOOK_SERVER_API_SHADOW_SAY_H

#include "api/shadow.h"
#include "tollbook/buf.h"

/* An amount with the currency's digits; terminated, and returned. */
const char *shadow_money(tb_decimal amount, const char *currency,
                         char out[TB_DECIMAL_TEXT_MAX + 1]);

/* Appends lines: what the month's invoices would have come to under each of these. Whatever was
 * noted of the month counts, by this run or an earlier one. */
TB_MUST_USE tb_code shadow_say(tb_store *store, int64_t month, const shadow_books *books,
                               tb_buf *lines, tb_error *err);

#define SHADOW_LIMIT_TEXT "10" /* percent, where nobody says another */
#define SHADOW_NAMED_MAX  100  /* accounts named in a refusal; the rest is counted */
#define SHADOW_LINES_MAX  ((size_t)64 << 10)

typedef struct shadow_activation {
    /* What is asked. */
    char book[65];
    char limit_text[32];
    tb_decimal limit; /* percent; of limit_text */
    int64_t months, now_us;
    bool anyway;
    shadow_step step; /* may be NULL */
    void *ctx;
    /* What was compared. */
    shadow_change *changes;
    size_t n, over, accounts;
    uint64_t months_hash;
} shadow_activation;

/* "10", "2.5": from 0 up. false: it is none. */
bool shadow_limit(shadow_activation *a, const char *text, size_t len);
/* Compares, in the caller's snapshot or transaction. Release after success. TB_E_NOT_FOUND: there
 * is no such shadow book. */
TB_MUST_USE tb_code shadow_compare(tb_store *store, shadow_activation *a, tb_error *err);
void shadow_activation_release(shadow_activation *a);
/* Whether it stays a shadow. */
bool shadow_stays(const shadow_activation *a);
/* Activates it in the caller's transaction, the release may come first. TB_E_BUSY: months were billed since it was compared. */
TB_MUST_USE tb_code shadow_activate(tb_store *store, const shadow_activation *a, tb_error *err);
/* Appends lines: the months that change by more than the limit, and what became of it. */
void shadow_say_over(const shadow_activation *a, tb_buf *lines);
void shadow_say_end(const shadow_activation *a, tb_buf *lines);

#endif
