/* The table of sessions: texts, ends, bounds and the sign-in that is left, under a clock of the test's. */
#include <check.h>
#include <string.h>

#include "http/sessions.h"

#define NOW INT64_C(1793782800000000)

static sessions *table;

static void setup(void)
{
    table = sessions_new();
    ck_assert_ptr_nonnull(table);
}

static void teardown(void)
{
    sessions_free(table);
}

/* Opens one of the key; its text depends on key and n alone. */
static void open_one(int64_t key, uint32_t n, int64_t until_us, char out[SESSION_TEXT + 1])
{
    uint8_t random[SESSION_RANDOM] = {0};
    const session what = {.key = key, .account = key * 10, .roles = 1, .until_us = until_us};
    memcpy(random, &key, sizeof key);
    memcpy(random + sizeof key, &n, sizeof n);
    sessions_open(table, &what, NOW, random, out);
}

static bool is_there(const char *text, int64_t now_us)
{
    session s;
    return sessions_find(table, (tb_text){text, strlen(text)}, now_us, &s);
}

START_TEST(a_text_finds_its_session_and_no_other_does)
{
    char text[SESSION_TEXT + 1], other[SESSION_TEXT + 1];
    session s;
    open_one(7, 1, NOW + 5, text);
    open_one(8, 1, NOW + 5, other);
    ck_assert_uint_eq(strlen(text), SESSION_TEXT);
    ck_assert(sessions_find(table, (tb_text){text, SESSION_TEXT}, NOW, &s));
    ck_assert_int_eq(s.key, 7);
    ck_assert_int_eq(s.account, 70);
    ck_assert(sessions_find(table, (tb_text){other, SESSION_TEXT}, NOW, &s));
    ck_assert_int_eq(s.key, 8);
    ck_assert(!sessions_find(table, (tb_text){text, SESSION_TEXT - 1}, NOW, &s));
    ck_assert(!sessions_find(table, (tb_text){0}, NOW, &s));
    text[0] = text[0] == '0' ? '1' : '0';
    ck_assert(!is_there(text, NOW));
}
END_TEST

START_TEST(it_ends_on_time_and_when_it_is_closed)
{
    char text[SESSION_TEXT + 1], other[SESSION_TEXT + 1];
    open_one(7, 1, NOW + 5, text);
    open_one(7, 2, NOW + 9, other);
    ck_assert(is_there(text, NOW + 4));
    ck_assert(!is_there(text, NOW + 5));
    sessions_close(table, (tb_text){other, SESSION_TEXT});
    ck_assert(!is_there(other, NOW));
    ck_assert(is_there(text, NOW));
    sessions_close(table, (tb_text){other, SESSION_TEXT});
    sessions_close(table, (tb_text){0});
}
END_TEST

START_TEST(of_one_key_the_oldest_gives_way)
{
    char text[SESSIONS_OF_KEY + 1][SESSION_TEXT + 1], other[SESSION_TEXT + 1];
    open_one(8, 1, NOW + 5, other);
    for (uint32_t i = 0; i <= SESSIONS_OF_KEY; i++) {
        if (i == SESSIONS_OF_KEY) ck_assert(is_there(text[0], NOW));
        open_one(7, i, NOW + 5, text[i]);
    }
    ck_assert(!is_there(text[0], NOW));
    for (uint32_t i = 1; i <= SESSIONS_OF_KEY; i++)
        ck_assert(is_there(text[i], NOW));
    ck_assert(is_there(other, NOW));
}
END_TEST

START_TEST(of_a_full_table_the_oldest_gives_way_and_what_is_over_goes_first)
{
    char first[SESSION_TEXT + 1], second[SESSION_TEXT + 1], brief[SESSION_TEXT + 1], text[SESSION_TEXT + 1];
    uint8_t random[SESSION_RANDOM] = {9};
    const session later = {.key = 2, .until_us = NOW + 99};
    open_one(100000, 0, NOW + 50, first);
    open_one(100001, 0, NOW + 50, second);
    open_one(100002, 0, NOW + 2, brief);
    for (int64_t key = 3; key < SESSIONS_MAX; key++)
        open_one(key, 0, NOW + 50, text);
    ck_assert(is_there(first, NOW) && is_there(brief, NOW));
    sessions_open(table, &later, NOW + 2, random, text); /* takes the place of the brief one */
    ck_assert(is_there(first, NOW + 2) && is_there(text, NOW + 2));
    random[0] = 8;
    sessions_open(table, &later, NOW + 2, random, text);
    ck_assert(!is_there(first, NOW + 2));
    ck_assert(is_there(second, NOW + 2) && is_there(text, NOW + 2));
}
END_TEST

START_TEST(what_is_left_is_collected_once)
{
    char text[SESSION_TEXT + 1], newer[SESSION_TEXT + 1];
    const uint8_t one[SESSION_RANDOM] = {1}, two[SESSION_RANDOM] = {2};
    const session what = {.account = 3, .roles = 1};
    session s;
    ck_assert(!sessions_redeem(table, (tb_text){"", 0}, &s));
    sessions_put_one_time(table, &what, one, text);
    ck_assert(!is_there(text, NOW)); /* it is no session yet */
    sessions_put_one_time(table, &what, two, newer);
    ck_assert(!sessions_redeem(table, (tb_text){text, SESSION_TEXT}, &s));
    ck_assert(sessions_redeem(table, (tb_text){newer, SESSION_TEXT}, &s));
    ck_assert_int_eq(s.account, 3);
    ck_assert(!sessions_redeem(table, (tb_text){newer, SESSION_TEXT}, &s));
}
END_TEST

START_TEST(the_cookie_is_found_among_others)
{
    static const struct {
        const char *header, *text;
    } rows[] = {
        {"tollbook_session_80=abc", "abc"},
        {"a=b; tollbook_session_80=abc", "abc"},
        {"a=b;tollbook_session_80=abc;c=d", "abc"},
        {"tollbook_session_80=; x=y", ""},
        {"tollbook_session_80=one; tollbook_session_80=two", "one"},
        {";tollbook_session_80=one", "one"},
        {"xtollbook_session_80=abc", NULL},
        {"tollbook_session_8080=abc", NULL},
        {"tollbook_session_8=abc", NULL},
        {"tollbook_session=abc", NULL},
        {"tollbook_session_8080=abc; tollbook_session_80=one", "one"},
        {"tollbook_sessio", NULL},
        {"tollbook_session_80", NULL},
        {"TOLLBOOK_SESSION_80=abc", NULL},
        {"a=tollbook_session_80=abc", NULL},
        {";;; ;", NULL},
        {"", NULL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        size_t at = 0;
        const tb_text found = sessions_cookie((tb_text){rows[i].header, strlen(rows[i].header)}, 80, &at);
        ck_assert_msg((found.data != NULL) == (rows[i].text != NULL), "%s", rows[i].header);
        if (!rows[i].text) continue;
        ck_assert_uint_eq(found.len, strlen(rows[i].text));
        ck_assert(memcmp(found.data, rows[i].text, found.len) == 0);
    }
    size_t at = 0;
    ck_assert_ptr_null(sessions_cookie((tb_text){0}, 80, &at).data);
}
END_TEST

START_TEST(of_several_of_its_name_each_is_found)
{
    static const char header[] = "tollbook_session_80=1; a=b;tollbook_session_80=;  tollbook_session_80=3;";
    static const char *const wanted[] = {"1", "", "3"};
    size_t at = 0;
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        const tb_text found = sessions_cookie((tb_text){header, sizeof header - 1}, 80, &at);
        ck_assert_ptr_nonnull(found.data);
        ck_assert_uint_eq(found.len, strlen(wanted[i]));
        ck_assert(memcmp(found.data, wanted[i], found.len) == 0);
    }
    ck_assert_ptr_null(sessions_cookie((tb_text){header, sizeof header - 1}, 80, &at).data);
    ck_assert_ptr_null(sessions_cookie((tb_text){header, sizeof header - 1}, 80, &at).data);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("sessions");
    TCase *tc = tcase_create("table");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, a_text_finds_its_session_and_no_other_does);
    tcase_add_test(tc, it_ends_on_time_and_when_it_is_closed);
    tcase_add_test(tc, of_one_key_the_oldest_gives_way);
    tcase_add_test(tc, of_a_full_table_the_oldest_gives_way_and_what_is_over_goes_first);
    tcase_add_test(tc, what_is_left_is_collected_once);
    tcase_add_test(tc, the_cookie_is_found_among_others);
    tcase_add_test(tc, of_several_of_its_name_each_is_found);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    const int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
