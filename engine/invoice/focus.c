/* FOCUS 1.2 (FinOps Open Cost and Usage Specification): which values a kind of line has is a table;
 * the columns stand in the specification's order, that of the alphabet. Columns that can have no
 * value here (commitments, capacity, availability zones, sub-accounts) are left out, as the
 * specification allows.
 *
 * A row has one unit price, and quantity times unit price is its cost. So a line of several tiers
 * has a row for each of its prices, its amount shared out among them by largest remainder; monthly
 * fees are quantities of months, to 18 digits. An account's volume line has a row for each zone;
 * where it has several tiers too, no zone has one price: then the unit prices are null and the list
 * cost is the billed one. */
#include "tollbook/invoice.h"

#include "invoice/csv.h"
#include "invoice/prices.h"
#include "invoice/text.h"
#include "tollbook/calendar.h"

#include <string.h>

#define PROVIDER "tollbook"

typedef struct shape {
    const char *category, *frequency, *service, *subcategory, *meter;
    const char *unit; /* that prices are written in; NULL: the line's own */
    int places;       /* from the line's unit to it, powers of ten */
    bool list;    /* tiers show the book's price in that unit; else the own price is the list's */
    bool monthly; /* the line's unit is seconds, that of prices a month */
} shape;

static const shape shapes[TB_LINE_KIND_COUNT] = {
    [TB_LINE_BANDWIDTH] = {"Usage", "Usage-Based", "Content Delivery Network", "Content Delivery",
                           "Bandwidth", "GB", 9, true, false},
    [TB_LINE_VOLUME] = {"Usage", "Usage-Based", "Content Delivery Network", "Content Delivery",
                        "Volume Bandwidth", "GB", 9, true, false},
    [TB_LINE_OVERRIDE] = {"Usage", "Usage-Based", "Content Delivery Network", "Content Delivery",
                          "Bandwidth", "GB", 9, false, false},
    [TB_LINE_OPTIMIZER] = {"Purchase", "Recurring", "Optimizer", "Content Delivery", "Optimizer",
                           "Months", 0, true, true},
    [TB_LINE_BALANCER_FEE] = {"Purchase", "Recurring", "Load Balancer", "Application Networking",
                              "Load Balancer", "Months", 0, true, true},
    [TB_LINE_BALANCER_REQUESTS] = {"Usage", "Usage-Based", "Load Balancer",
                                   "Application Networking", "Requests", "1000000 Requests", 6,
                                   true, false},
    [TB_LINE_MINIMUM] = {"Adjustment", "Recurring", "Content Delivery Network", "Content Delivery",
                         "Monthly Minimum", NULL, 0, false, false},
    [TB_LINE_CORRECTION] = {"Adjustment", "One-Time", "Content Delivery Network",
                            "Content Delivery", "Correction", NULL, 0, false, false},
};

static const char *unit_name(tb_line_kind kind)
{
    const char *unit = tb_line_kind_unit(kind);
    return strcmp(unit, "byte") == 0      ? "Bytes"
           : strcmp(unit, "request") == 0 ? "Requests"
           : strcmp(unit, "second") == 0  ? "Seconds"
                                          : "Months";
}

void tb_focus_csv_head(tb_buf *out)
{
    tb__csv_head(out,
                 "BilledCost,BillingAccountId,BillingAccountName,BillingCurrency,BillingPeriodEnd,"
                 "BillingPeriodStart,ChargeCategory,ChargeClass,ChargeDescription,ChargeFrequency,"
                 "ChargePeriodEnd,ChargePeriodStart,ConsumedQuantity,ConsumedUnit,ContractedCost,"
                 "ContractedUnitPrice,EffectiveCost,InvoiceId,InvoiceIssuerName,ListCost,"
                 "ListUnitPrice,PricingCategory,PricingQuantity,PricingUnit,ProviderName,"
                 "PublisherName,RegionId,RegionName,ResourceId,ResourceName,ResourceType,"
                 "ServiceCategory,ServiceName,ServiceSubcategory,SkuId,SkuMeter,SkuPriceId");
}

/* One row's figures: a line's own, or a part of it, by zone or by price. */
typedef struct charge {
    const tb_statement *s;
    const tb_bill_line *line;
    size_t index; /* of the line */
    const tb_correction *correction;
    tb_line_kind origin;
    const shape *shape;
    int64_t month;            /* that it is charged for */
    const tb_bill_tier *tier; /* of its price; NULL where it has none, or several */
    bool split;               /* one of several rows of its line, one a price */
    char resource[TB_BILL_RESOURCE_MAX];
    tb_i128 quantity;
    tb_decimal billed, contracted, list;
    tb_decimal quantity_priced; /* in the row's pricing unit */
    bool one_price;             /* contracted_price and list_price are valid */
    tb_decimal contracted_price, list_price;
} charge;

static tb_code find_quantity(charge *c, tb_error *err)
{
    tb_decimal quantity = tb_decimal_from_int(c->quantity);
    int64_t days = tb_month_first_day(c->month + 1) - tb_month_first_day(c->month);
    if (!c->shape->monthly)
        return tb_decimal_shift(quantity, c->shape->places, &c->quantity_priced, err);
    return tb_decimal_divide(quantity, 1, days * 86400, TB_PRORATE_SCALE, TB_HALF_UP,
                             &c->quantity_priced, err);
}

/* No price is shown where more than units times it is in the amount (a flat part, a package), or
 * where a decimal cannot hold its product with the quantity. */
static void find_price(charge *c)
{
    const shape *as = c->shape;
    tb_decimal product, list, list_price;
    if (!as->unit || !c->tier) return;
    if (tb_decimal_shift(c->tier->price, -as->places, &c->contracted_price, NULL) ||
        tb_decimal_mul(c->contracted_price, c->quantity_priced, &product, NULL))
        return;
    if (!as->monthly && c->line->n_shares == 0 && tb_decimal_compare(product, c->contracted) != 0)
        return;
    list_price = as->list ? c->tier->shown : c->contracted_price;
    if (tb_decimal_mul(list_price, c->quantity_priced, &list, NULL)) return;
    c->one_price = true;
    c->contracted = product;
    c->list_price = list_price;
    c->list = list;
}

static tb_code find_prices(charge *c, tb_error *err)
{
    tb_code code = find_quantity(c, err);
    c->list = c->billed;
    if (!code) find_price(c);
    return code;
}

static void put_text_of(const charge *c, tb_buf *out)
{
    char text[200];
    tb_buf words = {.data = text, .cap = sizeof text, .max = sizeof text - 1};
    if (c->correction) tb_buf_str(&words, "Correction: ");
    tb_buf_str(&words, tb__line_title(c->s, c->index));
    const char *note = tb_line_note(c->s, c->index);
    if (note) tb_buf_fmt(&words, " (%s)", note);
    tb_buf_str(&words, ", ");
    tb__add_resource(&words, c->resource);
    if (c->line->region[0]) {
        tb_buf_str(&words, ", ");
        tb_buf_str(&words, c->line->region);
    }
    text[words.len] = 0;
    tb__csv_text(out, text);
}

static void put_if(bool there, tb_decimal value, tb_buf *out)
{
    if (there)
        tb__csv_decimal(out, value);
    else
        tb__csv_plain(out, "");
}

/* BilledCost to ChargePeriodStart; category and words differ. */
static void put_period(const charge *c, tb_buf *out)
{
    const shape *as = c->shape;
    tb__csv_plain(out, as->category);
    tb__csv_plain(out, c->correction ? "Correction" : "");
    put_text_of(c, out);
    tb__csv_plain(out, c->correction ? "One-Time" : as->frequency);
    tb__csv_time(out, tb_month_start_us(c->month + 1));
    tb__csv_time(out, tb_month_start_us(c->month));
}

static void put_account(const tb_statement *s, tb_decimal billed, tb_buf *out)
{
    tb__csv_money(out, billed, s->bill->minor_digits);
    tb__csv_number(out, s->account);
    tb_buf_fmt(out, ",Account %lld", (long long)s->account);
    tb__csv_plain(out, s->currency);
    tb__csv_time(out, tb_month_start_us(s->month + 1));
    tb__csv_time(out, tb_month_start_us(s->month));
}

static void put_costs(const charge *c, tb_buf *out)
{
    bool usage = strcmp(c->shape->category, "Usage") == 0;
    put_if(usage, tb_decimal_from_int(c->quantity), out);
    tb__csv_plain(out, usage ? unit_name(c->origin) : "");
    tb__csv_decimal(out, c->contracted);
    put_if(c->one_price, c->contracted_price, out);
    tb__csv_money(out, c->billed, c->s->bill->minor_digits);
    tb__csv_plain(out, c->s->number);
    tb__csv_plain(out, PROVIDER);
    tb__csv_decimal(out, c->list);
    put_if(c->one_price, c->list_price, out);
    tb__csv_plain(out, "Standard");
    tb__csv_decimal(out, c->quantity_priced);
    tb__csv_plain(out, c->shape->unit ? c->shape->unit : unit_name(c->origin));
}

/* The book of the price, or the month's last. */
static const char *book_of(const charge *c)
{
    const tb_statement *s = c->s;
    size_t last = s->n_books ? s->n_books - 1 : 0;
    size_t at = c->tier && c->tier->part < last ? c->tier->part : last;
    return s->n_books ? s->books[at].id : "";
}

/* A price's id: book, kind and region; with the price where tiers give it several. */
static void put_sku(const charge *c, tb_buf *out)
{
    const char *kind = tb_line_kind_name(c->origin), *region = c->line->region;
    const char *book = book_of(c), *dash = *region ? "-" : "";
    tb_buf_fmt(out, ",%s%s%s", kind, dash, region);
    tb__csv_plain(out, c->shape->meter);
    if (!*book) {
        tb__csv_plain(out, "");
        return;
    }
    tb__csv_text(out, book);
    tb_buf_fmt(out, "/%s%s%s", kind, dash, region);
    if (!c->split || !c->one_price) return;
    tb_buf_str(out, "@");
    tb__add_decimal(out, c->list_price);
}

static void put_things(const charge *c, tb_buf *out)
{
    const char *colon = strchr(c->resource, ':');
    int type = colon ? (int)(colon - c->resource) : 0;
    tb__csv_plain(out, PROVIDER);
    tb__csv_plain(out, PROVIDER);
    tb__csv_text(out, c->line->region);
    tb__csv_text(out, c->line->region);
    tb__csv_text(out, c->resource);
    tb__csv_text(out, c->resource);
    tb_buf_fmt(out, ",%.*s", type, c->resource);
    tb__csv_plain(out, "Networking");
    tb__csv_plain(out, c->shape->service);
    tb__csv_plain(out, c->shape->subcategory);
    put_sku(c, out);
}

static tb_code put_charge(charge *c, tb_buf *out, tb_error *err)
{
    tb_code code = find_prices(c, err);
    if (code) return code;
    put_account(c->s, c->billed, out);
    put_period(c, out);
    put_costs(c, out);
    put_things(c, out);
    tb__csv_end(out);
    return TB_OK;
}

/* --- a line of several prices --- */

/* *ret: the line is made of several prices, which hold all its units and its amount. */
static tb_code read_prices(const tb_bill_line *line, tb__prices *p, bool *ret, tb_error *err)
{
    bool all = false;
    tb_code code = tb__prices_read(line, p, &all, err);
    *ret = all && p->n > 1 && p->units == line->quantity && tb_decimal_sign(line->amount) >= 0;
    return code;
}

static tb_code put_prices(const charge *whole, tb__prices *p, tb_buf *out, tb_error *err)
{
    tb_code code = tb__prices_share(whole->line, whole->s->bill->minor_digits, p, err);
    for (size_t i = 0; !code && i < p->n; i++) {
        charge c = *whole;
        c.tier = &p->tier[i];
        c.split = true;
        c.quantity = p->tier[i].units;
        c.contracted = p->tier[i].amount;
        c.billed = p->billed[i];
        code = put_charge(&c, out, err);
    }
    return code;
}

/* --- lines --- */

static tb_code put_shares(const charge *whole, tb_buf *out, tb_error *err)
{
    tb_code code = TB_OK;
    for (size_t i = 0; !code && i < whole->line->n_shares; i++) {
        const tb_bill_share *share = &whole->line->shares[i];
        charge c = *whole;
        tb_buf name = {.data = c.resource, .cap = sizeof c.resource, .max = sizeof c.resource};
        tb_buf_fmt(&name, "zone:%lld", (long long)share->zone);
        c.quantity = share->bytes;
        c.billed = share->amount;
        c.contracted = share->exact;
        code = put_charge(&c, out, err);
    }
    return code;
}

static tb_code put_line(const tb_statement *s, size_t i, tb_buf *out, tb_error *err)
{
    const tb_bill_line *line = &s->bill->lines[i];
    tb_bill_tier tier;
    tb__prices several;
    bool one = false, split = false;
    charge c = {.s = s,
                .line = line,
                .index = i,
                .correction = tb__correction_of(s, i),
                .origin = tb__line_origin(s, i),
                .quantity = line->quantity,
                .billed = line->amount,
                .contracted = line->exact};
    c.shape = &shapes[c.origin];
    c.month = c.correction ? line->period_month : s->month;
    memcpy(c.resource, line->resource, sizeof c.resource);
    tb_code code = tb__tiers_one(line, &one, &tier, err);
    if (!code && c.shape->unit && !one && !c.correction) /* the specification frees corrections */
        code = read_prices(line, &several, &split, err);
    if (code) return code;
    if (one) c.tier = &tier;
    if (line->n_shares) return put_shares(&c, out, err);
    return split ? put_prices(&c, &several, out, err) : put_charge(&c, out, err);
}

static void put_tax(const tb_statement *s, const tb_bill_taxed *tax, tb_buf *out)
{
    put_account(s, tax->amount, out);
    tb__csv_plain(out, "Tax");
    tb__csv_plain(out, "");
    tb__csv_text(out, tax->rate.name);
    tb__csv_plain(out, "Recurring");
    tb__csv_time(out, tb_month_start_us(s->month + 1));
    tb__csv_time(out, tb_month_start_us(s->month));
    tb__csv_plain(out, ","); /* ConsumedQuantity, ConsumedUnit */
    tb__csv_money(out, tax->amount, s->bill->minor_digits);
    tb__csv_plain(out, "");
    tb__csv_money(out, tax->amount, s->bill->minor_digits);
    tb__csv_plain(out, s->number);
    tb__csv_plain(out, PROVIDER);
    tb__csv_money(out, tax->amount, s->bill->minor_digits);
    tb__csv_plain(out, ",,,"); /* ListUnitPrice to PricingUnit */
    tb__csv_plain(out, PROVIDER);
    tb__csv_plain(out, PROVIDER);
    tb__csv_plain(out, ",,,,"); /* RegionId to ResourceType */
    tb__csv_plain(out, "Other,Tax,Other (Other),,,");
    tb__csv_end(out);
}

tb_code tb_focus_csv(const tb_statement *statement, tb_buf *out, tb_error *err)
{
    tb_code code = TB_OK;
    for (size_t i = 0; !code && i < statement->bill->n_lines; i++)
        code = put_line(statement, i, out, err);
    for (size_t i = 0; !code && i < statement->bill->n_tax; i++)
        put_tax(statement, &statement->bill->tax[i], out);
    return code;
}
