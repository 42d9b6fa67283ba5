/* Drafts and what makes them final. A late month is billed twice, as its invoice (or the last
 * correction) saw it and as it stands, under the books its invoice was made with, and the
 * difference goes on the draft or, where it is negative, into a credit note of its own. A credit
 * note takes off at most what the month has come to, corrections on later invoices included: were
 * it held to the invoice alone, what a later drop leaves over would be lost to the customer. */
#include "api/issue.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/issue_parts.h"

static tb_code no_memory(tb_error *err)
{
    return tb_fail(err, TB_E_NOMEM, NULL, NULL);
}

/* --- late months --- */

tb_code issue_books_of(const month_books *books, const tb_statement *statement,
                       month_books *ret_books, tb_error *err)
{
    month_books chosen = {.list = calloc(books->n ? books->n : 1, sizeof *chosen.list)};
    if (!chosen.list) return no_memory(err);
    for (size_t i = 0; i < books->n; i++)
        for (size_t k = 0; k < statement->n_books; k++) {
            if (strcmp(books->list[i].sha256, statement->books[k].sha256) != 0) continue;
            chosen.list[chosen.n++] = books->list[i];
            break;
        }
    *ret_books = chosen;
    return TB_OK;
}

static void release_late(issue_late *late)
{
    tb_corrections_release(&late->corrections);
    month_bill_release(&late->after);
    month_bill_release(&late->before);
    free(late->books.list);
}

tb_code issue_difference(tb_store *store, const tb_late *late, uint64_t until,
                         const month_books *books, int64_t now_us, issue_late *ret, tb_error *err)
{
    issue_late out = {.late = *late, .books = *books};
    tb_late_month difference = {late->month, late->invoice, late->since, &out.before.bill,
                                &out.after.bill};
    tb_code code = month_bill_read(store, late->account, late->month, late->since, books->list,
                                   books->n, now_us, &out.before, err);
    if (code) return code;
    code = month_bill_read(store, late->account, late->month, until, books->list, books->n, now_us,
                           &out.after, err);
    if (!code) code = tb_correct(&difference, NULL, &out.corrections, err);
    if (code) {
        month_bill_release(&out.after);
        month_bill_release(&out.before);
        return code;
    }
    out.credit = tb_decimal_sign(out.corrections.amount) < 0;
    *ret = out;
    return TB_OK;
}

static tb_code books_of_invoice(tb_store *store, const tb_late *late, const month_books *books,
                                month_books *ret_books, tb_error *err)
{
    tb_invoice invoice;
    tb_paper paper;
    tb_code code = tb_store_invoice(store, late->account, late->invoice, &invoice, err);
    if (code) return code;
    code = tb_paper_parse(invoice.text, invoice.text_len, NULL, &paper, err);
    if (code == TB_OK) {
        code = issue_books_of(books, &paper.statement, ret_books, err);
        tb_paper_release(&paper);
    }
    tb_invoice_release(&invoice);
    return code;
}

/* An overflow says which month it is of: not the draft's own. */
static tb_code name_late(const tb_late *late, tb_code code, tb_error *err)
{
    char month[8], inner[sizeof err->message];
    if (code != TB_E_OVERFLOW || !err) return code;
    month_format(late->month, month);
    memcpy(inner, err->message, sizeof inner);
    return tb_fail(err, code, "late", "late usage of %s: %.300s", month, inner);
}

static tb_code read_late(tb_store *store, const tb_late *late, const month_books *books,
                         int64_t now_us, issue_late *ret, tb_error *err)
{
    month_books chosen;
    tb_code code = books_of_invoice(store, late, books, &chosen, err);
    if (code) return code;
    code = issue_difference(store, late, TB_NOW, &chosen, now_us, ret, err);
    if (code) free(chosen.list);
    return name_late(late, code, err);
}

/* Months after the draft's own, where that is made again, wait for the next one. */
static tb_code read_lates(tb_store *store, int64_t account, int64_t month, const month_books *books,
                          int64_t now_us, issue *d, tb_error *err)
{
    tb_late *waiting = NULL;
    size_t n = 0;
    tb_code code = tb_store_late(store, account, &waiting, &n, err);
    if (code) return code;
    d->late = calloc(n ? n : 1, sizeof *d->late);
    if (!d->late) code = no_memory(err);
    for (size_t i = 0; !code && i < n && waiting[i].month < month; i++) {
        code = read_late(store, &waiting[i], books, now_us, &d->late[d->n_late], err);
        if (!code) d->n_late++;
    }
    free(waiting);
    return code;
}

/* --- the draft --- */

/* A credit note's own lines are not the invoice's; what late months lack a price for is. */
static tb_code collect(issue *d, tb_error *err)
{
    size_t n = d->month.bill.n_unpriced;
    for (size_t i = 0; i < d->n_late; i++)
        n += d->late[i].after.bill.n_unpriced;
    d->lists = calloc(d->n_late ? d->n_late : 1, sizeof *d->lists);
    d->unpriced = calloc(n ? n : 1, sizeof *d->unpriced);
    if (!d->lists || !d->unpriced) return no_memory(err);
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

tb_code issue_state(issue *d, uint64_t watermark, tb_error *err)
{
    const tb_bill_input *input = &d->month.source.input;
    size_t late_unpriced = 0;
    tb_code code = collect(d, err);
    if (!code)
        code = tb_bill_with(&d->month.bill, input, d->lists, d->n_lists, NULL, &d->joined, err);
    if (code) return code;
    d->books = calloc(input->n_parts ? input->n_parts : 1, sizeof *d->books);
    if (!d->books) return no_memory(err);
    for (size_t i = 0; i < d->n_late; i++)
        late_unpriced += d->late[i].after.bill.n_unpriced;
    d->joined.bill.unpriced = d->unpriced;
    d->joined.bill.n_unpriced = d->month.bill.n_unpriced + late_unpriced;
    tb_statement_init(&d->statement, input, &d->joined.bill, d->books);
    d->statement.corrections = d->joined.what;
    d->statement.watermark = watermark;
    return TB_OK;
}

tb_code issue_draft(tb_store *store, int64_t account, int64_t month, const month_books *books,
                    int64_t now_us, issue *ret_issue, tb_error *err)
{
    *ret_issue = (issue){0};
    tb_code code = month_bill_read(store, account, month, TB_NOW, books->list, books->n, now_us,
                                   &ret_issue->month, err);
    if (code) return code;
    code = read_lates(store, account, month, books, now_us, ret_issue, err);
    if (!code) code = issue_state(ret_issue, ret_issue->month.source.watermark, err);
    if (code) issue_release(ret_issue);
    return code;
}

void issue_release(issue *d)
{
    tb_corrected_release(&d->joined);
    for (size_t i = 0; i < d->n_late; i++)
        release_late(&d->late[i]);
    free(d->late);
    free(d->lists);
    free(d->unpriced);
    free(d->books);
    month_bill_release(&d->month);
    *d = (issue){0};
}

bool issue_due(const issue *draft)
{
    for (size_t i = 0; i < draft->joined.bill.n_lines; i++)
        if (tb_decimal_sign(draft->joined.bill.lines[i].amount) != 0) return true;
    return false;
}

/* --- making it final --- */

typedef struct finishing {
    tb_statement *statement;
    const tb_invoice *invoice;
} finishing;

static tb_code finish(void *ctx, const char *number, const char *previous, tb_buf *text,
                      char sha256[65], tb_error *err)
{
    const finishing *f = ctx;
    tb_statement *s = f->statement;
    char issued[21] = "";
    tb_time_format(f->invoice->finalized_us, issued);
    memcpy(s->issued, issued, sizeof s->issued - 1);
    s->in_ledger = true;
    s->ledger = f->invoice->ledger;
    snprintf(s->number, sizeof s->number, "%s", number);
    snprintf(s->previous, sizeof s->previous, "%s", previous);
    snprintf(s->state, sizeof s->state, "final");
    memcpy(s->replaces, f->invoice->replaces, sizeof s->replaces);
    return tb_statement_json(s, text, sha256, err);
}

/* invoice: with what a statement does not say (since, corrects). */
static tb_code store_statement(tb_store *store, tb_statement *statement, int64_t now_us,
                               tb_invoice *invoice, bool *ret_known, tb_error *err)
{
    finishing f = {statement, invoice};
    invoice->state = TB_INVOICE_FINAL;
    invoice->account = statement->account;
    invoice->month = statement->month;
    invoice->watermark = statement->watermark;
    invoice->finalized_us = now_us;
    memcpy(invoice->kind, statement->kind, sizeof invoice->kind);
    memcpy(invoice->currency, statement->currency, sizeof invoice->currency);
    *tb_decimal_put_fixed(invoice->total, statement->bill->total, statement->bill->minor_digits) =
        0;
    return tb_store_finalize(store, invoice, finish, &f, ret_known, err);
}

static tb_code store_invoice(tb_store *store, issue *draft, int64_t now_us, tb_invoice *ret_invoice,
                             bool *ret_known, tb_error *err)
{
    tb_invoice invoice = {0};
    tb_late *billed = calloc(draft->n_late ? draft->n_late : 1, sizeof *billed);
    if (!billed) return no_memory(err);
    for (size_t i = 0; i < draft->n_late; i++)
        if (!draft->late[i].credit) billed[invoice.n_corrects++] = draft->late[i].late;
    invoice.corrects = billed;
    tb_code code = store_statement(store, &draft->statement, now_us, &invoice, ret_known, err);
    free(billed);
    if (code == TB_OK) *ret_invoice = invoice;
    return code;
}

/* Numbers are a year and a serial that may outgrow its six digits. */
static bool numbered_before(const char *a, const char *b)
{
    int order = strncmp(a, b, 4);
    size_t len_a = strlen(a), len_b = strlen(b);
    if (order) return order < 0;
    return len_a != len_b ? len_a < len_b : strcmp(a, b) < 0;
}

/* What a paper billed for the late month: the lines of its invoice, or corrections of it. */
static tb_code add_billed(const tb_paper *paper, const tb_late *late, bool own_alone,
                          tb_decimal *sum, tb_error *err)
{
    const tb_statement *s = &paper->statement;
    bool own = strcmp(s->number, late->invoice) == 0;
    tb_code code = TB_OK;
    if (own_alone && !own && strcmp(s->corrects, late->invoice) != 0) return TB_OK;
    for (size_t i = 0; !code && i < s->bill->n_lines; i++) {
        const char *corrects = s->corrections ? s->corrections[i].invoice : "";
        if (*corrects ? strcmp(corrects, late->invoice) == 0 : own)
            code = tb_decimal_add(*sum, s->bill->lines[i].amount, sum, err);
    }
    return code;
}

tb_code issue_remaining(tb_store *store, const tb_late *late, const issue_limit *limit,
                        tb_decimal *ret_remaining, tb_error *err)
{
    tb_invoice *all = NULL;
    size_t n = 0;
    tb_decimal left = TB_DECIMAL_ZERO;
    tb_code code = tb_store_invoices(store, late->account, INT64_MIN, &all, &n, err);
    if (code) return code;
    for (size_t i = 0; i < n; i++) {
        tb_paper paper;
        bool original = strcmp(all[i].number, late->invoice) == 0;
        bool earlier = !*limit->before || numbered_before(all[i].number, limit->before);
        if (!code && earlier && (original || all[i].state == TB_INVOICE_FINAL)) {
            code = tb_paper_parse(all[i].text, all[i].text_len, NULL, &paper, err);
            if (!code) code = add_billed(&paper, late, limit->own, &left, err);
            if (!code) tb_paper_release(&paper);
        }
        tb_invoice_release(&all[i]);
    }
    free(all);
    if (tb_decimal_sign(left) < 0) left = TB_DECIMAL_ZERO;
    if (!code) *ret_remaining = left;
    return code;
}

tb_code issue_credit_note(issue_late *late, uint64_t watermark, tb_decimal remaining,
                          issue_credit *ret, tb_error *err)
{
    const tb_bill_input *input = &late->after.source.input;
    tb_bill none = {.minor_digits = late->after.bill.minor_digits,
                    .rounding = late->after.bill.rounding};
    tb_code code = tb_corrections_limit(&late->corrections, late->late.account, remaining, err);
    if (!code) code = tb_bill_with(&none, input, &late->corrections, 1, NULL, &ret->joined, err);
    if (code) return code;
    ret->books = calloc(input->n_parts ? input->n_parts : 1, sizeof *ret->books);
    if (!ret->books) {
        tb_corrected_release(&ret->joined);
        return no_memory(err);
    }
    tb_statement_init(&ret->statement, input, &ret->joined.bill, ret->books);
    ret->statement.corrections = ret->joined.what;
    ret->statement.watermark = watermark;
    snprintf(ret->statement.kind, sizeof ret->statement.kind, "credit_note");
    memcpy(ret->statement.corrects, late->late.invoice, sizeof ret->statement.corrects);
    return TB_OK;
}

void issue_credit_release(issue_credit *credit)
{
    tb_corrected_release(&credit->joined);
    free(credit->books);
}

static tb_code store_credit(tb_store *store, issue_late *late, uint64_t watermark, int64_t now_us,
                            issue_said said, void *ctx, tb_error *err)
{
    issue_credit credit;
    tb_decimal remaining;
    tb_invoice stored = {.since = late->late.since};
    bool known = false;
    const issue_limit all = {.before = ""};
    tb_code code = issue_remaining(store, &late->late, &all, &remaining, err);
    if (!code) code = issue_credit_note(late, watermark, remaining, &credit, err);
    if (code) return code;
    code = store_statement(store, &credit.statement, now_us, &stored, &known, err);
    if (!code) {
        if (said) said(ctx, &stored);
        tb_invoice_release(&stored);
    }
    issue_credit_release(&credit);
    return code;
}

static tb_code store_credits(tb_store *store, issue *draft, int64_t now_us, issue_said said,
                             void *ctx, tb_error *err)
{
    tb_code code = TB_OK;
    for (size_t i = 0; !code && i < draft->n_late; i++)
        if (draft->late[i].credit)
            code = store_credit(store, &draft->late[i], draft->statement.watermark, now_us, said,
                                ctx, err);
    return code;
}

tb_code issue_standing(tb_store *store, int64_t account, int64_t month, tb_invoice *ret_invoice,
                       bool *ret_found, tb_error *err)
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

tb_code issue_check_over(int64_t month, int64_t now_us, tb_error *err)
{
    char text[8];
    if (now_us >= month_start_us(month + 1)) return TB_OK;
    month_format(month, text);
    return tb_fail(err, TB_E_NOT_OVER, "month",
                   "%s is not over. It can be made final once the next month has begun (UTC).",
                   text);
}

static tb_code check_priced(const tb_statement *s, tb_error *err)
{
    char month[8];
    if (s->bill->n_unpriced == 0) return TB_OK;
    month_format(s->month, month);
    return tb_fail(err, TB_E_UNPRICED, NULL, "Usage without a price in %s: it is not made final.",
                   month);
}

tb_code issue_finalize(tb_store *store, issue *draft, int64_t now_us, bool empty, issue_said said,
                       void *ctx, tb_invoice *ret_invoice, issue_outcome *ret_outcome,
                       tb_error *err)
{
    tb_statement *s = &draft->statement;
    bool known = false;
    tb_code code = issue_standing(store, s->account, s->month, ret_invoice, &known, err);
    *ret_outcome = ISSUE_KNOWN;
    if (code || known) return code;
    code = issue_check_over(s->month, now_us, err);
    if (!code) code = check_priced(s, err);
    if (!code) code = store_credits(store, draft, now_us, said, ctx, err);
    *ret_outcome = ISSUE_NOTHING;
    if (code || !(empty || issue_due(draft))) return code;
    code = store_invoice(store, draft, now_us, ret_invoice, &known, err);
    *ret_outcome = known ? ISSUE_KNOWN : ISSUE_MADE;
    return code;
}
