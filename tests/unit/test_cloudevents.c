/* CloudEvents with usage of meters: what is read, what is refused and why, what is no CloudEvent at all. */
#include "tollbook/cloudevents.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOW_US INT64_C(1794960000000000) /* 2026-11-18T00:00:00Z */
#define HEAD   "\"specversion\":\"1.0\",\"id\":\"7\",\"source\":\"edge-3\",\"type\":\"storage\",\"subject\":\"sz-1\""

typedef struct seen {
    size_t n;
    tb_cloud_event event; /* the last one */
    char id[64], source[64], refused[256];
} seen;

static tb_code note(void *ctx, size_t index, const tb_cloud_event *event, const char *refused, tb_error *err)
{
    seen *s = ctx;
    (void)err;
    ck_assert_uint_eq(index, s->n);
    s->n++;
    s->event = *event;
    snprintf(s->refused, sizeof s->refused, "%s", refused ? refused : "");
    snprintf(s->id, sizeof s->id, "%.*s", (int)event->id.len, event->id.len ? event->id.data : "");
    snprintf(s->source, sizeof s->source, "%.*s", (int)event->source.len, event->source.len ? event->source.data : "");
    return TB_OK;
}

static tb_code read_form(const char *text, tb_cloud_form form, seen *s, tb_error *err)
{
    *s = (seen){0};
    *err = (tb_error){0};
    return tb_cloud_events_read((tb_text){text, strlen(text)}, form, NOW_US, note, s, err);
}

static seen read_one(const char *text)
{
    seen s;
    tb_error err;
    ck_assert_msg(read_form(text, TB_CLOUD_ANY, &s, &err) == TB_OK, "%s: %s", text, err.message);
    ck_assert_uint_eq(s.n, 1);
    return s;
}

static void good(const char *text, uint64_t value)
{
    const seen s = read_one(text);
    ck_assert_msg(!*s.refused, "%s: %s", text, s.refused);
    ck_assert_uint_eq(s.event.line.value, value);
}

static void bad(const char *text, const char *part)
{
    const seen s = read_one(text);
    ck_assert_msg(*s.refused && strstr(s.refused, part), "%s: \"%s\" lacks \"%s\"", text, s.refused, part);
}

START_TEST(an_event_is_read_as_a_line)
{
    const seen s = read_one("{" HEAD ",\"time\":\"2026-11-01T13:07:00.5+01:00\",\"datacontenttype\":\"application/json\","
                            "\"comexampleextra\":true,\"data\":{\"account\":3,\"value\":48230144,\"dimensions\":{\"region\":\"DE\","
                            "\"tier\":\"h\\u00f6t\"}}}");
    const tb_meter_line *line = &s.event.line;
    ck_assert_str_eq(s.refused, "");
    ck_assert_str_eq(s.id, "7");
    ck_assert_str_eq(s.source, "edge-3");
    ck_assert_str_eq(line->meter, "storage");
    ck_assert_str_eq(line->resource, "sz-1");
    ck_assert_int_eq(line->account, 3);
    ck_assert_uint_eq(line->value, 48230144);
    ck_assert_int_eq(line->time_us, INT64_C(1793534820500000));
    ck_assert(!line->hourly);
    ck_assert_int_eq(line->n_dimensions, 2);
    ck_assert_str_eq(line->name[0], "region");
    ck_assert_str_eq(line->value_of[0], "DE");
    ck_assert_str_eq(line->value_of[1], "h\xc3\xb6t");
}
END_TEST

START_TEST(time_and_account_may_be_absent_and_null_is_absent)
{
    const seen s = read_one("{" HEAD ",\"time\":null,\"extension\":null,\"data\":{\"value\":0,\"dimensions\":null}}");
    ck_assert_str_eq(s.refused, "");
    ck_assert_int_eq(s.event.line.time_us, NOW_US);
    ck_assert_int_eq(s.event.line.account, 0);
}
END_TEST

START_TEST(a_value_is_a_whole_number_or_its_text)
{
    good("{" HEAD ",\"data\":{\"value\":\"1200\"}}", 1200);
    good("{" HEAD ",\"data\":{\"value\":12.0,\"account\":\"4\"}}", 12);
    good("{" HEAD ",\"data\":{\"value\":1.5e3}}", 1500);
    good("{" HEAD ",\"data\":{\"value\":1000000000000000000}}", UINT64_C(1000000000000000000));
    bad("{" HEAD ",\"data\":{\"value\":1000000000000000001}}", "\"value\" must be a whole number from 0 to 10^18");
    bad("{" HEAD ",\"data\":{\"value\":-1}}", "\"value\"");
    bad("{" HEAD ",\"data\":{\"value\":1.5}}", "\"value\"");
    bad("{" HEAD ",\"data\":{\"value\":\" 1\"}}", "\"value\"");
    bad("{" HEAD ",\"data\":{\"value\":true}}", "\"value\"");
    bad("{" HEAD ",\"data\":{\"value\":null}}", "\"value\"");
}
END_TEST

START_TEST(what_is_refused_says_the_key)
{
    bad("{\"specversion\":\"0.3\",\"id\":\"1\"}", "\"specversion\" must be \"1.0\"");
    bad("{\"specversion\":1.0,\"id\":\"1\"}", "\"specversion\"");
    bad("{\"specversion\":\"1.0\",\"source\":\"a\",\"type\":\"b\",\"subject\":\"c\"}", "\"id\"");
    bad("{\"specversion\":\"1.0\",\"id\":\"\",\"source\":\"a\"}", "\"id\"");
    bad("{\"specversion\":\"1.0\",\"id\":7,\"source\":\"a\"}", "\"id\"");
    bad("{\"specversion\":\"1.0\",\"id\":\"7\",\"type\":\"b\"}", "\"source\"");
    bad("{\"specversion\":\"1.0\",\"id\":\"7\",\"source\":\"a\",\"subject\":\"c\"}", "\"type\"");
    bad("{\"specversion\":\"1.0\",\"id\":\"7\",\"source\":\"a\",\"type\":\"b\"}", "\"subject\"");
    bad("{\"specversion\":\"1.0\",\"id\":\"7\",\"source\":\"a\",\"type\":\"b\",\"subject\":\"a\\nb\"}", "\"subject\"");
    bad("{" HEAD "}", "\"data\" is missing");
    bad("{" HEAD ",\"data\":3}", "\"data\" must be an object");
    bad("{" HEAD ",\"data\":{}}", "\"value\" is missing");
    bad("{" HEAD ",\"data\":{\"value\":1,\"dimension\":{}}}", "\"dimension\" is not a key");
    bad("{" HEAD ",\"data\":{\"value\":1,\"account\":0}}", "\"account\"");
    bad("{" HEAD ",\"data\":{\"value\":1,\"dimensions\":[]}}", "\"dimensions\" must be an object");
    bad("{" HEAD ",\"data\":{\"value\":1,\"dimensions\":{\"a\":\"1\",\"b\":\"2\",\"c\":\"3\"}}}", "more than two");
    bad("{" HEAD ",\"data\":{\"value\":1,\"dimensions\":{\"a\":1}}}", "\"a\" must be a text");
    bad("{" HEAD ",\"time\":\"yesterday\",\"data\":{\"value\":1}}", "\"time\" must be an RFC 3339 time");
    bad("{" HEAD ",\"time\":\"2014-12-31T23:59:59Z\",\"data\":{\"value\":1}}", "\"time\" is before 2015");
    bad("{" HEAD ",\"time\":\"2026-11-20T00:00:01Z\",\"data\":{\"value\":1}}", "\"time\" is more than 48 hours ahead");
}
END_TEST

START_TEST(a_batch_is_a_list_and_each_event_is_judged)
{
    seen s;
    tb_error err;
    ck_assert_int_eq(read_form("[]", TB_CLOUD_BATCH, &s, &err), TB_OK);
    ck_assert_uint_eq(s.n, 0);
    ck_assert_int_eq(read_form("[{" HEAD ",\"data\":{\"value\":1}},3,{\"a\":1}]", TB_CLOUD_BATCH, &s, &err), TB_OK);
    ck_assert_uint_eq(s.n, 3);
    ck_assert_str_eq(s.refused, "\"specversion\" must be \"1.0\".");
}
END_TEST

START_TEST(what_is_no_cloud_event_is_an_error)
{
    static const struct {
        const char *text;
        tb_cloud_form form;
        const char *part;
    } of[] = {
        {"", TB_CLOUD_ANY, "ends where"},
        {"{\"specversion\":\"1.0\"", TB_CLOUD_ANY, "comma or the end"},
        {"{\"specversion\":\"1.0\",\"id\":\"1\",\"id\":\"2\"}", TB_CLOUD_ANY, "Duplicate key"},
        {"{\"specversion\":\"1.0\"} x", TB_CLOUD_ANY, "follows"},
        {"3", TB_CLOUD_ANY, "neither"},
        {"{\"a\":1}", TB_CLOUD_ANY, "specversion"},
        {"[{\"a\":1},2]", TB_CLOUD_ANY, "specversion"},
        {"[{" HEAD "}]", TB_CLOUD_ONE, "is a list"},
        {"{" HEAD "}", TB_CLOUD_BATCH, "is not a list"},
    };
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        seen s;
        tb_error err;
        ck_assert_msg(read_form(of[i].text, of[i].form, &s, &err) == TB_E_BAD_INPUT, "%s", of[i].text);
        ck_assert_msg(strstr(err.message, of[i].part) != NULL, "%s: %s", of[i].text, err.message);
        ck_assert_uint_eq(s.n, 0);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cloudevents");
    TCase *tc = tcase_create("read");
    tcase_add_test(tc, an_event_is_read_as_a_line);
    tcase_add_test(tc, time_and_account_may_be_absent_and_null_is_absent);
    tcase_add_test(tc, a_value_is_a_whole_number_or_its_text);
    tcase_add_test(tc, what_is_refused_says_the_key);
    tcase_add_test(tc, a_batch_is_a_list_and_each_event_is_judged);
    tcase_add_test(tc, what_is_no_cloud_event_is_an_error);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
