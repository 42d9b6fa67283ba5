/* Reads from the store what is billed: an account's month as the input of its bill, usage without
 * an account, a load balancer's month.
 *
 * What a later batch adds to a month that was run is kept as late deltas too, so that the month can
 * be read as it stood at any watermark. */
#ifndef TOLLBOOK_BILLSOURCE_H
#define TOLLBOOK_BILLSOURCE_H

#include "tollbook/bill.h"
#include "tollbook/book.h"
#include "tollbook/catalog.h"
#include "tollbook/store.h"

TB_API_BEGIN

/* An input and the memory it lies in. The books must outlive it. */
typedef struct tb_bill_source {
    tb_bill_input input;
    uint64_t watermark; /* the data version it was read at */
    void *memory;
} tb_bill_source;

/* What account's month holds, as it stands now (watermark TB_NOW) or as it stood at an earlier
 * watermark: late deltas after it taken off, the catalogue and the regions as they were declared
 * then. Where the month is billed (by its invoice or, without one, by corrections on a later one), it
 * stays with the prices it was billed with first: books added after that do not count, and a
 * location keeps the billing region it had then; one that had none has the first it got. Books that are not in the store (a scenario's) always count.
 *
 * The account's contract is the one declared at the month's end. A commit that does not say from when
 * begins with the month in which the account was first declared. Where it names a book, that one holds from
 * its effective_from on, and the currency's books before that; where there is no such book, no part has
 * one and book_lacks says why. Books of scope contract are for such accounts alone. Books without a
 * sha256 are no stored ones: they stand in the place of all, the contract's too.
 *
 * now_us: the month is running when it is not over, and nothing has existed past now yet (fees of a
 * running month are those so far). An hour belongs to the settings and attachments in force at its
 * start; currency, contract and tax rates are those declared at the month's end, which is
 * everywhere here the start of its last hour, 23:00 UTC: what is declared within that hour counts from the
 * next month on. Evidence: see bill.h; the
 * hash takes for each day that holds something its number since 1970 as 8 bytes and its sum as 16.
 *
 * Months of one account in a row are cheapest: the account is read once. TB_E_NOT_FOUND: no such
 * account (at that watermark). TB_E_DECLARED: the month depends on what cannot be read of a
 * declaration (it names it); only a file that an older tollbook filled holds such. */
#define TB_NOW UINT64_MAX
TB_MUST_USE tb_code tb_store_bill_input(tb_store *store, int64_t account, int64_t month,
                                        uint64_t watermark, const tb_book *books, size_t n_books,
                                        int64_t now_us, tb_bill_source *ret_source, tb_error *err);
/* The same without tax rates, for whatever shows no tax: rates that cannot be read do not matter. */
TB_MUST_USE tb_code tb_store_net_input(tb_store *store, int64_t account, int64_t month,
                                       uint64_t watermark, const tb_book *books, size_t n_books,
                                       int64_t now_us, tb_bill_source *ret_source, tb_error *err);
/* What is asked: the arguments of tb_store_bill_input. */
typedef struct tb_bill_ask {
    int64_t account, month;
    uint64_t watermark;
    const tb_book *books;
    size_t n_books;
    int64_t now_us;
} tb_bill_ask;
/* tb_store_bill_input with usage of the hours before usage_us's alone: a month as far as it had come, while
 * fees go on to now_us. For forecasts, and for trying them on months that are over. */
TB_MUST_USE tb_code tb_store_bill_input_until(tb_store *store, const tb_bill_ask *ask,
                                              int64_t usage_us, tb_bill_source *ret_source,
                                              tb_error *err);
/* tb_store_net_input of zones first..last alone, in the caller's snapshot: enough for what each of
 * these zones comes to, unless *ret_shared: then one of them has volume bandwidth, whose price the
 * whole account's input tells. */
TB_MUST_USE tb_code tb_store_zones_input(tb_store *store, const tb_bill_ask *ask, int64_t first,
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

/* Accounts that have anything in a month: a zone or balancer that existed, or usage. free(). */
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
/* Those with usage in the month: zones before balancers, then the most bytes, the most requests and
 * the lowest id first. Costs a look at each id that has usage, and a row for each series of those
 * that are found. free(). */
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

/* An account's terms in the catalogue: prepaid, discounts, limits. These are the ones declared now;
 * bills use those of their time (billsource.h). */

typedef struct tb_account_terms {
    bool prepaid;
    int discount[TB_BILLING_REGION_COUNT]; /* percent; EUUSDiscount is both EU's and NA's */
} tb_account_terms;
/* TB_E_NOT_FOUND: no such account. TB_E_DECLARED: its discounts cannot be read. */
TB_MUST_USE tb_code tb_store_account_terms(tb_store *store, int64_t account,
                                           tb_account_terms *ret_terms, tb_error *err);
/* Of these whether it is prepaid alone, whatever the rest says. */
TB_MUST_USE tb_code tb_store_account_prepaid(tb_store *store, int64_t account, bool *ret_prepaid,
                                             tb_error *err);

/* Whether it was prepaid at a moment. */
TB_MUST_USE tb_code tb_store_account_was_prepaid(tb_store *store, int64_t account, int64_t at_us,
                                                 bool *ret_prepaid, tb_error *err);

typedef struct tb_account_choice {
    int64_t after;  /* those with a larger number */
    tb_text search; /* what the name, whatever the ASCII case, or the number has in it; len 0: all */
    bool by_name;   /* ascending by name, whatever the ASCII case; else by number */
} tb_account_choice;
/* Accounts that are declared, those of the choice. free(). */
TB_MUST_USE tb_code tb_store_accounts(tb_store *store, const tb_account_choice *choice,
                                      int64_t **ret_accounts, size_t *ret_n, tb_error *err);

/* Whether it was, by the catalogue as it was known at a data version. */
TB_MUST_USE tb_code tb_store_account_known_prepaid(tb_store *store, int64_t account, uint64_t version,
                                                   bool *ret_prepaid, tb_error *err);

/* Its name, as it is declared. TB_E_NOT_FOUND: no such account. */
TB_MUST_USE tb_code tb_store_account_name(tb_store *store, int64_t account, tb_buf *out, tb_error *err);

/* The currency that the account declares now: that of its payments, credits, adjustments and opening balances, whatever
 * day they are of. TB_E_NOT_FOUND: no such account. */
TB_MUST_USE tb_code tb_store_account_currency(tb_store *store, int64_t account, char ret_currency[4], tb_error *err);
/* The currency an account's month is billed in: the one in force at the start of the month's last hour, 23:00
 * UTC, as in its bill; that of the account's ledger, where the account declares it now.
 * TB_E_NOT_FOUND: no such account. */
TB_MUST_USE tb_code tb_store_month_currency(tb_store *store, int64_t account, int64_t month,
                                            char ret_currency[4], tb_error *err);
/* All its taxes together, percent, likewise. */
TB_MUST_USE tb_code tb_store_month_tax(tb_store *store, int64_t account, int64_t month,
                                       tb_decimal *ret_percent, tb_error *err);
/* The contract, likewise. TB_E_DECLARED: it cannot be read. */
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

/* Whose zone it is, deleted ones too. TB_E_ZONE_NOT_FOUND: nobody's. */
TB_MUST_USE tb_code tb_store_zone_account(tb_store *store, int64_t zone, int64_t *ret_account,
                                          tb_error *err);

/* Whose balancer it is. TB_E_NOT_FOUND: nobody's. */
TB_MUST_USE tb_code tb_store_balancer_account(tb_store *store, int64_t balancer,
                                              int64_t *ret_account, tb_error *err);

TB_API_END

#endif
