/* billing/rates.h: a book's rate, as tiers in the units of the catalogue's meter. */
#include "billing/rates.h"
#include "unit/decimals.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#define GB    ((tb_i128)1000000000)
#define MONTH (30 * 86400)

static const tb_meter counter = {.id = "requests", .kind = TB_METER_COUNTER, .unit = "request", .display_per = 1};
static const tb_meter gauge = {.id = "storage",
                               .kind = TB_METER_GAUGE,
                               .unit = "byte",
                               .display_unit = "GB",
                               .display_per = 1000000000,
                               .n_dimensions = 1,
                               .dimension = {"region"}};
static const tb_meter port = {
    .id = "port", .kind = TB_METER_SAMPLE, .unit = "byte", .display_unit = "GB", .display_per = 1000000000, .interval = 300};

/* Two tiers that meet at `edge`; a meter's rate of them. */
typedef struct made {
    tb_rate_tier tier[2];
    tb_rate of;
    tb_meter_rate rate;
} made;

static void make(made *m, const char *per, tb_rate_time time, const char *edge)
{
    memset(m, 0, sizeof *m);
    m->tier[0] = (tb_rate_tier){.to = dec(edge), .price = dec("0.2")};
    m->tier[1] = (tb_rate_tier){.from = dec(edge), .open = true, .price = dec("0.1"), .flat = dec("5")};
    m->of = (tb_rate){.n = 2, .tier = m->tier};
    m->rate = (tb_meter_rate){.time = time, .n = 1, .rate = &m->of};
    strcpy(m->rate.per, per);
}

static tb_tiers resolve(const tb_meter *meter, const made *m, tb_i128 per)
{
    tb_tiers tiers;
    tb_i128 got;
    tb__rate_fault fault = {"", ""};
    ck_assert_msg(tb__rate_resolve(meter, &m->rate, &m->of, MONTH, &tiers, &got, &fault), "%s: %s", fault.key, fault.rule);
    ck_assert(got == per);
    ck_assert_uint_eq(tiers.n, 2);
    return tiers;
}

static void refused(const tb_meter *meter, const made *m, const char *key, const char *rule)
{
    tb_tiers tiers;
    tb_i128 per;
    tb__rate_fault fault = {"", ""};
    ck_assert(!tb__rate_resolve(meter, &m->rate, &m->of, MONTH, &tiers, &per, &fault));
    ck_assert_str_eq(fault.key, key);
    ck_assert_msg(strstr(fault.rule, rule) != NULL, "%s", fault.rule);
}

START_TEST(a_price_is_for_a_number_of_units)
{
    made m;
    make(&m, "1000000", TB_RATE_NO_TIME, "10");
    m.of.included = dec("2.5");
    m.of.included_absolute = true;
    tb_tiers tiers = resolve(&counter, &m, 1000000);
    ck_assert(tiers.tier[0].to == 10000000 && tiers.tier[1].from == 10000000 && tiers.tier[1].open);
    ck_assert(tiers.included == 2500000 && tiers.included_absolute);
    ck_assert_int_eq(tb_decimal_compare(tiers.tier[0].price, dec("0.2")), 0);
    ck_assert_int_eq(tb_decimal_compare(tiers.tier[1].flat, dec("5")), 0);
}
END_TEST

START_TEST(a_price_is_for_the_meters_unit_or_its_display_unit)
{
    made m;
    make(&m, "request", TB_RATE_NO_TIME, "3");
    ck_assert(resolve(&counter, &m, 1).tier[0].to == 3);
    make(&m, "GB", TB_RATE_HOUR, "3");
    ck_assert(resolve(&gauge, &m, GB * 3600).tier[0].to == 3 * GB * 3600);
    make(&m, "TB", TB_RATE_HOUR, "3");
    refused(&gauge, &m, "per", "display unit");
    make(&m, "0", TB_RATE_HOUR, "3");
    refused(&gauge, &m, "per", "whole number");
    make(&m, "1.5", TB_RATE_HOUR, "3");
    refused(&gauge, &m, "per", "whole number");
}
END_TEST

START_TEST(a_gauges_price_is_for_hours_or_months)
{
    made m;
    make(&m, "GB", TB_RATE_MONTH, "0.5");
    ck_assert(resolve(&gauge, &m, GB * MONTH).tier[0].to == GB * MONTH / 2);
    make(&m, "GB", TB_RATE_NO_TIME, "1");
    refused(&gauge, &m, "time", "needs hour or month");
    make(&m, "1", TB_RATE_HOUR, "1");
    refused(&counter, &m, "time", "kind gauge");
}
END_TEST

START_TEST(a_sample_is_priced_at_a_percentile)
{
    made m;
    make(&m, "Mbps", TB_RATE_NO_TIME, "1000");
    refused(&port, &m, "percentile", "is priced at a percentile");
    m.rate.sampled = true;
    ck_assert(resolve(&port, &m, 37500000).tier[0].to == (tb_i128)37500000000);
    refused(&counter, &m, "percentile", "Only meters of kind sample");
    tb_meter hours = port;
    hours.interval = 3600;
    resolve(&hours, &m, 450000000);
    strcpy(hours.unit, "call");
    refused(&hours, &m, "per", "count bytes");
    make(&m, "GB", TB_RATE_NO_TIME, "1");
    m.rate.sampled = true;
    resolve(&port, &m, GB);
}
END_TEST

START_TEST(thresholds_are_whole_units)
{
    made m;
    make(&m, "GB", TB_RATE_HOUR, "0.0000000001");
    ck_assert(resolve(&gauge, &m, GB * 3600).tier[0].to == 360);
    make(&m, "GB", TB_RATE_HOUR, "0.000000000000001");
    refused(&gauge, &m, "tiers", "Finer");
    make(&m, "1000000000000000000", TB_RATE_HOUR, "1000000000000000000");
    refused(&gauge, &m, "tiers", "2^125");
    make(&m, "3", TB_RATE_NO_TIME, "1");
    m.of.included = dec("0.5");
    refused(&counter, &m, "included", "Finer");
    m.of.included = TB_DECIMAL_ZERO;
    m.of.mode = TB_PACKAGE;
    m.of.block = dec("0.5");
    refused(&counter, &m, "block", "Finer");
    m.of.block = dec("2");
    ck_assert(resolve(&counter, &m, 3).block == 6);
}
END_TEST

START_TEST(values_of_a_dimension_have_prices_of_their_own)
{
    tb_rate rates[] = {{.value = "*"}, {.value = "DE"}};
    tb_meter_rate rate = {.by = "region", .n = 2, .rate = rates};
    ck_assert_ptr_eq(tb__rate_of(&rate, "DE"), &rates[1]);
    ck_assert_ptr_eq(tb__rate_of(&rate, "FR"), &rates[0]);
    rate.rate = &rates[1];
    rate.n = 1;
    ck_assert_ptr_null(tb__rate_of(&rate, "FR"));
    rates[1].value[0] = rate.by[0] = 0;
    ck_assert_ptr_eq(tb__rate_of(&rate, ""), &rates[1]);
}
END_TEST

START_TEST(a_rate_fits_a_meter_in_every_month_or_not)
{
    made m;
    tb__rate_fault fault = {"", ""};
    make(&m, "GB", TB_RATE_MONTH, "0.5");
    ck_assert(tb__rate_fits(&gauge, &m.rate, &fault));
    strcpy(m.rate.by, "region");
    ck_assert(tb__rate_fits(&gauge, &m.rate, &fault));
    strcpy(m.rate.by, "plan");
    ck_assert(!tb__rate_fits(&gauge, &m.rate, &fault));
    ck_assert_str_eq(fault.key, "by");
    make(&m, "GB", TB_RATE_MONTH, "0.000000000000001");
    ck_assert(!tb__rate_fits(&gauge, &m.rate, &fault));
    ck_assert_str_eq(fault.key, "tiers");
}
END_TEST

START_TEST(meters_and_fees_of_a_book_are_found)
{
    tb_meter_rate meters[] = {{.meter = "a"}, {.meter = "c"}};
    tb_fee fees[] = {{.id = "gold"}};
    tb_book book = {.meters = meters, .n_meters = 2, .fees = fees, .n_fees = 1};
    ck_assert_ptr_eq(tb__book_meter(&book, "c"), &meters[1]);
    ck_assert_ptr_null(tb__book_meter(&book, "b"));
    ck_assert_ptr_eq(tb_book_fee(&book, "gold"), &fees[0]);
    ck_assert_ptr_null(tb_book_fee(&book, "silver"));
    ck_assert_ptr_null(tb__book_meter(&(tb_book){.n_meters = 0}, "a"));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("rates");
    TCase *t = tcase_create("rates");
    tcase_add_test(t, a_price_is_for_a_number_of_units);
    tcase_add_test(t, a_price_is_for_the_meters_unit_or_its_display_unit);
    tcase_add_test(t, a_gauges_price_is_for_hours_or_months);
    tcase_add_test(t, a_sample_is_priced_at_a_percentile);
    tcase_add_test(t, thresholds_are_whole_units);
    tcase_add_test(t, values_of_a_dimension_have_prices_of_their_own);
    tcase_add_test(t, a_rate_fits_a_meter_in_every_month_or_not);
    tcase_add_test(t, meters_and_fees_of_a_book_are_found);
    suite_add_tcase(suite, t);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
