/* Shared by tollbook solve's commands. */
#include "cli/solve.h"

#include <string.h>
#include <unistd.h>

#include "tollbook/whatif.h"

static const tb_book *stored(const solve_books *books, const char *id)
{
    for (size_t i = 0; i < books->stored.n; i++)
        if (strcmp(books->stored.list[i].id, id) == 0) return &books->stored.list[i];
    return NULL;
}

/* --- from files --- */

/* No book has such a member. */
static bool is_scenario(const tb_buf *text)
{
    return text->len && memmem(text->data, text->len, "\"scenario\"", 10) != NULL;
}

static tb_code patch_base(const solve_books *books, const tb_scenario *scenario,
                          const tb_book *base, tb_book *ret_book, tb_error *err)
{
    if (scenario->base[0]) base = stored(books, scenario->base);
    if (!base && !scenario->base[0])
        return tb_fail(err, TB_E_VALIDATION, "base", "Here a scenario has to name its base.");
    if (!base)
        return tb_fail(err, TB_E_VALIDATION, "base",
                       "The scenario is of the book \"%s\", which is not in the database. See: "
                       "tollbook book list --db FILE",
                       scenario->base);
    if (scenario->n_factors)
        return tb_fail(err, TB_E_VALIDATION, "usage",
                       "The scenario changes usage, which solvers do not: take `usage` out.");
    return tb_scenario_book(scenario, base, NULL, ret_book, err);
}

static tb_code parse(const solve_books *books, const tb_buf *text, const tb_book *base,
                     tb_book *ret_book, tb_error *err)
{
    tb_scenario scenario;
    if (!is_scenario(text))
        return tb_book_parse(text->data ? text->data : "", text->len, NULL, ret_book, err);
    tb_code code = tb_scenario_parse(text->data, text->len, NULL, &scenario, err);
    if (code) return code;
    code = patch_base(books, &scenario, base, ret_book, err);
    tb_scenario_release(&scenario);
    return code;
}

static int read_book(const cli_call *call, solve_books *books, const char *path,
                     const tb_book *base, const tb_book **ret_book)
{
    tb_buf text;
    tb_error err;
    if (access(path, F_OK) != 0) {
        cli_say(call,
                "There is neither a book \"%.64s\" in the database nor a file of that name. See: "
                "tollbook book list --db FILE",
                path);
        return tb_code_exit(TB_E_NOT_FOUND);
    }
    int status = cli_read_file(call, path, TB_BOOK_MAX, &text);
    if (status) return status;
    tb_book *book = &books->own[books->n_own];
    tb_code code = parse(books, &text, base, book, &err);
    tb_buf_release(&text);
    if (code) return cli_fail(call, path, &err);
    books->n_own++;
    *ret_book = book;
    return 0;
}

int solve_book(const cli_call *call, solve_books *books, const char *word, const tb_book *base,
               const tb_book **ret_book)
{
    const tb_book *found = stored(books, word);
    if (!found) return read_book(call, books, word, base, ret_book);
    *ret_book = found;
    return 0;
}

void solve_books_release(solve_books *books)
{
    tb_month_books_release(&books->stored);
    for (size_t i = 0; i < books->n_own; i++)
        tb_book_release(&books->own[i]);
    books->n_own = 0;
}

bool solve_for_people(const cli_call *call)
{
    if (cli_given(call, "format")) return cli_is(call, "format", "table");
    return isatty(STDOUT_FILENO) != 0;
}

int solve_print(const cli_call *call, tb_code code, tb_buf *out, const tb_error *err)
{
    if (!code) fwrite(out->data, 1, out->len, stdout);
    tb_buf_release(out);
    return code ? cli_fail(call, NULL, err) : cli_done(call);
}

int solve_decimal(const cli_call *call, const char *option, int max_scale, tb_decimal *ret)
{
    tb_error err;
    char subject[32];
    const char *text = cli_text(call, option);
    if (!text || tb_decimal_parse(text, strlen(text), max_scale, ret, &err) == TB_OK) return 0;
    snprintf(subject, sizeof subject, "--%s", option);
    return cli_fail(call, subject, &err);
}
