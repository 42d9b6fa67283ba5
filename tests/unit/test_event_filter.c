/* Export requests: what is refused, and what passes. */
#include "tollbook/event.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOW_MS INT64_C(1795176000000)
#define WINDOW "\"from\":1795172400000,\"to\":1795176000000"

static tb_error err;

static tb_code parse(const char *body, tb_event_query **ret)
{
    return tb_event_query_parse(body, strlen(body), NOW_MS, ret, &err);
}

static void refuses(const char *body, const char *field, const char *sentence)
{
    tb_event_query *q;
    ck_assert_msg(parse(body, &q) == TB_E_VALIDATION, "%s", body);
    ck_assert_msg(strcmp(err.field, field) == 0, "%s: %s", body, err.field);
    if (sentence) ck_assert_msg(strcmp(err.message, sentence) == 0, "%s: %s", body, err.message);
}

START_TEST(windows)
{
    tb_event_query *q;
    refuses("{}", "from", "from: This is missing: milliseconds since 1970, UTC.");
    refuses("{\"from\":1}", "to", NULL);
    refuses("{\"from\":null,\"to\":1795176000000}", "from", NULL);
    refuses("{\"from\":\"1\",\"to\":1795176000000}", "from", NULL);
    refuses("{\"from\":1.5,\"to\":1795176000000}", "from", NULL);
    refuses("{\"from\":-1,\"to\":1795176000000}", "from", NULL);
    refuses("{\"from\":1,\"to\":9223372036854775808}", "to", NULL);
    refuses("{\"from\":1795176000000,\"to\":1795176000000}", "to", "to: Must be after from.");
    refuses("{\"from\":1,\"to\":1794916799999}", "to", "to: Must be within the last 72 hours.");
    refuses("{\"from\":1,\"to\":1795176060001}", "to", NULL);
    refuses("[]", "", NULL);
    refuses("", "", NULL);
    refuses("{\"from\":1,\"from\":1,\"to\":1795176000000}", "", NULL);
    ck_assert_int_eq(parse("{\"from\":0,\"to\":1794916800000,\"groupBy\":\"ip\"}", &q), TB_OK);
    ck_assert_int_eq(tb_event_query_from(q), 0);
    ck_assert_int_eq(tb_event_query_to(q), INT64_C(1794916800000));
    ck_assert(tb_event_query_all(q));
    tb_event_query_free(q);
    ck_assert_int_eq(parse("{" WINDOW ",\"query\":null,\"filters\":null}", &q), TB_OK);
    ck_assert(tb_event_query_all(q));
    tb_event_query_free(q);
    ck_assert_int_eq(parse("{\"from\":1,\"to\":1795176060000,\"filters\":[]}", &q), TB_OK);
    tb_event_query_free(q);
    tb_event_query_free(NULL);
}
END_TEST

START_TEST(filters_that_are_none)
{
    refuses("{" WINDOW ",\"filters\":{}}", "filters", NULL);
    refuses("{" WINDOW ",\"filters\":[1]}", "filters[0]", NULL);
    refuses("{" WINDOW ",\"filters\":[{}]}", "filters[0].field", NULL);
    refuses("{" WINDOW ",\"filters\":[{\"field\":\"colour\",\"op\":\"eq\",\"value\":[\"1\"]}]}",
            "filters[0].field", NULL);
    refuses("{" WINDOW ",\"filters\":[{\"field\":\"userAgent\",\"op\":\"eq\",\"value\":[\"1\"]}]}",
            "filters[0].field", NULL);
    refuses("{" WINDOW ",\"filters\":[{\"field\":\"ip\",\"op\":\"gt\",\"value\":[\"1\"]}]}",
            "filters[0].op", NULL);
    refuses("{" WINDOW ",\"filters\":[{\"field\":\"ip\",\"op\":\"EQ\",\"value\":[\"1\"]}]}",
            "filters[0].op", NULL);
    refuses("{" WINDOW ",\"filters\":[{\"field\":\"ip\",\"op\":\"eq\",\"value\":[]}]}",
            "filters[0].value", NULL);
    refuses("{" WINDOW ",\"filters\":[{\"field\":\"ip\",\"op\":\"eq\",\"value\":\"1\"}]}",
            "filters[0].value", NULL);
    refuses("{" WINDOW ",\"filters\":[{\"field\":\"ip\",\"op\":\"eq\",\"value\":[1]}]}",
            "filters[0].value", NULL);
    refuses("{" WINDOW ",\"filters\":[{\"field\":\"ip\",\"op\":\"eq\"}]}", "filters[0].value", NULL);
    refuses("{" WINDOW ",\"filters\":[{\"field\":\"ip\",\"op\":\"eq\",\"value\":[\"1\"]},"
            "{\"field\":\"asn\",\"op\":\"cidr\",\"value\":[\"10.0.0.0/8\"]}]}",
            "filters[1].op", "filters[1].op: cidr is only for the field ip.");
    refuses("{" WINDOW ",\"query\":7}", "query", NULL);
    static const char *const networks[] = {"", "/8", "10.0.0.0/", "10.0.0.0/33", "10.0.0.0/-1",
                                           "10.0.0/8", "10.0.0.0/08", "10.0.0.0/8x", "x/8",
                                           "2001:db8::/129", "::ffff:10.0.0.0/95", "10.0.0.0//8",
                                           "10.0.0.0/999", " 10.0.0.0/8"};
    for (size_t i = 0; i < sizeof networks / sizeof *networks; i++) {
        char body[300];
        snprintf(body, sizeof body,
                 "{" WINDOW ",\"filters\":[{\"field\":\"ip\",\"op\":\"cidr\",\"value\":[\"%s\"]}]}",
                 networks[i]);
        refuses(body, "filters[0].value", NULL);
    }
}
END_TEST

START_TEST(too_much_is_refused)
{
    char *body = malloc(1 << 20);
    int n = sprintf(body, "{" WINDOW ",\"filters\":[");
    for (int i = 0; i < 33; i++)
        n += sprintf(body + n, "%s{\"field\":\"ip\",\"op\":\"eq\",\"value\":[\"1\"]}", i ? "," : "");
    sprintf(body + n, "]}");
    refuses(body, "filters", NULL);
    n = sprintf(body, "{" WINDOW ",\"filters\":[{\"field\":\"ip\",\"op\":\"in\",\"value\":[\"1\"");
    for (int i = 0; i < 1000; i++)
        n += sprintf(body + n, ",\"1\"");
    sprintf(body + n, "]}]}");
    refuses(body, "filters[0].value", NULL);
    sprintf(body, "{" WINDOW ",\"query\":\"%01025d\"}", 0);
    refuses(body, "query", NULL);
    for (n = 0; n < 132000; n++)
        memcpy(body + 3 * n, "[],", 3);
    tb_event_query *q;
    ck_assert_int_eq(tb_event_query_parse(body, 3 * (size_t)n, NOW_MS, &q, &err), TB_E_TOO_LARGE);
    free(body);
}
END_TEST

/* --- matching --- */

/* An event with one field. */
static bool passes(const char *filters, tb_event_field f, tb_text text)
{
    char body[8192];
    tb_event_query *q;
    tb_event e = {.zone = 1, .time_ms = NOW_MS};
    tb_event_record record;
    tb_buf packed;
    size_t at = 0;
    bool ok = false;
    snprintf(body, sizeof body, "{" WINDOW ",%s}", filters);
    ck_assert_msg(parse(body, &q) == TB_OK, "%s: %s", body, err.message);
    e.field[TB_EVENT_ID] = (tb_text){"i", 1};
    e.field[f] = text;
    tb_buf_init(&packed, 4 << 20, NULL);
    tb_event_pack(&e, &packed);
    ck_assert(tb_event_next(packed.data, packed.len, &at, &record));
    const bool passed = tb_event_query_match(q, &record, &ok);
    ck_assert(ok);
    tb_buf_release(&packed);
    tb_event_query_free(q);
    return passed;
}

static bool op(const char *field, const char *op, const char *values, tb_event_field f,
               const char *text)
{
    char filters[4096];
    snprintf(filters, sizeof filters,
             "\"filters\":[{\"field\":\"%s\",\"op\":\"%s\",\"value\":[%s]}]", field, op, values);
    return passes(filters, f, (tb_text){text, strlen(text)});
}

START_TEST(equal_and_in_are_exact)
{
    ck_assert(op("action", "eq", "\"block\"", TB_EVENT_ACTION, "block"));
    ck_assert(!op("action", "eq", "\"block\"", TB_EVENT_ACTION, "Block"));
    ck_assert(!op("action", "eq", "\"block\"", TB_EVENT_ACTION, "blocked"));
    ck_assert(op("action", "eq", "\"\"", TB_EVENT_URL, "x"));
    ck_assert(op("country", "in", "\"DE\",\"FR\"", TB_EVENT_COUNTRY, "FR"));
    ck_assert(!op("country", "in", "\"DE\",\"FR\"", TB_EVENT_COUNTRY, "F"));
    ck_assert(op("ua", "eq", "\"x\"", TB_EVENT_AGENT, "x"));
    /* addresses are what they are, not how they are written */
    ck_assert(op("ip", "eq", "\"2001:db8::1\"", TB_EVENT_IP, "2001:DB8:0:0::1"));
    ck_assert(op("ip", "in", "\"x\",\"10.0.0.1\"", TB_EVENT_IP, "::ffff:10.0.0.1"));
    ck_assert(!op("ip", "eq", "\"10.0.0.1\"", TB_EVENT_IP, "10.0.0.2"));
    ck_assert(op("ip", "eq", "\"unknown\"", TB_EVENT_IP, "unknown"));
    ck_assert(!op("ip", "eq", "\"unknown\"", TB_EVENT_IP, "10.0.0.1"));
}
END_TEST

START_TEST(networks_of_both_families)
{
    static const struct {
        const char *network, *in, *out;
    } cases[] = {
        {"10.0.0.0/8", "10.255.255.255", "11.0.0.0"},
        {"10.1.2.3/8", "10.0.0.0", "9.255.255.255"},
        {"192.0.2.128/25", "192.0.2.128", "192.0.2.127"},
        {"192.0.2.1/32", "192.0.2.1", "192.0.2.0"},
        {"192.0.2.1", "192.0.2.1", "192.0.2.3"},
        {"0.0.0.0/0", "255.255.255.255", "::1"},
        {"::/0", "2001:db8::1", "10.0.0.1"},
        {"2001:db8::/32", "2001:db8:ffff::", "2001:db9::"},
        {"2001:db8::/33", "2001:db8:7fff::", "2001:db8:8000::"},
        {"::1/128", "::1", "::2"},
        {"::ffff:10.0.0.0/104", "10.9.9.9", "11.0.0.1"},
        {"10.0.0.0/8", "::ffff:10.1.1.1", "not an address"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char value[80];
        snprintf(value, sizeof value, "\"203.0.113.7/32\",\"%s\"", cases[i].network);
        ck_assert_msg(op("ip", "cidr", value, TB_EVENT_IP, cases[i].in), "%s", cases[i].network);
        ck_assert_msg(!op("ip", "cidr", value, TB_EVENT_IP, cases[i].out), "%s", cases[i].network);
    }
    ck_assert(!op("ip", "cidr", "\"0.0.0.0/0\"", TB_EVENT_IP, ""));
}
END_TEST

START_TEST(contains_and_free_text_ignore_case)
{
    ck_assert(op("url", "contains", "\"LOGIN\"", TB_EVENT_URL, "https://x/Login?a"));
    ck_assert(op("url", "contains", "\"\"", TB_EVENT_URL, ""));
    ck_assert(!op("url", "contains", "\"login\"", TB_EVENT_URL, "https://x/logi"));
    static const tb_event_field searched[] = {TB_EVENT_IP, TB_EVENT_RULE_ID, TB_EVENT_URL,
                                              TB_EVENT_AGENT, TB_EVENT_RULE_NAME};
    for (size_t i = 0; i < 5; i++)
        ck_assert(passes("\"query\":\"NeEdLe\"", searched[i], (tb_text){"a needle b", 10}));
    ck_assert(!passes("\"query\":\"needle\"", TB_EVENT_COUNTRY, (tb_text){"needle", 6}));
    ck_assert(!passes("\"query\":\"needle\"", TB_EVENT_LOG, (tb_text){"needle", 6}));
    ck_assert(passes("\"query\":\"\"", TB_EVENT_LOG, (tb_text){"x", 1}));
    /* and what filters say besides must hold too */
    ck_assert(!passes("\"query\":\"needle\",\"filters\":[{\"field\":\"url\",\"op\":\"contains\","
                      "\"value\":[\"x\"]}]",
                      TB_EVENT_URL, (tb_text){"needle", 6}));
}
END_TEST

START_TEST(wildcards)
{
    static const struct {
        const char *pattern, *text;
        bool passes;
    } cases[] = {
        {"*", "", true},        {"*", "x", true},         {"", "", true},
        {"", "x", false},       {"a", "a", true},         {"a", "A", true},
        {"a", "ab", false},     {"a*", "ab", true},       {"*b", "ab", true},
        {"*b", "abc", false},   {"a*c", "abbbc", true},   {"a*c", "ac", true},
        {"ab*bc", "abc", false}, {"ab*bc", "abbc", true}, {"a**b", "axb", true},
        {"*a*", "xay", true},   {"*a*b*", "xbya", false}, {"*a*a", "a", false},
        {"*ab*ab", "abab", true}, {"*ab*ab", "ab", false}, {"?", "x", false},
        {"*.PHP", "/x.php", true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char value[40];
        snprintf(value, sizeof value, "\"%s\"", cases[i].pattern);
        ck_assert_msg(op("url", "wildcard", value, TB_EVENT_URL, cases[i].text) == cases[i].passes,
                      "%s on %s", cases[i].pattern, cases[i].text);
    }
}
END_TEST

/* Against the plain recursive definition, on short texts of two letters. */
static bool slow(const char *p, const char *t)
{
    if (!*p) return !*t;
    if (*p == '*') return slow(p + 1, t) || (*t && slow(p, t + 1));
    return *p == *t && slow(p + 1, t + 1);
}

START_TEST(wildcards_are_what_their_definition_says)
{
    for (unsigned pattern = 0; pattern < 729; pattern += (TB_PART > 1 ? 7 : 1))
        for (unsigned text = 0; text < 32; text++) {
            char p[8], t[6], value[16];
            unsigned rest = pattern;
            for (int i = 0; i < 6; i++, rest /= 3)
                p[i] = "ab*"[rest % 3];
            p[6] = 0;
            for (int i = 0; i < 5; i++)
                t[i] = "ab"[text >> i & 1];
            t[5] = 0;
            snprintf(value, sizeof value, "\"%s\"", p);
            ck_assert_msg(op("url", "wildcard", value, TB_EVENT_URL, t) == slow(p, t), "%s on %s", p, t);
        }
}
END_TEST

/* A matcher that tries again would need more steps than there are atoms. */
START_TEST(no_pattern_takes_long)
{
    char value[1100] = "\"";
    char *text = malloc(1 << 20);
    memset(text, 'a', 1 << 20);
    for (int i = 0; i < 255; i++)
        strcat(value, "*aaa");
    strcat(value, "*b\"");
    char filters[1300];
    snprintf(filters, sizeof filters,
             "\"filters\":[{\"field\":\"url\",\"op\":\"wildcard\",\"value\":[%s]}]", value);
    for (int i = 0; i < (TB_PART > 1 ? 3 : 50); i++)
        ck_assert(!passes(filters, TB_EVENT_URL, (tb_text){text, (1 << 20) - 100}));
    free(text);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("event filter");
    TCase *tc = tcase_create("requests");
    tcase_add_test(tc, windows);
    tcase_add_test(tc, filters_that_are_none);
    tcase_add_test(tc, too_much_is_refused);
    tcase_add_test(tc, equal_and_in_are_exact);
    tcase_add_test(tc, networks_of_both_families);
    tcase_add_test(tc, contains_and_free_text_ignore_case);
    tcase_add_test(tc, wildcards);
    tcase_add_test(tc, wildcards_are_what_their_definition_says);
    tcase_add_test(tc, no_pattern_takes_long);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
