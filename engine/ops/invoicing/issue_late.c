/* Late months: months that were run and whose data has changed since. One is billed twice, with the data of its
 * invoice (or last correction) and with the current data, under the books of its invoice; the difference goes on the
 * next invoice. A month of which nothing is billed, since nothing was due or it was refused, has an empty bill before:
 * all of it goes on the next invoice as soon as something is due, below zero too, as there is nothing to credit. A month
 * that cannot be billed now stays late, for it must not delay the next month; a month without anything due is recorded
 * as run again, and is no longer late. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ops/invoicing/issue_parts.h"

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
    for (size_t i = 0; i < books->n; i++) {
        chosen.list[chosen.n] = books->list[i];
        chosen.list[chosen.n++].aside = !is_named(statement, &books->list[i]) &&
                                        books->list[i].effective_us < tb_month_start_us(statement->month + 1);
    }
    *ret_books = chosen;
    return TB_OK;
}

/* Those that a month's invoice names; all for a month without one, of which the store takes those
 * that it was billed by first. */
static tb_code books_for(tb__issue_reader *r, const tb_late *late, tb_month_books *ret_books, tb_error *err)
{
    const tb_month_books *books = r->books;
    const tb_paper *paper;
    if (!late->invoice[0]) {
        *ret_books =
            (tb_month_books){calloc(books->n ? books->n : 1, sizeof *books->list), books->n};
        if (!ret_books->list) return tb_no_memory(err);
        if (books->n) memcpy(ret_books->list, books->list, books->n * sizeof *books->list);
        return TB_OK;
    }
    tb_code code = tb__issue_paper(r, late->account, late->invoice, &paper, err);
    return code ? code : tb__issue_books_of(books, &paper->statement, ret_books, err);
}

void tb__issue_late_release(tb_issue_late *late)
{
    free(late->corrections.billed.parts);
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
    const tb_bill_query query = {late->account, late->month, late->since, out->books.list, out->books.n, now_us};
    return tb_month_bill_read(store, &query, &out->before, err);
}

tb_code tb__issue_difference(tb__issue_reader *r, const tb_late *late, tb_issue_late *ret, tb_error *err)
{
    tb_issue_late out = {.late = *late};
    tb_late_month difference = {late->month, late->invoice, late->since, &out.before.bill,
                                &out.after.bill};
    tb_code code = books_for(r, late, &out.books, err);
    if (!code) code = read_before(r->store, r->now_us, &out, err);
    const tb_bill_query query = {late->account, late->month, r->until, out.books.list, out.books.n, r->now_us};
    if (!code) code = tb_month_bill_read(r->store, &query, &out.after, err);
    if (!code) code = tb_correct(&difference, NULL, &out.corrections, err);
    if (!code) code = tb__issue_billed(r, &out, err);
    if (code) {
        tb__issue_late_release(&out);
        return code;
    }
    out.credit = out.n_billed && tb_decimal_sign(out.corrections.amount) < 0;
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

tb_code tb__issue_comes_to_nothing(tb_store *store, const tb_late *late, const tb_month_books *books,
                                   int64_t now_us, bool *ret_nothing, tb_error *err)
{
    tb_issue none = {0};
    tb__issue_reader r = {.store = store, .books = books, .now_us = now_us, .until = TB_NOW, .issue = &none};
    tb_issue_late difference;
    tb_error why = {0};
    *ret_nothing = false;
    if (!tb_late_is_billed(late) || late->outcome == TB_RUN_VOID) return TB_OK;
    tb_code code = tb__issue_difference(&r, late, &difference, &why);
    tb__issue_papers_release(&none);
    if (code) return tb_issue_is_its_own(code) ? TB_OK : tb_fail(err, code, why.field, "%s", why.message);
    *ret_nothing = difference.after.bill.n_unpriced == 0 && changes_nothing(&difference);
    tb__issue_late_release(&difference);
    return TB_OK;
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

/* A month without an invoice delays no other one: if it cannot be billed now it stays late. */
static tb_code add_uninvoiced(tb__issue_reader *r, const tb_late *late, tb_error *err)
{
    tb_issue *d = r->issue;
    tb_issue_late *out = &d->late[d->n_late];
    tb_error why = {0};
    if (late->outcome == TB_RUN_VOID)
        return leave(d, late, "Its invoice is void; make the month final again.", err);
    tb_code code = tb__issue_difference(r, late, out, &why);
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

/* Adds the late month to an overflow's message. */
static tb_code add_late_month(const tb_late *late, tb_code code, tb_error *err)
{
    char month[8], inner[sizeof err->message];
    if (code != TB_E_OVERFLOW || !err) return code;
    tb_month_format(late->month, month);
    memcpy(inner, err->message, sizeof inner);
    return tb_fail(err, code, "late", "late usage of %s: %.300s", month, inner);
}

static tb_code add_invoiced(tb__issue_reader *r, const tb_late *late, tb_error *err)
{
    tb_issue *d = r->issue;
    tb_code code = tb__issue_difference(r, late, &d->late[d->n_late], err);
    if (!code) d->n_late++;
    return add_late_month(late, code, err);
}

/* When a document is made again, later months than its own are left to the next one. */
tb_code tb__issue_read_lates(tb_store *store, int64_t account, int64_t month,
                             const tb_month_books *books, int64_t now_us, tb_issue *d,
                             tb_error *err)
{
    tb__issue_reader r = {.store = store, .books = books, .now_us = now_us, .until = TB_NOW, .issue = d};
    tb_late *waiting = NULL;
    size_t n = 0;
    tb_code code = tb_store_late(store, account, &waiting, &n, err);
    if (code) return code;
    d->late = calloc(n ? n : 1, sizeof *d->late);
    if (!d->late) code = tb_no_memory(err);
    for (size_t i = 0; !code && i < n && waiting[i].month < month; i++)
        code = (waiting[i].invoice[0] ? add_invoiced : add_uninvoiced)(&r, &waiting[i], err);
    free(waiting);
    return code;
}
