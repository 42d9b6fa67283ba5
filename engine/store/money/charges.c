/* One-off charges. Amounts are stored as numbers of the currency's smallest units, so that a trigger can check that a
 * charge is billed once. */
#include "store/money/billing.h"
#include "tollbook/chargestore.h"
#include "tollbook/ledgerstore.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define UNITS_MAX INT64_C(1000000000000000) /* 10^15: sums of TB_CHARGES_DUE_MAX fit 63 bits */

/* Columns: see TB__CHARGE_COLUMNS. */
static tb_code charge_from(sqlite3_stmt *s, void *item, tb_error *err)
{
    tb_one_off *c = item;
    *c = (tb_one_off){.id = sqlite3_column_int64(s, 0),
                      .account = sqlite3_column_int64(s, 1),
                      .month = sqlite3_column_int64(s, 2),
                      .added_us = sqlite3_column_int64(s, 8)};
    tb_code code = tb__copy_text(s, 5, c->currency, sizeof c->currency, err);
    if (!code) code = tb__copy_text(s, 6, c->description, sizeof c->description, err);
    if (!code) code = tb__copy_text(s, 7, c->reference, sizeof c->reference, err);
    if (!code) code = tb__copy_text(s, 9, c->invoice, sizeof c->invoice, err);
    if (!code) code = tb__copy_text(s, 10, c->tax_category, sizeof c->tax_category, err);
    const int digits = tb_currency_minor_digits(c->currency);
    c->amount = (tb_decimal){sqlite3_column_int64(s, 3), digits};
    c->due = (tb_decimal){sqlite3_column_int64(s, 4), digits};
    return code;
}

static const tb__rows charge_rows = {sizeof(tb_one_off), charge_from, NULL};

tb_code tb_store_charges(tb_store *store, int64_t account, tb_one_off **ret_list, size_t *ret_n, tb_error *err)
{
    return tb__collect_ints(store, TB__SQL_CHARGES, &account, 1, &charge_rows, ret_list, ret_n, err);
}

tb_code tb_store_charges_due(tb_store *store, int64_t account, int64_t month, tb_one_off **ret_list, size_t *ret_n,
                             tb_error *err)
{
    const int64_t values[2] = {account, month};
    return tb__collect_ints(store, TB__SQL_CHARGES_DUE, values, 2, &charge_rows, ret_list, ret_n, err);
}

tb_code tb_store_charges_billed(tb_store *store, const char *number, tb_one_off **ret_list, size_t *ret_n, tb_error *err)
{
    sqlite3_stmt *s;
    tb_code code = tb__sql(store, TB__SQL_CHARGES_BILLED, &s, err);
    if (code) return code;
    sqlite3_bind_text(s, 1, number, -1, SQLITE_STATIC);
    return tb__collect(store, s, &charge_rows, ret_list, ret_n, err);
}

tb_code tb_store_charged_accounts(tb_store *store, int64_t month, int64_t **ret_accounts, size_t *ret_n, tb_error *err)
{
    return tb__list_ints(store, TB__SQL_CHARGED_ACCOUNTS, &month, 1, ret_accounts, ret_n, err);
}

static tb_code find_charge(tb_store *store, sqlite3_stmt *s, tb_one_off *ret, bool *ret_found, tb_error *err)
{
    tb_code code = tb__step(store, s, ret_found, err);
    if (code || !*ret_found) return code;
    code = charge_from(s, ret, err);
    sqlite3_reset(s);
    return code;
}

static tb_code find_named(tb_store *store, const tb_one_off *charge, tb_one_off *ret, bool *ret_found, tb_error *err)
{
    sqlite3_stmt *s;
    tb_code code = tb__sql_ints(store, TB__SQL_CHARGE_NAMED, &charge->account, 1, &s, err);
    if (code) return code;
    sqlite3_bind_text(s, 2, charge->reference, -1, SQLITE_STATIC);
    return find_charge(store, s, ret, ret_found, err);
}

/* --- adding --- */

static tb_code check_charge_amount(tb_one_off *charge, tb_error *err)
{
    const int digits = tb_currency_minor_digits(charge->currency);
    tb_decimal rounded;
    if (tb_decimal_sign(charge->amount) == 0) return tb_fail(err, TB_E_VALIDATION, "amount", "The amount is not zero.");
    tb_code code = tb_decimal_round(charge->amount, digits, TB_HALF_UP, &rounded, err);
    if (code) return code;
    if (tb_decimal_compare(rounded, charge->amount) != 0)
        return tb_fail(err, TB_E_VALIDATION, "amount", "An amount of %s has at most %d digits after the point.",
                       charge->currency, digits);
    code = tb_decimal_add(rounded, (tb_decimal){0, digits}, &charge->amount, err);
    if (code) return code;
    if (charge->amount.mantissa > UNITS_MAX || charge->amount.mantissa < -UNITS_MAX)
        return tb_fail(err, TB_E_VALIDATION, "amount", "The amount is too large.");
    return TB_OK;
}

/* A final document of the month cannot take it any more. */
static tb_code check_month_open(tb_store *store, const tb_one_off *charge, tb_error *err)
{
    const tb_invoice of = {.account = charge->account, .month = charge->month, .kind = "invoice"};
    sqlite3_stmt *s;
    char month[8], number[24];
    bool row = false;
    tb_code code = tb__sql_ints(store, TB__SQL_INVOICE_KNOWN, (const int64_t[2]){of.account, of.month}, 2, &s, err);
    if (code) return code;
    sqlite3_bind_text(s, 3, of.kind, -1, SQLITE_STATIC);
    sqlite3_bind_int64(s, 4, 0);
    code = tb__step(store, s, &row, err);
    if (code || !row) return code;
    code = tb__copy_text(s, 0, number, sizeof number, err);
    sqlite3_reset(s);
    tb_month_format(charge->month, month);
    return code ? code
                : tb_fail(err, TB_E_VALIDATION, "month", "Invoice %s of %s is final: give a later --month.", number, month);
}

static tb_code check_room(tb_store *store, const tb_one_off *charge, tb_error *err)
{
    tb_one_off *list = NULL;
    size_t n = 0, due = 0;
    tb_code code = tb_store_charges(store, charge->account, &list, &n, err);
    for (size_t i = 0; i < n; i++)
        due += tb_decimal_sign(list[i].due) != 0;
    free(list);
    if (code || due < TB_CHARGES_DUE_MAX) return code;
    return tb_fail(err, TB_E_VALIDATION, "account", "%d charges of this account wait for a document already.",
                   TB_CHARGES_DUE_MAX);
}

static tb_code insert_charge(tb_store *store, const tb_one_off *charge, tb_error *err)
{
    const int64_t values[4] = {charge->id, charge->account, charge->month, (int64_t)charge->amount.mantissa};
    sqlite3_stmt *s;
    tb_code code = tb__sql_ints(store, TB__SQL_CHARGE_INSERT, values, 4, &s, err);
    if (code) return code;
    sqlite3_bind_text(s, 5, charge->currency, -1, SQLITE_STATIC);
    sqlite3_bind_text(s, 6, charge->description, -1, SQLITE_STATIC);
    sqlite3_bind_text(s, 7, charge->reference, -1, SQLITE_STATIC);
    sqlite3_bind_int64(s, 8, charge->added_us);
    sqlite3_bind_text(s, 9, charge->tax_category, -1, SQLITE_STATIC);
    return tb__run(store, s, err);
}

static bool same_charge(const tb_one_off *a, const tb_one_off *b)
{
    return a->month == b->month && tb_decimal_compare(a->amount, b->amount) == 0 &&
           strcmp(a->description, b->description) == 0 && strcmp(a->tax_category, b->tax_category) == 0;
}

tb_code tb_store_charge_add(tb_store *store, tb_one_off *charge, bool *ret_known, tb_error *err)
{
    tb_one_off known;
    *ret_known = false;
    tb_code code = tb_store_need_account(store, charge->account, err);
    if (!code && charge->reference[0]) code = find_named(store, charge, &known, ret_known, err);
    if (code) return code;
    if (*ret_known && !same_charge(&known, charge))
        return tb_fail(err, TB_E_VALIDATION, "reference", "Charge %" PRId64 " has this reference, and differs in month, amount, description or tax category.",
                       known.id);
    if (*ret_known) {
        *charge = known;
        return TB_OK;
    }
    code = tb_store_check_begun(store, charge->month, err);
    if (!code) code = tb_store_month_currency(store, charge->account, charge->month, charge->currency, err);
    if (!code) code = check_charge_amount(charge, err);
    if (!code) code = check_month_open(store, charge, err);
    if (!code) code = check_room(store, charge, err);
    if (!code) code = tb__next_id(store, TB__SQL_CHARGE_NEXT, "charge", &charge->id, err);
    if (!code) code = insert_charge(store, charge, err);
    charge->due = charge->amount;
    if (!code) store->dirty = true;
    return code;
}

tb_code tb_store_charge_drop(tb_store *store, int64_t id, tb_error *err)
{
    tb_one_off charge;
    sqlite3_stmt *s;
    bool found = false;
    tb_code code = tb__sql_ints(store, TB__SQL_CHARGE, &id, 1, &s, err);
    if (!code) code = find_charge(store, s, &charge, &found, err);
    if (code) return code;
    if (!found) return tb_fail(err, TB_E_NOT_FOUND, "id", "There is no charge %" PRId64 ".", id);
    if (charge.invoice[0])
        return tb_fail(err, TB_E_VALIDATION, "id", "Invoice %s has billed it. Add a charge of the opposite amount, or void the invoice first.",
                       charge.invoice);
    code = tb__run_ints(store, TB__SQL_CHARGE_DROP, &id, 1, err);
    if (!code) store->dirty = true;
    return code;
}
