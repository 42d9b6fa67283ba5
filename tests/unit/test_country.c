/* Countries of a day: what was packed is what is read; damage is an error; merging adds. */
#include "store/usage/country.h"

#include "tollbook/metrics.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#define CODE(a, b) ((uint16_t)((a) << 8 | (b)))
#define SEED       INT64_C(424242)

static const tb__country some[] = {
    {CODE('A', 'A'), 0, 0}, {CODE('D', 'E'), 127, 128}, {CODE('Z', 'Z'), 1, TB_COUNTER_MAX}};

static void expect_equal(const tb__country *a, const tb__country *b, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        ck_assert_uint_eq(a[i].code, b[i].code);
        ck_assert_uint_eq(a[i].requests, b[i].requests);
        ck_assert_uint_eq(a[i].bytes, b[i].bytes);
    }
}

START_TEST(a_list_comes_back)
{
    uint8_t bytes[TB__COUNTRY_ROW_MAX];
    tb__country back[TB__COUNTRY_MAX];
    for (size_t n = 0; n <= 3; n++) {
        size_t got = 99, len = tb__country_encode(some, n, SEED, bytes);
        ck_assert_int_eq(tb__country_decode(bytes, len, SEED, back, &got, NULL), TB_OK);
        ck_assert_uint_eq(got, n);
        expect_equal(some, back, n);
    }
}
END_TEST

START_TEST(the_longest_list_fits)
{
    static uint8_t bytes[TB__COUNTRY_ROW_MAX];
    tb__country all[TB__COUNTRY_MAX], back[TB__COUNTRY_MAX];
    size_t n = 0, got = 0;
    for (unsigned a = 'A'; a <= 'Z'; a++)
        for (unsigned b = 'A'; b <= 'Z'; b++)
            all[n++] = (tb__country){CODE(a, b), TB_COUNTER_MAX, TB_COUNTER_MAX};
    ck_assert_uint_eq(n, TB__COUNTRY_MAX);
    ck_assert_uint_eq(tb__country_encode(all, n, SEED, bytes), TB__COUNTRY_ROW_MAX);
    ck_assert_int_eq(tb__country_decode(bytes, sizeof bytes, SEED, back, &got, NULL), TB_OK);
    ck_assert_uint_eq(got, n);
    expect_equal(all, back, n);
}
END_TEST

START_TEST(every_flipped_bit_and_every_cut_is_found)
{
    uint8_t bytes[TB__COUNTRY_ROW_MAX];
    tb__country back[TB__COUNTRY_MAX];
    size_t got, len = tb__country_encode(some, 3, SEED, bytes);
    for (size_t bit = 0; bit < len * 8; bit++) {
        bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
        ck_assert_int_eq(tb__country_decode(bytes, len, SEED, back, &got, NULL), TB_E_CORRUPT);
        bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    for (size_t n = 0; n < len; n++)
        ck_assert_int_eq(tb__country_decode(bytes, n, SEED, back, &got, NULL), TB_E_CORRUPT);
    ck_assert_int_eq(tb__country_decode(bytes, len, SEED + 1, back, &got, NULL), TB_E_CORRUPT);
    ck_assert_int_eq(tb__country_decode(NULL, 0, SEED, back, &got, NULL), TB_E_CORRUPT);
}
END_TEST

/* Lists that the writer never makes, under a right checksum. */
START_TEST(only_what_the_writer_makes_is_accepted)
{
    static const struct {
        const char *what;
        tb__country list[2];
        size_t n;
    } wrong[] = {
        {"descending", {{CODE('B', 'B'), 1, 1}, {CODE('A', 'A'), 1, 1}}, 2},
        {"twice", {{CODE('B', 'B'), 1, 1}, {CODE('B', 'B'), 1, 1}}, 2},
        {"not letters", {{CODE('a', 'B'), 1, 1}}, 1},
        {"not letters", {{CODE('A', '['), 1, 1}}, 1},
        {"none", {{0, 1, 1}}, 1},
        {"past the limit", {{CODE('A', 'A'), (uint64_t)TB_COUNTER_MAX + 1, 1}}, 1},
        {"past the limit", {{CODE('A', 'A'), 1, UINT64_MAX}}, 1},
    };
    uint8_t bytes[TB__COUNTRY_ROW_MAX];
    tb__country back[TB__COUNTRY_MAX];
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        size_t got, len = tb__country_encode(wrong[i].list, wrong[i].n, SEED, bytes);
        ck_assert_msg(tb__country_decode(bytes, len, SEED, back, &got, NULL) == TB_E_CORRUPT, "%s",
                      wrong[i].what);
    }
}
END_TEST

START_TEST(merging_adds_what_both_have_and_keeps_the_rest)
{
    static const tb__country a[] = {{CODE('A', 'T'), 1, 10}, {CODE('D', 'E'), 2, 20}};
    static const tb__country b[] = {
        {CODE('C', 'H'), 4, 40}, {CODE('D', 'E'), 8, 80}, {CODE('U', 'S'), 16, 160}};
    static const tb__country both[] = {{CODE('A', 'T'), 1, 10},
                                       {CODE('C', 'H'), 4, 40},
                                       {CODE('D', 'E'), 10, 100},
                                       {CODE('U', 'S'), 16, 160}};
    tb__country out[TB__COUNTRY_MAX];
    size_t n = 0;
    ck_assert_int_eq(tb__country_merge(a, 2, b, 3, out, &n, NULL), TB_OK);
    ck_assert_uint_eq(n, 4);
    expect_equal(both, out, n);
    ck_assert_int_eq(tb__country_merge(b, 3, a, 2, out, &n, NULL), TB_OK);
    ck_assert_uint_eq(n, 4);
    expect_equal(both, out, n);
    ck_assert_int_eq(tb__country_merge(a, 2, NULL, 0, out, &n, NULL), TB_OK);
    ck_assert_uint_eq(n, 2);
    expect_equal(a, out, n);
    ck_assert_int_eq(tb__country_merge(NULL, 0, NULL, 0, out, &n, NULL), TB_OK);
    ck_assert_uint_eq(n, 0);
}
END_TEST

START_TEST(a_merge_past_the_limit_is_an_error)
{
    static const tb__country full[] = {{CODE('D', 'E'), 1, TB_COUNTER_MAX}};
    static const tb__country one[] = {{CODE('D', 'E'), 1, 1}}, none[] = {{CODE('D', 'E'), 1, 0}};
    tb__country out[TB__COUNTRY_MAX];
    size_t n;
    ck_assert_int_eq(tb__country_merge(full, 1, none, 1, out, &n, NULL), TB_OK);
    ck_assert_int_eq(tb__country_merge(full, 1, one, 1, out, &n, NULL), TB_E_OVERFLOW);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("country");
    TCase *t = tcase_create("country");
    tcase_add_test(t, a_list_comes_back);
    tcase_add_test(t, the_longest_list_fits);
    tcase_add_test(t, every_flipped_bit_and_every_cut_is_found);
    tcase_add_test(t, only_what_the_writer_makes_is_accepted);
    tcase_add_test(t, merging_adds_what_both_have_and_keeps_the_rest);
    tcase_add_test(t, a_merge_past_the_limit_is_an_error);
    suite_add_tcase(suite, t);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
