/* solve.h: portfolios rated again, named prices, the price that earns a sum, the cheapest commit.
 */
#include "tollbook/solve.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tollbook/forecast.h"
#include "tollbook/calendar.h"
#include "unit/decimals.h"

#define GB INT64_C(1000000000)

static const char text[] =
    "{\"book\":\"b\",\"currency\":\"USD\",\"effective_from\":\"2026-01-01T00:00:00Z\","
    "\"minimum_monthly\":\"1.00\",\"bandwidth\":{"
    "\"premium\":{\"per\":\"GB\",\"regions\":{\"EU\":\"0.01\",\"NA\":0.02}},"
    "\"volume\":{\"per\":\"GB\",\"tiers\":[{\"from\":\"0\",\"to\":\"100\",\"price\":\"0.005\"},"
    "{\"from\":\"100\",\"to\":null,\"price\":\"0.004\",\"flat\":\"2\"}]}},"
    "\"load_balancer\":{\"monthly_fee\":\"9.50\",\"tiers\":["
    "{\"from_millions\":0,\"to_millions\":null,\"price_per_million\":\"0.65\"}]}}";

static tb_book book;
static const tb_book *under[2];
static tb_portfolio *portfolio;
static tb_price_list list;
static tb_bill_part part;

static void begin(void)
{
    tb_error err = {0};
    tb_advice_start();
    ck_assert_msg(tb_book_parse(text, strlen(text), NULL, &book, &err) == TB_OK, "%s %s", err.field,
                  err.message);
    under[0] = &book;
    part = (tb_bill_part){&book, tb_month_first_day(670) * TB_US_PER_DAY,
                          tb_month_first_day(671) * TB_US_PER_DAY};
    ck_assert_int_eq(tb_portfolio_new(&book, 1, NULL, &portfolio, NULL), TB_OK);
}

static void end(void)
{
    if (list.price) tb_price_list_release(&list);
    tb_portfolio_free(portfolio);
    tb_book_release(&book);
}

/* An account's month of premium bytes in a region. */
static void month_of(int64_t account, tb_billing_region region, tb_i128 bytes)
{
    tb_bill_bytes used = {.zone = 10 * account, .priced = true, .region = region, .bytes = bytes};
    tb_bill_input in = {.account = account,
                        .month = 670,
                        .currency = "USD",
                        .active_zone = true,
                        .parts = &part,
                        .n_parts = 1,
                        .bytes = &used,
                        .n_bytes = 1};
    ck_assert_int_eq(tb_portfolio_add(portfolio, &in, NULL), TB_OK);
}

static tb_code name_prices(const char *path, tb_error *err)
{
    return tb_price_list_find(under, 2, &path, 1, NULL, &list, err);
}

static tb_price_answer solve(const char *path, const char *target, int digits)
{
    tb_price_answer answer;
    tb_error err = {0};
    ck_assert_msg(name_prices(path, &err) == TB_OK, "%s", err.message);
    tb_price_ask ask = {.portfolio = portfolio,
                        .under = under,
                        .n_under = 2,
                        .list = &list,
                        .target = dec(target),
                        .digits = digits};
    ck_assert_msg(tb_solve_price(&ask, &answer, &err) == TB_OK, "%s", err.message);
    return answer;
}

/* --- portfolios --- */

START_TEST(a_portfolio_earns_what_its_bills_do)
{
    tb_portfolio_sum sum;
    month_of(1, TB_REGION_EU, 1234 * GB);
    month_of(2, TB_REGION_NA, 10 * GB);   /* the minimum */
    month_of(3, TB_REGION_ASIA, 10 * GB); /* no price: the minimum alone */
    for (int whole = 0; whole < 2; whole++) {
        ck_assert_int_eq(tb_portfolio_total(portfolio, NULL, whole, &sum, NULL), TB_OK);
        is(sum.total, "14.34");
        ck_assert_uint_eq(sum.unpriced, 1);
        ck_assert_int_eq(tb_portfolio_total(portfolio, under, whole, &sum, NULL), TB_OK);
        is(sum.total, "14.34");
    }
    const tb_book *nothing[2] = {NULL, NULL};
    ck_assert_int_eq(tb_portfolio_total(portfolio, nothing, true, &sum, NULL), TB_OK);
    is(sum.total, "0");
    ck_assert_uint_eq(sum.unpriced, 3);
    ck_assert_uint_eq(tb_portfolio_bills(portfolio), 3);
}
END_TEST

START_TEST(a_bill_of_another_book_is_refused)
{
    tb_book other = book;
    tb_error err = {0};
    part.book = &other;
    tb_bill_input in = {.currency = "USD", .parts = &part, .n_parts = 1};
    ck_assert_int_eq(tb_portfolio_add(portfolio, &in, &err), TB_E_VALIDATION);
    ck_assert_int_eq(
        tb_portfolio_new(&book, TB_PORTFOLIO_BOOKS_MAX + 1, NULL, &(tb_portfolio *){0}, &err),
        TB_E_VALIDATION);
}
END_TEST

/* --- named prices --- */

START_TEST(a_path_names_a_price_or_what_holds_it)
{
    static const struct {
        const char *path;
        size_t n;
    } rows[] = {{"bandwidth", 5},
                {"bandwidth.premium", 2},
                {"bandwidth.premium.regions.EU", 1},
                {"bandwidth.volume.tiers", 3},
                {"bandwidth.volume.tiers[1]", 2},
                {"bandwidth.volume.tiers[1].flat", 1},
                {"load_balancer", 2},
                {"minimum_monthly", 1}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ck_assert_int_eq(name_prices(rows[i].path, NULL), TB_OK);
        ck_assert_msg(list.n == rows[i].n, "%s names %zu", rows[i].path, list.n);
        tb_price_list_release(&list);
    }
}
END_TEST

START_TEST(a_path_that_names_nothing_lists_what_there_is)
{
    static const char *const wrong[] = {"bandwidth.premium.regions.E",    "band", "book",
                                        "bandwidth.volume.tiers[0].from", "",     "optimizer"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        tb_error err = {0};
        ck_assert_msg(name_prices(wrong[i], &err) == TB_E_VALIDATION, "%s", wrong[i]);
        ck_assert_str_eq(err.field, "price");
        ck_assert_ptr_nonnull(strstr(err.message, "bandwidth.premium.regions.EU"));
    }
}
END_TEST

START_TEST(new_prices_make_a_book)
{
    tb_book made;
    tb_buf patch;
    ck_assert_int_eq(name_prices("bandwidth", NULL), TB_OK);
    ck_assert_int_eq(tb_price_list_scale(&list, dec("1.5"), 3, NULL), TB_OK);
    ck_assert_int_eq(tb_price_list_book(&list, 0, NULL, &made, NULL), TB_OK);
    is(made.region_shown[TB_REGION_EU], "0.015");
    is(made.region_shown[TB_REGION_NA], "0.03");
    is(made.volume.tier[0].shown, "0.008");
    is(made.volume.tier[1].flat, "3");
    is(made.balancer_fee, "9.5");
    tb_book_release(&made);
    tb_buf_init(&patch, 4096, NULL);
    ck_assert_int_eq(tb_price_list_patch(&list, 0, &patch, NULL), TB_OK);
    tb_buf_add(&patch, "", 1);
    ck_assert_str_eq(patch.data,
                     "{\"bandwidth\":{\"premium\":{\"per\":\"GB\",\"regions\":{\"EU\":\"0.015\","
                     "\"NA\":\"0.03\"}},\"volume\":{\"per\":\"GB\",\"tiers\":[{\"from\":\"0\","
                     "\"price\":\"0.008\",\"to\":\"100\"},{\"flat\":\"3\",\"from\":\"100\","
                     "\"price\":\"0.006\",\"to\":null}]}}}");
    tb_buf_release(&patch);
    ck_assert_int_eq(tb_price_list_scale(&list, dec("0.5"), 3, NULL), TB_OK);
    is(list.price[2].after, "0.003"); /* 0.0025, half up */
}
END_TEST

/* --- price --- */

START_TEST(a_price_that_earns_the_target_exactly)
{
    month_of(1, TB_REGION_EU, 1000 * GB);
    month_of(2, TB_REGION_EU, 3000 * GB);
    tb_price_answer a = solve("bandwidth.premium.regions.EU", "50", 4);
    ck_assert_int_eq(a.outcome, TB_PRICE_FOUND);
    is(list.price[0].after, "0.0125");
    is(a.after.total, "50");
    is(a.residual, "0");
    ck_assert(a.has_below && a.has_above && a.alone);
    ck_assert(a.ratings > 0 && a.ratings < 60);
    is(a.below, "49.6");
    is(a.above, "50.4");
}
END_TEST

START_TEST(the_nearest_of_the_grid_and_its_residual)
{
    month_of(1, TB_REGION_EU, 1000 * GB);
    tb_price_answer a = solve("bandwidth.premium.regions.EU", "12.37", 3);
    ck_assert_int_eq(a.outcome, TB_PRICE_NEAREST);
    is(list.price[0].after, "0.012");
    ck_assert_uint_lt(a.ratings, 60); /* it stops behind the target */
    is(a.residual, "-0.37");
    is(a.above, "13");
    tb_price_list_release(&list);
    a = solve("bandwidth.premium.regions.EU", "12.63", 3);
    is(list.price[0].after, "0.013");
    is(a.residual, "0.37");
}
END_TEST

START_TEST(a_group_keeps_one_factor)
{
    month_of(1, TB_REGION_EU, 1000 * GB);
    month_of(2, TB_REGION_NA, 1000 * GB);
    tb_price_answer a = solve("bandwidth.premium", "37.5", 5);
    ck_assert_int_eq(a.outcome, TB_PRICE_FOUND);
    is(list.price[0].after, "0.0125");
    is(list.price[1].after, "0.025");
}
END_TEST

START_TEST(prices_that_bill_nothing_are_flat)
{
    month_of(1, TB_REGION_EU, 1000 * GB);
    ck_assert_int_eq(solve("load_balancer", "10", 4).outcome, TB_PRICE_FLAT);
    tb_price_list_release(&list);
    ck_assert_int_eq(solve("load_balancer", "11", 4).outcome, TB_PRICE_FLAT);
}
END_TEST

START_TEST(what_else_is_billed_may_be_more_already)
{
    month_of(1, TB_REGION_EU, 1000 * GB);
    month_of(2, TB_REGION_NA, 1000 * GB);
    tb_price_answer a = solve("bandwidth.premium.regions.EU", "20.99", 4);
    ck_assert_int_eq(a.outcome, TB_PRICE_ABOVE); /* the minimum of account 1 stays */
    is(a.after.total, "21");
    is(a.residual, "0.01");
}
END_TEST

START_TEST(below_the_minimum_there_is_no_price)
{
    month_of(1, TB_REGION_EU, 10 * GB); /* 0.10, and the minimum 1.00 */
    ck_assert_int_eq(solve("bandwidth.premium.regions.EU", "0.5", 4).outcome, TB_PRICE_ABOVE);
}
END_TEST

START_TEST(a_target_out_of_reach_is_said)
{
    month_of(1, TB_REGION_EU, 1000 * GB);
    ck_assert_int_eq(solve("bandwidth.premium.regions.EU", "100000000000", 4).outcome,
                     TB_PRICE_BELOW);
}
END_TEST

START_TEST(a_minimum_makes_many_prices_right)
{
    month_of(1, TB_REGION_EU, 10 * GB); /* 0.10, and the minimum 1.00 up to 0.1 a GB */
    tb_price_answer a = solve("bandwidth.premium.regions.EU", "1", 4);
    ck_assert_int_eq(a.outcome, TB_PRICE_FOUND);
    ck_assert(!a.alone);
    tb_price_list_release(&list);
    a = solve("bandwidth.premium.regions.EU", "1.01", 4);
    ck_assert_int_eq(a.outcome, TB_PRICE_FOUND);
    is(a.residual, "0");
}
END_TEST

START_TEST(digits_are_checked)
{
    tb_price_answer answer;
    tb_error err = {0};
    ck_assert_int_eq(name_prices("bandwidth", NULL), TB_OK);
    tb_price_ask ask = {.portfolio = portfolio, .under = under, .n_under = 2, .list = &list};
    ask.digits = TB_PRICE_SCALE_MAX + 1;
    ck_assert_int_eq(tb_solve_price(&ask, &answer, &err), TB_E_VALIDATION);
    ck_assert_str_eq(err.field, "digits");
}
END_TEST

/* --- commit --- */

static tb_commit_answer commit(const tb_commit_offer *offers, size_t n, bool between)
{
    static tb_commit_answer answer;
    tb_error err = {0};
    ck_assert_int_eq(name_prices("bandwidth", NULL), TB_OK);
    tb_commit_ask ask = {.portfolio = portfolio,
                         .under = under,
                         .n_under = 2,
                         .list = &list,
                         .offers = offers,
                         .n_offers = n,
                         .between = between,
                         .step = dec("1")};
    ck_assert_msg(tb_solve_commit(&ask, &answer, &err) == TB_OK, "%s", err.message);
    return answer;
}

START_TEST(the_offer_that_costs_least)
{
    const tb_commit_offer offers[] = {
        {dec("0"), dec("0")}, {dec("80"), dec("20")}, {dec("200"), dec("50")}};
    month_of(1, TB_REGION_EU, 10000 * GB); /* 100 */
    month_of(1, TB_REGION_EU, 9000 * GB);  /* 90: at 20 % off, 72 and 8 to the commit */
    tb_commit_answer a = commit(offers, 3, false);
    is(a.best.commit, "80");
    is(a.best.cost, "160");
    is(a.best.shortfall, "8");
    is(a.offer[0].cost, "190");
    is(a.offer[2].cost, "400");
    is(a.offer[2].shortfall, "305");
    ck_assert_int_eq(tb_decimal_compare(a.best.cost, a.grid.cost), 0);
}
END_TEST

START_TEST(between_offers_the_valley_is_found)
{
    /* 100 a month less C / 10 %, at least C: 100 - C / 10 = C at C = 90.909... */
    const tb_commit_offer offers[] = {{dec("0"), dec("0")}, {dec("1000"), dec("100")}};
    month_of(1, TB_REGION_EU, 10000 * GB);
    tb_commit_answer a = commit(offers, 2, true);
    is(a.best.commit, "90"); /* costs what 91 does */
    is(a.best.cost, "91");
    is(a.best.discount, "9");
    ck_assert(a.searched);
    ck_assert_int_le(tb_decimal_compare(a.best.cost, a.grid.cost), 0);
}
END_TEST

START_TEST(of_equal_costs_the_smallest_commit)
{
    const tb_commit_offer offers[] = {{dec("0"), dec("0")}, {dec("50"), dec("0")}};
    month_of(1, TB_REGION_EU, 10000 * GB);
    is(commit(offers, 2, false).best.commit, "0");
}
END_TEST

START_TEST(offers_are_checked)
{
    static tb_commit_answer answer;
    tb_error err = {0};
    tb_commit_offer offers[] = {{dec("10"), dec("0")}, {dec("10"), dec("5")}};
    ck_assert_int_eq(name_prices("bandwidth", NULL), TB_OK);
    tb_commit_ask ask = {.portfolio = portfolio, .under = under, .n_under = 2, .list = &list};
    ask.step = dec("1");
    ask.offers = offers;
    ck_assert_int_eq(tb_solve_commit(&ask, &answer, &err), TB_E_VALIDATION);
    ask.n_offers = 2;
    ck_assert_int_eq(tb_solve_commit(&ask, &answer, &err), TB_E_VALIDATION);
    ck_assert_ptr_nonnull(strstr(err.message, "above the one before"));
    offers[1] = (tb_commit_offer){dec("20"), dec("100.1")};
    ck_assert_int_eq(tb_solve_commit(&ask, &answer, &err), TB_E_VALIDATION);
    offers[1] = (tb_commit_offer){dec("20"), dec("100")};
    ask.step = dec("0");
    ck_assert_int_eq(tb_solve_commit(&ask, &answer, &err), TB_E_VALIDATION);
    ck_assert_str_eq(err.field, "step");
}
END_TEST

/* --- lack of memory --- */

typedef struct limited {
    long left;
} limited;

static void *take(void *ctx, void *ptr, size_t old, size_t size)
{
    limited *l = ctx;
    (void)old;
    if (size == 0) {
        free(ptr);
        return NULL;
    }
    if (l->left == 0) return NULL;
    l->left--;
    return realloc(ptr, size);
}

static tb_code with_memory(limited *l)
{
    tb_alloc alloc = {take, l};
    tb_portfolio *p = NULL;
    tb_price_list prices = {.n = 0};
    tb_price_answer answer;
    const char *path = "bandwidth.premium";
    tb_bill_bytes used = {.zone = 1, .priced = true, .bytes = 1000 * GB};
    tb_bill_input in = {.account = 1,
                        .month = 670,
                        .currency = "USD",
                        .active_zone = true,
                        .parts = &part,
                        .n_parts = 1,
                        .bytes = &used,
                        .n_bytes = 1};
    tb_code code = tb_portfolio_new(&book, 1, &alloc, &p, NULL);
    if (!code) code = tb_portfolio_add(p, &in, NULL);
    if (!code) code = tb_price_list_find(under, 2, &path, 1, &alloc, &prices, NULL);
    tb_price_ask ask = {.portfolio = p,
                        .under = under,
                        .n_under = 2,
                        .list = &prices,
                        .target = dec("12"),
                        .digits = 4,
                        .alloc = &alloc};
    if (!code) code = tb_solve_price(&ask, &answer, NULL);
    if (prices.price) tb_price_list_release(&prices);
    tb_portfolio_free(p);
    return code;
}

START_TEST(lack_of_memory_is_said)
{
    tb_code code = TB_E_NOMEM;
    long n = 0;
    for (; code == TB_E_NOMEM && n < 20000; n += n < 40 ? 1 : 37)
        code = with_memory(&(limited){n});
    ck_assert_int_eq(code, TB_OK);
    ck_assert_int_gt(n, 10);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("solve");
    TCase *t = tcase_create("solve");
    tcase_add_checked_fixture(t, begin, end);
    tcase_set_timeout(t, 60);
    tcase_add_test(t, a_portfolio_earns_what_its_bills_do);
    tcase_add_test(t, a_bill_of_another_book_is_refused);
    tcase_add_test(t, a_path_names_a_price_or_what_holds_it);
    tcase_add_test(t, a_path_that_names_nothing_lists_what_there_is);
    tcase_add_test(t, new_prices_make_a_book);
    tcase_add_test(t, a_price_that_earns_the_target_exactly);
    tcase_add_test(t, the_nearest_of_the_grid_and_its_residual);
    tcase_add_test(t, a_group_keeps_one_factor);
    tcase_add_test(t, prices_that_bill_nothing_are_flat);
    tcase_add_test(t, what_else_is_billed_may_be_more_already);
    tcase_add_test(t, below_the_minimum_there_is_no_price);
    tcase_add_test(t, a_target_out_of_reach_is_said);
    tcase_add_test(t, a_minimum_makes_many_prices_right);
    tcase_add_test(t, digits_are_checked);
    tcase_add_test(t, the_offer_that_costs_least);
    tcase_add_test(t, between_offers_the_valley_is_found);
    tcase_add_test(t, of_equal_costs_the_smallest_commit);
    tcase_add_test(t, offers_are_checked);
    tcase_add_test(t, lack_of_memory_is_said);
    suite_add_tcase(suite, t);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? 1 : 0;
}
