/* The running month of pull zones, for wherever they are shown. */
#ifndef TOLLBOOK_SERVER_API_ZONE_MONTH_H
#define TOLLBOOK_SERVER_API_ZONE_MONTH_H

#include "tollbook/usage.h"
#include "tollbook/zones.h"

/* All zones of an account, kept from one page to the next where pages of the whole are asked for:
 * volume zones cannot be billed without the others. Begins as zeros. */
typedef struct zones_memo {
    tb_zone_month *all;
    size_t n;
} zones_memo;
void zones_memo_release(zones_memo *memo);

/* Sets bytes, charges, the optimizer's price and Enabled of zones, ascending by id, as they stand at
 * now_us, in the caller's snapshot. Where none of them has volume bandwidth, nothing is read of the
 * account's other zones. */
TB_MUST_USE tb_code zones_month(tb_store *store, int64_t account, int64_t now_us,
                                zones_memo *memo, tb_pullzone *zones, size_t n, tb_error *err);

/* How a zone stands at now_us, in the caller's snapshot (seed, "Enabled"). Bytes are counted where there
 * is a limit. */
TB_MUST_USE tb_code zone_state(tb_store *store, int64_t account, int64_t zone, int64_t now_us,
                               tb_zone_state *ret_state, tb_error *err);

#endif
