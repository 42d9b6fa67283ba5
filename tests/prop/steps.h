/* A test of one kind: random steps, and after each what must be true. TB_SEED reruns a failing run; the seed is
 * printed at the start. */
#ifndef TOLLBOOK_TESTS_STEPS_H
#define TOLLBOOK_TESTS_STEPS_H

#include "prop/random.h"
#include "seed.h"

#include <check.h>

#define STEPS_LONG 40 /* times as many with TB_LONG=1 */

static inline int steps_of(int usual)
{
    return usual * (test_long() ? STEPS_LONG : 1);
}

/* The program's exit status. */
static inline int steps_run(const char *name, const TTest *test)
{
    state = test_seed();
    Suite *suite = suite_create(name);
    TCase *t = tcase_create(name);
    tcase_set_timeout(t, 0);
    tcase_add_test(t, test);
    suite_add_tcase(suite, t);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}

#endif
