/* Rows of BUCKETS.ndjson: keys, numbers, hours, and the sentence for each refusal. */
#include "tollbook/intake.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOW_MS INT64_C(1794960000000) /* 2026-11-18T00:00:00Z */
#define HOUR   "\"hour\":\"2026-11-01T13:00:00Z\""
#define ZONE   "{\"zone\":101," HOUR ",\"region\":\"DE\""

static tb_row row;
static tb_reject reject;
static tb_error err;

/* From a block of exactly its size: the sanitizer sees the first byte too many. */
static bool parse(const char *line, size_t len)
{
    char *block = malloc(len ? len : 1);
    ck_assert_ptr_nonnull(block);
    memcpy(block, line, len);
    const bool accepted = tb_row_parse(block, len, NOW_MS, &row, &reject, &err);
    free(block);
    return accepted;
}

static void accepts(const char *line)
{
    ck_assert_msg(parse(line, strlen(line)), "%s: %s", err.message, line);
}

static void refuses(const char *line, tb_reject_reason reason, const char *says)
{
    ck_assert_msg(!parse(line, strlen(line)), "accepted: %s", line);
    ck_assert_msg(reject.reason == reason, "%s: %s", tb_reject_name(reject.reason), line);
    ck_assert_msg(strstr(err.message, says) != NULL, "says: %s; not: %s", err.message, says);
    ck_assert_int_eq(err.code, TB_E_BAD_LINE);
    ck_assert_uint_eq(reject.line, 1);
    ck_assert_uint_eq(err.byte, reject.byte);
    ck_assert(reject.byte >= 1 && reject.byte <= strlen(line) + 1);
}

START_TEST(a_zone_row_carries_its_counters)
{
    accepts(ZONE ",\"requests\":120,\"bytes\":90000,\"queued_max\":0}");
    ck_assert(!row.balancer);
    ck_assert_int_eq(row.id, 101);
    ck_assert_int_eq(row.hour, 498205);
    ck_assert_uint_eq(row.edge_len, 2);
    ck_assert_mem_eq(row.edge, "DE", 2);
    ck_assert_uint_eq(row.metrics, TB_METRIC_BIT(TB_M_REQUESTS) | TB_METRIC_BIT(TB_M_BYTES) |
                                       TB_METRIC_BIT(TB_M_QUEUED_MAX));
    ck_assert_uint_eq(row.value[TB_M_REQUESTS], 120);
    ck_assert_uint_eq(row.value[TB_M_BYTES], 90000);
}
END_TEST

START_TEST(every_counter_but_balancer_requests_can_be_set)
{
    for (unsigned i = 0; i < TB_METRIC_COUNT; i++) {
        char line[200];
        snprintf(line, sizeof line, ZONE ",\"%s\":%u}", tb_metric_table[i].name, i + 5);
        if (tb_metric_table[i].source == TB_SOURCE_LINES) {
            refuses(line, TB_REJECT_JSON,
                    "\"balancer_requests\" comes from request logs or "
                    "load_balancer rows");
            continue;
        }
        accepts(line);
        ck_assert_uint_eq(row.metrics, TB_METRIC_BIT(i));
        ck_assert_uint_eq(row.value[i], i + 5);
    }
}
END_TEST

START_TEST(a_balancer_row_counts_requests_alone)
{
    accepts("{\"load_balancer\":7," HOUR ",\"requests\":5000}");
    ck_assert(row.balancer);
    ck_assert_int_eq(row.id, 7);
    ck_assert_uint_eq(row.edge_len, 0);
    ck_assert_uint_eq(row.metrics, TB_METRIC_BIT(TB_M_REQUESTS));
    refuses("{\"load_balancer\":7," HOUR ",\"requests\":1,\"bytes\":1}", TB_REJECT_JSON,
            "\"bytes\" does not belong in a load balancer's row");
    refuses("{\"load_balancer\":7," HOUR ",\"requests\":1,\"region\":\"DE\"}", TB_REJECT_JSON,
            "\"region\" does not belong");
    refuses("{\"load_balancer\":7," HOUR "}", TB_REJECT_JSON, "\"requests\" is missing");
    refuses("{\"load_balancer\":0," HOUR ",\"requests\":1}", TB_REJECT_JSON, "\"load_balancer\"");
}
END_TEST

START_TEST(keys_that_must_be_there)
{
    refuses("{" HOUR ",\"region\":\"DE\",\"requests\":1}", TB_REJECT_JSON, "\"zone\" or");
    refuses("{\"zone\":1,\"load_balancer\":1," HOUR ",\"requests\":1}", TB_REJECT_JSON, "exclude");
    refuses("{\"zone\":1,\"region\":\"DE\",\"requests\":1}", TB_REJECT_JSON, "\"hour\" is missing");
    refuses("{\"zone\":1," HOUR ",\"requests\":1}", TB_REJECT_JSON, "\"region\" is missing");
    refuses(ZONE "}", TB_REJECT_JSON, "\"requests\" or another counter is missing");
    refuses("{}", TB_REJECT_JSON, "\"zone\"");
}
END_TEST

START_TEST(keys_that_are_unknown_or_stand_twice)
{
    refuses(ZONE ",\"request\":1}", TB_REJECT_JSON, "\"request\" is not a key");
    refuses(ZONE ",\"Requests\":1}", TB_REJECT_JSON, "\"Requests\" is not a key");
    refuses(ZONE ",\"\":1}", TB_REJECT_JSON, "\"\" is not a key");
    refuses(ZONE ",\"a\\u0000\\n\xc3\":1}", TB_REJECT_JSON, "\"a???\" is not a key");
    refuses(ZONE ",\"12345678901234567890123456789012345678901234567890\":1}", TB_REJECT_JSON,
            "\"123456789012345678901234567890123456789012345...\" is not a key");
    refuses(ZONE ",\"bytes\":1,\"bytes\":1}", TB_REJECT_JSON, "\"bytes\" stands twice");
    refuses("{\"zone\":1,\"zone\":1}", TB_REJECT_JSON, "\"zone\" stands twice");
}
END_TEST

START_TEST(counters_are_whole_numbers_to_10_18)
{
    accepts(ZONE ",\"bytes\":999999999999999999}");
    accepts(ZONE ",\"bytes\":1000000000000000000}");
    ck_assert_uint_eq(row.value[TB_M_BYTES], TB_ROW_COUNTER_MAX);
    ck_assert_uint_gt(TB_COUNTER_MAX / TB_ROW_COUNTER_MAX, 8); /* no one row fills a counter */
    accepts(ZONE ",\"bytes\":0}");
    static const char *const wrong[] = {"1000000000000000001",
                                        "9223372036854775807",
                                        "9223372036854775808",
                                        "99999999999999999999",
                                        "-1",
                                        "-0",
                                        "1.0",
                                        "1e3",
                                        "01",
                                        "+1",
                                        "\"1\"",
                                        "null",
                                        "true",
                                        "[1]",
                                        "{}",
                                        "",
                                        "1.",
                                        ".5"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char line[200];
        snprintf(line, sizeof line, ZONE ",\"bytes\":%s}", wrong[i]);
        refuses(line, TB_REJECT_COUNTER, "\"bytes\" must be a whole number from 0 to 10^18");
    }
    ck_assert_uint_eq(reject.byte, sizeof ZONE ",\"bytes\":");
    refuses("{\"zone\":1.5," HOUR "}", TB_REJECT_ZONE, "\"zone\" must be a whole number from 1");
    refuses("{\"zone\":0," HOUR "}", TB_REJECT_ZONE, "\"zone\"");
}
END_TEST

#define AT(time) "{\"zone\":1,\"region\":\"DE\",\"requests\":1,\"hour\":" time "}"

START_TEST(an_hour_is_an_rfc_3339_time_on_the_hour)
{
    accepts(AT("\"2026-11-01T13:00:00Z\""));
    const int32_t hour = row.hour;
    accepts(AT("\"2026-11-01T15:00:00.000+02:00\""));
    ck_assert_int_eq(row.hour, hour);
    refuses(AT("\"2026-11-01T13:00:01Z\""), TB_REJECT_HOUR, "\"hour\" must be an RFC 3339 time on");
    refuses(AT("\"2026-11-01T13:30:00Z\""), TB_REJECT_HOUR, "on the hour");
    refuses(AT("\"2026-11-01T13:00:00\""), TB_REJECT_HOUR, "on the hour");
    refuses(AT("\"2026-11-31T13:00:00Z\""), TB_REJECT_HOUR, "on the hour");
    refuses(AT("1793538000"), TB_REJECT_HOUR, "in quotes");
    refuses(AT("\"\""), TB_REJECT_HOUR, "on the hour");
    accepts(AT("\"2015-01-01T00:00:00Z\""));
    refuses(AT("\"2014-12-31T23:00:00Z\""), TB_REJECT_TOO_OLD, "\"hour\" is before 2015");
    accepts(AT("\"2026-11-20T00:00:00Z\""));
    refuses(AT("\"2026-11-20T01:00:00Z\""), TB_REJECT_TOO_NEW, "more than 48 hours ahead");
}
END_TEST

START_TEST(a_region_is_an_edge_location_code)
{
    accepts("{\"zone\":1," HOUR ",\"requests\":1,\"region\":\"eu-central-1.a_b\"}");
    ck_assert_uint_eq(row.edge_len, 16);
    static const char *const wrong[] = {"\"eu-central-1.a_bc\"", "\"\"", "\"D E\"", "5", "null"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char line[200];
        snprintf(line, sizeof line, "{\"zone\":1," HOUR ",\"requests\":1,\"region\":%s}", wrong[i]);
        refuses(line, TB_REJECT_EDGE, "\"region\" must be an edge location code");
    }
}
END_TEST

START_TEST(json_may_be_spaced_and_escaped)
{
    accepts(" { \"z\\u006Fne\" : 101 ,\t" HOUR " , \"region\" : \"D\\u0045\", \"bytes\" : 1 } \r");
    ck_assert_mem_eq(row.edge, "DE", 2);
    refuses(ZONE ",\"bytes\\q\":1}", TB_REJECT_JSON, "escape");
    refuses(ZONE ",\"bytes\\u00g0\":1}", TB_REJECT_JSON, "escape");
    refuses(ZONE ",\"by\ttes\":1}", TB_REJECT_JSON, "control character");
}
END_TEST

START_TEST(what_is_no_object_is_refused)
{
    refuses("[1]", TB_REJECT_JSON, "not a JSON object");
    refuses("x", TB_REJECT_JSON, "not a JSON object");
    refuses("   ", TB_REJECT_JSON, "not a JSON object");
    refuses(ZONE ",}", TB_REJECT_JSON, "key in quotes");
    refuses(ZONE ",\"bytes\" 1}", TB_REJECT_JSON, "colon");
    refuses(ZONE ",\"bytes\":1", TB_REJECT_JSON, "comma or");
    refuses(ZONE ",\"bytes\":1 2}", TB_REJECT_JSON, "comma or");
    refuses(ZONE ",\"bytes\":1}}", TB_REJECT_JSON, "follows");
    refuses(ZONE ",\"byt", TB_REJECT_JSON, "does not end");
    refuses("", TB_REJECT_BLANK, "blank");
    refuses("\r", TB_REJECT_BLANK, "blank");
    ck_assert(!parse("{\0}", 3));
    ck_assert_int_eq(reject.reason, TB_REJECT_NUL);
    ck_assert_uint_eq(reject.byte, 2);
}
END_TEST

START_TEST(every_prefix_of_a_row_is_refused)
{
    const char line[] = ZONE ",\"requests\":120,\"saved\":5}";
    for (size_t len = 0; len < sizeof line - 1; len++)
        ck_assert(!parse(line, len));
    ck_assert(parse(line, sizeof line - 1));
}
END_TEST

START_TEST(a_row_is_at_most_1_MiB)
{
    char *line = malloc(TB_LINE_MAX + 1);
    ck_assert_ptr_nonnull(line);
    memset(line, ' ', TB_LINE_MAX + 1);
    memcpy(line, ZONE ",\"bytes\":1}", sizeof ZONE ",\"bytes\":1}" - 1);
    ck_assert(parse(line, TB_LINE_MAX));
    ck_assert(!parse(line, TB_LINE_MAX + 1));
    ck_assert_int_eq(reject.reason, TB_REJECT_TOO_LONG);
    free(line);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("intake_row");
    TCase *t = tcase_create("row");
    tcase_add_test(t, a_zone_row_carries_its_counters);
    tcase_add_test(t, every_counter_but_balancer_requests_can_be_set);
    tcase_add_test(t, a_balancer_row_counts_requests_alone);
    tcase_add_test(t, keys_that_must_be_there);
    tcase_add_test(t, keys_that_are_unknown_or_stand_twice);
    tcase_add_test(t, counters_are_whole_numbers_to_10_18);
    tcase_add_test(t, an_hour_is_an_rfc_3339_time_on_the_hour);
    tcase_add_test(t, a_region_is_an_edge_location_code);
    tcase_add_test(t, json_may_be_spaced_and_escaped);
    tcase_add_test(t, what_is_no_object_is_refused);
    tcase_add_test(t, every_prefix_of_a_row_is_refused);
    tcase_add_test(t, a_row_is_at_most_1_MiB);
    suite_add_tcase(suite, t);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
