/* A scenario's books, and an input seen through them: parts take the books that stand in the place
 * of theirs, usage is scaled. Nothing else of an input depends on a scenario. */
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
        return TB_OK;
    }
    return tb_fail(err, TB_E_VALIDATION, "base",
                   "Scenario %s: there is no price book %s; `tollbook book` adds one.",
                   c->scenario->name, c->scenario->base);
}

tb_code tb__case_open(tb__case *c, const tb_scenario *scenario, const tb_book *books,
                      size_t n_books, const tb_alloc *alloc, tb_error *err)
{
    c->scenario = scenario;
    c->room = scenario && scenario->base[0] ? 1 : n_books;
    c->instead = tb_alloc_zero(alloc, n_books + 1, sizeof *c->instead);
    c->made = tb_alloc_zero(alloc, c->room + 1, sizeof *c->made);
    c->shown = tb_alloc_zero(alloc, c->room + 1, sizeof *c->shown);
    if (!c->instead || !c->made || !c->shown) return tb_no_memory(err);
    if (!scenario) return TB_OK;
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
    tb_alloc_free(alloc, c->shown, (c->room + 1) * sizeof *c->shown);
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
    *ret_input = *input;
    ret_input->parts = parts;
    ret_input->n_tax = 0;
    if (c->scenario) {
        tb_code code = tb__scale_usage(c->scenario, ret_input, arena, &changed, err);
        if (code) return code;
    }
    *ret_changed = changed;
    return TB_OK;
}
