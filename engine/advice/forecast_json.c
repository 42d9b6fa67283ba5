/* A forecast as JSON. Amounts and quantities are text: readers that make doubles of numbers would
 * change them. */
#include "tollbook/calendar.h"
#include "tollbook/forecast.h"
#include "tollbook/json.h"

#include <string.h>

static const char *const products[] = {"premium", "volume", "override"};

const char *tb_usage_product_name(int column)
{
    if (column == TB_USAGE_UNPRICED) return "unpriced";
    if (column == TB_USAGE_REQUESTS) return "load_balancer";
    return products[column / TB_BILLING_REGION_COUNT];
}

const char *tb_usage_region_name(int column)
{
    if (column >= TB_USAGE_UNPRICED) return "";
    return tb_billing_region_name((tb_billing_region)(column % TB_BILLING_REGION_COUNT));
}

static void text(tb_buf *out, const char *name, const char *value)
{
    tb_buf_fmt(out, ",\"%s\":", name);
    if (*value)
        tb_json_string(out, value, strlen(value));
    else
        tb_buf_str(out, "null");
}

static void moment(tb_buf *out, const char *name, int64_t us)
{
    char at[20];
    tb_time_format(us, at);
    tb_buf_fmt(out, ",\"%s\":\"%.20s\"", name, at);
}

/* digits 0: a quantity. */
static void value(tb_buf *out, const char *name, tb_i128 mantissa, int digits)
{
    char number[TB_DECIMAL_TEXT_MAX + 1];
    *tb_decimal_put_fixed(number, (tb_decimal){mantissa, digits}, digits) = 0;
    tb_buf_fmt(out, "\"%s\":\"%s\"", name, number);
}

static void spread(tb_buf *out, const tb_forecast_spread *s, int digits)
{
    value(out, "mean", s->mean, digits);
    tb_buf_str(out, ",");
    value(out, "p5", s->p5, digits);
    tb_buf_str(out, ",");
    value(out, "p50", s->p50, digits);
    tb_buf_str(out, ",");
    value(out, "p95", s->p95, digits);
}

static void usage(tb_buf *out, int column, const tb_forecast_usage *u)
{
    tb_buf_fmt(out, "{\"product\":\"%s\"", tb_usage_product_name(column));
    text(out, "region", tb_usage_region_name(column));
    tb_buf_fmt(out, ",\"unit\":\"%s\",", column == TB_USAGE_REQUESTS ? "request" : "byte");
    value(out, "so_far", u->so_far, 0);
    tb_buf_str(out, ",");
    spread(out, &u->month, 0);
    text(out, "method", tb_forecast_method_name(u->method));
    text(out, "reason", tb_forecast_method_reason(u->method));
    tb_buf_fmt(out, ",\"days\":%zu,\"bounded_days\":%zu}", u->days, u->bounded);
}

static void all_usage(tb_buf *out, const tb_forecast *f)
{
    bool first = true;
    tb_buf_str(out, ",\"usage\":[");
    for (int c = 0; c < TB_USAGE_COLUMNS; c++) {
        if (!f->usage[c].used) continue;
        if (!first) tb_buf_str(out, ",");
        usage(out, c, &f->usage[c]);
        first = false;
    }
    tb_buf_str(out, "]");
}

static void meters(tb_buf *out, const tb_forecast *f)
{
    if (!f->n_meters) return;
    tb_buf_str(out, ",\"meters\":[");
    for (size_t i = 0; i < f->n_meters; i++) {
        const tb_forecast_meter *m = &f->meters[i];
        tb_buf_fmt(out, "%s{\"meter\":\"%s\"", i ? "," : "", m->meter);
        text(out, "name", m->name);
        text(out, "unit", m->unit);
        tb_buf_str(out, ",");
        value(out, "so_far", m->so_far, 0);
        tb_buf_str(out, ",");
        value(out, "month", m->month, 0);
        tb_buf_str(out, ",");
        value(out, "net", m->net, f->minor_digits);
        tb_buf_str(out, "}");
    }
    tb_buf_str(out, "]");
}

static void unpriced(tb_buf *out, const tb_forecast *f)
{
    tb_buf_fmt(out, ",\"complete\":%s,\"unpriced\":[", f->complete ? "true" : "false");
    for (size_t i = 0; i < f->n_unpriced; i++) {
        const tb_unpriced *u = &f->unpriced[i];
        tb_buf_str(out, i ? ",{\"resource\":" : "{\"resource\":");
        tb_json_string(out, u->resource, strlen(u->resource));
        text(out, "what", u->what);
        tb_buf_str(out, ",");
        value(out, "quantity", u->quantity, 0);
        text(out, "unit", u->unit);
        text(out, "reason", u->reason);
        tb_buf_str(out, "}");
    }
    tb_buf_str(out, "]");
}

static void day(tb_buf *out, const char *name, int64_t number)
{
    const tb_date date = tb_date_from_day(number == INT64_MAX ? 0 : number);
    tb_buf_fmt(out, "\"%s\":", name);
    if (number == INT64_MAX) tb_buf_str(out, "null");
    else tb_buf_fmt(out, "\"%04d-%02d-%02d\"", (int)date.year, (int)date.month, (int)date.day);
}

static void by_day(tb_buf *out, const tb_forecast *f)
{
    if (!f->n_days) return;
    tb_buf_str(out, ",\"days\":[");
    for (size_t i = 0; i < f->n_days; i++) {
        tb_buf_str(out, i ? ",{" : "{");
        day(out, "day", f->days[i].day);
        tb_buf_str(out, ",");
        spread(out, &f->days[i].bytes, 0);
        tb_buf_str(out, "}");
    }
    tb_buf_str(out, "]");
}

static void lasts(tb_buf *out, const tb_forecast *f)
{
    if (!f->has_lasts) return;
    tb_buf_str(out, ",\"balance_lasts_until\":{");
    day(out, "p5", f->lasts_p5);
    tb_buf_str(out, ",");
    day(out, "p50", f->lasts_p50);
    tb_buf_str(out, ",");
    day(out, "p95", f->lasts_p95);
    tb_buf_str(out, "}");
}

static void put_method(tb_buf *out, const tb_forecast *f)
{
    text(out, "method", tb_forecast_method_name(f->method));
    text(out, "reason", tb_forecast_method_reason(f->method));
}

static void put_figures(tb_buf *out, const tb_forecast *f)
{
    tb_buf_str(out, ",\"money\":{\"net\":{");
    spread(out, &f->net, f->minor_digits);
    tb_buf_str(out, "},\"gross\":{");
    spread(out, &f->gross, f->minor_digits);
    tb_buf_str(out, "}},\"bytes\":{");
    value(out, "so_far", f->bytes_so_far, 0);
    tb_buf_str(out, ",");
    spread(out, &f->bytes, 0);
    by_day(out, f);
    tb_buf_str(out, "}");
}

void tb_forecast_figures_json(const tb_forecast *f, tb_buf *out)
{
    text(out, "currency", f->currency);
    put_method(out, f);
    put_figures(out, f);
    tb_buf_fmt(out, ",\"complete\":%s", f->complete ? "true" : "false");
}

static tb_code put_above(tb_buf *out, const tb_forecast *f, tb_error *err)
{
    char text[TB_DECIMAL_TEXT_MAX + 1];
    tb_decimal probability;
    tb_code code = TB_OK;
    for (size_t i = 0; !code && i < f->n_limits; i++) {
        *tb_decimal_put(text, f->limits[i]) = 0;
        tb_buf_fmt(out, "%s{\"amount\":\"%s\",", i ? "," : ",\"above\":[", text);
        code = tb_forecast_probability(f, i, &probability, err);
        if (code) break;
        *tb_decimal_put_fixed(text, probability, TB_FORECAST_PROBABILITY_SCALE) = 0;
        tb_buf_fmt(out, "\"paths\":%lu,\"probability\":\"%s\"}", (unsigned long)f->over[i], text);
    }
    if (f->n_limits) tb_buf_str(out, "]");
    return code;
}

tb_code tb_forecast_json(const tb_forecast *f, tb_buf *out, tb_error *err)
{
    tb_date date = tb_date_from_day(tb_month_first_day(f->month));
    tb_buf_fmt(out, "{\"account\":%lld,\"month\":\"%04d-%02d\"", (long long)f->account, date.year,
               date.month);
    text(out, "currency", f->currency);
    text(out, "book", f->book);
    moment(out, "usage_until", f->from_us);
    put_method(out, f);
    tb_buf_fmt(out, ",\"seed\":%llu,\"generator\":\"" TB_FORECAST_GENERATOR "\",\"paths\":%lu",
               (unsigned long long)f->seed, (unsigned long)f->paths);
    put_figures(out, f);
    tb_code code = put_above(out, f, err);
    if (code) return code;
    lasts(out, f);
    all_usage(out, f);
    meters(out, f);
    unpriced(out, f);
    tb_buf_str(out, "}");
    return tb_buf_check(out, err);
}
