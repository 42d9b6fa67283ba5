/* Credits in the ledger. An invoice's draws are planned before it is numbered, since its text states the amount
 * paid; both are in one transaction, so nothing comes between. An account without any credit costs one look-up. */
#include "tollbook/ledger.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tollbook/calendar.h"
#include "tollbook/ledgerstore.h"

static void day_of(int64_t us, char out[11])
{
    char text[21] = "";
    tb_time_format(us, text);
    memcpy(out, text, 10);
    out[10] = 0;
}

/* --- drawing --- */

static tb_code read_credits(tb_store *store, int64_t account, tb_credit **ret_credits,
                            size_t *ret_n, char ret_currency[4], tb_error *err)
{
    tb_ledger_entry *entries = NULL;
    size_t n = 0;
    tb_code code = tb_store_ledger(store, account, &entries, &n, err);
    if (!code) code = tb_credits_of(entries, n, ret_credits, ret_n, err);
    if (!code) memcpy(ret_currency, n ? entries[0].currency : "", n ? 4 : 1);
    free(entries);
    return code;
}

tb_code tb_ledger_plan_draws(tb_store *store, int64_t account, tb_decimal total, int64_t now_us,
                             tb_draw_plan *ret_plan, tb_error *err)
{
    tb_draw_plan plan = {.paid = TB_DECIMAL_ZERO};
    tb_credit *credits = NULL;
    size_t n = 0;
    char day[11], currency[4];
    tb_code code = tb_store_has_credit(store, account, &plan.has_credit, err);
    if (!code && plan.has_credit) {
        day_of(now_us, day);
        code = read_credits(store, account, &credits, &n, currency, err);
        if (!code) code = tb_draws_plan(credits, n, day, total, &plan, err);
        free(credits);
    }
    if (!code) *ret_plan = plan;
    return code;
}

/* One side of a draw. It cannot be known: its invoice's number is new, or was made void now. */
static tb_code enter_leg(tb_store *store, const tb_invoice *invoice, const tb_draw *draw,
                         tb_draw_leg leg, int64_t at_us, tb_error *err)
{
    const bool minus = leg == TB_DRAW_GIVEN || leg == TB_DRAW_TAKEN;
    tb_ledger_entry e = {.account = invoice->account, .at_us = at_us,
                         .kind = TB_LEDGER_CREDIT_DRAWN, .amount = draw->amount};
    bool known = false;
    if (minus) e.amount.mantissa = -e.amount.mantissa;
    memcpy(e.currency, invoice->currency, sizeof e.currency);
    memcpy(e.document, invoice->number, sizeof e.document);
    tb_draw_reference(e.reference, invoice->number, draw->credit, leg);
    return tb_store_ledger_add(store, &e, &known, err);
}

tb_code tb_ledger_draw(tb_store *store, const tb_invoice *invoice, const tb_draw_plan *plan,
                       tb_error *err)
{
    tb_code code = TB_OK;
    for (size_t i = 0; !code && i < plan->n; i++) {
        code = enter_leg(store, invoice, &plan->draws[i], TB_DRAW_GIVEN, invoice->finalized_us, err);
        if (!code)
            code = enter_leg(store, invoice, &plan->draws[i], TB_DRAW_GOT, invoice->finalized_us, err);
    }
    return code;
}

/* --- giving back --- */

static tb_code give_back(tb_store *store, const tb_invoice *invoice, int64_t now_us, tb_error *err)
{
    tb_ledger_entry *entries = NULL;
    size_t n = 0;
    tb_code code = tb_store_ledger(store, invoice->account, &entries, &n, err);
    for (size_t i = 0; !code && i < n; i++) {
        const tb_ledger_entry *e = &entries[i];
        tb_draw draw = {.amount = e->amount};
        tb_draw_leg leg;
        if (e->kind != TB_LEDGER_CREDIT_DRAWN ||
            !tb_draw_parse(e->reference, invoice->number, &draw.credit, &leg) || leg != TB_DRAW_GOT)
            continue;
        code = enter_leg(store, invoice, &draw, TB_DRAW_BACK, now_us, err);
        if (!code) code = enter_leg(store, invoice, &draw, TB_DRAW_TAKEN, now_us, err);
    }
    free(entries);
    return code;
}

/* Earlier expiries are entered first: the day of the void is only for the credit that it gives back. */
tb_code tb_ledger_void(tb_store *store, const char *number, int64_t now_us, tb_error *err)
{
    tb_invoice invoice = {.text = NULL};
    bool has_credit = false;
    tb_code code = tb_store_invoice(store, 0, number, &invoice, err);
    if (!code) code = tb_store_has_credit(store, invoice.account, &has_credit, err);
    if (!code && has_credit) code = tb_ledger_expire(store, invoice.account, now_us, NULL, err);
    if (!code) code = tb_store_void(store, number, now_us, err);
    if (!code && has_credit) code = give_back(store, &invoice, now_us, err);
    tb_invoice_release(&invoice);
    return code;
}

/* --- expiring --- */

/* The end of the last day on which it could be drawn, or the credit's newest entry. */
static int64_t expired_at(const tb_credit *c, int64_t now_us)
{
    const char *last = tb_credit_last_day(c);
    int64_t at = now_us;
    if (tb_date_parse(last, strlen(last), &at, NULL)) return now_us;
    at += TB_US_PER_DAY;
    return c->last_us > at ? c->last_us : at;
}

static tb_code expire_credit(tb_store *store, int64_t account, const char currency[4],
                             const tb_credit *c, int64_t now_us, tb_error *err)
{
    tb_ledger_entry e = {.account = account, .at_us = expired_at(c, now_us),
                         .kind = TB_LEDGER_CREDIT_EXPIRED, .amount = c->left};
    bool known = false;
    tb_code code = tb_store_check_open(store, e.at_us, NULL);
    if (code == TB_E_CLOSED) e.at_us = now_us;
    else if (code) return tb_fail(err, code, NULL, NULL);
    e.amount.mantissa = -e.amount.mantissa;
    memcpy(e.currency, currency, sizeof e.currency);
    tb_expiry_reference(e.reference, c);
    return tb_store_ledger_add(store, &e, &known, err);
}

static tb_code expire_account(tb_store *store, int64_t account, int64_t now_us, uint64_t *entered,
                              tb_error *err)
{
    tb_credit *credits = NULL;
    size_t n = 0;
    char day[11], currency[4] = "";
    tb_code code = read_credits(store, account, &credits, &n, currency, err);
    if (code) return code;
    day_of(now_us, day);
    for (size_t i = 0; !code && i < n; i++) {
        if (tb_credit_valid(&credits[i], day) || tb_decimal_sign(credits[i].left) <= 0) continue;
        code = expire_credit(store, account, currency, &credits[i], now_us, err);
        if (!code && entered) ++*entered;
    }
    free(credits);
    return code;
}

tb_code tb_ledger_expire(tb_store *store, int64_t account, int64_t now_us, uint64_t *entered,
                         tb_error *err)
{
    int64_t *accounts = NULL;
    size_t n = 0;
    char day[11];
    if (account) return expire_account(store, account, now_us, entered, err);
    day_of(now_us, day);
    tb_code code = tb_store_credit_accounts(store, day, &accounts, &n, err);
    for (size_t i = 0; !code && i < n; i++)
        code = expire_account(store, accounts[i], now_us, entered, err);
    free(accounts);
    return code;
}
