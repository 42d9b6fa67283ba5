/* Terms out of the catalogue's documents: an account's by the reading that bills have, of zones
 * SQLite picks the members, which were judged when they were applied. */
#include "tollbook/billsource.h"

#include "store/core/internal.h"
#include "store/money/billing.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* The account's document as the statement gives it. */
static tb_code read_account(tb_store *store, tb__statement id, const int64_t *values, int n,
                            tb__account_terms *ret, tb_error why[TB__PARTS], tb_error *err)
{
    sqlite3_stmt *s;
    bool row;
    tb_code code = tb__sql_ints(store, id, values, n, &s, err);
    if (!code) code = tb__step(store, s, &row, err);
    if (code) return code;
    if (!row) return tb__no_account("account", values[0], err);
    code = tb__account_terms_of((const char *)sqlite3_column_text(s, 0),
                                (size_t)sqlite3_column_bytes(s, 0), values[0], ret, why, err);
    sqlite3_reset(s);
    return code;
}

static tb_code fail_as(const tb_error *why, tb_error *err)
{
    return why->code ? tb_fail(err, why->code, why->field, "%s", why->message) : TB_OK;
}

tb_code tb_store_account_terms(tb_store *store, int64_t account, tb_account_terms *ret_terms,
                               tb_error *err)
{
    tb__account_terms terms;
    tb_error why[TB__PARTS];
    tb_code code = read_account(store, TB__SQL_ACCOUNT_GET, &account, 1, &terms, why, err);
    if (!code) code = fail_as(&why[TB__PART_DISCOUNTS], err);
    if (code) return code;
    ret_terms->prepaid = terms.prepaid;
    memcpy(ret_terms->discount, terms.discount, sizeof terms.discount);
    return TB_OK;
}

tb_code tb_store_account_prepaid(tb_store *store, int64_t account, bool *ret_prepaid, tb_error *err)
{
    tb__account_terms terms;
    tb_error why[TB__PARTS];
    tb_code code = read_account(store, TB__SQL_ACCOUNT_GET, &account, 1, &terms, why, err);
    if (!code) *ret_prepaid = terms.prepaid;
    return code;
}

tb_code tb_store_account_currency(tb_store *store, int64_t account, char ret_currency[4], tb_error *err)
{
    tb__account_terms terms;
    tb_error why[TB__PARTS];
    tb_code code = read_account(store, TB__SQL_ACCOUNT_GET, &account, 1, &terms, why, err);
    if (!code) code = fail_as(&why[TB__PART_CURRENCY], err);
    if (!code) memcpy(ret_currency, terms.currency, sizeof terms.currency);
    return code;
}

tb_code tb_store_account_was_prepaid(tb_store *store, int64_t account, int64_t at_us,
                                     bool *ret_prepaid, tb_error *err)
{
    const int64_t values[2] = {account, at_us};
    tb__account_terms terms;
    tb_error why[TB__PARTS];
    tb_code code = read_account(store, TB__SQL_ACCOUNT_DECLARED, values, 2, &terms, why, err);
    if (!code) *ret_prepaid = terms.prepaid;
    return code;
}

tb_code tb_store_account_known_prepaid(tb_store *store, int64_t account, uint64_t version,
                                       bool *ret_prepaid, tb_error *err)
{
    const int64_t values[2] = {account, (int64_t)version};
    tb__account_terms terms;
    tb_error why[TB__PARTS];
    tb_code code = read_account(store, TB__SQL_ACCOUNT_KNOWN, values, 2, &terms, why, err);
    if (!code) *ret_prepaid = terms.prepaid;
    return code;
}

tb_code tb_store_account_name(tb_store *store, int64_t account, tb_buf *out, tb_error *err)
{
    sqlite3_stmt *s;
    bool row = false;
    tb_code code = tb__sql_ints(store, TB__SQL_ACCOUNT_NAME, &account, 1, &s, err);
    if (!code) code = tb__step(store, s, &row, err);
    if (code) return code;
    if (!row) return tb_fail(err, TB_E_NOT_FOUND, NULL, NULL);
    tb_buf_add(out, (const char *)sqlite3_column_text(s, 0), (size_t)sqlite3_column_bytes(s, 0));
    sqlite3_reset(s);
    return tb_buf_check(out, err);
}

static tb_code take_id(sqlite3_stmt *row, void *item, tb_error *err)
{
    (void)err;
    *(int64_t *)item = sqlite3_column_int64(row, 0);
    return TB_OK;
}

tb_code tb_store_accounts(tb_store *store, const tb_account_choice *choice, int64_t **ret_accounts,
                          size_t *ret_n, tb_error *err)
{
    static const tb__rows rows = {sizeof(int64_t), take_id, NULL};
    const tb_text search = choice->search;
    sqlite3_stmt *s;
    tb_code code = tb__sql_ints(
        store, choice->by_name ? TB__SQL_ACCOUNTS_CHOSEN_NAMED : TB__SQL_ACCOUNTS_CHOSEN,
        &choice->after, 1, &s, err);
    if (code) return code;
    sqlite3_bind_text64(s, 2, search.len ? search.data : "", search.len, SQLITE_STATIC, SQLITE_UTF8);
    return tb__collect(store, s, &rows, ret_accounts, ret_n, err);
}

tb_code tb_store_percentile_accounts(tb_store *store, int64_t **ret_accounts, size_t *ret_n, tb_error *err)
{
    return tb__list_ints(store, TB__SQL_ACCOUNTS_OF_PERCENTILE, NULL, 0, ret_accounts, ret_n, err);
}

/* As declared at the month's end. */
static tb_code read_declared(tb_store *store, int64_t account, int64_t month, tb__account_terms *ret,
                          tb_error why[TB__PARTS], tb_error *err)
{
    int64_t last_hour = tb_month_first_day(month + 1) * 24 - 1;
    const int64_t values[2] = {account, last_hour * TB_US_PER_HOUR};
    return read_account(store, TB__SQL_ACCOUNT_DECLARED, values, 2, ret, why, err);
}

tb_code tb__keep_currency(tb_store *store, int64_t account, const char declared_now[4],
                          char currency[4], tb_error *err)
{
    sqlite3_stmt *s;
    bool row = false;
    if (strcmp(declared_now, currency) == 0) return TB_OK;
    tb_code code = tb__sql_ints(store, TB__SQL_LEDGER_CURRENCY, &account, 1, &s, err);
    if (!code) code = tb__step(store, s, &row, err);
    if (code || !row) return code;
    const char *kept = (const char *)sqlite3_column_text(s, 0);
    if (kept && strcmp(kept, declared_now) == 0) memcpy(currency, declared_now, 4);
    sqlite3_reset(s);
    return kept ? TB_OK : tb_no_memory(err);
}

tb_code tb_store_month_currency(tb_store *store, int64_t account, int64_t month,
                                char ret_currency[4], tb_error *err)
{
    tb__account_terms terms, now;
    tb_error why[TB__PARTS], unused[TB__PARTS];
    tb_code code = read_declared(store, account, month, &terms, why, err);
    if (!code) code = fail_as(&why[TB__PART_CURRENCY], err);
    if (!code) code = read_account(store, TB__SQL_ACCOUNT_GET, &account, 1, &now, unused, err);
    if (!code) code = tb__keep_currency(store, account, now.currency, terms.currency, err);
    if (!code) memcpy(ret_currency, terms.currency, sizeof terms.currency);
    return code;
}

tb_code tb_store_month_tax(tb_store *store, int64_t account, int64_t month, tb_decimal *ret_percent,
                           tb_error *err)
{
    tb__account_terms terms;
    tb_error why[TB__PARTS];
    tb_decimal sum = TB_DECIMAL_ZERO;
    tb_code code = read_declared(store, account, month, &terms, why, err);
    if (!code) code = fail_as(&why[TB__PART_TAX], err);
    for (size_t i = 0; !code && i < terms.n_tax; i++)
        code = tb_decimal_add(sum, terms.tax[i].percent, &sum, err);
    if (!code) *ret_percent = sum;
    return code;
}

tb_code tb_store_month_contract(tb_store *store, int64_t account, int64_t month,
                                tb_contract *ret_contract, tb_error *err)
{
    tb__account_terms terms;
    tb_error why[TB__PARTS];
    tb_code code = read_declared(store, account, month, &terms, why, err);
    if (!code) code = fail_as(&why[TB__PART_CONTRACT], err);
    if (!code) *ret_contract = terms.contract;
    return code;
}

tb_code tb_store_account_cap(tb_store *store, int64_t account, int64_t month, tb_account_cap *ret_cap, tb_error *err)
{
    tb__account_terms terms;
    tb_error why[TB__PARTS];
    sqlite3_stmt *s;
    bool row = false;
    int64_t at_us = 0;
    *ret_cap = (tb_account_cap){TB_CAP_NONE};
    tb_code code = tb__sql_ints(store, TB__SQL_ACCOUNT_GET, &account, 1, &s, err);
    if (!code) code = tb__step(store, s, &row, err);
    if (code || !row) return code;
    if (sqlite3_column_int64(s, 1) == INT64_MAX) {
        code = tb__account_terms_of((const char *)sqlite3_column_text(s, 0), (size_t)sqlite3_column_bytes(s, 0), account,
                                    &terms, why, err);
        if (!code) code = fail_as(&why[TB__PART_CONTRACT], err);
        if (!code) *ret_cap = (tb_account_cap){.action = terms.contract.cap_action, .amount = terms.contract.cap};
    }
    sqlite3_reset(s);
    if (code || !ret_cap->action) return code;
    code = tb__cap_alert(store, account, month, ret_cap->amount, terms.currency, &at_us, err);
    ret_cap->reached = at_us != 0;
    return code;
}

static tb_code zone_terms_from(sqlite3_stmt *s, void *item, tb_error *err)
{
    (void)err;
    *(tb_zone_terms *)item = (tb_zone_terms){.zone = sqlite3_column_int64(s, 0),
                                             .enabled = sqlite3_column_int(s, 1) != 0,
                                             .limit = sqlite3_column_int64(s, 2)};
    return TB_OK;
}

static const tb__rows zone_terms_rows = {sizeof(tb_zone_terms), zone_terms_from, NULL};

tb_code tb_store_zone_terms(tb_store *store, int64_t account, int64_t now_us,
                            tb_zone_terms **ret_zones, size_t *ret_n, tb_error *err)
{
    const int64_t values[2] = {account, now_us};
    return tb__collect_ints(store, TB__SQL_ZONE_TERMS, values, 2, &zone_terms_rows, ret_zones,
                            ret_n, err);
}

tb_code tb_store_zone_account(tb_store *store, int64_t zone, int64_t *ret_account, tb_error *err)
{
    int64_t account = 0;
    tb_code code = tb__int_of(store, TB__SQL_ZONE_ACCOUNT, &zone, 1, 0, &account, err);
    if (code) return code;
    if (account == 0)
        return tb_fail(err, TB_E_ZONE_NOT_FOUND, "zone",
                       "No account has a pull zone %" PRId64 ". See: tollbook query "
                       "'SELECT id, account, name FROM zone'",
                       zone);
    *ret_account = account;
    return TB_OK;
}

tb_code tb_store_balancer_account(tb_store *store, int64_t balancer, int64_t *ret_account,
                                  tb_error *err)
{
    int64_t account = 0;
    tb_code code = tb__int_of(store, TB__SQL_BALANCER_ACCOUNT, &balancer, 1, 0, &account, err);
    if (code) return code;
    if (account == 0)
        return tb_fail(err, TB_E_NOT_FOUND, "LoadBalancer",
                       "There is no load balancer %" PRId64 ".", balancer);
    *ret_account = account;
    return TB_OK;
}
