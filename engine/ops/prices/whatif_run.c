/* First lists the bills, ascending by account and month, then reads them in one pass. */
#include "tollbook/whatifrun.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tollbook/monthbill.h"
#include "tollbook/billsource.h"

/* --- the pass --- */

static bool holds_something(const tb_bill_input *in)
{
    tb_commit_period p;
    return in->n_bytes + in->n_optimizers + in->n_balancers + in->n_usage + in->n_samples + in->n_fees > 0 || tb_contract_period(&in->contract, in->month, &p);
}

/* Which account's month failed, where the message does not say so. */
static tb_code fail_at(const tb_month_pair *p, tb_code code, const tb_error *why, tb_error *err)
{
    char month[8];
    tb_month_format(p->month, month);
    return tb_fail(err, code, why->field, "Account %" PRId64 ", %s: %s", p->account, month,
                   why->message);
}

static tb_code add_bill(tb_store *store, const tb_whatif_question *q, const tb_month_pair *p,
                        tb_whatif_answer *a, tb_error *err)
{
    tb_bill_source source;
    tb_error why = {0};
    const tb_bill_query query = {p->account, p->month, p->watermark, a->books.list, a->books.n, q->now_us};
    tb_code code = tb_store_net_input(store, &query, &source, &why);
    if (code) return fail_at(p, code, &why, err);
    a->bills += holds_something(&source.input) || p->watermark != TB_NOW;
    code = tb_whatif_add(a->whatif, &source.input, err);
    tb_bill_source_release(&source);
    return code;
}

static tb_code add_bills(tb_store *store, const tb_whatif_question *q, const tb_month_pairs *p,
                         tb_whatif_answer *a, tb_error *err)
{
    int64_t last = 0; /* account that held something */
    for (size_t i = 0; i < p->n; i++) {
        size_t before = a->bills;
        if (q->step && !q->step(q->ctx, i, p->n))
            return tb_fail(err, TB_E_STOPPED, NULL, "Interrupted: nothing was written.");
        tb_code code = add_bill(store, q, &p->list[i], a, err);
        if (code) return code;
        if (a->bills > before && last != p->list[i].account) a->accounts++;
        if (a->bills > before) last = p->list[i].account;
    }
    return tb_whatif_finish(a->whatif, err);
}

/* --- books of other customers --- */

/* Whether the account's contract names the book in a month of the span. */
static tb_code is_own(tb_store *store, const tb_whatif_question *q, const tb_book *book, bool *ret,
                      tb_error *err)
{
    tb_code code = TB_OK;
    *ret = !book->contract;
    for (int64_t month = q->from; !code && !*ret && month <= q->to; month++) {
        tb_contract contract;
        code = tb_store_month_contract(store, q->account, month, &contract, err);
        if (!code) *ret = strcmp(contract.book, book->id) == 0;
    }
    return code;
}

static tb_code drop_others(tb_store *store, const tb_whatif_question *q, tb_month_books *books,
                           tb_error *err)
{
    tb_code code = TB_OK;
    for (size_t i = 0; !code && i < books->n;) {
        bool own = false;
        code = is_own(store, q, &books->list[i], &own, err);
        if (code || own) {
            i++;
            continue;
        }
        tb_book_release(&books->list[i]);
        books->n--;
        memmove(&books->list[i], &books->list[i + 1], (books->n - i) * sizeof *books->list);
    }
    return code;
}

/* --- notes --- */

/* Months of which nothing is billed stand in the answer as they are. */
static tb_code read_late(tb_store *store, const tb_whatif_question *q, tb_whatif_answer *a,
                         tb_error *err)
{
    size_t n = 0;
    tb_code code = tb_store_late(store, q->account, &a->late, &n, err);
    if (code) return code;
    for (size_t i = 0; i < n; i++)
        if (tb_late_is_billed(&a->late[i]) && a->late[i].month >= q->from &&
            a->late[i].month <= q->to)
            a->late[a->n_late++] = a->late[i];
    return TB_OK;
}

static tb_code make_results(const tb_whatif_question *q, tb_whatif_answer *a, tb_error *err)
{
    a->results = calloc(q->n_scenarios ? q->n_scenarios : 1, sizeof *a->results);
    if (!a->results) return tb_no_memory(err);
    tb_code code = TB_OK;
    while (!code && a->n_results < q->n_scenarios) {
        code = tb_whatif_result_make(a->whatif, a->n_results, &a->results[a->n_results], err);
        if (!code) a->n_results++;
    }
    return code;
}

/* Accounts that did nothing and owe nothing, as a zone without a date of birth does before it was
 * born, are no data. */
static bool is_empty(const tb_whatif_answer *a)
{
    if (a->bills) return false;
    for (size_t i = 0; i < a->n_results; i++) {
        if (a->results[i].n_unpriced || a->results[i].other_bills) return false;
        for (size_t g = 0; g < a->results[i].n_groups; g++)
            if (tb_decimal_sign(a->results[i].groups[g].total.before) ||
                tb_decimal_sign(a->results[i].groups[g].total.after))
                return false;
    }
    return true;
}

static tb_code no_data(const tb_whatif_question *q, tb_error *err)
{
    char from[8], to[8];
    tb_month_format(q->from, from);
    tb_month_format(q->to, to);
    return tb_fail(err, TB_E_NO_DATA, "from",
                   "Nothing is stored from %s to %s that could be billed.", from, to);
}

static tb_code check_size(const tb_whatif_question *q, size_t n, tb_error *err)
{
    uint64_t bills = (uint64_t)n * q->n_scenarios;
    if (q->bills_max == 0 || bills <= q->bills_max) return TB_OK;
    return tb_fail(err, TB_E_TOO_MUCH, "scenarios",
                   "%zu accounts' months under %zu scenarios are %" PRIu64
                   " bills; at most %" PRIu64
                   " are made at once. Ask for fewer months or scenarios.",
                   n, q->n_scenarios, bills, q->bills_max);
}

/* --- the whole --- */

static tb_code run_question(tb_store *store, const tb_whatif_question *q, tb_whatif_answer *a,
                            tb_error *err)
{
    tb_month_pairs p = {0};
    tb_code code = tb_month_books_read(store, &a->books, err);
    if (!code && q->own_books) code = drop_others(store, q, &a->books, err);
    if (!code)
        code = tb_whatif_new(q->scenarios, q->n_scenarios, a->books.list, a->books.n, NULL,
                             &a->whatif, err);
    if (!code) code = tb_month_pairs_read(store, q->account, q->from, q->to, &p, err);
    if (!code) code = check_size(q, p.n, err);
    if (!code) code = add_bills(store, q, &p, a, err);
    if (!code) code = make_results(q, a, err);
    if (!code) code = read_late(store, q, a, err);
    tb_month_pairs_release(&p);
    if (!code && is_empty(a)) code = no_data(q, err);
    return code;
}

tb_code tb_whatif_run(tb_store *store, const tb_whatif_question *question,
                      tb_whatif_answer *ret_answer, tb_error *err)
{
    tb_whatif_answer a = {.from = question->from, .to = question->to};
    a.running = question->now_us < tb_month_start_us(question->to + 1);
    tb_code code = run_question(store, question, &a, err);
    if (code)
        tb_whatif_answer_release(&a);
    else
        *ret_answer = a;
    return code;
}

void tb_whatif_answer_release(tb_whatif_answer *a)
{
    for (size_t i = 0; i < a->n_results; i++)
        tb_whatif_result_release(&a->results[i]);
    free(a->results);
    free(a->late);
    tb_whatif_free(a->whatif);
    tb_month_books_release(&a->books);
    *a = (tb_whatif_answer){.from = 0};
}
