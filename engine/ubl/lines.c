/* InvoiceLine and CreditNoteLine: a row each. A line that is taken apart has rows "2.1", "2.2": the
 * number before the point is the line's in the canonical invoice. */
#include "ubl/draft.h"

#include <inttypes.h>
#include <string.h>

#include "invoice/text.h"
#include "tollbook/calendar.h"
#include "ubl/rows.h"

static const tb_bill_line *line_of(const tb__ubl *u, const tb__ubl_row *row)
{
    return row->line < u->s->bill->n_lines ? &u->s->bill->lines[row->line] : NULL;
}

/* --- words --- */

static void add_name(tb__ubl *u, const tb_zone_name *zone)
{
    tb_buf_str(&u->words, zone->name);
}

/* The name of a zone; the kind and number of any other object. */
static void add_thing(tb__ubl *u, const tb_bill_line *line, const tb__ubl_row *row)
{
    const bool is_zone = strncmp(line->resource, "zone:", 5) == 0;
    const int64_t id = row->share ? row->share->zone : line->id;
    const tb_zone_name *zone = row->share || is_zone ? tb_invoice_zone(u->names, id) : NULL;
    if (zone && zone->name && !tb__xml_is_blank(zone->name))
        add_name(u, zone);
    else if (row->share)
        tb_buf_fmt(&u->words, "zone %" PRId64, id);
    else
        tb__add_resource(&u->words, line->resource);
}

static void put_item_name(tb__ubl *u, const tb__ubl_row *row)
{
    const tb_bill_line *line = line_of(u, row);
    if (!line) {
        tb_buf_str(&u->words, "No usage in this month");
    } else {
        tb_buf_str(&u->words, tb__line_title(u->s, row->line));
        if (strncmp(line->resource, "meter:", 6) != 0) { /* the meter's name says it */
            tb_buf_str(&u->words, ", ");
            add_thing(u, line, row);
        }
        if (line->region[0]) tb_buf_fmt(&u->words, ", %s", line->region);
    }
    tb__xml_text(&u->xml, "cbc:Name", tb__ubl_words(u));
}

static void add_month(tb__ubl *u, int64_t month)
{
    char text[8];
    tb_month_format(month, text);
    tb_buf_str(&u->words, text);
}

static void add_correction(tb__ubl *u, const tb__ubl_row *row)
{
    const tb_correction *c = tb__correction_of(u->s, row->line);
    if (!c) return;
    if (c->invoice[0])
        tb_buf_fmt(&u->words, "Correction of invoice %s, ", c->invoice);
    else
        tb_buf_str(&u->words, "Not invoiced before, ");
    add_month(u, row->month);
    tb_buf_str(&u->words, ". ");
}

/* A position on the line's axis in the unit that people read; seconds in days where they are. */
static void add_position(tb__ubl *u, tb_line_kind kind, const tb_bill_item *item, tb_i128 at)
{
    const char *unit = item ? item->unit : tb_line_kind_unit(kind);
    tb_decimal shown = tb_decimal_from_int(at);
    const char *name = " requests";
    if (item && item->per && item->per_unit[0]) {
        if (tb_decimal_divide(shown, 1, item->per, 9, TB_HALF_UP, &shown, NULL)) return;
        tb__add_decimal(&u->words, tb_decimal_normal(shown));
        tb_buf_fmt(&u->words, " %s", item->per_unit);
        return;
    }
    if (item && item->unit[0] && strcmp(unit, "byte") != 0) {
        tb__add_decimal(&u->words, shown);
        tb_buf_fmt(&u->words, " %s", unit);
        return;
    }
    if (strcmp(unit, "byte") == 0) {
        name = " GB";
        if (tb_decimal_shift(shown, 9, &shown, NULL)) return;
    } else if (strcmp(unit, "second") == 0) {
        name = at % 86400 ? " seconds" : " days";
        if (at % 86400 == 0) shown = tb_decimal_from_int(at / 86400);
    }
    tb__add_decimal(&u->words, tb_decimal_normal(shown));
    tb_buf_str(&u->words, name);
}

static void add_tier(tb__ubl *u, const tb__ubl_row *row)
{
    const tb_line_kind kind = tb__line_origin(u->s, row->line);
    const tb_bill_item *item = u->s->bill->lines[row->line].item;
    if (!row->tier) {
        if (row->part && !row->share) tb_buf_str(&u->words, "Included. ");
        return;
    }
    tb_buf_str(&u->words, "From ");
    add_position(u, kind, item, row->tier->from);
    tb_buf_str(&u->words, " to ");
    add_position(u, kind, item, row->tier->to);
    tb_buf_str(&u->words, ". ");
}

/* A day, "2026-05-01". */
static void add_day(tb__ubl *u, int64_t us)
{
    char text[21] = "";
    tb_time_format(us, text);
    tb_buf_add(&u->words, text, 10);
}

/* When a fee's service is. A period of its own would have to lie within the document's, and a coming month does not. */
static void add_service(tb__ubl *u, size_t line)
{
    const tb_bill_item *item = tb__fee_item(u->s, line);
    if (!item) return;
    tb_buf_str(&u->words, ", ");
    add_day(u, item->from_us);
    tb_buf_str(&u->words, " to ");
    add_day(u, item->to_us - 1);
}

/* Details beyond the name: the object's number, the corrected document, the stretch of the tiers. */
static void put_description(tb__ubl *u, const tb__ubl_row *row)
{
    const tb_bill_line *line = line_of(u, row);
    if (!line) return;
    add_correction(u, row);
    add_tier(u, row);
    if (row->share)
        tb_buf_fmt(&u->words, "zone %" PRId64, row->share->zone);
    else
        tb__add_resource(&u->words, line->resource);
    if (row->line < u->s->bill->n_lines) add_service(u, row->line);
    tb__xml_text(&u->xml, "cbc:Description", tb__ubl_words(u));
}

#define SHARES_SHOWN 50

/* The zones of a line with its tiers as rows, in the first of them. */
static void put_zones(tb__ubl *u, const tb__ubl_row *row)
{
    const tb_bill_line *line = line_of(u, row);
    if (!line || row->share || row->part > 1) return;
    for (size_t i = 0; i < line->n_shares && i < SHARES_SHOWN; i++) {
        const tb__ubl_row of = {.line = row->line, .share = &line->shares[i]};
        tb_buf_str(&u->words, i ? "; " : "");
        add_thing(u, line, &of);
        tb_buf_str(&u->words, ": ");
        add_position(u, TB_LINE_VOLUME, NULL, line->shares[i].bytes);
    }
    if (line->n_shares > SHARES_SHOWN)
        tb_buf_fmt(&u->words, "; and %zu more zones", line->n_shares - SHARES_SHOWN);
    tb__xml_text(&u->xml, "cbc:Note", tb__ubl_words(u));
}

/* --- figures --- */

static void put_row_id(tb__ubl *u, const tb__ubl_row *row)
{
    const tb_bill_line *line = line_of(u, row);
    tb_buf_fmt(&u->words, "%" PRIu32, line ? line->number : 1);
    if (row->part) tb_buf_fmt(&u->words, ".%zu", row->part);
    tb__xml_text(&u->xml, "cbc:ID", tb__ubl_words(u));
}

static void put_row_quantity(tb__ubl *u, const char *element, tb_decimal value, const char *unit)
{
    tb__xml_open(&u->xml, element);
    tb__xml_attribute(&u->xml, "unitCode", unit);
    tb__add_decimal(&u->words, value);
    tb__xml_words(&u->xml, tb__ubl_words(u));
    tb__xml_close(&u->xml);
}

static void put_row_price(tb__ubl *u, const tb__ubl_row *row)
{
    tb_decimal discount;
    tb__xml_open(&u->xml, "cac:Price");
    tb__ubl_price(u, "cbc:PriceAmount", row->price);
    put_row_quantity(u, "cbc:BaseQuantity", row->base, row->unit);
    if (tb_decimal_sign(row->gross) &&
        tb_decimal_sub(row->gross, row->price, &discount, NULL) == TB_OK) {
        tb__xml_open(&u->xml, "cac:AllowanceCharge");
        tb__xml_text(&u->xml, "cbc:ChargeIndicator", "false");
        tb__ubl_price(u, "cbc:Amount", discount);
        tb__ubl_price(u, "cbc:BaseAmount", row->gross);
        tb__xml_close(&u->xml);
    }
    tb__xml_close(&u->xml);
}

static void put_row_item(tb__ubl *u, const tb__ubl_row *row)
{
    const tb_bill_line *line = line_of(u, row);
    tb__xml_open(&u->xml, "cac:Item");
    put_description(u, row);
    put_item_name(u, row);
    if (line) {
        tb_buf_str(&u->words, tb_line_kind_name(tb__line_origin(u->s, row->line)));
        if (line->item && line->item->id[0]) tb_buf_fmt(&u->words, "-%s", line->item->id);
        tb_buf_fmt(&u->words, "%s%s", line->region[0] ? "-" : "", line->region);
        tb__xml_open(&u->xml, "cac:SellersItemIdentification");
        tb__xml_text(&u->xml, "cbc:ID", tb__ubl_words(u));
        tb__xml_close(&u->xml);
    }
    tb__ubl_category(u, "cac:ClassifiedTaxCategory", tb__tax_of(u->s, row->line), false);
    tb__xml_close(&u->xml);
}

/* A row of another month than the document's says which. */
static void put_month(tb__ubl *u, const tb__ubl_row *row)
{
    const bool corrects =
        row->line < u->s->bill->n_lines && tb__correction_of(u->s, row->line) != NULL;
    if (corrects || u->first != u->last) tb__ubl_period(u, row->month, row->month);
}

static tb_code put_ubl_row(void *arg, const tb__ubl_row *row, tb_error *err)
{
    tb__ubl *u = arg;
    (void)err;
    tb__xml_open(&u->xml, u->credit ? "cac:CreditNoteLine" : "cac:InvoiceLine");
    put_row_id(u, row);
    put_zones(u, row);
    put_row_quantity(u, u->credit ? "cbc:CreditedQuantity" : "cbc:InvoicedQuantity", row->quantity,
                     row->unit);
    tb__ubl_money(u, "cbc:LineExtensionAmount", row->amount);
    put_month(u, row);
    put_row_item(u, row);
    put_row_price(u, row);
    tb__xml_close(&u->xml);
    return TB_OK;
}

tb_code tb__ubl_lines(tb__ubl *u, tb_error *err)
{
    return tb__ubl_rows(u->s, put_ubl_row, u, err);
}
