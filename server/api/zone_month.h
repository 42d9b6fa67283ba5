/* The running month of pull zones, for wherever they are shown. */
#ifndef TOLLBOOK_SERVER_API_ZONE_MONTH_H
#define TOLLBOOK_SERVER_API_ZONE_MONTH_H

#include "tollbook/zones.h"

/* Sets bytes, charges, the optimizer's price and Enabled of an account's zones as they stand at
 * now_us, in the caller's snapshot. */
TB_MUST_USE tb_code zones_month(tb_store *store, int64_t account, int64_t now_us,
                                tb_pullzone *zones, size_t n, tb_error *err);

#endif
