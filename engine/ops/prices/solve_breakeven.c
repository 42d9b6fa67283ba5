/* solve break-even: the usage at which two books cost the same. */
#include <string.h>

#include "ops/prices/solve.h"
#include "tollbook/solve.h"

#define MIX_SCALE_MAX 4 /* digits after the point of a share or a discount */

static tb_cost_kind kind_of(const tb_args *args, const char *param, tb_cost_kind otherwise)
{
    for (int kind = 0; kind < TB_COST_KIND_COUNT; kind++)
        if (tb_arg_is(args, param, tb_cost_kind_name((tb_cost_kind)kind)))
            return (tb_cost_kind)kind;
    return otherwise;
}

/* One "EU=60" of the mix. */
static bool read_share(const char *text, size_t len, tb_cost *cost)
{
    tb_billing_region region;
    char name[16];
    const char *equals = memchr(text, '=', len);
    if (!equals || (size_t)(equals - text) >= sizeof name) return false;
    memcpy(name, text, (size_t)(equals - text));
    name[equals - text] = 0;
    if (!tb_billing_region_parse(name, &region) || tb_decimal_sign(cost->share[region]) != 0)
        return false;
    equals++;
    return tb_decimal_parse(equals, (size_t)(text + len - equals), MIX_SCALE_MAX,
                            &cost->share[region], NULL) == TB_OK;
}

static tb_code read_mix(const tb_args *args, tb_cost *cost, tb_error *err)
{
    for (const char *text = tb_arg_text(args, "mix");;) {
        size_t len = strcspn(text, ",");
        if (!read_share(text, len, cost))
            return tb_fail(err, TB_E_VALIDATION, "mix",
                           "\"%.*s\" is not a share. Write shares in percent, each region once,"
                           " like EU=60,NA=30,ASIA=10.",
                           (int)(len < 32 ? len : 32), text);
        if (!text[len]) return TB_OK;
        text += len + 1;
    }
}

static tb_code read_premium(const tb_args *args, tb_breakeven_of *of, tb_error *err)
{
    const char *const only[] = {"mix", "discount"};
    const bool premium = of->a.kind == TB_COST_PREMIUM || of->b.kind == TB_COST_PREMIUM;
    for (size_t i = 0; i < 2 && !premium; i++)
        if (tb_arg_given(args, only[i]))
            return tb_fail(err, TB_E_VALIDATION, only[i], "It needs premium bandwidth.");
    of->a.share[TB_REGION_EU] = tb_decimal_from_int(tb_arg_given(args, "mix") ? 0 : 100);
    tb_code code = tb_arg_given(args, "mix") ? read_mix(args, &of->a, err) : TB_OK;
    return code ? code : tb_arg_decimal(args, "discount", MIX_SCALE_MAX, &of->a.discount, err);
}

/* Everything but the books. */
static tb_code read_args(const tb_args *args, tb_breakeven_of *of, tb_error *err)
{
    tb_decimal top = tb_decimal_from_int(TB_UNITS_MAX);
    const tb_cost_kind first = kind_of(args, "of", TB_COST_BALANCER);
    const tb_cost_kind second = kind_of(args, "against", first);
    if (!tb_arg_given(args, "second") && !tb_arg_given(args, "against"))
        return tb_fail(err, TB_E_VALIDATION, "against",
                       "It is missing. Give it, or a second book.");
    of->a.kind = first;
    of->b.kind = second;
    of->a.minimum = tb_arg_given(args, "minimum");
    tb_code code = read_premium(args, of, err);
    if (!code) code = tb_arg_decimal(args, "up-to", 0, &top, err);
    of->top = top.mantissa;
    of->b = of->a;
    of->b.kind = second;
    return code;
}

static tb_code read_books(const tb_ops *ops, const tb_args *args, tb__solve_books *books,
                          tb_breakeven_of *of, tb_reply *reply, tb_error *err)
{
    const tb_arg *second = tb_arg_of(args, "second");
    tb_code code = ops->store ? tb_month_books_read(ops->store, &books->stored, err) : TB_OK;
    if (!code) code = tb__solve_book(books, tb_arg_of(args, "book"), NULL, &of->a.book, reply, err);
    of->b.book = of->a.book;
    if (!code && second) code = tb__solve_book(books, second, of->a.book, &of->b.book, reply, err);
    return code;
}

tb_code tb__solve_breakeven(tb_ops *ops, const tb_args *args, tb_reply *reply, tb_error *err)
{
    tb__solve_books books = {.n_own = 0};
    tb_breakeven_of of = {.top = 0};
    tb_code code = read_args(args, &of, err);
    if (!code) code = read_books(ops, args, &books, &of, reply, err);
    if (!code) code = tb_breakeven_json(&of, &reply->json, err);
    if (!code && tb_arg_is(args, "format", "table"))
        code = tb_breakeven_text(&of, &reply->out, err);
    if (!code) tb__print_answer(args, reply);
    tb__solve_books_release(&books);
    return code;
}
