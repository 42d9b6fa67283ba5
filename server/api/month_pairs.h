/* Which account-months a span of months holds: what whatif and the solvers go over. */
#ifndef TOLLBOOK_SERVER_API_MONTH_PAIRS_H
#define TOLLBOOK_SERVER_API_MONTH_PAIRS_H

#include "tollbook/charges.h"

typedef struct month_pair {
    int64_t account, month;
    uint64_t watermark; /* up to which it was billed last; TB_NOW: not billed yet */
} month_pair;

typedef struct month_pairs {
    month_pair *list;
    size_t n, cap;
} month_pairs;

/* Months from..to, both included, that have an invoice or anything to be billed, ascending by
 * account and month: an account's months in a row are cheapest to read. account 0: all. In the
 * caller's snapshot. *ret_pairs is to be released, after a failure too. */
TB_MUST_USE tb_code month_pairs_read(tb_store *store, int64_t account, int64_t from, int64_t to,
                                     month_pairs *ret_pairs, tb_error *err);
void month_pairs_release(month_pairs *pairs);

#endif
