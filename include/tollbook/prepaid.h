/* Prepaid accounts: the running month lowers the balance day by day, until its invoice stands for the
 * days; whether anything is left. Works in the caller's snapshot or transaction. */
#ifndef TOLLBOOK_PREPAID_H
#define TOLLBOOK_PREPAID_H

#include "tollbook/monthbill.h"
#include "tollbook/prepaidstore.h"

TB_API_BEGIN

/* What was entered for an account. */
typedef struct tb_accrued {
    size_t days, entries; /* that were rated, and that were entered */
    size_t unpriced;      /* kinds of usage without a price, which are in no entry */
    int64_t unpriced_month;
} tb_accrued;

/* Enters what the days behind the last entry came to, through yesterday, UTC: each day's entry is what
 * the month has come to by its end, with tax and rounded as its draft is, less what was entered for the
 * month before. Where there is no entry yet it begins with the month before yesterday's. Months that
 * were run or are closed take no more days. Usage that comes late for a day with an entry is in the next day's. Where yesterday's sum
 * is what was entered already, nothing is. After an error go back to a mark. */
TB_MUST_USE tb_code tb_prepaid_accrue(tb_store *store, int64_t account, const tb_month_books *books,
                                      int64_t now_us, tb_accrued *ret, tb_error *err);
/* Takes back what the month's days entered, for its invoice stands for them from now on, or nothing is
 * due. Nothing where it was done before, and where the account has no such entry. */
TB_MUST_USE tb_code tb_prepaid_reverse(tb_store *store, int64_t account, int64_t month,
                                       int64_t now_us, tb_error *err);
/* How much of `due` the account's balance covers, in whole units of `digits` after the point, where `spent` of the
 * balance is used already: what a prepaid account paid in and, of any account, money that no invoice has taken. Days
 * of months without an invoice take nothing off: each month's own invoice asks for them. */
TB_MUST_USE tb_code tb_prepaid_covers(tb_store *store, int64_t account, tb_decimal due,
                                      tb_decimal spent, int digits, tb_decimal *ret_covered,
                                      tb_error *err);
/* That part of `due` for which `left` is enough, in whole units; never below 0. */
TB_MUST_USE tb_code tb_prepaid_part(tb_decimal left, tb_decimal due, int digits, tb_decimal *ret,
                                    tb_error *err);

/* Whether the account's zones are disabled for lack of money: it is prepaid and its balance is 0 or less;
 * where the operator grants days, for so many days already. These begin with an entry, so an account that
 * never had one is not out of funds then. */
TB_MUST_USE tb_code tb_prepaid_out_of_funds(tb_store *store, int64_t account, int64_t now_us,
                                            bool *ret_out, tb_error *err);

TB_API_END

#endif
