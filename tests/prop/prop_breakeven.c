/* Break-evens of random books against brute force: on small axes every unit is rated under both
 * books and must lie in a run of its sign, so that no crossing is missed and none is made up; on
 * long ones every run's ends and their neighbours are.
 *
 * TB_SEED reruns a failing run; the seed is printed at the start. */
#include "tollbook/solve.h"
#include "prop/random.h"
#include "seed.h"

#include <check.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROUNDS test_rounds(1000)

/* Small prices of few digits meet each other often. */
static tb_decimal any_price(void)
{
    if (below(8) == 0) return TB_DECIMAL_ZERO;
    return (tb_decimal){1 + below(below(2) ? 12 : 1000), (int)below(4)};
}

static void any_tiers(tb_tiers *t, tb_tier_mode mode, int64_t span)
{
    *t = (tb_tiers){.mode = mode, .included_absolute = below(2)};
    t->block = mode == TB_PACKAGE ? 1 + below(span / 4 + 1) : 0;
    t->included = below(2) ? below(span / 2 + 1) : 0;
    t->n = 1 + (size_t)below(5);
    tb_i128 at = t->included_absolute && below(3) == 0 ? t->included : 0;
    for (size_t k = 0; k < t->n; k++) {
        tb_tier *tier = &t->tier[k];
        *tier = (tb_tier){.from = at, .open = k + 1 == t->n, .price = any_price()};
        if (mode == TB_PACKAGE) tier->price.mantissa *= 1 + below(t->block > 50 ? 50 : t->block);
        if (below(3) == 0) tier->flat = any_price();
        at += 1 + below(span / 3 + 1);
        tier->to = tier->open ? 0 : at;
    }
}

static void any_book(tb_book *book, tb_tier_mode mode, int64_t span)
{
    *book = (tb_book){.id = "random", .currency = "USD", .has_balancer = true, .has_volume = true};
    book->has_premium = true;
    book->balancer_fee = below(2) ? any_price() : TB_DECIMAL_ZERO;
    book->minimum_monthly = below(2) ? (tb_decimal){below(200), 1} : TB_DECIMAL_ZERO;
    any_tiers(&book->balancer, mode, span);
    book->volume = book->balancer;
    for (int r = 0; r < TB_BILLING_REGION_COUNT; r++) {
        book->region_priced[r] = true;
        book->region_price[r] = any_price();
    }
}

static tb_cost any_cost(const tb_book *book)
{
    tb_cost cost = {.kind = (tb_cost_kind)below(2), .book = book, .minimum = below(2)};
    if (below(4) > 0) return cost;
    cost.kind = TB_COST_PREMIUM;
    cost.share[0] = tb_decimal_from_int(below(101));
    cost.share[1] = tb_decimal_from_int(100 - (int64_t)cost.share[0].mantissa);
    cost.discount = (tb_decimal){below(1001), 1};
    return cost;
}

static int order(const tb_cost *a, const tb_cost *b, tb_i128 units)
{
    tb_decimal x, y;
    ck_assert_int_eq(tb_cost_at(a, units, &x, NULL), TB_OK);
    ck_assert_int_eq(tb_cost_at(b, units, &y, NULL), TB_OK);
    return tb_decimal_compare(x, y);
}

static void compare(const tb_cost *a, const tb_cost *b, tb_i128 top, tb_breakeven *found)
{
    static tb_curve x, y;
    tb_error err = {0};
    ck_assert_int_eq(tb_cost_curve(a, top, &x, NULL), TB_OK);
    ck_assert_int_eq(tb_cost_curve(b, top, &y, NULL), TB_OK);
    ck_assert_msg(tb_breakeven_find(&x, &y, found, &err) == TB_OK, "%s", err.message);
    ck_assert(found->n > 0 && found->run[0].from == 0 && found->run[found->n - 1].to == top);
    for (size_t i = 1; i < found->n; i++) {
        const tb_breakeven_run *r = &found->run[i];
        ck_assert(r->from == r[-1].to + 1 && r->sign != r[-1].sign);
        if (!r->crossed || !r->exact) continue;
        ck_assert(r->den > 1 && r->num / r->den == r->from - 1 && r->num % r->den != 0);
    }
}

START_TEST(brute_force_agrees_at_every_unit)
{
    static tb_breakeven found;
    static tb_book a, b;
    size_t listed = 0, many = 0;
    for (int round = 0; round < ROUNDS; round++) {
        int64_t top = below(400), span = 1 + below(200);
        any_book(&a, (tb_tier_mode)below(3), span);
        any_book(&b, (tb_tier_mode)below(3), span);
        tb_cost x = any_cost(&a), y = any_cost(&b);
        compare(&x, &y, top, &found);
        listed += found.n - 1;
        for (size_t i = 0; i < found.n; i++) {
            const tb_breakeven_run *r = &found.run[i];
            many += r->sign == TB_BREAKEVEN_MANY;
            for (tb_i128 u = r->from; u <= r->to && r->sign != TB_BREAKEVEN_MANY; u++)
                ck_assert_int_eq(order(&x, &y, u), (int)r->sign);
        }
    }
    printf("%zu changes listed, %zu stretches not\n", listed, many);
    ck_assert_uint_gt(listed, ROUNDS / 2);
    ck_assert_uint_lt(many, ROUNDS / 20);
}
END_TEST

START_TEST(ends_of_runs_agree_on_long_axes)
{
    static tb_breakeven found;
    static tb_book a, b;
    for (int round = 0; round < ROUNDS; round++) {
        int64_t span = 1 + below(INT64_C(1) << below(50));
        tb_i128 top = below(2) ? TB_UNITS_MAX : 8 * span;
        any_book(&a, (tb_tier_mode)below(3), span);
        any_book(&b, (tb_tier_mode)below(3), span);
        tb_cost x = any_cost(&a), y = any_cost(&b);
        compare(&x, &y, top, &found);
        for (size_t i = 0; i < found.n; i++) {
            const tb_breakeven_run *r = &found.run[i];
            tb_i128 width = r->to - r->from + 1;
            if (r->sign == TB_BREAKEVEN_MANY) continue;
            ck_assert_int_eq(order(&x, &y, r->from), (int)r->sign);
            ck_assert_int_eq(order(&x, &y, r->to), (int)r->sign);
            for (int k = 0; k < 8; k++)
                ck_assert_int_eq(order(&x, &y, r->from + (tb_i128)(random_bits() >> 1) % width),
                                 (int)r->sign);
        }
    }
}
END_TEST

int main(void)
{
    state = seed = test_seed();
    Suite *suite = suite_create("breakeven");
    TCase *t = tcase_create("random");
    tcase_set_timeout(t, 300);
    tcase_add_test(t, brute_force_agrees_at_every_unit);
    tcase_add_test(t, ends_of_runs_agree_on_long_axes);
    suite_add_tcase(suite, t);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? 1 : 0;
}
