/* Prepaid accounts in the ledger. A daily entry is found by its reference, which begins with its account and ends with
 * its date: the index of references is in the order of both. So a month costs its own entries, however long the ledger
 * is. Nothing is stored beside the entries: the moment since which an account is empty is computed from their sum, so
 * there is no second copy that could differ. */
#include "tollbook/ledgerstore.h"

#include "store/core/internal.h"
#include "store/money/billing.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tollbook/calendar.h"

#define REFERENCE 64
#define GRACE     "grace_days"

/* --- references --- */

void tb_prepaid_day_reference(int64_t account, int64_t day, char out[REFERENCE])
{
    const tb_date date = tb_date_from_day(day);
    snprintf(out, REFERENCE, "prepaid %" PRId64 " %04d-%02d-%02d", account, (int)date.year,
             (int)date.month, (int)date.day);
}

void tb_prepaid_month_reference(int64_t account, int64_t month, char out[REFERENCE])
{
    char text[8];
    tb_month_format(month, text);
    snprintf(out, REFERENCE, "prepaid %" PRId64 " %s", account, text);
}

/* The day that a reference ends with; INT64_MIN: with none. */
static int64_t day_of(const char *reference)
{
    const char *at = strrchr(reference, ' ');
    int64_t us = 0;
    if (!at || tb_date_parse(at + 1, strlen(at + 1), &us, NULL)) return INT64_MIN;
    return tb_day_from_us(us);
}

/* --- the days of a month --- */

/* Binds two texts of the caller's, which outlive the steps. */
static tb_code between(tb_store *store, tb__statement id, const char *from, const char *to,
                       sqlite3_stmt **ret, tb_error *err)
{
    tb_code code = tb__sql(store, id, ret, err);
    if (code) return code;
    sqlite3_bind_text(*ret, 1, from, -1, SQLITE_STATIC);
    sqlite3_bind_text(*ret, 2, to, -1, SQLITE_STATIC);
    return TB_OK;
}

static tb_code add_amount(sqlite3_stmt *s, tb_prepaid_month *m, tb_error *err)
{
    const char *text = (const char *)sqlite3_column_text(s, 0);
    tb_decimal amount;
    if (!text) return tb_no_memory(err);
    if (tb_decimal_parse(text, (size_t)sqlite3_column_bytes(s, 0), TB_DECIMAL_SCALE_MAX, &amount,
                         NULL))
        return tb_fail(err, TB_E_CORRUPT, "ledger", "An amount of the ledger cannot be read: %.40s",
                       text);
    tb_code code = tb_decimal_add(m->entered, amount, &m->entered, err);
    return code ? code : tb__copy_text(s, 1, m->currency, sizeof m->currency, err);
}

static tb_code sum_days(tb_store *store, const char *month, tb_prepaid_month *m, tb_error *err)
{
    char from[REFERENCE + 1], to[REFERENCE + 1];
    sqlite3_stmt *s;
    bool row = true;
    snprintf(from, sizeof from, "%s-", month);
    snprintf(to, sizeof to, "%s.", month); /* '.' follows '-' */
    tb_code code = between(store, TB__SQL_PREPAID_DAYS, from, to, &s, err);
    while (!code && !(code = tb__step(store, s, &row, err)) && row) {
        code = add_amount(s, m, err);
        if (code) sqlite3_reset(s);
    }
    return code;
}

tb_code tb_store_prepaid_month(tb_store *store, int64_t account, int64_t month,
                               tb_prepaid_month *ret, tb_error *err)
{
    char reference[REFERENCE];
    sqlite3_stmt *s;
    tb_prepaid_month m = {.entered = TB_DECIMAL_ZERO};
    tb_prepaid_month_reference(account, month, reference);
    tb_code code = sum_days(store, reference, &m, err);
    if (!code) code = tb__sql(store, TB__SQL_PREPAID_REVERSED, &s, err);
    if (code) return code;
    sqlite3_bind_text(s, 1, reference, -1, SQLITE_STATIC);
    code = tb__step(store, s, &m.reversed, err);
    if (m.reversed) sqlite3_reset(s);
    if (!code) *ret = m;
    return code;
}

tb_code tb_store_prepaid_last(tb_store *store, int64_t account, int64_t *ret_day, tb_error *err)
{
    char from[REFERENCE], to[REFERENCE];
    sqlite3_stmt *s;
    bool row = false;
    snprintf(from, sizeof from, "prepaid %" PRId64 " 0", account);
    snprintf(to, sizeof to, "prepaid %" PRId64 " :", account); /* ':' follows the digits */
    *ret_day = INT64_MIN;
    tb_code code = between(store, TB__SQL_PREPAID_LAST, from, to, &s, err);
    if (!code) code = tb__step(store, s, &row, err);
    if (code || !row) return code;
    const char *reference = (const char *)sqlite3_column_text(s, 0);
    if (reference) *ret_day = day_of(reference);
    sqlite3_reset(s);
    return reference ? TB_OK : tb_no_memory(err);
}

tb_code tb_store_prepaid_over(tb_store *store, int64_t account, int64_t month, bool *ret_over,
                              tb_error *err)
{
    const int64_t values[2] = {account, month};
    tb_prepaid_month days = {.reversed = false};
    int64_t ran = 0;
    tb_code code = tb__int_of(store, TB__SQL_PREPAID_RAN, values, 2, 0, &ran, err);
    if (!code) code = tb_store_prepaid_month(store, account, month, &days, err);
    if (!code) *ret_over = ran || days.reversed;
    return code;
}

tb_code tb_store_prepaid_accounts(tb_store *store, int64_t after, int64_t most,
                                  int64_t **ret_accounts, size_t *ret_n, tb_error *err)
{
    const int64_t values[2] = {after, most};
    return tb__list_ints(store, TB__SQL_PREPAID_ACCOUNTS, values, 2, ret_accounts, ret_n, err);
}

tb_code tb_store_prepaid_count(tb_store *store, int64_t *ret_n, tb_error *err)
{
    return tb__int_of(store, TB__SQL_PREPAID_COUNT, NULL, 0, 0, ret_n, err);
}

tb_code tb_store_prepaid_open(tb_store *store, int64_t month, int64_t **ret_accounts, size_t *ret_n,
                              tb_error *err)
{
    char text[8];
    sqlite3_stmt *s;
    tb_code code = tb__sql(store, TB__SQL_PREPAID_OPEN, &s, err);
    if (code) return code;
    tb_month_format(month, text);
    sqlite3_bind_text(s, 1, text, -1, SQLITE_STATIC);
    return tb__collect(store, s, &tb__int_rows, ret_accounts, ret_n, err);
}

/* --- funds --- */

typedef struct adding {
    tb_store *store;
    int64_t account, since; /* since: the entry since which it is empty */
    int64_t last;           /* the last entry; back: a reversal */
    bool back;
    tb_funds funds;
} adding;

/* It names its account and the entry that does it. */
static tb_code past_room(const adding *a, int64_t id, tb_error *err)
{
    char reference[REFERENCE] = "";
    sqlite3_stmt *s;
    bool row = false;
    tb_code code = tb__sql_ints(a->store, TB__SQL_LEDGER_MOMENT, &id, 1, &s, err);
    if (!code) code = tb__step(a->store, s, &row, err);
    if (!code && row) code = tb__copy_text(s, 1, reference, sizeof reference, err);
    if (row) sqlite3_reset(s);
    return code ? code
                : tb_fail(err, TB_E_OVERFLOW, "ledger",
                          "The balance of account %" PRId64 " passes 2^127-1 of its smallest units at "
                          "entry %" PRId64 ", %s.",
                          a->account, id, reference);
}

/* Updates the funds after an entry; not after a reversal, which is one step with the invoice that follows. */
static void note_funds(adding *a, int64_t id)
{
    const bool before = a->funds.empty;
    a->funds.empty = tb_decimal_sign(a->funds.balance) <= 0;
    if (a->funds.empty && !before) a->since = id;
}

/* Entries are added in the order in which they were entered: a late one counts from then on. */
static tb_code add_to(adding *a, sqlite3_stmt *s, tb_error *err)
{
    const int64_t id = sqlite3_column_int64(s, 0);
    const char *text = (const char *)sqlite3_column_text(s, 1);
    const char *kind = (const char *)sqlite3_column_text(s, 2);
    tb_decimal amount, *running = &a->funds.running;
    if (!text || !kind) return tb_no_memory(err);
    const bool back = strcmp(kind, tb_ledger_kind_name(TB_LEDGER_USAGE_REVERSAL)) == 0;
    if (tb_decimal_parse(text, (size_t)sqlite3_column_bytes(s, 1), TB_DECIMAL_SCALE_MAX, &amount, NULL))
        return tb_fail(err, TB_E_CORRUPT, "ledger", "Ledger entry %" PRId64 ": its amount cannot be read.",
                       id);
    if (tb_decimal_add(a->funds.balance, amount, &a->funds.balance, NULL))
        return past_room(a, id, err);
    if ((back || strcmp(kind, tb_ledger_kind_name(TB_LEDGER_USAGE)) == 0) &&
        tb_decimal_add(*running, amount, running, NULL))
        return past_room(a, id, err);
    a->last = id;
    a->back = back;
    if (!back) note_funds(a, id);
    return TB_OK;
}

/* Amounts stand in the index, so that a long ledger is read in few pages. */
tb_code tb_store_funds(tb_store *store, int64_t account, tb_funds *ret, tb_error *err)
{
    adding a = {.store = store, .account = account, .funds = {.balance = TB_DECIMAL_ZERO, .running = TB_DECIMAL_ZERO, .since_us = INT64_MAX}};
    sqlite3_stmt *s;
    bool row = true;
    tb_code code = tb__sql_ints(store, TB__SQL_LEDGER_AMOUNTS, &account, 1, &s, err);
    while (!code && !(code = tb__step(store, s, &row, err)) && row) {
        code = add_to(&a, s, err);
        if (code) sqlite3_reset(s);
    }
    if (!code && a.back) note_funds(&a, a.last);
    if (!code && a.funds.empty)
        code = tb__int_of(store, TB__SQL_LEDGER_MOMENT, &a.since, 1, 0, &a.funds.since_us, err);
    if (!code) *ret = a.funds;
    return code;
}

tb_code tb_store_grace(tb_store *store, int64_t *ret_days, tb_error *err)
{
    return tb__meta_get(store, GRACE, ret_days, err);
}

tb_code tb_store_set_grace(tb_store *store, int64_t days, tb_error *err)
{
    int64_t before = 0;
    tb_code code = tb_store_grace(store, &before, err);
    if (code || before == days) return code;
    code = tb__meta_set(store, GRACE, days, err);
    if (!code) store->dirty = true;
    return code;
}
