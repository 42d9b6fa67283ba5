/* solve commit: the monthly commit that would have cost an account least. */
#include <stdlib.h>
#include <string.h>

#include "ops/prices/solve.h"

/* One question and its answer. */
typedef struct commit_solve {
    tb__solve_span span;
    tb_commit_offer offers[TB_COMMIT_OFFERS_MAX];
    size_t n_offers;
    bool between;
    tb_decimal step;
    bool off_all; /* the discount is on all prices, as none were named */
    tb_commit_answer answer;
} commit_solve;

/* What a discount applies to by default: all usage and fees, but not the minimum. */
static const char *const all_prices[] = {"bandwidth", "load_balancer", "optimizer"};

/* --- arguments --- */

/* "500=10" */
static bool read_offer(const char *text, tb_commit_offer *ret)
{
    const char *equals = strchr(text, '=');
    return equals && !tb_decimal_parse(text, (size_t)(equals - text), 6, &ret->commit, NULL) &&
           !tb_decimal_parse(equals + 1, strlen(equals + 1), 6, &ret->discount, NULL);
}

static tb_code read_offers(const tb_args *args, commit_solve *c, tb_error *err)
{
    const tb_arg *arg;
    while ((arg = tb_arg_nth(args, "offer", c->n_offers)) != NULL) {
        if (c->n_offers == TB_COMMIT_OFFERS_MAX)
            return tb_fail(err, TB_E_VALIDATION, "offer", "More than %d are given.",
                           TB_COMMIT_OFFERS_MAX);
        if (!read_offer(arg->text.data, &c->offers[c->n_offers++]))
            return tb_fail(err, TB_E_VALIDATION, "offer",
                           "\"%.40s\" is not an offer. Write a monthly commit and the percent that"
                           " it takes off, like 500=10.",
                           arg->text.data);
    }
    c->between = tb_arg_is(args, "between", "linear");
    return tb_arg_decimal(args, "step", 6, &c->step, err);
}

static tb_code find_commit(commit_solve *c, tb_error *err)
{
    tb_commit_ask ask = {.portfolio = c->span.asked,
                         .under = c->span.under,
                         .n_under = c->span.n_under,
                         .list = &c->span.list,
                         .offers = c->offers,
                         .n_offers = c->n_offers,
                         .between = c->between,
                         .step = c->step};
    return tb_solve_commit(&ask, &c->answer, err);
}

/* --- words --- */

/* before - cost; above 0: the commit saves it. */
static tb_decimal saved(const commit_solve *c)
{
    tb_decimal saving = TB_DECIMAL_ZERO;
    if (tb_decimal_sub(c->span.before.total, c->answer.best.cost, &saving, NULL))
        return TB_DECIMAL_ZERO;
    return saving;
}

static void put_words(tb_buf *out, const commit_solve *c)
{
    const tb_commit_point *best = &c->answer.best;
    tb_decimal saving = saved(c);
    if (tb_decimal_sign(saving) <= 0) {
        tb_buf_str(out, "No commit would have cost less than what was billed, ");
        tb__solve_put_money(out, &c->span, c->span.before.total);
        tb_buf_fmt(out, " %s; the least costly one, ", c->span.currency);
        tb__solve_put(out, best->commit);
        tb_buf_str(out, " a month, comes to ");
        tb__solve_put_money(out, &c->span, best->cost);
        tb_buf_str(out, ".");
        return;
    }
    tb_buf_str(out, "A commit of ");
    tb__solve_put(out, best->commit);
    tb_buf_fmt(out, " %s a month (", c->span.currency);
    tb__solve_put(out, best->discount);
    tb_buf_str(out, " % off) would have cost ");
    tb__solve_put_money(out, &c->span, best->cost);
    tb_buf_str(out, ", which is ");
    tb__solve_put_money(out, &c->span, saving);
    tb_buf_str(out, " less than what was billed.");
}

/* --- as a contract --- */

/* Whether the answer can be a catalogue's contract: its percentage applies to everything. */
static bool is_contract(const commit_solve *c)
{
    return c->off_all && tb_decimal_sign(saved(c)) > 0 &&
           tb_decimal_sign(c->answer.best.commit) > 0;
}

/* {"commit":{"monthly":"500"},"discount_percent":"10"} */
static void put_contract(tb_buf *out, const commit_solve *c)
{
    tb_decimal percent = c->answer.best.discount;
    if (percent.scale > TB_CONTRACT_PERCENT_SCALE &&
        tb_decimal_round(percent, TB_CONTRACT_PERCENT_SCALE, TB_HALF_UP, &percent, NULL))
        return;
    tb_buf_str(out, "{\"commit\":{\"monthly\":\"");
    tb__solve_put(out, c->answer.best.commit);
    tb_buf_str(out, "\"},\"discount_percent\":\"");
    tb__solve_put(out, tb_decimal_normal(percent));
    tb_buf_str(out, "\"}");
}

/* --- JSON --- */

static void json_point(tb_buf *out, const commit_solve *c, const tb_commit_point *p)
{
    tb_buf_str(out, "{\"commit\":\"");
    tb__solve_put(out, p->commit);
    tb_buf_str(out, "\",\"cost\":\"");
    tb__solve_put_money(out, &c->span, p->cost);
    tb_buf_str(out, "\",\"discount\":\"");
    tb__solve_put(out, p->discount);
    tb_buf_str(out, "\",\"shortfall\":\"");
    tb__solve_put_money(out, &c->span, p->shortfall);
    tb_buf_str(out, "\"}");
}

static void put_json(tb_buf *out, const commit_solve *c)
{
    const tb_commit_answer *a = &c->answer;
    tb_buf_str(out, "{\"best\":");
    json_point(out, c, &a->best);
    tb_buf_fmt(out, ",\"between\":\"%s\",\"contract\":", c->between ? "linear" : "step");
    if (is_contract(c))
        put_contract(out, c);
    else
        tb_buf_str(out, "null");
    tb_buf_str(out, ",\"grid\":");
    json_point(out, c, &a->grid);
    tb_buf_str(out, ",\"offers\":[");
    for (size_t i = 0; i < c->n_offers; i++) {
        if (i) tb_buf_str(out, ",");
        json_point(out, c, &a->offer[i]);
    }
    tb_buf_fmt(out, "],\"ratings\":%u,\"saving\":\"", a->ratings);
    tb__solve_put_money(out, &c->span, saved(c));
    tb_buf_fmt(out, "\",\"searched\":%s,\"solver\":\"gsl_min_fminimizer_brent\",",
               a->searched ? "true" : "false");
    tb__solve_json_span(out, &c->span);
    tb_buf_str(out, ",\"step\":\"");
    tb__solve_put(out, c->step);
    tb_buf_str(out, "\",\"words\":\"");
    put_words(out, c); /* plain words and figures: nothing to escape */
    tb_buf_str(out, "\"}\n");
}

/* --- table --- */

/* A cell of a column, right aligned. */
static void cell(tb_buf *out, const commit_solve *c, tb_decimal value, bool money, int width)
{
    tb_buf text;
    tb_buf_init(&text, 128, NULL);
    (money ? tb__solve_put_money(&text, &c->span, value) : tb__solve_put(&text, value));
    tb_buf_fmt(out, "%*.*s", width, (int)text.len, text.data ? text.data : "");
    tb_buf_release(&text);
}

static void table_point(tb_buf *out, const commit_solve *c, const tb_commit_point *p,
                        const char *note)
{
    cell(out, c, p->commit, false, 14);
    cell(out, c, p->discount, false, 12);
    cell(out, c, p->cost, true, 18);
    cell(out, c, p->shortfall, true, 18);
    tb_buf_fmt(out, "%s\n", note);
}

static void put_table(tb_buf *out, const commit_solve *c)
{
    const tb_commit_answer *a = &c->answer;
    bool shown = false;
    tb__solve_put_span(out, &c->span);
    tb_buf_str(out, "\nbilled ");
    tb__solve_put_money(out, &c->span, c->span.before.total);
    tb_buf_fmt(out, " %s\n%14s%12s%18s%18s\n", c->span.currency, "commit", "% off", "cost",
               "of it unused");
    for (size_t i = 0; i < c->n_offers; i++) {
        bool best = tb_decimal_compare(a->offer[i].commit, a->best.commit) == 0;
        shown |= best;
        table_point(out, c, &a->offer[i], best ? "  least" : "");
    }
    if (!shown) table_point(out, c, &a->best, "  least, between offers");
    put_words(out, c);
    tb_buf_str(out, "\n");
    if (is_contract(c)) {
        tb_buf_str(out, "In the account's catalogue entry: \"contract\": ");
        put_contract(out, c);
        tb_buf_str(out, "\n");
    }
    tb__solve_notes(out, &c->span, NULL);
}

tb_code tb__solve_commit(tb_ops *ops, const tb_args *args, tb_reply *reply, tb_error *err)
{
    commit_solve *c = calloc(1, sizeof *c); /* too large for the stack */
    if (!c) return tb_no_memory(err);
    c->off_all = !tb_arg_given(args, "price");
    c->span.no_contracts = true;
    tb_code code = read_offers(args, c, err);
    if (!code)
        code = tb__solve_span_read(ops, args, all_prices, sizeof all_prices / sizeof *all_prices,
                                   &c->span, reply, err);
    if (!code) code = find_commit(c, err);
    if (!code) {
        put_json(&reply->json, c);
        if (tb_arg_is(args, "format", "table")) put_table(&reply->out, c);
        tb__print_answer(args, reply);
    }
    tb__solve_span_release(&c->span);
    free(c);
    return code;
}
