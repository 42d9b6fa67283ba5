/* The combined format: fields, quotes, offsets, the cache status at the end. */
#include "tollbook/intake.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOW_MS INT64_C(1432162800000) /* 2015-05-20T23:00:00Z */
#define HEAD   "83.149.9.216 - - [17/May/2015:10:05:03 +0000] "
#define GET    HEAD "\"GET /a?b=c HTTP/1.1\" "
#define AGENT  " \"http://r.example/\" \"Mozilla/5.0 (X11; \\\"q\\\" \\x22)\""

static tb_hit hit;
static tb_reject reject;

static bool read_line(const char *line)
{
    const tb_log_layout layout = {
        .format = TB_FORMAT_COMBINED, .now_ms = NOW_MS, .zone = 101, .edge = "LA", .edge_len = 2};
    const size_t len = strlen(line);
    char *block = malloc(len + TB_INTAKE_SLACK);
    ck_assert_ptr_nonnull(block);
    memcpy(block, line, len);
    memset(block + len, ' ', TB_INTAKE_SLACK);
    tb_intake out = {.hits = &hit, .rejects = &reject, .room = 1};
    ck_assert_uint_eq(tb_intake_lines(&layout, block, len, &out), len);
    ck_assert_uint_eq(out.n_hits + out.n_rejects, 1);
    free(block);
    return out.n_hits == 1;
}

static void accepts(const char *line)
{
    ck_assert_msg(read_line(line), "refused (%s, byte %u): %s", tb_reject_name(reject.reason),
                  reject.byte, line);
}

static void refuses(const char *line, tb_reject_reason reason, size_t byte)
{
    ck_assert_msg(!read_line(line), "accepted: %s", line);
    ck_assert_msg(reject.reason == reason && reject.byte == byte, "%s at byte %u: %s",
                  tb_reject_name(reject.reason), reject.byte, line);
}

START_TEST(zone_and_edge_come_from_the_layout)
{
    accepts(GET "304 180" AGENT);
    ck_assert_int_eq(hit.zone, 101);
    ck_assert_uint_eq(hit.edge_len, 2);
    ck_assert_mem_eq(hit.edge, "LA", 2);
    ck_assert_uint_eq(hit.status, 304);
    ck_assert_uint_eq(hit.bytes, 180);
    ck_assert_int_eq(hit.hour, 1431857103 / 3600);
    ck_assert_uint_eq(hit.interval, 1431857103 / 300 % 12);
    ck_assert_uint_eq(hit.country, 0);
    ck_assert_uint_eq(hit.cache, TB_CACHE_UNKNOWN);
}
END_TEST

START_TEST(a_dash_for_bytes_is_0)
{
    accepts(GET "304 -" AGENT);
    ck_assert_uint_eq(hit.bytes, 0);
    accepts(GET "200 17592186044416" AGENT);
    refuses(GET "200 17592186044417" AGENT, TB_REJECT_BYTES, sizeof GET "200 ");
    refuses(GET "200 1x" AGENT, TB_REJECT_BYTES, sizeof GET "200 1");
}
END_TEST

START_TEST(a_field_after_the_agent_is_the_cache_status)
{
    accepts(GET "200 1" AGENT " HIT");
    ck_assert_uint_eq(hit.cache, TB_CACHE_SERVED);
    accepts(GET "200 1" AGENT " \"REVALIDATED\"");
    ck_assert_uint_eq(hit.cache, TB_CACHE_REVALIDATED);
    accepts(GET "200 1" AGENT " -");
    ck_assert_uint_eq(hit.cache, TB_CACHE_OTHER);
    accepts(GET "200 1" AGENT " \"MISS\"");
    ck_assert_uint_eq(hit.cache, TB_CACHE_OTHER);
    accepts(GET "200 1" AGENT " 1"); /* a time, a length, a yes: of something */
    ck_assert_uint_eq(hit.cache, TB_CACHE_UNKNOWN);
    refuses(GET "200 1" AGENT " H!T", TB_REJECT_CACHE, sizeof GET "200 1" AGENT " ");
    refuses(GET "200 1" AGENT " HIT 0.003", TB_REJECT_COMBINED, sizeof GET "200 1" AGENT " HIT");
    refuses(GET "200 1" AGENT " ", TB_REJECT_COMBINED, sizeof GET "200 1" AGENT " ");
}
END_TEST

START_TEST(a_quoted_forwarding_address_is_no_cache_status)
{
    static const char *const said[] = {"192.0.2.1, 198.51.100.7", "-", "unknown", ""};
    for (size_t i = 0; i < sizeof said / sizeof *said; i++) {
        char line[256];
        snprintf(line, sizeof line, GET "200 1" AGENT " \"%s\"", said[i]);
        accepts(line);
        ck_assert_uint_eq(hit.cache, TB_CACHE_UNKNOWN);
    }
}
END_TEST

START_TEST(the_common_format_has_no_referer_and_no_agent)
{
    accepts(GET "200 1");
    refuses(GET "200 1 \"-\"", TB_REJECT_COMBINED, sizeof GET "200 1 \"-\"");
    refuses(GET "200", TB_REJECT_COMBINED, sizeof GET "200");
    refuses(GET "200 1 HIT", TB_REJECT_COMBINED, sizeof GET "200 1 ");
}
END_TEST

START_TEST(a_quoted_field_ends_at_the_first_bare_quote)
{
    accepts(GET "200 1 \"\" \"\"");
    accepts(GET "200 1 \"\\\\\" \"\\\"\"");
    refuses(GET "200 1 \"-\" \"cut", TB_REJECT_COMBINED, sizeof GET "200 1 \"-\" \"cut");
    refuses(GET "200 1 \"-\" \"cut\\\"", TB_REJECT_COMBINED, sizeof GET "200 1 \"-\" \"cut\\\"");
    refuses(GET "200 1 \"-\" \"cut\\", TB_REJECT_COMBINED, sizeof GET "200 1 \"-\" \"cut\\");
    refuses(GET "200 1 \"a\"b\" \"c\"", TB_REJECT_COMBINED, sizeof GET "200 1 \"a\"");
}
END_TEST

#define AT(time) "h - - [" time "] \"GET / HTTP/1.0\" 200 1"

START_TEST(the_offset_is_honoured)
{
    accepts(AT("17/May/2015:10:05:03 +0200"));
    ck_assert_int_eq(hit.hour, 1431857103 / 3600 - 2);
    accepts(AT("17/May/2015:10:45:03 -0330"));
    ck_assert_int_eq(hit.hour, 1431857103 / 3600 + 4);
    accepts(AT("31/Dec/2014:23:30:00 -0030"));
    ck_assert_int_eq(hit.hour, 1420070400 / 3600);
    ck_assert_uint_eq(hit.interval, 0);
}
END_TEST

START_TEST(time_is_real_and_inside_the_window)
{
    accepts(AT("01/Jan/2015:00:00:00 +0000"));
    refuses(AT("31/Dec/2014:23:59:59 +0000"), TB_REJECT_TOO_OLD, 7);
    accepts(AT("22/May/2015:23:00:00 +0000"));
    refuses(AT("22/May/2015:23:00:01 +0000"), TB_REJECT_TOO_NEW, 7);
    ck_assert(!read_line(AT("29/Feb/2015:00:00:00 +0000")));
    ck_assert(!read_line(AT("00/Mar/2015:00:00:00 +0000")));
    ck_assert(!read_line(AT("01/Mai/2015:00:00:00 +0000")));
    ck_assert(!read_line(AT("01/Mar/2015:24:00:00 +0000")));
    ck_assert(!read_line(AT("01/Mar/2015:00:60:00 +0000")));
    ck_assert(!read_line(AT("01/Mar/2015:00:00:61 +0000")));
    ck_assert(!read_line(AT("01/Mar/2015:00:00:00 +2400")));
    ck_assert(!read_line(AT("01/Mar/2015:00:00:00 0000")));
    ck_assert(!read_line(AT("1/Mar/2015:00:00:00 +0000")));
    ck_assert_int_eq(reject.reason, TB_REJECT_COMBINED);
    accepts(AT("01/Mar/2015:23:59:60 +0000"));
    ck_assert_int_eq(hit.hour, 1425254399 / 3600);
    ck_assert_uint_eq(hit.interval, 11);
}
END_TEST

START_TEST(a_user_name_may_hold_quotes_behind_backslashes) /* as Apache writes it */
{
    accepts("h - a\\\"b [17/May/2015:10:05:03 +0000] \"GET /a HTTP/1.1\" 200 51 \"-\" \"-\"");
    ck_assert_uint_eq(hit.bytes, 51);
    accepts("h - \\\\\\\" 200 1 \\\"- [17/May/2015:10:05:03 +0000] \"GET /a HTTP/1.1\" 200 52");
    ck_assert_uint_eq(hit.bytes, 52);
    refuses("h - a\\\\\" [17/May/2015:10:05:03 +0000] \"GET /a HTTP/1.1\" 200 51", TB_REJECT_COMBINED, 5);
}
END_TEST

START_TEST(a_user_name_may_be_empty) /* as nginx writes it with escape=json, and Apache */
{
    accepts("192.0.2.7 -  [17/May/2015:10:05:03 +0000] \"GET /a HTTP/1.1\" 200 51 \"\" \"\"");
    ck_assert_uint_eq(hit.bytes, 51);
    accepts("192.0.2.7 - \"\" [17/May/2015:10:05:03 +0000] \"GET /a HTTP/1.1\" 401 52 \"\" \"\"");
    ck_assert(hit.bytes == 52 && hit.status == 401);
    accepts("192.0.2.7 - \"\" [17/May/2015:10:05:03 +0000] \"\" 408 -");
    ck_assert_uint_eq(hit.bytes, 0);
    refuses("h - \"\"[17/May/2015:10:05:03 +0000] \"GET /a HTTP/1.1\" 200 51", TB_REJECT_COMBINED, 5);
    refuses("h - \"\" ", TB_REJECT_COMBINED, 5);
    refuses("h - \"\"", TB_REJECT_COMBINED, 5);
}
END_TEST

START_TEST(a_user_name_may_hold_spaces_and_brackets)
{
    accepts("h i some [one] else [17/May/2015:10:05:03 +0000] \"-\" 400 0");
    accepts("2001:db8::1 - frank [17/May/2015:10:05:03 +0000] \"\" 400 0");
    refuses("h - [17/May/2015:10:05:03 +0000] \"-\" 400 0", TB_REJECT_COMBINED, 5);
}
END_TEST

START_TEST(what_is_no_log_line_is_refused)
{
    refuses("hello", TB_REJECT_COMBINED, 6);
    refuses("a b c d", TB_REJECT_COMBINED, 5);
    refuses(" - - [17/May/2015:10:05:03 +0000] \"-\" 400 0", TB_REJECT_COMBINED, 1);
    refuses(GET "999 1" AGENT, TB_REJECT_STATUS, sizeof GET);
    refuses(GET "2000 1" AGENT, TB_REJECT_STATUS, sizeof GET);
    refuses(GET "99 1" AGENT, TB_REJECT_STATUS, sizeof GET);
    refuses(GET "099 1" AGENT, TB_REJECT_STATUS, sizeof GET);
    refuses(GET "0200 1" AGENT, TB_REJECT_STATUS, sizeof GET);
    refuses(GET "600 1" AGENT, TB_REJECT_STATUS, sizeof GET);
    accepts(GET "100 1" AGENT);
    accepts(GET "599 1" AGENT);
    refuses(GET "2o0 1" AGENT, TB_REJECT_STATUS, sizeof GET "2");
    refuses("\r\n", TB_REJECT_BLANK, 1);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("intake_combined");
    TCase *t = tcase_create("combined");
    tcase_add_test(t, zone_and_edge_come_from_the_layout);
    tcase_add_test(t, a_dash_for_bytes_is_0);
    tcase_add_test(t, a_field_after_the_agent_is_the_cache_status);
    tcase_add_test(t, a_quoted_forwarding_address_is_no_cache_status);
    tcase_add_test(t, the_common_format_has_no_referer_and_no_agent);
    tcase_add_test(t, a_quoted_field_ends_at_the_first_bare_quote);
    tcase_add_test(t, the_offset_is_honoured);
    tcase_add_test(t, time_is_real_and_inside_the_window);
    tcase_add_test(t, a_user_name_may_hold_quotes_behind_backslashes);
    tcase_add_test(t, a_user_name_may_be_empty);
    tcase_add_test(t, a_user_name_may_hold_spaces_and_brackets);
    tcase_add_test(t, what_is_no_log_line_is_refused);
    suite_add_tcase(suite, t);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
