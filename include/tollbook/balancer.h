/* A load balancer's usage, the same bytes for the command line and for HTTP
 * (GET /loadbalancer/{loadBalancerId}/usage in docs/openapi.yaml). */
#ifndef TOLLBOOK_BALANCER_H
#define TOLLBOOK_BALANCER_H

#include "tollbook/monthbill.h"

TB_API_BEGIN

/* Longest answer: a hundred bytes a tier, with room to spare. */
#define TB_USAGE_MAX ((size_t)64 << 10)

/* Appends the JSON for a month, read in the caller's snapshot. account 0: whose it is does not
 * matter. The price is that of the month's end, of a running month that of now. Errors:
 * BALANCER_NOT_FOUND; PERIOD for a month after the running one. */
TB_MUST_USE tb_code tb_usage_answer(tb_store *store, int64_t account, int64_t balancer,
                                    int64_t month, int64_t now_us, tb_buf *out, tb_error *err);

TB_API_END

#endif
