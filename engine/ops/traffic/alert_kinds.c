/* A table of the kinds of alerts: the value that each checks, and the data of its message. Money comes from the one
 * rating function and from the forecast of GET /billing/forecast; nothing is rated here. */
#include "ops/traffic/alert_kinds.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tollbook/accountforecast.h"
#include "tollbook/json.h"
#include "tollbook/meterstore.h"

#define PROBABILITY_SCALE 6
#define TIMES_SCALE       3

static void put_member(tb_buf *data, const char *name, tb_decimal value, int scale)
{
    char text[TB_DECIMAL_TEXT_MAX + 1];
    *(scale < 0 ? tb_decimal_put(text, value) : tb_decimal_put_fixed(text, value, scale)) = 0;
    tb_buf_fmt(data, ",\"%s\":\"%s\"", name, text);
}

/* --- money and meters so far --- */

/* What a meter has counted: a counter's units or a gauge's unit-seconds; of samples the interval that its price bills. */
static tb_i128 metered(const tb_month_bill *month, const char *meter)
{
    const tb_bill_input *input = &month->source.input;
    tb_i128 quantity = 0;
    for (size_t i = 0; i < input->n_usage; i++)
        if (strcmp(input->meters[input->usage[i].meter].id, meter) == 0) quantity += input->usage[i].quantity;
    for (size_t i = 0; quantity == 0 && i < month->bill.n_lines; i++) {
        const tb_bill_line *line = &month->bill.lines[i];
        if (line->kind == TB_LINE_METER && strcmp(line->item->id, meter) == 0 && quantity < line->quantity)
            quantity = line->quantity;
    }
    return quantity;
}

static tb_code read_total(tb__alert_look *look, tb_error *err)
{
    tb_month_bill bill;
    if (look->has_total) return TB_OK;
    const tb_bill_query query = {look->account, look->month, TB_NOW, look->books->list, look->books->n, look->now_us};
    tb_code code = tb_month_bill_read(look->store, &query, &bill, err);
    if (code) return code;
    look->total = bill.bill.total;
    look->uncapped = bill.bill.subtotal;
    for (size_t i = 0; !code && i < bill.bill.n_lines; i++)
        if (bill.bill.lines[i].kind == TB_LINE_CAP)
            code = tb_decimal_sub(look->uncapped, bill.bill.lines[i].amount, &look->uncapped, err);
    look->total_unpriced = bill.bill.n_unpriced > 0;
    look->minor_digits = bill.bill.minor_digits;
    memcpy(look->currency, bill.source.input.currency, sizeof look->currency);
    for (size_t i = 0; !code && i < look->n_rules; i++)
        look->metered[i] = look->rules[i].meter[0] ? metered(&bill, look->rules[i].meter) : 0;
    look->has_total = !code;
    tb_month_bill_release(&bill);
    return code;
}

static tb_code look_at_total(tb__alert_look *look, size_t i, tb__alert_found *ret, tb_buf *data,
                             tb_error *err)
{
    tb_code code = read_total(look, err);
    if (code) return code;
    look->unpriced |= look->total_unpriced;
    *ret = (tb__alert_found){tb_decimal_compare(look->total, look->rules[i].limit) > 0, look->total};
    put_member(data, "seen", look->total, look->minor_digits);
    tb_buf_fmt(data, ",\"currency\":\"%s\"", look->currency);
    return TB_OK;
}

static tb_code look_at_cap(tb__alert_look *look, size_t i, tb__alert_found *ret, tb_buf *data, tb_error *err)
{
    tb_code code = read_total(look, err);
    if (code) return code;
    look->unpriced |= look->total_unpriced;
    *ret = (tb__alert_found){tb_decimal_compare(look->uncapped, look->rules[i].limit) >= 0, look->uncapped};
    put_member(data, "seen", look->uncapped, look->minor_digits);
    tb_buf_fmt(data, ",\"currency\":\"%s\"", look->currency);
    return TB_OK;
}

/* --- the forecast --- */

/* One forecast for all of the account's rules. */
static tb_code read_forecast(tb__alert_look *look, tb_error *err)
{
    tb_decimal limits[TB_ALERTS_MAX];
    tb_forecast forecast;
    tb_forecast_question q = {.account = look->account, .month = look->month, .at_us = look->now_us,
                              .seed = TB_FORECAST_SEED, .paths = TB_FORECAST_PATHS, .limits = limits,
                              .n_limits = look->n_rules < TB_ALERTS_MAX ? look->n_rules : TB_ALERTS_MAX};
    if (look->has_forecast) return TB_OK;
    for (size_t i = 0; i < q.n_limits; i++)
        limits[i] = look->rules[i].limit;
    tb_code code = tb_forecast_from(look->store, look->now_us, &q.from_us, err);
    if (!code) code = tb_account_forecast(look->store, look->books, &q, &forecast, err);
    if (code) return code;
    memcpy(look->over, forecast.over, sizeof look->over);
    look->unpriced |= forecast.n_unpriced > 0;
    memcpy(look->currency, forecast.currency, sizeof look->currency);
    look->minor_digits = forecast.minor_digits;
    look->paths = forecast.paths;
    look->p5 = forecast.gross.p5;
    look->p50 = forecast.gross.p50;
    look->p95 = forecast.gross.p95;
    look->has_forecast = true;
    return TB_OK;
}
_Static_assert(TB_ALERTS_MAX == TB_FORECAST_LIMITS, "a forecast tells of all rules at once");

static tb_code look_at_forecast(tb__alert_look *look, size_t i, tb__alert_found *ret, tb_buf *data,
                                tb_error *err)
{
    const tb_alert_rule *rule = &look->rules[i];
    tb_decimal need;
    tb_code code = read_forecast(look, err);
    if (!code) code = tb_decimal_mul_int(rule->probability, look->paths, &need, err);
    if (!code)
        code = tb_decimal_divide((tb_decimal){look->over[i], 0}, 1, look->paths, PROBABILITY_SCALE,
                                 TB_HALF_UP, &ret->seen, err);
    if (code) return code;
    ret->breached = tb_decimal_compare((tb_decimal){look->over[i], 0}, need) >= 0;
    put_member(data, "probability", rule->probability, -1);
    put_member(data, "seen", ret->seen, -1);
    tb_buf_fmt(data, ",\"currency\":\"%s\"", look->currency);
    put_member(data, "p5", (tb_decimal){look->p5, look->minor_digits}, look->minor_digits);
    put_member(data, "p50", (tb_decimal){look->p50, look->minor_digits}, look->minor_digits);
    put_member(data, "p95", (tb_decimal){look->p95, look->minor_digits}, look->minor_digits);
    return TB_OK;
}

/* --- usage --- */

static tb_code read_bytes(const tb__alert_look *look, tb_range range, tb_series *ret, tb_error *err)
{
    const tb_view view = {look->account, TB_ALL, TB_ALL};
    tb_code code = tb_series_init(ret, range, 1u << TB_M_BYTES, NULL, err);
    if (code) return code;
    code = tb_store_read_series(look->store, &view, ret, err);
    if (code) tb_series_release(ret);
    return code;
}

static tb_code look_at_meter(tb__alert_look *look, size_t i, tb__alert_found *ret, tb_buf *data, tb_error *err)
{
    tb_meter meter = {.unit = ""}; /* the catalogue may no longer declare it */
    tb_code code = tb_store_meter(look->store, look->rules[i].meter, &meter, err);
    if (!code || code == TB_E_NOT_FOUND) code = read_total(look, err);
    if (code) return code;
    ret->seen = tb_decimal_from_int(look->metered[i]);
    ret->breached = tb_decimal_compare(ret->seen, look->rules[i].limit) > 0;
    put_member(data, "seen", ret->seen, -1);
    tb_buf_fmt(data, ",\"meter\":\"%s\",\"unit\":", look->rules[i].meter);
    char unit[TB_METER_UNIT_MAX + 8];
    snprintf(unit, sizeof unit, "%s%s", meter.unit, meter.kind == TB_METER_GAUGE ? "-second" : "");
    tb_json_string(data, unit, strlen(unit));
    return TB_OK;
}

static tb_code look_at_usage(tb__alert_look *look, size_t i, tb__alert_found *ret, tb_buf *data,
                             tb_error *err)
{
    if (look->rules[i].meter[0]) return look_at_meter(look, i, ret, data, err);
    const int64_t first = tb_month_first_day(look->month);
    const uint32_t days = (uint32_t)(tb_month_first_day(look->month + 1) - first);
    tb_series series;
    tb_code code = read_bytes(look, (tb_range){.first = first, .count = days}, &series, err);
    if (code) return code;
    ret->seen = (tb_decimal){(tb_i128)tb_series_total(&series, TB_M_BYTES), 0};
    ret->breached = tb_decimal_compare(ret->seen, look->rules[i].limit) > 0;
    tb_series_release(&series);
    put_member(data, "seen", ret->seen, -1);
    tb_buf_str(data, ",\"unit\":\"bytes\"");
    return TB_OK;
}

/* --- the balance --- */

static tb_code look_at_balance(tb__alert_look *look, size_t i, tb__alert_found *ret, tb_buf *data,
                               tb_error *err)
{
    tb_ledger_entry *entries = NULL;
    size_t n = 0;
    tb_code code = tb_store_ledger(look->store, look->account, &entries, &n, err);
    if (!code) code = tb_store_balance(look->store, look->account, &ret->seen, err);
    if (!code && !n) code = read_total(look, err); /* for its currency */
    if (!code) {
        ret->breached = tb_decimal_compare(ret->seen, look->rules[i].limit) < 0;
        put_member(data, "seen", ret->seen, -1);
        tb_buf_fmt(data, ",\"currency\":\"%s\"", n ? entries[0].currency : look->currency);
    }
    free(entries);
    return code;
}

/* --- anomalies --- */

static int64_t first_hour(const tb__alert_look *look)
{
    return tb_hour_from_us(look->now_us) - (TB_ANOMALY_SPAN - 1);
}

static tb_code read_hours(tb__alert_look *look, tb_error *err)
{
    const tb_range range = {.first = first_hour(look), .count = TB_ANOMALY_SPAN, .hourly = true};
    tb_series series;
    if (look->has_hours) return TB_OK;
    tb_code code = read_bytes(look, range, &series, err);
    if (code) return code;
    memcpy(look->hours, series.value[TB_M_BYTES], sizeof look->hours);
    tb_series_release(&series);
    look->has_hours = true;
    return TB_OK;
}

static void put_hour(const tb__alert_look *look, size_t hour, tb_buf *data)
{
    char text[21] = "";
    tb_time_format((first_hour(look) + (int64_t)hour) * TB_US_PER_HOUR, text);
    tb_buf_fmt(data, "\"hour\":\"%.20s\"", text);
}

/* What the usual rests on, the newest first, and how many times it was seen. */
static void put_usual(const tb__alert_look *look, const tb_anomaly *a, tb_buf *data)
{
    tb_decimal expected, times;
    if (tb_decimal_divide((tb_decimal){(tb_i128)a->expected2, 0}, 1, 2, 1, TB_HALF_UP, &expected, NULL))
        return;
    put_member(data, "expected", expected, -1);
    if (a->expected2 &&
        !tb_decimal_divide((tb_decimal){(tb_i128)a->seen * 2, 0}, 1, (tb_i128)a->expected2, TIMES_SCALE,
                           TB_HALF_UP, &times, NULL))
        put_member(data, "times", times, -1);
    tb_buf_str(data, ",\"rests_on\":[");
    for (size_t w = 0; w < a->n; w++) {
        tb_buf_str(data, w ? ",{" : "{");
        put_hour(look, a->hour - (w + 1) * 168, data);
        tb_buf_fmt(data, ",\"bytes\":\"%" PRIu64 "\"}", a->value[w]);
    }
    tb_buf_str(data, "]");
}

static tb_code look_at_anomaly(tb__alert_look *look, size_t i, tb__alert_found *ret, tb_buf *data,
                               tb_error *err)
{
    tb_anomaly a;
    tb_code code = read_hours(look, err);
    if (code) return code;
    ret->breached = tb_anomaly_find(look->hours, look->rules[i].limit, &a);
    ret->seen = (tb_decimal){(tb_i128)a.seen, 0};
    tb_buf_str(data, ",");
    put_hour(look, a.hour, data);
    put_member(data, "seen", ret->seen, -1);
    tb_buf_str(data, ",\"unit\":\"bytes\"");
    if (a.n >= TB_ANOMALY_WEEKS_LEAST) put_usual(look, &a, data);
    return TB_OK;
}

/* --- the table --- */

static const struct {
    tb_code (*look_at)(tb__alert_look *look, size_t i, tb__alert_found *ret, tb_buf *data, tb_error *err);
    const char *limit;
    bool again;
} kinds[TB_ALERT_KIND_COUNT] = {
    [TB_ALERT_MONTH_TO_DATE] = {look_at_total, "above", false},
    [TB_ALERT_FORECAST] = {look_at_forecast, "above", false},
    [TB_ALERT_USAGE] = {look_at_usage, "above", false},
    [TB_ALERT_BALANCE] = {look_at_balance, "below", true},
    [TB_ALERT_ANOMALY] = {look_at_anomaly, "above", false},
    [TB_ALERT_CAP] = {look_at_cap, "at", true},
};

tb_code tb__alert_look_at(tb__alert_look *look, size_t i, tb__alert_found *ret, tb_buf *data,
                          tb_error *err)
{
    *ret = (tb__alert_found){.seen = TB_DECIMAL_ZERO};
    return kinds[look->rules[i].kind].look_at(look, i, ret, data, err);
}

bool tb__alert_again(tb_alert_kind kind)
{
    return kinds[kind].again;
}

const char *tb__alert_limit_name(tb_alert_kind kind)
{
    return kinds[kind].limit;
}
