/* A month's usage without an account, read from the store and reported in sentences beside the
 * invoices. It is billed once its zone or load balancer is declared. */
#ifndef TOLLBOOK_UNOWNED_H
#define TOLLBOOK_UNOWNED_H

#include "tollbook/buf.h"
#include "tollbook/charges.h"

TB_API_BEGIN

#define TB_UNOWNED_NAMED_MAX 20 /* zones, and load balancers, that are named; the rest is summed   \
                                 */

typedef struct tb_unowned_kind {
    tb_unowned named[TB_UNOWNED_NAMED_MAX]; /* the largest first */
    size_t n;                               /* of these */
    uint64_t count;                         /* of all */
    tb_i128 requests, bytes;                /* of all */
} tb_unowned_kind;

typedef struct tb_unowned_usage {
    tb_unowned_kind zones, balancers;
} tb_unowned_usage;

/* In the caller's snapshot or transaction. */
TB_MUST_USE tb_code tb_unowned_read(tb_store *store, int64_t month, tb_unowned_usage *ret,
                                    tb_error *err);
bool tb_unowned_any(const tb_unowned_usage *u);
/* {"zones":[...],"zone_count":...}; amounts of usage are decimal text. */
void tb_unowned_json(const tb_unowned_usage *u, tb_buf *out);
/* Appends lines: each one's amounts, those not named together, and what to do. Nothing where there
 * is none. */
void tb_unowned_say(const tb_unowned_usage *u, int64_t month, tb_buf *lines);

TB_API_END

#endif
