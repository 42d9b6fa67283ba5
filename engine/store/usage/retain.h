/* Retention of an owner's usage: see tollbook/retain.h. */
#ifndef TOLLBOOK_STORE_USAGE_RETAIN_H
#define TOLLBOOK_STORE_USAGE_RETAIN_H

#include "store/core/internal.h"
#include "tollbook/retain.h"

/* The retention of a zone, an account or a balancer, from its account. Without an account nothing expires. */
TB_MUST_USE tb_code tb__kept_of(tb_store *store, int scope, int64_t owner, tb_kept *ret_kept,
                                tb_error *err);
/* Adds the day rows of months whose hours may have expired from one series to another. Pending entries of runs are not
 * included. */
TB_MUST_USE tb_code tb__kept_days_copy(tb_store *store, int64_t from, int64_t to, tb_kept kept,
                                       tb_error *err);

/* A month of a walk's list, added if it is missing. */
TB_MUST_USE tb_code tb__retain_month(tb_retain_walk *walk, int64_t month, tb_retain_month **ret, tb_error *err);

/* Counters, then requests and bytes of countries. */
#define TB__GONE_COUNT (TB_METRIC_COUNT + 2)
/* Adds the sums of a month's expired days to the stored ones. */
TB_MUST_USE tb_code tb__gone_add(tb_store *store, int64_t account, int64_t month,
                                 const tb_u128 sums[TB__GONE_COUNT], tb_error *err);

#endif
