/* The pipe format: what is accepted, what is refused, where and why; lines, ends and calls. */
#include "intake/line.h"
#include "tollbook/intake.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOW_MS INT64_C(1794960000000) /* 2026-11-18T00:00:00Z */
#define TAIL   "|198.51.100.0|-|https://z1.b-cdn.net/a?v=2|DE|curl/8.9.0|0f1e2d3c4b5a6978|"
#define FINE   "MISS|200|1794950000000|48213|1234" TAIL "DE"

enum { ROOM = 64 };
static tb_hit hits[ROOM];
static tb_reject rejects[ROOM];
static const tb_log_layout layout = {.now_ms = NOW_MS};

/* Reads the text through tb_intake_lines, from a block of its own with 'x' behind it. */
static tb_intake read_text(const char *text, size_t len, size_t *ret_used)
{
    static char *block;
    free(block);
    block = malloc(len + TB_INTAKE_SLACK);
    ck_assert_ptr_nonnull(block);
    memcpy(block, text, len);
    memset(block + len, 'x', TB_INTAKE_SLACK);
    tb_intake out = {.hits = hits, .rejects = rejects, .room = ROOM};
    const size_t used = tb_intake_lines(&layout, block, len, &out);
    if (ret_used) *ret_used = used;
    return out;
}

static tb_intake read_line(const char *line)
{
    size_t used;
    const tb_intake out = read_text(line, strlen(line), &used);
    ck_assert_uint_eq(used, strlen(line));
    ck_assert_uint_eq(out.n_hits + out.n_rejects, 1);
    return out;
}

static void accepts(const char *line)
{
    const tb_intake out = read_line(line);
    ck_assert_msg(out.n_hits == 1, "refused (%s, byte %u): %s",
                  out.n_rejects ? tb_reject_name(rejects[0].reason) : "", rejects[0].byte, line);
}

static void refuses(const char *line, tb_reject_reason reason, unsigned byte)
{
    const tb_intake out = read_line(line);
    ck_assert_msg(out.n_rejects == 1, "accepted: %s", line);
    ck_assert_msg(rejects[0].reason == reason && rejects[0].byte == byte, "%s at byte %u: %s",
                  tb_reject_name(rejects[0].reason), rejects[0].byte, line);
    ck_assert_uint_eq(rejects[0].line, 1);
    ck_assert_uint_eq(rejects[0].len, strlen(line));
}

START_TEST(a_line_becomes_what_is_counted)
{
    accepts(FINE);
    ck_assert_int_eq(hits[0].zone, 1234);
    ck_assert_uint_eq(hits[0].bytes, 48213);
    ck_assert_int_eq(hits[0].hour, 1794950000000 / 3600000);
    ck_assert_uint_eq(hits[0].interval, 1794950000000 / 300000 % 12);
    ck_assert_uint_eq(hits[0].status, 200);
    ck_assert_uint_eq(hits[0].country, 'D' << 8 | 'E');
    ck_assert_uint_eq(hits[0].edge_len, 2);
    ck_assert_mem_eq(hits[0].edge, "DE", 2);
    ck_assert_uint_eq(hits[0].cache, TB_CACHE_OTHER);
}
END_TEST

START_TEST(served_from_cache_is_hit_revalidated_stale_updating)
{
    static const struct {
        const char *token;
        tb_cache cache;
    } cases[] = {{"HIT", TB_CACHE_SERVED},       {"STALE", TB_CACHE_SERVED},
                 {"UPDATING", TB_CACHE_SERVED},  {"REVALIDATED", TB_CACHE_REVALIDATED},
                 {"MISS", TB_CACHE_OTHER},       {"BYPASS", TB_CACHE_OTHER},
                 {"EXPIRED", TB_CACHE_OTHER},    {"-", TB_CACHE_OTHER},
                 {"hit", TB_CACHE_OTHER},        {"HITS", TB_CACHE_OTHER},
                 {"HI", TB_CACHE_OTHER},         {"REVALIDATEDX", TB_CACHE_OTHER},
                 {"REVALIDATE_", TB_CACHE_OTHER}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char line[200];
        snprintf(line, sizeof line, "%s|200|1794950000000|1|1" TAIL "DE", cases[i].token);
        accepts(line);
        ck_assert_uint_eq(hits[0].cache, cases[i].cache);
    }
}
END_TEST

START_TEST(cache_status_is_a_token_of_1_to_32)
{
    accepts("abcdefghijklmnopqrstuvwxyz-_0123|200|1794950000000|1|1" TAIL "DE");
    refuses("abcdefghijklmnopqrstuvwxyz-_01234|200|1794950000000|1|1" TAIL "DE", TB_REJECT_CACHE,
            1);
    refuses("|200|1794950000000|1|1" TAIL "DE", TB_REJECT_CACHE, 1);
    refuses("HI T|200|1794950000000|1|1" TAIL "DE", TB_REJECT_CACHE, 3);
}
END_TEST

START_TEST(status_is_100_to_599)
{
    accepts("-|100|1794950000000|1|1" TAIL "DE");
    accepts("-|599|1794950000000|1|1" TAIL "DE");
    refuses("-|099|1794950000000|1|1" TAIL "DE", TB_REJECT_STATUS, 3);
    refuses("-|600|1794950000000|1|1" TAIL "DE", TB_REJECT_STATUS, 3);
    refuses("-|2x0|1794950000000|1|1" TAIL "DE", TB_REJECT_STATUS, 4);
    refuses("-|20|1794950000000|1|1" TAIL "DE", TB_REJECT_STATUS, 3);
    refuses("-||1794950000000|1|1" TAIL "DE", TB_REJECT_STATUS, 3);
}
END_TEST

START_TEST(time_is_from_2015_to_48_hours_ahead)
{
    accepts("-|200|1420070400000|1|1" TAIL "DE");
    refuses("-|200|1420070399999|1|1" TAIL "DE", TB_REJECT_TOO_OLD, 7);
    accepts("-|200|1795132800000|1|1" TAIL "DE");
    refuses("-|200|1795132800001|1|1" TAIL "DE", TB_REJECT_TOO_NEW, 7);
    refuses("-|200|1|1|1" TAIL "DE", TB_REJECT_TOO_OLD, 7);
    refuses("-|200|9223372036854775807|1|1" TAIL "DE", TB_REJECT_TOO_NEW, 7);
    refuses("-|200|9223372036854775808|1|1" TAIL "DE", TB_REJECT_TIMESTAMP, 7);
    refuses("-|200||1|1" TAIL "DE", TB_REJECT_TIMESTAMP, 7);
    refuses("-|200|-1794950000000|1|1" TAIL "DE", TB_REJECT_TIMESTAMP, 7);
    refuses("-|200|17949500000.0|1|1" TAIL "DE", TB_REJECT_TIMESTAMP, 18);
}
END_TEST

START_TEST(bytes_are_0_to_16_TiB)
{
    accepts("-|200|1794950000000|0|1" TAIL "DE");
    accepts("-|200|1794950000000|17592186044416|1" TAIL "DE");
    ck_assert_uint_eq(hits[0].bytes, TB_HIT_BYTES_MAX);
    accepts("-|200|1794950000000|0000000000000000012|1" TAIL "DE");
    ck_assert_uint_eq(hits[0].bytes, 12);
    refuses("-|200|1794950000000|17592186044417|1" TAIL "DE", TB_REJECT_BYTES, 21);
    refuses("-|200|1794950000000|18446744073709551617|1" TAIL "DE", TB_REJECT_BYTES, 21);
    refuses("-|200|1794950000000|-1|1" TAIL "DE", TB_REJECT_BYTES, 21);
    refuses("-|200|1794950000000|1e3|1" TAIL "DE", TB_REJECT_BYTES, 22);
    refuses("-|200|1794950000000||1" TAIL "DE", TB_REJECT_BYTES, 21);
}
END_TEST

START_TEST(zone_is_1_to_2_63_less_1)
{
    accepts("-|200|1794950000000|1|9223372036854775807" TAIL "DE");
    ck_assert_int_eq(hits[0].zone, INT64_MAX);
    accepts("-|200|1794950000000|1|1234567890123456" TAIL "DE");
    ck_assert_int_eq(hits[0].zone, 1234567890123456);
    refuses("-|200|1794950000000|1|9223372036854775808" TAIL "DE", TB_REJECT_ZONE, 23);
    refuses("-|200|1794950000000|1|0" TAIL "DE", TB_REJECT_ZONE, 23);
    refuses("-|200|1794950000000|1|" TAIL "DE", TB_REJECT_ZONE, 23);
    refuses("-|200|1794950000000|1|12 " TAIL "DE", TB_REJECT_ZONE, 25);
}
END_TEST

#define EDGE(code)                                                                                 \
    "-|200|1794950000000|1|1|||"                                                                   \
    "|" code "|||DE"

START_TEST(edge_is_1_to_16_letters_digits_and_marks)
{
    accepts(EDGE("D"));
    accepts(EDGE("eu-central-1.a_b"));
    ck_assert_uint_eq(hits[0].edge_len, 16);
    ck_assert_mem_eq(hits[0].edge, "eu-central-1.a_b", 16);
    refuses(EDGE("eu-central-1.a_bc"), TB_REJECT_EDGE, 28);
    refuses(EDGE(""), TB_REJECT_EDGE, 28);
    refuses(EDGE("D!"), TB_REJECT_EDGE, 29);
    refuses(EDGE("DEU E"), TB_REJECT_EDGE, 31);
}
END_TEST

START_TEST(country_is_two_letters_or_a_dash_or_nothing)
{
    accepts("-|200|1794950000000|1|1" TAIL "us");
    ck_assert_uint_eq(hits[0].country, 'U' << 8 | 'S');
    accepts("-|200|1794950000000|1|1" TAIL "-");
    ck_assert_uint_eq(hits[0].country, 0);
    accepts("-|200|1794950000000|1|1" TAIL);
    ck_assert_uint_eq(hits[0].country, 0);
    const unsigned at = (unsigned)sizeof("-|200|1794950000000|1|1" TAIL);
    refuses("-|200|1794950000000|1|1" TAIL "D", TB_REJECT_COUNTRY, at + 1);
    refuses("-|200|1794950000000|1|1" TAIL "DEU", TB_REJECT_COUNTRY, at);
    refuses("-|200|1794950000000|1|1" TAIL "D1", TB_REJECT_COUNTRY, at + 1);
    refuses("-|200|1794950000000|1|1" TAIL "--", TB_REJECT_COUNTRY, at);
}
END_TEST

START_TEST(columns_are_12_or_15)
{
    const unsigned end = (unsigned)sizeof(FINE);
    accepts(FINE "|100|bytes=0-99|Bearer x");
    ck_assert_uint_eq(hits[0].country, 'D' << 8 | 'E');
    accepts(FINE "|||");
    refuses(FINE "|", TB_REJECT_COLUMNS, end + 1);
    refuses(FINE "|1|", TB_REJECT_COLUMNS, end + 3);
    refuses(FINE "||||", TB_REJECT_COLUMNS, end + 3);
    refuses(FINE "|||||||||||||||||||||||||||", TB_REJECT_COLUMNS, end + 3);
    refuses("hello", TB_REJECT_COLUMNS, 6);
    refuses("||||||||||", TB_REJECT_COLUMNS, 11);
    refuses("|||||||||||", TB_REJECT_CACHE, 1);
}
END_TEST

START_TEST(free_columns_hold_any_byte_but_nul)
{
    accepts("-|200|1794950000000|1|1|\xff\xfe|\x01\t|\r\x80|DE|\xc3|\x7f|DE");
    const char line[] = "-|200|1794950000000|1|1|a\0b|-|u|DE|a|r|DE\n" FINE "\n";
    const tb_intake out = read_text(line, sizeof line - 1, NULL);
    ck_assert_uint_eq(out.n_hits, 1);
    ck_assert_uint_eq(out.n_rejects, 1);
    ck_assert_int_eq(rejects[0].reason, TB_REJECT_NUL);
    ck_assert_uint_eq(rejects[0].byte, 26);
}
END_TEST

START_TEST(a_nul_behind_the_line_is_not_its_own)
{
    const char text[] = FINE "\n\0";
    const tb_intake out = read_text(text, sizeof FINE, NULL);
    ck_assert_uint_eq(out.n_hits, 1);
}
END_TEST

START_TEST(lines_end_with_lf_or_crlf_and_the_last_may_lack_it)
{
    const char text[] = FINE "\n" FINE "\r\n\n\r\n" FINE;
    size_t used;
    const tb_intake out = read_text(text, sizeof text - 1, &used);
    ck_assert_uint_eq(used, sizeof text - 1);
    ck_assert_uint_eq(out.n_hits, 3);
    ck_assert_uint_eq(out.n_rejects, 2);
    ck_assert_int_eq(rejects[0].reason, TB_REJECT_BLANK);
    ck_assert_uint_eq(rejects[0].line, 3);
    ck_assert_uint_eq(rejects[0].byte, 1);
    ck_assert_int_eq(rejects[1].reason, TB_REJECT_BLANK);
    ck_assert_uint_eq(rejects[1].line, 4);
    ck_assert_uint_eq(rejects[1].len, 0);
}
END_TEST

START_TEST(a_call_reads_room_lines_and_no_more)
{
    char text[3 * sizeof FINE + 8];
    const int len = snprintf(text, sizeof text, "%s\nbad\n%s\n", FINE, FINE);
    tb_intake out = {.hits = hits, .rejects = rejects, .room = 2};
    char *block = calloc(1, (size_t)len + TB_INTAKE_SLACK);
    ck_assert_ptr_nonnull(block);
    memcpy(block, text, (size_t)len);
    ck_assert_uint_eq(tb_intake_lines(&layout, block, (size_t)len, &out), sizeof FINE + 4);
    ck_assert_uint_eq(out.n_hits, 1);
    ck_assert_uint_eq(out.n_rejects, 1);
    ck_assert_uint_eq(tb_intake_lines(&layout, block, 0, &out), 0);
    ck_assert_uint_eq(out.n_hits + out.n_rejects, 0);
    free(block);
}
END_TEST

/* A line with `pad` bytes of user agent more than FINE has. */
static char *padded(size_t pad, size_t *ret_len)
{
    static const char head[] = "-|200|1794950000000|1|1|a|-|u|DE|", tail[] = "|r|DE";
    *ret_len = sizeof head - 1 + pad + sizeof tail - 1;
    char *line = malloc(*ret_len);
    ck_assert_ptr_nonnull(line);
    memcpy(line, head, sizeof head - 1);
    memset(line + sizeof head - 1, 'u', pad);
    memcpy(line + sizeof head - 1 + pad, tail, sizeof tail - 1);
    return line;
}

START_TEST(a_line_is_at_most_1_MiB)
{
    size_t empty;
    free(padded(0, &empty));
    for (int more = -1; more <= 1; more++) {
        size_t len;
        char *line = padded((size_t)((int64_t)TB_LINE_MAX - (int64_t)empty + more), &len);
        const tb_intake out = read_text(line, len, NULL);
        ck_assert_uint_eq(out.n_hits, more <= 0);
        if (more > 0) {
            ck_assert_int_eq(rejects[0].reason, TB_REJECT_TOO_LONG);
            ck_assert_uint_eq(rejects[0].byte, TB_LINE_MAX + 1);
            ck_assert_uint_eq(rejects[0].len, len);
        }
        free(line);
    }
}
END_TEST

START_TEST(a_clock_before_2015_accepts_nothing)
{
    const tb_log_layout early = {.now_ms = 0};
    char text[sizeof FINE + TB_INTAKE_SLACK] = FINE;
    tb_intake out = {.hits = hits, .rejects = rejects, .room = ROOM};
    tb_intake_lines(&early, text, sizeof FINE - 1, &out);
    ck_assert_uint_eq(out.n_rejects, 1);
    ck_assert_int_eq(rejects[0].reason, TB_REJECT_TOO_NEW);
}
END_TEST

START_TEST(every_reason_has_a_name_and_a_text)
{
    for (int i = 0; i < TB_REJECT_MAX_; i++) {
        ck_assert_uint_gt(strlen(tb_reject_name((tb_reject_reason)i)), 2);
        ck_assert_uint_gt(strlen(tb_reject_text((tb_reject_reason)i)), 5);
    }
    ck_assert_str_eq(tb_reject_name(TB_REJECT_MAX_), "UNKNOWN");
    ck_assert_str_eq(tb_reject_text(TB_REJECT_MAX_), "unknown reason");
}
END_TEST

START_TEST(the_portable_unit_is_everywhere)
{
    ck_assert(tb__unit_here(TB__UNIT_PORTABLE));
    ck_assert(!tb__unit_here(TB__UNIT_MAX_));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("intake_pipe");
    TCase *t = tcase_create("pipe");
    tcase_add_test(t, a_line_becomes_what_is_counted);
    tcase_add_test(t, served_from_cache_is_hit_revalidated_stale_updating);
    tcase_add_test(t, cache_status_is_a_token_of_1_to_32);
    tcase_add_test(t, status_is_100_to_599);
    tcase_add_test(t, time_is_from_2015_to_48_hours_ahead);
    tcase_add_test(t, bytes_are_0_to_16_TiB);
    tcase_add_test(t, zone_is_1_to_2_63_less_1);
    tcase_add_test(t, edge_is_1_to_16_letters_digits_and_marks);
    tcase_add_test(t, country_is_two_letters_or_a_dash_or_nothing);
    tcase_add_test(t, columns_are_12_or_15);
    tcase_add_test(t, free_columns_hold_any_byte_but_nul);
    tcase_add_test(t, a_nul_behind_the_line_is_not_its_own);
    tcase_add_test(t, lines_end_with_lf_or_crlf_and_the_last_may_lack_it);
    tcase_add_test(t, a_call_reads_room_lines_and_no_more);
    tcase_add_test(t, a_line_is_at_most_1_MiB);
    tcase_add_test(t, a_clock_before_2015_accepts_nothing);
    tcase_add_test(t, every_reason_has_a_name_and_a_text);
    tcase_add_test(t, the_portable_unit_is_everywhere);
    suite_add_tcase(suite, t);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
