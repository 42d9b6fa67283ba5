/* The body of a what-if: which bytes are a scenario's. */
#include "tollbook/whatifrun.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static tb_whatif_body body;
static tb_error err;

static tb_code read_text(const char *text)
{
    memset(&err, 0, sizeof err);
    return tb_whatif_body_parse(text, strlen(text), &body, &err);
}

static void expect_slice(size_t i, const char *text)
{
    ck_assert_uint_lt(i, body.n_scenarios);
    ck_assert_uint_eq(body.scenario[i].len, strlen(text));
    ck_assert_int_eq(memcmp(body.scenario[i].text, text, strlen(text)), 0);
}

START_TEST(scenarios_are_the_bytes_that_were_sent)
{
    ck_assert_int_eq(
        read_text(" {\"to\" : \"2026-10\" ,\"x\\u0031\":1,\"from\":\"2026-09\"}"), TB_E_VALIDATION);
    ck_assert_int_eq(
        read_text("\n{ \"account\" : 7 , \"to\" : \"2026-10\" ,\t\"scenarios\" : [ {\"a\":\"]}\\\"\","
                  "\"b\":[1,{}]} , \"name\",{ }\n] , \"from\":\"2026-09\" } \n"),
        TB_OK);
    ck_assert_uint_eq(body.n_scenarios, 3);
    expect_slice(0, "{\"a\":\"]}\\\"\",\"b\":[1,{}]}");
    expect_slice(1, "\"name\"");
    expect_slice(2, "{ }");
    ck_assert_str_eq(body.from, "2026-09");
    ck_assert_str_eq(body.to, "2026-10");
    ck_assert_int_eq(body.account, 7);
}
END_TEST

START_TEST(members_before_the_scenarios_are_stepped_over)
{
    ck_assert_int_eq(read_text("{\"from\":\"2026-09\",\"account\":12,\"to\":\"2026-10\","
                               "\"scenarios\":[{\"n\":1.10}]}"),
                     TB_OK);
    expect_slice(0, "{\"n\":1.10}");
}
END_TEST

START_TEST(what_is_refused_and_where)
{
    static const struct {
        const char *text, *field;
    } rows[] = {
        {"", ""},
        {"[]", ""},
        {"{\"from\":1,\"to\":\"2026-10\",\"scenarios\":[{}]}", "from"},
        {"{\"from\":\"2026-10\",\"scenarios\":[{}]}", "to"},
        {"{\"from\":\"2026-10\",\"to\":\"0123456789abcdef\",\"scenarios\":[{}]}", "to"},
        {"{\"from\":\"2026-10\",\"to\":\"2026-10\",\"scenarios\":[]}", "scenarios"},
        {"{\"from\":\"2026-10\",\"to\":\"2026-10\",\"scenarios\":{}}", "scenarios"},
        {"{\"from\":\"2026-10\",\"to\":\"2026-10\",\"scenarios\":[{},null]}", "scenarios[1]"},
        {"{\"from\":\"2026-10\",\"to\":\"2026-10\",\"account\":1.5,\"scenarios\":[{}]}", "account"},
        {"{\"from\":\"2026-10\",\"to\":\"2026-10\",\"account\":\"1\",\"scenarios\":[{}]}", "account"},
        {"{\"from\":\"2026-10\",\"to\":\"2026-10\",\"months\":1,\"scenarios\":[{}]}", "months"},
        {"{\"from\":\"2026-10\",\"to\":\"2026-10\",\"scen\\u0061rios\":[{}]}", "scenarios"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ck_assert_int_eq(read_text(rows[i].text), TB_E_VALIDATION);
        ck_assert_str_eq(err.field, rows[i].field);
    }
}
END_TEST

START_TEST(bounds_are_where_they_are_said_to_be)
{
    char *text = malloc(TB_WHATIF_BODY_MAX + 2);
    for (int n = TB_WHATIF_BODY_SCENARIOS_MAX - 1; n <= TB_WHATIF_BODY_SCENARIOS_MAX + 1; n++) {
        int at = sprintf(text, "{\"from\":\"2026-10\",\"to\":\"2026-10\",\"scenarios\":[{}");
        for (int i = 1; i < n; i++)
            at += sprintf(text + at, ",{}");
        sprintf(text + at, "]}");
        ck_assert_int_eq(read_text(text), n > TB_WHATIF_BODY_SCENARIOS_MAX ? TB_E_TOO_MUCH : TB_OK);
    }
    int len = sprintf(text, "{\"from\":\"2026-10\",\"to\":\"2026-10\",\"scenarios\":[{}]}");
    memset(text + len, ' ', TB_WHATIF_BODY_MAX + 1 - (size_t)len);
    text[TB_WHATIF_BODY_MAX + 1] = 0;
    ck_assert_int_eq(read_text(text), TB_E_TOO_LARGE);
    text[TB_WHATIF_BODY_MAX] = 0;
    ck_assert_int_eq(read_text(text), TB_OK);
    free(text);
}
END_TEST

int main(void)
{
    TCase *t = tcase_create("whatif_body");
    tcase_add_test(t, scenarios_are_the_bytes_that_were_sent);
    tcase_add_test(t, members_before_the_scenarios_are_stepped_over);
    tcase_add_test(t, what_is_refused_and_where);
    tcase_add_test(t, bounds_are_where_they_are_said_to_be);
    Suite *s = suite_create("whatif_body");
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_ENV);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
