/* What was used and not billed at a month's end, "the end" below. A month was billed then where an invoice of
 * it, or one that corrects it, stood: what is made void later counts as it stood. A month that was not
 * is what the first invoice after the end came to, for that one stays as it is; without any, its draft.
 *
 * What comes late for earlier months goes onto a later one's invoice. Each correction counts once, by
 * what it corrects and since when: after a void it stands on two documents. */
#include "tollbook/generalledger.h"

#include <stdlib.h>
#include <string.h>

#include "ops/issue_parts.h"
#include "tollbook/calendar.h"
#include "tollbook/issuegroup.h"

#define CHAINS 4096

/* A correction that was come across. */
typedef struct counted {
    int64_t account, month;
    uint64_t since;
    const void *document; /* whose lines count */
    bool counts;          /* false: it was billed by the end */
    size_t next;          /* the next of its chain, counted from 1; 0: it is the last */
} counted;

typedef struct gathering {
    tb_store *store;
    const tb_accruals_ask *ask;
    int64_t month, end_us; /* of the month whose end it is */
    tb_accruals *to;
    size_t cap;
    counted *corrections;
    size_t n_corrections, cap_corrections;
    size_t chain[CHAINS]; /* of corrections, by account: the newest first, counted from 1; 0: none */
    tb_error *err;
} gathering;

void tb_accruals_release(tb_accruals *accruals)
{
    free(accruals->list);
    *accruals = (tb_accruals){.list = NULL};
}

/* A row for an account and currency at the end of the list. */
static tb_code add_accrual(gathering *g, const tb_statement *s, tb_products *products)
{
    tb_accruals *to = g->to;
    bool any = false;
    for (int k = 0; k < TB_LINE_KIND_COUNT; k++)
        any |= tb_decimal_sign(products->sum[k]) != 0;
    if (!any) return TB_OK;
    if (to->n == g->cap) {
        const size_t cap = g->cap ? 2 * g->cap : 64;
        tb_accrual *list = realloc(to->list, cap * sizeof *list);
        if (!list) return tb_no_memory(g->err);
        to->list = list;
        g->cap = cap;
    }
    tb_accrual *row = &to->list[to->n++];
    *row = (tb_accrual){.account = s->account, .products = *products};
    memcpy(row->currency, s->currency, sizeof row->currency);
    return TB_OK;
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

/* The document goes: what counted in it counts nowhere else, wherever the next one comes to lie. */
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
    CHARGES,    /* those alone */
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

/* What waits of earlier months goes onto the newest month's invoice. */
static tb_code add_draft(gathering *g, int64_t account, int64_t month, wanted what)
{
    tb_issue draft;
    tb_error why = {0};
    tb_code code =
        tb__issue_lines(g->store, account, month, g->ask->books, g->ask->now_us, &draft, &why);
    if (code == TB_E_NOT_KEPT || (code && tb_issue_is_its_own(code))) {
        g->to->refused++;
        return TB_OK;
    }
    if (code) return tb_fail(g->err, code, why.field, "%s", why.message);
    g->to->unpriced += draft.joined.bill.n_unpriced > 0;
    code = add_statement(g, &draft.statement, what, month);
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

/* After its void it has a draft of its own again, whatever its run says. */
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

static tb_code add_account_month(gathering *g, int64_t account, int64_t month)
{
    tb_billed_on *all = NULL;
    size_t n = 0;
    bool billed = false;
    tb_code code = tb_store_billed_on(g->store, account, month, &all, &n, g->err);
    for (size_t i = 0; !code && i < n; i++)
        billed |= stood(g, &all[i]);
    if (!code && !billed) code = add_unbilled(g, account, month, all, n);
    free(all);
    return code;
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
        for (int k = 0; !code && k < TB_LINE_KIND_COUNT; k++)
            code = tb_decimal_add(a->list[n - 1].products.sum[k], a->list[i].products.sum[k],
                                  &a->list[n - 1].products.sum[k], err);
    }
    a->n = n;
    return code;
}

tb_code tb_accruals_read(tb_store *store, const tb_accruals_ask *ask, tb_accruals *ret_accruals,
                         tb_error *err)
{
    tb_accruals made = {.list = NULL};
    gathering g = {.store = store, .ask = ask, .month = ask->month, .to = &made,
                   .end_us = tb_month_start_us(ask->month + 1), .err = err};
    tb_code code = TB_OK;
    for (int64_t m = ask->month; !code && m >= ask->month - TB_ACCRUAL_MONTHS; m--)
        code = add_month(&g, m);
    if (!code) code = join_months(&made, err);
    free(g.corrections);
    if (code) tb_accruals_release(&made);
    else *ret_accruals = made;
    return code;
}
