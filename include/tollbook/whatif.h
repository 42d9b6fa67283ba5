/* What-if: history billed again under other prices. Pure; the same code as invoices.
 *
 * A scenario is a base book, a JSON merge patch (RFC 7396) of it, and factors on usage:
 *
 *   scenario  its name: 1 to 64 letters, digits, '.', '_', '-'                       required
 *   base      the id of the book that is patched. Absent or null: every book is patched.
 *   patch     an object, merged into the base's document; absent: {}. The result must be a
 *             valid book. It may rename the book, but not change currency or effective_from.
 *   replaces  "base" (default): the patched book is in force wherever its base is, and every other
 *             book stays. "all": it prices the whole span of accounts billed in its currency, also
 *             where no book was in force; this needs a base.
 *   usage     a list of {factor, and conditions}; absent: usage is as it was.
 *   contract  a contract (catalog.h; docs/catalogue.md) in place of each account's own; {}: no contract
 *   contracts an object of account ids and contracts: of these accounts, and before `contract`
 *
 * Contracts. A scenario's contract replaces the account's discount, minimum and commit as a whole. Its book prices
 * the whole span, whatever its effective_from, with the scenario's patch if that is of it; where it names none, the
 * account keeps the book it is billed by. Months of another currency than the book's have no price then, as in a
 * bill. Beside a base, `contract` may name no other book, nor may `contracts` where the base replaces all: one of
 * the two would have no effect. A commit without from counts for every month that is fed.
 *
 * Usage. factor: a decimal, as a string or a number, 0 to 1000000 with at most 6 digits after the
 * point. Conditions, all of which must hold for an entry to match:
 *
 *   product        "bandwidth" (all bytes), or of them "premium", "volume", "override" alone;
 *                  "load_balancer" (requests)
 *   region         "EU" "NA" "ASIA" "SA" "AF": the billing region; bytes only
 *   zone           a pull zone's id; bytes only
 *   load_balancer  a load balancer's id; requests only
 *   account        an account's id
 *
 * Without conditions an entry matches all bytes and requests. Factors of all entries that match are
 * multiplied, exactly; each entry of a bill's input (one zone, region, setting and part of the
 * month; or one balancer and part) is multiplied with the product and rounded half up to a whole
 * unit. Conditions that no usage can meet together are refused. Seconds are not usage: fees and the
 * minimum stay.
 *
 * Replay. One tb_bill_input at a time is rated as it is (before) and under every scenario (after).
 * Both are invoiced amounts: the bill's subtotal, a sum of rounded lines, net of tax. For a final
 * month pass the watermark up to which it has been billed: then `before` is the invoiced amount,
 * with corrections in the month that they correct; pass others as of now.
 *
 * An account-month in another currency than the scenario's base is left out of that scenario and
 * counted. A scenario without base has a group for each currency. */
#ifndef TOLLBOOK_WHATIF_H
#define TOLLBOOK_WHATIF_H

#include "tollbook/bill.h"

TB_API_BEGIN

/* --- scenarios --- */

#define TB_SCENARIO_MAX         ((size_t)1 << 20) /* bytes of a document */
#define TB_SCENARIO_FACTORS_MAX 1024
#define TB_SCENARIO_CONTRACTS_MAX 100000
#define TB_FACTOR_SCALE_MAX     6

typedef enum tb_factor_product {
    TB_FACTOR_ANY,
    TB_FACTOR_BANDWIDTH,
    TB_FACTOR_PREMIUM,
    TB_FACTOR_VOLUME,
    TB_FACTOR_OVERRIDE,
    TB_FACTOR_BALANCER,
} tb_factor_product;

typedef struct tb_usage_factor {
    tb_decimal factor;
    tb_factor_product product;
    bool has_region, has_zone, has_balancer, has_account;
    tb_billing_region region;
    int64_t zone, balancer, account;
    char meter[TB_METER_ID_MAX + 1]; /* "": none is named */
} tb_usage_factor;

/* The contract that an account has under a scenario. */
typedef struct tb_scenario_contract {
    int64_t account;
    tb_contract contract;
} tb_scenario_contract;

/* Immutable once parsed; owns its texts. */
typedef struct tb_scenario {
    char name[65];
    char base[65];   /* "": every book */
    bool everywhere; /* replaces: "all" */
    char *patch;     /* canonical, terminated */
    size_t patch_len;
    tb_usage_factor *factors;
    size_t n_factors;
    bool has_contract; /* of all accounts that `contracts` does not name */
    tb_contract contract;
    tb_scenario_contract *contracts; /* ascending by account */
    size_t n_contracts;
    char *canonical; /* sorted keys, no spaces, values as written; terminated */
    size_t canonical_len;
    char sha256[65]; /* of the canonical text: scenarios are named again by it */
    const tb_alloc *alloc;
} tb_scenario;

/* Validated as a whole: TB_E_VALIDATION with the JSON path in err->field, the reason in
 * err->message and the place in err->byte; nothing is taken. TB_E_TOO_LARGE, TB_E_NOMEM. Whether
 * base exists and what the patch makes of it is known only with the books: tb_scenario_book.
 * Nothing points into text; alloc must outlive the scenario. */
TB_MUST_USE tb_code tb_scenario_parse(const char *text, size_t len, const tb_alloc *alloc,
                                      tb_scenario *ret_scenario, tb_error *err);
void tb_scenario_release(tb_scenario *scenario);

/* The scenario's book: base, which is the scenario's own or, where that names none, any, with the
 * patch merged into it. An empty patch gives the base's text and hash. TB_E_BOOK: the result is no
 * valid book; err->field is "patch." and the path in the book, err->message names scenario and
 * base. TB_E_TOO_LARGE past TB_BOOK_MAX. */
TB_MUST_USE tb_code tb_scenario_book(const tb_scenario *scenario, const tb_book *base,
                                     const tb_alloc *alloc, tb_book *ret_book, tb_error *err);

/* --- replay --- */

#define TB_WHATIF_SCENARIOS_MAX 4096
#define TB_WHATIF_INCREASES_MAX 10
#define TB_WHATIF_LINES_MAX     10  /* of an increase */
#define TB_WHATIF_UNPRICED_MAX  100 /* shown of a scenario */
#define TB_WHATIF_PERCENT_SCALE 4   /* digits of a percentage, half_up */

/* One thread. Holds one amount for each account and scenario, the months of the current account, and lines of the
 * largest increases. To cancel: stop adding inputs and free it. */
typedef struct tb_whatif tb_whatif;

/* books: all that inputs' parts may name (tb_store_books); they and the scenarios must outlive the replay. Patches
 * every scenario's books first, so that nothing is rated where one is refused: TB_E_VALIDATION (err->field
 * "scenario", "base" or "contract.book": two of one name, a missing base or contract's book, none or too many
 * scenarios), TB_E_BOOK as from tb_scenario_book. */
TB_MUST_USE tb_code tb_whatif_new(const tb_scenario *scenarios, size_t n, const tb_book *books,
                                  size_t n_books, const tb_alloc *alloc, tb_whatif **ret_whatif,
                                  tb_error *err);
void tb_whatif_free(tb_whatif *whatif); /* NULL is allowed */

/* One account's month, ascending by (account, month). The input is copied. Errors: those of
 * tb_bill_rate, the message naming scenario, account and month; TB_E_VALIDATION out of order. After
 * an error the replay is unchanged: it may go on without this input. */
TB_MUST_USE tb_code tb_whatif_add(tb_whatif *whatif, const tb_bill_input *input, tb_error *err);
/* Ends the input; results are available then. */
TB_MUST_USE tb_code tb_whatif_finish(tb_whatif *whatif, tb_error *err);

/* --- results --- */

/* Amounts have the currency's minor digits. */
typedef struct tb_whatif_change {
    tb_decimal before, after, delta;
    bool has_percent;   /* false where before is 0 or less, or so small beside delta that it has none */
    tb_decimal percent; /* delta x 100 / before */
} tb_whatif_change;

typedef struct tb_whatif_account {
    int64_t account;
    uint32_t months; /* that were fed */
    tb_whatif_change change;
} tb_whatif_account;

typedef struct tb_whatif_month {
    int64_t month;
    size_t accounts;
    tb_whatif_change change;
} tb_whatif_month;

/* A line of the account's bills, over all its months. */
typedef struct tb_whatif_line {
    tb_line_kind kind;
    int64_t id;
    char resource[TB_BILL_RESOURCE_MAX];
    char item[TB_METER_ID_MAX + 1];        /* the meter or the fee; "": neither */
    char region[TB_METER_VALUE_MAX + 1]; /* "" where it does not apply */
    tb_whatif_change change;
} tb_whatif_line;

/* An account that would have paid more, and its lines with the largest increases first; lines that
 * do not rise are not among them. */
typedef struct tb_whatif_increase {
    int64_t account;
    tb_whatif_change change;
    tb_whatif_line lines[TB_WHATIF_LINES_MAX];
    size_t n_lines;
    size_t more_lines; /* that rise too, but less */
} tb_whatif_increase;

/* Nearest rank: of n values in ascending order the ceil(p n / 100)-th, which is one of them. */
typedef struct tb_whatif_spread {
    size_t n; /* values; 0: the rest is zero */
    tb_decimal p5, p50, p95;
} tb_whatif_spread;

typedef struct tb_whatif_group {
    char currency[4];
    int minor_digits;
    size_t bills; /* account-months */
    tb_whatif_change total;
    size_t losers, winners, same;      /* accounts that would pay more, less, the same */
    const tb_whatif_account *accounts; /* ascending by account */
    size_t n_accounts;
    const tb_whatif_month *months; /* ascending */
    size_t n_months;
    tb_whatif_spread delta, percent;     /* over accounts; percent over those that have one */
    const tb_whatif_increase *increases; /* largest delta first, ties by account */
    size_t n_increases;
} tb_whatif_group;

/* Usage without a price under the scenario: neither billed nor free. Quantities are scaled ones,
 * summed over the account's months. */
typedef struct tb_whatif_unpriced {
    int64_t account, month; /* the first month it was met in */
    tb_unpriced usage;
    bool before; /* it has no price today either (in that month) */
} tb_whatif_unpriced;

typedef struct tb_whatif_book {
    const tb_book *base;
    const tb_book *book; /* the base itself: one that contracts name beside the patched one */
} tb_whatif_book;

typedef struct tb_whatif_result {
    const tb_scenario *scenario;
    const tb_whatif_book *books; /* the patched books, in the order given, then others that contracts name */
    size_t n_books;
    const tb_whatif_group *groups; /* ascending by currency; none without input */
    size_t n_groups;
    size_t other_accounts, other_bills; /* billed in another currency, left out */
    const tb_whatif_unpriced *unpriced; /* in the order met; the first TB_WHATIF_UNPRICED_MAX */
    size_t n_unpriced;
    size_t unpriced_bills; /* account-months that have any */
    size_t more_unpriced;  /* and those of which not all is shown */
    void *memory;
    const tb_alloc *alloc;
} tb_whatif_result;

/* After tb_whatif_finish; number: the scenario's, from 0. Lives on its own (scenario and books
 * apart). Release on success. TB_E_OVERFLOW where a sum passes 2^127 - 1; TB_E_NOMEM. */
TB_MUST_USE tb_code tb_whatif_result_make(const tb_whatif *whatif, size_t number,
                                          tb_whatif_result *ret_result, tb_error *err);
void tb_whatif_result_release(tb_whatif_result *result);

TB_API_END

#endif
