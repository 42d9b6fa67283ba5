/* The answer as people read it in a terminal. Columns of amounts are right-aligned and as wide as
 * the widest of the answer; nothing depends on the terminal's width. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/counted.h"
#include "tollbook/whatifrun.h"

#define NAME_WIDTH 36 /* of the first column, indentation included */

typedef struct table {
    tb_buf *out;
    int width; /* of an amount */
    int minor;
} table;

static void put_amounts(const table *t, const tb_whatif_change *c)
{
    char before[TB_WHATIF_MONEY_MAX], after[TB_WHATIF_MONEY_MAX], delta[TB_WHATIF_MONEY_MAX];
    char percent[TB_WHATIF_MONEY_MAX];
    tb_buf_fmt(t->out, " %*s %*s %*s %12s\n", t->width,
               tb_whatif_money(c->before, t->minor, before), t->width,
               tb_whatif_money(c->after, t->minor, after), t->width,
               tb_whatif_signed(c->delta, t->minor, delta), tb_whatif_percent(c, percent));
}

static void put_row(const table *t, const char *name, const tb_whatif_change *c)
{
    tb_buf_fmt(t->out, "%-*s", NAME_WIDTH, name);
    put_amounts(t, c);
}

static void put_head(const table *t, const char *name)
{
    tb_buf_fmt(t->out, "%-*s %*s %*s %*s %12s\n", NAME_WIDTH, name, t->width, "before", t->width,
               "after", t->width, "change", "percent");
}

/* The widest amount of a part: its totals'; no account has more, but by a sign. */
static int width_of(const tb_whatif_part *part)
{
    char text[TB_WHATIF_MONEY_MAX];
    tb_whatif_change total = tb_whatif_total(part);
    int width = 10, n;
    const tb_decimal amounts[] = {total.before, total.after, total.delta};
    for (size_t i = 0; i < 3; i++) {
        n = (int)strlen(tb_whatif_signed(amounts[i], part->minor, text));
        if (n > width) width = n;
    }
    return width;
}

/* --- all scenarios --- */

static void put_summary(const tb_whatif_answer *a, tb_buf *out)
{
    table t = {.out = out};
    for (size_t i = 0; i < tb_whatif_n_parts(a); i++) {
        tb_whatif_part part = tb_whatif_part_of(a, i);
        int width = width_of(&part);
        if (width > t.width) t.width = width;
    }
    tb_buf_str(out, "\n");
    put_head(&t, "scenario");
    for (size_t i = 0; i < tb_whatif_n_parts(a); i++) {
        char name[80];
        tb_whatif_part part = tb_whatif_part_of(a, i);
        tb_whatif_change total = tb_whatif_total(&part);
        t.minor = part.minor;
        snprintf(name, sizeof name, "%s %s", part.result->scenario->name, part.currency);
        put_row(&t, name, &total);
    }
}

/* --- one --- */

static void put_title(tb_buf *out, const tb_whatif_part *part)
{
    const tb_scenario *s = part->result->scenario;
    tb_buf_fmt(out, "\n%s: %s%s", s->name, s->base[0] ? s->base : "every book",
               strcmp(s->patch, "{}") == 0 ? "" : " with other prices");
    if (s->everywhere) tb_buf_str(out, ", in the place of all others");
    if (s->n_factors)
        tb_buf_fmt(out, ", usage changed by %s", TB__COUNTED(s->n_factors, "factor"));
    if (s->has_contract) tb_buf_str(out, ", all accounts under its contract");
    if (s->n_contracts)
        tb_buf_fmt(out, ", %s under another contract", TB__COUNTED(s->n_contracts, "account"));
    tb_buf_fmt(out, " (sha256 %.12s)\n", s->sha256);
}

static void put_spread(const table *t, const char *name, const tb_whatif_spread *s, bool percent)
{
    static const char *const names[] = {" p5 ", ", p50 ", ", p95 "};
    const tb_decimal values[] = {s->p5, s->p50, s->p95};
    char text[TB_WHATIF_MONEY_MAX];
    if (s->n == 0) return;
    tb_buf_fmt(t->out, "  %-*s", NAME_WIDTH - 2, name);
    for (size_t i = 0; i < 3; i++) {
        const tb_whatif_change change = {.has_percent = true, .percent = values[i]};
        tb_buf_fmt(t->out, "%s%s", names[i],
                   percent ? tb_whatif_percent(&change, text)
                           : tb_whatif_signed(values[i], t->minor, text));
    }
    tb_buf_str(t->out, "\n");
}

static void put_line(const table *t, const tb_whatif_line *line)
{
    char name[256];
    snprintf(name, sizeof name, "    %s %s%s%s%s%s", tb_line_kind_name(line->kind), line->item,
             line->item[0] ? " " : "", line->resource, line->region[0] ? " " : "", line->region);
    put_row(t, name, &line->change);
}

static void put_increases(const table *t, const tb_whatif_group *g)
{
    if (g->n_increases == 0) return;
    tb_buf_str(t->out, "\n");
    put_head(t, "  largest increases");
    for (size_t i = 0; i < g->n_increases; i++) {
        const tb_whatif_increase *increase = &g->increases[i];
        char name[48];
        snprintf(name, sizeof name, "  account %" PRId64, increase->account);
        put_row(t, name, &increase->change);
        for (size_t k = 0; k < increase->n_lines; k++)
            put_line(t, &increase->lines[k]);
        if (increase->more_lines)
            tb_buf_fmt(t->out, "    and %zu more lines that rise less\n", increase->more_lines);
    }
}

static void put_months(const table *t, const tb_whatif_group *g)
{
    char name[16] = "  ";
    tb_buf_str(t->out, "\n");
    put_head(t, "  month");
    for (size_t i = 0; i < g->n_months; i++) {
        tb_month_format(g->months[i].month, name + 2);
        put_row(t, name, &g->months[i].change);
    }
}

static void put_group(const table *t, const tb_whatif_group *g)
{
    char name[32];
    snprintf(name, sizeof name, "  %s", g->currency);
    put_head(t, name);
    put_row(t, "  total", &g->total);
    tb_buf_fmt(t->out, "  %-*s %zu pay more, %zu pay less, %zu the same\n", NAME_WIDTH - 2,
               "accounts", g->losers, g->winners, g->same);
    put_spread(t, "change of an account", &g->delta, false);
    put_spread(t, "the same in percent", &g->percent, true);
    if (g->n_months > 1) put_months(t, g);
    put_increases(t, g);
}

/* --- warnings --- */

static void say_unpriced(tb_buf *out, const tb_whatif_result *r)
{
    for (size_t i = 0; i < r->n_unpriced && i < 10; i++) {
        const tb_whatif_unpriced *u = &r->unpriced[i];
        char quantity[TB_DECIMAL_TEXT_MAX + 1], month[8];
        *tb_decimal_put(quantity, tb_decimal_from_int(u->usage.quantity)) = 0;
        tb_month_format(u->month, month);
        tb_buf_fmt(out, "  ! no price: account %" PRId64 ", %s, %s %s: %s %ss%s\n", u->account,
                   month, u->usage.resource, u->usage.what, quantity, u->usage.unit,
                   u->before ? " (nor has it one today)" : "");
    }
    if (r->unpriced_bills)
        tb_buf_fmt(out,
                   "  ! %s %s usage without a price here: it is in neither amount\n",
                   TB__COUNTED(r->unpriced_bills, "account-month"),
                   r->unpriced_bills == 1 ? "has" : "have");
}

static void put_warnings(const tb_whatif_part *part, tb_buf *out)
{
    const tb_whatif_result *r = part->result;
    if (part->group && part->group != r->groups) return; /* said with the first currency */
    if (!part->group)
        tb_buf_fmt(out, "  ! no account was billed in %s\n",
                   *part->currency ? part->currency : "any currency");
    if (r->other_accounts)
        tb_buf_fmt(out, "  ! %s %s billed in another currency and left out\n",
                   TB__COUNTED(r->other_accounts, "account"), r->other_accounts == 1 ? "is" : "are");
    say_unpriced(out, r);
}

static void put_notes(const tb_whatif_answer *a, tb_buf *out)
{
    char month[8];
    if (a->running) {
        tb_month_format(a->to, month);
        tb_buf_fmt(out, "\n%s still runs: it is compared as far as it has come.\n", month);
    }
    if (a->n_late)
        tb_buf_fmt(out,
                   "\n%s %s changes that wait to be billed; compared as billed so far:\n",
                   TB__COUNTED(a->n_late, "final month"), a->n_late == 1 ? "has" : "have");
    for (size_t i = 0; i < a->n_late && i < 10; i++) {
        tb_month_format(a->late[i].month, month);
        tb_buf_fmt(out, "  account %" PRId64 ", %s%s%s\n", a->late[i].account, month,
                   a->late[i].invoice[0] ? ", invoice " : "", a->late[i].invoice);
    }
    if (a->n_late > 10) tb_buf_fmt(out, "  and %zu more: `invoice --late` lists them\n", a->n_late - 10);
}

/* --- the whole --- */

void tb_whatif_table(const tb_whatif_answer *a, tb_whatif_sink *sink)
{
    tb_buf *out = sink->out;
    char from[8], to[8];
    tb_month_format(a->from, from);
    tb_month_format(a->to, to);
    tb_buf_fmt(out,
               "%s to %s: %s, %s. Amounts are sums of invoice lines, without tax.\n", from, to,
               TB__COUNTED(a->accounts, "account"), TB__COUNTED(a->bills, "account-month"));
    if (tb_whatif_n_parts(a) > 1) put_summary(a, out);
    for (size_t i = 0; i < tb_whatif_n_parts(a); i++) {
        tb_whatif_part part = tb_whatif_part_of(a, i);
        table t = {.out = out, .width = width_of(&part), .minor = part.minor};
        put_title(out, &part);
        if (part.group) put_group(&t, part.group);
        put_warnings(&part, out);
        tb_whatif_breathe(sink);
    }
    put_notes(a, out);
}
