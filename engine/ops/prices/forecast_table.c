/* A forecast as a table for people. */
#include <inttypes.h>
#include <stdio.h>

#include "ops/prices/forecast.h"
#include "tollbook/calendar.h"

#define CELL 24

/* Bytes as GB with three digits, requests as they are. */
static void put_units(tb_i128 value, bool bytes, tb_buf *out)
{
    char text[TB_DECIMAL_TEXT_MAX + 1];
    tb_decimal shown = {value, 0};
    tb_error err;
    if (bytes && (tb_decimal_shift(shown, 9, &shown, &err) ||
                  tb_decimal_round(shown, 3, TB_HALF_UP, &shown, &err)))
        shown = (tb_decimal){value, 0};
    *tb_decimal_put_fixed(text, shown, bytes ? 3 : 0) = 0;
    tb_buf_fmt(out, " %16s", text);
}

static void put_spread(const tb_forecast_spread *s, bool bytes, tb_buf *out)
{
    put_units(s->mean, bytes, out);
    put_units(s->p5, bytes, out);
    put_units(s->p50, bytes, out);
    put_units(s->p95, bytes, out);
}

static void put_usage(const tb_forecast *f, tb_buf *out)
{
    tb_buf_fmt(out, "%-*s %16s %16s %16s %16s %16s  %s\n", CELL, "usage", "so far", "mean", "p5",
               "p50", "p95", "method");
    for (int c = 0; c < TB_USAGE_COLUMNS; c++) {
        const tb_forecast_usage *u = &f->usage[c];
        char name[64];
        bool bytes = c != TB_USAGE_REQUESTS;
        if (!u->used) continue;
        snprintf(name, sizeof name, "%s%s%s, %s", tb_usage_product_name(c),
                 *tb_usage_region_name(c) ? " " : "", tb_usage_region_name(c),
                 bytes ? "GB" : "requests");
        tb_buf_fmt(out, "%-*s", CELL, name);
        put_units(u->so_far, bytes, out);
        put_spread(&u->month, bytes, out);
        tb_buf_fmt(out, "  %s, %zu days\n", tb_forecast_method_name(u->method), u->days);
    }
    for (size_t i = 0; i < f->n_meters; i++) {
        char name[TB_METER_ID_MAX + TB_METER_UNIT_MAX + 16];
        snprintf(name, sizeof name, "%s, %s", f->meters[i].meter, f->meters[i].unit);
        tb_buf_fmt(out, "%-*s", CELL, name);
        put_units(f->meters[i].so_far, false, out);
        put_units(f->meters[i].month, false, out);
        tb_buf_str(out, "\n");
    }
    tb_buf_fmt(out, "%-*s", CELL, "all bytes, GB");
    put_units(f->bytes_so_far, true, out);
    put_spread(&f->bytes, true, out);
    tb_buf_str(out, "\n");
}

static void put_amount(const tb_forecast *f, const char *name, const tb_forecast_spread *s,
                       tb_buf *out)
{
    const tb_i128 values[] = {s->mean, s->p5, s->p50, s->p95};
    tb_buf_fmt(out, "%-*s %16s", CELL, name, "");
    for (size_t i = 0; i < 4; i++) {
        char text[TB_DECIMAL_TEXT_MAX + 1];
        *tb_decimal_put_fixed(text, (tb_decimal){values[i], f->minor_digits}, f->minor_digits) = 0;
        tb_buf_fmt(out, " %16s", text);
    }
    tb_buf_str(out, "\n");
}

static void put_day(int64_t day, tb_buf *out)
{
    const tb_date date = tb_date_from_day(day);
    tb_buf_fmt(out, "%04d-%02d-%02d", (int)date.year, (int)date.month, (int)date.day);
}

/* In the month of another day as 3rd. */
static void put_day_beside(int64_t day, int64_t other, tb_buf *out)
{
    static const char *const ends[] = {"th", "st", "nd", "rd"};
    const int n = tb_date_from_day(day).day, last = n % 10;
    if (tb_month_from_day(day) != tb_month_from_day(other)) put_day(day, out);
    else tb_buf_fmt(out, "%d%s", n, ends[last < 4 && n / 10 != 1 ? last : 0]);
}

static void put_between(const tb_forecast *f, const char *further, tb_buf *out)
{
    tb_buf_str(out, ", between ");
    put_day_beside(f->lasts_p5, f->lasts_p50, out);
    tb_buf_str(out, " and ");
    if (f->lasts_p95 == INT64_MAX) tb_buf_str(out, further);
    else put_day_beside(f->lasts_p95, f->lasts_p50, out);
}

static void put_lasts(const tb_forecast *f, tb_buf *out)
{
    const char *const further = "longer than this forecast looks ahead";
    if (!f->has_lasts) return;
    if (f->lasts_p50 == INT64_MAX) {
        tb_buf_fmt(out, "balance lasts %s", further);
        if (f->lasts_p5 != INT64_MAX) {
            tb_buf_str(out, ", or until ");
            put_day(f->lasts_p5, out);
        }
    } else {
        tb_buf_str(out, "balance lasts until ");
        put_day(f->lasts_p50, out);
        if (f->lasts_p5 != f->lasts_p95) put_between(f, further, out);
    }
    tb_buf_str(out, "\n");
}

/* In percent, with one digit. */
static void put_above(const tb_forecast *f, tb_buf *out)
{
    for (size_t i = 0; i < f->n_limits; i++) {
        char text[TB_DECIMAL_TEXT_MAX + 1];
        const uint64_t permille = ((uint64_t)f->over[i] * 1000 + f->paths / 2) / f->paths;
        *tb_decimal_put(text, f->limits[i]) = 0;
        tb_buf_fmt(out, "%" PRIu64 ".%" PRIu64 " %% likely to exceed %s %s, tax included\n", permille / 10,
                   permille % 10, text, f->currency);
    }
}

/* Each reason once. */
static void put_reasons(const tb_forecast *f, tb_buf *out)
{
    bool said[TB_FORECAST_METHOD_COUNT] = {false};
    for (int c = 0; c < TB_USAGE_COLUMNS; c++) {
        tb_forecast_method method = f->usage[c].method;
        const char *reason = tb_forecast_method_reason(method);
        if (!f->usage[c].used || said[method] || !*reason) continue;
        said[method] = true;
        tb_buf_fmt(out, "%s: %s\n", tb_forecast_method_name(method), reason);
    }
}

void tb__forecast_table(const tb_forecast *f, tb_buf *out)
{
    char month[8], until[20], net[32], gross[32];
    tb_month_format(f->month, month);
    tb_time_format(f->from_us, until);
    tb_buf_fmt(out,
               "Account %" PRId64
               ", %s: forecast, not a bill. Usage until %.20s is known; book %s.\n\n",
               f->account, month, until, *f->book ? f->book : "none");
    snprintf(net, sizeof net, "net, %s", f->currency);
    snprintf(gross, sizeof gross, "with tax, %s", f->currency);
    put_usage(f, out);
    tb_buf_str(out, "\n");
    put_amount(f, net, &f->net, out);
    put_amount(f, gross, &f->gross, out);
    put_above(f, out);
    put_lasts(f, out);
    tb_buf_str(out, "\n");
    put_reasons(f, out);
    if (!f->complete)
        tb_buf_fmt(out,
                   "Some usage has no price and is not in the amounts: `invoice` lists it.\n");
    tb_buf_fmt(out, "%" PRIu32 " paths, generator " TB_FORECAST_GENERATOR ", seed %" PRIu64 ".\n",
               f->paths, f->seed);
}
