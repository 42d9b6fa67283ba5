/* Replays credits: each entry about a credit is computed again from those before it. The draws of an invoice follow
 * from the credits at its own entry, and must match the amount paid that its text states. */
#include "tollbook/ledger.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tollbook/calendar.h"
#include "tollbook/billsource.h"

typedef struct replay {
    tb_store *store;
    tb_say say;
    void *ctx;
    uint64_t *differences;
    tb_error *err;
    const tb_ledger_entry *entries; /* one account's */
    size_t n;
    tb_settle_paper *papers; /* the same account's */
    size_t n_papers;
    int64_t earlier; /* entries up to this id are of versions that paid invoices by other rules */
} replay;

static void TB_PRINTF(2, 3) found(replay *r, const char *fmt, ...)
{
    char sentence[400];
    va_list args;
    va_start(args, fmt);
    vsnprintf(sentence, sizeof sentence, fmt, args);
    va_end(args);
    ++*r->differences;
    if (r->say) r->say(r->ctx, sentence);
}

static void day_at(int64_t us, char out[11])
{
    char text[21] = "";
    tb_time_format(us, text);
    memcpy(out, text, 10);
    out[10] = 0;
}

static const char *money_text(tb_decimal amount, char out[TB_DECIMAL_TEXT_MAX + 1])
{
    *tb_decimal_put(out, tb_decimal_normal(amount)) = 0;
    return out;
}

/* --- draws --- */

/* Entry `at` must be this leg of the draw. */
static bool is_leg(const replay *r, size_t at, const tb_invoice *invoice, const tb_draw *draw,
                   tb_draw_leg leg, int64_t at_us)
{
    char reference[64];
    tb_decimal amount = draw->amount;
    if (leg == TB_DRAW_GIVEN || leg == TB_DRAW_TAKEN) amount.mantissa = -amount.mantissa;
    if (at >= r->n) return false;
    const tb_ledger_entry *e = &r->entries[at];
    tb_draw_reference(reference, invoice->number, draw->credit, leg);
    return e->kind == TB_LEDGER_CREDIT_DRAWN && strcmp(e->reference, reference) == 0 &&
           strcmp(e->document, invoice->number) == 0 && tb_decimal_compare(e->amount, amount) == 0 &&
           e->at_us == at_us;
}

/* The entries after the invoice's own, or its void's, must be those of the plan, and no others may name it. */
static void check_legs(replay *r, size_t own, const tb_invoice *invoice, const tb_draw *draws,
                       size_t n, bool back)
{
    const tb_draw_leg first = back ? TB_DRAW_BACK : TB_DRAW_GIVEN;
    const int64_t at_us = r->entries[own].at_us;
    size_t at = own + 1, i = 0;
    while (i < n && is_leg(r, at, invoice, &draws[i], first, at_us) &&
           is_leg(r, at + 1, invoice, &draws[i], first + 1, at_us)) {
        i++;
        at += 2;
    }
    if (i < n)
        found(r, "Invoice %s %s credit %" PRId64 ", but the ledger does not say so behind entry %" PRId64
              ".", invoice->number, back ? "gives back to" : "draws", draws[i].credit,
              r->entries[own].id);
    else if (at < r->n && r->entries[at].kind == TB_LEDGER_CREDIT_DRAWN &&
             strcmp(r->entries[at].document, invoice->number) == 0)
        found(r, "Ledger entry %" PRId64 " is no draw of invoice %s.", r->entries[at].id,
              invoice->number);
}

/* The amounts paid that the text states: from credits, and from the balance. */
typedef struct said {
    tb_decimal total, drawn, covered;
    bool tells; /* false: version 1, which has neither */
} said;

static tb_code paid_of(const tb_invoice *invoice, said *ret, tb_error *err)
{
    tb_paper paper;
    tb_code code = tb_paper_parse(invoice->text, invoice->text_len, NULL, &paper, err);
    if (code) return code;
    *ret = (said){.total = paper.bill.total, .drawn = TB_DECIMAL_ZERO, .covered = TB_DECIMAL_ZERO};
    if (paper.statement.version > 1) {
        ret->tells = true;
        ret->covered = paper.statement.covered;
        code = tb_decimal_sub(paper.statement.paid, ret->covered, &ret->drawn, err);
    }
    tb_paper_release(&paper);
    return code;
}

/* The amount that the balance pays of the invoice, in addition to credits. Earlier versions did not give the
 * payments of a void invoice to its replacement. */
static tb_code covered_of(const replay *r, size_t own, const tb_invoice *invoice, tb_decimal total, tb_decimal planned,
                          tb_decimal *ret_covered, tb_error *err)
{
    const tb_ledger_entry *e = &r->entries[own];
    const char *replaced = e->id > r->earlier ? invoice->replaces : "";
    tb_decimal money, rest;
    tb_code code = tb_decimal_sub(total, planned, &rest, err);
    if (!code) code = tb_settle_next(r->entries, own, r->papers, r->n_papers, replaced, &money, err);
    return code ? code : tb_prepaid_part(money, rest, tb_currency_minor_digits(e->currency), ret_covered, err);
}

/* In earlier versions the balance paid only invoices of prepaid accounts: the texts of others have no such amount. */
static tb_code may_say_nothing(const replay *r, size_t own, const tb_invoice *invoice, const said *text, bool *ret,
                               tb_error *err)
{
    bool prepaid = false;
    *ret = false;
    if (tb_decimal_sign(text->covered) || r->entries[own].id > r->earlier) return TB_OK;
    tb_code code = tb_store_account_known_prepaid(r->store, invoice->account, invoice->watermark, &prepaid, err);
    *ret = !prepaid;
    return code;
}

/* The text's amounts must be those of the plan, and the amount from the balance must have been in the ledger. */
static tb_code check_paid(replay *r, size_t own, const tb_invoice *invoice, const said *text,
                          tb_decimal planned)
{
    char a[TB_DECIMAL_TEXT_MAX + 1], b[TB_DECIMAL_TEXT_MAX + 1];
    tb_decimal covered;
    bool silent = false;
    if (tb_decimal_compare(text->drawn, planned) != 0)
        found(r, "Invoice %s says that credits paid %s of it; by the ledger they paid %s.",
              invoice->number, money_text(text->drawn, a), money_text(planned, b));
    if (!text->tells) return TB_OK;
    tb_code code = may_say_nothing(r, own, invoice, text, &silent, r->err);
    if (code || silent) return code;
    code = covered_of(r, own, invoice, text->total, planned, &covered, r->err);
    if (!code && tb_decimal_compare(text->covered, covered) != 0)
        found(r, "Invoice %s says that the balance paid %s of it; by the ledger it was %s.",
              invoice->number, money_text(text->covered, a), money_text(covered, b));
    return code;
}

/* Checks the plan of the invoice with its own entry at `own`, from the entries before it. */
static tb_code check_invoice(replay *r, size_t own, bool back)
{
    const tb_ledger_entry *e = &r->entries[own];
    tb_credit *credits = NULL;
    tb_draw_plan plan = {.paid = TB_DECIMAL_ZERO};
    size_t n = 0, first = own;
    said text = {.total = TB_DECIMAL_ZERO};
    tb_invoice invoice;
    char day[11];
    while (back && first > 0 && !(r->entries[first].kind == TB_LEDGER_INVOICE &&
                                  strcmp(r->entries[first].reference, e->reference) == 0))
        first--;
    if (r->entries[first].kind != TB_LEDGER_INVOICE) return TB_OK; /* a credit note's void */
    tb_code code = tb_store_invoice(r->store, 0, e->reference, &invoice, r->err);
    if (code == TB_E_NOT_FOUND) return TB_OK; /* reported by the store's own check */
    if (code) return code;
    day_at(r->entries[first].at_us, day);
    code = tb_credits_of(r->entries, first, &credits, &n, r->err);
    if (!code) code = paid_of(&invoice, &text, r->err);
    if (!code) code = tb_draws_plan(credits, n, day, text.total, &plan, r->err);
    if (!code && !back) code = check_paid(r, own, &invoice, &text, plan.paid);
    if (!code) check_legs(r, own, &invoice, plan.draws, plan.n, back);
    free(credits);
    tb_draw_plan_release(&plan);
    tb_invoice_release(&invoice);
    return code;
}

/* --- entries about credits --- */

/* The entries up to i about a credit must leave no credit below 0. */
static tb_code check_left(replay *r, size_t i)
{
    tb_credit *credits = NULL;
    size_t n = 0;
    tb_code code = tb_credits_of(r->entries, i + 1, &credits, &n, r->err);
    for (size_t k = 0; !code && k < n; k++)
        if (tb_decimal_sign(credits[k].left) < 0)
            found(r, "Ledger entry %" PRId64 " takes more of credit %" PRId64 " than is left of it.",
                  r->entries[i].id, credits[k].id);
    free(credits);
    return code;
}

/* An expiry must be the unused part of a credit past its last day. */
static tb_code check_expiry(replay *r, size_t i)
{
    const tb_ledger_entry *e = &r->entries[i];
    tb_credit *credits = NULL;
    size_t n = 0, k = 0;
    char reference[64], day[11];
    tb_decimal left;
    tb_code code = tb_credits_of(r->entries, i, &credits, &n, r->err);
    if (code) return code;
    day_at(e->at_us, day);
    for (; k < n; k++) {
        tb_expiry_reference(reference, &credits[k]);
        if (strcmp(reference, e->reference) == 0) break;
    }
    left = k < n ? credits[k].left : TB_DECIMAL_ZERO;
    left.mantissa = -left.mantissa;
    if (k == n || tb_credit_valid(&credits[k], day) || e->at_us < credits[k].last_us ||
        tb_decimal_compare(left, e->amount) != 0)
        found(r, "Ledger entry %" PRId64 ", %s: that is not what had expired.", e->id, e->reference);
    free(credits);
    return TB_OK;
}

/* A draw must follow its invoice's own entry or its void's, with only other draws between. */
static void check_place(replay *r, size_t i)
{
    const tb_ledger_entry *e = &r->entries[i];
    size_t own = i;
    while (own > 0 && r->entries[own].kind == TB_LEDGER_CREDIT_DRAWN)
        own--;
    if ((r->entries[own].kind != TB_LEDGER_INVOICE && r->entries[own].kind != TB_LEDGER_VOID) ||
        strcmp(r->entries[own].reference, e->document) != 0)
        found(r, "Ledger entry %" PRId64 " draws credit for %s, but does not follow its entry.", e->id,
              e->document);
}

static tb_code check_entry(replay *r, size_t i)
{
    switch (r->entries[i].kind) {
    case TB_LEDGER_INVOICE: return check_invoice(r, i, false);
    case TB_LEDGER_VOID: return check_invoice(r, i, true);
    case TB_LEDGER_CREDIT_EXPIRED: return check_expiry(r, i);
    case TB_LEDGER_CREDIT_DRAWN: check_place(r, i); return check_left(r, i);
    default: return TB_OK;
    }
}

/* Whether an invoice was made while the balance was above 0, not counting daily entries. */
static tb_code had_money(const replay *r, bool *ret, tb_error *err)
{
    tb_decimal sum = TB_DECIMAL_ZERO;
    tb_code code = TB_OK;
    *ret = false;
    for (size_t i = 0; !code && !*ret && i < r->n; i++) {
        const tb_ledger_entry *e = &r->entries[i];
        *ret = e->kind == TB_LEDGER_INVOICE && tb_decimal_sign(sum) > 0;
        if (e->kind != TB_LEDGER_USAGE && e->kind != TB_LEDGER_USAGE_REVERSAL)
            code = tb_decimal_add(sum, e->amount, &sum, err);
    }
    return code;
}

/* told: the account has credit, or a text of it states a paid amount. */
static tb_code replay_account(replay *r, int64_t account, bool told)
{
    tb_ledger_entry *entries = NULL;
    tb_code code = tb_store_ledger(r->store, account, &entries, &r->n, r->err);
    r->entries = entries;
    if (!code && !told) code = had_money(r, &told, r->err);
    if (!code && told) code = tb_store_settle_papers(r->store, account, &r->papers, &r->n_papers, r->err);
    for (size_t i = 0; !code && told && i < r->n; i++)
        code = check_entry(r, i);
    free(r->papers);
    free(entries);
    r->papers = NULL;
    return code;
}

tb_code tb_ledger_verify(tb_store *store, tb_say say, void *ctx, uint64_t *differences,
                         tb_error *err)
{
    replay r = {.store = store, .say = say, .ctx = ctx, .differences = differences, .err = err};
    int64_t *accounts = NULL, *told = NULL;
    size_t n = 0, n_told = 0, at = 0;
    tb_code code = tb_store_covered_since(store, &r.earlier, err);
    if (!code) code = tb_store_ledger_accounts(store, &accounts, &n, err);
    if (!code) code = tb_store_credit_accounts(store, "", &told, &n_told, err);
    for (size_t i = 0; !code && i < n; i++) {
        while (at < n_told && told[at] < accounts[i])
            at++;
        code = replay_account(&r, accounts[i], at < n_told && told[at] == accounts[i]);
    }
    free(accounts);
    free(told);
    return code;
}
