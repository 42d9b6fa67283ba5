/* An account's terms in the catalogue: prepaid, discounts, limits. These are the ones declared now;
 * bills use those of their time (billsource.h). */
#ifndef TOLLBOOK_TERMS_H
#define TOLLBOOK_TERMS_H

#include "tollbook/book.h"
#include "tollbook/contract.h"
#include "tollbook/store.h"

TB_API_BEGIN

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
