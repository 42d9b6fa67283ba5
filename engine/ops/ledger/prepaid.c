/* The daily entries of a prepaid account. The month is rated up to the end of a day, and the total less the month's
 * earlier entries is the day's entry: so late usage, changed prices and corrections are in the next entry, and the
 * entries of a month always sum to its total. */
#include "tollbook/ledger.h"

#include <string.h>

#include "tollbook/calendar.h"
#include "tollbook/billsource.h"
#include "tollbook/bookstore.h"
#include "tollbook/invoicestore.h"
#include "tollbook/ledgerstore.h"

/* --- days --- */

/* An entry is dated in its day, at its last second. */
#define BEFORE_MIDNIGHT_US TB_US_PER_S

typedef struct accruing {
    tb_store *store;
    int64_t account, month;
    const tb_month_books *books;
    tb_decimal entered; /* of the month: below 0 where there was usage */
    tb_accrued *done;
    tb_error *err;
} accruing;

/* The month's total by the end of the day. */
static tb_code rate_until(accruing *a, int64_t day, tb_decimal *ret_gross, char ret_currency[4],
                          size_t *ret_unpriced)
{
    const int64_t end_us = (day + 1) * TB_US_PER_DAY;
    const tb_bill_query query = {a->account, a->month, TB_NOW,
                             a->books->list, a->books->n, end_us};
    tb_bill_source source;
    tb_bill bill;
    tb_code code = tb_store_bill_input_until(a->store, &query, end_us, &source, a->err);
    if (code) return code;
    code = tb_bill_rate(&source.input, NULL, &bill, a->err);
    if (!code) {
        *ret_gross = bill.total;
        *ret_unpriced = bill.n_unpriced;
        memcpy(ret_currency, source.input.currency, sizeof source.input.currency);
        tb_bill_release(&bill);
    }
    tb_bill_source_release(&source);
    a->done->days++;
    return code;
}

static tb_code enter_day(accruing *a, int64_t day, tb_decimal gross, const char currency[4])
{
    tb_ledger_entry entry = {.account = a->account, .kind = TB_LEDGER_USAGE,
                             .at_us = (day + 1) * TB_US_PER_DAY - BEFORE_MIDNIGHT_US};
    bool known = false;
    const tb_decimal should = {-gross.mantissa, gross.scale};
    tb_code code = tb_decimal_sub(should, a->entered, &entry.amount, a->err);
    if (code || !tb_decimal_sign(entry.amount)) return code;
    memcpy(entry.currency, currency, sizeof entry.currency);
    tb_prepaid_day_reference(a->account, day, entry.reference);
    code = tb_store_ledger_add(a->store, &entry, &known, a->err);
    if (code) return code;
    a->entered = should;
    a->done->entries++;
    return TB_OK;
}

/* The last day first: if its total is entered already, the days before it are not rated. */
static tb_code accrue_days(accruing *a, int64_t first, int64_t last)
{
    tb_decimal gross = TB_DECIMAL_ZERO, before;
    char currency[4];
    size_t unpriced = 0, unused;
    tb_code code = rate_until(a, last, &gross, currency, &unpriced);
    if (code) return code;
    if (unpriced) {
        a->done->unpriced = unpriced;
        a->done->unpriced_month = a->month;
    }
    const tb_decimal should = {-gross.mantissa, gross.scale};
    if (tb_decimal_compare(should, a->entered) == 0) return TB_OK;
    for (int64_t day = first; !code && day < last; day++) {
        code = rate_until(a, day, &before, currency, &unused);
        if (!code) code = enter_day(a, day, before, currency);
    }
    return code ? code : enter_day(a, last, gross, currency);
}

/* Whether the month takes no more days: it was run, or is closed. Its days were entered before that, and its invoice
 * has the total. */
static tb_code is_over(accruing *a, bool *ret_over)
{
    tb_error why = {0};
    tb_code code = tb_store_check_open(a->store, tb_month_start_us(a->month), &why);
    *ret_over = code == TB_E_CLOSED;
    if (*ret_over) return TB_OK;
    if (code) return tb_fail(a->err, code, why.field, "%s", why.message);
    return tb_store_prepaid_over(a->store, a->account, a->month, ret_over, a->err);
}

static tb_code accrue_month(accruing *a, int64_t first, int64_t last)
{
    tb_prepaid_month days;
    bool over = false;
    tb_code code = is_over(a, &over);
    if (code || over) return code;
    code = tb_store_prepaid_month(a->store, a->account, a->month, &days, a->err);
    if (code) return code;
    a->entered = days.entered;
    return accrue_days(a, first, last);
}

/* Before the first entry: the month before yesterday's, which is often still to be made final. */
static int64_t first_day(int64_t last, int64_t yesterday)
{
    if (last != INT64_MIN) return last + 1;
    return tb_month_first_day(tb_month_from_day(yesterday) - 1);
}

tb_code tb_prepaid_accrue(tb_store *store, int64_t account, const tb_month_books *books,
                          int64_t now_us, tb_accrued *ret, tb_error *err)
{
    const int64_t yesterday = tb_day_from_us(now_us) - 1;
    accruing a = {.store = store, .account = account, .books = books, .done = ret, .err = err};
    int64_t first = 0;
    *ret = (tb_accrued){.days = 0};
    tb_code code = tb_store_prepaid_last(store, account, &first, err);
    first = first_day(first, yesterday);
    while (!code && first <= yesterday) {
        a.month = tb_month_from_day(first);
        const int64_t next = tb_month_first_day(a.month + 1);
        code = accrue_month(&a, first, next <= yesterday ? next - 1 : yesterday);
        first = next;
    }
    return code;
}

/* --- the invoice replaces the daily entries --- */

tb_code tb_prepaid_reverse(tb_store *store, int64_t account, int64_t month, int64_t now_us,
                           tb_error *err)
{
    tb_ledger_entry entry = {.account = account, .at_us = now_us,
                             .kind = TB_LEDGER_USAGE_REVERSAL};
    tb_prepaid_month days;
    bool known = false;
    tb_code code = tb_store_prepaid_month(store, account, month, &days, err);
    if (code || days.reversed || !tb_decimal_sign(days.entered)) return code;
    entry.amount = (tb_decimal){-days.entered.mantissa, days.entered.scale};
    memcpy(entry.currency, days.currency, sizeof entry.currency);
    tb_prepaid_month_reference(account, month, entry.reference);
    return tb_store_ledger_add(store, &entry, &known, err);
}

/* Half a cent of an old adjustment pays for nothing. */
static tb_code whole_units(tb_decimal value, int digits, tb_decimal *ret, tb_error *err)
{
    tb_decimal unit = {1, digits};
    tb_code code = tb_decimal_round(value, digits, TB_HALF_UP, ret, err);
    if (code || tb_decimal_compare(*ret, value) <= 0) return code;
    return tb_decimal_sub(*ret, unit, ret, err);
}

tb_code tb_prepaid_part(tb_decimal left, tb_decimal due, int digits, tb_decimal *ret, tb_error *err)
{
    tb_code code = whole_units(left, digits, &left, err);
    *ret = tb_decimal_compare(left, due) < 0 ? left : due;
    if (tb_decimal_sign(*ret) < 0) *ret = TB_DECIMAL_ZERO;
    return code;
}

/* Above 0, the balance less running days and credit is what `ledger aging` spreads: no invoice has taken it. */
tb_code tb_prepaid_covers(tb_store *store, int64_t account, tb_decimal due, tb_decimal spent,
                          int digits, tb_decimal *ret_covered, tb_error *err)
{
    tb_funds funds;
    tb_decimal left;
    *ret_covered = TB_DECIMAL_ZERO;
    if (tb_decimal_sign(due) <= 0) return TB_OK;
    tb_code code = tb_store_funds(store, account, &funds, err);
    if (!code) code = tb_decimal_sub(funds.balance, funds.running, &left, err);
    if (!code) code = tb_decimal_sub(left, spent, &left, err);
    return code ? code : tb_prepaid_part(left, due, digits, ret_covered, err);
}

/* --- funds --- */

tb_code tb_prepaid_out_of_funds(tb_store *store, int64_t account, int64_t now_us, bool *ret_out,
                                tb_error *err)
{
    bool prepaid = false;
    tb_funds funds;
    int64_t grace = 0;
    *ret_out = false;
    tb_code code = tb_store_account_prepaid(store, account, &prepaid, err);
    if (code || !prepaid) return code;
    code = tb_store_funds(store, account, &funds, err);
    if (!code) code = tb_store_grace(store, &grace, err);
    if (code || grace < 0) return code;
    *ret_out = grace == 0 ? tb_decimal_sign(funds.balance) <= 0
                          : funds.empty && now_us - funds.since_us >= grace * TB_US_PER_DAY;
    return TB_OK;
}
