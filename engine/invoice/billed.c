/* The amounts and taxes that documents have billed of a late month so far, from which its corrections continue.
 *
 * A document's tax rows name their month, or are of its own lines. Before 1.1 they applied to all its lines, those of
 * late months too; a month's part of such a row is then computed from the tax on the lines before it. */
#include <stdlib.h>
#include <string.h>

#include "invoice/compose.h"
#include "invoice/text.h"

/* --- one document's part --- */

/* A document as a late month sees it. */
typedef struct view {
    const tb_statement *s;
    const tb__billed_of *late;
    tb_billed *billed;
    bool own;             /* it is the month's own invoice */
    tb_decimal before, sum; /* the lines before those of the month, and the month's */
} view;

static bool is_of_month(const view *v, size_t line)
{
    if (v->s->bill->lines[line].tax_category[0]) return false; /* a charge beside the account's taxes */
    if (v->s->bill->lines[line].kind != TB_LINE_CORRECTION) return v->own;
    return v->s->bill->lines[line].period_month == v->late->month &&
           strcmp(v->s->corrections[line].invoice, v->late->invoice) == 0;
}

static tb_code sum_lines(view *v, tb_error *err)
{
    tb_decimal all = TB_DECIMAL_ZERO;
    bool begun = false;
    tb_code code = TB_OK;
    v->before = v->sum = TB_DECIMAL_ZERO;
    for (size_t i = 0; !code && i < v->s->bill->n_lines; i++) {
        const tb_decimal amount = v->s->bill->lines[i].amount;
        const bool ours = is_of_month(v, i);
        if (ours && !begun) v->before = all;
        begun |= ours;
        if (ours) code = tb_decimal_add(v->sum, amount, &v->sum, err);
        if (!code) code = tb_decimal_add(all, amount, &all, err);
    }
    return code;
}

/* What one-off credits took, less what earlier credit notes made due again. */
static tb_code sum_credits(const view *v, tb_error *err)
{
    tb_decimal *credits = &v->billed->credits;
    tb_code code = TB_OK;
    for (size_t i = 0; !code && i < v->s->bill->n_lines; i++) {
        const tb_bill_line *line = &v->s->bill->lines[i];
        const bool taken = line->kind == TB_LINE_CHARGE && tb_decimal_sign(line->amount) < 0;
        if (is_of_month(v, i) && (taken || tb__is_limit(v->s, i)))
            code = tb_decimal_add(*credits, line->amount, credits, err);
    }
    if (tb_decimal_sign(*credits) > 0) *credits = TB_DECIMAL_ZERO; /* `floored` limits made fees due again, too */
    return code;
}

/* Rows of this document are on all its lines. */
static bool is_whole(const view *v)
{
    const tb_bill *bill = v->s->bill;
    for (size_t i = 0; i < bill->n_tax; i++)
        if (bill->tax[i].late) return false;
    return bill->n_tax && tb_decimal_compare(bill->tax[0].base, bill->subtotal) == 0;
}

static bool is_row(const view *v, const tb_bill_taxed *row)
{
    if (row->charges) return false;
    if (row->late) return !v->own && row->month == v->late->month;
    return v->own || is_whole(v);
}

/* The row with the month's part of its base and amount. */
static tb_code part_of_row(const view *v, const tb_bill_taxed *row, tb_bill_taxed *ret, tb_error *err)
{
    const tb_bill like = {.minor_digits = v->s->bill->minor_digits, .rounding = v->late->rounding};
    tb_decimal end, before, after;
    *ret = *row;
    if (row->late || tb_decimal_compare(row->base, v->sum) == 0) return TB_OK;
    ret->base = v->sum;
    tb_code code = tb_decimal_add(v->before, v->sum, &end, err);
    if (!code) code = tb_bill_tax_on(&like, &row->rate, v->before, &before, err);
    if (!code) code = tb_bill_tax_on(&like, &row->rate, end, &after, err);
    return code ? code : tb_decimal_sub(after, before, &ret->amount, err);
}

/* --- adding it up --- */

static tb_billed_part *new_part(tb_billed *billed, tb_error *err)
{
    tb_billed_part *more = realloc(billed->parts, (billed->n_parts + 1) * sizeof *more);
    if (!more) {
        (void)tb_no_memory(err);
        return NULL;
    }
    billed->parts = more;
    more[billed->n_parts] = (tb_billed_part){.n_tax = 0};
    return &more[billed->n_parts++];
}

static bool same_taxes(const tb_billed_part *a, const tb_billed_part *b)
{
    bool same = a->n_tax == b->n_tax;
    for (size_t i = 0; same && i < a->n_tax; i++)
        same = tb__same_rate(&a->tax[i].rate, &b->tax[i].rate);
    return same;
}

/* An invoice bills a month under one set of taxes. */
static tb_code add_invoice(const view *v, tb_error *err)
{
    const tb_bill *bill = v->s->bill;
    tb_billed_part part = {.lines = v->sum}, *to = NULL;
    tb_code code = TB_OK;
    for (size_t i = 0; !code && i < bill->n_tax && part.n_tax < TB_BILL_TAXES_MAX; i++)
        if (is_row(v, &bill->tax[i])) code = part_of_row(v, &bill->tax[i], &part.tax[part.n_tax++], err);
    for (size_t i = 0; i < v->billed->n_parts && !to; i++)
        if (same_taxes(&v->billed->parts[i], &part)) to = &v->billed->parts[i];
    if (code) return code;
    if (!to) {
        to = new_part(v->billed, err);
        if (!to) return TB_E_NOMEM;
        *to = part;
        return TB_OK;
    }
    code = tb_decimal_add(to->lines, part.lines, &to->lines, err);
    for (size_t i = 0; !code && i < to->n_tax; i++)
        code = tb_decimal_add(to->tax[i].amount, part.tax[i].amount, &to->tax[i].amount, err);
    return code;
}

static tb_billed_part *part_with(tb_billed *billed, const tb_bill_tax *rate, size_t *ret_tax)
{
    for (size_t i = billed->n_parts; i-- > 0;)
        for (*ret_tax = 0; *ret_tax < billed->parts[i].n_tax; ++*ret_tax)
            if (tb__same_rate(&billed->parts[i].tax[*ret_tax].rate, rate)) return &billed->parts[i];
    return NULL;
}

static tb_billed_part *part_without_tax(tb_billed *billed)
{
    for (size_t i = 0; i < billed->n_parts; i++)
        if (billed->parts[i].n_tax == 0) return &billed->parts[i];
    return NULL;
}

/* A credit note may take back from several documents: each of its rows is matched with the tax that was charged. Lines
 * without a row were billed without tax. */
static tb_code add_credit(const view *v, tb_error *err)
{
    const tb_bill *bill = v->s->bill;
    tb_decimal untaxed = v->sum;
    tb_code code = TB_OK;
    for (size_t i = 0; !code && i < bill->n_tax; i++) {
        tb_bill_taxed row;
        size_t k;
        if (!is_row(v, &bill->tax[i])) continue;
        code = part_of_row(v, &bill->tax[i], &row, err);
        tb_billed_part *part = part_with(v->billed, &row.rate, &k);
        if (code || !part) continue;
        code = tb_decimal_add(part->tax[k].amount, row.amount, &part->tax[k].amount, err);
        if (code || k > 0) continue;
        code = tb_decimal_add(part->lines, row.base, &part->lines, err);
        if (!code) code = tb_decimal_sub(untaxed, row.base, &untaxed, err);
    }
    tb_billed_part *part = part_without_tax(v->billed);
    if (!code && part) code = tb_decimal_add(part->lines, untaxed, &part->lines, err);
    return code;
}

tb_code tb__billed_add(const tb__billed_of *late, const tb_statement *s, tb_billed *billed, tb_error *err)
{
    view v = {.s = s, .late = late, .billed = billed, .own = strcmp(s->number, late->invoice) == 0};
    if (late->early && !v.own && strcmp(s->corrects, late->invoice) != 0) return TB_OK;
    tb_code code = sum_lines(&v, err);
    if (!code) code = sum_credits(&v, err);
    if (!code) code = tb_decimal_add(billed->lines, v.sum, &billed->lines, err);
    if (code) return code;
    billed->floored = late->floored;
    return strcmp(s->kind, "credit_note") == 0 ? add_credit(&v, err) : add_invoice(&v, err);
}
