/* Late months: those that were run and hold something else since. One is billed twice, as its
 * invoice (or the last correction) saw it and as it stands, under the books its invoice was made
 * with; the difference is what goes onto the next invoice. A month of which nothing is billed, for
 * nothing was due or it was refused, has an empty bill before: all of it goes onto the next
 * invoice, whenever something of it is due. What cannot be billed now is left and waits on, for it
 * must not hold the next month back; what comes to nothing is noted as run again, so that it waits
 * no longer. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ops/issue_parts.h"

/* --- before, after, and the difference --- */

static bool is_named(const tb_statement *statement, const tb_book *book)
{
    for (size_t k = 0; k < statement->n_books; k++)
        if (strcmp(book->sha256, statement->books[k].sha256) == 0) return true;
    return false;
}

tb_code tb__issue_books_of(const tb_month_books *books, const tb_statement *statement,
                           tb_month_books *ret_books, tb_error *err)
{
    tb_month_books chosen = {.list = calloc(books->n ? books->n : 1, sizeof *chosen.list)};
    if (!chosen.list) return tb_no_memory(err);
    for (size_t i = 0; i < books->n; i++)
        if (is_named(statement, &books->list[i]) ||
            books->list[i].effective_us >= tb_month_start_us(statement->month + 1))
            chosen.list[chosen.n++] = books->list[i];
    *ret_books = chosen;
    return TB_OK;
}

/* Those that a month's invoice names; all for a month without one, of which the store takes those
 * that it was billed by first. */
static tb_code books_for(tb_store *store, const tb_late *late, const tb_month_books *books,
                         tb_month_books *ret_books, tb_error *err)
{
    tb_invoice invoice;
    tb_paper paper;
    if (!late->invoice[0]) {
        *ret_books =
            (tb_month_books){calloc(books->n ? books->n : 1, sizeof *books->list), books->n};
        if (!ret_books->list) return tb_no_memory(err);
        if (books->n) memcpy(ret_books->list, books->list, books->n * sizeof *books->list);
        return TB_OK;
    }
    tb_code code = tb_store_invoice(store, late->account, late->invoice, &invoice, err);
    if (code) return code;
    code = tb_paper_parse(invoice.text, invoice.text_len, NULL, &paper, err);
    if (code == TB_OK) {
        code = tb__issue_books_of(books, &paper.statement, ret_books, err);
        tb_paper_release(&paper);
    }
    tb_invoice_release(&invoice);
    return code;
}

void tb__issue_late_release(tb_issue_late *late)
{
    tb_corrections_release(&late->corrections);
    tb_month_bill_release(&late->after);
    tb_month_bill_release(&late->before);
    free(late->books.list);
    free(late->billed);
}

/* Where nothing of the month is billed, the bill before stays empty. */
static tb_code read_before(tb_store *store, int64_t now_us, tb_issue_late *out, tb_error *err)
{
    const tb_late *late = &out->late;
    tb_code code = tb_store_billed_chain(store, late->account, late->month, late->since,
                                         &out->billed, &out->n_billed, err);
    if (code || out->n_billed == 0) return code;
    return tb_month_bill_read(store, late->account, late->month, late->since, out->books.list,
                              out->books.n, now_us, &out->before, err);
}

/* --- what the month has been billed by now --- */

static bool same_rate(const tb_bill_tax *a, const tb_bill_tax *b)
{
    return strcmp(a->name, b->name) == 0 && strcmp(tb_tax_category(a), tb_tax_category(b)) == 0 &&
           tb_decimal_compare(a->percent, b->percent) == 0;
}

/* The row of a tax on the lines of the late month, or what a document had before its rows had months: one on all
 * its lines. NULL: neither. */
static const tb_bill_taxed *row_of(const tb_statement *s, const tb_bill_tax *rate, bool own, int64_t month)
{
    const tb_bill_taxed *whole = NULL;
    for (size_t i = 0; i < s->bill->n_tax; i++) {
        const tb_bill_taxed *tax = &s->bill->tax[i];
        if (!same_rate(&tax->rate, rate)) continue;
        if (own ? !tax->late : tax->late && tax->month == month) return tax;
        if (!tax->late) whole = tax;
    }
    return whole;
}

/* sum: of the document's lines for the month. A row that taxes others too is taxed anew. */
static tb_code add_tax(const tb_bill *bill, const tb_bill_taxed *row, tb_decimal sum, tb_decimal *billed, tb_error *err)
{
    tb_decimal amount = row->amount;
    tb_code code = tb_decimal_compare(row->base, sum) ? tb_bill_tax_on(bill, &row->rate, sum, &amount, err) : TB_OK;
    return code ? code : tb_decimal_add(*billed, amount, billed, err);
}

/* What a paper billed for the late month: the lines of its invoice, or corrections of it (of months
 * without an invoice each says the period alone). */
static tb_code sum_billed(const tb_statement *s, const tb_late *late, bool own, tb_decimal *sum, tb_error *err)
{
    tb_code code = TB_OK;
    for (size_t i = 0; !code && i < s->bill->n_lines; i++) {
        const tb_bill_line *line = &s->bill->lines[i];
        bool correction = line->kind == TB_LINE_CORRECTION;
        if (correction ? line->period_month == late->month &&
                             strcmp(s->corrections[i].invoice, late->invoice) == 0
                       : own)
            code = tb_decimal_add(*sum, line->amount, sum, err);
    }
    return code;
}

static tb_code add_billed(const tb_paper *paper, tb_issue_late *late, tb_error *err)
{
    const tb_statement *s = &paper->statement;
    const tb_bill_input *input = &late->after.source.input;
    tb_billed *billed = &late->corrections.billed;
    tb_decimal sum = TB_DECIMAL_ZERO;
    bool own = strcmp(s->number, late->late.invoice) == 0;
    if (late->rules == TB_ISSUE_RULES_EARLY && !own && strcmp(s->corrects, late->late.invoice) != 0) return TB_OK;
    tb_code code = sum_billed(s, &late->late, own, &sum, err);
    if (!code) code = tb_decimal_add(billed->lines, sum, &billed->lines, err);
    for (size_t k = 0; !code && k < input->n_tax; k++) {
        const tb_bill_taxed *row = row_of(s, &input->tax[k], own, late->late.month);
        if (row) code = add_tax(s->bill, row, sum, &billed->tax[k], err);
    }
    return code;
}

static tb_code add_document(tb_store *store, tb_issue_late *late, const char *number, tb_error *err)
{
    tb_invoice invoice;
    tb_paper paper;
    tb_code code = tb_store_invoice(store, late->late.account, number, &invoice, err);
    if (code) return code;
    code = tb_paper_parse(invoice.text, invoice.text_len, NULL, &paper, err);
    if (!code) {
        paper.bill.rounding = late->after.bill.rounding; /* which a document does not say */
        code = add_billed(&paper, late, err);
        tb_paper_release(&paper);
    }
    tb_invoice_release(&invoice);
    return code;
}

static tb_code read_billed(tb_store *store, tb_issue_late *late, tb_error *err)
{
    tb_code code = TB_OK;
    late->corrections.billed = (tb_billed){0};
    for (size_t i = 0; !code && i < late->n_billed; i++)
        code = add_document(store, late, late->billed[i].number, err);
    return code;
}

tb_code tb__issue_difference(tb_store *store, const tb_late *late, uint64_t until,
                             const tb_month_books *books, int64_t now_us, tb_issue_rules rules, tb_issue_late *ret,
                             tb_error *err)
{
    tb_issue_late out = {.late = *late, .rules = rules};
    tb_late_month difference = {late->month, late->invoice, late->since, &out.before.bill,
                                &out.after.bill};
    tb_code code = books_for(store, late, books, &out.books, err);
    if (!code) code = read_before(store, now_us, &out, err);
    if (!code)
        code = tb_month_bill_read(store, late->account, late->month, until, out.books.list,
                                  out.books.n, now_us, &out.after, err);
    if (!code) code = tb_correct(&difference, NULL, &out.corrections, err);
    if (!code) code = read_billed(store, &out, err);
    if (code) {
        tb__issue_late_release(&out);
        return code;
    }
    out.credit = tb_decimal_sign(out.corrections.amount) < 0;
    *ret = out;
    ret->corrections.input = &ret->after.source.input;
    return TB_OK;
}

/* --- which of them go onto the invoice --- */

static tb_code leave(tb_issue *d, const tb_late *late, const char *why, tb_error *err)
{
    tb_issue_left *more = realloc(d->left, (d->n_left + 1) * sizeof *more);
    if (!more) return tb_no_memory(err);
    d->left = more;
    more[d->n_left] = (tb_issue_left){.late = *late};
    snprintf(more[d->n_left++].why, sizeof more->why, "%s", why);
    return TB_OK;
}

static tb_code keep_quiet(tb_issue *d, const tb_late *late, tb_error *err)
{
    tb_late *more = realloc(d->quiet, (d->n_quiet + 1) * sizeof *more);
    if (!more) return tb_no_memory(err);
    d->quiet = more;
    more[d->n_quiet++] = *late;
    return TB_OK;
}

bool tb_issue_is_its_own(tb_code code)
{
    return code == TB_E_UNPRICED || code == TB_E_DIFFERENT || code == TB_E_OVERFLOW ||
           code == TB_E_DECLARED || code == TB_E_CATALOG || code == TB_E_BOOK ||
           code == TB_E_VALIDATION;
}

static bool changes_nothing(const tb_issue_late *late)
{
    for (size_t i = 0; i < late->corrections.n; i++)
        if (tb_decimal_sign(late->corrections.lines[i].amount) != 0) return false;
    return true;
}

/* Why a month without an invoice cannot go onto this one; "": it can. */
static const char *why_not(const tb_issue *d, const tb_issue_late *late)
{
    if (late->after.bill.n_unpriced)
        return "Usage without a price; the month's own draft lists it.";
    if (strcmp(late->after.source.input.currency, d->month.source.input.currency) != 0)
        return "It is billed in another currency than this month.";
    return "";
}

/* A month without an invoice holds no other one back: what cannot be billed waits on. */
static tb_code add_uninvoiced(tb_store *store, const tb_late *late, const tb_month_books *books,
                              int64_t now_us, tb_issue *d, tb_error *err)
{
    tb_issue_late *out = &d->late[d->n_late];
    tb_error why = {0};
    if (late->outcome == TB_RUN_VOID)
        return leave(d, late, "Its invoice is void; make the month final again.", err);
    tb_code code = tb__issue_difference(store, late, TB_NOW, books, now_us, TB_ISSUE_RULES_NOW, out, &why);
    if (tb_issue_is_its_own(code)) return leave(d, late, why.message, err);
    if (code) return tb_fail(err, code, why.field, "%s", why.message);
    const char *not = why_not(d, out);
    bool quiet = !*not &&out->n_billed == 0 && changes_nothing(out);
    if (!*not &&!quiet) {
        d->n_late++;
        return TB_OK;
    }
    tb__issue_late_release(out);
    return quiet ? keep_quiet(d, late, err) : leave(d, late, not, err);
}

/* An overflow says which month it is of: not the draft's own. */
static tb_code name_late(const tb_late *late, tb_code code, tb_error *err)
{
    char month[8], inner[sizeof err->message];
    if (code != TB_E_OVERFLOW || !err) return code;
    tb_month_format(late->month, month);
    memcpy(inner, err->message, sizeof inner);
    return tb_fail(err, code, "late", "late usage of %s: %.300s", month, inner);
}

static tb_code add_invoiced(tb_store *store, const tb_late *late, const tb_month_books *books,
                            int64_t now_us, tb_issue *d, tb_error *err)
{
    tb_code code =
        tb__issue_difference(store, late, TB_NOW, books, now_us, TB_ISSUE_RULES_NOW, &d->late[d->n_late], err);
    if (!code) d->n_late++;
    return name_late(late, code, err);
}

/* Months after the draft's own, where that is made again, wait for the next one. */
tb_code tb__issue_read_lates(tb_store *store, int64_t account, int64_t month,
                             const tb_month_books *books, int64_t now_us, tb_issue *d,
                             tb_error *err)
{
    tb_late *waiting = NULL;
    size_t n = 0;
    tb_code code = tb_store_late(store, account, &waiting, &n, err);
    if (code) return code;
    d->late = calloc(n ? n : 1, sizeof *d->late);
    if (!d->late) code = tb_no_memory(err);
    for (size_t i = 0; !code && i < n && waiting[i].month < month; i++)
        code = (waiting[i].invoice[0] ? add_invoiced : add_uninvoiced)(store, &waiting[i], books,
                                                                       now_us, d, err);
    free(waiting);
    return code;
}
