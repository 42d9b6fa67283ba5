/* The bounded cache of answers: what it keeps, and who leaves first. */
#include <check.h>

#include "http/cache.h"

#define BODY 1000
#define MANY 4096

static cache_key key_of(uint64_t n)
{
    return (cache_key){{n, 7}};
}

static void put(cache *c, uint64_t n)
{
    static const char bytes[BODY];
    const cache_key key = key_of(n);
    answer *a = answer_new();
    ck_assert(a && answer_set(a, bytes, sizeof bytes));
    cache_put(c, &key, a);
    answer_drop(a);
}

static bool has(cache *c, uint64_t n)
{
    const cache_key key = key_of(n);
    answer *a = cache_get(c, &key);
    answer_drop(a);
    return a != NULL;
}

START_TEST(what_is_used_stays_and_what_is_not_leaves)
{
    const size_t most = (size_t)1 << 20;
    cache *c = cache_new(most);
    for (uint64_t n = 0; n < MANY; n++) {
        put(c, n);
        ck_assert(has(c, 0)); /* asked for after every other one, so it never leaves */
        ck_assert_uint_le(cache_bytes(c), most);
    }
    ck_assert_uint_gt(cache_entries(c), 500);
    ck_assert_uint_lt(cache_entries(c), MANY / 2);
    ck_assert(!has(c, 1));
    ck_assert(has(c, MANY - 1));
    cache_free(c);
}
END_TEST

START_TEST(all_used_makes_room_all_the_same)
{
    cache *c = cache_new((size_t)1 << 20);
    for (uint64_t n = 0; n < MANY; n++) {
        put(c, n);
        ck_assert(has(c, n));
    }
    ck_assert(!has(c, 0));
    ck_assert(has(c, MANY - 1));
    cache_free(c);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("answers");
    TCase *tc = tcase_create("cache");
    tcase_add_test(tc, what_is_used_stays_and_what_is_not_leaves);
    tcase_add_test(tc, all_used_makes_room_all_the_same);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
