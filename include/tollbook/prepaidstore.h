/* What the ledger holds of prepaid accounts: the entries of their months day by day, the reversals of
 * these, and since when nothing is left. All of it is read from the entries themselves. */
#ifndef TOLLBOOK_PREPAIDSTORE_H
#define TOLLBOOK_PREPAIDSTORE_H

#include "tollbook/ledgerstore.h"

TB_API_BEGIN

/* --- the days of a month --- */

/* The reference of an account's entry `usage` of a day, "prepaid 7 2026-11-05", and that of the entry
 * `usage_reversal` of a month, "prepaid 7 2026-11". */
void tb_prepaid_day_reference(int64_t account, int64_t day, char out[64]);
void tb_prepaid_month_reference(int64_t account, int64_t month, char out[64]);

typedef struct tb_prepaid_month {
    tb_decimal entered; /* the sum of the days' entries: below 0 where something was used */
    char currency[4];   /* theirs; "": there are none */
    bool reversed;      /* an invoice stands for them */
} tb_prepaid_month;
TB_MUST_USE tb_code tb_store_prepaid_month(tb_store *store, int64_t account, int64_t month,
                                           tb_prepaid_month *ret, tb_error *err);
/* The last day, since January 1970, that has an entry; INT64_MIN: none has. */
TB_MUST_USE tb_code tb_store_prepaid_last(tb_store *store, int64_t account, int64_t *ret_day,
                                          tb_error *err);
/* Whether the month takes no more days: it was made final, or had nothing due when it was run. What a
 * void leaves open is billed by the next run, and not day by day again. */
TB_MUST_USE tb_code tb_store_prepaid_over(tb_store *store, int64_t account, int64_t month,
                                          bool *ret_over, tb_error *err);
/* Accounts behind `after` that are declared prepaid now, ascending, at most `most`. free(). */
TB_MUST_USE tb_code tb_store_prepaid_accounts(tb_store *store, int64_t after, int64_t most,
                                              int64_t **ret_accounts, size_t *ret_n, tb_error *err);
TB_MUST_USE tb_code tb_store_prepaid_count(tb_store *store, int64_t *ret_n, tb_error *err);
/* Accounts with entries in the month that are not reversed, ascending: whoever stopped being prepaid
 * too. free(). */
TB_MUST_USE tb_code tb_store_prepaid_open(tb_store *store, int64_t month, int64_t **ret_accounts,
                                          size_t *ret_n, tb_error *err);

/* --- what is left --- */

typedef struct tb_funds {
    tb_decimal balance;
    tb_decimal running; /* of it what days of months entered that no invoice stands for yet */
    bool empty;       /* there are entries, and they sum to 0 or less */
    int64_t since_us; /* the moment of the entry since which that is so */
} tb_funds;
TB_MUST_USE tb_code tb_store_funds(tb_store *store, int64_t account, tb_funds *ret, tb_error *err);

/* For how many days the zones of an empty prepaid account stay enabled; below 0: for ever. */
TB_MUST_USE tb_code tb_store_grace(tb_store *store, int64_t *ret_days, tb_error *err);
TB_MUST_USE tb_code tb_store_set_grace(tb_store *store, int64_t days, tb_error *err);

TB_API_END

#endif
