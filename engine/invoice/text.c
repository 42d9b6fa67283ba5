/* Short texts, written into the buffer's own room. */
#include "invoice/text.h"

#include <string.h>

#include "tollbook/calendar.h"
#include "tollbook/json.h"

void tb__add_decimal(tb_buf *out, tb_decimal value)
{
    char *at = tb_buf_room(out, TB_DECIMAL_TEXT_MAX);
    if (at) out->len += (size_t)(tb_decimal_put(at, value) - at);
}

void tb__add_sum(tb_buf *out, tb_sum value)
{
    char *at = tb_buf_room(out, TB_DECIMAL_TEXT_MAX);
    if (at) out->len += (size_t)(tb_sum_put(at, value) - at);
}

void tb__add_double(tb_buf *out, tb_decimal value)
{
    size_t from = out->len;
    tb__add_decimal(out, value);
    tb_json_point(out, from);
}

void tb__add_double_sum(tb_buf *out, tb_sum value)
{
    size_t from = out->len;
    tb__add_sum(out, value);
    tb_json_point(out, from);
}

void tb__add_money(tb_buf *out, tb_decimal value, int digits)
{
    char *at = tb_buf_room(out, TB_DECIMAL_TEXT_MAX);
    if (at) out->len += (size_t)(tb_decimal_put_fixed(at, value, digits) - at);
}

void tb__add_i128(tb_buf *out, tb_i128 value)
{
    tb__add_decimal(out, tb_decimal_from_int(value));
}

void tb__add_time(tb_buf *out, int64_t us)
{
    char *at = tb_buf_room(out, 20);
    if (!at) return;
    tb_time_format(us, at);
    out->len += 20;
}

const char *tb_tax_category(const tb_bill_tax *rate)
{
    if (rate->category[0]) return rate->category;
    return tb_decimal_sign(rate->percent) ? "S" : "Z";
}

bool tb_tax_untaxed(const tb_bill_tax *rate)
{
    static const char *const categories[] = {"E", "AE", "K", "G", "O"};
    for (size_t i = 0; i < sizeof categories / sizeof *categories; i++)
        if (strcmp(rate->category, categories[i]) == 0) return true;
    return false;
}

const tb_zone_name *tb_invoice_zone(const tb_invoice_names *names, int64_t zone)
{
    size_t low = 0, high = names ? names->n_zones : 0;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (names->zones[middle].zone < zone)
            low = middle + 1;
        else
            high = middle;
    }
    return names && low < names->n_zones && names->zones[low].zone == zone ? &names->zones[low]
                                                                           : NULL;
}

void tb__add_month_start(tb_buf *out, int64_t month)
{
    tb__add_time(out, tb_month_start_us(month));
}

const tb_correction *tb__correction_of(const tb_statement *statement, size_t line)
{
    if (statement->bill->lines[line].kind != TB_LINE_CORRECTION) return NULL;
    return statement->corrections ? &statement->corrections[line] : NULL;
}

tb_line_kind tb__line_origin(const tb_statement *statement, size_t line)
{
    const tb_correction *c = tb__correction_of(statement, line);
    return c ? c->kind : statement->bill->lines[line].kind;
}

bool tb__same_rate(const tb_bill_tax *a, const tb_bill_tax *b)
{
    return strcmp(a->name, b->name) == 0 && strcmp(tb_tax_category(a), tb_tax_category(b)) == 0 &&
           tb_decimal_compare(a->percent, b->percent) == 0;
}

/* Tax rows of before 1.1 have no month, and their base is the whole document: they tax its corrections too. */
const tb_bill_taxed *tb__tax_of(const tb_statement *statement, size_t line)
{
    const tb_bill *bill = statement->bill;
    const char *category = line < bill->n_lines ? bill->lines[line].tax_category : "";
    const bool late = line < bill->n_lines && bill->lines[line].kind == TB_LINE_CORRECTION;
    for (size_t i = 0; *category && i < bill->n_tax; i++)
        if (bill->tax[i].charges && strcmp(tb_tax_category(&bill->tax[i].rate), category) == 0) return &bill->tax[i];
    for (size_t i = 0; i < bill->n_tax; i++)
        if (bill->tax[i].late && late && bill->tax[i].month == bill->lines[line].period_month) return &bill->tax[i];
    if (bill->n_tax == 0 || bill->tax[0].late || bill->tax[0].charges) return NULL;
    return !late || tb_decimal_compare(bill->tax[0].base, bill->subtotal) == 0 ? &bill->tax[0] : NULL;
}

static tb_code exchange(tb_decimal amount, tb_decimal rate, int digits, tb_decimal *ret, tb_error *err)
{
    tb_code code = tb_decimal_mul(amount, rate, ret, err);
    return code ? code : tb_decimal_round(*ret, digits, TB_HALF_UP, ret, err);
}

tb_code tb__exchange_tax(const tb_statement *s, tb_decimal rate, int digits, tb_decimal *ret, tb_error *err)
{
    tb_decimal sum = TB_DECIMAL_ZERO, before, after;
    tb_code code = TB_OK;
    for (size_t i = 0; !code && i < s->bill->n_tax; i++) {
        const tb_bill_taxed *tax = &s->bill->tax[i];
        const tb_decimal billed = tax->late ? tax->billed : TB_DECIMAL_ZERO;
        code = exchange(billed, rate, digits, &before, err);
        if (!code) code = tb_decimal_add(billed, tax->amount, &after, err);
        if (!code) code = exchange(after, rate, digits, &after, err);
        if (!code) code = tb_decimal_sub(after, before, &after, err);
        if (!code) code = tb_decimal_add(sum, after, &sum, err);
    }
    if (!code) *ret = sum;
    return code;
}

bool tb__is_lump(tb_line_kind kind)
{
    return tb_line_kind_of(kind)->basis == TB_BASIS_AGREED;
}

/* The seconds of a part are more than the months of a period. */
bool tb__is_period(const tb_statement *statement, size_t line)
{
    const tb_bill_line *of = &statement->bill->lines[line];
    if (tb__line_origin(statement, line) != TB_LINE_COMMIT || of->n_tiers == 0) return false;
    const tb_i128 units = of->tiers[0].units;
    return units != 0 && units >= -12 && units <= 12;
}

const tb_bill_item *tb__metered_item(const tb_statement *statement, size_t line)
{
    const tb_line_basis basis = tb_line_kind_of(tb__line_origin(statement, line))->basis;
    return basis == TB_BASIS_USAGE || basis == TB_BASIS_PEAK ? statement->bill->lines[line].item : NULL;
}

const tb_bill_item *tb__fee_item(const tb_statement *statement, size_t line)
{
    return tb__line_origin(statement, line) == TB_LINE_FEE ? statement->bill->lines[line].item : NULL;
}

const char *tb__line_unit(const tb_statement *statement, size_t line)
{
    const tb_bill_item *item = statement->bill->lines[line].item;
    return item && item->unit[0] ? item->unit : tb_line_kind_unit(tb__line_origin(statement, line));
}

const char *tb__line_title(const tb_statement *statement, size_t line)
{
    const tb_bill_line *of = &statement->bill->lines[line];
    if (tb__is_period(statement, line)) return "Commitment of a period, shortfall";
    if (of->description) return of->description;
    return of->item && of->item->name[0] ? of->item->name : tb_line_kind_title(tb__line_origin(statement, line));
}

const char *tb_line_note(const tb_statement *statement, size_t line)
{
    if (tb__is_period(statement, line))
        return "what usage of the period's months, less their discounts, lacks of its commit";
    return tb_line_kind_of(tb__line_origin(statement, line))->note;
}

/* "load_balancer:7" -> "load balancer 7"; a resource's own name stays as it is. */
void tb__add_resource(tb_buf *out, const char *resource)
{
    const char *colon = strchr(resource, ':');
    for (; *resource; resource++)
        tb_buf_add(out, colon && resource <= colon && (*resource == ':' || *resource == '_') ? " " : resource, 1);
}

static bool continues(const tb_bill_tier *before, const tb_bill_tier *next)
{
    return next->from == before->to && (next->by_block == before->by_block || !tb_decimal_sign(next->price)) && tb_decimal_compare(next->price, before->price) == 0 &&
           tb_decimal_compare(next->shown, before->shown) == 0;
}

tb_code tb__tiers_join(const tb_bill_line *line, size_t *i, tb_bill_tier *ret, tb_error *err)
{
    tb_bill_tier joined = line->tiers[(*i)++];
    tb_code code = TB_OK;
    for (; !code && *i < line->n_tiers && continues(&joined, &line->tiers[*i]); ++*i) {
        const tb_bill_tier *next = &line->tiers[*i];
        joined.to = next->to;
        if (__builtin_add_overflow(joined.units, next->units, &joined.units))
            return tb_fail(err, TB_E_OVERFLOW, line->resource, "The units of its tiers overflow.");
        joined.blocks += next->blocks;
        joined.part = next->part;
        code = tb_decimal_add(joined.amount, next->amount, &joined.amount, err);
    }
    if (code == TB_OK) *ret = joined;
    return code;
}

tb_code tb__tiers_one(const tb_bill_line *line, bool *ret_one, tb_bill_tier *ret, tb_error *err)
{
    size_t i = 0;
    tb_code code = TB_OK;
    *ret_one = false;
    if (line->n_tiers == 0) return TB_OK;
    code = tb__tiers_join(line, &i, ret, err);
    *ret_one = !code && i == line->n_tiers && ret->units == line->quantity;
    return code;
}
