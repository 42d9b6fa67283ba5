/* percentile: 95/5 of a pull zone or an account and month, from its hours. */
#include <inttypes.h>
#include <stdio.h>

#include "ops/operations.h"
#include "tollbook/calendar.h"
#include "tollbook/ledger.h"
#include "tollbook/forecast.h"
#include "tollbook/retain.h"
#include "tollbook/billsource.h"

#define HOUR_SECONDS 3600 /* the finest that is stored */

typedef struct asked {
    tb_percentile_of of;
    tb_percentile_ask ask;
    tb_view view;
} asked;

static tb_code read_month(const tb_args *args, int64_t now_us, asked *a, tb_error *err)
{
    const int64_t running = tb_month_from_us(now_us);
    const int64_t month = tb_arg_number(args, "month", running);
    if (month > running) return tb_fail(err, TB_E_VALIDATION, "month", "It lies in the future.");
    a->of.from_us = tb_month_start_us(month);
    a->of.running = month == running;
    tb_month_format(month, a->of.month);
    int64_t hours = (tb_month_start_us(month + 1) - a->of.from_us) / TB_US_PER_HOUR;
    int64_t over = (now_us - a->of.from_us) / TB_US_PER_HOUR;
    a->ask.buckets = (uint32_t)hours;
    a->ask.over = (uint32_t)(over < hours ? over : hours);
    a->ask.seconds = HOUR_SECONDS;
    return TB_OK;
}

static tb_code read_args(const tb_args *args, int64_t now_us, asked *a, tb_error *err)
{
    const bool zone = tb_arg_given(args, "zone");
    a->view =
        (tb_view){tb_arg_number(args, "account", 0), tb_arg_number(args, "zone", TB_ALL), TB_ALL};
    if (!zone && a->view.account == 0)
        return tb_fail(err, TB_E_VALIDATION, "zone", "It is missing. Give it, or an account.");
    snprintf(a->of.resource, sizeof a->of.resource, "%s:%" PRId64, zone ? "zone" : "account",
             zone ? a->view.zone : a->view.account);
    a->ask.has_commit = tb_arg_given(args, "commit");
    tb_code code =
        tb_arg_decimal(args, "percentile", TB_PERCENTILE_SCALE_MAX, &a->ask.percentile, err);
    if (!code) code = tb_arg_decimal(args, "commit", TB_PERCENTILE_DIGITS, &a->ask.commit, err);
    return code ? code : read_month(args, now_us, a, err);
}

static tb_code check_view(tb_store *store, tb_view *view, tb_error *err)
{
    if (view->account == 0) return tb_store_zone_account(store, view->zone, &view->account, err);
    tb_code code = tb_store_need_account(store, view->account, err);
    return code ? code : tb_store_view_check(store, view, err);
}

/* Hours that are gone are not hours without traffic. */
static tb_code check_hours(tb_store *store, const asked *a, tb_error *err)
{
    tb_kept kept;
    tb_code code = tb_store_kept(store, a->view.account, &kept, err);
    if (code || tb_month_from_us(a->of.from_us) >= kept.hours) return code;
    return tb_fail(err, TB_E_NOT_KEPT, "month",
                   "The hours of that month are no longer kept. Ask for a later month.");
}

static tb_code find_percentile(tb_store *store, asked *a, tb_percentile *ret, tb_error *err)
{
    tb_series series;
    const tb_range range = {a->of.from_us / TB_US_PER_HOUR, a->ask.buckets, true};
    const uint32_t metrics = TB_METRIC_BIT(TB_M_BYTES) | TB_METRIC_BIT(TB_M_REQUESTS);
    tb_code code = tb_series_init(&series, range, metrics, NULL, err);
    if (code) return code;
    code = tb_store_read_series(store, &a->view, &series, err);
    a->ask.bytes = series.value[TB_M_BYTES];
    a->ask.requests = series.value[TB_M_REQUESTS];
    if (!code) code = tb_percentile_find(&a->ask, NULL, ret, err);
    tb_series_release(&series);
    return code;
}

static tb_code percentile(tb_ops *ops, const tb_args *args, tb_reply *reply, tb_error *err)
{
    asked a = {.of = {.running = false}};
    tb_percentile found;
    tb_code code = read_args(args, ops->now_us, &a, err);
    if (!code) code = check_view(ops->store, &a.view, err);
    if (!code) code = check_hours(ops->store, &a, err);
    if (!code) code = find_percentile(ops->store, &a, &found, err);
    if (code) return code;
    tb_percentile_json(&a.of, &a.ask, &found, &reply->json);
    if (tb_arg_is(args, "format", "table"))
        tb_percentile_table(&a.of, &a.ask, &found, &reply->out);
    tb__print_answer(args, reply);
    return TB_OK;
}

static const tb_param params[] = {
    {.name = "zone",
     .value = "ID",
     .kind = TB_PARAM_NUMBER,
     .min = 1,
     .max = INT64_MAX,
     .help = "a pull zone's traffic",
     .list = TB__LIST_ZONES},
    TB__PARAM_ACCOUNT(false, "an account's traffic, all its pull zones together"),
    {.name = "month",
     .value = "YYYY-MM",
     .kind = TB_PARAM_MONTH,
     .help = "UTC; default the running month"},
    {.name = "percentile",
     .value = "P",
     .kind = TB_PARAM_TEXT,
     .min = 1,
     .max = 40,
     .otherwise = "95",
     .help = "default 95"},
    {.name = "commit",
     .value = "MBIT",
     .kind = TB_PARAM_TEXT,
     .min = 1,
     .max = 40,
     .help = "agreed Mbit/s: prints how many buckets are above it, and how many more may follow"},
    TB__PARAM_FORMAT(TB__FORMATS),
};

static const tb_operation rows[] = {
    {.name = "percentile",
     .summary = "Bill a month's traffic by its 95th percentile (95/5)",
     .details =
         "Of a month's n hourly byte sums the floor(5 % of n) largest are discarded; the next\n"
         "one, in Mbit/s, is the answer. The selection is exact, without interpolation. Hours\n"
         "without traffic count as zero.",
     .access = TB_ACCESS_READ,
     TB__PARAMS(params),
     .read = percentile},
};
const tb__operations tb__percentile_operations = TB__OPERATIONS(rows);
