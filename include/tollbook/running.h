/* An account's running month so far, for GET /billing, its summary, and the MonthlyBandwidthUsed,
 * MonthlyCharges and Enabled of pull zones. Works in the caller's snapshot. */
#ifndef TOLLBOOK_RUNNING_H
#define TOLLBOOK_RUNNING_H

#include "tollbook/monthbill.h"
#include "tollbook/usage.h"
#include "tollbook/zones.h"

TB_API_BEGIN

/* The account's zones that exist, ascending by id, as they stand at now_us: charges exact, Enabled
 * by the rules of tb_zone_state_of. free(). */
TB_MUST_USE tb_code tb_account_zones(tb_store *store, int64_t account, int64_t now_us,
                                     tb_zone_month **ret_zones, size_t *ret_n, tb_error *err);

TB_MUST_USE tb_code tb_account_summary(tb_store *store, int64_t account, int64_t now_us,
                                       tb_buf *out, tb_error *err);
TB_MUST_USE tb_code tb_account_billing(tb_store *store, int64_t account, int64_t now_us,
                                       tb_buf *out, tb_error *err);

/* The running month of pull zones, for wherever they are shown. */

/* All zones of an account, kept from one page to the next where pages of the whole are asked for:
 * volume zones cannot be billed without the others. Begins as zeros. */
typedef struct tb_zones_memo {
    tb_zone_month *all;
    size_t n;
} tb_zones_memo;
void tb_zones_memo_release(tb_zones_memo *memo);

/* Sets bytes, charges, the optimizer's price and Enabled of zones, ascending by id, as they stand
 * at now_us, in the caller's snapshot. Where none of them has volume bandwidth, nothing is read of
 * the account's other zones. */
TB_MUST_USE tb_code tb_zones_month(tb_store *store, int64_t account, int64_t now_us,
                                   tb_zones_memo *memo, tb_pullzone *zones, size_t n,
                                   tb_error *err);

/* How a zone stands at now_us, in the caller's snapshot. Bytes are counted where
 * there is a limit. */
TB_MUST_USE tb_code tb_zone_state_read(tb_store *store, int64_t account, int64_t zone,
                                       int64_t now_us, tb_zone_state *ret_state, tb_error *err);

TB_API_END

#endif
