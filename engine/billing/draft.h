/* A bill in the making: the data that the parts of tb_bill_rate share.
 *
 * The same functions make whole bills and, `bare`, amounts only: a bare draft has one line at a time,
 * with its rows and amounts, and the sum of rounded lines. Everything that only explains an amount
 * (texts, evidence, shares, the list of unpriced usage) is left out. */
#ifndef TOLLBOOK_BILLING_DRAFT_H
#define TOLLBOOK_BILLING_DRAFT_H

#include "base/arena.h"
#include "billing/rates.h"
#include "tollbook/bill.h"

/* Why something has no price. */
typedef enum tb__gap {
    TB__PRICED,
    TB__NO_BOOK,   /* the part has none */
    TB__NO_REGION, /* the location has no billing region */
    TB__NO_PRICE,  /* the book has no such section, or no price for the region */
    TB__NO_FIT,    /* the book's rate cannot price the meter as the catalogue declares it */
} tb__gap;

typedef struct tb__gap_entry tb__gap_entry;

/* What a book charges for a meter, or for one value of its dimension. */
typedef struct tb__price {
    bool resolved;
    tb__gap gap;            /* whether it has a price */
    tb__rate_fault fault;   /* NO_FIT */
    const tb_meter_rate *rate;
    tb_tiers *tiers; /* in base units; as tb__rate_resolve makes them */
    tb_i128 per;
} tb__price;

/* An entry of in->usage or in->samples with its price and the key of its line. */
typedef struct tb__metered {
    uint32_t meter, part;
    const tb__price *price;
    const char *noun, *name; /* of the line's resource */
    const char *value;       /* of the dimension it is priced by; "": by none */
    int by;                  /* this dimension's index; -1: none */
    size_t at;               /* in the input's list */
} tb__metered;

/* A meter's lines so far. */
typedef struct tb__meter_sum {
    bool used;
    tb_decimal billed;        /* its rounded lines */
    const tb_bill_item *item; /* of the newest */
} tb__meter_sum;

typedef struct tb__draft {
    const tb_bill_input *in;
    bool bare;
    tb_decimal sum; /* bare: of the rounded lines so far */
    tb_decimal credits; /* of the rounded lines that give back fees, below zero */
    tb_bill bill;
    tb__arena arena;
    int64_t month_seconds;
    const uint8_t *byte_gaps; /* a tb__gap for each of in->bytes */
    unsigned charges;         /* 1 << tb_charge, of those with a line */
    tb__gap_entry *gaps;      /* of unpriced usage, in the order found */
    size_t n_gaps;            /* bare: not listed, but counted */
    tb__metered *metered;     /* entries of one line are adjacent, lines in the order of the bill */
    size_t n_metered;
    size_t n_meter_lines;     /* of these entries; unpriced ones are as many gaps a part */
    tb__meter_sum *meter_sums; /* one for each of in->meters */
    tb__price percentile;      /* of bandwidth, where in->percentile and it has samples */
    tb_decimal undiscounted;  /* rounded lines so far that the contract's discount does not take */
    tb_error *err;
    tb_bill_line *line; /* the newest; errors name it */
    tb_bill_tier *rows; /* of the newest line */
    size_t n_rows, rows_max;
} tb__draft;

/* --- entries.c: what of the input a line charges --- */

typedef struct tb__entry {
    int64_t id; /* of the line's owner */
    uint32_t part;
    tb__gap gap;         /* whether it has a price */
    const char *section; /* of the book, which has the price or lacks it */
    bool charged;        /* it has a price, and is more than nothing; else its price is not set */
    tb_i128 units;
    const tb_tiers *tiers;       /* usage: of its part's book */
    const tb_evidence *evidence; /* usage */
    tb_decimal price;            /* time: of a whole month or year */
    int64_t times;               /* time: how many of it */
    int64_t from_us, to_us;      /* time */
} tb__entry;
typedef bool tb__entries(const tb__draft *d, size_t at, tb__entry *ret); /* false: there is none at this index */
tb__entries tb__request_entry, tb__optimizer_entry, tb__balancer_entry;

/* Entries first to end, which are one line. */
typedef struct tb__run {
    tb_line_kind kind;
    tb__entries *entry;
    int64_t id; /* of the line's owner */
    size_t first, end;
    size_t n_charged; /* counted by tb__next_run */
} tb__run;
/* The line of usage under tiers that the run makes (axis.c). */
TB_MUST_USE tb_code tb__tiers_line(tb__draft *d, const tb__run *run);
/* The entries of the next owner, from run->end on; false: there are none. */
bool tb__next_run(const tb__draft *d, tb__run *run);

/* How a kind is rated: the function makes all its lines. */
typedef tb_code tb__lines(tb__draft *d, tb_line_kind kind);
typedef struct tb__rating {
    tb__lines *lines;
    tb__entries *entry; /* of tb__bill_tiers and tb__bill_time */
} tb__rating;
extern const tb__rating tb__ratings[TB_LINE_KIND_COUNT]; /* in the order of lines; zeros: it is not rated (bill.c) */

/* --- check.c --- */

/* Checks the input against bill.h; sets the bill's minor digits and rounding. */
TB_MUST_USE tb_code tb__bill_check(tb__draft *d);
/* The same of an input that differs from a checked one in its parts' books and in sizes of usage,
 * which are not negative. month_seconds is set already. */
TB_MUST_USE tb_code tb__bill_check_books(tb__draft *d);

/* --- gaps.c --- */

/* Finds all usage without a price and lists it in the bill; sets byte_gaps and what the draft has of meters. */
TB_MUST_USE tb_code tb__bill_gaps(tb__draft *d);

/* --- fees.c --- */

/* A kind of line whose resource is named as the owner of this fee is: an account, a pull zone or a load balancer. */
tb_line_kind tb__fee_owner(const tb_bill_fee *entry);

/* --- lines.c --- */

/* "zone:101"; out has room for TB_BILL_RESOURCE_MAX. */
void tb__resource_put(char *out, tb_line_kind kind, int64_t id);
/* Begins a line with room for so many rows; it is the newest from then on. region NULL: none. */
TB_MUST_USE tb_code tb__line_open(tb__draft *d, tb_line_kind kind, int64_t id, const char *region,
                                  size_t rows_max);
/* Adds a copy of a row. */
TB_MUST_USE tb_code tb__line_row(tb__draft *d, const tb_bill_tier *row);
/* Adds units to the row of this part and price, or a new one. Positions and amounts come later. */
TB_MUST_USE tb_code tb__line_units(tb__draft *d, uint32_t part, tb_i128 units, tb_decimal price,
                                   tb_decimal shown);
/* Units that cost price x units: the same; bare, only the amount. */
TB_MUST_USE tb_code tb__line_charge(tb__draft *d, uint32_t part, tb_i128 units, tb_decimal price,
                                    tb_decimal shown);
void tb__line_evidence(tb__draft *d, const tb_evidence *more);
void tb__line_evidence_of(tb__draft *d, const tb__run *run);
/* Lays rows of tb__line_units one after the other on the line's axis. */
TB_MUST_USE tb_code tb__line_place(tb__draft *d);
/* Sums units and amounts of the rows, rounds, numbers the line. */
TB_MUST_USE tb_code tb__line_close(tb__draft *d);
/* Adds the line, and advice, to an overflow's message, unless it names a line already. line may be NULL: none was
 * begun. Returns code. */
tb_code tb__name_line(const tb_bill_line *line, tb_code code, tb_error *err);
/* Removes the newest line, which is closed. */
void tb__line_drop(tb__draft *d);

/* --- one concept each --- */

/* All lines, kind by kind (bill.c). */
TB_MUST_USE tb_code tb__bill_lines(tb__draft *d);
tb__lines tb__bill_tiers;                                           /* axis.c */
tb__lines tb__bill_time, tb__bill_recurring;                        /* fees.c */
tb__lines tb__bill_bandwidth;                                       /* bandwidth.c */
tb__lines tb__bill_volume;                                          /* share.c */
tb__lines tb__bill_percentile, tb__bill_meters;                     /* meters.c */
tb__lines tb__bill_meter_minima, tb__bill_commit, tb__bill_minimum; /* least.c */
tb__lines tb__bill_discount;                                        /* discount.c */
tb__lines tb__bill_cap;                                             /* cap.c */

/* --- meters.c, divide.c, samples.c --- */

/* Finds the price of each entry of usage and samples and sorts them into lines. */
TB_MUST_USE tb_code tb__meters_prepare(tb__draft *d);
/* The end of the line that begins at this entry. */
size_t tb__metered_end(const tb__draft *d, size_t first);
/* tb__line_open of a meter's line. */
TB_MUST_USE tb_code tb__line_open_meter(tb__draft *d, tb_line_kind kind, const tb__metered *of, size_t rows_max);
/* Gives the newest line a meter's item. rate and per: of its prices; NULL: none. of NULL: bandwidth. */
TB_MUST_USE tb_code tb__line_meter(tb__draft *d, const tb_meter *meter, const tb__metered *of, const tb_meter_rate *rate,
                                   tb_i128 per);
/* Gives rows of tb__axis_rate their own prices and amounts. of_part: the price of each part that has rows. *ret_per:
 * units that the rows' prices are for. */
TB_MUST_USE tb_code tb__divide_rows(tb__draft *d, const tb__price *const *of_part, tb_i128 *ret_per);
/* The percentile of some of the series of a list, summed up interval by interval, and the first interval that has it.
 * There is at least one interval. */
TB_MUST_USE tb_code tb__percentile_find(const tb__draft *d, const tb_bill_samples *list, const tb__metered *of, size_t n,
                                        tb_decimal percent, tb_i128 *ret_value, size_t *ret_interval);

/* The sum of the rounded lines so far (discount.c). */
TB_MUST_USE tb_code tb__sum_rounded(const tb__draft *d, tb_decimal *ret);
/* The same without the credits of fees, which give back what earlier months have paid: what counts against the commit and
 * the minimum. */
TB_MUST_USE tb_code tb__sum_counted(const tb__draft *d, tb_decimal *ret);
/* Whether the month owes the contract's commit (least.c). */
bool tb__is_committed(const tb_bill_input *in);

/* Lays the newest line's rows, seconds at the price of `whole` of them, on its axis and gives them their amounts (prorate.c). */
TB_MUST_USE tb_code tb__prorate(tb__draft *d, int64_t whole);

/* Units of one part on a month's axis, under that part's tiers. */
typedef struct tb__span {
    uint32_t part;
    const tb_tiers *tiers;
    tb_i128 units; /* > 0 */
} tb__span;
/* The run's units by parts; *ret_n: those that have some, which come first. False: a sum passes 2^127-1. `spans` has room for
 * all parts (axis.c). */
TB_MUST_USE bool tb__spans_gather(const tb__draft *d, const tb__run *run, tb__span *spans, size_t *ret_n);
/* Rows the spans may need, and the rows themselves (axis.c). */
size_t tb__axis_rows(const tb__span *spans, size_t n);
TB_MUST_USE tb_code tb__axis_rate(tb__draft *d, const tb__span *spans, size_t n);

/* What taxes a line: 0: the account's taxes; 1 to TB_BILL_UNTAXED: a category without tax (sum.c). */
#define TB__TAX_GROUPS (TB_BILL_UNTAXED + 1)
size_t tb__tax_group(const char *category);
/* Adds the rounded lines to the sums of their groups. */
TB_MUST_USE tb_code tb__sum_groups(const tb_bill *bill, tb_decimal ret[TB__TAX_GROUPS], bool ret_any[TB__TAX_GROUPS],
                                   tb_error *err);

static inline const tb_book *tb__book(const tb__draft *d, uint32_t part)
{
    return d->in->parts[part].book;
}

static inline int64_t tb__part_seconds(const tb_bill_part *part)
{
    return (part->to_us - part->from_us) / 1000000;
}

#endif
