/* Usage that was not billed at a month's end, "the end" below. A month was billed then if it had a valid invoice, or
 * if an invoice with corrections of it was valid; a document that was voided later counts. The usage of an unbilled
 * month is taken from the first invoice after the end, for that one does not change; without any, from its draft.
 *
 * Usage of prepaid accounts was taken off their balances day by day, with tax, against the accruals: so tax is
 * accrued too, until an invoice charges it.
 *
 * Late usage of earlier months is billed by a later month's invoice. Each correction counts once, by its month and
 * the watermark from which it corrects: after a void it is on two documents. */
#include "tollbook/ledger.h"

#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "ops/invoicing/issue_parts.h"
#include "tollbook/calendar.h"
#include "tollbook/issue.h"
#include "tollbook/ledgerstore.h"
#include "tollbook/billsource.h"

#define CHAINS 4096

/* A correction found on a document. */
typedef struct counted {
    int64_t account, month;
    uint64_t since;
    const void *document; /* the document with the lines that count */
    bool counts;          /* false: it was billed by the end */
    size_t next;          /* the next of its chain, counted from 1; 0: the last */
} counted;

/* Accounts in the order in which they were met, some more than once: an account has a draft for each month. */
typedef struct account_list {
    int64_t *ids;
    size_t n, cap;
} account_list;

typedef struct gathering {
    tb_store *store;
    const tb_accruals_ask *ask;
    int64_t month, end_us; /* the month, and its end */
    tb_accruals *to;
    size_t cap;
    counted *corrections;
    size_t n_corrections, cap_corrections;
    size_t chain[CHAINS]; /* of corrections, by account: the newest first, counted from 1; 0: none */
    account_list unpriced, refused;
    tb_error *err;
} gathering;

void tb_accruals_release(tb_accruals *accruals)
{
    free(accruals->list);
    *accruals = (tb_accruals){.list = NULL};
}

static bool has_any(const tb_accrual *a)
{
    return tb_decimal_sign(a->tax) != 0 || tb_products_any(&a->products);
}

static tb_code add_account(account_list *list, int64_t account, tb_error *err)
{
    tb_code code = tb__grow(&list->ids, list->n, &list->cap, sizeof *list->ids, err);
    if (!code) list->ids[list->n++] = account;
    return code;
}

/* How many different accounts it has. Sorts it. */
static size_t count_accounts(account_list *list)
{
    size_t n = 0;
    if (list->n) qsort(list->ids, list->n, sizeof *list->ids, tb__by_int64);
    for (size_t i = 0; i < list->n; i++)
        n += i == 0 || list->ids[i] != list->ids[i - 1];
    return n;
}

static tb_code keep_accrual(gathering *g, const tb_accrual *made)
{
    tb_accruals *to = g->to;
    if (!has_any(made)) return TB_OK;
    if (to->n == g->cap) {
        const size_t cap = g->cap ? 2 * g->cap : 64;
        tb_accrual *list = realloc(to->list, cap * sizeof *list);
        if (!list) return tb_no_memory(g->err);
        to->list = list;
        g->cap = cap;
    }
    to->list[to->n++] = *made;
    return TB_OK;
}

/* A row for an account and currency at the end of the list. */
static tb_code add_accrual(gathering *g, const tb_statement *s, tb_products *products)
{
    tb_accrual row = {.account = s->account, .products = *products};
    memcpy(row.currency, s->currency, sizeof row.currency);
    return keep_accrual(g, &row);
}

/* --- corrections --- */

static bool stood(const gathering *g, const tb_billed_on *b)
{
    return b->finalized_us < g->end_us && b->voided_us >= g->end_us;
}

/* Whether this correction stood on an invoice at the end. */
static tb_code was_corrected(gathering *g, int64_t account, int64_t month, uint64_t since, bool *ret)
{
    tb_billed_on *all = NULL;
    size_t n = 0;
    *ret = false;
    tb_code code = tb_store_billed_on(g->store, account, month, &all, &n, g->err);
    for (size_t i = 0; !code && i < n; i++)
        *ret |= !all[i].own && all[i].since == since && stood(g, &all[i]);
    free(all);
    return code;
}

/* The newest correction of an account that is known; NULL: there is none. */
static const counted *first_of(const gathering *g, int64_t account)
{
    const size_t at = g->chain[(uint64_t)account % CHAINS];
    return at ? &g->corrections[at - 1] : NULL;
}

static const counted *next_of(const gathering *g, const counted *c)
{
    return c->next ? &g->corrections[c->next - 1] : NULL;
}

static const counted *find_correction(const gathering *g, int64_t account, int64_t month, uint64_t since)
{
    const counted *c = first_of(g, account);
    while (c && (c->account != account || c->month != month || c->since != since))
        c = next_of(g, c);
    return c;
}

static tb_code keep_correction(gathering *g, counted c)
{
    size_t *chain = &g->chain[(uint64_t)c.account % CHAINS];
    if (g->n_corrections == g->cap_corrections) {
        const size_t cap = g->cap_corrections ? 2 * g->cap_corrections : 64;
        counted *more = realloc(g->corrections, cap * sizeof *more);
        if (!more) return tb_no_memory(g->err);
        g->corrections = more;
        g->cap_corrections = cap;
    }
    c.next = *chain;
    g->corrections[g->n_corrections] = c;
    *chain = ++g->n_corrections;
    return TB_OK;
}

/* Whether a correction's line counts in this document. It may have several. */
static tb_code correction_counts(gathering *g, const tb_statement *s, size_t line, bool *ret)
{
    const int64_t month = s->bill->lines[line].period_month;
    const uint64_t since = s->corrections ? s->corrections[line].since : 0;
    const counted *known = find_correction(g, s->account, month, since);
    bool billed = false;
    *ret = known && known->counts && known->document == s;
    if (known) return TB_OK;
    tb_code code = was_corrected(g, s->account, month, since, &billed);
    *ret = !billed;
    return code ? code : keep_correction(g, (counted){s->account, month, since, s, !billed, 0});
}

/* Discards the document: its corrections count on the next document that has them. */
static void forget_document(gathering *g, const tb_statement *s)
{
    for (size_t i = g->n_corrections; i > 0 && g->corrections[i - 1].document == s; i--)
        g->corrections[i - 1].document = NULL;
}

/* Whether a later month's document, which comes first, has all of the month. */
static bool is_counted(const gathering *g, int64_t account, int64_t month)
{
    const counted *c = first_of(g, account);
    while (c && (c->account != account || c->month != month || !c->counts))
        c = next_of(g, c);
    return c != NULL;
}

/* --- documents --- */

typedef enum wanted {
    ALL,        /* its charges, and the corrections that count */
    CHARGES,    /* its charges only */
    CORRECTIONS /* those of one month */
} wanted;

static tb_code add_lines(gathering *g, const tb_statement *s, wanted what, int64_t month,
                         tb_products *products)
{
    tb_code code = TB_OK;
    for (size_t i = 0; !code && i < s->bill->n_lines; i++) {
        const bool corrects = s->bill->lines[i].kind == TB_LINE_CORRECTION;
        bool counts = what != CORRECTIONS;
        if (corrects) counts = what == ALL || (!counts && s->bill->lines[i].period_month == month);
        if (corrects && counts) code = correction_counts(g, s, i, &counts);
        if (!code && counts) code = tb_products_add_line(products, s, i, g->err);
    }
    return code;
}

static tb_code add_statement(gathering *g, const tb_statement *s, wanted what, int64_t month)
{
    tb_products products = {.sum = {{0, 0}}};
    tb_code code = add_lines(g, s, what, month, &products);
    forget_document(g, s);
    return code ? code : add_accrual(g, s, &products);
}

static tb_code add_invoice(gathering *g, int64_t account, const char *number, wanted what, int64_t month)
{
    tb_invoice invoice;
    tb_paper paper;
    tb_code code = tb_store_invoice(g->store, account, number, &invoice, g->err);
    if (code) return code;
    code = tb_paper_parse(invoice.text, invoice.text_len, NULL, &paper, g->err);
    if (!code) {
        code = add_statement(g, &paper.statement, what, month);
        tb_paper_release(&paper);
    }
    tb_invoice_release(&invoice);
    return code;
}

/* Late usage of earlier months goes on the newest month's invoice. */
static tb_code add_draft(gathering *g, int64_t account, int64_t month, wanted what)
{
    tb_issue draft;
    tb_error why = {0};
    tb_code code =
        tb__issue_lines(g->store, account, month, g->ask->books, g->ask->now_us, &draft, &why);
    if (code == TB_E_NOT_KEPT || (code && tb_issue_is_its_own(code)))
        return add_account(&g->refused, account, g->err);
    if (code) return tb_fail(g->err, code, why.field, "%s", why.message);
    if (draft.joined.bill.n_unpriced) code = add_account(&g->unpriced, account, g->err);
    if (!code) code = add_statement(g, &draft.statement, what, month);
    tb_issue_release(&draft);
    return code;
}

/* --- months --- */

/* What a draft of a month without any invoice counts with. */
typedef struct draft_wanted {
    bool any;    /* false: it was run, nothing was due, and nothing came for it since */
    wanted what; /* what else came since a run with nothing due is the next invoice's */
} draft_wanted;

static tb_code look_at_run(gathering *g, int64_t account, int64_t month, draft_wanted *ret)
{
    tb_late *late = NULL;
    size_t n = 0;
    bool ran = false;
    *ret = (draft_wanted){.any = true, .what = month == g->month ? ALL : CHARGES};
    tb_code code = tb_store_month_ran(g->store, account, month, &ran, g->err);
    if (code || !ran) return code;
    code = tb_store_late(g->store, account, &late, &n, g->err);
    ret->any = false;
    for (size_t i = 0; !code && i < n; i++) {
        if (late[i].month != month) continue;
        ret->any = true;
        if (late[i].outcome == TB_RUN_NOTHING) ret->what = CHARGES;
    }
    free(late);
    return code;
}

/* The first that was made after the end: the month's own, else one with its corrections. NULL: none. */
static const tb_billed_on *first_after(const gathering *g, const tb_billed_on *all, size_t n, bool own)
{
    for (size_t i = 0; i < n; i++)
        if (all[i].own == own && all[i].finalized_us >= g->end_us) return &all[i];
    return NULL;
}

/* After its void it has a draft of its own again, whatever its run's outcome. */
static tb_code add_unbilled(gathering *g, int64_t account, int64_t month, const tb_billed_on *all,
                            size_t n)
{
    const tb_billed_on *own = first_after(g, all, n, true), *other = first_after(g, all, n, false);
    draft_wanted draft = {.any = true, .what = CHARGES};
    bool invoiced = false;
    tb_code code = TB_OK;
    if (own) return add_invoice(g, account, own->number, ALL, month);
    if (is_counted(g, account, month)) return TB_OK;
    if (other) return add_invoice(g, account, other->number, CORRECTIONS, month);
    for (size_t i = 0; i < n; i++)
        invoiced |= all[i].own;
    if (!invoiced) code = look_at_run(g, account, month, &draft);
    return code || !draft.any ? code : add_draft(g, account, month, draft.what);
}

/* --- invoices that were made void since --- */

/* The amounts that a valid document had billed of the month: its own charges, or its corrections of the month. */
static tb_code take_document(gathering *g, int64_t account, const tb_billed_on *b, int64_t month)
{
    tb_products products = {.sum = {{0, 0}}};
    tb_invoice invoice;
    tb_paper paper;
    tb_code code = tb_store_invoice(g->store, account, b->number, &invoice, g->err);
    if (code) return code;
    code = tb_paper_parse(invoice.text, invoice.text_len, NULL, &paper, g->err);
    tb_invoice_release(&invoice);
    if (code) return code;
    const tb_statement *s = &paper.statement;
    for (size_t i = 0; !code && i < s->bill->n_lines; i++) {
        const bool corrects = s->bill->lines[i].kind == TB_LINE_CORRECTION;
        if (b->own ? !corrects : corrects && s->bill->lines[i].period_month == month)
            code = tb_products_add_line(&products, s, i, g->err);
    }
    tb_products taken = {.n_own = 0};
    if (!code) code = tb_products_join(&taken, &products, -1, g->err);
    if (!code) code = add_accrual(g, s, &taken);
    tb_paper_release(&paper);
    return code;
}

static tb_code take_standing(gathering *g, int64_t account, int64_t month, const tb_billed_on *all, size_t n)
{
    tb_billed_on *credits = NULL;
    size_t n_credits = 0;
    tb_code code = TB_OK;
    for (size_t i = 0; !code && i < n; i++)
        if (stood(g, &all[i])) code = take_document(g, account, &all[i], month);
    if (!code) code = tb_store_credited_on(g->store, account, month, &credits, &n_credits, g->err);
    for (size_t i = 0; !code && i < n_credits; i++)
        if (stood(g, &credits[i])) code = take_document(g, account, &credits[i], month);
    free(credits);
    return code;
}

static tb_code entry_of(gathering *g, tb_ledger_kind kind, const char *number, int64_t *ret_id)
{
    tb_ledger_entry entry = {.id = 0};
    bool found = false;
    tb_code code = tb_store_ledger_find(g->store, kind, number, &entry, &found, g->err);
    *ret_id = found ? entry.id : 0;
    return code;
}

/* Whether the account's run of the closing's month came after the void, or is still to come: then the late usage of a
 * void invoice's month was not billed by it. */
static tb_code ran_after(gathering *g, int64_t account, const tb_billed_on *voided, bool *ret)
{
    tb_billed_on *all = NULL;
    size_t n = 0;
    int64_t void_id = 0, own_id = 0, run_us = INT64_MAX;
    tb_code code = tb_store_billed_on(g->store, account, g->month, &all, &n, g->err);
    const tb_billed_on *own = code ? NULL : first_after(g, all, n, true);
    if (own) code = entry_of(g, TB_LEDGER_VOID, voided->number, &void_id);
    if (own && !code) code = entry_of(g, TB_LEDGER_INVOICE, own->number, &own_id);
    if (!own && !code) code = tb_store_first_run(g->store, account, g->month, &run_us, g->err);
    *ret = own ? own_id > void_id : run_us >= voided->voided_us;
    free(all);
    return code;
}

/* An invoice that was valid at the end and was voided before the closing's month was run: late usage of its month is on
 * no other invoice. Accrues the month's next invoice, or its draft, less the void invoice. */
static tb_code add_voided(gathering *g, int64_t account, int64_t month, const tb_billed_on *all, size_t n)
{
    const tb_billed_on *next = first_after(g, all, n, true), *voided = NULL;
    const size_t refused = g->refused.n;
    bool after = false;
    for (size_t i = 0; i < n; i++)
        if (all[i].own && stood(g, &all[i]) && all[i].voided_us != INT64_MAX) voided = &all[i];
    if (!voided || is_counted(g, account, month)) return TB_OK;
    tb_code code = ran_after(g, account, voided, &after);
    if (code || !after) return code;
    code = next ? add_invoice(g, account, next->number, ALL, month) : add_draft(g, account, month, CHARGES);
    return code || g->refused.n > refused ? code : take_standing(g, account, month, all, n);
}

/* --- days of prepaid accounts --- */

/* gross less the net amount that gives it; within a smallest unit if there are several taxes. */
static tb_code tax_within(tb_decimal gross, tb_decimal percent, int digits, tb_decimal *ret_tax, tb_error *err)
{
    tb_decimal net, whole = {100, 0};
    percent = tb_decimal_normal(percent);
    tb_code code = tb_decimal_add(whole, (tb_decimal){0, percent.scale}, &whole, err);
    if (!code)
        code = tb_decimal_divide(gross, whole.mantissa, whole.mantissa + percent.mantissa, digits, TB_HALF_UP,
                                 &net, err);
    return code ? code : tb_decimal_sub(gross, net, ret_tax, err);
}

/* What the month's days took off the balance by the end, and nothing had given back, is with tax. */
static tb_code add_days_tax(gathering *g, int64_t account, int64_t month)
{
    tb_accrual row = {.account = account};
    tb_prepaid_month days;
    tb_ledger_entry back;
    tb_decimal percent;
    char reference[64];
    bool found = false;
    tb_code code = tb_store_prepaid_month(g->store, account, month, &days, g->err);
    if (code || !tb_decimal_sign(days.entered)) return code;
    tb_prepaid_month_reference(account, month, reference);
    code = tb_store_ledger_find(g->store, TB_LEDGER_USAGE_REVERSAL, reference, &back, &found, g->err);
    if (code || (found && back.at_us < g->end_us)) return code;
    code = tb_store_month_tax(g->store, account, month, &percent, g->err);
    if (code) return tb_issue_is_its_own(code) ? TB_OK : code;
    memcpy(row.currency, days.currency, sizeof row.currency);
    const tb_decimal gross = {-days.entered.mantissa, days.entered.scale};
    code = tax_within(gross, percent, tb_currency_minor_digits(row.currency), &row.tax, g->err);
    return code ? code : keep_accrual(g, &row);
}

static tb_code add_account_month(gathering *g, int64_t account, int64_t month)
{
    tb_billed_on *all = NULL;
    size_t n = 0;
    bool billed = false;
    tb_code code = tb_store_billed_on(g->store, account, month, &all, &n, g->err);
    for (size_t i = 0; !code && i < n; i++)
        billed |= stood(g, &all[i]);
    if (!code) code = (billed ? add_voided : add_unbilled)(g, account, month, all, n);
    free(all);
    return code ? code : add_days_tax(g, account, month);
}

/* Of an ascending list that holds n: whether it has the account. */
static bool has_account(const int64_t *accounts, size_t n, int64_t account)
{
    size_t lo = 0, hi = n;
    while (lo < hi) {
        const size_t mid = (lo + hi) / 2;
        if (accounts[mid] < account) lo = mid + 1;
        else hi = mid;
    }
    return lo < n && accounts[lo] == account;
}

/* Accounts that the asker names and the list does not have. */
static tb_code add_named(gathering *g, int64_t month, const int64_t *accounts, size_t n)
{
    const tb_accruals *named = g->ask->named;
    tb_code code = TB_OK;
    for (size_t i = 0; !code && named && i < named->n; i++)
        if (!has_account(accounts, n, named->list[i].account) &&
            (i == 0 || named->list[i].account != named->list[i - 1].account))
            code = add_account_month(g, named->list[i].account, month);
    return code;
}

static tb_code add_month(gathering *g, int64_t month)
{
    int64_t *accounts = NULL;
    size_t n = 0;
    tb_code code = tb_issue_accounts(g->store, month, 0, &accounts, &n, g->err);
    for (size_t i = 0; !code && i < n; i++) {
        code = add_account_month(g, accounts[i], month);
        if (!code && g->ask->step && i % 16 == 15 && !g->ask->step(g->ask->ctx, i + 1, n))
            code = tb_fail(g->err, TB_E_STOPPED, NULL, NULL);
    }
    if (!code) code = add_named(g, month, accounts, n);
    free(accounts);
    return code;
}

static int by_account(const void *a, const void *b)
{
    const tb_accrual *x = a, *y = b;
    if (x->account != y->account) return x->account < y->account ? -1 : 1;
    return strcmp(x->currency, y->currency);
}

/* Months of one account and currency become one row. */
static tb_code join_months(tb_accruals *a, tb_error *err)
{
    size_t n = 0;
    tb_code code = TB_OK;
    if (a->n > 1) qsort(a->list, a->n, sizeof *a->list, by_account);
    for (size_t i = 0; !code && i < a->n; i++) {
        if (!n || by_account(&a->list[n - 1], &a->list[i]) != 0) {
            a->list[n++] = a->list[i];
            continue;
        }
        code = tb_decimal_add(a->list[n - 1].tax, a->list[i].tax, &a->list[n - 1].tax, err);
        if (!code) code = tb_products_join(&a->list[n - 1].products, &a->list[i].products, 1, err);
    }
    a->n = 0; /* rows with only zeros are removed */
    for (size_t i = 0; i < n; i++)
        if (has_any(&a->list[i])) a->list[a->n++] = a->list[i];
    return code;
}

tb_code tb_accruals_read(tb_store *store, const tb_accruals_ask *ask, tb_accruals *ret_accruals,
                         tb_error *err)
{
    tb_accruals made = {.list = NULL};
    gathering g = {.store = store, .ask = ask, .month = ask->month, .to = &made,
                   .end_us = tb_month_start_us(ask->month + 1), .err = err};
    int64_t begin = 0;
    tb_code code = tb_store_ledger_begin(store, &begin, err);
    for (int64_t m = ask->month; !code && m >= begin && m >= ask->month - TB_ACCRUAL_MONTHS; m--)
        code = add_month(&g, m);
    if (!code) code = join_months(&made, err);
    made.unpriced = count_accounts(&g.unpriced);
    made.refused = count_accounts(&g.refused);
    free(g.unpriced.ids);
    free(g.refused.ids);
    free(g.corrections);
    if (code) tb_accruals_release(&made);
    else *ret_accruals = made;
    return code;
}
