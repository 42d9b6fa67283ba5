/* Two lists as one, sorted; of equals the billed one stays. It is small: an account's month is two
 * numbers and a watermark, whatever it holds. */
#include "tollbook/monthbill.h"

#include "base/list.h"

#include <stdlib.h>
#include <string.h>

static tb_code add_pair(tb_month_pairs *p, tb_month_pair added, tb_error *err)
{
    tb_code code = tb__grow(&p->list, p->n, &p->cap, sizeof *p->list, err);
    if (code) return code;
    p->list[p->n++] = added;
    return TB_OK;
}

/* Billed months first among equals. */
static int by_account_month(const void *left, const void *right)
{
    const tb_month_pair *a = left, *b = right;
    if (a->account != b->account) return a->account < b->account ? -1 : 1;
    if (a->month != b->month) return a->month < b->month ? -1 : 1;
    return a->watermark < b->watermark ? -1 : a->watermark > b->watermark;
}

static tb_code add_billed(tb_store *store, int64_t account, int64_t from, int64_t to,
                          tb_month_pairs *p, tb_error *err)
{
    tb_billed_month *billed = NULL;
    size_t n = 0;
    tb_code code = tb_store_billed_months(store, account, from, to, &billed, &n, err);
    for (size_t i = 0; !code && i < n; i++)
        code = add_pair(p, (tb_month_pair){billed[i].account, billed[i].month, billed[i].watermark},
                        err);
    free(billed);
    return code;
}

static tb_code add_month(tb_store *store, int64_t account, int64_t month, tb_month_pairs *p,
                         tb_error *err)
{
    int64_t *accounts = NULL;
    size_t n = 0;
    tb_code code = tb_store_billed_accounts(store, month, &accounts, &n, err);
    for (size_t i = 0; !code && i < n; i++)
        if (account == 0 || account == accounts[i])
            code = add_pair(p, (tb_month_pair){accounts[i], month, TB_NOW}, err);
    free(accounts);
    return code;
}

tb_code tb_month_pairs_read(tb_store *store, int64_t account, int64_t from, int64_t to,
                            tb_month_pairs *p, tb_error *err)
{
    size_t kept = 0;
    *p = (tb_month_pairs){0};
    tb_code code = add_billed(store, account, from, to, p, err);
    for (int64_t month = from; !code && month <= to; month++)
        code = add_month(store, account, month, p, err);
    if (code || p->n == 0) return code;
    qsort(p->list, p->n, sizeof *p->list, by_account_month);
    for (size_t i = 0; i < p->n; i++)
        if (kept == 0 || p->list[kept - 1].account != p->list[i].account ||
            p->list[kept - 1].month != p->list[i].month)
            p->list[kept++] = p->list[i];
    p->n = kept;
    return TB_OK;
}

void tb_month_pairs_release(tb_month_pairs *pairs)
{
    free(pairs->list);
    *pairs = (tb_month_pairs){0};
}

/* --- the span --- */

static tb_code read_month(const char *name, const char *text, int64_t *ret_month, tb_error *err)
{
    if (text && tb_month_parse(text, strlen(text), ret_month)) return TB_OK;
    return tb_fail(err, TB_E_VALIDATION, name, "%s must be a month like 2026-10.", name);
}

tb_code tb_month_span(const char *from, const char *to, int64_t now_us, int64_t *ret_from,
                      int64_t *ret_to, tb_error *err)
{
    tb_code code = read_month("from", from, ret_from, err);
    if (!code) code = read_month("to", to, ret_to, err);
    if (code) return code;
    if (*ret_from > *ret_to)
        return tb_fail(err, TB_E_VALIDATION, "from", "from (%s) is after to (%s).", from, to);
    if (*ret_to > tb_month_from_us(now_us))
        return tb_fail(err, TB_E_VALIDATION, "to", "to (%s) is in the future.", to);
    if (*ret_to - *ret_from >= TB_SPAN_MONTHS_MAX)
        return tb_fail(err, TB_E_VALIDATION, "from", "A span has at most %d months.",
                       TB_SPAN_MONTHS_MAX);
    return TB_OK;
}
