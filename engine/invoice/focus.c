/* FOCUS 1.2 (FinOps Open Cost and Usage Specification): which values a kind of line has is a table;
 * the columns stand in the specification's order, that of the alphabet. Columns that can have no
 * value here (commitments, capacity, availability zones, sub-accounts) are left out, as the
 * specification allows. Where quantity times unit price cannot give the cost, because a line has
 * several tiers, the unit price is null and the list cost the billed one. */
#include "tollbook/invoice.h"

#include "invoice/csv.h"
#include "invoice/text.h"

#include <string.h>

#define PROVIDER "tollbook"

typedef struct shape {
    const char *category, *frequency, *service, *subcategory, *meter;
    const char *unit; /* that prices are written in; NULL: the line's own */
    int places;       /* from the line's unit to it, powers of ten */
    bool list;        /* tiers show the book's price in that unit */
} shape;

static const shape shapes[TB_LINE_KIND_COUNT] = {
    [TB_LINE_BANDWIDTH] = {"Usage", "Usage-Based", "Content Delivery Network", "Content Delivery",
                           "Bandwidth", "GB", 9, true},
    [TB_LINE_VOLUME] = {"Usage", "Usage-Based", "Content Delivery Network", "Content Delivery",
                        "Volume Bandwidth", "GB", 9, true},
    [TB_LINE_OVERRIDE] = {"Usage", "Usage-Based", "Content Delivery Network", "Content Delivery",
                          "Bandwidth", "GB", 9, false},
    [TB_LINE_OPTIMIZER] = {"Purchase", "Recurring", "Optimizer", "Content Delivery", "Optimizer",
                           NULL, 0, false},
    [TB_LINE_BALANCER_FEE] = {"Purchase", "Recurring", "Load Balancer", "Application Networking",
                              "Load Balancer", NULL, 0, false},
    [TB_LINE_BALANCER_REQUESTS] = {"Usage", "Usage-Based", "Load Balancer",
                                   "Application Networking", "Requests", "1000000 Requests", 6,
                                   true},
    [TB_LINE_MINIMUM] = {"Adjustment", "Recurring", "Content Delivery Network", "Content Delivery",
                         "Monthly Minimum", NULL, 0, false},
    [TB_LINE_CORRECTION] = {"Adjustment", "One-Time", "Content Delivery Network",
                            "Content Delivery", "Correction", NULL, 0, false},
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

/* One row's figures: a line's own, or a zone's part of it. */
typedef struct charge {
    const tb_statement *s;
    const tb_bill_line *line;
    size_t index; /* of the line */
    const tb_correction *correction;
    tb_line_kind origin;
    const shape *shape;
    char resource[TB_BILL_RESOURCE_MAX];
    tb_i128 quantity;
    tb_decimal billed, contracted, list;
    tb_decimal quantity_priced; /* in the row's pricing unit */
    bool one_price;             /* contracted_price is valid */
    bool one_list;              /* list_price is */
    tb_decimal contracted_price, list_price;
} charge;

/* A line of one tier has one price, unless more than units times it is in the amount. */
static tb_code find_price(charge *c, tb_error *err)
{
    const shape *as = c->shape;
    tb_decimal product;
    if (!as->unit || c->line->n_tiers != 1) return TB_OK;
    tb_code code = tb_decimal_shift(c->line->tiers->price, -as->places, &c->contracted_price, err);
    if (!code) code = tb_decimal_mul(c->contracted_price, c->quantity_priced, &product, err);
    if (code) return code;
    c->one_price = c->line->n_shares > 0 || tb_decimal_compare(product, c->contracted) == 0;
    if (c->one_price) c->contracted = product;
    return TB_OK;
}

static tb_code find_prices(charge *c, tb_error *err)
{
    tb_code code = tb_decimal_shift(tb_decimal_from_int(c->quantity), c->shape->places,
                                    &c->quantity_priced, err);
    if (!code) code = find_price(c, err);
    c->one_list = c->one_price && c->shape->list;
    c->list = c->billed;
    if (code || !c->one_list) return code;
    c->list_price = c->line->tiers->shown;
    return tb_decimal_mul(c->list_price, c->quantity_priced, &c->list, err);
}

static void put_text_of(const charge *c, tb_buf *out)
{
    char text[200];
    tb_buf words = {.data = text, .cap = sizeof text, .max = sizeof text - 1};
    if (c->correction) tb_buf_str(&words, "Correction: ");
    tb_buf_str(&words, tb__line_title(c->s, c->index));
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
static void put_period(const charge *c, int64_t month, tb_buf *out)
{
    const shape *as = c->shape;
    tb__csv_plain(out, as->category);
    tb__csv_plain(out, c->correction ? "Correction" : "");
    put_text_of(c, out);
    tb__csv_plain(out, c->correction ? "One-Time" : as->frequency);
    tb__csv_time(out, tb__month_start_us(month + 1));
    tb__csv_time(out, tb__month_start_us(month));
}

static void put_account(const tb_statement *s, tb_decimal billed, tb_buf *out)
{
    tb__csv_money(out, billed, s->bill->minor_digits);
    tb__csv_number(out, s->account);
    tb_buf_fmt(out, ",Account %lld", (long long)s->account);
    tb__csv_plain(out, s->currency);
    tb__csv_time(out, tb__month_start_us(s->month + 1));
    tb__csv_time(out, tb__month_start_us(s->month));
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
    put_if(c->one_list, c->list_price, out);
    tb__csv_plain(out, "Standard");
    tb__csv_decimal(out, c->quantity_priced);
    tb__csv_plain(out, c->shape->unit ? c->shape->unit : unit_name(c->origin));
}

static void put_sku(const charge *c, tb_buf *out)
{
    const tb_statement *s = c->s;
    const char *kind = tb_line_kind_name(c->origin), *region = c->line->region;
    const char *book = s->n_books ? s->books[s->n_books - 1].id : "";
    const char *dash = *region ? "-" : "";
    tb_buf_fmt(out, ",%s%s%s", kind, dash, region);
    tb__csv_plain(out, c->shape->meter);
    if (*book) {
        tb__csv_text(out, book);
        tb_buf_fmt(out, "/%s%s%s", kind, dash, region);
    } else {
        tb__csv_plain(out, "");
    }
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
    put_period(c, c->correction ? c->line->period_month : c->s->month, out);
    put_costs(c, out);
    put_things(c, out);
    tb__csv_end(out);
    return TB_OK;
}

static tb_code put_line(const tb_statement *s, size_t i, tb_buf *out, tb_error *err)
{
    const tb_bill_line *line = &s->bill->lines[i];
    tb_line_kind origin = tb__line_origin(s, i);
    charge c = {.s = s,
                .line = line,
                .index = i,
                .correction = tb__correction_of(s, i),
                .origin = origin,
                .shape = &shapes[origin],
                .quantity = line->quantity,
                .billed = line->amount,
                .contracted = line->exact};
    memcpy(c.resource, line->resource, sizeof c.resource);
    if (line->n_shares == 0) return put_charge(&c, out, err);
    tb_code code = TB_OK;
    for (size_t k = 0; !code && k < line->n_shares; k++) {
        const tb_bill_share *share = &line->shares[k];
        tb_buf name = {.data = c.resource, .cap = sizeof c.resource, .max = sizeof c.resource};
        tb_buf_fmt(&name, "zone:%lld", (long long)share->zone);
        c.quantity = share->bytes;
        c.billed = share->amount;
        c.contracted = share->exact;
        code = put_charge(&c, out, err);
    }
    return code;
}

static void put_tax(const tb_statement *s, const tb_bill_taxed *tax, tb_buf *out)
{
    put_account(s, tax->amount, out);
    tb__csv_plain(out, "Tax");
    tb__csv_plain(out, "");
    tb__csv_text(out, tax->rate.name);
    tb__csv_plain(out, "Recurring");
    tb__csv_time(out, tb__month_start_us(s->month + 1));
    tb__csv_time(out, tb__month_start_us(s->month));
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
