/* Forecasts an account from the store, and tests such forecasts on past months. Works in the
 * caller's snapshot. */
#ifndef TOLLBOOK_ACCOUNTFORECAST_H
#define TOLLBOOK_ACCOUNTFORECAST_H

#include "tollbook/forecast.h"
#include "tollbook/monthbill.h"

TB_API_BEGIN

/* Longest answer: some 300 bytes a series, 150 a day. */
#define TB_FORECAST_MAX ((size_t)64 << 10)

/* The end of known usage: now, or the newest hour of usage if that is at most a week old (otherwise logs that arrive
 * late would pass for days without usage). On an hour. */
TB_MUST_USE tb_code tb_forecast_from(tb_store *store, int64_t now_us, int64_t *ret_from_us,
                                     tb_error *err);

/* The month to forecast, from a moment in it (or up to a week before). */
typedef struct tb_forecast_question {
    int64_t account, month, from_us;
    int64_t at_us; /* zones are billed as declared at this moment */
    uint64_t seed;
    uint32_t paths;
    bool singles; /* as in tb_forecast_input */
    bool by_day;  /* as in tb_forecast_input */
    const tb_decimal *limits; /* as of tb_forecast_input */
    size_t n_limits;
    tb_forecast_funds *funds; /* as in tb_forecast_input */
} tb_forecast_question;
/* TB_E_NOT_FOUND: no such account. */
TB_MUST_USE tb_code tb_account_forecast(tb_store *store, const tb_month_books *books,
                                        const tb_forecast_question *question,
                                        tb_forecast *ret_forecast, tb_error *err);

/* Forecasts the running month; for a prepaid account also how long its balance lasts, up to the month's end, in the
 * month's last week up to the end of the next month. Of the question: account, at_us (now), paths, seed and limits.
 * tb_forecast_answer gives it as the JSON of GET /billing/forecast. */
TB_MUST_USE tb_code tb_running_forecast(tb_store *store, const tb_forecast_question *question,
                                        tb_forecast *ret_forecast, tb_error *err);
TB_MUST_USE tb_code tb_forecast_answer(tb_store *store, const tb_forecast_question *question, tb_buf *out, tb_error *err);

/* --- backtest --- */

#define TB_BACKTEST_PATHS  1000
#define TB_BACKTEST_MONTHS 12
#define TB_BACKTEST_DAYS   5 /* of each month: the starts of its 1st, 6th, 11th, 16th and 21st day \
                              */

/* Forecasts with a known outcome. A hit lies within p5 to p95. error: of the median from the outcome, in tenths of a
 * percent of the outcome, absolute, summed (outcomes of 0 left out). */
typedef struct tb_backtest_count {
    size_t n, money_hits, bytes_hits;
    size_t errors;
    uint64_t error_permille;
} tb_backtest_count;

typedef struct tb_backtest_result {
    tb_backtest_count all, by_day[TB_BACKTEST_DAYS];
    size_t months;  /* account-months with a fitted history */
    size_t skipped; /* account-months that ended before 28 days of usage were known */
    /* Sums over forecasts: mean pinball losses of p5, p50 and p95 of bytes, in millionths of the mean bytes of the
     * account's months. */
    size_t judged;
    uint64_t pinball, pinball_single[TB_FORECAST_SINGLE_COUNT];
} tb_backtest_result;

/* The single model with the least loss; returns that loss. */
uint64_t tb_backtest_best_single(const tb_backtest_result *result, tb_forecast_single *ret_which);

extern const int tb_backtest_days[TB_BACKTEST_DAYS];

/* Adds the account's last TB_BACKTEST_MONTHS complete months before now to *result: each is forecast from the data of
 * those days and compared with its outcome. Months with fewer than 28 days of history before them are skipped. */
TB_MUST_USE tb_code tb_account_backtest(tb_store *store, const tb_month_books *books,
                                        int64_t account, int64_t now_us, tb_simulation simulation,
                                        tb_backtest_result *result, tb_error *err);

TB_API_END

#endif
