/* What earlier documents billed of a month that is corrected: the corrections have to go on from there, or they could charge it
 * again. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "check/steps.h"
#include "invoice/compose.h"
#include "invoice/text.h"
#include "tollbook/calendar.h"

/* --- finding them --- */

static int by_number(const void *left, const void *right)
{
    const tb_paper *a = *(const tb_paper *const *)left, *b = *(const tb_paper *const *)right;
    return strcmp(a->statement.number, b->statement.number);
}

tb_code tb__sort_earlier(const tb__contents *c, tb__earlier_papers *ret, tb_error *err)
{
    *ret = (tb__earlier_papers){.sorted = calloc(c->n_earlier + 1, sizeof *ret->sorted)};
    if (!ret->sorted) return tb_no_memory(err);
    while (ret->n < c->n_earlier) {
        ret->sorted[ret->n] = &c->earlier[ret->n];
        ret->n++;
    }
    qsort(ret->sorted, ret->n, sizeof *ret->sorted, by_number);
    return TB_OK;
}

static int paper_of_number(const void *key, const void *item)
{
    return strcmp(key, (*(const tb_paper *const *)item)->statement.number);
}

const tb_paper *tb__find_earlier(const tb__earlier_papers *e, const char *number, tb_error *err)
{
    const tb_paper **const found = tb__find_sorted(number, e->sorted, e->n, sizeof *e->sorted, paper_of_number);
    if (found) return *found;
    tb_fail(err, TB_E_NOT_FOUND, "earlier", "Document %s, which this one continues, is missing.", number);
    return NULL;
}

/* --- their order --- */

/* The corrections go on from the newest of these documents, and from the month's own bill if that is one of them: what is not its own is
 * not counted as billed. */
static tb_code check_order(const tb__earlier_papers *e, const tb__doc_terms *terms, const tb__term_late *late, tb_error *err)
{
    bool own = false, billed = false, newest = late->n_billed == 0;
    char month[8];
    for (size_t i = 0; i < late->n_billed; i++) {
        const tb_paper *paper = tb__find_earlier(e, late->billed[i].number, err);
        if (!paper) return TB_E_NOT_FOUND;
        const tb_statement *s = &paper->statement;
        const bool bill = s->month == late->month && strcmp(s->kind, "invoice") == 0;
        if (s->account != terms->account) return tb_fail(err, TB_E_DIFFERENT, "earlier", "Document %s is another account's.", s->number);
        billed |= bill;
        own |= bill && strcmp(s->number, late->invoice) == 0;
        if (i == 0) newest = s->watermark == late->since;
    }
    if (newest && own == (billed || late->invoice[0])) return TB_OK;
    tb_month_format(late->month, month);
    return tb_fail(err, TB_E_DIFFERENT, "terms", "The corrections of %s do not go on from what was billed: another document, or none, is their "
                                                 "beginning.", month);
}

/* --- amount and usage --- */

/* What was billed of one thing, less what the corrections begin at. */
typedef struct thing {
    tb_line_kind kind;
    const char *item, *resource, *region;
    tb_i128 rest;
} thing;

/* All that was billed of the month before. */
typedef struct sums {
    tb_decimal amount;
    thing *things;
    size_t n, cap;
    tb_error *err;
} sums;

static tb_code add_thing(sums *to, tb_line_kind kind, const tb_bill_line *line, int sign)
{
    const tb_line_basis basis = tb_line_kind_of(kind)->basis;
    if (basis != TB_BASIS_USAGE && basis != TB_BASIS_PEAK) return TB_OK;
    tb_code code = tb__grow(&to->things, to->n, &to->cap, sizeof *to->things, to->err);
    if (!code) to->things[to->n++] = (thing){kind, line->item ? line->item->id : "", line->resource, line->region, sign * line->quantity};
    return code;
}

/* What a document billed of the month, apart from one-off charges and from what is no longer taken off by them. */
static tb_code add_document(sums *to, const tb_statement *s, const tb__term_late *late)
{
    const bool own = strcmp(s->number, late->invoice) == 0;
    tb_code code = TB_OK;
    for (size_t i = 0; !code && i < s->bill->n_lines; i++) {
        const tb_bill_line *line = &s->bill->lines[i];
        const bool correction = line->kind == TB_LINE_CORRECTION;
        if (correction ? line->period_month != late->month || strcmp(s->corrections[i].invoice, late->invoice) != 0
                       : !own || line->kind == TB_LINE_CHARGE)
            continue;
        if (tb__is_limit(s, i)) continue;
        code = tb_decimal_add(to->amount, line->amount, &to->amount, to->err);
        if (!code) code = add_thing(to, correction ? s->corrections[i].kind : line->kind, line, 1);
    }
    return code;
}

static int by_thing(const void *left, const void *right)
{
    const thing *a = left, *b = right;
    if (a->kind != b->kind) return a->kind < b->kind ? -1 : 1;
    int order = strcmp(a->item, b->item);
    if (!order) order = strcmp(a->resource, b->resource);
    return order ? order : strcmp(a->region, b->region);
}

static tb_code compare_amounts(const sums *billed, const tb__doc_terms *terms, const char *month, const tb_bill *before)
{
    char was[TB_DECIMAL_TEXT_MAX + 1], is[TB_DECIMAL_TEXT_MAX + 1];
    const char *currency = terms->all[0]->input.currency;
    if (tb_decimal_compare(billed->amount, before->subtotal) == 0) return TB_OK;
    *tb_decimal_put_fixed(was, billed->amount, before->minor_digits) = 0;
    *tb_decimal_put_fixed(is, before->subtotal, before->minor_digits) = 0;
    return tb_fail(billed->err, TB_E_DIFFERENT, "earlier", "Earlier documents billed %s %s of %s, and the corrections begin at %s %s.", was,
                   currency, month, is, currency);
}

static tb_code say_usage(const sums *billed, const thing *t, const char *month)
{
    const bool more = t->rest < 0;
    char digits[TB__GROUPED];
    tb__check_grouped((tb_u128)(more ? -t->rest : t->rest), digits);
    return tb_fail(billed->err, TB_E_DIFFERENT, "earlier", "The usage of %s at which the corrections begin is not what earlier documents billed: "
                   "it has %s %s %s of %.60s%s%.32s.", month, digits, more ? "more" : "fewer", tb_line_kind_unit(t->kind), t->resource,
                   *t->region ? ", " : "", t->region);
}

/* Also where a minimum or a commit keeps the amount the same. */
static tb_code compare_usage(const sums *billed, const char *month)
{
    thing *const all = billed->things;
    if (billed->n) qsort(all, billed->n, sizeof *all, by_thing);
    for (size_t i = 0; i < billed->n; i++) {
        if (i + 1 < billed->n && by_thing(&all[i], &all[i + 1]) == 0) all[i + 1].rest += all[i].rest;
        else if (all[i].rest) return say_usage(billed, &all[i], month);
    }
    return TB_OK;
}

tb_code tb__check_earlier(const tb__earlier_papers *e, const tb__doc_terms *terms, const tb__term_late *late, const tb_bill *before, tb_error *err)
{
    sums billed = {.amount = TB_DECIMAL_ZERO, .err = err};
    char month[8];
    tb_month_format(late->month, month);
    tb_code code = check_order(e, terms, late, err);
    for (size_t i = 0; !code && i < late->n_billed; i++) {
        const tb_paper *paper = tb__find_earlier(e, late->billed[i].number, err);
        code = paper ? add_document(&billed, &paper->statement, late) : TB_E_NOT_FOUND;
    }
    for (size_t i = 0; !code && i < before->n_lines; i++)
        code = add_thing(&billed, before->lines[i].kind, &before->lines[i], -1);
    if (!code) code = compare_amounts(&billed, terms, month, before);
    if (!code) code = compare_usage(&billed, month);
    free(billed.things);
    return code;
}
