/* The ledger's first month, and the opening balances of accounts. Both can be changed until the first document is
 * final. An entry is never deleted: a changed balance is reversed and entered again. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/jsontext.h"
#include "ops/operations.h"
#include "tollbook/calendar.h"
#include "tollbook/ledgerstore.h"
#include "tollbook/ledger.h"
#include "tollbook/settle.h"
#include "tollbook/billsource.h"

/* --- the opening balances in force of an account --- */

/* Reads the account's entries and keeps its opening balances in force. */
static tb_code read_standing(tb_store *store, int64_t account, tb_ledger_entry **ret, size_t *ret_n,
                             tb_error *err)
{
    size_t n = 0, kept = 0;
    tb_code code = tb_store_ledger(store, account, ret, &n, err);
    if (code) return code;
    const int64_t back = tb_ledger_opening_back(*ret, n);
    for (size_t i = 0; i < n; i++)
        if (tb_ledger_is_opening(&(*ret)[i]) && (*ret)[i].id > back) (*ret)[kept++] = (*ret)[i];
    *ret_n = kept;
    return TB_OK;
}

static tb_code take_back(tb_store *store, const tb_ledger_entry *standing, size_t n, tb_error *err)
{
    tb_code code = TB_OK;
    bool known = false;
    for (size_t i = 0; !code && i < n; i++) {
        tb_ledger_entry e = standing[i];
        e.amount.mantissa = -e.amount.mantissa;
        e.expires[0] = 0;
        snprintf(e.document, sizeof e.document, "%s", TB_OPENING_BACK);
        snprintf(e.reference, sizeof e.reference, "opening back %" PRId64, standing[i].id);
        code = tb_store_ledger_add(store, &e, &known, err);
    }
    return code;
}

/* --- the month --- */

static tb_code check_movable(tb_store *store, int64_t month, int64_t before, tb_error *err)
{
    int64_t closed = 0;
    char text[8], number[24] = "";
    tb_code code = tb_store_last_closed(store, &closed, err);
    if (!code && closed != INT64_MIN) {
        tb_month_format(closed, text);
        return tb_fail(err, TB_E_CLOSED, "month",
                       "%s is closed, and what it accrues rests on where the ledger begins. Open "
                       "it again first:"
                       " tollbook ledger close --month %s --reopen",
                       text, text);
    }
    if (!code) code = tb_store_document_before(store, before ? INT64_MAX : month, number, err);
    if (code || !number[0]) return code;
    tb_month_format(before ? before : month, text);
    return before ? tb_fail(err, TB_E_CLOSED, "month",
                            "The ledger begins with %s, and %s is final. Void final documents first:"
                            " tollbook invoice --void %s",
                            text, number, number)
                  : tb_fail(err, TB_E_CLOSED, "month",
                            "%s bills a month before %s here. Begin with that month, or make it "
                            "void first: tollbook"
                            " invoice --void %s",
                            number, text, number);
}

static tb_code take_all_back(tb_store *store, uint64_t *back, tb_error *err)
{
    int64_t *accounts = NULL;
    size_t n = 0;
    tb_code code = tb_store_ledger_accounts(store, &accounts, &n, err);
    for (size_t i = 0; !code && i < n; i++) {
        tb_ledger_entry *standing = NULL;
        size_t n_standing = 0;
        code = read_standing(store, accounts[i], &standing, &n_standing, err);
        if (!code) code = take_back(store, standing, n_standing, err);
        *back += n_standing;
        free(standing);
    }
    free(accounts);
    return code;
}

/* Reverses daily entries of a prepaid account's months before the begin: no invoice will replace them. */
static tb_code reverse_days(tb_store *store, int64_t account, int64_t month, int64_t now_us,
                            tb_error *err)
{
    tb_ledger_entry *entries = NULL;
    size_t n = 0;
    int64_t last = INT64_MIN;
    tb_code code = tb_store_ledger(store, account, &entries, &n, err);
    for (size_t i = 0; !code && i < n; i++) {
        const int64_t own = tb_month_from_us(entries[i].at_us);
        if (entries[i].kind != TB_LEDGER_USAGE || own >= month || own == last) continue;
        code = tb_prepaid_reverse(store, account, own, now_us, err);
        last = own;
    }
    free(entries);
    return code;
}

/* What would be entered in a month before the begin later on is entered, or taken back, now. */
static tb_code settle_before(tb_store *store, int64_t month, int64_t now_us, tb_error *err)
{
    int64_t *accounts = NULL;
    size_t n = 0;
    tb_code code = tb_ledger_expire(store, 0, now_us, NULL, err);
    if (!code) code = tb_store_ledger_accounts(store, &accounts, &n, err);
    for (size_t i = 0; !code && i < n; i++)
        code = reverse_days(store, accounts[i], month, now_us, err);
    free(accounts);
    return code;
}

tb_code tb_ledger_begin(tb_store *store, int64_t month, int64_t now_us, tb_opened *ret,
                        tb_error *err)
{
    int64_t before = 0;
    char text[8];
    *ret = (tb_opened){.moved = false};
    tb_month_format(month, text);
    if (tb_month_start_us(month) > now_us)
        return tb_fail(err, TB_E_NOT_OVER, "month", "%s has not begun.", text);
    tb_code code = tb_store_ledger_begin(store, &before, err);
    if (code || before == month) return code;
    code = check_movable(store, month, before, err);
    if (!code) code = take_all_back(store, &ret->back, err);
    if (!code) code = settle_before(store, month, now_us, err);
    if (!code) code = tb_store_set_ledger_begin(store, month, err);
    ret->moved = !code;
    return code;
}

/* --- balances --- */

typedef struct opening {
    tb_store *store;
    int64_t month;
    tb_opened *done;
    tb_error *err;
} opening;

/* "INV-7", and "INV-7 (2)" where it was entered and taken back before. */
static void number_reference(char out[64], const tb_payment *p, int64_t month, unsigned time)
{
    char text[8], own[64];
    tb_month_format(month, text);
    snprintf(own, sizeof own, "opening %" PRId64 " %s", p->account, text);
    snprintf(out, 64, "%.56s", *p->reference ? p->reference : own);
    if (time > 1) snprintf(out + strlen(out), 64 - strlen(out), " (%u)", time);
}

#define TIMES_MAX 999

static tb_code name_entry(const opening *o, const tb_payment *p, int64_t back, tb_ledger_entry *e,
                          tb_error *err)
{
    tb_ledger_entry there;
    bool found = true;
    tb_code code = TB_OK;
    const size_t len = strlen(p->reference);
    if (len > 56 || !tb__is_printable(p->reference, len))
        return tb_fail(err, TB_E_VALIDATION, "reference",
                       "A reference has at most 56 bytes, and no control characters.");
    for (unsigned time = 1; !code && found && time <= TIMES_MAX; time++) {
        number_reference(e->reference, p, o->month, time);
        code = tb_store_ledger_find(o->store, e->kind, e->reference, &there, &found, err);
        if (code || !found) return code;
        if (there.account != e->account || !tb_ledger_is_opening(&there) || there.id > back) break;
    }
    return code ? code
                : tb_fail(err, TB_E_VALIDATION, "reference",
                          "\"%s\" is entered already. Each balance of an account has a reference "
                          "of its own.",
                          e->reference);
}

static tb_code fill_entry(const opening *o, const tb_payment *p, tb_ledger_entry *e, tb_error *err)
{
    char day[21];
    *e = (tb_ledger_entry){.account = p->account,
                           .kind = TB_LEDGER_ADJUSTMENT,
                           .amount = p->amount,
                           .at_us = tb_month_start_us(o->month),
                           .document = TB_OPENING};
    tb_code code = tb_store_account_currency(o->store, p->account, e->currency, err);
    if (code) return code;
    if (p->currency[0] && strcmp(p->currency, e->currency) != 0)
        return tb_fail(err, TB_E_VALIDATION, "currency",
                       "Account %" PRId64 " is billed in %s, and this is in %s.", p->account,
                       e->currency, p->currency);
    if (p->day != TB_NO_DAY && tb_decimal_sign(p->amount) > 0)
        return tb_fail(err, TB_E_VALIDATION, "due",
                       "A balance above 0 is the account's own money, which is not due. A debt is below 0.");
    if (p->day != TB_NO_DAY) {
        tb_time_format(p->day * TB_US_PER_DAY, day);
        snprintf(e->expires, sizeof e->expires, "%.10s", day);
    }
    return tb__ledger_check_amount(e, err);
}

static bool is_same(const opening *o, const tb_payment *p, const tb_ledger_entry *e)
{
    char reference[64], day[21] = "";
    number_reference(reference, p, o->month, 1);
    const size_t len = strlen(reference);
    if (p->day != TB_NO_DAY) tb_time_format(p->day * TB_US_PER_DAY, day);
    return tb_decimal_compare(p->amount, e->amount) == 0 && strncmp(e->expires, day, 10) == 0 &&
           strncmp(e->reference, reference, len) == 0 &&
           (!e->reference[len] || strncmp(e->reference + len, " (", 2) == 0);
}

/* What an account is given with: rows of it, those of nothing left out. */
typedef struct given {
    const tb_payment **rows;
    size_t n;
} given;

static bool is_known(const opening *o, given g, const tb_ledger_entry *standing, size_t n)
{
    if (g.n != n) return false;
    for (size_t i = 0; i < n; i++)
        if (!is_same(o, g.rows[i], &standing[i])) return false;
    return true;
}

static tb_code last_back(const opening *o, int64_t account, int64_t *ret_id)
{
    tb_ledger_entry *entries = NULL;
    size_t n = 0;
    tb_code code = tb_store_ledger(o->store, account, &entries, &n, o->err);
    *ret_id = code ? 0 : tb_ledger_opening_back(entries, n);
    free(entries);
    return code;
}

static tb_code enter_rows(const opening *o, int64_t account, given g)
{
    tb_ledger_entry e;
    tb_error why = {0};
    bool known = false;
    int64_t back = 0;
    tb_code code = last_back(o, account, &back);
    for (size_t i = 0; !code && i < g.n; i++) {
        code = fill_entry(o, g.rows[i], &e, &why);
        if (!code) code = name_entry(o, g.rows[i], back, &e, &why);
        if (!code) code = tb_store_ledger_add(o->store, &e, &known, &why);
        if (code) return tb__refuse_row(g.rows[i]->line, &why, "", o->err);
    }
    o->done->entered += g.n;
    return code;
}

static tb_code check_anew(const opening *o, int64_t account, tb_error *err)
{
    char number[24];
    tb_code code = tb_store_document_before(o->store, INT64_MAX, number, err);
    if (code || !number[0]) return code;
    return tb_fail(err, TB_E_CLOSED, "balances",
                   "Account %" PRId64
                   " has another opening balance, and %s is final: correct it with"
                   " `ledger adjust`.",
                   account, number);
}

/* `first` is the account's first row, for errors. */
static tb_code open_account(const opening *o, const tb_payment *first, given g)
{
    tb_ledger_entry *standing = NULL;
    size_t n = 0;
    tb_error why = {0};
    tb_code code = tb_store_need_account(o->store, first->account, &why);
    if (!code) code = read_standing(o->store, first->account, &standing, &n, &why);
    const bool known = !code && is_known(o, g, standing, n);
    if (!code && n && !known) code = check_anew(o, first->account, &why);
    if (!code && !known) code = take_back(o->store, standing, n, &why);
    free(standing);
    if (code) return tb__refuse_row(first->line, &why, "", o->err);
    if (known) {
        o->done->known += n;
        return TB_OK;
    }
    o->done->back += n;
    return enter_rows(o, first->account, g);
}

static int by_account(const void *a, const void *b)
{
    const tb_payment *const *x = a, *const *y = b;
    if ((*x)->account != (*y)->account) return (*x)->account < (*y)->account ? -1 : 1;
    return (*x > *y) - (*x < *y); /* in the order of the file */
}

static tb_code open_all(const opening *o, const tb_payment **rows, size_t n)
{
    tb_code code = TB_OK;
    for (size_t i = 0, end; !code && i < n; i = end) {
        given g = {.rows = rows + i};
        const tb_payment *first = rows[i];
        for (end = i; end < n && rows[end]->account == first->account; end++)
            if (tb_decimal_sign(rows[end]->amount)) g.rows[g.n++] = rows[end];
        code = open_account(o, first, g);
    }
    return code;
}

tb_code tb_ledger_open(tb_store *store, const tb_payments *balances, tb_opened *ret, tb_error *err)
{
    opening o = {.store = store, .done = ret, .err = err};
    tb_code code = tb_store_ledger_begin(store, &o.month, err);
    if (!code && !o.month)
        return tb_fail(err, TB_E_VALIDATION, "month",
                       "The ledger has no begin: say with which month it begins.");
    const tb_payment **rows = malloc((balances->n + 1) * sizeof *rows);
    if (!code && !rows) code = tb_no_memory(err);
    for (size_t i = 0; !code && i < balances->n; i++)
        rows[i] = &balances->list[i];
    if (!code && balances->n > 1) qsort(rows, balances->n, sizeof *rows, by_account);
    if (!code) code = open_all(&o, rows, balances->n);
    free(rows);
    return code;
}
