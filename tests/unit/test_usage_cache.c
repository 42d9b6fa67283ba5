/* The readers' cache: an entry is good for who names the same newest batch and mending, it never outgrows its bytes, and the one
 * used least recently goes first. */
#include "store/clickhouse/cache.h"

#include <check.h>
#include <string.h>

static const tb__ch_cache_key day = {101, 0, 20000, 1, 0};

static tb__ch_as_of at(int64_t newest)
{
    return (tb__ch_as_of){newest, 0};
}

static bool has(tb__ch_cache *c, tb__ch_cache_key key, tb__ch_as_of as_of, const char *text)
{
    tb_buf out;
    tb_buf_init(&out, 4096, NULL);
    const bool found = tb__ch_cache_get(c, key, as_of, &out);
    if (found) ck_assert(out.len == strlen(text) && memcmp(out.data, text, out.len) == 0);
    tb_buf_release(&out);
    return found;
}

START_TEST(an_entry_is_good_for_the_newest_batch_it_was_read_with)
{
    tb__ch_cache *c = tb__ch_cache_new(65536);
    ck_assert(!has(c, day, at(7), ""));
    tb__ch_cache_put(c, day, at(7), "seven", 5);
    ck_assert(has(c, day, at(7), "seven"));
    ck_assert(!has(c, day, at(8), "")); /* usage came since */
    ck_assert(!has(c, day, at(6), "")); /* an older snapshot */
    tb__ch_cache_put(c, day, at(6), "six", 3); /* its reader does not push the newer one out */
    ck_assert(has(c, day, at(7), "seven"));
    ck_assert(!has(c, day, at(6), ""));
    tb__ch_cache_put(c, day, at(8), "eight", 5);
    ck_assert(has(c, day, at(8), "eight"));
    ck_assert(!has(c, day, at(7), ""));
    tb__ch_cache_free(c);
}
END_TEST

START_TEST(an_entry_is_good_for_the_mending_it_was_read_with)
{
    static const tb__ch_as_of before = {7, 0}, behind = {7, 5}, later = {8, 5};
    tb__ch_cache *c = tb__ch_cache_new(65536);
    tb__ch_cache_put(c, day, before, "twice", 5);
    ck_assert(has(c, day, before, "twice"));
    ck_assert(!has(c, day, behind, ""));
    tb__ch_cache_put(c, day, behind, "once", 4);
    tb__ch_cache_put(c, day, before, "twice", 5); /* a reader of an older snapshot */
    ck_assert(has(c, day, behind, "once"));
    ck_assert(!has(c, day, before, ""));
    tb__ch_cache_put(c, day, later, "more", 4);
    ck_assert(has(c, day, later, "more"));
    tb__ch_cache_free(c);
}
END_TEST

START_TEST(every_part_of_a_key_counts)
{
    static const tb__ch_cache_key others[] = {{102, 0, 20000, 1, 0}, {101, 0, 20001, 1, 0}, {101, 0, 20000, 2, 0},
                                              {101, 0, 20000, 1, 1}, {101, 7, 20000, 1, 0}};
    tb__ch_cache *c = tb__ch_cache_new(65536);
    tb__ch_cache_put(c, day, at(7), "x", 1);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        ck_assert(!has(c, others[i], at(7), ""));
    tb__ch_cache_put(c, others[0], at(7), NULL, 0); /* nothing is an answer, too */
    ck_assert(has(c, others[0], at(7), ""));
    tb__ch_cache_free(c);
}
END_TEST

START_TEST(it_never_outgrows_its_bytes_and_the_least_used_goes)
{
    char data[500] = {0};
    tb__ch_cache *c = tb__ch_cache_new(10000);
    tb_buf out;
    tb_buf_init(&out, 4096, NULL);
    tb__ch_cache_put(c, day, at(7), "kept", 4);
    for (int i = 0; i < 1000; i++) {
        tb__ch_cache_put(c, (tb__ch_cache_key){i, 0, i, 2, 1}, at(7), data, sizeof data);
        ck_assert_uint_le(tb__ch_cache_bytes(c), 10000);
        ck_assert(has(c, day, at(7), "kept"));
    }
    ck_assert(!tb__ch_cache_get(c, (tb__ch_cache_key){0, 0, 0, 2, 1}, at(7), &out));
    ck_assert(tb__ch_cache_get(c, (tb__ch_cache_key){999, 0, 999, 2, 1}, at(7), &out));
    tb__ch_cache_put(c, (tb__ch_cache_key){5, 0, 5, 2, 1}, at(7), data, sizeof data);
    const size_t before = tb__ch_cache_bytes(c);
    tb__ch_cache_put(c, day, at(8), data, 2500); /* a quarter of it all: not remembered */
    ck_assert_uint_eq(tb__ch_cache_bytes(c), before);
    tb_buf_release(&out);
    tb__ch_cache_free(c);
    tb__ch_cache_free(NULL);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("usage_cache");
    TCase *t = tcase_create("usage_cache");
    tcase_add_test(t, an_entry_is_good_for_the_newest_batch_it_was_read_with);
    tcase_add_test(t, an_entry_is_good_for_the_mending_it_was_read_with);
    tcase_add_test(t, every_part_of_a_key_counts);
    tcase_add_test(t, it_never_outgrows_its_bytes_and_the_least_used_goes);
    suite_add_tcase(suite, t);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
