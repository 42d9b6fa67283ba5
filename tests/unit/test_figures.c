/* Figures that are kept: when they are counted anew. */
#include "http/figures.h"

#include <check.h>
#include <stdlib.h>

static figures counted(uint64_t version, int64_t from_us, int64_t to_us)
{
    figures f = {.there = false};
    const tb_store_figures values = {.zones = 5};
    ck_assert(figures_due(&f, version, from_us));
    figures_keep(&f, &values, version, from_us, to_us);
    ck_assert_uint_eq(f.values.zones, 5);
    return f;
}

START_TEST(a_cheap_count_is_made_after_every_commit_and_only_then)
{
    const figures f = counted(7, 1000, 1000 + FIGURES_CHEAP_US - 1);
    ck_assert(!figures_due(&f, 7, f.at_us));
    ck_assert(!figures_due(&f, 7, f.at_us + FIGURES_AGE_US - 1));
    ck_assert(figures_due(&f, 8, f.at_us));
}
END_TEST

START_TEST(an_old_count_is_made_anew)
{
    const figures f = counted(7, 0, 10);
    ck_assert(figures_due(&f, 7, f.at_us + FIGURES_AGE_US));
}
END_TEST

START_TEST(a_dear_count_takes_one_hundredth_of_the_time)
{
    const figures f = counted(7, 500, 500 + 20000);
    ck_assert(!figures_due(&f, 8, f.at_us));
    ck_assert(!figures_due(&f, 8, f.at_us + 20000 * FIGURES_SHARE - 1));
    ck_assert(figures_due(&f, 8, f.at_us + 20000 * FIGURES_SHARE));
    ck_assert(!figures_due(&f, 7, f.at_us + 20000 * FIGURES_SHARE));
}
END_TEST

START_TEST(no_count_is_kept_longer_than_ten_seconds)
{
    const figures f = counted(7, 0, 30000000);
    ck_assert(!figures_due(&f, 8, f.at_us + FIGURES_AGE_US - 1));
    ck_assert(figures_due(&f, 8, f.at_us + FIGURES_AGE_US));
    ck_assert(figures_due(&f, 7, f.at_us + FIGURES_AGE_US));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("figures");
    TCase *t = tcase_create("figures");
    tcase_add_test(t, a_cheap_count_is_made_after_every_commit_and_only_then);
    tcase_add_test(t, an_old_count_is_made_anew);
    tcase_add_test(t, a_dear_count_takes_one_hundredth_of_the_time);
    tcase_add_test(t, no_count_is_kept_longer_than_ten_seconds);
    suite_add_tcase(suite, t);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
