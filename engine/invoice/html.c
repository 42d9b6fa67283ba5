/* The printable page. One style sheet for screen and paper, no script, nothing loaded from
 * anywhere. Figures are decimal text with its thousands set apart; they are the invoice's own, not
 * rounded again. Bytes are shown in GB and requests in millions, as prices are quoted. */
#include "tollbook/invoice.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "invoice/text.h"
#include "tollbook/calendar.h"
#include "tollbook/json.h"

static const char style[] =
    ":root{--ink:#1b2430;--soft:#5b6675;--line:#dfe4ea;--tint:#f5f7f9;--mark:#1f5f8b;--warn:#"
    "9a3412}"
    "*{box-sizing:border-box}"
    "body{margin:0;background:#eef1f4;color:var(--ink);font:14px/1.45 -apple-system,\"Segoe UI\","
    "\"Helvetica Neue\",Arial,\"DejaVu Sans\",sans-serif}"
    ".page{max-width:60rem;margin:2rem auto;padding:3rem 3.25rem;background:#fff;border:1px solid "
    "var(--line);border-radius:6px}"
    "header{display:flex;justify-content:space-between;align-items:flex-start;gap:2rem;"
    "border-bottom:2px solid var(--ink);padding-bottom:1.25rem}"
    "h1{margin:0;font-size:1.75rem;font-weight:600;letter-spacing:-.01em}"
    "h2{margin:2.25rem 0 .5rem;font-size:.8rem;font-weight:600;text-transform:uppercase;"
    "letter-spacing:.06em;color:var(--soft)}"
    ".number{font-size:1.05rem;color:var(--soft)}"
    ".state{display:inline-block;margin-top:.4rem;padding:.1rem .6rem;border-radius:1rem;"
    "border:1px solid;font-size:.75rem;font-weight:600;letter-spacing:.05em;"
    "text-transform:uppercase}"
    ".final{color:#166534}.draft{color:#92600a}.void{color:var(--warn)}"
    "dl.facts{margin:0;display:grid;grid-template-columns:auto auto;gap:.15rem 1.25rem}"
    "dl.facts dt{color:var(--soft)}dl.facts dd{margin:0;text-align:right}"
    "table{width:100%;border-collapse:collapse;font-variant-numeric:tabular-nums}"
    "th{padding:.6rem .5rem;text-align:left;font-size:.75rem;font-weight:600;color:var(--soft);"
    "border-bottom:1px solid var(--line)}"
    "td{padding:.55rem .5rem;vertical-align:top;border-bottom:1px solid var(--line)}"
    "th:first-child,td:first-child{padding-left:0}th:last-child,td:last-child{padding-right:0}"
    ".n{text-align:right;white-space:nowrap}.w{white-space:nowrap}"
    ".no{color:var(--soft);width:2.2rem}"
    "tr.part td{padding-top:.15rem;padding-bottom:.15rem;border-bottom:0;color:var(--soft);"
    "font-size:.82rem}"
    "tr.last td{padding-bottom:.6rem;border-bottom:1px solid var(--line)}"
    "tr.open>td{border-bottom:0;padding-bottom:.1rem}tr.run{display:none}"
    ".note{display:block;color:var(--soft);font-size:.82rem}"
    ".totals{display:flex;justify-content:flex-end;margin-top:1rem}"
    ".totals table{width:24rem}.totals td{border-bottom:0;padding:.3rem 0}"
    ".totals tr.due td{border-top:2px solid var(--ink);padding-top:.6rem;font-size:1.2rem;"
    "font-weight:600}"
    ".alert{margin-top:1.5rem;padding:.9rem 1.1rem;border:1px solid var(--warn);border-left-width:"
    "5px;border-radius:4px;color:var(--warn)}.alert ul{margin:.4rem 0 0;padding-left:1.2rem}"
    "footer{margin-top:2.5rem;padding-top:1rem;border-top:1px solid var(--line);color:var(--soft);"
    "font-size:.78rem}footer dl{margin:0;display:grid;grid-template-columns:max-content 1fr;gap:"
    ".1rem 1rem}footer dd{margin:0;overflow-wrap:anywhere}"
    "code{font:.95em ui-monospace,Menlo,Consolas,\"DejaVu Sans Mono\",monospace}"
    "@media (max-width:40rem){.page{margin:0;padding:1.25rem;border:0;overflow-x:auto}"
    "header{flex-direction:column}}"
    "@page{size:A4;margin:16mm 14mm}"
    "@media print{body{background:#fff;font-size:10.5pt}.page{max-width:none;margin:0;padding:0;"
    "border:0;break-after:page}.page:last-child{break-after:auto}thead{display:table-header-group}"
    "td{padding-top:.28rem;padding-bottom:.28rem}tr.part td{padding-top:.08rem;padding-bottom:"
    ".08rem}footer{margin-top:1.25rem}"
    "tr,.totals,.alert,footer{break-inside:avoid}tr.open{break-after:avoid}"
    "tr.last{break-before:avoid}tr.run{display:table-row}tr.run th{padding:0 0 .3rem;border:0;"
    "font-weight:400}"
    ".state{-webkit-print-color-adjust:exact;print-color-adjust:exact}}";

/* --- words and figures --- */

/* Decimal text with commas between thousands and a true minus. */
static void grouped(tb_buf *out, const char *text, size_t len)
{
    const char *point = memchr(text, '.', len);
    size_t whole = point ? (size_t)(point - text) : len, i = 0;
    if (len && *text == '-') {
        tb_buf_str(out, "\xE2\x88\x92");
        i = 1;
    }
    for (size_t first = i; i < whole; i++) {
        if (i > first && (whole - i) % 3 == 0) tb_buf_str(out, ",");
        tb_buf_add(out, text + i, 1);
    }
    tb_buf_add(out, text + whole, len - whole);
}

static void figure(tb_buf *out, tb_decimal value)
{
    char text[TB_DECIMAL_TEXT_MAX];
    const char *end = tb_decimal_put(text, value);
    grouped(out, text, (size_t)(end - text));
}

static void sum_figure(tb_buf *out, tb_sum value)
{
    char text[TB_DECIMAL_TEXT_MAX];
    const char *end = tb_sum_put(text, value);
    grouped(out, text, (size_t)(end - text));
}

static void money(tb_buf *out, tb_decimal value, int digits)
{
    char text[TB_DECIMAL_TEXT_MAX];
    const char *end = tb_decimal_put_fixed(text, value, digits);
    grouped(out, text, (size_t)(end - text));
}

/* "31 October 2026" */
static void day(tb_buf *out, int64_t number)
{
    static const char *const months[] = {"January",   "February", "March",    "April",
                                         "May",       "June",     "July",     "August",
                                         "September", "October",  "November", "December"};
    tb_date date = tb_date_from_day(number);
    tb_buf_fmt(out, "%d %s %d", date.day, months[date.month - 1], date.year);
}

static void month_words(tb_buf *out, int64_t month)
{
    day(out, tb_month_first_day(month));
    tb_buf_str(out, " \xE2\x80\x93 ");
    day(out, tb_month_first_day(month + 1) - 1);
}

/* How a unit is shown: in what, and how many powers of ten above the base unit. */
typedef struct scale {
    const char *name, *per;
    int places;
} scale;

static scale scale_of(tb_line_kind kind)
{
    const char *unit = tb_line_kind_unit(kind);
    if (strcmp(unit, "byte") == 0) return (scale){" GB", " / GB", 9};
    if (strcmp(unit, "request") == 0) return (scale){" million", " / million", 6};
    if (strcmp(unit, "second") == 0) return (scale){" s", " / month", 0};
    return (scale){"", " / month", 0};
}

/* Seconds in the largest unit that they are a whole number of. */
static void put_duration(tb_buf *out, tb_i128 seconds)
{
    int64_t unit = seconds % 86400 == 0 ? 86400 : seconds % 3600 == 0 ? 3600 : 1;
    tb_i128 n = seconds / unit;
    figure(out, tb_decimal_from_int(n));
    tb_buf_str(out, unit == 86400 ? " day" : unit == 3600 ? " hour" : " second");
    if (n != 1) tb_buf_str(out, "s");
}

static tb_code put_units(tb_buf *out, tb_i128 units, scale in, tb_error *err)
{
    tb_decimal shown;
    if (strcmp(in.name, " s") == 0) {
        put_duration(out, units);
        return TB_OK;
    }
    tb_code code = tb_decimal_shift(tb_decimal_from_int(units), in.places, &shown, err);
    if (code) return code;
    figure(out, shown);
    tb_buf_str(out, in.name);
    return TB_OK;
}

/* The same with all places shown, so that the points of a column stand below one another. */
static tb_code put_quantity(tb_buf *out, tb_i128 units, scale in, tb_error *err)
{
    tb_decimal shown;
    if (in.places == 0) return put_units(out, units, in, err);
    tb_code code = tb_decimal_shift(tb_decimal_from_int(units), in.places, &shown, err);
    if (code) return code;
    money(out, shown, in.places);
    tb_buf_str(out, in.name);
    return TB_OK;
}

static tb_code put_price(tb_buf *out, tb_decimal price, scale in, tb_error *err)
{
    tb_decimal shown;
    tb_code code = tb_decimal_shift(price, -in.places, &shown, err);
    if (code) return code;
    figure(out, shown);
    tb_buf_str(out, in.per);
    return TB_OK;
}

/* --- lines --- */

typedef struct page {
    const tb_statement *s;
    tb_buf *out;
    tb_error *err;
} page;

/* "from 50 to 51.5 million", "from 0 days to 14 days" */
static tb_code put_range(page *p, const tb_bill_tier *tier, scale in)
{
    scale bare = {in.places ? "" : in.name, "", in.places};
    tb_buf_str(p->out, "from ");
    tb_code code = put_units(p->out, tier->from, bare, p->err);
    tb_buf_str(p->out, " to ");
    return code ? code : put_units(p->out, tier->to, in, p->err);
}

/* Rows below the line's own: its tiers where it has several prices, its zones where it is shared
 * out. */
static tb_code put_tier(page *p, const tb_bill_tier *tier, scale in, bool last)
{
    tb_buf_fmt(p->out, "<tr class=\"part%s\"><td></td><td colspan=\"2\">", last ? " last" : "");
    tb_code code = put_range(p, tier, in);
    tb_buf_str(p->out, "</td><td class=\"n\">");
    if (!code) code = put_units(p->out, tier->units, in, p->err);
    tb_buf_str(p->out, "</td><td class=\"n\">");
    if (tb_decimal_sign(tier->price) == 0)
        tb_buf_str(p->out, "included");
    else if (!code)
        code = put_price(p->out, tier->price, in, p->err);
    tb_buf_str(p->out, "</td><td class=\"n\">");
    figure(p->out, tier->amount);
    tb_buf_str(p->out, "</td></tr>");
    return code;
}

static tb_code put_share(page *p, const tb_bill_share *share, bool last)
{
    tb_buf_fmt(p->out,
               "<tr class=\"part%s\"><td></td><td>of which zone %" PRId64
               "</td><td></td><td class=\"n\">",
               last ? " last" : "", share->zone);
    tb_code code = put_units(p->out, share->bytes, scale_of(TB_LINE_VOLUME), p->err);
    tb_buf_str(p->out, "</td><td></td><td class=\"n\">");
    money(p->out, share->amount, p->s->bill->minor_digits);
    tb_buf_str(p->out, "</td></tr>");
    return code;
}

static tb_code put_parts(page *p, const tb_bill_line *line, scale in, bool tiers)
{
    tb_code code = TB_OK;
    tb_bill_tier tier;
    for (size_t i = 0; tiers && !code && i < line->n_tiers;) {
        code = tb__tiers_join(line, &i, &tier, p->err);
        if (!code) code = put_tier(p, &tier, in, i == line->n_tiers && line->n_shares == 0);
    }
    for (size_t i = 0; !code && i < line->n_shares; i++)
        code = put_share(p, &line->shares[i], i + 1 == line->n_shares);
    return code;
}

static void put_what(page *p, size_t i)
{
    const tb_bill_line *line = &p->s->bill->lines[i];
    const tb_correction *c = tb__correction_of(p->s, i);
    tb_buf_str(p->out, tb__line_title(p->s, i));
    if (line->kind != TB_LINE_VOLUME && line->kind != TB_LINE_MINIMUM) {
        tb_buf_str(p->out, " \xC2\xB7 <span class=\"w\">");
        tb__add_resource(p->out, line->resource);
        tb_buf_str(p->out, "</span>");
    }
    if (tb_line_note(p->s, i)) {
        tb_buf_str(p->out, "<span class=\"note\">");
        tb_html_text(p->out, tb_line_note(p->s, i));
        tb_buf_str(p->out, "</span>");
    }
    if (!c) return;
    tb_buf_str(p->out, "<span class=\"note\">");
    if (c->invoice[0]) {
        tb_buf_str(p->out, "Correction of invoice ");
        tb_html_text(p->out, c->invoice);
        tb_buf_str(p->out, ", ");
    } else {
        tb_buf_str(p->out, "Not invoiced before, ");
    }
    month_words(p->out, line->period_month);
    tb_buf_str(p->out, "</span>");
}

/* One price is shown in the line itself; a discount shows the book's price beside it. */
static tb_code put_line_price(page *p, const tb_bill_tier *tier, tb_line_kind origin, scale in)
{
    tb_decimal shown;
    tb_code code = put_price(p->out, tier->price, in, p->err);
    if (code || origin != TB_LINE_BANDWIDTH) return code;
    code = tb_decimal_shift(tier->price, -in.places, &shown, p->err);
    if (code || tb_decimal_compare(shown, tier->shown) == 0) return code;
    tb_buf_str(p->out, "<span class=\"note\">list ");
    figure(p->out, tier->shown);
    tb_buf_str(p->out, "</span>");
    return TB_OK;
}

/* one: the tier of all the line's units, NULL where they have several prices. */
static tb_code put_own_row(page *p, size_t i, const tb_bill_tier *one, bool open)
{
    const tb_bill_line *line = &p->s->bill->lines[i];
    tb_line_kind origin = tb__line_origin(p->s, i);
    bool minimum = origin == TB_LINE_MINIMUM;
    scale in = scale_of(origin);
    tb_code code = TB_OK;
    tb_buf_fmt(p->out, "<tr%s><td class=\"no\">%" PRIu32 "</td><td>", open ? " class=\"open\"" : "",
               line->number);
    put_what(p, i);
    tb_buf_str(p->out, "</td><td>");
    tb_html_text(p->out, line->region);
    tb_buf_str(p->out, "</td><td class=\"n\">");
    if (!minimum) code = put_quantity(p->out, line->quantity, in, p->err);
    tb_buf_str(p->out, "</td><td class=\"n\">");
    if (!code && one && !minimum) code = put_line_price(p, one, origin, in);
    tb_buf_str(p->out, "</td><td class=\"n\">");
    money(p->out, line->amount, p->s->bill->minor_digits);
    tb_buf_str(p->out, "</td></tr>");
    return code;
}

static tb_code put_line(page *p, size_t i)
{
    const tb_bill_line *line = &p->s->bill->lines[i];
    tb_line_kind origin = tb__line_origin(p->s, i);
    tb_bill_tier tier;
    bool one = false;
    tb_code code = tb__tiers_one(line, &one, &tier, p->err);
    if (code) return code;
    bool tiers = !one && origin != TB_LINE_MINIMUM && line->n_tiers > 0;
    code = put_own_row(p, i, one ? &tier : NULL, tiers || line->n_shares > 0);
    return code ? code : put_parts(p, line, scale_of(origin), tiers);
}

/* On paper, above each page's lines: a loose page says whose it is. */
static void put_running_head(page *p)
{
    const tb_statement *s = p->s;
    tb_buf_str(p->out, "<tr class=\"run\"><th colspan=\"6\">");
    tb_buf_str(p->out, strcmp(s->kind, "credit_note") == 0 ? "Credit note " : "Invoice ");
    tb_html_text(p->out, s->number[0] ? s->number : "not issued");
    if (!s->number[0] || strcmp(s->state, "void") == 0) {
        tb_buf_str(p->out, ", ");
        tb_html_text(p->out, s->state);
    }
    tb_buf_fmt(p->out, " \xC2\xB7 account %" PRId64 " \xC2\xB7 ", s->account);
    month_words(p->out, s->month);
    tb_buf_str(p->out, "</th></tr>");
}

static tb_code put_lines(page *p)
{
    const tb_bill *bill = p->s->bill;
    tb_code code = TB_OK;
    tb_buf_str(p->out, "<h2>Charges</h2>");
    if (bill->n_lines == 0) {
        tb_buf_str(p->out, "<p>Nothing is charged for this month.</p>");
        return TB_OK;
    }
    tb_buf_str(p->out, "<table class=\"lines\"><thead>");
    put_running_head(p);
    tb_buf_str(p->out, "<tr><th class=\"no\">#</th><th>Description</th><th>Region</th>"
                       "<th class=\"n\">Quantity</th><th class=\"n\">Unit price</th>"
                       "<th class=\"n\">Amount (");
    tb_html_text(p->out, p->s->currency);
    tb_buf_str(p->out, ")</th></tr></thead><tbody>");
    for (size_t i = 0; !code && i < bill->n_lines; i++)
        code = put_line(p, i);
    tb_buf_str(p->out, "</tbody></table>");
    return code;
}

/* --- head, totals, foot --- */

static bool is(const char *text, const char *word)
{
    return strcmp(text, word) == 0;
}

static void put_header(page *p)
{
    const tb_statement *s = p->s;
    bool credit = is(s->kind, "credit_note");
    tb_buf_fmt(p->out, "<header><div><h1>%s</h1><div class=\"number\">",
               credit ? "Credit note" : "Invoice");
    tb_html_text(p->out, s->number[0] ? s->number : "Not issued");
    tb_buf_fmt(p->out, "</div><span class=\"state %s\">%s</span></div><dl class=\"facts\">",
               is(s->state, "draft") || is(s->state, "void") ? s->state : "final",
               is(s->state, "draft") || is(s->state, "void") ? s->state : "final");
    tb_buf_fmt(p->out, "<dt>Account</dt><dd>%" PRId64 "</dd><dt>Period (UTC)</dt><dd>", s->account);
    month_words(p->out, s->month);
    tb_buf_str(p->out, "</dd><dt>Currency</dt><dd>");
    tb_html_text(p->out, s->currency);
    tb_buf_str(p->out, "</dd>");
    if (s->corrects[0]) {
        tb_buf_str(p->out, "<dt>Credits invoice</dt><dd>");
        tb_html_text(p->out, s->corrects);
        tb_buf_str(p->out, "</dd>");
    }
    if (s->replaces[0]) {
        tb_buf_str(p->out, "<dt>Replaces</dt><dd>");
        tb_html_text(p->out, s->replaces);
        tb_buf_str(p->out, "</dd>");
    }
    tb_buf_str(p->out, "</dl></header>");
}

static void put_void(page *p)
{
    if (is(p->s->state, "void"))
        tb_buf_str(p->out, "<div class=\"alert\"><strong>Void.</strong> Nothing is owed for this "
                           "document; it is kept for its number.</div>");
}

static void put_unpriced(page *p)
{
    const tb_bill *bill = p->s->bill;
    if (bill->n_unpriced == 0) return;
    tb_buf_str(p->out, "<div class=\"alert\"><strong>Usage without a price.</strong> This draft "
                       "cannot be made final until these are mended:<ul>");
    for (size_t i = 0; i < bill->n_unpriced; i++) {
        const tb_unpriced *u = &bill->unpriced[i];
        tb_buf_str(p->out, "<li>");
        tb__add_resource(p->out, u->resource);
        tb_buf_str(p->out, ", ");
        tb_html_text(p->out, u->what);
        tb_buf_str(p->out, ": ");
        figure(p->out, tb_decimal_from_int(u->quantity));
        tb_buf_fmt(p->out, " %s%s. ", u->unit, u->quantity == 1 ? "" : "s");
        tb_html_text(p->out, u->reason);
        tb_buf_str(p->out, "</li>");
    }
    tb_buf_str(p->out, "</ul></div>");
}

static void put_total(page *p, const char *name, tb_decimal value, bool due)
{
    tb_buf_fmt(p->out, "<tr%s><td>%s</td><td class=\"n\">", due ? " class=\"due\"" : "", name);
    if (due) {
        tb_html_text(p->out, p->s->currency);
        tb_buf_str(p->out, " ");
    }
    money(p->out, value, p->s->bill->minor_digits);
    tb_buf_str(p->out, "</td></tr>");
}

static void put_totals(page *p)
{
    const tb_bill *bill = p->s->bill;
    bool credit = is(p->s->kind, "credit_note");
    tb_buf_str(p->out, "<div class=\"totals\"><table><tbody>");
    put_total(p, "Subtotal", bill->subtotal, false);
    for (size_t i = 0; i < bill->n_tax; i++) {
        const tb_bill_taxed *tax = &bill->tax[i];
        tb_buf_str(p->out, "<tr><td>");
        tb_html_text(p->out, tax->rate.name);
        tb_buf_str(p->out, " ");
        figure(p->out, tax->rate.percent);
        tb_buf_str(p->out, " % on ");
        money(p->out, tax->base, bill->minor_digits);
        tb_buf_str(p->out, "</td><td class=\"n\">");
        money(p->out, tax->amount, bill->minor_digits);
        tb_buf_str(p->out, "</td></tr>");
    }
    put_total(p, credit ? "Total credit" : "Total", bill->total, true);
    tb_buf_str(p->out, "</tbody></table></div>");
}

static void put_fact(page *p, const char *name, const char *value)
{
    if (!*value) return;
    tb_buf_fmt(p->out, "<dt>%s</dt><dd><code>", name);
    tb_html_text(p->out, value);
    tb_buf_str(p->out, "</code></dd>");
}

static void put_footer(page *p, const char *sha256)
{
    const tb_statement *s = p->s;
    tb_buf_str(p->out, "<footer><dl><dt>Exact sum</dt><dd><code>");
    sum_figure(p->out, s->bill->exact);
    tb_buf_str(p->out, "</code>, rounded line by line: <code>");
    figure(p->out, s->bill->residual);
    tb_buf_str(p->out, "</code> apart</dd>");
    for (size_t i = 0; i < s->n_books; i++) {
        if (!s->books[i].id[0]) continue;
        put_fact(p, "Price book", s->books[i].id);
        put_fact(p, "\xE2\x80\x83its SHA-256", s->books[i].sha256);
    }
    tb_buf_fmt(p->out, "<dt>Watermark</dt><dd><code>%" PRIu64 "</code></dd>", s->watermark);
    put_fact(p, "This document\xE2\x80\x99s SHA-256", sha256);
    put_fact(p, "The one before it", s->previous);
    tb_buf_str(p->out, "</dl></footer>");
}

void tb_invoice_html_head(const char *title, tb_buf *out)
{
    tb_buf_str(out, "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta "
                    "name=\"viewport\" content=\"width=device-width,initial-scale=1\"><title>");
    tb_html_text(out, title);
    tb_buf_str(out, "</title><style>");
    tb_buf_str(out, style);
    tb_buf_str(out, "</style></head><body>\n");
}

tb_code tb_invoice_html(const tb_statement *statement, const char *sha256, tb_buf *out,
                        tb_error *err)
{
    page p = {.s = statement, .out = out, .err = err};
    tb_buf_str(out, "<article class=\"page\">");
    put_header(&p);
    put_void(&p);
    put_unpriced(&p);
    tb_code code = put_lines(&p);
    put_totals(&p);
    put_footer(&p, sha256);
    tb_buf_str(out, "</article>\n");
    return code;
}

void tb_invoice_html_tail(tb_buf *out)
{
    tb_buf_str(out, "</body></html>\n");
}
