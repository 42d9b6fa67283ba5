/* What a mistyped word was meant to be, and the forms in which values are refused. */
#include "tollbook/error.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

static const char words[] = "table|json|csv|statistics|break-even";

static void is_near(const char *text, const char *wanted)
{
    const char *word = NULL;
    const size_t n = tb_nearest(words, text, strlen(text), &word);
    ck_assert_msg(n == strlen(wanted), "%s", text);
    if (n) ck_assert_int_eq(strncmp(word, wanted, n), 0);
    else ck_assert_ptr_null(word);
}

START_TEST(a_slip_finds_its_word)
{
    is_near("tabel", "table");
    is_near("JSON", "json");
    is_near("jsno", "json"); /* neighbours in the other order are one slip */
    is_near("jso", "json");
    is_near("sttatistcs", "statistics");
    is_near("break_even", "break-even");
    is_near("csv", "csv");
}
END_TEST

START_TEST(what_is_no_slip_finds_none)
{
    is_near("", "");
    is_near("xml", "");
    is_near("cs", "csv");
    is_near("cx", "");
    is_near("xs", "");
    is_near("jxxn", "");
    is_near("staxxxxxcs", "");
    is_near("statisticsstatisticsstatisticsstat", "");
}
END_TEST

START_TEST(the_nearest_of_several_is_meant)
{
    char out[TB_MEANT_MAX];
    ck_assert_str_eq(tb_meant("pay|day|days", "ledger ", "dayz", 4, out), " Did you mean \"ledger day\"?");
    ck_assert_str_eq(tb_meant("pay|day|days", "ledger ", "zzzz", 4, out), "");
    ck_assert_str_eq(tb_meant("", "", "x", 1, out), "");
}
END_TEST

START_TEST(words_are_listed_as_a_person_would)
{
    char out[64], narrow[8];
    ck_assert_str_eq(tb_words(words, out, sizeof out), "table, json, csv, statistics or break-even");
    ck_assert_str_eq(tb_words("one", out, sizeof out), "one");
    ck_assert_str_eq(tb_words("a|b", out, sizeof out), "a or b");
    ck_assert_uint_lt(strlen(tb_words(words, narrow, sizeof narrow)), sizeof narrow);
}
END_TEST

static void number(const char *text, int64_t min, int64_t max, const char *wanted)
{
    tb_error err;
    ck_assert_int_eq(tb_refuse_number(&err, "n", text, strlen(text), min, max), TB_E_VALIDATION);
    ck_assert_str_eq(err.field, "n");
    ck_assert_str_eq(err.message, wanted);
}

START_TEST(a_refused_number_says_what_it_takes)
{
    tb_error err;
    number("x", 1, INT64_MAX, "\"x\" is not a whole number from 1 up.");
    number("1.5", 1, 9, "\"1.5\" is not a whole number from 1 to 9.");
    number("", 1, 9, "\"\" is not a whole number from 1 to 9.");
    number("-", 1, 9, "\"-\" is not a whole number from 1 to 9.");
    number("10", 1, 9, "\"10\" is out of range: it takes a whole number from 1 to 9.");
    number("-1", 0, 9, "\"-1\" is out of range: it takes a whole number from 0 to 9.");
    ck_assert_int_eq(tb_refuse_word(&err, "way", "csv", "json", 4), TB_E_VALIDATION);
    ck_assert_str_eq(err.message, "\"json\" is not csv, which is all there is.");
    ck_assert_int_eq(tb_refuse_word(&err, "way", "skip|stop", "stpo", 4), TB_E_VALIDATION);
    ck_assert_str_eq(err.message, "\"stpo\" is not one of skip or stop. Did you mean \"stop\"?");
}
END_TEST

int main(void)
{
    Suite *s = suite_create("near");
    TCase *t = tcase_create("near");
    tcase_add_test(t, a_slip_finds_its_word);
    tcase_add_test(t, what_is_no_slip_finds_none);
    tcase_add_test(t, the_nearest_of_several_is_meant);
    tcase_add_test(t, words_are_listed_as_a_person_would);
    tcase_add_test(t, a_refused_number_says_what_it_takes);
    suite_add_tcase(s, t);
    SRunner *runner = srunner_create(s);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
