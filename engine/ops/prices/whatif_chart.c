/* Amounts become pixels in whole minor units, percentages in hundredths: integers throughout, so
 * that the same answer is the same page on every machine. */
#include "ops/prices/whatif_chart.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/counted.h"

#define WIDTH    720
#define HEIGHT   232
#define LEFT     76 /* room for the axis' figures */
#define RIGHT    8
#define TOP      10
#define BOTTOM   26 /* room for the names below */
#define PLOT_W   (WIDTH - LEFT - RIGHT)
#define PLOT_H   (HEIGHT - TOP - BOTTOM)
#define LABEL_W  52 /* a name below takes so much */
#define BARS_MAX 25 /* of the distribution */

/* --- scales --- */

/* Whole minor units (hundredths of a percent with digits 2). */
static tb_i128 whole(tb_decimal value, int digits)
{
    tb_decimal scaled;
    if (tb_decimal_round(value, digits, TB_HALF_UP, &scaled, NULL)) return 0;
    return scaled.mantissa;
}

/* The smallest of 1, 2, 5, 10, 20, ... of which `n` reach to `most`. */
static tb_i128 step_for(tb_i128 most, int n)
{
    static const int steps[] = {1, 2, 5};
    tb_i128 power = 1;
    for (;;) {
        for (size_t i = 0; i < 3; i++)
            if (power * steps[i] >= most / n + (most % n != 0)) return power * steps[i];
        if (power > most) return power;
        power *= 10;
    }
}

static int pixels(tb_i128 value, tb_i128 most, int room)
{
    if (value <= 0 || most <= 0) return 0;
    if (value >= most) return room;
    tb_decimal out;
    if (tb_decimal_divide(tb_decimal_from_int(value), room, most, 0, TB_HALF_UP, &out, NULL))
        return 0;
    return (int)out.mantissa;
}

/* --- pieces --- */

static void open_chart(tb_buf *out, const char *what)
{
    tb_buf_fmt(out, "<svg viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"%s\">", WIDTH, HEIGHT,
               what);
}

static void put_grid(tb_buf *out, tb_i128 step, int lines, int digits)
{
    for (int i = 0; i <= lines; i++) {
        char text[TB_WHATIF_MONEY_MAX];
        int y = TOP + PLOT_H - PLOT_H * i / lines;
        tb_whatif_money((tb_decimal){step * i, digits}, digits, text);
        tb_buf_fmt(out, "<line class=\"%s\" x1=\"%d\" x2=\"%d\" y1=\"%d\" y2=\"%d\"/>",
                   i ? "grid" : "axis", LEFT, WIDTH - RIGHT, y, y);
        tb_buf_fmt(out, "<text class=\"y\" x=\"%d\" y=\"%d\">", LEFT - 8, y + 4);
        tb_whatif_figure(text, out);
        tb_buf_str(out, "</text>");
    }
}

static void put_bar(tb_buf *out, const char *class, int x, int width, int height, const char *title)
{
    tb_buf_fmt(out, "<rect class=\"%s\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\">", class, x,
               TOP + PLOT_H - height, width, height);
    tb_buf_fmt(out, "<title>%s</title></rect>", title);
}

static void put_name(tb_buf *out, int x, const char *name)
{
    tb_buf_fmt(out, "<text class=\"x\" x=\"%d\" y=\"%d\">%s</text>", x, HEIGHT - 8, name);
}

/* --- months --- */

static tb_i128 most_of(const tb_whatif_group *g, int minor)
{
    tb_i128 most = 1;
    for (size_t i = 0; i < g->n_months; i++) {
        tb_i128 before = whole(g->months[i].change.before, minor);
        tb_i128 after = whole(g->months[i].change.after, minor);
        if (before > most) most = before;
        if (after > most) most = after;
    }
    return most;
}

static void put_month(tb_buf *out, const tb_whatif_part *part, size_t i, tb_i128 most)
{
    const tb_whatif_month *m = &part->group->months[i];
    int n = (int)part->group->n_months, every = (n * LABEL_W + PLOT_W - 1) / PLOT_W;
    int x = LEFT + PLOT_W * (int)i / n, next = LEFT + PLOT_W * ((int)i + 1) / n;
    int width = (next - x) * 2 / 5 > 40 ? 40 : (next - x) * 2 / 5, middle = (x + next) / 2;
    const tb_decimal amounts[] = {m->change.before, m->change.after};
    static const char *const names[] = {"before", "after"};
    char month[8], amount[TB_WHATIF_MONEY_MAX], title[TB_WHATIF_MONEY_MAX + 48];
    if (width < 1) width = 1;
    tb_month_format(m->month, month);
    for (int k = 0; k < 2; k++) {
        snprintf(title, sizeof title, "%s %s: %s %s", month, names[k],
                 tb_whatif_money(amounts[k], part->minor, amount), part->currency);
        put_bar(out, names[k], middle - width + k * width, width,
                pixels(whole(amounts[k], part->minor), most, PLOT_H), title);
    }
    if ((int)i % every == 0) put_name(out, middle, month);
}

void tb__whatif_chart_months(const tb_whatif_part *part, tb_buf *out)
{
    const int lines = 4;
    tb_i128 step = step_for(most_of(part->group, part->minor), lines);
    open_chart(out, "Billed by month, before and after");
    put_grid(out, step, lines, part->minor);
    for (size_t i = 0; i < part->group->n_months; i++)
        put_month(out, part, i, step * lines);
    tb_buf_str(out, "</svg>");
}

/* --- distribution --- */

/* Bars of the distribution: 0 holds those without any change, k > 0 those above (k - 1) steps up to
 * k, -k the same below. */
typedef struct bars {
    tb_i128 step;        /* hundredths of a percent */
    tb_i128 first, last; /* bars; what lies beyond is in them */
    size_t count[BARS_MAX];
    size_t most, accounts;
} bars;

static tb_i128 bar_of(tb_i128 value, tb_i128 step)
{
    return value >= 0 ? (value + step - 1) / step : -((-value + step - 1) / step);
}

/* From the middle nine tenths, once more to each side, as far as there is anything. */
static void span_of(const tb_whatif_group *g, tb_i128 *ret_low, tb_i128 *ret_high)
{
    tb_i128 low = 0, high = 0, p5 = whole(g->percent.p5, 2), p95 = whole(g->percent.p95, 2);
    bool any = false;
    for (size_t i = 0; i < g->n_accounts; i++) {
        if (!g->accounts[i].change.has_percent) continue;
        tb_i128 value = whole(g->accounts[i].change.percent, 2);
        if (!any || value < low) low = value;
        if (!any || value > high) high = value;
        any = true;
    }
    tb_i128 reach = p95 - p5 > 100 ? p95 - p5 : 100;
    *ret_low = low > p5 - reach ? low : p5 - reach;
    *ret_high = high < p95 + reach ? high : p95 + reach;
}

static void count_bars(const tb_whatif_group *g, bars *b)
{
    tb_i128 low, high;
    span_of(g, &low, &high);
    b->step = step_for(high - low > 1 ? high - low : 1, BARS_MAX - 3);
    b->first = bar_of(low, b->step);
    b->last = bar_of(high, b->step);
    for (size_t i = 0; i < g->n_accounts; i++) {
        if (!g->accounts[i].change.has_percent) continue;
        tb_i128 bar = bar_of(whole(g->accounts[i].change.percent, 2), b->step);
        if (bar < b->first) bar = b->first;
        if (bar > b->last) bar = b->last;
        size_t *count = &b->count[bar - b->first];
        if (++*count > b->most) b->most = *count;
        b->accounts++;
    }
}

/* "+2.5 %": where a bar ends. */
static void put_edge(tb_i128 bar, tb_i128 step, char out[TB_WHATIF_MONEY_MAX])
{
    char *at = out;
    if (bar > 0) *at++ = '+';
    at = tb_decimal_put(at, (tb_decimal){bar * step, 2});
    snprintf(at, 4, " %%");
}

static void put_count(tb_buf *out, const bars *b, tb_i128 bar, size_t count)
{
    int n = (int)(b->last - b->first) + 1, i = (int)(bar - b->first);
    int slot = PLOT_W / (n < 5 ? 5 : n), left = LEFT + (PLOT_W - slot * n) / 2 + slot * i;
    int every = (LABEL_W + slot - 1) / slot;
    int height = pixels((tb_i128)count, (tb_i128)b->most, PLOT_H - 16); /* the count stands above */
    char edge[TB_WHATIF_MONEY_MAX], title[TB_WHATIF_MONEY_MAX + 80];
    put_edge(bar, b->step, edge);
    snprintf(title, sizeof title, "%s, %s%s", TB__COUNTED(count, "account"), bar ? "up to " : "", edge);
    put_bar(out, bar > 0 ? "more" : bar < 0 ? "less" : "same", left + 1, slot - 2, height, title);
    if (count)
        tb_buf_fmt(out, "<text class=\"n\" x=\"%d\" y=\"%d\">%zu</text>", left + slot / 2,
                   TOP + PLOT_H - height - 4, count);
    if (bar % every == 0)
        put_name(out, bar > 0 ? left + slot : bar < 0 ? left : left + slot / 2, edge);
}

void tb__whatif_chart_spread(const tb_whatif_part *part, tb_buf *out)
{
    bars b = {.most = 0};
    if (part->group->percent.n == 0) return;
    count_bars(part->group, &b);
    open_chart(out, "Accounts by how much their bill changes");
    tb_buf_fmt(out, "<line class=\"axis\" x1=\"%d\" x2=\"%d\" y1=\"%d\" y2=\"%d\"/>", LEFT,
               WIDTH - RIGHT, TOP + PLOT_H, TOP + PLOT_H);
    for (tb_i128 bar = b.first; bar <= b.last; bar++)
        put_count(out, &b, bar, b.count[bar - b.first]);
    tb_buf_str(out, "</svg>");
}
