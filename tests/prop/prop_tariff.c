/* Properties of rating, asked of random tiers: a month may be cut anywhere and as often as one
 * likes, more usage never costs less, a unit-by-unit loop agrees, and the prepared form with its
 * batches says what the segments say, at every threshold and its neighbours.
 *
 * TB_SEED reruns a failing run; the seed is printed at the start. */
#include "tollbook/tariff.h"
#include "prop/random.h"
#include "seed.h"

#include <check.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define ROUNDS test_rounds(8000)

static tb_decimal any_price(void)
{
    if (below(8) == 0) return TB_DECIMAL_ZERO;
    return (tb_decimal){below(below(2) ? 100 : 1000000), (int)below(13)};
}

/* Up to 9 tiers within about `span` units. */
static tb_tiers any_tiers(tb_tier_mode mode, int64_t span)
{
    tb_tiers t = {.mode = mode, .included_absolute = below(2)};
    t.block = mode == TB_PACKAGE ? 1 + below(span / 4 + 1) : 0;
    t.included = below(2) ? below(span / 2 + 1) : 0;
    t.n = 1 + (size_t)below(9);
    tb_i128 at = t.included_absolute && below(3) == 0 ? t.included : 0;
    for (size_t k = 0; k < t.n; k++) {
        tb_tier *tier = &t.tier[k];
        *tier = (tb_tier){.from = at, .open = k + 1 == t.n, .price = any_price()};
        if (below(3) == 0) tier->flat = any_price();
        at += 1 + below(span / 4 + 1);
        tier->to = tier->open ? 0 : at;
    }
    return t;
}

static tb_rating rate(const tb_tiers *t, int64_t used, int64_t units, int64_t whole)
{
    tb_rating rating;
    tb_stretch stretch = {used, units, whole};
    ck_assert_int_eq(tb_tariff_rate(t, stretch, &rating, NULL), TB_OK);
    return rating;
}

static tb_decimal add(tb_decimal a, tb_decimal b)
{
    tb_decimal sum;
    ck_assert_int_eq(tb_decimal_add(a, b, &sum, NULL), TB_OK);
    return sum;
}

/* The rules, one unit after the other. */
static tb_decimal naive(const tb_tiers *t, int64_t used, int64_t units, int64_t whole)
{
    tb_decimal sum = TB_DECIMAL_ZERO;
    tb_i128 shift = t->included_absolute ? 0 : t->included;
    tb_i128 in_tier[TB_TIERS_MAX] = {0}; /* charged units of the month so far */
    for (tb_i128 unit = 1; unit <= used + units; unit++) {
        if (unit <= t->included) continue;
        tb_i128 reached = (t->mode == TB_VOLUME ? whole : unit) - shift;
        size_t k = 0;
        while (!t->tier[k].open && reached > t->tier[k].to)
            k++;
        bool counts = unit > used;
        /* Volume: the tier is entered by the first charged unit past its threshold. */
        bool entered = t->mode == TB_VOLUME ? unit - shift > t->tier[k].from : true;
        if (entered && in_tier[k] == 0 && counts) sum = add(sum, t->tier[k].flat);
        if (counts && (t->mode != TB_PACKAGE || in_tier[k] % t->block == 0))
            sum = add(sum, t->tier[k].price);
        in_tier[k] += entered;
    }
    return sum;
}

START_TEST(a_loop_over_units_agrees)
{
    for (int i = 0; i < ROUNDS; i++) {
        tb_tiers t = any_tiers((tb_tier_mode)below(3), 20);
        int64_t used = below(30), units = below(30), whole = used + units + below(10);
        tb_rating rating = rate(&t, used, units, whole);
        ck_assert_int_eq(tb_decimal_compare(rating.amount, naive(&t, used, units, whole)), 0);
        tb_decimal sum = TB_DECIMAL_ZERO;
        tb_i128 charged = 0;
        for (size_t s = 0; s < rating.n; s++) {
            const tb_tier_segment *segment = &rating.segment[s];
            ck_assert(segment->units == segment->to - segment->from && segment->units > 0);
            ck_assert(s == 0 || segment->from == segment[-1].to);
            sum = add(sum, segment->amount);
            charged += segment->units;
        }
        ck_assert_int_eq(tb_decimal_compare(sum, rating.amount), 0);
        ck_assert(charged + rating.free == units);
        ck_assert(rating.n == 0 || rating.segment[rating.n - 1].to == used + units);
    }
}
END_TEST

START_TEST(a_month_may_be_cut_anywhere)
{
    for (int i = 0; i < ROUNDS; i++) {
        int64_t span = INT64_C(1) << (3 + below(50));
        tb_tiers t = any_tiers((tb_tier_mode)below(3), span);
        int64_t whole = below(span), used = 0;
        tb_decimal sum = TB_DECIMAL_ZERO;
        tb_i128 free_units = 0;
        for (int left = (int)below(6); used < whole; left--) {
            int64_t units = left > 0 ? below(whole - used + 1) : whole - used;
            tb_rating rating = rate(&t, used, units, whole);
            sum = add(sum, rating.amount);
            free_units += rating.free;
            used += units;
        }
        tb_rating all = rate(&t, 0, whole, whole);
        ck_assert_int_eq(tb_decimal_compare(sum, all.amount), 0);
        ck_assert(free_units == all.free);
    }
}
END_TEST

START_TEST(more_usage_never_costs_less)
{
    for (int i = 0; i < ROUNDS; i++) {
        int64_t span = INT64_C(1) << (3 + below(50));
        tb_tiers t = any_tiers(below(2) ? TB_GRADUATED : TB_PACKAGE, span);
        int64_t few = below(span), more = few + below(span / 8);
        ck_assert_int_ge(
            tb_decimal_compare(rate(&t, 0, more, 0).amount, rate(&t, 0, few, 0).amount), 0);
    }
}
END_TEST

/* Thresholds and their neighbours, on the month's usage, then random units. */
static int64_t any_units(const tb_tiers *t, int64_t span)
{
    const tb_tier *tier = &t->tier[below((int64_t)t->n)];
    int64_t edge = (int64_t)(tier->from + (t->included_absolute ? 0 : t->included));
    if (below(4) == 0) edge = (int64_t)t->included;
    int64_t units = below(4) ? edge + below(3) - 1 : below(span * 2);
    return units < 0 ? 0 : units;
}

START_TEST(prepared_tariffs_agree_with_segments)
{
    for (int i = 0; i < ROUNDS; i++) {
        int64_t span = INT64_C(1) << (3 + below(30));
        tb_tiers t = any_tiers(below(3) ? TB_GRADUATED : TB_VOLUME, span);
        tb_tariff tariff;
        ck_assert_int_eq(tb_tariff_prepare(&t, &tariff, NULL), TB_OK);
        for (int j = 0; j < 8; j++) {
            int64_t units = any_units(&t, span);
            tb_decimal amount, expected = rate(&t, 0, units, units).amount;
            ck_assert_int_eq(tb_tariff_amount(&tariff, (uint64_t)units, &amount, NULL), TB_OK);
            ck_assert_int_eq(tb_decimal_compare(amount, expected), 0);
        }
    }
}
END_TEST

#define BATCH 64

START_TEST(batches_agree_with_single_months)
{
    for (int i = 0; i < ROUNDS / 8; i++) {
        int64_t span = INT64_C(1) << (3 + below(14));
        tb_tiers t = any_tiers(below(3) ? TB_GRADUATED : TB_VOLUME, span);
        tb_tariff tariff;
        uint64_t units[BATCH], scratch[BATCH];
        int64_t small[BATCH], sorted[BATCH];
        tb_i128 wide[BATCH], before[BATCH + 1], small_total, wide_total, sorted_total, alone;
        tb_i128 sum = 0;
        ck_assert_int_eq(tb_tariff_prepare(&t, &tariff, NULL), TB_OK);
        for (int j = 0; j < BATCH; j++) {
            uint64_t some = (uint64_t)any_units(&t, span);
            units[j] = some < tariff.most_small ? some : tariff.most_small;
        }
        tb_units_sort(units, BATCH, scratch);
        tb_units_sum(units, BATCH, before);
        ck_assert_int_eq(tb_tariff_total_sorted(&tariff, units, before, BATCH, &alone, NULL),
                         TB_OK);
        ck_assert_int_eq(tb_tariff_amounts(&tariff, units, BATCH, small, &small_total, NULL),
                         TB_OK);
        ck_assert_int_eq(tb_tariff_amounts_wide(&tariff, units, BATCH, wide, &wide_total, NULL),
                         TB_OK);
        ck_assert_int_eq(
            tb_tariff_amounts_sorted(&tariff, units, BATCH, sorted, &sorted_total, NULL), TB_OK);
        for (int j = 0; j < BATCH; j++) {
            tb_decimal amount;
            ck_assert_int_eq(tb_tariff_amount(&tariff, units[j], &amount, NULL), TB_OK);
            ck_assert(amount.mantissa == small[j] && small[j] == sorted[j] && small[j] == wide[j]);
            ck_assert_int_eq(tb_tariff_small(&tariff, units[j]), small[j]);
            sum += small[j];
        }
        ck_assert(sum == small_total && sum == wide_total && sum == sorted_total && sum == alone);
    }
}
END_TEST

/* Up to most_small the amount fits 63 bits, one more does not, or is none; the same for most. */
START_TEST(the_ranges_of_a_tariff_are_exact)
{
    for (int i = 0; i < ROUNDS; i++) {
        tb_tiers t = any_tiers(below(3) ? TB_GRADUATED : TB_VOLUME, INT64_C(1) << (40 + below(20)));
        tb_tariff tariff;
        tb_decimal amount;
        ck_assert_int_eq(tb_tariff_prepare(&t, &tariff, NULL), TB_OK);
        ck_assert_int_eq(tb_tariff_amount(&tariff, tariff.most_small, &amount, NULL), TB_OK);
        ck_assert(amount.mantissa <= INT64_MAX);
        ck_assert_int_eq(tb_tariff_small(&tariff, tariff.most_small), (int64_t)amount.mantissa);
        ck_assert(tariff.most >= tariff.most_small);
        if (tariff.most_small == UINT64_MAX) continue;
        ck_assert_int_eq(tb_tariff_amount(&tariff, tariff.most_small + 1, &amount, NULL), TB_OK);
        ck_assert(amount.mantissa > INT64_MAX);
    }
}
END_TEST

int main(void)
{
    seed = test_seed();
    Suite *suite = suite_create("tariff properties");
    TCase *t = tcase_create("tariff");
    tcase_add_checked_fixture(t, begin, NULL);
    tcase_set_timeout(t, 120);
    tcase_add_test(t, a_loop_over_units_agrees);
    tcase_add_test(t, a_month_may_be_cut_anywhere);
    tcase_add_test(t, more_usage_never_costs_less);
    tcase_add_test(t, prepared_tariffs_agree_with_segments);
    tcase_add_test(t, batches_agree_with_single_months);
    tcase_add_test(t, the_ranges_of_a_tariff_are_exact);
    suite_add_tcase(suite, t);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
