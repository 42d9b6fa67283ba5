/* Rates every stored invoice again, from the books that it names and the usage at its watermark, and compares it byte
 * for byte. Rows, hashes, the chain and the series of numbers are checked by the store.
 *
 * Corrections were made by other rules in earlier versions (tb_issue_rules). A differing document with corrections is also
 * rated by the rules that may have made it: it is right if one of them gives its bytes. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/counted.h"
#include "ops/invoicing/issue_parts.h"
#include "tollbook/check.h"
#include "tollbook/prooflog.h"

typedef struct check {
    tb_store *store;
    tb_month_books books;
    tb_say say;
    void *ctx;
    uint64_t *differences;
    tb_error *err;
    const tb_invoice *invoice;
    tb_issue_rules rules;
    uint64_t unrated; /* invoices of months without their usage */
    tb_buf *terms;    /* of a document that is the same; NULL: not wanted */
    bool termless;    /* its terms cannot be made */
    tb_error unkept;  /* why it is not rated, or termless */
    char what[400]; /* the difference; "": none */
} check;

static void TB_PRINTF(2, 3) differs(check *c, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    vsnprintf(c->what, sizeof c->what, fmt, args);
    va_end(args);
}

static void report(check *c)
{
    char sentence[460];
    snprintf(sentence, sizeof sentence, "Invoice %s: %s", c->invoice->number, c->what);
    ++*c->differences;
    if (c->say) c->say(c->ctx, sentence);
}

static void compare(check *c, const tb_buf *again)
{
    const tb_invoice *i = c->invoice;
    size_t at = 0, least = again->len < i->text_len ? again->len : i->text_len;
    while (at < least && again->data[at] == i->text[at])
        at++;
    if (at == again->len && at == i->text_len) return;
    size_t from = at > 40 ? at - 40 : 0;
    size_t left = i->text_len - from, anew = again->len - from;
    differs(c, "rated again it differs from byte %zu on: stored \"%.*s\", now \"%.*s\".", at + 1,
            (int)(left > 80 ? 80 : left), i->text + from, (int)(anew > 80 ? 80 : anew),
            again->data + from);
}

/* The text of s as it would be issued in place of the stored one. credit: as in tb__issue_document. */
static tb_code compare_statement(check *c, const tb_issue *issue, const tb_issue_late *credit, tb_statement *s, const tb_statement *stored)
{
    tb_buf again;
    tb_buf_init(&again, TB_INVOICE_TEXT_MAX, NULL);
    tb_statement_dress(s, stored);
    tb_code code = tb_statement_json(s, &again, NULL, c->err);
    if (!code) compare(c, &again);
    tb_buf_release(&again);
    if (code || !c->terms || c->what[0]) return code;
    const tb__issue_document document = {issue, credit, s, c->rules};
    code = tb__issue_terms(c->store, &document, c->terms, c->err);
    c->termless = code == TB_E_NOT_KEPT;
    if (c->termless) c->unkept = *c->err;
    return c->termless ? TB_OK : code;
}

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

static tb_code lates_again(check *c, const tb_statement *stored, tb_issue *d)
{
    tb__issue_reader r = {.store = c->store,
                          .books = &c->books,
                          .now_us = c->invoice->finalized_us,
                          .until = stored->watermark,
                          .rules = c->rules,
                          .issue = d};
    tb_code code = TB_OK;
    size_t n = stored->bill->n_lines;
    d->rules = c->rules;
    d->late = calloc(n ? n : 1, sizeof *d->late);
    if (!d->late) return tb_no_memory(c->err);
    for (size_t i = 0; !code && i < n; i++) {
        if (stored->bill->lines[i].kind != TB_LINE_CORRECTION) continue;
        tb_late late = late_of(stored, i);
        if (d->n_late && same_month(&d->late[d->n_late - 1].late, &late)) continue;
        code = tb__issue_difference(&r, &late, &d->late[d->n_late], c->err);
        if (!code) d->n_late++;
    }
    return code;
}

static tb_code invoice_again(check *c, const tb_statement *stored)
{
    tb_month_books chosen;
    tb_issue d = {0};
    tb_code code = tb__issue_books_of(&c->books, stored, &chosen, c->err);
    if (code) return code;
    const tb_bill_query query = {stored->account, stored->month, stored->watermark,
                                 chosen.list, chosen.n, c->invoice->finalized_us};
    code = tb_month_bill_read(c->store, &query, &d.month, c->err);
    if (!code) {
        code = lates_again(c, stored, &d);
        if (!code) code = tb_store_charges_billed(c->store, stored->number, &d.charges, &d.n_charges, c->err);
        if (!code) code = tb__issue_state(&d, stored->watermark, c->err);
        if (!code) code = compare_statement(c, &d, NULL, &d.statement, stored);
        tb_issue_release(&d);
    }
    free(chosen.list);
    return code;
}

static tb_code credit_again(check *c, const tb_statement *stored)
{
    tb_issue d = {0};
    tb__composed credit;
    tb_code code = lates_again(c, stored, &d);
    if (!code && d.n_late != 1) differs(c, "it is a credit note without a month that it corrects.");
    if (!code && d.n_late == 1) {
        code = tb__issue_credit_note(&d.late[0], c->rules, stored->watermark, &credit, c->err);
        if (!code) {
            code = compare_statement(c, &d, &d.late[0], &credit.statement, stored);
            tb__composed_release(&credit);
        }
    }
    tb_issue_release(&d);
    return code;
}

/* A month that can no longer be rated is a difference, not a failure of the check. */
static tb_code rate_again(check *c, const tb_paper *paper)
{
    bool credit = strcmp(paper->statement.kind, "credit_note") == 0;
    tb_error why = {0}, *err = c->err;
    c->err = &why;
    tb_code code =
        credit ? credit_again(c, &paper->statement) : invoice_again(c, &paper->statement);
    c->err = err;
    if (code == TB_OK) return TB_OK;
    if (tb_code_exit(code) == tb_code_exit(TB_E_IO)) {
        if (err) *err = why;
        return code;
    }
    if (code == TB_E_NOT_KEPT) {
        c->unrated++;
        c->unkept = why;
        return TB_OK;
    }
    differs(c, "it cannot be rated again: %s", why.message);
    return TB_OK;
}

/* The oldest rules by which the paper may have been made. */
static tb_issue_rules oldest_rules(const tb_statement *s)
{
    bool corrects = false, apart = false;
    for (size_t i = 0; s->corrections && i < s->bill->n_lines; i++)
        corrects |= s->bill->lines[i].kind == TB_LINE_CORRECTION;
    for (size_t i = 0; i < s->bill->n_tax; i++)
        apart |= s->bill->tax[i].late;
    if (!corrects) return TB_ISSUE_RULES_NOW;
    if (apart) return TB_ISSUE_RULES_FLOORED;
    return s->version == 1 ? TB_ISSUE_RULES_EARLY : TB_ISSUE_RULES_WHOLE;
}

/* Where these give the paper's bytes it does not differ. */
static tb_code rate_by(check *c, tb_issue_rules rules, const tb_paper *paper)
{
    char today[sizeof c->what];
    memcpy(today, c->what, sizeof today);
    c->what[0] = 0;
    c->rules = rules;
    tb_store_let_regions_move(c->store, rules == TB_ISSUE_RULES_EARLY);
    tb_code code = rate_again(c, paper);
    tb_store_let_regions_move(c->store, false);
    c->rules = TB_ISSUE_RULES_NOW;
    if (c->what[0]) memcpy(c->what, today, sizeof today);
    return code;
}

static tb_code check_one(check *c)
{
    tb_paper paper;
    tb_error why = {0};
    c->what[0] = 0;
    tb_code code = tb_paper_parse(c->invoice->text, c->invoice->text_len, NULL, &paper, &why);
    if (code == TB_E_NOMEM) return tb_fail(c->err, code, NULL, NULL);
    if (code) {
        differs(c, "it cannot be read: %s", why.message);
        return TB_OK;
    }
    code = rate_again(c, &paper);
    const tb_issue_rules oldest = oldest_rules(&paper.statement);
    for (tb_issue_rules rules = TB_ISSUE_RULES_FLOORED; !code && c->what[0] && rules <= oldest; rules++)
        code = rate_by(c, rules, &paper);
    tb_paper_release(&paper);
    return code;
}

/* --- terms --- */

static tb_code take_again(check *c, tb_error *err)
{
    tb_code code = tb_month_books_read(c->store, &c->books, err);
    if (!code) code = check_one(c);
    tb_month_books_release(&c->books);
    if (code) return code;
    if (c->unrated || c->termless) return tb_fail(err, TB_E_NOT_KEPT, NULL, "%s", c->unkept.message);
    if (!c->what[0]) return TB_OK;
    return tb_fail(err, TB_E_NOT_KEPT, NULL, "Invoice %s: %s Run verify.", c->invoice->number, c->what);
}

tb_code tb__issue_terms_again(tb_store *store, const tb_invoice *invoice, tb_buf *out, tb_error *err)
{
    uint64_t differences = 0;
    check c = {.store = store, .differences = &differences, .err = err, .invoice = invoice, .terms = out};
    return take_again(&c, err);
}

/* What the log of documents commits to; documents that are older than it may have no terms there. */
static tb_code check_terms(check *c)
{
    const tb_text terms = {c->terms->len ? c->terms->data : "", c->terms->len};
    tb_proof_opened opened = {.forgotten = false};
    int64_t index;
    tb_buf text;
    tb_code code = tb_store_proof_find(c->store, TB_PROOF_TERMS, c->invoice->account, c->invoice->number, &index, c->err);
    if (code || index < 0) return code;
    tb_buf_init(&text, terms.len + 1, NULL);
    code = tb_store_proof_open(c->store, index, terms, &opened, &text, c->err);
    tb_buf_release(&text);
    if (code == TB_E_NOT_KEPT && !opened.forgotten) differs(c, "its terms are not those that entry %lld of the log of documents commits to.", (long long)index);
    return code == TB_E_NOT_KEPT ? TB_OK : code;
}

static tb_code check_all_of(check *c)
{
    const uint64_t unrated = c->unrated;
    c->termless = false;
    if (c->terms) c->terms->len = 0;
    tb_code code = check_one(c);
    if (!code && c->terms && !c->termless && !c->what[0] && c->unrated == unrated) code = check_terms(c);
    if (!code && c->what[0]) report(c);
    return code;
}

/* Their hashes and their chain are checked all the same. */
static void remark_unrated(const check *c)
{
    char sentence[200];
    if (!c->unrated || !c->say) return;
    snprintf(sentence, sizeof sentence,
             TB_NOTE "%s checked by hash and chain, but not rated again: the usage is no longer kept.",
             TB__COUNTED(c->unrated, "invoice"));
    c->say(c->ctx, sentence);
}

tb_code tb_issue_verify(tb_store *store, tb_say say, void *ctx, uint64_t *differences,
                        tb_error *err)
{
    check c = {.store = store, .say = say, .ctx = ctx, .differences = differences, .err = err};
    tb_invoice *all = NULL;
    size_t n = 0;
    tb_proof_log log;
    tb_buf terms;
    tb_code code = tb_store_proof_log(store, &log, err);
    if (!code) code = tb_month_books_read(store, &c.books, err);
    if (code) return code;
    tb_buf_init(&terms, TB_TERMS_MAX, NULL);
    if (log.begun) c.terms = &terms;
    code = tb_store_invoices(store, 0, INT64_MIN, &all, &n, err);
    for (size_t i = 0; !code && i < n; i++) {
        c.invoice = &all[i];
        code = check_all_of(&c);
    }
    if (!code) remark_unrated(&c);
    for (size_t i = 0; i < n; i++)
        tb_invoice_release(&all[i]);
    free(all);
    tb_buf_release(&terms);
    tb_month_books_release(&c.books);
    return code;
}
