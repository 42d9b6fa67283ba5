/* Grids: counters add by their metric's rule and never pass 2^63 - 1. */
#include "tollbook/rollup.h"

#include <check.h>
#include <string.h>

static uint64_t at(const tb_grid *grid, tb_metric metric, unsigned slot)
{
    return grid->metrics & TB_METRIC_BIT(metric) ? grid->v[metric][slot] : 0;
}

START_TEST(a_cleared_grid_holds_nothing)
{
    tb_grid g;
    memset(&g, 0xff, sizeof g);
    tb_grid_clear(&g);
    ck_assert_uint_eq(g.metrics, 0);
    ck_assert_uint_eq(g.slots, 0);
}
END_TEST

START_TEST(a_sum_adds_and_a_max_keeps_the_larger)
{
    tb_grid g;
    tb_grid_clear(&g);
    ck_assert_int_eq(tb_grid_add(&g, TB_M_BYTES, 3, 10, NULL), TB_OK);
    ck_assert_int_eq(tb_grid_add(&g, TB_M_BYTES, 3, 32, NULL), TB_OK);
    ck_assert_int_eq(tb_grid_add(&g, TB_M_QUEUED_MAX, 3, 7, NULL), TB_OK);
    ck_assert_int_eq(tb_grid_add(&g, TB_M_QUEUED_MAX, 3, 5, NULL), TB_OK);
    ck_assert_uint_eq(at(&g, TB_M_BYTES, 3), 42);
    ck_assert_uint_eq(at(&g, TB_M_QUEUED_MAX, 3), 7);
    ck_assert_uint_eq(g.slots, UINT32_C(1) << 3);
}
END_TEST

START_TEST(a_column_in_use_is_defined_in_every_slot)
{
    tb_grid g;
    memset(&g, 0xff, sizeof g);
    tb_grid_clear(&g);
    ck_assert_int_eq(tb_grid_add(&g, TB_M_PULLED, 31, 1, NULL), TB_OK);
    for (unsigned i = 0; i < 31; i++)
        ck_assert_uint_eq(g.v[TB_M_PULLED][i], 0);
}
END_TEST

START_TEST(the_limit_is_reached_but_not_passed)
{
    tb_grid g;
    tb_error err = {0};
    tb_grid_clear(&g);
    ck_assert_int_eq(tb_grid_add(&g, TB_M_BYTES, 0, TB_COUNTER_MAX - 1, NULL), TB_OK);
    ck_assert_int_eq(tb_grid_add(&g, TB_M_BYTES, 0, 1, NULL), TB_OK);
    ck_assert_uint_eq(at(&g, TB_M_BYTES, 0), TB_COUNTER_MAX);
    ck_assert_int_eq(tb_grid_add(&g, TB_M_BYTES, 0, 1, &err), TB_E_OVERFLOW);
    ck_assert_str_eq(err.field, "bytes");
    ck_assert_uint_eq(at(&g, TB_M_BYTES, 0), TB_COUNTER_MAX);
    ck_assert_int_eq(tb_grid_add(&g, TB_M_QUEUED_MAX, 0, (uint64_t)TB_COUNTER_MAX + 1, NULL),
                     TB_E_OVERFLOW);
    ck_assert_int_eq(tb_grid_add(&g, TB_M_BYTES, 1, UINT64_MAX, NULL), TB_E_OVERFLOW);
}
END_TEST

START_TEST(a_merge_goes_slot_by_slot)
{
    tb_grid a, b;
    tb_grid_clear(&a);
    tb_grid_clear(&b);
    ck_assert_int_eq(tb_grid_add(&a, TB_M_BYTES, 0, 1, NULL), TB_OK);
    ck_assert_int_eq(tb_grid_add(&a, TB_M_CONCURRENT_MAX, 5, 9, NULL), TB_OK);
    ck_assert_int_eq(tb_grid_add(&b, TB_M_BYTES, 0, 2, NULL), TB_OK);
    ck_assert_int_eq(tb_grid_add(&b, TB_M_BYTES, 1, 4, NULL), TB_OK);
    ck_assert_int_eq(tb_grid_add(&b, TB_M_CONCURRENT_MAX, 5, 3, NULL), TB_OK);
    ck_assert_int_eq(tb_grid_add(&b, TB_M_SAVED, 23, 8, NULL), TB_OK); /* a column a lacks */
    ck_assert_int_eq(tb_grid_merge(&a, &b, NULL), TB_OK);
    ck_assert_uint_eq(at(&a, TB_M_BYTES, 0), 3);
    ck_assert_uint_eq(at(&a, TB_M_BYTES, 1), 4);
    ck_assert_uint_eq(at(&a, TB_M_CONCURRENT_MAX, 5), 9);
    ck_assert_uint_eq(at(&a, TB_M_SAVED, 23), 8);
    ck_assert_uint_eq(a.slots, 1u << 0 | 1u << 1 | 1u << 5 | 1u << 23);
}
END_TEST

START_TEST(a_merge_of_one_slot_leaves_the_others)
{
    tb_grid a, b;
    tb_grid_clear(&a);
    tb_grid_clear(&b);
    for (unsigned h = 0; h < 24; h++) {
        ck_assert_int_eq(tb_grid_add(&a, TB_M_BYTES, h, 100 + h, NULL), TB_OK);
        ck_assert_int_eq(tb_grid_add(&a, TB_M_CONCURRENT_MAX, h, 7, NULL), TB_OK);
    }
    ck_assert_int_eq(tb_grid_add(&b, TB_M_BYTES, 11, 1000, NULL), TB_OK);
    ck_assert_int_eq(tb_grid_add(&b, TB_M_CONCURRENT_MAX, 11, 9, NULL), TB_OK);
    ck_assert_int_eq(tb_grid_add(&b, TB_M_REQUESTS, 11, 5, NULL), TB_OK);
    ck_assert_int_eq(tb_grid_merge(&a, &b, NULL), TB_OK);
    for (unsigned h = 0; h < 24; h++) {
        ck_assert_uint_eq(at(&a, TB_M_BYTES, h), h == 11 ? 1111 : 100 + h);
        ck_assert_uint_eq(at(&a, TB_M_CONCURRENT_MAX, h), h == 11 ? 9 : 7);
        ck_assert_uint_eq(at(&a, TB_M_REQUESTS, h), h == 11 ? 5 : 0);
    }
    ck_assert_uint_eq(a.slots, 0xffffff);
}
END_TEST

START_TEST(a_merge_past_the_limit_is_an_error)
{
    tb_grid a, b;
    tb_error err = {0};
    tb_grid_clear(&a);
    tb_grid_clear(&b);
    ck_assert_int_eq(tb_grid_add(&a, TB_M_REQUESTS, 7, TB_COUNTER_MAX, NULL), TB_OK);
    ck_assert_int_eq(tb_grid_add(&b, TB_M_REQUESTS, 7, 1, NULL), TB_OK);
    ck_assert_int_eq(tb_grid_merge(&a, &b, &err), TB_E_OVERFLOW);
    ck_assert_str_eq(err.field, "requests");
}
END_TEST

START_TEST(a_fold_sums_a_days_hours_into_one_day)
{
    tb_grid day, month;
    tb_grid_clear(&day);
    tb_grid_clear(&month);
    for (unsigned h = 0; h < 24; h++) {
        ck_assert_int_eq(tb_grid_add(&day, TB_M_REQUESTS, h, h, NULL), TB_OK);
        ck_assert_int_eq(tb_grid_add(&day, TB_M_QUEUED_MAX, h, h % 5, NULL), TB_OK);
    }
    ck_assert_int_eq(tb_grid_fold(&month, 30, &day, NULL), TB_OK);
    ck_assert_int_eq(tb_grid_fold(&month, 30, &day, NULL), TB_OK);
    ck_assert_uint_eq(at(&month, TB_M_REQUESTS, 30), 2 * 276);
    ck_assert_uint_eq(at(&month, TB_M_QUEUED_MAX, 30), 4);
    ck_assert_uint_eq(at(&month, TB_M_REQUESTS, 29), 0);
}
END_TEST

START_TEST(a_fold_past_the_limit_is_an_error_even_where_the_sum_wraps)
{
    tb_grid day, month;
    tb_grid_clear(&day);
    tb_grid_clear(&month);
    for (unsigned h = 0; h < 3; h++) /* 3 x (2^63 - 1) wraps to less than 2^63 */
        ck_assert_int_eq(tb_grid_add(&day, TB_M_BYTES, h, TB_COUNTER_MAX, NULL), TB_OK);
    ck_assert_int_eq(tb_grid_fold(&month, 0, &day, NULL), TB_E_OVERFLOW);
    tb_grid_clear(&month);
    tb_grid_clear(&day);
    ck_assert_int_eq(tb_grid_add(&day, TB_M_BYTES, 0, TB_COUNTER_MAX, NULL), TB_OK);
    ck_assert_int_eq(tb_grid_fold(&month, 0, &day, NULL), TB_OK);
    ck_assert_int_eq(tb_grid_fold(&month, 0, &day, NULL), TB_E_OVERFLOW);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("grid");
    TCase *t = tcase_create("grid");
    tcase_add_test(t, a_cleared_grid_holds_nothing);
    tcase_add_test(t, a_sum_adds_and_a_max_keeps_the_larger);
    tcase_add_test(t, a_column_in_use_is_defined_in_every_slot);
    tcase_add_test(t, the_limit_is_reached_but_not_passed);
    tcase_add_test(t, a_merge_goes_slot_by_slot);
    tcase_add_test(t, a_merge_of_one_slot_leaves_the_others);
    tcase_add_test(t, a_merge_past_the_limit_is_an_error);
    tcase_add_test(t, a_fold_sums_a_days_hours_into_one_day);
    tcase_add_test(t, a_fold_past_the_limit_is_an_error_even_where_the_sum_wraps);
    suite_add_tcase(suite, t);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
