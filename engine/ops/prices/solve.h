/* What the solvers share: books by id or as documents, and the stored span that they are asked
 * about. */
#ifndef TOLLBOOK_OPS_SOLVE_H
#define TOLLBOOK_OPS_SOLVE_H

#include "ops/operations.h"
#include "tollbook/monthbill.h"
#include "tollbook/solve.h"

/* --- books --- */

#define TB__SOLVE_OWN_MAX 2 /* books that one call brings */

/* The database's books, and those that were given. */
typedef struct tb__solve_books {
    tb_month_books stored;
    tb_book own[TB__SOLVE_OWN_MAX];
    size_t n_own;
} tb__solve_books;

/* arg: a stored book's id, a book, or a what-if scenario: its base, patched (where it names none,
 * `base`, which may be NULL). *ret_book is borrowed. An error is about arg. */
TB_MUST_USE tb_code tb__solve_book(tb__solve_books *books, const tb_arg *arg, const tb_book *base,
                                   const tb_book **ret_book, tb_reply *reply, tb_error *err);
void tb__solve_books_release(tb__solve_books *books);

/* --- the span --- */

typedef struct tb__solve_span {
    int64_t from, to; /* months, both included */
    int64_t account;  /* 0: all */
    char currency[4];
    size_t accounts, others; /* with anything in the span; account-months in other currencies */
    bool running;            /* the last month is not over */
    tb__solve_books books;
    bool no_contracts; /* asked: as if no account had one; set before it is read */
    const tb_book *instead; /* `book`: prices the whole span; NULL: the books in force */
    tb_portfolio *billed;   /* under the books in force */
    tb_portfolio *asked;    /* under the books to solve for; may be the same */
    const tb_book **under;  /* of asked: NULL where a book does not occur; n_under of them */
    size_t n_under;
    tb_portfolio_sum before; /* as billed, or as it would be billed now */
    tb_price_list list;      /* the prices named by `price` */
} tb__solve_span;

/* Reads from, to, account, currency and book, and the bills; finds the prices named by `price`, or
 * the `otherwise` ones. The span is zeros, but for no_contracts. Release in any case. */
TB_MUST_USE tb_code tb__solve_span_read(const tb_ops *ops, const tb_args *args,
                                        const char *const *otherwise, size_t n_otherwise,
                                        tb__solve_span *ret_span, tb_reply *reply, tb_error *err);
void tb__solve_span_release(tb__solve_span *span);

/* Text for JSON and people. */
void tb__solve_put(tb_buf *out, tb_decimal value);
/* Money: at least the currency's digits. */
void tb__solve_put_money(tb_buf *out, const tb__solve_span *span, tb_decimal value);
/* "2026-01 to 2026-10, 3 accounts, 30 bills" */
void tb__solve_put_span(tb_buf *out, const tb__solve_span *span);
/* `"span":{...}` */
void tb__solve_json_span(tb_buf *out, const tb__solve_span *span);
/* What a reader has to know: unpriced usage, other currencies, a running month. */
void tb__solve_notes(tb_buf *out, const tb__solve_span *span, const tb_portfolio_sum *after);

/* --- the operations --- */

tb_code tb__solve_breakeven(tb_ops *ops, const tb_args *args, tb_reply *reply, tb_error *err);
tb_code tb__solve_price(tb_ops *ops, const tb_args *args, tb_reply *reply, tb_error *err);
tb_code tb__solve_commit(tb_ops *ops, const tb_args *args, tb_reply *reply, tb_error *err);

#endif
