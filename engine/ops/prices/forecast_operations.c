/* forecast: the running month of an account, or how well forecasts of past months would have done.
 */
#include "ops/prices/forecast.h"

static tb_code forecast_one(const tb_ops *ops, const tb_args *args, tb_reply *reply, tb_error *err)
{
    tb_forecast f;
    const uint64_t seed = (uint64_t)tb_arg_number(args, "seed", TB_FORECAST_SEED);
    const uint32_t paths = (uint32_t)tb_arg_number(args, "paths", TB_FORECAST_PATHS);
    tb_code code = tb_running_forecast(ops->store, tb_arg_number(args, "account", 0), ops->now_us,
                                       seed, paths, &f, err);
    if (!code) code = tb_forecast_json(&f, &reply->json, err);
    if (code) return code;
    if (tb_arg_is(args, "format", "table"))
        tb__forecast_table(&f, &reply->out);
    tb__print_answer(args, reply);
    return TB_OK;
}

static tb_code forecast(tb_ops *ops, const tb_args *args, tb_reply *reply, tb_error *err)
{
    if (tb_arg_given(args, "backtest")) {
        if (!tb_arg_is(args, "format", "csv")) return tb__backtest(ops, args, reply, err);
        return tb_fail(err, TB_E_VALIDATION, "format", "A backtest is printed as a table or as JSON: give --format json.");
    }
    if (tb_arg_given(args, "account")) return forecast_one(ops, args, reply, err);
    return tb_fail(err, TB_E_VALIDATION, "account", "It is missing. Only a backtest takes all "
                                        "accounts.");
}

static const tb_param params[] = {
    TB__PARAM_ACCOUNT(false, "the account"),
    {.name = "seed",
     .value = "N",
     .kind = TB_PARAM_NUMBER,
     .min = 0,
     .max = UINT32_MAX,
     .help = "seed of the generator; the same seed gives the same answer; default 1"},
    {.name = "paths",
     .value = "N",
     .kind = TB_PARAM_NUMBER,
     .min = 100,
     .max = 100000,
     .help = "number of simulated rests of the month; default 10000, with --backtest 1000"},
    {.name = "backtest",
     .kind = TB_PARAM_FLAG,
     .help = "forecast past months, and count how often they came out within p5 to p95"},
    TB__PARAM_FORMAT(TB__FORMATS),
};

static const tb_operation rows[] = {
    {.name = "forecast",
     .summary = "Forecast an account's running month: usage and money, with a 90 % interval",
     .details =
         "Advice, never a bill. From up to 26 weeks of daily usage: the models that have\n"
         "foretold it best, averaged, and 10,000 possible rests of the month, each rated with\n"
         "the prices in force. With --backtest, --account is optional; the last 12 months are\n"
         "forecast as they stood at the start of their 1st, 6th, 11th, 16th and 21st day.",
     .access = TB_ACCESS_READ,
     TB__PARAMS(params),
     .read = forecast,
     .slow = true},
};
const tb__operations tb__forecast_operations = TB__OPERATIONS(rows);
