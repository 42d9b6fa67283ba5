/* What is kept of an owner's usage: see tollbook/retain.h. */
#ifndef TOLLBOOK_STORE_USAGE_RETAIN_H
#define TOLLBOOK_STORE_USAGE_RETAIN_H

#include "store/core/internal.h"
#include "tollbook/retain.h"

/* Of a zone, an account or a balancer, by its account. Nothing goes of one that has none. */
TB_MUST_USE tb_code tb__kept_of(tb_store *store, int scope, int64_t owner, tb_kept *ret_kept,
                                tb_error *err);
/* Adds the days of the months of one series whose hours may be gone, as their rows have them, to the
 * rows of another. What waits in runs is not among them. */
TB_MUST_USE tb_code tb__kept_days_copy(tb_store *store, int64_t from, int64_t to, tb_kept kept,
                                       tb_error *err);

/* A month of a walk's list, which is made where it is missing. */
TB_MUST_USE tb_code tb__retain_month(tb_retain_walk *walk, int64_t month, tb_retain_month **ret, tb_error *err);

/* Counters, then requests and bytes of countries. */
#define TB__GONE_COUNT (TB_METRIC_COUNT + 2)
/* Adds what days of a month that go held to what is kept of it as sums. */
TB_MUST_USE tb_code tb__gone_add(tb_store *store, int64_t account, int64_t month,
                                 const tb_u128 sums[TB__GONE_COUNT], tb_error *err);

#endif
