/* bill.h: each rule of a bill, by hand. The month is October 2026: 744 hours, 2,678,400 seconds.
 * Random months are the business of tests/oracle/bill_oracle.py and tests/prop/prop_bill.c. */
#include "tollbook/bill.h"

#include "billing/draft.h"
#include "tollbook/calendar.h"
#include "unit/decimals.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#define MONTH   681 /* October 2026 */
#define HOURS   744
#define SECONDS INT64_C(2678400)
#define MOST    16

/* Book 0: the public prices. */
static const char standard[] =
    "{\"book\":\"standard\",\"currency\":\"USD\",\"effective_from\":\"2026-01-01T00:00:00Z\","
    "\"minimum_monthly\":\"1.00\",\"bandwidth\":{\"premium\":{\"per\":\"GB\",\"regions\":{"
    "\"EU\":\"0.01\",\"NA\":\"0.01\",\"ASIA\":\"0.03\",\"SA\":\"0.045\",\"AF\":\"0.06\"}},"
    "\"volume\":{\"per\":\"GB\",\"tiers\":[{\"from\":\"0\",\"to\":\"500000\",\"price\":\"0.005\"},"
    "{\"from\":\"500000\",\"to\":\"1000000\",\"price\":\"0.004\"},"
    "{\"from\":\"1000000\",\"to\":null,\"price\":\"0.003\"}]}},"
    "\"optimizer\":{\"monthly\":\"9.50\"},\"load_balancer\":{\"monthly_fee\":\"9.50\","
    "\"included_requests\":50000000,\"included_axis\":\"absolute\",\"tiers\":[{\"from_millions\":"
    "50,"
    "\"to_millions\":null,\"price_per_million\":\"0.65\"}]}}";

/* Book 1: everything at other prices, rounded half to even. */
static const char dearer[] =
    "{\"book\":\"dearer\",\"currency\":\"USD\",\"effective_from\":\"2026-10-11T00:00:00Z\","
    "\"rounding\":\"half_even\",\"minimum_monthly\":\"2.00\",\"bandwidth\":{\"premium\":{"
    "\"per\":\"GB\",\"regions\":{\"EU\":\"0.02\",\"NA\":\"0.02\",\"ASIA\":\"0.06\"}},"
    "\"volume\":{\"per\":\"GB\",\"tiers\":[{\"from\":\"0\",\"to\":\"600000\",\"price\":\"0.01\"},"
    "{\"from\":\"600000\",\"to\":null,\"price\":\"0.008\"}]}},"
    "\"optimizer\":{\"monthly\":\"19\"},\"load_balancer\":{\"monthly_fee\":\"19\","
    "\"included_requests\":60000000,\"included_axis\":\"absolute\",\"tiers\":[{\"from_millions\":0,"
    "\"to_millions\":100,\"price_per_million\":\"1\"},{\"from_millions\":100,"
    "\"to_millions\":null,\"price_per_million\":\"0.50\"}]}}";

/* Book 2: a minimum and nothing else. */
static const char bare[] =
    "{\"book\":\"bare\",\"currency\":\"USD\",\"effective_from\":\"2026-01-01T00:00:00Z\","
    "\"minimum_monthly\":\"5\"}";

/* Book 3: balancers on the net axis; book 4: the same on the absolute axis (billing.md 2). */
#define AXIS_BOOK(axis)                                                                            \
    "{\"book\":\"axis\",\"currency\":\"USD\",\"effective_from\":\"2026-01-01T00:00:00Z\","         \
    "\"load_balancer\":{\"monthly_fee\":\"0\",\"included_requests\":10000000,"                     \
    "\"included_axis\":\"" axis "\",\"tiers\":[{\"from_millions\":0,\"to_millions\":100,"          \
    "\"price_per_million\":\"0.60\"},{\"from_millions\":100,\"to_millions\":null,"                 \
    "\"price_per_million\":\"0.40\"}]}}"

/* Book 5: yen; book 6: a price of 15 digits, which with a discount passes the limit. */
static const char yen[] =
    "{\"book\":\"yen\",\"currency\":\"JPY\",\"effective_from\":\"2026-01-01T00:00:00Z\","
    "\"bandwidth\":{\"premium\":{\"per\":\"GB\",\"regions\":{\"EU\":\"1\"}}}}";
static const char fine[] =
    "{\"book\":\"fine\",\"currency\":\"USD\",\"effective_from\":\"2026-01-01T00:00:00Z\","
    "\"bandwidth\":{\"premium\":{\"per\":\"GB\",\"regions\":{\"EU\":\"99999.000000000000001\"}}}}";

/* Book 7: a price of 24 digits a byte, and a volume price that nobody asks for. */
static const char apart[] =
    "{\"book\":\"apart\",\"currency\":\"USD\",\"effective_from\":\"2026-01-01T00:00:00Z\","
    "\"minimum_monthly\":\"1.00\",\"bandwidth\":{\"premium\":{\"per\":\"GB\",\"regions\":{"
    "\"EU\":\"0.010000000000001\"}},\"volume\":{\"per\":\"GB\",\"tiers\":[{\"from\":\"0\","
    "\"to\":null,\"price\":\"100000000000000000000\"}]}}}";

static const char *const documents[] = {
    standard, dearer, bare, AXIS_BOOK("net"), AXIS_BOOK("absolute"), yen, fine, apart};
enum { STANDARD, DEARER, BARE, NET, ABSOLUTE, YEN, FINE, APART, BOOKS, NONE = -1 };
static tb_book books[BOOKS];

static tb_bill_input in;
static tb_bill_part parts[MOST];
static tb_bill_bytes bytes[MOST];
static tb_bill_optimizer optimizers[MOST];
static tb_bill_balancer balancers[MOST];
static tb_bill bill;

/* --- writing a month --- */

/* Adds a part that ends at that hour of the month. */
static void part_until(int hour, int book)
{
    int64_t first = tb_month_first_day(MONTH) * TB_US_PER_DAY;
    size_t n = in.n_parts++;
    parts[n] = (tb_bill_part){.book = book == NONE ? NULL : &books[book],
                              .from_us = n ? parts[n - 1].to_us : first,
                              .to_us = first + hour * TB_US_PER_HOUR};
}

static void begin(void)
{
    tb_error err = {0};
    for (int i = 0; i < BOOKS; i++)
        ck_assert_msg(!tb_book_parse(documents[i], strlen(documents[i]), NULL, &books[i], &err),
                      "book %d: %s: %s", i, err.field, err.message);
    in = (tb_bill_input){.account = 1,
                         .month = MONTH,
                         .currency = "USD",
                         .running = true,
                         .parts = parts,
                         .bytes = bytes,
                         .optimizers = optimizers,
                         .balancers = balancers};
    bill = (tb_bill){.lines = NULL};
}

static void end(void)
{
    tb_bill_release(&bill);
    for (int i = 0; i < BOOKS; i++)
        tb_book_release(&books[i]);
}

static tb_bill_bytes *add_bytes(int64_t zone, uint32_t part, tb_charge charge,
                                tb_billing_region region, tb_i128 count)
{
    tb_bill_bytes *e = &bytes[in.n_bytes++];
    *e = (tb_bill_bytes){.zone = zone,
                         .part = part,
                         .charge = charge,
                         .priced = true,
                         .region = region,
                         .bytes = count};
    return e;
}

static void premium(int64_t zone, uint32_t part, tb_billing_region region, tb_i128 count)
{
    add_bytes(zone, part, TB_CHARGE_PREMIUM, region, count);
}

static void discounted(int64_t zone, uint32_t part, int discount, tb_i128 count)
{
    add_bytes(zone, part, TB_CHARGE_PREMIUM, TB_REGION_EU, count)->discount = discount;
}

static void volume(int64_t zone, uint32_t part, tb_i128 count)
{
    add_bytes(zone, part, TB_CHARGE_VOLUME, TB_REGION_NA, count);
}

static void override(int64_t zone, uint32_t part, const char *price, tb_i128 count)
{
    add_bytes(zone, part, TB_CHARGE_OVERRIDE, TB_REGION_SA, count)->override_price = dec(price);
}

static void unknown(int64_t zone, tb_charge charge, const char *location, tb_i128 count)
{
    tb_bill_bytes *e = add_bytes(zone, 0, charge, TB_REGION_EU, count);
    e->priced = false;
    memcpy(e->location, location, strlen(location));
    e->override_price = dec("0.1");
}

static void optimizer(int64_t zone, uint32_t part, int64_t seconds, const char *price)
{
    optimizers[in.n_optimizers++] = (tb_bill_optimizer){.zone = zone,
                                                        .part = part,
                                                        .seconds = seconds,
                                                        .own_price = price != NULL,
                                                        .monthly = dec(price ? price : "0")};
}

static void balancer(int64_t id, uint32_t part, int64_t seconds, int64_t requests)
{
    balancers[in.n_balancers++] =
        (tb_bill_balancer){.balancer = id, .part = part, .seconds = seconds, .requests = requests};
}

static void tax(const char *name, const char *percent)
{
    tb_bill_tax *t = &in.tax[in.n_tax++];
    memcpy(t->name, name, strlen(name) + 1);
    t->percent = dec(percent);
}

/* --- reading a bill --- */

static void put(tb_buf *out, tb_decimal value)
{
    char text[TB_DECIMAL_TEXT_MAX];
    tb_buf_add(out, text, (size_t)(tb_decimal_put(text, value) - text));
    tb_buf_str(out, " ");
}

static void put_fixed(tb_buf *out, tb_decimal value)
{
    char text[TB_DECIMAL_TEXT_MAX];
    tb_buf_add(out, text, (size_t)(tb_decimal_put_fixed(text, value, bill.minor_digits) - text));
}

static void put_line(tb_buf *out, const tb_bill_line *line)
{
    tb_buf_fmt(out, "%u %s %s %s ", line->number, tb_line_kind_name(line->kind), line->resource,
               line->region[0] ? line->region : "-");
    put(out, tb_decimal_from_int(line->quantity));
    put(out, line->exact);
    put_fixed(out, line->amount);
    tb_buf_str(out, "\n");
}

/* part: (from, to] x price (as written) = amount */
static void put_row(tb_buf *out, const tb_bill_tier *t)
{
    tb_buf_fmt(out, "%u: ", t->part);
    put(out, tb_decimal_from_int(t->from));
    put(out, tb_decimal_from_int(t->to));
    put(out, t->price);
    put(out, t->shown);
    tb_buf_str(out, "= ");
    put(out, t->amount);
    out->data[out->len - 1] = '\n';
}

static void rows_sum_to_their_line(const tb_bill_line *line)
{
    const bool own_axis = line->kind == TB_LINE_CAP || (line->kind == TB_LINE_COMMIT && line->tiers[0].from);
    tb_decimal sum = TB_DECIMAL_ZERO;
    tb_i128 units = 0;
    for (size_t i = 0; i < line->n_tiers; i++) {
        ck_assert_int_eq(tb_decimal_add(sum, line->tiers[i].amount, &sum, NULL), TB_OK);
        ck_assert(own_axis || line->tiers[i].from == units);
        units += line->tiers[i].units;
        ck_assert(own_axis || line->tiers[i].to == units || line->kind == TB_LINE_DISCOUNT);
    }
    ck_assert_uint_gt(line->n_tiers, 0);
    ck_assert_int_eq(tb_decimal_compare(sum, line->exact), 0);
    ck_assert((line->kind >= TB_LINE_DISCOUNT && line->quantity == 1) || line->quantity == units);
}

static void rate(void)
{
    tb_error err = {0};
    if (in.n_parts == 0) part_until(HOURS, STANDARD);
    tb_bill_release(&bill);
    ck_assert_msg(tb_bill_rate(&in, NULL, &bill, &err) == TB_OK, "%s: %s", err.field, err.message);
    for (size_t i = 0; i < bill.n_lines; i++)
        rows_sum_to_their_line(&bill.lines[i]);
}

static void text_is(tb_buf *have, const char *wanted)
{
    tb_buf_add(have, "", 1);
    ck_assert(!have->failed);
    ck_assert_str_eq(have->data, wanted);
    tb_buf_release(have);
}

static void lines_are(const char *wanted)
{
    tb_buf have;
    tb_buf_init(&have, 65536, NULL);
    for (size_t i = 0; i < bill.n_lines; i++)
        put_line(&have, &bill.lines[i]);
    text_is(&have, wanted);
}

static void rows_are(size_t line, const char *wanted)
{
    tb_buf have;
    tb_buf_init(&have, 65536, NULL);
    ck_assert_uint_lt(line, bill.n_lines);
    for (size_t i = 0; i < bill.lines[line].n_tiers; i++)
        put_row(&have, &bill.lines[line].tiers[i]);
    text_is(&have, wanted);
}

static void shares_are(const char *wanted)
{
    tb_buf have;
    tb_buf_init(&have, 65536, NULL);
    for (size_t i = 0; i < bill.lines[0].n_shares; i++) {
        const tb_bill_share *s = &bill.lines[0].shares[i];
        tb_buf_fmt(&have, "%d ", (int)s->zone);
        put(&have, tb_decimal_from_int(s->bytes));
        put(&have, s->exact);
        put_fixed(&have, s->amount);
        tb_buf_str(&have, "\n");
    }
    text_is(&have, wanted);
}

static void unpriced_are(const char *wanted)
{
    tb_buf have;
    tb_buf_init(&have, 65536, NULL);
    for (size_t i = 0; i < bill.n_unpriced; i++) {
        const tb_unpriced *u = &bill.unpriced[i];
        tb_buf_fmt(&have, "%s %s ", u->resource, u->what);
        put(&have, tb_decimal_from_int(u->quantity));
        tb_buf_fmt(&have, "%s: %s\n", u->unit, u->reason);
    }
    text_is(&have, wanted);
}

static void put_sum(tb_buf *out, tb_sum sum)
{
    char text[TB_DECIMAL_TEXT_MAX];
    tb_buf_add(out, text, (size_t)(tb_sum_put(text, sum) - text));
    tb_buf_str(out, " ");
}

/* subtotal total exact residual */
static void totals_are(const char *wanted)
{
    tb_buf have;
    tb_buf_init(&have, 4096, NULL);
    put_fixed(&have, bill.subtotal);
    tb_buf_str(&have, " ");
    put_fixed(&have, bill.total);
    tb_buf_str(&have, " ");
    put_sum(&have, bill.exact);
    put(&have, bill.residual);
    have.len--;
    text_is(&have, wanted);
}

static void refused(tb_code code, const char *field, const char *message)
{
    tb_error err = {0};
    if (in.n_parts == 0) part_until(HOURS, STANDARD);
    ck_assert_int_eq(tb_bill_rate(&in, NULL, &bill, &err), code);
    ck_assert_str_eq(err.field, field);
    ck_assert_str_eq(err.message, message);
    ck_assert_int_eq(tb_bill_rate(&in, NULL, &bill, NULL), code);
    ck_assert_ptr_null(bill.lines);
}

#define GB ((tb_i128)1000000000)

/* --- names --- */

START_TEST(kinds_have_their_names_and_units)
{
    ck_assert_str_eq(tb_line_kind_name(TB_LINE_BALANCER_REQUESTS), "balancer_requests");
    ck_assert_str_eq(tb_line_kind_unit(TB_LINE_BALANCER_REQUESTS), "request");
    ck_assert_str_eq(tb_line_kind_name(TB_LINE_CORRECTION), "correction");
    ck_assert_str_eq(tb_line_kind_name(TB_LINE_KIND_COUNT), "");
    ck_assert_str_eq(tb_line_kind_unit(TB_LINE_KIND_COUNT), "");
}
END_TEST

/* --- premium --- */

START_TEST(a_byte_costs_a_thousand_millionth_of_a_gb)
{
    premium(101, 0, TB_REGION_EU, 89716735); /* a live zone's charges, contract 9.1 */
    rate();
    lines_are("1 bandwidth zone:101 EU 89716735 0.00089716735 0.00\n");
    rows_are(0, "0: 0 89716735 0.00000000001 0.01 = 0.00089716735\n");
    totals_are("0.00 0.00 0.00089716735 -0.00089716735");
}
END_TEST

START_TEST(lines_stand_by_kind_then_id_then_region)
{
    premium(9, 0, TB_REGION_AF, GB);
    premium(9, 0, TB_REGION_EU, GB);
    override(9, 0, "0.000000001", GB);
    premium(10, 0, TB_REGION_NA, GB);
    optimizer(3, 0, 0, NULL);
    optimizer(9, 0, SECONDS, NULL);
    balancer(2, 0, SECONDS, 1);
    rate();
    lines_are("1 bandwidth zone:9 EU 1000000000 0.01 0.01\n"
              "2 bandwidth zone:9 AF 1000000000 0.06 0.06\n"
              "3 bandwidth zone:10 NA 1000000000 0.01 0.01\n"
              "4 override zone:9 SA 1000000000 1 1.00\n"
              "5 optimizer zone:9 - 2678400 9.5 9.50\n"
              "6 balancer_fee load_balancer:2 - 2678400 9.5 9.50\n"
              "7 balancer_requests load_balancer:2 - 1 0 0.00\n");
}
END_TEST

START_TEST(a_discount_lowers_the_price_of_its_bytes)
{
    discounted(1, 0, 0, GB);
    discounted(1, 0, 33, 10 * GB);
    discounted(1, 0, 0, GB);
    discounted(1, 0, 100, GB);
    rate();
    lines_are("1 bandwidth zone:1 EU 13000000000 0.087 0.09\n");
    rows_are(0, "0: 0 2000000000 0.00000000001 0.01 = 0.02\n"
                "0: 2000000000 12000000000 0.0000000000067 0.01 = 0.067\n"
                "0: 12000000000 13000000000 0 0.01 = 0\n");
}
END_TEST

START_TEST(each_part_has_the_price_of_its_book)
{
    part_until(240, STANDARD);
    part_until(HOURS, DEARER);
    premium(1, 0, TB_REGION_EU, 10 * GB);
    premium(1, 1, TB_REGION_EU, GB);
    rate();
    lines_are("1 bandwidth zone:1 EU 11000000000 0.12 0.12\n");
    rows_are(0, "0: 0 10000000000 0.00000000001 0.01 = 0.1\n"
                "1: 10000000000 11000000000 0.00000000002 0.02 = 0.02\n");
}
END_TEST

START_TEST(nothing_gives_no_lines)
{
    premium(1, 0, TB_REGION_EU, 0);
    volume(1, 0, 0);
    optimizer(1, 0, 0, NULL);
    balancer(1, 0, 0, 0);
    rate();
    lines_are("");
    unpriced_are("");
    totals_are("0.00 0.00 0 0");
}
END_TEST

/* --- override --- */

/* holds: pullzone.override */
START_TEST(an_override_replaces_every_rate_and_leaves_the_volume_sum)
{
    override(1, 0, "0.00000000002", 500000 * GB);
    bytes[0].discount = 50;
    volume(2, 0, 500000 * GB);
    rate();
    lines_are("1 volume account:1 - 500000000000000 2500 2500.00\n"
              "2 override zone:1 SA 500000000000000 10000 10000.00\n");
    rows_are(1, "0: 0 500000000000000 0.00000000002 0.00000000002 = 10000\n");
}
END_TEST

/* --- volume --- */

START_TEST(volume_runs_through_the_tiers_as_one_sum)
{
    volume(1, 0, 400000 * GB);
    volume(2, 0, 400000 * GB);
    volume(3, 0, 400000 * GB);
    rate();
    lines_are("1 volume account:1 - 1200000000000000 5100 5100.00\n");
    rows_are(0, "0: 0 500000000000000 0.000000000005 0.005 = 2500\n"
                "0: 500000000000000 1000000000000000 0.000000000004 0.004 = 2000\n"
                "0: 1000000000000000 1200000000000000 0.000000000003 0.003 = 600\n");
    shares_are("1 400000000000000 1700 1700.00\n"
               "2 400000000000000 1700 1700.00\n"
               "3 400000000000000 1700 1700.00\n");
}
END_TEST

START_TEST(shares_go_by_largest_remainder_ties_by_zone)
{
    volume(7, 0, 2 * GB);
    volume(8, 0, 2 * GB);
    volume(9, 0, 2 * GB + 1);
    rate();
    lines_are("1 volume account:1 - 6000000001 0.030000000005 0.03\n");
    bytes[0].bytes = bytes[1].bytes = bytes[2].bytes = 2 * GB / 3;
    rate(); /* a cent that no zone has a whole of */
    lines_are("1 volume account:1 - 1999999998 0.00999999999 0.01\n");
    shares_are("7 666666666 0.00333333333 0.01\n"
               "8 666666666 0.00333333333 0.00\n"
               "9 666666666 0.00333333333 0.00\n");
    bytes[1].bytes++;
    rate();
    shares_are("7 666666666 0.00333333333 0.00\n"
               "8 666666667 0.003333333335 0.01\n"
               "9 666666666 0.00333333333 0.00\n");
}
END_TEST

START_TEST(exact_shares_sum_to_the_exact_line)
{
    volume(1, 0, 500000 * GB);
    volume(2, 0, 100000 * GB);
    volume(3, 0, 100000 * GB);
    rate(); /* 3300 to 5 : 1 : 1 */
    shares_are("1 500000000000000 2357.142857142857142857 2357.14\n"
               "2 100000000000000 471.428571428571428571 471.43\n"
               "3 100000000000000 471.428571428571428572 471.43\n");
}
END_TEST

START_TEST(usage_keeps_its_position_when_the_book_changes)
{
    part_until(240, STANDARD);
    part_until(HOURS, DEARER);
    volume(1, 0, 550000 * GB);
    volume(1, 1, 100000 * GB);
    rate();
    rows_are(0, "0: 0 500000000000000 0.000000000005 0.005 = 2500\n"
                "0: 500000000000000 550000000000000 0.000000000004 0.004 = 200\n"
                "1: 550000000000000 600000000000000 0.00000000001 0.01 = 500\n"
                "1: 600000000000000 650000000000000 0.000000000008 0.008 = 400\n");
}
END_TEST

/* --- fees --- */

START_TEST(the_optimizer_costs_by_the_second)
{
    optimizer(1, 0, SECONDS, NULL);
    optimizer(2, 0, SECONDS / 4, NULL);
    optimizer(3, 0, 1, NULL);
    optimizer(4, 0, SECONDS, "4.99");
    rate();
    lines_are("1 optimizer zone:1 - 2678400 9.5 9.50\n"
              "2 optimizer zone:2 - 669600 2.375 2.38\n"
              "3 optimizer zone:3 - 1 0.000003546893667861 0.00\n"
              "4 optimizer zone:4 - 2678400 4.99 4.99\n");
}
END_TEST

START_TEST(parts_at_one_price_sum_to_the_whole)
{
    part_until(1, STANDARD);
    part_until(2, STANDARD);
    part_until(HOURS, STANDARD);
    optimizer(1, 0, 3600, NULL);
    optimizer(1, 1, 3600, "9.5");
    optimizer(1, 2, SECONDS - 7200, NULL);
    rate();
    lines_are("1 optimizer zone:1 - 2678400 9.5 9.50\n");
    rows_are(0, "0: 0 3600 9.5 9.5 = 0.012768817204301075\n"
                "1: 3600 7200 9.5 9.5 = 0.012768817204301075\n"
                "2: 7200 2678400 9.5 9.5 = 9.47446236559139785\n");
}
END_TEST

START_TEST(another_price_begins_another_whole)
{
    part_until(240, STANDARD);
    part_until(HOURS, DEARER);
    optimizer(1, 0, 240 * 3600, NULL);
    optimizer(1, 1, 504 * 3600, NULL);
    rate(); /* 9.5 x 10/31 + 19 x 21/31 */
    lines_are("1 optimizer zone:1 - 2678400 15.935483870967741936 15.94\n");
    rows_are(0, "0: 0 864000 9.5 9.5 = 3.064516129032258065\n"
                "1: 864000 2678400 19 19 = 12.870967741935483871\n");
}
END_TEST

START_TEST(a_balancer_costs_by_the_second_it_existed)
{
    balancer(7, 0, SECONDS / 2, 0);
    balancer(8, 0, 0, 50000001);
    rate();
    lines_are("1 balancer_fee load_balancer:7 - 1339200 4.75 4.75\n"
              "2 balancer_requests load_balancer:8 - 50000001 0.00000065 0.00\n");
    rows_are(1, "0: 0 50000000 0 0 = 0\n"
                "0: 50000000 50000001 0.00000065 0.65 = 0.00000065\n");
}
END_TEST

START_TEST(parts_share_a_months_allowance)
{
    part_until(240, STANDARD);
    part_until(HOURS, DEARER);
    balancer(7, 0, 0, 55000000);
    balancer(7, 1, 0, 50000000);
    rate();
    lines_are("1 balancer_requests load_balancer:7 - 105000000 45.75 45.75\n");
    rows_are(0, "0: 0 50000000 0 0 = 0\n"
                "0: 50000000 55000000 0.00000065 0.65 = 3.25\n"
                "1: 55000000 60000000 0 0 = 0\n"
                "1: 60000000 100000000 0.000001 1 = 40\n"
                "1: 100000000 105000000 0.0000005 0.5 = 2.5\n");
}
END_TEST

START_TEST(included_units_differ_by_axis)
{
    balancer(1, 0, 0, 150000000);
    part_until(HOURS, ABSOLUTE);
    rate();
    lines_are("1 balancer_requests load_balancer:1 - 150000000 74 74.00\n");
    parts[0].book = &books[NET];
    rate();
    lines_are("1 balancer_requests load_balancer:1 - 150000000 76 76.00\n");
}
END_TEST

/* --- the minimum --- */

static void ended_month(void)
{
    in.running = false;
    in.active_zone = true;
}

START_TEST(the_minimum_makes_up_for_what_the_lines_lack)
{
    ended_month();
    premium(1, 0, TB_REGION_EU, 37 * GB + GB / 4); /* 0.3725: the rounded 0.37 counts */
    rate();
    lines_are("1 bandwidth zone:1 EU 37250000000 0.3725 0.37\n"
              "2 minimum account:1 - 1 0.63 0.63\n");
    rows_are(1, "0: 0 2678400 1 1 = 1\n"
                "0: 2678400 2678400 0 0 = -0.37\n");
    totals_are("1.00 1.00 1.0025 -0.0025");
    in.n_bytes = 0;
    rate();
    lines_are("1 minimum account:1 - 1 1 1.00\n");
}
END_TEST

START_TEST(the_minimum_is_never_negative)
{
    ended_month();
    premium(1, 0, TB_REGION_EU, 100 * GB);
    rate();
    lines_are("1 bandwidth zone:1 EU 100000000000 1 1.00\n");
    bytes[0].bytes += 100 * GB;
    rate();
    lines_are("1 bandwidth zone:1 EU 200000000000 2 2.00\n");
}
END_TEST

START_TEST(a_running_month_and_an_idle_account_have_no_minimum)
{
    ended_month();
    in.running = true;
    rate();
    lines_are("");
    in.running = false;
    in.active_zone = false;
    rate();
    lines_are("");
}
END_TEST

START_TEST(the_minimum_is_prorated_over_books)
{
    ended_month();
    part_until(240, STANDARD);
    part_until(HOURS, DEARER);
    rate(); /* 1 x 10/31 + 2 x 21/31 */
    lines_are("1 minimum account:1 - 1 1.677419354838709678 1.68\n");
}
END_TEST

START_TEST(the_minimum_of_a_part_without_book_is_listed)
{
    ended_month();
    part_until(24, NONE);
    part_until(HOURS, BARE);
    rate();
    lines_are("1 minimum account:1 - 1 4.838709677419354839 4.84\n");
    unpriced_are("account:1 minimum 86400 second: No USD price book is in force from "
                 "2026-10-01T00:00:00Z to 2026-10-02T00:00:00Z: add one.\n");
}
END_TEST

/* --- rounding, totals, tax --- */

START_TEST(a_line_is_rounded_once_as_the_last_book_says)
{
    premium(1, 0, TB_REGION_EU, GB / 2); /* 0.005 */
    premium(1, 0, TB_REGION_NA, GB / 2);
    rate();
    totals_are("0.02 0.02 0.01 0.01");
    in.n_parts = 0;
    part_until(240, STANDARD);
    part_until(HOURS, DEARER);
    rate();
    totals_are("0.00 0.00 0.01 -0.01");
    ck_assert_int_eq(bill.rounding, TB_HALF_EVEN);
}
END_TEST

START_TEST(money_has_the_digits_of_its_currency)
{
    memcpy(in.currency, "JPY", 4);
    part_until(HOURS, YEN);
    premium(1, 0, TB_REGION_EU, 12 * GB + GB / 2);
    rate();
    lines_are("1 bandwidth zone:1 EU 12500000000 12.5 13\n");
    totals_are("13 13 12.5 0.5");
}
END_TEST

START_TEST(each_tax_is_rounded_once_on_the_sum_of_rounded_lines)
{
    for (int region = 0; region < 3; region++)
        premium(1, 0, (tb_billing_region)region, 50 * GB); /* 0.50, 0.50, 1.50 */
    tax("VAT", "19");
    tax("city", "0.2");
    rate();
    totals_are("2.50 2.99 2.5 0");
    ck_assert_uint_eq(bill.n_tax, 2);
    ck_assert_str_eq(bill.tax[0].rate.name, "VAT");
    ck_assert(bill.tax[0].amount.mantissa == 48); /* 0.475 */
    ck_assert(bill.tax[1].amount.mantissa == 1);  /* 0.005 */
    ck_assert(bill.tax[1].base.mantissa == 250);
}
END_TEST

START_TEST(correction_lines_are_summed_when_asked)
{
    premium(1, 0, TB_REGION_EU, 100 * GB);
    tax("VAT", "10");
    rate();
    tb_bill_line *lines = calloc(2, sizeof *lines);
    lines[0] = bill.lines[0];
    lines[1] =
        (tb_bill_line){.kind = TB_LINE_CORRECTION, .exact = dec("-0.2501"), .amount = dec("-0.25")};
    bill.lines = lines;
    bill.n_lines = 2;
    ck_assert_int_eq(tb_bill_sum(&bill, &in, NULL), TB_OK);
    totals_are("0.75 0.83 0.7499 0.0001");
    free(lines);
}
END_TEST

START_TEST(a_tax_that_overflows_is_named)
{
    const tb_decimal most = {((tb_i128)1 << 126) - 1 + ((tb_i128)1 << 126), 2};
    tb_error err = {0};
    premium(1, 0, TB_REGION_EU, 100 * GB);
    tax("VAT", "101");
    rate();
    tb_bill_line *line = calloc(1, sizeof *line);
    *line = bill.lines[0];
    line->exact = line->amount = most;
    bill.lines = line;
    bill.n_lines = 1;
    ck_assert_int_eq(tb_bill_sum(&bill, &in, &err), TB_E_OVERFLOW);
    ck_assert_str_eq(err.field, "tax");
    ck_assert_int_eq(strncmp(err.message, "tax VAT: ", 9), 0);
    free(line);
}
END_TEST

/* --- unpriced --- */

START_TEST(a_location_without_region_is_unpriced_under_every_charge)
{
    unknown(1, TB_CHARGE_PREMIUM, "XX", 5);
    unknown(1, TB_CHARGE_VOLUME, "XX", 6);
    unknown(1, TB_CHARGE_OVERRIDE, "YY", 7);
    premium(2, 0, TB_REGION_EU, GB);
    rate();
    lines_are("1 bandwidth zone:2 EU 1000000000 0.01 0.01\n");
    unpriced_are("zone:1 XX 11 byte: The location has no billing region: name it, with its "
                 "billing, in the catalogue's regions.\n"
                 "zone:1 YY 7 byte: The location has no billing region: name it, with its "
                 "billing, in the catalogue's regions.\n");
}
END_TEST

START_TEST(what_the_book_lacks_is_named)
{
    part_until(HOURS, BARE);
    premium(20, 0, TB_REGION_SA, 1);
    volume(20, 0, 2);
    override(20, 0, "0.000000001", GB); /* needs no section */
    optimizer(20, 0, 3, NULL);
    optimizer(20, 0, SECONDS, "2"); /* nor does this */
    balancer(4, 0, 5, 6);
    rate();
    lines_are("1 override zone:20 SA 1000000000 1 1.00\n"
              "2 optimizer zone:20 - 2678400 2 2.00\n");
#define REMEDY "add a book that supersedes it and has it.\n"
    unpriced_are("zone:20 SA 1 byte: Book bare has no bandwidth.premium.regions.SA: " REMEDY
                 "zone:20 optimizer 3 second: Book bare has no optimizer: " REMEDY
                 "zone:20 volume 2 byte: Book bare has no bandwidth.volume: " REMEDY
                 "load_balancer:4 load_balancer 6 request: Book bare has no load_balancer: " REMEDY
                 "load_balancer:4 load_balancer 5 second: Book bare has no load_balancer: " REMEDY);
}
END_TEST

START_TEST(a_part_without_book_prices_nothing)
{
    part_until(24, NONE);
    part_until(HOURS, STANDARD);
    premium(1, 0, TB_REGION_EU, 1);
    override(1, 0, "1", 1);
    premium(1, 1, TB_REGION_EU, GB);
    premium(3, 0, TB_REGION_EU, 1);
    optimizer(1, 0, 1, "1");
    balancer(2, 0, 1, 1);
    rate();
    lines_are("1 bandwidth zone:1 EU 1000000000 0.01 0.01\n");
#define NO_BOOK                                                                                    \
    "No USD price book is in force from 2026-10-01T00:00:00Z to 2026-10-02T00:00:00Z: add one.\n"
    unpriced_are("zone:1 EU 1 byte: " NO_BOOK "zone:1 SA 1 byte: " NO_BOOK
                 "zone:1 optimizer 1 second: " NO_BOOK "zone:3 EU 1 byte: " NO_BOOK
                 "load_balancer:2 load_balancer 1 request: " NO_BOOK
                 "load_balancer:2 load_balancer 1 second: " NO_BOOK);
}
END_TEST

START_TEST(without_any_book_the_currency_gives_the_digits)
{
    memcpy(in.currency, "KWD", 4);
    part_until(HOURS, NONE);
    premium(1, 0, TB_REGION_EU, 1);
    rate();
    ck_assert_int_eq(bill.minor_digits, 3);
    ck_assert_uint_eq(bill.n_lines, 0);
    ck_assert_uint_eq(bill.n_unpriced, 1);
}
END_TEST

/* --- evidence --- */

static tb_evidence evidence(int64_t from, int64_t to, uint64_t buckets, char fill)
{
    tb_evidence e = {.from_us = from, .to_us = to, .buckets = buckets};
    memset(e.hash, fill, 32);
    return e;
}

START_TEST(a_line_takes_the_evidence_of_its_entries)
{
    premium(1, 0, TB_REGION_EU, 1);
    bytes[0].evidence = evidence(10, 20, 3, 'a');
    premium(2, 0, TB_REGION_EU, 1);
    bytes[1].evidence = evidence(10, 20, 3, 'a');
    premium(2, 0, TB_REGION_EU, 1);
    bytes[2].evidence = evidence(5, 15, 4, 'b');
    optimizer(3, 0, 1, NULL);
    rate();
    const tb_evidence *one = &bill.lines[0].evidence, *two = &bill.lines[1].evidence;
    ck_assert(one->from_us == 10 && one->to_us == 20 && one->buckets == 3);
    ck_assert_str_eq(one->hash, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa");
    ck_assert(two->from_us == 5 && two->to_us == 20 && two->buckets == 7);
    /* printf of 32 a and 32 b | xxhsum -H2 */
    ck_assert_str_eq(two->hash, "601176d3bfcb63f6900c5f9975a86d17");
    ck_assert(bill.lines[2].evidence.buckets == 0 && bill.lines[2].evidence.hash[0] == '\0');
    ck_assert(bill.lines[2].evidence.to_us == parts[0].to_us);
}
END_TEST

/* --- charges of a zone --- */

static void charges_are(int64_t zone, const char *wanted)
{
    tb_sum charges;
    char text[TB_DECIMAL_TEXT_MAX];
    ck_assert_int_eq(tb_bill_zone_charges(&bill, zone, &charges, NULL), TB_OK);
    *tb_sum_put(text, charges) = 0;
    ck_assert_str_eq(text, wanted);
}

START_TEST(a_zones_charges_are_its_lines_and_its_share)
{
    premium(1, 0, TB_REGION_EU, 4400843);
    premium(2, 0, TB_REGION_EU, GB);
    volume(2, 0, GB);
    override(2, 0, "0.000000001", GB);
    volume(3, 0, 2 * GB);
    optimizer(2, 0, SECONDS, NULL);
    balancer(2, 0, SECONDS, 0);
    ended_month();
    rate();
    charges_are(1, "0.00004400843");
    charges_are(2, "10.515");
    charges_are(3, "0.01");
    charges_are(4, "0");
}
END_TEST

START_TEST(charges_of_a_bill_without_lines_are_zero)
{
    rate();
    charges_are(1, "0");
}
END_TEST

/* --- refusals --- */

START_TEST(an_overflow_names_its_line)
{
    part_until(HOURS, FINE);
    premium(1, 0, TB_REGION_EU, (tb_i128)1000000000 * GB);
    rate(); /* what a book is made for fits */
    tb_bill_release(&bill);
    discounted(2, 0, 1, 1000 * (tb_i128)1000000000 * GB);
    refused(TB_E_OVERFLOW, "zone:2",
            "bandwidth in EU of zone:2: The product passes 2^127-1 units of 10^-26. "
            "Correct its price or its usage.");
}
END_TEST

#define EXA ((tb_i128)1000000000 * GB) /* 10^18, the most units that are rated */

START_TEST(the_exact_sum_holds_amounts_of_any_scales)
{
    part_until(HOURS, APART);
    premium(1, 0, TB_REGION_EU, 1);
    override(1, 0, "0.5", 1000000 * (tb_i128)GB);
    rate();
    totals_are("500000000000000.00 500000000000000.00 "
               "500000000000000.000000000010000000000001 -0.000000000010000000000001");
    charges_are(1, "500000000000000.000000000010000000000001");
}
END_TEST

START_TEST(shares_of_a_large_line_have_the_digits_there_is_room_for)
{
    part_until(HOURS, APART);
    volume(1, 0, EXA / 4);
    volume(2, 0, EXA / 2);
    volume(3, 0, 1);
    rate();
    shares_are("1 250000000000000000 25000000000000000000000000000 "
               "25000000000000000000000000000.00\n"
               "2 500000000000000000 50000000000000000000000000000 "
               "50000000000000000000000000000.00\n"
               "3 1 100000000000 100000000000.00\n");
}
END_TEST

/* --- contracts --- */

static void agree(const char *discount, const char *minimum, const char *commit)
{
    in.contract = (tb_contract){.discount = dec(discount)};
    in.contract.own_minimum = minimum != NULL;
    if (minimum) in.contract.minimum = dec(minimum);
    in.contract.n_commits = commit != NULL;
    if (commit) in.contract.commits[0] = (tb_commit){dec(commit), 1, false, MONTH, MONTH};
}

START_TEST(a_contract_s_discount_is_on_rounded_lines_and_rounded_once)
{
    ended_month();
    premium(101, 0, TB_REGION_EU, 10123456789);
    premium(101, 0, TB_REGION_NA, 10523456789);
    agree("12.5", "0", NULL);
    rate();
    lines_are("1 bandwidth zone:101 EU 10123456789 0.10123456789 0.10\n"
              "2 bandwidth zone:101 NA 10523456789 0.10523456789 0.11\n"
              "3 discount account:1 - 1 -0.02625 -0.03\n");
    ck_assert_int_eq(bill.lines[2].n_tiers, 1);
    ck_assert(bill.lines[2].tiers[0].to == 21 && bill.lines[2].tiers[0].units == 0);
}
END_TEST

START_TEST(a_commit_takes_what_is_paid_and_a_minimum_what_is_left)
{
    ended_month();
    premium(101, 0, TB_REGION_EU, INT64_C(1000000000000));
    agree("5", "12", "11.111");
    rate();
    lines_are("1 bandwidth zone:101 EU 1000000000000 10 10.00\n"
              "2 discount account:1 - 1 -0.5 -0.50\n"
              "3 commit account:1 - 1 1.611 1.61\n"
              "4 minimum account:1 - 1 0.89 0.89\n");
    in.active_zone = false; /* a commit is owed by itself */
    rate();
    ck_assert_uint_eq(bill.n_lines, 3);
    in.contract.commits[0].to = MONTH - 1;
    rate();
    ck_assert_uint_eq(bill.n_lines, 2);
    in.contract.commits[0].to = MONTH;
    in.running = in.active_zone = true;
    rate();
    ck_assert_uint_eq(bill.n_lines, 2);
}
END_TEST

START_TEST(a_commit_that_is_used_up_is_no_line)
{
    ended_month();
    premium(101, 0, TB_REGION_EU, INT64_C(1000000000000));
    agree("0", NULL, "10.004");
    rate();
    lines_are("1 bandwidth zone:101 EU 1000000000000 10 10.00\n"
              "2 commit account:1 - 1 0.004 0.00\n");
    agree("0", NULL, "10");
    rate();
    lines_are("1 bandwidth zone:101 EU 1000000000000 10 10.00\n");
}
END_TEST

START_TEST(a_part_without_a_book_owes_no_commit_and_is_listed)
{
    ended_month();
    part_until(HOURS, NONE);
    agree("5", NULL, "10");
    rate();
    ck_assert_uint_eq(bill.n_lines, 0);
    ck_assert_uint_eq(bill.n_unpriced, 2);
    ck_assert_str_eq(bill.unpriced[0].what, "commit");
    in.book_missing = true;
    memcpy(in.contract.book, "own", 4);
    rate();
    ck_assert_str_eq(bill.unpriced[1].reason,
                     "The contract names book own, and there is no USD price book of that id: add it.");
}
END_TEST

/* --- periods and caps --- */

static void agree_periods(const char *amount, int months, bool rollover, int64_t from, int64_t to)
{
    in.contract = (tb_contract){.n_commits = 1};
    in.contract.commits[0] = (tb_commit){dec(amount), months, rollover, from, to};
    in.n_earlier = 0;
}

static void earlier(int64_t month, const char *amount)
{
    in.earlier[in.n_earlier++] = (tb_bill_earlier){month, dec(amount)};
}

START_TEST(a_period_is_trued_up_in_its_last_month_and_names_each_month)
{
    in.running = in.active_zone = false;
    premium(101, 0, TB_REGION_EU, INT64_C(1000000000000)); /* 10.00 */
    agree_periods("100", 3, false, MONTH - 2, INT64_MAX);
    earlier(MONTH - 2, "40.00");
    earlier(MONTH - 1, "20.55");
    rate();
    lines_are("1 bandwidth zone:101 EU 1000000000000 10 10.00\n"
              "2 commit account:1 - 3 29.45 29.45\n");
    const tb_bill_line *line = &bill.lines[1];
    ck_assert_uint_eq(line->n_tiers, 4);
    ck_assert(line->tiers[0].from == MONTH - 2 && line->tiers[0].to == MONTH + 1 && line->tiers[0].units == 3);
    ck_assert(line->tiers[1].from == MONTH - 2 && line->tiers[1].amount.mantissa == -4000);
    ck_assert(line->tiers[3].from == MONTH && line->tiers[3].amount.mantissa == -1000);
    ck_assert(tb_decimal_compare(bill.counted, dec("39.45")) == 0 && tb_decimal_compare(bill.commit, dec("29.45")) == 0);
    in.earlier[1].amount = dec("50"); /* used up */
    rate();
    ck_assert_uint_eq(bill.n_lines, 1);
}
END_TEST

START_TEST(a_month_within_a_period_and_a_running_one_have_no_commit)
{
    in.running = in.active_zone = false;
    agree_periods("100", 3, false, MONTH - 1, INT64_MAX);
    rate();
    ck_assert_uint_eq(bill.n_lines, 0);
    agree_periods("100", 3, false, MONTH - 2, INT64_MAX);
    in.running = true;
    rate();
    ck_assert_uint_eq(bill.n_lines, 0);
}
END_TEST

START_TEST(a_period_that_is_cut_owes_its_part_by_months)
{
    in.running = in.active_zone = false;
    agree_periods("100", 3, false, MONTH - 1, MONTH);
    earlier(MONTH - 1, "0");
    rate();
    lines_are("1 commit account:1 - 2 66.666666666666666667 66.67\n");
    agree_periods("100", 12, false, MONTH, MONTH);
    rate();
    lines_are("1 commit account:1 - 1 8.333333333333333333 8.33\n");
}
END_TEST

START_TEST(what_was_paid_and_not_used_counts_in_the_next_period)
{
    in.running = in.active_zone = false;
    agree_periods("50", 1, true, MONTH - 3, INT64_MAX);
    earlier(MONTH - 1, "30");
    rate();
    lines_are("1 commit account:1 - 1 20 20.00\n");
    in.contract.n_commits = 2; /* a ramp: the one before it rolls over */
    in.contract.commits[0].to = MONTH - 1;
    in.contract.commits[1] = (tb_commit){dec("90"), 1, false, MONTH, INT64_MAX};
    rate();
    lines_are("1 commit account:1 - 1 60 60.00\n");
}
END_TEST

START_TEST(the_months_that_a_commit_counts_are_checked)
{
    tb_bill none;
    in.running = in.active_zone = false;
    agree_periods("100", 3, false, MONTH - 2, INT64_MAX);
    earlier(MONTH - 1, "1");
    ck_assert_int_eq(tb_bill_rate(&in, NULL, &none, NULL), TB_E_VALIDATION);
    earlier(MONTH - 2, "1");
    ck_assert_int_eq(tb_bill_rate(&in, NULL, &none, NULL), TB_E_VALIDATION);
    agree_periods("100", 1, false, MONTH, INT64_MAX);
    earlier(MONTH - 1, "1");
    ck_assert_int_eq(tb_bill_rate(&in, NULL, &none, NULL), TB_E_VALIDATION);
}
END_TEST

START_TEST(periods_count_from_their_commits_first_month)
{
    tb_contract c = {.n_commits = 2};
    tb_commit_period p;
    c.commits[0] = (tb_commit){dec("1"), 3, true, 100, 106};
    c.commits[1] = (tb_commit){dec("2"), 12, false, 107, INT64_MAX};
    const int64_t wanted[][4] = {/* month, first, last, carries */
                                 {100, 100, 102, 0}, {104, 103, 105, 1}, {106, 106, 106, 1}, {107, 107, 118, 1}, {119, 119, 130, 0}};
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        ck_assert(tb_contract_period(&c, wanted[i][0], &p));
        ck_assert(p.first == wanted[i][1] && p.last == wanted[i][2] && p.carries == (wanted[i][3] != 0));
    }
    ck_assert(!tb_contract_period(&c, 99, &p));
    c.commits[0] = (tb_commit){dec("1"), 12, false, INT64_MIN, INT64_MAX};
    c.n_commits = 1;
    ck_assert(tb_contract_period(&c, 679, &p) && p.first == 672 && p.last == 683); /* 2026 */
}
END_TEST

START_TEST(a_cap_takes_off_what_came_after_its_alert_and_never_below_the_cap)
{
    static const struct {
        const char *before, *off;
    } rows[] = {{"7.50", "-2.50"}, {"6.00", "-4.00"}, {"5.00", "-4.00"}, {"9.99", "-0.01"}, {"10.00", NULL}, {"12", NULL}};
    in.running = in.active_zone = false;
    premium(101, 0, TB_REGION_EU, INT64_C(1000000000000)); /* 10.00 */
    in.contract = (tb_contract){.cap_action = TB_CAP_DISABLE, .cap = dec("6")};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        in.cap = (tb_bill_cap){true, in.parts[0].from_us, dec(rows[i].before)};
        rate();
        ck_assert_uint_eq(bill.n_lines, rows[i].off ? 2 : 1);
        if (!rows[i].off) continue;
        ck_assert_int_eq(bill.lines[1].kind, TB_LINE_CAP);
        ck_assert(tb_decimal_compare(bill.lines[1].amount, dec(rows[i].off)) == 0);
        ck_assert_str_eq(bill.lines[1].description, "Spending cap, reached at 2026-10-01T00:00:00Z");
    }
}
END_TEST

START_TEST(a_minimum_that_large_lines_have_reached_is_no_line)
{
    part_until(HOURS, APART);
    ended_month();
    override(1, 0, "1000", EXA);
    rate();
    lines_are("1 override zone:1 SA 1000000000000000000 1000000000000000000000 "
              "1000000000000000000000.00\n");
}
END_TEST

START_TEST(a_tax_of_many_digits_needs_no_more_room_than_its_amount)
{
    override(1, 0, "1000000", EXA);
    tax("VAT", "19.123456789012345");
    rate();
    totals_are("1000000000000000000000000.00 1191234567890123450000000.00 "
               "1000000000000000000000000 0");
}
END_TEST

START_TEST(a_sum_of_lines_that_overflows_names_its_line)
{
    override(1, 0, "1000000000000000000", EXA);
    override(2, 0, "1000000000000000000", EXA);
    refused(TB_E_OVERFLOW, "zone:2",
            "override in SA of zone:2: The sum passes 2^127-1 units of 10^-2. Correct its price or "
            "its usage.");
    in.n_bytes = 1;
    tax("VAT", "100");
    refused(TB_E_OVERFLOW, "tax", "tax VAT: The sum passes 2^127-1 units of 10^-2.");
}
END_TEST

#define I128_MAX ((tb_i128)((~(unsigned __int128)0) >> 1))

START_TEST(sums_of_usage_are_checked)
{
    volume(1, 0, I128_MAX);
    volume(2, 0, 1);
    refused(TB_E_OVERFLOW, "volume", "volume of account:1: The sum of bytes passes 2^127-1.");
    in.n_bytes = 0;
    premium(1, 0, TB_REGION_EU, I128_MAX);
    premium(1, 0, TB_REGION_EU, I128_MAX);
    refused(TB_E_OVERFLOW, "zone:1",
            "bandwidth in EU of zone:1: The sum of usage passes 2^127-1. Correct its price or its "
            "usage.");
    in.n_bytes = 0;
    unknown(1, TB_CHARGE_PREMIUM, "XX", I128_MAX);
    unknown(1, TB_CHARGE_PREMIUM, "XX", 1);
    refused(TB_E_OVERFLOW, "zone:1", "zone:1, XX: Unpriced usage passes 2^127-1.");
}
END_TEST

/* No input makes such rows today; what adds them up must still say so, and makes no line of them. */
START_TEST(a_line_whose_rows_overflow_is_no_line)
{
    const tb_decimal most = {((tb_i128)1 << 126) - 1, 0};
    tb_bill_tier rows[3] = {{.units = I128_MAX}, {.units = 1}, {.units = 1}};
    for (int amounts = 0; amounts < 2; amounts++) {
        tb_error own = {0};
        tb_bill_line line = {0};
        tb__draft d = {.line = &line, .rows = rows, .n_rows = 3, .err = &own};
        if (amounts)
            for (int i = 0; i < 3; i++)
                rows[i] = (tb_bill_tier){.units = 1, .amount = most};
        ck_assert_int_eq(tb__line_close(&d), TB_E_OVERFLOW);
        ck_assert_int_eq(own.code, TB_E_OVERFLOW);
        ck_assert_uint_eq(d.bill.n_lines, 0);
        ck_assert_ptr_null(line.tiers);
    }
}
END_TEST


START_TEST(a_negative_sum_is_an_alarm)
{
    premium(101, 0, TB_REGION_EU, -1);
    refused(TB_E_DIFFERENT, "zone:101",
            "A sum of bytes is negative, so nothing is billed: run verify.");
    in.n_bytes = 0;
    balancer(7, 0, 1, -1);
    refused(TB_E_DIFFERENT, "load_balancer:7",
            "A sum of requests is negative, so nothing is billed: run verify.");
}
END_TEST

START_TEST(a_book_in_another_currency_is_refused)
{
    part_until(240, STANDARD);
    part_until(HOURS, YEN);
    refused(TB_E_BOOK, "currency", "Book yen is in JPY, but account 1 pays in USD.");
}
END_TEST

START_TEST(parts_touch_and_cover_the_month)
{
    part_until(240, STANDARD);
    refused(TB_E_VALIDATION, "parts", "The parts must cover the month.");
    part_until(HOURS, STANDARD);
    parts[1].from_us += TB_US_PER_HOUR;
    refused(TB_E_VALIDATION, "parts", "Entry 1 of the input: parts touch and last whole seconds.");
    parts[1].from_us = parts[0].to_us += 1;
    refused(TB_E_VALIDATION, "parts", "Entry 0 of the input: parts touch and last whole seconds.");
    in.n_parts = 0;
    in.month = 12 * 8030;
    part_until(HOURS, STANDARD);
    refused(TB_E_VALIDATION, "month", "The year must be within 1..9999.");
}
END_TEST

START_TEST(a_currency_has_three_capital_letters)
{
    memcpy(in.currency, "usd", 4);
    refused(TB_E_VALIDATION, "currency", "It must be three capital letters.");
    memcpy(in.currency, "USDT", 4);
    refused(TB_E_VALIDATION, "currency", "It has three letters.");
}
END_TEST

START_TEST(bytes_that_make_no_sense_are_refused)
{
#define refuses(field, what) refused(TB_E_VALIDATION, field, "Entry 0 of the input: " what ".");
    premium(1, 1, TB_REGION_EU, 1);
    refuses("bytes", "no such part");
    bytes[0].part = 0;
    bytes[0].discount = 101;
    refuses("bytes", "a discount is 0 to 100 percent");
    bytes[0].discount = -1;
    refuses("bytes", "a discount is 0 to 100 percent");
    bytes[0].charge = TB_CHARGE_OVERRIDE;
    refuses("bytes", "a price that overrides is above zero");
    bytes[0].charge = (tb_charge)3;
    refuses("bytes", "no such charge");
    bytes[0].charge = TB_CHARGE_VOLUME;
    bytes[0].region = TB_BILLING_REGION_COUNT;
    refuses("bytes", "no such region");
    bytes[0].region = TB_REGION_EU;
    premium(0, 0, TB_REGION_EU, 1);
    refused(TB_E_VALIDATION, "bytes", "Entry 1 of the input: not ascending by zone and part.");
}
END_TEST

START_TEST(fees_that_make_no_sense_are_refused)
{
    optimizer(1, 1, 1, NULL);
    refuses("optimizers", "no such part");
    optimizers[0].part = 0;
    optimizers[0].seconds = SECONDS + 1;
    refuses("optimizers", "more seconds than its part has");
    optimizers[0] = (tb_bill_optimizer){.own_price = true, .monthly = dec("-1")};
    refuses("optimizers", "a price is not negative");
    optimizers[0].monthly = dec("1");
    optimizers[0].seconds = SECONDS;
    optimizer(0, 0, 1, NULL);
    refused(TB_E_VALIDATION, "zone:0", "It is charged for more seconds than the month has.");
    optimizers[1].zone = -1;
    refused(TB_E_VALIDATION, "optimizers", "Entry 1 of the input: not ascending by zone and part.");
}
END_TEST

START_TEST(balancers_that_make_no_sense_are_refused)
{
    balancer(1, 1, 1, 1);
    refuses("balancers", "no such part");
    balancers[0].part = 0;
    balancers[0].seconds = -1;
    refuses("balancers", "more seconds than its part has");
    balancers[0].seconds = 1;
    balancer(0, 0, 1, 1);
    refused(TB_E_VALIDATION, "balancers",
            "Entry 1 of the input: not ascending by balancer and part.");
}
END_TEST

START_TEST(taxes_are_few_and_not_negative)
{
    tax("VAT", "-1");
    refuses("tax", "a rate is not negative");
    in.n_tax = TB_BILL_TAXES_MAX + 1;
    refused(TB_E_VALIDATION, "tax", "At most 8 rates.");
}
END_TEST

/* --- memory --- */

typedef struct budget {
    size_t left; /* allocations that succeed */
    size_t held; /* bytes */
} budget;

static void *budget_resize(void *ctx, void *ptr, size_t old, size_t size)
{
    budget *b = ctx;
    if (size > old && b->left == 0) return NULL;
    b->left -= size > old;
    b->held += size - old;
    return tb_alloc_resize(NULL, ptr, old, size);
}

START_TEST(every_allocation_may_fail)
{
    static tb_bill_bytes many[20000];
    for (size_t i = 0; i < 20000; i++)
        many[i] = (tb_bill_bytes){.zone = (int64_t)i / 4,
                                  .charge = i % 2 ? TB_CHARGE_VOLUME : TB_CHARGE_PREMIUM,
                                  .priced = i % 4 < 3,
                                  .bytes = 1};
    in.bytes = many;
    in.n_bytes = 20000;
    balancer(1, 0, 1, 1);
    part_until(HOURS, STANDARD);
    tb_code code = TB_E_NOMEM;
    for (size_t n = 0; code == TB_E_NOMEM; n++) {
        budget b = {.left = n};
        tb_alloc alloc = {budget_resize, &b};
        code = tb_bill_rate(&in, &alloc, &bill, NULL);
        if (!code) tb_bill_release(&bill);
        ck_assert_uint_eq(b.held, 0);
        ck_assert_uint_lt(n, 1000);
    }
    ck_assert_int_eq(code, TB_OK);
}
END_TEST

/* Random months are asked by tests/prop/prop_bill.c; here errors, which are the whole bill's. */
START_TEST(amounts_alone_have_the_bills_errors)
{
    tb_bill_rater *rater;
    tb_decimal subtotal = {42, 0};
    bool unpriced = true;
    tb_error err = {0};
    ck_assert_int_eq(tb_bill_rater_new(NULL, &rater, &err), TB_OK);
    part_until(HOURS, FINE);
    discounted(1, 0, 1, TB_UNITS_MAX);
    ck_assert_int_eq(tb_bill_rate(&in, NULL, &bill, &err), TB_E_OVERFLOW);
    char message[sizeof err.message];
    memcpy(message, err.message, sizeof message);
    ck_assert_int_eq(tb_bill_subtotal(rater, &in, &subtotal, &unpriced, &err), TB_E_OVERFLOW);
    ck_assert_str_eq(err.message, message);
    ck_assert_str_eq(err.field, "zone:1");
    bytes[0].bytes = -1;
    ck_assert_int_eq(tb_bill_subtotal(rater, &in, &subtotal, &unpriced, &err), TB_E_DIFFERENT);
    ck_assert(subtotal.mantissa == 42 && unpriced);
    bytes[0].bytes = 1000000000;
    ck_assert_int_eq(tb_bill_subtotal(rater, &in, &subtotal, &unpriced, &err), TB_OK);
    ck_assert(subtotal.mantissa == 9899901 && subtotal.scale == 2 && !unpriced);
    tb_bill_rater_free(rater);
    tb_bill_rater_free(NULL);
}
END_TEST

START_TEST(a_bill_may_be_released_twice)
{
    rate();
    tb_bill_release(&bill);
    tb_bill_release(&bill);
    ck_assert_ptr_null(bill.lines);
}
END_TEST

static void add_lines(TCase *t)
{
    tcase_add_test(t, kinds_have_their_names_and_units);
    tcase_add_test(t, a_byte_costs_a_thousand_millionth_of_a_gb);
    tcase_add_test(t, lines_stand_by_kind_then_id_then_region);
    tcase_add_test(t, a_discount_lowers_the_price_of_its_bytes);
    tcase_add_test(t, each_part_has_the_price_of_its_book);
    tcase_add_test(t, nothing_gives_no_lines);
    tcase_add_test(t, an_override_replaces_every_rate_and_leaves_the_volume_sum);
    tcase_add_test(t, volume_runs_through_the_tiers_as_one_sum);
    tcase_add_test(t, shares_go_by_largest_remainder_ties_by_zone);
    tcase_add_test(t, exact_shares_sum_to_the_exact_line);
    tcase_add_test(t, usage_keeps_its_position_when_the_book_changes);
    tcase_add_test(t, the_optimizer_costs_by_the_second);
    tcase_add_test(t, parts_at_one_price_sum_to_the_whole);
    tcase_add_test(t, another_price_begins_another_whole);
    tcase_add_test(t, a_balancer_costs_by_the_second_it_existed);
    tcase_add_test(t, parts_share_a_months_allowance);
    tcase_add_test(t, included_units_differ_by_axis);
}

static void add_sums(TCase *t)
{
    tcase_add_test(t, the_minimum_makes_up_for_what_the_lines_lack);
    tcase_add_test(t, the_minimum_is_never_negative);
    tcase_add_test(t, a_contract_s_discount_is_on_rounded_lines_and_rounded_once);
    tcase_add_test(t, a_commit_takes_what_is_paid_and_a_minimum_what_is_left);
    tcase_add_test(t, a_commit_that_is_used_up_is_no_line);
    tcase_add_test(t, a_period_is_trued_up_in_its_last_month_and_names_each_month);
    tcase_add_test(t, a_month_within_a_period_and_a_running_one_have_no_commit);
    tcase_add_test(t, a_period_that_is_cut_owes_its_part_by_months);
    tcase_add_test(t, what_was_paid_and_not_used_counts_in_the_next_period);
    tcase_add_test(t, the_months_that_a_commit_counts_are_checked);
    tcase_add_test(t, periods_count_from_their_commits_first_month);
    tcase_add_test(t, a_cap_takes_off_what_came_after_its_alert_and_never_below_the_cap);
    tcase_add_test(t, a_part_without_a_book_owes_no_commit_and_is_listed);
    tcase_add_test(t, a_running_month_and_an_idle_account_have_no_minimum);
    tcase_add_test(t, the_minimum_is_prorated_over_books);
    tcase_add_test(t, the_minimum_of_a_part_without_book_is_listed);
    tcase_add_test(t, a_line_is_rounded_once_as_the_last_book_says);
    tcase_add_test(t, money_has_the_digits_of_its_currency);
    tcase_add_test(t, each_tax_is_rounded_once_on_the_sum_of_rounded_lines);
    tcase_add_test(t, correction_lines_are_summed_when_asked);
    tcase_add_test(t, a_tax_that_overflows_is_named);
    tcase_add_test(t, a_location_without_region_is_unpriced_under_every_charge);
    tcase_add_test(t, what_the_book_lacks_is_named);
    tcase_add_test(t, a_part_without_book_prices_nothing);
    tcase_add_test(t, without_any_book_the_currency_gives_the_digits);
    tcase_add_test(t, a_line_takes_the_evidence_of_its_entries);
    tcase_add_test(t, a_zones_charges_are_its_lines_and_its_share);
    tcase_add_test(t, charges_of_a_bill_without_lines_are_zero);
}

static void add_refusals(TCase *t)
{
    tcase_add_test(t, an_overflow_names_its_line);
    tcase_add_test(t, the_exact_sum_holds_amounts_of_any_scales);
    tcase_add_test(t, shares_of_a_large_line_have_the_digits_there_is_room_for);
    tcase_add_test(t, a_minimum_that_large_lines_have_reached_is_no_line);
    tcase_add_test(t, a_tax_of_many_digits_needs_no_more_room_than_its_amount);
    tcase_add_test(t, a_sum_of_lines_that_overflows_names_its_line);
    tcase_add_test(t, sums_of_usage_are_checked);
    tcase_add_test(t, a_negative_sum_is_an_alarm);
    tcase_add_test(t, a_book_in_another_currency_is_refused);
    tcase_add_test(t, parts_touch_and_cover_the_month);
    tcase_add_test(t, a_currency_has_three_capital_letters);
    tcase_add_test(t, bytes_that_make_no_sense_are_refused);
    tcase_add_test(t, fees_that_make_no_sense_are_refused);
    tcase_add_test(t, balancers_that_make_no_sense_are_refused);
    tcase_add_test(t, taxes_are_few_and_not_negative);
    tcase_add_test(t, every_allocation_may_fail);
    tcase_add_test(t, amounts_alone_have_the_bills_errors);
    tcase_add_test(t, a_bill_may_be_released_twice);
    tcase_add_test(t, a_line_whose_rows_overflow_is_no_line);
}

int main(void)
{
    Suite *suite = suite_create("bill");
    TCase *t = tcase_create("bill");
    tcase_add_checked_fixture(t, begin, end);
    add_lines(t);
    add_sums(t);
    add_refusals(t);
    suite_add_tcase(suite, t);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
