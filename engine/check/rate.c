/* Rates a document again from its terms, its days and its price books, and compares the text. */
#include <stdlib.h>
#include <string.h>

#include "check/contents.h"
#include "check/usage.h"
#include "invoice/compose.h"
#include "invoice/text.h"
#include "tollbook/calendar.h"

/* A corrected month. */
typedef struct corrected {
    tb_bill before, after;
    tb__filled filled; /* of after */
} corrected;

typedef struct rating {
    const tb__contents *of;
    const tb_statement *document;
    const tb__doc_terms *terms;
    tb_check_rated *rated;
    tb_error *err;
    tb__earlier_papers earlier;
    tb__filled own;
    tb_bill bill; /* of the own month */
    corrected *lates;
    tb_corrections *lists; /* one for each of them */
} rating;

/* What is paid already, in advance or by credit, is between 0 and the total. */
static tb_code check_paid(const rating *r)
{
    const tb_statement *s = r->document;
    const int sign = tb_decimal_sign(s->paid);
    char paid[TB_DECIMAL_TEXT_MAX + 1];
    if (sign == 0 || (sign > 0 && tb_decimal_compare(s->paid, s->bill->total) <= 0)) return TB_OK;
    *tb_decimal_put_fixed(paid, s->paid, s->bill->minor_digits) = 0;
    return tb_fail(r->err, TB_E_DIFFERENT, "invoice", "The document says that %s %s of its %s %s is paid.", paid, s->currency, r->rated->total,
                   s->currency);
}

/* --- months --- */

/* The months' own account is the document's. */
static tb_code fill_month(rating *r, const tb__term_month *month, int64_t until_us, tb__filled *ret)
{
    tb_code code = tb__fill_month(r->of, month, until_us, ret, r->err);
    if (!code) ret->input.account = r->terms->account;
    return code;
}

/* The lines up to the alert are rated from the same days. */
static tb_code rate_cap(rating *r, const tb__term_month *month, tb__filled *filled)
{
    const tb_bill_cap *cap = &month->input.cap;
    const int64_t until_us = (tb_hour_from_us(cap->at_us) + 1) * TB_US_PER_HOUR;
    tb__filled before;
    tb_bill bill;
    if (!cap->reached) return TB_OK;
    tb_code code = fill_month(r, month, until_us, &before);
    if (code) return code;
    before.input.cap = (tb_bill_cap){.reached = false};
    code = tb_bill_rate(&before.input, NULL, &bill, r->err);
    tb__filled_release(&before);
    if (code) return code;
    if (tb_decimal_compare(bill.subtotal, cap->before) != 0)
        code = tb_fail(r->err, TB_E_DIFFERENT, "terms", "The terms state another amount up to the cap's alert than its usage comes to.");
    filled->input.cap.before = bill.subtotal;
    tb_bill_release(&bill);
    return code;
}

/* Books of a month follow each other when they come into force. */
static tb_code check_parts(const rating *r, const tb__term_month *month)
{
    for (size_t i = 0; i < month->input.n_parts; i++) {
        const tb_bill_part *part = &month->input.parts[i];
        if (part->book && (i ? part->book->effective_us != part->from_us : part->book->effective_us > part->from_us))
            return tb_fail(r->err, TB_E_DIFFERENT, "terms", "The terms have the price book %s in force from another moment than it says.",
                           part->book->id);
    }
    return TB_OK;
}

/* No document is made final that leaves usage without a price. */
static tb_code check_priced(const rating *r, const tb__term_month *month, const tb_bill *bill)
{
    char name[8];
    if (!bill->n_unpriced) return TB_OK;
    tb_month_format(month->input.month, name);
    return tb_fail(r->err, TB_E_DIFFERENT, "terms", "Usage of %s was left out, as it has no price: %.64s, %.64s.", name,
                   bill->unpriced->resource, bill->unpriced->what);
}

static tb_code rate_month(rating *r, const tb__term_month *month, tb__filled *ret_filled, tb_bill *ret_bill)
{
    tb_code code = check_parts(r, month);
    if (!code) code = fill_month(r, month, INT64_MAX, ret_filled);
    if (code) return code;
    code = rate_cap(r, month, ret_filled);
    if (!code) code = tb_bill_rate(&ret_filled->input, NULL, ret_bill, r->err);
    if (!code && (code = check_priced(r, month, ret_bill))) tb_bill_release(ret_bill);
    if (code) {
        tb__filled_release(ret_filled);
        return code;
    }
    r->rated->cells += ret_filled->counted.cells;
    r->rated->stated += (unsigned)ret_filled->input.n_earlier;
    return TB_OK;
}

/* --- corrections --- */

/* The oldest first. */
static tb_code add_billed(rating *r, const tb__term_late *late, const corrected *c, tb_corrections *corrections)
{
    const tb__billed_of of = {late->month, late->invoice, c->after.rounding, r->terms->rules == TB__TERM_RULES_EARLY,
                              r->terms->rules != TB__TERM_RULES_NOW};
    tb_code code = TB_OK;
    for (size_t i = late->n_billed; !code && i-- > 0;) {
        const tb_paper *paper = tb__find_earlier(&r->earlier, late->billed[i].number, r->err);
        code = paper ? tb__billed_add(&of, &paper->statement, &corrections->billed, r->err) : TB_E_NOT_FOUND;
    }
    return code;
}

static tb_code correct(rating *r, const tb__term_late *late, corrected *c, tb_corrections *ret)
{
    const tb_late_month difference = {late->month, late->invoice, late->since, &c->before, &c->after};
    tb_code code = TB_OK;
    if (late->n_before) {
        tb__filled before;
        code = rate_month(r, late->before, &before, &c->before);
        if (!code) tb__filled_release(&before);
    }
    if (!code) code = rate_month(r, &late->after, &c->filled, &c->after);
    if (!code) code = tb_correct(&difference, NULL, ret, r->err);
    if (!code) code = add_billed(r, late, c, ret);
    if (!code) code = tb__check_earlier(&r->earlier, r->terms, late, &c->before, r->err);
    if (!code) ret->input = &c->filled.input;
    return code;
}

static tb_code correct_all(rating *r)
{
    tb_code code = TB_OK;
    r->lates = calloc(r->terms->n_lates + 1, sizeof *r->lates);
    r->lists = calloc(r->terms->n_lates + 1, sizeof *r->lists);
    if (!r->lates || !r->lists) return tb_no_memory(r->err);
    for (size_t i = 0; !code && i < r->terms->n_lates; i++)
        code = correct(r, &r->terms->lates[i], &r->lates[i], &r->lists[i]);
    r->rated->corrected = (unsigned)r->terms->n_lates;
    for (size_t i = 0; i < r->terms->n_lates; i++)
        r->rated->unbilled += r->terms->lates[i].n_billed == 0;
    return code;
}

/* --- the document --- */

static tb_code compare_texts(const rating *r, tb_statement *s)
{
    const tb_text stored = r->of->text;
    size_t i = 0;
    tb_buf again;
    tb_buf_init(&again, TB_INVOICE_TEXT_MAX, NULL);
    tb_statement_dress(s, r->document);
    tb_code code = tb_statement_json(s, &again, NULL, r->err);
    while (!code && i < again.len && i < stored.len && again.data[i] == stored.data[i])
        i++;
    if (!code && (i < again.len || i < stored.len)) code = tb__say_difference(r->document, s, i + 1, r->err);
    tb_buf_release(&again);
    return code;
}

static tb_code make_invoice(rating *r)
{
    const tb__term_month *month = r->terms->own;
    tb_corrected joined;
    tb_statement_book *books;
    tb_statement statement;
    tb_code code = rate_month(r, month, &r->own, &r->bill);
    if (!code) code = tb_bill_add_charges(&r->bill, &r->own.input, r->terms->charges, r->terms->n_charges, r->err);
    if (!code) code = correct_all(r);
    const tb__composing of = {&r->bill, &r->own.input, r->terms->rules >= TB__TERM_RULES_WHOLE, r->lists, r->terms->n_lates,
                              r->terms->watermark};
    if (!code) code = tb__compose(&of, &joined, &books, &statement, r->err);
    if (code) return code;
    r->rated->bytes = r->own.counted.bytes;
    r->rated->requests = r->own.counted.requests;
    code = compare_texts(r, &statement);
    tb_corrected_release(&joined);
    free(books);
    return code;
}

/* The month's own invoice, or the newest one that billed a part of it. */
static tb_code find_credited(const rating *r, const tb__term_late *late, const char **ret)
{
    *ret = late->invoice;
    for (size_t i = 0; !**ret && i < late->n_billed; i++) {
        const tb_paper *paper = tb__find_earlier(&r->earlier, late->billed[i].number, r->err);
        if (!paper) return TB_E_NOT_FOUND;
        if (strcmp(paper->statement.kind, "invoice") == 0) *ret = paper->statement.number;
    }
    return TB_OK;
}

static tb_code make_credit(rating *r)
{
    tb__composed credit;
    const char *credited = "";
    tb_code code = correct_all(r);
    if (!code) code = find_credited(r, &r->terms->lates[0], &credited);
    if (code) return code;
    const corrected *c = &r->lates[0];
    const tb__composing of = {&c->after, &c->filled.input, r->terms->rules >= TB__TERM_RULES_WHOLE, r->lists, 1, r->terms->watermark};
    code = tb__compose_credit(&of, &r->lists[0], credited, &credit, r->err);
    if (code) return code;
    r->rated->bytes = c->filled.counted.bytes;
    r->rated->requests = c->filled.counted.requests;
    code = compare_texts(r, &credit.statement);
    tb__composed_release(&credit);
    return code;
}

static tb_code rate_document(rating *r)
{
    tb_code code = tb__terms_use_books(r->terms, r->of->books, r->of->n_books, r->err);
    if (!code) code = check_paid(r);
    if (!code) code = tb__terms_check(r->terms, r->document->currency, r->err);
    if (!code) code = tb__sort_earlier(r->of, &r->earlier, r->err);
    if (!code) code = strcmp(r->terms->kind, "credit_note") == 0 ? make_credit(r) : make_invoice(r);
    return code;
}

tb_code tb__rate(const tb__contents *c, tb_check_rated *ret_rated, tb_error *err)
{
    rating r = {.of = c, .document = &c->document.statement, .terms = &c->terms, .rated = ret_rated, .err = err};
    tb__describe(&c->document, ret_rated);
    tb_code code = rate_document(&r);
    for (size_t i = 0; r.lists && i < r.terms->n_lates; i++) {
        free(r.lists[i].billed.parts);
        tb_corrections_release(&r.lists[i]);
    }
    for (size_t i = 0; r.lates && i < r.terms->n_lates; i++) {
        tb_bill_release(&r.lates[i].before);
        tb_bill_release(&r.lates[i].after);
        tb__filled_release(&r.lates[i].filled);
    }
    free(r.lists);
    free(r.lates);
    tb_bill_release(&r.bill);
    tb__filled_release(&r.own);
    free(r.earlier.sorted);
    return code;
}
