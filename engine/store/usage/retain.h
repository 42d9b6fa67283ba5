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

#endif
