/* Single models with textbook intervals, for comparison with the average. */
#ifndef TOLLBOOK_ADVICE_SINGLE_H
#define TOLLBOOK_ADVICE_SINGLE_H

#include "tollbook/forecast.h"

/* n: 28 to TB_FORECAST_DAYS, some day is not 0. */
typedef struct tb__known {
    const double *day;
    size_t n;
    int first_weekday;
} tb__known;

/* The sum of the days to come. */
TB_MUST_USE tb_code tb__fit_robust(const tb__known *known, size_t ahead, double *ret_sum,
                                   double *ret_deviation, tb_error *err);

/* All bytes of the month by each single model; from_day: the first day to come. */
TB_MUST_USE tb_code tb__singles(const tb_usage_history *history, size_t ahead, tb_i128 so_far,
                                tb_forecast *forecast, tb_error *err);

#endif
