/* A scenario's result from the numbers of the replay: a group for each currency, its accounts and
 * months with what changes, who wins and loses, and the spread of the changes. All in one arena. */
#include "base/rank.h"
#include "whatif/replay.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

tb_whatif_change tb__change_of(tb_i128 before, tb_i128 after, int minor_digits)
{
    tb_whatif_change c = {.before = {before, minor_digits}, .after = {after, minor_digits}};
    c.delta = (tb_decimal){after - before, minor_digits};
    /* delta x 100 as delta moved by two places: both have the same digits. */
    c.has_percent = before > 0 && tb_decimal_divide(tb_decimal_from_int(after - before), 100,
                                                    before, TB_WHATIF_PERCENT_SCALE, TB_HALF_UP,
                                                    &c.percent, NULL) == TB_OK;
    return c;
}

typedef struct maker {
    const tb_whatif *w;
    size_t number;
    const tb__case *c;
    tb__arena arena;
    tb_whatif_group *groups;
    size_t n_groups;
    tb_error *err;
} maker;

static void *room(maker *m, size_t n, size_t size)
{
    void *taken = tb__arena_take(&m->arena, n * size);
    if (taken)
        memset(taken, 0, n * size);
    else
        tb_no_memory(m->err);
    return taken;
}

/* --- spreads --- */

/* The ceil(p n / 100)-th of n, from 0. */
static size_t rank(size_t n, unsigned percent)
{
    return (size_t)(((tb_i128)n * percent + 99) / 100) - 1;
}

static tb_whatif_spread spread_of(tb_i128 *values, size_t n, int scale)
{
    tb_whatif_spread s = {.n = n};
    if (n == 0) return s;
    s.p5 = (tb_decimal){tb__put_rank(values, n, rank(n, 5)), scale};
    s.p50 = (tb_decimal){tb__put_rank(values, n, rank(n, 50)), scale};
    s.p95 = (tb_decimal){tb__put_rank(values, n, rank(n, 95)), scale};
    return s;
}

static tb_code fill_spreads(maker *m, tb_whatif_group *g)
{
    size_t n_percent = 0;
    tb_i128 *delta = room(m, g->n_accounts, sizeof *delta);
    tb_i128 *percent = room(m, g->n_accounts, sizeof *percent);
    if (!delta || !percent) return TB_E_NOMEM;
    for (size_t i = 0; i < g->n_accounts; i++) {
        const tb_whatif_change *c = &g->accounts[i].change;
        delta[i] = c->delta.mantissa;
        if (c->has_percent) percent[n_percent++] = c->percent.mantissa;
    }
    g->delta = spread_of(delta, g->n_accounts, g->minor_digits);
    g->percent = spread_of(percent, n_percent, TB_WHATIF_PERCENT_SCALE);
    return TB_OK;
}

/* --- accounts, months, increases of one currency --- */

static void count(tb_whatif_group *g, const tb_whatif_change *c)
{
    int sign = tb_decimal_sign(c->delta);
    g->losers += sign > 0;
    g->winners += sign < 0;
    g->same += sign == 0;
}

static tb_code fill_accounts(maker *m, uint32_t currency, tb_whatif_group *g)
{
    const tb_whatif *w = m->w;
    tb_i128 before = 0, after = 0;
    tb_whatif_account *accounts = room(m, w->n_rows, sizeof *accounts);
    if (!accounts) return TB_E_NOMEM;
    for (size_t i = 0; i < w->n_rows; i++) {
        const tb__row *row = &w->rows[i];
        if (row->currency != currency) continue;
        tb_whatif_account *a = &accounts[g->n_accounts++];
        *a = (tb_whatif_account){.account = row->account, .months = row->months};
        tb_i128 own = w->row_after[i * w->n + m->number];
        a->change = tb__change_of(row->before, own, g->minor_digits);
        if (__builtin_add_overflow(before, row->before, &before) ||
            __builtin_add_overflow(after, own, &after))
            return tb_fail(m->err, TB_E_OVERFLOW, NULL,
                           "The sum of all bills passes 2^127-1, at account %" PRId64 ".",
                           row->account);
        g->bills += row->months;
        count(g, &a->change);
    }
    g->accounts = accounts;
    g->total = tb__change_of(before, after, g->minor_digits);
    return TB_OK;
}

static int by_month(const void *left, const void *right)
{
    const tb_whatif_month *a = left, *b = right;
    return (a->month > b->month) - (a->month < b->month);
}

static tb_code fill_months(maker *m, uint32_t currency, tb_whatif_group *g)
{
    const tb_whatif *w = m->w;
    tb_whatif_month *months = room(m, w->n_months, sizeof *months);
    if (!months) return TB_E_NOMEM;
    for (size_t i = 0; i < w->n_months; i++) {
        const tb__month *month = &w->months[i];
        if (month->currency != currency) continue;
        tb_whatif_month *to = &months[g->n_months++];
        *to = (tb_whatif_month){.month = month->month, .accounts = month->accounts};
        to->change =
            tb__change_of(month->before, w->month_after[i * w->n + m->number], g->minor_digits);
    }
    qsort(months, g->n_months, sizeof *months, by_month);
    g->months = months;
    return TB_OK;
}

static tb_code fill_increases(maker *m, uint32_t currency, tb_whatif_group *g)
{
    const tb__top *top = NULL;
    for (size_t i = 0; i < m->c->n_tops; i++)
        if (m->c->tops[i]->currency == currency) top = m->c->tops[i];
    if (!top) return TB_OK;
    tb_whatif_increase *increases = room(m, top->n, sizeof *increases);
    if (!increases) return TB_E_NOMEM;
    memcpy(increases, top->increases, top->n * sizeof *increases);
    g->increases = increases;
    g->n_increases = top->n;
    return TB_OK;
}

static tb_code fill_group(maker *m, uint32_t currency)
{
    const tb__currency *c = &m->w->currencies[currency];
    tb_whatif_group g = {.minor_digits = c->minor_digits};
    memcpy(g.currency, c->code, sizeof g.currency);
    tb_code code = fill_accounts(m, currency, &g);
    if (!code) code = fill_months(m, currency, &g);
    if (!code) code = fill_increases(m, currency, &g);
    if (!code) code = fill_spreads(m, &g);
    if (!code) m->groups[m->n_groups++] = g;
    return code;
}

static int by_currency(const void *left, const void *right)
{
    const tb_whatif_group *a = left, *b = right;
    return strcmp(a->currency, b->currency);
}

static tb_code fill_groups(maker *m)
{
    const tb_whatif *w = m->w;
    m->groups = room(m, w->n_currencies, sizeof *m->groups);
    tb_code code = m->groups ? TB_OK : TB_E_NOMEM;
    for (uint32_t i = 0; i < w->n_currencies && !code; i++)
        if (tb__case_takes(m->c, w->currencies[i].code)) code = fill_group(m, i);
    if (!code) qsort(m->groups, m->n_groups, sizeof *m->groups, by_currency);
    return code;
}

/* --- the whole --- */

/* An account has a row for each of its currencies, one behind the other. */
static void count_others(const maker *m, tb_whatif_result *r)
{
    int64_t last = 0;
    for (size_t i = 0; i < m->w->n_rows; i++) {
        const tb__row *row = &m->w->rows[i];
        if (tb__case_takes(m->c, m->w->currencies[row->currency].code)) continue;
        r->other_accounts += row->account != last;
        last = row->account;
        r->other_bills += row->months;
    }
}

/* Copies, so that the result lives on its own. */
static tb_code fill_lists(maker *m, tb_whatif_result *r)
{
    const tb__case *c = m->c;
    tb_whatif_book *books = room(m, c->n_shown, sizeof *books);
    tb_whatif_unpriced *unpriced = room(m, c->n_unpriced, sizeof *unpriced);
    tb__arena *arena = room(m, 1, sizeof *arena);
    if (!books || !unpriced || !arena) return TB_E_NOMEM;
    memcpy(books, c->shown, c->n_shown * sizeof *books);
    if (c->n_unpriced) memcpy(unpriced, c->unpriced, c->n_unpriced * sizeof *unpriced);
    r->books = books;
    r->n_books = c->n_shown;
    r->unpriced = unpriced;
    r->n_unpriced = c->n_unpriced;
    r->memory = arena;
    return TB_OK;
}

tb_code tb_whatif_result_make(const tb_whatif *w, size_t number, tb_whatif_result *ret_result,
                              tb_error *err)
{
    if (!w->finished || number >= w->n)
        return tb_fail(err, TB_E_VALIDATION, NULL,
                       "Ask a finished replay for one of its scenarios.");
    maker m = {.w = w, .number = number, .c = &w->cases[number], .err = err};
    tb_whatif_result r = {.scenario = m.c->scenario,
                          .unpriced_bills = m.c->unpriced_bills,
                          .more_unpriced = m.c->unpriced_hidden,
                          .alloc = w->alloc};
    tb__arena_init(&m.arena, w->alloc);
    count_others(&m, &r);
    tb_code code = fill_groups(&m);
    if (!code) code = fill_lists(&m, &r);
    if (code) {
        tb__arena_release(&m.arena);
        return code;
    }
    r.groups = m.groups;
    r.n_groups = m.n_groups;
    *(tb__arena *)r.memory = m.arena;
    *ret_result = r;
    return TB_OK;
}

void tb_whatif_result_release(tb_whatif_result *result)
{
    if (result->memory) {
        tb__arena arena = *(tb__arena *)result->memory;
        tb__arena_release(&arena);
    }
    *result = (tb_whatif_result){.alloc = NULL};
}
