/* Runs as an answer. Every point that is named is rated again by the functions that bill, and must
 * cost what its curve says and lie as its run says: an answer about money is not shown on the word
 * of one piece of code. The sentences are the same in both forms. */
#include <inttypes.h>
#include <string.h>

#include "tollbook/solve.h"
#include "tollbook/json.h"

/* An answer in the making. */
typedef struct answer {
    const tb_breakeven_of *of;
    tb_curve a, b;
    tb_breakeven found;
    tb_error *err;
} answer;

/* --- finding and checking --- */

static tb_code check_pair(const tb_breakeven_of *of, tb_error *err)
{
    if (strcmp(of->a.book->currency, of->b.book->currency) != 0)
        return tb_fail(err, TB_E_VALIDATION, "book", "\"%s\" is in %s, \"%s\" in %s.",
                       of->a.book->id, of->a.book->currency, of->b.book->id, of->b.book->currency);
    if (strcmp(tb_cost_kind_unit(of->a.kind), tb_cost_kind_unit(of->b.kind)) != 0)
        return tb_fail(err, TB_E_VALIDATION, "of", "%s is counted in %ss, %s in %ss.",
                       tb_cost_kind_name(of->a.kind), tb_cost_kind_unit(of->a.kind),
                       tb_cost_kind_name(of->b.kind), tb_cost_kind_unit(of->b.kind));
    return TB_OK;
}

static tb_code find_pieces(answer *x)
{
    tb_code code = check_pair(x->of, x->err);
    if (!code) code = tb_cost_curve(&x->of->a, x->of->top, &x->a, x->err);
    if (!code) code = tb_cost_curve(&x->of->b, x->of->top, &x->b, x->err);
    if (!code) code = tb_breakeven_find(&x->a, &x->b, &x->found, x->err);
    return code;
}

typedef struct costs {
    tb_decimal a, b;
} costs;

static tb_code cost(answer *x, tb_i128 units, tb_breakeven_sign sign, costs *ret)
{
    tb_decimal curve_a = {tb_curve_at(&x->a, units), x->a.scale};
    tb_decimal curve_b = {tb_curve_at(&x->b, units), x->b.scale};
    costs c;
    tb_code code = tb_cost_at(&x->of->a, units, &c.a, x->err);
    if (!code) code = tb_cost_at(&x->of->b, units, &c.b, x->err);
    if (code) return code;
    int order = tb_decimal_compare(c.a, c.b);
    if (tb_decimal_compare(curve_a, c.a) != 0 || tb_decimal_compare(curve_b, c.b) != 0 ||
        (sign != TB_BREAKEVEN_MANY && order != (int)sign))
        return tb_fail(x->err, TB_E_INTERNAL, "break-even",
                       "Rated again, the two books cost something else. Please report both books.");
    *ret = c;
    return TB_OK;
}

/* --- words --- */

static void put_decimal(tb_buf *out, tb_decimal value)
{
    char text[TB_DECIMAL_TEXT_MAX];
    tb_buf_add(out, text, (size_t)(tb_decimal_put(text, value) - text));
}

static void put_int(tb_buf *out, tb_i128 value)
{
    put_decimal(out, tb_decimal_from_int(value));
}

/* "500000000000 bytes (500 GB)" */
static void put_units(tb_buf *out, const answer *x, tb_i128 units)
{
    const char *unit = tb_cost_kind_unit(x->of->a.kind);
    put_int(out, units);
    tb_buf_fmt(out, " %s%s", unit, units == 1 ? "" : "s");
    if (strcmp(unit, "byte") != 0 || units < 1000000) return;
    tb_buf_str(out, " (");
    put_decimal(out, (tb_decimal){units, 9});
    tb_buf_str(out, " GB)");
}

static void put_costs(tb_buf *out, const costs *c)
{
    tb_buf_str(out, "a costs ");
    put_decimal(out, c->a);
    tb_buf_str(out, " and b ");
    put_decimal(out, c->b);
}

static const char *cheaper(tb_breakeven_sign sign)
{
    switch (sign) {
    case TB_BREAKEVEN_A: return "a";
    case TB_BREAKEVEN_B: return "b";
    case TB_BREAKEVEN_EQUAL: return "equal";
    default: return "many";
    }
}

/* The end of a sentence: the books on either side of run i. */
static void put_sides(tb_buf *out, const answer *x, size_t i)
{
    const tb_breakeven_run *r = x->found.run;
    bool below = i > 0 && (r[i - 1].sign == TB_BREAKEVEN_A || r[i - 1].sign == TB_BREAKEVEN_B);
    bool above =
        i + 1 < x->found.n && (r[i + 1].sign == TB_BREAKEVEN_A || r[i + 1].sign == TB_BREAKEVEN_B);
    if (below) tb_buf_fmt(out, " Below, %s is cheaper.", cheaper(r[i - 1].sign));
    if (above) tb_buf_fmt(out, " Above, %s is cheaper.", cheaper(r[i + 1].sign));
}

/* Run i is one of equals, or of kind MANY. */
static tb_code say_run(answer *x, size_t i, tb_buf *out)
{
    const tb_breakeven_run *r = &x->found.run[i];
    costs from, to;
    tb_code code = cost(x, r->from, r->sign, &from);
    if (!code) code = cost(x, r->to, r->sign, &to);
    if (code) return code;
    tb_buf_str(out, r->from == r->to ? "At " : "From ");
    put_units(out, x, r->from);
    if (r->from < r->to) {
        tb_buf_str(out, " to ");
        put_units(out, x, r->to);
    }
    if (r->sign == TB_BREAKEVEN_MANY) {
        tb_buf_str(out,
                   " the order changes with the started blocks, too often to list; every change "
                   "outside of it is listed.");
    } else {
        tb_buf_str(out, " both cost the same, ");
        put_decimal(out, from.a);
        if (tb_decimal_compare(from.a, to.a) != 0) {
            tb_buf_str(out, " at first and ");
            put_decimal(out, to.a);
            tb_buf_str(out, " at last");
        }
        tb_buf_str(out, ".");
    }
    put_sides(out, x, i);
    return TB_OK;
}

/* Runs i - 1 and i have a cheaper one each. */
static tb_code say_change(answer *x, size_t i, tb_buf *out)
{
    const tb_breakeven_run *r = &x->found.run[i];
    costs below, above;
    tb_code code = cost(x, r->from - 1, r[-1].sign, &below);
    if (!code) code = cost(x, r->from, r->sign, &above);
    if (code) return code;
    tb_buf_str(out, r->crossed ? "They cross between " : "The order jumps over between ");
    put_units(out, x, r->from - 1);
    tb_buf_str(out, ", where ");
    put_costs(out, &below);
    tb_buf_str(out, ", and ");
    put_units(out, x, r->from);
    tb_buf_str(out, ", where ");
    put_costs(out, &above);
    if (r->crossed)
        tb_buf_str(out, ".");
    else
        tb_buf_str(out, ": a tier, a flat or a block begins there, and they never cost the same.");
    tb_buf_fmt(out, " Below, %s is cheaper. Above, %s is cheaper.", cheaper(r[-1].sign),
               cheaper(r->sign));
    return TB_OK;
}

static bool has_cheaper(tb_breakeven_sign sign)
{
    return sign == TB_BREAKEVEN_A || sign == TB_BREAKEVEN_B;
}

static const char *kind_of(const tb_breakeven_run *r)
{
    if (r->sign == TB_BREAKEVEN_MANY) return "many";
    if (r->sign == TB_BREAKEVEN_EQUAL) return r->from == r->to ? "equal" : "overlap";
    return r->crossed ? "crossing" : "jump";
}

/* Run i is, or its begin is, something to tell. */
static bool tells(const answer *x, size_t i)
{
    const tb_breakeven_run *r = &x->found.run[i];
    return !has_cheaper(r->sign) || (i > 0 && has_cheaper(r[-1].sign));
}

static tb_code say(answer *x, size_t i, tb_buf *out)
{
    return has_cheaper(x->found.run[i].sign) ? say_change(x, i, out) : say_run(x, i, out);
}

/* If there is but one run. */
static tb_code say_none(answer *x, tb_buf *out)
{
    const tb_breakeven_run *r = &x->found.run[0];
    costs from, to;
    tb_code code = cost(x, r->from, r->sign, &from);
    if (!code) code = cost(x, r->to, r->sign, &to);
    if (code) return code;
    tb_buf_fmt(out, "There is no break-even: %s is cheaper at every usage up to ",
               cheaper(r->sign));
    put_units(out, x, r->to);
    tb_buf_str(out, ". At 0, ");
    put_costs(out, &from);
    tb_buf_str(out, "; there, ");
    put_costs(out, &to);
    tb_buf_str(out, ".");
    return TB_OK;
}

static bool says_nothing(const answer *x)
{
    return x->found.n == 1 && has_cheaper(x->found.run[0].sign);
}

/* --- forms --- */

static void json_side(tb_buf *out, const char *name, const tb_cost *c)
{
    tb_buf_fmt(out, "\"%s\":{\"book\":", name);
    tb_json_string(out, c->book->id, strlen(c->book->id));
    tb_buf_fmt(out, ",\"minimum\":%s,\"of\":\"%s\",\"sha256\":\"%s\"},",
               c->minimum ? "true" : "false", tb_cost_kind_name(c->kind), c->book->sha256);
}

static tb_code json_point(answer *x, tb_buf *out, tb_i128 units, tb_breakeven_sign sign)
{
    costs c;
    tb_code code = cost(x, units, sign, &c);
    if (code) return code;
    tb_buf_str(out, "{\"a\":\"");
    put_decimal(out, c.a);
    tb_buf_str(out, "\",\"b\":\"");
    put_decimal(out, c.b);
    tb_buf_str(out, "\",\"units\":\"");
    put_int(out, units);
    tb_buf_str(out, "\"}");
    return TB_OK;
}

static void json_exact(tb_buf *out, const tb_breakeven_run *r)
{
    if (!r->crossed || !r->exact) return;
    tb_buf_str(out, ",\"exact\":\"");
    put_int(out, r->num);
    tb_buf_str(out, "/");
    put_int(out, r->den);
    tb_buf_str(out, "\"");
}

/* Points: the last unit below a change and the first above, or the ends of a run. */
static tb_code json_break(answer *x, size_t i, tb_buf *out)
{
    const tb_breakeven_run *r = &x->found.run[i], *low = has_cheaper(r->sign) ? r - 1 : r;
    tb_i128 from = has_cheaper(r->sign) ? r->from - 1 : r->from;
    tb_i128 to = has_cheaper(r->sign) ? r->from : r->to;
    tb_buf words;
    tb_buf_init(&words, 4096, NULL);
    tb_buf_str(out, "{\"costs\":[");
    tb_code code = json_point(x, out, from, low->sign);
    if (!code && to != from) {
        tb_buf_str(out, ",");
        code = json_point(x, out, to, r->sign);
    }
    tb_buf_str(out, "]");
    json_exact(out, r);
    tb_buf_fmt(out, ",\"kind\":\"%s\",\"words\":", kind_of(r));
    if (!code) code = say(x, i, &words);
    if (!code) code = tb_buf_check(&words, x->err);
    tb_json_string(out, words.data ? words.data : "", words.len);
    tb_buf_str(out, "}");
    tb_buf_release(&words);
    return code;
}

static void json_ranges(const answer *x, tb_buf *out)
{
    tb_buf_str(out, "\"ranges\":[");
    for (size_t i = 0; i < x->found.n; i++) {
        const tb_breakeven_run *r = &x->found.run[i];
        tb_buf_fmt(out, "%s{\"cheaper\":\"%s\",\"from\":\"", i ? "," : "", cheaper(r->sign));
        put_int(out, r->from);
        tb_buf_str(out, "\",\"to\":\"");
        put_int(out, r->to);
        tb_buf_str(out, "\"}");
    }
    tb_buf_str(out, "]");
}

tb_code tb_breakeven_json(const tb_breakeven_of *of, tb_buf *out, tb_error *err)
{
    answer x = {.of = of, .err = err};
    bool first = true;
    tb_code code = find_pieces(&x);
    if (code) return code;
    tb_buf_str(out, "{");
    json_side(out, "a", &of->a);
    json_side(out, "b", &of->b);
    tb_buf_str(out, "\"breaks\":[");
    for (size_t i = 0; !code && i < x.found.n; i++) {
        if (!tells(&x, i)) continue;
        if (!first) tb_buf_str(out, ",");
        first = false;
        code = json_break(&x, i, out);
    }
    if (code) return code;
    tb_buf_fmt(out, "],\"currency\":\"%s\",", of->a.book->currency);
    json_ranges(&x, out);
    tb_buf_fmt(out, ",\"unit\":\"%s\",\"up_to\":\"", tb_cost_kind_unit(of->a.kind));
    put_int(out, of->top);
    tb_buf_str(out, "\"");
    if (says_nothing(&x)) {
        tb_buf_str(out, ",\"words\":\""); /* figures and plain words: nothing to escape */
        code = say_none(&x, out);
        tb_buf_str(out, "\"");
    }
    tb_buf_str(out, "}\n");
    return code ? code : tb_buf_check(out, err);
}

static void text_head(const answer *x, tb_buf *out)
{
    const tb_breakeven_of *of = x->of;
    tb_buf_fmt(out,
               "Break-even of %s under \"%s\" (a) and %s under \"%s\" (b), in %s a month, exact "
               "amounts before rounding\n",
               tb_cost_kind_name(of->a.kind), of->a.book->id, tb_cost_kind_name(of->b.kind),
               of->b.book->id, of->a.book->currency);
}

tb_code tb_breakeven_text(const tb_breakeven_of *of, tb_buf *out, tb_error *err)
{
    answer x = {.of = of, .err = err};
    tb_code code = find_pieces(&x);
    if (code) return code;
    text_head(&x, out);
    if (says_nothing(&x)) code = say_none(&x, out);
    for (size_t i = 0; !code && i < x.found.n; i++) {
        if (!tells(&x, i)) continue;
        code = say(&x, i, out);
        tb_buf_str(out, "\n");
    }
    if (says_nothing(&x)) tb_buf_str(out, "\n");
    return code ? code : tb_buf_check(out, err);
}
