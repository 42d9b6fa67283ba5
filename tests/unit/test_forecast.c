/* forecast.h: what is known of a series is found again, intervals hold what they say, short
 * histories say so, and money is what the rating functions make of the usage. The month is October
 * 2026. */
#include "tollbook/forecast.h"

#include "advice/model.h"
#include "tollbook/calendar.h"

#include <check.h>
#include <gsl/gsl_rng.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MONTH     681   /* October 2026 */
#define FIRST_DAY 20727 /* 2026-10-01 */
#define DAYS      31
#define GB        INT64_C(1000000000)
#define MOST      TB_FORECAST_DAYS

static const char text[] =
    "{\"book\":\"standard\",\"currency\":\"USD\",\"effective_from\":\"2026-01-01T00:00:00Z\","
    "\"minimum_monthly\":\"1.00\",\"bandwidth\":{\"premium\":{\"per\":\"GB\",\"regions\":{"
    "\"EU\":\"0.01\",\"NA\":\"0.02\"}},\"volume\":{\"per\":\"GB\",\"mode\":\"volume\",\"tiers\":["
    "{\"from\":\"0\",\"to\":\"10000\",\"price\":\"0.005\"},"
    "{\"from\":\"10000\",\"to\":null,\"price\":\"0.004\",\"flat\":\"25\"}]}},"
    "\"optimizer\":{\"monthly\":\"9.50\"},\"load_balancer\":{\"monthly_fee\":\"9.50\","
    "\"tiers\":[{\"from_millions\":0,\"to_millions\":null,\"price_per_million\":\"0.65\"}]}}";
static const char later_text[] =
    "{\"book\":\"later\",\"currency\":\"USD\",\"effective_from\":\"2026-10-16T06:00:00Z\","
    "\"bandwidth\":{\"premium\":{\"per\":\"GB\",\"regions\":{\"EU\":\"0.03\"}}}}";

static tb_book book, later;
static tb_bill_part parts[2];
static tb_bill_bytes bytes[4];
static tb_bill_balancer balancers[3];
static tb_bill_input month;
static tb_usage_history history;
static uint64_t columns[TB_USAGE_COLUMNS][MOST];
static tb_balancer_recent recents[3];
static tb_forecast_input input;
static tb_forecast f;

#define EU     tb_usage_column(TB_CHARGE_PREMIUM, TB_REGION_EU)
#define VOLUME tb_usage_column(TB_CHARGE_VOLUME, TB_REGION_EU)

static void set_up(void)
{
    tb_advice_start();
    ck_assert_int_eq(tb_book_parse(text, strlen(text), NULL, &book, NULL), TB_OK);
    ck_assert_int_eq(tb_book_parse(later_text, strlen(later_text), NULL, &later, NULL), TB_OK);
    parts[0] = (tb_bill_part){&book, FIRST_DAY * TB_US_PER_DAY, (FIRST_DAY + DAYS) * TB_US_PER_DAY};
    month = (tb_bill_input){.account = 1,
                            .month = MONTH,
                            .currency = "USD",
                            .active_zone = true,
                            .parts = parts,
                            .n_parts = 1,
                            .bytes = bytes,
                            .balancers = balancers};
    history = (tb_usage_history){.balancers = recents};
    memset(columns, 0, sizeof columns);
    input = (tb_forecast_input){.month = &month,
                                .history = &history,
                                .from_us = FIRST_DAY * TB_US_PER_DAY,
                                .seed = 1,
                                .paths = 1000};
}

static void tear_down(void)
{
    tb_book_release(&book);
    tb_book_release(&later);
}

/* The last n days of MOST are known. */
static void know(size_t n)
{
    history.n_days = n;
    history.first_day = tb_day_from_us(input.from_us) - (int64_t)n;
    for (int c = 0; c < TB_USAGE_COLUMNS; c++)
        history.column[c] = columns[c] + MOST - n;
    history.premium[TB_REGION_EU][0] = 1;
}

static void make(void)
{
    tb_error err;
    tb_code code = tb_forecast_make(&input, NULL, &f, &err);
    ck_assert_msg(code == TB_OK, "%s", code ? err.message : "");
}

static int64_t weekday(int64_t day)
{
    return (day + 3) % 7;
}

/* Day t of the history, t of 0..MOST-1; days to come follow. */
static int64_t known_shape(int64_t t)
{
    static const int64_t season[7] = {10, 5, 0, -5, -10, 20, -20};
    return (500 + t + season[weekday(FIRST_DAY - MOST + t)]) * GB;
}

/* --- series --- */

START_TEST(a_trend_and_a_season_are_found_again)
{
    tb_i128 truth = 0;
    for (int64_t t = 0; t < MOST; t++)
        columns[EU][t] = (uint64_t)known_shape(t);
    for (int64_t d = 0; d < DAYS; d++)
        truth += known_shape(MOST + d);
    know(MOST);
    make();
    ck_assert_int_eq(f.usage[EU].method, TB_FORECAST_TREND);
    ck_assert_uint_eq(f.usage[EU].days, MOST);
    const tb_forecast_spread *s = &f.usage[EU].month;
    ck_assert(s->p5 <= s->p50 && s->p50 <= s->p95);
    ck_assert(s->p5 > truth * 999 / 1000 && s->p95 < truth * 1001 / 1000);
}
END_TEST

START_TEST(a_lone_spike_does_not_move_the_forecast)
{
    for (int64_t t = 0; t < MOST; t++)
        columns[EU][t] = (uint64_t)(known_shape(t) + t * 37 % 11 * GB);
    know(MOST);
    make();
    tb_i128 before = f.usage[EU].month.p95;
    columns[EU][MOST - 40] *= 1000;
    make();
    ck_assert_uint_ge(f.usage[EU].bounded, 1);
    ck_assert(f.usage[EU].month.p95 < before * 105 / 100);
    ck_assert(f.usage[EU].month.p5 > before * 9 / 10);
}
END_TEST

START_TEST(a_shrinking_series_ends_at_zero_not_below)
{
    for (int64_t t = 0; t < MOST; t++)
        columns[EU][t] = (uint64_t)((MOST - t) * 5 * GB + t * 37 % 11 * GB);
    know(MOST);
    make();
    ck_assert(f.usage[EU].month.p5 >= 0 && f.usage[EU].month.mean > 0);
    ck_assert(f.net.p5 >= 100);
}
END_TEST

START_TEST(a_level_that_changed_for_good_is_the_new_one)
{
    for (int64_t t = 0; t < MOST; t++)
        columns[EU][t] = (uint64_t)((t < MOST - 30 ? 100 : 300) * GB + t * 37 % 11 * GB);
    know(MOST);
    make();
    ck_assert(f.usage[EU].month.p50 > 290 * DAYS * GB && f.usage[EU].month.p50 < 320 * DAYS * GB);
}
END_TEST

static const struct {
    size_t days, quiet; /* known, and of them empty at the end */
    tb_forecast_method method;
} lengths[] = {
    {0, 0, TB_FORECAST_SO_FAR},  {1, 0, TB_FORECAST_PLAIN},   {27, 0, TB_FORECAST_PLAIN},
    {28, 0, TB_FORECAST_SEASON}, {55, 0, TB_FORECAST_SEASON}, {56, 0, TB_FORECAST_TREND},
    {60, 27, TB_FORECAST_TREND}, {60, 28, TB_FORECAST_ENDED}, {28, 28, TB_FORECAST_SO_FAR},
};

START_TEST(a_method_needs_its_days_and_says_which_it_is)
{
    size_t n = lengths[_i].days;
    for (size_t i = 0; i < n - lengths[_i].quiet; i++)
        columns[EU][MOST - n + i] = (uint64_t)((100 + (int64_t)i * 7 % 5) * GB);
    know(n);
    make();
    tb_forecast_method method = f.usage[EU].method;
    ck_assert_int_eq(method, lengths[_i].method);
    ck_assert(method == TB_FORECAST_TREND || *tb_forecast_method_reason(method));
    bool comes = method < TB_FORECAST_ENDED;
    ck_assert_int_eq(f.usage[EU].month.p95 > 0, comes);
    ck_assert_int_eq(f.method, comes ? method : TB_FORECAST_SO_FAR);
    if (method == TB_FORECAST_PLAIN) {
        ck_assert(f.usage[EU].month.p5 >= 100 * DAYS * GB);
        ck_assert(f.usage[EU].month.p95 <= 104 * DAYS * GB);
    }
}
END_TEST

/* AR(1) noise: outcomes are within p5 to p95 about nine times of ten. */
START_TEST(the_interval_holds_what_it_says)
{
    gsl_rng *rng = gsl_rng_alloc(gsl_rng_mt19937);
    gsl_rng_set(rng, 20261001);
    int hits = 0, rounds = 200;
    double width = 0; /* in GB; that of the noise alone is 3.3 deviations of a sum of 31 days */
    input.paths = 400;
    for (int i = 0; i < rounds; i++) {
        double noise = 0;
        tb_i128 truth = 0;
        for (int64_t t = 0; t < MOST + DAYS; t++) {
            double sum = -6;
            for (int k = 0; k < 12; k++)
                sum += gsl_rng_uniform(rng);
            noise = 0.4 * noise + 30 * sum;
            int64_t value = known_shape(t) + (int64_t)(noise * (double)GB);
            if (t < MOST)
                columns[EU][t] = (uint64_t)value;
            else
                truth += value;
        }
        know(MOST);
        make();
        hits += f.usage[EU].month.p5 <= truth && truth <= f.usage[EU].month.p95;
        width += (double)((f.usage[EU].month.p95 - f.usage[EU].month.p5) / GB);
    }
    gsl_rng_free(rng);
    ck_assert_msg(hits >= rounds * 82 / 100, "%d of %d", hits, rounds);
    ck_assert_msg(width / rounds < 3.5 * 30 * 1.67 * 5.57 * 3.3, "%g", width / rounds);
}
END_TEST

/* A percent a day: half a line would fall short by a fifth. */
START_TEST(growth_in_percent_goes_on)
{
    double value = 100, truth = 0;
    for (int64_t t = 0; t < MOST + DAYS; t++) {
        value *= 1.01;
        double day = value * (1 + 0.02 * (double)(t * 37 % 11 - 5) / 5);
        if (t < MOST)
            columns[EU][t] = (uint64_t)(day * (double)GB);
        else
            truth += day * (double)GB;
    }
    know(MOST);
    make();
    const tb_forecast_spread *s = &f.usage[EU].month;
    ck_assert((double)s->p5 < truth && truth < (double)s->p95);
    ck_assert((double)s->p5 > 0.9 * truth && (double)s->p95 < 1.1 * truth);
}
END_TEST

/* The 1st and the 15th are ten times other days; from the 10th on one 15th is to come. */
START_TEST(days_of_the_month_that_stand_out_come_again)
{
    input.from_us += 9 * TB_US_PER_DAY;
    for (int64_t t = 0; t < MOST; t++) {
        tb_date date = tb_date_from_day(FIRST_DAY + 9 - MOST + t);
        int64_t level = (date.day == 1 || date.day == 15 ? 1000 : 100) * GB;
        columns[EU][t] = (uint64_t)(level + t * 37 % 11 * GB);
    }
    know(MOST);
    make();
    const tb_forecast_spread *s = &f.usage[EU].month;
    int64_t truth = 21 * 105 + 1005;
    ck_assert(s->p5 > (truth - 60) * GB && s->p95 < (truth + 60) * GB);
}
END_TEST

/* Once in 26 weeks a day was five times the usual: it may come again, and most likely does not. */
START_TEST(a_lone_burst_may_come_again)
{
    for (int64_t t = 0; t < MOST; t++)
        columns[EU][t] = (uint64_t)((t == MOST - 60 ? 500 : 100) * GB + t * 37 % 11 * GB);
    know(MOST);
    make();
    const tb_forecast_spread *s = &f.usage[EU].month;
    ck_assert(s->p50 < (105 * DAYS + 100) * GB);
    ck_assert(s->p95 > (105 * DAYS + 380) * GB && s->p95 < (105 * DAYS + 1000) * GB);
}
END_TEST

/* The value of day t of a history. */
static uint64_t all_alike(int64_t t)
{
    return t >= 0 ? 7 : 0;
}
static uint64_t first_and_last(int64_t t)
{
    return t % (MOST - 1) == 0 ? TB_FORECAST_DAY_MAX : 0;
}
static uint64_t units_and_most(int64_t t)
{
    return t % 2 ? TB_FORECAST_DAY_MAX : 1;
}
static uint64_t a_gap_of_20_days(int64_t t)
{
    return t > MOST - 30 && t < MOST - 10 ? 0 : (uint64_t)(100 + t % 7) * GB;
}
static uint64_t twice_as_much_each_three_days(int64_t t)
{
    return UINT64_C(1) << (t % 168 / 3);
}
static uint64_t a_million_times_for_a_day(int64_t t)
{
    return (t == MOST - 2 ? UINT64_C(1000000) : 1) * (uint64_t)GB;
}
static uint64_t one_day_a_week(int64_t t)
{
    return t % 7 ? 0 : (uint64_t)GB;
}

static const struct {
    uint64_t (*day)(int64_t t);
    uint64_t most; /* of a day to come, by any chance */
} odd[] = {
    {all_alike, 8},
    {first_and_last, TB_FORECAST_DAY_MAX},
    {units_and_most, TB_FORECAST_DAY_MAX},
    {a_gap_of_20_days, 220 * GB},
    {twice_as_much_each_three_days, TB_FORECAST_DAY_MAX},
    {a_million_times_for_a_day, 12 * GB},
    {one_day_a_week, 4 * GB},
};
static const size_t odd_lengths[] = {28, 29, 35, 56, 60, MOST};

START_TEST(odd_series_stay_within_bounds)
{
    size_t n = odd_lengths[(size_t)_i % 6], which = (size_t)_i / 6;
    input.paths = 300;
    for (int64_t t = 0; t < MOST; t++)
        columns[EU][t] = odd[which].day(t);
    know(n);
    make();
    const tb_forecast_spread *s = &f.usage[EU].month;
    ck_assert(0 <= s->p5 && s->p5 <= s->p50 && s->p50 <= s->p95);
    ck_assert_msg(s->p95 <= (tb_i128)DAYS * (tb_i128)odd[which].most, "%zu of %zu days: %g", which,
                  n, (double)s->p95);
}
END_TEST

/* Three days at twice the level: they may be over, or go on. */
START_TEST(a_jump_of_the_last_days_may_stay_or_pass)
{
    for (int64_t t = 0; t < MOST; t++)
        columns[EU][t] = (uint64_t)((t < MOST - 3 ? 100 : 200) * GB + t * 37 % 11 * GB);
    know(MOST);
    make();
    const tb_forecast_spread *s = &f.usage[EU].month;
    ck_assert(s->p5 < 115 * DAYS * GB && s->p50 > 180 * DAYS * GB && s->p95 > 195 * DAYS * GB);
}
END_TEST

START_TEST(single_models_are_asked_for)
{
    for (int64_t t = 0; t < MOST; t++)
        columns[EU][t] = columns[VOLUME][t] = 100 * (uint64_t)GB;
    know(MOST);
    make();
    ck_assert(!f.has_single);
    input.singles = true;
    make();
    ck_assert(f.has_single);
    for (int i = 0; i < TB_FORECAST_SINGLE_COUNT; i++) {
        ck_assert(f.single[i].p5 >= 6199 * GB && f.single[i].p5 <= f.single[i].p50);
        ck_assert(f.single[i].p50 <= f.single[i].p95 && f.single[i].p95 <= 6201 * GB);
    }
    know(27);
    make();
    ck_assert(!f.has_single);
}
END_TEST

/* --- the same again --- */

START_TEST(the_same_seed_gives_the_same_answer_and_another_another)
{
    static tb_forecast first;
    for (int64_t t = 0; t < MOST; t++)
        columns[EU][t] = (uint64_t)(known_shape(t) + t * 37 % 11 * GB);
    know(MOST);
    make();
    first = f;
    make();
    ck_assert_mem_eq(&first.usage, &f.usage, sizeof f.usage);
    ck_assert_mem_eq(&first.net, &f.net, sizeof f.net);
    input.seed = 2;
    make();
    ck_assert_mem_ne(&first.usage, &f.usage, sizeof f.usage);
}
END_TEST

/* --- money --- */

static tb_i128 rate_alone(tb_charge charge, tb_i128 units)
{
    tb_bill bill;
    tb_bill_input own = month;
    tb_bill_bytes e = {.zone = 9, .charge = charge, .priced = true, .bytes = units};
    own.bytes = &e;
    own.n_bytes = 1;
    ck_assert_int_eq(tb_bill_rate(&own, NULL, &bill, NULL), TB_OK);
    tb_i128 amount = bill.subtotal.mantissa;
    tb_bill_release(&bill);
    return amount;
}

/* One series: money rises with usage but where the tier's price falls, so its range is that of the
 * usage's paths. Premium rises throughout: quantiles are those of the usage. */
START_TEST(money_is_what_the_bill_makes_of_the_usage)
{
    for (int64_t t = 0; t < MOST; t++)
        columns[EU][t] = (uint64_t)(known_shape(t) + t * 37 % 11 * GB);
    know(MOST);
    make();
    const tb_forecast_spread *u = &f.usage[EU].month;
    ck_assert(f.net.p5 == rate_alone(TB_CHARGE_PREMIUM, u->p5));
    ck_assert(f.net.p50 == rate_alone(TB_CHARGE_PREMIUM, u->p50));
    ck_assert(f.net.p95 == rate_alone(TB_CHARGE_PREMIUM, u->p95));
    ck_assert(f.bytes.p50 == u->p50);
}
END_TEST

/* About 10,000 GB: below 50 for the month, above 40 and 25 flat. */
START_TEST(paths_on_both_sides_of_a_kink_are_each_priced_right)
{
    for (int64_t t = 0; t < MOST; t++)
        columns[VOLUME][t] = (uint64_t)((322 + t * 37 % 11 * 8 - 40) * GB);
    know(MOST);
    make();
    const tb_forecast_spread *u = &f.usage[VOLUME].month;
    ck_assert(u->p5 < 10000 * GB && u->p95 > 10000 * GB);
    ck_assert(f.net.p5 < 5000 && f.net.p95 > 6500);
    ck_assert(f.net.p5 == rate_alone(TB_CHARGE_VOLUME, u->p5) || f.net.p5 < 5000);
}
END_TEST

START_TEST(usage_so_far_is_a_fact_and_the_minimum_holds)
{
    bytes[0] = (tb_bill_bytes){.zone = 5, .charge = TB_CHARGE_PREMIUM, .priced = true, .bytes = 7};
    month.n_bytes = 1;
    input.from_us += 10 * TB_US_PER_DAY;
    know(0);
    make();
    ck_assert(f.usage[EU].so_far == 7 && f.usage[EU].month.p95 == 7);
    ck_assert(f.net.p5 == 100 && f.net.mean == 100);
    input.rounding = (tb_decimal){-50, 2};
    make();
    ck_assert(f.net.p5 == 100);
}
END_TEST

START_TEST(a_book_that_starts_later_prices_what_comes_then)
{
    parts[0].to_us = later.effective_us;
    parts[1] = (tb_bill_part){&later, later.effective_us, (FIRST_DAY + DAYS) * TB_US_PER_DAY};
    month.n_parts = 2;
    for (int64_t t = 0; t < MOST; t++)
        columns[EU][t] = 100 * (uint64_t)GB;
    know(MOST);
    make();
    /* 15.25 days at 0.01 and 15.75 at 0.03 */
    ck_assert(f.net.p50 == 1525 + 4725);
    input.from_us += 16 * TB_US_PER_DAY + 12 * TB_US_PER_HOUR;
    know(MOST);
    make();
    ck_assert(f.net.p50 == 1450 * 3); /* 14.5 days are left */
}
END_TEST

START_TEST(requests_go_to_balancers_as_they_did_and_fees_are_the_months)
{
    for (int i = 0; i < 3; i++) {
        recents[i] = (tb_balancer_recent){i + 1, i == 2 ? 0 : (i + 1) * 1000};
        balancers[i] = (tb_bill_balancer){.balancer = i + 1, .seconds = 2678400, .requests = 10};
    }
    history.n_balancers = month.n_balancers = 3;
    for (int64_t t = 0; t < MOST; t++)
        columns[TB_USAGE_REQUESTS][t] = 3000000;
    know(MOST);
    make();
    ck_assert(f.usage[TB_USAGE_REQUESTS].month.p50 == 30 + 93000000);
    ck_assert(f.net.p50 == 3 * 950 + 2015 + 4030); /* 31 and 62 million at 0.65 */
    month.contract.discount = (tb_decimal){20, 0}; /* of fees, too */
    make();
    ck_assert_int_eq(f.net.p50, 7116);
}
END_TEST

START_TEST(mixes_and_mean_prices_are_kept)
{
    int own = tb_usage_column(TB_CHARGE_OVERRIDE, TB_REGION_EU);
    for (int64_t t = 0; t < MOST; t++)
        columns[EU][t] = columns[own][t] = 100 * (uint64_t)GB;
    know(MOST);
    history.premium[TB_REGION_EU][0] = 3;
    history.premium[TB_REGION_EU][50] = 1;
    history.override_bytes[TB_REGION_EU] = 2;
    history.override_cost[TB_REGION_EU] = (tb_decimal){5, 9}; /* 1 and 4 $/GB */
    make();
    /* 2325 GB at 0.01, 775 at half of it; 3100 at 2.5 */
    ck_assert(f.net.p50 == 2325 + 388 + 775000);
}
END_TEST

START_TEST(tax_is_on_the_whole)
{
    month.tax[0] = (tb_bill_tax){.name = "VAT", .percent = {20, 0}};
    month.n_tax = 1;
    for (int64_t t = 0; t < MOST; t++)
        columns[EU][t] = 100 * (uint64_t)GB;
    know(MOST);
    make();
    ck_assert(f.net.p50 == 3100 && f.gross.p50 == 3720);
}
END_TEST

START_TEST(usage_without_a_price_is_told_and_not_billed)
{
    int asia = tb_usage_column(TB_CHARGE_PREMIUM, TB_REGION_ASIA);
    for (int64_t t = 0; t < MOST; t++)
        columns[asia][t] = (uint64_t)GB;
    know(MOST);
    history.premium[TB_REGION_ASIA][0] = 1;
    make();
    ck_assert(!f.complete && f.net.p50 == 100 && f.usage[asia].month.p50 == 31 * GB);
}
END_TEST

/* --- refusals --- */

static void refused(tb_code expected, const char *field)
{
    tb_error err = {.field = ""};
    ck_assert_int_eq(tb_forecast_make(&input, NULL, &f, &err), expected);
    ck_assert_str_eq(err.field, field);
}

START_TEST(what_is_not_as_written_is_refused)
{
    know(0);
    input.paths = 0;
    refused(TB_E_VALIDATION, "paths");
    input.paths = TB_FORECAST_PATHS_MAX + 1;
    refused(TB_E_VALIDATION, "paths");
    input.paths = 100;
    input.seed = UINT64_C(1) << 32;
    refused(TB_E_VALIDATION, "seed");
    input.seed = 1;
    input.from_us++;
    refused(TB_E_VALIDATION, "from");
    input.from_us = (FIRST_DAY + DAYS) * TB_US_PER_DAY;
    refused(TB_E_VALIDATION, "from");
    input.from_us = (FIRST_DAY - 8) * TB_US_PER_DAY;
    refused(TB_E_VALIDATION, "from");
    input.from_us = (FIRST_DAY + 1) * TB_US_PER_DAY;
    refused(TB_E_VALIDATION, "history");
    know(1);
    month.running = true;
    refused(TB_E_VALIDATION, "month");
    month.running = false;
    columns[EU][MOST - 1] = (uint64_t)TB_FORECAST_DAY_MAX + 1;
    refused(TB_E_OVERFLOW, "history");
    columns[EU][MOST - 1]--;
    make();
    ck_assert(f.usage[EU].month.p50 == (tb_i128)TB_FORECAST_DAY_MAX * (DAYS - 1));
}
END_TEST

START_TEST(a_week_without_news_is_drawn_too_but_not_billed)
{
    for (int64_t t = 0; t < MOST; t++)
        columns[EU][t] = 100 * (uint64_t)GB;
    input.from_us -= 7 * TB_US_PER_DAY;
    know(MOST);
    make();
    ck_assert(f.usage[EU].month.p50 == 3100 * GB);
}
END_TEST

typedef struct failing {
    size_t left;
} failing;

static void *fail_later(void *ctx, void *ptr, size_t old, size_t size)
{
    failing *state = ctx;
    if (size && state->left-- == 0) {
        state->left = 0;
        return NULL;
    }
    return tb_alloc_resize(NULL, ptr, old, size);
}

START_TEST(lack_of_memory_is_an_error)
{
    size_t n = 0;
    tb_code code = TB_E_NOMEM;
    input.paths = 100;
    for (int64_t t = 0; t < MOST; t++)
        columns[EU][t] = 100 * (uint64_t)GB;
    know(MOST);
    for (; code; n++) {
        failing state = {n};
        const tb_alloc alloc = {fail_later, &state};
        code = tb_forecast_make(&input, &alloc, &f, NULL);
        ck_assert(code == TB_OK || code == TB_E_NOMEM);
        ck_assert_uint_lt(n, 10000);
    }
    ck_assert_uint_gt(n, 3);
}
END_TEST

/* --- parts --- */

START_TEST(quantiles_are_nearest_rank_and_the_mean_half_up)
{
    tb_i128 values[200];
    for (int i = 0; i < 200; i++)
        values[i] = (i * 77) % 200 + 1;
    tb_forecast_spread s = tb__spread(values, 200);
    ck_assert(s.p5 == 10 && s.p50 == 100 && s.p95 == 190 && s.mean == 101);
    values[0] = 7;
    s = tb__spread(values, 1);
    ck_assert(s.p5 == 7 && s.p95 == 7 && s.mean == 7);
    tb_i128 two[] = {4, 1};
    s = tb__spread(two, 2);
    ck_assert(s.p5 == 1 && s.p50 == 1 && s.p95 == 4 && s.mean == 3);
}
END_TEST

START_TEST(the_json_is_one_object_of_text_amounts)
{
    tb_buf out;
    know(0);
    make();
    tb_buf_init(&out, 1 << 16, NULL);
    ck_assert_int_eq(tb_forecast_json(&f, &out, NULL), TB_OK);
    tb_buf_add(&out, "", 1);
    ck_assert_str_eq(
        out.data,
        "{\"account\":1,\"month\":\"2026-10\",\"currency\":\"USD\",\"book\":\"standard\","
        "\"usage_until\":\"2026-10-01T00:00:00Z\",\"method\":\"so_far\",\"reason\":\"No complete "
        "day "
        "of history: the month stays as it is so far.\",\"seed\":1,\"generator\":\"mt19937\","
        "\"paths\":1000,\"money\":{\"net\":{\"mean\":\"1.00\",\"p5\":\"1.00\",\"p50\":\"1.00\","
        "\"p95\":\"1.00\"},\"gross\":{\"mean\":\"1.00\",\"p5\":\"1.00\",\"p50\":\"1.00\",\"p95\":"
        "\"1.00\"}},\"bytes\":{\"so_far\":\"0\",\"mean\":\"0\",\"p5\":\"0\",\"p50\":\"0\",\"p95\":"
        "\"0\"},\"usage\":[],\"complete\":true,\"unpriced\":[]}");
    tb_buf_release(&out);
}
END_TEST

static Suite *forecast_suite(void)
{
    Suite *suite = suite_create("forecast");
    TCase *series = tcase_create("series");
    tcase_set_timeout(series, 60);
    tcase_add_checked_fixture(series, set_up, tear_down);
    tcase_add_test(series, a_trend_and_a_season_are_found_again);
    tcase_add_test(series, a_lone_spike_does_not_move_the_forecast);
    tcase_add_test(series, a_shrinking_series_ends_at_zero_not_below);
    tcase_add_test(series, a_level_that_changed_for_good_is_the_new_one);
    tcase_add_loop_test(series, a_method_needs_its_days_and_says_which_it_is, 0,
                        (int)(sizeof lengths / sizeof *lengths));
    tcase_add_test(series, the_interval_holds_what_it_says);
    tcase_add_test(series, growth_in_percent_goes_on);
    tcase_add_test(series, days_of_the_month_that_stand_out_come_again);
    tcase_add_test(series, a_lone_burst_may_come_again);
    tcase_add_loop_test(series, odd_series_stay_within_bounds, 0,
                        (int)(6 * sizeof odd / sizeof *odd));
    tcase_add_test(series, a_jump_of_the_last_days_may_stay_or_pass);
    tcase_add_test(series, single_models_are_asked_for);
    tcase_add_test(series, the_same_seed_gives_the_same_answer_and_another_another);
    suite_add_tcase(suite, series);

    TCase *money = tcase_create("money");
    tcase_add_checked_fixture(money, set_up, tear_down);
    tcase_add_test(money, money_is_what_the_bill_makes_of_the_usage);
    tcase_add_test(money, paths_on_both_sides_of_a_kink_are_each_priced_right);
    tcase_add_test(money, usage_so_far_is_a_fact_and_the_minimum_holds);
    tcase_add_test(money, a_book_that_starts_later_prices_what_comes_then);
    tcase_add_test(money, requests_go_to_balancers_as_they_did_and_fees_are_the_months);
    tcase_add_test(money, mixes_and_mean_prices_are_kept);
    tcase_add_test(money, tax_is_on_the_whole);
    tcase_add_test(money, usage_without_a_price_is_told_and_not_billed);
    suite_add_tcase(suite, money);

    TCase *rest = tcase_create("rest");
    tcase_add_checked_fixture(rest, set_up, tear_down);
    tcase_add_test(rest, what_is_not_as_written_is_refused);
    tcase_add_test(rest, a_week_without_news_is_drawn_too_but_not_billed);
    tcase_add_test(rest, lack_of_memory_is_an_error);
    tcase_add_test(rest, quantiles_are_nearest_rank_and_the_mean_half_up);
    tcase_add_test(rest, the_json_is_one_object_of_text_amounts);
    suite_add_tcase(suite, rest);
    return suite;
}

int main(void)
{
    SRunner *runner = srunner_create(forecast_suite());
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
