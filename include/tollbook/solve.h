/* Solvers over stored history: the price that earns a given sum, and the commit that would have
 * cost an account the least. GSL searches in doubles; the answer is rated again, exactly, by the
 * functions that write invoices. Advice, never part of a bill.
 *
 * Revenue is the sum of bills' subtotals: rounded lines, net of tax. */
#ifndef TOLLBOOK_SOLVE_H
#define TOLLBOOK_SOLVE_H

#include "tollbook/bill.h"
#include "tollbook/buf.h"

TB_API_BEGIN

/* --- a portfolio: accounts' months, kept, and billed again under changed books --- */

/* One thread. Holds copies; the books that inputs' parts name must outlive it. */
typedef struct tb_portfolio tb_portfolio;

#define TB_PORTFOLIO_BOOKS_MAX 4096

/* TB_E_VALIDATION past TB_PORTFOLIO_BOOKS_MAX books. */
TB_MUST_USE tb_code tb_portfolio_new(const tb_book *books, size_t n_books, const tb_alloc *alloc,
                                     tb_portfolio **ret, tb_error *err);
void tb_portfolio_free(tb_portfolio *portfolio); /* NULL is allowed */
/* The input is copied. TB_E_VALIDATION where a part names another book; TB_E_NOMEM. */
TB_MUST_USE tb_code tb_portfolio_add(tb_portfolio *portfolio, const tb_bill_input *input,
                                     tb_error *err);
size_t tb_portfolio_bills(const tb_portfolio *portfolio);

typedef struct tb_portfolio_sum {
    tb_decimal total;
    size_t unpriced; /* bills in which something has no price */
} tb_portfolio_sum;

/* under: for each book the one to take in its place (itself, where nothing changes), and one more
 * for what has no book (NULL: none); NULL: everything as it is. whole: by tb_bill_rate, else by
 * tb_bill_subtotal. Errors: those of rating. */
TB_MUST_USE tb_code tb_portfolio_total(tb_portfolio *portfolio, const tb_book *const *under,
                                       bool whole, tb_portfolio_sum *ret, tb_error *err);

/* --- named prices --- */

/* A price of a book. path: "bandwidth.premium.regions.EU", "load_balancer.tiers[0].flat", ... */
typedef struct tb_named_price {
    size_t book; /* index in the list given */
    char path[64];
    tb_decimal before, after;
    uint32_t at, len; /* where it stands in the book's canonical text */
} tb_named_price;

#define TB_NAMED_PRICES_MAX 4096
#define TB_SOLVE_PATHS_MAX  32

typedef struct tb_price_list {
    const tb_book *const *books; /* not owned */
    size_t n_books;
    tb_named_price *price;
    size_t n;
    const tb_alloc *alloc;
} tb_price_list;

/* Prices that the paths name: each a price, or something that holds prices ("bandwidth.volume",
 * "load_balancer"); minimum_monthly only by its own name. Books may be NULL. TB_E_VALIDATION, field
 * "price": a path that names nothing in any book (the message lists what there is), or past
 * TB_NAMED_PRICES_MAX; TB_E_NOMEM. */
TB_MUST_USE tb_code tb_price_list_find(const tb_book *const *books, size_t n_books,
                                       const char *const *paths, size_t n_paths,
                                       const tb_alloc *alloc, tb_price_list *ret, tb_error *err);
void tb_price_list_release(tb_price_list *list);
/* after = before x factor, to `digits` places after the point, half up. TB_E_OVERFLOW. */
TB_MUST_USE tb_code tb_price_list_scale(tb_price_list *list, tb_decimal factor, int digits,
                                        tb_error *err);
/* Book `number` with its prices' `after` in the place of `before`, read as any book is. TB_E_BOOK
 * where that is none (a price past the safe one). */
TB_MUST_USE tb_code tb_price_list_book(const tb_price_list *list, size_t number,
                                       const tb_alloc *alloc, tb_book *ret, tb_error *err);

/* The same as a merge patch of the book (RFC 7396), for a what-if scenario: what holds the prices, by
 * the document's own members. */
TB_MUST_USE tb_code tb_price_list_patch(const tb_price_list *list, size_t number, tb_buf *out,
                                        tb_error *err);

/* --- solve price --- */

#define TB_SOLVE_FACTOR_MAX   1000000 /* prices are sought up to so many times their own */
#define TB_SOLVE_FACTOR_SCALE 9       /* digits of a factor that is shown */

typedef struct tb_price_ask {
    tb_portfolio *portfolio;
    const tb_book *const *under; /* as in tb_portfolio_total: the books whose prices are sought */
    size_t n_under;
    tb_price_list *list; /* prices of `under`; their `after` is set to the answer's */
    tb_decimal target;
    int digits; /* of the answer's prices: the price grid */
    const tb_alloc *alloc;
} tb_price_ask;

typedef enum tb_price_outcome {
    TB_PRICE_FOUND,   /* the target, exactly */
    TB_PRICE_NEAREST, /* no price of the grid earns it: the nearest does */
    TB_PRICE_FLAT,    /* these prices bill nothing: no factor changes the revenue */
    TB_PRICE_ABOVE,   /* even for nothing, more than the target is earned */
    TB_PRICE_BELOW,   /* even at the highest prices that a book takes, less is earned */
} tb_price_outcome;

typedef struct tb_price_answer {
    tb_price_outcome outcome;
    tb_decimal factor;      /* as searched; found and nearest */
    tb_portfolio_sum after; /* at the answer; flat, above, below: at the bound */
    tb_decimal residual;    /* after - target */
    bool has_below, has_above;
    tb_decimal below, above; /* revenue one step of the grid down and up */
    bool alone;              /* neither neighbour earns the same */
    unsigned ratings;        /* of the portfolio */
} tb_price_answer;

TB_MUST_USE tb_code tb_solve_price(const tb_price_ask *ask, tb_price_answer *ret, tb_error *err);

/* --- solve commit --- */

/* A commit of at least `commit` a month takes `discount` percent off the prices. */
typedef struct tb_commit_offer {
    tb_decimal commit, discount;
} tb_commit_offer;

#define TB_COMMIT_OFFERS_MAX 64
#define TB_COMMIT_GRID       64 /* points of the fine grid between two offers */

typedef struct tb_commit_ask {
    tb_portfolio *portfolio;
    const tb_book *const *under;
    size_t n_under;
    tb_price_list *list;           /* what the discount is on */
    const tb_commit_offer *offers; /* ascending by commit */
    size_t n_offers;
    bool between;    /* the discount rises evenly from offer to offer; else by steps */
    tb_decimal step; /* commits are multiples of it; above 0 */
    const tb_alloc *alloc;
} tb_commit_ask;

typedef struct tb_commit_point {
    tb_decimal commit, discount;
    tb_decimal cost;      /* of the span */
    tb_decimal shortfall; /* of it: paid to reach the commit and not for usage */
} tb_commit_point;

typedef struct tb_commit_answer {
    tb_commit_point best;                        /* cheapest; of several the smallest commit */
    tb_commit_point offer[TB_COMMIT_OFFERS_MAX]; /* at each offer */
    tb_commit_point grid;                        /* the cheapest of the fine grid */
    bool searched; /* a minimum between grid points was searched with GSL */
    unsigned ratings;
} tb_commit_answer;

/* The commit stands in the place of the book's minimum where it is larger: as that, it is not
 * charged for a running month or one without an active zone. TB_E_VALIDATION, field "offer": none,
 * not ascending, a discount outside 0 to 100; "step". */
TB_MUST_USE tb_code tb_solve_commit(const tb_commit_ask *ask, tb_commit_answer *ret, tb_error *err);

TB_API_END

#endif
