/* Reads the input of bills from the store: an account's month, usage without an account, a load balancer's month.
 *
 * Usage that a later batch adds to a month that was run is also kept as late deltas, so that the month can be read as
 * of any watermark. */
#ifndef TOLLBOOK_BILLSOURCE_H
#define TOLLBOOK_BILLSOURCE_H

#include "tollbook/bill.h"
#include "tollbook/book.h"
#include "tollbook/catalog.h"
#include "tollbook/origins.h"
#include "tollbook/store.h"

TB_API_BEGIN

/* An input and its memory. The books must outlive it. */
typedef struct tb_bill_source {
    tb_bill_input input;
    uint64_t watermark; /* the data version it was read at */
    void *memory;
    tb_bill_origins origins; /* of tb_store_bill_input, where there is a log of documents (prooflog.h) */
    void *origins_memory;
} tb_bill_source;

#define TB_NOW UINT64_MAX

/* An account's month to be billed. */
typedef struct tb_bill_query {
    int64_t account, month;
    uint64_t watermark;   /* data version, or TB_NOW: the current one */
    const tb_book *books; /* price books, not owned */
    size_t n_books;
    int64_t now_us;
} tb_bill_query;

/* Reads an account's month as it is now (watermark TB_NOW) or was at an earlier watermark: without later late deltas,
 * and with the catalogue and regions as declared then. A month that is billed (by its invoice or, without one, by
 * corrections on a later one) keeps the prices of its first bill: books added later do not count, and a location
 * keeps its billing region of that time; a location without one has the first that it got. Books that are not in the
 * store (a scenario's) always count.
 *
 * The account's contract is the one declared at the month's end. A commit without a first month begins with the month
 * in which the account was first declared. If the contract names a book, that book is in force from its
 * effective_from on, and the currency's books before that; if there is no such book, no part has one and book_missing
 * is set. Books of scope contract are for such accounts only. Books without a sha256 are not stored ones: they replace
 * all others, the contract's too.
 *
 * now_us: the month is running when it is not over, and nothing after now exists yet (fees of a running month are
 * those so far). An hour is billed by the settings and attachments in force at its start; currency, contract and tax
 * rates are those declared at the month's end, which is everywhere here the start of its last hour, 23:00 UTC: a
 * declaration within that hour counts from the next month on. Evidence: see bill.h; the hash takes for each day with
 * usage its number since 1970 as 8 bytes and its sum as 16.
 *
 * Consecutive months of one account are cheapest: the account is read once. TB_E_NOT_FOUND: no such account (at that
 * watermark). TB_E_DECLARED: a declaration that the month depends on cannot be read (the message names it); only a
 * file written by an older version has such. */
TB_MUST_USE tb_code tb_store_bill_input(tb_store *store, const tb_bill_query *query,
                                        tb_bill_source *ret_source, tb_error *err);
/* The same without tax rates, for output without tax: unreadable rates are no error. */
TB_MUST_USE tb_code tb_store_net_input(tb_store *store, const tb_bill_query *query,
                                       tb_bill_source *ret_source, tb_error *err);
/* tb_store_bill_input with usage before usage_us only, while fees go on to now_us: the month as it was at a moment. For
 * forecasts, and for testing them on past months. */
TB_MUST_USE tb_code tb_store_bill_input_until(tb_store *store, const tb_bill_query *query,
                                              int64_t usage_us, tb_bill_source *ret_source,
                                              tb_error *err);
/* tb_store_net_input of zones first..last only, in the caller's snapshot: enough to rate these zones, unless
 * *ret_shared: then one of them has volume bandwidth, and its price depends on the whole account's input. */
TB_MUST_USE tb_code tb_store_zones_input(tb_store *store, const tb_bill_query *query, int64_t first,
                                         int64_t last, bool *ret_shared, tb_bill_source *ret_source,
                                         tb_error *err);
void tb_bill_source_release(tb_bill_source *source);

/* Up to schema 3 a month that was billed again took the regions that held at the asked watermark, not
 * those it was priced by. While this is on, inputs do so: to rate again what was rated then. */
void tb_store_let_regions_move(tb_store *store, bool move);
/* Daily usage of the days [from_day, to_day) (numbers since 1970), sorted by how each zone is billed
 * at at_us: what has changed its type has its whole past with the new one. Late usage and deleted
 * zones are in it. tb_usage_history_release. TB_E_NOT_FOUND: no such account. */
TB_MUST_USE tb_code tb_store_usage_history(tb_store *store, int64_t account, int64_t from_day,
                                           int64_t to_day, int64_t at_us,
                                           tb_usage_history *ret_history, tb_error *err);
void tb_usage_history_release(tb_usage_history *history);
/* Hours since 1970 of the newest bucket of any account; INT64_MIN if there is none. */
TB_MUST_USE tb_code tb_store_newest_hour(tb_store *store, int64_t *ret_hour, tb_error *err);

/* Accounts that have anything in a month: a zone or balancer that existed, usage, a commit, or recurring fees of their own
 * (from the month on in which they were declared first). free(). */
TB_MUST_USE tb_code tb_store_billed_accounts(tb_store *store, int64_t month, int64_t **ret_accounts,
                                             size_t *ret_n, tb_error *err);
/* Accounts that have an invoice or credit note of the month, void ones too. free(). */
TB_MUST_USE tb_code tb_store_invoiced_accounts(tb_store *store, int64_t month,
                                               int64_t **ret_accounts, size_t *ret_n,
                                               tb_error *err);

/* --- usage that no account pays for --- */

/* A pull zone or load balancer that has usage and that no catalogue has named. */
typedef struct tb_unowned {
    bool balancer;
    int64_t id;
    tb_i128 requests, bytes; /* of the month; a balancer has no bytes */
} tb_unowned;
/* All with usage in the month: zones before balancers, then the most bytes, the most requests and the lowest id first.
 * Costs a lookup for each id with usage, and a row for each series of those found. free(). */
TB_MUST_USE tb_code tb_store_unowned(tb_store *store, int64_t month, tb_unowned **ret_unowned,
                                     size_t *ret_n, tb_error *err);

/* --- load balancers --- */

typedef struct tb_balancer_month {
    int64_t account;
    int64_t created_us, ended_us; /* INT64_MIN and INT64_MAX where open */
    tb_i128 requests; /* that reached it: imported rows, and log lines of zones attached then */
} tb_balancer_month;
/* TB_E_NOT_FOUND where it is no balancer of this account. */
TB_MUST_USE tb_code tb_store_balancer_month(tb_store *store, int64_t account, int64_t balancer,
                                            int64_t month, tb_balancer_month *ret, tb_error *err);

/* An account's current terms: prepaid, discounts, limits. Bills use the terms of their time. */

typedef struct tb_account_terms {
    bool prepaid;
    int discount[TB_BILLING_REGION_COUNT]; /* percent; EUUSDiscount is both EU's and NA's */
} tb_account_terms;
/* TB_E_NOT_FOUND: no such account. TB_E_DECLARED: its discounts cannot be read. */
TB_MUST_USE tb_code tb_store_account_terms(tb_store *store, int64_t account,
                                           tb_account_terms *ret_terms, tb_error *err);
/* Whether the account is prepaid now; unreadable discounts are no error. */
TB_MUST_USE tb_code tb_store_account_prepaid(tb_store *store, int64_t account, bool *ret_prepaid,
                                             tb_error *err);

/* Whether it was prepaid at a moment. */
TB_MUST_USE tb_code tb_store_account_was_prepaid(tb_store *store, int64_t account, int64_t at_us,
                                                 bool *ret_prepaid, tb_error *err);

typedef struct tb_account_choice {
    int64_t after;  /* those with a larger number */
    tb_text search; /* a part of the name, ignoring ASCII case, or of the number; len 0: all */
    bool by_name;   /* ascending by name, ignoring ASCII case; else by number */
} tb_account_choice;
/* The declared accounts of this choice. free(). */
TB_MUST_USE tb_code tb_store_accounts(tb_store *store, const tb_account_choice *choice,
                                      int64_t **ret_accounts, size_t *ret_n, tb_error *err);
/* The declared accounts whose contract now bills bandwidth at a percentile, ascending. free(). */
TB_MUST_USE tb_code tb_store_percentile_accounts(tb_store *store, int64_t **ret_accounts, size_t *ret_n, tb_error *err);

/* Whether it was prepaid, by the catalogue of a data version. */
TB_MUST_USE tb_code tb_store_account_known_prepaid(tb_store *store, int64_t account, uint64_t version,
                                                   bool *ret_prepaid, tb_error *err);

/* The account's declared name. TB_E_NOT_FOUND: no such account. */
TB_MUST_USE tb_code tb_store_account_name(tb_store *store, int64_t account, tb_buf *out, tb_error *err);

/* The currency that the account declares now: that of its payments, credits, adjustments and opening balances,
 * whatever their day. TB_E_NOT_FOUND: no such account. */
TB_MUST_USE tb_code tb_store_account_currency(tb_store *store, int64_t account, char ret_currency[4], tb_error *err);
/* The currency of an account's month, as in its bill: the one in force at the start of the month's last hour, 23:00
 * UTC; that of the account's ledger, if the account declares it now. TB_E_NOT_FOUND: no such account. */
TB_MUST_USE tb_code tb_store_month_currency(tb_store *store, int64_t account, int64_t month,
                                            char ret_currency[4], tb_error *err);
/* The sum of its taxes, percent, at the same moment. */
TB_MUST_USE tb_code tb_store_month_tax(tb_store *store, int64_t account, int64_t month,
                                       tb_decimal *ret_percent, tb_error *err);
/* The cap that the account declares now, for the running month. */
typedef struct tb_account_cap {
    tb_cap_action action; /* TB_CAP_NONE: there is no cap, or no such account */
    tb_decimal amount;
    bool reached; /* the alert of it, or of a higher cap, stands */
} tb_account_cap;
/* TB_E_DECLARED: its contract cannot be read. */
TB_MUST_USE tb_code tb_store_account_cap(tb_store *store, int64_t account, int64_t month, tb_account_cap *ret_cap,
                                         tb_error *err);
/* Its contract at the same moment. TB_E_DECLARED: it cannot be read. */
TB_MUST_USE tb_code tb_store_month_contract(tb_store *store, int64_t account, int64_t month,
                                            tb_contract *ret_contract, tb_error *err);

typedef struct tb_zone_terms {
    int64_t zone;
    bool enabled;  /* the setting; true where it is not set */
    int64_t limit; /* MonthlyBandwidthLimit, bytes; 0: none */
} tb_zone_terms;
/* The account's zones that exist at now_us, ascending by id. free(). */
TB_MUST_USE tb_code tb_store_zone_terms(tb_store *store, int64_t account, int64_t now_us,
                                        tb_zone_terms **ret_zones, size_t *ret_n, tb_error *err);

/* The account of a zone, also of a deleted one. TB_E_ZONE_NOT_FOUND: the zone belongs to no account. */
TB_MUST_USE tb_code tb_store_zone_account(tb_store *store, int64_t zone, int64_t *ret_account,
                                          tb_error *err);

/* The account of a balancer. TB_E_NOT_FOUND: the balancer belongs to no account. */
TB_MUST_USE tb_code tb_store_balancer_account(tb_store *store, int64_t balancer,
                                              int64_t *ret_account, tb_error *err);

TB_API_END

#endif
