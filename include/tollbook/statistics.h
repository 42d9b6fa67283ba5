/* The statistics answers' bytes, the same for the command line and for HTTP. */
#ifndef TOLLBOOK_STATISTICS_H
#define TOLLBOOK_STATISTICS_H

#include "tollbook/buf.h"
#include "tollbook/billsource.h"
#include "tollbook/bookstore.h"
#include "tollbook/invoicestore.h"
#include "tollbook/ledgerstore.h"
#include "tollbook/answer.h"
#include "tollbook/json.h"
#include "tollbook/monthbill.h"
#include "tollbook/store.h"
#include "tollbook/totals.h"

TB_API_BEGIN

/* Longest answer: two charts a metric over the widest hourly range, with room to spare. */
#define TB_STATISTICS_MAX ((size_t)16 << 20)

/* The day of the newest balance that the history can hold: answers of different days differ. */
int64_t tb_statistics_balance_day(int64_t now_us);

typedef struct tb_statistics_query {
    tb_view view;
    tb_range range;
    tb_answer_kind kind;
} tb_statistics_query;
/* Appends the answer to out as JSON. Reads in the caller's snapshot; the columns' memory comes from alloc (NULL:
 * the C library's). The balance history ends at now_us. TB_E_ZONE_NOT_FOUND: the view's zone is not one of its
 * account's. */
TB_MUST_USE tb_code tb_statistics_in(tb_store *store, const tb_statistics_query *query, int64_t now_us,
                                     const tb_alloc *alloc, tb_buf *out, tb_error *err);

/* The simplest query in one call: an account's usage, as the JSON of GET /statistics, from the database at path.
 * from and to are days ("2026-07-01") or moments, see range.h; NULL: the last month up to now. now_us: time(NULL) *
 * TB_US_PER_S. *ret_json is terminated; free() it. TB_E_NOT_FOUND: no such account. */
TB_MUST_USE tb_code tb_statistics_file(const char *path, int64_t account, const char *from,
                                       const char *to, int64_t now_us, char **ret_json,
                                       tb_error *err);

/* A load balancer's usage, the same bytes for the command line and for HTTP
 * (GET /loadbalancer/{loadBalancerId}/usage in docs/openapi.yaml). */

/* Longest answer: a hundred bytes a tier, with room to spare. */
#define TB_USAGE_MAX ((size_t)64 << 10)

/* Appends the JSON for a month, read in the caller's snapshot. account 0: of any account. The price is that of the
 * month's end, for a running month that of now. Errors: BALANCER_NOT_FOUND; PERIOD for a month after the running
 * one. */
TB_MUST_USE tb_code tb_usage_answer(tb_store *store, int64_t account, int64_t balancer,
                                    int64_t month, int64_t now_us, tb_buf *out, tb_error *err);

/* The answer of GET /insights, read from a store. */

#define TB_INSIGHTS_TOP   100 /* zones of a page, at most */
#define TB_INSIGHTS_SPARK 60  /* numbers of a spark, at most */

typedef struct tb_insights_query {
    tb_scope scope;
    tb_period period;
    tb_insights_order order;
    tb_text search;
    int64_t top, page; /* 1 to TB_INSIGHTS_TOP; from 1 on */
    bool ranks_accounts; /* of the fleet, beside its zones */
} tb_insights_query;

/* Checks a scope in the caller's snapshot. A zone without its account (TB_ALL) gets it. TB_E_NOT_FOUND: no such
 * account; other errors as in tb_store_scope_check. */
TB_MUST_USE tb_code tb_insights_scope(tb_store *store, tb_scope *scope, tb_error *err);

/* Appends the answer, read in the caller's snapshot, with the columns' memory from alloc (NULL: the C library's).
 * TB_E_NOT_FOUND: no such account. TB_E_ZONE_NOT_FOUND: not a zone of the account. TB_E_VALIDATION: no such region. TB_E_DATE_RANGE: hours are requested
 * explicitly that have expired (retain.h); where auto chose them the answer is by day. */
TB_MUST_USE tb_code tb_insights_in(tb_store *store, const tb_insights_query *ask, const tb_alloc *alloc,
                                   tb_buf *out, tb_error *err);

/* Whether the sums that zones are ranked by are kept (tb_store_zone_sums_known), so that the answer takes about a
 * millisecond. In no transaction. */
TB_MUST_USE tb_code tb_insights_known(tb_store *store, const tb_insights_query *ask, bool *ret_known, tb_error *err);

/* The answer of GET /metrics/account: an account's running month as metrics for Prometheus. */

#define TB_ACCOUNT_METRICS_ZONES 2000 /* zones that are listed, those with the most bytes */

typedef struct tb_account_metrics_query {
    int64_t account, now_us;
    bool traffic, money; /* the parts of the answer */
    tb_metrics_form form;
    tb_text forecast; /* a part of the money, as tb_account_forecast_metrics made it before; data NULL: it is made now */
} tb_account_metrics_query;

/* Appends the answer, read in the caller's snapshot. TB_E_NOT_FOUND: no such account; other errors as of bills and
 * forecasts. */
TB_MUST_USE tb_code tb_account_metrics(tb_store *store, const tb_account_metrics_query *query, tb_buf *out, tb_error *err);
/* Appends the forecast alone. It takes longer than all other figures, and changes little in an hour. */
TB_MUST_USE tb_code tb_account_forecast_metrics(tb_store *store, const tb_account_metrics_query *query, tb_buf *out,
                                                tb_error *err);

/* The answer of GET /insights/why: the change of a figure between two spans, split. */

#define TB_WHY_TOP         100  /* parts, at most */
#define TB_WHY_FLEET_BILLS 2000 /* of all accounts, in both spans: more take longer than a server waits */

typedef struct tb_why_query {
    tb_scope scope;
    int field;
    tb_why_by by;
    tb_range now, before; /* hours; of charges whole months */
    int64_t top;          /* 1 to TB_WHY_TOP */
    int64_t now_us;
    char currency[4];     /* charges of the fleet: those in it alone; "": all have one */
} tb_why_query;

/* Whether the field, the split and the spans suit each other. Pure. TB_E_VALIDATION, or TB_E_DATE_RANGE. */
TB_MUST_USE tb_code tb_why_check(const tb_why_query *ask, tb_error *err);
/* Appends the answer, read in the caller's snapshot. Charges are net: the lines of each month's valid invoice, or else
 * of its bill as it is now, volume by its shares. What belongs to no zone (or region) has the key "". Errors: of the
 * scope, as in tb_insights_in; TB_E_DATE_RANGE: hours that have expired; of bills; TB_E_VALIDATION, field currency: the
 * fleet is billed in several; field account: it has more bills than TB_WHY_FLEET_BILLS. */
TB_MUST_USE tb_code tb_why_in(tb_store *store, const tb_why_query *ask, tb_buf *out, tb_error *err);

/* A month's usage without an account, read from the store and reported in sentences beside the
 * invoices. It is billed once its zone or load balancer is declared. */

#define TB_UNOWNED_NAMED_MAX 20 /* zones, and load balancers, that are named; the rest is summed */

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
/* Appends lines: the usage of each named one, the sum of the others, and how to assign them. Nothing without such
 * usage. */
void tb_unowned_say(const tb_unowned_usage *u, int64_t month, tb_buf *lines);

TB_API_END

#endif
