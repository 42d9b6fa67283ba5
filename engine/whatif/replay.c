/* The replay: an input is rated unchanged, then under each scenario that changes a part of it, by the amounts-only
 * form of the function that makes bills. All amounts of an input are computed before any is added, so that an error
 * leaves the replay unchanged. The months of the current account are kept until it is complete; then it is known
 * whether it is among the largest increases, and only then are its lines made. */
#include "whatif/replay.h"
#include "billing/amounts.h"

#include "tollbook/calendar.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

bool tb__grow_room(const tb_alloc *alloc, void *items, size_t *room, size_t size, size_t needed)
{
    void *old, *new;
    if (needed <= *room) return true;
    size_t more = *room ? *room : 16;
    while (more < needed)
        if (__builtin_mul_overflow(more, (size_t)2, &more)) return false;
    size_t bytes;
    if (__builtin_mul_overflow(more, size, &bytes)) return false;
    memcpy(&old, items, sizeof old);
    new = tb_alloc_resize(alloc, old, *room * size, bytes);
    if (!new) return false;
    memcpy(items, &new, sizeof new);
    *room = more;
    return true;
}

/* --- making one --- */

static tb_code check_scenarios(const tb_scenario *scenarios, size_t n, tb_error *err)
{
    if (n < 1 || n > TB_WHATIF_SCENARIOS_MAX)
        return tb_fail(err, TB_E_VALIDATION, "scenario", "Give 1 to %d scenarios, not %zu.",
                       TB_WHATIF_SCENARIOS_MAX, n);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < i; j++)
            if (strcmp(scenarios[i].name, scenarios[j].name) == 0)
                return tb_fail(err, TB_E_VALIDATION, "scenario",
                               "Two scenarios have the name %s: give each its own.",
                               scenarios[i].name);
    return TB_OK;
}

static tb_code open_cases(tb_whatif *w, const tb_scenario *scenarios, tb_error *err)
{
    tb_code code = tb_bill_rater_new(w->alloc, &w->rater, err);
    if (code) return code;
    w->after = tb_alloc_zero(w->alloc, w->n, sizeof *w->after);
    w->unpriced = tb_alloc_zero(w->alloc, w->n, sizeof *w->unpriced);
    w->counted = tb_alloc_zero(w->alloc, w->n, sizeof *w->counted);
    w->cases = tb_alloc_zero(w->alloc, w->n, sizeof *w->cases);
    if (!w->after || !w->unpriced || !w->counted || !w->cases) return tb_no_memory(err);
    for (size_t i = 0; i < w->n && !code; i++)
        code = tb__case_open(&w->cases[i], scenarios ? &scenarios[i] : NULL, w->books, w->n_books,
                             w->alloc, err);
    return code;
}

static tb_code make(const tb_scenario *scenarios, size_t n, const tb_book *books, size_t n_books,
                    const tb_alloc *alloc, tb_whatif **ret_whatif, tb_error *err)
{
    tb_whatif *w = tb_alloc_zero(alloc, 1, sizeof *w);
    if (!w) return tb_no_memory(err);
    w->alloc = alloc;
    w->books = books;
    w->n_books = n_books;
    w->n = n;
    w->last = &w->first;
    tb__arena_init(&w->held, alloc);
    tb__arena_init(&w->scratch, alloc);
    tb_code code = open_cases(w, scenarios, err);
    if (code)
        tb_whatif_free(w);
    else
        *ret_whatif = w;
    return code;
}

tb_code tb_whatif_new(const tb_scenario *scenarios, size_t n, const tb_book *books, size_t n_books,
                      const tb_alloc *alloc, tb_whatif **ret_whatif, tb_error *err)
{
    tb_code code = check_scenarios(scenarios, n, err);
    return code ? code : make(scenarios, n, books, n_books, alloc, ret_whatif, err);
}

void tb_whatif_free(tb_whatif *w)
{
    if (!w) return;
    const tb_alloc *alloc = w->alloc;
    for (size_t i = 0; w->cases && i < w->n; i++)
        tb__case_close(&w->cases[i], w->n_books, alloc);
    tb_alloc_free(alloc, w->cases, w->n * sizeof *w->cases);
    tb_alloc_free(alloc, w->after, w->n * sizeof *w->after);
    tb_alloc_free(alloc, w->unpriced, w->n * sizeof *w->unpriced);
    tb_alloc_free(alloc, w->counted, w->n * sizeof *w->counted);
    tb_alloc_free(alloc, w->currencies, w->currencies_room * sizeof *w->currencies);
    tb_alloc_free(alloc, w->rows, w->rows_room * sizeof *w->rows);
    tb_alloc_free(alloc, w->row_after, w->row_after_room * w->n * sizeof *w->row_after);
    tb_alloc_free(alloc, w->months, w->months_room * sizeof *w->months);
    tb_alloc_free(alloc, w->month_after, w->month_after_room * w->n * sizeof *w->month_after);
    tb_bill_rater_free(w->rater);
    tb__arena_release(&w->held);
    tb__arena_release(&w->scratch);
    tb_alloc_free(alloc, w, sizeof *w);
}

/* --- one input --- */

/* "2026-05" of a month; out has room for 16. */
static void put_month(char *out, int64_t month)
{
    char text[21] = "";
    tb_time_format(tb_month_first_day(month) * TB_US_PER_DAY, text);
    snprintf(out, 16, "%.7s", text);
}

/* Adds the account and month to an error of rating. */
static tb_code name(tb_code code, const tb__case *c, const tb_bill_input *input, tb_error *err)
{
    char month[16], inner[256], field[sizeof err->field];
    if (!err || code == TB_E_NOMEM) return code;
    snprintf(inner, sizeof inner, "%.255s", err->message);
    snprintf(field, sizeof field, "%.47s", err->field);
    put_month(month, input->month);
    if (c && c->scenario)
        return tb_fail(err, code, field, "Scenario %s, account %" PRId64 ", %s: %.200s",
                       c->scenario->name, input->account, month, inner);
    return tb_fail(err, code, field, "Account %" PRId64 ", %s: %.200s", input->account, month,
                   inner);
}

/* The input's amount under a scenario. `before` is rated already. */
static tb_code rate_case(tb_whatif *w, size_t number, const tb_bill_input *input, tb_decimal before,
                         bool unpriced, tb_error *err)
{
    tb_bill_input changed_input;
    bool changed = false;
    tb_decimal after = before;
    tb_code code =
        tb__case_input(w, &w->cases[number], input, &w->scratch, &changed_input, &changed, err);
    if (!code && changed)
        code = tb__bill_subtotal_again(w->rater, &changed_input, &after, &unpriced, err);
    if (!code && changed) tb__bill_last_counted(w->rater, &w->counted[number].sum, &w->counted[number].commit);
    w->after[number] = after.mantissa;
    w->unpriced[number] = unpriced;
    tb__arena_reset(&w->scratch);
    return code ? name(code, &w->cases[number], input, err) : TB_OK;
}

/* Fills w->after and w->unpriced; nothing else of the replay changes. */
static tb_code rate_all(tb_whatif *w, const tb_bill_input *input, tb_decimal *ret_before,
                        tb_error *err)
{
    bool unpriced;
    tb_code code = tb_bill_subtotal(w->rater, input, ret_before, &unpriced, err);
    if (code) return name(code, NULL, input, err);
    tb__counted counted;
    tb__bill_last_counted(w->rater, &counted.sum, &counted.commit);
    for (size_t i = 0; i < w->n; i++) {
        w->after[i] = ret_before->mantissa;
        w->unpriced[i] = false;
        w->counted[i] = counted;
        if (!tb__case_takes(&w->cases[i], input->currency)) continue;
        code = rate_case(w, i, input, *ret_before, unpriced, err);
        if (code) return code;
    }
    return TB_OK;
}

/* --- its place --- */

/* Room is made before anything is taken. */
static bool replay_room(tb_whatif *w)
{
    return tb__grow_room(w->alloc, &w->currencies, &w->currencies_room, sizeof *w->currencies,
                         w->n_currencies + 1) &&
           tb__grow_room(w->alloc, &w->row_after, &w->row_after_room, w->n * sizeof *w->row_after,
                         w->n_rows + 1) &&
           tb__grow_room(w->alloc, &w->rows, &w->rows_room, sizeof *w->rows, w->n_rows + 1) &&
           tb__grow_room(w->alloc, &w->month_after, &w->month_after_room,
                         w->n * sizeof *w->month_after, w->n_months + 1) &&
           tb__grow_room(w->alloc, &w->months, &w->months_room, sizeof *w->months, w->n_months + 1);
}

static uint32_t currency_of(tb_whatif *w, const char *code, int digits)
{
    for (size_t i = 0; i < w->n_currencies; i++)
        if (strcmp(w->currencies[i].code, code) == 0) return (uint32_t)i;
    tb__currency *c = &w->currencies[w->n_currencies];
    *c = (tb__currency){.minor_digits = digits};
    memcpy(c->code, code, sizeof c->code);
    return (uint32_t)w->n_currencies++;
}

static size_t row_of(tb_whatif *w, int64_t account, uint32_t currency)
{
    for (size_t i = w->first_row; i < w->n_rows; i++)
        if (w->rows[i].currency == currency) return i;
    w->rows[w->n_rows] = (tb__row){.account = account, .currency = currency};
    memset(w->row_after + w->n_rows * w->n, 0, w->n * sizeof *w->row_after);
    return w->n_rows++;
}

/* Months stand in the order in which they were met; accounts have the same ones, mostly. */
static size_t month_of(tb_whatif *w, int64_t month, uint32_t currency)
{
    for (size_t i = 0; i < w->n_months; i++)
        if (w->months[i].month == month && w->months[i].currency == currency) return i;
    w->months[w->n_months] = (tb__month){.month = month, .currency = currency};
    memset(w->month_after + w->n_months * w->n, 0, w->n * sizeof *w->month_after);
    return w->n_months++;
}

static tb__held *hold(tb_whatif *w, const tb_bill_input *input)
{
    tb__held *h = tb__arena_take(&w->held, sizeof *h);
    if (!h) return NULL;
    *h = (tb__held){.input = *input};
    tb_bill_input *in = &h->input;
    in->n_tax = 0;
    const bool copied = tb__bill_hold(&w->held, in, NULL, NULL);
    h->unpriced = tb__arena_copy(&w->held, w->unpriced, w->n * sizeof *w->unpriced);
    h->counted = tb__arena_copy(&w->held, w->counted, w->n * sizeof *w->counted);
    return copied && h->unpriced && h->counted ? h : NULL;
}

/* The most that a sum of bills' subtotals may be: no number of inputs that pass the check below reaches 2^127. */
#define BILL_MOST ((tb_i128)1 << 96)

static tb_code check_sizes(const tb_whatif *w, const tb_bill_input *input, tb_i128 before,
                           tb_error *err)
{
    static const char message[] = "A bill passes 2^96-1 minor units.";
    if (before >= BILL_MOST)
        return name(tb_fail(err, TB_E_OVERFLOW, NULL, message), NULL, input, err);
    for (size_t i = 0; i < w->n; i++)
        if (w->after[i] >= BILL_MOST)
            return name(tb_fail(err, TB_E_OVERFLOW, NULL, message), &w->cases[i], input, err);
    return TB_OK;
}

static void take(tb_whatif *w, const tb_bill_input *input, tb_decimal before, tb__held *held)
{
    uint32_t currency = currency_of(w, input->currency, before.scale);
    size_t row = row_of(w, input->account, currency);
    size_t month = month_of(w, input->month, currency);
    w->rows[row].months++;
    w->rows[row].before += before.mantissa;
    w->months[month].accounts++;
    w->months[month].before += before.mantissa;
    for (size_t i = 0; i < w->n; i++) {
        w->row_after[row * w->n + i] += w->after[i];
        w->month_after[month * w->n + i] += w->after[i];
        w->cases[i].unpriced_now |= w->unpriced[i];
        w->cases[i].unpriced_bills += w->unpriced[i];
    }
    *w->last = held;
    w->last = &held->next;
    w->account = input->account;
    w->month = input->month;
    w->fed = true;
}

static tb_code check_order(const tb_whatif *w, const tb_bill_input *input, tb_error *err)
{
    if (w->finished)
        return tb_fail(err, TB_E_VALIDATION, NULL, "The replay is finished: make another one.");
    if (!w->fed || input->account > w->account ||
        (input->account == w->account && input->month > w->month))
        return TB_OK;
    return tb_fail(err, TB_E_VALIDATION, NULL, "Feed bills ascending by account and month.");
}

tb_code tb_whatif_add(tb_whatif *w, const tb_bill_input *input, tb_error *err)
{
    tb_decimal before = TB_DECIMAL_ZERO;
    tb_code code = check_order(w, input, err);
    if (!code) code = rate_all(w, input, &before, err);
    if (!code) code = check_sizes(w, input, before.mantissa, err);
    if (!code && w->fed && input->account != w->account) code = tb__account_close(w, err);
    if (code) return code;
    if (input->account != w->account) w->month = INT64_MIN;
    w->account = input->account;
    tb__held *held = replay_room(w) ? hold(w, input) : NULL;
    if (!held) return tb_no_memory(err);
    take(w, input, before, held);
    return TB_OK;
}

tb_code tb_whatif_finish(tb_whatif *w, tb_error *err)
{
    tb_code code = w->finished ? TB_OK : tb__account_close(w, err);
    if (!code) w->finished = true;
    return code;
}
