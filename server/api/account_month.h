/* What an account's running month comes to, for GET /billing, its summary, and wherever a pull zone
 * is shown with MonthlyBandwidthUsed, MonthlyCharges and Enabled. In the caller's snapshot. */
#ifndef TOLLBOOK_SERVER_API_ACCOUNT_MONTH_H
#define TOLLBOOK_SERVER_API_ACCOUNT_MONTH_H

#include "api/month_bill.h"
#include "tollbook/usage.h"

/* The account's zones that exist, ascending by id, as they stand at now_us: charges exact, Enabled
 * by the rules of tb_zone_state_of. free(). */
TB_MUST_USE tb_code account_zones(tb_store *store, int64_t account, int64_t now_us,
                                  tb_zone_month **ret_zones, size_t *ret_n, tb_error *err);

TB_MUST_USE tb_code account_summary(tb_store *store, int64_t account, int64_t now_us, tb_buf *out,
                                    tb_error *err);
TB_MUST_USE tb_code account_billing(tb_store *store, int64_t account, int64_t now_us, tb_buf *out,
                                    tb_error *err);

#endif
