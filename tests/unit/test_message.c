/* Messages on standard error: their forms, which of them are wanted, and that JSON is valid whatever a message holds. */
#include "http/message.h"
#include "http/upgrade.h"

#include <check.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#define MOMENT INT64_C(1795176000123456) /* 2026-11-20T12:00:00.123456Z */

static tb_buf line;

static const char *encode(const message_options *o, bool journal, message_level level, const char *text)
{
    tb_buf_release(&line);
    tb_buf_init(&line, 1 << 16, NULL);
    message_encode(o, journal, level, MOMENT, text, &line);
    tb_buf_add(&line, "", 1);
    ck_assert(!line.failed);
    return line.data;
}

START_TEST(text_has_a_moment_where_the_command_runs_on)
{
    message_options o = {.command = "ingest"};
    ck_assert_str_eq(encode(&o, false, MESSAGE_ERROR, "It is so."), "tollbook ingest: It is so.\n");
    o = (message_options){.command = "serve", .moments = true};
    ck_assert_str_eq(encode(&o, false, MESSAGE_WARNING, "a\tb\nc"),
                     "2026-11-20T12:00:00.123Z warning tollbook serve: a\tb\nc\n");
    o = (message_options){.command = NULL};
    ck_assert_str_eq(encode(&o, false, MESSAGE_INFO, ""), "tollbook: \n");
}
END_TEST

START_TEST(the_journal_gets_priorities_and_has_its_own_moments)
{
    static const char *const begin[] = {"<3>", "<4>", "<6>", "<7>"};
    message_options o = {.command = "serve", .moments = true};
    for (int level = 0; level < MESSAGE_LEVEL_COUNT; level++) {
        char expected[64];
        snprintf(expected, sizeof expected, "%stollbook serve: a\n%sb\n", begin[level], begin[level]);
        ck_assert_str_eq(encode(&o, true, (message_level)level, "a\nb"), expected);
    }
    o.json = true;
    ck_assert_str_eq(encode(&o, true, MESSAGE_ERROR, "a"), "<3>{\"time\":\"2026-11-20T12:00:00.123Z\",\"level\":\"error\","
                                                           "\"command\":\"serve\",\"message\":\"a\"}\n");
}
END_TEST

START_TEST(a_message_does_nothing_to_a_terminal)
{
    const message_options o = {.command = "serve"};
    ck_assert_str_eq(encode(&o, false, MESSAGE_ERROR, "a\x1b[2Jb\r\xff"), "tollbook serve: a\\x1b[2Jb\\x0d\\xff\n");
}
END_TEST

/* Every byte, and what only looks like UTF-8. */
START_TEST(json_is_one_valid_line_whatever_the_message_holds)
{
    const message_options o = {.command = "key create", .json = true};
    static const char *const odd[] = {"\"\\/", "\xc3", "\xc3\x28", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xe2\x80\xa8", "\xc0\xaf", "caf\xc3\xa9",
                                      "a\nb\n", "</script>", "\\u0000", "\\x41"};
    char all[256];
    for (int i = 0; i < 255; i++)
        all[i] = (char)(i + 1);
    all[255] = 0;
    for (size_t i = 0; i <= sizeof odd / sizeof *odd; i++) {
        json_error_t why;
        const char *text = encode(&o, false, MESSAGE_DEBUG, i < sizeof odd / sizeof *odd ? odd[i] : all);
        ck_assert_ptr_eq(strchr(text, '\n'), text + strlen(text) - 1);
        json_t *found = json_loads(text, JSON_REJECT_DUPLICATES, &why);
        ck_assert_msg(found != NULL, "%s: %s", text, why.text);
        ck_assert_str_eq(json_string_value(json_object_get(found, "level")), "debug");
        ck_assert_str_eq(json_string_value(json_object_get(found, "command")), "key create");
        json_decref(found);
    }
    json_t *found = json_loads(encode(&o, false, MESSAGE_INFO, "a\n\"b\"\\ caf\xc3\xa9"), 0, NULL);
    ck_assert_str_eq(json_string_value(json_object_get(found, "message")), "a\n\"b\"\\ caf\xc3\xa9");
    json_decref(found);
    found = json_loads(encode(&o, false, MESSAGE_INFO, "a\x1b\xff"), 0, NULL);
    ck_assert_str_eq(json_string_value(json_object_get(found, "message")), "a\\x1b\\xff"); /* as in text */
    json_decref(found);
}
END_TEST

START_TEST(a_level_wants_what_is_more_important)
{
    for (int least = 0; least < MESSAGE_LEVEL_COUNT; least++) {
        message_use(&(message_options){.least = (message_level)least});
        for (int level = 0; level < MESSAGE_LEVEL_COUNT; level++)
            ck_assert_int_eq(message_wanted((message_level)level), level <= least);
    }
}
END_TEST

/* --- upgrades --- */

START_TEST(a_short_upgrade_is_one_line_and_a_long_one_is_told_on_the_way)
{
    static const struct {
        int ms, reached;
        message_level level;
        const char *said; /* NULL: nothing */
    } steps[] = {
        {0, 27, MESSAGE_DEBUG, "t.db: upgrade from schema 27 to 29: at 27"},
        {2999, 27, MESSAGE_DEBUG, NULL},
        {3000, 27, MESSAGE_INFO, "t.db is being upgraded from schema 27 to 29, for 3 s now; the step to 28 runs. Cut off, it leaves "
                                 "the file as it was."},
        {12999, 27, MESSAGE_DEBUG, NULL},
        {12999, 28, MESSAGE_DEBUG, "t.db: upgrade from schema 27 to 29: at 28"},
        {13000, 28, MESSAGE_INFO, "t.db is being upgraded from schema 27 to 29, for 13 s now; the step to 29 runs. Cut off, it leaves "
                                  "the file as it was."},
        {14250, 29, MESSAGE_INFO, "t.db was upgraded from schema 27 to 29 in 14.2 s. Older versions of tollbook refuse it now: only a "
                                  "backup from before leads back."},
    };
    upgrade_watch w = {.path = "t.db"};
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        char text[UPGRADE_TEXT_MAX];
        message_level level;
        const int schemas[] = {27, steps[i].reached, 29};
        ck_assert_int_eq(upgrade_tell(&w, INT64_C(5000000) + steps[i].ms * 1000, schemas, &level, text), steps[i].said != NULL);
        if (!steps[i].said) continue;
        ck_assert_str_eq(text, steps[i].said);
        ck_assert_int_eq(level, steps[i].level);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("message");
    TCase *tcase = tcase_create("message");
    tcase_add_test(tcase, text_has_a_moment_where_the_command_runs_on);
    tcase_add_test(tcase, the_journal_gets_priorities_and_has_its_own_moments);
    tcase_add_test(tcase, a_message_does_nothing_to_a_terminal);
    tcase_add_test(tcase, json_is_one_valid_line_whatever_the_message_holds);
    tcase_add_test(tcase, a_level_wants_what_is_more_important);
    tcase_add_test(tcase, a_short_upgrade_is_one_line_and_a_long_one_is_told_on_the_way);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    tb_buf_release(&line);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
