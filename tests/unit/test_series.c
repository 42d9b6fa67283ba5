/* series.h: columns, totals and ratios. */
#include "tollbook/series.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

static tb_series make(uint32_t count, uint32_t metrics)
{
    tb_series series;
    tb_range range = {.first = 20000, .count = count};
    ck_assert_int_eq(tb_series_init(&series, range, metrics, NULL, NULL), TB_OK);
    return series;
}

START_TEST(columns_are_zero_and_only_those_asked_for)
{
    uint32_t asked = TB_METRIC_BIT(TB_M_REQUESTS) | TB_METRIC_BIT(TB_M_SAVED);
    tb_series s = make(31, asked);
    for (int m = 0; m < TB_METRIC_COUNT; m++) {
        ck_assert_int_eq(s.value[m] != NULL, (asked >> m) & 1);
        for (uint32_t i = 0; s.value[m] && i < 31; i++)
            ck_assert_uint_eq(s.value[m][i], 0);
    }
    ck_assert_uint_eq(s.range.count, 31);
    tb_series_release(&s);
}
END_TEST

START_TEST(columns_start_on_cache_lines_and_do_not_overlap)
{
    for (uint32_t count = 1; count < 20; count++) {
        tb_series s = make(count, TB_METRIC_ALL);
        for (int m = 0; m < TB_METRIC_COUNT; m++) {
            ck_assert_uint_eq((uintptr_t)s.value[m] % 64, 0);
            memset(s.value[m], m + 1, count * sizeof(uint64_t));
        }
        for (int m = 0; m < TB_METRIC_COUNT; m++)
            for (uint32_t i = 0; i < count; i++)
                ck_assert_uint_eq(s.value[m][i], UINT64_C(0x0101010101010101) * (unsigned)(m + 1));
        tb_series_release(&s);
    }
}
END_TEST

START_TEST(no_metrics_is_a_series_too)
{
    tb_series s = make(5, 0);
    ck_assert(tb_series_total(&s, TB_M_BYTES) == 0);
    tb_series_release(&s);
}
END_TEST

START_TEST(bits_past_the_last_metric_are_ignored)
{
    tb_series s = make(3, ~UINT32_C(0));
    ck_assert_ptr_nonnull(s.value[TB_METRIC_COUNT - 1]);
    tb_series_release(&s);
}
END_TEST

START_TEST(release_may_come_twice)
{
    tb_series s = make(3, TB_METRIC_ALL);
    tb_series_release(&s);
    ck_assert_ptr_null(s.value[TB_M_BYTES]);
    tb_series_release(&s);
}
END_TEST

static void *refuse(void *ctx, void *ptr, size_t old, size_t size)
{
    (void)ctx, (void)ptr, (void)old, (void)size;
    return NULL;
}

START_TEST(without_memory_the_series_stays_untouched)
{
    tb_alloc none = {.resize = refuse};
    tb_series s;
    memset(&s, 7, sizeof s);
    tb_series before = s;
    tb_error err;
    ck_assert_int_eq(tb_series_init(&s, (tb_range){0, 1, false}, 1, &none, &err), TB_E_NOMEM);
    ck_assert_int_eq(err.code, TB_E_NOMEM);
    ck_assert_int_eq(memcmp(&s, &before, sizeof s), 0);
}
END_TEST

START_TEST(sum_columns_add_past_64_bits)
{
    tb_series s = make(4, TB_METRIC_ALL);
    for (int i = 0; i < 4; i++)
        s.value[TB_M_BYTES][i] = INT64_MAX;
    ck_assert(tb_series_total(&s, TB_M_BYTES) == (tb_u128)INT64_MAX * 4);
    tb_series_release(&s);
}
END_TEST

START_TEST(max_columns_take_the_largest)
{
    tb_series s = make(3, TB_METRIC_ALL);
    static const uint64_t values[] = {4, 9, 2};
    memcpy(s.value[TB_M_QUEUED_MAX], values, sizeof values);
    memcpy(s.value[TB_M_CONCURRENT_MAX], values, sizeof values);
    memcpy(s.value[TB_M_REQUESTS], values, sizeof values);
    ck_assert(tb_series_total(&s, TB_M_QUEUED_MAX) == 9);
    ck_assert(tb_series_total(&s, TB_M_CONCURRENT_MAX) == 9);
    ck_assert(tb_series_total(&s, TB_M_REQUESTS) == 15);
    tb_series_release(&s);
}
END_TEST

START_TEST(the_total_of_an_absent_column_is_zero)
{
    tb_series s = make(3, TB_METRIC_BIT(TB_M_REQUESTS));
    ck_assert(tb_series_total(&s, TB_M_BYTES) == 0);
    tb_series_release(&s);
}
END_TEST

/* Contract 1.2: the sample of a real client. */
START_TEST(ratios_stay_within_0_and_100_whatever_was_imported)
{
    ck_assert_double_eq(tb_hit_rate(100, 1), 0);
    ck_assert_double_eq(tb_hit_rate(1, 0), 0);
    ck_assert_double_eq(tb_reduction(INT64_MAX, 1), 100);
    ck_assert_double_eq(tb_reduction(1, 0), 0);
}
END_TEST

START_TEST(hit_rate_is_percent_of_what_was_not_pulled)
{
    ck_assert_double_eq(tb_hit_rate(166, 2983), 94.43513241702983);
    ck_assert_double_eq(tb_hit_rate(0, 7), 100);
    ck_assert_double_eq(tb_hit_rate(7, 7), 0);
    ck_assert_double_eq(tb_hit_rate(1, 4), 75);
}
END_TEST

START_TEST(ratios_of_nothing_are_zero)
{
    ck_assert_double_eq(tb_hit_rate(0, 0), 0);
    ck_assert_double_eq(tb_hit_rate(5, 0), 0);
    ck_assert_double_eq(tb_mean(5, 0), 0);
    ck_assert_double_eq(tb_reduction(5, 0), 0);
}
END_TEST

START_TEST(means_and_reductions)
{
    ck_assert_double_eq(tb_mean(10, 4), 2.5);
    ck_assert_double_eq(tb_reduction(1, 3), 100.0 / 3.0);
    ck_assert_double_eq(tb_reduction(50, 200), 25);
    ck_assert_double_eq(tb_mean((tb_u128)1 << 80, (tb_u128)1 << 70), 1024);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("series");
    TCase *t = tcase_create("series");
    tcase_add_test(t, columns_are_zero_and_only_those_asked_for);
    tcase_add_test(t, columns_start_on_cache_lines_and_do_not_overlap);
    tcase_add_test(t, no_metrics_is_a_series_too);
    tcase_add_test(t, bits_past_the_last_metric_are_ignored);
    tcase_add_test(t, release_may_come_twice);
    tcase_add_test(t, without_memory_the_series_stays_untouched);
    tcase_add_test(t, sum_columns_add_past_64_bits);
    tcase_add_test(t, max_columns_take_the_largest);
    tcase_add_test(t, the_total_of_an_absent_column_is_zero);
    tcase_add_test(t, ratios_stay_within_0_and_100_whatever_was_imported);
    tcase_add_test(t, hit_rate_is_percent_of_what_was_not_pulled);
    tcase_add_test(t, ratios_of_nothing_are_zero);
    tcase_add_test(t, means_and_reductions);
    suite_add_tcase(suite, t);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
