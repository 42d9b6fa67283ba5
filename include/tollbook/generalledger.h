/* The general ledger of a month: every entry of the ledger as lines of double entry, what was used and
 * had no invoice at the month's end, and the same of the month before taken back on the first. Works
 * in the caller's snapshot or transaction.
 *
 * Of a month that is not closed this is worked out anew each time; closing one keeps it. */
#ifndef TOLLBOOK_GENERALLEDGER_H
#define TOLLBOOK_GENERALLEDGER_H

#include "tollbook/closingstore.h"
#include "tollbook/journal.h"
#include "tollbook/monthbill.h"

TB_API_BEGIN

/* What an account had used by a month's end and had no invoice for then, net. */
typedef struct tb_accrual {
    int64_t account;
    char currency[4];
    tb_products products;
    tb_decimal tax; /* of a prepaid account: in what its days had taken off the balance, which is with tax */
} tb_accrual;

typedef struct tb_accruals {
    tb_accrual *list; /* ascending by account */
    size_t n;
    size_t unpriced, refused; /* accounts with usage that has no price, and that cannot be rated, in any month that counts */
} tb_accruals;

typedef struct tb_accruals_ask {
    int64_t month, now_us;
    const tb_month_books *books;
    const tb_accruals *named; /* accounts that are looked at in any case; NULL: none */
    bool (*step)(void *ctx, uint64_t done, uint64_t total); /* now and then; false: TB_E_STOPPED. May be NULL */
    void *ctx;
} tb_accruals_ask;

/* Of a month that is over. What was billed after its end is what the invoice says; the rest is rated. A year of
 * months before it count where they were not billed by its end, also those that were never run; none before the
 * ledger's begin. What is made void after the end stood then. */
TB_MUST_USE tb_code tb_accruals_read(tb_store *store, const tb_accruals_ask *ask,
                                     tb_accruals *ret_accruals, tb_error *err);
void tb_accruals_release(tb_accruals *accruals);

/* A closing's document: what was accrued at the month's end, and what was taken back of the month before. */
TB_MUST_USE tb_code tb_closing_write(tb_store *store, const tb_accruals *accruals,
                                     const tb_accruals *reversed, const tb_month_books *books,
                                     int64_t month, tb_buf *out, tb_error *err);
TB_MUST_USE tb_code tb_closing_read(const tb_closing *closing, bool reversed,
                                    tb_accruals *ret_accruals, tb_error *err);
/* A month's accruals: those of its closing, else what the next month's took back, else worked out. */
TB_MUST_USE tb_code tb_accruals_of(tb_store *store, const tb_accruals_ask *ask,
                                   tb_accruals *ret_accruals, tb_error *err);
/* The codes of a currency in it, or (reversed) of what it took back; those without a book where it does not
 * name the currency. */
TB_MUST_USE tb_code tb_closing_codes(const tb_closing *closing, bool reversed,
                                     const char currency[4], tb_journal_codes *ret_codes,
                                     tb_error *err);
/* A month's codes: those of its closing, else with which the next month's took it back, else of the book
 * that is in force at its end. */
TB_MUST_USE tb_code tb_codes_of(tb_store *store, int64_t month, const tb_month_books *books,
                                const char currency[4], tb_journal_codes *ret_codes, tb_error *err);

/* The rules by which closings are worked out today, "version" in their documents. Who changes what a month accrues
 * counts it on: closings of other rules cannot be worked out again. */
#define TB_CLOSING_RULES 2

typedef struct tb_closings_checked {
    bool all;                /* in: also months before the last three that are closed */
    uint64_t again, by_hash; /* out: worked out again; looked at by their hash alone */
} tb_closings_checked;

/* Checks the closings: their hashes, that each takes back what the month before it accrued, and, of those of the last
 * three months that hold, that its document, worked out again from what was there at its version, comes to the same
 * bytes. Closings of months that were opened again and of other rules are never worked out again. Of accounts whose usage
 * of those months was let go since, hash and form alone are checked, and say is told so. */
TB_MUST_USE tb_code tb_closing_verify(tb_store *store, tb_closings_checked *checked, tb_say say, void *ctx,
                                      uint64_t *differences, tb_error *err);

TB_API_END

#endif
