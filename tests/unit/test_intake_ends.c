/* Lines with more pipes than columns have: what is told, what is not, and what stays refused. */
#include "intake/line.h"
#include "tollbook/requestlog.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOW_MS INT64_C(1794960000000) /* 2026-11-18T00:00:00Z */
#define LEFT   "MISS|200|1794950000000|48213|1234|198.51.100.7|"
#define URL    "https://z1.b-cdn.net/a"
#define ID     "0f1e2d3c4b5a69788796a5b4c3d2e1f0"
#define UUID   "0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0"

/* Ascending by code; NY is the dearest, then UK. */
static const tb_known_edge edges[] = {{"DE", 2}, {"NY", 0}, {"UK", 1}};
static const tb_log_layout layout = {.now_ms = NOW_MS, .edges = edges, .n_edges = 3};
static const tb_log_layout no_regions = {.now_ms = NOW_MS};

static tb_hit hit;
static tb_reject reject;
static tb_logline told;

/* Reads one line through tb_intake_lines; returns what tb_intake counts. */
static tb_intake read_with(const tb_log_layout *with, const char *text)
{
    static char *block;
    static tb_span span;
    const size_t len = strlen(text);
    free(block);
    block = malloc(len + TB_INTAKE_SLACK);
    ck_assert_ptr_nonnull(block);
    memcpy(block, text, len);
    memset(block + len, '|', TB_INTAKE_SLACK);
    tb_intake out = {.hits = &hit, .rejects = &reject, .spans = &span, .room = 1};
    ck_assert_uint_eq(tb_intake_lines(with, block, len, &out), len);
    ck_assert_uint_eq(out.n_hits + out.n_rejects, 1);
    if (!out.n_hits) return out;
    tb_logline_of(with, &hit, &span, &told);
    ck_assert_int_eq(hit.zone, 1234);
    ck_assert_uint_eq(hit.bytes, 48213);
    ck_assert_uint_eq(hit.status, 200);
    ck_assert_uint_eq(hit.edge_len, told.edge.len);
    ck_assert_ptr_eq(hit.edge, told.edge.data);
    return out;
}

static void accepts(const char *line, bool ambiguous)
{
    const tb_intake out = read_with(&layout, line);
    ck_assert_msg(out.n_hits == 1, "refused (%s, byte %u): %s",
                  out.n_rejects ? tb_reject_name(reject.reason) : "", reject.byte, line);
    ck_assert_msg(out.n_ambiguous == ambiguous, "%s: %s", ambiguous ? "told" : "ambiguous", line);
}

static void refuses(const char *line, tb_reject_reason reason)
{
    const tb_intake out = read_with(&layout, line);
    ck_assert_msg(out.n_rejects == 1, "accepted: %s", line);
    ck_assert_msg(reject.reason == reason, "%s: %s", tb_reject_name(reject.reason), line);
}

static void is(tb_text text, const char *want)
{
    ck_assert_msg(text.len == strlen(want) && memcmp(text.data, want, text.len) == 0,
                  "\"%.*s\", not \"%s\"", (int)text.len, text.data, want);
}

START_TEST(a_pipe_in_the_user_agent_is_told)
{
    accepts(LEFT "-|" URL "|DE|curl|8.9 (x)|" ID "|US", false);
    is(told.agent, "curl|8.9 (x)");
    is(told.path, "/a");
    is(told.edge, "DE");
    is(told.id, ID);
    is(told.country, "US");
    ck_assert_uint_eq(hit.country, 'U' << 8 | 'S');
    accepts(LEFT "-|" URL "|DE||||||" UUID "|", false);
    is(told.agent, "||||");
    is(told.id, UUID);
}
END_TEST

START_TEST(a_pipe_in_the_url_is_told)
{
    accepts(LEFT "https://shop.example/?a|b|c|" URL "?family=Lato|Roboto|DE|curl|" ID "|US", false);
    is(told.referer, "https://shop.example/?a|b|c");
    is(told.path, "/a?family=Lato|Roboto");
    is(told.edge, "DE");
    is(told.agent, "curl");
}
END_TEST

START_TEST(pipes_everywhere_are_told_where_one_location_is_known)
{
    accepts(LEFT "r|s|" URL "|b|c|DE|x|y|" ID "|US", false);
    is(told.referer, "r|s");
    is(told.path, "/a|b|c");
    is(told.agent, "x|y");
}
END_TEST

START_TEST(a_client_cannot_choose_a_cheaper_location)
{
    accepts(LEFT "-|" URL "|DE|x|NY|y|" ID "|US", true);
    is(told.edge, "NY");
    is(told.country, "US");
    is(told.id, ID);
    ck_assert_uint_eq(told.path.len + told.origin.len + told.agent.len + told.referer.len, 0);
    accepts(LEFT "-|" URL "|DE|x|NY|y|" ID "|US", true);
    is(told.edge, "NY");
    accepts(LEFT "-|" URL "|NY|x|DE|UK|y|" ID "|US", true);
    is(told.edge, "NY");
    accepts(LEFT "-|" URL "|DE|x|DE|y|" ID "|US", true);
    is(told.edge, "DE");
}
END_TEST

START_TEST(three_pipes_do_not_make_an_extended_line)
{
    /* Of twelve columns each; read as fifteen, their locations would be DE, forged, and 7, forged. */
    accepts(LEFT "-|https://h/|DE|x|" ID "|UK|y|" ID "|US", true);
    is(told.edge, "UK");
    accepts(LEFT "-|https://h/|7|x|y|UK|48213|" ID "|US", false);
    is(told.edge, "UK");
    is(told.agent, "48213");
    is(told.path, "/|7|x|y");
    accepts(LEFT "-|" URL "|UK|x|" ID "|DE|5|" ID "|US", true);
    is(told.edge, "UK");
    ck_assert_uint_eq(hit.country, 0);
    accepts(LEFT "-|" URL "|a|b|c|UK|curl|-|-", false); /* without request ids */
    is(told.edge, "UK");
    is(told.path, "/a|a|b|c");
}
END_TEST

START_TEST(extended_lines_may_hold_pipes_too)
{
    accepts(LEFT "-|" URL "|DE|curl|" ID "|US|48000|bytes=0-9|Bearer x", false);
    is(told.range, "bytes=0-9");
    accepts(LEFT "-|" URL "|b|DE|curl|" ID "|US|48000|-|-", false);
    is(told.path, "/a|b");
    is(told.edge, "DE");
    ck_assert_uint_eq(told.body_bytes, 48000);
    accepts(LEFT "-|" URL "|DE|cu|rl|" ID "|US|48000|bytes=0-9|Bearer x", false);
    is(told.agent, "cu|rl");
    is(told.authorization, "Bearer x");
    accepts(LEFT "-|" URL "|DE|curl|" ID "|US|48000|a|b|c", true);
    is(told.agent, "curl");
    is(told.id, ID);
    is(told.country, "US");
    ck_assert_uint_eq(told.range.len + told.authorization.len, 0);
    accepts(LEFT "-|" URL "|DE|curl|" ID "|US|48000|" UUID "|GB", true); /* forged, or twelve columns */
    is(told.edge, "DE");
    ck_assert_uint_eq(hit.country, 0);
}
END_TEST

START_TEST(escaped_pipes_are_one_character)
{
    accepts(LEFT "-|" URL "\\|NY|DE|cu\\|rl|" ID "|US", false);
    is(told.edge, "DE");
    is(told.path, "/a\\|NY");
    is(told.agent, "cu\\|rl");
    accepts(LEFT "-|" URL "\\|NY|DE|curl|any|US", false); /* whatever the id */
    is(told.id, "any");
    accepts(LEFT "-|" URL "\\\\|DE|curl\\\\|x|" ID "|US", false); /* backslashes, then a column's end */
    is(told.path, "/a\\\\");
    is(told.agent, "curl\\\\|x");
    accepts(LEFT "-|" URL "|b|DE|x\\|" ID "|US", false); /* a writer that escapes nothing */
    is(told.edge, "DE");
    is(told.path, "/a|b");
    accepts(LEFT "-|" URL "\\x7cNY|DE|a\\x7Cb|" ID "|US", false);
    is(told.path, "/a\\x7cNY");
    is(told.agent, "a\\x7Cb");
}
END_TEST

START_TEST(without_regions_the_last_location_counts)
{
    ck_assert_uint_eq(read_with(&no_regions, LEFT "-|" URL "|Roboto|QX7|curl/8|" ID "|US").n_ambiguous,
                      1);
    is(told.edge, "QX7");
    ck_assert_uint_eq(read_with(&no_regions, LEFT "-|" URL "|QX7|curl/8|x y|" ID "|US").n_ambiguous,
                      0);
    is(told.edge, "QX7");
}
END_TEST

START_TEST(what_does_not_end_like_a_line_is_refused)
{
    refuses(LEFT "-|" URL "|DE|curl|" ID "|US|", TB_REJECT_COLUMNS);
    refuses(LEFT "-|" URL "|DE|curl|" ID "|US|48", TB_REJECT_COLUMNS);
    refuses(LEFT "-|" URL "|DE|curl|" ID "|US|48000|", TB_REJECT_COLUMNS);
    refuses(LEFT "-|" URL "|DE|curl|" ID "|US|48000|by", TB_REJECT_COLUMNS);
    refuses(LEFT "-|" URL "|DE|cu|rl|" ID, TB_REJECT_COUNTRY); /* cut: twelve columns */
    refuses(LEFT "-|" URL "|DE|c|u|rl|" ID, TB_REJECT_COLUMNS);
    refuses(LEFT "-|" URL "|DE|c|u|rl|" ID "|USA", TB_REJECT_COLUMNS);
    refuses(LEFT "-|" URL "|D E|c d|u v|" ID "|US", TB_REJECT_COLUMNS);
    refuses("|||||||||||||||||||||||", TB_REJECT_COLUMNS);
}
END_TEST

START_TEST(the_certain_columns_are_judged_as_ever)
{
    refuses("MISS|200|9794950000000|1|1|a|-|" URL "|DE|c|u|" ID "|US", TB_REJECT_TOO_NEW);
    refuses("MISS|2000|1794950000000|1|1|a|-|" URL "|DE|c|u|" ID "|US", TB_REJECT_STATUS);
    refuses("MISS|200|1794950000000|x|1|a|-|" URL "|DE|c|u|" ID "|US", TB_REJECT_BYTES);
    refuses("MISS|200|1794950000000|1|0|a|-|" URL "|DE|c|u|" ID "|US", TB_REJECT_ZONE);
    refuses("M SS|200|1794950000000|1|1|a|-|" URL "|DE|c|u|" ID "|US", TB_REJECT_CACHE);
}
END_TEST

START_TEST(a_line_of_a_megabyte_of_columns_is_read)
{
    enum { LEN = 1 << 20 };
    static const char tail[] = "|" ID "|US";
    char *line = malloc(LEN + 1);
    ck_assert_ptr_nonnull(line);
    memcpy(line, LEFT "-|" URL "|NY", sizeof LEFT "-|" URL "|NY" - 1);
    for (size_t from = sizeof LEFT "-|" URL "|NY" - 1, i = from; i < LEN; i++)
        line[i] = "|DE"[(i - from) % 3];
    memcpy(line + LEN - sizeof tail + 1, tail, sizeof tail);
    accepts(line, true);
    is(told.edge, "NY");
    memset(line + 100, '|', LEN - 100 - sizeof tail + 1);
    ck_assert_uint_eq(read_with(&layout, line).n_hits, 1);
    memset(line + 100, '\\', LEN - 100 - sizeof tail + 1);
    (void)read_with(&layout, line);
    free(line);
}
END_TEST

START_TEST(the_zone_of_a_refused_line_is_told_or_not)
{
    static const struct {
        const char *line;
        int64_t zone;
    } cases[] = {{LEFT "cut", 1234},
                 {"HIT|200|1794950000000|1|12|", 12},
                 {"HIT|200|1794950000000|1|12", 0}, /* it may be cut off */
                 {"HIT|200|9794950000000|1|12|x", 12},
                 {"HIT|2x0|1794950000000|1|12|x", 0},
                 {"HIT|200|1794950000000|1|0|x", 0},
                 {"192.0.2.1 - - [", 0},
                 {"", 0}};
    const tb_log_layout combined = {.format = TB_FORMAT_COMBINED, .zone = 5};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const size_t len = strlen(cases[i].line);
        ck_assert_int_eq(tb_intake_zone(&layout, cases[i].line, len), cases[i].zone);
        ck_assert_int_eq(tb_intake_zone(&combined, cases[i].line, len), 5);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("intake_ends");
    TCase *t = tcase_create("ends");
    tcase_add_test(t, a_pipe_in_the_user_agent_is_told);
    tcase_add_test(t, a_pipe_in_the_url_is_told);
    tcase_add_test(t, pipes_everywhere_are_told_where_one_location_is_known);
    tcase_add_test(t, a_client_cannot_choose_a_cheaper_location);
    tcase_add_test(t, three_pipes_do_not_make_an_extended_line);
    tcase_add_test(t, extended_lines_may_hold_pipes_too);
    tcase_add_test(t, escaped_pipes_are_one_character);
    tcase_add_test(t, without_regions_the_last_location_counts);
    tcase_add_test(t, what_does_not_end_like_a_line_is_refused);
    tcase_add_test(t, the_certain_columns_are_judged_as_ever);
    tcase_add_test(t, a_line_of_a_megabyte_of_columns_is_read);
    tcase_add_test(t, the_zone_of_a_refused_line_is_told_or_not);
    suite_add_tcase(suite, t);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
