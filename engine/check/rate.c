/* Rates a document again from its terms, its days and its price books, and says what differs. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check/days.h"
#include "check/find.h"
#include "invoice/compose.h"
#include "invoice/text.h"
#include "tollbook/calendar.h"

/* A corrected month. */
typedef struct corrected {
    tb_bill before, after;
    tb__filled filled; /* of after */
} corrected;

typedef struct rating {
    const tb_check_parts *parts;
    tb_check_rated *rated;
    tb_error *err;
    tb_book *books;
    size_t n_books;
    tb_paper paper;
    bool has_paper;
    tb_paper *earlier;
    const tb_paper **by_number; /* the same, sorted */
    size_t n_earlier;
    tb__doc_terms terms;
    tb__filled own;
    tb_bill bill; /* of the own month */
    corrected *lates;
    tb_corrections *lists; /* one for each of them */
} rating;

/* --- reading --- */

/* The part's name is the error's field; what its reader says becomes the reason. */
static tb_code cannot_read(rating *r, tb_code code, const char *part, const tb_error *why)
{
    if (code == TB_E_NOMEM) return tb_no_memory(r->err);
    tb_fail(r->err, TB_E_VALIDATION, part, "The bundle's \"%s\" cannot be read: %.240s", part, why->message);
    if (r->err) r->err->byte = why->byte;
    return TB_E_VALIDATION;
}

static tb_code read_books(rating *r)
{
    tb_code code = TB_OK;
    r->books = calloc(r->parts->n_books + 1, sizeof *r->books);
    if (!r->books) return tb_no_memory(r->err);
    for (size_t i = 0; !code && i < r->parts->n_books; i++) {
        tb_error why = {0};
        code = tb_book_parse(r->parts->books[i].data, r->parts->books[i].len, NULL, &r->books[i], &why);
        if (code) return cannot_read(r, code, "books", &why);
        r->n_books++;
    }
    return code;
}

static int by_number(const void *left, const void *right)
{
    const tb_paper *a = *(const tb_paper *const *)left, *b = *(const tb_paper *const *)right;
    return strcmp(a->statement.number, b->statement.number);
}

static tb_code read_papers(rating *r)
{
    tb_error why = {0};
    tb_code code = tb_paper_parse(r->parts->invoice.data, r->parts->invoice.len, NULL, &r->paper, &why);
    if (code) return cannot_read(r, code, "invoice", &why);
    r->has_paper = true;
    r->earlier = calloc(r->parts->n_earlier + 1, sizeof *r->earlier);
    r->by_number = calloc(r->parts->n_earlier + 1, sizeof *r->by_number);
    if (!r->earlier || !r->by_number) return tb_no_memory(r->err);
    for (size_t i = 0; i < r->parts->n_earlier; i++) {
        code = tb_paper_parse(r->parts->earlier[i].data, r->parts->earlier[i].len, NULL, &r->earlier[i], &why);
        if (code) return cannot_read(r, code, "earlier", &why);
        r->by_number[r->n_earlier++] = &r->earlier[i];
    }
    qsort(r->by_number, r->n_earlier, sizeof *r->by_number, by_number);
    return TB_OK;
}

/* Who pays in advance, or has credit, owes less than the total, and never more. */
static tb_code check_paid(const rating *r)
{
    const tb_statement *s = &r->paper.statement;
    const int sign = tb_decimal_sign(s->paid);
    char paid[TB_DECIMAL_TEXT_MAX + 1];
    if (sign == 0 || (sign > 0 && tb_decimal_compare(s->paid, s->bill->total) <= 0)) return TB_OK;
    *tb_decimal_put_fixed(paid, s->paid, s->bill->minor_digits) = 0;
    return tb_fail(r->err, TB_E_DIFFERENT, "invoice", "The document says that %s %s of its %s %s is paid.", paid, s->currency, r->rated->total,
                   s->currency);
}

/* An invoice has a month of its own, a credit note the one that it corrects. */
static tb_code check_months(const rating *r)
{
    const tb__doc_terms *t = &r->terms;
    const bool credit = strcmp(t->kind, "credit_note") == 0;
    if (t->n_own != (credit ? 0 : 1) || (credit && (t->n_lates != 1 || t->n_charges)))
        return tb_fail(r->err, TB_E_VALIDATION, "terms", "The terms are not as written: an invoice has one month of its own, and a "
                                                         "credit note one month that it corrects.");
    if (!credit && t->own->input.month != t->month)
        return tb_fail(r->err, TB_E_VALIDATION, "terms", "The terms are not as written: its own month is another one.");
    return TB_OK;
}

static void describe(rating *r)
{
    const tb_statement *s = &r->paper.statement;
    tb_check_rated *to = r->rated;
    *to = (tb_check_rated){.lines = s->bill->n_lines, .account = s->account, .watermark = s->watermark};
    memcpy(to->number, s->number, sizeof to->number);
    memcpy(to->kind, s->kind, sizeof to->kind);
    memcpy(to->currency, s->currency, sizeof to->currency);
    tb_month_format(s->month, to->month);
    *tb_decimal_put_fixed(to->total, s->bill->total, s->bill->minor_digits) = 0;
}

/* --- months --- */

/* The months' own account is the document's. */
static tb_code fill_month(rating *r, const tb__term_month *month, int64_t until_us, tb__filled *ret)
{
    tb_code code = tb__days_fill(r->parts, month, until_us, ret, r->err);
    if (!code) ret->input.account = r->terms.account;
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

static int paper_of_number(const void *key, const void *item)
{
    return strcmp(key, (*(const tb_paper *const *)item)->statement.number);
}

static const tb_paper *find_earlier(const rating *r, const char *number)
{
    const tb_paper **const found = tb__find_sorted(number, r->by_number, r->n_earlier, sizeof *r->by_number, paper_of_number);
    if (found) return *found;
    tb_fail(r->err, TB_E_NOT_FOUND, "earlier", "Document %s, which this one continues, is missing.", number);
    return NULL;
}

/* The oldest first. */
static tb_code add_billed(rating *r, const tb__term_late *late, const corrected *c, tb_corrections *corrections)
{
    const tb__billed_of of = {late->month, late->invoice, c->after.rounding, r->terms.rules == TB__TERM_RULES_EARLY,
                              r->terms.rules != TB__TERM_RULES_NOW};
    tb_code code = TB_OK;
    for (size_t i = late->n_billed; !code && i-- > 0;) {
        const tb_paper *paper = find_earlier(r, late->billed[i].number);
        if (!paper) return TB_E_NOT_FOUND;
        if (paper->statement.account != r->terms.account)
            return tb_fail(r->err, TB_E_DIFFERENT, "earlier", "Document %s is another account's.", late->billed[i].number);
        code = tb__billed_add(&of, &paper->statement, &corrections->billed, r->err);
    }
    return code;
}

/* What a document billed of the month, apart from one-off charges and from what is no longer taken off by them. */
static tb_code sum_billed(const tb_statement *s, const tb__term_late *late, tb_decimal *sum, tb_error *err)
{
    const bool own = strcmp(s->number, late->invoice) == 0;
    tb_code code = TB_OK;
    for (size_t i = 0; !code && i < s->bill->n_lines; i++) {
        const tb_bill_line *line = &s->bill->lines[i];
        const bool ours = line->kind != TB_LINE_CORRECTION
                              ? own && line->kind != TB_LINE_CHARGE
                              : line->period_month == late->month && strcmp(s->corrections[i].invoice, late->invoice) == 0;
        if (ours && !tb__is_limit(s, i)) code = tb_decimal_add(*sum, line->amount, sum, err);
    }
    return code;
}

/* The bill before is what the earlier documents have billed: else a correction could charge it again. */
static tb_code check_billed(rating *r, const tb__term_late *late, const corrected *c)
{
    tb_decimal sum = TB_DECIMAL_ZERO;
    tb_code code = TB_OK;
    char month[8], was[TB_DECIMAL_TEXT_MAX + 1], is[TB_DECIMAL_TEXT_MAX + 1];
    for (size_t i = 0; !code && i < late->n_billed; i++) {
        const tb_paper *paper = find_earlier(r, late->billed[i].number);
        code = paper ? sum_billed(&paper->statement, late, &sum, r->err) : TB_E_NOT_FOUND;
    }
    if (code || tb_decimal_compare(sum, c->before.subtotal) == 0) return code;
    tb_month_format(late->month, month);
    *tb_decimal_put_fixed(was, sum, c->before.minor_digits) = 0;
    *tb_decimal_put_fixed(is, c->before.subtotal, c->before.minor_digits) = 0;
    return tb_fail(r->err, TB_E_DIFFERENT, "earlier", "Earlier documents billed %s %s of %s, and the corrections begin at %s %s.", was,
                   r->paper.statement.currency, month, is, r->paper.statement.currency);
}

static bool is_bill_of(const tb_statement *s, int64_t month)
{
    return s->month == month && strcmp(s->kind, "invoice") == 0;
}

/* The corrections go on from the newest of these documents, and from the month's own bill if that is one of them: what is not its own is
 * not counted as billed. */
static tb_code check_chain(rating *r, const tb__term_late *late)
{
    bool own = false, billed = false, newest = late->n_billed == 0;
    char month[8];
    for (size_t i = 0; i < late->n_billed; i++) {
        const tb_paper *paper = find_earlier(r, late->billed[i].number);
        if (!paper) return TB_E_NOT_FOUND;
        const bool bill = is_bill_of(&paper->statement, late->month);
        billed |= bill;
        own |= bill && strcmp(paper->statement.number, late->invoice) == 0;
        if (i == 0) newest = paper->statement.watermark == late->since;
    }
    if (newest && own == (billed || late->invoice[0])) return TB_OK;
    tb_month_format(late->month, month);
    return tb_fail(r->err, TB_E_DIFFERENT, "terms", "The corrections of %s do not go on from what was billed: another document, or none, is their "
                                                    "beginning.", month);
}

static tb_code correct(rating *r, const tb__term_late *late, corrected *c, tb_corrections *ret)
{
    const tb_late_month difference = {late->month, late->invoice, late->since, &c->before, &c->after};
    tb_code code = TB_OK;
    if (late->n_before > 1 || late->after.input.month != late->month || (late->n_before && late->before->input.month != late->month))
        return tb_fail(r->err, TB_E_VALIDATION, "terms", "The terms are not as written: a corrected month is another one.");
    if (late->n_before) {
        tb__filled before;
        code = rate_month(r, late->before, &before, &c->before);
        if (!code) tb__filled_release(&before);
    }
    if (!code) code = rate_month(r, &late->after, &c->filled, &c->after);
    if (!code) code = tb_correct(&difference, NULL, ret, r->err);
    if (!code) code = add_billed(r, late, c, ret);
    if (!code) code = check_chain(r, late);
    if (!code) code = check_billed(r, late, c);
    if (!code) ret->input = &c->filled.input;
    return code;
}

static tb_code correct_all(rating *r)
{
    tb_code code = TB_OK;
    r->lates = calloc(r->terms.n_lates + 1, sizeof *r->lates);
    r->lists = calloc(r->terms.n_lates + 1, sizeof *r->lists);
    if (!r->lates || !r->lists) return tb_no_memory(r->err);
    for (size_t i = 0; !code && i < r->terms.n_lates; i++)
        code = correct(r, &r->terms.lates[i], &r->lates[i], &r->lists[i]);
    r->rated->corrected = (unsigned)r->terms.n_lates;
    for (size_t i = 0; i < r->terms.n_lates; i++)
        r->rated->unbilled += r->terms.lates[i].n_billed == 0;
    return code;
}

/* --- what differs --- */

static void put_money(const rating *r, tb_buf *out, tb_decimal amount)
{
    tb__add_money(out, amount, r->paper.bill.minor_digits);
    tb_buf_fmt(out, " %s", r->paper.statement.currency);
}

static void put_line_name(tb_buf *out, const tb_statement *s, size_t i)
{
    const tb_bill_line *line = &s->bill->lines[i];
    tb_buf_fmt(out, "Line %u (%.60s, ", line->number, tb__line_title(s, i));
    tb__add_resource(out, line->resource);
    if (*line->region) tb_buf_fmt(out, ", %.32s", line->region);
    tb_buf_str(out, ")");
}

/* "the document has 12.00 EUR, its usage, terms and prices come to 11.50 EUR: 0.50 EUR more" */
static void put_amounts(const rating *r, tb_buf *out, tb_decimal stated, tb_decimal again)
{
    tb_decimal apart = TB_DECIMAL_ZERO;
    tb_buf_str(out, "the document says ");
    put_money(r, out, stated);
    tb_buf_str(out, ", and its usage, terms and prices come to ");
    put_money(r, out, again);
    if (tb_decimal_sub(stated, again, &apart, NULL)) return;
    const bool more = tb_decimal_sign(apart) > 0;
    if (!more) apart.mantissa = -apart.mantissa;
    tb_buf_str(out, ": ");
    put_money(r, out, apart);
    tb_buf_str(out, more ? " too much." : " too little.");
}

static bool same_thing(const tb_bill_line *a, const tb_bill_line *b)
{
    return a->kind == b->kind && strcmp(a->resource, b->resource) == 0 && strcmp(a->region, b->region) == 0;
}

/* The text of a line in the one statement is that in the other. */
static bool same_line(const tb_statement *a, const tb_statement *b, size_t i)
{
    tb_buf x, y;
    tb_buf_init(&x, TB_INVOICE_TEXT_MAX, NULL);
    tb_buf_init(&y, TB_INVOICE_TEXT_MAX, NULL);
    tb_line_json(a, i, &x);
    tb_line_json(b, i, &y);
    const bool same = !x.failed && !y.failed && x.len == y.len && memcmp(x.data, y.data, x.len) == 0;
    tb_buf_release(&x);
    tb_buf_release(&y);
    return same;
}

static void put_line_difference(const rating *r, tb_buf *out, const tb_statement *again, size_t i)
{
    const tb_statement *s = &r->paper.statement;
    const tb_bill_line *a = &s->bill->lines[i], *b = &again->bill->lines[i];
    put_line_name(out, s, i);
    tb_buf_str(out, ": ");
    if (!same_thing(a, b)) {
        tb_buf_str(out, "its usage, terms and prices have another line there: ");
        put_line_name(out, again, i);
        tb_buf_str(out, ".");
    } else if (tb_decimal_compare(a->amount, b->amount) != 0) {
        put_amounts(r, out, a->amount, b->amount);
    } else if (a->quantity != b->quantity) {
        tb_buf_str(out, "the document counts ");
        tb__add_i128(out, a->quantity);
        tb_buf_fmt(out, " %s, and its usage comes to ", tb__line_unit(s, i));
        tb__add_i128(out, b->quantity);
        tb_buf_str(out, ".");
    } else {
        tb_buf_str(out, strcmp(a->evidence.hash, b->evidence.hash) != 0 ? "the amount is the same, but its usage is of other days."
                                                                        : "the amount is the same, but its calculation differs.");
    }
}

/* The first difference that a person understands; else the place in the text. */
static void put_difference(const rating *r, tb_buf *out, const tb_statement *again, size_t byte)
{
    const tb_statement *s = &r->paper.statement;
    const size_t n = s->bill->n_lines, n_again = again->bill->n_lines;
    for (size_t i = 0; i < n && i < n_again; i++)
        if (!same_line(s, again, i)) {
            put_line_difference(r, out, again, i);
            return;
        }
    if (n != n_again) {
        const bool more = n > n_again;
        put_line_name(out, more ? s : again, more ? n_again : n);
        tb_buf_str(out, more ? ": its usage, terms and prices have no such line." : ": the document lacks this line.");
        return;
    }
    if (tb_decimal_compare(s->bill->total, again->bill->total) != 0) {
        tb_buf_str(out, "The lines agree, the total does not: ");
        put_amounts(r, out, s->bill->total, again->bill->total);
        return;
    }
    tb_buf_fmt(out, "The amounts agree, but the text differs from byte %zu on.", byte);
}

static tb_code say_difference(const rating *r, const tb_statement *again, size_t byte)
{
    tb_buf out;
    tb_buf_init(&out, 1024, NULL);
    put_difference(r, &out, again, byte);
    tb_code code = tb_fail(r->err, TB_E_DIFFERENT, "invoice", "%.*s", (int)out.len, out.data ? out.data : "");
    tb_buf_release(&out);
    return code;
}

/* --- the document --- */

static tb_code compare_texts(const rating *r, tb_statement *s)
{
    const tb_text stored = r->parts->invoice;
    size_t i = 0;
    tb_buf again;
    tb_buf_init(&again, TB_INVOICE_TEXT_MAX, NULL);
    tb_statement_dress(s, &r->paper.statement);
    tb_code code = tb_statement_json(s, &again, NULL, r->err);
    while (!code && i < again.len && i < stored.len && again.data[i] == stored.data[i])
        i++;
    if (!code && (i < again.len || i < stored.len)) code = say_difference(r, s, i + 1);
    tb_buf_release(&again);
    return code;
}

static tb_code make_invoice(rating *r)
{
    const tb__term_month *month = r->terms.own;
    tb_corrected joined;
    tb_statement_book *books;
    tb_statement statement;
    tb_code code = rate_month(r, month, &r->own, &r->bill);
    if (!code) code = tb_bill_add_charges(&r->bill, &r->own.input, r->terms.charges, r->terms.n_charges, r->err);
    if (!code) code = correct_all(r);
    const tb__composing of = {&r->bill, &r->own.input, r->terms.rules >= TB__TERM_RULES_WHOLE, r->lists, r->terms.n_lates,
                              r->terms.watermark};
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
        const tb_paper *paper = find_earlier(r, late->billed[i].number);
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
    if (!code) code = find_credited(r, &r->terms.lates[0], &credited);
    if (code) return code;
    const corrected *c = &r->lates[0];
    const tb__composing of = {&c->after, &c->filled.input, r->terms.rules >= TB__TERM_RULES_WHOLE, r->lists, 1, r->terms.watermark};
    code = tb__compose_credit(&of, &r->lists[0], credited, &credit, r->err);
    if (code) return code;
    r->rated->bytes = c->filled.counted.bytes;
    r->rated->requests = c->filled.counted.requests;
    code = compare_texts(r, &credit.statement);
    tb__composed_release(&credit);
    return code;
}

static tb_code rate_parts(rating *r)
{
    tb_code code = read_papers(r);
    if (code) return code;
    describe(r);
    code = read_books(r);
    if (!code) code = tb__terms_read(r->parts->terms, r->books, r->n_books, &r->terms, r->err);
    if (!code) code = tb__terms_compare(&r->terms, &r->paper.statement, r->err);
    if (!code) code = check_months(r);
    if (!code) code = check_paid(r);
    if (!code) code = tb__terms_check(&r->terms, r->paper.statement.currency, r->err);
    if (!code) code = strcmp(r->terms.kind, "credit_note") == 0 ? make_credit(r) : make_invoice(r);
    return code;
}

static void release_rating(rating *r)
{
    for (size_t i = 0; r->lists && i < r->terms.n_lates; i++) {
        free(r->lists[i].billed.parts);
        tb_corrections_release(&r->lists[i]);
    }
    for (size_t i = 0; r->lates && i < r->terms.n_lates; i++) {
        tb_bill_release(&r->lates[i].before);
        tb_bill_release(&r->lates[i].after);
        tb__filled_release(&r->lates[i].filled);
    }
    free(r->lists);
    free(r->lates);
    tb_bill_release(&r->bill);
    tb__filled_release(&r->own);
    tb__terms_release(&r->terms);
    for (size_t i = 0; i < r->n_earlier; i++)
        tb_paper_release(&r->earlier[i]);
    free(r->by_number);
    free(r->earlier);
    if (r->has_paper) tb_paper_release(&r->paper);
    for (size_t i = 0; i < r->n_books; i++)
        tb_book_release(&r->books[i]);
    free(r->books);
}

tb_code tb_check_rate(const tb_check_parts *parts, tb_check_rated *ret_rated, tb_error *err)
{
    rating r = {.parts = parts, .rated = ret_rated, .err = err};
    *ret_rated = (tb_check_rated){.cells = 0};
    tb_code code = rate_parts(&r);
    release_rating(&r);
    return code;
}
