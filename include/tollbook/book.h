/* Price books: what a unit costs, from a moment on (docs/price-book.md). A book is a JSON document,
 * validated as a whole: TB_E_BOOK with the JSON path in err->field and the reason in err->message,
 * nothing taken. Immutable; its SHA-256 is over the canonical text (sorted keys, no space, numbers
 * and strings as written). Prices are JSON strings or numbers, read from their text.
 *
 *   book            1 to 64 letters, digits, '.', '_', '-'                             required
 *   currency        three capital letters                                              required
 *   effective_from  RFC 3339, on an hour                                               required
 *   supersedes      id of the book of this currency and moment that it replaces (bookstore.h)
 *   scope           "contract": only for accounts with a contract that names it (catalog.h)
 *   rounding        "half_up" (default) or "half_even"
 *   minimum_monthly a fee; "0" where absent
 *   bandwidth.premium    per "GB", regions {EU NA ASIA SA AF: price}; one left out is unpriced
 *   bandwidth.volume     per "GB", scope "account" (default), tiers of {from, to, price, flat}
 *   optimizer       monthly: a fee
 *   ledger_codes    {account of the general ledger: code}; 1 to 31 letters, digits, '.', '_' and '-'
 *   load_balancer   monthly_fee, tiers of {from_millions, to_millions, price_per_million, flat}
 *   meters          {meter: a rate}: per, time, scope, by, percentile, minimum; price, or tiers, or prices {value: ...}
 *   bandwidth.percentile a rate per "Mbps" at a percentile, for contracts that bill bandwidth so
 *   fees            {fee: name, amount, every, timing, prorate, charge}
 *
 * Further members beside `tiers`: mode ("graduated" by default, "volume", "package"), included_axis
 * ("absolute", "net") and the free units: `included`, in GB, of volume bandwidth,
 * `included_requests`, in requests, of load balancers. Tiers of mode package have price_per_block
 * instead of the other price, and `block`, in the unit of the thresholds, beside `tiers`.
 *
 * Tiers touch, rise strictly and start at 0 (or, on the absolute axis, where the free units end);
 * exactly the last is open ("to": null). A first tier at 0 with free units must name its axis.
 * Thresholds are whole base units (bytes, requests), at most TB_UNITS_MAX of them, and
 * TB_UNITS_MAX units at any price of a list must fit a decimal: the safe price. */
#ifndef TOLLBOOK_BOOK_H
#define TOLLBOOK_BOOK_H

#include "tollbook/buf.h"
#include "tollbook/decimal.h"
#include "tollbook/meter.h"

TB_API_BEGIN

#define TB_BOOK_MAX  ((size_t)1 << 20)            /* bytes of a document */
#define TB_UNITS_MAX INT64_C(1000000000000000000) /* 10^18: a month's units a book is made for */

#define TB_BILLING_REGIONS(X) X(EU) X(NA) X(ASIA) X(SA) X(AF)
typedef enum tb_billing_region {
#define TB_X(name) TB_REGION_##name,
    TB_BILLING_REGIONS(TB_X)
#undef TB_X
        TB_BILLING_REGION_COUNT
} tb_billing_region;
/* "EU", ...; "" for no region. */
const char *tb_billing_region_name(tb_billing_region region);
/* name is terminated. False where it is none; *ret is written on success only. */
bool tb_billing_region_parse(const char *name, tb_billing_region *ret);

typedef enum tb_tier_mode {
    TB_GRADUATED, /* each unit at its own tier's price */
    TB_VOLUME,    /* all units at the tier reached; a boundary belongs to the lower tier */
    TB_PACKAGE,   /* per started block of `block` units in each tier */
} tb_tier_mode;
const char *tb_tier_mode_name(tb_tier_mode mode);

/* Covers (from, to] in base units (bytes, requests); open: no end, to is 0. Prices are per base
 * unit. */
typedef struct tb_tier {
    tb_i128 from, to;
    bool open;
    tb_decimal price; /* per base unit; package: per block */
    tb_decimal flat;  /* charged once where the tier is entered; zero where absent */
    tb_decimal shown; /* the price as written in the book, per its own unit */
} tb_tier;

/* The accounts of the general ledger. X(NAME, name, the code where a book says none) */
#define TB_BOOK_ACCOUNTS(X)                                                                        \
    X(RECEIVABLES, "receivables", "1200")                                                          \
    X(REVENUE, "revenue", "4000")                                                                  \
    X(TAX, "tax", "2200")                                                                          \
    X(PREPAID, "prepaid", "2300")                                                                  \
    X(UNBILLED, "unbilled", "1250")                                                                \
    X(BANK, "bank", "1000")                                                                        \
    X(CREDITS, "credits", "2350")                                                                  \
    X(OPENING, "opening", "3900")
typedef enum tb_book_account {
#define TB_X(e, name, code) TB_ACCOUNT_##e,
    TB_BOOK_ACCOUNTS(TB_X)
#undef TB_X
        TB_BOOK_ACCOUNT_COUNT
} tb_book_account;
/* "receivables", ... */
const char *tb_book_account_name(tb_book_account account);
/* The code where a book says none. */
const char *tb_book_account_code(tb_book_account account);
#define TB_LEDGER_CODE_ROOM 32

#define TB_TIERS_MAX 64
typedef struct tb_tiers {
    tb_tier_mode mode;
    tb_i128 included;       /* base units free of charge */
    bool included_absolute; /* positions on the whole usage; else subtracted first */
    tb_i128 block;          /* package: base units of a block */
    size_t n;
    tb_tier tier[TB_TIERS_MAX];
} tb_tiers;

/* --- meters (meter.h) and recurring fees --- */

typedef enum tb_rate_time {
    TB_RATE_NO_TIME,
    TB_RATE_HOUR,  /* gauges: per 3,600 s */
    TB_RATE_MONTH, /* gauges: per the seconds of the month */
} tb_rate_time;

/* Covers (from, to] in units of the rate's `per` (gauges: per x time). */
typedef struct tb_rate_tier {
    tb_decimal from, to; /* open: to is 0 */
    bool open;
    tb_decimal price, flat; /* price: for one `per`; package: for a block */
} tb_rate_tier;

/* A price: tiers, one open tier where the book gives `price`. */
typedef struct tb_rate {
    char value[TB_METER_VALUE_MAX + 1]; /* of the dimension `by`; "*": all others; "": the meter is not priced by one */
    tb_tier_mode mode;
    tb_decimal included, block; /* in units of `per` */
    bool included_absolute;
    size_t n;
    tb_rate_tier *tier;
} tb_rate;

/* What a meter costs. `per` is a number of the meter's units or a unit's name ("GB", "Mbps"); the catalogue's meter says
 * how many units that is. */
typedef struct tb_meter_rate {
    char meter[TB_METER_ID_MAX + 1];
    char per[TB_METER_UNIT_MAX + 1];
    tb_rate_time time;
    bool by_resource; /* scope: each resource has tiers of its own; else the account */
    char by[TB_METER_VALUE_MAX + 1]; /* a dimension; "": none */
    bool sampled;                    /* percentile is set: meters of kind sample */
    tb_decimal percentile;           /* percent, above 0 and below 100 */
    bool has_minimum;
    tb_decimal minimum; /* a month in which the meter was used */
    size_t n;
    tb_rate *rate; /* ascending by value */
} tb_meter_rate;

/* A recurring fee. Its amount is for each one of a declaration's quantity. */
typedef struct tb_fee {
    char id[TB_FEE_ID_MAX + 1];
    char name[TB_METER_NAME_MAX + 1];
    tb_decimal amount;
    bool yearly;  /* every: year; else month */
    bool advance; /* timing: advance; else arrears */
    bool prorate; /* the default */
    char charge[TB_METER_CHARGE_MAX + 1]; /* a MonthlyCharges field of GET /billing; "": none */
} tb_fee;
#define TB_BOOK_METERS_MAX 256
#define TB_BOOK_FEES_MAX   256

typedef struct tb_book {
    char id[65];
    char supersedes[65]; /* a book's id; "": none */
    char currency[4];
    bool contract; /* scope: for contracts only; no part of its currency's series */
    bool aside;    /* set by who asks for a month's bill: it does not price the month, but others that were billed before it */
    int minor_digits;     /* of the currency: 2, 0 for JPY and its like, 3 for KWD and its like */
    int64_t effective_us; /* on an hour */
    tb_rounding rounding;
    tb_decimal minimum_monthly; /* zero where absent */
    bool has_premium, has_volume, has_optimizer, has_balancer;
    bool region_priced[TB_BILLING_REGION_COUNT];
    tb_decimal region_price[TB_BILLING_REGION_COUNT]; /* premium, per byte */
    tb_decimal region_shown[TB_BILLING_REGION_COUNT]; /* as written, per GB */
    tb_tiers volume;                                  /* per account and month, in bytes */
    tb_decimal optimizer_monthly;
    tb_decimal balancer_fee;
    tb_tiers balancer; /* per balancer and month, in requests */
    bool has_percentile;
    tb_meter_rate percentile; /* bandwidth.percentile, for contracts that bill bandwidth so */
    tb_meter_rate *meters;    /* ascending by meter */
    size_t n_meters;
    tb_fee *fees; /* ascending by id */
    size_t n_fees;
    void *memory; /* of the lists above, and of their prices */
    size_t memory_size;
    char ledger_code[TB_BOOK_ACCOUNT_COUNT][TB_LEDGER_CODE_ROOM]; /* "": as without a book */
    char *canonical;   /* terminated; owned */
    size_t canonical_len;
    char sha256[65]; /* lower-case hex, terminated */
    const tb_alloc *alloc;
} tb_book;

/* alloc must outlive the book. Nothing in the book points into text. Errors: TB_E_BOOK,
 * TB_E_TOO_LARGE past TB_BOOK_MAX, TB_E_NOMEM. */
TB_MUST_USE tb_code tb_book_parse(const char *text, size_t len, const tb_alloc *alloc,
                                  tb_book *ret_book, tb_error *err);
/* The book's fee; NULL: it has none of that id, or book is NULL. */
const tb_fee *tb_book_fee(const tb_book *book, const char *id);
/* A copy with memory of its own, from the same allocator. */
TB_MUST_USE tb_code tb_book_copy(const tb_book *from, tb_book *ret_book, tb_error *err);
/* A check before a book bills or is kept as a shadow: the load balancer's thresholds must be whole millions, since GET
 * /loadbalancer/{id}/usage answers them as integers. Scenarios and compared files may be finer. TB_E_BOOK. */
TB_MUST_USE tb_code tb_book_check_shown(const tb_book *book, tb_error *err);
/* A book that is all zeros is allowed. */
void tb_book_release(tb_book *book);

/* Digits of a currency's minor unit (ISO 4217): 2 where it is not one of the exceptions. currency
 * has three letters, terminated. */
int tb_currency_minor_digits(const char *currency);

TB_API_END

#endif
