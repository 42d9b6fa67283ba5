/* A scenario's books and contracts, and an input seen through them: parts take the books that stand in the
 * place of theirs, accounts the contracts, usage is scaled. Nothing else of an input depends on a scenario. */
#include "billing/amounts.h"
#include "whatif/replay.h"

#include <stdio.h>
#include <string.h>

bool tb__case_takes(const tb__case *c, const char *currency)
{
    return !c->currency || memcmp(c->currency, currency, 4) == 0;
}

/* --- making --- */

static tb_code make_book(tb__case *c, const tb_book *base, const tb_alloc *alloc,
                         const tb_book **ret, tb_error *err)
{
    tb_book *book = &c->made[c->n_made];
    tb_code code = tb_scenario_book(c->scenario, base, alloc, book, err);
    if (code) return code;
    c->n_made++;
    c->shown[c->n_shown++] = (tb_whatif_book){.base = base, .book = book};
    *ret = book;
    return TB_OK;
}

static tb_code make_all(tb__case *c, const tb_book *books, size_t n_books, const tb_alloc *alloc,
                        tb_error *err)
{
    tb_code code = TB_OK;
    for (size_t i = 0; i < n_books && !code; i++)
        code = make_book(c, &books[i], alloc, &c->instead[i], err);
    return code;
}

static bool names_book(const tb_scenario *s, const char *id)
{
    for (size_t i = 0; i < s->n_contracts; i++)
        if (strcmp(s->contracts[i].contract.book, id) == 0) return true;
    return false;
}

/* Beside the patched one, those that contracts name as they are. */
static void show_named(tb__case *c, const tb_book *books, size_t n_books)
{
    for (size_t i = 0; i < n_books; i++)
        if (!c->instead[i] && names_book(c->scenario, books[i].id))
            c->shown[c->n_shown++] = (tb_whatif_book){.base = &books[i], .book = &books[i]};
}

/* Books of one id are one: ids are never used twice. */
static tb_code make_one(tb__case *c, const tb_book *books, size_t n_books, const tb_alloc *alloc,
                        tb_error *err)
{
    for (size_t i = 0; i < n_books; i++) {
        if (strcmp(books[i].id, c->scenario->base) != 0) continue;
        tb_code code = make_book(c, &books[i], alloc, &c->instead[i], err);
        if (code) return code;
        c->currency = books[i].currency;
        if (c->scenario->everywhere) c->everywhere = c->instead[i];
        show_named(c, books, n_books);
        return TB_OK;
    }
    return tb_fail(err, TB_E_VALIDATION, "base",
                   "Scenario %s: there is no price book %s; `book add` adds one.",
                   c->scenario->name, c->scenario->base);
}

static const tb_book *find_named(const tb_book *books, size_t n_books, const char *id)
{
    for (size_t i = 0; i < n_books; i++)
        if (strcmp(books[i].id, id) == 0) return &books[i];
    return NULL;
}

static tb_code check_contract_book(const tb__case *c, const tb_contract *contract,
                                   const tb_book *books, size_t n_books, tb_error *err)
{
    if (!contract->book[0] || find_named(books, n_books, contract->book)) return TB_OK;
    return tb_fail(err, TB_E_VALIDATION, "contract.book",
                   "Scenario %s: there is no price book %s; `book add` adds one.",
                   c->scenario->name, contract->book);
}

static tb_code check_contract_books(const tb__case *c, const tb_book *books, size_t n_books,
                                    tb_error *err)
{
    const tb_scenario *s = c->scenario;
    tb_code code = check_contract_book(c, &s->contract, books, n_books, err);
    for (size_t i = 0; !code && i < s->n_contracts; i++)
        code = check_contract_book(c, &s->contracts[i].contract, books, n_books, err);
    return code;
}

tb_code tb__case_open(tb__case *c, const tb_scenario *scenario, const tb_book *books,
                      size_t n_books, const tb_alloc *alloc, tb_error *err)
{
    c->scenario = scenario;
    c->room = scenario && scenario->base[0] ? 1 : n_books;
    c->instead = tb_alloc_zero(alloc, n_books + 1, sizeof *c->instead);
    c->made = tb_alloc_zero(alloc, c->room + 1, sizeof *c->made);
    c->shown = tb_alloc_zero(alloc, n_books + 1, sizeof *c->shown);
    if (!c->instead || !c->made || !c->shown) return tb_no_memory(err);
    if (!scenario) return TB_OK;
    tb_code code = check_contract_books(c, books, n_books, err);
    if (code) return code;
    return scenario->base[0] ? make_one(c, books, n_books, alloc, err)
                             : make_all(c, books, n_books, alloc, err);
}

void tb__case_close(tb__case *c, size_t n_books, const tb_alloc *alloc)
{
    for (size_t i = 0; i < c->n_made; i++)
        tb_book_release(&c->made[i]);
    for (size_t i = 0; i < c->n_tops; i++)
        tb_alloc_free(alloc, c->tops[i], sizeof **c->tops);
    tb_alloc_free(alloc, c->tops, c->n_tops * sizeof *c->tops);
    tb_alloc_free(alloc, c->unpriced, c->unpriced_room * sizeof *c->unpriced);
    tb_alloc_free(alloc, c->instead, (n_books + 1) * sizeof *c->instead);
    tb_alloc_free(alloc, c->made, (c->room + 1) * sizeof *c->made);
    tb_alloc_free(alloc, c->shown, (n_books + 1) * sizeof *c->shown);
}

/* --- an input under it --- */

/* The book in the place of a part's. A part's book is one of the replay's, or a copy of one. */
static const tb_book *book_for(const tb_whatif *w, const tb__case *c, const tb_book *book)
{
    if (c->everywhere) return c->everywhere;
    if (!book) return NULL;
    for (size_t i = 0; i < w->n_books; i++)
        if (book == &w->books[i] || strcmp(book->id, w->books[i].id) == 0)
            return c->instead[i] ? c->instead[i] : book;
    return book;
}

/* The contract under the scenario; NULL: the account keeps its own. */
static const tb_contract *contract_for(const tb_scenario *s, int64_t account)
{
    size_t low = 0, high = s ? s->n_contracts : 0;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (s->contracts[middle].account < account)
            low = middle + 1;
        else
            high = middle;
    }
    if (s && low < s->n_contracts && s->contracts[low].account == account)
        return &s->contracts[low].contract;
    return s && s->has_contract ? &s->contract : NULL;
}

/* The contract and, where it names one, its book over the whole month. */
static void take_contract(const tb_whatif *w, const tb__case *c, const tb_contract *contract,
                          tb_bill_input *input, tb_bill_part *parts, tb_bill_fee *fees)
{
    const tb_book *own = contract->book[0] ? find_named(w->books, w->n_books, contract->book) : NULL;
    const bool missing = own && strcmp(own->currency, input->currency) != 0;
    input->contract = *contract;
    if (!own) return;
    input->book_missing = missing;
    for (size_t i = 0; i < input->n_parts; i++)
        parts[i].book = missing ? NULL : book_for(w, c, own);
    for (size_t i = 0; i < input->n_fees; i++)
        fees[i].book = parts[0].book;
}

/* Under the scenario a month of the span counts what it comes to there. One before the span counts what it was billed, or,
 * where the scenario has another contract, its share of the commit: the scenario's commit is owed for months of the span. */
static tb_code count_earlier(const tb_whatif *w, const tb__case *c, const tb_bill_input *input, bool own_contract,
                             tb_bill_input *to, bool *changed, tb_error *err)
{
    int64_t months[TB_BILL_EARLIER_MAX];
    tb_commit_period p;
    const size_t n = input->running ? 0 : tb_bill_earlier_months(&to->contract, input->month, months);
    const int64_t first = w->first && w->first->input.account == input->account ? w->first->input.month : input->month;
    to->n_earlier = 0;
    if (n == 0 || !tb_contract_period(&to->contract, input->month, &p)) return TB_OK;
    for (size_t i = 0; i < n; i++) {
        const tb__held *held = w->first;
        while (held && (held->input.account != input->account || held->input.month != months[i]))
            held = held->next;
        tb_bill_earlier *e = &to->earlier[to->n_earlier++];
        *e = (tb_bill_earlier){.month = months[i]};
        if (held) {
            const tb__counted *of = &held->counted[c - w->cases];
            if (memcmp(held->input.currency, input->currency, sizeof input->currency) == 0)
                e->amount = months[i] < p.first ? of->commit : of->sum;
        } else if (own_contract) {
            *e = input->earlier[i];
        } else if (months[i] >= p.first && months[i] < first) {
            tb_code code = tb_decimal_divide(p.commit->amount, 1, p.commit->months, TB_PRORATE_SCALE, TB_HALF_UP, &e->amount, err);
            if (code) return code;
        }
        *changed |= !own_contract || tb_decimal_compare(e->amount, input->earlier[i].amount) != 0;
    }
    return TB_OK;
}

tb_code tb__case_input(const tb_whatif *w, const tb__case *c, const tb_bill_input *input,
                       tb__arena *arena, tb_bill_input *ret_input, bool *ret_changed, tb_error *err)
{
    bool changed = false;
    tb_bill_part *parts = tb__arena_take(arena, input->n_parts * sizeof *parts);
    if (!parts) return tb_no_memory(err);
    for (size_t i = 0; i < input->n_parts; i++) {
        parts[i] = input->parts[i];
        parts[i].book = book_for(w, c, parts[i].book);
        changed = changed || parts[i].book != input->parts[i].book;
    }
    tb_bill_fee *fees = tb__arena_take(arena, input->n_fees * sizeof *fees);
    if (!fees) return tb_no_memory(err);
    for (size_t i = 0; i < input->n_fees; i++) {
        fees[i] = input->fees[i];
        fees[i].book = book_for(w, c, fees[i].book);
        changed = changed || fees[i].book != input->fees[i].book;
    }
    *ret_input = *input;
    ret_input->parts = parts;
    ret_input->fees = fees;
    ret_input->n_tax = 0;
    const tb_contract *contract = contract_for(c->scenario, input->account);
    if (contract) {
        take_contract(w, c, contract, ret_input, parts, fees);
        changed = true;
    }
    if (c->scenario) {
        tb_code code = tb__scale_usage(c->scenario, ret_input, arena, &changed, err);
        if (code) return code;
    }
    tb_code code = count_earlier(w, c, input, !contract, ret_input, &changed, err);
    if (code) return code;
    if (contract || changed) ret_input->cap.before = ret_input->contract.cap;
    if (contract) ret_input->cap.reached = contract->cap_action == TB_CAP_DISABLE;
    *ret_changed = changed;
    return TB_OK;
}
