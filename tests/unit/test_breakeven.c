/* breakeven.h: crossings, overlaps, jumps, blocks, minimum, and what is refused. */
#include "tollbook/solve.h"
#include "unit/decimals.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A book of load balancers alone: a fee, and "threshold price flat" tiers. */
static tb_book book(const char *fee, tb_tier_mode mode)
{
    return (tb_book){.id = "book",
                     .currency = "USD",
                     .has_balancer = true,
                     .balancer_fee = dec(fee),
                     .balancer = {.mode = mode, .block = mode == TB_PACKAGE ? 10 : 0}};
}

static void tier(tb_book *b, int64_t from, const char *price, const char *flat)
{
    tb_tiers *t = &b->balancer;
    if (t->n > 0) {
        t->tier[t->n - 1].open = false;
        t->tier[t->n - 1].to = from;
    }
    t->tier[t->n++] = (tb_tier){.from = from, .open = true, .price = dec(price), .flat = dec(flat)};
}

static tb_breakeven found;

static void find(const tb_book *a, const tb_book *b, tb_i128 top)
{
    static tb_curve x, y;
    tb_error err = {0};
    tb_cost ca = {.kind = TB_COST_BALANCER, .book = a}, cb = {.kind = TB_COST_BALANCER, .book = b};
    ck_assert_int_eq(tb_cost_curve(&ca, top, &x, NULL), TB_OK);
    ck_assert_int_eq(tb_cost_curve(&cb, top, &y, NULL), TB_OK);
    ck_assert_msg(tb_breakeven_find(&x, &y, &found, &err) == TB_OK, "%s", err.message);
}

static const tb_breakeven_run *run_is(size_t i, tb_i128 from, tb_i128 to, tb_breakeven_sign sign)
{
    ck_assert_uint_lt(i, found.n);
    const tb_breakeven_run *r = &found.run[i];
    ck_assert_msg(r->from == from && r->to == to && r->sign == sign, "run %zu: %lld to %lld, %d", i,
                  (long long)r->from, (long long)r->to, r->sign);
    return r;
}

START_TEST(lines_cross_between_two_units)
{
    tb_book a = book("10", TB_GRADUATED), b = book("0", TB_GRADUATED);
    tier(&a, 0, "0", "0");
    tier(&b, 0, "3", "0");
    find(&a, &b, 100);
    ck_assert_uint_eq(found.n, 2);
    run_is(0, 0, 3, TB_BREAKEVEN_B);
    const tb_breakeven_run *r = run_is(1, 4, 100, TB_BREAKEVEN_A);
    ck_assert(r->crossed && r->exact && r->num == 10 && r->den == 3);
    b.balancer.tier[0].price = dec("4");
    find(&a, &b, 100);
    r = run_is(1, 3, 100, TB_BREAKEVEN_A);
    ck_assert(r->num == 5 && r->den == 2); /* in lowest terms */
}
END_TEST

START_TEST(lines_meet_at_a_unit)
{
    tb_book a = book("12", TB_GRADUATED), b = book("0", TB_GRADUATED);
    tier(&a, 0, "0", "0");
    tier(&b, 0, "3", "0");
    find(&a, &b, 100);
    ck_assert_uint_eq(found.n, 3);
    run_is(0, 0, 3, TB_BREAKEVEN_B);
    run_is(1, 4, 4, TB_BREAKEVEN_EQUAL);
    ck_assert(!run_is(2, 5, 100, TB_BREAKEVEN_A)->crossed);
}
END_TEST

START_TEST(books_that_price_alike_overlap)
{
    tb_book a = book("1", TB_GRADUATED), b = book("1", TB_GRADUATED);
    tier(&a, 0, "0.5", "0");
    tier(&b, 0, "0.50", "0");
    tier(&b, 50, "0.4", "0");
    find(&a, &b, TB_UNITS_MAX);
    ck_assert_uint_eq(found.n, 2);
    run_is(0, 0, 50, TB_BREAKEVEN_EQUAL);
    run_is(1, 51, TB_UNITS_MAX, TB_BREAKEVEN_B);
}
END_TEST

START_TEST(a_volume_tier_jumps_over)
{
    tb_book a = book("0", TB_VOLUME), b = book("0", TB_GRADUATED);
    tier(&a, 0, "2", "0");
    tier(&a, 100, "1", "0");
    tier(&b, 0, "1.5", "0");
    find(&a, &b, 1000);
    ck_assert_uint_eq(found.n, 3);
    run_is(0, 0, 0, TB_BREAKEVEN_EQUAL);
    run_is(1, 1, 100, TB_BREAKEVEN_B);
    ck_assert(!run_is(2, 101, 1000, TB_BREAKEVEN_A)->crossed);
}
END_TEST

START_TEST(a_flat_jumps_over)
{
    tb_book a = book("5", TB_GRADUATED), b = book("6", TB_GRADUATED);
    tier(&a, 0, "0", "0");
    tier(&a, 10, "0", "3");
    tier(&b, 0, "0", "0");
    find(&a, &b, 20);
    ck_assert_uint_eq(found.n, 2);
    run_is(0, 0, 10, TB_BREAKEVEN_A);
    ck_assert(!run_is(1, 11, 20, TB_BREAKEVEN_B)->crossed);
}
END_TEST

START_TEST(tiers_cross_as_often_as_they_do)
{
    tb_book a = book("0", TB_GRADUATED), b = book("1", TB_GRADUATED);
    tier(&a, 0, "0.3", "0"); /* passes b at 3 1/3 .. */
    tier(&a, 10, "0", "0");  /* rests at 3: below b from 20 */
    tier(&a, 40, "1", "0");
    tier(&b, 0, "0.1", "0");
    find(&a, &b, 100);
    ck_assert_uint_eq(found.n, 6);
    run_is(0, 0, 4, TB_BREAKEVEN_A);
    run_is(1, 5, 5, TB_BREAKEVEN_EQUAL);
    run_is(2, 6, 19, TB_BREAKEVEN_B);
    run_is(3, 20, 20, TB_BREAKEVEN_EQUAL);
    run_is(4, 21, 42, TB_BREAKEVEN_A);
    const tb_breakeven_run *r = run_is(5, 43, 100, TB_BREAKEVEN_B);
    ck_assert(r->crossed && r->num == 380 && r->den == 9); /* 3 + (x - 40) = 1 + x / 10 */
}
END_TEST

START_TEST(blocks_against_a_line_are_listed_or_said_to_be_many)
{
    tb_book a = book("0", TB_PACKAGE), b = book("0", TB_GRADUATED);
    tier(&a, 0, "10", "0");
    tier(&b, 0, "1", "0");
    find(&a, &b, 30);
    ck_assert_uint_eq(found.n, 7);
    run_is(2, 10, 10, TB_BREAKEVEN_EQUAL);
    run_is(5, 21, 29, TB_BREAKEVEN_B);
    run_is(6, 30, 30, TB_BREAKEVEN_EQUAL);
    find(&a, &b, TB_UNITS_MAX);
    run_is(found.n - 1, TB_UNITS_MAX, TB_UNITS_MAX, TB_BREAKEVEN_EQUAL);
    run_is(found.n - 2, TB_UNITS_MAX - 9, TB_UNITS_MAX - 1, TB_BREAKEVEN_B); /* the last block */
    ck_assert_int_eq(found.run[found.n - 3].sign, TB_BREAKEVEN_MANY);
}
END_TEST

START_TEST(the_end_of_many_changes_is_exact)
{
    tb_book a = book("0", TB_PACKAGE), b = book("0", TB_GRADUATED);
    tier(&a, 0, "10", "0");
    tier(&b, 0, "1.000001", "0"); /* a's last block that is not the cheaper one ends at 10^7 */
    find(&a, &b, TB_UNITS_MAX);
    const tb_breakeven_run *last = &found.run[found.n - 1];
    ck_assert_int_eq(last->sign, TB_BREAKEVEN_A);
    ck_assert_int_eq(last[-1].sign, TB_BREAKEVEN_B);
    ck_assert_int_eq(last[-2].sign, TB_BREAKEVEN_MANY);
    tb_cost ca = {.kind = TB_COST_BALANCER, .book = &a}, cb = ca;
    cb.book = &b;
    for (tb_i128 u = last->from - 1; u <= last->from; u++) {
        tb_decimal x, y;
        ck_assert_int_eq(tb_cost_at(&ca, u, &x, NULL), TB_OK);
        ck_assert_int_eq(tb_cost_at(&cb, u, &y, NULL), TB_OK);
        ck_assert_int_eq(tb_decimal_compare(x, y) < 0, u == last->from);
    }
}
END_TEST

START_TEST(the_minimum_is_a_floor)
{
    tb_book a = book("0", TB_GRADUATED), b = book("0", TB_GRADUATED);
    tb_curve x, y;
    tier(&a, 0, "0.07", "0");
    tier(&b, 0, "0.05", "0");
    a.minimum_monthly = dec("1");
    b.minimum_monthly = dec("2");
    tb_cost ca = {.kind = TB_COST_BALANCER, .book = &a, .minimum = true}, cb = ca;
    cb.book = &b;
    ck_assert_int_eq(tb_cost_curve(&ca, 1000, &x, NULL), TB_OK);
    ck_assert_int_eq(tb_cost_curve(&cb, 1000, &y, NULL), TB_OK);
    ck_assert(tb_curve_at(&x, 0) == 100 && tb_curve_at(&x, 15) == 105);
    ck_assert_int_eq(tb_breakeven_find(&x, &y, &found, NULL), TB_OK);
    run_is(0, 0, 28, TB_BREAKEVEN_A); /* 0.07 x 28 = 1.96 */
    ck_assert(run_is(1, 29, 1000, TB_BREAKEVEN_B)->crossed);
}
END_TEST

START_TEST(a_mix_of_regions_has_one_price)
{
    tb_book a = {.id = "a", .currency = "USD", .has_premium = true};
    tb_cost cost = {.kind = TB_COST_PREMIUM, .book = &a};
    tb_decimal amount;
    tb_error err = {0};
    a.region_priced[TB_REGION_EU] = a.region_priced[TB_REGION_AF] = true;
    a.region_price[TB_REGION_EU] = dec("0.00000000001");
    a.region_price[TB_REGION_AF] = dec("0.00000000006");
    cost.share[TB_REGION_EU] = dec("99.5");
    cost.share[TB_REGION_AF] = dec("0.5");
    cost.discount = dec("10");
    ck_assert_int_eq(tb_cost_at(&cost, 1000000000000, &amount, NULL), TB_OK);
    ck_assert_int_eq(tb_decimal_compare(amount, dec("9.225")), 0);
    cost.share[TB_REGION_AF] = dec("0.4");
    ck_assert_int_eq(tb_cost_at(&cost, 1, &amount, &err), TB_E_VALIDATION);
    ck_assert_str_eq(err.field, "mix");
    cost.share[TB_REGION_AF] = TB_DECIMAL_ZERO;
    cost.share[TB_REGION_SA] = dec("0.5");
    ck_assert_int_eq(tb_cost_at(&cost, 1, &amount, &err), TB_E_VALIDATION);
    ck_assert_ptr_nonnull(strstr(err.message, "SA"));
    cost.discount = dec("100.1");
    ck_assert_int_eq(tb_cost_at(&cost, 1, &amount, &err), TB_E_VALIDATION);
    ck_assert_str_eq(err.field, "discount");
}
END_TEST

START_TEST(what_cannot_be_compared_is_refused)
{
    tb_book a = book("0", TB_GRADUATED), b = book("0", TB_GRADUATED);
    tb_breakeven_of of = {.a = {.book = &a}, .b = {.book = &b}, .top = 10};
    tb_buf out;
    tb_error err = {0};
    tb_buf_init(&out, 1 << 16, NULL);
    tier(&a, 0, "1", "0");
    tier(&b, 0, "1", "0");
    of.b.kind = TB_COST_VOLUME;
    ck_assert_int_eq(tb_breakeven_json(&of, &out, &err), TB_E_VALIDATION);
    ck_assert_str_eq(err.field, "of");
    of.a.kind = TB_COST_VOLUME;
    ck_assert_int_eq(tb_breakeven_json(&of, &out, &err), TB_E_VALIDATION);
    ck_assert_ptr_nonnull(strstr(err.message, "no prices for volume"));
    of.a.kind = of.b.kind = TB_COST_BALANCER;
    strcpy(b.currency, "EUR");
    ck_assert_int_eq(tb_breakeven_json(&of, &out, &err), TB_E_VALIDATION);
    strcpy(b.currency, "USD");
    of.top = (tb_i128)TB_UNITS_MAX + 1;
    ck_assert_int_eq(tb_breakeven_json(&of, &out, &err), TB_E_VALIDATION);
    of.top = -1;
    ck_assert_int_eq(tb_breakeven_json(&of, &out, &err), TB_E_VALIDATION);
    tb_buf_release(&out);
}
END_TEST

START_TEST(digits_too_far_apart_ask_for_fewer_units)
{
    tb_book a = book("0", TB_GRADUATED), b = book("0", TB_GRADUATED);
    tb_curve x, y;
    tb_error err = {0};
    tb_cost ca = {.kind = TB_COST_BALANCER, .book = &a},
            cb = {.kind = TB_COST_BALANCER, .book = &b};
    tier(&a, 0, "100000", "0");
    tier(&b, 0, "0.000000000000000000001", "0");
    ck_assert_int_eq(tb_cost_curve(&ca, TB_UNITS_MAX, &x, NULL), TB_OK);
    ck_assert_int_eq(tb_cost_curve(&cb, TB_UNITS_MAX, &y, NULL), TB_OK);
    ck_assert_int_eq(tb_breakeven_find(&x, &y, &found, &err), TB_E_OVERFLOW);
    ck_assert_str_eq(err.field, "up-to");
    find(&a, &b, 1000000);
    run_is(1, 1, 1000000, TB_BREAKEVEN_B);
}
END_TEST

/* Up to 2^126 - 1 a curve's amounts are exact; where one would pass it, it is refused, and fewer units
 * are compared. `most`: the last that fits. */
static void ends_at(const tb_cost *cost, tb_i128 most)
{
    static tb_curve curve;
    tb_error err = {0};
    ck_assert_msg(tb_cost_curve(cost, most, &curve, &err) == TB_OK, "%s", err.message);
    curve.scale = -1;
    ck_assert_int_eq(tb_cost_curve(cost, most + 1, &curve, &err), TB_E_OVERFLOW);
    ck_assert_str_eq(err.field, "up-to");
    ck_assert_ptr_nonnull(strstr(err.message, "digits pass 2^126-1: compare up to fewer units."));
    ck_assert_int_eq(curve.scale, -1);
}

START_TEST(amounts_that_do_not_fit_ask_for_fewer_units)
{
    /* (2^126 - 1) / 10^21, at a price of 1 and with 21 digits */
    const tb_i128 most = INT64_C(85070591730234615);
    static const tb_tier_mode modes[] = {TB_GRADUATED, TB_VOLUME};
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        tb_book a = book("0.000000000000000000001", modes[i]);
        tb_cost cost = {.kind = TB_COST_BALANCER, .book = &a};
        tier(&a, 0, "1", "0");
        ends_at(&cost, most);
        a.balancer_fee = dec("3.000000000000000000001");
        ends_at(&cost, most - 3);
    }
    tb_book a = book("0", TB_PACKAGE);
    tb_cost cost = {.kind = TB_COST_BALANCER, .book = &a};
    a.balancer.block = 1;
    tier(&a, 0, "1", "0.000000000000000000001");
    ends_at(&cost, most);
    a.balancer_fee = dec("3");
    ends_at(&cost, most - 3);
    tb_book b = book("0", TB_GRADUATED);
    tier(&b, 0, "1", "0");
    b.minimum_monthly = dec("0.000000000000000000001");
    cost.book = &b;
    cost.minimum = true;
    ends_at(&cost, most);
}
END_TEST

static void text_has(const tb_breakeven_of *of, const char *words)
{
    tb_buf out;
    tb_error err = {0};
    tb_buf_init(&out, 1 << 16, NULL);
    ck_assert_msg(tb_breakeven_text(of, &out, &err) == TB_OK, "%s", err.message);
    tb_buf_add(&out, "", 1);
    ck_assert_msg(strstr(out.data, words) != NULL, "%s", out.data);
    tb_buf_release(&out);
}

START_TEST(answers_are_in_words)
{
    tb_book a = book("10", TB_GRADUATED), b = book("0", TB_GRADUATED);
    tb_breakeven_of of = {.a = {.book = &a}, .b = {.book = &b}, .top = 3};
    tier(&a, 0, "0", "0");
    tier(&b, 0, "3", "0");
    text_has(&of, "There is no break-even: b is cheaper at every usage up to 3 requests.");
    of.top = 9;
    text_has(&of, "They cross between 3 requests, where a costs 10 and b 9, and 4 requests, where "
                  "a costs 10 and b 12. Below, b is cheaper. Above, a is cheaper.");
    a.balancer_fee = dec("9");
    text_has(&of, "At 3 requests both cost the same, 9. Below, b");
    b = a;
    text_has(&of, "From 0 requests to 9 requests both cost the same, 9.");
}
END_TEST

/* Blocks of 10 against blocks of 7 change too often to be listed. Where the dearer book is ahead by
 * both steps, though a block of the other has just begun, nothing can change any more: what holds to
 * the end is said from there on at the latest. */
START_TEST(behind_many_changes_stands_what_holds_to_the_end)
{
    for (int turn = 0; turn < 2; turn++) {
        tb_book a = book("0", TB_PACKAGE), b = book("0", TB_PACKAGE);
        b.balancer.block = 7;
        tier(&a, 0, "10", "0");
        tier(&b, 0, "7.000001", "0"); /* 1 / 7,000,000 dearer a unit: 17 + 10 ahead at 189,000,000 */
        const tb_breakeven_sign wins = turn ? TB_BREAKEVEN_B : TB_BREAKEVEN_A;
        if (turn) find(&b, &a, TB_UNITS_MAX);
        else find(&a, &b, TB_UNITS_MAX);
        ck_assert_uint_gt(found.n, 2);
        const tb_breakeven_run *last = &found.run[found.n - 1];
        ck_assert_int_eq(last->sign, wins);
        ck_assert(last->to == TB_UNITS_MAX);
        ck_assert_int_eq(last[-1].sign, TB_BREAKEVEN_MANY);
        ck_assert(last[-1].to == last->from - 1 && last[-1].from <= last[-1].to);
        ck_assert_msg(last->from >= 7000000 && last->from <= 189000100, "from %lld",
                      (long long)last->from);
        for (tb_i128 u = last->from; u < last->from + 100; u++) {
            tb_cost ca = {.kind = TB_COST_BALANCER, .book = &a}, cb = ca;
            tb_decimal x, y;
            cb.book = &b;
            ck_assert_int_eq(tb_cost_at(&ca, u, &x, NULL), TB_OK);
            ck_assert_int_eq(tb_cost_at(&cb, u, &y, NULL), TB_OK);
            ck_assert_int_lt(tb_decimal_compare(x, y), 0);
        }
    }
}
END_TEST

/* Equal at every seventieth unit up to the end: nothing holds there. */
START_TEST(many_changes_up_to_the_end_are_said_to_be_many)
{
    tb_book a = book("0", TB_PACKAGE), b = book("0", TB_PACKAGE);
    b.balancer.block = 7;
    tier(&a, 0, "10", "0");
    tier(&b, 0, "7", "0");
    find(&a, &b, TB_UNITS_MAX);
    run_is(found.n - 1, found.run[found.n - 1].from, TB_UNITS_MAX, found.run[found.n - 1].sign);
    size_t many = found.n - 1;
    while (many > 0 && found.run[many].sign != TB_BREAKEVEN_MANY)
        many--;
    ck_assert_int_eq(found.run[many].sign, TB_BREAKEVEN_MANY);
    ck_assert(TB_UNITS_MAX - found.run[many].to < 1000);
}
END_TEST


int main(void)
{
    Suite *suite = suite_create("breakeven");
    TCase *t = tcase_create("breakeven");
    tcase_add_test(t, lines_cross_between_two_units);
    tcase_add_test(t, lines_meet_at_a_unit);
    tcase_add_test(t, books_that_price_alike_overlap);
    tcase_add_test(t, a_volume_tier_jumps_over);
    tcase_add_test(t, a_flat_jumps_over);
    tcase_add_test(t, tiers_cross_as_often_as_they_do);
    tcase_add_test(t, blocks_against_a_line_are_listed_or_said_to_be_many);
    tcase_add_test(t, the_end_of_many_changes_is_exact);
    tcase_add_test(t, the_minimum_is_a_floor);
    tcase_add_test(t, a_mix_of_regions_has_one_price);
    tcase_add_test(t, what_cannot_be_compared_is_refused);
    tcase_add_test(t, digits_too_far_apart_ask_for_fewer_units);
    tcase_add_test(t, amounts_that_do_not_fit_ask_for_fewer_units);
    tcase_add_test(t, answers_are_in_words);
    tcase_add_test(t, behind_many_changes_stands_what_holds_to_the_end);
    tcase_add_test(t, many_changes_up_to_the_end_are_said_to_be_many);
    suite_add_tcase(suite, t);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? 1 : 0;
}
