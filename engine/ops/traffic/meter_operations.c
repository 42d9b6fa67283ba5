/* meter list, meter usage: the meters that are declared, and the usage of one by windows of time. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "ops/operations.h"
#include "tollbook/calendar.h"
#include "tollbook/json.h"
#include "tollbook/meterstore.h"

#define PERCENTILE_SCALE 3 /* digits after the point */

/* --- meter list --- */

static void put_words(tb_buf *out, const char *name, const char *text)
{
    if (!*text) return;
    tb_buf_fmt(out, ",\"%s\":", name);
    tb_json_string(out, text, strlen(text));
}

/* As the catalogue has it. */
static void put_meter(const tb_meter *m, bool first, tb_reply *reply)
{
    tb_buf *out = &reply->json;
    tb_buf_fmt(out, "%s{\"meter\":\"%s\"", first ? "" : ",", m->id);
    put_words(out, "name", m->name);
    tb_buf_fmt(out, ",\"kind\":\"%s\"", tb_meter_kind_name(m->kind));
    put_words(out, "unit", m->unit);
    if (m->display_unit[0]) {
        tb_buf_str(out, ",\"display\":{\"unit\":");
        tb_json_string(out, m->display_unit, strlen(m->display_unit));
        tb_buf_fmt(out, ",\"per\":\"%" PRId64 "\"}", m->display_per);
    }
    if (m->round_up) tb_buf_fmt(out, ",\"round_up\":\"%" PRId64 "\"", m->round_up);
    if (m->interval) tb_buf_fmt(out, ",\"interval\":%d", m->interval);
    put_words(out, "resource", m->noun);
    tb_buf_str(out, ",\"dimensions\":[");
    for (int i = 0; i < m->n_dimensions; i++) {
        tb_buf_str(out, i ? "," : "");
        tb_json_string(out, m->dimension[i], strlen(m->dimension[i]));
    }
    tb_buf_str(out, "]");
    put_words(out, "charge", m->charge);
    put_words(out, "unece", m->unece);
    put_words(out, "ledger_code", m->ledger_code);
    tb_buf_str(out, "}");
    tb_buf_fmt(&reply->out, "%s\t%s\t%s\t%s\t", m->id, tb_meter_kind_name(m->kind), m->unit, m->noun);
    for (int i = 0; i < m->n_dimensions; i++)
        tb_buf_fmt(&reply->out, "%s%s", i ? ", " : "", m->dimension[i]);
    tb_buf_str(&reply->out, "\t");
    tb__put_cell(&reply->out, m->name, strlen(m->name));
    tb_buf_str(&reply->out, "\n");
}

static tb_code list(tb_ops *ops, const tb_args *args, tb_reply *reply, tb_error *err)
{
    const int64_t account = tb_arg_number(args, "account", 0);
    tb_meter *meters = NULL;
    int64_t *used = NULL;
    size_t n = 0, n_used = 0, n_put = 0;
    tb_code code = account ? tb_store_need_account(ops->store, account, err) : TB_OK;
    if (!code && account) code = tb_store_meters_used(ops->store, account, &used, &n_used, err);
    if (!code) code = tb_store_meters(ops->store, &meters, &n, err);
    tb_buf_str(&reply->out, "meter\tkind\tunit\tresource\tdimensions\tname\n");
    tb_buf_str(&reply->json, "{\"meters\":[");
    for (size_t i = 0; !code && i < n; i++) {
        bool shown = !account;
        for (size_t k = 0; k < n_used; k++)
            shown |= used[k] == meters[i].number;
        if (shown) put_meter(&meters[i], n_put++ == 0, reply);
    }
    tb_buf_str(&reply->json, "]}");
    free(meters);
    free(used);
    if (!code) tb__print_answer(args, reply);
    return code;
}

/* --- meter usage --- */

static tb_code read_groups(const tb_args *args, tb_meter_query *q, tb_error *err)
{
    const tb_arg *arg;
    for (size_t i = 0; (arg = tb_arg_nth(args, "group-by", i)) != NULL; i++) {
        const char *name = arg->text.data;
        bool found = strcmp(name, "resource") == 0;
        if (found) q->by_resource = true;
        for (int k = 0; k < q->meter->n_dimensions; k++) {
            if (strcmp(name, q->meter->dimension[k]) != 0) continue;
            q->by_dimension[k] = found = true;
        }
        if (!found)
            return tb_fail(err, TB_E_VALIDATION, "group-by", "\"%.40s\" is neither \"resource\" nor a dimension of %s.", name, q->meter->id);
    }
    return TB_OK;
}

/* The end of the window that has this moment. */
static int64_t window_end(const tb_meter_query *q, int64_t us)
{
    if (q->window == TB_WINDOW_MONTH) return tb_month_start_us(tb_month_from_us(us) + 1);
    const int64_t unit = q->window == TB_WINDOW_HOUR ? TB_US_PER_HOUR : TB_US_PER_DAY;
    return (us / unit + 1) * unit;
}

static tb_code read_query(const tb_ops *ops, const tb_args *args, tb_meter_query *q, tb_error *err)
{
    q->now_us = ops->now_us;
    q->account = tb_arg_number(args, "account", 0);
    q->resource = tb_arg_of(args, "resource") ? tb_arg_text(args, "resource") : "";
    q->window = tb_arg_is(args, "window", "HOUR") ? TB_WINDOW_HOUR : tb_arg_is(args, "window", "MONTH") ? TB_WINDOW_MONTH : TB_WINDOW_DAY;
    q->from_us = tb_month_start_us(tb_month_from_us(ops->now_us));
    q->to_us = window_end(q, ops->now_us);
    tb_code code = tb_arg_moment(args, "from", &q->from_us, err);
    if (!code) code = tb_arg_moment(args, "to", &q->to_us, err);
    if (!code) code = read_groups(args, q, err);
    if (!code) code = tb_arg_decimal(args, "percentile", PERCENTILE_SCALE, &q->percentile, err);
    if (code || (tb_decimal_sign(q->percentile) > 0 && tb_decimal_compare(q->percentile, tb_decimal_from_int(100)) < 0)) return code;
    return tb_fail(err, TB_E_VALIDATION, "percentile", "A percentile is above 0 and below 100.");
}

static void put_window(const tb_meter_query *q, const tb_meter_window *w, bool first, tb_reply *reply)
{
    char start[21] = "", end[21] = "", value[TB_DECIMAL_TEXT_MAX + 1];
    tb_buf *out = &reply->json;
    bool dimensions = false;
    tb_time_format(w->start_us, start);
    tb_time_format(w->end_us, end);
    *tb_decimal_put(value, tb_decimal_from_int(w->value)) = 0;
    tb_buf_fmt(out, "%s{\"start\":\"%s\",\"end\":\"%s\",\"value\":\"%s\"", first ? "" : ",", start, end, value);
    tb_buf_fmt(&reply->out, "%s\t%s\t%s", start, end, value);
    if (q->by_resource) put_words(out, "resource", w->resource);
    if (q->by_resource) tb_buf_fmt(&reply->out, "\t%s", w->resource);
    for (int k = 0; k < TB_METER_DIMENSIONS; k++) {
        if (!q->by_dimension[k]) continue;
        tb_buf_str(out, dimensions ? "," : ",\"dimensions\":{");
        tb_json_string(out, q->meter->dimension[k], strlen(q->meter->dimension[k]));
        tb_buf_str(out, ":");
        tb_json_string(out, w->dimension[k], strlen(w->dimension[k]));
        tb_buf_fmt(&reply->out, "\t%s", w->dimension[k]);
        dimensions = true;
    }
    tb_buf_str(out, dimensions ? "}}" : "}");
    tb_buf_str(&reply->out, "\n");
}

static tb_code usage(tb_ops *ops, const tb_args *args, tb_reply *reply, tb_error *err)
{
    static const char *const names[] = {"HOUR", "DAY", "MONTH"};
    tb_meter meter;
    tb_meter_query q = {.meter = &meter};
    tb_meter_window *windows = NULL;
    size_t n = 0;
    tb_code code = tb_store_meter(ops->store, tb_arg_text(args, "meter"), &meter, err);
    if (!code) code = read_query(ops, args, &q, err);
    if (!code && q.account) code = tb_store_need_account(ops->store, q.account, err);
    if (!code) code = tb_store_meter_windows(ops->store, &q, &windows, &n, err);
    if (code) return code;
    tb_buf_fmt(&reply->out, "start\tend\t%s%s%s", meter.unit, meter.kind == TB_METER_GAUGE ? "-seconds" : "", q.by_resource ? "\tresource" : "");
    for (int k = 0; k < TB_METER_DIMENSIONS; k++)
        if (q.by_dimension[k]) tb_buf_fmt(&reply->out, "\t%s", meter.dimension[k]);
    tb_buf_str(&reply->out, "\n");
    tb_buf_fmt(&reply->json, "{\"meter\":\"%s\",\"window\":\"%s\",\"data\":[", meter.id, names[q.window]);
    for (size_t i = 0; i < n; i++)
        put_window(&q, &windows[i], i == 0, reply);
    tb_buf_str(&reply->json, "]}");
    free(windows);
    tb__print_answer(args, reply);
    return TB_OK;
}

/* --- the rows --- */

static const tb_param list_params[] = {
    TB__PARAM_ACCOUNT(false, "only meters of which this account has usage"),
    TB__PARAM_FORMAT(TB__FORMATS),
};
static const tb_param usage_params[] = {
    {.name = "meter", .value = "METER", .kind = TB_PARAM_TEXT, .operand = true, .required = true, .min = 1,
     .max = TB_METER_ID_MAX, .help = "the meter"},
    {.name = "from", .value = "D", .kind = TB_PARAM_TEXT, .min = 1, .max = 40,
     .help = "the first day or moment, UTC; a window begins there; default: the running month's first"},
    {.name = "to", .value = "D", .kind = TB_PARAM_TEXT, .min = 1, .max = 40,
     .help = "the day or moment before which it ends; a window ends there; default: the end of the one that runs"},
    {.name = "window", .value = "HOUR|DAY|MONTH", .kind = TB_PARAM_CHOICE, .help = "default DAY"},
    TB__PARAM_ACCOUNT(false, "usage of this account; default all"),
    {.name = "resource", .value = "NAME", .kind = TB_PARAM_TEXT, .min = 1, .max = TB_METER_RESOURCE_MAX,
     .help = "usage of this resource; default all"},
    {.name = "group-by", .value = "NAME", .kind = TB_PARAM_TEXT, .repeats = true, .min = 1, .max = TB_METER_VALUE_MAX,
     .help = "resource, or a dimension of the meter"},
    {.name = "percentile", .value = "P", .kind = TB_PARAM_TEXT, .otherwise = "95", .min = 1, .max = 10,
     .help = "of a month's samples; default 95"},
    TB__PARAM_FORMAT(TB__FORMATS),
};

static const tb_operation rows[] = {
    {.name = "meter list",
     .summary = "List the meters that are declared",
     .details = "",
     .access = TB_ACCESS_INSIGHTS,
     TB__PARAMS(list_params),
     .read = list},
    {.name = "meter usage",
     .summary = "Show a meter's usage by hours, days or months",
     .details = "Values are in the meter's unit; of a gauge, in unit-seconds, each value rounded up as the meter says.\n"
                "Samples are summed by hours and days. A month of samples gives the interval at the percentile; the\n"
                "running month counts the intervals that are over. Windows without usage are left out.",
     .access = TB_ACCESS_INSIGHTS,
     TB__PARAMS(usage_params),
     .read = usage},
};
const tb__operations tb__meter_operations = TB__OPERATIONS(rows);
