/* The seed of the random tests: TB_SEED, or one from the clock where the long form is asked for
 * (TB_LONG=1), or always the same. It is printed, so that TB_SEED runs the same test again. */
#ifndef TOLLBOOK_TESTS_SEED_H
#define TOLLBOOK_TESTS_SEED_H

#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define TEST_SEED UINT64_C(20261104)

static inline bool test_long(void)
{
    const char *form = getenv("TB_LONG");
    return form && strcmp(form, "1") == 0;
}

/* Whether what has no threads runs too: the thread sanitizer leaves it out, but in the long form. */
static inline bool test_without_threads(void)
{
    const char *variant = getenv("TB_VARIANT");
    return test_long() || !variant || strcmp(variant, "tsan") != 0;
}

#ifdef TB_PART
/* Rounds of a random test: a sanitizer's build takes a part of them, the long form ten times as many. */
static inline int test_rounds(int usual)
{
    return usual * (test_long() ? 10 : 1) / TB_PART;
}
#endif

static inline uint64_t test_seed(void)
{
    const char *given = getenv("TB_SEED");
    uint64_t value = TEST_SEED;
    struct timespec now;
    if (given && *given) {
        value = strtoull(given, NULL, 10);
    } else if (test_long() && clock_gettime(CLOCK_REALTIME, &now) == 0) {
        value = (uint64_t)now.tv_sec << 20 ^ (uint64_t)now.tv_nsec;
    }
    printf("TB_SEED=%" PRIu64 "\n", value);
    fflush(stdout);
    return value;
}

#endif
