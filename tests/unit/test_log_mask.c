/* What looks like an address in a text is hidden, and nothing else is. */
#include <check.h>
#include <string.h>

#include "tollbook/requestlog.h"

static void masks(tb_log_privacy privacy, const char *text, const char *want)
{
    char copy[256];
    const size_t len = strlen(text);
    memcpy(copy, text, len);
    const size_t left = tb_log_mask(privacy, false, copy, len);
    ck_assert_uint_le(left, len);
    ck_assert_msg(left == strlen(want) && memcmp(copy, want, left) == 0, "\"%.*s\", not \"%s\"",
                  (int)left, copy, want);
}

static void shortens(const char *text, const char *want)
{
    masks(TB_LOG_IP_SHORT, text, want);
}

static void drops(const char *text, const char *want)
{
    masks(TB_LOG_IP_NONE, text, want);
}

START_TEST(addresses_of_both_kinds_are_shortened)
{
    shortens("192.0.2.77", "192.0.2.0");
    shortens("a 192.0.2.77:443, 198.51.100.9.", "a 192.0.2.0:443, 198.51.100.0.");
    shortens("|2001:db8:1:2:3:4:5:6|", "|2001:db8:1:2::|");
    shortens("[2001:db8::7]:443", "[2001:db8::]:443");
    shortens("::ffff:192.0.2.77 ::1", "192.0.2.0 ::");
    shortens("[::FFFF:c000:24d]:443", "[192.0.2.0]:443");
    shortens("64:ff9b::c000:24d 64:ff9b::192.0.2.77", "64:ff9b::c000:200 64:ff9b::c000:200");
    shortens("2002:c000:24d::7", "2002:c000:200::");
    shortens("2001:DB8::7", "2001:db8::");
}
END_TEST

START_TEST(addresses_of_both_kinds_are_dropped)
{
    drops("192.0.2.77 x", "0.0.0.0 x");
    drops("cut 192.0.2", "cut 0.0.0");
    drops("|2001:db8:1:2:3:4:5:6|::1", "|::|::");
    drops("::ffff:192.0.2.77 64:ff9b::c000:24d", "0.0.0.0 ::");
}
END_TEST

START_TEST(what_only_looks_like_one_is_hidden_too)
{
    shortens("1.2.3.4.5", "1.2.3.0.0");
    shortens("999.1.2.31234", "999.1.2.0");
    shortens("a192.0.2.77", "a192.0.2.0");
    shortens("abc2001:db8::7", "::");
    shortens("1:2:3:4:5", "::");
    shortens("face::192.0.2.77:80", "::");
}
END_TEST

START_TEST(times_numbers_and_words_stay)
{
    static const char *const texts[] = {
        "[17/May/2015:10:05:03 +0000]", "HIT|200|1794950000000|48213|1234|", "curl/8.9",
        "https://z1.example/cafe.dead?b=1.5", "2026-11-20T10:00:00Z", "..:.:.", ""};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        shortens(texts[i], texts[i]);
        drops(texts[i], texts[i]);
    }
    masks(TB_LOG_IP_WHOLE, "192.0.2.77 2001:db8::7", "192.0.2.77 2001:db8::7");
}
END_TEST

START_TEST(what_a_cut_may_have_left_of_one_goes)
{
    char text[] = "agent 2001:db8";
    ck_assert_uint_eq(tb_log_mask(TB_LOG_IP_NONE, true, text, strlen(text)), strlen("agent "));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("log_mask");
    TCase *t = tcase_create("mask");
    tcase_add_test(t, addresses_of_both_kinds_are_shortened);
    tcase_add_test(t, addresses_of_both_kinds_are_dropped);
    tcase_add_test(t, what_only_looks_like_one_is_hidden_too);
    tcase_add_test(t, times_numbers_and_words_stay);
    tcase_add_test(t, what_a_cut_may_have_left_of_one_goes);
    suite_add_tcase(suite, t);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
