/* tests for advice/random.c: GSL's generator is the independent one */
#include "advice/random.h"

#include <check.h>
#include <gsl/gsl_rng.h>
#include <stdlib.h>

#define N 100000

/* Whatever pieces they are drawn in. */
START_TEST(numbers_are_those_of_gsl)
{
    static const uint32_t seeds[] = {0, 1, 2, 4357, 20261128, UINT32_MAX};
    static uint32_t numbers[N];
    gsl_rng *rng = gsl_rng_alloc(gsl_rng_mt19937);
    for (size_t s = 0; s < sizeof seeds / sizeof *seeds; s++) {
        tb__random random;
        tb__random_seed(&random, seeds[s]);
        for (size_t at = 0, piece = 1; at < N; at += piece, piece = piece * 7 % 1999) {
            if (piece > N - at) piece = N - at;
            tb__random_fill(&random, numbers + at, piece);
        }
        gsl_rng_set(rng, seeds[s]);
        for (size_t i = 0; i < N; i++)
            ck_assert_uint_eq(numbers[i], gsl_rng_uniform_int(rng, 1ul << TB__RANDOM_BITS));
    }
    gsl_rng_free(rng);
}
END_TEST

/* Chi-square over 64 equal spans; 107 is passed once in two thousand times, and a seed gives always the same. */
START_TEST(numbers_are_even)
{
    static uint32_t numbers[N];
    for (uint32_t seed = 1; seed <= 5; seed++) {
        size_t count[64] = {0};
        double square = 0;
        tb__random random;
        tb__random_seed(&random, seed);
        tb__random_fill(&random, numbers, N);
        for (size_t i = 0; i < N; i++)
            count[numbers[i] >> (TB__RANDOM_BITS - 6)]++;
        for (size_t k = 0; k < 64; k++)
            square += ((double)count[k] - N / 64.0) * ((double)count[k] - N / 64.0) / (N / 64.0);
        ck_assert_msg(square < 107, "seed %u: chi-square %f of 63 degrees", seed, square);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("random");
    TCase *tests = tcase_create("random");
    tcase_add_test(tests, numbers_are_those_of_gsl);
    tcase_add_test(tests, numbers_are_even);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
