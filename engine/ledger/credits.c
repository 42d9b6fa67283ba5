/* Credits: the unused part of each, and draws by invoices. An entry's reference names its credit; only this
 * file writes and reads such references. */
#include "tollbook/settle.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tollbook/calendar.h"

/* --- references --- */

static const char *const leg_ends[TB_DRAW_LEGS] = {
    [TB_DRAW_GIVEN] = "",
    [TB_DRAW_GOT] = "/invoice",
    [TB_DRAW_BACK] = "/void",
    [TB_DRAW_TAKEN] = "/invoice/void",
};

void tb_draw_reference(char out[64], const char *number, int64_t credit, tb_draw_leg leg)
{
    snprintf(out, 64, "%.23s/credit:%" PRId64 "%s", number, credit, leg_ends[leg]);
}

/* "credit:7" and the text after it. */
static bool read_credit(const char *text, int64_t *ret_credit, const char **ret_rest)
{
    static const char word[] = "credit:";
    int64_t id = 0;
    if (strncmp(text, word, sizeof word - 1) != 0) return false;
    const char *p = text + sizeof word - 1, *from = p;
    for (; *p >= '0' && *p <= '9' && p - from < 18; p++)
        id = 10 * id + (*p - '0');
    *ret_credit = id;
    *ret_rest = p;
    return p > from && *from != '0';
}

bool tb_draw_parse(const char *reference, const char *number, int64_t *ret_credit,
                   tb_draw_leg *ret_leg)
{
    const size_t len = strlen(number);
    const char *rest;
    if (len == 0 || strncmp(reference, number, len) != 0 || reference[len] != '/') return false;
    if (!read_credit(reference + len + 1, ret_credit, &rest)) return false;
    for (int leg = 0; leg < TB_DRAW_LEGS; leg++) {
        if (strcmp(rest, leg_ends[leg]) != 0) continue;
        *ret_leg = (tb_draw_leg)leg;
        return true;
    }
    return false;
}

void tb_expiry_reference(char out[64], const tb_credit *credit)
{
    int n = snprintf(out, 64, "credit:%" PRId64 "/expired", credit->id);
    if (credit->expiries) snprintf(out + n, 64 - (size_t)n, "/%zu", credit->expiries + 1);
}

/* --- what is left --- */

static tb_code wrong_entry(const tb_ledger_entry *e, const char *why, tb_error *err)
{
    return tb_fail(err, TB_E_CORRUPT, "ledger", "Ledger entry %" PRId64 ", %s %s: %s.", e->id,
                   tb_ledger_kind_name(e->kind), e->reference, why);
}

static tb_credit *find_credit(tb_credit *credits, size_t n, int64_t id)
{
    for (size_t i = 0; i < n; i++)
        if (credits[i].id == id) return &credits[i];
    return NULL;
}

/* *ret_credit 0: the entry is an invoice's side of a draw, or no credit's at all. */
static tb_code credit_of_entry(const tb_ledger_entry *e, int64_t *ret_credit, tb_error *err)
{
    tb_draw_leg leg = TB_DRAW_GIVEN;
    const char *rest;
    *ret_credit = 0;
    if (e->kind == TB_LEDGER_CREDIT_DRAWN) {
        if (!tb_draw_parse(e->reference, e->document, ret_credit, &leg))
            return wrong_entry(e, "it does not say which credit an invoice draws", err);
        if (leg == TB_DRAW_GOT || leg == TB_DRAW_TAKEN) *ret_credit = 0;
    } else if (e->kind == TB_LEDGER_CREDIT_EXPIRED) {
        if (!read_credit(e->reference, ret_credit, &rest))
            return wrong_entry(e, "it does not say which credit expires", err);
    }
    return TB_OK;
}

static void grant(const tb_ledger_entry *e, tb_credit *c)
{
    *c = (tb_credit){.id = e->id, .last_us = e->at_us, .granted = e->amount, .left = e->amount};
    memcpy(c->expires, e->expires, sizeof c->expires);
    memcpy(c->reference, e->reference, sizeof c->reference);
}

static int by_last_day(const void *a, const void *b)
{
    const tb_credit *x = a, *y = b;
    if (!x->expires[0] != !y->expires[0]) return x->expires[0] ? -1 : 1;
    const int order = strcmp(x->expires, y->expires);
    return order ? order : (x->id > y->id) - (x->id < y->id);
}

static void note_back(const tb_ledger_entry *e, tb_credit *c)
{
    tb_draw_leg leg = TB_DRAW_GIVEN;
    char day[21] = "";
    int64_t id = 0;
    if (e->kind != TB_LEDGER_CREDIT_DRAWN || !tb_draw_parse(e->reference, e->document, &id, &leg) ||
        leg != TB_DRAW_BACK)
        return;
    tb_time_format(e->at_us, day);
    day[sizeof c->back - 1] = 0;
    if (strcmp(day, c->back) > 0) memcpy(c->back, day, sizeof c->back);
}

static tb_code take_entry(const tb_ledger_entry *e, tb_credit *credits, size_t n, tb_error *err)
{
    int64_t id = 0;
    tb_code code = credit_of_entry(e, &id, err);
    if (code || !id) return code;
    tb_credit *c = find_credit(credits, n, id);
    if (!c) return wrong_entry(e, "the account has no such credit", err);
    if (e->at_us > c->last_us) c->last_us = e->at_us;
    c->expiries += e->kind == TB_LEDGER_CREDIT_EXPIRED;
    note_back(e, c);
    return tb_decimal_add(c->left, e->amount, &c->left, err);
}

tb_code tb_credits_of(const tb_ledger_entry *entries, size_t n, tb_credit **ret_credits,
                      size_t *ret_n, tb_error *err)
{
    size_t n_credits = 0;
    tb_code code = TB_OK;
    for (size_t i = 0; i < n; i++)
        n_credits += entries[i].kind == TB_LEDGER_CREDIT;
    tb_credit *credits = calloc(n_credits ? n_credits : 1, sizeof *credits);
    if (!credits) return tb_no_memory(err);
    n_credits = 0;
    for (size_t i = 0; i < n; i++)
        if (entries[i].kind == TB_LEDGER_CREDIT) grant(&entries[i], &credits[n_credits++]);
    for (size_t i = 0; !code && i < n; i++)
        code = take_entry(&entries[i], credits, n_credits, err);
    if (code) {
        free(credits);
        return code;
    }
    if (n_credits > 1) qsort(credits, n_credits, sizeof *credits, by_last_day);
    *ret_credits = credits;
    *ret_n = n_credits;
    return TB_OK;
}

const char *tb_credit_last_day(const tb_credit *credit)
{
    const bool later = credit->expires[0] && strcmp(credit->back, credit->expires) > 0;
    return later ? credit->back : credit->expires;
}

bool tb_credit_valid(const tb_credit *credit, const char *day)
{
    const char *last = tb_credit_last_day(credit);
    return !last[0] || strcmp(day, last) <= 0;
}

tb_code tb_draws_plan(const tb_credit *credits, size_t n_credits, const char *day, tb_decimal total,
                      tb_draw_plan *ret_plan, tb_error *err)
{
    tb_decimal open = total, paid = TB_DECIMAL_ZERO;
    size_t n = 0;
    tb_code code = TB_OK;
    tb_draw *draws = calloc(n_credits ? n_credits : 1, sizeof *draws);
    if (!draws) return tb_no_memory(err);
    for (size_t i = 0; !code && i < n_credits && tb_decimal_sign(open) > 0; i++) {
        const tb_credit *c = &credits[i];
        if (tb_decimal_sign(c->left) <= 0 || !tb_credit_valid(c, day)) continue;
        const tb_decimal part = tb_decimal_compare(c->left, open) < 0 ? c->left : open;
        draws[n++] = (tb_draw){c->id, part};
        code = tb_decimal_sub(open, part, &open, err);
        if (!code) code = tb_decimal_add(paid, part, &paid, err);
    }
    if (code) {
        free(draws);
        return code;
    }
    *ret_plan = (tb_draw_plan){n_credits > 0, draws, n, paid};
    return TB_OK;
}

void tb_draw_plan_release(tb_draw_plan *plan)
{
    free(plan->draws);
    *plan = (tb_draw_plan){.paid = TB_DECIMAL_ZERO};
}
