/* tariff.h: what a month costs, stretch by stretch and many at once. */
#include "tollbook/tariff.h"
#include "unit/decimals.h"

#include <check.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define M INT64_C(1000000)

/* The last tier added was open; from here on it ends where the new one starts. */
static void add_tier(tb_tiers *t, int64_t from, const char *price, const char *flat)
{
    if (t->n > 0) {
        t->tier[t->n - 1].open = false;
        t->tier[t->n - 1].to = from;
    }
    t->tier[t->n++] = (tb_tier){
        .from = from, .open = true, .price = dec(price), .flat = dec(flat), .shown = dec(price)};
}

/* 0.6 to 100, then 0.4; `included` units free. */
static tb_tiers two_tiers(tb_tier_mode mode, int64_t included, bool absolute)
{
    tb_tiers t = {.mode = mode, .included = included, .included_absolute = absolute};
    add_tier(&t, 0, "0.6", "0");
    add_tier(&t, 100, "0.4", "0");
    return t;
}

static tb_rating rate(const tb_tiers *t, int64_t used, int64_t units, int64_t whole)
{
    tb_rating rating;
    tb_error err = {0};
    tb_stretch stretch = {used, units, whole};
    ck_assert_msg(tb_tariff_rate(t, stretch, &rating, &err) == TB_OK, "%s", err.message);
    return rating;
}

static void costs(const tb_tiers *t, int64_t units, const char *expected)
{
    is(rate(t, 0, units, units).amount, expected);
    tb_tariff tariff;
    if (t->mode == TB_PACKAGE) return;
    ck_assert_int_eq(tb_tariff_prepare(t, &tariff, NULL), TB_OK);
    tb_decimal amount;
    ck_assert_int_eq(tb_tariff_amount(&tariff, (uint64_t)units, &amount, NULL), TB_OK);
    is(amount, expected);
}

static void segment_is(const tb_tier_segment *s, size_t tier, int64_t from, int64_t to,
                       const char *amount)
{
    ck_assert_uint_eq(s->tier, tier);
    ck_assert(s->from == from && s->to == to && s->units == to - from);
    is(s->amount, amount);
}

/* --- billing.md 2 --- */

START_TEST(included_units_on_both_axes)
{
    tb_tiers t = {.included = 10 * M, .included_absolute = true};
    add_tier(&t, 0, "0.0000006", "0");
    add_tier(&t, 100 * M, "0.0000004", "0");
    costs(&t, 150 * M, "74");
    costs(&t, 10 * M, "0");
    costs(&t, 10 * M + 1, "0.0000006");
    t.included_absolute = false;
    costs(&t, 150 * M, "76");
    costs(&t, 10 * M, "0");
    costs(&t, 110 * M, "60");
    costs(&t, 110 * M + 1, "60.0000004");
}
END_TEST

START_TEST(the_load_balancer_of_the_standard_book)
{
    tb_tiers t = {.included = 50 * M, .included_absolute = true};
    add_tier(&t, 50 * M, "0.00000065", "0");
    costs(&t, 0, "0");
    costs(&t, 50 * M, "0");
    costs(&t, 50 * M + 1, "0.00000065");
    costs(&t, 51 * M, "0.65");
    tb_rating rating = rate(&t, 49 * M, 3 * M, 0);
    ck_assert(rating.free == M);
    ck_assert_uint_eq(rating.n, 1);
    segment_is(&rating.segment[0], 0, 50 * M, 52 * M, "1.3");
}
END_TEST

/* Contract 9.1: $0.01/GB of 89716735 bytes. */
START_TEST(a_live_charge_is_exact)
{
    tb_tiers t = {.mode = TB_GRADUATED};
    add_tier(&t, 0, "0.00000000001", "0");
    costs(&t, 89716735, "0.00089716735");
}
END_TEST

/* --- graduated --- */

START_TEST(each_unit_has_its_own_tiers_price)
{
    tb_tiers t = two_tiers(TB_GRADUATED, 0, true);
    costs(&t, 0, "0");
    costs(&t, 1, "0.6");
    costs(&t, 99, "59.4");
    costs(&t, 100, "60");
    costs(&t, 101, "60.4");
    tb_rating rating = rate(&t, 0, 150, 0);
    ck_assert_uint_eq(rating.n, 2);
    ck_assert(rating.free == 0);
    segment_is(&rating.segment[0], 0, 0, 100, "60");
    segment_is(&rating.segment[1], 1, 100, 150, "20");
    is(rating.segment[1].price, "0.4");
    is(rating.amount, "80");
}
END_TEST

START_TEST(usage_keeps_its_position)
{
    tb_tiers t = two_tiers(TB_GRADUATED, 0, true);
    tb_rating rating = rate(&t, 90, 20, 0);
    ck_assert_uint_eq(rating.n, 2);
    segment_is(&rating.segment[0], 0, 90, 100, "6");
    segment_is(&rating.segment[1], 1, 100, 110, "4");
    rating = rate(&t, 100, 1, 0);
    ck_assert_uint_eq(rating.n, 1);
    segment_is(&rating.segment[0], 1, 100, 101, "0.4");
    rating = rate(&t, 99, 1, 0);
    ck_assert_uint_eq(rating.n, 1);
    segment_is(&rating.segment[0], 0, 99, 100, "0.6");
    rating = rate(&t, 5000, 0, 0);
    ck_assert_uint_eq(rating.n, 0);
    is(rating.amount, "0");
}
END_TEST

START_TEST(free_units_fall_into_the_first_of_the_month)
{
    tb_tiers t = two_tiers(TB_GRADUATED, 10, false);
    tb_rating rating = rate(&t, 4, 3, 0);
    ck_assert(rating.free == 3 && rating.n == 0);
    rating = rate(&t, 8, 4, 0);
    ck_assert(rating.free == 2);
    segment_is(&rating.segment[0], 0, 10, 12, "1.2");
    /* On the net axis the second tier begins at 110 of the month. */
    rating = rate(&t, 105, 10, 0);
    ck_assert(rating.free == 0);
    segment_is(&rating.segment[0], 0, 105, 110, "3");
    segment_is(&rating.segment[1], 1, 110, 115, "2");
}
END_TEST

START_TEST(included_units_may_cover_whole_tiers)
{
    tb_tiers t = two_tiers(TB_GRADUATED, 100, true);
    t.tier[0].flat = dec("7");
    t.tier[1].flat = dec("3");
    costs(&t, 100, "0");
    costs(&t, 101, "3.4");
    t.included = 150;
    costs(&t, 150, "0");
    costs(&t, 151, "3.4");
}
END_TEST

START_TEST(a_flat_is_charged_where_its_tier_is_entered)
{
    tb_tiers t = two_tiers(TB_GRADUATED, 0, true);
    t.tier[0].flat = dec("5");
    t.tier[1].flat = dec("2.50");
    costs(&t, 0, "0");
    costs(&t, 1, "5.6");
    costs(&t, 100, "65");
    costs(&t, 101, "67.9");
    is(rate(&t, 1, 99, 0).amount, "59.4");
    tb_rating rating = rate(&t, 100, 2, 0);
    is(rating.segment[0].flat, "2.5");
    is(rating.amount, "3.3");
    rating = rate(&t, 101, 2, 0);
    is(rating.segment[0].flat, "0");
    is(rating.amount, "0.8");
    /* Free units enter nothing. */
    t.included = 10;
    is(rate(&t, 0, 10, 0).amount, "0");
    is(rate(&t, 10, 1, 0).amount, "5.6");
}
END_TEST

/* --- volume --- */

START_TEST(all_units_have_the_price_of_the_tier_reached)
{
    tb_tiers t = two_tiers(TB_VOLUME, 0, true);
    costs(&t, 0, "0");
    costs(&t, 99, "59.4");
    costs(&t, 100, "60");
    costs(&t, 101, "40.4");
    tb_rating rating = rate(&t, 0, 30, 101);
    segment_is(&rating.segment[0], 1, 0, 30, "12");
    rating = rate(&t, 0, 30, 100);
    segment_is(&rating.segment[0], 0, 0, 30, "18");
    t.included = 10;
    costs(&t, 101, "36.4");
    t.included_absolute = false;
    costs(&t, 110, "60");
    costs(&t, 111, "40.4");
}
END_TEST

START_TEST(only_the_tier_reached_charges_its_flat_and_once)
{
    tb_tiers t = two_tiers(TB_VOLUME, 0, true);
    t.tier[0].flat = dec("5");
    t.tier[1].flat = dec("2");
    costs(&t, 0, "0");
    costs(&t, 100, "65");
    costs(&t, 101, "42.4");
    is(rate(&t, 0, 100, 150).amount, "40");
    is(rate(&t, 100, 50, 150).amount, "22");
    is(rate(&t, 101, 49, 150).amount, "19.6");
}
END_TEST

/* What tb_tier_entry says is what rating does: each stretch has the flats that are entered in it.
 */
START_TEST(a_tiers_entry_is_where_its_flat_is_charged)
{
    for (int64_t mode = 0; mode <= TB_PACKAGE; mode++)
        for (int64_t whole = 1; whole <= 220; whole += 9)
            for (int64_t cut = 0; cut <= whole; cut += 5) {
                tb_tiers t = {.mode = (tb_tier_mode)mode,
                              .included = whole % 3 * 50,
                              .block = 7,
                              .included_absolute = whole % 2 == 0};
                add_tier(&t, 0, "0", "1");
                add_tier(&t, 40, "0", "10");
                add_tier(&t, 100, "0", "100");
                int64_t said[2] = {0, 0}, flat = 1;
                for (size_t k = 0; k < t.n; k++, flat *= 10) {
                    bool entered;
                    const tb_i128 entry = tb_tier_entry(&t, k, whole, &entered);
                    if (entered) said[entry >= cut] += flat;
                }
                char text[32];
                snprintf(text, sizeof text, "%" PRId64, said[0]);
                is(tb_decimal_normal(rate(&t, 0, cut, whole).amount), text);
                snprintf(text, sizeof text, "%" PRId64, said[1]);
                is(tb_decimal_normal(rate(&t, cut, whole - cut, whole).amount), text);
            }
}
END_TEST

/* Each book's thresholds count in its own time alone (docs/price-book.md, Flats). */
START_TEST(stretches_of_other_tiers_may_have_both_flats_or_none)
{
    tb_tiers low = {.mode = TB_VOLUME, .included_absolute = true}, high = low, one = low;
    add_tier(&low, 0, "0", "1");
    add_tier(&low, 40, "0", "7");
    add_tier(&high, 0, "0", "1");
    add_tier(&high, 80, "0", "50");
    add_tier(&one, 0, "0", "5");
    is(rate(&low, 0, 60, 120).amount, "7"); /* both: 40 is in the first stretch, 80 in the second */
    is(rate(&high, 60, 60, 120).amount, "50");
    is(rate(&high, 0, 60, 120).amount, "0"); /* none */
    is(rate(&one, 60, 60, 120).amount, "0");
}
END_TEST

START_TEST(a_month_of_fewer_units_than_its_part_is_refused)
{
    tb_tiers t = two_tiers(TB_VOLUME, 0, true);
    tb_rating rating;
    tb_error err = {0};
    ck_assert_int_eq(tb_tariff_rate(&t, (tb_stretch){5, 5, 9}, &rating, &err), TB_E_VALIDATION);
    ck_assert_str_eq(err.message, "The month's units are fewer than a part's.");
    ck_assert_int_eq(tb_tariff_rate(&t, (tb_stretch){5, 5, 10}, &rating, &err), TB_OK);
}
END_TEST

/* --- package --- */

START_TEST(started_blocks_are_paid)
{
    tb_tiers t = two_tiers(TB_PACKAGE, 0, true);
    t.block = 30;
    costs(&t, 0, "0");
    costs(&t, 1, "0.6");
    costs(&t, 30, "0.6");
    costs(&t, 31, "1.2");
    /* 100 units are 4 blocks, the last begun; the next tier's blocks begin at its start. */
    costs(&t, 100, "2.4");
    costs(&t, 101, "2.8");
    costs(&t, 130, "2.8");
    costs(&t, 131, "3.2");
    tb_rating rating = rate(&t, 0, 131, 0);
    ck_assert(rating.segment[0].blocks == 4 && rating.segment[1].blocks == 2);
    tb_tariff tariff;
    ck_assert_int_eq(tb_tariff_prepare(&t, &tariff, NULL), TB_E_VALIDATION);
}
END_TEST

START_TEST(a_begun_block_is_not_paid_again)
{
    tb_tiers t = two_tiers(TB_PACKAGE, 5, true);
    t.block = 30;
    is(rate(&t, 0, 5, 0).amount, "0");
    is(rate(&t, 0, 6, 0).amount, "0.6");
    is(rate(&t, 6, 29, 0).amount, "0");
    is(rate(&t, 35, 1, 0).amount, "0.6");
    ck_assert(rate(&t, 6, 29, 0).segment[0].blocks == 0);
}
END_TEST

/* --- limits --- */

START_TEST(negative_units_are_refused)
{
    tb_tiers t = two_tiers(TB_GRADUATED, 0, true);
    tb_rating rating;
    tb_error err = {0};
    ck_assert_int_eq(tb_tariff_rate(&t, (tb_stretch){0, -1, 0}, &rating, &err), TB_E_VALIDATION);
    ck_assert_str_eq(err.message, "A negative number of units has no price.");
    ck_assert_int_eq(tb_tariff_rate(&t, (tb_stretch){-1, 1, 0}, &rating, NULL), TB_E_VALIDATION);
}
END_TEST

START_TEST(overflow_is_refused)
{
    tb_tiers t = {.mode = TB_GRADUATED};
    tb_rating rating;
    tb_error err = {0};
    tb_i128 most = dec("170141183460469231731687303715884105727").mantissa;
    add_tier(&t, 0, "170141.183460469231731", "0");
    is(rate(&t, 0, TB_UNITS_MAX, 0).amount, "170141183460469231731000");
    ck_assert_int_eq(
        tb_tariff_rate(&t, (tb_stretch){0, (tb_i128)TB_UNITS_MAX + 5, 0}, &rating, &err),
        TB_E_OVERFLOW);
    ck_assert_str_eq(err.message, "The product passes 2^127-1 units of 10^-15.");
    ck_assert_int_eq(tb_tariff_rate(&t, (tb_stretch){most, 1, 0}, &rating, &err), TB_E_OVERFLOW);
    ck_assert_int_eq(tb_tariff_rate(&t, (tb_stretch){most - 1, 1, 0}, &rating, &err), TB_OK);
    tb_tariff tariff;
    tb_decimal amount;
    ck_assert_int_eq(tb_tariff_prepare(&t, &tariff, NULL), TB_OK);
    ck_assert_uint_eq(tariff.most, (uint64_t)TB_UNITS_MAX);
    ck_assert_int_eq(tb_tariff_amount(&tariff, tariff.most, &amount, &err), TB_OK);
    is(amount, "170141183460469231731000");
    ck_assert_int_eq(tb_tariff_amount(&tariff, tariff.most + 1, &amount, &err), TB_E_OVERFLOW);
}
END_TEST

/* --- many at once --- */

#define N 9

START_TEST(batches_agree_with_single_months)
{
    static const uint64_t units[N] = {0, 1, 99, 100, 101, 150, 1000, 1000000, 0};
    tb_tiers t = two_tiers(TB_GRADUATED, 0, true);
    t.tier[1].flat = dec("0.25");
    tb_tariff tariff;
    int64_t amounts[N];
    tb_i128 wide[N], total, wide_total, sum = 0;
    ck_assert_int_eq(tb_tariff_prepare(&t, &tariff, NULL), TB_OK);
    ck_assert_int_eq(tariff.scale, 2);
    ck_assert_int_eq(tb_tariff_amounts(&tariff, units, N, amounts, &total, NULL), TB_OK);
    ck_assert_int_eq(tb_tariff_amounts_wide(&tariff, units, N, wide, &wide_total, NULL), TB_OK);
    for (int i = 0; i < N; i++) {
        tb_decimal amount = rate(&t, 0, (int64_t)units[i], 0).amount;
        ck_assert_int_eq(tb_decimal_compare(amount, (tb_decimal){amounts[i], 2}), 0);
        ck_assert(wide[i] == amounts[i]);
        ck_assert_int_eq(tb_tariff_small(&tariff, units[i]), amounts[i]);
        sum += amounts[i];
    }
    ck_assert(total == sum && wide_total == sum);
    ck_assert_int_eq(tb_tariff_amounts_sorted(&tariff, units, N - 1, amounts, &total, NULL), TB_OK);
    ck_assert(total == sum);
    for (int i = 0; i < N - 1; i++)
        ck_assert(amounts[i] == wide[i]);
    ck_assert_int_eq(tb_tariff_amounts(&tariff, NULL, 0, NULL, &total, NULL), TB_OK);
    ck_assert(total == 0);
    ck_assert_int_eq(tb_tariff_amounts_sorted(&tariff, NULL, 0, NULL, &total, NULL), TB_OK);
    ck_assert(total == 0);
}
END_TEST

START_TEST(a_batch_past_its_limit_names_the_line)
{
    tb_tiers t = two_tiers(TB_GRADUATED, 0, true);
    tb_tariff tariff;
    tb_error err = {0};
    int64_t amounts[3];
    tb_i128 total = 42;
    ck_assert_int_eq(tb_tariff_prepare(&t, &tariff, NULL), TB_OK);
    /* 4 tenths x u + 200 <= 2^63 - 1 */
    uint64_t most = (uint64_t)(INT64_MAX - 200) / 4;
    ck_assert_uint_eq(tariff.most_small, most);
    ck_assert_uint_eq(tariff.most, UINT64_MAX);
    uint64_t units[3] = {5, most, most};
    ck_assert_int_eq(tb_tariff_amounts(&tariff, units, 3, amounts, &total, &err), TB_OK);
    ck_assert_int_eq(amounts[2], (int64_t)(most * 4 + 200));
    ck_assert(total == (tb_i128)30 + 2 * (tb_i128)amounts[2]);
    units[2]++;
    total = 42;
    ck_assert_int_eq(tb_tariff_amounts(&tariff, units, 3, amounts, &total, &err), TB_E_OVERFLOW);
    ck_assert_uint_eq(err.line, 3);
    ck_assert_str_eq(err.message, "The amount passes 2^63-1 units of 10^-1.");
    ck_assert_int_eq(tb_tariff_amounts_sorted(&tariff, units, 3, amounts, &total, &err),
                     TB_E_OVERFLOW);
    ck_assert_uint_eq(err.line, 3);
    ck_assert_int_eq(tb_tariff_amounts(&tariff, units, 3, amounts, &total, NULL), TB_E_OVERFLOW);
    ck_assert(total == 42);
    tb_i128 wide[3];
    ck_assert_int_eq(tb_tariff_amounts_wide(&tariff, units, 3, wide, &total, &err), TB_OK);
    ck_assert(wide[2] == (tb_i128)INT64_MAX - 200 - (INT64_MAX - 200) % 4 + 204);
}
END_TEST

START_TEST(wide_batches_check_amounts_and_sum)
{
    tb_tiers t = {.mode = TB_GRADUATED};
    add_tier(&t, 0, "170141.183460469231731", "0");
    tb_tariff tariff;
    tb_error err = {0};
    tb_i128 wide[2], total = 42;
    uint64_t units[2] = {1, (uint64_t)TB_UNITS_MAX + 1};
    ck_assert_int_eq(tb_tariff_prepare(&t, &tariff, NULL), TB_OK);
    ck_assert_int_eq(tb_tariff_amounts_wide(&tariff, units, 2, wide, &total, &err), TB_E_OVERFLOW);
    ck_assert_uint_eq(err.line, 2);
    ck_assert_str_eq(err.message, "The amount passes 2^127-1 units of 10^-15.");
    units[0] = units[1] = (uint64_t)TB_UNITS_MAX;
    ck_assert_int_eq(tb_tariff_amounts_wide(&tariff, units, 2, wide, &total, &err), TB_E_OVERFLOW);
    ck_assert_uint_eq(err.line, 2);
    ck_assert_str_eq(err.message, "The sum passes 2^127-1 units of 10^-15.");
    ck_assert(total == 42);
    ck_assert_int_eq(tb_tariff_amounts_wide(&tariff, units, 1, wide, &total, &err), TB_OK);
}
END_TEST

/* A flat past 2^63 - 1 units, or a price that rises past it, ends the small range before it. */
START_TEST(the_small_range_ends_before_the_first_tier_that_passes_it)
{
    tb_tiers t = two_tiers(TB_GRADUATED, 0, true);
    tb_tariff tariff;
    t.tier[1].flat = dec("1000000000000000000");
    ck_assert_int_eq(tb_tariff_prepare(&t, &tariff, NULL), TB_OK);
    ck_assert_uint_eq(tariff.most_small, 100);
    ck_assert_int_eq(tb_tariff_small(&tariff, 100), 600);
    t.tier[1].price = dec("0");
    ck_assert_int_eq(tb_tariff_prepare(&t, &tariff, NULL), TB_OK);
    ck_assert_uint_eq(tariff.most_small, 100);
    t.tier[1].flat = dec("0");
    ck_assert_int_eq(tb_tariff_prepare(&t, &tariff, NULL), TB_OK);
    ck_assert_uint_eq(tariff.most_small, UINT64_MAX);
    t.tier[1].price = dec("922337203685477581");
    ck_assert_int_eq(tb_tariff_prepare(&t, &tariff, NULL), TB_OK);
    ck_assert_uint_eq(tariff.most_small, 100);
}
END_TEST

START_TEST(sixty_four_tiers_are_found)
{
    tb_tiers t = {.mode = TB_GRADUATED};
    tb_tariff tariff;
    for (int k = 0; k < TB_TIERS_MAX; k++) {
        char price[12];
        snprintf(price, sizeof price, "%d", k + 1);
        add_tier(&t, k * 10, price, "0");
    }
    ck_assert_int_eq(tb_tariff_prepare(&t, &tariff, NULL), TB_OK);
    for (uint64_t u = 0; u < 700; u++) {
        tb_decimal amount;
        ck_assert_int_eq(tb_tariff_amount(&tariff, u, &amount, NULL), TB_OK);
        ck_assert_int_eq(tb_decimal_compare(amount, rate(&t, 0, (int64_t)u, 0).amount), 0);
    }
    uint64_t units[2] = {635, UINT64_MAX};
    int64_t amounts[2];
    tb_i128 total;
    ck_assert_int_eq(tb_tariff_amounts(&tariff, units, 1, amounts, &total, NULL), TB_OK);
    ck_assert_int_eq(amounts[0], 10 * 63 * 64 / 2 + 5 * 64);
}
END_TEST

static void add_stretches(TCase *t)
{
    tcase_add_test(t, included_units_on_both_axes);
    tcase_add_test(t, the_load_balancer_of_the_standard_book);
    tcase_add_test(t, a_live_charge_is_exact);
    tcase_add_test(t, each_unit_has_its_own_tiers_price);
    tcase_add_test(t, usage_keeps_its_position);
    tcase_add_test(t, free_units_fall_into_the_first_of_the_month);
    tcase_add_test(t, included_units_may_cover_whole_tiers);
    tcase_add_test(t, a_flat_is_charged_where_its_tier_is_entered);
    tcase_add_test(t, all_units_have_the_price_of_the_tier_reached);
    tcase_add_test(t, only_the_tier_reached_charges_its_flat_and_once);
    tcase_add_test(t, a_tiers_entry_is_where_its_flat_is_charged);
    tcase_add_test(t, stretches_of_other_tiers_may_have_both_flats_or_none);
    tcase_add_test(t, a_month_of_fewer_units_than_its_part_is_refused);
    tcase_add_test(t, started_blocks_are_paid);
    tcase_add_test(t, a_begun_block_is_not_paid_again);
}

int main(void)
{
    Suite *suite = suite_create("tariff");
    TCase *t = tcase_create("tariff");
    add_stretches(t);
    tcase_add_test(t, negative_units_are_refused);
    tcase_add_test(t, overflow_is_refused);
    tcase_add_test(t, batches_agree_with_single_months);
    tcase_add_test(t, a_batch_past_its_limit_names_the_line);
    tcase_add_test(t, wide_batches_check_amounts_and_sum);
    tcase_add_test(t, the_small_range_ends_before_the_first_tier_that_passes_it);
    tcase_add_test(t, sixty_four_tiers_are_found);
    suite_add_tcase(suite, t);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
