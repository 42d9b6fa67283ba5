/* The selection by which percentiles and spreads are found. */
#include "base/rank.h"

#include <check.h>
#include <stdlib.h>

START_TEST(selection_is_exact_in_any_order)
{
    tb_i128 values[500], sorted[500];
    uint64_t state = 1;
    for (size_t n = 1; n <= 500; n += 7)
        for (int shape = 0; shape < 4; shape++)
            for (size_t k = 0; k < n; k += 1 + n / 5) {
                for (size_t i = 0; i < n; i++) {
                    state = state * UINT64_C(6364136223846793005) + 1;
                    sorted[i] = shape == 3 ? 7 : (tb_i128)i;
                    values[i] = shape == 0   ? (tb_i128)i
                                : shape == 1 ? (tb_i128)(n - 1 - i)
                                             : sorted[i];
                }
                for (size_t i = n; shape == 2 && i-- > 1;) {
                    state = state * UINT64_C(6364136223846793005) + 1442695040888963407;
                    size_t j = (size_t)(state >> 33) % (i + 1);
                    tb_i128 swap = values[i];
                    values[i] = values[j];
                    values[j] = swap;
                }
                ck_assert(tb__put_rank(values, n, k) == sorted[k]);
                for (size_t i = 0; i < n; i++)
                    ck_assert(i < k ? values[i] <= values[k] : values[i] >= values[k]);
            }
}
END_TEST

/* In each round the first, the middle and the last of what is left are its two smallest values and a large one. Without a bound this
 * takes longer than a test may. */
START_TEST(an_order_against_the_selection_costs_no_more)
{
    const size_t n = (size_t)1 << 20;
    tb_i128 *values = malloc(n * sizeof *values);
    ck_assert_ptr_nonnull(values);
    values[n - 2] = (tb_i128)n - 2;
    values[n - 1] = (tb_i128)n - 1;
    for (size_t low = n - 2; low >= 2;) {
        low -= 2;
        const size_t middle = low + (n - 1 - low) / 2;
        values[low + 1] = values[middle];
        values[middle] = (tb_i128)low + 1;
        values[low] = (tb_i128)low;
    }
    ck_assert(tb__put_rank(values, n, n - 1 - n / 20) == (tb_i128)(n - 1 - n / 20));
    free(values);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("rank");
    TCase *t = tcase_create("rank");
    tcase_add_test(t, selection_is_exact_in_any_order);
    tcase_add_test(t, an_order_against_the_selection_costs_no_more);
    suite_add_tcase(suite, t);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
