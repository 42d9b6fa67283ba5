/* tests for advice/start.c */
#include <check.h>
#include <gsl/gsl_errno.h>
#include <gsl/gsl_vector.h>
#include <stdlib.h>

#include "tollbook/forecast.h"

START_TEST(advice_without_the_programs_consent_is_an_error)
{
    tb_error err;
    ck_assert_int_eq(tb_advice_ready(&err), TB_E_INTERNAL);
    ck_assert_ptr_nonnull(strstr(err.message, "tb_advice_start"));
}
END_TEST

/* With GSL's own handler this would abort. */
START_TEST(a_failing_gsl_call_gives_a_status)
{
    tb_advice_start();
    ck_assert_int_eq(tb_advice_ready(NULL), TB_OK);
    gsl_vector *a = gsl_vector_calloc(2), *b = gsl_vector_calloc(3);
    ck_assert_int_eq(gsl_vector_add(a, b), GSL_EBADLEN);
    gsl_vector_free(a);
    gsl_vector_free(b);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("start");
    TCase *tests = tcase_create("start");
    tcase_add_test(tests, advice_without_the_programs_consent_is_an_error);
    tcase_add_test(tests, a_failing_gsl_call_gives_a_status);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
