/* Invariants: a line's rows sum to its amount; a row's price and base are not negative, whatever
 * the line takes back; a row that a rounded amount would move too far from its price has its own
 * quantity as base and its amount as price. */
#include "ubl/rows.h"

#include <string.h>

#include "invoice/prices.h"
#include "invoice/text.h"
#include "tollbook/calendar.h"

#define ITEM_DIGITS 9 /* of a quantity of GB-months */

typedef struct walk {
    const tb_statement *s;
    int sign;
    tb__ubl_visit visit;
    void *arg;
    tb_error *err;
} walk;

int tb__ubl_sign(const tb_statement *s)
{
    const bool credit = strcmp(s->kind, "credit_note") == 0;
    return credit || tb_decimal_sign(s->bill->total) < 0 ? -1 : 1;
}

bool tb__ubl_is_charge(const tb_statement *s, size_t line)
{
    return tb__is_lump(s->bill->lines[line].kind);
}

int64_t tb__ubl_month(const tb_statement *s, size_t line)
{
    return tb__correction_of(s, line) ? s->bill->lines[line].period_month : s->month;
}

static tb_decimal whole(tb_i128 n)
{
    return tb_decimal_from_int(n);
}

static tb_decimal times(int sign, tb_decimal value)
{
    return (tb_decimal){sign * value.mantissa, value.scale};
}

static tb_decimal absolute(tb_decimal value)
{
    return times(tb_decimal_sign(value) < 0 ? -1 : 1, value);
}

/* --- units: people's, exactly --- */

static tb_code in_gigabytes(tb__ubl_row *row, tb_i128 units, tb_error *err)
{
    row->unit = "E34";
    row->base = whole(1);
    return tb_decimal_shift(whole(units), 9, &row->quantity, err);
}

/* Months, days, hours or seconds: the longest that it is a whole number of. */
static void in_time(tb__ubl_row *row, tb_i128 seconds)
{
    const int64_t days = tb_month_first_day(row->month + 1) - tb_month_first_day(row->month);
    const struct {
        const char *unit;
        int64_t seconds, base;
    } units[] = {{"MON", days * 86400, 1},
                 {"DAY", 86400, days},
                 {"HUR", 3600, days * 24},
                 {"SEC", 1, days * 86400}};
    size_t i = 0;
    while (seconds % units[i].seconds)
        i++;
    row->unit = units[i].unit;
    row->quantity = whole(seconds / units[i].seconds);
    row->base = whole(units[i].base);
}

/* A meter's units: as many as a price is for make one, where the book names them (GB-months), or are the base. */
static tb_code in_item_units(tb__ubl_row *row, const tb_bill_item *item, tb_i128 units, tb_error *err)
{
    const bool named = item->per && item->per_unit[0];
    if (item->unece[0]) row->unit = item->unece;
    if (item->per && !named) row->base = whole(item->per);
    return named ? tb_decimal_divide(whole(units), 1, item->per, ITEM_DIGITS, TB_HALF_UP, &row->quantity, err) : TB_OK;
}

/* *ret_places: from a price of the line's unit to one of the base, powers of ten. */
static tb_code set_quantity(tb__ubl_row *row, tb_line_kind kind, tb_i128 units, int *ret_places,
                            tb_error *err)
{
    const char *unit = tb_line_kind_unit(kind);
    *ret_places = 0;
    row->unit = "C62";
    row->quantity = whole(units);
    row->base = whole(1);
    if (kind == TB_LINE_CORRECTION) return TB_OK; /* the limit of a credit: no bytes */
    if (strcmp(unit, "byte") == 0) {
        *ret_places = 9;
        return in_gigabytes(row, units, err);
    }
    if (strcmp(unit, "second") == 0) in_time(row, units);
    if (strcmp(unit, "request") == 0) {
        *ret_places = 6;
        row->base = whole(1000000);
    }
    return TB_OK;
}

/* --- prices --- */

/* quantity x price / base lies within 0.019 of the amount; false too where it has too many digits.
 * The norm allows 0.02, and programs divide. */
static bool agrees(const tb__ubl_row *row)
{
    const tb_decimal most = {19, 3};
    tb_decimal product, wanted, apart, allowed;
    if (tb_decimal_mul(row->quantity, row->price, &product, NULL) ||
        tb_decimal_mul(row->amount, row->base, &wanted, NULL) ||
        tb_decimal_sub(product, wanted, &apart, NULL) ||
        tb_decimal_mul(most, row->base, &allowed, NULL))
        return false;
    return tb_decimal_compare(absolute(apart), allowed) <= 0;
}

/* The amount is the price of the whole quantity; of one piece where the quantity is none or runs
 * the other way. */
static void price_by_amount(tb__ubl_row *row)
{
    const int sign = tb_decimal_sign(row->amount);
    row->gross = TB_DECIMAL_ZERO;
    row->price = absolute(row->amount);
    if (sign == 0) return; /* nothing times anything */
    if (tb_decimal_sign(row->quantity) == sign) {
        row->base = absolute(row->quantity);
        return;
    }
    row->unit = "C62";
    row->quantity = whole(sign);
    row->base = whole(1);
}

/* The price before the discount of a region. */
static void set_gross(tb__ubl_row *row, const tb_bill_tier *tier, tb_line_kind kind)
{
    if (kind == TB_LINE_BANDWIDTH && tb_decimal_compare(tier->shown, row->price) > 0)
        row->gross = tb_decimal_normal(tier->shown);
}

/* tier NULL: the row has no price of its own. */
static tb_code set_price(tb__ubl_row *row, const tb_bill_tier *tier, tb_line_kind kind, int places)
{
    row->gross = TB_DECIMAL_ZERO;
    row->quantity = tb_decimal_normal(row->quantity);
    bool known =
        tier && tb_decimal_sign(tier->price) >= 0 &&
        tb_decimal_shift(tb_decimal_normal(tier->price), -places, &row->price, NULL) == TB_OK;
    if (known) {
        row->price = tb_decimal_normal(row->price);
        set_gross(row, tier, kind);
    }
    if (!known || !agrees(row)) price_by_amount(row);
    return TB_OK;
}

/* --- rows --- */

static tb__ubl_row row_of(const walk *w, size_t line)
{
    return (tb__ubl_row){.line = line, .month = tb__ubl_month(w->s, line)};
}

/* Sets quantity and price, turns the sign of amounts given back, and calls the visitor. */
static tb_code visit_row(const walk *w, tb__ubl_row *row, tb_i128 units, tb_decimal amount,
                         const tb_bill_tier *tier)
{
    const tb_line_kind kind = tb__line_origin(w->s, row->line);
    const tb_bill_item *item = tb__metered_item(w->s, row->line);
    int places;
    tb_code code = set_quantity(row, kind, w->sign * units, &places, w->err);
    if (!code && item) {
        places = 0;
        row->quantity = whole(w->sign * (tier && tier->by_block ? tier->blocks : units));
        row->base = whole(1);
        row->unit = "C62";
        if (!tier || !tier->by_block) code = in_item_units(row, item, w->sign * units, w->err);
    }
    row->amount = times(w->sign, amount);
    if (!code) code = set_price(row, tier, kind, places);
    return code ? code : w->visit(w->arg, row, w->err);
}

static tb_code visit_shares(const walk *w, size_t line, const tb_bill_tier *tier)
{
    const tb_bill_line *from = &w->s->bill->lines[line];
    tb_code code = TB_OK;
    for (size_t i = 0; !code && i < from->n_shares; i++) {
        tb__ubl_row row = row_of(w, line);
        row.part = i + 1;
        row.share = &from->shares[i];
        code = visit_row(w, &row, row.share->bytes, row.share->amount, tier);
    }
    return code;
}

/* What no tier holds is included: a row without a price. */
static tb_code visit_included(const walk *w, size_t line, const tb__prices *p)
{
    const tb_i128 all = w->s->bill->lines[line].quantity;
    const tb_i128 rest = all - p->units;
    const tb_bill_tier free_tier = {0};
    if (rest == 0 || (rest < 0) != (all < 0)) return TB_OK;
    tb__ubl_row row = row_of(w, line);
    row.part = p->n + 1;
    return visit_row(w, &row, rest, TB_DECIMAL_ZERO, &free_tier);
}

static tb_code visit_whole(const walk *w, size_t line, const tb_bill_tier *tier)
{
    tb__ubl_row row = row_of(w, line);
    const tb_bill_line *from = &w->s->bill->lines[line];
    const tb_line_kind kind = tb__line_origin(w->s, line);
    const bool counted = !tb__is_lump(kind) && kind != TB_LINE_CORRECTION;
    return visit_row(w, &row, counted ? from->quantity : 0, from->amount, counted ? tier : NULL);
}

static tb_code visit_tiers(const walk *w, size_t line, tb__prices *p)
{
    bool fits = false;
    tb_code code =
        tb__prices_share(&w->s->bill->lines[line], w->s->bill->minor_digits, p, &fits, w->err);
    if (!code && !fits) return visit_whole(w, line, NULL);
    for (size_t i = 0; !code && i < p->n; i++) {
        tb__ubl_row row = row_of(w, line);
        row.part = i + 1;
        row.tier = &p->tier[i];
        code = visit_row(w, &row, row.tier->units, p->billed[i], row.tier);
    }
    return code ? code : visit_included(w, line, p);
}

static tb_code visit_line(const walk *w, size_t line)
{
    const tb_bill_line *from = &w->s->bill->lines[line];
    tb__prices several;
    tb_bill_tier tier;
    bool one = false, all = false;
    if (tb__is_lump(tb__line_origin(w->s, line))) return visit_whole(w, line, NULL);
    tb_code code = tb__tiers_one(from, &one, &tier, w->err);
    if (!code && !one) code = tb__prices_read(from, &several, &all, w->err);
    if (code) return code;
    if (one && from->n_shares) return visit_shares(w, line, &tier);
    if (!one && all && several.n > 0) return visit_tiers(w, line, &several);
    return visit_whole(w, line, one ? &tier : NULL);
}

/* No line is left beside charges on the document. */
static tb_code visit_nothing(const walk *w)
{
    const tb__ubl_row row = {.line = w->s->bill->n_lines,
                             .month = w->s->month,
                             .unit = "C62",
                             .quantity = whole(1),
                             .base = whole(1),
                             .amount = {0, w->s->bill->minor_digits}};
    return w->visit(w->arg, &row, w->err);
}

tb_code tb__ubl_rows(const tb_statement *s, tb__ubl_visit visit, void *arg, tb_error *err)
{
    const walk w = {s, tb__ubl_sign(s), visit, arg, err};
    tb_code code = TB_OK;
    bool any = false;
    for (size_t i = 0; !code && i < s->bill->n_lines; i++) {
        if (tb__ubl_is_charge(s, i)) continue;
        any = true;
        code = visit_line(&w, i);
    }
    return code || any ? code : visit_nothing(&w);
}
