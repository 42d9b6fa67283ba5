/* Solvers over stored history: the price that earns a given sum, and the commit that would have
 * cost an account the least. GSL searches in doubles; the answer is rated again, exactly, by the
 * functions that write invoices. Advice, never part of a bill.
 *
 * Revenue is the sum of bills' subtotals: rounded lines, net of tax. */
#ifndef TOLLBOOK_SOLVE_H
#define TOLLBOOK_SOLVE_H

#include "tollbook/bill.h"
#include "tollbook/buf.h"
#include "tollbook/tariff.h"

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

/* under: the replacement for each book (itself, if unchanged), and one more for usage without a book (NULL: none);
 * NULL: no replacements. whole: by tb_bill_rate, else by tb_bill_subtotal. Errors: those of rating. */
TB_MUST_USE tb_code tb_portfolio_total(tb_portfolio *portfolio, const tb_book *const *under,
                                       bool whole, tb_portfolio_sum *ret, tb_error *err);

/* --- named prices --- */

#define TB_PRICE_PATH_MAX 192 /* bytes of a price's path, terminated; a longer one is cut */

/* A price of a book. path: "bandwidth.premium.regions.EU", "load_balancer.tiers[0].flat", ... */
typedef struct tb_named_price {
    size_t book; /* index in the list given */
    char path[TB_PRICE_PATH_MAX];
    tb_decimal before, after;
    uint32_t at, len; /* position in the book's canonical text */
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

/* The prices that the paths name: each path is a price, or an object of prices ("bandwidth.volume",
 * "load_balancer"); minimum_monthly only by its own name. Books may be NULL. TB_E_VALIDATION, field "price": a path
 * that is in no book (the message lists the valid ones), or more than TB_NAMED_PRICES_MAX; TB_E_NOMEM. */
TB_MUST_USE tb_code tb_price_list_find(const tb_book *const *books, size_t n_books,
                                       const char *const *paths, size_t n_paths,
                                       const tb_alloc *alloc, tb_price_list *ret, tb_error *err);
void tb_price_list_release(tb_price_list *list);
/* after = before x factor, to `digits` places after the point, half up. TB_E_OVERFLOW. */
TB_MUST_USE tb_code tb_price_list_scale(tb_price_list *list, tb_decimal factor, int digits,
                                        tb_error *err);
/* Book `number` with each price's `after` in place of `before`, parsed like any book. TB_E_BOOK: the result is no valid
 * book (a price above the limit). */
TB_MUST_USE tb_code tb_price_list_book(const tb_price_list *list, size_t number,
                                       const tb_alloc *alloc, tb_book *ret, tb_error *err);

/* The same as a merge patch of the book (RFC 7396), for a what-if scenario: the objects that hold the prices, with the
 * document's own members. */
TB_MUST_USE tb_code tb_price_list_patch(const tb_price_list *list, size_t number, tb_buf *out,
                                        tb_error *err);

/* --- solve price --- */

#define TB_SOLVE_FACTOR_MAX   1000000 /* the largest factor that is searched */
#define TB_SOLVE_FACTOR_SCALE 9       /* digits of a displayed factor */

typedef struct tb_price_ask {
    tb_portfolio *portfolio;
    const tb_book *const *under; /* as in tb_portfolio_total: the books with the prices to solve for */
    size_t n_under;
    tb_price_list *list; /* prices of `under`; `after` is set to the answer */
    tb_decimal target;
    int digits; /* of the answer's prices: the price grid */
    const tb_alloc *alloc;
} tb_price_ask;

typedef enum tb_price_outcome {
    TB_PRICE_FOUND,   /* the target, exactly */
    TB_PRICE_NEAREST, /* no price of the grid earns it: the nearest one */
    TB_PRICE_FLAT,    /* these prices bill nothing: no factor changes the revenue */
    TB_PRICE_ABOVE,   /* even at price 0 the revenue is above the target */
    TB_PRICE_BELOW,   /* even at the highest valid prices the revenue is below the target */
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
    tb_price_list *list;           /* the discounted prices */
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

/* The commit replaces the book's minimum where it is larger: like a minimum, it is not charged for a running month or
 * one without an active zone. TB_E_VALIDATION, field "offer": none, not ascending, a discount outside 0 to 100;
 * "step". */
TB_MUST_USE tb_code tb_solve_commit(const tb_commit_ask *ask, tb_commit_answer *ret, tb_error *err);

/* Break-even: the usage at which two books cost the same. Integers only: costs are
 * mantissas at a common scale, usage is whole bytes or requests, and every point from 0 to `top` is decided, none
 * sampled.
 *
 * A cost is a month's exact amount, before lines are rounded, as a function of usage: straight pieces, with a step per
 * started block where tiers are of mode package. Comparing two of them at every whole number of units gives runs:
 * from..to, both included, in which the same book is cheaper or both cost the same. Between two runs there is one of:
 * cheaper or both cost the same. What lies between two runs is one of:
 *
 *   a crossing   the two lines meet between one unit and the next; `num / den` is where
 *   a run of equals, one unit long (they meet, or touch, there) or longer (they overlap)
 *   a jump       the cheaper one changes at a tier's boundary, a flat or a block without the two
 *                ever costing the same
 *
 * Where the blocks of a package change the cheaper one too often to list, a run of kind MANY covers the range; outside
 * of it everything is decided. Pure; any thread. */

/* --- costs --- */

#define TB_COST_KINDS(X)                                                                           \
    X(BALANCER, "load_balancer", "request") /* one load balancer: its fee and its requests */      \
    X(VOLUME, "volume", "byte")             /* an account's volume bandwidth */                    \
    X(PREMIUM, "premium", "byte")           /* premium bandwidth, spread over regions */
typedef enum tb_cost_kind {
#define TB_X(e, name, unit) TB_COST_##e,
    TB_COST_KINDS(TB_X)
#undef TB_X
        TB_COST_KIND_COUNT
} tb_cost_kind;
const char *tb_cost_kind_name(tb_cost_kind kind);
const char *tb_cost_kind_unit(tb_cost_kind kind);

typedef struct tb_cost {
    tb_cost_kind kind;
    const tb_book *book;
    tb_decimal share[TB_BILLING_REGION_COUNT]; /* premium: percent of the bytes; 100 together */
    tb_decimal discount;                       /* premium: percent, 0 to 100 */
    bool minimum; /* at least the book's minimum_monthly, as if nothing else were billed */
} tb_cost;

/* The cost of `units` in a whole month, through the functions that bill. TB_E_VALIDATION: the book
 * has no such prices, shares are not 100 together; TB_E_OVERFLOW. */
TB_MUST_USE tb_code tb_cost_at(const tb_cost *cost, tb_i128 units, tb_decimal *ret, tb_error *err);

/* Positions (from, to]: price x units + offset + step x blocks begun after `anchor`. */
typedef struct tb_curve_piece {
    tb_i128 from, to;
    tb_i128 price, offset;
    tb_i128 step, anchor, block; /* block 0: no steps */
} tb_curve_piece;

#define TB_CURVE_PIECES_MAX (2 * TB_TIERS_MAX + 4)
typedef struct tb_curve {
    int scale;
    size_t n; /* from -1 (so that 0 is a position) to top, touching */
    tb_curve_piece piece[TB_CURVE_PIECES_MAX];
} tb_curve;

/* The same as a function; top: 0 to TB_UNITS_MAX. Errors as above. */
TB_MUST_USE tb_code tb_cost_curve(const tb_cost *cost, tb_i128 top, tb_curve *ret, tb_error *err);
/* units within the curve. */
tb_i128 tb_curve_at(const tb_curve *curve, tb_i128 units);

/* --- comparing --- */

typedef enum tb_breakeven_sign {
    TB_BREAKEVEN_A = -1, /* the first is the cheaper one */
    TB_BREAKEVEN_EQUAL = 0,
    TB_BREAKEVEN_B = 1,
    TB_BREAKEVEN_MANY = 2, /* changes from block to block, or nearly so: not listed */
} tb_breakeven_sign;

typedef struct tb_breakeven_run {
    tb_i128 from, to;
    tb_breakeven_sign sign;
    bool crossed; /* the lines met between from - 1 and from ... */
    bool exact;   /* ... at num / den units, in lowest terms; false: num does not fit */
    tb_i128 num, den;
} tb_breakeven_run;

#define TB_BREAKEVEN_RUNS_MAX 512

typedef struct tb_breakeven {
    size_t n;
    tb_breakeven_run run[TB_BREAKEVEN_RUNS_MAX];
} tb_breakeven;

/* Curves of the same top. TB_E_OVERFLOW where no common scale holds both: a smaller top may. */
TB_MUST_USE tb_code tb_breakeven_find(const tb_curve *a, const tb_curve *b, tb_breakeven *ret,
                                      tb_error *err);

/* --- forms --- */

typedef struct tb_breakeven_of {
    tb_cost a, b;
    tb_i128 top;
} tb_breakeven_of;

/* Computes the comparison, rates both sides again at every point that it names with tb_cost_at (TB_E_INTERNAL if that
 * differs from the curves), and writes JSON or text. Both books have one currency and both axes one unit:
 * TB_E_VALIDATION otherwise. */
TB_MUST_USE tb_code tb_breakeven_json(const tb_breakeven_of *of, tb_buf *out, tb_error *err);
TB_MUST_USE tb_code tb_breakeven_text(const tb_breakeven_of *of, tb_buf *out, tb_error *err);

TB_API_END

#endif
