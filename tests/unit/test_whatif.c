/* whatif.h: the replay, by hand. Prices are whole dollars per GB where it helps to see the sums.
 * Random portfolios are the business of tests/prop/prop_whatif.c and tests/oracle. */
#include "tollbook/whatif.h"

#include "tollbook/calendar.h"
#include "whatif/replay.h"

#include <check.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MONTH 672 /* January 2026 */
#define GB    INT64_C(1000000000)
#define MOST  16

#define BOOK(id, currency, from, rest)                                                             \
    "{\"book\":\"" id "\",\"currency\":\"" currency "\",\"effective_from\":\"" from "\"," rest "}"
#define PREMIUM(eu, na)                                                                            \
    "\"bandwidth\":{\"premium\":{\"per\":\"GB\",\"regions\":{\"EU\":\"" eu "\",\"NA\":\"" na       \
    "\"}},\"volume\":{\"per\":\"GB\",\"tiers\":[{\"from\":0,\"to\":null,\"price\":\"1\"}]}},"      \
    "\"load_balancer\":{\"monthly_fee\":\"0\",\"tiers\":[{\"from_millions\":0,"                    \
    "\"to_millions\":null,\"price_per_million\":\"1\"}]},"                                            \
    "\"meters\":{\"calls\":{\"per\":\"1\",\"scope\":\"resource\",\"price\":\"2\"},"                       \
    "\"port\":{\"per\":\"byte\",\"percentile\":\"50\",\"price\":\"1\"}}"

static const char *const documents[] = {
    BOOK("usd", "USD", "2026-01-01T00:00:00Z", PREMIUM("10", "20")),
    BOOK("usd-late", "USD", "2026-03-01T00:00:00Z", PREMIUM("30", "30")),
    BOOK("eur", "EUR", "2026-01-01T00:00:00Z", PREMIUM("5", "5")),
};
enum { USD, LATE, EUR, BOOKS };
static tb_book books[BOOKS];

static tb_scenario scenarios[MOST];
static size_t n_scenarios;
static tb_whatif *replay;
static tb_whatif_result result;
static tb_error err;

static tb_bill_input in;
static tb_bill_part part;
static tb_bill_bytes bytes[MOST];
static tb_bill_balancer balancers[MOST];

static void begin(void)
{
    for (int i = 0; i < BOOKS; i++)
        ck_assert_int_eq(tb_book_parse(documents[i], strlen(documents[i]), NULL, &books[i], &err),
                         TB_OK);
    n_scenarios = 0;
    replay = NULL;
    result = (tb_whatif_result){.memory = NULL};
}

static void end(void)
{
    tb_whatif_result_release(&result);
    tb_whatif_free(replay);
    for (size_t i = 0; i < n_scenarios; i++)
        tb_scenario_release(&scenarios[i]);
    for (int i = 0; i < BOOKS; i++)
        tb_book_release(&books[i]);
}

/* rest: what stands behind the name. */
static void scenario(const char *rest)
{
    char text[1000];
    snprintf(text, sizeof text, "{\"scenario\":\"s%zu\"%s%s}", n_scenarios, *rest ? "," : "", rest);
    tb_code code = tb_scenario_parse(text, strlen(text), NULL, &scenarios[n_scenarios], &err);
    ck_assert_msg(code == TB_OK, "%s: %s", err.field, err.message);
    n_scenarios++;
}

static void start(void)
{
    tb_code code = tb_whatif_new(scenarios, n_scenarios, books, BOOKS, NULL, &replay, &err);
    ck_assert_msg(code == TB_OK, "%s: %s", err.field, err.message);
}

#define EU_PLUS_10                                                                                 \
    "\"base\":\"usd\",\"patch\":{\"bandwidth\":{\"premium\":{\"regions\":{\"EU\":\"11\"}}}}"

/* --- inputs --- */

static void month(int64_t account, int at, const tb_book *book)
{
    int64_t m = MONTH + at;
    part = (tb_bill_part){book, tb_month_first_day(m) * TB_US_PER_DAY,
                          tb_month_first_day(m + 1) * TB_US_PER_DAY};
    in = (tb_bill_input){.account = account,
                         .month = m,
                         .currency = "USD",
                         .parts = &part,
                         .n_parts = 1,
                         .bytes = bytes,
                         .balancers = balancers};
    if (book) memcpy(in.currency, book->currency, sizeof in.currency);
}

static tb_bill_bytes *add_bytes(int64_t zone, tb_charge charge, tb_billing_region region, tb_i128 n)
{
    tb_bill_bytes *e = &bytes[in.n_bytes++];
    *e = (tb_bill_bytes){
        .zone = zone, .charge = charge, .priced = true, .region = region, .bytes = n};
    e->override_price = (tb_decimal){4, 9};
    return e;
}

static void add_requests(int64_t balancer, tb_i128 n)
{
    balancers[in.n_balancers++] = (tb_bill_balancer){.balancer = balancer, .requests = n};
}

static void feed(void)
{
    tb_code code = tb_whatif_add(replay, &in, &err);
    ck_assert_msg(code == TB_OK, "%s: %s", err.field, err.message);
}

/* One month of GB in EU and NA. */
static void feed_gb(int64_t account, int at, int eu, int na)
{
    month(account, at, &books[USD]);
    add_bytes(account * 100, TB_CHARGE_PREMIUM, TB_REGION_EU, eu * GB);
    add_bytes(account * 100, TB_CHARGE_PREMIUM, TB_REGION_NA, na * GB);
    feed();
}

/* --- answers --- */

static const tb_whatif_group *group_of(size_t number)
{
    tb_whatif_result_release(&result);
    ck_assert_int_eq(tb_whatif_finish(replay, &err), TB_OK);
    tb_code code = tb_whatif_result_make(replay, number, &result, &err);
    ck_assert_msg(code == TB_OK, "%s", err.message);
    return result.groups;
}

static void is(tb_decimal value, const char *text)
{
    char out[TB_DECIMAL_TEXT_MAX + 1];
    *tb_decimal_put(out, value) = 0;
    ck_assert_str_eq(out, text);
}

static void changes(const tb_whatif_change *c, const char *before, const char *after,
                    const char *percent)
{
    tb_decimal delta;
    is(c->before, before);
    is(c->after, after);
    ck_assert_int_eq(tb_decimal_sub(c->after, c->before, &delta, NULL), TB_OK);
    ck_assert_int_eq(tb_decimal_compare(delta, c->delta), 0);
    ck_assert_int_eq(c->has_percent, percent != NULL);
    if (percent) is(c->percent, percent);
}

/* --- prices --- */

START_TEST(a_changed_price_changes_what_it_prices)
{
    scenario(EU_PLUS_10);
    start();
    feed_gb(1, 0, 3, 2);
    feed_gb(1, 1, 4, 0);
    feed_gb(2, 1, 0, 7);
    const tb_whatif_group *g = group_of(0);
    ck_assert_uint_eq(result.n_groups, 1);
    ck_assert_str_eq(g->currency, "USD");
    ck_assert_int_eq(g->minor_digits, 2);
    ck_assert_uint_eq(g->bills, 3);
    changes(&g->total, "250", "257", "2.8");
    ck_assert_uint_eq(g->n_accounts, 2);
    ck_assert_int_eq(g->accounts[0].account, 1);
    ck_assert_uint_eq(g->accounts[0].months, 2);
    changes(&g->accounts[0].change, "110", "117", "6.3636");
    changes(&g->accounts[1].change, "140", "140", "0");
    ck_assert_uint_eq(g->n_months, 2);
    ck_assert_int_eq(g->months[0].month, MONTH);
    ck_assert_uint_eq(g->months[1].accounts, 2);
    changes(&g->months[0].change, "70", "73", "4.2857");
    changes(&g->months[1].change, "180", "184", "2.2222");
    ck_assert(g->losers == 1 && g->winners == 0 && g->same == 1);
}
END_TEST

START_TEST(an_empty_patch_changes_nothing)
{
    scenario("\"base\":\"usd\"");
    start();
    feed_gb(1, 0, 3, 2);
    changes(&group_of(0)->total, "70", "70", "0");
    ck_assert_uint_eq(result.n_books, 1);
    ck_assert_ptr_eq(result.books[0].base, &books[USD]);
    ck_assert_str_eq(result.books[0].book->sha256, books[USD].sha256);
    ck_assert_ptr_eq(result.scenario, &scenarios[0]);
}
END_TEST

START_TEST(many_scenarios_are_one_replay)
{
    scenario("\"base\":\"usd\"");
    scenario(EU_PLUS_10);
    scenario(
        "\"base\":\"usd\",\"patch\":{\"bandwidth\":{\"premium\":{\"regions\":{\"NA\":\"1\"}}}}");
    start();
    feed_gb(1, 0, 1, 1);
    changes(&group_of(0)->total, "30", "30", "0");
    changes(&group_of(1)->total, "30", "31", "3.3333");
    changes(&group_of(2)->total, "30", "11", "-63.3333");
    ck_assert_uint_eq(result.groups->winners, 1);
}
END_TEST

START_TEST(nothing_before_has_no_percent)
{
    scenario("\"base\":\"usd\",\"patch\":{\"minimum_monthly\":\"2\"}");
    start();
    month(1, 0, &books[USD]);
    in.active_zone = true;
    feed();
    const tb_whatif_group *g = group_of(0);
    changes(&g->total, "0", "2", NULL);
    ck_assert_uint_eq(g->percent.n, 0);
    ck_assert_uint_eq(g->delta.n, 1);
}
END_TEST

START_TEST(amounts_are_sums_of_rounded_lines)
{
    scenario(
        "\"base\":\"usd\",\"patch\":{\"bandwidth\":{\"premium\":{\"regions\":{\"EU\":\"12\"}}}}");
    start();
    for (int at = 0; at < 3; at++) {
        month(1, at, &books[USD]);
        add_bytes(1, TB_CHARGE_PREMIUM, TB_REGION_EU, 450000); /* 0.0045: 0.00, then 0.0054: 0.01 */
        feed();
    }
    changes(&group_of(0)->total, "0", "0.03", NULL);
}
END_TEST

/* --- which books --- */

START_TEST(a_scenario_stands_where_its_base_is_in_force)
{
    scenario("\"base\":\"usd-late\",\"patch\":{\"bandwidth\":{\"premium\":{\"regions\":{\"EU\":"
             "\"1\"}}}}");
    scenario("\"base\":\"usd-late\",\"replaces\":\"all\"");
    scenario("\"patch\":{\"bandwidth\":{\"premium\":{\"regions\":{\"EU\":\"7\"}}}}");
    start();
    month(1, 0, NULL);
    add_bytes(1, TB_CHARGE_PREMIUM, TB_REGION_EU, GB);
    feed();
    feed_gb(1, 1, 1, 0);
    month(1, 2, &books[LATE]);
    add_bytes(1, TB_CHARGE_PREMIUM, TB_REGION_EU, GB);
    feed();
    changes(&group_of(0)->total, "40", "11", "-72.5");
    ck_assert_uint_eq(result.unpriced_bills, 1);
    changes(&group_of(1)->total, "40", "90", "125");
    ck_assert_uint_eq(result.unpriced_bills, 0);
    changes(&group_of(2)->total, "40", "14", "-65");
    ck_assert_uint_eq(result.n_books, BOOKS);
}
END_TEST

START_TEST(another_currency_is_left_out_and_counted)
{
    scenario(EU_PLUS_10);
    scenario("\"patch\":{\"bandwidth\":{\"premium\":{\"regions\":{\"EU\":\"6\"}}}}");
    start();
    feed_gb(1, 0, 1, 0);
    for (int at = 0; at < 2; at++) {
        month(2, at, &books[EUR]);
        add_bytes(1, TB_CHARGE_PREMIUM, TB_REGION_EU, GB);
        feed();
    }
    changes(&group_of(0)->total, "10", "11", "10");
    ck_assert_uint_eq(result.n_groups, 1);
    ck_assert(result.other_accounts == 1 && result.other_bills == 2);
    const tb_whatif_group *g = group_of(1);
    ck_assert_uint_eq(result.n_groups, 2);
    ck_assert(result.other_accounts == 0 && result.other_bills == 0);
    ck_assert_str_eq(g[0].currency, "EUR");
    changes(&g[0].total, "10", "12", "20");
    changes(&g[1].total, "10", "6", "-40");
}
END_TEST

START_TEST(an_account_may_change_its_currency)
{
    scenario("\"usage\":[{\"factor\":2}]");
    start();
    feed_gb(1, 0, 1, 0);
    month(1, 1, &books[EUR]);
    add_bytes(1, TB_CHARGE_PREMIUM, TB_REGION_EU, GB);
    feed();
    feed_gb(1, 2, 1, 0);
    const tb_whatif_group *g = group_of(0);
    changes(&g[0].total, "5", "10", "100");
    changes(&g[1].total, "20", "40", "100");
    ck_assert(g[0].accounts[0].months == 1 && g[1].accounts[0].months == 2);
    ck_assert(g[0].n_increases == 1 && g[1].n_increases == 1);
    changes(&g[1].increases[0].lines[0].change, "20", "40", "100");
}
END_TEST

START_TEST(scenarios_are_checked_before_anything_is_rated)
{
    ck_assert_int_eq(tb_whatif_new(scenarios, 0, books, BOOKS, NULL, &replay, &err),
                     TB_E_VALIDATION);
    ck_assert_int_eq(
        tb_whatif_new(scenarios, TB_WHATIF_SCENARIOS_MAX + 1, books, BOOKS, NULL, &replay, &err),
        TB_E_VALIDATION);
    scenario("\"base\":\"nowhere\"");
    ck_assert_int_eq(tb_whatif_new(scenarios, 1, books, BOOKS, NULL, &replay, &err),
                     TB_E_VALIDATION);
    ck_assert_str_eq(err.field, "base");
    scenario("\"patch\":{\"bandwidth\":1}");
    ck_assert_int_eq(tb_whatif_new(scenarios + 1, 1, books, BOOKS, NULL, &replay, &err), TB_E_BOOK);
    ck_assert_str_eq(err.field, "patch.bandwidth");
    scenario(EU_PLUS_10);
    memcpy(scenarios[0].name, scenarios[2].name, sizeof scenarios[0].name);
    ck_assert_int_eq(tb_whatif_new(scenarios, 3, books, BOOKS, NULL, &replay, &err),
                     TB_E_VALIDATION);
    ck_assert_str_eq(err.field, "scenario");
    ck_assert_ptr_null(replay);
}
END_TEST

/* --- usage --- */

/* A month with one of everything: 10 + 20 + 1 (volume) + 4 (override) + 1 (requests). */
static void feed_everything(int64_t account)
{
    month(account, 0, &books[USD]);
    add_bytes(1, TB_CHARGE_PREMIUM, TB_REGION_EU, GB);
    add_bytes(1, TB_CHARGE_PREMIUM, TB_REGION_NA, GB);
    add_bytes(2, TB_CHARGE_VOLUME, TB_REGION_EU, GB);
    add_bytes(3, TB_CHARGE_OVERRIDE, TB_REGION_NA, GB);
    add_requests(1, 1000000);
    feed();
}

static void usage_gives(const char *entries, const char *after)
{
    char text[500];
    snprintf(text, sizeof text, "\"base\":\"usd\",\"usage\":[%s]", entries);
    scenario(text);
    start();
    feed_everything(5);
    is(group_of(0)->total.before, "36");
    is(result.groups->total.after, after);
    tb_whatif_free(replay);
    replay = NULL;
    tb_scenario_release(&scenarios[--n_scenarios]);
}

START_TEST(factors_apply_to_what_they_name)
{
    usage_gives("{\"factor\":2}", "72");
    usage_gives("{\"factor\":2,\"product\":\"bandwidth\"}", "71");
    usage_gives("{\"factor\":2,\"product\":\"premium\"}", "66");
    usage_gives("{\"factor\":2,\"product\":\"volume\"}", "37");
    usage_gives("{\"factor\":2,\"product\":\"override\"}", "40");
    usage_gives("{\"factor\":2,\"product\":\"load_balancer\"}", "37");
    usage_gives("{\"factor\":2,\"region\":\"EU\"}", "47");
    usage_gives("{\"factor\":2,\"region\":\"EU\",\"product\":\"volume\"}", "37");
    usage_gives("{\"factor\":2,\"zone\":3}", "40");
    usage_gives("{\"factor\":2,\"zone\":3,\"region\":\"EU\"}", "36");
    usage_gives("{\"factor\":2,\"load_balancer\":1}", "37");
    usage_gives("{\"factor\":2,\"load_balancer\":2}", "36");
    usage_gives("{\"factor\":2,\"account\":5}", "72");
    usage_gives("{\"factor\":2,\"account\":6}", "36");
}
END_TEST

START_TEST(factors_that_match_are_multiplied)
{
    usage_gives("{\"factor\":2},{\"factor\":3,\"region\":\"EU\"}", "116"); /* 2 x 25 + 6 x 11 */
    usage_gives("{\"factor\":\"0.5\"},{\"factor\":\"2\"}", "36");
}
END_TEST

START_TEST(a_factor_may_be_zero)
{
    usage_gives("{\"factor\":0}", "0");
    usage_gives("{\"factor\":0,\"zone\":1},{\"factor\":1000000,\"zone\":1}", "6");
}
END_TEST

START_TEST(scaled_usage_is_rounded_half_up_to_whole_units)
{
    scenario("\"base\":\"usd\",\"usage\":[{\"factor\":\"0.5\"}],"
             "\"patch\":{\"bandwidth\":{\"premium\":{\"regions\":{\"EU\":\"10000000\"}}}}");
    start();
    month(1, 0, &books[USD]);
    add_bytes(1, TB_CHARGE_PREMIUM, TB_REGION_EU, 5); /* 2.5: 3 bytes at 0.01 */
    feed();
    is(group_of(0)->total.after, "0.03");
}
END_TEST

/* The input's lists are overwritten once it was fed, as those of a source that is read for the next month are. */
static void feed_metered(int at, int calls)
{
    tb_meter meters[2] = {{.id = "calls", .noun = "script", .unit = "call", .kind = TB_METER_COUNTER, .display_per = 1},
                          {.id = "port", .unit = "byte", .kind = TB_METER_SAMPLE, .display_per = 1, .interval = 3600}};
    char name[] = "script-1", none[] = "";
    uint64_t values[744];
    tb_bill_usage usage = {.meter = 0, .resource = name, .dimension = {none, none}, .quantity = calls};
    tb_bill_samples samples = {.meter = 1, .resource = name, .dimension = {none, none}, .value = values, .interval = 3600};
    month(1, at, &books[USD]);
    samples.n = samples.present = (size_t)((part.to_us - part.from_us) / TB_US_PER_HOUR);
    for (size_t i = 0; i < samples.n; i++)
        values[i] = 3;
    in.meters = meters;
    in.n_meters = 2;
    in.usage = &usage;
    in.samples = &samples;
    in.n_usage = in.n_samples = 1;
    feed();
    memset(meters, 0xff, sizeof meters);
    memset(name, 'x', sizeof name - 1);
    memset(values, 0xff, sizeof values);
    memset(&usage, 0xff, sizeof usage);
    memset(&samples, 0xff, sizeof samples);
}

START_TEST(factors_and_patches_change_meters)
{
    scenario("\"base\":\"usd\",\"usage\":[{\"meter\":\"calls\",\"factor\":3}]");
    scenario("\"base\":\"usd\",\"patch\":{\"meters\":{\"calls\":{\"price\":\"2.50\"}}}");
    scenario("\"base\":\"usd\",\"usage\":[{\"meter\":\"port\",\"factor\":\"1.5\"}]");
    start();
    feed_metered(0, 10);
    feed_metered(1, 20);
    const tb_whatif_group *g = group_of(0);
    is(g->total.before, "66"); /* 30 calls, and 3 bytes in each month */
    is(g->total.after, "186");
    ck_assert_uint_eq(g->increases[0].n_lines, 1);
    ck_assert_str_eq(g->increases[0].lines[0].item, "calls");
    ck_assert_str_eq(g->increases[0].lines[0].resource, "script:script-1");
    changes(&g->increases[0].lines[0].change, "60", "180", "200");
    is(group_of(1)->total.after, "81");
    g = group_of(2); /* 4.5 bytes are 5 */
    is(g->total.after, "70");
    ck_assert_str_eq(g->increases[0].lines[0].item, "port");
    changes(&g->increases[0].lines[0].change, "6", "10", "66.6667");
}
END_TEST

START_TEST(too_many_digits_of_factors_are_refused_not_cut)
{
    scenario("\"usage\":[{\"factor\":\"999999.999999\"},{\"factor\":\"999999.999999\"},"
             "{\"factor\":\"999999.999999\"},{\"factor\":\"999999.999999\"}]");
    start();
    month(7, 0, &books[USD]);
    add_bytes(1, TB_CHARGE_PREMIUM, TB_REGION_EU, GB);
    ck_assert_int_eq(tb_whatif_add(replay, &in, &err), TB_E_OVERFLOW);
    ck_assert_ptr_nonnull(strstr(err.message, "Scenario s0, account 7, 2026-01"));
}
END_TEST

START_TEST(a_bill_too_large_for_sums_names_its_account_and_month)
{
    scenario(EU_PLUS_10);
    start();
    month(7, 0, &books[USD]);
    add_bytes(1, TB_CHARGE_OVERRIDE, TB_REGION_EU, (tb_i128)1000000000 * GB)->override_price =
        (tb_decimal){(tb_i128)1000000000 * GB, 0};
    ck_assert_int_eq(tb_whatif_add(replay, &in, &err), TB_E_OVERFLOW);
    ck_assert_str_eq(err.message, "Account 7, 2026-01: A bill passes 2^96-1 minor units.");
    feed_gb(8, 0, 1, 0); /* it goes on without */
    ck_assert_uint_eq(group_of(0)->n_accounts, 1);
}
END_TEST

START_TEST(a_percentage_that_no_decimal_holds_is_none)
{
    ck_assert(!tb__change_of(1, (tb_i128)1 << 120, 2).has_percent);
    ck_assert(!tb__change_of(0, 1, 2).has_percent);
    tb_whatif_change less = tb__change_of(3, 1, 2);
    ck_assert(less.has_percent);
    is(less.percent, "-66.6667");
}
END_TEST

/* --- who --- */

START_TEST(the_largest_increases_come_first)
{
    scenario(EU_PLUS_10);
    start();
    for (int64_t account = 1; account <= 14; account++)
        feed_gb(account, 0, (int)(account % 7) + 1, 1); /* two accounts of each size, 1 to 7 */
    const tb_whatif_group *g = group_of(0);
    ck_assert_uint_eq(g->n_increases, TB_WHATIF_INCREASES_MAX);
    const int64_t order[] = {6, 13, 5, 12, 4, 11, 3, 10, 2, 9};
    for (int i = 0; i < TB_WHATIF_INCREASES_MAX; i++) {
        const tb_whatif_increase *x = &g->increases[i];
        ck_assert_int_eq(x->account, order[i]);
        ck_assert_uint_eq(x->n_lines, 1);
        ck_assert_uint_eq(x->more_lines, 0);
        ck_assert_int_eq(x->lines[0].kind, TB_LINE_BANDWIDTH);
        ck_assert_str_eq(x->lines[0].region, "EU");
        ck_assert_int_eq(tb_decimal_compare(x->lines[0].change.delta, x->change.delta), 0);
    }
    is(g->increases[0].change.delta, "7");
    ck_assert_str_eq(g->increases[0].lines[0].resource, "zone:600");
}
END_TEST

START_TEST(lines_are_summed_over_months_and_cut_at_ten)
{
    scenario("\"base\":\"usd\",\"usage\":[{\"factor\":2}]");
    start();
    for (int at = 0; at < 2; at++) {
        month(1, at, &books[USD]);
        for (int zone = 1; zone <= 12; zone++)
            add_bytes(zone, TB_CHARGE_PREMIUM, TB_REGION_EU, zone * GB);
        add_requests(9, at ? 1000000 : 0);
        feed();
    }
    const tb_whatif_increase *x = group_of(0)->increases;
    ck_assert_uint_eq(x->n_lines, TB_WHATIF_LINES_MAX);
    ck_assert_uint_eq(x->more_lines, 3);
    ck_assert_int_eq(x->lines[0].id, 12);
    changes(&x->lines[0].change, "240", "480", "100");
    ck_assert_int_eq(x->lines[9].id, 3);
}
END_TEST

START_TEST(who_pays_less_is_no_increase)
{
    scenario(
        "\"base\":\"usd\",\"patch\":{\"bandwidth\":{\"premium\":{\"regions\":{\"EU\":\"9\"}}}}");
    start();
    feed_gb(1, 0, 1, 0);
    feed_gb(2, 0, 0, 1);
    const tb_whatif_group *g = group_of(0);
    ck_assert(g->n_increases == 0 && g->winners == 1 && g->same == 1 && g->losers == 0);
}
END_TEST

START_TEST(spreads_are_nearest_ranks)
{
    scenario(EU_PLUS_10);
    start();
    for (int64_t account = 1; account <= 41; account++)
        feed_gb(account, 0, (int)(42 - account), 0);
    const tb_whatif_group *g = group_of(0);
    ck_assert(g->delta.n == 41 && g->percent.n == 41);
    is(g->delta.p5, "3"); /* the 2.05th, 20.5th and 38.95th, rounded up */
    is(g->delta.p50, "21");
    is(g->delta.p95, "39");
    is(g->percent.p5, "10");
}
END_TEST

/* --- without a price --- */

START_TEST(usage_without_a_price_is_listed)
{
    scenario("\"base\":\"usd\",\"patch\":{\"bandwidth\":{\"premium\":{\"regions\":{\"EU\":null}}}},"
             "\"usage\":[{\"factor\":3}]");
    start();
    feed_gb(1, 0, 1, 1);
    feed_gb(1, 1, 2, 1);
    month(2, 1, &books[USD]);
    add_bytes(1, TB_CHARGE_PREMIUM, TB_REGION_SA, 5);
    feed();
    changes(&group_of(0)->total, "70", "120", "71.4286");
    ck_assert(result.unpriced_bills == 3 && result.n_unpriced == 2 && result.more_unpriced == 0);
    const tb_whatif_unpriced *u = result.unpriced;
    ck_assert(u[0].account == 1 && u[0].month == MONTH && !u[0].before);
    ck_assert_str_eq(u[0].usage.resource, "zone:100");
    ck_assert_str_eq(u[0].usage.what, "EU");
    ck_assert(u[0].usage.quantity == 9 * GB);
    ck_assert(u[1].account == 2 && u[1].before && u[1].usage.quantity == 15);
}
END_TEST

/* Only what has no price today in any of its months is nothing new. */
START_TEST(what_has_a_price_today_in_one_month_is_new)
{
    scenario("\"base\":\"usd\",\"replaces\":\"all\","
             "\"patch\":{\"bandwidth\":{\"premium\":{\"regions\":{\"EU\":null}}}}");
    start();
    for (int64_t account = 1; account <= 2; account++)
        for (int at = 0; at < 2; at++) {
            month(account, at, at || account == 2 ? NULL : &books[USD]);
            add_bytes(1, TB_CHARGE_PREMIUM, TB_REGION_EU, 1);
            feed();
        }
    group_of(0);
    ck_assert_uint_eq(result.n_unpriced, 2);
    ck_assert(!result.unpriced[0].before && result.unpriced[0].usage.quantity == 2);
    ck_assert(result.unpriced[1].before && result.unpriced[1].usage.quantity == 2);
}
END_TEST

START_TEST(the_list_of_what_has_no_price_is_bounded)
{
    scenario(
        "\"base\":\"usd\",\"patch\":{\"bandwidth\":{\"premium\":{\"regions\":{\"EU\":null}}}}");
    start();
    for (int64_t account = 1; account <= TB_WHATIF_UNPRICED_MAX + 5; account++) {
        feed_gb(account, 0, 1, 0);
        feed_gb(account, 1, 1, 0);
    }
    group_of(0);
    ck_assert_uint_eq(result.n_unpriced, TB_WHATIF_UNPRICED_MAX);
    ck_assert_uint_eq(result.unpriced_bills, 2 * (TB_WHATIF_UNPRICED_MAX + 5));
    ck_assert_uint_eq(result.more_unpriced, 10);
    ck_assert(result.unpriced[TB_WHATIF_UNPRICED_MAX - 1].usage.quantity == 2 * GB);
}
END_TEST

/* --- feeding --- */

START_TEST(bills_ascend_by_account_and_month)
{
    scenario(EU_PLUS_10);
    start();
    feed_gb(2, 1, 1, 0);
    month(2, 1, &books[USD]);
    ck_assert_int_eq(tb_whatif_add(replay, &in, &err), TB_E_VALIDATION);
    month(1, 2, &books[USD]);
    ck_assert_int_eq(tb_whatif_add(replay, &in, &err), TB_E_VALIDATION);
    ck_assert_int_eq(tb_whatif_result_make(replay, 0, &result, &err), TB_E_VALIDATION);
    changes(&group_of(0)->total, "10", "11", "10");
    ck_assert_int_eq(tb_whatif_result_make(replay, 1, &result, &err), TB_E_VALIDATION);
    month(3, 0, &books[USD]);
    ck_assert_int_eq(tb_whatif_add(replay, &in, &err), TB_E_VALIDATION);
}
END_TEST

START_TEST(an_input_that_fails_leaves_no_trace)
{
    scenario(EU_PLUS_10);
    start();
    feed_gb(1, 0, 1, 0);
    month(1, 1, &books[USD]);
    add_bytes(4, TB_CHARGE_PREMIUM, TB_REGION_EU, -1);
    ck_assert_int_eq(tb_whatif_add(replay, &in, &err), TB_E_DIFFERENT);
    ck_assert_str_eq(err.field, "zone:4");
    ck_assert_ptr_nonnull(strstr(err.message, "Account 1, 2026-02"));
    feed_gb(1, 1, 1, 0);
    const tb_whatif_group *g = group_of(0);
    ck_assert_uint_eq(g->bills, 2);
    changes(&g->total, "20", "22", "10");
}
END_TEST

START_TEST(a_replay_of_nothing_has_no_groups)
{
    scenario(EU_PLUS_10);
    start();
    group_of(0);
    ck_assert_uint_eq(result.n_groups, 0);
    ck_assert_uint_eq(result.n_books, 1);
}
END_TEST

START_TEST(the_input_is_copied)
{
    scenario(EU_PLUS_10);
    start();
    feed_gb(1, 0, 2, 0);
    memset(bytes, 0x55, sizeof bytes);
    memset(&part, 0x55, sizeof part);
    changes(&group_of(0)->increases[0].lines[0].change, "20", "22", "10");
}
END_TEST

/* --- memory --- */

typedef struct budget {
    size_t left, held;
} budget;

static void *budget_resize(void *ctx, void *ptr, size_t old, size_t size)
{
    budget *b = ctx;
    if (size > old && b->left == 0) return NULL;
    b->left -= size > old;
    b->held += size - old;
    return tb_alloc_resize(NULL, ptr, old, size);
}

static tb_code whole(const tb_alloc *alloc)
{
    tb_whatif *w;
    tb_whatif_result r;
    tb_code code = tb_whatif_new(scenarios, n_scenarios, books, BOOKS, alloc, &w, &err);
    if (code) return code;
    for (int account = 1; account <= 40 && !code; account++) {
        month(account, account, &books[USD]);
        add_bytes(1, TB_CHARGE_PREMIUM, TB_REGION_EU, account * GB);
        add_bytes(1, TB_CHARGE_PREMIUM, TB_REGION_SA, account * GB);
        code = tb_whatif_add(w, &in, &err);
    }
    if (!code) code = tb_whatif_finish(w, &err);
    if (!code) code = tb_whatif_result_make(w, 0, &r, &err);
    if (!code) tb_whatif_result_release(&r);
    tb_whatif_free(w);
    return code;
}

START_TEST(every_allocation_may_fail)
{
    scenario("\"usage\":[{\"factor\":2}]");
    tb_code code = TB_E_NOMEM;
    for (size_t n = 0; code == TB_E_NOMEM; n++) {
        budget b = {.left = n};
        tb_alloc alloc = {budget_resize, &b};
        code = whole(&alloc);
        ck_assert_uint_eq(b.held, 0);
        ck_assert_uint_lt(n, 10000);
    }
    ck_assert_int_eq(code, TB_OK);
    tb_whatif_free(NULL);
}
END_TEST

static void add_prices(TCase *t)
{
    tcase_add_test(t, a_changed_price_changes_what_it_prices);
    tcase_add_test(t, an_empty_patch_changes_nothing);
    tcase_add_test(t, many_scenarios_are_one_replay);
    tcase_add_test(t, nothing_before_has_no_percent);
    tcase_add_test(t, amounts_are_sums_of_rounded_lines);
    tcase_add_test(t, a_scenario_stands_where_its_base_is_in_force);
    tcase_add_test(t, another_currency_is_left_out_and_counted);
    tcase_add_test(t, an_account_may_change_its_currency);
    tcase_add_test(t, scenarios_are_checked_before_anything_is_rated);
}

static void add_usage(TCase *t)
{
    tcase_add_test(t, factors_apply_to_what_they_name);
    tcase_add_test(t, factors_that_match_are_multiplied);
    tcase_add_test(t, a_factor_may_be_zero);
    tcase_add_test(t, scaled_usage_is_rounded_half_up_to_whole_units);
    tcase_add_test(t, factors_and_patches_change_meters);
    tcase_add_test(t, too_many_digits_of_factors_are_refused_not_cut);
    tcase_add_test(t, a_bill_too_large_for_sums_names_its_account_and_month);
    tcase_add_test(t, a_percentage_that_no_decimal_holds_is_none);
}

static void add_answers(TCase *t)
{
    tcase_add_test(t, the_largest_increases_come_first);
    tcase_add_test(t, lines_are_summed_over_months_and_cut_at_ten);
    tcase_add_test(t, who_pays_less_is_no_increase);
    tcase_add_test(t, spreads_are_nearest_ranks);
    tcase_add_test(t, usage_without_a_price_is_listed);
    tcase_add_test(t, what_has_a_price_today_in_one_month_is_new);
    tcase_add_test(t, the_list_of_what_has_no_price_is_bounded);
    tcase_add_test(t, bills_ascend_by_account_and_month);
    tcase_add_test(t, an_input_that_fails_leaves_no_trace);
    tcase_add_test(t, a_replay_of_nothing_has_no_groups);
    tcase_add_test(t, the_input_is_copied);
    tcase_add_test(t, every_allocation_may_fail);
}

int main(void)
{
    Suite *suite = suite_create("what-if");
    TCase *t = tcase_create("replay");
    tcase_add_checked_fixture(t, begin, end);
    tcase_set_timeout(t, 60);
    add_prices(t);
    add_usage(t);
    add_answers(t);
    suite_add_tcase(suite, t);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
