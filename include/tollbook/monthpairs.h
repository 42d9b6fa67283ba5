/* The account-months of a span, for what-ifs and solvers. */
#ifndef TOLLBOOK_MONTHPAIRS_H
#define TOLLBOOK_MONTHPAIRS_H

#include "tollbook/charges.h"

TB_API_BEGIN

typedef struct tb_month_pair {
    int64_t account, month;
    uint64_t watermark; /* up to which it was billed last; TB_NOW: not billed yet */
} tb_month_pair;

typedef struct tb_month_pairs {
    tb_month_pair *list;
    size_t n, cap;
} tb_month_pairs;

/* Months from..to, both included, that have an invoice or anything to be billed, ascending by
 * account and month: an account's months in a row are cheapest to read. account 0: all. In the
 * caller's snapshot. *ret_pairs is to be released, after a failure too. */
TB_MUST_USE tb_code tb_month_pairs_read(tb_store *store, int64_t account, int64_t from, int64_t to,
                                        tb_month_pairs *ret_pairs, tb_error *err);

#define TB_SPAN_MONTHS_MAX 1200 /* a hundred years */

/* "2026-01" and "2026-10" as months. TB_E_VALIDATION, err->field from or to: no month, the wrong way
 * round, past the running one, or more than TB_SPAN_MONTHS_MAX. */
TB_MUST_USE tb_code tb_month_span(const char *from, const char *to, int64_t now_us,
                                  int64_t *ret_from, int64_t *ret_to, tb_error *err);
void tb_month_pairs_release(tb_month_pairs *pairs);

TB_API_END

#endif
