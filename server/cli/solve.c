/* Shared by tollbook solve's commands. */
#include "cli/solve.h"

#include <string.h>
#include <unistd.h>

/* A book that is no stored one's id. */
static int read_book(const cli_call *call, solve_books *books, const char *path,
                     const tb_book **ret_book)
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
    tb_code code = tb_book_parse(text.data ? text.data : "", text.len, NULL, book, &err);
    tb_buf_release(&text);
    if (code) return cli_fail(call, path, &err);
    books->n_own++;
    *ret_book = book;
    return 0;
}

int solve_book(const cli_call *call, solve_books *books, const char *word, const tb_book **ret_book)
{
    for (size_t i = 0; i < books->stored.n; i++)
        if (strcmp(books->stored.list[i].id, word) == 0) {
            *ret_book = &books->stored.list[i];
            return 0;
        }
    return read_book(call, books, word, ret_book);
}

void solve_books_release(solve_books *books)
{
    month_books_release(&books->stored);
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
