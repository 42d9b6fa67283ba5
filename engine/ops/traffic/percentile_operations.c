/* percentile: 95/5 of a pull zone or an account and month, from its samples of 5 minutes where they were kept for the whole
 * month, else from its hours. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "ops/operations.h"
#include "tollbook/calendar.h"
#include "tollbook/ledger.h"
#include "tollbook/forecast.h"
#include "tollbook/meterstore.h"
#include "tollbook/retain.h"
#include "tollbook/billsource.h"

typedef struct asked {
    tb_percentile_of of;
    tb_percentile_ask ask;
    tb_view view;
    int64_t month, now_us;
} asked;

static tb_code read_month(const tb_args *args, int64_t now_us, asked *a, tb_error *err)
{
    const int64_t running = tb_month_from_us(now_us);
    const int64_t month = tb_arg_number(args, "month", running);
    if (month > running) return tb_fail(err, TB_E_VALIDATION, "month", "It lies in the future.");
    a->of.from_us = tb_month_start_us(month);
    a->of.running = month == running;
    tb_month_format(month, a->of.month);
    a->month = month;
    a->now_us = now_us;
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

static void set_buckets(asked *a, uint32_t seconds)
{
    const int64_t n = (tb_month_start_us(a->month + 1) - a->of.from_us) / TB_US_PER_S / seconds;
    const int64_t over = (a->now_us - a->of.from_us) / TB_US_PER_S / seconds;
    a->ask.seconds = seconds;
    a->ask.buckets = (uint32_t)n;
    a->ask.over = (uint32_t)(over < n ? over : n);
}

/* Samples are whole where their sum is that of the hours. */
static tb_code use_samples(tb_store *store, asked *a, uint64_t *samples, tb_error *err)
{
    tb_i128 in_hours = 0, sampled = 0;
    tb_code code = tb_store_bandwidth_samples(store, a->view.account, a->view.zone, a->month, samples, err);
    for (uint32_t i = 0; i < a->ask.buckets; i++)
        in_hours += (tb_i128)a->ask.bytes[i];
    for (uint32_t i = 0; !code && i < a->ask.buckets * TB_METER_SLOTS; i++)
        sampled += (tb_i128)samples[i];
    if (code || sampled != in_hours || sampled == 0) return code;
    set_buckets(a, TB_METER_INTERVAL);
    a->ask.bytes = a->ask.requests = samples;
    return TB_OK;
}

static tb_code find_percentile(tb_store *store, asked *a, tb_percentile *ret, tb_error *err)
{
    tb_series series;
    set_buckets(a, 3600);
    const tb_range range = {a->of.from_us / TB_US_PER_HOUR, a->ask.buckets, true};
    const uint32_t metrics = TB_METRIC_BIT(TB_M_BYTES) | TB_METRIC_BIT(TB_M_REQUESTS);
    uint64_t *samples = calloc(TB_PERCENTILE_BUCKETS_MAX, sizeof *samples);
    tb_code code = samples ? tb_series_init(&series, range, metrics, NULL, err) : tb_no_memory(err);
    if (code) {
        free(samples);
        return code;
    }
    code = tb_store_read_series(store, &a->view, &series, err);
    a->ask.bytes = series.value[TB_M_BYTES];
    a->ask.requests = series.value[TB_M_REQUESTS];
    if (!code) code = use_samples(store, a, samples, err);
    if (!code) code = tb_percentile_find(&a->ask, NULL, ret, err);
    tb_series_release(&series);
    free(samples);
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
         "Of a month's n byte sums the floor(5 % of n) largest are discarded; the next one, in\n"
         "Mbit/s, is the answer. The selection is exact, without interpolation. A sum is that of 5\n"
         "minutes where the account kept samples for all of the month's traffic, else that of an\n"
         "hour. Those without traffic count as zero.",
     .access = TB_ACCESS_READ,
     TB__PARAMS(params),
     .read = percentile},
};
const tb__operations tb__percentile_operations = TB__OPERATIONS(rows);
