/* Terms of documents out of what they were made of. They say nothing that changes after a document's watermark, so that they are the
 * same whenever they are made. */
#include <stdlib.h>
#include <string.h>

#include "check/terms.h"
#include "ops/invoicing/issue_parts.h"
#include "tollbook/prooflog.h"

/* The parts of terms in the making. */
typedef struct making {
    tb_store *store;
    const tb_statement *statement;
    tb__doc_terms terms;
    tb__term_month own;
    tb__term_late *lates;
    tb__term_month *before; /* one for each of them */
    tb__term_number *numbers;
    tb_bill_charge *charges;
    tb_error *err;
} making;

static tb_code make_month(making *m, const tb_bill_source *source, uint64_t watermark, tb__term_month *ret)
{
    tb_proof_day *days = NULL;
    size_t n = 0;
    *ret = (tb__term_month){.input = source->input, .origins = source->origins};
    tb_code code = tb_store_proof_days(m->store, source->input.account, source->input.month, watermark, &days, &n, m->err);
    if (code) return code;
    tb__term_day *to = calloc(n + 1, sizeof *to);
    for (size_t i = 0; to && i < n; i++)
        to[i] = (tb__term_day){days[i].day, days[i].index};
    free(days);
    ret->days = to;
    ret->n_days = to ? n : 0;
    return to ? TB_OK : tb_no_memory(m->err);
}

/* As they are billed: what is left of a charge is another document's. */
static tb_code make_charges(making *m, const tb_bill *bill)
{
    m->charges = calloc(bill->n_lines + 1, sizeof *m->charges);
    if (!m->charges) return tb_no_memory(m->err);
    for (size_t i = 0; i < bill->n_lines; i++) {
        const tb_bill_line *line = &bill->lines[i];
        if (line->kind != TB_LINE_CHARGE) continue;
        tb_bill_charge *charge = &m->charges[m->terms.n_charges++];
        *charge = (tb_bill_charge){line->id, line->description, line->tiers[0].shown, line->amount, ""};
        memcpy(charge->tax_category, line->tax_category, sizeof charge->tax_category);
    }
    m->terms.charges = m->charges;
    return TB_OK;
}

/* *at: where the late month's numbers begin. */
static tb_code make_late(making *m, const tb_issue_late *late, size_t *at)
{
    const size_t i = m->terms.n_lates++;
    tb__term_late *to = &m->lates[i];
    *to = (tb__term_late){.month = late->late.month, .since = late->late.since, .billed = m->numbers + *at, .n_billed = late->n_billed};
    memcpy(to->invoice, late->late.invoice, sizeof to->invoice);
    for (size_t k = 0; k < late->n_billed; k++)
        memcpy(m->numbers[(*at)++].number, late->billed[k].number, sizeof to->invoice);
    to->before = &m->before[i];
    to->n_before = late->n_billed ? 1 : 0;
    tb_code code = to->n_before ? make_month(m, &late->before.source, late->late.since, &m->before[i]) : TB_OK;
    return code ? code : make_month(m, &late->after.source, m->statement->watermark, &to->after);
}

/* The corrections of an invoice, or the month of a credit note. A month that changed without a difference leaves no trace on the
 * document, so it is none of them. */
static tb_code make_lates(making *m, const tb_issue_late *list, size_t n, bool credit)
{
    size_t n_numbers = 1, at = 0;
    tb_code code = TB_OK;
    for (size_t i = 0; i < n; i++)
        n_numbers += list[i].n_billed;
    m->lates = calloc(n + 1, sizeof *m->lates);
    m->before = calloc(n + 1, sizeof *m->before);
    m->numbers = calloc(n_numbers, sizeof *m->numbers);
    if (!m->lates || !m->before || !m->numbers) return tb_no_memory(m->err);
    for (size_t i = 0; !code && i < n; i++)
        if (list[i].corrections.n && (credit || !list[i].credit)) code = make_late(m, &list[i], &at);
    m->terms.lates = m->lates;
    return code;
}

static void release_terms(making *m)
{
    free((void *)(uintptr_t)m->own.days);
    for (size_t i = 0; m->lates && i < m->terms.n_lates; i++) {
        free((void *)(uintptr_t)m->lates[i].after.days);
        free((void *)(uintptr_t)m->before[i].days);
    }
    free(m->lates);
    free(m->before);
    free(m->numbers);
    free(m->charges);
}

static tb_code make_invoice(making *m, const tb_issue *issue)
{
    tb_code code = make_month(m, &issue->month.source, m->statement->watermark, &m->own);
    m->terms.own = &m->own;
    m->terms.n_own = 1;
    if (!code) code = make_charges(m, &issue->month.bill);
    return code ? code : make_lates(m, issue->late, issue->n_late, false);
}

tb_code tb__issue_terms(tb_store *store, const tb__issue_document *document, tb_buf *out, tb_error *err)
{
    const tb_statement *s = document->statement;
    making m = {.store = store, .statement = s, .err = err};
    m.terms = (tb__doc_terms){.v = 1, .account = s->account, .month = s->month, .watermark = s->watermark,
                              .rules = (tb__term_rules)document->rules};
    memcpy(m.terms.number, s->number, sizeof m.terms.number);
    memcpy(m.terms.kind, s->kind, sizeof m.terms.kind);
    tb_code code = document->credit ? make_lates(&m, document->credit, 1, true) : make_invoice(&m, document->issue);
    if (!code) code = tb__terms_write(&m.terms, out, err);
    release_terms(&m);
    return code;
}
