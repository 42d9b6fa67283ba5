/* How far an account's usage may expire: up to the first open month. A month is settled if its last run made a valid
 * invoice, or nothing was due, and it has no unbilled late usage. */
#include "store/money/billing.h"
#include "store/usage/retain.h"

#include <stdlib.h>

/* The account's late months, once they are needed. */
typedef struct settling {
    tb_store *store;
    int64_t account;
    tb_late *late;
    size_t n;
} settling;

static tb_code is_settled(const settling *s, int64_t month, bool *ret, tb_error *err)
{
    const int64_t values[2] = {s->account, month};
    int64_t settled = 0;
    for (size_t i = 0; i < s->n; i++)
        if (s->late[i].month == month) {
            *ret = false;
            return TB_OK;
        }
    tb_code code = tb__int_of(s->store, TB__SQL_MONTH_SETTLED, values, 2, 0, &settled, err);
    *ret = settled != 0;
    return code;
}

tb_code tb_store_month_settled(tb_store *store, int64_t account, int64_t month, bool *ret_settled, tb_error *err)
{
    settling s = {.store = store, .account = account};
    tb_code code = tb_store_late(store, account, &s.late, &s.n, err);
    if (!code) code = is_settled(&s, month, ret_settled, err);
    free(s.late);
    return code;
}

/* The first month from `first` on, before `end`, that is not settled; `end`: all are. */
static tb_code first_open(settling *s, int64_t first, int64_t end, int64_t *ret_month, tb_error *err)
{
    bool settled = true;
    tb_code code = tb_store_late(s->store, s->account, &s->late, &s->n, err);
    int64_t month = first;
    while (!code && month < end && !(code = is_settled(s, month, &settled, err)) && settled)
        month++;
    free(s->late);
    *ret_month = month;
    return code;
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* The first month with usage of the account, -1: none. */
static tb_code first_month(tb_store *store, int64_t account, int64_t *ret_month, tb_error *err)
{
    int64_t at_us = INT64_MAX;
    tb_code code = store->plane.counters->first_month(store, account, ret_month, err);
    if (!code) code = tb__int_of(store, TB__SQL_GAUGE_FIRST, &account, 1, INT64_MAX, &at_us, err);
    if (code || at_us == INT64_MAX) return code;
    const int64_t month = tb_month_from_day(tb__floor_div(at_us, TB_US_PER_DAY));
    if (*ret_month < 0 || month < *ret_month) *ret_month = month;
    return TB_OK;
}

tb_code tb_store_may_go(tb_store *store, int64_t account, tb_kept before, tb_kept *ret_kept,
                        int64_t *ret_open, tb_error *err)
{
    settling s = {.store = store, .account = account};
    const int64_t end = larger(before.hours, before.days); /* without its hours no day is needed */
    tb_kept kept;
    int64_t first = 0, open = 0;
    *ret_open = -1;
    tb_code code = tb_store_kept(store, account, &kept, err);
    if (code) return code;
    first = kept.hours;
    if (!first) code = first_month(store, account, &first, err);
    if (!code && first >= 0 && first < end) {
        code = first_open(&s, first, end, &open, err);
        if (!code && open > first) kept.hours = open;
        if (!code && open < end) *ret_open = open;
    }
    kept.days = larger(kept.days, tb__earlier(before.days, kept.hours));
    *ret_kept = kept;
    return code;
}
