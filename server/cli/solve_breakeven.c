/* tollbook solve break-even: the usage at which two books cost the same. */
#include <string.h>

#include "cli/solve.h"
#include "tollbook/breakeven.h"

#define MIX_SCALE_MAX 4 /* digits after the point of a share or a discount */

static int usage(const cli_call *call, const char *sentence)
{
    cli_say(call, "%s", sentence);
    return tb_code_exit(TB_E_USAGE);
}

static tb_cost_kind kind_of(const cli_call *call, const char *option, tb_cost_kind otherwise)
{
    for (int kind = 0; kind < TB_COST_KIND_COUNT; kind++)
        if (cli_is(call, option, tb_cost_kind_name((tb_cost_kind)kind))) return (tb_cost_kind)kind;
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

static int read_mix(const cli_call *call, tb_cost *cost)
{
    const char *text = cli_text(call, "mix");
    if (!text) {
        cost->share[TB_REGION_EU] = tb_decimal_from_int(100);
        return 0;
    }
    while (true) {
        size_t len = strcspn(text, ",");
        if (!read_share(text, len, cost)) {
            cli_say(call,
                    "--mix does not take \"%.*s\": write shares in percent, each region once, like "
                    "EU=60,NA=30,ASIA=10.",
                    (int)(len < 32 ? len : 32), text);
            return tb_code_exit(TB_E_USAGE);
        }
        if (!text[len]) return 0;
        text += len + 1;
    }
}

static int read_top(const cli_call *call, tb_i128 *ret_top)
{
    tb_decimal top = tb_decimal_from_int(TB_UNITS_MAX);
    int status = solve_decimal(call, "up-to", 0, &top);
    *ret_top = top.mantissa;
    return status;
}

/* Everything but the books. */
static int read_options(const cli_call *call, tb_breakeven_of *of)
{
    of->a.kind = kind_of(call, "of", TB_COST_BALANCER);
    of->a.minimum = cli_given(call, "minimum");
    bool premium = of->a.kind == TB_COST_PREMIUM || cli_is(call, "against", "premium");
    if (!premium && (cli_given(call, "mix") || cli_given(call, "discount")))
        return usage(call, "--mix and --discount go with premium bandwidth alone.");
    if (call->n_operands == 1 && !cli_given(call, "against"))
        return usage(call, "Give two books, or with one of them --against what.");
    int status = read_mix(call, &of->a);
    if (status == 0) status = solve_decimal(call, "discount", MIX_SCALE_MAX, &of->a.discount);
    if (status == 0) status = read_top(call, &of->top);
    of->b = of->a;
    of->b.kind = kind_of(call, "against", of->a.kind);
    return status;
}

static int read_stored(const cli_call *call, solve_books *books)
{
    tb_store *store;
    tb_error err;
    int64_t now_us;
    if (!cli_given(call, "db")) return 0;
    int status = cli_clock(call, &now_us);
    if (status == 0) status = cli_open(call, false, now_us, &store);
    if (status) return status;
    tb_code code = tb_month_books_read(store, &books->stored, &err);
    tb_store_close(store);
    return code ? cli_fail(call, NULL, &err) : 0;
}

static int answer(const cli_call *call, const tb_breakeven_of *of)
{
    tb_buf out;
    tb_error err = {.code = TB_OK};
    tb_buf_init(&out, SOLVE_OUT_MAX, NULL);
    tb_code code = (solve_for_people(call) ? tb_breakeven_text : tb_breakeven_json)(of, &out, &err);
    return solve_print(call, code, &out, &err);
}

int cli_solve_breakeven(const cli_call *call)
{
    solve_books books = {.n_own = 0};
    tb_breakeven_of of = {.top = 0};
    int status = read_options(call, &of);
    if (status == 0) status = read_stored(call, &books);
    if (status == 0) status = solve_book(call, &books, call->operands[0], NULL, &of.a.book);
    of.b.book = of.a.book;
    if (status == 0 && call->n_operands > 1)
        status = solve_book(call, &books, call->operands[1], of.a.book, &of.b.book);
    if (status == 0) status = answer(call, &of);
    solve_books_release(&books);
    return status;
}
