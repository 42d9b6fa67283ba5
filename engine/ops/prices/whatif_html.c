/* The page: what changes in one row of figures, the two charts, then the tables behind them. One
 * style sheet for screen and paper, no script, nothing loaded from anywhere. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/counted.h"
#include "ops/prices/whatif_chart.h"
#include "tollbook/json.h"

static const char style[] =
    ":root{--ink:#1b2430;--soft:#5b6675;--line:#dfe4ea;--mark:#1f5f8b;--pale:#b9c4d0;"
    "--more:#b4541a;--less:#2f7d5b;--warn:#9a3412}"
    "*{box-sizing:border-box}"
    "body{margin:0;background:#eef1f4;color:var(--ink);font:14px/1.45 -apple-system,\"Segoe UI\","
    "\"Helvetica Neue\",Arial,\"DejaVu Sans\",sans-serif}"
    ".page{max-width:60rem;margin:2rem auto;padding:2.5rem 3rem;background:#fff;border:1px solid "
    "var(--line);border-radius:6px}"
    "header{border-bottom:2px solid var(--ink);padding-bottom:1rem}"
    "h1{margin:0;font-size:1.6rem;font-weight:600;letter-spacing:-.01em}"
    "header p{margin:.2rem 0 0;color:var(--soft)}"
    "h2{margin:2rem 0 .5rem;font-size:.8rem;font-weight:600;text-transform:uppercase;"
    "letter-spacing:.06em;color:var(--soft)}"
    ".facts{display:grid;grid-template-columns:repeat(auto-fit,minmax(8rem,1fr));gap:1rem;"
    "margin:1.25rem 0 0}.facts div{border-left:3px solid var(--line);padding-left:.75rem}"
    ".facts b{display:block;font-size:1.25rem;font-weight:600;font-variant-numeric:tabular-nums}"
    ".facts span{color:var(--soft);font-size:.8rem}"
    "figure{margin:0}figcaption{color:var(--soft);font-size:.82rem;margin-top:.25rem}"
    "svg{display:block;width:100%;height:auto}"
    "svg text{font-size:11px;fill:var(--soft);font-variant-numeric:tabular-nums}"
    "svg .x,svg .n{text-anchor:middle}svg .y{text-anchor:end}svg .n{fill:var(--ink)}"
    "svg .grid{stroke:var(--line)}svg .axis{stroke:var(--ink)}"
    ".before{fill:var(--pale)}.after{fill:var(--mark)}.more{fill:var(--more)}"
    ".less{fill:var(--less)}.same{fill:var(--pale)}"
    ".key{display:inline-block;width:.75em;height:.75em;margin:0 .3em 0 .9em}"
    ".key:first-child{margin-left:0}.key.before,.key.same{background:var(--pale)}"
    ".key.after{background:var(--mark)}.key.more{background:var(--more)}"
    ".key.less{background:var(--less)}"
    "table{width:100%;border-collapse:collapse;font-variant-numeric:tabular-nums}"
    "th{padding:.5rem;text-align:left;font-size:.75rem;font-weight:600;color:var(--soft);"
    "border-bottom:1px solid var(--line)}"
    "td{padding:.4rem .5rem;border-bottom:1px solid var(--line);vertical-align:top}"
    "th:first-child,td:first-child{padding-left:0}th:last-child,td:last-child{padding-right:0}"
    "td.n,th.n{text-align:right;white-space:nowrap}"
    "tr.part td{padding-top:.1rem;padding-bottom:.1rem;border-bottom:0;color:var(--soft);"
    "font-size:.82rem}tr.part td:first-child{padding-left:1.25rem}"
    "tr.open td{border-bottom:0;border-top:1px solid var(--line)}"
    ".up{color:var(--more)}.down{color:var(--less)}"
    ".alert{margin-top:1.25rem;padding:.8rem 1rem;border:1px solid var(--warn);border-left-width:"
    "5px;border-radius:4px;color:var(--warn)}.alert ul{margin:.3rem 0 0;padding-left:1.2rem}"
    "footer{margin-top:2rem;padding-top:.75rem;border-top:1px solid var(--line);color:var(--soft);"
    "font-size:.78rem;overflow-wrap:anywhere}"
    "@media (max-width:40rem){.page{margin:0;padding:1.25rem;border:0;overflow-x:auto}}"
    "@page{size:A4;margin:16mm 14mm}"
    "@media print{body{background:#fff;font-size:10pt}.page{max-width:none;margin:0;padding:0;"
    "border:0;break-after:page}.page:last-child{break-after:auto}"
    "thead{display:table-header-group}tr,figure,.facts,.alert,footer{break-inside:avoid}"
    "h2{break-after:avoid}tr.open{break-after:avoid}"
    "svg,.key{-webkit-print-color-adjust:exact;print-color-adjust:exact}}";

/* --- words and figures --- */

static const char *side(tb_decimal delta)
{
    int sign = tb_decimal_sign(delta);
    return sign > 0 ? "n up" : sign < 0 ? "n down" : "n";
}

static void put_change(tb_buf *out, const tb_whatif_change *c, int minor)
{
    char text[TB_WHATIF_MONEY_MAX];
    tb_buf_str(out, "<td class=\"n\">");
    tb_whatif_figure(tb_whatif_money(c->before, minor, text), out);
    tb_buf_str(out, "</td><td class=\"n\">");
    tb_whatif_figure(tb_whatif_money(c->after, minor, text), out);
    tb_buf_fmt(out, "</td><td class=\"%s\">", side(c->delta));
    tb_whatif_figure(tb_whatif_signed(c->delta, minor, text), out);
    tb_buf_fmt(out, "</td><td class=\"%s\">", side(c->delta));
    tb_whatif_figure(tb_whatif_percent(c, text), out);
    tb_buf_str(out, "</td></tr>");
}

static void put_columns(tb_buf *out, const char *first)
{
    tb_buf_fmt(out,
               "<table><thead><tr><th>%s</th><th class=\"n\">before</th><th class=\"n\">after</th>"
               "<th class=\"n\">change</th><th class=\"n\">percent</th></tr></thead><tbody>",
               first);
}

/* --- head --- */

static void put_fact(tb_buf *out, const char *figure_text, const char *unit, const char *name)
{
    tb_buf_str(out, "<div><b>");
    tb_whatif_figure(figure_text, out);
    tb_buf_fmt(out, "</b><span>%s%s%s</span></div>", name, *unit ? ", " : "", unit);
}

static void put_number(tb_buf *out, size_t n, const char *name)
{
    char text[24];
    snprintf(text, sizeof text, "%zu", n);
    put_fact(out, text, "", name);
}

static void put_header(const tb_whatif_answer *a, const tb_whatif_part *part, tb_buf *out)
{
    const tb_scenario *s = part->result->scenario;
    char from[8], to[8];
    tb_month_format(a->from, from);
    tb_month_format(a->to, to);
    tb_buf_str(out, "<header><h1>What if: ");
    tb_html_text(out, s->name);
    tb_buf_fmt(out, "</h1><p>%s to %s, ", from, to);
    tb_html_text(out, s->base[0] ? s->base : "every price book");
    tb_buf_str(out, strcmp(s->patch, "{}") == 0 ? "" : " with other prices");
    if (s->everywhere) tb_buf_str(out, " in the place of all others");
    if (s->n_factors)
        tb_buf_fmt(out, ", usage changed by %s", TB__COUNTED(s->n_factors, "factor"));
    if (s->has_contract) tb_buf_str(out, ", all accounts under its contract");
    if (s->n_contracts)
        tb_buf_fmt(out, ", %s under another contract", TB__COUNTED(s->n_contracts, "account"));
    tb_buf_str(out, ". Sums of invoice lines, without tax.</p></header>");
}

static void put_facts(const tb_whatif_part *part, tb_buf *out)
{
    const tb_whatif_group *g = part->group;
    const tb_whatif_change *c = &g->total;
    char text[TB_WHATIF_MONEY_MAX], percent[TB_WHATIF_MONEY_MAX];
    tb_buf_str(out, "<div class=\"facts\">");
    put_fact(out, tb_whatif_money(c->before, part->minor, text), part->currency, "before");
    put_fact(out, tb_whatif_money(c->after, part->minor, text), part->currency, "after");
    put_fact(out, tb_whatif_signed(c->delta, part->minor, text), tb_whatif_percent(c, percent),
             "change");
    put_number(out, g->losers, "accounts pay more");
    put_number(out, g->winners, "pay less");
    put_number(out, g->same, "pay the same");
    tb_buf_str(out, "</div>");
}

/* --- warnings --- */

static void put_unpriced(const tb_whatif_result *r, tb_buf *out)
{
    if (r->unpriced_bills == 0) return;
    tb_buf_fmt(out,
               "<div class=\"alert\">%s %s usage without a price here; it is in neither"
               " amount.<ul>",
               TB__COUNTED(r->unpriced_bills, "account-month"),
               r->unpriced_bills == 1 ? "has" : "have");
    for (size_t i = 0; i < r->n_unpriced && i < 10; i++) {
        char month[8];
        tb_month_format(r->unpriced[i].month, month);
        tb_buf_fmt(out, "<li>account %" PRId64 ", %s: ", r->unpriced[i].account, month);
        tb_html_text(out, r->unpriced[i].usage.resource);
        tb_buf_str(out, " ");
        tb_html_text(out, r->unpriced[i].usage.what);
        tb_buf_str(out, r->unpriced[i].before ? ", which has no price today either</li>" : "</li>");
    }
    tb_buf_str(out, "</ul></div>");
}

static void put_late(const tb_whatif_answer *a, tb_buf *out)
{
    if (a->n_late == 0) return;
    tb_buf_fmt(out,
               "<div class=\"alert\">%s %s changes that wait to be billed; compared as billed so"
               " far.<ul>",
               TB__COUNTED(a->n_late, "final month"), a->n_late == 1 ? "has" : "have");
    for (size_t i = 0; i < a->n_late && i < 10; i++) {
        char month[8];
        tb_month_format(a->late[i].month, month);
        tb_buf_fmt(out, "<li>account %" PRId64 ", %s%s%s</li>", a->late[i].account, month,
                   a->late[i].invoice[0] ? ", invoice " : "", a->late[i].invoice);
    }
    tb_buf_str(out, "</ul></div>");
}

static void put_warnings(const tb_whatif_answer *a, const tb_whatif_part *part, tb_buf *out)
{
    const tb_whatif_result *r = part->result;
    char month[8];
    if (!part->group)
        tb_buf_fmt(out, "<div class=\"alert\">No account was billed in %s.</div>",
                   *part->currency ? part->currency : "any currency");
    if (r->other_accounts)
        tb_buf_fmt(out,
                   "<div class=\"alert\">%s %s billed in another currency and left out.</div>",
                   TB__COUNTED(r->other_accounts, "account"), r->other_accounts == 1 ? "is" : "are");
    if (a->running) {
        tb_month_format(a->to, month);
        tb_buf_fmt(out,
                   "<div class=\"alert\">%s still runs: it is compared as far as it has"
                   " come.</div>",
                   month);
    }
    put_unpriced(r, out);
    put_late(a, out);
}

/* --- charts and tables --- */

static void put_percent(tb_buf *out, tb_decimal percent)
{
    char text[TB_WHATIF_MONEY_MAX];
    tb_whatif_change change = {.has_percent = true, .percent = percent};
    tb_whatif_figure(tb_whatif_percent(&change, text), out);
}

static void put_charts(const tb_whatif_part *part, tb_buf *out)
{
    const tb_whatif_group *g = part->group;
    size_t without = g->n_accounts - g->percent.n;
    tb_buf_str(out, "<h2>By month</h2><figure>");
    tb__whatif_chart_months(part, out);
    tb_buf_fmt(out,
               "<figcaption><span class=\"key before\"></span>before<span class=\"key "
               "after\"></span>after, in %s</figcaption></figure>",
               part->currency);
    if (g->percent.n == 0) return;
    tb_buf_str(out, "<h2>Change of an account\xE2\x80\x99s bill</h2><figure>");
    tb__whatif_chart_spread(part, out);
    tb_buf_str(out, "<figcaption><span class=\"key less\"></span>accounts that pay less<span "
                    "class=\"key same\"></span>the same<span class=\"key more\"></span>more. The "
                    "middle one changes by ");
    put_percent(out, g->percent.p50);
    tb_buf_str(out, ", nine of ten between ");
    put_percent(out, g->percent.p5);
    tb_buf_str(out, " and ");
    put_percent(out, g->percent.p95);
    tb_buf_str(out, ".");
    if (without) tb_buf_fmt(out, " %zu with nothing to pay before are not shown.", without);
    tb_buf_str(out, "</figcaption></figure>");
}

static void put_line(const tb_whatif_line *line, int minor, tb_buf *out)
{
    tb_buf_fmt(out, "<tr class=\"part\"><td>%s ", tb_line_kind_name(line->kind));
    tb_html_text(out, line->item);
    tb_buf_str(out, line->item[0] ? " " : "");
    tb_html_text(out, line->resource);
    tb_buf_str(out, line->region[0] ? " " : "");
    tb_html_text(out, line->region);
    tb_buf_str(out, "</td>");
    put_change(out, &line->change, minor);
}

static void put_increases(const tb_whatif_part *part, tb_buf *out)
{
    const tb_whatif_group *g = part->group;
    if (g->n_increases == 0) return;
    tb_buf_str(out, "<h2>Largest increases</h2>");
    put_columns(out, "Account, and the lines that cause it");
    for (size_t i = 0; i < g->n_increases; i++) {
        const tb_whatif_increase *increase = &g->increases[i];
        tb_buf_fmt(out, "<tr class=\"open\"><td>account %" PRId64 "</td>", increase->account);
        put_change(out, &increase->change, part->minor);
        for (size_t k = 0; k < increase->n_lines; k++)
            put_line(&increase->lines[k], part->minor, out);
    }
    tb_buf_str(out, "</tbody></table>");
}

static void put_months(const tb_whatif_part *part, tb_buf *out)
{
    const tb_whatif_group *g = part->group;
    tb_buf_str(out, "<h2>Months</h2>");
    put_columns(out, "Month");
    for (size_t i = 0; i < g->n_months; i++) {
        char month[8];
        tb_month_format(g->months[i].month, month);
        tb_buf_fmt(out, "<tr><td>%s</td>", month);
        put_change(out, &g->months[i].change, part->minor);
    }
    tb_buf_str(out, "<tr><td>all</td>");
    put_change(out, &g->total, part->minor);
    tb_buf_str(out, "</tbody></table>");
}

static void put_part(const tb_whatif_answer *a, const tb_whatif_part *part, tb_buf *out)
{
    tb_buf_str(out, "<article class=\"page\">");
    put_header(a, part, out);
    if (part->group) put_facts(part, out);
    put_warnings(a, part, out);
    if (part->group) {
        put_charts(part, out);
        put_increases(part, out);
        put_months(part, out);
    }
    tb_buf_fmt(out, "<footer>Scenario SHA-256 %s", part->result->scenario->sha256);
    if (part->book) tb_buf_fmt(out, "<br>Price book SHA-256 %s", part->book->book->sha256);
    tb_buf_str(out, "</footer></article>\n");
}

void tb_whatif_html(const tb_whatif_answer *a, tb_whatif_sink *sink)
{
    tb_buf *out = sink->out;
    tb_buf_str(out, "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta "
                    "name=\"viewport\" content=\"width=device-width,initial-scale=1\"><title>What "
                    "if</title><style>");
    tb_buf_str(out, style);
    tb_buf_str(out, "</style></head><body>\n");
    for (size_t i = 0; i < tb_whatif_n_parts(a); i++) {
        tb_whatif_part part = tb_whatif_part_of(a, i);
        put_part(a, &part, out);
        tb_whatif_breathe(sink);
    }
    tb_buf_str(out, "</body></html>\n");
}
