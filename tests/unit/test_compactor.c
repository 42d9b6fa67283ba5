/* How many rows a step of compaction has, by what the last one took. */
#include <check.h>
#include <stdlib.h>

#include "http/compactor.h"

#define MOST  TB_COMPACTION_ROWS_MOST
#define LEAST TB_COMPACTION_ROWS_LEAST

START_TEST(a_step_follows_what_the_last_one_took)
{
    ck_assert_uint_eq(compactor_rows(0, 9000000, 80000), 80000); /* it folded nothing */
    ck_assert_uint_eq(compactor_rows(200000, 1000000, 200000), 100000);
    ck_assert_uint_eq(compactor_rows(100000, 9000000, 100000), LEAST);
    ck_assert_uint_eq(compactor_rows(90000, 300000, 100000), 100000);
    ck_assert_uint_eq(compactor_rows(90000, 200000, 100000), 125000);
    ck_assert_uint_eq(compactor_rows(40000, 200000, 100000), 100000); /* the last of an owner: it says little */
    ck_assert_uint_eq(compactor_rows(190000, 200000, 190000), MOST);
    ck_assert_uint_eq(compactor_rows(4000000, 8000000, 100000), 100000); /* one hour has as many */
}
END_TEST

/* Servers of which a statement costs so much, and 100,000 rows so much more: where few rows help, a step soon takes less than a second,
 * and where they do not, it keeps the least. */
START_TEST(steps_settle)
{
    static const int64_t own_us[] = {5000, 100000, 900000}, rows_us[] = {50000, 400000, 700000};
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            uint64_t most = COMPACTOR_ROWS_FIRST;
            int64_t took_us = 0;
            for (int n = 0; n < 20; n++) {
                took_us = own_us[i] + rows_us[j] * (int64_t)most / 100000;
                ck_assert(n < 3 || own_us[i] == 900000 || took_us < 1000000);
                most = compactor_rows(most, took_us, most);
                ck_assert(most >= LEAST && most <= MOST);
            }
            ck_assert(own_us[i] < 900000 || most == LEAST);
            ck_assert(rows_us[j] > 50000 || own_us[i] > 100000 || most == MOST);
        }
}
END_TEST

int main(void)
{
    TCase *t = tcase_create("compactor");
    tcase_add_test(t, a_step_follows_what_the_last_one_took);
    tcase_add_test(t, steps_settle);
    Suite *s = suite_create("compactor");
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_ENV);
    const int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
