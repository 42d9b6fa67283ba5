/* A month's usage that no account pays for, beside its invoices: read from the store, sent, and said
 * in sentences. It is not billed before its zone or load balancer is declared. */
#ifndef TOLLBOOK_SERVER_API_UNOWNED_H
#define TOLLBOOK_SERVER_API_UNOWNED_H

#include "tollbook/buf.h"
#include "tollbook/charges.h"

#define UNOWNED_NAMED_MAX 20 /* zones, and load balancers, that are named; the rest is summed */

typedef struct unowned_kind {
    tb_unowned named[UNOWNED_NAMED_MAX]; /* the largest first */
    size_t n;                            /* of these */
    uint64_t count;                      /* of all */
    tb_i128 requests, bytes;             /* of all */
} unowned_kind;

typedef struct unowned_usage {
    unowned_kind zones, balancers;
} unowned_usage;

/* In the caller's snapshot or transaction. */
TB_MUST_USE tb_code unowned_read(tb_store *store, int64_t month, unowned_usage *ret, tb_error *err);
bool unowned_any(const unowned_usage *u);
/* {"zones":[...],"zone_count":...}; amounts of usage are decimal text. */
void unowned_json(const unowned_usage *u, tb_buf *out);
/* Appends lines: each one's amounts, those not named together, and what to do. Nothing where there
 * is none. */
void unowned_say(const unowned_usage *u, int64_t month, tb_buf *lines);

#endif
