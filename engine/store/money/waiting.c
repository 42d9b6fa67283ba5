/* Late months: months that were run and whose data differs from the billed data. A month is late if usage arrived late,
 * or if the catalogue was changed afterwards for the time of the month: a first declaration applies from the object's
 * `created` on, and a changed beginning or end applies as a whole. A statement finds the months that such declarations
 * apply to; whether one changes anything is found by making the month's input as last billed and as of now, which is
 * also how the correction is made, or, where nothing of the month is billed, by rating it. Late values of gauges are
 * treated as such declarations are: what they change depends on the values around them. Prices and billing regions
 * never make a month late: a billed month keeps its own (bill_input.c).
 *
 * The last month of a commit's period is late too where an earlier month that its true-up counts has changed. Its
 * correction is then of the true-up alone, and the period comes to the same as if all had been known at first. */
#include "store/money/billing.h"

#include <stdlib.h>
#include <string.h>

/* --- inputs alike --- */

static bool same_bytes(const tb_bill_bytes *a, const tb_bill_bytes *b)
{
    return a->zone == b->zone && a->part == b->part && a->charge == b->charge &&
           a->priced == b->priced && a->region == b->region &&
           strcmp(a->location, b->location) == 0 && a->discount == b->discount &&
           tb_decimal_compare(a->override_price, b->override_price) == 0 && a->bytes == b->bytes;
}

static bool same_optimizer(const tb_bill_optimizer *a, const tb_bill_optimizer *b)
{
    return a->zone == b->zone && a->part == b->part && a->seconds == b->seconds &&
           a->own_price == b->own_price && tb_decimal_compare(a->monthly, b->monthly) == 0;
}

static bool same_balancer(const tb_bill_balancer *a, const tb_bill_balancer *b)
{
    return a->balancer == b->balancer && a->part == b->part && a->seconds == b->seconds &&
           a->requests == b->requests;
}

static bool same_usage(const tb_bill_usage *a, const tb_bill_usage *b)
{
    bool same = a->meter == b->meter && a->part == b->part && strcmp(a->resource, b->resource) == 0 && a->quantity == b->quantity;
    for (int k = 0; k < TB_METER_DIMENSIONS; k++)
        same = same && strcmp(a->dimension[k], b->dimension[k]) == 0;
    return same;
}

static bool same_samples(const tb_bill_samples *a, const tb_bill_samples *b)
{
    bool same = a->meter == b->meter && strcmp(a->resource, b->resource) == 0 && a->n == b->n &&
                (!a->n || memcmp(a->value, b->value, a->n * sizeof *a->value) == 0);
    for (int k = 0; k < TB_METER_DIMENSIONS; k++)
        same = same && strcmp(a->dimension[k], b->dimension[k]) == 0;
    return same;
}

static bool same_fee(const tb_bill_fee *a, const tb_bill_fee *b)
{
    return a->owner == b->owner && a->owner_id == b->owner_id && strcmp(a->id, b->id) == 0 && a->period_us == b->period_us &&
           a->whole == b->whole && a->seconds == b->seconds && a->from_us == b->from_us && a->part == b->part &&
           a->quantity == b->quantity && a->credit == b->credit;
}

static bool same_contract(const tb_bill_input *a, const tb_bill_input *b)
{
    bool same = a->n_earlier == b->n_earlier && a->cap.reached == b->cap.reached;
    for (size_t i = 0; same && i < a->n_earlier; i++)
        same = a->earlier[i].month == b->earlier[i].month &&
               tb_decimal_compare(a->earlier[i].amount, b->earlier[i].amount) == 0;
    return same;
}

static bool same_input(const tb_bill_input *a, const tb_bill_input *b)
{
    bool same = same_contract(a, b) && a->active_zone == b->active_zone && a->n_bytes == b->n_bytes &&
                a->n_optimizers == b->n_optimizers && a->n_balancers == b->n_balancers && a->n_fees == b->n_fees &&
                a->n_meters == b->n_meters && a->n_usage == b->n_usage && a->n_samples == b->n_samples;
    for (size_t i = 0; same && i < a->n_bytes; i++)
        same = same_bytes(&a->bytes[i], &b->bytes[i]);
    for (size_t i = 0; same && i < a->n_optimizers; i++)
        same = same_optimizer(&a->optimizers[i], &b->optimizers[i]);
    for (size_t i = 0; same && i < a->n_balancers; i++)
        same = same_balancer(&a->balancers[i], &b->balancers[i]);
    for (size_t i = 0; same && i < a->n_meters; i++)
        same = a->meters[i].number == b->meters[i].number;
    for (size_t i = 0; same && i < a->n_usage; i++)
        same = same_usage(&a->usage[i], &b->usage[i]);
    for (size_t i = 0; same && i < a->n_samples; i++)
        same = same_samples(&a->samples[i], &b->samples[i]);
    for (size_t i = 0; same && i < a->n_fees; i++)
        same = same_fee(&a->fees[i], &b->fees[i]);
    return same;
}

/* --- which months --- */

typedef struct waiting {
    tb_late *list;
    size_t n, cap;
    tb_late *true_ups; /* months whose commit counts earlier ones */
    size_t n_true_ups, cap_true_ups;
    tb_book *books; /* read when first needed */
    size_t n_books;
} waiting;

/* false: no memory. */
static bool late_from(sqlite3_stmt *s, tb_late *ret)
{
    const char *number = (const char *)sqlite3_column_text(s, 2);
    const char *outcome = (const char *)sqlite3_column_text(s, 7);
    const char *reason = (const char *)sqlite3_column_text(s, 8);
    *ret = (tb_late){.account = sqlite3_column_int64(s, 0),
                     .month = sqlite3_column_int64(s, 1),
                     .since = (uint64_t)sqlite3_column_int64(s, 3),
                     .run = (uint64_t)sqlite3_column_int64(s, 4),
                     .deltas = (uint64_t)sqlite3_column_int64(s, 5),
                     .declared = (uint64_t)sqlite3_column_int64(s, 6)};
    if (!number || !outcome || !reason) return false;
    ret->outcome = tb__run_outcome(outcome);
    if (ret->outcome == TB_RUN_FINAL)
        memcpy(ret->invoice, number, strnlen(number, sizeof ret->invoice - 1));
    memcpy(ret->reason, reason, strnlen(reason, sizeof ret->reason - 1));
    return true;
}

static tb_code list_months(tb_store *store, tb__statement of, int64_t account, tb_late **list, size_t *n, size_t *cap,
                           tb_error *err)
{
    sqlite3_stmt *s;
    bool row = true;
    const int64_t between[2] = {account, account ? account : INT64_MAX};
    tb_code code = tb__sql_ints(store, of, between, 2, &s, err);
    while (!code && !(code = tb__step(store, s, &row, err)) && row) {
        code = tb__grow(list, *n, cap, sizeof **list, err);
        if (!code && !late_from(s, &(*list)[(*n)++])) code = tb_no_memory(err);
        if (code) sqlite3_reset(s);
    }
    return code;
}

/* Whether nothing is due of a month of which nothing is billed. What cannot be rated waits. */
static tb_code comes_to_nothing(tb_store *store, const waiting *w, const tb_late *late,
                                bool *ret_nothing, tb_error *err)
{
    tb_bill_source now;
    tb_bill bill;
    const tb_bill_query query = {late->account, late->month, TB_NOW,
                                 w->books, w->n_books, tb_month_start_us(late->month + 1)};
    tb_code code = tb_store_bill_input(store, &query, &now, err);
    if (!code) {
        code = tb_bill_rate(&now.input, NULL, &bill, err);
        *ret_nothing = !code && bill.n_unpriced == 0 && tb_decimal_sign(bill.subtotal) == 0;
        if (!code) tb_bill_release(&bill);
        tb_bill_source_release(&now);
    }
    return tb_code_exit(code) == tb_code_exit(TB_E_IO) ? code : TB_OK;
}

/* A month whose input cannot be made counts as late: making its correction reports why. One that counts months whose usage
 * is no longer kept cannot change. */
static tb_code pass_own(tb_code code, bool *ret_same)
{
    if (code == TB_E_NOT_KEPT) *ret_same = true;
    return tb_code_exit(code) == tb_code_exit(TB_E_IO) ? code : TB_OK;
}

/* Whether the month has the data that was billed. */
static tb_code compare_inputs(tb_store *store, const waiting *w, const tb_late *late, bool *ret_same,
                              tb_error *err)
{
    int64_t over_us = tb_month_start_us(late->month + 1);
    tb_bill_source before, now;
    tb_bill_query query = {late->account, late->month, late->since, w->books, w->n_books, over_us};
    tb_code code = tb_store_net_input(store, &query, &before, err);
    if (code) return pass_own(code, ret_same);
    query.watermark = TB_NOW;
    code = tb_store_net_input(store, &query, &now, err);
    if (!code) {
        *ret_same = same_input(&before.input, &now.input);
        tb_bill_source_release(&now);
    }
    tb_bill_source_release(&before);
    return pass_own(code, ret_same);
}

static tb_code is_unchanged(tb_store *store, waiting *w, const tb_late *late, bool *ret_same, tb_error *err)
{
    tb_code code = w->books ? TB_OK : tb_store_books(store, &w->books, &w->n_books, err);
    if (code) return code;
    return tb_late_is_billed(late) ? compare_inputs(store, w, late, ret_same, err)
                                   : comes_to_nothing(store, w, late, ret_same, err);
}

static bool is_listed(const tb_late *list, size_t n, const tb_late *late)
{
    for (size_t i = 0; i < n; i++)
        if (list[i].account == late->account && list[i].month == late->month) return true;
    return false;
}

/* Whether a month that the commit may count is late. */
static bool counts_late(const waiting *w, size_t n, const tb_late *true_up)
{
    for (size_t i = 0; i < n; i++)
        if (w->list[i].account == true_up->account && w->list[i].month < true_up->month &&
            (true_up->declared || w->list[i].month >= true_up->month - 12))
            return true;
    return false;
}

static int by_account_month(const void *a, const void *b)
{
    const tb_late *x = a, *y = b;
    if (x->account != y->account) return x->account < y->account ? -1 : 1;
    return (x->month > y->month) - (x->month < y->month);
}

/* Adds the months whose true-up another month has changed. */
static tb_code add_true_ups(tb_store *store, int64_t account, waiting *w, tb_error *err)
{
    const size_t n = w->n;
    tb_code code = list_months(store, TB__SQL_LATE_TRUE_UPS, account, &w->true_ups, &w->n_true_ups, &w->cap_true_ups, err);
    for (size_t i = 0; !code && i < w->n_true_ups; i++) {
        tb_late late = w->true_ups[i];
        bool same = false;
        if (is_listed(w->list, n, &late) || (!late.deltas && !counts_late(w, n, &late))) continue;
        code = is_unchanged(store, w, &late, &same, err);
        if (code || same) continue;
        late.deltas = late.declared = 0;
        code = tb__grow(&w->list, w->n, &w->cap, sizeof *w->list, err);
        if (!code) w->list[w->n++] = late;
    }
    if (w->n > n) qsort(w->list, w->n, sizeof *w->list, by_account_month);
    return code;
}

/* Lists the late months: those that later declarations do not change are left out. A refused month without a bill is
 * late in any case. */
static tb_code find_waiting(tb_store *store, int64_t account, waiting *w, tb_error *err)
{
    tb_code code = list_months(store, TB__SQL_LATE_WAITING, account, &w->list, &w->n, &w->cap, err);
    const size_t n = w->n;
    w->n = 0;
    for (size_t i = 0; !code && i < n; i++) {
        const tb_late *late = &w->list[i];
        bool same = false;
        if (late->deltas == 0 && late->declared && (tb_late_is_billed(late) || late->outcome != TB_RUN_REFUSED))
            code = is_unchanged(store, w, late, &same, err);
        if (!same) w->list[w->n++] = w->list[i];
    }
    if (!code) code = add_true_ups(store, account, w, err);
    if (w->books) tb_books_release(w->books, w->n_books);
    free(w->books);
    free(w->true_ups);
    return code;
}

tb_code tb_store_late(tb_store *store, int64_t account, tb_late **ret_late, size_t *ret_n,
                      tb_error *err)
{
    waiting w = {.n = 0};
    bool own_snapshot = sqlite3_get_autocommit(store->db);
    tb_code code = own_snapshot ? tb_store_read_begin(store, err) : TB_OK;
    if (!code) code = find_waiting(store, account, &w, err);
    if (own_snapshot) tb_store_read_end(store);
    if (code) {
        free(w.list);
        return code;
    }
    *ret_late = w.list;
    *ret_n = w.n;
    return TB_OK;
}
