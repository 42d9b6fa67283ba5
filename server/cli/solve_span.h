/* The stored span that a solver is asked about: every account's months, kept as a portfolio. */
#ifndef TOLLBOOK_SERVER_CLI_SOLVE_SPAN_H
#define TOLLBOOK_SERVER_CLI_SOLVE_SPAN_H

#include "cli/solve.h"
#include "tollbook/solve.h"

#define SOLVE_MONTHS_MAX 1200 /* of a span: a hundred years */

typedef struct solve_span {
    int64_t from, to; /* months, both included */
    int64_t account;  /* 0: all */
    char currency[4];
    size_t accounts, others; /* with anything in the span; account-months in other currencies */
    bool running;            /* the last month is not over */
    solve_books books;
    const tb_book *instead; /* --book: prices the whole span; NULL: the books in force */
    tb_portfolio *billed;   /* under the books in force */
    tb_portfolio *asked;    /* under those whose prices are asked about; may be the same */
    const tb_book **under;  /* of asked: NULL where a book does not occur; n_under of them */
    size_t n_under;
    tb_portfolio_sum before; /* as billed, or as it would be billed now */
    tb_price_list list;      /* the prices named by --price */
} solve_span;

/* Reads --db, --from, --to, --account, --currency, --book; finds the prices named by --price, or
 * the `otherwise` ones. 0, or the exit status once it said why. Release in both cases. */
int solve_span_read(const cli_call *call, const char *const *otherwise, size_t n_otherwise,
                    solve_span *ret_span);
void solve_span_release(solve_span *span);

/* Text for JSON and people. */
void solve_put(tb_buf *out, tb_decimal value);
/* Money: at least the currency's digits. */
void solve_put_money(tb_buf *out, const solve_span *span, tb_decimal value);
/* "2026-01 to 2026-10, 3 accounts, 30 bills" */
void solve_put_span(tb_buf *out, const solve_span *span);
/* `"accounts":3,"before":"…","bills":30,"currency":"USD"`, and `"from":"…","others":0,…` */
void solve_json_span(tb_buf *out, const solve_span *span);
/* What a reader has to know: unpriced usage, other currencies, a running month. */
void solve_notes(tb_buf *out, const solve_span *span, const tb_portfolio_sum *after);

#endif
