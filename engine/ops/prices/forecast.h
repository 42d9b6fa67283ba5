/* The forecast of an account as a table; forecasts of all accounts and the backtest, which are done in steps. */
#ifndef TOLLBOOK_OPS_FORECAST_H
#define TOLLBOOK_OPS_FORECAST_H

#include "ops/operations.h"
#include "tollbook/accountforecast.h"

/* A server draws no more than its own answers do. */
TB_MUST_USE tb_code tb__forecast_check_paths(const tb_ops *ops, uint32_t paths, tb_error *err);

/* Some of all accounts; reply->next says how to go on. */
TB_MUST_USE tb_code tb__forecast_all(const tb_ops *ops, const tb_args *args, tb_reply *reply,
                                     tb_error *err);

/* For people. */
void tb__forecast_table(const tb_forecast *forecast, tb_buf *out);

/* Some accounts of a backtest; reply->next says how to go on. */
TB_MUST_USE tb_code tb__backtest(const tb_ops *ops, const tb_args *args, tb_reply *reply,
                                 tb_error *err);

#endif
