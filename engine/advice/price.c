/* Revenue rises with a price, or stays; so one factor brackets it from 0 upwards. GSL's Brent solver finds
 * where it passes the target, with prices of 15 digits. From there on comparisons are exact: prices are put
 * on the grid, and single steps of it are taken (the price with the next change of its rounding as the factor
 * moves) until one side is below the target and the next is not. */
#include "advice/repriced.h"
#include "tollbook/forecast.h"

#include <gsl/gsl_errno.h>
#include <gsl/gsl_math.h>
#include <gsl/gsl_roots.h>
#include <math.h>
#include <string.h>

#define FACTOR_DIGITS 12  /* of a factor while it is sought */
#define ROUNDS_MAX    100 /* of the solver */
#define STEPS_MAX     256 /* of the grid, from where the solver ended */
#define CLOSE_ENOUGH  1e-11

/* A search. */
typedef struct search {
    const tb_price_ask *ask;
    tb__repriced books;
    tb_code code; /* of the function that GSL calls */
    tb_error *err;
} search;

/* Prices of one moment of the search. */
typedef struct state {
    tb_decimal *after;
    tb_portfolio_sum sum;
} state;

/* --- revenue by factor --- */

static tb_code at_factor(search *s, tb_decimal factor, int digits, tb_portfolio_sum *ret)
{
    tb_code code = tb_price_list_scale(s->ask->list, factor, digits, s->err);
    return code ? code : tb__repriced_total(&s->books, NULL, false, ret, s->err);
}

static tb_decimal factor_of(double factor)
{
    return (tb_decimal){(tb_i128)llroundl((long double)factor * powl(10.0L, FACTOR_DIGITS)),
                        FACTOR_DIGITS};
}

static double distance(double factor, void *ctx)
{
    search *s = ctx;
    tb_portfolio_sum sum;
    tb_decimal from_target;
    s->code = at_factor(s, factor_of(factor), TB_PRICE_SCALE_MAX, &sum);
    if (!s->code) s->code = tb_decimal_sub(sum.total, s->ask->target, &from_target, s->err);
    return s->code ? GSL_NAN : tb__decimal_to_double(from_target);
}

/* --- bracketing --- */

/* A price or an amount past what books and decimals hold: no factor beyond. */
static bool past_the_end(tb_code code)
{
    return code == TB_E_BOOK || code == TB_E_OVERFLOW;
}

/* The first power of four that earns the target, or the last one that a book takes. */
static tb_code find_high(search *s, int64_t *ret_high, tb_portfolio_sum *ret_sum)
{
    tb_portfolio_sum sum = {.unpriced = 0};
    int64_t high = 0;
    for (int64_t factor = 1; factor <= TB_SOLVE_FACTOR_MAX; factor *= 4) {
        tb_code code = at_factor(s, tb_decimal_from_int(factor), TB_PRICE_SCALE_MAX, &sum);
        if (code && (!past_the_end(code) || high == 0)) return code;
        if (code) break;
        high = factor;
        *ret_sum = sum;
        if (tb_decimal_compare(sum.total, s->ask->target) > 0) break;
    }
    *ret_high = high;
    return TB_OK;
}

/* Whether there is anything to search between `free` (all for nothing) and high, which goes as far
 * as books do where the target is not below `free`. */
static tb_price_outcome judge(const search *s, const tb_portfolio_sum *free,
                              const tb_portfolio_sum *high)
{
    if (tb_decimal_compare(free->total, s->ask->target) > 0) return TB_PRICE_ABOVE;
    if (tb_decimal_compare(free->total, high->total) == 0) return TB_PRICE_FLAT;
    if (tb_decimal_compare(high->total, s->ask->target) < 0) return TB_PRICE_BELOW;
    return TB_PRICE_FOUND;
}

static tb_code search_failed(const search *s, const char *what)
{
    if (s->code) return s->code;
    return tb_fail(s->err, TB_E_INTERNAL, "solve", "GSL's solver said: %s.", what);
}

static tb_code iterate(search *s, gsl_root_fsolver *solver, double *ret_factor)
{
    for (int i = 0; i < ROUNDS_MAX; i++) {
        int status = gsl_root_fsolver_iterate(solver);
        if (status != GSL_SUCCESS || s->code) return search_failed(s, gsl_strerror(status));
        if (gsl_root_test_interval(gsl_root_fsolver_x_lower(solver),
                                   gsl_root_fsolver_x_upper(solver), CLOSE_ENOUGH,
                                   CLOSE_ENOUGH) == GSL_SUCCESS)
            break;
    }
    *ret_factor = gsl_root_fsolver_root(solver);
    return TB_OK;
}

static tb_code find_root(search *s, int64_t high, double *ret_factor)
{
    gsl_function function;
    gsl_root_fsolver *solver = gsl_root_fsolver_alloc(gsl_root_fsolver_brent);
    if (!solver) return tb_no_memory(s->err);
    function.function = distance;
    function.params = s;
    int status = gsl_root_fsolver_set(solver, &function, 0, (double)high);
    tb_code code = status == GSL_SUCCESS && !s->code ? iterate(s, solver, ret_factor)
                                                     : search_failed(s, gsl_strerror(status));
    gsl_root_fsolver_free(solver);
    return code;
}

/* --- steps of the grid --- */

/* The factor at which a price's rounding turns next, upwards or downwards; no price, or none left:
 * infinite. Only says which price goes first. */
static long double turns_at(const tb_named_price *p, bool up)
{
    if (p->before.mantissa == 0 || (!up && p->after.mantissa == 0)) return HUGE_VALL;
    long double before = (long double)p->before.mantissa / powl(10.0L, p->before.scale);
    long double at = ((long double)p->after.mantissa + (up ? 0.5L : -0.5L)) / before;
    return up ? at : -at;
}

/* Moves those prices that turn first. False where none can. */
static bool step(tb_price_list *list, bool up)
{
    long double first = HUGE_VALL;
    for (size_t i = 0; i < list->n; i++)
        first = fminl(first, turns_at(&list->price[i], up));
    if (first == HUGE_VALL) return false;
    for (size_t i = 0; i < list->n; i++)
        if (turns_at(&list->price[i], up) == first) list->price[i].after.mantissa += up ? 1 : -1;
    return true;
}

static void save(const search *s, state *to, const tb_portfolio_sum *sum)
{
    for (size_t i = 0; i < s->ask->list->n; i++)
        to->after[i] = s->ask->list->price[i].after;
    to->sum = *sum;
}

static void restore(const search *s, const state *from)
{
    for (size_t i = 0; i < s->ask->list->n; i++)
        s->ask->list->price[i].after = from->after[i];
}

/* A step and its revenue; *ret_moved false if there is none. */
static tb_code step_total(search *s, bool up, bool *ret_moved, tb_portfolio_sum *ret)
{
    *ret_moved = step(s->ask->list, up);
    if (!*ret_moved) return TB_OK;
    tb_code code = tb__repriced_total(&s->books, NULL, false, ret, s->err);
    if (!past_the_end(code)) return code;
    *ret_moved = false;
    return TB_OK;
}

/* |a - target| < |b - target| */
static bool nearer(const search *s, tb_decimal a, tb_decimal b)
{
    tb_decimal x, y;
    if (tb_decimal_sub(a, s->ask->target, &x, NULL) || tb_decimal_sub(b, s->ask->target, &y, NULL))
        return false;
    x.mantissa = x.mantissa < 0 ? -x.mantissa : x.mantissa;
    y.mantissa = y.mantissa < 0 ? -y.mantissa : y.mantissa;
    return tb_decimal_compare(x, y) < 0;
}

/* From the prices of the grid at hand to the target's other side; *best is the nearest seen. */
static tb_code walk(search *s, state *best)
{
    tb_portfolio_sum sum = best->sum;
    int side = tb_decimal_compare(sum.total, s->ask->target);
    for (int i = 0; i < STEPS_MAX && side != 0; i++) {
        bool moved;
        tb_code code = step_total(s, side < 0, &moved, &sum);
        if (code) return code;
        if (!moved) break;
        if (nearer(s, sum.total, best->sum.total)) save(s, best, &sum);
        if (tb_decimal_compare(sum.total, s->ask->target) != side) break;
    }
    restore(s, best);
    return TB_OK;
}

static tb_code look_beside(search *s, const state *best, tb_price_answer *a)
{
    tb_portfolio_sum sum;
    tb_code code = step_total(s, true, &a->has_above, &sum);
    if (!code && a->has_above) a->above = sum.total;
    restore(s, best);
    if (!code) code = step_total(s, false, &a->has_below, &sum);
    if (!code && a->has_below) a->below = sum.total;
    restore(s, best);
    a->alone = !(a->has_above && tb_decimal_compare(a->above, best->sum.total) == 0) &&
               !(a->has_below && tb_decimal_compare(a->below, best->sum.total) == 0);
    return code;
}

/* --- the answer --- */

/* As invoices are rated, whole. */
static tb_code rate_again(search *s, const tb_portfolio_sum *found, tb_price_answer *a)
{
    tb_code code = tb__repriced_total(&s->books, NULL, true, &a->after, s->err);
    if (code) return code;
    if (tb_decimal_compare(found->total, a->after.total) != 0)
        return tb_fail(s->err, TB_E_INTERNAL, "solve",
                       "Rated again, the revenue differs. Please report this.");
    return tb_decimal_sub(a->after.total, s->ask->target, &a->residual, s->err);
}

static tb_code on_the_grid(search *s, double factor, state *best, tb_price_answer *a)
{
    tb_portfolio_sum sum;
    tb_code code = at_factor(s, factor_of(factor), s->ask->digits, &sum);
    if (code) return code;
    save(s, best, &sum);
    code = walk(s, best);
    if (!code) code = look_beside(s, best, a);
    if (!code) code = rate_again(s, &best->sum, a);
    if (!code)
        code = tb_decimal_round(factor_of(factor), TB_SOLVE_FACTOR_SCALE, TB_HALF_UP, &a->factor,
                                s->err);
    a->outcome = tb_decimal_sign(a->residual) == 0 ? TB_PRICE_FOUND : TB_PRICE_NEAREST;
    return code;
}

static tb_code solve(search *s, state *best, tb_price_answer *a)
{
    tb_portfolio_sum free, high;
    int64_t factor = 0;
    double root = 0;
    tb_code code = at_factor(s, TB_DECIMAL_ZERO, TB_PRICE_SCALE_MAX, &free);
    if (!code) code = find_high(s, &factor, &high);
    if (code) return code;
    a->outcome = judge(s, &free, &high);
    if (a->outcome != TB_PRICE_FOUND) {
        a->after = a->outcome == TB_PRICE_BELOW ? high : free;
        return tb_decimal_sub(a->after.total, s->ask->target, &a->residual, s->err);
    }
    code = find_root(s, factor, &root);
    return code ? code : on_the_grid(s, root, best, a);
}

tb_code tb_solve_price(const tb_price_ask *ask, tb_price_answer *ret, tb_error *err)
{
    tb_price_answer answer = {.factor = {0, 0}};
    search s = {.ask = ask, .err = err};
    state best = {.after = NULL};
    size_t n = ask->list->n;
    tb_code code = tb_advice_ready(err);
    if (!code && (ask->digits < 0 || ask->digits > TB_PRICE_SCALE_MAX))
        code = tb_fail(err, TB_E_VALIDATION, "digits",
                       "A price has 0 to %d digits after the point.", TB_PRICE_SCALE_MAX);
    if (!code) code = tb__repriced_init(&s.books, ask->portfolio, ask->list, ask->alloc, err);
    if (code) return code;
    best.after = tb_alloc_zero(ask->alloc, n + 1, sizeof *best.after);
    code = best.after ? solve(&s, &best, &answer) : tb_no_memory(err);
    answer.ratings = s.books.ratings;
    tb_alloc_free(ask->alloc, best.after, (n + 1) * sizeof *best.after);
    tb__repriced_release(&s.books);
    if (!code) *ret = answer;
    return code;
}
