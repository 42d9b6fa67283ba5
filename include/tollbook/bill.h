/* Bills: one account's month, from usage to lines. Pure: usage, books and settings in, lines out;
 * the invoice run, the preview of the running month, MonthlyCharges, the usage endpoints and every
 * simulation call tb_bill_rate, and no second copy of any rule exists.
 *
 * What is charged, for an account and a calendar month (UTC):
 * 1. Bandwidth of a premium zone: the bytes of each billing region at the region's price, less the
 *    larger of the zone's and the account's discount there.
 * 2. Bandwidth of volume zones: the account's volume bytes together through the book's tiers; each
 *    zone's share is in proportion to its bytes.
 * 3. A zone's price override replaces every price of its bytes, without a discount.
 * 4. The optimizer's monthly price, the zone's own or the book's, for the seconds that it was on.
 * 5. A load balancer's monthly fee for the seconds that it existed, and the tiers over its requests.
 * 6. Metered usage by the book's rate for the meter, then the least that a rate asks for a month in which its
 *    meter was used.
 * 7. The account's contract (catalog.h), where one is agreed: its percentage off the sum of the rounded
 *    lines above, minima of meters apart; then its commit, in the last month of each of its periods: the amount by
 *    which the discounted lines of the period's months fall short of it.
 * 8. The monthly minimum, the contract's or else the book's, where an active zone existed: the amount by which
 *    the month's lines, those of the contract included, fall short of it.
 * 9. The contract's cap, where its alert was raised: what usage of hours after the alert added is taken off.
 * Where the contract bills bandwidth at a percentile, one line takes the place of the first three.
 * The order: units, included units, tiers, a region's discount, minima of meters, the contract's discount, commit,
 * minimum, cap, tax.
 *
 * A month is cut into parts where another book comes into force. Usage of one thing under constant
 * settings within one part is one tb_bill_bytes (or optimizer, balancer, usage) entry. Exact amounts are never
 * rounded, proration and divisions by a meter's unit apart; each line is rounded once, to the currency's minor
 * unit, and totals are sums of rounded lines. Tax is rounded once a rate, on the sum of rounded lines.
 *
 * The finer rules:
 * - Bandwidth and override: one line per (zone, region). Its tiers are its prices: one row per part
 *   and price. Volume: one line per account, balancer requests: one per balancer; their tiers are
 *   the segments of the month's axis.
 * - Nothing is priced in a part without a book, overrides and own optimizer prices included: no currency
 *   and no rounding is agreed there. A location without billing region is unpriced under every
 *   charge. Unpriced usage takes no position on an axis.
 * - Seconds at one price are one whole: round(price x seconds / seconds of the month, 18), half_up;
 *   its rows are rounded likewise and the last of them takes the rest. So a book boundary at which
 *   nothing changes changes nothing.
 * - The minimum is the price of having an active zone in a month, not a rent: it is whole however few
 *   days the zone lived. Where books change within the month, each book's minimum counts for the
 *   seconds of its part.
 * - The contract's lines are the account's, not a zone's. Its discount is one amount, rounded once, and applies
 *   to usage: not to the commit, the minimum or corrections. It is in bills of running months too.
 * - A commit is owed for each of its periods, used or not, also without any zone; payments for usage count
 *   against it: the lines after the discount, of all the period's months. Its line stands in the period's last
 *   month. A running month has neither a commit nor a minimum line. The commit line counts against the minimum,
 *   so that the two are never paid twice. A part without a book owes neither.
 * - Periods count from the commit's first month. The last one of a commit may be cut: it owes its share by
 *   months, half_up at 18 digits. With `rollover` the commit line of a period counts as use of the period that
 *   begins in the next month, and no further.
 * - What an earlier month of a period counts is the sum of its rounded lines up to and including its own commit
 *   line, which only another contract can have made: the same commitment is never paid twice.
 * - A cap takes off what the month's lines have more than with the usage of hours up to its alert only, and at
 *   most what is above the cap. Fees go on.
 * - Meters: a line for the account or for each resource, as the rate's scope says, and for each value of the
 *   dimension `by`, those under "*" too; each has tiers of its own. Parts keep their positions on a line's tiers; where
 *   scope or `by` differ between the books of a month, each way has lines of its own.
 * - A row of a meter costs price x units / per (gauges: per x time; Mbps: 125,000 x seconds of an interval). Where `per`
 *   is a power of ten that is a decimal, and exact. Else the sum of a line's rows is rounded to 18 digits, half_up, and
 *   the last of them takes the rest.
 * - Samples: the sums of all resources, or of each, interval by interval; floor((1 - p) n) of the n are discarded, and the
 *   next largest is billed. The month is one percentile, priced by its last book; the evidence is the interval.
 * - A meter's minimum counts, like the account's, for the seconds of each book's part. There is none in a running month.
 * - Volume mode: all units of a part cost the price, in its book, of the tier that the whole month
 *   reaches. Package: a block is charged in the part in which it is started. Flat: in the part in
 *   which the tier is entered.
 * - Lines and tax are rounded by the rule of the month's last book.
 * - Free usage gives a line of 0.00; without usage and fees there is no line. */
#ifndef TOLLBOOK_BILL_H
#define TOLLBOOK_BILL_H

#include "tollbook/book.h"
#include "tollbook/buf.h"
#include "tollbook/catalog.h"
#include "tollbook/meter.h"

TB_API_BEGIN

/* The buckets that a line sums. hash is XXH3-128 (hex) over the day sums in order,
 * each as 16 bytes little-endian, empty days left out but their day numbers (8 bytes) mixed in.
 * A line of several entries: from the first to the last moment, the sum of their counts, and their
 * hashes folded from the left, in the order of the input: XXH3-128 (hex, canonical) over the texts
 * of two. Fees and the minimum sum no bucket: 0 of them, hash "". */
typedef struct tb_evidence {
    int64_t from_us, to_us; /* the buckets lie in [from, to) */
    uint64_t buckets;       /* days that hold something; of a gauge, values above 0 that held */
    char hash[33];
} tb_evidence;

/* [from, to) of the month under one book. book NULL: no book is in force; usage is unpriced. */
typedef struct tb_bill_part {
    const tb_book *book;
    int64_t from_us, to_us;
} tb_bill_part;

typedef enum tb_charge {
    TB_CHARGE_PREMIUM,  /* per region, with discounts */
    TB_CHARGE_VOLUME,   /* the account's tiers */
    TB_CHARGE_OVERRIDE, /* the zone's own price per byte */
} tb_charge;

/* Bytes of one zone at the locations of one billing region. Where a setting changes within a part,
 * there are several of the same zone, part, charge and region. */
typedef struct tb_bill_bytes {
    int64_t zone;
    uint32_t part;
    tb_charge charge;
    bool priced;              /* false: `location` has no region, or the region no billing region */
    tb_billing_region region; /* where priced */
    char location[24];        /* where not: the edge location code */
    int discount; /* percent 0..100: the larger of zone's and account's; premium only */
    tb_decimal override_price; /* per byte; override only */
    tb_i128 bytes;             /* 0 is skipped */
    tb_evidence evidence;
} tb_bill_bytes;

typedef struct tb_bill_optimizer {
    int64_t zone;
    uint32_t part;
    int64_t seconds;    /* it was on, in this part, at this price */
    bool own_price;     /* the zone's OptimizerPricing; else the part's book's */
    tb_decimal monthly; /* where own_price */
} tb_bill_optimizer;

typedef struct tb_bill_balancer {
    int64_t balancer;
    uint32_t part;
    int64_t seconds;  /* it existed in this part */
    tb_i128 requests; /* that reached it in this part */
    tb_evidence evidence;
} tb_bill_balancer;

/* --- meters (meter.h) --- */

/* Usage of one series of a meter in one part: a counter or a gauge. */
typedef struct tb_bill_usage {
    uint32_t meter; /* index in tb_bill_input.meters */
    uint32_t part;
    const char *resource;
    const char *dimension[TB_METER_DIMENSIONS]; /* "" where the meter has none */
    tb_i128 quantity; /* a counter: units; a gauge: units x seconds, each value rounded up first. 0 is skipped */
    tb_evidence evidence;
} tb_bill_usage;

/* The intervals of a month of one series of a meter of kind sample. */
typedef struct tb_bill_samples {
    uint32_t meter;
    const char *resource;
    const char *dimension[TB_METER_DIMENSIONS];
    const uint64_t *value; /* sums of base units; intervals without usage are 0 */
    size_t n;              /* seconds of the month / interval */
    int interval;          /* seconds */
    uint64_t present;      /* intervals with usage */
    tb_evidence evidence;
} tb_bill_samples;

/* --- recurring fees (book.h) --- */

/* A fee on an owner: a stretch under one price and quantity of a service period, which is a month or a year. Entries of one
 * owner, fee and period are one line, credits another: they give back what an earlier document billed in advance. */
typedef struct tb_bill_fee {
    const tb_book *book; /* prices it: the part's, or that of the document that billed the period in advance. NULL, or one
                            without such a fee: it is unpriced */
    char id[TB_FEE_ID_MAX + 1];
    enum { TB_FEE_OF_ACCOUNT, TB_FEE_OF_ZONE, TB_FEE_OF_BALANCER } owner;
    int64_t owner_id;
    int64_t period_us;      /* the period's first moment */
    int64_t whole, seconds; /* of the period, and of those the ones that are charged: all where the fee is not prorated */
    int64_t from_us, to_us; /* of the service */
    uint32_t part;          /* of the document's month */
    int64_t quantity;       /* 1 or more */
    bool credit;
} tb_bill_fee;

/* A tax rate of the account: name and percent as decimal. category: of EN 16931, UNCL 5305: S standard,
 * Z zero rated, E exempt, AE reverse charge, K within the Union, G export, O not subject; "": S, or Z
 * where percent is 0. */
typedef struct tb_bill_tax {
    char name[40], category[3];
    tb_decimal percent;
} tb_bill_tax;
#define TB_BILL_TAXES_MAX 8
#define TB_BILL_UNTAXED   6 /* categories without tax: Z, E, AE, K, G, O */
#define TB_TAX_REASON_ROOM 256 /* bytes of a reason why no tax is charged, terminated */
#define TB_TAX_CODE_ROOM   32  /* of its code */

/* --- contracts --- */

/* What counts against the commit of an earlier month of its period: its lines up to the commit, in the same currency.
 * Where the period before rolls over, the month before the period has its commit line. */
typedef struct tb_bill_earlier {
    int64_t month;
    tb_decimal amount;
} tb_bill_earlier;
#define TB_BILL_EARLIER_MAX 12 /* 11 of a year, and the month before it */

/* A cap whose alert stands. */
typedef struct tb_bill_cap {
    bool reached;
    int64_t at_us;     /* when the alert was raised */
    tb_decimal before; /* the sum of the month's lines with usage of hours only that begin at or before at_us */
} tb_bill_cap;

/* The earlier months that a month's commit counts: ret_months ascending, the month before the period first where it
 * carries over. 0: the month is not the last of a period, or only the month itself counts. */
size_t tb_bill_earlier_months(const tb_contract *contract, int64_t month, int64_t ret_months[TB_BILL_EARLIER_MAX]);

typedef struct tb_bill_input {
    int64_t account;
    int64_t month; /* months since January 1970 */
    char currency[4];
    tb_contract contract;      /* zeros: none; its book is in the parts */
    tb_bill_earlier earlier[TB_BILL_EARLIER_MAX]; /* in the month of a commit line: of tb_bill_earlier_months */
    size_t n_earlier;
    tb_bill_cap cap;
    bool book_missing;         /* the contract names a book that does not exist: no part has one */
    bool running;              /* the month is not over: no minimum and no commit line */
    bool active_zone;          /* a zone existed and was enabled at some moment of the month */
    const tb_bill_part *parts; /* ascending, touching, covering the month */
    size_t n_parts;
    const tb_bill_bytes *bytes; /* ascending by (zone, part, charge, region) */
    size_t n_bytes;
    const tb_bill_optimizer *optimizers; /* ascending by (zone, part) */
    size_t n_optimizers;
    const tb_bill_balancer *balancers; /* ascending by (balancer, part) */
    size_t n_balancers;
    const tb_meter *meters; /* those with usage, ascending by id */
    size_t n_meters;
    const tb_bill_usage *usage; /* ascending by (meter, resource, dimensions, part) */
    size_t n_usage;
    const tb_bill_samples *samples; /* ascending by (meter, resource, dimensions) */
    size_t n_samples;
    bool percentile;           /* the contract bills bandwidth at a percentile: `bytes` are not rated */
    tb_bill_samples bandwidth; /* where percentile: the account's bytes, all zones; meter and texts are not used */
    const tb_bill_fee *fees; /* ascending by (owner_id, owner, id, period, credit, part) */
    size_t n_fees;
    tb_bill_tax tax[TB_BILL_TAXES_MAX];
    size_t n_tax;
    /* Of a category without tax, as declared; NULL: not given. No amount depends on them. */
    const char *tax_reason, *tax_reason_code;
} tb_bill_input;

/* What a line charges. */
typedef enum tb_line_basis {
    TB_BASIS_USAGE,      /* what was used: it sums buckets */
    TB_BASIS_PEAK,       /* the interval at a percentile */
    TB_BASIS_TIME,       /* seconds, at the price of a month or a year */
    TB_BASIS_AGREED,     /* what the book or the contract adds to a month or takes off: an amount, without a quantity */
    TB_BASIS_ONCE,       /* an amount that was agreed on once */
    TB_BASIS_CORRECTION, /* what an earlier document billed too much or too little */
} tb_line_basis;

/* The kinds of charges: what a module asks of a kind is a column here. Lines stand in this order.
 * X(KIND, name, unit, owner: the thing in `resource`; basis; PRODUCT: the kind as which sums by product count it; item: the
 * member that names what its lines sell, "": none; CHARGE: the field of GET /billing, EU_TRAFFIC: that of the region, COUNT:
 * the item's, or none; title; note: what the title leaves open, or NULL). billing/bill.c has the function that rates each. */
#define TB_LINE_KINDS(X)                                                                                              \
    X(BANDWIDTH, "bandwidth", "byte", "zone", USAGE, BANDWIDTH, "", EU_TRAFFIC, "Bandwidth", NULL)                    \
    X(VOLUME, "volume", "byte", "account", USAGE, VOLUME, "", EU_TRAFFIC, "Volume bandwidth", NULL)                   \
    X(OVERRIDE, "override", "byte", "zone", USAGE, OVERRIDE, "", EU_TRAFFIC, "Bandwidth at its own price", NULL)      \
    X(PERCENTILE, "percentile", "byte", "account", PEAK, PERCENTILE, "", EU_TRAFFIC,                                  \
      "Bandwidth at a percentile", NULL)                                                                              \
    X(OPTIMIZER, "optimizer", "second", "zone", TIME, OPTIMIZER, "", OPTIMIZER, "Optimizer", NULL)                    \
    X(BALANCER_FEE, "balancer_fee", "second", "load_balancer", TIME, BALANCER_FEE, "", LOAD_BALANCER,                 \
      "Load balancer, monthly fee", NULL)                                                                             \
    X(BALANCER_REQUESTS, "balancer_requests", "request", "load_balancer", USAGE, BALANCER_REQUESTS, "", LOAD_BALANCER,\
      "Load balancer, requests", NULL)                                                                                \
    X(METER, "meter", "unit", "meter", USAGE, METER, "meter", COUNT, "Metered usage", NULL)                           \
    X(METER_MINIMUM, "minimum", "month", "meter", AGREED, METER, "meter", COUNT, "Minimum of a meter",                \
      "what the usage of the meter lacks of its minimum")                                                             \
    X(FEE, "fee", "second", "account", TIME, FEE, "fee", COUNT, "Recurring fee", NULL)                                \
    X(DISCOUNT, "discount", "month", "account", AGREED, DISCOUNT, "", COUNT, "Contract discount",                     \
      "a percentage of the sum of the lines of usage and fees")                                                       \
    X(COMMIT, "commit", "month", "account", AGREED, COMMIT, "", COUNT, "Monthly commitment, shortfall",               \
      "what usage, less the discount, lacks of the month's commit")                                                   \
    X(MINIMUM, "minimum", "month", "account", AGREED, MINIMUM, "", COUNT, "Monthly minimum",                          \
      "whole for any month with an active zone, not prorated by days")                                                \
    X(CAP, "cap", "month", "account", AGREED, CAP, "", COUNT, "Spending cap",                                         \
      "what usage of hours that begin after the cap's alert added, at most what is above the cap")                    \
    X(CHARGE, "charge", "charge", "charge", ONCE, CHARGE, "", COUNT, "One-off charge", NULL)                          \
    X(CORRECTION, "correction", "byte", "account", CORRECTION, CORRECTION, "", COUNT, "Correction", NULL)
typedef enum tb_line_kind {
#define TB_X(kind, name, unit, owner, basis, product, item, charge, title, note) TB_LINE_##kind,
    TB_LINE_KINDS(TB_X)
#undef TB_X
        TB_LINE_KIND_COUNT
} tb_line_kind;

typedef struct tb_line_kind_info {
    const char *name, *unit, *owner;
    tb_line_basis basis;
    tb_line_kind product;
    const char *item;
    tb_meter_charge charge;
    const char *title, *note;
} tb_line_kind_info;
/* Of a number that is no kind: empty texts. */
const tb_line_kind_info *tb_line_kind_of(tb_line_kind kind);
const char *tb_line_kind_name(tb_line_kind kind);
const char *tb_line_kind_unit(tb_line_kind kind);
const char *tb_line_kind_owner(tb_line_kind kind);
const char *tb_line_kind_title(tb_line_kind kind);
/* The kind of a name. Two are a "minimum": a meter's has a meter as its resource. TB_LINE_KIND_COUNT: none. */
tb_line_kind tb_line_kind_parse(const char *name, size_t len, const char *resource);

/* The calculation of a line's amount: the rows' amounts sum to the line's exact amount.
 * Optimizer, balancer fee, minimum, commit: units are seconds, price is per month. The last row of the
 * minimum and of the commit (no units, no price) takes off the month's rounded lines. A commit by quarter, by year or
 * with rollover has one row from its period's first month to behind its last (months since January 1970), with the
 * period's months as units and the amount of a whole period as price; then a row for each month that counts, at that
 * month, which takes off what the month came to. The cap's one row (no units) goes from the lines with usage up to the
 * alert to the lines with all usage, in minor units, and its price is the cap. The discount's one
 * row (no units) goes from 0 to what it is on, in minor units, and its price is the percent: its amount is
 * -(to x price / 100) minor units. */
typedef struct tb_bill_tier {
    uint32_t part;
    tb_i128 from, to; /* position on the line's axis; open: to is the position reached */
    tb_i128 units;
    tb_decimal price;  /* per base unit, discount included; package: per block */
    tb_decimal shown;  /* as the book writes it */
    tb_decimal amount; /* exact, flat included */
    bool by_block;     /* mode package, and the blocks that were started */
    tb_i128 blocks;
} tb_bill_tier;

/* A zone's share of the account's volume line. */
typedef struct tb_bill_share {
    int64_t zone;
    tb_i128 bytes;
    tb_decimal amount; /* of the rounded line, by largest remainder */
    tb_decimal exact;  /* of the exact amount, by bytes, half_up at 18 digits; the last has the rest */
} tb_bill_share;

#define TB_BILL_RESOURCE_MAX (TB_METER_NOUN_MAX + TB_METER_RESOURCE_MAX + 2) /* "script:script-9", terminated */

/* What a line of a meter or of a fee sells, in the words of the catalogue and the book. Texts are terminated; "": none. */
typedef struct tb_bill_item {
    const char *id;       /* the meter's or the fee's; "": bandwidth at a percentile */
    const char *name;     /* for people */
    const char *unit;     /* of the quantity: "byte", "byte-second"; "": the kind's */
    const char *per_unit; /* what a price is for: "GB-month"; "": `per` units */
    tb_i128 per;          /* units of the quantity that a price of the rows is for, blocks apart; 0: one */
    const char *charge;   /* the MonthlyCharges field of GET /billing that shows it */
    const char *ledger_code, *unece;
    int64_t from_us, to_us;  /* of a fee: the service that the line charges or gives back */
} tb_bill_item;

typedef struct tb_bill_line {
    uint32_t number; /* from 1 */
    tb_line_kind kind;
    int64_t id; /* of the kind's owner: zone, balancer, account, charge */
    char resource[TB_BILL_RESOURCE_MAX]; /* "zone:101", "load_balancer:7", "account:1", "charge:5" */
    char region[TB_METER_VALUE_MAX + 1]; /* billing region, or a meter's value of `by`; "" where it does not apply */
    const tb_bill_item *item;            /* of a meter, a fee or bandwidth at a percentile; else NULL */
    tb_i128 quantity;
    tb_decimal exact;
    tb_decimal amount; /* rounded to the minor unit */
    const tb_bill_tier *tiers;
    size_t n_tiers;
    const tb_bill_share *shares;
    size_t n_shares;
    tb_evidence evidence;
    int64_t period_month; /* the month it is for; corrections: the earlier one */
    const char *description; /* a one-off charge's own words, and a cap's with the moment of its alert; else NULL */
    char tax_category[3];    /* of a one-off charge without tax; "": the line has the account's taxes */
} tb_bill_line;

/* Sorted by (resource's kind, id, what, unit, reason), one entry of each. */
typedef struct tb_unpriced {
    char resource[TB_BILL_RESOURCE_MAX];
    /* A region, a location code, a value of a meter's dimension, or "volume", "percentile", "optimizer",
     * "load_balancer", "usage" (of a meter), "commit", "minimum". */
    char what[TB_METER_VALUE_MAX + 1];
    tb_i128 quantity;
    char unit[TB_METER_UNIT_MAX + 8];
    char reason[320]; /* what to fix */
} tb_unpriced;

/* A tax on the lines of one month. late: on corrections of `month` (invoice.h). amount is then the tax on everything
 * that is billed of the month by now, less `billed`, the tax that earlier documents have charged for it. */
typedef struct tb_bill_taxed {
    tb_bill_tax rate;
    tb_decimal base, amount; /* rounded once */
    bool late;
    int64_t month;      /* late only */
    tb_decimal billed;  /* late only */
    /* The reason why it charges none, in words and as a code of VATEX; NULL: not given. From the input. */
    const char *reason, *reason_code;
    bool charges; /* on the one-off charges of this category, which the account's taxes leave out */
} tb_bill_taxed;

typedef struct tb_bill {
    tb_bill_line *lines;
    size_t n_lines;
    tb_unpriced *unpriced;
    size_t n_unpriced;
    tb_decimal subtotal, total; /* sums of rounded lines, and with tax */
    tb_sum exact;               /* of exact amounts, which may have very different scales */
    tb_decimal residual;        /* subtotal - exact */
    tb_decimal counted, commit; /* in the commit of a later month: the lines up to the commit, and the commit line alone */
    /* The account's, those on charges of a category of their own, then those of late months, in the order of their
     * corrections. */
    tb_bill_taxed *tax;
    size_t n_tax;
    int minor_digits;
    tb_rounding rounding; /* of lines and tax */
    void *memory;         /* everything above; tb_bill_release */
    const tb_alloc *alloc;
} tb_bill;

/* Wherever the lines' own amounts fit, so does the bill: sums of exact amounts, shares and tax do not overflow
 * before the rounded total does. Errors: OVERFLOW naming the line; BOOK where a part's currency is not the
 * account's; DIFFERENT where a sum of usage is negative (an alarm that stops the invoice, never a zero); VALIDATION
 * where the input is not as written above; NOMEM. A month without anything gives no lines. Lines stand by kind in
 * the table's order, then id, then region. Deterministic: same input, same bytes. */
TB_MUST_USE tb_code tb_bill_rate(const tb_bill_input *input, const tb_alloc *alloc,
                                 tb_bill *ret_bill, tb_error *err);
void tb_bill_release(tb_bill *bill);

/* Recomputes subtotal, tax, totals and residual from bill->lines. Tax rates are the input's, on all lines
 * without a category of their own; where there are only others, the account's taxes have no rows. bill->tax has room for
 * input->n_tax, and for a row of each category of charges. */
TB_MUST_USE tb_code tb_bill_sum(tb_bill *bill, const tb_bill_input *input, tb_error *err);
/* base x percent / 100, rounded once as the bill is. OVERFLOW names the tax. */
TB_MUST_USE tb_code tb_bill_tax_on(const tb_bill *bill, const tb_bill_tax *rate, tb_decimal base, tb_decimal *ret_amount,
                                   tb_error *err);
/* Recomputes subtotal, total and residual from bill->lines and the amounts of bill->tax. */
TB_MUST_USE tb_code tb_bill_total(tb_bill *bill, tb_error *err);

/* --- one-off charges --- */

/* An amount that was agreed on once, such as a set-up fee or a goodwill credit. It is not rated: prices, discounts, the
 * commit and the minimum leave it alone. */
typedef struct tb_bill_charge {
    int64_t id;
    const char *description;
    tb_decimal whole; /* as agreed, with the currency's digits */
    tb_decimal due;   /* the part that no document has billed yet, of the same sign */
    char tax_category[3]; /* of tb_bill_line */
} tb_bill_charge;

/* Appends a line for each charge, ascending by id, and recomputes taxes and totals. Negative charges reduce the sum of
 * the lines of their tax category, never below zero. What it cannot bear stays due; a charge of which it bears nothing has no line. A line has one
 * tier: 1 unit at the amount that is billed, its list price the whole charge. */
TB_MUST_USE tb_code tb_bill_add_charges(tb_bill *bill, const tb_bill_input *input, const tb_bill_charge *charges, size_t n,
                                        tb_error *err);

/* --- amounts only --- */

/* A bill's subtotal by the functions of tb_bill_rate, without the explaining members: for replays and forecasts,
 * which rate a month many times. It allocates once, not for each bill. One thread. */
typedef struct tb_bill_rater tb_bill_rater;
TB_MUST_USE tb_code tb_bill_rater_new(const tb_alloc *alloc, tb_bill_rater **ret_rater,
                                      tb_error *err);
void tb_bill_rater_free(tb_bill_rater *rater); /* NULL is allowed */
/* Wherever tb_bill_rate gives a bill, the same subtotal, and whether anything is unpriced; its
 * errors (what comes after the lines, taxes and shares, is not computed and cannot fail here). */
TB_MUST_USE tb_code tb_bill_subtotal(tb_bill_rater *rater, const tb_bill_input *input,
                                     tb_decimal *ret_subtotal, bool *ret_unpriced, tb_error *err);

/* --- */

/* The exact charges of one zone within a bill (its own lines and its part of the volume line's
 * exact amount, by bytes): MonthlyCharges, unrounded. OVERFLOW names the zone. */
TB_MUST_USE tb_code tb_bill_zone_charges(const tb_bill *bill, int64_t zone, tb_sum *ret,
                                         tb_error *err);

/* An account's daily usage as input of forecasts: a column of days for each product and region, and the prices of
 * recent bytes. Values only; the store fills them (billsource.h). */

#define TB_HISTORY_RECENT 28 /* the last days, which give the mix of a product's bytes */
#define TB_HISTORY_MAX    (25 * 366)

/* Columns: premium, volume and override bytes by billing region; bytes of locations that have none;
 * requests of all load balancers. */
#define TB_USAGE_UNPRICED (3 * TB_BILLING_REGION_COUNT)
#define TB_USAGE_REQUESTS (TB_USAGE_UNPRICED + 1)
#define TB_USAGE_COLUMNS  (TB_USAGE_REQUESTS + 1)
static inline int tb_usage_column(tb_charge charge, tb_billing_region region)
{
    return (int)charge * TB_BILLING_REGION_COUNT + (int)region;
}

typedef struct tb_balancer_recent {
    int64_t balancer;
    tb_i128 requests; /* of the recent days */
} tb_balancer_recent;

typedef struct tb_usage_history {
    int64_t first_day;
    size_t n_days;
    uint64_t *column[TB_USAGE_COLUMNS]; /* n_days each, never NULL */
    /* Of the last TB_HISTORY_RECENT days: premium bytes by discount, and bytes at prices of their
     * own with what they cost. */
    tb_i128 premium[TB_BILLING_REGION_COUNT][101];
    tb_i128 override_bytes[TB_BILLING_REGION_COUNT];
    tb_decimal override_cost[TB_BILLING_REGION_COUNT];
    tb_balancer_recent *balancers; /* ascending */
    size_t n_balancers;
    void *memory;
} tb_usage_history;

TB_API_END

#endif
