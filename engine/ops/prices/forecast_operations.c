/* forecast: the running month of an account, or how well forecasts of past months would have done.
 */
#include "ops/prices/forecast.h"

tb_code tb__forecast_check_paths(const tb_ops *ops, uint32_t paths, tb_error *err)
{
    if (!ops->shared || paths <= TB_FORECAST_PATHS) return TB_OK;
    return tb_fail(err, TB_E_TOO_MUCH, "paths", "At most %d are possible here.", TB_FORECAST_PATHS);
}

static tb_code forecast_one(const tb_ops *ops, const tb_args *args, tb_reply *reply, tb_error *err)
{
    tb_forecast f;
    tb_decimal above;
    const tb_forecast_question q = {.account = tb_arg_number(args, "account", 0),
                                    .at_us = ops->now_us,
                                    .seed = (uint64_t)tb_arg_number(args, "seed", TB_FORECAST_SEED),
                                    .paths = (uint32_t)tb_arg_number(args, "paths", TB_FORECAST_PATHS),
                                    .limits = &above,
                                    .n_limits = tb_arg_given(args, "above")};
    tb_code code = tb_arg_decimal(args, "above", 6, &above, err);
    if (!code) code = tb_running_forecast(ops->store, &q, &f, err);
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
    if (tb_arg_given(args, "all") && tb_arg_given(args, "account"))
        return tb_fail(err, TB_E_VALIDATION, "all", "Both --all and --account are given. Give one of them.");
    if (tb_arg_given(args, "all")) return tb__forecast_all(ops, args, reply, err);
    if (tb_arg_given(args, "account")) return forecast_one(ops, args, reply, err);
    return tb_fail(err, TB_E_VALIDATION, "account", "It is missing. Give --account ID, or --all.");
}

static const tb_param params[] = {
    TB__PARAM_ACCOUNT(false, "the account"),
    {.name = "all", .kind = TB_PARAM_FLAG, .help = "every account, a row each"},
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
    {.name = "above",
     .value = "AMOUNT",
     .kind = TB_PARAM_TEXT,
     .min = 1,
     .max = 40,
     .help = "with --account, also how likely the month exceeds AMOUNT, tax included"},
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
         "the prices in force. With --all, money and bytes of every account, and how likely it\n"
         "exceeds the largest amount that its alerts on money watch. With --backtest,\n"
         "--account is optional; the last 12 months are forecast as they stood at the start of\n"
         "their 1st, 6th, 11th, 16th and 21st day.",
     .access = TB_ACCESS_READ,
     TB__PARAMS(params),
     .read = forecast,
     .slow = true},
};
const tb__operations tb__forecast_operations = TB__OPERATIONS(rows);
