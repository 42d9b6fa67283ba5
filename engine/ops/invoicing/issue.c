/* Drafts, and making them final. The differences of late months (issue_late.c) go on the draft or, if negative, into
 * a credit note of their own (issue_credit.c). */
#include "tollbook/issue.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ops/invoicing/issue_parts.h"
#include "tollbook/ledger.h"

/* --- the draft --- */

/* Collects the unpriced usage of the month and of late months, without that of credit notes. */
static tb_code collect(tb_issue *d, tb_error *err)
{
    size_t n = d->month.bill.n_unpriced;
    for (size_t i = 0; i < d->n_late; i++)
        n += d->late[i].after.bill.n_unpriced;
    d->lists = calloc(d->n_late ? d->n_late : 1, sizeof *d->lists);
    d->unpriced = calloc(n ? n : 1, sizeof *d->unpriced);
    if (!d->lists || !d->unpriced) return tb_no_memory(err);
    n = 0;
    for (size_t k = 0; k < d->month.bill.n_unpriced; k++)
        d->unpriced[n++] = d->month.bill.unpriced[k];
    for (size_t i = 0; i < d->n_late; i++) {
        const tb_bill *after = &d->late[i].after.bill;
        for (size_t k = 0; k < after->n_unpriced; k++)
            d->unpriced[n++] = after->unpriced[k];
        if (!d->late[i].credit) d->lists[d->n_lists++] = d->late[i].corrections;
    }
    return TB_OK;
}

tb_code tb__issue_state(tb_issue *d, uint64_t watermark, tb_error *err)
{
    const tb_bill_input *input = &d->month.source.input;
    const bool whole = d->rules >= TB_ISSUE_RULES_WHOLE;
    size_t late_unpriced = 0;
    tb_code code = collect(d, err);
    d->rated = d->month.bill.subtotal;
    if (!code) code = tb_month_bill_charge(&d->month, d->charges, d->n_charges, err);
    const tb__composing of = {&d->month.bill, input, whole, d->lists, d->n_lists, watermark};
    if (!code) code = tb__compose(&of, &d->joined, &d->books, &d->statement, err);
    if (code) return code;
    for (size_t i = 0; i < d->n_late; i++)
        late_unpriced += d->late[i].after.bill.n_unpriced;
    d->joined.bill.unpriced = d->unpriced;
    d->joined.bill.n_unpriced = d->month.bill.n_unpriced + late_unpriced;
    return TB_OK;
}

/* A category's reason is the one declared now; a category that is no longer declared keeps the reason of its time. */
static void name_reason(tb_statement *s, const tb_parties *parties)
{
    for (size_t i = 0; i < s->bill->n_tax; i++) {
        tb_bill_taxed *tax = &s->bill->tax[i];
        if (!tb_tax_untaxed(&tax->rate) || strcmp(tax->rate.category, parties->tax_category) != 0) continue;
        tax->reason = parties->tax_reason;
        tax->reason_code = parties->tax_reason_code;
    }
}

/* Sets the seller and buyer as declared now. The caller releases parties. */
static tb_code name_parties(tb_store *store, tb_statement *s, tb_parties *parties, tb_error *err)
{
    tb_code code = tb_store_parties(store, s->account, s->month, s->currency, parties, err);
    if (code) return code;
    s->seller = parties->has_seller ? &parties->seller : NULL;
    s->buyer = parties->has_buyer ? &parties->buyer : NULL;
    name_reason(s, parties);
    return TB_OK;
}

/* --- payment --- */

/* The draws from credit now, or at the time when it can be made final: the month must be over. */
static tb_code plan_draws(tb_store *store, tb_issue *d, int64_t now_us, tb_error *err)
{
    const int64_t over_us = tb_month_start_us(d->statement.month + 1);
    tb_draw_plan plan;
    tb_code code = tb_ledger_plan_draws(store, d->statement.account, d->joined.bill.total,
                                        now_us > over_us ? now_us : over_us, &plan, err);
    if (code || !plan.has_credit) return code;
    d->draws = malloc(sizeof *d->draws);
    if (!d->draws) {
        tb_draw_plan_release(&plan);
        return tb_no_memory(err);
    }
    *d->draws = plan;
    return TB_OK;
}

/* Settles the ledger for the invoice: without credit; an invoice that replaces a void one first gets the payments of
 * that one. */
static tb_code settle_for(tb_store *store, const tb_statement *s, const char *replaced, tb_decimal rest,
                          tb_decimal *ret_covered, tb_error *err)
{
    tb_ledger_entry *entries = NULL;
    tb_settle_paper *papers = NULL;
    size_t n = 0, n_papers = 0;
    tb_decimal money = TB_DECIMAL_ZERO;
    tb_code code = tb_store_ledger(store, s->account, &entries, &n, err);
    if (!code) code = tb_store_settle_papers(store, s->account, &papers, &n_papers, err);
    if (!code) code = tb_settle_next(entries, n, papers, n_papers, replaced, &money, err);
    if (!code) code = tb_prepaid_part(money, rest, s->bill->minor_digits, ret_covered, err);
    free(papers);
    free(entries);
    return code;
}

/* In addition to the credits that it draws, an invoice is paid from the balance. */
static tb_code say_paid(tb_store *store, tb_issue *d, tb_error *err)
{
    tb_statement *s = &d->statement;
    const tb_decimal drawn = d->draws ? d->draws->paid : TB_DECIMAL_ZERO;
    char replaced[24];
    tb_decimal rest;
    tb_code code = tb_decimal_sub(s->bill->total, drawn, &rest, err);
    if (!code) code = tb_store_replaced(store, s->account, s->month, replaced, err);
    if (!code)
        code = d->draws || replaced[0]
                   ? settle_for(store, s, replaced, rest, &s->covered, err)
                   : tb_prepaid_covers(store, s->account, rest, drawn, s->bill->minor_digits, &s->covered, err);
    return code ? code : tb_decimal_add(drawn, s->covered, &s->paid, err);
}

tb_code tb__issue_lines(tb_store *store, int64_t account, int64_t month, const tb_month_books *books,
                        int64_t now_us, tb_issue *ret_issue, tb_error *err)
{
    *ret_issue = (tb_issue){0};
    tb_code code = tb_month_bill_read(store, &(tb_bill_query){account, month, TB_NOW, books->list, books->n, now_us},
                                      &ret_issue->month, err);
    if (code) return code;
    code = tb__issue_read_lates(store, account, month, books, now_us, ret_issue, err);
    if (!code) code = tb_store_charges_due(store, account, month, &ret_issue->charges, &ret_issue->n_charges, err);
    if (!code) code = tb__issue_state(ret_issue, ret_issue->month.source.watermark, err);
    if (code) tb_issue_release(ret_issue);
    return code;
}

tb_code tb_issue_draft(tb_store *store, int64_t account, int64_t month, const tb_month_books *books,
                       int64_t now_us, tb_issue *ret_issue, tb_error *err)
{
    tb_code code = tb__issue_lines(store, account, month, books, now_us, ret_issue, err);
    if (code) return code;
    code = name_parties(store, &ret_issue->statement, &ret_issue->parties, err);
    if (!code) code = plan_draws(store, ret_issue, now_us, err);
    if (!code) code = say_paid(store, ret_issue, err);
    if (code) tb_issue_release(ret_issue);
    return code;
}

void tb_issue_release(tb_issue *d)
{
    tb_corrected_release(&d->joined);
    for (size_t i = 0; i < d->n_late; i++)
        tb__issue_late_release(&d->late[i]);
    free(d->late);
    tb__issue_papers_release(d);
    free(d->left);
    free(d->quiet);
    free(d->charges);
    free(d->lists);
    free(d->unpriced);
    free(d->books);
    tb_parties_release(&d->parties);
    if (d->draws) tb_draw_plan_release(d->draws);
    free(d->draws);
    tb_month_bill_release(&d->month);
    *d = (tb_issue){0};
}

/* Whether there is anything on it that has an amount. */
static bool is_due(const tb_issue *draft)
{
    for (size_t i = 0; i < draft->joined.bill.n_lines; i++)
        if (tb_decimal_sign(draft->joined.bill.lines[i].amount) != 0) return true;
    return false;
}

/* --- making it final --- */

typedef struct finishing {
    tb_statement *statement;
    const tb_invoice *invoice;
    int terms_days;
} finishing;

static void put_date(char out[TB_DATE_TEXT_MAX], int64_t us)
{
    char text[21] = "";
    tb_time_format(us, text);
    memcpy(out, text, TB_DATE_TEXT_MAX - 1);
    out[TB_DATE_TEXT_MAX - 1] = 0;
}

static tb_code finish(void *ctx, const char *number, const char *previous, tb_buf *text,
                      char sha256[65], tb_error *err)
{
    const finishing *f = ctx;
    tb_statement *s = f->statement;
    put_date(s->issued, f->invoice->finalized_us);
    if (f->terms_days >= 0 && strcmp(s->kind, "credit_note") != 0) /* there is nothing to pay */
        put_date(s->due, f->invoice->finalized_us + f->terms_days * TB_US_PER_DAY);
    s->in_ledger = true;
    s->ledger = f->invoice->ledger;
    snprintf(s->number, sizeof s->number, "%s", number);
    snprintf(s->previous, sizeof s->previous, "%s", previous);
    snprintf(s->state, sizeof s->state, "final");
    memcpy(s->replaces, f->invoice->replaces, sizeof s->replaces);
    return tb_statement_json(s, text, sha256, err);
}

/* A document that is to be stored. */
typedef struct stating {
    tb_store *store;
    tb__issue_document of;
    tb_statement *statement;
    int terms_days; /* as in tb_parties */
    int64_t now_us;
} stating;

static tb_code write_terms(void *ctx, const tb_invoice *invoice, tb_buf *out, tb_error *err)
{
    const stating *s = ctx;
    (void)invoice;
    return tb__issue_terms(s->store, &s->of, out, err);
}

/* invoice: with the members that a statement does not have (since, corrects). */
static tb_code store_statement(stating *of, tb_invoice *invoice, bool *ret_known, tb_error *err)
{
    tb_statement *statement = of->statement;
    finishing f = {statement, invoice, of->terms_days};
    invoice->terms = write_terms;
    invoice->terms_ctx = of;
    invoice->state = TB_INVOICE_FINAL;
    invoice->account = statement->account;
    invoice->month = statement->month;
    invoice->watermark = statement->watermark;
    invoice->finalized_us = of->now_us;
    memcpy(invoice->kind, statement->kind, sizeof invoice->kind);
    memcpy(invoice->currency, statement->currency, sizeof invoice->currency);
    *tb_decimal_put_fixed(invoice->total, statement->bill->total, statement->bill->minor_digits) =
        0;
    tb_code code = tb_store_finalize(of->store, invoice, finish, &f, ret_known, err);
    invoice->terms = NULL;
    invoice->terms_ctx = NULL;
    if (code || *ret_known) return code;
    code = tb__issue_tell(of->store, invoice, statement, err);
    if (code) tb_invoice_release(invoice);
    return code;
}

static tb_code store_invoice(tb_store *store, tb_issue *draft, int64_t now_us,
                             tb_invoice *ret_invoice, bool *ret_known, tb_error *err)
{
    const tb_bill *bill = &draft->month.bill;
    tb_invoice invoice = {0};
    tb_late *billed = calloc(draft->n_late ? draft->n_late : 1, sizeof *billed);
    tb_billed_charge *charges = calloc(draft->n_charges ? draft->n_charges : 1, sizeof *charges);
    if (!billed || !charges) {
        free(billed);
        free(charges);
        return tb_no_memory(err);
    }
    for (size_t i = 0; i < draft->n_late; i++)
        if (!draft->late[i].credit) billed[invoice.n_corrects++] = draft->late[i].late;
    invoice.corrects = billed;
    invoice.charges = charges;
    for (size_t i = 0; i < bill->n_lines; i++)
        if (bill->lines[i].kind == TB_LINE_CHARGE)
            charges[invoice.n_charges++] = (tb_billed_charge){bill->lines[i].id, bill->lines[i].amount};
    stating of = {store, {draft, NULL, &draft->statement, TB_ISSUE_RULES_NOW}, &draft->statement, draft->parties.terms_days, now_us};
    tb_code code = store_statement(&of, &invoice, ret_known, err);
    free(billed);
    free(charges);
    invoice.corrects = NULL;
    invoice.charges = NULL;
    if (code == TB_OK) *ret_invoice = invoice;
    return code;
}

static tb_code store_credit(tb_store *store, const tb_issue *draft, tb_issue_late *late, const tb_issue_options *options, tb_error *err)
{
    tb__composed credit;
    tb_invoice stored = {.since = late->late.since};
    tb_billed_charge *again = NULL;
    bool known = false;
    tb_parties parties = {.terms_days = -1};
    tb_code code = tb__issue_credit_note(late, TB_ISSUE_RULES_NOW, draft->statement.watermark, &credit, err);
    if (code) return code;
    code = name_parties(store, &credit.statement, &parties, err);
    if (!code) code = tb__issue_due_again(store, late, &again, &stored.n_charges, err);
    stored.charges = again;
    stating of = {store, {draft, late, &credit.statement, TB_ISSUE_RULES_NOW}, &credit.statement, parties.terms_days, options->now_us};
    if (!code) code = store_statement(&of, &stored, &known, err);
    if (!code) {
        if (options->said) options->said(options->ctx, &stored);
        tb_invoice_release(&stored);
    }
    free(again);
    tb_parties_release(&parties);
    tb__composed_release(&credit);
    return code;
}

static tb_code store_credits(tb_store *store, tb_issue *draft, const tb_issue_options *options, tb_error *err)
{
    tb_code code = TB_OK;
    for (size_t i = 0; !code && i < draft->n_late; i++)
        if (draft->late[i].credit)
            code = store_credit(store, draft, &draft->late[i], options, err);
    return code;
}

/* The month's valid invoice, if any: kind invoice, final. */
static tb_code read_standing(tb_store *store, int64_t account, int64_t month,
                             tb_invoice *ret_invoice, bool *ret_found, tb_error *err)
{
    tb_invoice *all = NULL;
    size_t n = 0;
    tb_code code = tb_store_invoices(store, account, month, &all, &n, err);
    if (code) return code;
    *ret_found = false;
    for (size_t i = 0; i < n; i++) {
        bool stands = strcmp(all[i].kind, "invoice") == 0 && all[i].state == TB_INVOICE_FINAL;
        if (stands && !*ret_found) {
            *ret_invoice = all[i];
            *ret_found = true;
        } else {
            tb_invoice_release(&all[i]);
        }
    }
    free(all);
    return TB_OK;
}

tb_code tb_issue_check_over(int64_t month, int64_t now_us, tb_error *err)
{
    char text[8];
    if (now_us >= tb_month_start_us(month + 1)) return TB_OK;
    tb_month_format(month, text);
    return tb_fail(err, TB_E_NOT_OVER, "month",
                   "%s is not over. It can be made final once the next month has begun (UTC).",
                   text);
}

static tb_code check_priced(const tb_statement *s, tb_error *err)
{
    char month[8];
    if (s->bill->n_unpriced == 0) return TB_OK;
    tb_month_format(s->month, month);
    return tb_fail(err, TB_E_UNPRICED, NULL, "Usage without a price in %s: it is not made final.",
                   month);
}

tb_code tb_issue_done(tb_store *store, int64_t account, int64_t month, tb_invoice *ret_invoice,
                      char number[24], tb_issue_outcome *ret_outcome, tb_error *err)
{
    bool known = false;
    number[0] = 0;
    tb_code code = read_standing(store, account, month, ret_invoice, &known, err);
    if (!code && !known) code = tb_store_billed_elsewhere(store, account, month, number, err);
    *ret_outcome = known ? TB_ISSUE_KNOWN : number[0] ? TB_ISSUE_ELSEWHERE : TB_ISSUE_NOTHING;
    return code;
}

/* Records the run of this month, unless an invoice was made, and of the quiet months. */
static tb_code note_runs(tb_store *store, const tb_issue *draft, bool made, int64_t now_us,
                         tb_error *err)
{
    const tb_statement *s = &draft->statement;
    tb_code code = TB_OK;
    for (size_t i = 0; !code && i < draft->n_quiet; i++)
        code = tb_store_note_run(store, s->account, draft->quiet[i].month, TB_RUN_NOTHING, "",
                                 now_us, err);
    if (code || made) return code;
    return tb_store_note_run(store, s->account, s->month, TB_RUN_NOTHING, "", now_us, err);
}

/* Documents replace the daily entries of a prepaid account: those of this month, and of months that were not run until now. */
static tb_code reverse_days(tb_store *store, const tb_issue *draft, int64_t now_us, tb_error *err)
{
    const int64_t account = draft->statement.account;
    tb_code code = tb_prepaid_reverse(store, account, draft->statement.month, now_us, err);
    for (size_t i = 0; !code && i < draft->n_late; i++)
        if (!draft->late[i].n_billed) code = tb_prepaid_reverse(store, account, draft->late[i].late.month, now_us, err);
    for (size_t i = 0; !code && i < draft->n_quiet; i++)
        code = tb_prepaid_reverse(store, account, draft->quiet[i].month, now_us, err);
    return code;
}

/* The amount paid is computed again after the credit notes, which add money to the balance. */
static tb_code finalize(tb_store *store, tb_issue *draft, const tb_issue_options *options,
                        tb_invoice *ret_invoice, tb_issue_outcome *ret_outcome, tb_error *err)
{
    const int64_t now_us = options->now_us;
    bool known = false, due = options->empty || is_due(draft);
    tb_code code = tb_issue_check_over(draft->statement.month, now_us, err);
    if (!code) code = check_priced(&draft->statement, err);
    if (!code) code = reverse_days(store, draft, now_us, err);
    if (!code) code = store_credits(store, draft, options, err);
    if (!code) code = note_runs(store, draft, due, now_us, err);
    if (code || !due) return code;
    if (draft->draws) code = tb_ledger_expire(store, draft->statement.account, now_us, NULL, err);
    if (!code) code = say_paid(store, draft, err);
    if (!code) code = store_invoice(store, draft, now_us, ret_invoice, &known, err);
    if (!code && !known && draft->draws) {
        code = tb_ledger_draw(store, ret_invoice, draft->draws, err);
        if (code) tb_invoice_release(ret_invoice);
    }
    *ret_outcome = known ? TB_ISSUE_KNOWN : TB_ISSUE_MADE;
    return code;
}

tb_code tb_issue_finalize(tb_store *store, tb_issue *draft, const tb_issue_options *options,
                          tb_invoice *ret_invoice, tb_issue_outcome *ret_outcome, tb_error *err)
{
    const tb_statement *s = &draft->statement;
    char number[24];
    tb_code code =
        tb_issue_done(store, s->account, s->month, ret_invoice, number, ret_outcome, err);
    if (code || *ret_outcome != TB_ISSUE_NOTHING) return code;
    return finalize(store, draft, options, ret_invoice, ret_outcome, err);
}
