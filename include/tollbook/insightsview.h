/* What GET /insights shows, read from a store. */
#ifndef TOLLBOOK_INSIGHTSVIEW_H
#define TOLLBOOK_INSIGHTSVIEW_H

#include "tollbook/insights.h"
#include "tollbook/totals.h"

TB_API_BEGIN

#define TB_INSIGHTS_TOP   100 /* zones of a page, at most */
#define TB_INSIGHTS_SPARK 60  /* numbers of a spark, at most */

typedef struct tb_insights_ask {
    tb_scope scope;
    tb_period period;
    tb_insights_order order;
    tb_text search;
    int64_t top, page; /* 1 to TB_INSIGHTS_TOP; from 1 on */
} tb_insights_ask;

/* Appends the answer, read in the caller's snapshot, with the columns' memory from alloc (NULL: the C
 * library's). TB_E_ZONE_NOT_FOUND where the zone is not the account's, TB_E_VALIDATION where there is
 * no such region, TB_E_DATE_RANGE where hours are asked for by name that are no longer kept (retain.h);
 * where auto chose them the answer is by day. */
TB_MUST_USE tb_code tb_insights_in(tb_store *store, const tb_insights_ask *ask, const tb_alloc *alloc,
                                   tb_buf *out, tb_error *err);

/* Whether the sums that zones are ranked by are kept (tb_store_zone_sums_known), so that the answer takes about a
 * millisecond. In no transaction. */
TB_MUST_USE tb_code tb_insights_known(tb_store *store, const tb_insights_ask *ask, bool *ret_known, tb_error *err);

TB_API_END

#endif
