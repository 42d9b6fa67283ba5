/* Lines of the two bills that are of the same thing are counterparts: both are sorted by what they are of and merged. */
#include "tollbook/invoice.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "invoice/late_tax.h"
#include "invoice/text.h"

typedef struct work {
    const tb_late_month *late;
    tb_corrections out;
    tb__arena *mem;
    const tb_bill_item *item, *copy; /* the newest line's item, and its copy */
    tb_error *err;
} work;

/* --- finding counterparts --- */

static const char *item_id(const tb_bill_line *line)
{
    return line->item ? line->item->id : "";
}

/* Of a fee: when its service begins, and before what is given back what is charged. */
static int compare_services(const tb_bill_line *a, const tb_bill_line *b)
{
    if (a->kind != TB_LINE_FEE || !a->item || !b->item) return 0;
    if (a->item->from_us != b->item->from_us) return a->item->from_us < b->item->from_us ? -1 : 1;
    return (a->quantity < 0) - (b->quantity < 0);
}

/* By kind, id, item, resource, region and service; 0: the lines are of the same thing. */
static int compare_things(const tb_bill_line *a, const tb_bill_line *b)
{
    if (a->kind != b->kind) return a->kind < b->kind ? -1 : 1;
    if (a->id != b->id) return a->id < b->id ? -1 : 1;
    int order = strcmp(item_id(a), item_id(b));
    if (!order) order = strcmp(a->resource, b->resource);
    if (!order) order = strcmp(a->region, b->region);
    return order ? order : compare_services(a, b);
}

/* By thing; of several of one thing, by their place in the bill. */
static int compare_lines(const void *left, const void *right)
{
    const tb_bill_line *a = *(const tb_bill_line *const *)left, *b = *(const tb_bill_line *const *)right;
    const int order = compare_things(a, b);
    return order ? order : a < b ? -1 : a > b;
}

static const tb_bill_line **sort_lines(work *w, const tb_bill *bill)
{
    const tb_bill_line **sorted = tb__arena_take(w->mem, bill->n_lines * sizeof *sorted);
    for (size_t i = 0; sorted && i < bill->n_lines; i++)
        sorted[i] = &bill->lines[i];
    if (sorted && bill->n_lines) qsort(sorted, bill->n_lines, sizeof *sorted, compare_lines);
    return sorted;
}

/* was[i]: the line of `before` that line i of `after` replaces; gone[i]: no line of `after` replaces line i of `before`. */
static tb_code find_counterparts(work *w, const tb_bill_line ***ret_was, bool **ret_gone)
{
    const tb_bill *before = w->late->before, *after = w->late->after;
    const tb_bill_line **old = sort_lines(w, before), **new = sort_lines(w, after);
    const tb_bill_line **was = tb__arena_take(w->mem, after->n_lines * sizeof *was);
    bool *gone = tb__arena_take(w->mem, before->n_lines * sizeof *gone);
    if (!old || !new || !was || !gone) return tb_no_memory(w->err);
    for (size_t i = 0; i < after->n_lines; i++)
        was[i] = NULL;
    for (size_t i = 0; i < before->n_lines; i++)
        gone[i] = true;
    for (size_t i = 0, k = 0; i < before->n_lines && k < after->n_lines;) {
        const int order = compare_things(old[i], new[k]);
        if (order == 0) {
            was[new[k] - after->lines] = old[i];
            gone[old[i] - before->lines] = false;
        }
        i += order <= 0;
        k += order >= 0;
    }
    *ret_was = was;
    *ret_gone = gone;
    return TB_OK;
}

static const tb_bill_tier *same_tier(const tb_bill_line *line, const tb_bill_tier *wanted)
{
    for (size_t i = 0; i < line->n_tiers; i++)
        if (line->tiers[i].part == wanted->part && line->tiers[i].from == wanted->from &&
            tb_decimal_compare(line->tiers[i].price, wanted->price) == 0)
            return &line->tiers[i];
    return NULL;
}

/* Every stretch that was billed is there still, at its price. */
static bool same_prices(const tb_bill_line *before, const tb_bill_line *after)
{
    if ((before->item ? before->item->per : 0) != (after->item ? after->item->per : 0)) return false;
    for (size_t i = 0; i < before->n_tiers; i++)
        if (!same_tier(after, &before->tiers[i])) return false;
    return true;
}

static bool unchanged(const tb_bill_line *before, const tb_bill_line *after)
{
    return before->quantity == after->quantity &&
           tb_decimal_compare(before->exact, after->exact) == 0 &&
           tb_decimal_compare(before->amount, after->amount) == 0;
}

/* --- lines --- */

static tb_decimal negative(tb_decimal value)
{
    return (tb_decimal){-value.mantissa, value.scale};
}

static const char *copy_text(work *w, const char *text)
{
    if (!text) text = "";
    return tb__arena_copy(w->mem, text, strlen(text) + 1);
}

/* The bills may be released before the corrections. */
static tb_code copy_item(work *w, const tb_bill_item *item)
{
    if (item == w->item) return TB_OK;
    tb_bill_item *copy = tb__arena_take(w->mem, sizeof *copy);
    if (!copy) return tb_no_memory(w->err);
    *copy = *item;
    const char **const texts[] = {&copy->id,     &copy->name,        &copy->unit, &copy->per_unit,
                                  &copy->charge, &copy->ledger_code, &copy->unece};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (!(*texts[i] = copy_text(w, *texts[i]))) return tb_no_memory(w->err);
    w->item = item;
    w->copy = copy;
    return TB_OK;
}

/* A new line like this one, without tiers; its item is copied. Room for two a line was taken beforehand. */
static tb_bill_line *add_line(work *w, const tb_bill_line *like)
{
    tb_bill_line *line = &w->out.lines[w->out.n];
    tb_correction *c = &w->out.what[w->out.n];
    *line = *like;
    if (like->item) line->item = w->copy;
    line->number = (uint32_t)++w->out.n;
    line->kind = TB_LINE_CORRECTION;
    line->period_month = w->late->month;
    line->tiers = NULL;
    line->shares = NULL;
    if (like->kind == TB_LINE_CAP) line->description = NULL; /* the month's own text */
    line->n_tiers = line->n_shares = 0;
    *c = (tb_correction){.kind = like->kind, .since = w->late->since};
    snprintf(c->invoice, sizeof c->invoice, "%s", w->late->invoice);
    return line;
}

static tb_bill_tier *take_tiers(work *w, size_t n)
{
    tb_bill_tier *tiers = tb__arena_take(w->mem, n * sizeof *tiers);
    return tiers;
}

static tb_bill_tier reversed(tb_bill_tier tier)
{
    tier.units = -tier.units;
    tier.blocks = -tier.blocks;
    tier.amount = negative(tier.amount);
    return tier;
}

/* The line itself (sign 1), or taken back. */
static tb_code add_whole(work *w, const tb_bill_line *like, int sign)
{
    tb_bill_tier *tiers = take_tiers(w, like->n_tiers);
    if (!tiers || (like->item && copy_item(w, like->item))) return tb_no_memory(w->err);
    tb_bill_line *line = add_line(w, like);
    for (size_t i = 0; i < like->n_tiers; i++)
        tiers[i] = sign < 0 ? reversed(like->tiers[i]) : like->tiers[i];
    line->tiers = tiers;
    line->n_tiers = like->n_tiers;
    if (sign > 0) return TB_OK;
    line->quantity = -like->quantity;
    line->exact = negative(like->exact);
    line->amount = negative(like->amount);
    return TB_OK;
}

/* What a stretch has more than before. */
static tb_code grow_tier(const tb_bill_tier *before, const tb_bill_tier *after, tb_bill_tier *ret)
{
    *ret = *after;
    if (!before) return TB_OK;
    ret->from = before->to;
    ret->units = after->units - before->units;
    ret->blocks = after->blocks - before->blocks;
    return tb_decimal_sub(after->amount, before->amount, &ret->amount, NULL);
}

static tb_code grow_tiers(work *w, const tb_bill_line *before, const tb_bill_line *after,
                          tb_bill_line *line)
{
    tb_bill_tier *tiers = take_tiers(w, after->n_tiers);
    if (!tiers) return tb_no_memory(w->err);
    for (size_t i = 0; i < after->n_tiers; i++) {
        tb_bill_tier *tier = &tiers[line->n_tiers];
        tb_code code = grow_tier(same_tier(before, &after->tiers[i]), &after->tiers[i], tier);
        if (code) return code;
        line->n_tiers += tier->units != 0 || tb_decimal_sign(tier->amount) != 0;
    }
    line->tiers = tiers;
    return TB_OK;
}

/* A lump has no unit price that could differ: the old amount is subtracted from the new one. */
static tb_code net_tiers(work *w, const tb_bill_line *before, const tb_bill_line *after,
                         tb_bill_line *line)
{
    tb_bill_tier *tiers = take_tiers(w, before->n_tiers + after->n_tiers);
    if (!tiers) return tb_no_memory(w->err);
    for (size_t i = 0; i < before->n_tiers; i++)
        tiers[line->n_tiers++] = reversed(before->tiers[i]);
    for (size_t i = 0; i < after->n_tiers; i++)
        tiers[line->n_tiers++] = after->tiers[i];
    line->tiers = tiers;
    return TB_OK;
}

static tb_code replace_line(work *w, const tb_bill_line *before, const tb_bill_line *after)
{
    tb_code code = add_whole(w, before, -1);
    return code ? code : add_whole(w, after, 1);
}

static tb_code subtract(const tb_bill_line *before, const tb_bill_line *after, tb_bill_line *line)
{
    tb_code code = tb_decimal_sub(after->exact, before->exact, &line->exact, NULL);
    return code ? code : tb_decimal_sub(after->amount, before->amount, &line->amount, NULL);
}

/* A difference with more digits than a decimal has is shown as its two bounds. */
static tb_code add_difference(work *w, const tb_bill_line *before, const tb_bill_line *after)
{
    bool net = tb__is_lump(after->kind);
    if (!net && !same_prices(before, after)) return replace_line(w, before, after);
    if (after->item && copy_item(w, after->item)) return tb_no_memory(w->err);
    size_t n = w->out.n;
    tb_bill_line *line = add_line(w, after);
    line->quantity = net ? 0 : after->quantity - before->quantity;
    tb_code code = subtract(before, after, line);
    if (!code) code = net ? net_tiers(w, before, after, line) : grow_tiers(w, before, after, line);
    if (code != TB_E_OVERFLOW) return code;
    w->out.n = n;
    return replace_line(w, before, after);
}

static tb_code walk(work *w)
{
    const tb_bill *before = w->late->before, *after = w->late->after;
    const tb_bill_line **was = NULL;
    bool *gone = NULL;
    tb_code code = find_counterparts(w, &was, &gone);
    for (size_t i = 0; !code && i < after->n_lines; i++) {
        if (!was[i])
            code = add_whole(w, &after->lines[i], 1);
        else if (!unchanged(was[i], &after->lines[i]))
            code = add_difference(w, was[i], &after->lines[i]);
    }
    for (size_t i = 0; !code && i < before->n_lines; i++)
        if (gone[i]) code = add_whole(w, &before->lines[i], -1);
    return code;
}

static tb_code sum_amounts(tb_corrections *c, int digits, tb_error *err)
{
    tb_code code = TB_OK;
    c->amount = (tb_decimal){0, digits};
    for (size_t i = 0; !code && i < c->n; i++)
        code = tb_decimal_add(c->amount, c->lines[i].amount, &c->amount, err);
    return code;
}

/* Adds the month to an overflow's message. */
static tb_code add_month_name(const tb_late_month *late, tb_code code, tb_error *err)
{
    char inner[sizeof err->message];
    if (code != TB_E_OVERFLOW || !err) return code;
    snprintf(inner, sizeof inner, "%s", err->message);
    if (!late->invoice[0])
        return tb_fail(err, code, "correction", "corrections of a month without an invoice: %.200s",
                       inner);
    return tb_fail(err, code, "correction", "corrections of invoice %.23s: %.200s", late->invoice,
                   inner);
}

/* Two for each line, one for the limit. */
static tb_code take_room(work *w)
{
    size_t most = 2 * (w->late->before->n_lines + w->late->after->n_lines) + 1;
    w->out.lines = tb__arena_take(w->mem, most * sizeof *w->out.lines);
    w->out.what = tb__arena_take(w->mem, most * sizeof *w->out.what);
    return w->out.lines && w->out.what ? TB_OK : tb_no_memory(w->err);
}

tb_code tb_correct(const tb_late_month *late, const tb_alloc *alloc,
                   tb_corrections *ret_corrections, tb_error *err)
{
    work w = {.late = late, .err = err, .mem = tb__arena_new(alloc)};
    if (!w.mem) return tb_no_memory(err);
    tb_code code = take_room(&w);
    if (!code) code = walk(&w);
    if (!code) code = add_month_name(late, sum_amounts(&w.out, late->after->minor_digits, err), err);
    w.out.memory = w.mem;
    if (code)
        tb__arena_free(w.mem);
    else
        *ret_corrections = w.out;
    return code;
}

void tb_corrections_release(tb_corrections *corrections)
{
    tb__arena_free(corrections->memory);
    *corrections = (tb_corrections){0};
}

tb_code tb_corrections_limit(tb_corrections *corrections, int64_t account, tb_decimal remaining,
                             tb_error *err)
{
    tb_decimal over;
    tb_code code = tb_decimal_add(corrections->amount, remaining, &over, err);
    if (code || corrections->n == 0 || tb_decimal_sign(over) >= 0) return code;
    size_t last = corrections->n;
    tb_bill_line *line = &corrections->lines[last];
    *line = (tb_bill_line){.number = (uint32_t)last + 1,
                           .kind = TB_LINE_CORRECTION,
                           .id = account,
                           .exact = negative(over),
                           .amount = negative(over),
                           .period_month = corrections->lines[0].period_month};
    snprintf(line->resource, sizeof line->resource, "account:%lld", (long long)account);
    corrections->what[last] = corrections->what[0];
    corrections->what[last].kind = TB_LINE_CORRECTION;
    corrections->n++;
    return tb_decimal_sub(corrections->amount, over, &corrections->amount, err);
}

/* --- joining --- */

static void append(tb_corrected *out, const tb_corrections *list)
{
    for (size_t i = 0; i < list->n; i++) {
        tb_bill_line *line = &out->bill.lines[out->bill.n_lines];
        *line = list->lines[i];
        out->what[out->bill.n_lines++] = list->what[i];
        line->number = (uint32_t)out->bill.n_lines;
    }
}

static tb_code take_join(tb_corrected *out, tb__arena *mem, const tb_corrections *lists, size_t n_lists, tb_error *err)
{
    size_t n = out->bill.n_lines, n_tax = TB_BILL_TAXES_MAX + TB_BILL_UNTAXED;
    for (size_t i = 0; i < n_lists; i++) {
        n += lists[i].n;
        n_tax += tb__late_taxes_most(&lists[i]);
    }
    out->bill.lines = tb__arena_take(mem, n * sizeof *out->bill.lines);
    out->bill.tax = tb__arena_take(mem, n_tax * sizeof *out->bill.tax);
    out->what = tb__arena_take(mem, n * sizeof *out->what);
    if (!out->bill.lines || !out->bill.tax || !out->what) return tb_no_memory(err);
    memset(out->what, 0, n * sizeof *out->what);
    return TB_OK;
}

static tb_code join(tb_corrected *out, tb__arena *mem, const tb_bill *bill,
                    const tb_corrections *lists, size_t n_lists, tb_error *err)
{
    out->bill = *bill;
    out->bill.memory = NULL;
    tb_code code = take_join(out, mem, lists, n_lists, err);
    if (code) return code;
    if (bill->n_lines) memcpy(out->bill.lines, bill->lines, bill->n_lines * sizeof *bill->lines);
    for (size_t i = 0; i < n_lists; i++)
        append(out, &lists[i]);
    return TB_OK;
}

tb_code tb_bill_with(const tb_bill *bill, const tb_bill_input *whole, const tb_corrections *lists,
                     size_t n_lists, const tb_alloc *alloc, tb_corrected *ret, tb_error *err)
{
    tb_corrected out = {0};
    tb__arena *mem = tb__arena_new(alloc);
    if (!mem) return tb_no_memory(err);
    tb_code code = join(&out, mem, bill, lists, n_lists, err);
    if (!code)
        code = whole ? tb_bill_sum(&out.bill, whole, err) : tb__tax_months(&out.bill, bill, lists, n_lists, err);
    out.memory = mem;
    if (code)
        tb__arena_free(mem);
    else
        *ret = out;
    return code;
}

void tb_corrected_release(tb_corrected *corrected)
{
    tb__arena_free(corrected->memory);
    *corrected = (tb_corrected){0};
}
