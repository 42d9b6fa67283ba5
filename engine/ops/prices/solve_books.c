/* Books that solvers are asked about. */
#include <string.h>

#include "ops/prices/solve.h"
#include "tollbook/whatif.h"

static const tb_book *stored(const tb__solve_books *books, const char *id)
{
    for (size_t i = 0; i < books->stored.n; i++)
        if (strcmp(books->stored.list[i].id, id) == 0) return &books->stored.list[i];
    return NULL;
}

/* No book has such a member. */
static bool is_scenario(tb_text text)
{
    return text.len && memmem(text.data, text.len, "\"scenario\"", 10) != NULL;
}

static tb_code patch_base(const tb__solve_books *books, const tb_scenario *scenario,
                          const tb_book *base, tb_book *ret_book, tb_error *err)
{
    if (scenario->base[0]) base = stored(books, scenario->base);
    if (!base && !scenario->base[0])
        return tb_fail(err, TB_E_VALIDATION, "base", "Here a scenario must name its base.");
    if (!base)
        return tb_fail(err, TB_E_VALIDATION, "base",
                       "The scenario is of the book \"%s\", which is not in the database. See: "
                       "tollbook book list",
                       scenario->base);
    if (scenario->n_factors)
        return tb_fail(err, TB_E_VALIDATION, "usage",
                       "The scenario changes usage, which solvers cannot do: remove `usage`.");
    if (scenario->has_contract || scenario->n_contracts)
        return tb_fail(err, TB_E_VALIDATION, scenario->has_contract ? "contract" : "contracts",
                       "The scenario changes contracts, which solvers cannot do: remove `%s`.",
                       scenario->has_contract ? "contract" : "contracts");
    return tb_scenario_book(scenario, base, NULL, ret_book, err);
}

static tb_code parse(const tb__solve_books *books, tb_text text, const tb_book *base,
                     tb_book *ret_book, tb_error *err)
{
    tb_scenario scenario;
    if (!is_scenario(text)) return tb_book_parse(text.data, text.len, NULL, ret_book, err);
    tb_code code = tb_scenario_parse(text.data, text.len, NULL, &scenario, err);
    if (code) return code;
    code = patch_base(books, &scenario, base, ret_book, err);
    tb_scenario_release(&scenario);
    return code;
}

tb_code tb__solve_book(tb__solve_books *books, const tb_arg *arg, const tb_book *base,
                       const tb_book **ret_book, tb_reply *reply, tb_error *err)
{
    char id[sizeof((tb_book *)0)->id];
    tb_code code = TB_OK;
    if (tb_arg_name(arg, id, sizeof id)) {
        *ret_book = stored(books, id);
        if (!*ret_book)
            code = tb_fail(err, TB_E_NOT_FOUND, "",
                           "There is no book \"%s\" in the database. See: tollbook book list",
                           id);
    } else {
        code = parse(books, arg->text, base, &books->own[books->n_own], err);
        if (!code) *ret_book = &books->own[books->n_own++];
    }
    if (code) reply->about = arg;
    return code;
}

void tb__solve_books_release(tb__solve_books *books)
{
    tb_month_books_release(&books->stored);
    for (size_t i = 0; i < books->n_own; i++)
        tb_book_release(&books->own[i]);
    books->n_own = 0;
}
