/* The cost of a span as a function of the commit: prices less the discount that the commit brings,
 * and the commit as every month's minimum. It need not have a single valley, and it jumps where a
 * discount does; so every offer is rated, and a fine grid between offers, and from each grid point
 * that lies below both its neighbours GSL's Brent minimiser looks closer. What it finds is put on
 * the commit's grid and rated exactly; the cheapest of all points rated is the answer, the smallest
 * commit of several. */
#include "advice/repriced.h"
#include "tollbook/forecast.h"

#include <gsl/gsl_errno.h>
#include <gsl/gsl_math.h>
#include <gsl/gsl_min.h>
#include <math.h>

#define DISCOUNT_DIGITS 6  /* of a discount between two offers; half up */
#define SEARCH_DIGITS   6  /* of a commit while it is sought */
#define ROUNDS_MAX      60 /* of the minimiser */

/* A search. */
typedef struct search {
    const tb_commit_ask *ask;
    tb_commit_answer *answer;
    tb__repriced books;
    bool has_best;
    tb_code code; /* of the function that GSL calls */
    tb_error *err;
} search;

/* --- one commit --- */

/* The discount that a commit brings: its offer's, or between two of them in proportion. */
static tb_code discount_of(const search *s, tb_decimal commit, tb_decimal *ret)
{
    const tb_commit_offer *o = s->ask->offers;
    size_t i = 0;
    while (i + 1 < s->ask->n_offers && tb_decimal_compare(o[i + 1].commit, commit) <= 0)
        i++;
    *ret = o[i].discount;
    if (!s->ask->between || i + 1 == s->ask->n_offers ||
        tb_decimal_compare(commit, o[i].commit) <= 0)
        return TB_OK;
    tb_decimal way, whole, rise;
    tb_code code = tb_decimal_sub(commit, o[i].commit, &way, s->err);
    if (!code) code = tb_decimal_sub(o[i + 1].commit, o[i].commit, &whole, s->err);
    if (!code) code = tb_decimal_sub(o[i + 1].discount, o[i].discount, &rise, s->err);
    if (code) return code;
    tb_decimal at_scale = {0, way.scale > whole.scale ? way.scale : whole.scale};
    code = tb_decimal_add(way, at_scale, &way, s->err);
    if (!code) code = tb_decimal_add(whole, at_scale, &whole, s->err);
    if (!code)
        code = tb_decimal_divide(rise, way.mantissa, whole.mantissa, DISCOUNT_DIGITS, TB_HALF_UP,
                                 &rise, s->err);
    return code ? code : tb_decimal_add(o[i].discount, rise, ret, s->err);
}

static tb_code set_prices(search *s, tb_decimal discount)
{
    tb_decimal left;
    tb_code code = tb_decimal_sub(tb_decimal_from_int(100), discount, &left, s->err);
    if (!code) code = tb_decimal_shift(left, 2, &left, s->err);
    if (!code) code = tb_price_list_scale(s->ask->list, left, TB_PRICE_SCALE_MAX, s->err);
    return code;
}

static tb_code rate(search *s, tb_decimal commit, bool whole, tb_commit_point *ret)
{
    tb_commit_point p = {.commit = tb_decimal_normal(commit)};
    tb_portfolio_sum cost, usage;
    tb_code code = discount_of(s, commit, &p.discount);
    if (!code) code = set_prices(s, p.discount);
    if (!code) code = tb__repriced_total(&s->books, &commit, whole, &cost, s->err);
    if (!code && whole) code = tb__repriced_total(&s->books, NULL, true, &usage, s->err);
    if (code) return code;
    p.cost = cost.total;
    p.discount = tb_decimal_normal(p.discount);
    if (whole) code = tb_decimal_sub(cost.total, usage.total, &p.shortfall, s->err);
    if (!code) *ret = p;
    return code;
}

static void keep_cheaper(tb_commit_point *best, bool *has, const tb_commit_point *p)
{
    int order = *has ? tb_decimal_compare(p->cost, best->cost) : -1;
    if (order > 0 || (order == 0 && tb_decimal_compare(p->commit, best->commit) >= 0)) return;
    *best = *p;
    *has = true;
}

/* Nothing is offered below the first commit. */
static tb_code try_commit(search *s, tb_decimal commit, tb_commit_point *ret)
{
    if (tb_decimal_compare(commit, s->ask->offers[0].commit) < 0) commit = s->ask->offers[0].commit;
    tb_code code = rate(s, commit, false, ret);
    if (!code) keep_cheaper(&s->answer->best, &s->has_best, ret);
    return code;
}

/* --- between two offers --- */

/* The multiple of step at or below a commit, and above it when `up`. */
static tb_code on_step(const search *s, tb_decimal commit, bool up, tb_decimal *ret)
{
    tb_decimal step = s->ask->step, at_scale = {0, commit.scale};
    tb_code code = tb_decimal_add(step, at_scale, &step, s->err);
    at_scale.scale = step.scale;
    if (!code) code = tb_decimal_add(commit, at_scale, &commit, s->err);
    if (code) return code;
    tb_i128 n = commit.mantissa / step.mantissa + up;
    return tb_decimal_mul_int(step, n, ret, s->err);
}

static double cost_at(double commit, void *ctx)
{
    search *s = ctx;
    tb_commit_point p;
    tb_decimal at = {(tb_i128)llroundl((long double)commit * powl(10.0L, SEARCH_DIGITS)),
                     SEARCH_DIGITS};
    s->code = rate(s, at, false, &p);
    return s->code ? GSL_NAN : tb__decimal_to_double(p.cost);
}

static tb_code look(search *s, gsl_min_fminimizer *minimizer)
{
    double close = tb__decimal_to_double(s->ask->step) / 4;
    for (int i = 0; i < ROUNDS_MAX; i++) {
        int status = gsl_min_fminimizer_iterate(minimizer);
        if (s->code) return s->code;
        if (status != GSL_SUCCESS) break; /* no closer than this: the best so far counts */
        if (gsl_min_test_interval(gsl_min_fminimizer_x_lower(minimizer),
                                  gsl_min_fminimizer_x_upper(minimizer), close, 0) == GSL_SUCCESS)
            break;
    }
    tb_decimal at = {(tb_i128)llroundl((long double)gsl_min_fminimizer_x_minimum(minimizer) *
                                       powl(10.0L, SEARCH_DIGITS)),
                     SEARCH_DIGITS};
    tb_commit_point p;
    tb_code code = TB_OK;
    for (int up = 0; !code && up < 2; up++) {
        tb_decimal commit;
        code = on_step(s, at, up, &commit);
        if (!code) code = try_commit(s, commit, &p);
    }
    return code;
}

/* The middle one of three neighbours of the grid costs least. */
static tb_code search_valley(search *s, const tb_commit_point three[3])
{
    gsl_function function;
    double x[3], y[3];
    gsl_min_fminimizer *minimizer = gsl_min_fminimizer_alloc(gsl_min_fminimizer_brent);
    if (!minimizer) return tb_no_memory(s->err);
    for (int i = 0; i < 3; i++) {
        x[i] = tb__decimal_to_double(three[i].commit);
        y[i] = tb__decimal_to_double(three[i].cost);
    }
    function.function = cost_at;
    function.params = s;
    tb_code code = TB_OK;
    s->answer->searched = true;
    /* Where doubles cannot separate the three points GSL refuses, and the grid's point is kept. */
    if (gsl_min_fminimizer_set_with_values(minimizer, &function, x[1], y[1], x[0], y[0], x[2],
                                           y[2]) == GSL_SUCCESS)
        code = look(s, minimizer);
    gsl_min_fminimizer_free(minimizer);
    return code;
}

static tb_code grid_commit(const search *s, size_t offer, int k, tb_decimal *ret)
{
    tb_decimal low = s->ask->offers[offer].commit, high = s->ask->offers[offer + 1].commit, way;
    tb_code code = tb_decimal_sub(high, low, &way, s->err);
    if (!code)
        code = tb_decimal_divide(way, k, TB_COMMIT_GRID, SEARCH_DIGITS, TB_HALF_UP, &way, s->err);
    if (!code) code = tb_decimal_add(low, way, &way, s->err);
    if (!code) code = k == 0 || k == TB_COMMIT_GRID ? TB_OK : on_step(s, way, false, &way);
    if (!code) *ret = tb_decimal_compare(way, low) < 0 ? low : way;
    return code;
}

static tb_code between_offers(search *s, size_t offer, bool *has_grid)
{
    tb_commit_point last[3] = {{.cost = {0, 0}}};
    tb_code code = TB_OK;
    for (int k = 0; !code && k <= TB_COMMIT_GRID; k++) {
        tb_decimal commit;
        last[0] = last[1];
        last[1] = last[2];
        code = grid_commit(s, offer, k, &commit);
        if (!code) code = try_commit(s, commit, &last[2]);
        if (code) return code;
        keep_cheaper(&s->answer->grid, has_grid, &last[2]);
        if (k >= 2 && tb_decimal_compare(last[1].cost, last[0].cost) < 0 &&
            tb_decimal_compare(last[1].cost, last[2].cost) < 0)
            code = search_valley(s, last);
    }
    return code;
}

/* --- the whole --- */

static tb_code check(const tb_commit_ask *ask, tb_error *err)
{
    tb_decimal hundred = tb_decimal_from_int(100);
    if (ask->n_offers == 0 || ask->n_offers > TB_COMMIT_OFFERS_MAX)
        return tb_fail(err, TB_E_VALIDATION, "offer", "Give 1 to %d offers.", TB_COMMIT_OFFERS_MAX);
    if (tb_decimal_sign(ask->step) <= 0 || ask->step.scale > SEARCH_DIGITS)
        return tb_fail(err, TB_E_VALIDATION, "step",
                       "A step is above 0, with at most %d digits after the point.", SEARCH_DIGITS);
    for (size_t i = 0; i < ask->n_offers; i++) {
        const tb_commit_offer *o = &ask->offers[i];
        if (tb_decimal_sign(o->commit) < 0 || o->commit.scale > SEARCH_DIGITS ||
            tb_decimal_sign(o->discount) < 0 || tb_decimal_compare(o->discount, hundred) > 0)
            return tb_fail(err, TB_E_VALIDATION, "offer",
                           "A commit is not negative, a discount is 0 to 100 percent.");
        if (i > 0 && tb_decimal_compare(o[-1].commit, o->commit) >= 0)
            return tb_fail(err, TB_E_VALIDATION, "offer",
                           "Every offer's commit must be above the one before.");
    }
    return TB_OK;
}

static tb_code solve(search *s)
{
    const tb_commit_ask *ask = s->ask;
    tb_commit_answer *a = s->answer;
    bool has_grid = false;
    tb_commit_point p;
    tb_code code = try_commit(s, ask->offers[0].commit, &p);
    if (!code) keep_cheaper(&a->grid, &has_grid, &p);
    for (size_t i = 0; !code && i + 1 < ask->n_offers; i++)
        code = between_offers(s, i, &has_grid);
    for (size_t i = 0; !code && i < ask->n_offers; i++)
        code = rate(s, ask->offers[i].commit, true, &a->offer[i]);
    if (!code) code = rate(s, a->grid.commit, true, &a->grid);
    return code ? code : rate(s, a->best.commit, true, &a->best);
}

tb_code tb_solve_commit(const tb_commit_ask *ask, tb_commit_answer *ret, tb_error *err)
{
    tb_commit_answer answer = {.ratings = 0};
    search s = {.ask = ask, .answer = &answer, .err = err};
    tb_code code = tb_advice_ready(err);
    if (!code) code = check(ask, err);
    if (!code) code = tb__repriced_init(&s.books, ask->portfolio, ask->list, ask->alloc, err);
    if (code) return code;
    code = solve(&s);
    answer.ratings = s.books.ratings;
    tb__repriced_release(&s.books);
    if (!code) *ret = answer;
    return code;
}
