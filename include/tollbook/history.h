/* An account's daily usage as forecasts take it: a column of days for each product and region, and
 * what recent bytes were billed by. Values alone; the store fills them (billsource.h). */
#ifndef TOLLBOOK_HISTORY_H
#define TOLLBOOK_HISTORY_H

#include "tollbook/bill.h"

TB_API_BEGIN

#define TB_HISTORY_RECENT 28 /* days that say what a product's bytes are made of */
#define TB_HISTORY_MAX    (25 * 366)

/* Columns: premium, volume and override bytes by billing region; bytes of locations that have none;
 * requests of all load balancers. */
#define TB_USAGE_UNPRICED (3 * TB_BILLING_REGION_COUNT)
#define TB_USAGE_REQUESTS (TB_USAGE_UNPRICED + 1)
#define TB_USAGE_COLUMNS  (TB_USAGE_REQUESTS + 1)
static inline int tb_usage_column(tb_charge charge, tb_billing_region region)
{
    return (int)charge * TB_BILLING_REGION_COUNT + (int)region;
}

typedef struct tb_balancer_recent {
    int64_t balancer;
    tb_i128 requests; /* of the recent days */
} tb_balancer_recent;

typedef struct tb_usage_history {
    int64_t first_day;
    size_t n_days;
    uint64_t *column[TB_USAGE_COLUMNS]; /* n_days each, never NULL */
    /* Of the last TB_HISTORY_RECENT days: premium bytes by discount, and bytes at prices of their
     * own with what they cost. */
    tb_i128 premium[TB_BILLING_REGION_COUNT][101];
    tb_i128 override_bytes[TB_BILLING_REGION_COUNT];
    tb_decimal override_cost[TB_BILLING_REGION_COUNT];
    tb_balancer_recent *balancers; /* ascending */
    size_t n_balancers;
    void *memory;
} tb_usage_history;

TB_API_END

#endif
