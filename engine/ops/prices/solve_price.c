/* solve price: the factor on named prices that earns a given sum over a stored span. */
#include <stdlib.h>
#include <string.h>

#include "base/counted.h"
#include "ops/prices/solve.h"

#define DIGITS_LEAST 4 /* of the price grid, by default */

/* One question and its answer. */
typedef struct price_solve {
    tb__solve_span span;
    tb_decimal target;
    int digits;
    tb_price_answer answer;
} price_solve;

/* --- arguments --- */

/* before x (100 + change) / 100, on the currency's grid. */
static tb_code changed(const price_solve *p, tb_decimal change, tb_decimal *ret, tb_error *err)
{
    tb_decimal whole;
    tb_code code = tb_decimal_add(tb_decimal_from_int(100), change, &whole, err);
    if (!code) code = tb_decimal_mul(p->span.before.total, whole, &whole, err);
    if (!code) code = tb_decimal_shift(whole, 2, &whole, err);
    if (code) return code;
    return tb_decimal_round(whole, tb_currency_minor_digits(p->span.currency), TB_HALF_UP, ret,
                            err);
}

static tb_code read_target(const tb_args *args, price_solve *p, tb_error *err)
{
    tb_decimal change = TB_DECIMAL_ZERO;
    const bool changes = tb_arg_given(args, "change");
    if (changes && tb_arg_given(args, "target"))
        return tb_fail(err, TB_E_VALIDATION, "change", "Give it or the target, not both.");
    p->target = p->span.before.total;
    tb_code code = tb_arg_decimal(args, "change", 6, &change, err);
    if (!code) code = tb_arg_decimal(args, "target", TB_PRICE_SCALE_MAX, &p->target, err);
    return code || !changes ? code : changed(p, change, &p->target, err);
}

/* One digit finer than the prices are written. */
static int default_digits(const tb_price_list *list)
{
    int digits = DIGITS_LEAST - 1;
    for (size_t i = 0; i < list->n; i++)
        digits = list->price[i].before.scale > digits ? list->price[i].before.scale : digits;
    return digits < TB_PRICE_SCALE_MAX ? digits + 1 : TB_PRICE_SCALE_MAX;
}

static tb_code find_price(const tb_args *args, price_solve *p, tb_error *err)
{
    tb_code code = read_target(args, p, err);
    if (code) return code;
    p->digits = (int)tb_arg_number(args, "digits", default_digits(&p->span.list));
    tb_price_ask ask = {.portfolio = p->span.asked,
                        .under = p->span.under,
                        .n_under = p->span.n_under,
                        .list = &p->span.list,
                        .target = p->target,
                        .digits = p->digits};
    return tb_solve_price(&ask, &p->answer, err);
}

/* --- words --- */

static void put_sum(tb_buf *out, const price_solve *p, tb_decimal value)
{
    tb__solve_put_money(out, &p->span, value);
    tb_buf_fmt(out, " %s", p->span.currency);
}

static void put_found(tb_buf *out, const price_solve *p)
{
    const tb_price_answer *a = &p->answer;
    tb_buf_str(out, a->outcome == TB_PRICE_FOUND
                        ? "These prices earn it exactly."
                        : "No prices of this many digits earn it exactly; these come nearest.");
    if (!a->alone)
        tb_buf_str(out, " They are not the only ones: a step beside them earns the same.");
}

static void put_words(tb_buf *out, const price_solve *p)
{
    switch (p->answer.outcome) {
    case TB_PRICE_FLAT:
        tb_buf_str(out, "No factor changes the revenue: nothing is billed at these prices (or the "
                        "minimum covers it). It is ");
        break;
    case TB_PRICE_ABOVE:
        tb_buf_str(out, "There is no such price: with these prices at 0, what else is billed is ");
        break;
    case TB_PRICE_BELOW:
        tb_buf_str(out, "There is no such price: at the highest tried, revenue is ");
        break;
    default: put_found(out, p); return;
    }
    put_sum(out, p, p->answer.after.total);
    tb_buf_str(out, ", the target ");
    put_sum(out, p, p->target);
    tb_buf_str(out, ".");
}

static bool has_answer(const price_solve *p)
{
    return p->answer.outcome == TB_PRICE_FOUND || p->answer.outcome == TB_PRICE_NEAREST;
}

static const char *outcome(const price_solve *p)
{
    static const char *const names[] = {[TB_PRICE_FOUND] = "found",
                                        [TB_PRICE_NEAREST] = "nearest",
                                        [TB_PRICE_FLAT] = "flat",
                                        [TB_PRICE_ABOVE] = "always_above",
                                        [TB_PRICE_BELOW] = "always_below"};
    return names[p->answer.outcome];
}

/* --- JSON --- */

static void json_money(tb_buf *out, const price_solve *p, const char *name, tb_decimal value)
{
    tb_buf_fmt(out, "\"%s\":\"", name);
    tb__solve_put_money(out, &p->span, value);
    tb_buf_str(out, "\"");
}

static void json_prices(tb_buf *out, const price_solve *p)
{
    tb_buf_str(out, "\"prices\":[");
    for (size_t i = 0; i < p->span.list.n; i++) {
        const tb_named_price *price = &p->span.list.price[i];
        tb_buf_fmt(out, "%s{\"after\":\"", i ? "," : "");
        tb__solve_put(out, price->after);
        tb_buf_str(out, "\",\"before\":\"");
        tb__solve_put(out, price->before);
        tb_buf_fmt(out, "\",\"book\":\"%s\",\"path\":\"%s\"}", p->span.under[price->book]->id,
                   price->path);
    }
    tb_buf_str(out, "],");
}

static void json_beside(tb_buf *out, const price_solve *p)
{
    const tb_price_answer *a = &p->answer;
    tb_buf_str(out, "\"beside\":{");
    if (a->has_above) json_money(out, p, "above", a->above);
    if (a->has_above && a->has_below) tb_buf_str(out, ",");
    if (a->has_below) json_money(out, p, "below", a->below);
    tb_buf_str(out, "},");
}

/* Each book's new prices, as `tollbook whatif` takes them. */
static tb_code json_scenarios(tb_buf *out, const price_solve *p, tb_error *err)
{
    const tb_price_list *list = &p->span.list;
    tb_code code = TB_OK;
    tb_buf_str(out, "\"scenarios\":[");
    for (size_t i = 0; !code && i < list->n; i++) {
        const char *id = p->span.under[list->price[i].book]->id;
        if (i > 0 && list->price[i].book == list->price[i - 1].book) continue;
        tb_buf_fmt(out, "%s{\"base\":\"%s\",\"patch\":", i ? "," : "", id);
        code = tb_price_list_patch(list, list->price[i].book, out, err);
        tb_buf_fmt(out, ",\"scenario\":\"solved-%.57s\"}", id);
    }
    tb_buf_str(out, "],");
    return code;
}

static tb_code put_json(tb_buf *out, const price_solve *p, tb_error *err)
{
    tb_code code = TB_OK;
    const tb_price_answer *a = &p->answer;
    tb_buf_str(out, "{");
    json_money(out, p, "after", a->after.total);
    tb_buf_str(out, ",");
    if (has_answer(p)) json_beside(out, p);
    tb_buf_fmt(out, "\"digits\":%d,", p->digits);
    if (has_answer(p)) {
        tb_buf_str(out, "\"factor\":\"");
        tb__solve_put(out, a->factor);
        tb_buf_str(out, "\",");
    }
    tb_buf_fmt(out, "\"outcome\":\"%s\",", outcome(p));
    if (has_answer(p)) json_prices(out, p);
    tb_buf_fmt(out, "\"ratings\":%u,", a->ratings);
    json_money(out, p, "residual", a->residual);
    tb_buf_str(out, ",");
    if (has_answer(p)) code = json_scenarios(out, p, err);
    tb_buf_str(out, "\"solver\":\"gsl_root_fsolver_brent\",");
    tb__solve_json_span(out, &p->span);
    tb_buf_str(out, ",");
    json_money(out, p, "target", p->target);
    tb_buf_fmt(out, ",\"unpriced\":%zu,\"words\":\"", a->after.unpriced);
    put_words(out, p); /* plain words and figures: nothing to escape */
    tb_buf_str(out, "\"}\n");
    return code ? code : tb_buf_check(out, err);
}

/* --- table --- */

static void row(tb_buf *out, const price_solve *p, const char *name, tb_decimal value)
{
    tb_buf_fmt(out, "%-12s", name);
    put_sum(out, p, value);
    tb_buf_str(out, "\n");
}

static void table_prices(tb_buf *out, const price_solve *p)
{
    for (size_t i = 0; i < p->span.list.n; i++) {
        const tb_named_price *price = &p->span.list.price[i];
        tb_buf_fmt(out, "  %s %s: ", p->span.under[price->book]->id, price->path);
        tb__solve_put(out, price->before);
        tb_buf_str(out, " -> ");
        tb__solve_put(out, price->after);
        tb_buf_str(out, "\n");
    }
}

static void put_table(tb_buf *out, const price_solve *p)
{
    const tb_price_answer *a = &p->answer;
    tb__solve_put_span(out, &p->span);
    tb_buf_str(out, "\n");
    row(out, p, "before", p->span.before.total);
    row(out, p, "target", p->target);
    if (has_answer(p)) {
        row(out, p, "after", a->after.total);
        row(out, p, "residual", a->residual);
        tb_buf_str(out, "factor      ");
        tb__solve_put(out, a->factor);
        tb_buf_fmt(out, ", prices to %s:\n", TB__COUNTED((uint64_t)p->digits, "digit"));
        table_prices(out, p);
        if (a->has_below) row(out, p, "a step down", a->below);
        if (a->has_above) row(out, p, "a step up", a->above);
    }
    put_words(out, p);
    tb_buf_str(out, "\n");
    tb__solve_notes(out, &p->span, &a->after);
}

tb_code tb__solve_price(tb_ops *ops, const tb_args *args, tb_reply *reply, tb_error *err)
{
    price_solve *p = calloc(1, sizeof *p); /* too large for the stack */
    if (!p) return tb_no_memory(err);
    tb_code code = tb__solve_span_read(ops, args, NULL, 0, &p->span, reply, err);
    if (!code) code = find_price(args, p, err);
    if (!code) code = put_json(&reply->json, p, err);
    if (!code && tb_arg_is(args, "format", "table"))
        put_table(&reply->out, p);
    if (!code) tb__print_answer(args, reply);
    reply->no = !code && !has_answer(p);
    tb__solve_span_release(&p->span);
    free(p);
    return code;
}
