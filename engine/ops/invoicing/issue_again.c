/* Makes a stored document again: an invoice with its month and the corrections on it, or a credit note. */
#include <stdlib.h>
#include <string.h>

#include "ops/invoicing/issue_parts.h"

static tb_late late_of(const tb_statement *s, size_t line)
{
    tb_late late = {.account = s->account,
                    .month = s->bill->lines[line].period_month,
                    .since = s->corrections[line].since};
    memcpy(late.invoice, s->corrections[line].invoice, sizeof late.invoice);
    return late;
}

/* Corrections of one month are adjacent, under one invoice and watermark. */
static bool same_month(const tb_late *a, const tb_late *b)
{
    return a->month == b->month && a->since == b->since && strcmp(a->invoice, b->invoice) == 0;
}

static tb_code lates_again(const tb__issue_maker *m, tb_issue *d, tb_error *err)
{
    const tb_statement *stored = m->stored;
    tb__issue_reader r = {.store = m->store,
                          .books = m->books,
                          .now_us = m->finalized_us,
                          .until = stored->watermark,
                          .rules = m->rules,
                          .issue = d};
    tb_code code = TB_OK;
    size_t n = stored->bill->n_lines;
    d->rules = m->rules;
    d->late = calloc(n ? n : 1, sizeof *d->late);
    if (!d->late) return tb_no_memory(err);
    for (size_t i = 0; !code && i < n; i++) {
        if (stored->bill->lines[i].kind != TB_LINE_CORRECTION) continue;
        tb_late late = late_of(stored, i);
        if (d->n_late && same_month(&d->late[d->n_late - 1].late, &late)) continue;
        code = tb__issue_difference(&r, &late, &d->late[d->n_late], err);
        if (!code) d->n_late++;
    }
    return code;
}

static tb_code invoice_again(const tb__issue_maker *m, tb__issue_made *ret, tb_error *err)
{
    const tb_statement *stored = m->stored;
    tb_issue *d = &ret->issue;
    tb_month_books chosen;
    tb_code code = tb__issue_books_of(m->books, stored, &chosen, err);
    if (code) return code;
    ret->books = chosen.list;
    const tb_bill_query query = {stored->account, stored->month, stored->watermark, chosen.list, chosen.n, m->finalized_us};
    code = tb_month_bill_read(m->store, &query, &d->month, err);
    if (!code) code = lates_again(m, d, err);
    if (!code) code = tb_store_charges_billed(m->store, stored->number, &d->charges, &d->n_charges, err);
    return code ? code : tb__issue_state(d, stored->watermark, err);
}

static tb_code credit_again(const tb__issue_maker *m, tb__issue_made *ret, tb_error *err)
{
    tb_code code = lates_again(m, &ret->issue, err);
    ret->without_month = !code && ret->issue.n_late != 1;
    if (ret->without_month)
        return tb_fail(err, TB_E_VALIDATION, "invoice", "Credit note %s corrects no month.", m->stored->number);
    return code ? code : tb__issue_credit_note(&ret->issue.late[0], m->rules, m->stored->watermark, &ret->credit, err);
}

tb_code tb__issue_again(const tb__issue_maker *maker, tb__issue_made *ret, tb_error *err)
{
    *ret = (tb__issue_made){.is_credit = strcmp(maker->stored->kind, "credit_note") == 0};
    ret->statement = ret->is_credit ? &ret->credit.statement : &ret->issue.statement;
    tb_code code = ret->is_credit ? credit_again(maker, ret, err) : invoice_again(maker, ret, err);
    if (!code) return TB_OK;
    tb_issue_release(&ret->issue);
    free(ret->books);
    return code;
}

void tb__issue_made_release(tb__issue_made *made)
{
    if (made->is_credit) tb__composed_release(&made->credit);
    tb_issue_release(&made->issue);
    free(made->books);
}
