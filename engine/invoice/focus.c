/* FOCUS 1.2 (FinOps Open Cost and Usage Specification): a table gives the values of each kind of line;
 * the columns are in the specification's order, the alphabetical one. Columns that can have no value
 * here (commitments, capacity, availability zones, currencies of prices) are left out, as the
 * specification allows.
 *
 * A row has one unit price, and quantity times unit price is its cost. So a line of several tiers has a
 * row for each of its prices, with its amount shared out among them by largest remainder; monthly fees
 * are quantities of months, to 18 digits. An account's volume line has rows for each zone, and with
 * several tiers for each zone and price: each zone's share of a tier is its share of the volume, in whole
 * bytes. An amount without a unit price (flat parts, packages, a product that no decimal holds) is one
 * unit at the whole cost. */
#include "tollbook/invoice.h"

#include "invoice/csv.h"
#include "invoice/prices.h"
#include "invoice/tags.h"
#include "invoice/text.h"
#include "tollbook/calendar.h"

#include <stdio.h>
#include <string.h>

#define PROVIDER "tollbook" /* where no seller is declared */

#define CDN     "Content Delivery Network", "Content Delivery"
#define METERED "Metered Usage", "Other (Networking)"
#define LB      "Load Balancer", "Application Networking"

typedef struct shape {
    const char *service, *subcategory, *meter;
    bool list; /* tiers show the book's price; else the own price is the list's */
} shape;

static const shape shapes[TB_LINE_KIND_COUNT] = {
    [TB_LINE_BANDWIDTH] = {CDN, "Bandwidth", true},
    [TB_LINE_VOLUME] = {CDN, "Volume Bandwidth", true},
    [TB_LINE_OVERRIDE] = {CDN, "Bandwidth", false},
    [TB_LINE_PERCENTILE] = {CDN, "Bandwidth at a percentile", false},
    [TB_LINE_OPTIMIZER] = {"Optimizer", "Content Delivery", "Optimizer", true},
    [TB_LINE_BALANCER_FEE] = {LB, "Load Balancer", true},
    [TB_LINE_BALANCER_REQUESTS] = {LB, "Requests", true},
    [TB_LINE_METER] = {METERED, "Usage", false},
    [TB_LINE_METER_MINIMUM] = {METERED, "Minimum", false},
    [TB_LINE_FEE] = {"Recurring Fee", "Other (Networking)", "Fee", false},
    [TB_LINE_DISCOUNT] = {CDN, "Contract Discount", false},
    [TB_LINE_COMMIT] = {CDN, "Monthly Commit", false},
    [TB_LINE_MINIMUM] = {CDN, "Monthly Minimum", false},
    [TB_LINE_CAP] = {CDN, "Spending Cap", false},
    [TB_LINE_CHARGE] = {CDN, "One-off Charge", false},
    [TB_LINE_CORRECTION] = {CDN, "Correction", false},
};

/* What follows from what a line charges. */
static const struct {
    const char *category, *frequency;
    bool has_price; /* of the line's unit */
} bases[] = {[TB_BASIS_USAGE] = {"Usage", "Usage-Based", true},
             [TB_BASIS_PEAK] = {"Usage", "Usage-Based", false},
             [TB_BASIS_TIME] = {"Purchase", "Recurring", true},
             [TB_BASIS_AGREED] = {"Adjustment", "Recurring", false},
             [TB_BASIS_ONCE] = {"Purchase", "One-Time", true},
             [TB_BASIS_CORRECTION] = {"Adjustment", "One-Time", false}};

/* A line's units, and the one that prices are written in: so many powers of ten of them. The last is of all others. */
typedef struct unit_words {
    const char *of, *name, *price;
    int places;
} unit_words;

static const unit_words units[] = {{"byte", "B", "GB", 9},
                                   {"request", "Requests", "1000000 Requests", 6},
                                   {"second", "Seconds", "Months", 0},
                                   {"charge", "Charges", "Charges", 0},
                                   {"", "Months", NULL, 0}};

static const unit_words *unit_of(tb_line_kind kind)
{
    const unit_words *u = units;
    while (*u->of && strcmp(u->of, tb_line_kind_unit(kind)) != 0)
        u++;
    return u;
}

/* "GB-month" as "GB-Months", "request" as "Requests", "byte" as "B": the specification's form of units. */
static void put_unit(const char *unit, tb_buf *out)
{
    const size_t len = strlen(unit);
    const char *dash = strrchr(unit, '-');
    const size_t own = dash ? (size_t)(dash - unit) : len;
    bool word = own > 0;
    for (size_t i = 0; i < own; i++)
        word = word && unit[i] >= 'a' && unit[i] <= 'z';
    if (strncmp(unit, "byte", own) == 0 && own == 4) {
        tb_buf_str(out, "B");
    } else {
        const char first = word ? (char)(unit[0] - 'a' + 'A') : unit[0];
        tb_buf_add(out, &first, own > 0);
        tb_buf_add(out, unit + 1, own ? own - 1 : 0);
        if (word && !dash) tb_buf_str(out, "s");
    }
    if (!dash) return;
    const char time = dash[1] >= 'a' && dash[1] <= 'z' ? (char)(dash[1] - 'a' + 'A') : dash[1];
    tb_buf_str(out, "-");
    tb_buf_add(out, &time, dash[1] != 0);
    tb_buf_fmt(out, "%ss", dash[1] ? dash + 2 : "");
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
                 "ServiceCategory,ServiceName,ServiceSubcategory,SkuId,SkuMeter,"
                 "SkuPriceDetails,SkuPriceId,SubAccountId,SubAccountName,Tags");
}

/* One row's figures: a line's own, or a part of it, by zone or by price. */
typedef struct charge {
    const tb_statement *s;
    const tb_invoice_names *names;
    const tb_bill_line *line;
    size_t index; /* of the line */
    const tb_correction *correction;
    tb_line_kind origin;
    const shape *shape;
    tb_line_basis basis;
    const unit_words *unit;
    const char *price_unit;   /* NULL: it has none, or the item's */
    int places;               /* from the line's unit to it */
    int64_t month;            /* that it is charged for */
    int64_t zone;             /* 0: none */
    const tb_bill_tier *tier; /* of its price; NULL where it has none, or several */
    bool split;               /* one of several rows of its line, one a price */
    char resource[TB_BILL_RESOURCE_MAX];
    tb_i128 quantity;
    tb_decimal billed, contracted, list;
    tb_decimal quantity_priced; /* in the row's pricing unit */
    bool lump;                  /* which is one unit at the whole cost */
    bool one_price;             /* contracted_price and list_price are valid */
    tb_decimal contracted_price, list_price;
} charge;

/* The item of a line whose prices are for units of a meter. */
static const tb_bill_item *metered(const charge *c)
{
    return tb__metered_item(c->s, c->index);
}

static const tb_bill_item *fee_of(const charge *c)
{
    return tb__fee_item(c->s, c->index);
}

/* Its years have no length in months: they are charged in seconds. */
static bool is_yearly(const charge *c)
{
    return fee_of(c) && strcmp(fee_of(c)->per_unit, "year") == 0;
}

static tb_code find_quantity(charge *c, tb_error *err)
{
    const tb_bill_item *item = metered(c);
    const int64_t month = fee_of(c) ? tb_month_from_us(fee_of(c)->from_us) : c->month;
    tb_decimal quantity = tb_decimal_from_int(c->quantity);
    int64_t days = tb_month_first_day(month + 1) - tb_month_first_day(month);
    if (item && item->per)
        return tb_decimal_divide(quantity, 1, item->per, TB_PRORATE_SCALE, TB_HALF_UP, &c->quantity_priced, err);
    if (c->basis != TB_BASIS_TIME || is_yearly(c))
        return tb_decimal_shift(quantity, c->places, &c->quantity_priced, err);
    return tb_decimal_divide(quantity, 1, days * 86400, TB_PRORATE_SCALE, TB_HALF_UP,
                             &c->quantity_priced, err);
}

/* A quantity in a meter's units has 18 digits. */
static bool is_near(tb_decimal product, tb_decimal amount)
{
    const tb_decimal most = {1, 9};
    tb_decimal apart;
    if (tb_decimal_sub(product, amount, &apart, NULL)) return false;
    if (apart.mantissa < 0) apart.mantissa = -apart.mantissa;
    return tb_decimal_compare(apart, most) < 0;
}

/* No price is shown where more than units times it is in the amount (a flat part, a package), or
 * where a decimal cannot hold its product with the quantity. */
static void find_price(charge *c)
{
    const tb_bill_item *item = metered(c);
    tb_decimal product, list, list_price;
    if ((!c->price_unit && !item) || !c->tier || c->tier->by_block || is_yearly(c)) return;
    if (tb_decimal_shift(c->tier->price, -c->places, &c->contracted_price, NULL) ||
        tb_decimal_mul(c->contracted_price, c->quantity_priced, &product, NULL))
        return;
    if (item && item->per ? !is_near(product, c->contracted)
                          : c->basis != TB_BASIS_TIME && c->line->n_shares == 0 && tb_decimal_compare(product, c->contracted) != 0)
        return;
    list_price = c->shape->list ? c->tier->shown : c->contracted_price;
    if (tb_decimal_mul(list_price, c->quantity_priced, &list, NULL)) return;
    c->one_price = true;
    c->contracted = product;
    c->list_price = list_price;
    c->list = list;
}

/* The specification wants a unit price of all usage. */
static void price_by_lump(charge *c)
{
    c->lump = c->one_price = true;
    c->quantity_priced = tb_decimal_from_int(1);
    c->contracted_price = c->contracted;
    c->list_price = c->list;
}

static tb_code find_prices(charge *c, tb_error *err)
{
    tb_code code = find_quantity(c, err);
    if (code) return code;
    c->list = c->contracted;
    find_price(c);
    if (!c->one_price && (c->price_unit || metered(c)) && !is_yearly(c) && !c->correction) price_by_lump(c);
    return TB_OK;
}

static const tb_zone_name *zone_of(const charge *c)
{
    const tb_zone_name *zone = c->zone ? tb_invoice_zone(c->names, c->zone) : NULL;
    return zone && zone->name && *zone->name ? zone : NULL;
}

/* A meter's line over all resources of the account: the meter's name says it. */
static bool of_all(const charge *c)
{
    return strncmp(c->resource, "meter:", 6) == 0;
}

static void put_text_of(const charge *c, tb_buf *out)
{
    char text[1024];
    tb_buf words = {.data = text, .cap = sizeof text, .max = sizeof text - 1};
    if (c->correction) tb_buf_str(&words, "Correction: ");
    tb_buf_str(&words, tb__line_title(c->s, c->index));
    const char *note = tb_line_note(c->s, c->index);
    if (note) tb_buf_fmt(&words, " (%s)", note);
    if (!of_all(c)) tb_buf_str(&words, ", ");
    if (zone_of(c))
        tb_buf_str(&words, zone_of(c)->name);
    else if (!of_all(c))
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
    tb__csv_plain(out, c->basis == TB_BASIS_ONCE && tb_decimal_sign(c->billed) < 0 ? "Credit" : bases[c->basis].category);
    tb__csv_plain(out, c->correction ? "Correction" : "");
    put_text_of(c, out);
    tb__csv_plain(out, c->correction ? "One-Time" : bases[c->basis].frequency);
    tb__csv_time(out, fee_of(c) ? fee_of(c)->to_us : tb_month_start_us(c->month + 1));
    tb__csv_time(out, fee_of(c) ? fee_of(c)->from_us : tb_month_start_us(c->month));
}

/* The account's name, or its number where that is not known. */
static void put_account_name(const tb_statement *s, const tb_invoice_names *names, tb_buf *out)
{
    if (names && names->account && *names->account)
        tb__csv_text(out, names->account);
    else
        tb_buf_fmt(out, ",Account %lld", (long long)s->account);
}

static void put_account(const tb_statement *s, const tb_invoice_names *names, tb_decimal billed,
                        tb_buf *out)
{
    tb__csv_money(out, billed, s->bill->minor_digits);
    tb__csv_number(out, s->account);
    put_account_name(s, names, out);
    tb__csv_plain(out, s->currency);
    tb__csv_time(out, tb_month_start_us(s->month + 1));
    tb__csv_time(out, tb_month_start_us(s->month));
}

/* Who issues, provides and publishes. */
static void put_seller(const tb_statement *s, tb_buf *out)
{
    const char *name = tb_party_text(s->seller, TB_PARTY_NAME);
    tb__csv_text(out, *name ? name : PROVIDER);
}

/* SubAccountId to Tags. There is one account below the one that is billed: itself. */
static tb_code put_end(const tb_statement *s, const tb_invoice_names *names, const char *labels,
                       tb_buf *out, tb_error *err)
{
    tb_buf tags;
    tb__csv_number(out, s->account);
    put_account_name(s, names, out);
    tb_buf_init(&tags, (size_t)1 << 20, NULL);
    tb_code code = tb__tags(names ? names->labels : NULL, labels, &tags, err);
    tb_buf_add(&tags, "", 1);
    if (!code) code = tb_buf_check(&tags, err);
    if (!code) tb__csv_text(out, tags.data);
    tb_buf_release(&tags);
    tb__csv_end(out);
    return code;
}

/* A price is never below zero: a credit is less than none of what it gives back. */
static tb_decimal turned(const charge *c, tb_decimal value)
{
    const bool credit = c->basis == TB_BASIS_ONCE && tb_decimal_sign(c->list_price) < 0;
    return credit ? (tb_decimal){-value.mantissa, value.scale} : value;
}

static void put_costs(const charge *c, tb_buf *out)
{
    const bool usage = c->basis == TB_BASIS_USAGE || c->basis == TB_BASIS_PEAK;
    put_if(usage, tb_decimal_from_int(c->quantity), out);
    if (usage && metered(c) && metered(c)->unit[0]) {
        tb_buf_str(out, ",");
        put_unit(metered(c)->unit, out);
    } else {
        tb__csv_plain(out, usage ? c->unit->name : "");
    }
    tb__csv_decimal(out, c->contracted);
    put_if(c->one_price, turned(c, c->contracted_price), out);
    tb__csv_money(out, c->billed, c->s->bill->minor_digits);
    tb__csv_plain(out, c->s->number);
    put_seller(c->s, out);
    tb__csv_decimal(out, c->list);
    put_if(c->one_price, turned(c, c->list_price), out);
    tb__csv_plain(out, "Standard");
    tb__csv_decimal(out, turned(c, c->quantity_priced));
    if (metered(c) && !c->lump) {
        const tb_bill_item *item = metered(c);
        const bool named = item->per && item->per_unit[0];
        tb_buf_str(out, ",");
        if (item->per && !named) {
            tb__add_i128(out, item->per);
            tb_buf_str(out, " ");
        }
        put_unit(named ? item->per_unit : item->unit[0] ? item->unit : "byte", out);
        return;
    }
    tb__csv_plain(out, c->lump ? "Units" : c->price_unit && !is_yearly(c) ? c->price_unit : c->unit->name);
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
    const char *id = c->line->item && c->line->item->id[0] ? c->line->item->id : NULL;
    char sku[TB_METER_ID_MAX + TB_METER_VALUE_MAX + 32], text[512];
    tb_buf price = {.data = text, .cap = sizeof text, .max = sizeof text - 1};
    snprintf(sku, sizeof sku, "%s%s%s%s%s", kind, id ? "-" : "", id ? id : "", dash, region);
    tb__csv_text(out, sku);
    tb__csv_text(out, id ? c->line->item->name : c->shape->meter);
    tb__csv_plain(out, ""); /* SkuPriceDetails */
    tb_buf_fmt(&price, "%s%s%s", book, *book ? "/" : "", sku);
    if (c->split && c->one_price && !c->lump) {
        tb_buf_str(&price, "@");
        tb__add_decimal(&price, c->list_price);
    }
    text[price.len] = 0;
    tb__csv_text(out, text);
}

/* An account is not a resource, nor is a meter or a charge. The name column is set if the resource has a name. */
static void put_resource(const charge *c, tb_buf *out)
{
    const char *colon = strchr(c->resource, ':');
    const int type = colon ? (int)(colon - c->resource) : 0;
    if (strncmp(c->resource, "account:", 8) == 0 || c->basis == TB_BASIS_ONCE || of_all(c)) {
        tb__csv_plain(out, ",,");
        return;
    }
    tb__csv_text(out, c->resource);
    tb__csv_text(out, zone_of(c) ? zone_of(c)->name : "");
    tb_buf_fmt(out, ",%.*s", type, c->resource);
}

static void put_things(const charge *c, tb_buf *out)
{
    put_seller(c->s, out);
    put_seller(c->s, out);
    tb__csv_text(out, c->line->region);
    tb__csv_text(out, c->line->region);
    put_resource(c, out);
    tb__csv_plain(out, "Networking");
    tb__csv_text(out, c->line->item && c->line->item->name[0] ? c->line->item->name : c->shape->service);
    tb__csv_plain(out, c->shape->subcategory);
    put_sku(c, out);
}

static tb_code put_charge(charge *c, tb_buf *out, tb_error *err)
{
    const tb_zone_name *zone = c->zone ? tb_invoice_zone(c->names, c->zone) : NULL;
    tb_code code = find_prices(c, err);
    if (code) return code;
    put_account(c->s, c->names, c->billed, out);
    put_period(c, out);
    put_costs(c, out);
    put_things(c, out);
    return put_end(c->s, c->names, zone ? zone->labels : NULL, out, err);
}

/* --- a line of several prices --- */

/* *ret: the line consists of several prices, which hold all its units and its amount. */
static tb_code read_prices(const tb_bill_line *line, tb__prices *p, bool *ret, tb_error *err)
{
    bool all = false;
    tb_code code = tb__prices_read(line, p, &all, err);
    *ret = all && p->n > 1 && p->units == line->quantity && tb_decimal_sign(line->amount) >= 0;
    return code;
}

/* of: the line with the amount that the prices share. Prices without usage have no row. */
static tb_code put_prices(charge *whole, const tb_bill_line *of, tb__prices *p, tb_buf *out,
                          tb_error *err)
{
    bool fits = false;
    tb_code code = tb__prices_share(of, whole->s->bill->minor_digits, p, &fits, err);
    if (!code && !fits) return put_charge(whole, out, err);
    for (size_t i = 0; !code && i < p->n; i++) {
        charge c = *whole;
        c.tier = &p->tier[i];
        c.split = true;
        c.quantity = p->tier[i].units;
        c.contracted = p->tier[i].amount;
        c.billed = p->billed[i];
        if (c.quantity != 0 || tb_decimal_sign(c.billed) != 0) code = put_charge(&c, out, err);
    }
    return code;
}

/* --- a line that zones share --- */

/* A line's zones and prices as a table of bytes: rows sum to the zones' bytes, columns to the tiers'.
 * Both are walked once, with the corner's sums so far. */
typedef struct grid {
    const tb_bill_line *line;
    const tb__prices *prices;
    tb_i128 before, bytes; /* of the zones before this one, and with it */
} grid;

/* of x to / all bytes, rounded: rises with both. */
static tb_code corner(const grid *g, tb_i128 of, tb_i128 to, tb_i128 *ret, tb_error *err)
{
    tb_decimal part;
    tb_code code = tb_decimal_divide(tb_decimal_from_int(of), to, g->line->quantity, 0, TB_HALF_UP,
                                     &part, err);
    if (!code) *ret = part.mantissa;
    return code;
}

/* The zone's bytes at each price, and what they cost. */
static tb_code cut_share(const grid *g, tb__prices *ret, tb_error *err)
{
    tb_i128 to = 0, had = 0, now = 0, left = 0, right = 0;
    tb_code code = TB_OK;
    ret->n = g->prices->n;
    for (size_t i = 0; !code && i < ret->n; i++, left = had, right = now) {
        tb_bill_tier *tier = &ret->tier[i];
        *tier = g->prices->tier[i];
        to += tier->units;
        code = corner(g, g->before, to, &had, err);
        if (!code) code = corner(g, g->bytes, to, &now, err);
        if (code) break;
        tier->units = (now - right) - (had - left);
        code = tb_decimal_mul_int(tier->price, tier->units, &tier->amount, err);
    }
    return code;
}

/* Units times price is the amount of every tier: no flat part, no package. */
static bool by_units_alone(const tb__prices *p)
{
    tb_decimal product;
    for (size_t i = 0; i < p->n; i++)
        if (tb_decimal_mul_int(p->tier[i].price, p->tier[i].units, &product, NULL) ||
            tb_decimal_compare(product, p->tier[i].amount) != 0)
            return false;
    return true;
}

static charge share_charge(const charge *whole, const tb_bill_share *share)
{
    charge c = *whole;
    tb_buf name = {.data = c.resource, .cap = sizeof c.resource, .max = sizeof c.resource};
    tb_buf_fmt(&name, "zone:%lld", (long long)share->zone);
    c.zone = share->zone;
    c.quantity = share->bytes;
    c.billed = share->amount;
    c.contracted = share->exact;
    return c;
}

/* prices NULL: the zones have a row each. */
static tb_code put_shares(const charge *whole, const tb__prices *prices, tb_buf *out, tb_error *err)
{
    tb_code code = TB_OK;
    grid g = {.line = whole->line, .prices = prices};
    for (size_t i = 0; !code && i < whole->line->n_shares; i++, g.before = g.bytes) {
        const tb_bill_share *share = &whole->line->shares[i];
        tb_bill_line own = {.amount = share->amount};
        tb__prices cut;
        charge c = share_charge(whole, share);
        g.bytes += share->bytes;
        if (prices) code = cut_share(&g, &cut, err);
        memcpy(own.resource, c.resource, sizeof own.resource);
        if (!code && prices) code = put_prices(&c, &own, &cut, out, err);
        if (!code && !prices) code = put_charge(&c, out, err);
    }
    return code;
}

/* --- lines --- */

static tb_code put_line(const tb_statement *s, const tb_invoice_names *names, size_t i, tb_buf *out,
                        tb_error *err)
{
    const tb_bill_line *line = &s->bill->lines[i];
    tb_bill_tier tier;
    tb__prices several;
    bool one = false, split = false;
    charge c = {.s = s,
                .names = names,
                .line = line,
                .index = i,
                .correction = tb__correction_of(s, i),
                .origin = tb__line_origin(s, i),
                .quantity = line->quantity,
                .billed = line->amount,
                .contracted = line->exact};
    c.shape = &shapes[c.origin];
    c.basis = tb_line_kind_of(c.origin)->basis;
    c.unit = unit_of(c.origin);
    c.price_unit = bases[c.basis].has_price ? c.unit->price : NULL;
    c.places = c.price_unit ? c.unit->places : 0;
    c.month = c.correction ? line->period_month : s->month;
    memcpy(c.resource, line->resource, sizeof c.resource);
    tb_code code = tb__tiers_one(line, &one, &tier, err);
    if (!code && (c.price_unit || metered(&c)) && !one && !c.correction) /* the specification frees corrections */
        code = read_prices(line, &several, &split, err);
    if (code) return code;
    if (one) c.tier = &tier;
    if (strncmp(line->resource, "zone:", 5) == 0) c.zone = line->id;
    if (line->n_shares)
        return put_shares(&c, split && by_units_alone(&several) ? &several : NULL, out, err);
    return split ? put_prices(&c, line, &several, out, err) : put_charge(&c, out, err);
}

/* What comes of other charges: category, class, description and frequency differ. */
static tb_code put_other(const tb_statement *s, const tb_invoice_names *names, tb_decimal amount, int64_t month,
                         const char *const words[4], tb_buf *out, tb_error *err)
{
    const int digits = s->bill->minor_digits;
    put_account(s, names, amount, out);
    tb__csv_plain(out, words[0]);
    tb__csv_plain(out, words[1]);
    tb__csv_text(out, words[2]);
    tb__csv_plain(out, words[3]);
    tb__csv_time(out, tb_month_start_us(month + 1));
    tb__csv_time(out, tb_month_start_us(month));
    tb__csv_plain(out, ","); /* ConsumedQuantity, ConsumedUnit */
    tb__csv_money(out, amount, digits);
    tb__csv_plain(out, "");
    tb__csv_money(out, amount, digits);
    tb__csv_plain(out, s->number);
    put_seller(s, out);
    tb__csv_money(out, amount, digits);
    tb__csv_plain(out, ",,,"); /* ListUnitPrice to PricingUnit */
    put_seller(s, out);
    put_seller(s, out);
    tb__csv_plain(out, ",,,,"); /* RegionId to ResourceType */
    tb_buf_fmt(out, ",Other,%s,Other (Other),,,,", words[0]);
    return put_end(s, names, NULL, out, err);
}

static tb_code put_focus_tax(const tb_statement *s, const tb_invoice_names *names,
                       const tb_bill_taxed *tax, tb_buf *out, tb_error *err)
{
    const char *const words[] = {"Tax", tax->late ? "Correction" : "", tax->rate.name, "Recurring"};
    return put_other(s, names, tax->amount, tax->late ? tax->month : s->month, words, out, err);
}

/* The amount paid from credits. Payments from the balance are the customer's own money, and are billed amounts. */
static tb_code put_paid(const tb_statement *s, const tb_invoice_names *names, tb_buf *out,
                        tb_error *err)
{
    static const char *const words[] = {"Credit", "", "Paid from credit", "One-Time"};
    tb_decimal amount;
    tb_code code = tb_decimal_sub(s->covered, s->paid, &amount, err);
    if (code || !tb_decimal_sign(amount)) return code;
    return put_other(s, names, amount, s->month, words, out, err);
}

tb_code tb_focus_csv(const tb_statement *statement, const tb_invoice_names *names, tb_buf *out,
                     tb_error *err)
{
    tb_code code = TB_OK;
    for (size_t i = 0; !code && i < statement->bill->n_lines; i++)
        code = put_line(statement, names, i, out, err);
    for (size_t i = 0; !code && i < statement->bill->n_tax; i++)
        code = put_focus_tax(statement, names, &statement->bill->tax[i], out, err);
    return code ? code : put_paid(statement, names, out, err);
}
