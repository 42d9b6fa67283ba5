/* The answer as JSON. Amounts and percentages are decimal text; a percentage is null where there
 * was nothing before. */
#include <inttypes.h>
#include <string.h>

#include "tollbook/json.h"
#include "tollbook/whatifrun.h"

static void put_text(tb_buf *out, const char *name, const char *text)
{
    tb_buf_fmt(out, "\"%s\":", name);
    if (text)
        tb_json_string(out, text, strlen(text));
    else
        tb_buf_str(out, "null");
}

static void put_money(tb_buf *out, const char *name, tb_decimal amount, int minor)
{
    char text[TB_WHATIF_MONEY_MAX];
    tb_buf_fmt(out, "\"%s\":\"%s\"", name, tb_whatif_money(amount, minor, text));
}

static void put_figure(tb_buf *out, const char *name, bool known, tb_decimal value)
{
    char text[TB_DECIMAL_TEXT_MAX + 1];
    *tb_decimal_put(text, value) = 0;
    tb_buf_fmt(out, known ? "\"%s\":\"%s\"" : "\"%s\":null", name, text);
}

static void put_change(tb_buf *out, const tb_whatif_change *c, int minor)
{
    put_money(out, "before", c->before, minor);
    tb_buf_str(out, ",");
    put_money(out, "after", c->after, minor);
    tb_buf_str(out, ",");
    put_money(out, "delta", c->delta, minor);
    tb_buf_str(out, ",");
    put_figure(out, "percent", c->has_percent, c->percent);
}

static void put_month(tb_buf *out, const char *name, int64_t month)
{
    char text[8];
    tb_month_format(month, text);
    tb_buf_fmt(out, "\"%s\":\"%s\"", name, text);
}

/* --- a scenario in a currency --- */

static void put_books(tb_buf *out, const tb_whatif_part *part)
{
    const tb_whatif_result *r = part->result;
    bool first = true;
    tb_buf_str(out, ",\"books\":[");
    for (size_t i = 0; i < r->n_books; i++) {
        if (strcmp(r->books[i].book->currency, part->currency) != 0) continue;
        tb_buf_str(out, first ? "{" : ",{");
        put_text(out, "base", r->books[i].base ? r->books[i].base->id : NULL);
        tb_buf_str(out, ",");
        put_text(out, "book", r->books[i].book->id);
        tb_buf_str(out, ",");
        put_text(out, "sha256", r->books[i].book->sha256);
        tb_buf_str(out, "}");
        first = false;
    }
    tb_buf_str(out, "]");
}

static void put_head(tb_buf *out, const tb_whatif_part *part)
{
    const tb_scenario *s = part->result->scenario;
    const tb_whatif_change total = tb_whatif_total(part);
    put_text(out, "scenario", s->name);
    tb_buf_str(out, ",");
    put_text(out, "scenario_sha256", s->sha256);
    tb_buf_str(out, ",");
    put_text(out, "base", s->base[0] ? s->base : NULL);
    tb_buf_str(out, ",");
    put_text(out, "book_sha256", part->book ? part->book->book->sha256 : NULL);
    tb_buf_str(out, ",");
    put_text(out, "currency", part->currency);
    tb_buf_str(out, ",");
    put_change(out, &total, part->minor);
}

static void put_accounts(tb_whatif_sink *sink, const tb_whatif_part *part)
{
    const tb_whatif_group *g = part->group;
    tb_buf *out = sink->out;
    tb_buf_fmt(out, ",\"losers\":%zu,\"winners\":%zu,\"same\":%zu,\"accounts\":[",
               g ? g->losers : 0, g ? g->winners : 0, g ? g->same : 0);
    for (size_t i = 0; g && i < g->n_accounts; i++) {
        tb_buf_fmt(out, "%s{\"account\":%" PRId64 ",\"months\":%" PRIu32 ",", i ? "," : "",
                   g->accounts[i].account, g->accounts[i].months);
        put_change(out, &g->accounts[i].change, part->minor);
        tb_buf_str(out, "}");
        tb_whatif_breathe(sink);
    }
    tb_buf_str(out, "]");
}

static void put_months(tb_buf *out, const tb_whatif_part *part)
{
    const tb_whatif_group *g = part->group;
    tb_buf_str(out, ",\"months\":[");
    for (size_t i = 0; g && i < g->n_months; i++) {
        tb_buf_str(out, i ? ",{" : "{");
        put_month(out, "month", g->months[i].month);
        tb_buf_fmt(out, ",\"accounts\":%zu,", g->months[i].accounts);
        put_change(out, &g->months[i].change, part->minor);
        tb_buf_str(out, "}");
    }
    tb_buf_str(out, "]");
}

static void put_spread(tb_buf *out, const char *name, const tb_whatif_spread *s, int minor)
{
    const tb_decimal values[] = {s->p5, s->p50, s->p95};
    static const char *const names[] = {"p5", "p50", "p95"};
    tb_buf_fmt(out, ",\"%s\":{", name);
    for (size_t i = 0; i < 3; i++) {
        if (i) tb_buf_str(out, ",");
        if (minor >= 0)
            put_money(out, names[i], values[i], minor);
        else
            put_figure(out, names[i], s->n > 0, values[i]);
    }
    tb_buf_str(out, "}");
}

static void put_lines(tb_buf *out, const tb_whatif_increase *increase, int minor)
{
    for (size_t i = 0; i < increase->n_lines; i++) {
        const tb_whatif_line *line = &increase->lines[i];
        tb_buf_str(out, i ? ",{" : "{");
        put_text(out, "kind", tb_line_kind_name(line->kind));
        tb_buf_str(out, ",");
        if (line->item[0]) {
            put_text(out, tb_line_kind_of(line->kind)->item, line->item);
            tb_buf_str(out, ",");
        }
        put_text(out, "resource", line->resource);
        tb_buf_str(out, ",");
        put_text(out, "region", line->region[0] ? line->region : NULL);
        tb_buf_str(out, ",");
        put_change(out, &line->change, minor);
        tb_buf_str(out, "}");
    }
}

static void put_increases(tb_buf *out, const tb_whatif_part *part)
{
    const tb_whatif_group *g = part->group;
    tb_buf_str(out, ",\"increases\":[");
    for (size_t i = 0; g && i < g->n_increases; i++) {
        tb_buf_fmt(out, "%s{\"account\":%" PRId64 ",", i ? "," : "", g->increases[i].account);
        put_change(out, &g->increases[i].change, part->minor);
        tb_buf_str(out, ",\"lines\":[");
        put_lines(out, &g->increases[i], part->minor);
        tb_buf_fmt(out, "],\"more_lines\":%zu}", g->increases[i].more_lines);
    }
    tb_buf_str(out, "]");
}

static void put_unpriced(tb_buf *out, const tb_whatif_result *r)
{
    tb_buf_str(out, ",\"unpriced\":[");
    for (size_t i = 0; i < r->n_unpriced; i++) {
        const tb_whatif_unpriced *u = &r->unpriced[i];
        char quantity[TB_DECIMAL_TEXT_MAX + 1];
        *tb_decimal_put(quantity, tb_decimal_from_int(u->usage.quantity)) = 0;
        tb_buf_fmt(out, "%s{\"account\":%" PRId64 ",", i ? "," : "", u->account);
        put_month(out, "month", u->month);
        tb_buf_str(out, ",");
        put_text(out, "resource", u->usage.resource);
        tb_buf_str(out, ",");
        put_text(out, "what", u->usage.what);
        tb_buf_fmt(out, ",\"quantity\":\"%s\",", quantity);
        put_text(out, "unit", u->usage.unit);
        tb_buf_str(out, ",");
        put_text(out, "reason", u->usage.reason);
        tb_buf_fmt(out, ",\"before\":%s}", u->before ? "true" : "false");
    }
    tb_buf_fmt(out, "],\"unpriced_bills\":%zu,\"more_unpriced\":%zu", r->unpriced_bills,
               r->more_unpriced);
}

static void put_part(tb_whatif_sink *sink, const tb_whatif_part *part)
{
    static const tb_whatif_spread none = {.n = 0};
    const tb_whatif_group *g = part->group;
    tb_buf *out = sink->out;
    tb_buf_str(out, "{");
    put_head(out, part);
    put_books(out, part);
    put_accounts(sink, part);
    put_spread(out, "distribution", g ? &g->delta : &none, part->minor);
    put_spread(out, "distribution_percent", g ? &g->percent : &none, -1);
    put_months(out, part);
    put_increases(out, part);
    tb_buf_fmt(out, ",\"other_currency\":{\"accounts\":%zu,\"bills\":%zu}",
               part->result->other_accounts, part->result->other_bills);
    put_unpriced(out, part->result);
    tb_buf_str(out, "}");
}

/* --- the whole --- */

static void put_late(tb_buf *out, const tb_late *late)
{
    tb_buf_fmt(out, "{\"account\":%" PRId64 ",", late->account);
    put_month(out, "month", late->month);
    tb_buf_str(out, ",");
    put_text(out, "invoice", late->invoice[0] ? late->invoice : NULL);
    tb_buf_fmt(out, ",\"since\":%" PRIu64 ",\"deltas\":%" PRIu64 ",\"declared\":%" PRIu64 "}",
               late->since, late->deltas, late->declared);
}

void tb_whatif_json(const tb_whatif_answer *a, tb_whatif_sink *sink)
{
    tb_buf *out = sink->out;
    tb_buf_str(out, "{");
    put_month(out, "from", a->from);
    tb_buf_str(out, ",");
    put_month(out, "to", a->to);
    tb_buf_fmt(out, ",\"running\":%s,\"scenarios\":[", a->running ? "true" : "false");
    for (size_t i = 0; i < tb_whatif_n_parts(a); i++) {
        tb_whatif_part part = tb_whatif_part_of(a, i);
        if (i) tb_buf_str(out, ",");
        put_part(sink, &part);
        tb_whatif_breathe(sink);
    }
    tb_buf_str(out, "],\"late\":[");
    for (size_t i = 0; i < a->n_late; i++) {
        if (i) tb_buf_str(out, ",");
        put_late(out, &a->late[i]);
    }
    tb_buf_str(out, "]}\n");
}
