/* Break-even: the usage at which two books cost the same. Integers alone: costs are
 * mantissas at a common scale, usage is whole bytes or requests, and every point from 0 to `top` is
 * decided, none sampled.
 *
 * A cost is a month's exact amount, before lines are rounded, as a function of usage: straight
 * pieces, with a step per started block where tiers are of mode package. Two of them, compared at
 * every whole number of units, give runs: from..to, both included, in which the same one is the
 * cheaper or both cost the same. What lies between two runs is one of:
 *
 *   a crossing   the two lines meet between one unit and the next; `num / den` is where
 *   a run of equals, one unit long (they meet, or touch, there) or longer (they overlap)
 *   a jump       the cheaper one changes at a tier's boundary, a flat or a block without the two
 *                ever costing the same
 *
 * Where the blocks of a package change the cheaper one too often to list, a run of kind MANY says
 * from where to where; outside of it everything is decided. Pure; any thread. */
#ifndef TOLLBOOK_BREAKEVEN_H
#define TOLLBOOK_BREAKEVEN_H

#include "tollbook/buf.h"
#include "tollbook/tariff.h"

TB_API_BEGIN

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

/* Positions (from, to]: price x units + offset + step x blocks begun behind `anchor`. */
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
    TB_BREAKEVEN_MANY = 2, /* from block to block another one, or nearly so: not listed */
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

/* Finds, re-rates both sides at every point it names with tb_cost_at (TB_E_INTERNAL where that
 * differs from the curves), and writes JSON, or sentences for people. The two books have one
 * currency and both axes one unit: TB_E_VALIDATION otherwise. */
TB_MUST_USE tb_code tb_breakeven_json(const tb_breakeven_of *of, tb_buf *out, tb_error *err);
TB_MUST_USE tb_code tb_breakeven_text(const tb_breakeven_of *of, tb_buf *out, tb_error *err);

TB_API_END

#endif
