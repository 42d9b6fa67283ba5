/* What tollbook solve's commands share: books by id or from a file, and how an answer is printed.
 */
#ifndef TOLLBOOK_SERVER_CLI_SOLVE_H
#define TOLLBOOK_SERVER_CLI_SOLVE_H

#include "cli/cli.h"
#include "tollbook/monthbill.h"

#define SOLVE_OWN_MAX 4                 /* books that a command reads from files */
#define SOLVE_OUT_MAX ((size_t)4 << 20) /* longest answer */

/* The database's books, and those from files. */
typedef struct solve_books {
    tb_month_books stored;
    tb_book own[SOLVE_OWN_MAX];
    size_t n_own;
} solve_books;

/* word: a stored book's id, else a file that holds a book, or a what-if scenario: its base, patched
 * (where it names none, `base`, which may be NULL). 0 or the exit status, once it said why;
 * *ret_book is borrowed. */
int solve_book(const cli_call *call, solve_books *books, const char *word, const tb_book *base,
               const tb_book **ret_book);
void solve_books_release(solve_books *books);

/* --format table|json; a table on a terminal where it is not given. */
bool solve_for_people(const cli_call *call);
/* Prints and releases `out`, or says what went wrong: the exit status. */
int solve_print(const cli_call *call, tb_code code, tb_buf *out, const tb_error *err);
/* A decimal option: 0, with *ret as it was where it is not given, or the exit status. */
int solve_decimal(const cli_call *call, const char *option, int max_scale, tb_decimal *ret);

#endif
