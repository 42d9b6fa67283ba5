/* The forecast of an account as a table; forecasts of all accounts and the backtest, which are done in steps. */
#ifndef TOLLBOOK_OPS_FORECAST_H
#define TOLLBOOK_OPS_FORECAST_H

#include "ops/operations.h"
#include "tollbook/accountforecast.h"
#include "tollbook/meterstore.h"

/* A server draws no more than its own answers do. */
TB_MUST_USE tb_code tb__forecast_check_paths(const tb_ops *ops, uint32_t paths, tb_error *err);

/* Some of all accounts; reply->next says how to go on. */
TB_MUST_USE tb_code tb__forecast_all(const tb_ops *ops, const tb_args *args, tb_reply *reply,
                                     tb_error *err);

/* A month's input with what meters have by the month's end: a gauge keeps the mean of its last hour, a counter its mean day
 * of the last 28 (fewer where it is younger), and samples have the intervals so far alone. Replaces lists of `month` by those of
 * *ret; tb__metered_release. */
typedef struct tb__metered {
    tb_meter *meters;
    size_t n_meters;
    tb_meter_window **windows; /* a list of each meter, with the texts of `usage` */
    tb_bill_usage *usage;
    size_t n_usage;
    tb_bill_samples *samples;
} tb__metered;
TB_MUST_USE tb_code tb__forecast_meters(tb_store *store, const tb_forecast_question *q, tb_bill_input *month,
                                        tb__metered *ret, tb_error *err);
void tb__metered_release(tb__metered *metered);

/* For people. */
void tb__forecast_table(const tb_forecast *forecast, tb_buf *out);

/* Some accounts of a backtest; reply->next says how to go on. */
TB_MUST_USE tb_code tb__backtest(const tb_ops *ops, const tb_args *args, tb_reply *reply,
                                 tb_error *err);

#endif
